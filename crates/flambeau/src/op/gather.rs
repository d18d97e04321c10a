//! Gather: reads along one dimension at positions given by another tensor.

use super::{Grads, Vjp};
use crate::error::Result;

/// Derivative: each gradient goes back to the place it was read from; places read twice get the sum.
pub(crate) fn vjp(dim: usize, v: &Vjp) -> Result<Grads> {
    let (source, index) = (v.input(0), v.input(1));
    let zeros = v.grad().full_of(source.shape(), 0.0)?;
    Ok(vec![Some(zeros.try_scatter_add(dim as isize, index, v.grad())?), None])
}
