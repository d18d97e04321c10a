//! The singular value decomposition A = U diag(s) Vᵀ.

use super::cpu::{Element, each, typed};
use super::{
    NOT_FINITE, Sizes, exact, exact_of, identity, numbers, refused, samples, transposed, wgsl, with_matrices,
    with_vectors,
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

/// (…, m, n) with m ≥ n → U (…, m, n), s (…, n), which decreases, and Vᵀ (…, n, n). Numbers that are not finite are a fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Svd;

impl Svd {
    fn run<T: Element>(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: m, columns: n } = Sizes::of(&inputs[0].meta.shape);
        let from = T::read(inputs[0].buffer);
        let [u, s, vt] = outputs else { unreachable!("svd has three results") };
        let [u, s, vt] = [u, s, vt].map(|buffer| Disjoint::new(T::write(buffer)));
        each(batch, 6 * m * n * n, |number, threads| {
            // Safety: each matrix is visited once.
            let u = unsafe { u.slice(number * m * n..(number + 1) * m * n) };
            // Safety: as above.
            let s = unsafe { s.slice(number * n..(number + 1) * n) };
            // Safety: as above.
            let vt = unsafe { vt.slice(number * n * n..(number + 1) * n * n) };
            let a = &from[number * m * n..(number + 1) * m * n];
            if !a.iter().all(|&x| x.is_finite()) {
                return Err(refused("svd", number, NOT_FINITE));
            }
            let to = flambeau_decompose::Svd { u, s, vt };
            T::svd(m, n, a, to, threads);
            Ok(())
        })
    }
}

impl Kernels for Svd {
    fn name(&self) -> &'static str {
        "svd"
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
        wgsl::vectors::svd(Sizes::of(&call.inputs[0].meta.shape), call)
    }

    /// 14 m n² + 8 n³, as is the custom.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let Sizes { batch, rows: m, columns: n } = Sizes::of(&call.inputs[0].meta.shape);
        (batch * n * n * (14 * m + 8 * n)) as u64
    }
}

impl Structured for Svd {
    fn saves(&self) -> Saves {
        Saves { outputs: true, ..Saves::NOTHING }
    }

    /// U ((skew(Uᵀ gU) / E) S + S (skew(Vᵀ gV) / E) + diag(gs)) Vᵀ with skew(X) = X − Xᵀ and E\[i\]\[j\] = s\[j\]² − s\[i\]², without its
    /// diagonal; and (gU − U Uᵀ gU) S⁻¹ Vᵀ of what of gU is orthogonal to U. Not finite where singular values are equal or zero
    /// and their vectors are asked for.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (u, s, vt) = (&v.outputs[0], &v.outputs[1], &v.outputs[2]);
        let (of_columns, of_rows) = (s.try_unsqueeze(-2)?, s.try_unsqueeze(-1)?);
        let ones = identity(vt)?;
        // Products of differences and sums: squares would lose what is close.
        let gaps = (&of_columns - &of_rows) * (&of_columns + &of_rows) + &ones;
        let skew = |x: Tensor| -> Result<Tensor> { Ok((&x - transposed(&x)?) * (1.0 - &ones) / &gaps) };
        let mut inner: Option<Tensor> = None;
        let mut add = |part: Tensor| inner = Some(inner.take().map_or(part.clone(), |inner| inner + part));
        let mut outside = None;
        if let Some(gs) = &v.grads[1] {
            add(gs.try_diag_embed(0)?);
        }
        if let Some(gu) = &v.grads[0] {
            let product = transposed(u)?.try_matmul(gu)?;
            if u.size(-2) > u.size(-1) {
                outside = Some((gu - u.try_matmul(&product)?) / &of_columns);
            }
            add(skew(product)? * &of_columns);
        }
        if let Some(gvt) = &v.grads[2] {
            add(skew(vt.try_matmul(&transposed(gvt)?)?)? * &of_rows);
        }
        let inner = inner.expect("a rule runs where a result has a gradient");
        let mut left = u.try_matmul(&inner)?;
        if let Some(outside) = outside {
            left += outside;
        }
        Ok(vec![Some(left.try_matmul(vt)?)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Sizes { batch, rows: m, columns: n } = Sizes::of(&inputs[0].shape);
        let [mut us, mut ss, mut vts] = [const { Vec::new() }; 3];
        for number in 0..batch {
            let (u, s, vt) = exact::svd(m, n, &numbers(&inputs[0])[number * m * n..(number + 1) * m * n]);
            us.extend(u);
            ss.extend(s);
            vts.extend(vt);
        }
        Ok(vec![exact_of(&outputs[0], us), exact_of(&outputs[1], ss), exact_of(&outputs[2], vts)])
    }
}

impl Listed for Svd {
    const NAMES: &'static [&'static str] = &["svd"];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        samples::svd()
    }
}

impl Methods for Svd {}

impl Tensor {
    /// U, s and Vᵀ of F32 or F64 matrices that have as many rows as columns, or more.
    #[track_caller]
    pub(crate) fn svd_factors(&self) -> Result<(Tensor, Tensor, Tensor)> {
        let n = self.size(-1);
        let meta = |shape| Meta::new(shape, self.dtype());
        let outputs = smallvec![
            self.meta().clone(),
            meta(with_vectors(self.shape(), n)),
            meta(with_matrices(self.shape(), n, n))
        ];
        let op = Op::Structured(StructuredOp::Svd(Apart::new(Svd)));
        let results = Tensor::from_op_multi(op, &[self], outputs, &[])?;
        let [u, s, vt] = &results[..] else { unreachable!("svd has three results") };
        Ok((u.clone(), s.clone(), vt.clone()))
    }
}
