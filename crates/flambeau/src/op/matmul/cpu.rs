//! The product on the CPU: the `gemm` crate for floats, plain loops for integers.

use super::Sizes;
use super::small::Small;
use crate::host::{Disjoint, Matrix, Product, Target, multiply, share};
use crate::ir::call::CpuOperand;
use crate::shape::product;
use std::convert::Infallible;

/// Multiplications from which a product is worth all cores.
const PARALLEL_WORK: usize = 1 << 18;
/// Multiplications of several products that are worth one core.
const WORTH_A_THREAD: usize = 1 << 16;

/// The matrix of a batch, the batch counted over all batch dimensions.
fn matrix<'a, T>(operand: &CpuOperand, values: &'a [T], batch: usize) -> Matrix<'a, T> {
    let level = &operand.access.levels[0];
    let rank = level.axes.len();
    let (mut offset, mut rest) = (level.offset.value(operand.data), batch);
    for axis in level.axes[..rank - 2].iter().rev() {
        offset += (rest % axis.size) as i64 * axis.stride;
        rest /= axis.size;
    }
    Matrix { values, offset, row: level.axes[rank - 2].stride, column: level.axes[rank - 1].stride }
}

fn product_sizes(inputs: &[CpuOperand]) -> Sizes {
    let (a, b) = (&inputs[0].meta.shape, &inputs[1].meta.shape);
    let rank = a.rank();
    Sizes { batches: product(&a[..rank - 2]), m: a[rank - 2], n: b[rank - 1], k: a[rank - 1] }
}

pub(super) fn float_product<T: Small>(inputs: &[CpuOperand], a: &[T], b: &[T], c: &mut [T]) {
    let Sizes { batches, m, n, k } = product_sizes(inputs);
    if k == 0 || c.is_empty() {
        return c.fill(T::zero());
    }
    let work = product([m, n, k]);
    // One product after the other, each on all cores, or several at a time.
    let parallel = work >= PARALLEL_WORK;
    let at_once = if parallel { batches } else { (WORTH_A_THREAD / work).max(1) };
    let size = Product { m, n, k, adds: false, parallel };
    let result = Disjoint::new(c);
    let done: Result<(), Infallible> = share(batches.div_ceil(at_once), |piece| {
        for batch in piece * at_once..((piece + 1) * at_once).min(batches) {
            let (a, b) = (matrix(&inputs[0], a, batch), matrix(&inputs[1], b, batch));
            // Safety: every product has its own part of the result, here and below.
            let part = unsafe { result.slice(batch * m * n..(batch + 1) * m * n) };
            if !cfg!(target_arch = "wasm32") && T::multiply_small([m, n, k], a, b, part) {
                continue;
            }
            let to = Target { memory: &result, offset: batch * m * n, row: n };
            // Safety: as above.
            unsafe { multiply(size, to, a, b, T::one()) };
        }
        Ok(())
    });
    let Ok(()) = done;
}

pub(super) fn integer_product<T: Copy + Default>(
    inputs: &[CpuOperand],
    a: &[T],
    b: &[T],
    c: &mut [T],
    multiply_add: impl Fn(T, T, T) -> T,
) {
    let Sizes { m, n, k, .. } = product_sizes(inputs);
    for (index, c) in c.iter_mut().enumerate() {
        let (batch, row, column) = (index / (m * n), (index / n % m) as i64, (index % n) as i64);
        let (x, y) = (matrix(&inputs[0], a, batch), matrix(&inputs[1], b, batch));
        *c = (0..k as i64).fold(T::default(), |sum, i| {
            let a = a[(x.offset + row * x.row + i * x.column) as usize];
            let b = b[(y.offset + i * y.row + column * y.column) as usize];
            multiply_add(sum, a, b)
        });
    }
}
