//! The Cholesky decomposition A = L Lᵀ.

use super::cpu::{Element, each, typed};
use super::{NOT_POSITIVE_DEFINITE, Sizes, exact, exact_of, numbers, refused, samples, transposed, wgsl};
use crate::calls::Methods;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Listed, Structured};
use crate::op::{Autocast, Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};

/// (…, n, n) → (…, n, n): the lower triangle of a symmetric matrix, which is read, to L, with zeros above. A matrix that is not
/// positive definite is a fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cholesky;

impl Cholesky {
    fn run<T: Element>(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: n, .. } = Sizes::of(&inputs[0].meta.shape);
        let to = T::write(&mut outputs[0]);
        to.copy_from_slice(T::read(inputs[0].buffer));
        let to = Disjoint::new(to);
        each(batch, n * n * n / 3, |number, threads| {
            // Safety: each matrix is visited once.
            let matrix = unsafe { to.slice(number * n * n..(number + 1) * n * n) };
            T::cholesky(n, matrix, threads).map_err(|_| refused("cholesky", number, NOT_POSITIVE_DEFINITE))
        })
    }
}

impl Kernels for Cholesky {
    fn name(&self) -> &'static str {
        "cholesky"
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        typed!(self, inputs, outputs)
    }

    fn fills_outputs(&self) -> bool {
        true
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::cholesky::programs(Sizes::of(&call.inputs[0].meta.shape), call)
    }

    /// n³/3.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let Sizes { batch, rows: n, .. } = Sizes::of(&call.inputs[0].meta.shape);
        (batch * n * n * n / 3) as u64
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
        let Sizes { batch, rows: n, .. } = Sizes::of(&inputs[0].shape);
        let mut all = Vec::new();
        for number in 0..batch {
            let a = &numbers(&inputs[0])[number * n * n..(number + 1) * n * n];
            all.extend(
                exact::cholesky(n, a).ok_or_else(|| refused("cholesky", number, NOT_POSITIVE_DEFINITE))?,
            );
        }
        Ok(vec![exact_of(&outputs[0], all)])
    }
}

impl Listed for Cholesky {
    const NAMES: &'static [&'static str] = &["cholesky"];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        samples::cholesky()
    }
}

impl Methods for Cholesky {}

impl Tensor {
    /// L of square F32 or F64 matrices.
    #[track_caller]
    pub(crate) fn cholesky_factor(&self) -> Result<Tensor> {
        let op = Op::Structured(StructuredOp::Cholesky(Apart::new(Cholesky)));
        Tensor::from_op(op, std::slice::from_ref(self), self.meta().clone())
    }
}
