//! WGSL for kernels of rows: a workgroup, or a thread, goes over its row once for each phase.
//!
//! Values that a later phase needs again stay in registers: each thread has the same elements in every phase. Where
//! rows are too long for that, phases read and compute them again; so do compact texts (`packed`), because registers have
//! names, and what is done with each is written out.

use super::codegen::Generator;
use super::fold::Fold;
use super::fours::{Elements, Fours, is_aligned};
use super::{Code, lane_type, line, open};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind, Phase};
use crate::ir::program::Tier;

/// Most threads for one row.
const MAX_THREADS: usize = 256;
/// Fewest threads for one row, unless one thread does it alone.
const MIN_THREADS: usize = 32;
/// Rows up to this long, whose elements lie together, are one thread's work.
const THREAD_ROW: usize = 32;
/// The longest row whose elements lie apart, and which a thread does so that neighbouring threads read neighbours.
const THREAD_ROW_ACROSS: usize = 4096;
/// Pieces of a row (single values or vectors) that a thread should have.
const PIECES: usize = 4;
/// 32-bit registers in which a thread keeps values from phase to phase.
const MAX_KEPT: usize = 64;
/// Elements of its row that a thread keeps at most.
const MAX_ELEMENTS: usize = 32;
/// The row from which a shader that is made for its length does not ask whether pieces lie inside of it, so that all of them
/// are on their way from memory at once.
const LONG_ROW: usize = 2048;

/// How a kernel of phases is spread over threads.
pub(super) struct RowShape {
    /// Threads for one row.
    pub threads: usize,
    /// Inputs and outputs that are read and written four elements at a time.
    pub fours: Fours,
    /// Pieces a thread has, where they are few enough to keep values in registers.
    pieces: Option<usize>,
    kept: Kept,
    /// In compact texts: neighbours that a thread takes at a time, see `packed`.
    pub packed: Option<usize>,
    /// Would it keep values in registers, or read vectors, if its text were not to be compact?
    pub gains: bool,
}

/// Values that stay in registers from phase to phase.
#[derive(Default)]
struct Kept {
    /// For each phase, the instructions whose values it takes from registers.
    taken: Vec<Vec<usize>>,
    /// Each kept instruction with its slot and the phase that computes it.
    slots: Vec<(usize, usize, usize)>,
    /// The type of each slot.
    types: Vec<&'static str>,
}

/// A kernel with one reduction as one of phases: the second has what comes after it.
pub(super) fn in_phases(kernel: &Fused) -> Fused {
    let positions = |inner: bool| {
        let of = |(position, inst): (usize, &crate::ir::kernel::Inst)| {
            (inst.inner == inner && !matches!(inst.kind, InstKind::Reduce { .. })).then_some(position)
        };
        kernel.insts.iter().enumerate().filter_map(of).collect()
    };
    let reductions = kernel.reduction().map(|(position, ..)| position).into_iter().collect();
    let first = Phase { insts: positions(true), reductions, ..Phase::default() };
    let second = Phase { before: positions(false), ..Phase::default() };
    Fused { phases: vec![first, second], ..kernel.clone() }
}

impl RowShape {
    /// A thread for each row.
    pub fn alone(kernel: &Fused, packed: bool) -> RowShape {
        let (fours, kept, packed) = (Fours::none(kernel), Kept::none(kernel), packed.then_some(1));
        RowShape { threads: 1, fours, pieces: None, kept, packed, gains: false }
    }

    /// Rows as they are spread best; `packed` says whether the text has to be one for all of them.
    pub fn new(kernel: &Fused, tier: Tier, packed: bool) -> RowShape {
        let length = kernel.inner_count();
        let along = kernel.insts.iter().any(|inst| inst.inner && is_unit(kernel, inst.kind.access()))
            || kernel
                .outputs
                .iter()
                .any(|output| output.per_element && is_unit(kernel, Some(&output.access)));
        let alone = match along {
            true => length <= THREAD_ROW,
            false => length <= THREAD_ROW_ACROSS && kernel.outer_count() >= 1024 || length <= THREAD_ROW,
        };
        if alone {
            return RowShape::alone(kernel, packed);
        }
        let fours = fours_along(kernel);
        let lanes = fours.lanes();
        let units = length / lanes;
        let threads = units.div_ceil(PIECES).next_power_of_two().clamp(MIN_THREADS, MAX_THREADS);
        let pieces = units.div_ceil(threads).next_power_of_two();
        let fits = |kept: &Kept| kept.types.len() * pieces * lanes <= MAX_KEPT;
        let kept = match pieces * lanes <= MAX_ELEMENTS {
            true => [Kept::values(kernel, |_| true), Kept::values(kernel, is_load)].into_iter().find(fits),
            false => None,
        };
        let kept = kept.filter(|kept| !kept.types.is_empty());
        let gains = tier == Tier::Compact && (kept.is_some() || packed && lanes > 1);
        let kept = kept.filter(|_| tier != Tier::Compact);
        let pieces = kept.is_some().then_some(pieces);
        let kept = kept.unwrap_or_else(|| Kept::none(kernel));
        let fours = if packed { Fours::none(kernel) } else { fours };
        RowShape { threads, fours, pieces, kept, packed: packed.then_some(lanes), gains }
    }
}

fn is_load(kind: &InstKind) -> bool {
    matches!(kind, InstKind::Load { .. })
}

/// Are neighbours along the last reduced coordinate neighbours in memory?
fn is_unit(kernel: &Fused, access: Option<&Access>) -> bool {
    let last = kernel.space.len().saturating_sub(1);
    access.is_some_and(|access| access.levels[0].axes.get(last).is_some_and(|axis| axis.stride == 1))
}

/// The inputs and outputs that can be read and written four elements of a row at a time.
pub(super) fn fours_along(kernel: &Fused) -> Fours {
    if kernel.space.len() != kernel.kept + 1 || !kernel.inner_count().is_multiple_of(4) {
        return Fours::none(kernel);
    }
    let output =
        |output: &crate::ir::kernel::Output| output.per_element && is_aligned(&output.access, kernel.kept);
    Fours { outputs: kernel.outputs.iter().map(output).collect(), ..Fours::of_inputs(kernel, kernel.kept) }
}

impl Kept {
    fn none(kernel: &Fused) -> Kept {
        Kept { taken: vec![Vec::new(); kernel.phases.len()], ..Kept::default() }
    }

    /// Keeps what a phase computes and a later one needs, as far as it may be kept and is dearer than a number.
    fn values(kernel: &Fused, may: impl Fn(&InstKind) -> bool) -> Kept {
        let keeps = |inst: usize| {
            let kind = &kernel.insts[inst].kind;
            let cheap = matches!(kind, InstKind::Constant { .. } | InstKind::Index { .. });
            !cheap && may(kind)
        };
        let mut kept = Kept::none(kernel);
        let mut computed: Vec<(usize, usize)> = Vec::new();
        for (number, phase) in kernel.phases.iter().enumerate() {
            let known: Vec<usize> =
                computed.iter().map(|&(inst, _)| inst).filter(|&inst| keeps(inst)).collect();
            let insts = kernel.inner_slice(wanted(kernel, number), &known);
            // Of those known, the ones that the others or the phase itself read.
            let all = kernel.inner_slice(wanted(kernel, number), &[]);
            let read = |inst: &usize| {
                known.contains(inst)
                    && (wanted(kernel, number).any(|wanted| wanted == *inst)
                        || insts.iter().any(|&user| kernel.insts[user].args().contains(inst)))
            };
            kept.taken[number] = all.into_iter().filter(read).collect();
            computed.extend(insts.iter().map(|&inst| (inst, number)));
            debug_assert!(phase.insts.len() >= insts.len());
        }
        kept.place(kernel, &computed);
        kept
    }

    /// Gives slots to what is taken; a slot is free in the phase that takes its value last.
    fn place(&mut self, kernel: &Fused, computed: &[(usize, usize)]) {
        let mut free_from: Vec<usize> = Vec::new();
        for &(inst, birth) in computed {
            let Some(death) = self.taken.iter().rposition(|taken| taken.contains(&inst)) else { continue };
            if self.slots.iter().any(|&(known, _, _)| known == inst) {
                continue;
            }
            let lane = lane_type(kernel.insts[inst].dtype);
            let free =
                (0..free_from.len()).find(|&slot| free_from[slot] <= birth && self.types[slot] == lane);
            let slot = free.unwrap_or_else(|| {
                free_from.push(0);
                self.types.push(lane);
                free_from.len() - 1
            });
            free_from[slot] = death;
            self.slots.push((inst, slot, birth));
        }
    }

    fn slot(&self, inst: usize) -> usize {
        self.slots.iter().find(|&&(kept, _, _)| kept == inst).map_or(0, |&(_, slot, _)| slot)
    }
}

/// What a phase is for: the values it reduces or stores.
fn wanted(kernel: &Fused, phase: usize) -> impl Iterator<Item = usize> {
    let phase = &kernel.phases[phase];
    let stored = phase.outputs.iter().map(|&number| kernel.outputs[number].inst);
    stored
        .chain(phase.reductions.iter().flat_map(|&reduction| kernel.insts[reduction].args().iter().copied()))
}

impl Generator<'_> {
    pub fn fold_of(&mut self, reduction: usize) -> Fold {
        let InstKind::Reduce { arg, reduce } = &self.kernel.insts[reduction].kind else {
            unreachable!("a phase names its reductions");
        };
        let dtype = self.kernel.insts[*arg].dtype;
        Fold::new(reduce.kind, dtype, &reduction.to_string(), &mut self.shader)
    }

    /// All phases, one after the other.
    pub fn phases_body(&mut self, code: &mut Code, shape: &RowShape) {
        let kernel = self.kernel;
        let lanes = shape.fours.lanes();
        line!(code, "let index = number;");
        self.coordinates(code, "index", 0..kernel.kept);
        let units = self.shader.params.size(kernel.inner_count() / lanes);
        for (slot, lane) in shape.kept.types.iter().enumerate() {
            let stored = if lanes == 4 { format!("vec4<{lane}>") } else { lane.to_string() };
            for piece in 0..shape.pieces.unwrap_or(1) {
                line!(code, "var keep{slot}_{piece}: {stored};");
            }
        }
        let last =
            kernel.phases.iter().rposition(|phase| !phase.reductions.is_empty() || !phase.outputs.is_empty());
        for (number, phase) in kernel.phases.iter().enumerate() {
            if Some(number) > last && shape.threads > 1 {
                break;
            }
            phase.before.iter().for_each(|&position| self.statement(position, code));
            if phase.reductions.is_empty() && phase.outputs.is_empty() {
                continue;
            }
            let folds: Vec<Fold> =
                phase.reductions.iter().map(|&reduction| self.fold_of(reduction)).collect();
            folds.iter().for_each(|fold| fold.declare(code));
            self.phase(code, shape, number, &folds, &units);
            if shape.threads > 1 && !folds.is_empty() {
                self.shader.join(code, &folds, shape.threads);
            }
            for (fold, &reduction) in folds.iter().zip(&phase.reductions) {
                line!(code, "let v{reduction} = {};", fold.result(kernel.insts[reduction].dtype));
            }
        }
        // What only the row's own results need, one thread does.
        if shape.threads > 1 {
            open!(code, "if (thread == 0u) ");
            let after = &kernel.phases[last.map_or(0, |last| last + 1)..];
            after.iter().flat_map(|phase| &phase.before).for_each(|&inst| self.statement(inst, code));
        }
        for (number, _) in kernel.outputs.iter().enumerate().filter(|(_, output)| !output.per_element) {
            self.store_one(number, code);
        }
        if shape.threads > 1 {
            code.close();
        }
    }

    /// One way over the row.
    fn phase(&mut self, code: &mut Code, shape: &RowShape, number: usize, folds: &[Fold], units: &str) {
        let kernel = self.kernel;
        let (threads, lanes) = (shape.threads, shape.fours.lanes());
        let Some(pieces) = shape.pieces else {
            let body = |generator: &mut Self, code: &mut Code| generator.piece(code, shape, number, 0, folds);
            return match threads {
                1 => {
                    open!(code, "for (var r = {}; r < {units}; r++) ", self.start());
                    body(self, code);
                    code.close();
                }
                _ => {
                    let end = if lanes > 1 { format!("({units} * {lanes}u)") } else { units.to_string() };
                    let first = if lanes > 1 { format!("thread * {lanes}u") } else { "thread".to_string() };
                    self.strided_loop(code, &first, &end, threads * lanes, body);
                }
            };
        };
        // Each piece has its own registers: an array indexed in a loop may end up in memory.
        for piece in 0..pieces {
            open!(code, "");
            line!(code, "let q = thread + {}u;", piece * threads);
            let end = (piece + 1) * threads * lanes;
            let inside = end <= kernel.inner_count() && kernel.inner_count() >= LONG_ROW;
            match inside && self.shader.params.tier().is_specialised() {
                true => open!(code, ""),
                false => open!(code, "if (q < {units}) "),
            }
            match lanes {
                1 => line!(code, "let r = q;"),
                lanes => line!(code, "let r = q * {lanes}u;"),
            }
            self.piece(code, shape, number, piece, folds);
            code.close();
            code.close();
        }
    }

    /// What a phase does with one piece of a row, from element `r` on: one element, or four.
    pub fn piece(&mut self, code: &mut Code, shape: &RowShape, number: usize, piece: usize, folds: &[Fold]) {
        let kernel = self.kernel;
        let phase = &kernel.phases[number];
        let taken = &shape.kept.taken[number];
        let insts = kernel.inner_slice(wanted(kernel, number), taken);
        self.coordinates(code, "r", kernel.kept..kernel.space.len());
        let work = Elements {
            fours: &shape.fours,
            axis: kernel.space.len().checked_sub(1),
            insts: &insts,
            known: taken,
            outputs: &phase.outputs,
        };
        let before = |_: &mut Self, code: &mut Code, lane: &super::fours::Lane| {
            for &position in taken {
                let slot = shape.kept.slot(position);
                line!(code, "let v{position} = keep{slot}_{piece}{};", lane.component);
            }
        };
        let after = |_: &mut Self, code: &mut Code, lane: &super::fours::Lane| {
            for &(position, slot, birth) in &shape.kept.slots {
                if birth == number {
                    line!(code, "keep{slot}_{piece}{} = v{position};", lane.component);
                }
            }
            for (fold, &reduction) in folds.iter().zip(&phase.reductions) {
                let arg = kernel.insts[reduction].args()[0];
                fold.take(&format!("v{arg}"), &lane.place("r"), code);
            }
        };
        self.elements(code, &work, before, after);
    }
}
