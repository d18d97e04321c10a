//! Runs a fused kernel: its instructions one after the other over blocks that fit the cache.

use super::gather::Gather;
use super::reduce;
use super::strip::{NOWHERE, Piece, Strip};
use crate::backend::Run;
use crate::dtype::{DType, Lane, Scalar};
use crate::error::{Error, Result};
use crate::host::{
    Block, BlockFn, Disjoint, HostBuffer, Lanes, MOST_OPERANDS, View, ViewMut, cast, share, widest, wrap,
};
use crate::ir::access::Access;
#[cfg(not(target_arch = "wasm32"))]
use crate::ir::access::Level;
use crate::ir::kernel::{Fused, Inst, InstKind};
use crate::rng;
use crate::shape::product;
use half::f16;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Points per block: registers of a dozen instructions stay in the first-level cache.
pub(super) const BLOCK: usize = 1024;
/// Points per block where nothing goes through registers.
pub(super) const LARGE_BLOCK: usize = 16 * BLOCK;
/// Instructions whose registers may be longer, and still are in a cache nearby.
const FEW: usize = 8;
/// Instruction-points under which threads cost more than they bring.
const PARALLEL_WORK: usize = 1 << 16;

/// Results of a reduction across rows that are worth a thread: fewer would share their cache lines with others.
const FEWEST_COLUMNS: usize = 64;

/// Runs the kernel and fills its outputs.
pub(super) fn run(
    kernel: &Fused,
    inputs: &[&HostBuffer],
    outputs: &mut [HostBuffer],
    run: &Run,
) -> Result<()> {
    if !kernel.phases.is_empty() {
        return super::rows::run(kernel, inputs, outputs, run);
    }
    let outputs: Vec<Output> = outputs.iter_mut().map(Output::new).collect();
    #[cfg(not(target_arch = "wasm32"))]
    if super::transpose::run(kernel, inputs, &outputs, run)
        || super::take::run(kernel, inputs, &outputs, run)?
        || super::marks::run(kernel, inputs, &outputs, run)?
        || super::moves::run(kernel, inputs, &outputs, run)
        || (!uses_no_register(kernel, inputs) && super::by_rows::run(kernel, inputs, &outputs, run))
    {
        return Ok(());
    }
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(pairs) = super::pairs::Pairs::of(kernel, inputs, run) {
        let sums = |results| Some(pairs.reduce(results));
        return in_blocks(kernel, inputs, &outputs, run, pairs.at_once(), sums);
    }
    let reduced = reduce::in_parts(kernel, inputs, run)?;
    in_blocks(kernel, inputs, &outputs, run, points_at_once(kernel, inputs), |results| {
        reduced.as_ref().map(|reduced| reduced.part(results))
    })
}

/// Computes some results after the other; those of the reduction may be `given`.
fn in_blocks(
    kernel: &Fused,
    inputs: &[&HostBuffer],
    outputs: &[Output],
    run: &Run,
    block: usize,
    given: impl Fn(Range<usize>) -> Option<Block> + Send + Sync,
) -> Result<()> {
    let work = |range: Range<usize>| {
        let mut worker = Worker::new(kernel, inputs, run);
        let mut start = range.start;
        while start < range.end {
            let len = (block - start % block).min(range.end - start);
            let results = start..start + len;
            worker.block(results.clone(), given(results), outputs)?;
            for (stored, output) in kernel.outputs.iter().zip(outputs) {
                if worker.straight[stored.inst].is_none() {
                    // Safety: ranges of different workers are disjoint.
                    unsafe { output.store((start as i64, 1), worker.values(stored.inst), 0..len) };
                }
            }
            start += len;
        }
        Ok(())
    };
    let fewest = if reduce::goes_across(kernel) { FEWEST_COLUMNS } else { 1 };
    in_parallel(kernel, kernel.outer_count(), fewest, work)
}

/// Points of a block. Where rows are about as long they are rows: within one, what is the same along it is one number.
fn points_at_once(kernel: &Fused, inputs: &[&HostBuffer]) -> usize {
    if uses_no_register(kernel, inputs) {
        return LARGE_BLOCK;
    }
    if kernel.reduction().is_some() {
        return BLOCK;
    }
    let block = if kernel.insts.len() <= FEW { 4 * BLOCK } else { BLOCK };
    match kernel.space[..] {
        [_, .., row] if (BLOCK / 4..=block).contains(&row) => row,
        _ => block,
    }
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
    let size = count.div_ceil(pieces).max(fewest).max(1);
    share(count.div_ceil(size), |piece| work(piece * size..((piece + 1) * size).min(count)))
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
    pub unsafe fn store(&self, (start, stride): (i64, i64), from: View, values: Range<usize>) {
        // Safety: the caller vouches for the places; that they lie inside is checked.
        unsafe {
            match (from, self) {
                (View::Bool(from), Output::Bool(to)) => to.put(start, stride, &from[values], |x| x),
                (View::U32(from), Output::U8(to)) => to.put(start, stride, &from[values], |x| x as u8),
                (View::U32(from), Output::U32(to)) => to.put(start, stride, &from[values], |x| x),
                (View::I32(from), Output::I32(to)) => to.put(start, stride, &from[values], |x| x),
                (View::I64(from), Output::I64(to)) => to.put(start, stride, &from[values], |x| x),
                (View::F32(from), Output::F16(to)) => to.put(start, stride, &from[values], f16::from_f32),
                (View::F32(from), Output::F32(to)) => to.put(start, stride, &from[values], |x| x),
                (View::F64(from), Output::F64(to)) => to.put(start, stride, &from[values], |x| x),
                (from, _) => unreachable!("a result of another dtype than {from:?}"),
            }
        }
    }

    /// These places, where results are stored as they are computed.
    ///
    /// # Safety
    /// Nobody else may touch the places while they are used.
    pub unsafe fn part(&self, places: Range<usize>) -> ViewMut<'_> {
        // Safety: the caller vouches for the places; that they lie inside is checked.
        unsafe {
            match self {
                Output::Bool(to) => ViewMut::Bool(to.slice(places)),
                Output::I32(to) => ViewMut::I32(to.slice(places)),
                Output::U32(to) => ViewMut::U32(to.slice(places)),
                Output::I64(to) => ViewMut::I64(to.slice(places)),
                Output::F32(to) => ViewMut::F32(to.slice(places)),
                Output::F64(to) => ViewMut::F64(to.slice(places)),
                Output::U8(_) | Output::F16(_) => unreachable!("these are computed in other lanes"),
            }
        }
    }
}

/// The registers of one thread.
pub(super) struct Worker<'a> {
    pub kernel: &'a Fused,
    pub inputs: &'a [&'a HostBuffer],
    run: &'a Run<'a>,
    pub registers: Vec<Block>,
    /// Loads that need no register: their values lie together in an input, from this place on.
    lent: Vec<Option<Lent>>,
    /// Of instructions that nobody else reads: the output that they can write to themselves.
    pub straight: Vec<Option<usize>>,
    /// Of instructions that are primitives: what runs them.
    functions: Vec<Option<BlockFn>>,
    /// Constants that are one value for all points: only primitives read them.
    pub single: Vec<bool>,
    /// Loads that only primitives read: one value is enough where all points of a strip have the same.
    mapped: Vec<bool>,
    /// In a kernel of phases: values per row, repeated for every element, for those who need that.
    pub spread: Vec<Block>,
    /// In a kernel of phases, where rows are long: their length. Primitives then run row by row, and take a value of the
    /// row as it is.
    pub row_length: Option<usize>,
}

#[derive(Clone)]
struct Lent {
    operand: usize,
    values: Range<usize>,
}

impl<'a> Worker<'a> {
    pub fn new(kernel: &'a Fused, inputs: &'a [&'a HostBuffer], run: &'a Run<'a>) -> Self {
        let registers: Vec<_> = kernel.insts.iter().map(|inst| Block::new(inst.dtype.lane(), 0)).collect();
        let spread = if kernel.phases.is_empty() { Vec::new() } else { registers.clone() };
        let lent = vec![None; registers.len()];
        let (straight, functions) = (straight(kernel), functions(kernel));
        let single = (0..registers.len()).map(|inst| is_single(kernel, inst)).collect();
        let by_primitives = |inst| kernel.phases.is_empty() && is_mapped_load(kernel, inst);
        let mapped = (0..registers.len()).map(by_primitives).collect();
        Worker {
            kernel,
            inputs,
            run,
            registers,
            lent,
            straight,
            functions,
            single,
            mapped,
            spread,
            row_length: None,
        }
    }

    /// The values of an instruction over the last strip.
    pub fn values(&self, inst: usize) -> View<'_> {
        match &self.lent[inst] {
            Some(Lent { operand, values }) => self.inputs[*operand]
                .view(values.clone())
                .expect("only what is computed as it is stored is lent"),
            None => self.registers[inst].view(),
        }
    }

    /// Computes some results; those of the reduction may be given.
    fn block(&mut self, results: Range<usize>, reduced: Option<Block>, outputs: &[Output]) -> Result<()> {
        let kernel = self.kernel;
        if let Some((position, _, _)) = kernel.reduction() {
            match reduced {
                Some(reduced) => self.registers[position] = reduced,
                None => {
                    let totals = self.reduce(results.clone(), 0..kernel.inner_count())?;
                    totals.finish(kernel.insts[position].dtype, &mut self.registers[position]);
                }
            }
        }
        let fixed: SmallVec<[usize; 6]> = smallvec![0; kernel.space.len()];
        let outer = self.strip(0..kernel.kept, results.start, results.len(), &fixed);
        for (position, inst) in kernel.insts.iter().enumerate() {
            if inst.inner || matches!(inst.kind, InstKind::Reduce { .. }) {
                continue;
            }
            match self.straight[position] {
                // Safety: ranges of different workers are disjoint, and nobody else reads the instruction's results.
                Some(output) => self.map(position, unsafe { outputs[output].part(results.clone()) }),
                None => self.compute(position, &outer)?,
            }
        }
        Ok(())
    }

    pub fn strip<'s>(&self, varying: Range<usize>, start: usize, len: usize, fixed: &'s [usize]) -> Strip<'s>
    where
        'a: 's,
    {
        Strip { space: &self.kernel.space, varying, start, len, fixed, data: self.run.data, repeated: None }
    }

    /// Where a level's first element lies.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn offset(&self, level: &Level) -> i64 {
        level.offset.value(self.run.data)
    }

    /// Asks for what loads will give for some rows.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn prefetch(&self, row: usize, rows: usize, length: usize) {
        let (kernel, fixed) = (self.kernel, [0; 8]);
        let (rank, last) = (kernel.space.len(), kernel.outer_count());
        if rank > fixed.len() || row >= last {
            return;
        }
        let strip = self.strip(0..rank, row * length, rows.min(last - row) * length, &fixed[..rank]);
        for (inst, lent) in kernel.insts.iter().zip(&self.lent) {
            let (InstKind::Load { operand, access }, true, Some(now)) = (&inst.kind, inst.inner, lent) else {
                continue;
            };
            // What is read again and again is there already.
            if let Some(start) = strip.together(access).filter(|&start| start != now.values.start)
                && let Some(View::F32(values)) = self.inputs[*operand].view(start..start + strip.len)
            {
                crate::host::prefetch(values);
            }
        }
    }

    /// Runs the instructions of the inner stage over a strip.
    pub fn inner(&mut self, strip: &Strip) -> Result<()> {
        let kernel = self.kernel;
        let inner = kernel.insts.iter().enumerate().filter(|(_, inst)| inst.inner);
        inner.map(|(position, _)| position).try_for_each(|position| self.compute(position, strip))
    }

    /// Runs one instruction over a strip.
    pub fn compute(&mut self, position: usize, strip: &Strip) -> Result<()> {
        let kernel = self.kernel;
        let inst = &kernel.insts[position];
        let mut len = strip.len;
        match &inst.kind {
            InstKind::Load { operand, access } => {
                let place = strip.together(access).map(|start| start..start + strip.len);
                let lent = place.filter(|place| self.inputs[*operand].view(place.clone()).is_some());
                self.lent[position] = lent.map(|values| Lent { operand: *operand, values });
                if self.lent[position].is_some() {
                    return Ok(());
                }
                if self.mapped[position] && strip.is_one(access) {
                    let first = Strip { len: 1, repeated: None, varying: strip.varying.clone(), ..*strip };
                    self.registers[position].resize(1);
                    first.load(access, self.inputs[*operand], &mut self.registers[position]);
                    return Ok(());
                }
            }
            InstKind::Constant { .. } => {
                len = if self.single[position] { 1 } else { len };
                if self.registers[position].len() == len && is_constant(&inst.kind) {
                    return Ok(());
                }
            }
            _ => {}
        }
        let mut out = std::mem::replace(&mut self.registers[position], Block::new(Lane::Bool, 0));
        out.resize(len);
        let result = match &inst.kind {
            InstKind::Map { .. } => {
                self.map(position, out.view_mut());
                wrap(inst.dtype, &mut out);
                Ok(())
            }
            _ => self.execute(inst, strip, &mut out),
        };
        self.registers[position] = out;
        result
    }

    /// Runs an elementwise primitive over values as many as there are places.
    pub fn map(&self, position: usize, mut out: ViewMut) {
        let inst = &self.kernel.insts[position];
        let InstKind::Map { args, .. } = &inst.kind else { unreachable!("a primitive is run") };
        let function = self.functions[position].expect("the table covers the dtypes its signature accepts");
        let mut values = [View::Bool(&[]); MOST_OPERANDS];
        values.iter_mut().zip(args).for_each(|(value, &arg)| *value = self.operand(inst, arg));
        match self.row_length {
            // Of one row the values are one for all places.
            Some(length) if out.len() > length && args.iter().any(|&arg| self.is_of_row(inst, arg)) => {
                for (row, from) in (0..out.len()).step_by(length).enumerate() {
                    let mut of_row = values;
                    for (value, &arg) in of_row.iter_mut().zip(args).filter(|(_, arg)| !self.single[**arg]) {
                        let is_of_row = self.is_of_row(inst, arg);
                        *value = value.part(if is_of_row { row..row + 1 } else { from..from + length });
                    }
                    function(&of_row[..args.len()], out.part(from..from + length));
                }
            }
            _ => function(&values[..args.len()], out),
        }
        #[cfg(all(test, target_arch = "x86_64"))]
        if let InstKind::Map { op, .. } = &inst.kind {
            super::tests::count_underflow(op.name);
        }
    }

    /// The values of an instruction, as another one reads them: a value for every point, or one for all.
    fn operand(&self, inst: &Inst, arg: usize) -> View<'_> {
        let takes_one = self.row_length.is_some() && matches!(inst.kind, InstKind::Map { .. });
        let is_spread = self.is_of_row(inst, arg) && !takes_one;
        if is_spread { self.spread[arg].view() } else { self.values(arg) }
    }

    /// Does an instruction per element read one that has a value per row?
    fn is_of_row(&self, inst: &Inst, arg: usize) -> bool {
        inst.inner && !self.kernel.insts[arg].inner && !self.single[arg]
    }

    fn execute(&self, inst: &Inst, strip: &Strip, out: &mut Block) -> Result<()> {
        let data = self.run.data;
        match &inst.kind {
            InstKind::Load { operand, access } => strip.load(access, self.inputs[*operand], out),
            InstKind::Constant { data_start, access } => {
                fill(out, data[*data_start as usize], inst.dtype);
                if access.has_zeros() {
                    mask(strip, access, out);
                }
            }
            InstKind::Index { access } => {
                let out = i32::slice_mut(out.view_mut());
                strip.pieces(access, |Piece { at, len, offset, stride }| {
                    (0..len).for_each(|k| out[at + k] = (offset.max(0) + k as i64 * stride) as i32);
                });
            }
            InstKind::Bits { data_start, access } => {
                let word = |k: usize| data[*data_start as usize + k].to_i64() as u32;
                let (key, counter) = ([word(0), word(1)], [word(2), word(3)]);
                let out = u32::slice_mut(out.view_mut());
                strip.pieces(access, |Piece { at, len, offset, stride }| {
                    if offset != NOWHERE && stride == 1 {
                        let first = rng::counter_at(counter, offset as u64);
                        return random_bits(key, first, &mut out[at..at + len]);
                    }
                    for k in 0..len {
                        let element = (offset + k as i64 * stride) as u64;
                        let bits = || rng::random_bits(key, rng::counter_at(counter, element));
                        out[at + k] = if offset == NOWHERE { 0 } else { bits() };
                    }
                });
            }
            InstKind::Healthy => bool::slice_mut(out.view_mut()).fill(true),
            InstKind::Cast { arg } => cast(self.operand(inst, *arg), inst.dtype, out),
            InstKind::Mask { arg, access } => {
                let from = self.operand(inst, *arg);
                crate::host::each_lane!(&mut *out, out => out.copy_from_slice(&Lanes::slice(from)[..strip.len]));
                mask(strip, access, out);
            }
            InstKind::Gather { operand, access, index, stride, size } => {
                let index = self.operand(inst, *index);
                let gather = Gather { strip, access, index, stride: *stride, size: *size };
                if let Some(index) = gather.load(self.inputs[*operand], out) {
                    let location = self.run.location(inst.node).to_string();
                    return Err(Error::IndexOutOfRange { op: "gather", index, size: *size, location });
                }
            }
            InstKind::Map { .. } | InstKind::Reduce { .. } => unreachable!("these are run elsewhere"),
        }
        Ok(())
    }
}

/// For every instruction, the output that it can write to itself: if it is a primitive computed in the dtype that is stored,
/// and nothing else needs its results.
pub(super) fn straight(kernel: &Fused) -> Vec<Option<usize>> {
    let of = |position: usize| {
        let inst = &kernel.insts[position];
        let is_read = kernel.insts.iter().any(|other| other.args().contains(&position));
        let as_stored = !matches!(inst.dtype, DType::U8 | DType::F16);
        let mut outputs = (0..kernel.outputs.len()).filter(|&output| kernel.outputs[output].inst == position);
        match (&inst.kind, outputs.next(), outputs.next()) {
            (InstKind::Map { .. }, Some(output), None) if as_stored && !is_read => Some(output),
            _ => None,
        }
    };
    (0..kernel.insts.len()).map(of).collect()
}

/// What runs each of the primitives.
pub(super) fn functions(kernel: &Fused) -> Vec<Option<BlockFn>> {
    let of = |inst: &Inst| match &inst.kind {
        InstKind::Map { op, args } => {
            let dtypes: SmallVec<[DType; 3]> = args.iter().map(|&arg| kernel.insts[arg].dtype).collect();
            (op.cpu)(op.lane(&dtypes))
        }
        _ => None,
    };
    kernel.insts.iter().map(of).collect()
}

/// Is it a constant that only primitives read? Then it need not be repeated.
fn is_single(kernel: &Fused, position: usize) -> bool {
    is_constant(&kernel.insts[position].kind) && is_for_primitives(kernel, position)
}

/// Is it read from memory by primitives alone?
fn is_mapped_load(kernel: &Fused, position: usize) -> bool {
    matches!(kernel.insts[position].kind, InstKind::Load { .. })
        && is_for_primitives(kernel, position)
        && !cfg!(target_arch = "wasm32")
}

/// Does nothing but primitives need it?
fn is_for_primitives(kernel: &Fused, position: usize) -> bool {
    let is_other =
        |inst: &Inst| inst.args().contains(&position) && !matches!(inst.kind, InstKind::Map { .. });
    !kernel.insts.iter().any(is_other) && !kernel.outputs.iter().any(|output| output.inst == position)
}

/// Is it one primitive, of operands that lie in memory as it reads them?
fn uses_no_register(kernel: &Fused, inputs: &[&HostBuffer]) -> bool {
    let mut primitives = 0;
    let plain = kernel.insts.iter().enumerate().all(|(position, inst)| match &inst.kind {
        InstKind::Load { access, operand } => inputs[*operand].view(0..0).is_some() && access.is_contiguous(),
        InstKind::Map { .. } => {
            primitives += 1;
            primitives == 1 && !matches!(inst.dtype, DType::U8 | DType::F16)
        }
        _ => is_single(kernel, position),
    });
    plain && kernel.outputs.len() == 1
}

/// Is it the same at every point?
fn is_constant(kind: &InstKind) -> bool {
    matches!(kind, InstKind::Constant { access, .. } if !access.has_zeros())
}

pub(super) fn fill(block: &mut Block, value: Scalar, dtype: DType) {
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

widest! {
    /// Random bits for elements one after the other, given the first one's counter.
    fn random_bits(key: [u32; 2], counter: [u32; 2], out: &mut [u32]) {
        let [low, high] = counter;
        // Only the counter's low word changes until it begins again.
        let until_carry = (u64::from(u32::MAX - low) + 1).min(out.len() as u64) as usize;
        let (before, after) = out.split_at_mut(until_carry);
        for (out, k) in before.iter_mut().zip(0..) {
            *out = rng::random_bits(key, [low.wrapping_add(k), high]);
        }
        for (out, k) in after.iter_mut().zip(0..) {
            *out = rng::random_bits(key, [k, high.wrapping_add(1)]);
        }
    }
}
