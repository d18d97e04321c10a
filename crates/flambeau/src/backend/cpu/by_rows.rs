//! One primitive of operands whose rows lie in memory as it reads them: outer products, a matrix and a row, windows that overlap. It runs
//! where the rows lie, one after the other; the interpreter would need several times as long to begin a row of a few hundred numbers.

use super::fused::{LARGE_BLOCK, Output, fill, functions, straight};
use crate::backend::Run;
use crate::host::{Block, BlockFn, HostBuffer, MOST_OPERANDS, View, share};
use crate::ir::kernel::{Fused, InstKind};
use smallvec::SmallVec;

/// Numbers from which a row is worth it.
const LEAST: usize = 32;
/// Elements that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 15;

/// Runs the kernel if it is such a primitive; says whether it was one.
pub(super) fn run(kernel: &Fused, inputs: &[&HostBuffer], outputs: &[Output], run: &Run) -> bool {
    let Some(rows) = Rows::of(kernel, inputs, run) else { return false };
    let count = kernel.outer_count() / rows.length;
    let threads = kernel.outer_count() / WORTH_A_THREAD;
    let pieces = if threads > 1 { (crate::host::threads() * 4).min(count) } else { 1 };
    let size = count.div_ceil(pieces);
    let work = |piece: usize| {
        (piece * size..((piece + 1) * size).min(count)).for_each(|row| rows.run(row, &outputs[0]));
        Ok::<(), std::convert::Infallible>(())
    };
    share(count.div_ceil(size), work).is_ok()
}

struct Rows<'a> {
    /// The dimensions that rows are counted in.
    counted: &'a [usize],
    length: usize,
    #[cfg_attr(not(all(test, target_arch = "x86_64")), expect(dead_code))]
    name: &'static str,
    function: BlockFn,
    operands: SmallVec<[Operand<'a>; MOST_OPERANDS]>,
}

enum Operand<'a> {
    Number(Block),
    Read {
        from: &'a HostBuffer,
        start: i64,
        /// How far apart rows begin, along each of the dimensions.
        strides: SmallVec<[i64; 6]>,
        /// Numbers of a row: all of them, or one that is the same along it.
        len: usize,
    },
}

impl<'a> Rows<'a> {
    fn of(kernel: &'a Fused, inputs: &'a [&'a HostBuffer], run: &Run) -> Option<Rows<'a>> {
        let (&length, counted) = kernel.space.split_last()?;
        let rows_are_worth_it = (LEAST..=LARGE_BLOCK).contains(&length) && kernel.outer_count() > length;
        let is_primitive = |inst: usize| matches!(kernel.insts[inst].kind, InstKind::Map { .. });
        let mut primitives = (0..kernel.insts.len()).filter(|&inst| is_primitive(inst));
        let (Some(primitive), None, [output]) = (primitives.next(), primitives.next(), &kernel.outputs[..])
        else {
            return None;
        };
        let is_stored = output.inst == primitive && straight(kernel)[primitive].is_some();
        if !rows_are_worth_it || kernel.kept != kernel.space.len() || !is_stored {
            return None;
        }
        let InstKind::Map { op, args } = &kernel.insts[primitive].kind else { return None };
        let operand = |&arg: &usize| match &kernel.insts[arg].kind {
            InstKind::Load { operand, access } if access.is_strided() => {
                let from = inputs[*operand];
                from.view(0..0)?;
                let level = &access.levels[0];
                let (last, before) = level.axes.split_last()?;
                let len = match last.stride {
                    0 => 1,
                    1 => length,
                    _ => return None,
                };
                let strides = before.iter().map(|axis| axis.stride).collect();
                Some(Operand::Read { from, start: level.offset.value(run.data), strides, len })
            }
            InstKind::Constant { data_start, access } if !access.has_zeros() => {
                let inst = &kernel.insts[arg];
                let mut number = Block::new(inst.dtype.lane(), 1);
                fill(&mut number, run.data[*data_start as usize], inst.dtype);
                Some(Operand::Number(number))
            }
            _ => None,
        };
        let operands = args.iter().map(operand).collect::<Option<_>>()?;
        Some(Rows { counted, length, name: op.name, function: functions(kernel)[primitive]?, operands })
    }

    fn run(&self, row: usize, output: &Output) {
        let mut values = [View::Bool(&[]); MOST_OPERANDS];
        for (value, operand) in values.iter_mut().zip(&self.operands) {
            *value = match operand {
                Operand::Number(number) => number.view(),
                Operand::Read { from, start, strides, len } => {
                    let at = (start + self.offset(row, strides)) as usize;
                    from.view(at..at + len).expect("that was asked before")
                }
            };
        }
        // Safety: the places of this row are no other one's.
        let to = unsafe { output.part(row * self.length..(row + 1) * self.length) };
        (self.function)(&values[..self.operands.len()], to);
        #[cfg(all(test, target_arch = "x86_64"))]
        super::tests::count_underflow(self.name);
    }

    /// How far from the first row another one begins.
    fn offset(&self, row: usize, strides: &[i64]) -> i64 {
        if let [stride] = strides {
            return stride * row as i64;
        }
        let (mut rest, mut offset) = (row, 0);
        for (&size, stride) in self.counted.iter().zip(strides).rev() {
            offset += stride * (rest % size) as i64;
            rest /= size;
        }
        offset
    }
}
