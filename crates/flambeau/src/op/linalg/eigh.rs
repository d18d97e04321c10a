//! Eigenvalues and eigenvectors of symmetric matrices: A = V diag(w) Vᵀ.

use super::cpu::{Element, each, require_finite};
use super::{Decomposition, Sizes, exact, exact_of_each, identity, samples, transposed, wgsl, with_vectors};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::HostBuffer;
use crate::ir::call::{CpuOperand, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Structured};
use crate::op::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use smallvec::smallvec;

/// (…, n, n) → w (…, n), which increases, and V (…, n, n), whose columns are orthonormal. The lower triangle is read. Numbers that are
/// not finite are a fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Eigh;

impl Decomposition for Eigh {
    const NAME: &'static str = "eigh";

    fn run<T: Element>(&self, sizes: Sizes, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: n, .. } = sizes;
        let a = T::read(inputs[0].buffer);
        let [w, v] = outputs else { unreachable!("eigh has two results") };
        each(batch, 4 * n * n * n, [w, v].map(T::write), |number, [w, v], threads| {
            let a = &a[number * n * n..(number + 1) * n * n];
            require_finite("eigh", number, a)?;
            T::eigh(n, a, w, v, threads);
            Ok(())
        })
    }

    fn programs(&self, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::vectors::eigh(sizes, call)
    }

    /// 9 n³, as is the custom.
    fn operations(&self, Sizes { batch, rows: n, .. }: Sizes) -> usize {
        9 * batch * n * n * n
    }

    fn samples() -> Vec<Case> {
        samples::eigh()
    }
}

impl Structured for Eigh {
    fn saves(&self) -> Saves {
        Saves { outputs: true, ..Saves::NOTHING }
    }

    /// V (diag(gw) + (Vᵀ gV) / E) Vᵀ with E\[i\]\[j\] = w\[j\] − w\[i\], without its diagonal: not finite where eigenvalues are equal and
    /// their vectors are asked for.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (w, vectors) = (&v.outputs[0], &v.outputs[1]);
        let back = transposed(vectors)?;
        let values = v.grads[0].as_ref().map(|gw| vectors.try_mul(&gw.try_unsqueeze(-2)?)).transpose()?;
        let turned = match &v.grads[1] {
            None => None,
            Some(gv) => {
                let ones = identity(vectors)?;
                let gaps = w.try_unsqueeze(-2)? - w.try_unsqueeze(-1)? + &ones;
                let inner = back.try_matmul(gv)? * (1.0 - ones) / gaps;
                Some(vectors.try_matmul(&inner)?)
            }
        };
        let left = match (values, turned) {
            (Some(values), Some(turned)) => values + turned,
            (values, turned) => values.or(turned).expect("a rule runs where a result has a gradient"),
        };
        Ok(vec![Some(left.try_matmul(&back)?)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let n = Sizes::of(&inputs[0].shape).rows;
        exact_of_each(inputs, outputs, |_, operands| {
            let (w, v) = exact::eigh(n, operands[0]);
            Ok([w, v])
        })
    }
}

impl Tensor {
    /// w and V of square F32 or F64 matrices.
    #[track_caller]
    pub(crate) fn eigh_factors(&self) -> Result<(Tensor, Tensor)> {
        let op = Op::Structured(StructuredOp::Eigh(Apart::new(Eigh)));
        let values = Meta::new(with_vectors(self.shape(), self.size(-1)), self.dtype());
        let results = Tensor::from_op_multi(op, &[self], smallvec![values, self.meta().clone()], &[])?;
        let [w, v] = &results[..] else { unreachable!("eigh has two results") };
        Ok((w.clone(), v.clone()))
    }
}
