//! Packing in place: values that an `op::pack` puts side by side are written there by the kernels that make them.
//!
//! A kernel must not read and write one buffer, and binds a part of a buffer at aligned starts only. Values that
//! this, or a second use in the same pack, keeps away are copied.

use super::Plan;
use super::graph::Graph;
use crate::dtype::DType;
use crate::ir::PART_ALIGNMENT;
use crate::ir::call::{Operand, StructuredCall};
use crate::ir::kernel::{Kernel, Place};
use crate::op::pack::Pack;
use crate::op::{Op, StructuredOp};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Replaces every pack by values that lie in their places from the start, and copies of the others.
pub(super) fn pack_in_place(plan: &mut Plan, graph: &Graph, element_bytes: fn(DType) -> u64) {
    if !plan.kernels.iter().any(|kernel| packed_by(graph, kernel).is_some()) {
        return;
    }
    let mut touching = vec![SmallVec::new(); plan.buffers.len()];
    let operands: Vec<Operands> = plan.kernels.iter().map(Operands::of).collect();
    for (number, Operands { inputs, outputs }) in operands.iter().enumerate() {
        for place in inputs.iter().chain(outputs) {
            if let Place::Buffer(buffer) = place {
                touching[*buffer as usize].push(number as u32);
            }
        }
    }
    let uses = Uses { operands, touching };
    for kernel in std::mem::take(&mut plan.kernels) {
        match (packed_by(graph, &kernel), kernel) {
            (Some(pack), Kernel::Structured(call)) => {
                let (Place::Buffer(home), meta) = &call.outputs[0] else {
                    unreachable!("results are buffers")
                };
                let element = element_bytes(meta.dtype);
                let (starts, inputs) = place_parts(plan, &uses, *home, &pack.starts, call.inputs, element);
                if !inputs.is_empty() {
                    let op = Arc::new(Pack { starts, fills_gaps: false });
                    plan.kernels.push(Kernel::Structured(StructuredCall { op, inputs, ..call }));
                }
            }
            (_, other) => plan.kernels.push(other),
        }
    }
}

/// Where a kernel reads and writes.
struct Operands {
    inputs: Vec<Place>,
    outputs: Vec<Place>,
}

impl Operands {
    fn of(kernel: &Kernel) -> Operands {
        Operands { inputs: kernel.inputs(), outputs: kernel.outputs() }
    }
}

/// The operands of all kernels, and which kernels read or write each buffer.
struct Uses {
    operands: Vec<Operands>,
    touching: Vec<SmallVec<[u32; 4]>>,
}

/// The pack that a kernel is a call of.
pub(super) fn packed_by<'a>(graph: &'a Graph, kernel: &Kernel) -> Option<&'a Pack> {
    let Kernel::Structured(call) = kernel else { return None };
    match &graph.nodes[call.node as usize].op {
        Some(Op::Structured(StructuredOp::Pack(pack))) => Some(pack),
        _ => None,
    }
}

/// Gives the inputs of a pack their places in its result; returns starts and inputs of those to be copied.
fn place_parts(
    plan: &mut Plan,
    uses: &Uses,
    home: u32,
    starts: &[usize],
    inputs: Vec<Operand>,
    element_bytes: u64,
) -> (Vec<usize>, Vec<Operand>) {
    let mut times: FxHashMap<Place, u32> = FxHashMap::default();
    inputs.iter().for_each(|input| *times.entry(input.place).or_default() += 1);
    let mut copied = (Vec::new(), Vec::new());
    for (operand, &start) in inputs.into_iter().zip(starts) {
        let aligned = (start as u64 * element_bytes).is_multiple_of(PART_ALIGNMENT);
        let once = times[&operand.place] == 1;
        match operand.place {
            Place::Buffer(buffer) if aligned && once && may_lie_in(plan, uses, buffer, home) => {
                plan.buffers[buffer as usize].within = Some((home, start));
            }
            _ => {
                copied.0.push(start);
                copied.1.push(operand);
            }
        }
    }
    copied
}

/// May the buffer be a part of `home`? Not if it is a part already, or if a kernel would then read and write `home`,
/// or write it twice.
fn may_lie_in(plan: &Plan, uses: &Uses, buffer: u32, home: u32) -> bool {
    if plan.buffers[buffer as usize].within.is_some() {
        return false;
    }
    let this = Place::Buffer(buffer);
    let lies_there = |&place: &Place| matches!(place, Place::Buffer(other) if plan.home(other) == home);
    uses.touching[buffer as usize].iter().all(|&kernel| {
        let Operands { inputs, outputs } = &uses.operands[kernel as usize];
        let writes_this = outputs.contains(&this) && inputs.iter().chain(outputs).any(lies_there);
        let reads_this = inputs.contains(&this) && outputs.iter().any(lies_there);
        // The pack itself reads it and writes `home`, and is about to go.
        let packs = outputs.contains(&Place::Buffer(home));
        packs || !(writes_this || reads_this)
    })
}
