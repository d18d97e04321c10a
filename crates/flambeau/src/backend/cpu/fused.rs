//! Runs a fused kernel: its instructions one after the other over blocks that fit the cache.

use super::reduce;
use super::strip::{NOWHERE, Piece, Strip};
use crate::backend::Run;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::host::{Block, Disjoint, HostBuffer, Lanes, cast, wrap};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, Inst, InstKind};
use crate::rng;
use crate::shape::product;
use half::f16;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Points per block: registers of a dozen instructions stay in the first-level cache.
pub(super) const BLOCK: usize = 1024;
/// Instruction-points under which threads cost more than they bring.
const PARALLEL_WORK: usize = 1 << 16;

/// Results of a reduction across rows that are worth a thread: fewer would share their cache lines with others.
const FEWEST_COLUMNS: usize = 64;

/// Runs the kernel and fills its outputs.
pub(super) fn run(
    kernel: &Fused,
    inputs: &[Arc<HostBuffer>],
    outputs: &mut [HostBuffer],
    run: &Run,
) -> Result<()> {
    if !kernel.phases.is_empty() {
        return super::rows::run(kernel, inputs, outputs, run);
    }
    let count = kernel.outer_count();
    let outputs: Vec<Output> = outputs.iter_mut().map(Output::new).collect();
    let reduced = reduce::in_parts(kernel, inputs, run)?;
    let work = |range: Range<usize>| {
        let mut worker = Worker::new(kernel, inputs, run);
        let mut start = range.start;
        while start < range.end {
            let len = BLOCK.min(range.end - start);
            worker.block(start..start + len, reduced.as_ref())?;
            for (stored, output) in kernel.outputs.iter().zip(&outputs) {
                // Safety: ranges of different workers are disjoint.
                unsafe { output.store((start as i64, 1), &worker.registers[stored.inst], 0..len) };
            }
            start += len;
        }
        Ok(())
    };
    let fewest = if reduce::goes_across(kernel) { FEWEST_COLUMNS } else { 1 };
    in_parallel(kernel, count, fewest, work)
}

/// Divides `count` results of a kernel among threads, at least `fewest` to each.
pub(super) fn in_parallel(
    kernel: &Fused,
    count: usize,
    fewest: usize,
    work: impl Fn(Range<usize>) -> Result<()> + Send + Sync,
) -> Result<()> {
    let total = product([count, kernel.inner_count().max(1), kernel.insts.len()]);
    let pieces = if total < PARALLEL_WORK { 1 } else { crate::host::threads() * 4 };
    let size = count.div_ceil(pieces).max(fewest);
    let ranges: Vec<_> = (0..count).step_by(size).map(|start| start..(start + size).min(count)).collect();
    #[cfg(not(target_arch = "wasm32"))]
    if ranges.len() > 1 {
        use rayon::prelude::*;
        return ranges.into_par_iter().try_for_each(work);
    }
    ranges.into_iter().try_for_each(work)
}

/// An output buffer that several workers write to, each in its own range.
pub(super) enum Output<'a> {
    Bool(Disjoint<'a, bool>),
    U8(Disjoint<'a, u8>),
    I32(Disjoint<'a, i32>),
    U32(Disjoint<'a, u32>),
    I64(Disjoint<'a, i64>),
    F16(Disjoint<'a, f16>),
    F32(Disjoint<'a, f32>),
    F64(Disjoint<'a, f64>),
}

impl<'a> Output<'a> {
    pub fn new(buffer: &'a mut HostBuffer) -> Output<'a> {
        match buffer {
            HostBuffer::Bool(values) => Output::Bool(Disjoint::new(values)),
            HostBuffer::U8(values) => Output::U8(Disjoint::new(values)),
            HostBuffer::I32(values) => Output::I32(Disjoint::new(values)),
            HostBuffer::U32(values) => Output::U32(Disjoint::new(values)),
            HostBuffer::I64(values) => Output::I64(Disjoint::new(values)),
            HostBuffer::F16(values) => Output::F16(Disjoint::new(values)),
            HostBuffer::F32(values) => Output::F32(Disjoint::new(values)),
            HostBuffer::F64(values) => Output::F64(Disjoint::new(values)),
        }
    }

    /// Writes values of a block to places `stride` apart from `start` on.
    ///
    /// # Safety
    /// No other thread may touch the places.
    pub unsafe fn store(&self, (start, stride): (i64, i64), block: &Block, values: Range<usize>) {
        // Safety: the caller vouches for the places; that they lie inside is checked.
        unsafe {
            match (block, self) {
                (Block::Bool(from), Output::Bool(to)) => to.put(start, stride, &from[values], |x| x),
                (Block::U32(from), Output::U8(to)) => to.put(start, stride, &from[values], |x| x as u8),
                (Block::U32(from), Output::U32(to)) => to.put(start, stride, &from[values], |x| x),
                (Block::I32(from), Output::I32(to)) => to.put(start, stride, &from[values], |x| x),
                (Block::I64(from), Output::I64(to)) => to.put(start, stride, &from[values], |x| x),
                (Block::F32(from), Output::F16(to)) => to.put(start, stride, &from[values], f16::from_f32),
                (Block::F32(from), Output::F32(to)) => to.put(start, stride, &from[values], |x| x),
                (Block::F64(from), Output::F64(to)) => to.put(start, stride, &from[values], |x| x),
                (block, _) => unreachable!("a result of another dtype than {block:?}"),
            }
        }
    }
}

/// The registers of one thread.
pub(super) struct Worker<'a> {
    pub kernel: &'a Fused,
    inputs: &'a [Arc<HostBuffer>],
    run: &'a Run<'a>,
    pub registers: Vec<Block>,
    /// In a kernel of phases: values per row, repeated for every element.
    pub spread: Vec<Block>,
}

impl<'a> Worker<'a> {
    pub fn new(kernel: &'a Fused, inputs: &'a [Arc<HostBuffer>], run: &'a Run<'a>) -> Self {
        let registers: Vec<_> = kernel.insts.iter().map(|inst| Block::new(inst.dtype.lane(), 0)).collect();
        let spread = if kernel.phases.is_empty() { Vec::new() } else { registers.clone() };
        Worker { kernel, inputs, run, registers, spread }
    }

    /// Computes some results; those of the reduction may be given.
    fn block(&mut self, results: Range<usize>, reduced: Option<&Block>) -> Result<()> {
        let kernel = self.kernel;
        if let Some((position, _, _)) = kernel.reduction() {
            self.registers[position] = match reduced {
                Some(reduced) => reduced.part(results.clone()),
                None => self
                    .reduce(results.clone(), 0..kernel.inner_count())?
                    .finish(kernel.insts[position].dtype),
            };
        }
        let fixed = vec![0; kernel.space.len()];
        let outer = self.strip(0..kernel.kept, results.start, results.len(), &fixed);
        self.stage(false, &outer)
    }

    pub fn strip<'s>(&self, varying: Range<usize>, start: usize, len: usize, fixed: &'s [usize]) -> Strip<'s>
    where
        'a: 's,
    {
        Strip { space: &self.kernel.space, varying, start, len, fixed, data: self.run.data, repeated: None }
    }

    /// Runs the instructions of one stage over a strip.
    pub fn stage(&mut self, inner: bool, strip: &Strip) -> Result<()> {
        let kernel = self.kernel;
        for (position, inst) in kernel.insts.iter().enumerate() {
            if inst.inner == inner && !matches!(inst.kind, InstKind::Reduce { .. }) {
                self.compute(position, strip)?;
            }
        }
        Ok(())
    }

    /// Runs one instruction over a strip.
    pub fn compute(&mut self, position: usize, strip: &Strip) -> Result<()> {
        let is_filled = self.registers[position].len() == strip.len;
        if is_filled && is_constant(&self.kernel.insts[position].kind) {
            return Ok(());
        }
        let mut out = std::mem::replace(&mut self.registers[position], Block::Bool(Vec::new()));
        out.resize(strip.len);
        let result = self.execute(&self.kernel.insts[position], strip, &mut out);
        self.registers[position] = out;
        result
    }

    /// The values of an instruction, as another one reads them.
    fn operand(&self, inst: &Inst, arg: usize) -> &Block {
        let spread = inst.inner && !self.kernel.insts[arg].inner;
        if spread { &self.spread[arg] } else { &self.registers[arg] }
    }

    fn execute(&self, inst: &Inst, strip: &Strip, out: &mut Block) -> Result<()> {
        let data = self.run.data;
        match &inst.kind {
            InstKind::Load { operand, access } => strip.load(access, &self.inputs[*operand], out),
            InstKind::Constant { data_start, access } => {
                fill(out, data[*data_start as usize], inst.dtype);
                if access.has_zeros() {
                    mask(strip, access, out);
                }
            }
            InstKind::Index { access } => {
                let out = i32::slice_mut(out);
                strip.pieces(access, |Piece { at, len, offset, stride }| {
                    (0..len).for_each(|k| out[at + k] = (offset.max(0) + k as i64 * stride) as i32);
                });
            }
            InstKind::Bits { data_start, access } => {
                let word = |k: usize| data[*data_start as usize + k].to_i64() as u32;
                let (key, counter) = ([word(0), word(1)], [word(2), word(3)]);
                let out = u32::slice_mut(out);
                strip.pieces(access, |Piece { at, len, offset, stride }| {
                    for k in 0..len {
                        let element = (offset + k as i64 * stride) as u64;
                        let bits = || rng::random_bits(key, rng::counter_at(counter, element));
                        out[at + k] = if offset == NOWHERE { 0 } else { bits() };
                    }
                });
            }
            InstKind::Healthy => bool::slice_mut(out).fill(true),
            InstKind::Map { op, args } => {
                let dtypes: SmallVec<[DType; 3]> =
                    args.iter().map(|&arg| self.kernel.insts[arg].dtype).collect();
                let blocks: SmallVec<[&Block; 3]> = args.iter().map(|&arg| self.operand(inst, arg)).collect();
                let function =
                    (op.cpu)(op.lane(&dtypes)).expect("the table covers the dtypes its signature accepts");
                function(&blocks, out);
                wrap(inst.dtype, out);
            }
            InstKind::Cast { arg } => cast(self.operand(inst, *arg), inst.dtype, out),
            InstKind::Mask { arg, access } => {
                out.clone_from(self.operand(inst, *arg));
                mask(strip, access, out);
            }
            InstKind::Gather { operand, access, index, stride, size } => {
                let mut offsets = vec![NOWHERE; strip.len];
                strip.pieces(access, |Piece { at, len, offset, stride }| {
                    (0..len).for_each(|k| offsets[at + k] = offset + k as i64 * stride);
                });
                self.gather(inst, &mut offsets, *index, *stride, *size)?;
                pick(&self.inputs[*operand], &offsets, out);
            }
            InstKind::Reduce { .. } => unreachable!("the reduction runs before the outer stage"),
        }
        Ok(())
    }

    /// Adds the indexed steps to the offsets of a gather.
    fn gather(&self, inst: &Inst, offsets: &mut [i64], index: usize, stride: i64, size: usize) -> Result<()> {
        for (k, offset) in offsets.iter_mut().enumerate().filter(|(_, offset)| **offset != NOWHERE) {
            let index = match self.operand(inst, index) {
                Block::I32(index) => i64::from(index[k]),
                Block::U32(index) => i64::from(index[k]),
                Block::I64(index) => index[k],
                other => unreachable!("indexes are integers, not {other:?}"),
            };
            if index < 0 || index >= size as i64 {
                let location = self.run.location(inst.node).to_string();
                return Err(Error::IndexOutOfRange { op: "gather", index, size, location });
            }
            *offset += index * stride;
        }
        Ok(())
    }
}

/// Is it the same at every point?
fn is_constant(kind: &InstKind) -> bool {
    matches!(kind, InstKind::Constant { access, .. } if !access.has_zeros())
}

fn fill(block: &mut Block, value: Scalar, dtype: DType) {
    match block {
        Block::Bool(values) => values.fill(value.to_f64() != 0.0),
        Block::U32(values) => values.fill(value.to_i64() as u32),
        Block::I32(values) => values.fill(value.to_i64() as i32),
        Block::I64(values) => values.fill(value.to_i64()),
        Block::F32(values) if dtype == DType::F16 => values.fill(f16::from_f64(value.to_f64()).to_f32()),
        Block::F32(values) => values.fill(value.to_f64() as f32),
        Block::F64(values) => values.fill(value.to_f64()),
    }
}

/// Zeroes the points that have no element.
fn mask(strip: &Strip, access: &Access, block: &mut Block) {
    fn zero<T: Default + Clone>(strip: &Strip, access: &Access, values: &mut [T]) {
        strip.pieces(access, |piece| {
            if piece.offset == NOWHERE {
                values[piece.at..piece.at + piece.len].fill(T::default());
            }
        });
    }
    crate::host::each_lane!(block, values => zero(strip, access, values));
}

fn pick(buffer: &HostBuffer, offsets: &[i64], out: &mut Block) {
    fn copy<S: Copy, T: Default>(from: &[S], offsets: &[i64], to: &mut [T], convert: impl Fn(S) -> T) {
        for (to, &offset) in to.iter_mut().zip(offsets) {
            *to = if offset == NOWHERE { T::default() } else { convert(from[offset as usize]) };
        }
    }
    match (buffer, out) {
        (HostBuffer::Bool(from), Block::Bool(to)) => copy(from, offsets, to, |x| x),
        (HostBuffer::U8(from), Block::U32(to)) => copy(from, offsets, to, u32::from),
        (HostBuffer::U32(from), Block::U32(to)) => copy(from, offsets, to, |x| x),
        (HostBuffer::I32(from), Block::I32(to)) => copy(from, offsets, to, |x| x),
        (HostBuffer::I64(from), Block::I64(to)) => copy(from, offsets, to, |x| x),
        (HostBuffer::F16(from), Block::F32(to)) => copy(from, offsets, to, f32::from),
        (HostBuffer::F32(from), Block::F32(to)) => copy(from, offsets, to, |x| x),
        (HostBuffer::F64(from), Block::F64(to)) => copy(from, offsets, to, |x| x),
        (_, out) => unreachable!("a buffer does not load into {out:?}"),
    }
}
