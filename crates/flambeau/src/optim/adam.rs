//! Adam, and AdamW, which decouples weight decay from the gradient.

use super::Optimizer;
use super::slots::{Given, Slots, Update};
use crate::error::{Error, Result, expect};
use crate::nn::Parameter;

/// The settings of [`Adam`] and [`AdamW`]. The defaults are PyTorch's for Adam; AdamW's weight decay is 0.01.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamOptions {
    /// The learning rate.
    pub learning_rate: f64,
    /// How much of the running means of gradient and squared gradient is kept.
    pub betas: (f64, f64),
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// λ: see the optimizer.
    pub weight_decay: f64,
    /// Divides by the largest mean of squares so far instead of the present one.
    pub amsgrad: bool,
}

impl Default for AdamOptions {
    fn default() -> Self {
        AdamOptions { learning_rate: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0, amsgrad: false }
    }
}

impl AdamOptions {
    fn check(&self, optimizer: &'static str) -> Result<()> {
        let not_negative =
            [("learning rate", self.learning_rate), ("eps", self.eps), ("weight decay", self.weight_decay)];
        for (name, value) in not_negative {
            if value.is_nan() || value < 0.0 {
                return Err(Error::argument(optimizer, format!("{name} {value} must not be negative")));
            }
        }
        for beta in [self.betas.0, self.betas.1] {
            if !(0.0..1.0).contains(&beta) {
                return Err(Error::argument(optimizer, format!("beta {beta} must be in [0, 1)")));
            }
        }
        Ok(())
    }

    fn rule(&self, decoupled: bool, given: &Given) -> Result<Update> {
        let AdamOptions { learning_rate, betas: (beta1, beta2), eps, weight_decay, .. } = *self;
        let (mut value, mut grad) = (given.value.clone(), given.grad.clone());
        if decoupled {
            value = value.try_mul(1.0 - learning_rate * weight_decay)?;
        } else if weight_decay != 0.0 {
            grad = grad.try_add(value.try_mul(weight_decay)?)?;
        }
        let (mean, square) = (&given.state[0], &given.state[1]);
        let mean = mean.try_mul(beta1)?.try_add(grad.try_mul(1.0 - beta1)?)?;
        let square = square.try_mul(beta2)?.try_add(grad.try_mul(1.0 - beta2)?.try_mul(&grad)?)?;
        let step = given.step as f64;
        let (correction1, correction2) = (1.0 - beta1.powf(step), 1.0 - beta2.powf(step));
        let largest = match given.state.get(2) {
            // A NaN in `square` stays there, and is chosen.
            Some(largest) => Some(largest.try_gt(&square)?.try_where_cond(largest, &square)?),
            None => None,
        };
        let root = largest.as_ref().unwrap_or(&square).try_sqrt()?;
        let denominator = root.try_div(correction2.sqrt())?.try_add(eps)?;
        let change = mean.try_mul(-learning_rate / correction1)?.try_div(&denominator)?;
        let state = [mean, square].into_iter().chain(largest).collect();
        Ok(Update { value: value.try_add(change)?, state })
    }
}

macro_rules! adam {
    ($(#[$doc:meta])* $name:ident, decoupled: $decoupled:literal, weight_decay: $weight_decay:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            slots: Slots,
            options: AdamOptions,
        }

        impl $name {
            /// With the default settings but for the learning rate.
            #[track_caller]
            pub fn new(parameters: impl IntoIterator<Item = Parameter>, learning_rate: f64) -> $name {
                let options = AdamOptions { learning_rate, weight_decay: $weight_decay, ..Default::default() };
                $name::with_options(parameters, options)
            }

            /// With all settings.
            #[track_caller]
            pub fn with_options(
                parameters: impl IntoIterator<Item = Parameter>,
                options: AdamOptions,
            ) -> $name {
                expect($name::try_with_options(parameters, options))
            }

            /// [`with_options`](Self::with_options), or the error instead of a panic.
            pub fn try_with_options(
                parameters: impl IntoIterator<Item = Parameter>,
                options: AdamOptions,
            ) -> Result<$name> {
                options.check(stringify!($name))?;
                let states = if options.amsgrad { 3 } else { 2 };
                Ok($name { slots: Slots::new(stringify!($name), parameters, states)?, options })
            }
        }

        impl Optimizer for $name {
            fn step(&mut self) -> Result<()> {
                self.slots.step(|given| self.options.rule($decoupled, given))
            }

            fn zero_grad(&self) {
                self.slots.zero_grad();
            }

            fn learning_rate(&self) -> f64 {
                self.options.learning_rate
            }

            fn set_learning_rate(&mut self, learning_rate: f64) {
                self.options.learning_rate = learning_rate;
            }
        }
    };
}

adam! {
    /// Adam: m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − lr · m̂ / (√v̂ + ε), where m̂ = m / (1 − β₁ᵗ) and
    /// v̂ = v / (1 − β₂ᵗ). Weight decay λ makes g ← g + λ θ first.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::{nn::Parameter, optim::{Adam, Optimizer}};
    /// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
    /// let mut adam = Adam::new([w.clone()], 0.5);
    /// (w.get() * w.get()).sum(..).backward()?;
    /// adam.step()?;
    /// adam.zero_grad();
    /// assert_eq!(w.value().to_string(), "tensor([0.5000, 1.5000])");
    /// # Ok::<(), Error>(())
    /// ```
    Adam, decoupled: false, weight_decay: 0.0
}

adam! {
    /// [`Adam`] whose weight decay λ (0.01 by default) acts on the parameter itself: θ ← (1 − lr · λ) θ first.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::{nn::Parameter, optim::{AdamW, Optimizer}};
    /// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
    /// let mut adam = AdamW::new([w.clone()], 0.5);
    /// (w.get() * w.get()).sum(..).backward()?;
    /// adam.step()?;
    /// assert_eq!(w.value().to_string(), "tensor([0.4950, 1.4900])");
    /// # Ok::<(), Error>(())
    /// ```
    AdamW, decoupled: true, weight_decay: 0.01
}
