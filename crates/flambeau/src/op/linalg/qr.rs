//! The QR decomposition A = Q R.

use super::cpu::{Element, each};
use super::{Decomposition, Sizes, exact, exact_of_each, samples, transposed, wgsl, with_matrices};
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::host::HostBuffer;
use crate::ir::call::{CpuOperand, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Structured};
use crate::op::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use smallvec::smallvec;

/// (…, m, n) → Q (…, m, c), whose columns are orthonormal, and R (…, c, n), upper triangular, whose diagonal is not negative.
/// c = m if it is `complete`, else min(m, n).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Qr {
    pub complete: bool,
}

impl Qr {
    /// c.
    fn width(&self, sizes: Sizes) -> usize {
        if self.complete { sizes.rows } else { sizes.least() }
    }
}

impl Decomposition for Qr {
    const NAME: &'static str = "qr";

    fn run<T: Element>(&self, sizes: Sizes, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: m, columns: n } = sizes;
        let a = T::read(inputs[0].buffer);
        let [q, r] = outputs else { unreachable!("QR has two results") };
        each(batch, m * n * sizes.least(), [q, r].map(T::write), |number, [q, r], threads| {
            T::qr(m, n, &a[number * m * n..(number + 1) * m * n], q, r, threads);
            Ok(())
        })
    }

    fn programs(&self, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::qr::programs(sizes, self.width(sizes), call)
    }

    /// 2 k² (m − k/3) and as much for Q, k = min(m, n), for tall matrices.
    fn operations(&self, sizes: Sizes) -> usize {
        let k = sizes.least();
        4 * sizes.batch * k * k * (sizes.rows.max(sizes.columns) - k / 3)
    }

    fn samples() -> Vec<Case> {
        samples::qr()
    }
}

impl Structured for Qr {
    fn saves(&self) -> Saves {
        Saves { outputs: true, ..Saves::NOTHING }
    }

    /// (gQ + Q S) R⁻ᵀ, where S is symmetric and has the upper triangle of gR Rᵀ − Qᵀ gQ. What a wide matrix has beside its
    /// first m columns is Q R₂: its gradient is Q gR₂, and Q has (Q R₂) gR₂ᵀ more.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (q, r) = (&v.outputs[0], &v.outputs[1]);
        let (m, n, k) = (q.size(-2), r.size(-1), q.size(-1));
        if self.complete && m > n {
            let message = format!(
                "qr: the complete Q of matrices {m} × {n} has no gradient; its first {n} columns have one"
            );
            return Err(Error::Autograd(message));
        }
        let given = |output: usize| v.grads[output].clone().unwrap_or_else(|| v.outputs[output].zeros_like());
        let (mut gq, gr) = (given(0), given(1));
        let mut beside = None;
        if n > k {
            let (r2, gr2) = (r.try_narrow(-1, k, n - k)?, gr.try_narrow(-1, k, n - k)?);
            gq = gq.try_add(&q.try_matmul(&r2)?.try_matmul(&transposed(&gr2)?)?)?;
            beside = Some(q.try_matmul(&gr2)?);
        }
        let (r, gr) = (r.try_narrow(-1, 0, k)?, gr.try_narrow(-1, 0, k)?);
        let product = gr.try_matmul(&transposed(&r)?)? - transposed(q)?.try_matmul(&gq)?;
        let symmetric = product.try_triu(0)? + transposed(&product.try_triu(1)?)?;
        let left = gq + q.try_matmul(&symmetric)?;
        let mut grad = transposed(&r.triangular(&transposed(&left)?, true, false)?)?;
        if let Some(beside) = beside {
            grad = Tensor::try_cat(&[grad, beside], -1)?;
        }
        Ok(vec![Some(grad)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let sizes = Sizes::of(&inputs[0].shape);
        exact_of_each(inputs, outputs, |_, operands| {
            let (q, r) = exact::qr(sizes.rows, sizes.columns, operands[0], self.width(sizes));
            Ok([q, r])
        })
    }
}

impl Tensor {
    /// Q and R of F32 or F64 matrices.
    #[track_caller]
    pub(crate) fn qr_factors(&self, complete: bool) -> Result<(Tensor, Tensor)> {
        let op = Qr { complete };
        let sizes = Sizes::of(self.shape());
        let meta = |rows, columns| Meta::new(with_matrices(self.shape(), rows, columns), self.dtype());
        let outputs = smallvec![meta(sizes.rows, op.width(sizes)), meta(op.width(sizes), sizes.columns)];
        let op = Op::Structured(StructuredOp::Qr(Apart::new(op)));
        let results = Tensor::from_op_multi(op, &[self], outputs, &[])?;
        let [q, r] = &results[..] else { unreachable!("QR has two results") };
        Ok((q.clone(), r.clone()))
    }
}
