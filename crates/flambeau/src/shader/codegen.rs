//! Fused kernels: which shaders a kernel is made of (`passes`), and each of them written down.
//!
//! The text depends on the kernel's structure only: sizes, strides, offsets and numbers are read from the uniform
//! block, so that kernels that differ in those share a pipeline. Where its sizes pay, the specialised text has them in it.

use super::columns::Columns;
use super::fold::Fold;
use super::fours::{Elements, Fours};
pub(super) use super::locate::Located;
use super::packed;
use super::rows::{RowShape, fours_along, in_phases};
use super::wide::wide;
use super::{Code, Entry, Shader, ZERO, line, open};
use crate::ir::kernel::{Fused, Inst, InstKind};
use crate::ir::program::{Bound, Param, Program, Tier};
use std::sync::Arc;

/// Most threads of the workgroup that reduces one row, and fewer for shorter ones: in software a barrier takes time for each
/// of them.
pub(super) const ROW_THREADS: usize = 256;
const FEWER_ROW_THREADS: [usize; 2] = [8, 32];
/// Reduced values that such a thread should have.
const ROW_PIECES: usize = 4;
/// Reduced values from which a whole workgroup works on one result.
const LONG_ROW: usize = 128;

/// Reduced values per workgroup where a row is shared among several.
const ROW_PART: usize = 4096;
/// Results above which there are workgroups enough without sharing rows.
const FEW_ROWS: usize = 512;
/// Rounds of a loop whose loads are under way together, where a text is made for its sizes.
const ROUNDS: usize = 4;

/// The shaders of a fused kernel, in order: one, or two where long rows are reduced in parts first. `threads` is the
/// workgroup size of kernels without a row reduction; `subgroups` says whether the device has them. Numbers are found in a
/// block that is there already, if one is given.
pub(crate) fn programs(
    kernel: &Fused,
    threads: usize,
    tier: Tier,
    subgroups: bool,
    block: Option<&Arc<[Param]>>,
) -> Vec<Program> {
    // Subgroups join in an order of their own.
    let packed = tier == Tier::Compact && !subgroups;
    let phased;
    let (kernel, passes) = match reduces_rows(kernel) {
        true => {
            phased = in_phases(kernel);
            (&phased, vec![Pass::Rows(RowShape::new(&phased, tier, packed))])
        }
        false if packed && reduces_alone(kernel) => {
            phased = in_phases(kernel);
            (&phased, vec![Pass::Rows(RowShape::alone(&phased, packed))])
        }
        false => (kernel, passes(kernel, tier, packed)),
    };
    let program = |pass: &Pass| {
        let mut generator = Generator::new(kernel, pass, tier, block);
        generator.shader.subgroups = subgroups;
        generator.finish(threads)
    };
    passes.iter().map(program).collect()
}

/// Which shaders there are.
fn passes(kernel: &Fused, tier: Tier, packed: bool) -> Vec<Pass> {
    if !kernel.phases.is_empty() {
        return vec![Pass::Rows(RowShape::new(kernel, tier, packed))];
    }
    if let Some(columns) = Columns::of(kernel) {
        let parts = columns.parts;
        let whole = (parts > 1).then_some(Pass::Whole { parts });
        return [Pass::Columns(columns)].into_iter().chain(whole).collect();
    }
    if in_parts(kernel) {
        let parts = kernel.inner_count().div_ceil(ROW_PART);
        return vec![Pass::Parts { parts, fours: fours_along(kernel) }, Pass::Whole { parts }];
    }
    vec![wide(kernel).map_or(Pass::Threads, Pass::Wide)]
}

/// Are rows few and so long that several workgroups share each?
fn in_parts(kernel: &Fused) -> bool {
    let (outer, inner) = (kernel.outer_count(), kernel.inner_count());
    kernel.reduction().is_some() && outer < FEW_ROWS && inner >= 4 * ROW_PART
}

/// Is a workgroup per result of its only reduction better than a thread?
fn reduces_rows(kernel: &Fused) -> bool {
    if kernel.reduction().is_none() || !kernel.phases.is_empty() || in_parts(kernel) {
        return false;
    }
    let (outer, inner) = (kernel.outer_count(), kernel.inner_count());
    let last = kernel.space.len().saturating_sub(1);
    let contiguous = kernel.insts.iter().any(|inst| match &inst.kind {
        InstKind::Load { access, .. } if inst.inner => {
            access.levels[0].axes.get(last).is_some_and(|axis| axis.stride == 1)
        }
        _ => false,
    });
    inner >= 32 && (contiguous || outer < 1024 || inner >= 16 * LONG_ROW) && Columns::of(kernel).is_none()
}

/// Does a thread make each result of its only reduction?
fn reduces_alone(kernel: &Fused) -> bool {
    kernel.reduction().is_some()
        && kernel.phases.is_empty()
        && Columns::of(kernel).is_none()
        && !in_parts(kernel)
}

/// Elements from which a reduction is worth a shader with its sizes: taking apart an element's number by sizes that the
/// shader does not know takes longer than reading the element.
const LARGE_REDUCTION: usize = 1 << 20;

fn is_large_reduction(kernel: &Fused) -> bool {
    kernel.kept < kernel.space.len() && crate::shape::product(&kernel.space) >= LARGE_REDUCTION
}

/// One shader of a kernel.
enum Pass {
    /// A thread for each result.
    Threads,
    /// A thread for each four results.
    Wide(Fours),
    /// All phases of a kernel that has them, row by row.
    Rows(RowShape),
    /// Reduces neighbouring rows together, whose elements are neighbours; in parts like `Parts`, or all of it.
    Columns(Columns),
    /// Reduces each part of each row into the scratch buffer.
    Parts { parts: usize, fours: Fours },
    /// Reduces the parts' results, and runs the outer stage.
    Whole { parts: usize },
}

impl Pass {
    /// The parts a row is in, where this pass leaves their results in the scratch buffer or finds them there.
    fn parts(&self) -> Option<usize> {
        match self {
            Pass::Parts { parts, .. } | Pass::Whole { parts } => Some(*parts),
            Pass::Columns(columns) => (columns.parts > 1).then_some(columns.parts),
            Pass::Threads | Pass::Wide(_) | Pass::Rows(_) => None,
        }
    }

    /// Does it end with parts' results?
    fn ends_in_parts(&self) -> bool {
        !matches!(self, Pass::Whole { .. }) && self.parts().is_some()
    }

    /// What it reads and writes in vectors.
    fn fours(&self) -> Option<&Fours> {
        match self {
            Pass::Wide(fours) | Pass::Parts { fours, .. } => Some(fours),
            Pass::Rows(shape) => Some(&shape.fours),
            Pass::Columns(columns) => Some(&columns.fours),
            Pass::Threads | Pass::Whole { .. } => None,
        }
    }
}

pub(super) struct Generator<'a> {
    pub kernel: &'a Fused,
    pub shader: Shader,
    /// The names of numbers of the uniform block, by what they belong to; see `number`.
    pub numbers: Vec<((usize, usize), String)>,
    pass: &'a Pass,
    /// Temporary names used so far.
    pub names: usize,
    /// In an epilogue: the operand that is the result it follows, and the expression of its value.
    pub given: Option<(usize, String)>,
}

impl<'a> Generator<'a> {
    fn new(kernel: &'a Fused, pass: &'a Pass, tier: Tier, block: Option<&Arc<[Param]>>) -> Self {
        let large = is_large_reduction(kernel);
        let tier = if large || block.is_some() { tier } else { Tier::General };
        let mut shader = Shader::within(block, tier, "fused");
        shader.specialise = large || matches!(pass, Pass::Rows(shape) if shape.gains);
        Generator { kernel, shader, numbers: Vec::new(), pass, names: 0, given: None }
    }

    /// For the epilogue of a structured kernel, whose shader has been begun.
    pub fn for_epilogue(kernel: &'a Fused, shader: Shader) -> Self {
        let given = Some((kernel.inputs.len(), String::new()));
        Generator { shader, given, ..Generator::new(kernel, &Pass::Threads, Tier::General, None) }
    }

    /// Is it the value of the result that an epilogue follows?
    pub fn given(&self, kind: &InstKind) -> Option<&str> {
        match (kind, &self.given) {
            (InstKind::Load { operand, .. }, Some((given, value))) if operand == given => Some(value),
            _ => None,
        }
    }

    /// The instructions this pass runs.
    pub fn insts(&self) -> impl Iterator<Item = &'a Inst> + use<'a> {
        let pass = self.pass;
        self.kernel.insts.iter().filter(move |inst| match pass {
            Pass::Whole { .. } => !inst.inner,
            pass => inst.inner || !pass.ends_in_parts(),
        })
    }

    /// The instructions that run for every reduced value.
    pub fn inner_insts(&self) -> Vec<usize> {
        (0..self.kernel.insts.len()).filter(|&position| self.kernel.insts[position].inner).collect()
    }

    /// Does this pass read the kernel's input?
    fn reads(&self, operand: usize) -> bool {
        self.insts().any(|inst| match &inst.kind {
            InstKind::Load { operand: read, .. } | InstKind::Gather { operand: read, .. } => *read == operand,
            _ => false,
        })
    }

    fn finish(mut self, threads: usize) -> Program {
        let count = self.kernel.outer_count();
        let mut code = Code::new();
        // How many threads or workgroups there are, and of the latter, how many threads each has.
        let (units, team) = match self.pass {
            Pass::Threads => {
                self.thread_body(&mut code);
                (count, None)
            }
            Pass::Wide(fours) => {
                self.wide_body(&mut code, fours);
                (count / 4, None)
            }
            Pass::Rows(shape) => match shape.packed {
                Some(lanes) => {
                    self.packed_body(&mut code, shape, lanes);
                    (count.div_ceil(packed::THREADS / shape.threads), Some(packed::THREADS))
                }
                None => {
                    self.phases_body(&mut code, shape);
                    (count, (shape.threads > 1).then_some(shape.threads))
                }
            },
            Pass::Columns(columns) => {
                self.columns_body(&mut code, columns);
                (columns.tiles * columns.parts, Some(ROW_THREADS))
            }
            Pass::Parts { parts, fours } => {
                self.parts_body(&mut code, *parts, fours);
                (count * parts, Some(ROW_THREADS))
            }
            Pass::Whole { parts } => {
                let threads = threads_of_parts(*parts);
                self.whole_body(&mut code, *parts, threads);
                (count, Some(threads))
            }
        };
        let limit = self.shader.params.size(units);
        self.bind(count);
        self.note_f16();
        let entry = match team {
            Some(threads) => Entry::workgroups("number", units, &limit, threads),
            None => Entry::threads("number", units, &limit, threads),
        };
        self.shader.finish(&entry, code.text())
    }

    /// Declares the buffers of the pass.
    fn bind(&mut self, count: usize) {
        let (kernel, pass) = (self.kernel, self.pass);
        for (position, &(_, dtype)) in kernel.inputs.iter().enumerate() {
            if self.reads(position) {
                let fours = pass.fours().is_some_and(|fours| fours.inputs[position]);
                self.shader.bind_elements(Bound::Input(position), &format!("in{position}"), dtype, fours);
            }
        }
        if !pass.ends_in_parts() {
            for (position, output) in kernel.outputs.iter().enumerate() {
                let fours = pass.fours().is_some_and(|fours| fours.outputs[position]);
                let name = format!("out{position}");
                self.shader.bind_elements(Bound::Output(position), &name, output.dtype, fours);
            }
        }
        if let Some(parts) = pass.parts() {
            self.shader.bind(Bound::Scratch(0), "parts", "u32");
            self.shader.scratch.push((count * parts * 8) as u64);
        }
        if self.insts().any(|inst| matches!(inst.kind, InstKind::Gather { .. } | InstKind::Healthy)) {
            self.shader.bind_status();
        }
    }

    /// Casts and constants name the type in the code; buffers are noted as they are bound.
    pub fn note_f16(&mut self) {
        for inst in self.insts() {
            if matches!(inst.kind, InstKind::Cast { .. } | InstKind::Constant { .. }) {
                self.shader.uses(inst.dtype);
            }
        }
    }

    /// Where a loop over all of a row starts; one whose end the compiler knows can be unrolled.
    pub fn start(&self) -> &'static str {
        self.shader.params.tier().either(ZERO, "0u")
    }

    /// The running result of the kernel's only reduction, its position and its argument.
    fn only_fold(&mut self) -> (Fold, usize, usize) {
        let Some((position, arg, reduce)) = self.kernel.reduction() else {
            unreachable!("such kernels have a reduction");
        };
        let dtype = self.kernel.insts[arg].dtype;
        (Fold::new(reduce.kind, dtype, "", &mut self.shader), position, arg)
    }

    fn thread_body(&mut self, code: &mut Code) {
        let kernel = self.kernel;
        line!(code, "let index = number;");
        self.coordinates(code, "index", 0..kernel.kept);
        if kernel.reduction().is_some() {
            let (fold, position, arg) = self.only_fold();
            let count = self.shader.params.size(kernel.inner_count());
            fold.declare(code);
            open!(code, "for (var r = {}; r < {count}; r++) ", self.start());
            self.coordinates(code, "r", kernel.kept..kernel.space.len());
            self.stage(code, true);
            fold.take(&format!("v{arg}"), "r", code);
            code.close();
            line!(code, "let v{position} = {};", fold.result(kernel.insts[position].dtype));
        }
        self.stage(code, false);
        (0..kernel.outputs.len()).for_each(|output| self.store_one(output, code));
    }

    /// A workgroup reduces one part of a row.
    fn parts_body(&mut self, code: &mut Code, parts: usize, fours: &Fours) {
        let kernel = self.kernel;
        let (fold, _, arg) = self.only_fold();
        let [count, parts] = [kernel.inner_count(), parts].map(|size| self.shader.params.size(size));
        line!(code, "let index = number / {parts};");
        line!(code, "let begin = number % {parts} * {ROW_PART}u;");
        line!(code, "let end = min(begin + {ROW_PART}u, {count});");
        self.coordinates(code, "index", 0..kernel.kept);
        fold.declare(code);
        let (insts, lanes) = (self.inner_insts(), fours.lanes());
        let axis = Some(kernel.space.len() - 1);
        let work = Elements { fours, axis, insts: &insts, known: &[], outputs: &[] };
        let step = ROW_THREADS * lanes;
        self.strided_loop(code, &format!("begin + thread * {lanes}u"), "end", step, |generator, code| {
            generator.coordinates(code, "r", kernel.kept..kernel.space.len());
            generator.elements(
                code,
                &work,
                |_, _, _| {},
                |_, code, lane| {
                    fold.take(&format!("v{arg}"), &lane.place("r"), code);
                },
            );
        });
        self.shader.join(code, std::slice::from_ref(&fold), ROW_THREADS);
        open!(code, "if (thread == 0u) ");
        fold.store_part("number", code);
        code.close();
    }

    /// A workgroup reduces the results of a row's parts.
    fn whole_body(&mut self, code: &mut Code, parts: usize, threads: usize) {
        let (fold, position, _) = self.only_fold();
        let parts = self.shader.params.size(parts);
        fold.declare(code);
        open!(code, "for (var r = thread; r < {parts}; r += {threads}u) ");
        line!(code, "let part = number * {parts} + r;");
        fold.take_part("part", code);
        code.close();
        self.shader.join(code, std::slice::from_ref(&fold), threads);
        open!(code, "if (thread == 0u) ");
        self.finish_row(code, "number", position, &fold);
        code.close();
    }

    /// What is done with the result of a row: the instructions after the reduction, and the stores.
    pub fn finish_row(&mut self, code: &mut Code, index: &str, position: usize, fold: &Fold) {
        let kernel = self.kernel;
        line!(code, "let index = {index};");
        self.coordinates(code, "index", 0..kernel.kept);
        line!(code, "let v{position} = {};", fold.result(kernel.insts[position].dtype));
        self.stage(code, false);
        (0..kernel.outputs.len()).for_each(|output| self.store_one(output, code));
    }

    /// A loop over places `r`. In a text that is made for its sizes, the loads of a few rounds are under way together.
    pub fn strided_loop(
        &mut self,
        code: &mut Code,
        first: &str,
        end: &str,
        step: usize,
        mut body: impl FnMut(&mut Self, &mut Code),
    ) {
        if !self.shader.params.tier().is_specialised() {
            open!(code, "for (var r = {first}; r < {end}; r += {step}u) ");
            body(self, code);
            return code.close();
        }
        let walk = self.name("walk");
        line!(code, "var {walk} = {first};");
        let last = (ROUNDS - 1) * step;
        open!(code, "for (; {walk} + {last}u < {end}; {walk} += {}u) ", ROUNDS * step);
        for round in 0..ROUNDS {
            open!(code, "");
            line!(code, "let r = {walk} + {}u;", round * step);
            body(self, code);
            code.close();
        }
        code.close();
        open!(code, "for (; {walk} < {end}; {walk} += {step}u) ");
        line!(code, "let r = {walk};");
        body(self, code);
        code.close();
    }

    /// The statements of one stage.
    fn stage(&mut self, code: &mut Code, inner: bool) {
        for (position, inst) in self.kernel.insts.iter().enumerate() {
            if inst.inner == inner && !matches!(inst.kind, InstKind::Reduce { .. }) {
                self.statement(position, code);
            }
        }
    }
}

/// Threads of a workgroup that reduces the results of parts. There are few such numbers, so that rows of different lengths share
/// shaders.
fn threads_of_parts(parts: usize) -> usize {
    let wanted = parts.div_ceil(ROW_PIECES);
    FEWER_ROW_THREADS.into_iter().find(|&threads| wanted <= threads).unwrap_or(ROW_THREADS)
}
