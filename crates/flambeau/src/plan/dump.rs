//! A plan in full, as text: every kernel with its instructions and accesses, and where each buffer lies. What `explain` sums
//! up, this shows; tests of the planner compare it. Illegal plans can be written down, too: `verify` shows them.
//!
//! ```text
//! 0 fused [3 | 4]: v0 = i0[4 1]; v1 = exp v0; v2 = sum v1; b0[1 0] = v2
//! memory: b0 f32×3 result
//! ```
//!
//! A fused kernel runs over kept and reduced coordinates, `[kept | reduced]`. `i` is an input, `b` a buffer, `v` the
//! result of an instruction, `d` a number of the run's data. An access lists a stride for each coordinate, and what is
//! added: `i0[4 1]+2`; `@` chains the levels of one that a reshape cuts, and `[1{+d0/2:3}]` has elements at every second
//! of its coordinates from d0 on, three of them. In kernels of phases, `*` marks what is computed for every element of a row.

use super::Plan;
use super::graph::Graph;
use crate::ir::access::{Access, Axis, DataOffset, Level};
use crate::ir::call::StructuredCall;
use crate::ir::kernel::{Fused, Inst, InstKind, Kernel, Place};
use std::fmt::Write;

/// The whole plan.
pub(crate) fn dump(plan: &Plan, graph: &Graph) -> String {
    let mut text = kernels(&plan.kernels);
    let buffers: Vec<String> = (0..plan.buffers.len()).map(|index| memory(plan, index)).collect();
    if !buffers.is_empty() {
        _ = writeln!(text, "memory: {}", buffers.join(", "));
    }
    let roots: Vec<String> = plan.roots.iter().map(|&root| place(root)).collect();
    if plan.roots.len() > 1 || plan.roots.iter().any(|root| matches!(root, Place::Input(_))) {
        _ = writeln!(text, "results: {} of {} nodes", roots.join(", "), graph.nodes.len());
    }
    text
}

/// Kernels, one a line.
pub(super) fn kernels(kernels: &[Kernel]) -> String {
    let mut text = String::new();
    for (number, kernel) in kernels.iter().enumerate() {
        let line = match kernel {
            Kernel::Fused(fused) => format!("fused {}", body(fused, None)),
            Kernel::Structured(call) => structured(call),
        };
        _ = writeln!(text, "{number} {line}");
    }
    text
}

fn memory(plan: &Plan, index: usize) -> String {
    let buffer = &plan.buffers[index];
    let home = match buffer.within {
        Some((home, start)) => format!(" in b{home} from {start}"),
        None if buffer.root => " result".into(),
        None if buffer.slot == usize::MAX => " gone".into(),
        None => format!(" slot {}", buffer.slot),
    };
    format!("b{index} {}×{}{home}", buffer.dtype, buffer.numel)
}

fn structured(call: &StructuredCall) -> String {
    let inputs = call.inputs.iter().map(|input| format!("{}{}", place(input.place), access(&input.access)));
    let inputs: Vec<String> = inputs.collect();
    match &call.epilogue {
        None => {
            let outputs = call.outputs.iter().map(|(at, meta)| format!("{}{}", place(*at), meta.shape));
            format!("{} {} → {}", call.op.name(), inputs.join(", "), outputs.collect::<Vec<_>>().join(", "))
        }
        Some(epilogue) => {
            let given = Some(epilogue.inputs.len());
            format!("{} {} then {}", call.op.name(), inputs.join(", "), body(epilogue, given))
        }
    }
}

/// The coordinates and instructions of a fused kernel; `given` is the operand that stands for the result an epilogue
/// follows.
fn body(fused: &Fused, given: Option<usize>) -> String {
    let sizes = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let (kept, reduced) = fused.space.split_at(fused.kept.min(fused.space.len()));
    let (kept, reduced) = (sizes(kept), sizes(reduced));
    let space = if reduced.is_empty() { format!("[{kept}]") } else { format!("[{kept} | {reduced}]") };
    let mut parts: Vec<String> = Vec::new();
    for (number, inst) in fused.insts.iter().enumerate() {
        let star = if inst.inner && !fused.phases.is_empty() { "*" } else { "" };
        parts.push(format!("v{number}{star} = {}", instruction(fused, inst, given)));
    }
    for output in &fused.outputs {
        let star = if output.per_element { "*" } else { "" };
        parts.push(format!("{}{}{star} = v{}", place(output.place), access(&output.access), output.inst));
    }
    let phases =
        if fused.phases.len() > 1 { format!(" {} phases", fused.phases.len()) } else { String::new() };
    format!("{space}{phases}: {}", parts.join("; "))
}

fn instruction(fused: &Fused, inst: &Inst, given: Option<usize>) -> String {
    let operand = |operand: usize| match given {
        Some(result) if operand == result => "result".into(),
        _ => fused.inputs.get(operand).map_or("nothing".into(), |&(at, _)| place(at)),
    };
    let numbers = |args: &[usize]| args.iter().map(|arg| format!(" v{arg}")).collect::<String>();
    match &inst.kind {
        InstKind::Load { operand: from, access: through } => format!("{}{}", operand(*from), access(through)),
        InstKind::Constant { data_start, access: through } if through.has_zeros() => {
            format!("d{data_start}{}", access(through))
        }
        InstKind::Constant { data_start, .. } => format!("d{data_start}"),
        InstKind::Index { access: through } => format!("index{}", access(through)),
        InstKind::Bits { data_start, access: through } => format!("bits d{data_start}{}", access(through)),
        InstKind::Healthy => "healthy".into(),
        InstKind::Map { op, args } => format!("{}{}", op.name, numbers(args)),
        InstKind::Cast { arg } => format!("{} v{arg}", inst.dtype),
        InstKind::Mask { arg, access: through } => format!("v{arg} where{}", access(through)),
        InstKind::Gather { operand: from, access: through, index, stride, .. } => {
            format!("{}{}+v{index}·{stride}", operand(*from), access(through))
        }
        InstKind::Reduce { arg, reduce } => format!("{} v{arg}", reduce.kind.name()),
    }
}

fn place(place: Place) -> String {
    match place {
        Place::Input(input) => format!("i{input}"),
        Place::Buffer(buffer) => format!("b{buffer}"),
    }
}

fn access(access: &Access) -> String {
    access.levels.iter().map(level).collect::<Vec<_>>().join("@")
}

fn level(level: &Level) -> String {
    let axis = |axis: &Axis| match &axis.hole {
        None => axis.stride.to_string(),
        Some(hole) => format!("{}{{{}/{}:{}}}", axis.stride, linear(&hole.start), hole.step, hole.len),
    };
    let axes: Vec<String> = level.axes.iter().map(axis).collect();
    format!("[{}]{}", axes.join(" "), linear(&level.offset))
}

/// `+constant+2·d0`, without what is zero.
fn linear(linear: &DataOffset) -> String {
    let constant = if linear.constant == 0 { String::new() } else { format!("{:+}", linear.constant) };
    let term = |&(data_start, factor): &(u32, i64)| match factor {
        1 => format!("+d{data_start}"),
        factor => format!("{factor:+}·d{data_start}"),
    };
    constant + &linear.terms.iter().map(term).collect::<String>()
}
