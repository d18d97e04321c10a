//! The LU decomposition with partial pivoting: P A = L U.

use super::cpu::{Element, each};
use super::{
    Decomposition, SINGULAR, Sizes, exact, exact_of_each, refused, samples, transposed, wgsl, with_vectors,
};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer};
use crate::ir::call::{CpuOperand, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Structured};
use crate::op::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use smallvec::smallvec;

/// (…, m, n) → (…, m, n) and (…, m), I32: L below the diagonal (its own is ones) and U from it on; and the row of A that each row
/// of P A is. A column with nothing but zeros left has a zero in U and zeros in L.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lu {
    /// Who needs U without a zero on its diagonal: a fault of this op otherwise.
    pub regular_for: Option<&'static str>,
}

impl Decomposition for Lu {
    const NAME: &'static str = "lu";

    fn run<T: Element>(&self, sizes: Sizes, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: m, columns: n } = sizes;
        let [packed, rows] = outputs else { unreachable!("LU has two results") };
        let packed = T::write(packed);
        packed.copy_from_slice(T::read(inputs[0].buffer));
        let HostBuffer::I32(rows) = rows else { unreachable!("rows are I32") };
        let rows = Disjoint::new(&mut rows[..]);
        each(batch, m * n * sizes.least() / 2, [packed], |number, [packed], threads| {
            // Safety: each matrix is visited once, and its rows are no other's.
            let rows = unsafe { rows.slice(number * m..(number + 1) * m) };
            T::lu(m, n, packed, rows, threads);
            match self.regular_for {
                Some(op) if (0..n).any(|i| packed[i * n + i] == T::default()) => {
                    Err(refused(op, number, SINGULAR))
                }
                _ => Ok(()),
            }
        })
    }

    fn programs(&self, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::lu::programs(self, sizes, call)
    }

    /// Σ over k of 2 (m − k) (n − k): ⅔ n³ of a square matrix.
    fn operations(&self, sizes: Sizes) -> usize {
        let of_column = |k: usize| 2 * (sizes.rows - k - 1) * (sizes.columns - k - 1);
        sizes.batch * (0..sizes.least()).map(of_column).sum::<usize>()
    }

    fn samples() -> Vec<Case> {
        samples::lu()
    }
}

impl Structured for Lu {
    fn saves(&self) -> Saves {
        Saves { outputs: true, ..Saves::NOTHING }
    }

    /// Of P A: L⁻ᵀ (tril(Lᵀ gL, −1) + triu(gU Uᵀ)) U⁻ᵀ for square matrices. What is below them is L₂ = (P A)₂ U⁻¹, what is beside
    /// them U₂ = L⁻¹ (P A)₂.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (packed, rows, grad) = (&v.outputs[0], &v.outputs[1], v.grad());
        let Sizes { rows: m, columns: n, .. } = Sizes::of(packed.shape());
        let k = m.min(n);
        let square = |x: &Tensor| x.try_narrow(-2, 0, k)?.try_narrow(-1, 0, k);
        let (l, lt) = (square(packed)?, transposed(&square(packed)?)?);
        let (gl, gu) = (square(grad)?.try_tril(-1)?, square(grad)?.try_triu(0)?);
        let lt_times = |x: &Tensor| -> Result<Tensor> { Ok(lt.try_triu(1)?.try_matmul(x)? + x) };
        let mut phi_l = lt_times(&gl)?;
        let mut phi_u = gu.try_matmul(&transposed(&l.try_triu(0)?)?)?;
        // X U⁻ᵀ = (U⁻¹ Xᵀ)ᵀ.
        let by_u =
            |x: &Tensor| -> Result<Tensor> { transposed(&l.triangular(&transposed(x)?, true, false)?) };
        let mut beside = None;
        if m > n {
            let (l2, gl2) = (packed.try_narrow(-2, k, m - k)?, grad.try_narrow(-2, k, m - k)?);
            phi_u -= transposed(&l2)?.try_matmul(&gl2)?;
            beside = Some((by_u(&gl2)?, -2));
        } else if n > m {
            let (u2, gu2) = (packed.try_narrow(-1, k, n - k)?, grad.try_narrow(-1, k, n - k)?);
            phi_l -= gu2.try_matmul(&transposed(&u2)?)?;
            beside = Some((lt.triangular(&gu2, true, true)?, -1));
        }
        let phi = phi_l.try_tril(-1)? + phi_u.try_triu(0)?;
        let mut permuted = by_u(&lt.triangular(&phi, true, true)?)?;
        if let Some((more, dim)) = beside {
            permuted = Tensor::try_cat(&[permuted, more], dim)?;
        }
        Ok(vec![Some(permuted.rows_at(&rows.try_argsort(-1, false)?)?)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Sizes { rows: m, columns: n, .. } = Sizes::of(&inputs[0].shape);
        exact_of_each(inputs, outputs, |number, operands| {
            let (packed, rows) = exact::lu(m, n, operands[0]);
            match self.regular_for.filter(|_| (0..n).any(|i| packed[i * n + i] == 0.0)) {
                Some(op) => Err(refused(op, number, SINGULAR)),
                None => Ok([packed, rows.into_iter().map(|row| row as f64).collect()]),
            }
        })
    }
}

impl Tensor {
    /// L and U in one, and the rows of P A, of F32 or F64 matrices.
    #[track_caller]
    pub(crate) fn lu_packed(&self, regular_for: Option<&'static str>) -> Result<(Tensor, Tensor)> {
        let op = Op::Structured(StructuredOp::Lu(Apart::new(Lu { regular_for })));
        let rows = Meta::new(with_vectors(self.shape(), self.size(-2)), DType::I32);
        let results = Tensor::from_op_multi(op, &[self], smallvec![self.meta().clone(), rows], &[])?;
        let [packed, rows] = &results[..] else { unreachable!("LU has two results") };
        Ok((packed.clone(), rows.clone()))
    }

    /// Of each matrix the rows whose numbers are in `rows` (…, m), in that order.
    #[track_caller]
    pub(crate) fn rows_at(&self, rows: &Tensor) -> Result<Tensor> {
        let index = rows.try_unsqueeze(-1)?.broadcast_as("lu", self.shape())?;
        self.try_gather(-2, &index)
    }
}
