//! The product on the CPU: the `gemm` crate for floats, plain loops for integers.

use super::Sizes;
use crate::backend::cpu::CpuOperand;

/// Offsets and strides of one batch's matrix.
struct Matrix {
    offset: usize,
    row: isize,
    column: isize,
}

/// The matrix of a batch, the batch counted over all batch dimensions.
fn matrix(operand: &CpuOperand, batch: usize) -> Matrix {
    let level = &operand.access.levels[0];
    let rank = level.axes.len();
    let (mut offset, mut rest) = (level.offset.value(operand.data), batch);
    for axis in level.axes[..rank - 2].iter().rev() {
        offset += (rest % axis.size) as i64 * axis.stride;
        rest /= axis.size;
    }
    let (row, column) = (level.axes[rank - 2].stride as isize, level.axes[rank - 1].stride as isize);
    Matrix { offset: offset as usize, row, column }
}

fn product_sizes(inputs: &[CpuOperand]) -> Sizes {
    let (a, b) = (&inputs[0].meta.shape, &inputs[1].meta.shape);
    let rank = a.rank();
    Sizes { batches: a[..rank - 2].iter().product(), m: a[rank - 2], n: b[rank - 1], k: a[rank - 1] }
}

pub(super) fn float_product<T: Copy + num_traits::Zero + num_traits::One + 'static>(
    inputs: &[CpuOperand],
    a: &[T],
    b: &[T],
    c: &mut [T],
) {
    let Sizes { batches, m, n, k } = product_sizes(inputs);
    if k == 0 || c.is_empty() {
        return c.fill(T::zero());
    }
    #[cfg(not(target_arch = "wasm32"))]
    let parallelism =
        if m * n * k >= 1 << 18 { gemm::Parallelism::Rayon(0) } else { gemm::Parallelism::None };
    #[cfg(target_arch = "wasm32")]
    let parallelism = gemm::Parallelism::None;
    for batch in 0..batches {
        let (x, y) = (matrix(&inputs[0], batch), matrix(&inputs[1], batch));
        // Safety: the strides stay inside the operands' memory, and c has batches · m · n elements.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr().add(batch * m * n),
                1,
                n as isize,
                false,
                a.as_ptr().add(x.offset),
                x.column,
                x.row,
                b.as_ptr().add(y.offset),
                y.column,
                y.row,
                T::zero(),
                T::one(),
                false,
                false,
                false,
                parallelism,
            );
        }
    }
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
        let (batch, row, column) = (index / (m * n), (index / n % m) as isize, (index % n) as isize);
        let (x, y) = (matrix(&inputs[0], batch), matrix(&inputs[1], batch));
        *c = (0..k as isize).fold(T::default(), |sum, i| {
            let a = a[(x.offset as isize + row * x.row + i * x.column) as usize];
            let b = b[(y.offset as isize + i * y.row + column * y.column) as usize];
            multiply_add(sum, a, b)
        });
    }
}
