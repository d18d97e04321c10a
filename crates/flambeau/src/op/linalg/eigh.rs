//! Eigenvalues and eigenvectors of symmetric matrices: A = V diag(w) Vᵀ.

use super::cpu::{Element, each, typed};
use super::{
    NOT_FINITE, Sizes, exact, exact_of, identity, numbers, refused, samples, transposed, wgsl, with_vectors,
};
use crate::calls::Methods;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Listed, Structured};
use crate::op::{Autocast, Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use smallvec::smallvec;

/// (…, n, n) → w (…, n), which increases, and V (…, n, n), whose columns are orthonormal. The lower triangle is read. Numbers that are
/// not finite are a fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Eigh;

impl Eigh {
    fn run<T: Element>(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: n, .. } = Sizes::of(&inputs[0].meta.shape);
        let from = T::read(inputs[0].buffer);
        let [w, v] = outputs else { unreachable!("eigh has two results") };
        let (w, v) = (Disjoint::new(T::write(w)), Disjoint::new(T::write(v)));
        each(batch, 4 * n * n * n, |number, threads| {
            // Safety: each matrix is visited once.
            let w = unsafe { w.slice(number * n..(number + 1) * n) };
            // Safety: as above.
            let v = unsafe { v.slice(number * n * n..(number + 1) * n * n) };
            let a = &from[number * n * n..(number + 1) * n * n];
            if !a.iter().all(|&x| x.is_finite()) {
                return Err(refused("eigh", number, NOT_FINITE));
            }
            T::eigh(n, a, w, v, threads);
            Ok(())
        })
    }
}

impl Kernels for Eigh {
    fn name(&self) -> &'static str {
        "eigh"
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
        wgsl::vectors::eigh(Sizes::of(&call.inputs[0].meta.shape), call)
    }

    /// 9 n³, as is the custom.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let Sizes { batch, rows: n, .. } = Sizes::of(&call.inputs[0].meta.shape);
        (9 * batch * n * n * n) as u64
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
        let Sizes { batch, rows: n, .. } = Sizes::of(&inputs[0].shape);
        let (mut ws, mut vs) = (Vec::new(), Vec::new());
        for number in 0..batch {
            let (w, v) = exact::eigh(n, &numbers(&inputs[0])[number * n * n..(number + 1) * n * n]);
            ws.extend(w);
            vs.extend(v);
        }
        Ok(vec![exact_of(&outputs[0], ws), exact_of(&outputs[1], vs)])
    }
}

impl Listed for Eigh {
    const NAMES: &'static [&'static str] = &["eigh"];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        samples::eigh()
    }
}

impl Methods for Eigh {}

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
