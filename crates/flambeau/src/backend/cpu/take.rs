//! Rows of a matrix that numbers name, as embeddings take them: each is copied as it lies in memory.

use super::fused::Output;
use crate::backend::Run;
use crate::error::{Error, Result};
use crate::host::{Disjoint, HostBuffer, share};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};
use std::sync::Arc;

/// Elements that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 15;

/// Runs the kernel if it takes rows and does nothing else; says whether it did.
pub(super) fn run(kernel: &Fused, inputs: &[Arc<HostBuffer>], outputs: &[Output], run: &Run) -> Result<bool> {
    let ([named, taken], [_], &[count, length]) = (&kernel.insts[..], &kernel.outputs[..], &kernel.space[..])
    else {
        return Ok(false);
    };
    let (
        InstKind::Load { operand, access },
        InstKind::Gather { operand: table, access: rows, index: 0, stride, size },
    ) = (&named.kind, &taken.kind)
    else {
        return Ok(false);
    };
    let HostBuffer::I32(numbers) = &*inputs[*operand] else { return Ok(false) };
    // One number for all of a row, and a row that lies together.
    let (Some(at), Some(start)) = (Line::of(access, 0, run), Line::of(rows, 1, run)) else {
        return Ok(false);
    };
    let start_of = |row: usize| {
        let number = numbers[at.start_of(row)];
        let is_inside = usize::try_from(number).is_ok_and(|number| number < *size);
        is_inside.then(|| start.start_of(row) + (i64::from(number) * stride) as usize).ok_or_else(|| {
            let location = run.location(taken.node).to_string();
            Error::IndexOutOfRange { op: "gather", index: number.into(), size: *size, location }
        })
    };
    let copy = Copies { count, length, start_of };
    match (&*inputs[*table], &outputs[0]) {
        (HostBuffer::F16(from), Output::F16(to)) => copy.run(from, to)?,
        (HostBuffer::F32(from), Output::F32(to)) => copy.run(from, to)?,
        (HostBuffer::F64(from), Output::F64(to)) => copy.run(from, to)?,
        (HostBuffer::I32(from), Output::I32(to)) => copy.run(from, to)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Where rows begin.
struct Line {
    first: i64,
    step: i64,
}

impl Line {
    /// Those of a matrix whose elements along a row are `apart`.
    fn of(access: &Access, apart: i64, run: &Run) -> Option<Line> {
        let level = access.levels.first().filter(|_| access.is_strided())?;
        let [rows, along] = &level.axes[..] else { return None };
        (along.stride == apart).then(|| Line { first: level.offset.value(run.data), step: rows.stride })
    }

    fn start_of(&self, row: usize) -> usize {
        (self.first + row as i64 * self.step) as usize
    }
}

/// `count` rows of `length` elements.
struct Copies<F> {
    count: usize,
    length: usize,
    start_of: F,
}

impl<F: Fn(usize) -> Result<usize> + Sync> Copies<F> {
    fn run<T: Copy + Send + Sync>(&self, from: &[T], to: &Disjoint<T>) -> Result<()> {
        let (count, length) = (self.count, self.length);
        let at_once = (WORTH_A_THREAD / length.max(1)).max(1);
        share(count.div_ceil(at_once), |piece| {
            for row in piece * at_once..((piece + 1) * at_once).min(count) {
                let start = (self.start_of)(row)?;
                // Safety: every row of the result belongs to one piece.
                let to = unsafe { to.slice(row * length..(row + 1) * length) };
                to.copy_from_slice(&from[start..start + length]);
            }
            Ok(())
        })
    }
}
