//! WGSL for kernels of several phases: a workgroup, or a thread, goes over its row once for each phase.
//!
//! Values that a later phase needs again stay in registers: each thread has the same elements in every phase. Where
//! rows are too long for that, phases read and compute them again.

use super::codegen::{Generator, Located};
use super::fold::Fold;
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};
use crate::shader::{lane_type, narrow, widen};
use std::fmt::Write;

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
/// Threads that share the second step of a reduction in workgroup memory.
const PARTIALS: usize = 16;

/// How a kernel of phases is spread over threads.
pub(super) struct RowShape {
    /// Threads for one row.
    pub threads: usize,
    /// Inputs and outputs that are read and written four elements at a time.
    pub inputs: Vec<bool>,
    pub outputs: Vec<bool>,
    /// Elements that a thread takes at once: 4 if any of those are.
    lanes: usize,
    /// Pieces a thread has, where they are few enough to keep values in registers.
    pieces: Option<usize>,
    kept: Kept,
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

impl RowShape {
    pub fn new(kernel: &Fused) -> RowShape {
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
        let none = (vec![false; kernel.inputs.len()], vec![false; kernel.outputs.len()]);
        if alone {
            let (inputs, outputs) = none;
            let kept = Kept::none(kernel);
            return RowShape { threads: 1, inputs, outputs, lanes: 1, pieces: None, kept };
        }
        let (inputs, outputs) = vectors(kernel);
        let lanes = if inputs.iter().chain(&outputs).any(|&vector| vector) { 4 } else { 1 };
        let units = length / lanes;
        let threads = units.div_ceil(PIECES).next_power_of_two().clamp(MIN_THREADS, MAX_THREADS);
        let pieces = units.div_ceil(threads).next_power_of_two();
        let fits = |kept: &Kept| kept.types.len() * pieces * lanes <= MAX_KEPT;
        let kept = match pieces * lanes <= MAX_ELEMENTS {
            true => [Kept::values(kernel, |_| true), Kept::values(kernel, is_load)].into_iter().find(fits),
            false => None,
        };
        let pieces = kept.is_some().then_some(pieces);
        RowShape { threads, inputs, outputs, lanes, pieces, kept: kept.unwrap_or_else(|| Kept::none(kernel)) }
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

/// The inputs and outputs that can be read and written four elements at a time.
fn vectors(kernel: &Fused) -> (Vec<bool>, Vec<bool>) {
    let fours = kernel.space.len() == kernel.kept + 1 && kernel.inner_count().is_multiple_of(4);
    let aligned = |access: &Access| {
        let [level] = &access.levels[..] else { return false };
        let (reduced, kept) = (&level.axes[kernel.kept], &level.axes[..kernel.kept]);
        !access.has_zeros()
            && reduced.stride == 1
            && kept.iter().all(|axis| axis.stride % 4 == 0)
            && level.offset.terms.is_empty()
            && level.offset.constant % 4 == 0
    };
    let input = |number: usize| {
        let mut reads = kernel.insts.iter().filter_map(|inst| match &inst.kind {
            InstKind::Load { operand, access } if *operand == number => Some(inst.inner && aligned(access)),
            InstKind::Gather { operand, .. } if *operand == number => Some(false),
            _ => None,
        });
        fours && reads.all(|vector| vector)
    };
    let inputs = (0..kernel.inputs.len()).map(input).collect();
    let outputs = kernel.outputs.iter().map(|output| fours && output.per_element && aligned(&output.access));
    (inputs, outputs.collect())
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
    /// Workgroup memory of the reductions.
    pub fn phases_memory(&mut self, shape: &RowShape) -> String {
        if shape.threads == 1 {
            return String::new();
        }
        let reductions = self.kernel.phases.iter().flat_map(|phase| phase.reductions.clone());
        reductions.collect::<Vec<_>>().into_iter().map(|n| self.fold_of(n).memory(shape.threads)).collect()
    }

    fn fold_of(&mut self, reduction: usize) -> Fold {
        let InstKind::Reduce { arg, reduce } = &self.kernel.insts[reduction].kind else {
            unreachable!("a phase names its reductions");
        };
        Fold::new(reduce.kind, self.kernel.insts[*arg].dtype, reduction, &reduction.to_string(), self)
    }

    /// All phases, one after the other.
    pub fn phases_body(&mut self, shape: &RowShape) -> String {
        let kernel = self.kernel;
        let mut body = String::from("    let index = number;\n");
        body += &self.coordinates("index", 0..kernel.kept, 1);
        let units = self.params.size(kernel.inner_count() / shape.lanes);
        for (slot, lane) in shape.kept.types.iter().enumerate() {
            let stored = if shape.lanes == 4 { format!("vec4<{lane}>") } else { lane.to_string() };
            for piece in 0..shape.pieces.unwrap_or(1) {
                _ = writeln!(body, "    var keep{slot}_{piece}: {stored};");
            }
        }
        for (number, phase) in kernel.phases.iter().enumerate() {
            for &position in &phase.before {
                self.statement(position, &mut body, "    ");
            }
            if phase.reductions.is_empty() && phase.outputs.is_empty() {
                continue;
            }
            let folds: Vec<Fold> =
                phase.reductions.iter().map(|&reduction| self.fold_of(reduction)).collect();
            folds.iter().for_each(|fold| body += &fold.declare(1));
            // Each piece has its own registers: an array indexed in a loop may end up in memory.
            for piece in 0..shape.pieces.unwrap_or(1) {
                _ = match (shape.pieces, shape.threads) {
                    (Some(_), threads) => {
                        let ask = format!("if (q < {units}) {{");
                        let end = (piece + 1) * threads * shape.lanes;
                        let inside = end <= kernel.inner_count() && kernel.inner_count() >= LONG_ROW;
                        let ask = if inside && self.params.tier().is_specialised() { "{" } else { &ask };
                        writeln!(
                            body,
                            "    {{\n        let q = thread + {}u;\n        {ask}",
                            piece * threads
                        )
                    }
                    (None, 1) => {
                        let start = self.start();
                        writeln!(body, "    for (var q = {start}; q < {units}; q++) {{\n        {{")
                    }
                    (None, threads) => {
                        writeln!(
                            body,
                            "    for (var q = thread; q < {units}; q += {threads}u) {{\n        {{"
                        )
                    }
                };
                body += &self.piece(shape, number, piece, &folds);
                body += "        }\n    }\n";
            }
            if shape.threads > 1 && !folds.is_empty() {
                body += &across_threads(&folds, shape.threads);
            }
            for (fold, reduction) in folds.iter().zip(&phase.reductions) {
                _ = writeln!(body, "    let v{reduction} = {};", fold.result());
            }
        }
        let guard = if shape.threads > 1 { "if (thread == 0u) " } else { "" };
        for (number, output) in kernel.outputs.iter().enumerate().filter(|(_, output)| !output.per_element) {
            let value = narrow(output.dtype, &format!("v{}", output.inst));
            _ = writeln!(body, "    {guard}{{ out{number}[index] = {value}; }}");
        }
        body
    }

    fn statement(&mut self, position: usize, code: &mut String, pad: &str) {
        let inst = &self.kernel.insts[position];
        let value = self.value(inst, code, pad);
        _ = writeln!(code, "{pad}let v{position}: {} = {value};", lane_type(inst.dtype));
    }

    /// What a phase does with one piece of a row: one element, or four.
    fn piece(&mut self, shape: &RowShape, number: usize, piece: usize, folds: &[Fold]) -> String {
        let kernel = self.kernel;
        let phase = &kernel.phases[number];
        let pad = "            ";
        let mut code = match shape.lanes {
            1 => format!("{pad}let r = q;\n"),
            lanes => format!("{pad}let r = q * {lanes}u;\n"),
        };
        code += &self.coordinates("r", kernel.kept..kernel.space.len(), 3);
        let taken = &shape.kept.taken[number];
        let insts = kernel.inner_slice(wanted(kernel, number), taken);
        let vector = |position: usize| match kernel.insts[position].kind {
            InstKind::Load { operand, .. } => shape.inputs[operand],
            _ => false,
        };
        for &position in insts.iter().filter(|&&position| vector(position)) {
            let InstKind::Load { operand, access } = &kernel.insts[position].kind else { continue };
            let Located { at, .. } = self.locate(access, &mut code, pad);
            _ = writeln!(code, "{pad}let four{position} = in{operand}[({at}) >> 2u];");
        }
        for &output in phase.outputs.iter().filter(|&&output| shape.outputs[output]) {
            let stored = crate::shader::storage_type(kernel.outputs[output].dtype);
            _ = writeln!(code, "{pad}var result{output}: vec4<{stored}>;");
        }
        for lane in 0..shape.lanes {
            let (component, pad) = match shape.lanes {
                1 => (String::new(), pad.to_string()),
                _ => (format!(".{}", ["x", "y", "z", "w"][lane]), format!("{pad}    ")),
            };
            let place = if lane == 0 { "r".to_string() } else { format!("(r + {lane}u)") };
            if shape.lanes > 1 {
                _ = writeln!(code, "            {{\n{pad}let c{} = {place};", kernel.kept);
            }
            for &position in taken {
                let slot = shape.kept.slot(position);
                _ = writeln!(code, "{pad}let v{position} = keep{slot}_{piece}{component};");
            }
            for &position in &insts {
                let inst = &kernel.insts[position];
                match vector(position) {
                    true => {
                        let value = widen(inst.dtype, &format!("four{position}{component}"));
                        _ = writeln!(code, "{pad}let v{position}: {} = {value};", lane_type(inst.dtype));
                    }
                    false => self.statement(position, &mut code, &pad),
                }
            }
            for &(position, slot, birth) in &shape.kept.slots {
                if birth == number {
                    _ = writeln!(code, "{pad}keep{slot}_{piece}{component} = v{position};");
                }
            }
            for (fold, &reduction) in folds.iter().zip(&phase.reductions) {
                let arg = kernel.insts[reduction].args()[0];
                code += &fold.take(&format!("v{arg}"), &place, 3);
            }
            for &number in &phase.outputs {
                let output = &kernel.outputs[number];
                let value = narrow(output.dtype, &format!("v{}", output.inst));
                if shape.outputs[number] {
                    _ = writeln!(code, "{pad}result{number}{component} = {value};");
                } else {
                    let Located { at, .. } = self.locate(&output.access, &mut code, &pad);
                    _ = writeln!(code, "{pad}out{number}[{at}] = {value};");
                }
            }
            if shape.lanes > 1 {
                code += "            }\n";
            }
        }
        for &number in phase.outputs.iter().filter(|&&output| shape.outputs[output]) {
            let Located { at, .. } = self.locate(&kernel.outputs[number].access, &mut code, pad);
            _ = writeln!(code, "{pad}out{number}[({at}) >> 2u] = result{number};");
        }
        code
    }
}

/// Joins the threads' results, in a fixed order; afterwards every thread has the row's.
fn across_threads(folds: &[Fold], threads: usize) -> String {
    let mut code: String = folds.iter().map(|fold| fold.share("thread", 1)).collect();
    code += "    workgroupBarrier();\n";
    let partials = if threads > 2 * PARTIALS { PARTIALS } else { threads };
    if partials < threads {
        _ = writeln!(code, "    if (thread < {partials}u) {{");
        _ = writeln!(code, "        for (var k = {partials}u; k < {threads}u; k += {partials}u) {{");
        folds.iter().for_each(|fold| code += &fold.take_shared("thread + k", 3));
        code += "        }\n";
        folds.iter().for_each(|fold| code += &fold.share("thread", 2));
        code += "    }\n    workgroupBarrier();\n";
    }
    folds.iter().for_each(|fold| code += &fold.restart("0u", 1));
    _ = writeln!(code, "    for (var k = 1u; k < {partials}u; k++) {{");
    folds.iter().for_each(|fold| code += &fold.take_shared("k", 2));
    code + "    }\n"
}
