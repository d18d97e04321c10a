//! The recurrence in f64, one unit at a time: its definition.

use super::{Direction, KEPT, Kind, Recurrence, Sizes};
use crate::host::Block;
use crate::op::Meta;
use crate::op::structured::Exact;

pub(super) fn run(op: &Recurrence, sizes: &Sizes, inputs: &[Exact], outputs: &[Meta]) -> Vec<Exact> {
    let floats = |input: &Exact| match &input.values {
        Block::F64(values) => values.to_vec(),
        _ => unreachable!("a recurrence is of floats"),
    };
    let inputs: Vec<Vec<f64>> = inputs.iter().map(floats).collect();
    let mut results: Vec<Vec<f64>> = outputs.iter().map(|meta| vec![0.0; meta.numel()]).collect();
    for time in op.order(sizes.steps) {
        for row in 0..sizes.batch {
            for unit in 0..sizes.units {
                let at = Unit { op, sizes, inputs: &inputs, time, row, unit };
                match op.direction {
                    Direction::Forward { .. } => at.forward(&mut results),
                    Direction::Backward => at.backward(&mut results),
                }
            }
        }
    }
    let exact = |(meta, values): (&Meta, Vec<f64>)| Exact {
        shape: meta.shape.clone(),
        dtype: meta.dtype,
        values: Block::F64(values.into()),
    };
    outputs.iter().zip(results).map(exact).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn slope(gate: f64) -> f64 {
    gate * (1.0 - gate)
}

fn tanh_slope(y: f64) -> f64 {
    1.0 - y * y
}

/// One unit of one sequence at one step.
struct Unit<'a> {
    op: &'a Recurrence,
    sizes: &'a Sizes,
    inputs: &'a [Vec<f64>],
    time: usize,
    row: usize,
    unit: usize,
}

impl Unit<'_> {
    /// The unit's place in a value (T, B, gates · H).
    fn place(&self, time: usize, gate: usize, gates: usize) -> usize {
        ((time * self.sizes.batch + self.row) * gates + gate) * self.sizes.units + self.unit
    }

    /// The row of a value (T, B, width) at a step.
    fn row<'v>(&self, values: &'v [f64], time: usize, width: usize) -> &'v [f64] {
        &values[(time * self.sizes.batch + self.row) * width..][..width]
    }

    /// The sequence's row of a state or cell before the step.
    fn before<'v>(&'v self, first: &'v [f64], after: &'v [f64]) -> &'v [f64] {
        match self.op.before(self.sizes.steps, self.time) {
            Some(before) => self.row(after, before, self.sizes.units),
            None => self.row(first, 0, self.sizes.units),
        }
    }

    /// The product of a row with a row of the weight.
    fn product(&self, row: &[f64], of_weight: usize) -> f64 {
        let weight = &self.inputs[1][of_weight * row.len()..][..row.len()];
        row.iter().zip(weight).map(|(x, w)| x * w).sum()
    }

    fn forward(&self, results: &mut [Vec<f64>]) {
        let (kind, units) = (self.op.kind, self.sizes.units);
        let hidden = self.before(&self.inputs[2], &results[0]);
        let input = |gate: usize| self.inputs[0][self.place(self.time, gate, kind.gates())];
        let state = |gate: usize| self.product(hidden, gate * units + self.unit);
        let here = self.place(self.time, 0, 1);
        let (shown, cell, kept) = match kind {
            Kind::Tanh => ((input(0) + state(0)).tanh(), None, None),
            Kind::Relu => ((input(0) + state(0)).max(0.0), None, None),
            Kind::Gru => {
                let bias =
                    |gate: usize| self.inputs.get(3).map_or(0.0, |bias| bias[gate * units + self.unit]);
                let gate = |gate: usize| sigmoid(input(gate) + state(gate) + bias(gate));
                let (r, z, share) = (gate(0), gate(1), state(2) + bias(2));
                let n = (input(2) + r * share).tanh();
                (n + z * (hidden[self.unit] - n), None, Some([r, z, n, share]))
            }
            Kind::Lstm => {
                let sum = |gate: usize| input(gate) + state(gate);
                let [i, f, g, o] = [sigmoid(sum(0)), sigmoid(sum(1)), sum(2).tanh(), sigmoid(sum(3))];
                let cell = f * self.before(&self.inputs[3], &results[1])[self.unit] + i * g;
                (o * cell.tanh(), Some(cell), Some([i, f, g, o]))
            }
        };
        results[0][here] = shown;
        if let Some(cell) = cell {
            results[1][here] = cell;
        }
        if let (Direction::Forward { keeps: true }, Some(kept), Some(place)) =
            (self.op.direction, kept, results.last_mut())
        {
            kept.into_iter().enumerate().for_each(|(k, x)| place[self.place(self.time, k, KEPT)] = x);
        }
    }

    fn backward(&self, results: &mut [Vec<f64>]) {
        let (kind, here, there) = (self.op.kind, self.place(self.time, 0, 1), self.place(0, 0, 1));
        let gates = kind.gates();
        let mut total = self.inputs[0][here];
        if let Some(after) = self.op.after(self.sizes.steps, self.time) {
            total += self.product(self.row(&results[0], after, gates * self.sizes.units), self.unit);
        }
        let kept = |k: usize| self.inputs[2][self.place(self.time, k, KEPT)];
        let before = || self.before(&self.inputs[3], &self.inputs[4])[self.unit];
        match kind {
            Kind::Tanh => results[0][here] = total * tanh_slope(self.inputs[2][here]),
            Kind::Relu => results[0][here] = if self.inputs[2][here] > 0.0 { total } else { 0.0 },
            Kind::Gru => {
                total += results[2][there];
                let [r, z, n, share] = [kept(0), kept(1), kept(2), kept(3)];
                let new = total * (1.0 - z) * tanh_slope(n);
                let (to_r, to_z) = (new * share * slope(r), total * (before() - n) * slope(z));
                for (result, last) in [(0, new * r), (1, new)] {
                    for (gate, x) in [to_r, to_z, last].into_iter().enumerate() {
                        results[result][self.place(self.time, gate, gates)] = x;
                    }
                }
                results[2][there] = total * z;
            }
            Kind::Lstm => {
                let [i, f, g, o] = [kept(0), kept(1), kept(2), kept(3)];
                let shown = self.inputs[4][here].tanh();
                let given = self.inputs.get(5).map_or(0.0, |grad| grad[here]);
                let cell = results[1][there] + given + total * o * tanh_slope(shown);
                let to_o = total * shown * slope(o);
                let grads = [cell * g * slope(i), cell * before() * slope(f), cell * i * tanh_slope(g), to_o];
                for (gate, x) in grads.into_iter().enumerate() {
                    results[0][self.place(self.time, gate, gates)] = x;
                }
                results[1][there] = cell * f;
            }
        }
    }
}
