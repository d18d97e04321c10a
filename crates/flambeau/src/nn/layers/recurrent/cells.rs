//! Recurrent layers for one time step, for loops of one's own.

use super::layers::RnnNonlinearity;
use super::recurrence::step::{self, affine};
use crate::autograd::Autocast;
use crate::error::{Error, Result, expect};
use crate::nn::{Module, Parameter, init};
use crate::settings::Settings;
use crate::shape::product;
use crate::tensor::{Tensor, TensorOptions};

/// The weights of a cell, under PyTorch's names.
#[derive(Module)]
struct CellWeights {
    weight_ih: Parameter,
    weight_hh: Parameter,
    bias_ih: Option<Parameter>,
    bias_hh: Option<Parameter>,
}

impl CellWeights {
    fn new(
        gates: usize,
        input_size: usize,
        hidden_size: usize,
        bias: bool,
        options: &TensorOptions,
    ) -> Result<CellWeights> {
        let (rows, bound) = (product([gates, hidden_size]), 1.0 / (hidden_size.max(1) as f64).sqrt());
        let matrix = |columns: usize| init::uniform_parameter([rows, columns], bound, options);
        let vector = || bias.then(|| init::uniform_parameter([rows], bound, options)).transpose();
        Ok(CellWeights {
            weight_ih: matrix(input_size)?,
            weight_hh: matrix(hidden_size)?,
            bias_ih: vector()?,
            bias_hh: vector()?,
        })
    }

    fn input_size(&self) -> usize {
        self.weight_ih.shape().dims()[1]
    }

    fn hidden_size(&self) -> usize {
        self.weight_hh.shape().dims()[1]
    }

    fn describe(&self) -> String {
        let bias = if self.bias_ih.is_some() { "" } else { ", bias=False" };
        format!("{}, {}{bias}", self.input_size(), self.hidden_size())
    }

    fn input_share(&self, input: &Tensor) -> Result<Tensor> {
        share(input, &self.weight_ih, self.bias_ih.as_ref())
    }

    fn state_share(&self, hidden: &Tensor) -> Result<Tensor> {
        share(hidden, &self.weight_hh, self.bias_hh.as_ref())
    }

    /// Runs `step` on a batch; a single input (in) and its states (hidden) become batches of one.
    fn batched<const N: usize>(
        &self,
        name: &'static str,
        input: &Tensor,
        states: [Option<&Tensor>; N],
        step: impl FnOnce(&Tensor, [Tensor; N]) -> Result<[Tensor; N]>,
    ) -> Result<[Tensor; N]> {
        let entered = Autocast::Lower.enter([input])?;
        let [input] = entered.inputs([input]);
        let taken = states.map(|state| entered.optional(state));
        let single = input.rank() == 1;
        let raised = |x: &Tensor| if single { x.try_unsqueeze(0) } else { Ok(x.clone()) };
        let input = raised(input)?;
        if input.rank() != 2 || input.size(1) != self.input_size() {
            let message = format!("input {} must be (B, {1}) or ({1})", input.shape(), self.input_size());
            return Err(Error::shape(name, message));
        }
        let shape = [input.size(0), self.hidden_size()];
        let mut given = Vec::with_capacity(N);
        for state in taken {
            let state = match &state? {
                Some(state) => raised(state)?,
                None => Tensor::try_full(shape, 0.0, (input.dtype(), input.device()))?,
            };
            if state.shape().dims() != shape {
                return Err(Error::shape(name, format!("state {} must be {shape:?}", state.shape())));
            }
            given.push(state);
        }
        let mut given = given.into_iter();
        let states = std::array::from_fn(|_| given.next().unwrap_or_else(|| input.clone()));
        drop(entered);
        let mut results = step(&input, states)?;
        if single {
            for result in &mut results {
                *result = result.try_squeeze(0)?;
            }
        }
        Ok(results)
    }
}

/// What an input or a state gives to the gates: x Wᵀ + b.
fn share(x: &Tensor, weight: &Parameter, bias: Option<&Parameter>) -> Result<Tensor> {
    let (weight, bias) = (weight.get(), bias.map(Parameter::get));
    let entered = Autocast::Lower.enter([x, &weight])?;
    let [x, weight] = entered.inputs([x, &weight]);
    affine(x, weight, entered.optional(bias.as_ref())?.as_ref())
}

/// Constructors of a cell.
macro_rules! cell {
    ($(#[$doc:meta])* $cell:ident $python:literal, gates: $gates:literal, $options:ident { $($own:ident: $type:ty),* }) => {
        $(#[$doc])*
        #[derive(Module)]
        #[module(describe = $cell::describe, type_name = $python)]
        pub struct $cell {
            #[module(flatten)]
            weights: CellWeights,
            $(#[module(skip)] $own: $type,)*
        }

        impl $cell {
            /// With biases.
            #[track_caller]
            pub fn new(input_size: usize, hidden_size: usize, options: impl Into<TensorOptions>) -> $cell {
                $cell::with_options(input_size, hidden_size, $options::default(), options)
            }

            /// With all settings.
            #[track_caller]
            pub fn with_options(
                input_size: usize,
                hidden_size: usize,
                cell: $options,
                options: impl Into<TensorOptions>,
            ) -> $cell {
                expect($cell::try_with_options(input_size, hidden_size, cell, options))
            }

            #[doc = concat!("[`with_options`](", stringify!($cell), "::with_options), or the error instead of a panic.")]
            pub fn try_with_options(
                input_size: usize,
                hidden_size: usize,
                cell: $options,
                options: impl Into<TensorOptions>,
            ) -> Result<$cell> {
                let weights = CellWeights::new($gates, input_size, hidden_size, cell.bias, &options.into())?;
                Ok($cell { weights, $($own: cell.$own),* })
            }

            fn describe(&self) -> String {
                self.weights.describe() $(+ &self.$own.described())*
            }
        }
    };
}

/// The settings of [`RnnCell`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct RnnCellOptions {
    /// Are biases added?
    pub bias: bool,
    /// The function applied.
    pub nonlinearity: RnnNonlinearity,
}

impl Default for RnnCellOptions {
    fn default() -> Self {
        RnnCellOptions { bias: true, nonlinearity: RnnNonlinearity::Tanh }
    }
}

/// The settings of [`GruCell`] and [`LstmCell`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct CellOptions {
    /// Are biases added?
    pub bias: bool,
}

impl Default for CellOptions {
    fn default() -> Self {
        CellOptions { bias: true }
    }
}

cell! {
    /// One step of [`Rnn`](super::Rnn): tanh(W_ih x + b_ih + W_hh h + b_hh). Parameters are `weight_ih`, `weight_hh`,
    /// `bias_ih`, `bias_hh`.
    ///
    /// ```
    /// use flambeau::{nn::RnnCell, prelude::*};
    /// let cell = RnnCell::new(3, 4, &Device::cpu());
    /// let mut hidden = cell.forward(&Tensor::ones([2, 3], &Device::cpu()), None);
    /// hidden = cell.forward(&Tensor::ones([2, 3], &Device::cpu()), Some(&hidden));
    /// assert_eq!(hidden.shape().dims(), [2, 4]);
    /// ```
    RnnCell "RNNCell", gates: 1, RnnCellOptions { nonlinearity: RnnNonlinearity }
}

cell! {
    /// One step of [`Gru`](super::Gru), with the parameters `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`.
    ///
    /// ```
    /// use flambeau::{nn::GruCell, prelude::*};
    /// let cell = GruCell::new(3, 4, &Device::cpu());
    /// let hidden = cell.forward(&Tensor::ones([2, 3], &Device::cpu()), None);
    /// assert_eq!(hidden.shape().dims(), [2, 4]);
    /// ```
    GruCell "GRUCell", gates: 3, CellOptions {}
}

cell! {
    /// One step of [`Lstm`](super::Lstm), with the parameters `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`.
    ///
    /// ```
    /// use flambeau::{nn::LstmCell, prelude::*};
    /// let cell = LstmCell::new(3, 4, &Device::cpu());
    /// let (hidden, memory) = cell.forward(&Tensor::ones([2, 3], &Device::cpu()), None);
    /// let (hidden, _) = cell.forward(&Tensor::ones([2, 3], &Device::cpu()), Some((&hidden, &memory)));
    /// assert_eq!(hidden.shape().dims(), [2, 4]);
    /// ```
    LstmCell "LSTMCell", gates: 4, CellOptions {}
}

impl RnnCell {
    /// The next state (B, hidden) from an input (B, in) and the state before, zeros if not given.
    #[track_caller]
    pub fn forward(&self, input: &Tensor, hidden: Option<&Tensor>) -> Tensor {
        expect(self.try_forward(input, hidden))
    }

    /// [`forward`](RnnCell::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(&self, input: &Tensor, hidden: Option<&Tensor>) -> Result<Tensor> {
        let [hidden] = self.weights.batched("RnnCell", input, [hidden], |x, [hidden]| {
            let (input, state) = (self.weights.input_share(x)?, self.weights.state_share(&hidden)?);
            Ok([step::plain(self.nonlinearity.kind(), &input, &state)?])
        })?;
        Ok(hidden)
    }
}

impl GruCell {
    /// The next state (B, hidden) from an input (B, in) and the state before, zeros if not given.
    #[track_caller]
    pub fn forward(&self, input: &Tensor, hidden: Option<&Tensor>) -> Tensor {
        expect(self.try_forward(input, hidden))
    }

    /// [`forward`](GruCell::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(&self, input: &Tensor, hidden: Option<&Tensor>) -> Result<Tensor> {
        let [hidden] = self.weights.batched("GruCell", input, [hidden], |x, [hidden]| {
            let (input, state) = (self.weights.input_share(x)?, self.weights.state_share(&hidden)?);
            Ok([step::gru(&input, &state, &hidden)?])
        })?;
        Ok(hidden)
    }
}

impl LstmCell {
    /// The next hidden and cell state (B, hidden) from an input (B, in) and the states before, zeros if not given.
    #[track_caller]
    pub fn forward(&self, input: &Tensor, states: Option<(&Tensor, &Tensor)>) -> (Tensor, Tensor) {
        expect(self.try_forward(input, states))
    }

    /// [`forward`](LstmCell::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(
        &self,
        input: &Tensor,
        states: Option<(&Tensor, &Tensor)>,
    ) -> Result<(Tensor, Tensor)> {
        let (hidden, cell) = states.unzip();
        let [hidden, cell] =
            self.weights.batched("LstmCell", input, [hidden, cell], |x, [hidden, cell]| {
                let gates = self.weights.input_share(x)?.try_add(self.weights.state_share(&hidden)?)?;
                step::lstm(&gates, &cell).map(Into::into)
            })?;
        Ok((hidden, cell))
    }
}
