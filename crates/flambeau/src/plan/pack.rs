//! Packing in place: values that an `op::pack` puts side by side are written there by the kernels that make them.
//!
//! A kernel must not read and write one buffer, and binds a part of a buffer at aligned starts only. Values that
//! this, or a second use in the same pack, keeps away are copied.

use super::Plan;
use super::access::Access;
use super::kernel::{Fused, Inst, InstKind, Kernel, Operand, Place, StructuredCall};
use crate::dtype::DType;
use crate::op::{Op, StructuredOp};

/// Where a part of a buffer may start, in bytes: WebGPU's default.
pub(crate) const PART_ALIGNMENT: u64 = 256;

/// Replaces every pack by values that lie in their places from the start, and copies of the others.
pub(super) fn pack_in_place(plan: &mut Plan, element_bytes: fn(DType) -> u64) {
    let mut kernels = Vec::with_capacity(plan.kernels.len());
    for position in 0..plan.kernels.len() {
        match &plan.kernels[position] {
            Kernel::Structured(StructuredCall { op: Op::Structured(StructuredOp::Pack(pack)), .. }) => {
                let starts = pack.starts.clone();
                kernels.extend(place_parts(plan, position, &starts, element_bytes));
            }
            other => kernels.push(other.clone()),
        }
    }
    plan.kernels = kernels;
}

/// Gives the inputs of a pack their places in its result; returns the copies that are still needed.
fn place_parts(
    plan: &mut Plan,
    position: usize,
    starts: &[usize],
    element_bytes: fn(DType) -> u64,
) -> Vec<Kernel> {
    let Kernel::Structured(call) = plan.kernels[position].clone() else { return Vec::new() };
    let (Place::Buffer(home), meta) = &call.outputs[0] else { return Vec::new() };
    let mut copies = Vec::new();
    for (operand, &start) in call.inputs.iter().zip(starts) {
        let aligned = (start as u64 * element_bytes(meta.dtype)).is_multiple_of(PART_ALIGNMENT);
        let once = call.inputs.iter().filter(|other| other.place == operand.place).count() == 1;
        match operand.place {
            Place::Buffer(buffer) if aligned && once && may_lie_in(plan, buffer, *home) => {
                plan.buffers[buffer as usize].within = Some((*home, start));
            }
            _ if operand.meta.numel() == 0 => {}
            _ => {
                let part = plan.add_part(*home, start, &operand.meta);
                copies.push(copy(operand, Place::Buffer(part), call.node));
            }
        }
    }
    copies
}

/// May the buffer be a part of `home`? Not if it is a part already, or if a kernel would then read and write `home`,
/// or write it twice.
fn may_lie_in(plan: &Plan, buffer: u32, home: u32) -> bool {
    if plan.buffers[buffer as usize].within.is_some() {
        return false;
    }
    let this = Place::Buffer(buffer);
    let lies_there = |&place: &Place| matches!(place, Place::Buffer(other) if plan.home(other) == home);
    plan.kernels.iter().all(|kernel| {
        let (inputs, outputs) = (kernel.inputs(), kernel.outputs());
        let writes_this = outputs.contains(&this) && inputs.iter().chain(&outputs).any(lies_there);
        let reads_this = inputs.contains(&this) && outputs.iter().any(lies_there);
        // The pack itself reads it and writes `home`, and is about to go.
        let packs = outputs.contains(&Place::Buffer(home));
        packs || !(writes_this || reads_this)
    })
}

fn copy(from: &Operand, to: Place, node: u32) -> Kernel {
    let (numel, dtype) = (from.meta.numel(), from.meta.dtype);
    let access = Access::contiguous(&[numel].into());
    let load = Inst { kind: InstKind::Load { operand: 0, access }, dtype, inner: false, node };
    Kernel::Fused(Fused {
        space: vec![numel],
        kept: 1,
        insts: vec![load],
        inputs: vec![(from.place, dtype)],
        outputs: vec![(0, to, dtype)],
    })
}
