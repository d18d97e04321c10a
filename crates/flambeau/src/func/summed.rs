//! The sum over the samples of a value that was recorded for one: what the gradient of something captured is.
//!
//! The sum moves through ops that are linear, towards the product that most gradients of weights are: the sum of products of a batch
//! is one product, in which the samples are part of what is summed over. (The other way, a gradient for each sample and then their
//! sum, takes memory for a model per sample.)

use super::interpret::{Interpreter, Pending};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::op::batch::Sample;
use crate::op::{Meta, Op, ReduceKind, StructuredOp};
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::tensor::node::Value;
use smallvec::{SmallVec, smallvec};

/// Sums are taken apart into at most so many terms.
const MAX_TERMS: usize = 16;

/// A linear op of one operand, to be applied to a sum.
type Linear = (Op, Meta, SmallVec<[Scalar; 1]>);

impl Interpreter<'_> {
    /// The sum over the samples of a value that has been batched.
    pub(super) fn summed(&self, value: &Value) -> Result<Tensor> {
        let mut total: Option<Tensor> = None;
        // Values of which sums are to be taken, with what is done to each sum, the last first.
        let mut terms: Vec<(Value, Vec<Linear>)> = vec![(value.clone(), Vec::new())];
        let mut split = 1;
        while let Some((value, mut after)) = terms.pop() {
            let value = self.written_out(&value);
            let sum = match self.linear(&value) {
                Some((op @ (Op::View(_) | Op::Reduce(_)), inputs, data)) => {
                    after.push((op, value.meta().clone(), data));
                    terms.push((inputs[0].clone(), after));
                    continue;
                }
                Some((Op::Map(_), inputs, _)) if split < MAX_TERMS => {
                    split += 1;
                    terms.extend(inputs.into_iter().rev().map(|input| (input, after.clone())));
                    continue;
                }
                Some((Op::Structured(_), inputs, _)) => self.sum_of_products(&inputs)?,
                _ => self.plain_sum(&value)?,
            };
            let apply = |sum: Tensor, (op, meta, data): Linear| {
                Tensor::from_op_multi(op, &[&sum], smallvec![meta], &data)
                    .map(|mut results| results.remove(0))
            };
            let term = after.into_iter().rev().try_fold(sum, apply)?;
            total = Some(match total {
                None => term,
                Some(total) => total.try_add(&term)?,
            });
        }
        Ok(total.expect("there is a term"))
    }

    fn plain_sum(&self, value: &Value) -> Result<Tensor> {
        match self.found(value) {
            Sample::Each(each) => each.try_sum(0),
            Sample::Same(same) => same.try_mul(self.size() as f64),
        }
    }

    /// The op of a batched value, if the sum can move through it: a view, a sum, an addition, or a product of which both operands
    /// are batched.
    fn linear(&self, value: &Value) -> Option<Pending> {
        let (op, inputs, data) = self.pending(&value.node)?;
        // Of a value that was kept from before, the inputs may not have been come to.
        if inputs.iter().any(|input| self.known(input).is_none()) {
            return None;
        }
        let is_each = |input: &Value| self.known(input).is_some_and(Sample::is_each);
        let moves = match &op {
            Op::View(_) => true,
            Op::Reduce(reduce) => reduce.kind == ReduceKind::Sum,
            Op::Map(map) => map.name == "add",
            Op::Structured(StructuredOp::MatMul(_)) => inputs.iter().all(is_each),
            _ => false,
        };
        (moves && value.meta().dtype.is_float() && inputs.iter().any(is_each)).then_some((op, inputs, data))
    }

    /// Σ over samples s of Aₛ Bₛ, (S, …, M, K) and (S, …, K, N): one product (…, M, S·K) × (…, S·K, N).
    fn sum_of_products(&self, inputs: &[Value]) -> Result<Tensor> {
        let (a, b) = (self.found(&inputs[0]), self.found(&inputs[1]));
        let (a, b) = (a.tensor().try_movedim(0, -2)?, b.tensor().try_movedim(0, -3)?);
        // (…, M, S, K) and (…, S, K, N).
        let rank = a.rank();
        let joined = |sizes: &[usize], at: usize| -> Shape {
            let both = sizes[at] * sizes[at + 1];
            sizes[..at].iter().copied().chain([both]).chain(sizes[at + 2..].iter().copied()).collect()
        };
        let (wide, tall) = (joined(a.shape(), rank - 2), joined(b.shape(), rank - 3));
        a.try_reshape(wide)?.product(&b.try_reshape(tall)?)
    }
}
