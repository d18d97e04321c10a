//! Checkpointing: a region keeps its inputs only, and is computed again when backward comes to it.

use super::draws;
use super::function::{Edge, Function, Rule};
use super::{is_autocast_enabled, is_grad_enabled, set_autocast_enabled};
use crate::error::{Error, Result};
use crate::op::Saves;
use crate::tensor::{Tensor, precision};
use std::sync::Arc;

/// `f(inputs)`, without keeping what its derivative reads: backward computes the region again from the inputs.
///
/// Trades computing for memory. Gradients are the same as without it, of any order, also those of parameters that
/// `f` captures; random draws inside (dropout) are repeated exactly. `f` runs twice and must do the same both times.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::autograd::checkpoint;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
/// let y = checkpoint(|inputs| inputs[0].try_mul(&inputs[0])?.try_exp(), &[&x])?;
/// y.sum(..).backward()?;
/// assert_eq!(x.grad().unwrap().to_string(), "tensor([  5.4366, 218.3926])");
/// # Ok::<(), Error>(())
/// ```
pub fn checkpoint<F>(f: F, inputs: &[&Tensor]) -> Result<Tensor>
where
    F: Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
{
    let given: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
    // Recorded, to learn whether a gradient is wanted: of an input or of something captured. The record is dropped
    // at once, and with it what it saved.
    let (output, draws) = draws::record(|| f(&given));
    let output = output?;
    if !output.is_tracked() || !is_grad_enabled() {
        return Ok(output);
    }
    let expected = output.meta().clone();
    let (casting, scope) = (is_autocast_enabled(), precision::scope());
    let region = move |inputs: &[Tensor]| {
        let (_mode, _precision) = (set_autocast_enabled(casting), precision::restore(scope));
        let output = draws::replay(&draws, || f(inputs))?;
        if *output.meta() != expected {
            return Err(Error::Autograd(format!(
                "a checkpointed region gave {} {} at first and {} {} when it was computed again",
                expected.dtype,
                expected.shape,
                output.dtype(),
                output.shape()
            )));
        }
        Ok(output)
    };
    let value = output.value().clone();
    let saves = Saves::inputs(u32::MAX);
    let function = Function::new(
        "checkpoint",
        Rule::Checkpoint(Arc::new(region)),
        saves,
        inputs,
        std::slice::from_ref(&value),
    );
    Ok(Tensor::from_parts(value, Some(Edge::Function(function, 0))))
}
