//! Elements one by one or four neighbours at once: which operands can be read and written so, and the code that does it. Kernels
//! of rows, of columns, large elementwise ones and epilogues differ only in what they do with each element.

use super::codegen::{Generator, Located};
use super::{Code, lane_type, line, narrow, open, storage_type, widen};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};

const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// Which operands of a kernel are read and written in vectors, of neighbours along one coordinate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fours {
    pub inputs: Vec<bool>,
    pub outputs: Vec<bool>,
}

impl Fours {
    pub fn none(kernel: &Fused) -> Fours {
        Fours { inputs: vec![false; kernel.inputs.len()], outputs: vec![false; kernel.outputs.len()] }
    }

    /// The inputs that can be read so. The coordinate's size is a multiple of four.
    pub fn of_inputs(kernel: &Fused, axis: usize) -> Fours {
        let varies = varies(kernel, axis);
        let input = |number: usize| {
            kernel.insts.iter().all(|inst| match &inst.kind {
                InstKind::Load { operand, access } if *operand == number => is_aligned(access, axis),
                InstKind::Gather { operand, access, index, stride, .. } if *operand == number => {
                    is_aligned(access, axis) && stride % 4 == 0 && !varies[*index]
                }
                _ => true,
            })
        };
        Fours { inputs: (0..kernel.inputs.len()).map(input).collect(), ..Fours::none(kernel) }
    }

    /// Elements that a thread takes at once.
    pub fn lanes(&self) -> usize {
        if self.inputs.iter().chain(&self.outputs).any(|&fours| fours) { 4 } else { 1 }
    }

    /// Is it an instruction that reads four elements?
    fn reads(&self, kind: &InstKind) -> bool {
        match kind {
            InstKind::Load { operand, .. } | InstKind::Gather { operand, .. } => {
                // An epilogue's result is an operand after all of its inputs.
                self.inputs.get(*operand).copied().unwrap_or(false)
            }
            _ => false,
        }
    }
}

/// Are four neighbours along a coordinate, from a multiple of four on, one vector in memory?
pub(super) fn is_aligned(access: &Access, axis: usize) -> bool {
    let [level] = &access.levels[..] else { return false };
    let whole = |(number, other): (usize, &crate::ir::access::Axis)| number == axis || other.stride % 4 == 0;
    !access.has_zeros()
        && level.axes[axis].stride == 1
        && level.axes.iter().enumerate().all(whole)
        && level.offset.terms.is_empty()
        && level.offset.constant % 4 == 0
}

/// For each instruction: does its value depend on a coordinate?
pub(super) fn varies(kernel: &Fused, axis: usize) -> Vec<bool> {
    let mut varies: Vec<bool> = Vec::with_capacity(kernel.insts.len());
    for inst in &kernel.insts {
        let of_axis = inst.kind.access().is_some_and(|access| looks_at(access, axis));
        let reduced = matches!(inst.kind, InstKind::Reduce { .. }) && axis >= kernel.kept;
        varies.push(!reduced && (of_axis || inst.args().iter().any(|&arg| varies[arg])));
    }
    varies
}

/// Does the element found depend on a coordinate?
pub(super) fn looks_at(access: &Access, axis: usize) -> bool {
    let axis = &access.levels[0].axes[axis];
    axis.stride != 0 || axis.hole.is_some()
}

/// One of the elements that a thread takes at once.
pub(super) struct Lane {
    pub number: usize,
    /// What takes it out of a vector.
    pub component: String,
}

impl Lane {
    /// An element's place, from that of the first.
    pub fn place(&self, first: &str) -> String {
        if self.number == 0 { first.to_string() } else { format!("({first} + {}u)", self.number) }
    }
}

/// What is done with one element, or with four.
pub(super) struct Elements<'e> {
    pub fours: &'e Fours,
    /// The coordinate along which the four are neighbours; the current one is that of the first. None: they are whatever
    /// `before` makes of them.
    pub axis: Option<usize>,
    /// The instructions to run, in order.
    pub insts: &'e [usize],
    /// Instructions whose values `before` declares.
    pub known: &'e [usize],
    /// The outputs to store, by number.
    pub outputs: &'e [usize],
}

impl Generator<'_> {
    /// Code for one element or four: `before` each element's instructions something may be declared, `after` them something
    /// done with their values.
    pub fn elements(
        &mut self,
        code: &mut Code,
        work: &Elements,
        mut before: impl FnMut(&mut Self, &mut Code, &Lane),
        mut after: impl FnMut(&mut Self, &mut Code, &Lane),
    ) {
        let kernel = self.kernel;
        let lanes = work.fours.lanes();
        // What is the same for all four is there once, before them.
        let mut varies = match work.axis.filter(|_| lanes > 1) {
            Some(axis) => varies(kernel, axis),
            None => vec![true; kernel.insts.len()],
        };
        for (position, inst) in kernel.insts.iter().enumerate() {
            varies[position] |= work.known.contains(&position)
                || self.given(&inst.kind).is_some()
                || inst.args().iter().any(|&arg| varies[arg]);
        }
        for &position in work.insts {
            let kind = &kernel.insts[position].kind;
            if work.fours.reads(kind) {
                let (operand, at) = self.vector_at(position, code);
                line!(code, "let four{position} = in{operand}[({at}) >> 2u];");
            } else if !varies[position] {
                self.statement(position, code);
            }
        }
        for &output in work.outputs.iter().filter(|&&output| work.fours.outputs[output]) {
            line!(code, "var result{output}: vec4<{}>;", storage_type(kernel.outputs[output].dtype));
        }
        for (number, name) in COMPONENTS.into_iter().enumerate().take(lanes) {
            let component = if lanes > 1 { format!(".{name}") } else { String::new() };
            let lane = Lane { number, component };
            if lanes > 1 {
                open!(code, "");
            }
            if let Some(axis) = work.axis.filter(|&axis| number > 0 && self.is_looked_at(axis)) {
                line!(code, "let c{axis} = c{axis} + {number}u;");
            }
            before(self, code, &lane);
            for &position in work.insts {
                let inst = &kernel.insts[position];
                if work.fours.reads(&inst.kind) {
                    let value = widen(inst.dtype, &format!("four{position}{}", lane.component));
                    line!(code, "let v{position}: {} = {value};", lane_type(inst.dtype));
                } else if varies[position] {
                    self.statement(position, code);
                }
            }
            after(self, code, &lane);
            for &output in work.outputs {
                self.store(output, code, work.fours.outputs[output].then_some(&lane));
            }
            if lanes > 1 {
                code.close();
            }
        }
        for &output in work.outputs.iter().filter(|&&output| work.fours.outputs[output]) {
            let at = self.place_of(output, code);
            line!(code, "out{output}[({at}) >> 2u] = result{output};");
        }
    }

    /// Stores an output's element, or puts it into a vector's lane.
    fn store(&mut self, output: usize, code: &mut Code, lane: Option<&Lane>) {
        let Some(lane) = lane else { return self.store_one(output, code) };
        let stored = &self.kernel.outputs[output];
        let value = narrow(stored.dtype, &format!("v{}", stored.inst));
        line!(code, "result{output}{} = {value};", lane.component);
    }

    /// Stores an output's element.
    pub fn store_one(&mut self, output: usize, code: &mut Code) {
        let stored = &self.kernel.outputs[output];
        let value = narrow(stored.dtype, &format!("v{}", stored.inst));
        let at = self.place_of(output, code);
        line!(code, "out{output}[{at}] = {value};");
    }

    /// Where an output's element goes: results of kernels and of rows lie in the order of their numbers.
    fn place_of(&mut self, output: usize, code: &mut Code) -> String {
        let stored = &self.kernel.outputs[output];
        if !stored.per_element {
            return "index".into();
        }
        let Located { at, .. } = self.locate(&stored.access, code);
        at
    }

    /// The operand and the place of the first of four elements that an instruction reads.
    fn vector_at(&mut self, position: usize, code: &mut Code) -> (usize, String) {
        let inst = &self.kernel.insts[position];
        match &inst.kind {
            InstKind::Load { operand, access } => (*operand, self.locate(access, code).at),
            InstKind::Gather { operand, .. } => (*operand, self.gathered_at(inst, code).at),
            kind => unreachable!("{kind:?} reads nothing"),
        }
    }
}
