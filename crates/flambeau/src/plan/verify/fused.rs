//! Legal fused kernels and epilogues: their instructions, operands and results.

use super::access::{Starts, stays_inside, takes_coordinates};
use super::{Contents, Verdict};
use crate::dtype::DType;
use crate::ir::access::Axis;
use crate::ir::kernel::{Fused, Inst, InstKind, Kernel, Output};
use crate::op::{Meta, Op};
use crate::plan::fuse::MAX_BINDINGS;
use crate::plan::graph::{Graph, Ref};
use crate::plan::lower::Lowered;
use crate::plan::space::is_dense;
use crate::shape::product;

/// Checks one fused kernel, or one epilogue.
pub(super) struct Checker<'a> {
    pub graph: &'a Graph,
    pub contents: &'a Contents,
    pub starts: &'a Starts,
    pub fused: &'a Fused,
    /// The results that an epilogue reads as its last operand.
    pub result: Option<&'a Meta>,
}

impl Checker<'_> {
    pub fn check(&self) -> Verdict {
        let fused = self.fused;
        if fused.kept > fused.space.len() {
            return Err(format!("{} of {} coordinates are kept", fused.kept, fused.space.len()));
        }
        self.bindings()?;
        for (position, inst) in fused.insts.iter().enumerate() {
            self.instruction(position, inst)
                .map_err(|problem| format!("instruction {position}: {problem}"))?;
        }
        fused.outputs.iter().try_for_each(|output| self.output(output))?;
        super::loops::are_legal(fused)?;
        self.nothing_is_idle()
    }

    /// Few enough buffers are bound, each of them once and as what it is.
    fn bindings(&self) -> Verdict {
        let fused = self.fused;
        let bindings = fused.inputs.len() + fused.outputs.len();
        if bindings > MAX_BINDINGS {
            return Err(format!("{bindings} buffers are bound"));
        }
        for (operand, &(place, dtype)) in fused.inputs.iter().enumerate() {
            if self.contents.at(place)?.0 != dtype {
                return Err(format!("{place:?} is not of dtype {dtype}"));
            }
            if fused.inputs[..operand].iter().any(|&(other, _)| other == place) {
                return Err(format!("{place:?} is bound twice"));
            }
        }
        Ok(())
    }

    fn instruction(&self, position: usize, inst: &Inst) -> Verdict {
        if let Some(arg) = inst.args().iter().find(|&&arg| arg >= position) {
            return Err(format!("it reads instruction {arg}, which comes later"));
        }
        if let Some(access) = inst.kind.access() {
            takes_coordinates(access, &self.fused.space)?;
        }
        if !self.stands_for_its_node(inst) {
            return Err(format!("it is not what node {} computes", inst.node));
        }
        self.read(inst)
    }

    /// Does an instruction compute what its node does, in the node's dtype?
    fn stands_for_its_node(&self, inst: &Inst) -> bool {
        let Some(node) = self.graph.nodes.get(inst.node as usize) else { return false };
        let same_dtype = node.outputs[0].dtype == inst.dtype;
        match (&inst.kind, &node.op) {
            (InstKind::Load { .. }, _) => true,
            (InstKind::Mask { arg, .. }, _) => self.fused.insts[*arg].dtype == inst.dtype,
            (InstKind::Constant { data_start, .. }, Some(Op::Constant))
            | (InstKind::Bits { data_start, .. }, Some(Op::Bits)) => {
                same_dtype && *data_start == node.data_start
            }
            (InstKind::Map { op, args }, Some(Op::Map(map))) => {
                same_dtype && **op == ***map && args.len() == op.args.len()
            }
            (InstKind::Reduce { reduce, .. }, Some(Op::Reduce(own))) => {
                same_dtype && reduce == own && self.reduces_whole_rows(inst.node)
            }
            (InstKind::Index { .. }, Some(Op::Iota { .. }))
            | (InstKind::Healthy, Some(Op::Healthy))
            | (InstKind::Cast { .. }, Some(Op::Cast))
            | (InstKind::Gather { .. }, Some(Op::Gather { .. })) => same_dtype,
            _ => false,
        }
    }

    /// Are the kernel's rows those that the node reduces?
    fn reduces_whole_rows(&self, node: u32) -> bool {
        let node = &self.graph.nodes[node as usize];
        let (before, rows) = (self.graph.meta(node.inputs[0]).numel(), node.outputs[0].numel());
        let (count, length) = (self.fused.outer_count(), self.fused.inner_count());
        rows == count && (before == 0 || before == rows * length)
    }

    /// An instruction reads inside of its operand.
    fn read(&self, inst: &Inst) -> Verdict {
        let (operand, access, further) = match &inst.kind {
            InstKind::Load { operand, access } => (*operand, access, 0),
            // Every index is a fault, and nothing is read.
            InstKind::Gather { size: 0, .. } => return Ok(()),
            InstKind::Gather { operand, access, stride, size, .. } => {
                (*operand, access, stride * (*size as i64 - 1))
            }
            _ => return Ok(()),
        };
        let (dtype, numel) = self.operand(operand)?;
        if dtype != inst.dtype {
            return Err(format!("it reads {dtype} as {}", inst.dtype));
        }
        stays_inside(access, self.starts, numel, further)
    }

    fn operand(&self, operand: usize) -> Result<(DType, usize), String> {
        match (self.fused.inputs.get(operand), self.result) {
            (Some(&(place, _)), _) => self.contents.at(place),
            (None, Some(result)) if operand == self.fused.inputs.len() => Ok(super::content(result)),
            _ => Err(format!("there is no operand {operand}")),
        }
    }

    /// A result has a place for every value, in the order of the buffer.
    fn output(&self, output: &Output) -> Verdict {
        let (access, place) = (&output.access, output.place);
        let Some(inst) = self.fused.insts.get(output.inst) else {
            return Err(format!("{place:?} is the result of no instruction"));
        };
        let (dtype, numel) = self.contents.at(place)?;
        if [inst.dtype, output.dtype] != [dtype; 2] {
            return Err(format!("{place:?} is {dtype}: {} is stored as {}", inst.dtype, output.dtype));
        }
        takes_coordinates(access, &self.fused.space)?;
        let [level] = &access.levels[..] else {
            return Err(format!("{place:?} is stored through several levels"));
        };
        let (kept, row) = level.axes.split_at(self.fused.kept);
        let (count, all) = (self.fused.outer_count(), product(&self.fused.space));
        let plain = level.offset.is_zero() && level.axes.iter().all(|axis| axis.hole.is_none());
        let once_per_row = count == numel
            && is_dense(kept.iter())
            && (all == 0 || row.iter().all(|axis| axis.size == 1 || axis.stride == 0));
        let mut axes: Vec<&Axis> = level.axes.iter().filter(|axis| axis.size != 1).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
        // A value per row may be stored for each element: it is the same one.
        let right = once_per_row || output.per_element && all == numel && is_dense(axes.into_iter());
        match plain && (right || numel == 0) {
            true => Ok(()),
            false => Err(format!("{place:?} of {numel} elements is stored in another order: {access:?}")),
        }
    }

    /// Every operand is read, and every instruction used.
    fn nothing_is_idle(&self) -> Verdict {
        let fused = self.fused;
        let mut read = vec![false; fused.inputs.len() + usize::from(self.result.is_some())];
        let mut used = vec![false; fused.insts.len()];
        fused.outputs.iter().for_each(|output| used[output.inst] = true);
        for inst in &fused.insts {
            inst.args().iter().for_each(|&arg| used[arg] = true);
            if let InstKind::Load { operand, .. } | InstKind::Gather { operand, .. } = &inst.kind {
                read[*operand] = true;
            }
        }
        match (read.iter().position(|&read| !read), used.iter().position(|&used| !used)) {
            (Some(operand), _) => Err(format!("no instruction reads operand {operand}")),
            (_, Some(position)) => Err(format!("nothing uses instruction {position}")),
            (None, None) => Ok(()),
        }
    }
}

/// Every load reads the memory of the node it stands for. (Later passes give results other places.)
pub(super) fn loads_are_of_their_nodes(graph: &Graph, lowered: &Lowered) -> Verdict {
    for (number, kernel) in lowered.kernels.iter().enumerate() {
        let Kernel::Fused(fused) = kernel else { continue };
        for (position, inst) in fused.insts.iter().enumerate() {
            let InstKind::Load { operand, .. } = &inst.kind else { continue };
            let place = fused.inputs.get(*operand).map(|(place, _)| place);
            let outputs = graph.nodes.get(inst.node as usize).map_or(0, |node| node.outputs.len() as u32);
            let mut values = (0..outputs).map(|output| Ref { node: inst.node, output });
            if !values.any(|value| place.is_some() && lowered.places.get(&value) == place) {
                return Err(format!(
                    "kernel {number}: instruction {position} loads {place:?}, where node {} is not",
                    inst.node
                ));
            }
        }
    }
    Ok(())
}
