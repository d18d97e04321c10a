//! The recurrent layers over whole sequences.

use super::recurrence::Kind;
use super::stack::{Outcome, Settings, Stack};
use crate::error::{Result, expect};
use crate::nn::Module;
use crate::nn::utils::PackedSequence;
use crate::settings::{Word, words};
use crate::tensor::{Tensor, TensorOptions};

/// The function that an [`Rnn`] applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RnnNonlinearity {
    /// The hyperbolic tangent.
    #[default]
    Tanh,
    /// max(x, 0).
    Relu,
}

words!(RnnNonlinearity { "tanh" => Tanh, "relu" => Relu });

impl RnnNonlinearity {
    /// As a cell's setting, where it is not the default.
    pub(super) fn described(self) -> String {
        if self == RnnNonlinearity::Tanh { String::new() } else { format!(", nonlinearity={}", self.word()) }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            RnnNonlinearity::Tanh => Kind::Tanh,
            RnnNonlinearity::Relu => Kind::Relu,
        }
    }
}

/// Options and constructors of a layer.
macro_rules! recurrent_layer {
    (
        $(#[$doc:meta])* $layer:ident $python:literal,
        $(#[$options_doc:meta])* $options:ident { $($(#[$own_doc:meta])* $own:ident: $type:ty = $default:expr),* },
        |$given:ident| kind: $kind:expr, proj_size: $proj_size:expr
    ) => {
        $(#[$options_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, crate::settings::Settings)]
        pub struct $options {
            /// Layers on top of each other.
            #[setting(name = "layers")]
            pub num_layers: usize,
            /// Are biases added?
            pub bias: bool,
            /// Is the batch the first dimension of input and output?
            pub batch_first: bool,
            /// The probability with which outputs of all layers but the last are dropped in training.
            pub dropout: f64,
            /// Is the sequence also read backwards? The outputs of both directions are joined.
            pub bidirectional: bool,
            $($(#[$own_doc])* pub $own: $type,)*
        }

        impl Default for $options {
            fn default() -> Self {
                $options {
                    num_layers: 1,
                    bias: true,
                    batch_first: false,
                    dropout: 0.0,
                    bidirectional: false,
                    $($own: $default,)*
                }
            }
        }

        $(#[$doc])*
        #[derive(Module)]
        #[module(describe = $layer::describe, type_name = $python)]
        pub struct $layer {
            #[module(flatten)]
            stack: Stack,
        }

        impl $layer {
            /// One layer, forwards, with biases.
            #[track_caller]
            pub fn new(input_size: usize, hidden_size: usize, options: impl Into<TensorOptions>) -> $layer {
                $layer::with_options(input_size, hidden_size, $options::default(), options)
            }

            /// With all settings.
            #[track_caller]
            pub fn with_options(
                input_size: usize,
                hidden_size: usize,
                layer: $options,
                options: impl Into<TensorOptions>,
            ) -> $layer {
                expect($layer::try_with_options(input_size, hidden_size, layer, options))
            }

            #[doc = concat!("[`with_options`](", stringify!($layer), "::with_options), or the error instead of a panic.")]
            pub fn try_with_options(
                input_size: usize,
                hidden_size: usize,
                layer: $options,
                options: impl Into<TensorOptions>,
            ) -> Result<$layer> {
                let $given = &layer;
                let settings = Settings {
                    name: stringify!($layer),
                    kind: $kind,
                    input_size,
                    hidden_size,
                    proj_size: $proj_size,
                    num_layers: layer.num_layers,
                    bias: layer.bias,
                    batch_first: layer.batch_first,
                    dropout: layer.dropout,
                    bidirectional: layer.bidirectional,
                };
                Ok($layer { stack: Stack::new(settings, options)? })
            }

            fn describe(&self) -> String {
                self.stack.settings.describe()
            }
        }
    };
}

/// The forward methods of layers whose state is one tensor.
macro_rules! one_state {
    ($($layer:ident),*) => { $(
        impl $layer {
            /// The outputs of the last layer at all steps, and the last state of each layer and direction.
            ///
            /// `input` is (T, B, in), (B, T, in) with `batch_first`, or (T, in) for one sequence. `hidden`, the first
            /// state, is (layers · directions, B, hidden), without B for one sequence; zeros if not given. The outputs
            /// are (T, B, directions · hidden) in the order of the input.
            #[track_caller]
            pub fn forward(&self, input: &Tensor, hidden: Option<&Tensor>) -> (Tensor, Tensor) {
                expect(self.try_forward(input, hidden))
            }

            #[doc = concat!("[`forward`](", stringify!($layer), "::forward), or the error instead of a panic.")]
            #[track_caller]
            pub fn try_forward(&self, input: &Tensor, hidden: Option<&Tensor>) -> Result<(Tensor, Tensor)> {
                let Outcome { output, hidden, .. } = self.stack.run(input, hidden, None)?;
                Ok((output, hidden))
            }

            /// [`forward`](Self::forward) for sequences of different lengths, padded to one. The lengths (B) are a tensor
            /// of integers: they may change from batch to batch without a new plan. Outputs in the padding are 0; the last
            /// state is that at each sequence's own end.
            #[track_caller]
            pub fn forward_padded(
                &self,
                input: &Tensor,
                lengths: &Tensor,
                hidden: Option<&Tensor>,
            ) -> (Tensor, Tensor) {
                expect(self.try_forward_padded(input, lengths, hidden))
            }

            #[doc = concat!("[`forward_padded`](", stringify!($layer), "::forward_padded), or the error instead of a panic.")]
            #[track_caller]
            pub fn try_forward_padded(
                &self,
                input: &Tensor,
                lengths: &Tensor,
                hidden: Option<&Tensor>,
            ) -> Result<(Tensor, Tensor)> {
                let Outcome { output, hidden, .. } = self.stack.run_padded(input, lengths, hidden, None)?;
                Ok((output, hidden))
            }

            /// [`forward`](Self::forward) for packed sequences; the output is packed alike.
            #[track_caller]
            pub fn forward_packed(
                &self,
                input: &PackedSequence,
                hidden: Option<&Tensor>,
            ) -> (PackedSequence, Tensor) {
                expect(self.try_forward_packed(input, hidden))
            }

            #[doc = concat!("[`forward_packed`](", stringify!($layer), "::forward_packed), or the error instead of a panic.")]
            #[track_caller]
            pub fn try_forward_packed(
                &self,
                input: &PackedSequence,
                hidden: Option<&Tensor>,
            ) -> Result<(PackedSequence, Tensor)> {
                let (output, outcome) = self.stack.run_packed(input, hidden, None)?;
                Ok((output, outcome.hidden))
            }
        }
    )* };
}

recurrent_layer! {
    /// A simple recurrent network: hₜ = tanh(W_ih xₜ + b_ih + W_hh hₜ₋₁ + b_hh), or relu instead of tanh.
    ///
    /// Parameters are named as PyTorch's: `weight_ih_l0` (hidden, in), `weight_hh_l0` (hidden, hidden), `bias_ih_l0`,
    /// `bias_hh_l0`, with `_reverse` for the backward direction. They begin in U(−1/√hidden, 1/√hidden).
    ///
    /// ```
    /// use flambeau::{nn::Rnn, prelude::*};
    /// let rnn = Rnn::new(3, 4, &Device::cpu());
    /// let (output, last) = rnn.forward(&Tensor::ones([5, 2, 3], &Device::cpu()), None);
    /// assert_eq!(output.shape().dims(), [5, 2, 4]);
    /// assert_eq!(last.shape().dims(), [1, 2, 4]);
    /// ```
    Rnn "RNN",
    /// The settings of [`Rnn`]; the defaults are PyTorch's.
    RnnOptions {
        /// The function applied at each step.
        nonlinearity: RnnNonlinearity = RnnNonlinearity::Tanh
    },
    |given| kind: given.nonlinearity.kind(), proj_size: None
}

recurrent_layer! {
    /// Gated recurrent units: r, z = σ(W_ih xₜ + b_ih + W_hh hₜ₋₁ + b_hh), n = tanh(W_in xₜ + b_in + r (W_hn hₜ₋₁ +
    /// b_hn)), hₜ = (1 − z) n + z hₜ₋₁. A weight's rows are those of r, z, n. Named and begun as [`Rnn`]'s.
    ///
    /// ```
    /// use flambeau::{nn::{Gru, GruOptions}, prelude::*};
    /// let options = GruOptions { num_layers: 2, bidirectional: true, ..Default::default() };
    /// let gru = Gru::with_options(3, 4, options, &Device::cpu());
    /// let (output, last) = gru.forward(&Tensor::ones([5, 2, 3], &Device::cpu()), None);
    /// assert_eq!(output.shape().dims(), [5, 2, 8]);
    /// assert_eq!(last.shape().dims(), [4, 2, 4]);
    /// ```
    Gru "GRU",
    /// The settings of [`Gru`]; the defaults are PyTorch's.
    GruOptions {},
    |_given| kind: Kind::Gru, proj_size: None
}

recurrent_layer! {
    /// Long short-term memory: i, f, o = σ(W_ih xₜ + b_ih + W_hh hₜ₋₁ + b_hh), g = tanh of the like, cₜ = f cₜ₋₁ + i g,
    /// hₜ = o tanh(cₜ). A weight's rows are those of i, f, g, o. Named and begun as [`Rnn`]'s; with `proj_size` the
    /// hidden state is W_hr (o tanh(cₜ)), W_hr being `weight_hr_l0` (proj, hidden).
    ///
    /// ```
    /// use flambeau::{nn::{Lstm, LstmOptions}, prelude::*};
    /// let options = LstmOptions { batch_first: true, ..Default::default() };
    /// let lstm = Lstm::with_options(3, 4, options, &Device::cpu());
    /// let (output, (hidden, cell)) = lstm.forward(&Tensor::ones([2, 5, 3], &Device::cpu()), None);
    /// assert_eq!(output.shape().dims(), [2, 5, 4]);
    /// assert_eq!((hidden.shape().dims(), cell.shape().dims()), ([1, 2, 4].as_slice(), [1, 2, 4].as_slice()));
    /// assert_eq!(lstm.summary(), "LSTM(3, 4, batch_first=True)\n144 parameters");
    /// ```
    Lstm "LSTM",
    /// The settings of [`Lstm`]; the defaults are PyTorch's.
    LstmOptions {
        /// The size to which the hidden state is projected; below the hidden size.
        #[setting(name = "projection")]
        proj_size: Option<usize> = None
    },
    |given| kind: Kind::Lstm, proj_size: given.proj_size
}

one_state!(Rnn, Gru);

impl Lstm {
    /// The outputs of the last layer at all steps, and the last hidden and cell state of each layer and direction.
    ///
    /// Shapes as in [`Rnn::forward`]; `states` are hidden state and cell state, the former of the projected size where
    /// there is a projection.
    #[track_caller]
    pub fn forward(&self, input: &Tensor, states: Option<(&Tensor, &Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        expect(self.try_forward(input, states))
    }

    /// [`forward`](Lstm::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(
        &self,
        input: &Tensor,
        states: Option<(&Tensor, &Tensor)>,
    ) -> Result<(Tensor, (Tensor, Tensor))> {
        let (hidden, cell) = states.unzip();
        self.stack.run(input, hidden, cell)?.with_cell()
    }

    /// [`forward`](Lstm::forward) for sequences of different lengths, padded to one; see [`Rnn::forward_padded`].
    ///
    /// ```
    /// use flambeau::{nn::Lstm, prelude::*};
    /// let device = Device::cpu();
    /// let lengths = Tensor::new([5, 2], &device);
    /// let (output, _) = Lstm::new(3, 4, &device).forward_padded(&Tensor::ones([5, 2, 3], &device), &lengths, None);
    /// assert_eq!(output.i((2.., 1)).abs().sum(..).item_blocking()?, 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn forward_padded(
        &self,
        input: &Tensor,
        lengths: &Tensor,
        states: Option<(&Tensor, &Tensor)>,
    ) -> (Tensor, (Tensor, Tensor)) {
        expect(self.try_forward_padded(input, lengths, states))
    }

    /// [`forward_padded`](Lstm::forward_padded), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_padded(
        &self,
        input: &Tensor,
        lengths: &Tensor,
        states: Option<(&Tensor, &Tensor)>,
    ) -> Result<(Tensor, (Tensor, Tensor))> {
        let (hidden, cell) = states.unzip();
        self.stack.run_padded(input, lengths, hidden, cell)?.with_cell()
    }

    /// [`forward`](Lstm::forward) for packed sequences; the output is packed alike.
    #[track_caller]
    pub fn forward_packed(
        &self,
        input: &PackedSequence,
        states: Option<(&Tensor, &Tensor)>,
    ) -> (PackedSequence, (Tensor, Tensor)) {
        expect(self.try_forward_packed(input, states))
    }

    /// [`forward_packed`](Lstm::forward_packed), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_packed(
        &self,
        input: &PackedSequence,
        states: Option<(&Tensor, &Tensor)>,
    ) -> Result<(PackedSequence, (Tensor, Tensor))> {
        let (hidden, cell) = states.unzip();
        let (output, outcome) = self.stack.run_packed(input, hidden, cell)?;
        Ok((output, outcome.with_cell()?.1))
    }
}
