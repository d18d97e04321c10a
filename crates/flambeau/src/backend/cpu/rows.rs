//! Runs a kernel of several phases: some rows at a time, whole, so that what one phase has computed is still in the
//! cache for the next. Rows too long for that go by in blocks, once for each phase.

use super::fused::{BLOCK, Output, Worker, in_parallel};
use super::reduce::{runs_along_rows, unravel};
use super::strip::{Piece, Strip};
use super::totals::Totals;
use crate::backend::Run;
use crate::error::Result;
use crate::host::{Block, HostBuffer, Lanes, View, each_lane};
use crate::ir::kernel::{Fused, Inst, InstKind, Phase};
use std::sync::Arc;

/// The longest row that is held whole.
const WHOLE_ROW: usize = 8 * BLOCK;
/// Rows held at once where neighbours in memory belong to different rows.
const ROWS_ACROSS: usize = 16;

/// Runs the kernel and fills its outputs.
pub(super) fn run(
    kernel: &Fused,
    inputs: &[Arc<HostBuffer>],
    outputs: &mut [HostBuffer],
    run: &Run,
) -> Result<()> {
    let outputs: Vec<Output> = outputs.iter_mut().map(Output::new).collect();
    let (count, length) = (kernel.outer_count(), kernel.inner_count());
    let across = !runs_along_rows(kernel) && length <= WHOLE_ROW / ROWS_ACROSS;
    let at_once = (BLOCK / length).max(if across { ROWS_ACROSS } else { 1 });
    in_parallel(kernel, count, 1, |range| {
        let worker = Worker::new(kernel, inputs, run);
        let spreads = (0..kernel.insts.len()).map(|inst| is_read_by_element(kernel, inst)).collect();
        let mut rows = RowWorker { kernel, worker, outputs: &outputs, length, across, spreads };
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
    /// For every instruction: is its value, if it is one per row, needed for every element?
    spreads: Vec<bool>,
}

/// Does something need the results of an instruction for every element of a row?
fn is_read_by_element(kernel: &Fused, inst: usize) -> bool {
    let reads = |other: &Inst| {
        (other.inner || matches!(other.kind, InstKind::Reduce { .. })) && other.args().contains(&inst)
    };
    kernel.insts.iter().any(reads)
        || kernel.outputs.iter().any(|output| output.per_element && output.inst == inst)
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
        let kernel = self.kernel;
        let all = kernel.space.len();
        let tile = Tile { rows, length: self.length, from: 0 };
        let fixed = vec![0; all];
        let mut done = vec![false; kernel.insts.len()];
        for phase in &kernel.phases {
            self.before(phase, row, rows, self.length)?;
            let mut strip = match self.across {
                true => self.worker.strip(0..kernel.kept, row, rows * self.length, &fixed),
                false => self.worker.strip(0..all, row * self.length, rows * self.length, &fixed),
            };
            strip.repeated = self.across.then_some(0..self.length);
            for &inst in &phase.insts {
                if !std::mem::replace(&mut done[inst], true) {
                    self.compute(inst, &strip)?;
                }
            }
            let mut totals = self.totals(phase, rows);
            self.fold(phase, &mut totals, &tile);
            self.store(phase, &strip);
            self.reduced(phase, totals, rows, self.length);
        }
        self.store_rows(row, rows);
        Ok(())
    }

    /// All phases over one row, each of them in blocks.
    fn long(&mut self, row: usize) -> Result<()> {
        let kernel = self.kernel;
        let fixed = unravel(&kernel.space[..kernel.kept], row, kernel.space.len());
        for phase in &kernel.phases {
            self.before(phase, row, 1, BLOCK)?;
            let mut totals = self.totals(phase, 1);
            for from in (0..self.length).step_by(BLOCK) {
                let length = BLOCK.min(self.length - from);
                let strip = self.worker.strip(kernel.kept..kernel.space.len(), from, length, &fixed);
                phase.insts.iter().try_for_each(|&inst| self.compute(inst, &strip))?;
                self.fold(phase, &mut totals, &Tile { rows: 1, length, from });
                self.store(phase, &strip);
            }
            self.reduced(phase, totals, 1, BLOCK);
        }
        self.store_rows(row, 1);
        Ok(())
    }

    /// Where an instruction can write its results itself: the output, and the first place.
    fn straight(&self, inst: usize, strip: &Strip) -> Option<(&Output<'_>, usize)> {
        let output = self.worker.straight[inst].filter(|_| self.kernel.insts[inst].inner)?;
        let start = strip.together(&self.kernel.outputs[output].access)?;
        Some((&self.outputs[output], start))
    }

    /// Runs an instruction for every element of a strip.
    fn compute(&mut self, inst: usize, strip: &Strip) -> Result<()> {
        let Some((output, start)) = self.straight(inst, strip) else {
            return self.worker.compute(inst, strip);
        };
        // Safety: rows of different workers are disjoint, and nobody else reads the instruction's results.
        self.worker.map(inst, unsafe { output.part(start..start + strip.len) });
        Ok(())
    }

    /// What a phase needs once per row.
    fn before(&mut self, phase: &Phase, row: usize, rows: usize, length: usize) -> Result<()> {
        let fixed = vec![0; self.kernel.space.len()];
        let strip = self.worker.strip(0..self.kernel.kept, row, rows, &fixed);
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
        let mut to = std::mem::replace(&mut self.worker.spread[inst], Block::Bool(Vec::new()));
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

    fn totals(&self, phase: &Phase, rows: usize) -> Vec<Totals> {
        let of = |&reduction: &usize| match &self.kernel.insts[reduction].kind {
            InstKind::Reduce { arg, reduce } => {
                Totals::new(reduce.kind, self.kernel.insts[*arg].dtype.lane(), rows)
            }
            _ => unreachable!("a phase names its reductions"),
        };
        phase.reductions.iter().map(of).collect()
    }

    /// The values of an instruction for every element.
    fn values(&self, inst: usize) -> View<'_> {
        match self.kernel.insts[inst].inner {
            true => self.worker.values(inst),
            false => self.worker.spread[inst].view(),
        }
    }

    fn fold(&self, phase: &Phase, totals: &mut [Totals], tile: &Tile) {
        for (&reduction, totals) in phase.reductions.iter().zip(totals) {
            let InstKind::Reduce { arg, .. } = self.kernel.insts[reduction].kind else { continue };
            let values = self.values(arg);
            match self.across {
                true => totals.fold_across(values, tile.from),
                false => (0..tile.rows).for_each(|row| {
                    totals.fold_row(row, values, row * tile.length..(row + 1) * tile.length, tile.from);
                }),
            }
        }
    }

    fn reduced(&mut self, phase: &Phase, totals: Vec<Totals>, rows: usize, length: usize) {
        for (&reduction, totals) in phase.reductions.iter().zip(totals) {
            self.worker.registers[reduction] = totals.finish(self.kernel.insts[reduction].dtype);
            self.spread(reduction, rows, length);
        }
    }

    /// Stores the outputs per element of a phase.
    fn store(&self, phase: &Phase, strip: &Strip) {
        for &number in &phase.outputs {
            if self.straight(self.kernel.outputs[number].inst, strip).is_some() {
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
