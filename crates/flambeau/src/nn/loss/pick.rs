//! Picking the entry of each row that a class number names: what classification losses have in common.
//!
//! The derivatives compare the class with the position along the class dimension instead of scattering: a comparison
//! fuses with what comes before and after it.

use crate::autograd::{Saves, no_grad};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// Where the classes of a loss's input are: dimension 1 of (N, C, d1, …), or 0 of (C).
pub(super) fn class_dim(op: &'static str, input: &Tensor) -> Result<usize> {
    match input.rank() {
        0 => Err(Error::shape(op, "the input has no dimension of classes; (C) or (N, C, …) is expected")),
        1 => Ok(0),
        _ => Ok(1),
    }
}

/// Class numbers for the rows of an input of scores, and which of them count.
pub(super) struct Labels {
    /// The class numbers, with the class dimension of size 1; 0 where they are ignored.
    pub classes: Tensor,
    /// Which rows count; shaped as `classes`.
    pub counted: Tensor,
    pub dim: usize,
}

impl Labels {
    /// Checks class numbers (N, d1, …) against scores (N, C, d1, …); gives the dimension of the classes.
    pub fn check(op: &'static str, input: &Tensor, target: &Tensor) -> Result<usize> {
        super::floats(op, input)?;
        let dim = class_dim(op, input)?;
        if !target.dtype().is_int() {
            return Err(Error::dtype_not_accepted(op, target.dtype(), "class numbers of an integer dtype"));
        }
        let expected = input.shape().removed(dim);
        if *target.shape() != expected {
            let message = format!(
                "class numbers of shape {} for scores of shape {}; {expected} was expected",
                target.shape(),
                input.shape()
            );
            return Err(Error::shape(op, message));
        }
        Ok(dim)
    }

    /// Class numbers (N, d1, …) for scores (N, C, d1, …), checked.
    #[track_caller]
    pub fn new(op: &'static str, input: &Tensor, target: &Tensor, ignore_index: i64) -> Result<Labels> {
        let dim = Labels::check(op, input, target)?;
        // An unsigned dtype cannot hold the usual ignore_index.
        let signed = if target.dtype() == DType::I64 { DType::I64 } else { DType::I32 };
        let target = target.try_to_dtype(signed)?.try_reshape(input.shape().with(dim, 1))?;
        let counted = target.try_ne(ignore_index)?;
        let classes = counted.try_where_cond(&target, target.zeros_like())?;
        Ok(Labels { classes, counted, dim })
    }

    /// How much each row counts, without a weight: 1, or 0 where it is ignored.
    #[track_caller]
    pub fn counts(&self, input: &Tensor) -> Result<Tensor> {
        self.counted.try_to_dtype(input.dtype())
    }

    /// How much each row counts: its class's weight, or 0 where it is ignored.
    #[track_caller]
    pub fn weights(&self, op: &'static str, input: &Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
        let Some(weight) = weight else { return self.counts(input) };
        let classes = input.shape()[self.dim];
        check_class_weight(op, weight, classes)?;
        let rows = self.classes.try_reshape(self.classes.numel())?;
        let weights = weight.detach().try_index_select(0, &rows)?.try_reshape(self.classes.shape())?;
        self.counted.try_where_cond(&weights, weights.zeros_like())
    }
}

/// Refuses weights that are not one number for each class.
pub(super) fn check_class_weight(op: &'static str, weight: &Tensor, classes: usize) -> Result<()> {
    if weight.shape().dims() == [classes] {
        return Ok(());
    }
    let message = format!("a class weight of shape {} for {classes} classes", weight.shape());
    Err(Error::shape(op, message))
}

/// The entry of each row that its class names; the class dimension stays with size 1. A class outside the row is a
/// fault. Derivative: the gradient at the class, 0 elsewhere.
#[track_caller]
pub(super) fn pick(scores: &Tensor, classes: &Tensor, dim: usize) -> Result<Tensor> {
    let shape = scores.shape().clone();
    let forward = || scores.try_gather(dim as isize, classes);
    Tensor::with_rule("pick_class", Saves::inputs(0b10), &[scores, classes], forward, move |v| {
        let (g, classes) = (v.grad(), v.input(1));
        let here = g.iota_of(&shape, dim)?.try_eq(classes)?;
        Ok(vec![Some(here.try_where_cond(g, 0.0)?), None])
    })
}

/// −log softmax of each row at its class, times the row's weight; the class dimension stays with size 1.
/// Derivative: (softmax − [class]) · g · weight, and 0 in ignored rows whatever they hold.
#[track_caller]
pub(super) fn row_cross_entropy(
    logits: &Tensor,
    labels: &Labels,
    weights: &Tensor,
    class_weighted: bool,
) -> Result<Tensor> {
    let dim = labels.dim;
    // Without history: what the rule needs of it, it computes again from the logits, in the same kernel.
    let log_probabilities = no_grad(|| logits.try_log_softmax(dim as isize))?;
    let forward = || {
        // Selected, not multiplied: an ignored row may hold infinities.
        let picked = log_probabilities.try_gather(dim as isize, &labels.classes)?.try_neg()?;
        let counted = labels.counted.try_where_cond(&picked, 0.0)?;
        if class_weighted { counted.try_mul(weights) } else { Ok(counted) }
    };
    let inputs = [logits, &labels.classes, &labels.counted, weights];
    Tensor::with_rule("cross_entropy", Saves::inputs(0b1111), &inputs, forward, move |v| {
        let (classes, counted) = (v.input(1).clone(), v.input(2).clone());
        let factor = v.grad().try_mul(v.input(3))?;
        Ok(vec![Some(excess(v.input(0), &Labels { classes, counted, dim }, &factor)?), None, None, None])
    })
}

/// (softmax of each row − [class]) · factor, and 0 in ignored rows: selected, as either may be infinite there.
#[track_caller]
pub(super) fn excess(logits: &Tensor, labels: &Labels, factor: &Tensor) -> Result<Tensor> {
    let log_probabilities = logits.try_log_softmax(labels.dim as isize)?;
    let here = logits.iota_of(logits.shape(), labels.dim)?.try_eq(&labels.classes)?;
    let here = here.try_to_dtype(logits.dtype())?;
    let excess = log_probabilities.try_exp()?.try_sub(&here)?.try_mul(factor)?;
    labels.counted.try_where_cond(&excess, 0.0)
}
