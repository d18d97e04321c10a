//! Sums and products of rows in f64: of numbers, of products of two numbers, of squares.
//!
//! A row has running sums, as one would wait for itself; those of several rows are joined at a time, as that waits for itself too. How many
//! there are, and in which order they are joined, is the same for all widths of registers.

use crate::host::widest;

/// Running sums of a block. Loops over 16 of them become vectors that stay in registers, those over 32 do not: they took three times
/// as long (rustc 1.95, AVX2 and AVX-512). So there are two blocks in turn.
const SUMS: usize = 16;
/// Rows whose running sums are joined at a time.
const ROWS: usize = 8;

/// Running sums of a row, and the sum of the few numbers that are left at its end.
type Running = ([f64; SUMS], f64);

/// The running sums, from `start` on, of what `term` makes of the numbers of a row.
#[inline(always)]
fn running(x: &[f32], start: f64, term: impl Fn(f32) -> f64, join: impl Fn(f64, f64) -> f64) -> Running {
    let (mut even, mut odd) = ([start; SUMS], [start; SUMS]);
    let (pairs, rest) = x.as_chunks::<{ 2 * SUMS }>();
    for pair in pairs {
        for k in 0..SUMS {
            even[k] = join(even[k], term(pair[k]));
        }
        for k in 0..SUMS {
            odd[k] = join(odd[k], term(pair[SUMS + k]));
        }
    }
    let (last, rest) = rest.as_chunks::<SUMS>();
    for chunk in last {
        for k in 0..SUMS {
            even[k] = join(even[k], term(chunk[k]));
        }
    }
    for k in 0..SUMS {
        even[k] = join(even[k], odd[k]);
    }
    (even, rest.iter().map(|&x| term(x)).fold(start, join))
}

/// The running sums of the products of the numbers of two rows.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
fn running_products(x: &[f32], y: &[f32]) -> Running {
    let (mut even, mut odd) = ([0.0; SUMS], [0.0; SUMS]);
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<{ 2 * SUMS }>(), y.as_chunks::<{ 2 * SUMS }>());
    for (x, y) in x.iter().zip(y) {
        for k in 0..SUMS {
            even[k] += f64::from(x[k]) * f64::from(y[k]);
        }
        for k in 0..SUMS {
            odd[k] += f64::from(x[SUMS + k]) * f64::from(y[SUMS + k]);
        }
    }
    for k in 0..SUMS {
        even[k] += odd[k];
    }
    let rest = x_rest.iter().zip(y_rest).map(|(&x, &y)| f64::from(x) * f64::from(y));
    (even, rest.sum())
}

/// Makes the running sums of each row, and joins them with its total. (A closure of that size would be compiled as a function of its own, for
/// every processor.)
macro_rules! each_row {
    ($totals:ident, $row:ident => $running:expr, $join:ident) => {
        let mut several = [([0.0; SUMS], 0.0); ROWS];
        for (number, totals) in $totals.chunks_mut(ROWS).enumerate() {
            let several = &mut several[..totals.len()];
            for (sums, $row) in several.iter_mut().zip(number * ROWS..) {
                *sums = $running;
            }
            $join(several, totals);
        }
    };
}

/// Joins the running results of rows: halves at a time, which wait for each other less often.
#[inline(always)]
fn joined(rows: &[Running], totals: &mut [f64], join: impl Fn(f64, f64) -> f64) {
    for ((row, rest), total) in rows.iter().zip(totals) {
        let (low, high) = row.split_at(SUMS / 2);
        let mut halves: [f64; SUMS / 2] = std::array::from_fn(|k| join(low[k], high[k]));
        for half in [SUMS / 4, SUMS / 8, 1] {
            for k in 0..half {
                halves[k] = join(halves[k], halves[k + half]);
            }
        }
        *total = join(*total, join(halves[0], *rest));
    }
}

/// A call of its own: where compilers see both, the running sums leave their registers. So is the other one.
#[inline(never)]
fn add(rows: &[Running], totals: &mut [f64]) {
    joined(rows, totals, |a, b| a + b);
}

#[cfg(not(target_arch = "wasm32"))]
#[inline(never)]
fn multiply(rows: &[Running], totals: &mut [f64]) {
    joined(rows, totals, |a, b| a * b);
}

/// One of some rows that lie one behind the other.
#[inline(always)]
fn row_of(values: &[f32], length: usize, row: usize) -> &[f32] {
    &values[row * length..(row + 1) * length]
}

widest! {
    /// Adds Σ of a row to each total.
    pub(super) fn sums(values: &[f32], length: usize, totals: &mut [f64]) {
        each_row!(totals, row => running(row_of(values, length, row), 0.0, f64::from, |a, b| a + b), add);
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// Adds Σ x y of a row to each total; products are exact.
    pub(super) fn sums_of_products(x: &[f32], y: &[f32], length: usize, totals: &mut [f64]) {
        each_row!(totals, row => running_products(row_of(x, length, row), row_of(y, length, row)), add);
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// Adds Σ (x − m)² of a row to each total; squares are exact. There is an m for each row, or one for all.
    pub(super) fn sums_of_squares(values: &[f32], means: &[f32], length: usize, totals: &mut [f64]) {
        each_row!(
            totals,
            row => {
                let mean = means[row.min(means.len() - 1)];
                let square = |x: f32| {
                    let apart = f64::from(x - mean);
                    apart * apart
                };
                running(row_of(values, length, row), 0.0, square, |a, b| a + b)
            },
            add
        );
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// Multiplies each total by Π of a row.
    pub(super) fn products(values: &[f32], length: usize, totals: &mut [f64]) {
        each_row!(totals, row => running(row_of(values, length, row), 1.0, f64::from, |a, b| a * b), multiply);
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|k| ((k * 7919 + seed * 104_729) % 10_007) as f32 / 5003.0 - 1.0).collect()
    }

    /// Lengths around those of blocks, and numbers of rows around those that are joined at a time.
    fn cases() -> impl Iterator<Item = (usize, usize)> {
        let lengths = [0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1000];
        lengths.into_iter().flat_map(|length| [0, 1, 2, 7, 8, 9, 17].map(|rows| (rows, length)))
    }

    fn close(got: &[f64], wanted: impl Iterator<Item = f64>, scale: f64) {
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((got - wanted).abs() <= 1e-14 * scale, "{got} {wanted}");
        }
    }

    #[test]
    fn rows_are_summed_up_as_one_number_after_the_other_would_be() {
        for (rows, length) in cases() {
            let (x, y) = (numbers(rows * length, 1), numbers(rows * length, 2));
            let of_row =
                |row: usize| (row * length..(row + 1) * length).map(|k| (f64::from(x[k]), f64::from(y[k])));
            let begun = || vec![0.5; rows];
            let mut totals = begun();
            sums(&x, length, &mut totals);
            close(
                &totals,
                (0..rows).map(|row| 0.5 + of_row(row).map(|(x, _)| x).sum::<f64>()),
                length as f64 + 1.0,
            );
            let mut totals = begun();
            sums_of_products(&x, &y, length, &mut totals);
            close(
                &totals,
                (0..rows).map(|row| 0.5 + of_row(row).map(|(x, y)| x * y).sum::<f64>()),
                length as f64 + 1.0,
            );
            let mut totals = begun();
            sums_of_squares(&x, &[0.25], length, &mut totals);
            let squares = |row| of_row(row).map(|(x, _)| f64::from(x as f32 - 0.25).powi(2)).sum::<f64>();
            close(&totals, (0..rows).map(|row| 0.5 + squares(row)), length as f64 + 1.0);
            // Near 1, so that nothing is lost.
            let near: Vec<f32> = x.iter().map(|x| 1.0 + x / 16.0).collect();
            let mut totals = begun();
            products(&near, length, &mut totals);
            let wanted = |row: usize| {
                near[row * length..(row + 1) * length]
                    .iter()
                    .map(|&x| f64::from(x))
                    .fold(1.0, |product, x| product * x)
            };
            let largest = (0..rows).map(wanted).fold(1.0, f64::max);
            close(&totals, (0..rows).map(|row| 0.5 * wanted(row)), 100.0 * largest);
        }
    }

    #[test]
    fn numbers_that_cancel_are_lost_at_no_place() {
        // Among large ones that cancel, and among subnormal ones.
        for (large, small) in [(1e30f32, 1e15f32), (f32::MIN_POSITIVE, f32::from_bits(3))] {
            for length in [2, 3, 31, 32, 33, 64, 95, 200] {
                for place in 0..length {
                    let mut values = vec![0.0; length];
                    (values[0], values[length - 1]) = (large, -large);
                    values[place] += small;
                    let wanted: f64 = values.iter().map(|&x| f64::from(x)).sum();
                    let mut total = [0.0];
                    sums(&values, length, &mut total);
                    assert_eq!(total[0], wanted, "{place} of {length}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_seen_wherever_it_is() {
        for length in [1, 16, 31, 33, 64, 97] {
            for place in 0..length {
                let with = |number: f32| {
                    let mut values = vec![0.5; 3 * length];
                    values[length + place] = number;
                    let mut totals = [0.0; 3];
                    sums(&values, length, &mut totals);
                    totals
                };
                assert_eq!(with(f32::INFINITY)[1], f64::INFINITY, "{place} of {length}");
                let totals = with(f32::NAN);
                assert!(
                    totals[1].is_nan() && totals[0] == totals[2] && totals[0].is_finite(),
                    "{place} of {length}"
                );
            }
        }
    }
}
