//! Running results of reductions: a row at a time, or one value of every row at a time.

use super::sums::sums;
#[cfg(not(target_arch = "wasm32"))]
use super::sums::{products, sums_of_products, sums_of_squares};
use crate::dtype::{DType, Lane};
use crate::host::tiny::narrowed;
use crate::host::{Aligned, Block, View, widest, wrap};
use crate::ir::ReduceKind;
use std::ops::Range;

widest! {
    /// The largest of values that are `sign` times those of a block, 1 or −1, or NaN if there is one: of 64 columns first, as
    /// fewer would wait for themselves.
    fn largest(values: &[f32], sign: f32) -> f32 {
        let (mut best, mut nan) = ([f32::NEG_INFINITY; 64], [0.0; 64]);
        let (chunks, rest) = values.as_chunks::<64>();
        for chunk in chunks {
            for k in 0..64 {
                let x = chunk[k] * sign;
                best[k] = if x > best[k] { x } else { best[k] };
                nan[k] = if x.is_nan() { x } else { nan[k] };
            }
        }
        for half in [32, 16, 8, 4] {
            let (low, high) = best.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(low, high)| *low = if *high > *low { *high } else { *low });
        }
        let nan = nan.iter().chain(rest).any(|x| x.is_nan());
        let rest = rest.iter().map(|x| x * sign);
        if nan { f32::NAN } else { best[..4].iter().copied().chain(rest).fold(f32::NEG_INFINITY, f32::max) }
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// The largest of each total and the values given for it, or NaN if there is one. Totals of f32 are f32, so nothing is rounded.
    fn largest_across(totals: &mut [f64], values: &[f32]) {
        best_across(totals, values, |x, best| x > best);
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// The smallest, likewise.
    fn smallest_across(totals: &mut [f64], values: &[f32]) {
        best_across(totals, values, |x, best| x < best);
    }
}

/// Takes the best of each total and the values given for it, one after the other; a NaN, once seen, stays.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
fn best_across(totals: &mut [f64], values: &[f32], is_better: impl Fn(f32, f32) -> bool) {
    let mut best: Vec<f32> = totals.iter().map(|&total| total as f32).collect();
    let better = |best: f32, x: f32| if is_better(x, best) || x.is_nan() { x } else { best };
    let count = best.len();
    // Four at a time, in the same order: totals are read and written less often.
    let fours = values.chunks_exact(4 * count);
    let rest = fours.remainder();
    for four in fours {
        let ((a, b), (c, d)) = (four[..2 * count].split_at(count), four[2 * count..].split_at(count));
        for (k, best) in best.iter_mut().enumerate() {
            *best = better(better(better(better(*best, a[k]), b[k]), c[k]), d[k]);
        }
    }
    for values in rest.chunks_exact(count) {
        best.iter_mut().zip(values).for_each(|(best, &x)| *best = better(*best, x));
    }
    totals.iter_mut().zip(best).for_each(|(total, best)| *total = f64::from(best));
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// The place of the first value that is this one, NaN being equal to itself; there must be one.
    fn place_of(values: &[f32], wanted: f32) -> usize {
        let is_wanted = |x: f32| x == wanted || (x.is_nan() && wanted.is_nan());
        // Blocks are looked at without branches; the first that has it is looked through.
        let (blocks, _) = values.as_chunks::<64>();
        let is_in = |block: &[f32; 64]| block.iter().fold(false, |found, &x| found | is_wanted(x));
        let start = 64 * blocks.iter().position(is_in).unwrap_or(blocks.len());
        let place = values[start..].iter().position(|&x| is_wanted(x));
        start + place.expect("the value is one of these")
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// The largest of `sign` times each total and `sign` times the values given for it, or NaN, with the positions of the first of
    /// them: of the values given first for each total, that is `from`.
    fn place_across(totals: &mut [f64], positions: &mut [i64], values: &[f32], from: usize, sign: f64) {
        let positions = &mut positions[..totals.len()];
        for (values, at) in values.chunks_exact(totals.len()).zip(from as i64..) {
            for ((total, position), &x) in totals.iter_mut().zip(positions.iter_mut()).zip(values) {
                let x = f64::from(x);
                let better = (x * sign > *total * sign) | (x.is_nan() & !total.is_nan()) | (*position < 0);
                *total = if better { x } else { *total };
                *position = if better { at } else { *position };
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// Multiplies each total by the values given for it.
    fn multiply_across(totals: &mut [f64], values: &[f32]) {
        for values in values.chunks_exact(totals.len()) {
            totals.iter_mut().zip(values).for_each(|(total, &x)| *total *= f64::from(x));
        }
    }
}

/// Adds a value to each total, then another one to each, N totals at a time.
#[inline(always)]
fn add_columns<const N: usize>(totals: &mut [f64], values: &[f32]) {
    let count = totals.len();
    for (number, totals) in totals.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let mut sums = *totals;
        for one in values.chunks_exact(count) {
            let one = &one[N * number..N * number + N];
            sums.iter_mut().zip(one).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        *totals = sums;
    }
}

widest! {
    /// Adds a value to each total, then another one to each, until all are used up: four at a time, in the same order,
    /// so that the totals are read and written less often.
    fn add_across(totals: &mut [f64], values: &[f32]) {
        let count = totals.len();
        // Few totals stay in registers: as many as there are, as each waits for itself.
        if !cfg!(target_arch = "wasm32") && count <= 64 && count.is_multiple_of(8) {
            return match count {
                32 | 64 => add_columns::<32>(totals, values),
                16 | 48 => add_columns::<16>(totals, values),
                _ => add_columns::<8>(totals, values),
            };
        }
        let fours = values.chunks_exact(4 * count);
        let rest = fours.remainder();
        for four in fours {
            let ((a, b), (c, d)) = (four[..2 * count].split_at(count), four[2 * count..].split_at(count));
            for (k, total) in totals.iter_mut().enumerate() {
                *total = *total + f64::from(a[k]) + f64::from(b[k]) + f64::from(c[k]) + f64::from(d[k]);
            }
        }
        for one in rest.chunks_exact(count) {
            totals.iter_mut().zip(one).for_each(|(total, &x)| *total += f64::from(x));
        }
    }
}

/// Takes in the results of values that come after those of each total.
fn join(kind: ReduceKind, totals: &mut [f64], later: &[f64]) {
    let pairs = totals.iter_mut().zip(later);
    // A NaN, once seen, stays.
    let keeps = |total: f64| total.is_nan();
    match kind {
        ReduceKind::Sum => pairs.for_each(|(total, x)| *total += x),
        ReduceKind::Prod => pairs.for_each(|(total, x)| *total *= x),
        ReduceKind::Max => {
            pairs.for_each(|(total, &x)| *total = if keeps(*total) | (x <= *total) { *total } else { x })
        }
        ReduceKind::Min => {
            pairs.for_each(|(total, &x)| *total = if keeps(*total) | (x >= *total) { *total } else { x })
        }
        ReduceKind::ArgMax | ReduceKind::ArgMin => unreachable!("these have positions"),
    }
}

/// Running results of a reduction: floats in f64, integers in i64.
pub(super) struct Totals {
    kind: ReduceKind,
    is_float: bool,
    floats: Vec<f64>,
    integers: Vec<i64>,
    /// The position of the best value so far; -1 before the first.
    positions: Vec<i64>,
}

impl Totals {
    pub fn new(kind: ReduceKind, lane: Lane, len: usize) -> Totals {
        let is_float = matches!(lane, Lane::F32 | Lane::F64);
        let mut totals = Totals { kind, is_float, floats: vec![], integers: vec![], positions: vec![] };
        totals.restart(len);
        totals
    }

    /// Forgets everything, for `len` other results.
    pub fn restart(&mut self, len: usize) {
        fn fill<T: Copy>(values: &mut Vec<T>, value: T, len: usize) {
            values.clear();
            values.resize(len, value);
        }
        let (float, integer) = match self.kind {
            ReduceKind::Sum => (0.0, 0),
            ReduceKind::Prod => (1.0, 1),
            ReduceKind::Max | ReduceKind::ArgMax => (f64::NEG_INFINITY, i64::MIN),
            ReduceKind::Min | ReduceKind::ArgMin => (f64::INFINITY, i64::MAX),
        };
        match self.is_float {
            true => fill(&mut self.floats, float, len),
            false => fill(&mut self.integers, integer, len),
        }
        if self.kind.is_index() {
            fill(&mut self.positions, -1, len);
        }
    }

    /// Takes in values of some rows, which lie one behind the other; the first of each has position `from`.
    pub fn fold_rows(&mut self, rows: Range<usize>, block: View, from: usize) {
        let length = block.len() / rows.len().max(1);
        match (block, self.kind) {
            (View::F32(values), ReduceKind::Sum) => sums(values, length, &mut self.floats[rows]),
            #[cfg(not(target_arch = "wasm32"))]
            (View::F32(values), ReduceKind::Prod) => products(values, length, &mut self.floats[rows]),
            _ => {
                let parts = (0..rows.len()).map(|number| number * length..(number + 1) * length);
                rows.clone().zip(parts).for_each(|(row, values)| self.fold_row(row, block, values, from));
            }
        }
    }

    /// Takes in values of one row, the first of which has position `from`.
    fn fold_row(&mut self, row: usize, block: View, values: Range<usize>, from: usize) {
        match block {
            View::F32(block) => match self.kind {
                ReduceKind::Max => self.float(row, f64::from(largest(&block[values], 1.0)), from),
                #[cfg(not(target_arch = "wasm32"))]
                ReduceKind::Min => self.float(row, -f64::from(largest(&block[values], -1.0)), from),
                #[cfg(not(target_arch = "wasm32"))]
                ReduceKind::ArgMax | ReduceKind::ArgMin if !values.is_empty() => {
                    let sign = if self.kind == ReduceKind::ArgMax { 1.0 } else { -1.0 };
                    let (values, best) = (&block[values.clone()], largest(&block[values], sign) * sign);
                    self.float(row, f64::from(best), from + place_of(values, best));
                }
                _ => {
                    let values = block[values].iter().enumerate();
                    values.for_each(|(k, &x)| self.float(row, f64::from(x), from + k))
                }
            },
            View::F64(block) => {
                block[values].iter().enumerate().for_each(|(k, &x)| self.float(row, x, from + k))
            }
            View::I32(block) => {
                block[values].iter().enumerate().for_each(|(k, &x)| self.integer(row, x.into(), from + k))
            }
            View::U32(block) => {
                block[values].iter().enumerate().for_each(|(k, &x)| self.integer(row, x.into(), from + k))
            }
            View::I64(block) => {
                block[values].iter().enumerate().for_each(|(k, &x)| self.integer(row, x, from + k))
            }
            View::Bool(_) => unreachable!("booleans are cast before they are reduced"),
        }
    }

    /// Takes in Σ x y of factors of some rows, which lie one behind the other.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn add_products(&mut self, rows: Range<usize>, x: &[f32], y: &[f32]) {
        let (length, totals) = (x.len() / rows.len(), &mut self.floats[rows]);
        match std::ptr::eq(x, y) {
            true => sums_of_squares(x, &[0.0], length, totals),
            false => sums_of_products(x, y, length, totals),
        }
    }

    /// Takes in Σ (x − mean)² of values of some rows, which lie one behind the other; there is a mean for each, or one for all.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn add_squares(&mut self, rows: Range<usize>, values: &[f32], means: &[f32]) {
        sums_of_squares(values, means, values.len() / rows.len(), &mut self.floats[rows]);
    }

    /// Takes in one value per row at each of some positions, of which the first is `from`.
    pub fn fold_across(&mut self, block: View, from: usize) {
        fn each<T: Copy>(values: &[T], rows: usize, mut visit: impl FnMut(usize, usize, T)) {
            for (place, values) in values.chunks_exact(rows).enumerate() {
                values.iter().enumerate().for_each(|(row, &x)| visit(row, place, x));
            }
        }
        let rows = self.floats.len().max(self.integers.len());
        match block {
            View::F32(block) if self.kind == ReduceKind::Sum => add_across(&mut self.floats, block),
            #[cfg(not(target_arch = "wasm32"))]
            View::F32(block) if !self.kind.is_index() => match self.kind {
                ReduceKind::Prod => multiply_across(&mut self.floats, block),
                ReduceKind::Max => largest_across(&mut self.floats, block),
                _ => smallest_across(&mut self.floats, block),
            },
            #[cfg(not(target_arch = "wasm32"))]
            View::F32(block) => {
                let sign = if self.kind == ReduceKind::ArgMax { 1.0 } else { -1.0 };
                place_across(&mut self.floats, &mut self.positions, block, from, sign);
            }
            #[cfg(target_arch = "wasm32")]
            View::F32(block) => each(block, rows, |row, place, x| self.float(row, x.into(), from + place)),
            View::F64(block) => each(block, rows, |row, place, x| self.float(row, x, from + place)),
            View::I32(block) => each(block, rows, |row, place, x| self.integer(row, x.into(), from + place)),
            View::U32(block) => each(block, rows, |row, place, x| self.integer(row, x.into(), from + place)),
            View::I64(block) => each(block, rows, |row, place, x| self.integer(row, x, from + place)),
            View::Bool(_) => unreachable!("booleans are cast before they are reduced"),
        }
    }

    /// Takes in the results of values that come after those of the rows from `first` on.
    pub fn merge(&mut self, first: usize, later: &Totals) {
        if self.is_float && !self.kind.is_index() {
            join(self.kind, &mut self.floats[first..], &later.floats);
        } else {
            let floats = later.floats.iter().zip(&later.positions).enumerate();
            floats.for_each(|(k, (&x, &position))| self.float(first + k, x, position as usize));
        }
        let position = |k: usize| later.positions.get(k).map_or(0, |&position| position as usize);
        let integers = later.integers.iter().enumerate();
        integers.for_each(|(k, &x)| self.integer(first + k, x, position(k)));
    }

    #[inline]
    fn float(&mut self, row: usize, x: f64, position: usize) {
        let total = &mut self.floats[row];
        let better = match self.kind {
            ReduceKind::Sum => return *total += x,
            ReduceKind::Prod => return *total *= x,
            // A NaN, once seen, stays, as in PyTorch.
            ReduceKind::Max | ReduceKind::ArgMax => !total.is_nan() && (x > *total || x.is_nan()),
            ReduceKind::Min | ReduceKind::ArgMin => !total.is_nan() && (x < *total || x.is_nan()),
        };
        let first = self.kind.is_index() && self.positions[row] < 0;
        if better || first {
            *total = x;
            if self.kind.is_index() {
                self.positions[row] = position as i64;
            }
        }
    }

    #[inline]
    fn integer(&mut self, row: usize, x: i64, position: usize) {
        let total = &mut self.integers[row];
        let better = match self.kind {
            ReduceKind::Sum => return *total = total.wrapping_add(x),
            ReduceKind::Prod => return *total = total.wrapping_mul(x),
            ReduceKind::Max | ReduceKind::ArgMax => x > *total,
            ReduceKind::Min | ReduceKind::ArgMin => x < *total,
        };
        let first = self.kind.is_index() && self.positions[row] < 0;
        if better || first {
            *total = x;
            if self.kind.is_index() {
                self.positions[row] = position as i64;
            }
        }
    }

    /// Puts the results into a block of the dtype's lane type.
    pub fn finish(&self, dtype: DType, out: &mut Block) {
        let integers = if self.kind.is_index() { &self.positions } else { &self.integers };
        fn put<T: Copy + Default, U: Copy>(to: &mut Aligned<T>, from: &[U], convert: impl Fn(U) -> T) {
            to.resize(from.len());
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = convert(from));
        }
        match out {
            Block::F32(out) => put(out, &self.floats, narrowed),
            Block::F64(out) => put(out, &self.floats, |x| x),
            Block::I32(out) => put(out, integers, |x| x as i32),
            Block::U32(out) => put(out, integers, |x| x as u32),
            Block::I64(out) => put(out, integers, |x| x),
            Block::Bool(_) => unreachable!("no reduction gives booleans"),
        }
        wrap(dtype, out);
    }
}
