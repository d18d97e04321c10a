//! Kernels that only move elements: views that become real, and choices by coordinates among them (cat, roll, pad, tril). A row of the
//! result is a few stretches, each of which is copied from where it lies, or filled; nothing goes through a register.

use super::fused::Output;
use super::strip::{NOWHERE, Piece, Strip};
use crate::backend::Run;
use crate::dtype::{DType, Element, Scalar};
use crate::host::{Disjoint, HostBuffer, share};
use crate::ir::access::{Access, Axis};
use crate::ir::kernel::{Fused, InstKind};
use crate::shape::product;
use half::f16;
use smallvec::SmallVec;
use std::ops::Range;

/// Elements that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 15;
/// Elements from which a row is worth being looked at as one.
const LONG_ROW: usize = 32;

/// Runs the kernel if it only moves elements; says whether it did.
pub(super) fn run(kernel: &Fused, inputs: &[&HostBuffer], outputs: &[Output], run: &Run) -> bool {
    let ([output], Some(last)) = (&kernel.outputs[..], kernel.space.len().checked_sub(1)) else {
        return false;
    };
    let moves = Moves { kernel, inputs, data: run.data, last };
    let dtype = output.dtype;
    if kernel.kept != kernel.space.len() || !moves.is_moved(output.inst, dtype) {
        return false;
    }
    match &outputs[0] {
        Output::Bool(to) => moves.run(output.inst, to, |x| x.to_f64() != 0.0),
        Output::F16(to) => moves.run(output.inst, to, |x| f16::from_f64(x.to_f64())),
        Output::F32(to) => moves.run(output.inst, to, |x| x.to_f64() as f32),
        Output::F64(to) => moves.run(output.inst, to, |x| x.to_f64()),
        Output::I32(to) => moves.run(output.inst, to, |x| x.to_i64() as i32),
        Output::I64(to) => moves.run(output.inst, to, |x| x.to_i64()),
        Output::U8(_) | Output::U32(_) => false,
    }
}

struct Moves<'a> {
    kernel: &'a Fused,
    inputs: &'a [&'a HostBuffer],
    data: &'a [Scalar],
    /// The dimension that rows lie along.
    last: usize,
}

/// A number that goes along a row in equal steps.
#[derive(Clone, Copy)]
struct Ramp {
    first: i64,
    step: i64,
}

impl Moves<'_> {
    /// Is it read from memory, a number, or a choice by coordinates between such?
    fn is_moved(&self, inst: usize, dtype: DType) -> bool {
        let inst = &self.kernel.insts[inst];
        inst.dtype == dtype
            && match &inst.kind {
                InstKind::Load { operand, .. } => self.inputs[*operand].dtype() == dtype,
                InstKind::Constant { access, .. } => !access.has_zeros(),
                InstKind::Map { op, args } if op.name == "where" => {
                    self.is_comparison(args[0]) && args[1..].iter().all(|&arg| self.is_moved(arg, dtype))
                }
                _ => false,
            }
    }

    /// Does it compare two numbers that go along rows in equal steps? Then it changes at most once along a row.
    fn is_comparison(&self, inst: usize) -> bool {
        match &self.kernel.insts[inst].kind {
            InstKind::Map { op, args } => {
                matches!(op.name, "gt" | "ge" | "lt" | "le") && args.iter().all(|&arg| self.is_ramp(arg))
            }
            _ => false,
        }
    }

    fn is_ramp(&self, inst: usize) -> bool {
        let inst = &self.kernel.insts[inst];
        inst.dtype == DType::I32
            && match &inst.kind {
                InstKind::Index { access } => access.is_strided(),
                InstKind::Constant { access, .. } => !access.has_zeros(),
                InstKind::Map { op, args } if op.name == "sub" => args.iter().all(|&arg| self.is_ramp(arg)),
                _ => false,
            }
    }

    fn ramp(&self, inst: usize, row: &[usize]) -> Ramp {
        match &self.kernel.insts[inst].kind {
            InstKind::Constant { data_start, .. } => {
                Ramp { first: self.data[*data_start as usize].to_i64(), step: 0 }
            }
            InstKind::Index { access } => {
                let (level, before) = (&access.levels[0], row.iter());
                let steps = level.axes.iter().zip(before).map(|(axis, &c)| axis.stride * c as i64);
                Ramp {
                    first: level.offset.value(self.data) + steps.sum::<i64>(),
                    step: level.axes[self.last].stride,
                }
            }
            InstKind::Map { args, .. } => {
                let (a, b) = (self.ramp(args[0], row), self.ramp(args[1], row));
                Ramp { first: a.first - b.first, step: a.step - b.step }
            }
            other => unreachable!("{other:?} is no number that goes in equal steps"),
        }
    }

    /// The coordinates of a row at which a comparison holds, which are its beginning or its end.
    fn holds(&self, comparison: usize, row: &[usize], places: &Range<usize>) -> (Range<usize>, Range<usize>) {
        let InstKind::Map { op, args } = &self.kernel.insts[comparison].kind else {
            unreachable!("a choice is by a comparison")
        };
        let (a, b) = (self.ramp(args[0], row), self.ramp(args[1], row));
        let holds = |c: usize| {
            let apart = (a.first - b.first) + (a.step - b.step) * c as i64;
            match op.name {
                "gt" => apart > 0,
                "ge" => apart >= 0,
                "lt" => apart < 0,
                _ => apart <= 0,
            }
        };
        let at_first = holds(places.start);
        let (mut same, mut other) = (places.start, places.end);
        // It is as at first before `same`, and other from `other` on.
        while same < other {
            let middle = same + (other - same) / 2;
            if holds(middle) == at_first { same = middle + 1 } else { other = middle }
        }
        let (before, after) = (places.start..same, same..places.end);
        if at_first { (before, after) } else { (after, before) }
    }

    /// Copies everything, a row or a part of one at a time.
    fn run<T: Element + Default>(
        &self,
        from: usize,
        to: &Disjoint<T>,
        number: impl Fn(Scalar) -> T + Sync,
    ) -> bool {
        let space = &self.kernel.space;
        let (count, length) = (self.kernel.outer_count(), space[self.last]);
        if count == 0 {
            return true;
        }
        if length < LONG_ROW {
            return self.short_rows(from, to);
        }
        let at_once = if count < 2 * WORTH_A_THREAD { count } else { WORTH_A_THREAD };
        let done: Result<(), ()> = share(count.div_ceil(at_once.max(1)), |piece| {
            let (mut at, end) = (piece * at_once, ((piece + 1) * at_once).min(count));
            let mut row: SmallVec<[usize; 6]> = space.iter().map(|_| 0).collect();
            let mut rest = at / length;
            for d in (0..self.last).rev() {
                row[d] = rest % space[d];
                rest /= space[d];
            }
            while at < end {
                let first = at % length;
                let places = first..length.min(first + end - at);
                // Safety: every element of the result belongs to one piece.
                let to = unsafe { to.slice(at..at + places.len()) };
                at += places.len();
                self.fill(from, &row, places, to, &number);
                for d in (0..self.last).rev() {
                    row[d] += 1;
                    if row[d] < space[d] {
                        break;
                    }
                    row[d] = 0;
                }
            }
            Ok(())
        });
        done.is_ok()
    }

    /// Some places of a row.
    fn fill<T: Element + Default>(
        &self,
        inst: usize,
        row: &[usize],
        places: Range<usize>,
        to: &mut [T],
        number: &impl Fn(Scalar) -> T,
    ) {
        match &self.kernel.insts[inst].kind {
            InstKind::Constant { data_start, .. } => to.fill(number(self.data[*data_start as usize])),
            InstKind::Load { operand, access } => {
                let from = self.inputs[*operand].slice::<T>().expect("elements of the result's dtype");
                self.copy(access, from, row, places, to);
            }
            InstKind::Map { args, .. } => {
                let (chosen, other) = self.holds(args[0], row, &places);
                for (places_of, arg) in [(chosen, args[1]), (other, args[2])] {
                    if !places_of.is_empty() {
                        let at = places_of.start - places.start..places_of.end - places.start;
                        self.fill(arg, row, places_of, &mut to[at], number);
                    }
                }
            }
            other => unreachable!("{other:?} moves no elements"),
        }
    }

    /// Some places of a row of a view.
    fn copy<T: Element + Default>(
        &self,
        access: &Access,
        from: &[T],
        row: &[usize],
        places: Range<usize>,
        to: &mut [T],
    ) {
        let is_plain = |axis: &Axis| axis.hole.as_ref().is_none_or(|hole| hole.step == 1);
        let [level] = &access.levels[..] else { return self.copy_pieces(access, from, row, places, to) };
        if !level.axes.iter().all(is_plain) {
            return self.copy_pieces(access, from, row, places, to);
        }
        // Where the row's elements are, and from where on.
        let mut offset = level.offset.value(self.data);
        let mut inside = places.clone();
        for (d, (axis, &c)) in level.axes.iter().zip(row).enumerate() {
            let hole = axis.hole.as_deref().map(|hole| (hole.start.value(self.data), hole.len as i64));
            let (start, len) = hole.unwrap_or((0, axis.size as i64));
            if d == self.last {
                offset -= start * axis.stride;
                let clamped = |place: i64| place.clamp(places.start as i64, places.end as i64) as usize;
                inside = clamped(start).max(inside.start)..clamped(start + len).min(inside.end);
            } else if (0..len).contains(&(c as i64 - start)) {
                offset += (c as i64 - start) * axis.stride;
            } else {
                inside = places.start..places.start;
            }
        }
        if inside.is_empty() {
            return to.fill(T::default());
        }
        let (before, rest) = to.split_at_mut(inside.start - places.start);
        let (to, after) = rest.split_at_mut(inside.len());
        before.fill(T::default());
        after.fill(T::default());
        let stride = level.axes[self.last].stride;
        copy_along(from, offset + inside.start as i64 * stride, stride, to);
    }

    /// Views of several levels, and with gaps between elements.
    fn copy_pieces<T: Element + Default>(
        &self,
        access: &Access,
        from: &[T],
        row: &[usize],
        places: Range<usize>,
        to: &mut [T],
    ) {
        let varying = self.last..self.last + 1;
        let (start, len) = (places.start, places.len());
        let strip = Strip {
            space: &self.kernel.space,
            varying,
            start,
            len,
            fixed: row,
            data: self.data,
            repeated: None,
        };
        strip.pieces(access, |Piece { at, len, offset, stride }| {
            let to = &mut to[at..at + len];
            if offset == NOWHERE { to.fill(T::default()) } else { copy_along(from, offset, stride, to) }
        });
    }

    /// Rows of a few elements that lie together in memory, or in equal steps; says whether they do.
    fn short_rows<T: Element>(&self, inst: usize, to: &Disjoint<T>) -> bool {
        let (space, InstKind::Load { operand, access }) = (&self.kernel.space, &self.kernel.insts[inst].kind)
        else {
            return false;
        };
        let (Some(level), Some(row)) =
            (access.levels.first().filter(|_| access.is_strided()), self.last.checked_sub(1))
        else {
            return false;
        };
        let from = self.inputs[*operand].slice::<T>().expect("elements of the result's dtype");
        let (rows, length) = (space[row], space[self.last]);
        let (row_step, step) = (level.axes[row].stride, level.axes[self.last].stride);
        let outer = product(space[..row].iter().copied());
        let at_once = (WORTH_A_THREAD / (rows * length).max(1)).max(1);
        let done: Result<(), ()> = share(outer.div_ceil(at_once), |piece| {
            for number in piece * at_once..((piece + 1) * at_once).min(outer) {
                let (mut rest, mut start) = (number, level.offset.value(self.data));
                for (axis, &size) in level.axes[..row].iter().zip(&space[..row]).rev() {
                    start += (rest % size) as i64 * axis.stride;
                    rest /= size;
                }
                // Safety: every element of the result belongs to one piece.
                let to = unsafe { to.slice(number * rows * length..(number + 1) * rows * length) };
                match (length, step) {
                    (2, 1) => copy_rows::<T, 2>(from, start, row_step, to),
                    (3, 1) => copy_rows::<T, 3>(from, start, row_step, to),
                    (4, 1) => copy_rows::<T, 4>(from, start, row_step, to),
                    (8, 1) => copy_rows::<T, 8>(from, start, row_step, to),
                    _ => {
                        for (row, to) in to.chunks_exact_mut(length).enumerate() {
                            copy_along(from, start + row as i64 * row_step, step, to);
                        }
                    }
                }
            }
            Ok(())
        });
        done.is_ok()
    }
}

/// Rows of N neighbours, which begin in equal steps.
fn copy_rows<T: Copy, const N: usize>(from: &[T], start: i64, step: i64, to: &mut [T]) {
    for (row, to) in to.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let at = (start + row as i64 * step) as usize;
        to.copy_from_slice(&from[at..at + N]);
    }
}

/// Elements that lie `stride` apart from `start` on.
fn copy_along<T: Copy>(from: &[T], start: i64, stride: i64, to: &mut [T]) {
    let (first, len) = (start as usize, to.len());
    match stride {
        0 => to.fill(from[first]),
        1 => to.copy_from_slice(&from[first..first + len]),
        -1 => {
            let from = &from[first + 1 - len..=first];
            to.iter_mut().zip(from.iter().rev()).for_each(|(to, &from)| *to = from);
        }
        _ => to.iter_mut().enumerate().for_each(|(k, to)| *to = from[(start + k as i64 * stride) as usize]),
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// A tensor's values, and those that a function of the coordinates says.
    fn check(what: &str, tensor: &Tensor, expected: impl Fn(usize, usize) -> f32) {
        let [rows, columns] = tensor.shape().dims() else { panic!("{what}: a matrix is expected") };
        let got: Vec<f32> = tensor.to_dtype(DType::F32).to_vec_blocking().unwrap();
        for (k, got) in got.into_iter().enumerate() {
            let (r, c) = (k / columns, k % columns);
            assert_eq!(got, expected(r, c), "{what} of {rows} × {columns} at {r}, {c}");
        }
    }

    #[test]
    fn elements_are_moved_to_where_they_belong() {
        let device = Device::cpu();
        for dtype in [DType::F32, DType::F16, DType::F64, DType::I32, DType::I64] {
            // Rows that are longer and shorter than what is looked at as one, and work for several threads.
            for (rows, columns) in [(3, 40), (50, 33), (5, 7), (70, 1000), (1, 100)] {
                let value = |r: usize, c: usize| ((r * columns + c) % 1000) as f32;
                let values: Vec<f32> = (0..rows * columns).map(|k| value(k / columns, k % columns)).collect();
                let x = Tensor::from_slice(&values, [rows, columns], &device).to_dtype(dtype);
                let y = &x + 0;
                let outside = |inside: bool, value: f32| if inside { value } else { 0.0 };
                let (r_shift, c_shift) = (2 % rows, 5 % columns);
                check("roll of columns", &x.roll(&[5], &[1]), |r, c| {
                    value(r, (c + columns - c_shift) % columns)
                });
                check("roll of rows", &x.roll(&[2], &[0]), |r, c| value((r + rows - r_shift) % rows, c));
                check("flip", &x.flip(1), |r, c| value(r, columns - 1 - c));
                check("flip of rows", &x.flip(0), |r, c| value(rows - 1 - r, c));
                check("cat", &Tensor::cat(&[&x, &y, &x], 1), |r, c| value(r, c % columns));
                check("cat of rows", &Tensor::cat(&[&x, &y], 0), |r, c| value(r % rows, c));
                check("tile", &x.tile([2, 3]), |r, c| value(r % rows, c % columns));
                check("tril", &x.tril(1), |r, c| outside(c <= r + 1, value(r, c)));
                check("triu", &x.triu(-2), |r, c| outside(c + 2 >= r, value(r, c)));
                check("pad", &x.pad(&[1, 2, 3, 4], 0), |r, c| {
                    let inside = (3..rows + 3).contains(&r) && (1..columns + 1).contains(&c);
                    outside(inside, if inside { value(r - 3, c - 1) } else { 0.0 })
                });
                check("every third", &x.slice(1, 1.., 3), |r, c| value(r, 1 + 3 * c));
                for size in [2, 4, 5] {
                    let windows = x.unfold(1, size, 2).flatten(0, 1);
                    let count = (columns - size) / 2 + 1;
                    check("unfold", &windows, |r, c| value(r / count, r % count * 2 + c));
                }
            }
        }
    }
}
