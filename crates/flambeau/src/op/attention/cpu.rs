//! Attention on the CPU: heads on different cores, blocks of queries as matrix products.

use super::{Attention, Direction, Kept, Sizes};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer, Matrix, Product, Target, multiply, widest};
use crate::ir::call::CpuOperand;
use crate::memory::reserved;
use crate::op::elementwise::Real;
use crate::rng;
use crate::shape::product;
use half::f16;
use std::borrow::Cow;

/// Queries whose scores are held at once.
const QUERIES: usize = 64;

/// The matrix of one head of an operand, in f32.
struct Rows<'a> {
    values: Cow<'a, [f32]>,
    offset: i64,
    row: i64,
    column: i64,
}

impl Rows<'_> {
    /// Of an operand (B, heads, rows, columns); with `inside`, of (B, rows, heads, columns). F16 is converted.
    fn new<'a>(operand: &CpuOperand<'a>, batch: usize, head: usize, inside: bool) -> Rows<'a> {
        let level = &operand.access.levels[0];
        let (head_axis, row_axis) = if inside { (2, 1) } else { (1, 2) };
        let stride = |axis: usize| level.axes[axis].stride;
        let offset =
            level.offset.value(operand.data) + batch as i64 * stride(0) + head as i64 * stride(head_axis);
        let (row, column) = (stride(row_axis), stride(3));
        match operand.buffer {
            HostBuffer::F32(values) => Rows { values: Cow::Borrowed(values), offset, row, column },
            HostBuffer::F16(values) => {
                let (rows, columns) = (level.axes[row_axis].size, level.axes[3].size);
                let number = |k: usize| {
                    let at = offset + (k / columns) as i64 * row + (k % columns) as i64 * column;
                    values[at as usize].to_f32()
                };
                let values = (0..rows * columns).map(number).collect();
                Rows { values: Cow::Owned(values), offset: 0, row: columns as i64, column: 1 }
            }
            _ => unreachable!("attention is of F32 or F16"),
        }
    }

    fn matrix(&self) -> Matrix<'_, f32> {
        Matrix { values: &self.values, offset: self.offset, row: self.row, column: self.column }
    }
}

/// A product that one thread makes.
fn alone((m, n, k): (usize, usize, usize), adds: bool) -> Product {
    Product { m, n, k, adds, parallel: false }
}

/// scores (m × n) = factor · a b.
fn score(scores: &mut [f32], size: (usize, usize, usize), a: Matrix<f32>, b: Matrix<f32>, factor: f32) {
    let to = Target { memory: &Disjoint::new(scores), offset: 0, row: size.1 };
    // Safety: the scores are the thread's own.
    unsafe { multiply(alone(size, false), to, a, b, factor) };
}

widest! {
    /// x ← e^(x − from).
    fn exponentials(values: &mut [f32], from: f32) {
        values.iter_mut().for_each(|x| *x = Real::exp(*x - from));
    }
}

widest! {
    /// What dropout multiplies the weights of a row by, from element `first` of the draw on.
    fn factors(all: &mut [f32], kept: &Kept, first: u64) {
        let ((key, counter), factor) = (kept.draw, kept.factor as f32);
        for (element, to) in all.iter_mut().enumerate() {
            let bits = rng::random_bits(key, rng::counter_at(counter, first.wrapping_add(element as u64)));
            *to = if rng::uniform(bits) < kept.share { factor } else { 0.0 };
        }
    }
}

pub(super) fn run(
    op: &Attention,
    sizes: &Sizes,
    inputs: &[CpuOperand],
    outputs: &mut [HostBuffer],
    data: &[Scalar],
) -> Result<()> {
    // Keys that are one key repeated take no memory, but their scores do.
    reserved::<f32>(product([QUERIES, sizes.keys]))?;
    if inputs[0].meta.dtype == DType::F16 {
        let (rows, width) = (sizes.queries.max(sizes.keys), sizes.width.max(sizes.value_width));
        reserved::<f32>(product([rows, width]))?;
    }
    // Results in F16 are made in f32 first.
    let wide = |output: &HostBuffer| match output {
        HostBuffer::F16(values) => vec![0f32; values.len()],
        _ => Vec::new(),
    };
    let mut widened: Vec<Vec<f32>> = outputs.iter().map(wide).collect();
    let memory = outputs.iter_mut().zip(&mut widened).map(|(output, wide)| match output {
        HostBuffer::F32(values) => Disjoint::new(values),
        _ => Disjoint::new(wide),
    });
    let results: Vec<Disjoint<f32>> = memory.collect();
    // Forward has a piece of work for each head of queries, backward for each head of keys.
    let heads = match op.direction {
        Direction::Forward => sizes.heads,
        Direction::Backward => sizes.key_heads,
    };
    let kept = op.kept(data);
    let work = |number: usize| {
        let (batch, head) = (number / heads, number % heads);
        let target = |output: usize, rows: usize, (heads, head): (usize, usize), pitch: usize| {
            let offset = (batch * rows * heads + head) * pitch;
            Target { memory: &results[output], offset, row: heads * pitch }
        };
        let Sizes { queries, keys, width, value_width, .. } = *sizes;
        let of_head =
            |head: usize| Head { op, sizes, inputs, scale: data[0].to_f64() as f32, kept, batch, head };
        match op.direction {
            Direction::Forward => {
                let place = (heads, head);
                of_head(head).forward(target(0, queries, place, value_width), target(1, queries, place, 2));
            }
            Direction::Backward => {
                let (by_key, by_value) = if op.masked {
                    let both = target(1, keys, (heads, head), width + value_width);
                    (both, Target { offset: both.offset + width, ..both })
                } else {
                    (target(1, keys, (heads, head), width), target(2, keys, (heads, head), value_width))
                };
                for member in 0..sizes.members() {
                    let head = head * sizes.members() + member;
                    let by_query = target(0, queries, (sizes.heads, head), width);
                    of_head(head).backward(by_query, by_key, by_value, member > 0);
                }
            }
        }
    };
    let count = sizes.batches * heads;
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        (0..count).into_par_iter().for_each(work);
    }
    #[cfg(target_arch = "wasm32")]
    (0..count).for_each(work);
    for (output, wide) in outputs.iter_mut().zip(&widened) {
        if let HostBuffer::F16(values) = output {
            values.iter_mut().zip(wide).for_each(|(to, &x)| *to = f16::from_f32(x));
        }
    }
    Ok(())
}

struct Head<'a> {
    op: &'a Attention,
    sizes: &'a Sizes,
    inputs: &'a [CpuOperand<'a>],
    scale: f32,
    kept: Option<Kept>,
    batch: usize,
    /// The head of queries.
    head: usize,
}

impl Head<'_> {
    fn rows(&self, input: usize) -> Rows<'_> {
        let head = if matches!(input, 1 | 2) { self.head / self.sizes.members() } else { self.head };
        Rows::new(&self.inputs[input], self.batch, head, input == 3)
    }

    /// Calls `visit` with each block of queries: the first, their number, and how many keys the last of them sees.
    fn blocks(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for first in (0..self.sizes.queries).step_by(QUERIES) {
            let count = QUERIES.min(self.sizes.queries - first);
            let seen = if self.op.causal { self.sizes.keys.min(first + count) } else { self.sizes.keys };
            visit(first, count, seen);
        }
    }

    /// How many of a block's keys a query sees.
    fn seen(&self, query: usize, seen: usize) -> usize {
        if self.op.causal { seen.min(query + 1) } else { seen }
    }

    /// What the mask makes of a query's scores: −∞ where it hides a key.
    fn mask(&self, query: usize, scores: &mut [f32]) {
        let Some(operand) = self.inputs.get(self.op.operands()) else { return };
        let level = &operand.access.levels[0];
        let stride = |axis: usize| if level.axes[axis].size == 1 { 0 } else { level.axes[axis].stride };
        let places = [self.batch, self.head, query];
        let start = level.offset.value(operand.data)
            + places.into_iter().enumerate().map(|(axis, c)| c as i64 * stride(axis)).sum::<i64>();
        let at = |key: usize| (start + key as i64 * stride(3)) as usize;
        let scores = scores.iter_mut().enumerate();
        match operand.buffer {
            HostBuffer::Bool(sees) => scores.for_each(|(key, score)| {
                *score = if sees[at(key)] { *score } else { f32::NEG_INFINITY };
            }),
            HostBuffer::F32(added) => scores.for_each(|(key, score)| *score += added[at(key)]),
            HostBuffer::F16(added) => scores.for_each(|(key, score)| *score += added[at(key)].to_f32()),
            _ => unreachable!("masks are of booleans, F32 or F16"),
        }
    }

    /// Calls `visit` with each weight's place in a row and what dropout multiplies it by, if weights are dropped at all.
    fn dropped(&self, query: usize, room: &mut Vec<f32>, count: usize, mut visit: impl FnMut(usize, f32)) {
        let Some(kept) = &self.kept else { return };
        room.resize(count, 0.0);
        let row = self.sizes.row(self.batch, self.head, query) as u64;
        factors(room, kept, row.wrapping_mul(self.sizes.keys as u64));
        room.iter().enumerate().for_each(|(key, &factor)| visit(key, factor));
    }

    fn forward(&self, sums: Target<f32>, logarithms: Target<f32>) {
        let Sizes { width, value_width, keys, .. } = *self.sizes;
        let (q, k, v) = (self.rows(0), self.rows(1), self.rows(2));
        let (q, k, v) = (q.matrix(), k.matrix(), v.matrix());
        let (mut scores, mut room) = (vec![0f32; QUERIES * keys], Vec::new());
        self.blocks(|first, count, seen| {
            score(&mut scores, (count, seen, width), q.starting_at(first), k.transposed(), self.scale);
            for (row, scores) in scores.chunks_exact_mut(seen).take(count).enumerate() {
                let (scores, hidden) = scores.split_at_mut(self.seen(first + row, seen));
                hidden.fill(0.0);
                self.mask(first + row, scores);
                let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                exponentials(scores, largest);
                let sum: f32 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= sum);
                self.dropped(first + row, &mut room, scores.len(), |key, factor| scores[key] *= factor);
                let Target { memory, offset, .. } = logarithms.starting_at(first + row);
                // Safety: no other thread writes this head's results.
                unsafe { memory.put(offset as i64, 1, &[largest, sum.ln()], |x| x) };
            }
            let weights = Matrix::dense(&scores, seen);
            let size = alone((count, value_width, seen), false);
            // Safety: no other thread writes this head's results.
            unsafe { multiply(size, sums.starting_at(first), weights, v, 1.0) };
        });
    }

    /// The gradients of keys and values are summed over the blocks of queries, and over the heads that share them: with
    /// `adds` others have been there. Results start as zeros.
    fn backward(&self, queries: Target<f32>, by_key: Target<f32>, by_value: Target<f32>, adds: bool) {
        let Sizes { width, value_width, keys, heads, queries: count_all, .. } = *self.sizes;
        let (q, k, v, g) = (self.rows(0), self.rows(1), self.rows(2), self.rows(3));
        let (q, k, v, g) = (q.matrix(), k.matrix(), v.matrix(), g.matrix());
        let (HostBuffer::F32(logarithms), HostBuffer::F32(along)) =
            (self.inputs[4].buffer, self.inputs[5].buffer)
        else {
            unreachable!("logarithms are F32")
        };
        let (mut weights, mut scores) = (vec![0f32; QUERIES * keys], vec![0f32; QUERIES * keys]);
        let mut room = Vec::new();
        self.blocks(|first, count, seen| {
            score(&mut weights, (count, seen, width), q.starting_at(first), k.transposed(), self.scale);
            score(&mut scores, (count, seen, value_width), g.starting_at(first), v.transposed(), 1.0);
            let rows = weights.chunks_exact_mut(seen).zip(scores.chunks_exact_mut(seen)).take(count);
            for (row, (weights, scores)) in rows.enumerate() {
                let at = (self.batch * count_all + first + row) * heads + self.head;
                let (largest, logarithm, along) = (logarithms[2 * at], logarithms[2 * at + 1], along[at]);
                let sees = self.seen(first + row, seen);
                weights[sees..].fill(0.0);
                scores[sees..].fill(0.0);
                self.mask(first + row, &mut weights[..sees]);
                weights[..sees].iter_mut().for_each(|weight| *weight -= largest);
                exponentials(&mut weights[..sees], logarithm);
                self.dropped(first + row, &mut room, sees, |key, factor| scores[key] *= factor);
                for (weight, score) in weights.iter().zip(scores).take(sees) {
                    *score = *weight * (*score - along);
                }
                // What the values are multiplied by; the factors are those above.
                if self.kept.is_some() {
                    weights.iter_mut().zip(&room).for_each(|(weight, factor)| *weight *= factor);
                }
            }
            let (weights, scores) = (Matrix::dense(&weights, seen), Matrix::dense(&scores, seen));
            // Safety: no other thread writes this head's results, here and below.
            unsafe {
                multiply(
                    alone((count, width, seen), false),
                    queries.starting_at(first),
                    scores,
                    k,
                    self.scale,
                )
            };
            let by_query = scores.transposed();
            // Keys that earlier blocks did not see have nothing yet.
            let earlier = if self.op.causal && !adds { keys.min(first) } else { keys };
            let adds = adds || first > 0;
            for (from, to, adds) in [(0, earlier.min(seen), adds), (earlier.min(seen), seen, false)] {
                if from < to {
                    let (q, g) = (q.starting_at(first), g.starting_at(first));
                    let by_query = by_query.starting_at(from);
                    let size = alone((to - from, width, count), adds);
                    // Safety: as above.
                    unsafe { multiply(size, by_key.starting_at(from), by_query, q, self.scale) };
                    let weights = weights.transposed().starting_at(from);
                    let size = alone((to - from, value_width, count), adds);
                    // Safety: as above.
                    unsafe { multiply(size, by_value.starting_at(from), weights, g, 1.0) };
                }
            }
        });
    }
}
