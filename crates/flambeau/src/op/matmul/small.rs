//! Products of small matrices on the CPU, of which there are many in a batch: a row of the result stays in registers while it is summed
//! up, and nothing is packed.

use crate::host::tiny::{Factor, are_tiny};
use crate::host::{Matrix, widest};
use num_traits::Zero;
use std::ops::{AddAssign, Mul};

/// The most rows, columns and terms.
const LARGEST: usize = 16;

/// f32 or f64.
pub(super) trait Small: Factor + Zero + AddAssign + Mul<Output = Self> + Send + Sync {
    /// Fills `to` (m × n) with a (m × k) · b (k × n), if they are small and their terms are no subnormal numbers; says whether it did.
    fn multiply_small(sizes: [usize; 3], a: Matrix<Self>, b: Matrix<Self>, to: &mut [Self]) -> bool;
}

macro_rules! small {
    ($($t:ty: $multiply:ident),*) => { $(
        widest! {
            fn $multiply(sizes: [usize; 3], a: Matrix<$t>, b: Matrix<$t>, to: &mut [$t]) -> bool {
                match sizes[1].max(sizes[2]) {
                    ..=4 => multiplied::<$t, 4>(sizes, a, b, to),
                    5..=8 => multiplied::<$t, 8>(sizes, a, b, to),
                    _ => multiplied::<$t, LARGEST>(sizes, a, b, to),
                }
            }
        }

        impl Small for $t {
            fn multiply_small(sizes: [usize; 3], a: Matrix<$t>, b: Matrix<$t>, to: &mut [$t]) -> bool {
                let fits = sizes.iter().all(|size| (1..=LARGEST).contains(size));
                fits && $multiply(sizes, a, b, to)
            }
        }
    )* };
}
small!(f32: multiply_f32, f64: multiply_f64);

/// The product of matrices of at most N columns and terms, in registers of N lanes.
#[inline(always)]
fn multiplied<T: Small, const N: usize>(
    [m, n, k]: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    to: &mut [T],
) -> bool {
    let (mut left, mut right) = ([[T::zero(); N]; LARGEST], [[T::zero(); N]; N]);
    read(a, m, k, &mut left);
    read(b, k, n, &mut right);
    if are_tiny(left[..m].as_flattened(), right.as_flattened()) {
        return false;
    }
    for row in 0..m {
        let (to, row) = (&mut to[row * n..(row + 1) * n], &left[row]);
        let mut sums = [T::zero(); N];
        // Beyond the last term there are zeros.
        for i in 0..N {
            for j in 0..N {
                sums[j] += row[i] * right[i][j];
            }
        }
        match <&mut [T; N]>::try_from(&mut *to) {
            Ok(to) => *to = sums,
            Err(_) => to.copy_from_slice(&sums[..n]),
        }
    }
    true
}

/// Copies a matrix, into rows of N places.
#[inline(always)]
fn read<T: Small, const N: usize>(from: Matrix<T>, rows: usize, columns: usize, to: &mut [[T; N]]) {
    for (row, to) in to[..rows].iter_mut().enumerate() {
        let Matrix { values, offset, column, .. } = from.starting_at(row);
        if column == 1 {
            let values = &values[offset as usize..offset as usize + columns];
            match values.first_chunk() {
                Some(all) if columns == N => *to = *all,
                _ => to[..columns].copy_from_slice(values),
            }
        } else {
            for place in 0..columns {
                to[place] = values[(offset + place as i64 * column) as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|k| ((k * 7919 + seed * 104_729) % 10_007) as f64 / 5003.0 - 1.0).collect()
    }

    #[test]
    fn batches_of_products_are_those_of_f64_on_any_number_of_threads() {
        let device = Device::cpu();
        // Of every number of lanes, and larger than small ones.
        for (batches, m, k, n) in [
            (3, 1, 1, 1),
            (70, 3, 3, 3),
            (900, 8, 8, 8),
            (40, 16, 16, 16),
            (33, 5, 9, 13),
            (50, 17, 4, 4),
            (9, 40, 30, 50),
        ] {
            let (x, y) = (numbers(batches * m * k, 1), numbers(batches * k * n, 2));
            let wanted: Vec<f64> = (0..batches * m * n)
                .map(|at| {
                    let (batch, row, column) = (at / (m * n), at / n % m, at % n);
                    (0..k).map(|i| x[(batch * m + row) * k + i] * y[(batch * k + i) * n + column]).sum()
                })
                .collect();
            for (dtype, most) in [(DType::F32, 4e-6), (DType::F64, 1e-14)] {
                let tensor =
                    |values: &[f64], shape| Tensor::from_slice(values, shape, &device).to_dtype(dtype);
                let (a, b) = (tensor(&x, [batches, m, k]), tensor(&y, [batches, k, n]));
                let by_columns = |t: &Tensor| {
                    let moved = t.transpose(1, 2) * 1;
                    moved.eval().unwrap();
                    moved.transpose(1, 2)
                };
                for (a, b) in
                    [(a.clone(), b.clone()), (by_columns(&a), b.clone()), (a.clone(), by_columns(&b))]
                {
                    let on = |threads: usize| -> Vec<f64> {
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                        pool.install(|| a.matmul(&b).to_dtype(DType::F64).to_vec_blocking().unwrap())
                    };
                    let got = on(1);
                    for (got, wanted) in got.iter().zip(&wanted) {
                        assert!((got - wanted).abs() <= most, "{batches} of {m} × {k} × {n}: {got} {wanted}");
                    }
                    assert_eq!(on(2), got);
                    assert_eq!(on(3), got);
                }
            }
        }
    }

    #[test]
    fn one_matrix_may_serve_all_and_small_numbers_are_no_subnormal_ones() {
        let device = Device::cpu();
        let (x, y) = (numbers(20 * 8 * 8, 3), numbers(8 * 8, 4));
        let (a, b) = (Tensor::from_slice(&x, [20, 8, 8], &device), Tensor::from_slice(&y, [8, 8], &device));
        let (a, b) = (a.to_dtype(DType::F32), b.to_dtype(DType::F32));
        let whole: Vec<f32> = a.matmul(&b).to_vec_blocking().unwrap();
        let small = (&a * 2f64.powi(-70)).matmul(&(&b * 2f64.powi(-50)));
        for (got, whole) in small.to_vec_blocking::<f32>().unwrap().into_iter().zip(&whole) {
            let exact = f64::from(*whole) * 2f64.powi(-120);
            assert!(!got.is_subnormal(), "{got:e}");
            // A sum that would be subnormal is 0.
            let least = f64::from(f32::MIN_POSITIVE);
            let most = if exact.abs() < least { least } else { 1e-5 * 2f64.powi(-120) };
            assert!((f64::from(got) - exact).abs() <= most, "{got:e} {exact:e}");
        }
    }
}
