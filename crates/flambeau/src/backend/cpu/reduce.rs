//! The reduction of a kernel of two stages.
//!
//! Its values are gone through along the rows, or across them where neighbours in memory belong to different results
//! (the sum of a matrix's columns): then one value of every row is taken in at a time. Few results of many values are
//! computed in parts, so that all cores have work. All of that follows from the kernel alone, never from the number of
//! cores: every total is made in the same order everywhere.

use super::fused::{BLOCK, Worker};
use super::strip::Strip;
use super::totals::Totals;
use crate::backend::Run;
#[cfg(not(target_arch = "wasm32"))]
use crate::dtype::DType;
use crate::error::Result;
#[cfg(not(target_arch = "wasm32"))]
use crate::host::View;
use crate::host::{Block, HostBuffer, share};
#[cfg(not(target_arch = "wasm32"))]
use crate::ir::ReduceKind;
use crate::ir::kernel::{Fused, Inst, InstKind};
use std::ops::Range;
use std::sync::OnceLock;

/// Values that are worth a part.
const PART: usize = 1 << 15;
/// Parts, together those of all results, that keep any number of cores busy.
const PARTS: usize = 64;
/// Results from which they are computed across rows, if neighbours in memory ask for it.
const FEWEST_ACROSS: usize = 8;
/// Values taken at once across rows.
const TILE: usize = 4 * BLOCK;

/// Some of the values that are reduced: of these results, those at these places.
struct Part {
    results: Range<usize>,
    places: Range<usize>,
}

/// All results of the kernel's reduction, where it is better computed in parts.
pub(super) fn in_parts(kernel: &Fused, inputs: &[&HostBuffer], run: &Run) -> Result<Option<Block>> {
    let Some((position, arg, reduce)) = kernel.reduction() else { return Ok(None) };
    let (count, length) = (kernel.outer_count(), kernel.inner_count());
    let width = match group(kernel) {
        Some(width) => width,
        None if goes_across(kernel) => BLOCK.min(count),
        None => 1,
    };
    let strips = count.div_ceil(width.max(1)).max(1);
    let parts = (PARTS / strips).min(width * length / PART);
    if parts < 2 {
        return Ok(None);
    }
    let size = length.div_ceil(parts);
    let places = || (0..length).step_by(size).map(|from| from..(from + size).min(length));
    let results = (0..count).step_by(width).map(|first| first..(first + width).min(count));
    let parts: Vec<Part> = results
        .flat_map(|results| places().map(move |places| Part { results: results.clone(), places }))
        .collect();
    let computed: Vec<OnceLock<Totals>> = parts.iter().map(|_| OnceLock::new()).collect();
    share(parts.len(), |number| {
        let part = &parts[number];
        let totals = Worker::new(kernel, inputs, run).reduce(part.results.clone(), part.places.clone())?;
        computed[number].get_or_init(|| totals);
        Ok(())
    })?;
    let mut totals = Totals::new(reduce.kind, kernel.insts[arg].dtype.lane(), count);
    for (part, computed) in parts.iter().zip(computed.iter().filter_map(OnceLock::get)) {
        totals.merge(part.results.start, computed);
    }
    let dtype = kernel.insts[position].dtype;
    let mut results = Block::new(dtype.lane(), 0);
    totals.finish(dtype, &mut results);
    Ok(Some(results))
}

impl Worker<'_> {
    /// Reduces the values of some results at some places.
    pub fn reduce(&mut self, results: Range<usize>, places: Range<usize>) -> Result<Totals> {
        let kernel = self.kernel;
        let Some((_, arg, reduce)) = kernel.reduction() else { unreachable!("the kernel has a reduction") };
        let (kept, rank) = (kernel.kept, kernel.space.len());
        let mut totals = Totals::new(reduce.kind, kernel.insts[arg].dtype.lane(), results.len());
        // (Several rows together are only faster: a page does not fetch that.)
        let (is_page, length) = (cfg!(target_arch = "wasm32"), kernel.inner_count());
        let apart = |width: &usize| results.start.is_multiple_of(*width) && results.len() > *width;
        if let Some(width) = group(kernel).filter(apart) {
            for first in results.clone().step_by(width) {
                let part = self.reduce(first..(first + width).min(results.end), places.clone())?;
                totals.merge(first - results.start, &part);
            }
        } else if goes_across(kernel) {
            let fixed = vec![0; rank];
            // What is read as it lies may be more.
            let one = self.strip(0..kept, results.start, results.len(), &fixed);
            let is_read = self.reads_only(&one) && kernel.insts.iter().filter(|inst| inst.inner).count() == 1;
            let tile = if is_read { 16 * TILE } else { TILE };
            let at_once = (tile / results.len()).max(1);
            for from in places.clone().step_by(at_once) {
                let taken = from..(from + at_once).min(places.end);
                let mut strip = self.strip(0..kept, results.start, results.len() * taken.len(), &fixed);
                strip.repeated = Some(taken);
                self.inner(&strip)?;
                totals.fold_across(self.values(arg), from);
            }
        } else {
            let fixed = vec![0; rank];
            // Rows are gone through together where they are short, or lie one behind the other in memory as they are read.
            let all = self.strip(0..rank, results.start * length, results.len() * length, &fixed);
            let at_once = if self.reads_only(&all) { results.len() } else { TILE / length.max(1) };
            if !is_page && at_once > 1 && length > 0 && places == (0..length) {
                for first in results.clone().step_by(at_once) {
                    let rows = at_once.min(results.end - first);
                    let strip = self.strip(0..rank, first * length, rows * length, &fixed);
                    self.take_in(&strip, &mut totals, first - results.start, rows, 0)?;
                }
                return Ok(totals);
            }
            for (row, result) in results.enumerate() {
                let fixed = unravel(&kernel.space[..kept], result, rank);
                let whole = self.strip(kept..rank, places.start, places.len(), &fixed);
                let block = if self.reads_only(&whole) { places.len().max(1) } else { BLOCK };
                for from in places.clone().step_by(block) {
                    let strip = self.strip(kept..rank, from, block.min(places.end - from), &fixed);
                    self.take_in(&strip, &mut totals, row, 1, from)?;
                }
            }
        }
        Ok(totals)
    }

    /// Takes in a strip that is some whole rows, or a part of one, of which the first value has position `from`.
    fn take_in(
        &mut self,
        strip: &Strip,
        totals: &mut Totals,
        first: usize,
        rows: usize,
        from: usize,
    ) -> Result<()> {
        let Some((_, arg, _)) = self.kernel.reduction() else { unreachable!("the kernel has a reduction") };
        let taken = first..first + rows;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some([x, y]) = factors(self.kernel) {
            self.compute(x, strip)?;
            self.compute(y, strip)?;
            if let (View::F32(x), View::F32(y)) = (self.values(x), self.values(y))
                && x.len().min(y.len()) >= strip.len
            {
                totals.add_products(taken, &x[..strip.len], &y[..strip.len]);
                return Ok(());
            }
        }
        self.inner(strip)?;
        totals.fold_rows(taken, self.values(arg).part(0..strip.len), from);
        Ok(())
    }

    /// Are the values of a strip, or the factors of products, reduced as they lie in memory, without a register?
    fn reads_only(&self, strip: &Strip) -> bool {
        let mut inner = self.kernel.insts.iter().filter(|inst| inst.inner);
        let is_lent = |inst: &Inst| match &inst.kind {
            InstKind::Load { access, operand } => {
                self.inputs[*operand].view(0..0).is_some() && strip.together(access).is_some()
            }
            _ => false,
        };
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(factors) = factors(self.kernel) {
            return factors.iter().all(|&factor| is_lent(&self.kernel.insts[factor]));
        }
        inner.next().is_some_and(is_lent) && inner.next().is_none()
    }
}

/// How many results are better reduced at a time, across rows: those whose values are one block of memory, if there are several such.
/// (What is only faster is left out of what a page has to fetch.)
fn group(kernel: &Fused) -> Option<usize> {
    let (kept, width) = (kernel.kept, *kernel.space[..kernel.kept].last()?);
    let is_block = |inst: &Inst| match &inst.kind {
        InstKind::Load { access, .. } => {
            access.is_strided() && access.levels[0].axes[kept].stride == width as i64
        }
        _ => true,
    };
    let splits =
        kept > 1 && kept + 1 == kernel.space.len() && goes_across(kernel) && !cfg!(target_arch = "wasm32");
    (splits && kernel.insts.iter().filter(|inst| inst.inner).all(is_block)).then_some(width)
}

/// The factors, if what is reduced is a sum of products of two numbers in memory: a dot product, or a sum of squares.
#[cfg(not(target_arch = "wasm32"))]
fn factors(kernel: &Fused) -> Option<[usize; 2]> {
    let (_, product, reduce) = kernel.reduction()?;
    let InstKind::Map { op, args } = &kernel.insts[product].kind else { return None };
    let is_load = |&arg: &usize| matches!(kernel.insts[arg].kind, InstKind::Load { .. });
    let others = if args.first() == args.last() { 2 } else { 3 };
    let is_all = op.name == "mul" && args.iter().all(is_load) && kernel.insts[product].dtype == DType::F32;
    let nothing_else = kernel.insts.iter().filter(|inst| inst.inner).count() == others;
    (reduce.kind == ReduceKind::Sum && is_all && nothing_else).then(|| [args[0], args[1]])
}

/// Is one value of every row taken at a time, instead of a row at a time?
pub(super) fn goes_across(kernel: &Fused) -> bool {
    !runs_along_rows(kernel) && kernel.outer_count() >= FEWEST_ACROSS
}

/// Do neighbours along the reduced coordinates lie together in memory, or are there so many of them that it does not
/// matter?
pub(super) fn runs_along_rows(kernel: &Fused) -> bool {
    let last_of = |axes: Range<usize>| axes.rev().find(|&axis| kernel.space[axis] > 1);
    let are_neighbours = |axis: usize| {
        kernel.insts.iter().any(|inst| match &inst.kind {
            InstKind::Load { access, .. } => inst.inner && access.levels[0].axes[axis].stride == 1,
            _ => false,
        })
    };
    let (kept, reduced) = (last_of(0..kernel.kept), last_of(kernel.kept..kernel.space.len()));
    let many = reduced.is_none_or(|axis| kernel.space[axis] >= BLOCK);
    reduced.is_some_and(are_neighbours) || kept.is_none() || many && !kept.is_some_and(are_neighbours)
}

/// The coordinates of the point with this number, followed by zeros.
pub(super) fn unravel(sizes: &[usize], mut index: usize, rank: usize) -> Vec<usize> {
    let mut coordinates = vec![0; rank];
    for (d, &size) in sizes.iter().enumerate().rev() {
        coordinates[d] = index % size;
        index /= size;
    }
    coordinates
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use crate::prelude::*;

    /// Values of which sums depend on the order.
    fn uneven(rows: usize, columns: usize) -> Vec<f32> {
        (0..rows * columns)
            .map(|k| ((k * 7919 % 10007) as f32 / 97.0).sin() * (1 << (k % 20)) as f32)
            .collect()
    }

    #[test]
    fn reductions_in_parts_and_across_rows_are_right() {
        let device = Device::cpu();
        // Short and long, with few results and with many: each goes its own way.
        for (rows, columns) in [(5, 3), (40, 10), (70_000, 3), (20_011, 10), (3000, 1500), (2, 100_000)] {
            let values = uneven(rows, columns);
            let x = Tensor::from_slice(&values, [rows, columns], &device);
            let column = |c: usize| (0..rows).map(move |r| r * columns + c);
            let sums: Vec<f32> = x.sum(0).to_vec_blocking().unwrap();
            let largest: Vec<f32> = x.amax(0).to_vec_blocking().unwrap();
            let first: Vec<i32> = x.argmax(0).to_vec_blocking().unwrap();
            for c in 0..columns {
                let of_column = || column(c).map(|k| f64::from(values[k]));
                let scale: f64 = of_column().map(f64::abs).sum();
                assert!(
                    (f64::from(sums[c]) - of_column().sum::<f64>()).abs() <= 1e-7 * scale,
                    "{rows} × {columns}"
                );
                let best = of_column().fold(f64::NEG_INFINITY, f64::max);
                assert_eq!(f64::from(largest[c]), best, "{rows} × {columns}");
                assert_eq!(
                    of_column().position(|x| x == best),
                    Some(first[c] as usize),
                    "{rows} × {columns}"
                );
            }
            let (sum, scale) = values
                .iter()
                .fold((0.0, 0.0), |(sum, scale), &x| (sum + f64::from(x), scale + f64::from(x.abs())));
            let got = f64::from(x.sum(..).to_vec_blocking::<f32>().unwrap()[0]);
            assert!((got - sum).abs() <= 1e-7 * scale, "{rows} × {columns}");
        }
    }

    #[test]
    fn the_number_of_threads_does_not_change_a_bit() {
        let device = Device::cpu();
        for (rows, columns) in [(70_000, 3), (20_011, 10), (3000, 1500), (100, 700)] {
            let x = Tensor::from_slice(&uneven(rows, columns), [rows, columns], &device);
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let results = [x.sum(0), x.sum(1), (&x * 1.5).sum(..), x.softmax(0), x.var(0, 1.0)];
                    let values = results.iter().map(|result| result.to_vec_blocking::<f32>().unwrap());
                    values.flatten().map(f32::to_bits).collect::<Vec<u32>>()
                })
            };
            let alone = on(1);
            for threads in [2, 3, 8] {
                assert_eq!(on(threads), alone, "{rows} × {columns} on {threads} threads");
            }
        }
    }
}
