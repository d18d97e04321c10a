//! `Forward`: modules that make one tensor of one tensor, closures among them.

use super::{Module, Part, Stage};
use crate::error::{Result, expect};
use crate::tensor::Tensor;

/// A module with one input and one output: most layers, and what [`Sequential`](super::Sequential) strings together.
/// One implements `try_forward`; `forward` comes for free.
///
/// Closures are such modules too, returning a tensor or a `Result`:
///
/// ```
/// use flambeau::{nn::Sequential, prelude::*};
/// let net = Sequential::new().with(|x: &Tensor| x * 2.0).with(|x: &Tensor| x.try_sqrt());
/// assert_eq!(net.forward(&Tensor::new([2.0, 8.0], &Device::cpu())).to_string(), "tensor([2., 4.])");
/// ```
pub trait Forward: Module {
    /// The output for this input, or what is wrong with it.
    fn try_forward(&self, input: &Tensor) -> Result<Tensor>;

    /// The stages it is a chain of: the first takes the input, each other one what the one before makes, and the last makes the
    /// output. One stage, the whole, unless a module knows better.
    fn stages(&self) -> Vec<Stage<'_>> {
        vec![Stage::of(self)]
    }

    /// The output for this input.
    #[track_caller]
    fn forward(&self, input: &Tensor) -> Tensor {
        expect(self.try_forward(input))
    }
}

/// What a closure that acts as a module may return: a tensor or a `Result`.
pub trait ForwardOutput {
    /// As a `Result`.
    fn into_result(self) -> Result<Tensor>;
}

impl ForwardOutput for Tensor {
    fn into_result(self) -> Result<Tensor> {
        Ok(self)
    }
}

impl ForwardOutput for Result<Tensor> {
    fn into_result(self) -> Result<Tensor> {
        self
    }
}

impl<F, R> Module for F
where
    F: Fn(&Tensor) -> R + Send + Sync,
    R: ForwardOutput,
{
    fn parts<'a>(&'a self, _: &mut dyn FnMut(&str, Part<'a>)) {}

    fn type_name(&self) -> Option<&str> {
        Some("Closure")
    }
}

impl<F, R> Forward for F
where
    F: Fn(&Tensor) -> R + Send + Sync,
    R: ForwardOutput,
{
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        self(input).into_result()
    }
}
