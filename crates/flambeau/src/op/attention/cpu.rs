//! Attention on the CPU: heads on different cores, blocks of queries as matrix products.

use super::{Attention, Direction, Sizes};
use crate::backend::cpu::{CpuOperand, HostBuffer};

/// Queries whose scores are held at once.
const QUERIES: usize = 64;

/// A strided matrix of one head.
#[derive(Clone, Copy)]
struct Matrix {
    data: *const f32,
    row: isize,
    column: isize,
}

/// Where one head writes a result (B, rows, H, width).
#[derive(Clone, Copy)]
struct Target {
    data: *mut f32,
    row: isize,
}
unsafe impl Send for Target {}
unsafe impl Sync for Target {}

impl Matrix {
    /// The matrix of one head of an operand (B, H, rows, columns); with `inside`, of (B, rows, H, columns).
    fn of(operand: &CpuOperand, batch: usize, head: usize, inside: bool) -> Matrix {
        let level = &operand.access.levels[0];
        let HostBuffer::F32(values) = operand.buffer else { unreachable!("attention is of F32") };
        let (head_axis, row_axis) = if inside { (2, 1) } else { (1, 2) };
        let stride = |axis: usize| level.axes[axis].stride;
        let offset =
            level.offset.value(operand.data) + batch as i64 * stride(0) + head as i64 * stride(head_axis);
        let data = values[offset as usize..].as_ptr();
        Matrix { data, row: stride(row_axis) as isize, column: stride(3) as isize }
    }

    /// A dense one.
    fn dense(values: &[f32], columns: usize) -> Matrix {
        Matrix { data: values.as_ptr(), row: columns as isize, column: 1 }
    }

    fn transposed(self) -> Matrix {
        Matrix { row: self.column, column: self.row, ..self }
    }

    /// From this row on.
    fn starting_at(self, row: usize) -> Matrix {
        // Safety: the row is one of the matrix.
        Matrix { data: unsafe { self.data.offset(row as isize * self.row) }, ..self }
    }
}

impl Target {
    fn starting_at(self, row: usize) -> Target {
        // Safety: the row is one of the matrix.
        Target { data: unsafe { self.data.offset(row as isize * self.row) }, ..self }
    }
}

/// to = factor · a b, or to += that; a is (m, k) and b (k, n).
fn product(to: Target, adds: bool, (m, n, k): (usize, usize, usize), a: Matrix, b: Matrix, factor: f32) {
    // Safety: the callers' matrices have these sizes, and no other thread writes this head's results.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to.data,
            1,
            to.row,
            adds,
            a.data,
            a.column,
            a.row,
            b.data,
            b.column,
            b.row,
            1.0,
            factor,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

pub(super) fn run(
    op: &Attention,
    sizes: &Sizes,
    inputs: &[CpuOperand],
    outputs: &mut [HostBuffer],
    scale: f32,
) {
    let pointers: Vec<Target> = outputs
        .iter_mut()
        .map(|output| match output {
            HostBuffer::F32(values) => Target { data: values.as_mut_ptr(), row: 0 },
            _ => unreachable!("attention is of F32"),
        })
        .collect();
    let work = |number: usize| {
        let (batch, head) = (number / sizes.heads, number % sizes.heads);
        let target = |output: usize, rows: usize, width: usize| {
            let start = (batch * rows * sizes.heads + head) * width;
            // Safety: the head is one of the result.
            let data = unsafe { pointers[output].data.add(start) };
            Target { data, row: (sizes.heads * width) as isize }
        };
        let head = Head { op, sizes, inputs, scale, batch, head };
        match op.direction {
            Direction::Forward => {
                head.forward(target(0, sizes.queries, sizes.value_width), target(1, sizes.queries, 1));
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
    fn matrix(&self, input: usize) -> Matrix {
        Matrix::of(&self.inputs[input], self.batch, self.head, input == 3)
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

    fn forward(&self, sums: Target, logarithms: Target) {
        let Sizes { width, value_width, keys, .. } = *self.sizes;
        let (q, k, v) = (self.matrix(0), self.matrix(1), self.matrix(2));
        let mut scores = vec![0f32; QUERIES * keys];
        self.blocks(|first, count, seen| {
            let block = Target { data: scores.as_mut_ptr(), row: seen as isize };
            product(block, false, (count, seen, width), q.starting_at(first), k.transposed(), self.scale);
            for (row, scores) in scores.chunks_exact_mut(seen).take(count).enumerate() {
                let (scores, hidden) = scores.split_at_mut(self.seen(first + row, seen));
                hidden.fill(0.0);
                let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                scores.iter_mut().for_each(|score| *score = (*score - largest).exp());
                let sum: f32 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= sum);
                // Safety: the query is one of the result.
                unsafe { logarithms.starting_at(first + row).data.write(largest + sum.ln()) };
            }
            let weights = Matrix::dense(&scores, seen);
            product(sums.starting_at(first), false, (count, value_width, seen), weights, v, 1.0);
        });
    }

    /// The gradients of keys and values are summed over the blocks of queries; results start as zeros.
    fn backward(&self, queries: Target, by_key: Target, by_value: Target) {
        let Sizes { width, value_width, keys, heads, queries: count_all, .. } = *self.sizes;
        let (q, k, v, g) = (self.matrix(0), self.matrix(1), self.matrix(2), self.matrix(3));
        let (HostBuffer::F32(logarithms), HostBuffer::F32(along)) =
            (self.inputs[4].buffer, self.inputs[5].buffer)
        else {
            unreachable!("attention is of F32")
        };
        let (mut weights, mut scores) = (vec![0f32; QUERIES * keys], vec![0f32; QUERIES * keys]);
        self.blocks(|first, count, seen| {
            let block = Target { data: weights.as_mut_ptr(), row: seen as isize };
            product(block, false, (count, seen, width), q.starting_at(first), k.transposed(), self.scale);
            let block = Target { data: scores.as_mut_ptr(), row: seen as isize };
            product(block, false, (count, seen, value_width), g.starting_at(first), v.transposed(), 1.0);
            let rows = weights.chunks_exact_mut(seen).zip(scores.chunks_exact_mut(seen)).take(count);
            for (row, (weights, scores)) in rows.enumerate() {
                let at = (self.batch * count_all + first + row) * heads + self.head;
                let (logarithm, along) = (logarithms[at], along[at]);
                let sees = self.seen(first + row, seen);
                weights[sees..].fill(0.0);
                scores[sees..].fill(0.0);
                for (weight, score) in weights.iter_mut().zip(scores).take(sees) {
                    *weight = (*weight - logarithm).exp();
                    *score = *weight * (*score - along);
                }
            }
            let (weights, scores) = (Matrix::dense(&weights, seen), Matrix::dense(&scores, seen));
            product(queries.starting_at(first), false, (count, width, seen), scores, k, self.scale);
            let adds = first > 0;
            let by_query = scores.transposed();
            // Keys that earlier blocks did not see have nothing yet.
            let earlier = if self.op.causal { keys.min(first) } else { keys };
            for (from, to, adds) in [(0, earlier.min(seen), adds), (earlier.min(seen), seen, false)] {
                if from < to {
                    let part = |matrix: Matrix| Matrix {
                        // Safety: the column of the block is one of the matrix.
                        data: unsafe { matrix.data.add(from) },
                        ..matrix
                    };
                    let size = (to - from, width, count);
                    product(
                        by_key.starting_at(from),
                        adds,
                        size,
                        part(by_query),
                        q.starting_at(first),
                        self.scale,
                    );
                    let size = (to - from, value_width, count);
                    let weights = part(weights.transposed());
                    product(by_value.starting_at(from), adds, size, weights, g.starting_at(first), 1.0);
                }
            }
        });
    }
}
