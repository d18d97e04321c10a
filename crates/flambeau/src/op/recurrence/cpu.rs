//! The recurrence on the CPU. Sequences do not know each other: every core takes some of them through all steps without
//! waiting for the others. A step is a matrix product, then the gates, row by row (`rows`).

use super::rows::{self, Number};
use super::{Direction, KEPT, Kind, Recurrence, Sizes};
use crate::host::{Disjoint, HostBuffer, Matrix, Product, Target, multiply, threads};
use crate::ir::call::CpuOperand;
use crate::shape::product;

/// Sequences that a core takes at least: with fewer, reading the weight is most of the work.
const LEAST_ROWS: usize = 8;

/// Multiplications from which a product of all sequences is worth all cores.
const PARALLEL_WORK: usize = 1 << 18;

/// The steps of a result, each with the rows of some sequences.
type Steps<'a, T> = Vec<&'a mut [T]>;

pub(super) fn run<T: Number>(
    op: &Recurrence,
    sizes: &Sizes,
    inputs: &[CpuOperand],
    outputs: &mut [HostBuffer],
) {
    let inputs: Vec<&[T]> =
        inputs.iter().map(|input| input.buffer.slice().expect("a recurrence has one dtype")).collect();
    let rows = sizes.batch.div_ceil(threads()).max(LEAST_ROWS).min(sizes.batch);
    let parts = sizes.batch.div_ceil(rows);
    let mut shares: Vec<Vec<Steps<T>>> = (0..parts).map(|_| Vec::with_capacity(outputs.len())).collect();
    for output in outputs {
        let values: &mut [T] = output.slice_mut().expect("a recurrence has one dtype");
        // What goes past the gates is that of one step.
        let steps = if values.len() == sizes.batch * sizes.units { 1 } else { sizes.steps };
        for (share, steps) in shares.iter_mut().zip(shared_out(values, steps, sizes.batch, rows)) {
            share.push(steps);
        }
    }
    let parallel = parts == 1 && product([sizes.batch, inputs[1].len()]) >= PARALLEL_WORK;
    let work = |(number, mut outputs): (usize, Vec<Steps<T>>)| {
        let first = number * rows;
        let rows = rows.min(sizes.batch - first);
        let part = Part { op, sizes, inputs: &inputs, first, rows, parallel };
        match (op.direction, op.kind) {
            (Direction::Forward { .. }, Kind::Lstm) => part.lstm(&mut outputs),
            (Direction::Forward { .. }, Kind::Gru) => part.gru(&mut outputs),
            (Direction::Forward { .. }, kind) => part.plain(&mut outputs, kind),
            (Direction::Backward, Kind::Lstm) => part.lstm_backward(&mut outputs),
            (Direction::Backward, Kind::Gru) => part.gru_backward(&mut outputs),
            (Direction::Backward, kind) => part.plain_backward(&mut outputs, kind),
        }
    };
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        shares.into_par_iter().enumerate().for_each(work);
    }
    #[cfg(target_arch = "wasm32")]
    shares.into_iter().enumerate().for_each(work);
}

/// A result (T, B, …) by part of the sequences, then by step.
fn shared_out<T>(values: &mut [T], steps: usize, batch: usize, rows: usize) -> Vec<Steps<'_, T>> {
    let width = values.len() / (steps * batch);
    let mut parts: Vec<Steps<T>> = (0..batch.div_ceil(rows)).map(|_| Vec::with_capacity(steps)).collect();
    for step in values.chunks_exact_mut(batch * width) {
        parts.iter_mut().zip(step.chunks_mut(rows * width)).for_each(|(part, rows)| part.push(rows));
    }
    parts
}

/// What a step begins with, and the step's own place.
fn pair<'s, T>(
    steps: &'s mut Steps<'_, T>,
    time: usize,
    before: Option<usize>,
    first: &'s [T],
) -> (&'s [T], &'s mut [T]) {
    match before {
        None => (first, &mut *steps[time]),
        Some(before) => {
            let [before, own] = steps.get_disjoint_mut([before, time]).expect("two steps of the sequence");
            (&**before, &mut **own)
        }
    }
}

/// Some of the sequences.
struct Part<'a, T> {
    op: &'a Recurrence,
    sizes: &'a Sizes,
    inputs: &'a [&'a [T]],
    first: usize,
    rows: usize,
    /// Are products shared among all cores?
    parallel: bool,
}

impl<T: Number> Part<'_, T> {
    /// This part of a step of an input (T, B, width).
    fn input(&self, input: usize, time: usize, width: usize) -> &[T] {
        let start = (time * self.sizes.batch + self.first) * width;
        &self.inputs[input][start..start + self.rows * width]
    }

    /// Adds `states` (rows × k) times the transpose of the weight (n × k) to `sums` (rows × n).
    fn add_product(&self, sums: &mut [T], states: &[T]) {
        let (n, k) = (sums.len() / self.rows, states.len() / self.rows);
        let size = Product { m: self.rows, n, k, adds: true, parallel: self.parallel };
        let to = Target { memory: &Disjoint::new(sums), offset: 0, row: n };
        let weight = Matrix::dense(self.inputs[1], k).transposed();
        // Safety: the sums are the thread's own.
        unsafe { multiply(size, to, Matrix::dense(states, k), weight, T::one()) };
    }

    fn plain(&self, outputs: &mut [Steps<T>], kind: Kind) {
        let units = self.sizes.units;
        for time in self.op.order(self.sizes.steps) {
            let before = self.op.before(self.sizes.steps, time);
            let (before, states) = pair(&mut outputs[0], time, before, self.input(2, 0, units));
            states.copy_from_slice(self.input(0, time, units));
            self.add_product(states, before);
            rows::widely(rows::Plain { states, kind });
        }
    }

    fn lstm(&self, outputs: &mut [Steps<T>]) {
        let units = self.sizes.units;
        let mut unkept = vec![T::zero(); if outputs.len() > 2 { 0 } else { self.rows * 4 * units }];
        for time in self.op.order(self.sizes.steps) {
            let [hidden, cells, rest @ ..] = &mut *outputs else { unreachable!("an LSTM has two results") };
            let gates = rest.first_mut().map_or(&mut unkept[..], |kept| &mut *kept[time]);
            let before = self.op.before(self.sizes.steps, time);
            let (state, hidden) = pair(hidden, time, before, self.input(2, 0, units));
            let (before, cell) = pair(cells, time, before, self.input(3, 0, units));
            gates.copy_from_slice(self.input(0, time, 4 * units));
            self.add_product(gates, state);
            let places = hidden.chunks_exact_mut(units).zip(cell.chunks_exact_mut(units));
            let given = gates.chunks_exact_mut(4 * units).zip(before.chunks_exact(units));
            for ((hidden, cell), (gates, before)) in places.zip(given) {
                rows::widely(rows::Lstm { gates, before, cell, hidden });
            }
        }
    }

    fn gru(&self, outputs: &mut [Steps<T>]) {
        let units = self.sizes.units;
        let mut unkept = vec![T::zero(); if outputs.len() > 1 { 0 } else { self.rows * KEPT * units }];
        let mut state = vec![T::zero(); self.rows * 3 * units];
        for time in self.op.order(self.sizes.steps) {
            let [hidden, rest @ ..] = &mut *outputs else { unreachable!("a GRU has a result") };
            let kept = rest.first_mut().map_or(&mut unkept[..], |kept| &mut *kept[time]);
            let before = self.op.before(self.sizes.steps, time);
            let (before, hidden) = pair(hidden, time, before, self.input(2, 0, units));
            match self.inputs.get(3) {
                Some(bias) => state.chunks_exact_mut(3 * units).for_each(|row| row.copy_from_slice(bias)),
                None => state.fill(T::zero()),
            }
            self.add_product(&mut state, before);
            let input = self.input(0, time, 3 * units).chunks_exact(3 * units);
            let given = input.zip(state.chunks_exact(3 * units)).zip(before.chunks_exact(units));
            let places = hidden.chunks_exact_mut(units).zip(kept.chunks_exact_mut(KEPT * units));
            for ((hidden, kept), ((input, state), before)) in places.zip(given) {
                rows::widely(rows::Gru { input, state, before, hidden, kept });
            }
        }
    }

    /// Fills `totals` with the gradient of a step's states: what is given, and what the step after it passes on.
    fn totals(&self, totals: &mut [T], time: usize, gates: &Steps<T>) {
        totals.copy_from_slice(self.input(0, time, self.sizes.units));
        if let Some(after) = self.op.after(self.sizes.steps, time) {
            self.add_product(totals, gates[after]);
        }
    }

    fn plain_backward(&self, outputs: &mut [Steps<T>], kind: Kind) {
        let units = self.sizes.units;
        let mut totals = vec![T::zero(); self.rows * units];
        for time in self.op.order(self.sizes.steps) {
            self.totals(&mut totals, time, &outputs[0]);
            let (totals, states) = (&totals[..], self.input(2, time, units));
            rows::widely(rows::PlainBackward { totals, states, gates: &mut *outputs[0][time], kind });
        }
    }

    fn lstm_backward(&self, outputs: &mut [Steps<T>]) {
        let Sizes { steps, units, .. } = *self.sizes;
        let mut totals = vec![T::zero(); self.rows * units];
        for time in self.op.order(steps) {
            self.totals(&mut totals, time, &outputs[0]);
            let (kept, cells) = (self.input(2, time, 4 * units), self.input(4, time, units));
            let before = match self.op.before(steps, time) {
                Some(before) => self.input(4, before, units),
                None => self.input(3, 0, units),
            };
            let grads = self.inputs.get(5).map(|_| self.input(5, time, units));
            let [gates, past] = &mut *outputs else { unreachable!("an LSTM has two gradients") };
            for row in 0..self.rows {
                let (one, all) = (row * units..(row + 1) * units, row * 4 * units..(row + 1) * 4 * units);
                rows::widely(rows::LstmBackward {
                    total: &totals[one.clone()],
                    kept: &kept[all.clone()],
                    before: &before[one.clone()],
                    cell: &cells[one.clone()],
                    grad: grads.map(|grads| &grads[one.clone()]),
                    carried: &mut past[0][one],
                    gates: &mut gates[time][all],
                });
            }
        }
    }

    fn gru_backward(&self, outputs: &mut [Steps<T>]) {
        let Sizes { steps, units, .. } = *self.sizes;
        let mut totals = vec![T::zero(); self.rows * units];
        for time in self.op.order(steps) {
            self.totals(&mut totals, time, &outputs[0]);
            let kept = self.input(2, time, KEPT * units);
            let before = match self.op.before(steps, time) {
                Some(before) => self.input(4, before, units),
                None => self.input(3, 0, units),
            };
            let [state, input, past] = &mut *outputs else { unreachable!("a GRU has three gradients") };
            for row in 0..self.rows {
                let part = |gates: usize| row * gates * units..(row + 1) * gates * units;
                rows::widely(rows::GruBackward {
                    total: &mut totals[part(1)],
                    kept: &kept[part(KEPT)],
                    before: &before[part(1)],
                    carried: &mut past[0][part(1)],
                    input: &mut input[time][part(3)],
                    state: &mut state[time][part(3)],
                });
            }
        }
    }
}
