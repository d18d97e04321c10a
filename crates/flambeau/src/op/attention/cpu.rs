//! Attention on the CPU: heads on different cores, blocks of queries as matrix products.

use super::{Attention, Direction, Sizes};
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer, Matrix, Product, Target, multiply, widest};
use crate::ir::call::CpuOperand;
use crate::memory::reserved;
use crate::op::elementwise::Real;
use crate::shape::product;

/// Queries whose scores are held at once.
const QUERIES: usize = 64;

/// The matrix of one head of an operand (B, H, rows, columns); with `inside`, of (B, rows, H, columns).
fn matrix<'a>(operand: &CpuOperand<'a>, batch: usize, head: usize, inside: bool) -> Matrix<'a, f32> {
    let level = &operand.access.levels[0];
    let HostBuffer::F32(values) = operand.buffer else { unreachable!("attention is of F32") };
    let (head_axis, row_axis) = if inside { (2, 1) } else { (1, 2) };
    let stride = |axis: usize| level.axes[axis].stride;
    let offset =
        level.offset.value(operand.data) + batch as i64 * stride(0) + head as i64 * stride(head_axis);
    Matrix { values, offset, row: stride(row_axis), column: stride(3) }
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

pub(super) fn run(
    op: &Attention,
    sizes: &Sizes,
    inputs: &[CpuOperand],
    outputs: &mut [HostBuffer],
    scale: f32,
) -> Result<()> {
    // Keys that are one key repeated take no memory, but their scores do.
    reserved::<f32>(product([QUERIES, sizes.keys]))?;
    let results: Vec<Disjoint<f32>> = outputs
        .iter_mut()
        .map(|output| match output {
            HostBuffer::F32(values) => Disjoint::new(values),
            _ => unreachable!("attention is of F32"),
        })
        .collect();
    let work = |number: usize| {
        let (batch, head) = (number / sizes.heads, number % sizes.heads);
        let target = |output: usize, rows: usize, width: usize| {
            let offset = (batch * rows * sizes.heads + head) * width;
            Target { memory: &results[output], offset, row: sizes.heads * width }
        };
        let head = Head { op, sizes, inputs, scale, batch, head };
        match op.direction {
            Direction::Forward => {
                head.forward(target(0, sizes.queries, sizes.value_width), target(1, sizes.queries, 2));
            }
            Direction::Backward => head.backward(
                target(0, sizes.queries, sizes.width),
                target(1, sizes.keys, sizes.width),
                target(2, sizes.keys, sizes.value_width),
            ),
        }
    };
    let count = sizes.batches * sizes.heads;
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        (0..count).into_par_iter().for_each(work);
    }
    #[cfg(target_arch = "wasm32")]
    (0..count).for_each(work);
    Ok(())
}

struct Head<'a> {
    op: &'a Attention,
    sizes: &'a Sizes,
    inputs: &'a [CpuOperand<'a>],
    scale: f32,
    batch: usize,
    head: usize,
}

impl Head<'_> {
    fn matrix(&self, input: usize) -> Matrix<'_, f32> {
        matrix(&self.inputs[input], self.batch, self.head, input == 3)
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

    fn forward(&self, sums: Target<f32>, logarithms: Target<f32>) {
        let Sizes { width, value_width, keys, .. } = *self.sizes;
        let (q, k, v) = (self.matrix(0), self.matrix(1), self.matrix(2));
        let mut scores = vec![0f32; QUERIES * keys];
        self.blocks(|first, count, seen| {
            score(&mut scores, (count, seen, width), q.starting_at(first), k.transposed(), self.scale);
            for (row, scores) in scores.chunks_exact_mut(seen).take(count).enumerate() {
                let (scores, hidden) = scores.split_at_mut(self.seen(first + row, seen));
                hidden.fill(0.0);
                let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                exponentials(scores, largest);
                let sum: f32 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= sum);
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

    /// The gradients of keys and values are summed over the blocks of queries; results start as zeros.
    fn backward(&self, queries: Target<f32>, by_key: Target<f32>, by_value: Target<f32>) {
        let Sizes { width, value_width, keys, heads, queries: count_all, .. } = *self.sizes;
        let (q, k, v, g) = (self.matrix(0), self.matrix(1), self.matrix(2), self.matrix(3));
        let (HostBuffer::F32(logarithms), HostBuffer::F32(along)) =
            (self.inputs[4].buffer, self.inputs[5].buffer)
        else {
            unreachable!("attention is of F32")
        };
        let (mut weights, mut scores) = (vec![0f32; QUERIES * keys], vec![0f32; QUERIES * keys]);
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
                weights[..sees].iter_mut().for_each(|weight| *weight -= largest);
                exponentials(&mut weights[..sees], logarithm);
                for (weight, score) in weights.iter().zip(scores).take(sees) {
                    *score = *weight * (*score - along);
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
            let adds = first > 0;
            let by_query = scores.transposed();
            // Keys that earlier blocks did not see have nothing yet.
            let earlier = if self.op.causal { keys.min(first) } else { keys };
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
