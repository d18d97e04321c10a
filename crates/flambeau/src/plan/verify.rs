//! What a legal plan is, as code. Every finished plan is checked in debug builds and tests: the CPU's raw pointers and
//! the GPU's unchecked shaders rest on exactly this.

use super::Plan;
use super::fuse::MAX_BINDINGS;
use super::graph::Graph;
use super::space::is_dense;
use crate::dtype::DType;
use crate::ir::access::{Access, Axis, Level};
use crate::ir::kernel::{Fused, InstKind, Kernel, Output, Phase, Place};
use crate::op::Meta;
use crate::shape::product;

/// Says what is wrong with the plan of a graph.
pub(super) fn verify(plan: &Plan, graph: &Graph, element_bytes: fn(DType) -> u64) -> Result<(), String> {
    let inputs = graph.nodes.iter().filter(|node| node.op.is_none());
    let inputs: Vec<usize> = inputs.flat_map(|node| node.outputs.iter().map(Meta::numel)).collect();
    let sizes = Sizes { plan, inputs: &inputs };
    for (number, kernel) in plan.kernels.iter().enumerate() {
        let name = || format!("kernel {number} ({})", kernel.describe().join(" "));
        let checked = match kernel {
            Kernel::Fused(fused) => Checker { sizes, fused, result: None }.check(),
            Kernel::Structured(call) => match &call.epilogue {
                Some(fused) => Checker { sizes, fused, result: Some(call.outputs[0].1.numel()) }.check(),
                None => Ok(()),
            },
        };
        checked.map_err(|problem| format!("{}: {problem}", name()))?;
    }
    each_buffer_is_written_before_it_is_read(plan)?;
    live_buffers_have_memory_of_their_own(plan, element_bytes)
}

fn each_buffer_is_written_before_it_is_read(plan: &Plan) -> Result<(), String> {
    let mut written = vec![false; plan.buffers.len()];
    let mut has_parts = vec![false; plan.buffers.len()];
    for (number, kernel) in plan.kernels.iter().enumerate() {
        let (inputs, outputs) = (kernel.inputs(), kernel.outputs());
        for buffer in inputs.iter().filter_map(buffer_of) {
            if !written[buffer] && !has_parts[buffer] {
                return Err(format!("kernel {number} reads buffer {buffer}, which nothing has written yet"));
            }
            let home = plan.home(buffer as u32);
            if outputs.iter().filter_map(buffer_of).any(|output| plan.home(output as u32) == home) {
                return Err(format!("kernel {number} reads and writes the memory of buffer {buffer}"));
            }
        }
        for buffer in outputs.iter().filter_map(buffer_of) {
            if std::mem::replace(&mut written[buffer], true) {
                return Err(format!("kernel {number} writes buffer {buffer} again"));
            }
            has_parts[plan.home(buffer as u32) as usize] = true;
        }
    }
    match plan.roots.iter().filter_map(buffer_of).find(|&root| !written[root] && !has_parts[root]) {
        Some(root) => Err(format!("nothing writes buffer {root}, which is a result")),
        None => Ok(()),
    }
}

/// Temporaries that share a slot are never needed at the same time, and fit it.
fn live_buffers_have_memory_of_their_own(plan: &Plan, element_bytes: fn(DType) -> u64) -> Result<(), String> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; plan.buffers.len()];
    for (number, kernel) in plan.kernels.iter().enumerate() {
        for buffer in kernel.inputs().iter().chain(&kernel.outputs()).filter_map(buffer_of) {
            let life = &mut lives[plan.home(buffer as u32) as usize];
            *life = Some((life.map_or(number, |(first, _)| first), number));
        }
    }
    let mut tenants: Vec<Vec<(usize, usize, usize)>> = vec![Vec::new(); plan.slots.len()];
    for (index, buffer) in plan.buffers.iter().enumerate() {
        let Some((first, last)) = lives[index].filter(|_| !buffer.root && buffer.within.is_none()) else {
            continue;
        };
        let Some(tenants) = tenants.get_mut(buffer.slot) else {
            return Err(format!("buffer {index} has no memory"));
        };
        if plan.slots[buffer.slot] < buffer.numel as u64 * element_bytes(buffer.dtype) {
            return Err(format!("buffer {index} does not fit slot {}", buffer.slot));
        }
        if let Some((other, ..)) = tenants.iter().find(|(_, from, to)| first <= *to && last >= *from) {
            return Err(format!(
                "buffers {other} and {index} share slot {} and are both needed",
                buffer.slot
            ));
        }
        tenants.push((index, first, last));
    }
    Ok(())
}

fn buffer_of(place: &Place) -> Option<usize> {
    match place {
        Place::Buffer(buffer) => Some(*buffer as usize),
        Place::Input(_) => None,
    }
}

/// How many elements lie where.
#[derive(Clone, Copy)]
struct Sizes<'a> {
    plan: &'a Plan,
    inputs: &'a [usize],
}

impl Sizes<'_> {
    fn numel(&self, place: Place) -> usize {
        match place {
            Place::Buffer(buffer) => self.plan.buffers[buffer as usize].numel,
            Place::Input(input) => self.inputs[input as usize],
        }
    }
}

/// Checks one fused kernel, or one epilogue.
struct Checker<'a> {
    sizes: Sizes<'a>,
    fused: &'a Fused,
    /// Elements of the results that an epilogue reads as its last operand.
    result: Option<usize>,
}

impl Checker<'_> {
    fn check(&self) -> Result<(), String> {
        let fused = self.fused;
        let bindings = fused.inputs.len() + fused.outputs.len();
        if bindings > MAX_BINDINGS {
            return Err(format!("{bindings} buffers are bound"));
        }
        for (position, inst) in fused.insts.iter().enumerate() {
            let say = |problem: String| format!("instruction {position}: {problem}");
            if let Some(arg) = inst.args().iter().find(|&&arg| arg >= position) {
                return Err(say(format!("it reads instruction {arg}, which comes later")));
            }
            self.access(&inst.kind).map_err(say)?;
        }
        if fused.phases.is_empty() { self.stages() } else { self.phases() }?;
        fused.outputs.iter().try_for_each(|output| self.output(output))
    }

    /// Two stages: only the reduction takes a value from inside its loop to outside, and nothing takes one in.
    fn stages(&self) -> Result<(), String> {
        let insts = &self.fused.insts;
        let is_reduction = |kind: &InstKind| matches!(kind, InstKind::Reduce { .. });
        if insts.iter().filter(|inst| is_reduction(&inst.kind)).count() > 1 {
            return Err("several reductions without phases".into());
        }
        for (position, inst) in insts.iter().enumerate() {
            let reads_inside = inst.inner || is_reduction(&inst.kind);
            if let Some(&arg) = inst.args().iter().find(|&&arg| insts[arg].inner != reads_inside) {
                return Err(format!("instruction {position} uses {arg} outside of the loop that defines it"));
            }
        }
        match self.fused.outputs.iter().find(|output| insts[output.inst].inner) {
            Some(output) => Err(format!("{:?} is stored from inside the reduction's loop", output.place)),
            None => Ok(()),
        }
    }

    /// Phases in order: what one needs is there once per row, or is computed in it for every element.
    fn phases(&self) -> Result<(), String> {
        let insts = &self.fused.insts;
        let mut per_row = vec![false; insts.len()];
        for (number, phase) in self.fused.phases.iter().enumerate() {
            let say = |what: &str, position: usize| format!("phase {number}: {what} {position} is not there");
            for &position in &phase.before {
                if let Some(&arg) = insts[position].args().iter().find(|&&arg| !per_row[arg]) {
                    return Err(say("per row, instruction", arg));
                }
                per_row[position] = true;
            }
            let known = self.per_element(phase, &per_row, number)?;
            for &reduction in &phase.reductions {
                if let Some(&arg) = insts[reduction].args().iter().find(|&&arg| !known[arg]) {
                    return Err(say("the reduced instruction", arg));
                }
            }
            let stored = phase.outputs.iter().map(|&output| self.fused.outputs[output].inst);
            if let Some(missing) = stored.clone().find(|&inst| !known[inst]) {
                return Err(say("the stored instruction", missing));
            }
            phase.reductions.iter().for_each(|&reduction| per_row[reduction] = true);
        }
        let rows = self.fused.outputs.iter().filter(|output| !output.per_element);
        match rows.into_iter().find(|output| !per_row[output.inst]) {
            Some(output) => Err(format!("{:?} is stored once per row, but not computed so", output.place)),
            None => Ok(()),
        }
    }

    /// What is known for every element of a row in a phase.
    fn per_element(&self, phase: &Phase, per_row: &[bool], number: usize) -> Result<Vec<bool>, String> {
        let mut known = per_row.to_vec();
        for &position in &phase.insts {
            if let Some(&arg) = self.fused.insts[position].args().iter().find(|&&arg| !known[arg]) {
                return Err(format!(
                    "phase {number}: instruction {position} needs {arg}, which is not there"
                ));
            }
            known[position] = true;
        }
        Ok(known)
    }

    /// A result has a place for every value, in the order of the buffer.
    fn output(&self, output: &Output) -> Result<(), String> {
        let (access, kept) = (&output.access, self.fused.kept);
        let [level] = &access.levels[..] else {
            return Err(format!("{:?} is stored through several levels", output.place));
        };
        let numel = self.sizes.numel(output.place);
        let count = product(level.axes[..kept].iter().map(|axis| axis.size));
        let all = product(level.axes.iter().map(|axis| axis.size));
        let plain = level.offset.is_zero() && level.axes.iter().all(|axis| axis.hole.is_none());
        let once_per_row = count == numel
            && is_dense(level.axes[..kept].iter())
            && (all == 0 || level.axes[kept..].iter().all(|axis| axis.size == 1 || axis.stride == 0));
        let mut axes: Vec<&Axis> = level.axes.iter().filter(|axis| axis.size != 1).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
        // A value per row may be stored for each element: it is the same one.
        let right = once_per_row || output.per_element && all == numel && is_dense(axes.into_iter());
        if !plain || !(right || numel == 0) {
            return Err(format!(
                "{:?} of {numel} elements is stored in another order: {access:?}",
                output.place
            ));
        }
        Ok(())
    }

    /// An instruction reads inside of its operand.
    fn access(&self, kind: &InstKind) -> Result<(), String> {
        let operand = match kind {
            InstKind::Load { operand, .. } | InstKind::Gather { operand, .. } => *operand,
            _ => return Ok(()),
        };
        let numel = match self.fused.inputs.get(operand) {
            Some(&(place, _)) => self.sizes.numel(place),
            None if operand == self.fused.inputs.len() => {
                self.result.ok_or("it reads the result of no structured kernel")?
            }
            None => return Err(format!("there is no operand {operand}")),
        };
        let (access, further) = match kind {
            // Every index is a fault, and nothing is read.
            InstKind::Gather { size: 0, .. } => return Ok(()),
            InstKind::Gather { access, stride, size, .. } => (access, stride * (*size as i64 - 1).max(0)),
            InstKind::Load { access, .. } => (access, 0),
            _ => return Ok(()),
        };
        stays_inside(access, numel, further).map_err(|problem| format!("{problem}: {access:?}"))
    }
}

/// Do all coordinates lead to an element below `numel`? Where an offset is data, only the distance between the first
/// and the last element can be judged.
fn stays_inside(access: &Access, numel: usize, further: i64) -> Result<(), String> {
    for (depth, level) in access.levels.iter().enumerate() {
        if level.axes.iter().any(|axis| elements(axis) == 0) {
            return Ok(());
        }
        let next = access.levels.get(depth + 1);
        let limit = match next {
            Some(next) => product(next.axes.iter().map(|axis| axis.size)) as i64,
            None => numel as i64,
        };
        let (low, high) = span(level);
        let (low, high) = match next {
            None => (low.min(low + further), high.max(high + further)),
            Some(_) => (low, high),
        };
        let inside = if level.offset.terms.is_empty() {
            low + level.offset.constant >= 0 && high + level.offset.constant < limit
        } else {
            high - low < limit
        };
        if !inside {
            return Err(format!("level {depth} reaches from {low} to {high} of {limit}"));
        }
    }
    Ok(())
}

/// How many coordinates of an axis have an element, at most.
fn elements(axis: &Axis) -> usize {
    axis.hole.as_ref().map_or(axis.size, |hole| hole.len.min(axis.size))
}

/// The smallest and the largest number of a level, without its offset.
fn span(level: &Level) -> (i64, i64) {
    let reach = |axis: &Axis| axis.stride * (elements(axis) as i64 - 1).max(0);
    level.axes.iter().map(reach).fold((0, 0), |(low, high), reach| (low + reach.min(0), high + reach.max(0)))
}
