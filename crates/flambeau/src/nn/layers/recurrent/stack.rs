//! What Rnn, Gru and Lstm have in common: weights by layer and direction, and the way through them.

use super::recurrence::step::affine;
use super::recurrence::{Kind, Sequence};
use crate::autograd::Autocast;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::nn::layers::check_layers;
use crate::nn::utils::{PackedSequence, SequenceLayout, pack_padded_sequence, pad_packed_sequence};
use crate::nn::{Mode, Module, Parameter, Part, init};
use crate::rng::Generator;
use crate::shape::{Shape, product};
use crate::tensor::{Tensor, TensorOptions};

/// The settings that all kinds share, and the sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub name: &'static str,
    pub kind: Kind,
    pub input_size: usize,
    pub hidden_size: usize,
    /// The size an LSTM's hidden state is projected to.
    pub proj_size: Option<usize>,
    pub num_layers: usize,
    pub bias: bool,
    pub batch_first: bool,
    pub dropout: f64,
    pub bidirectional: bool,
}

impl Settings {
    fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::argument(self.name, message));
        if self.hidden_size == 0 || self.num_layers == 0 {
            let Settings { hidden_size, num_layers, .. } = self;
            return refuse(format!("{num_layers} layers of {hidden_size} units: both must be above 0"));
        }
        check_layers(self.name, self.num_layers)?;
        if !(0.0..=1.0).contains(&self.dropout) {
            return refuse(format!("dropout {} is outside 0..=1", self.dropout));
        }
        match self.proj_size {
            Some(size) if size == 0 || size >= self.hidden_size => {
                refuse(format!("proj_size {size} must be above 0 and below hidden_size {}", self.hidden_size))
            }
            _ => Ok(()),
        }
    }

    fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    fn outputs(&self) -> usize {
        self.proj_size.unwrap_or(self.hidden_size)
    }

    /// As PyTorch prints it: what differs from the defaults.
    pub fn describe(&self) -> String {
        let mut text = format!("{}, {}", self.input_size, self.hidden_size);
        if let Some(size) = self.proj_size {
            text += &format!(", proj_size={size}");
        }
        if self.num_layers != 1 {
            text += &format!(", num_layers={}", self.num_layers);
        }
        if !self.bias {
            text += ", bias=False";
        }
        if self.batch_first {
            text += ", batch_first=True";
        }
        if self.dropout != 0.0 {
            text += &format!(", dropout={}", self.dropout);
        }
        if self.bidirectional {
            text += ", bidirectional=True";
        }
        text
    }
}

/// The weights of one layer in one direction; of a cell, too.
pub(super) struct Weights {
    pub input: Parameter,
    pub state: Parameter,
    pub biases: Option<[Parameter; 2]>,
    pub projection: Option<Parameter>,
}

impl Weights {
    /// All in U(−1/√hidden, 1/√hidden).
    fn new(settings: &Settings, inputs: usize, options: &TensorOptions) -> Result<Weights> {
        let hidden = settings.hidden_size;
        let (rows, bound) = (product([settings.kind.gates(), hidden]), 1.0 / (hidden as f64).sqrt());
        let matrix = |rows: usize, columns: usize| init::uniform_parameter([rows, columns], bound, options);
        let vector = || init::uniform_parameter([rows], bound, options);
        Ok(Weights {
            input: matrix(rows, inputs)?,
            state: matrix(rows, settings.outputs())?,
            biases: if settings.bias { Some([vector()?, vector()?]) } else { None },
            projection: settings.proj_size.map(|size| matrix(size, hidden)).transpose()?,
        })
    }

    /// The biases of the input's share and of the state's, added up where no gate tells them apart.
    fn biases(&self, kind: Kind) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok(match &self.biases {
            Some([input, state]) if kind.state_bias_is_gated() => (Some(input.get()), Some(state.get())),
            Some([input, state]) => (Some(input.get().try_add(state.get())?), None),
            None => (None, None),
        })
    }
}

/// Layers on top of each other, each in one or two directions.
pub(super) struct Stack {
    pub settings: Settings,
    mode: Mode,
    /// Layer by layer, forwards before backwards.
    weights: Vec<Weights>,
}

/// The parameters as PyTorch names them: weight_ih_l0, …, weight_ih_l0_reverse, …
impl Module for Stack {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        visit("", Part::Mode(&self.mode));
        for (k, weights) in self.weights.iter().enumerate() {
            let directions = self.settings.directions();
            let suffix = format!("l{}{}", k / directions, if k % directions == 1 { "_reverse" } else { "" });
            visit(&format!("weight_ih_{suffix}"), Part::Parameter(&weights.input));
            visit(&format!("weight_hh_{suffix}"), Part::Parameter(&weights.state));
            if let Some([input, state]) = &weights.biases {
                visit(&format!("bias_ih_{suffix}"), Part::Parameter(input));
                visit(&format!("bias_hh_{suffix}"), Part::Parameter(state));
            }
            if let Some(projection) = &weights.projection {
                visit(&format!("weight_hr_{suffix}"), Part::Parameter(projection));
            }
        }
    }
}

/// What comes out: all outputs, and the last states by layer and direction.
pub(super) struct Outcome {
    pub output: Tensor,
    pub hidden: Tensor,
    /// Of an LSTM.
    pub cell: Option<Tensor>,
}

impl Stack {
    pub fn new(settings: Settings, options: impl Into<TensorOptions>) -> Result<Stack> {
        settings.check()?;
        let (options, directions) = (options.into(), settings.directions());
        let weights = (0..settings.num_layers * directions).map(|k| {
            let inputs =
                if k < directions { settings.input_size } else { product([directions, settings.outputs()]) };
            Weights::new(&settings, inputs, &options)
        });
        let weights = weights.collect::<Result<_>>()?;
        Ok(Stack { settings, mode: Mode::default(), weights })
    }

    /// `input` is (T, B, in), (B, T, in) with batch_first, or (T, in) for one sequence; the states are (layers ·
    /// directions, B, size), without B for one sequence.
    pub fn run(&self, input: &Tensor, hidden: Option<&Tensor>, cell: Option<&Tensor>) -> Result<Outcome> {
        let single = input.rank() == 2;
        let batch_dim = if self.settings.batch_first { 0 } else { 1 };
        let input = if single { input.try_unsqueeze(batch_dim)? } else { input.clone() };
        let batched = |state: Option<&Tensor>| match state {
            Some(state) if single => state.try_unsqueeze(1).map(Some),
            state => Ok(state.cloned()),
        };
        let (hidden, cell) = (batched(hidden)?, batched(cell)?);
        let input = self.by_time(&input)?;
        let mut outcome = self.run_by_time(&input, hidden.as_ref(), cell.as_ref(), None)?;
        outcome.output = self.by_time(&outcome.output)?;
        if single {
            outcome.output = outcome.output.try_squeeze(batch_dim)?;
            outcome.hidden = outcome.hidden.try_squeeze(1)?;
            outcome.cell = outcome.cell.map(|cell| cell.try_squeeze(1)).transpose()?;
        }
        Ok(outcome)
    }

    /// Sequences of different lengths, padded to one; the lengths (B) are a tensor, so that they may change from batch to
    /// batch at no cost. Outputs in the padding are 0, and the last states are those at the sequences' own ends.
    pub fn run_padded(
        &self,
        input: &Tensor,
        lengths: &Tensor,
        hidden: Option<&Tensor>,
        cell: Option<&Tensor>,
    ) -> Result<Outcome> {
        let input = self.by_time(input)?;
        if input.rank() != 3 || lengths.shape().dims() != [input.size(1)] || !lengths.dtype().is_int() {
            let (dtype, given) = (lengths.dtype(), lengths.shape());
            let message =
                format!("lengths {given} of {dtype} must be one integer for each sequence of the batch");
            return Err(Error::shape(self.settings.name, message));
        }
        let shape = Shape::from([input.size(0), input.size(1)]);
        let running =
            lengths.try_to_dtype(DType::I32)?.try_gt(input.iota_of(&shape, 0)?)?.try_unsqueeze(2)?;
        let mut outcome = self.run_by_time(&input, hidden, cell, Some(&running))?;
        outcome.output = self.by_time(&outcome.output)?;
        Ok(outcome)
    }

    /// The same for packed sequences.
    pub fn run_packed(
        &self,
        packed: &PackedSequence,
        hidden: Option<&Tensor>,
        cell: Option<&Tensor>,
    ) -> Result<(PackedSequence, Outcome)> {
        let layout = match self.settings.batch_first {
            true => SequenceLayout::BatchFirst,
            false => SequenceLayout::StepsFirst,
        };
        let (padded, lengths) = pad_packed_sequence(packed, layout, 0.0)?;
        let counts: Vec<i32> = lengths.iter().map(|&length| length as i32).collect();
        let counts = Tensor::try_from_slice(&counts, counts.len(), padded.device())?;
        let outcome = self.run_padded(&padded, &counts, hidden, cell)?;
        let output = pack_padded_sequence(&outcome.output, &lengths, layout)?;
        Ok((output, outcome))
    }

    /// Between the user's order of dimensions and (T, B, …); the same both ways.
    fn by_time(&self, x: &Tensor) -> Result<Tensor> {
        if x.rank() == 3 && self.settings.batch_first { x.try_transpose(0, 1) } else { Ok(x.clone()) }
    }

    /// The same for an input (T, B, in); `running` (T, B, 1) tells which steps are inside their sequence.
    fn run_by_time(
        &self,
        input: &Tensor,
        hidden: Option<&Tensor>,
        cell: Option<&Tensor>,
        running: Option<&Tensor>,
    ) -> Result<Outcome> {
        let settings = &self.settings;
        let &[steps, batch, inputs] = input.shape().dims() else {
            let message = format!("input {} must have 2 dimensions, or 3 with batches", input.shape());
            return Err(Error::shape(settings.name, message));
        };
        if inputs != settings.input_size || steps == 0 {
            let wanted = settings.input_size;
            let message =
                format!("input of {steps} steps of {inputs} features; {wanted} are expected, and a step");
            return Err(Error::shape(settings.name, message));
        }
        // In mixed precision the product with the input, which is of all steps at once, is of f16, and so are the outputs. The
        // steps themselves, and the states from one to the next, stay in f32.
        let entered = Autocast::Lower.enter([input])?;
        let narrow = |x: Tensor| if entered.is_casting() { entered.input(x) } else { Ok(x) };
        let wide = |x: Tensor| match x.dtype() {
            DType::F16 if entered.is_casting() => x.try_to_dtype(DType::F32),
            _ => Ok(x),
        };
        let [hidden, cell] = [hidden, cell].map(|state| state.map(|state| wide(state.clone())).transpose());
        let (hidden, cell) = (hidden?, cell?);
        let hidden = self.first_states(hidden.as_ref(), input, settings.outputs())?;
        let cell = match settings.kind {
            Kind::Lstm => Some(self.first_states(cell.as_ref(), input, settings.hidden_size)?),
            _ => None,
        };
        let directions = settings.directions();
        let (mut x, mut hiddens, mut cells) = (input.clone(), Vec::new(), Vec::new());
        for (layer, weights) in self.weights.chunks(directions).enumerate() {
            if layer > 0 && settings.dropout > 0.0 && self.mode.is_training() {
                x = x.try_dropout(settings.dropout, &Generator::default_generator())?;
            }
            let rows = narrow(x.try_flatten(0, 1)?)?;
            let mut outputs = Vec::with_capacity(directions);
            for (direction, weights) in weights.iter().enumerate() {
                let place = (layer * directions + direction) as isize;
                let (input_bias, state_bias) = weights.biases(settings.kind)?;
                let input_bias = entered.optional(input_bias.as_ref())?;
                let gates = affine(&rows, &narrow(weights.input.get())?, input_bias.as_ref())?;
                let gates = wide(gates)?;
                let cell = cell.as_ref().map(|cell| cell.try_select(0, place)).transpose()?;
                let projection = weights.projection.as_ref().map(Parameter::get);
                let states = Sequence {
                    kind: settings.kind,
                    reverse: direction == 1,
                    input: &gates.try_reshape([steps as isize, batch as isize, -1])?,
                    weight: &weights.state.get(),
                    hidden: &hidden.try_select(0, place)?,
                    cell: cell.as_ref(),
                    bias: state_bias.as_ref(),
                    projection: projection.as_ref(),
                    running,
                }
                .states()?;
                let last = if direction == 1 { 0 } else { -1 };
                hiddens.push(states.hidden.try_select(0, last)?);
                if let Some(cell) = &states.cell {
                    cells.push(cell.try_select(0, last)?);
                }
                outputs.push(match running {
                    Some(running) => running.try_where_cond(&states.hidden, 0.0)?,
                    None => states.hidden,
                });
            }
            x = Tensor::try_cat(&outputs, 2)?;
        }
        let cell = if cells.is_empty() { None } else { Some(narrow(Tensor::try_stack(&cells, 0)?)?) };
        Ok(Outcome { output: narrow(x)?, hidden: narrow(Tensor::try_stack(&hiddens, 0)?)?, cell })
    }

    /// The first states given, or zeros.
    fn first_states(&self, given: Option<&Tensor>, input: &Tensor, size: usize) -> Result<Tensor> {
        let shape = [self.weights.len(), input.size(1), size];
        match given {
            None => Tensor::try_full(shape, 0.0, (self.weights[0].state.dtype(), input.device())),
            Some(state) if state.shape().dims() == shape => Ok(state.clone()),
            Some(state) => {
                let message = format!("first state {} must be {shape:?}", state.shape());
                Err(Error::shape(self.settings.name, message))
            }
        }
    }
}

impl Outcome {
    /// As an LSTM gives it.
    pub fn with_cell(self) -> Result<(Tensor, (Tensor, Tensor))> {
        let cell = self.cell.ok_or_else(|| Error::argument("Lstm", "there is no cell state"))?;
        Ok((self.output, (self.hidden, cell)))
    }
}
