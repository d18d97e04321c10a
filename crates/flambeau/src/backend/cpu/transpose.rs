//! Copies of tensors whose dimensions have been exchanged. Neighbours of the result lie far apart in memory then, and a line of the cache
//! would be read for each of them; square tiles use all of it.

use super::fused::Output;
use crate::backend::Run;
use crate::host::{Disjoint, HostBuffer, prefetch, share};
use crate::ir::kernel::{Fused, InstKind};
use crate::shape::{Shape, product};

/// The side of a tile: of f32 it is a line of the cache.
const TILE: usize = 16;
/// Rows of a strip, of which a column's are neighbours in memory: a few lines of the cache, which are read together.
const STRIP: usize = 4 * TILE;
/// Elements that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 14;

/// Runs the kernel if it is such a copy; says whether it was one.
pub(super) fn run(kernel: &Fused, inputs: &[&HostBuffer], outputs: &[Output], run: &Run) -> bool {
    let Some((operand, exchange)) = Exchange::of(kernel, run) else { return false };
    match (inputs[operand], &outputs[0]) {
        (HostBuffer::F32(from), Output::F32(to)) if exchange.pairs => {
            exchange.run(from.as_chunks::<2>().0, &to.pairs());
        }
        _ if exchange.pairs => return false,
        (HostBuffer::F16(from), Output::F16(to)) => exchange.run(from, to),
        (HostBuffer::F32(from), Output::F32(to)) => exchange.run(from, to),
        (HostBuffer::F64(from), Output::F64(to)) => exchange.run(from, to),
        (HostBuffer::I32(from), Output::I32(to)) => exchange.run(from, to),
        _ => return false,
    }
    true
}

/// Matrices whose element (r, c) is element (c, r) of a matrix in memory.
struct Exchange {
    /// Are elements pairs, such as complex numbers?
    pairs: bool,
    rows: usize,
    columns: usize,
    /// How far apart in memory columns begin; and in the result, rows.
    column: usize,
    row: usize,
    /// Where the first one begins in memory, and the other dimensions.
    start: i64,
    others: Vec<Dimension>,
}

/// A size, and strides in memory and in the result.
#[derive(Clone, Copy)]
struct Dimension {
    size: usize,
    from: i64,
    to: i64,
}

impl Exchange {
    /// The operand of such a copy.
    fn of(kernel: &Fused, run: &Run) -> Option<(usize, Exchange)> {
        let ([inst], [_]) = (&kernel.insts[..], &kernel.outputs[..]) else { return None };
        let InstKind::Load { operand, access } = &inst.kind else { return None };
        let level = access.levels.first().filter(|_| access.is_strided())?;
        let strides = Shape::new(&kernel.space).strides();
        let sizes = kernel.space.iter().zip(&level.axes).zip(strides);
        let mut others: Vec<Dimension> =
            sizes.map(|((&size, axis), to)| Dimension { size, from: axis.stride, to }).collect();
        let mut start = level.offset.value(run.data);
        let pairs = others.last().is_some_and(|last| last.size == 2 && last.from == 1);
        if pairs {
            others.pop();
            let is_whole = start % 2 == 0 && others.iter().all(|other| other.from % 2 == 0);
            others.iter_mut().for_each(|other| (other.from, other.to) = (other.from / 2, other.to / 2));
            start = is_whole.then_some(start / 2)?;
        }
        let columns = others.pop()?;
        let is_row = |other: &Dimension| other.from == 1 && other.size >= TILE;
        let rows = others.remove(others.iter().position(is_row)?);
        let exchanged = columns.from >= TILE as i64 && columns.size >= TILE;
        exchanged.then_some((
            *operand,
            Exchange {
                pairs,
                rows: rows.size,
                columns: columns.size,
                column: columns.from as usize,
                row: rows.to as usize,
                start,
                others,
            },
        ))
    }

    fn run<T: Copy + Default + Send + Sync>(&self, from: &[T], to: &Disjoint<T>) {
        // Strips of rows, higher ones where columns are short.
        let height = (WORTH_A_THREAD / self.columns).next_multiple_of(TILE).max(STRIP);
        let strips = self.rows.div_ceil(height);
        let matrices = product(self.others.iter().map(|other| other.size));
        let done: Result<(), ()> = share(matrices * strips, |number| {
            let (mut matrix, first) = (number / strips, number % strips * height);
            let (mut start, mut result) = (self.start, 0);
            for &Dimension { size, from, to } in self.others.iter().rev() {
                let coordinate = (matrix % size) as i64;
                (start, result) = (start + coordinate * from, result + coordinate * to);
                matrix /= size;
            }
            let last = (first + height).min(self.rows);
            for column in (0..self.columns).step_by(TILE) {
                for row in (first..last).step_by(TILE) {
                    let sizes = (TILE.min(last - row), TILE.min(self.columns - column));
                    let corner = start as usize + column * self.column + row;
                    self.tile(&from[corner..], to, result as usize + row * self.row + column, sizes);
                }
            }
            Ok(())
        });
        done.expect("a copy does not fail");
    }

    fn tile<T: Copy + Default>(
        &self,
        from: &[T],
        to: &Disjoint<T>,
        corner: usize,
        (rows, columns): (usize, usize),
    ) {
        let mut tile = [[T::default(); TILE]; TILE];
        if (rows, columns) == (TILE, TILE) {
            // Nearly all are whole: their lines are moved without calls.
            for column in 0..TILE {
                let from = &from[column * self.column..];
                let line = from.first_chunk::<TILE>().expect("a whole tile lies in memory");
                // The same rows of the next columns come soon.
                prefetch(from.get(TILE * self.column..TILE * self.column + TILE).unwrap_or(&[]));
                (0..TILE).for_each(|row| tile[row][column] = line[row]);
            }
            for (row, line) in tile.iter().enumerate() {
                let start = corner + row * self.row;
                // Safety: every element of the result belongs to one tile, which one thread copies.
                let to = unsafe { to.slice(start..start + TILE) };
                (0..TILE).for_each(|column| to[column] = line[column]);
            }
            return;
        }
        for column in 0..columns {
            let from = &from[column * self.column..][..rows];
            from.iter().enumerate().for_each(|(row, &x)| tile[row][column] = x);
        }
        for (row, tile) in tile[..rows].iter().enumerate() {
            let start = corner + row * self.row;
            // Safety: as above.
            unsafe { to.slice(start..start + columns) }.copy_from_slice(&tile[..columns]);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn dimensions_are_exchanged_whatever_their_sizes() {
        let device = Device::cpu();
        for shape in [[1, 16, 16], [3, 17, 40], [2, 100, 33], [16, 5, 64], [40, 300, 70]] {
            let [a, b, c] = shape;
            let values: Vec<f32> = (0..a * b * c).map(|k| k as f32).collect();
            let x = Tensor::from_slice(&values, shape, &device);
            for order in [[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2]] {
                let moved = x.permute(&order.map(|dim: usize| dim as isize));
                let part = moved.narrow(1, 1, moved.size(1) - 1);
                for (tensor, skipped) in [(moved, 0), (part, 1)] {
                    let got: Vec<f32> = tensor.to_vec_blocking().unwrap();
                    let sizes = [tensor.size(0), tensor.size(1), tensor.size(2)];
                    for (k, got) in got.into_iter().enumerate() {
                        let mut place = [k / (sizes[1] * sizes[2]), k / sizes[2] % sizes[1], k % sizes[2]];
                        place[1] += skipped;
                        let mut at = [0; 3];
                        order.iter().zip(place).for_each(|(&dim, place)| at[dim] = place);
                        assert_eq!(got, values[(at[0] * b + at[1]) * c + at[2]], "{shape:?} {order:?}");
                    }
                }
            }
        }
    }
}
