//! Runs a kernel of several phases: some rows at a time, whole, so that what one phase has computed is still in the
//! cache for the next. Rows too long for that go by in blocks, once for each phase.

use super::fused::{BLOCK, Output, Worker, in_parallel};
#[cfg(not(target_arch = "wasm32"))]
use super::norm::Norm;
use super::reduce::{runs_along_rows, unravel};
use super::strip::{Piece, Strip};
use super::totals::Totals;
use crate::backend::Run;
use crate::dtype::Lane;
use crate::error::Result;
use crate::host::{Block, HostBuffer, Lanes, View, each_lane};
use crate::ir::kernel::{Fused, Inst, InstKind, Phase};
#[cfg(not(target_arch = "wasm32"))]
use std::ops::Range;

/// Elements of rows that are held at once, where one row has not more: for each instruction there is something to be done but its work, and
/// several rows share it.
const AT_ONCE: usize = 4 * BLOCK;
/// The longest row that is held whole.
const WHOLE_ROW: usize = 8 * BLOCK;
/// Numbers of rows that are normalised at once.
#[cfg(not(target_arch = "wasm32"))]
const NORMALISED: usize = 16 * BLOCK;
/// Rows held at once where neighbours in memory belong to different rows.
const ROWS_ACROSS: usize = 16;
/// The shortest row over which a primitive is run for itself. Values per row are repeated for the elements of shorter ones,
/// so that it runs over all rows at once.
const LONG_ENOUGH: usize = 64;

/// Runs the kernel and fills its outputs.
pub(super) fn run(
    kernel: &Fused,
    inputs: &[&HostBuffer],
    outputs: &mut [HostBuffer],
    run: &Run,
) -> Result<()> {
    let outputs: Vec<Output> = outputs.iter_mut().map(Output::new).collect();
    let (count, length) = (kernel.outer_count(), kernel.inner_count());
    let across = !runs_along_rows(kernel) && length <= WHOLE_ROW / ROWS_ACROSS;
    let at_once = (AT_ONCE / length).max(if across { ROWS_ACROSS } else { 1 });
    in_parallel(kernel, count, 1, |range| {
        let mut worker = Worker::new(kernel, inputs, run);
        worker.row_length = (!across && length >= LONG_ENOUGH).then_some(length);
        #[cfg(not(target_arch = "wasm32"))]
        let norm = worker.row_length.and_then(|_| Norm::of(&worker));
        let spreads = (0..kernel.insts.len()).map(|inst| is_spread(&worker, inst)).collect();
        let (fixed, written) = (vec![0; kernel.space.len()], vec![false; outputs.len()]);
        let fresh = fresh(kernel);
        let mut rows = RowWorker {
            kernel,
            worker,
            outputs: &outputs,
            length,
            across,
            spreads,
            fresh,
            fixed: &fixed,
            written,
            totals: totals(kernel),
        };
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(norm) = norm.filter(|_| length <= WHOLE_ROW) {
            let at_once = (NORMALISED / length).max(1);
            let mut parts = range.clone().step_by(at_once).map(|row| row..(row + at_once).min(range.end));
            return parts.try_for_each(|part| rows.normalised(&norm, part));
        }
        if length > WHOLE_ROW {
            return range.into_iter().try_for_each(|row| rows.long(row));
        }
        range.clone().step_by(at_once).try_for_each(|row| rows.whole(row, at_once.min(range.end - row)))
    })
}

struct RowWorker<'a> {
    kernel: &'a Fused,
    worker: Worker<'a>,
    outputs: &'a [Output<'a>],
    length: usize,
    /// Are values kept place by place, those of all rows together, instead of row by row?
    across: bool,
    /// For every instruction: is its value, if it is one per row, repeated for every element?
    spreads: Vec<bool>,
    /// For every phase: its instructions that no phase before it has run.
    fresh: Vec<Vec<usize>>,
    /// A zero for every dimension.
    fixed: &'a [usize],
    /// For every output: has the instruction that computes the strip's results stored them itself?
    written: Vec<bool>,
    /// For every phase: the running results of its reductions.
    totals: Vec<Vec<Totals>>,
}

/// Does something need the value of a row for every one of its elements?
fn is_spread(worker: &Worker, inst: usize) -> bool {
    let kernel = worker.kernel;
    let takes_one = |other: &Inst| worker.row_length.is_some() && matches!(other.kind, InstKind::Map { .. });
    let needs = |other: &Inst| {
        (other.inner || matches!(other.kind, InstKind::Reduce { .. }))
            && other.args().contains(&inst)
            && !takes_one(other)
    };
    !worker.single[inst]
        && (kernel.insts.iter().any(needs)
            || kernel.outputs.iter().any(|output| output.per_element && output.inst == inst))
}

fn fresh(kernel: &Fused) -> Vec<Vec<usize>> {
    let mut done = vec![false; kernel.insts.len()];
    let mut first = |inst: &usize| !std::mem::replace(&mut done[*inst], true);
    kernel.phases.iter().map(|phase| phase.insts.iter().copied().filter(&mut first).collect()).collect()
}

fn totals(kernel: &Fused) -> Vec<Vec<Totals>> {
    let of = |&reduction: &usize| match &kernel.insts[reduction].kind {
        InstKind::Reduce { arg, reduce } => Totals::new(reduce.kind, kernel.insts[*arg].dtype.lane(), 0),
        _ => unreachable!("a phase names its reductions"),
    };
    kernel.phases.iter().map(|phase| phase.reductions.iter().map(of).collect()).collect()
}

/// Some elements of some rows: all of several rows, or a part of one.
struct Tile {
    rows: usize,
    /// Elements of each row.
    length: usize,
    /// The place of the first.
    from: usize,
}

impl RowWorker<'_> {
    /// All phases over some whole rows.
    fn whole(&mut self, row: usize, rows: usize) -> Result<()> {
        let (kernel, fixed, length) = (self.kernel, self.fixed, self.length);
        let tile = Tile { rows, length, from: 0 };
        for (number, phase) in kernel.phases.iter().enumerate() {
            self.before(phase, row, rows, length)?;
            let mut strip = match self.across {
                true => self.worker.strip(0..kernel.kept, row, rows * length, fixed),
                false => self.worker.strip(0..kernel.space.len(), row * length, rows * length, fixed),
            };
            strip.repeated = self.across.then_some(0..length);
            for at in 0..self.fresh[number].len() {
                self.compute(self.fresh[number][at], &strip)?;
            }
            self.restart(number, rows);
            self.fold(number, &tile);
            self.store(phase, &strip);
            self.reduced(number, rows, length);
            #[cfg(not(target_arch = "wasm32"))]
            if number == 0 && !self.across {
                self.worker.prefetch(row + rows, rows, length);
            }
        }
        self.store_rows(row, rows);
        Ok(())
    }

    /// All phases over some rows that are normalised.
    #[cfg(not(target_arch = "wasm32"))]
    fn normalised(&mut self, norm: &Norm, rows: Range<usize>) -> Result<()> {
        for (number, phase) in self.kernel.phases.iter().enumerate() {
            self.before(phase, rows.start, rows.len(), self.length)?;
            self.restart(number, rows.len());
            norm.pass(&self.worker, number, rows.clone(), &mut self.totals[number], self.outputs);
            self.reduced(number, rows.len(), self.length);
        }
        self.store_rows(rows.start, rows.len());
        Ok(())
    }

    /// All phases over one row, each of them in blocks.
    fn long(&mut self, row: usize) -> Result<()> {
        let kernel = self.kernel;
        let fixed = unravel(&kernel.space[..kernel.kept], row, kernel.space.len());
        for (number, phase) in kernel.phases.iter().enumerate() {
            self.before(phase, row, 1, BLOCK)?;
            self.restart(number, 1);
            for from in (0..self.length).step_by(BLOCK) {
                let length = BLOCK.min(self.length - from);
                let strip = self.worker.strip(kernel.kept..kernel.space.len(), from, length, &fixed);
                phase.insts.iter().try_for_each(|&inst| self.compute(inst, &strip))?;
                self.fold(number, &Tile { rows: 1, length, from });
                self.store(phase, &strip);
            }
            self.reduced(number, 1, BLOCK);
        }
        self.store_rows(row, 1);
        Ok(())
    }

    /// Runs an instruction for every element of a strip. Where it can, it writes to the output itself.
    fn compute(&mut self, inst: usize, strip: &Strip) -> Result<()> {
        let Some(output) = self.worker.straight[inst].filter(|_| self.kernel.insts[inst].inner) else {
            return self.worker.compute(inst, strip);
        };
        let place = strip.together(&self.kernel.outputs[output].access);
        self.written[output] = place.is_some();
        match place {
            Some(start) => {
                // Safety: rows of different workers are disjoint, and nobody else reads the instruction's results.
                let places = unsafe { self.outputs[output].part(start..start + strip.len) };
                self.worker.map(inst, places);
            }
            None => self.worker.compute(inst, strip)?,
        }
        Ok(())
    }

    /// What a phase needs once per row.
    fn before(&mut self, phase: &Phase, row: usize, rows: usize, length: usize) -> Result<()> {
        if phase.before.is_empty() {
            return Ok(());
        }
        let strip = self.worker.strip(0..self.kernel.kept, row, rows, self.fixed);
        for &inst in &phase.before {
            self.worker.compute(inst, &strip)?;
            self.spread(inst, rows, length);
        }
        Ok(())
    }

    /// Repeats a value per row for each of `length` elements.
    fn spread(&mut self, inst: usize, rows: usize, length: usize) {
        if !self.spreads[inst] {
            return;
        }
        let across = self.across;
        let mut to = std::mem::replace(&mut self.worker.spread[inst], Block::new(Lane::Bool, 0));
        to.resize(rows * length);
        fn repeat<T: Lanes>(from: &[T], to: &mut [T], length: usize, across: bool) {
            match across {
                true => to.chunks_exact_mut(from.len()).for_each(|to| to.copy_from_slice(from)),
                false => to.chunks_exact_mut(length).zip(from).for_each(|(to, &from)| to.fill(from)),
            }
        }
        let from = self.worker.values(inst);
        each_lane!(&mut to, to => repeat(Lanes::slice(from), to, length, across));
        self.worker.spread[inst] = to;
    }

    /// The values of an instruction for every element.
    fn values(&self, inst: usize) -> View<'_> {
        match self.kernel.insts[inst].inner {
            true => self.worker.values(inst),
            false => self.worker.spread[inst].view(),
        }
    }

    /// Begins the reductions of a phase.
    fn restart(&mut self, phase: usize, rows: usize) {
        self.totals[phase].iter_mut().for_each(|totals| totals.restart(rows));
    }

    fn fold(&mut self, phase: usize, tile: &Tile) {
        for (number, &reduction) in self.kernel.phases[phase].reductions.iter().enumerate() {
            let InstKind::Reduce { arg, .. } = self.kernel.insts[reduction].kind else { continue };
            let values = match self.kernel.insts[arg].inner {
                true => self.worker.values(arg),
                false => self.worker.spread[arg].view(),
            };
            let totals = &mut self.totals[phase][number];
            match self.across {
                true => totals.fold_across(values, tile.from),
                false => totals.fold_rows(0..tile.rows, values.part(0..tile.rows * tile.length), tile.from),
            }
        }
    }

    /// Ends the reductions of a phase.
    fn reduced(&mut self, phase: usize, rows: usize, length: usize) {
        for (number, &reduction) in self.kernel.phases[phase].reductions.iter().enumerate() {
            let dtype = self.kernel.insts[reduction].dtype;
            self.totals[phase][number].finish(dtype, &mut self.worker.registers[reduction]);
            self.spread(reduction, rows, length);
        }
    }

    /// Stores the outputs per element of a phase.
    fn store(&self, phase: &Phase, strip: &Strip) {
        for &number in &phase.outputs {
            if self.written[number] {
                continue;
            }
            let (stored, output) = (&self.kernel.outputs[number], &self.outputs[number]);
            let values = self.values(stored.inst);
            strip.pieces(&stored.access, |Piece { at, len, offset, stride }| {
                // Safety: the access stays inside the output, and rows of different workers are disjoint.
                unsafe { output.store((offset, stride), values, at..at + len) };
            });
        }
    }

    /// Stores the outputs per row.
    fn store_rows(&self, row: usize, rows: usize) {
        for (stored, output) in
            self.kernel.outputs.iter().zip(self.outputs).filter(|(stored, _)| !stored.per_element)
        {
            // Safety: rows of different workers are disjoint and lie inside the output.
            unsafe { output.store((row as i64, 1), self.worker.values(stored.inst), 0..rows) };
        }
    }
}
