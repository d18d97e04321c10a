//! The singular value decomposition A = U diag(s) Vᵀ.

use super::cpu::{Element, each, require_finite};
use super::{
    Decomposition, Sizes, exact, exact_of_each, identity, samples, transposed, wgsl, with_matrices,
    with_vectors,
};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::HostBuffer;
use crate::ir::call::{CpuOperand, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Structured};
use crate::op::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use smallvec::smallvec;

/// (…, m, n) with m ≥ n → U (…, m, n), s (…, n), which decreases, and Vᵀ (…, n, n). Numbers that are not finite are a fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Svd;

impl Decomposition for Svd {
    const NAME: &'static str = "svd";

    fn run<T: Element>(&self, sizes: Sizes, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: m, columns: n } = sizes;
        let a = T::read(inputs[0].buffer);
        let [u, s, vt] = outputs else { unreachable!("svd has three results") };
        each(batch, 6 * m * n * n, [u, s, vt].map(T::write), |number, [u, s, vt], threads| {
            let a = &a[number * m * n..(number + 1) * m * n];
            require_finite("svd", number, a)?;
            T::svd(m, n, a, flambeau_decompose::Svd { u, s, vt }, threads);
            Ok(())
        })
    }

    fn programs(&self, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::vectors::svd(sizes, call)
    }

    /// 14 m n² + 8 n³, as is the custom.
    fn operations(&self, Sizes { batch, rows: m, columns: n }: Sizes) -> usize {
        batch * n * n * (14 * m + 8 * n)
    }

    fn samples() -> Vec<Case> {
        samples::svd()
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
        let Sizes { rows: m, columns: n, .. } = Sizes::of(&inputs[0].shape);
        exact_of_each(inputs, outputs, |_, operands| {
            let (u, s, vt) = exact::svd(m, n, operands[0]);
            Ok([u, s, vt])
        })
    }
}

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
