//! Dropout: random zeros in training, nothing in evaluation.

use super::text::float;
use crate::error::Result;
use crate::nn::{Forward, Mode, Module};
use crate::rng::Generator;
use crate::settings::Settings;
use crate::tensor::Tensor;

/// Whole channels of (N, C, …), or of (C, …) if the input has `single` dimensions.
#[track_caller]
fn over_channels(input: &Tensor, single: usize, drop: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    match input.rank() == single {
        true => drop(&input.try_unsqueeze(0)?)?.try_squeeze(0),
        false => drop(input),
    }
}

/// `Name |input, p, generator| what training does`, with numbers from the default generator.
macro_rules! dropouts {
    ($($(#[$doc:meta])* $name:ident |$input:ident, $p:ident, $generator:ident| $dropped:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use flambeau::{nn::", stringify!($name), ", prelude::*};")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(0.5);")]
        /// let x = Tensor::new([[[[1.0, 2.0]]]], &Device::cpu());
        /// assert_eq!(layer.forward(&x).shape(), x.shape());
        /// layer.eval();
        /// assert_eq!(layer.forward(&x).to_string(), x.to_string());
        /// ```
        #[derive(Module, Debug, Settings)]
        #[module(describe = $name::describe)]
        pub struct $name {
            /// The probability of being dropped.
            pub p: f64,
            /// Training or evaluation.
            #[setting(skip)]
            pub mode: Mode,
        }

        impl Default for $name {
            fn default() -> Self {
                $name::new(0.5)
            }
        }

        impl $name {
            /// Drops with probability `p`.
            pub fn new(p: f64) -> $name {
                $name { p, mode: Mode::default() }
            }

            fn describe(&self) -> String {
                format!("p={}, inplace=False", float(self.p))
            }
        }

        impl Forward for $name {
            #[track_caller]
            fn try_forward(&self, $input: &Tensor) -> Result<Tensor> {
                if !self.mode.is_training() {
                    return Ok($input.clone());
                }
                let ($p, $generator) = (self.p, &Generator::default_generator());
                $dropped
            }
        }
    )*};
}

dropouts! {
    /// Each element is 0 with probability p in training; the others are divided by 1 − p.
    Dropout |input, p, generator| input.try_dropout(p, generator);
    /// Whole channels of (N, C, L) or (C, L) are 0 with probability p in training.
    Dropout1d |input, p, generator| over_channels(input, 2, |x| x.try_feature_dropout(p, generator));
    /// Whole channels of (N, C, H, W) are 0 with probability p in training.
    Dropout2d |input, p, generator| input.try_feature_dropout(p, generator);
    /// Whole channels of (N, C, D, H, W) or (C, D, H, W) are 0 with probability p in training.
    Dropout3d |input, p, generator| over_channels(input, 4, |x| x.try_feature_dropout(p, generator));
    /// Dropout that keeps mean 0 and variance 1 in training, for networks of [`Selu`](crate::nn::Selu)s.
    AlphaDropout |input, p, generator| input.try_alpha_dropout(p, generator);
    /// [`AlphaDropout`] of whole channels of (N, C, …).
    FeatureAlphaDropout |input, p, generator| input.try_feature_alpha_dropout(p, generator);
}
