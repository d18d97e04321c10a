//! Sums of squared differences between all pairs of rows of two matrices, Σ (a[i, k] − b[j, k])², as distances are made of. Each row is
//! read for many pairs: here some rows of both are taken at a time, and what belongs to them stays in registers.
//!
//! Differences, squares and sums are those of f64, in which the first two are exact but for numbers of very different sizes. Terms are
//! added in the order of k.

use super::fused::{BLOCK, LARGE_BLOCK};
use crate::backend::Run;
use crate::dtype::DType;
use crate::host::tiny::narrowed;
use crate::host::{Aligned, Block, HostBuffer, share};
use crate::ir::ReduceKind;
use crate::ir::access::Level;
use crate::ir::kernel::{Fused, InstKind};
use std::ops::Range;
use std::sync::OnceLock;

/// Rows of a, and of b, whose sums are in registers.
const ROWS: usize = 4;
const COLUMNS: usize = 16;
/// Fewer rows of either are left to the interpreter.
const FEWEST: usize = 16;

/// A kernel that sums up squared differences of pairs of rows.
pub(super) struct Pairs<'a> {
    /// Rows of b, and numbers in a row.
    columns: usize,
    length: usize,
    a: &'a [f32],
    start: usize,
    /// How far apart rows of a, and numbers in them, lie.
    row: usize,
    place: usize,
    /// The rows of b as f64, some at a time: their first numbers, then their second ones; zeros where there are no more rows.
    b: Vec<OnceLock<Aligned<f64>>>,
}

impl<'a> Pairs<'a> {
    /// The reduction of the kernel, if it is such sums.
    pub fn of(kernel: &Fused, inputs: &'a [&'a HostBuffer], run: &Run) -> Option<Pairs<'a>> {
        let &[rows, columns, length] = &kernel.space[..] else { return None };
        let (_, arg, reduce) = kernel.reduction().filter(|_| kernel.kept == 2)?;
        let is_large = rows >= FEWEST && columns >= FEWEST && length > 1;
        if !is_large
            || reduce.kind != ReduceKind::Sum
            || kernel.insts.iter().filter(|inst| inst.inner).count() != 4
        {
            return None;
        }
        let operands = |name: &str, inst: usize| match &kernel.insts[inst].kind {
            InstKind::Map { op, args } if op.name == name && args.len() == 2 => Some((args[0], args[1])),
            _ => None,
        };
        let (difference, _) = operands("mul", arg).filter(|(x, y)| x == y)?;
        let (x, y) = operands("sub", difference)?;
        let load = |inst: usize| match &kernel.insts[inst].kind {
            InstKind::Load { operand, access }
                if access.is_strided() && kernel.insts[inst].dtype == DType::F32 =>
            {
                let level = &access.levels[0];
                let strides = [0, 1, 2].map(|d| usize::try_from(level.axes[d].stride).ok());
                let [Some(row), Some(column), Some(place)] = strides else { return None };
                Some((inputs[*operand].slice::<f32>()?, start(level, run), [row, column, place]))
            }
            _ => None,
        };
        // (x − y)² is (y − x)².
        let ((a, start, [row, 0, place]), (b, first, [0, column, step])) = (match (load(x)?, load(y)?) {
            (x @ (_, _, [_, 0, _]), y @ (_, _, [0, _, _])) => (x, y),
            (x, y) => (y, x),
        }) else {
            return None;
        };
        let packed: Vec<OnceLock<Aligned<f64>>> =
            (0..columns.div_ceil(COLUMNS)).map(|_| OnceLock::new()).collect();
        let pack = |number: usize| {
            let mut tile = Aligned::zeroed(length * COLUMNS);
            for (lane, j) in (number * COLUMNS..((number + 1) * COLUMNS).min(columns)).enumerate() {
                let row = first + j * column;
                for (k, lanes) in tile.chunks_exact_mut(COLUMNS).enumerate() {
                    lanes[lane] = f64::from(b[row + k * step]);
                }
            }
            packed[number].get_or_init(|| tile);
            Ok::<(), ()>(())
        };
        share(packed.len(), pack).expect("copying does not fail");
        Some(Pairs { columns, length, a, start, row, place, b: packed })
    }

    /// Results that are best computed at a time, from a multiple of their number on: those of whole rows of a.
    pub fn at_once(&self) -> usize {
        let rows = (BLOCK / self.columns).max(1).next_multiple_of(ROWS);
        (rows * self.columns).min(LARGE_BLOCK)
    }

    /// The sums of some pairs, which are counted row by row of a.
    pub fn reduce(&self, results: Range<usize>) -> Block {
        let mut sums = Aligned::zeroed(results.len());
        let lines = results.start / self.columns..results.end.div_ceil(self.columns);
        let mut rows = Aligned::<f64>::zeroed(ROWS * self.length);
        let mut line = lines.start;
        while line < lines.end {
            let count = if lines.end - line >= ROWS { ROWS } else { 1 };
            for (i, to) in rows.chunks_exact_mut(self.length).take(count).enumerate() {
                let from = self.start + (line + i) * self.row;
                to.iter_mut().enumerate().for_each(|(k, to)| *to = self.a[from + k * self.place].into());
            }
            for (tile, b) in self.b.iter().filter_map(OnceLock::get).enumerate() {
                let mut found = [[0.0; COLUMNS]; ROWS];
                match count {
                    ROWS => squares(&rows, b, &mut found),
                    _ => squares_of_row(&rows[..self.length], b, &mut found[0]),
                }
                for (i, found) in found[..count].iter().enumerate() {
                    let start = (line + i) * self.columns;
                    let first = start + tile * COLUMNS;
                    let last = (first + COLUMNS).min(start + self.columns);
                    // Those of them that are asked for.
                    let (from, to) = (first.max(results.start), last.min(results.end));
                    if from < to {
                        let found = &found[from - first..to - first];
                        let sums = &mut sums[from - results.start..to - results.start];
                        sums.iter_mut().zip(found).for_each(|(sum, &found)| *sum = narrowed(found));
                    }
                }
            }
            line += count;
        }
        Block::F32(sums)
    }
}

fn start(level: &Level, run: &Run) -> usize {
    level.offset.value(run.data) as usize
}

/// Σ (a − b)² for the rows `a` and as many columns as a tile of b has. As in other products, multiplications and additions are one where the
/// processor has that.
#[inline(always)]
fn summed<const R: usize, const MERGED: bool>(a: [&[f64]; R], b: &[f64]) -> [[f64; COLUMNS]; R] {
    let (b, _) = b.as_chunks::<COLUMNS>();
    let a = a.map(|row| &row[..b.len()]);
    let mut totals = [[0.0; COLUMNS]; R];
    for k in 0..b.len() {
        for i in 0..R {
            let x = a[i][k];
            for j in 0..COLUMNS {
                let apart = x - b[k][j];
                totals[i][j] =
                    if MERGED { apart.mul_add(apart, totals[i][j]) } else { totals[i][j] + apart * apart };
            }
        }
    }
    totals
}

/// Declares a function by its body, which is told whether the processor merges multiplications and additions.
macro_rules! merging {
    (fn $name:ident($($arg:ident: $t:ty),*) { $plain:expr, $merged:expr }) => {
        fn $name($($arg: $t),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $t),*) {
                    $merged
                }
                #[target_feature(enable = "avx512f,avx512vl,fma")]
                fn widest($($arg: $t),*) {
                    $merged
                }
                use std::arch::is_x86_feature_detected;
                if is_x86_feature_detected!("fma") {
                    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                        // Safety: the processor has it.
                        return unsafe { widest($($arg),*) };
                    }
                    if is_x86_feature_detected!("avx2") {
                        // Safety: the processor has it.
                        return unsafe { wide($($arg),*) };
                    }
                }
            }
            $plain
        }
    };
}

/// Does every processor of this kind merge them?
const ALWAYS: bool = cfg!(target_arch = "aarch64");

merging! {
    fn squares(a: &[f64], b: &[f64], sums: &mut [[f64; COLUMNS]; ROWS]) {
        *sums = summed::<ROWS, ALWAYS>(rows_of(a), b),
        *sums = summed::<ROWS, true>(rows_of(a), b)
    }
}

merging! {
    fn squares_of_row(a: &[f64], b: &[f64], sums: &mut [f64; COLUMNS]) {
        [*sums] = summed::<1, ALWAYS>([a], b),
        [*sums] = summed::<1, true>([a], b)
    }
}

#[inline(always)]
fn rows_of(a: &[f64]) -> [&[f64]; ROWS] {
    let length = a.len() / ROWS;
    std::array::from_fn(|i| &a[i * length..(i + 1) * length])
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|k| ((k * 7919 + seed * 104_729) % 10_007) as f32 / 5003.0 - 1.0).collect()
    }

    #[test]
    fn distances_are_those_of_f64_on_any_number_of_threads() {
        let device = Device::cpu();
        // Below and above what goes another way, with rows left over, and more of them than one block has.
        for (p, r, d) in [(16, 16, 2), (17, 33, 5), (100, 40, 64), (5, 300, 7), (1000, 19, 3), (130, 1030, 8)]
        {
            let (x, y) = (numbers(p * d, 1), numbers(r * d, 2));
            let (a, b) = (Tensor::from_slice(&x, [p, d], &device), Tensor::from_slice(&y, [r, d], &device));
            // As they lie in memory, and transposed; the second operand first.
            let by_columns = |t: &Tensor| {
                let columns = t.t() * 1;
                columns.eval().unwrap();
                columns.t()
            };
            let ways = [a.cdist(&b, 2.0), by_columns(&a).cdist(&by_columns(&b), 2.0), b.cdist(&a, 2.0).t()];
            let wanted = |i: usize, j: usize| {
                let squares = (0..d).map(|k| (f64::from(x[i * d + k]) - f64::from(y[j * d + k])).powi(2));
                squares.sum::<f64>().sqrt()
            };
            for way in ways {
                let got: Vec<f32> = way.to_vec_blocking().unwrap();
                for (at, got) in got.into_iter().enumerate() {
                    let wanted = wanted(at / r, at % r);
                    assert!(
                        (f64::from(got) - wanted).abs() <= 4e-7 * wanted,
                        "{p} × {r} × {d}: {got} {wanted}"
                    );
                }
            }
            let bits = |threads: usize| -> Vec<u32> {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let got = pool.install(|| a.cdist(&b, 2.0).to_vec_blocking::<f32>().unwrap());
                got.into_iter().map(f32::to_bits).collect()
            };
            assert_eq!(bits(1), bits(2), "{p} × {r} × {d}");
            assert_eq!(bits(1), bits(3), "{p} × {r} × {d}");
        }
    }

    #[test]
    fn equal_rows_are_not_apart_and_what_is_no_number_stays_so() {
        let device = Device::cpu();
        let mut values = numbers(20 * 3, 3);
        values[7 * 3 + 1] = f32::NAN;
        let x = Tensor::from_slice(&values, [20, 3], &device);
        let got: Vec<f32> = x.cdist(&x, 2.0).to_vec_blocking().unwrap();
        for (at, got) in got.into_iter().enumerate() {
            let (i, j) = (at / 20, at % 20);
            assert_eq!(got.is_nan(), i == 7 || j == 7, "{i} {j}");
            assert!(i != j || i == 7 || got == 0.0, "{i} {j}");
        }
    }
}
