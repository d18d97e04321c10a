//! The Cholesky decomposition A = L Lᵀ.

use super::cpu::{Element, each};
use super::{
    Decomposition, NOT_POSITIVE_DEFINITE, Sizes, exact, exact_of_each, refused, samples, transposed, wgsl,
};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::HostBuffer;
use crate::ir::call::{CpuOperand, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Structured};
use crate::op::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};

/// (…, n, n) → (…, n, n): the lower triangle of a symmetric matrix, which is read, to L, with zeros above. A matrix that is not
/// positive definite is a fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cholesky;

impl Decomposition for Cholesky {
    const NAME: &'static str = "cholesky";

    fn run<T: Element>(&self, sizes: Sizes, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: n, .. } = sizes;
        let l = T::write(&mut outputs[0]);
        l.copy_from_slice(T::read(inputs[0].buffer));
        each(batch, n * n * n / 3, [l], |number, [l], threads| {
            T::cholesky(n, l, threads).map_err(|_| refused("cholesky", number, NOT_POSITIVE_DEFINITE))
        })
    }

    fn programs(&self, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::cholesky::programs(sizes, call)
    }

    /// n³/3.
    fn operations(&self, Sizes { batch, rows: n, .. }: Sizes) -> usize {
        batch * n * n * n / 3
    }

    fn samples() -> Vec<Case> {
        samples::cholesky()
    }
}

impl Structured for Cholesky {
    fn saves(&self) -> Saves {
        Saves { outputs: true, ..Saves::NOTHING }
    }

    /// ½ L⁻ᵀ S L⁻¹, where S is symmetric and has the lower triangle of Lᵀ g: the symmetric one of all gradients that a
    /// symmetric matrix has.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let l = v.output();
        let lt = transposed(l)?;
        let lower = lt.try_matmul(v.grad())?.try_tril(0)?;
        let symmetric = &lower + transposed(&lower.try_tril(-1)?)?;
        let left = lt.triangular(&symmetric, true, false)?;
        let both = lt.triangular(&transposed(&left)?, true, false)?;
        Ok(vec![Some(both * 0.5)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let n = Sizes::of(&inputs[0].shape).rows;
        exact_of_each(inputs, outputs, |number, operands| {
            let l = exact::cholesky(n, operands[0]);
            Ok([l.ok_or_else(|| refused("cholesky", number, NOT_POSITIVE_DEFINITE))?])
        })
    }
}

impl Tensor {
    /// L of square F32 or F64 matrices.
    #[track_caller]
    pub(crate) fn cholesky_factor(&self) -> Result<Tensor> {
        let op = Op::Structured(StructuredOp::Cholesky(Apart::new(Cholesky)));
        Tensor::from_op(op, std::slice::from_ref(self), self.meta().clone())
    }
}
