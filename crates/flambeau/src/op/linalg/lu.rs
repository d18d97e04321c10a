//! The LU decomposition with partial pivoting: P A = L U.

use super::cpu::{Element, each, typed};
use super::{SINGULAR, Sizes, exact, exact_of, numbers, refused, samples, transposed, wgsl, with_vectors};
use crate::calls::Methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Listed, Structured};
use crate::op::{Autocast, Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use smallvec::smallvec;

/// (…, m, n) → (…, m, n) and (…, m), I32: L below the diagonal (its own is ones) and U from it on; and the row of A that each row
/// of P A is. A column with nothing but zeros left has a zero in U and zeros in L.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lu {
    /// Who needs U without a zero on its diagonal: a fault of this op otherwise.
    pub regular_for: Option<&'static str>,
}

impl Lu {
    fn run<T: Element + PartialEq>(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let sizes @ Sizes { batch, rows: m, columns: n } = Sizes::of(&inputs[0].meta.shape);
        let [packed, rows] = outputs else { unreachable!("LU has two results") };
        let packed = T::write(packed);
        packed.copy_from_slice(T::read(inputs[0].buffer));
        let HostBuffer::I32(rows) = rows else { unreachable!("rows are I32") };
        let (packed, rows) = (Disjoint::new(packed), Disjoint::new(&mut rows[..]));
        each(batch, m * n * sizes.least() / 2, |number, threads| {
            // Safety: each matrix is visited once.
            let matrix = unsafe { packed.slice(number * m * n..(number + 1) * m * n) };
            // Safety: as above.
            let rows = unsafe { rows.slice(number * m..(number + 1) * m) };
            T::lu(m, n, matrix, rows, threads);
            match self.regular_for {
                Some(op) if (0..n).any(|i| matrix[i * n + i] == T::default()) => {
                    Err(refused(op, number, SINGULAR))
                }
                _ => Ok(()),
            }
        })
    }
}

impl Kernels for Lu {
    fn name(&self) -> &'static str {
        "lu"
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
        wgsl::lu::programs(self, Sizes::of(&call.inputs[0].meta.shape), call)
    }

    /// Σ over k of 2 (m − k) (n − k): ⅔ n³ of a square matrix.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let sizes = Sizes::of(&call.inputs[0].meta.shape);
        let of_column = |k: usize| 2 * (sizes.rows - k - 1) * (sizes.columns - k - 1);
        (sizes.batch * (0..sizes.least()).map(of_column).sum::<usize>()) as u64
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
        let Sizes { batch, rows: m, columns: n } = Sizes::of(&inputs[0].shape);
        let (mut all, mut orders) = (Vec::new(), Vec::new());
        for number in 0..batch {
            let (packed, rows) = exact::lu(m, n, &numbers(&inputs[0])[number * m * n..(number + 1) * m * n]);
            if let Some(op) = self.regular_for.filter(|_| (0..n).any(|i| packed[i * n + i] == 0.0)) {
                return Err(refused(op, number, SINGULAR));
            }
            all.extend(packed);
            orders.extend(rows.into_iter().map(|row| row as f64));
        }
        Ok(vec![exact_of(&outputs[0], all), exact_of(&outputs[1], orders)])
    }
}

impl Listed for Lu {
    const NAMES: &'static [&'static str] = &["lu"];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        samples::lu()
    }
}

impl Methods for Lu {}

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
