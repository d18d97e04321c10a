//! Legal parts: values that lie side by side in the memory of another.

use super::{Verdict, buffer_of};
use crate::dtype::DType;
use crate::ir::PART_ALIGNMENT;
use crate::ir::kernel::{Kernel, Place};
use crate::plan::Plan;
use crate::plan::graph::Graph;
use crate::plan::pack::packed_by;

/// Parts lie inside of buffers that are none, of their dtype, at starts that can be bound, and do not overlap.
pub(super) fn lie_apart(plan: &Plan, element_bytes: fn(DType) -> u64) -> Verdict {
    let mut parts: Vec<(u32, usize, usize)> = Vec::new();
    for (index, buffer) in plan.buffers.iter().enumerate() {
        let Some((home, start)) = buffer.within else { continue };
        let Some(whole) = plan.buffers.get(home as usize).filter(|whole| whole.within.is_none()) else {
            return Err(format!("buffer {index} is a part of buffer {home}, which cannot have parts"));
        };
        if whole.dtype != buffer.dtype || start + buffer.numel > whole.numel {
            return Err(format!("buffer {index} does not fit buffer {home} from {start} on"));
        }
        if !(start as u64 * element_bytes(buffer.dtype)).is_multiple_of(PART_ALIGNMENT) {
            return Err(format!("buffer {index} cannot be bound from {start} on"));
        }
        parts.extend((buffer.numel > 0).then_some((home, start, index)));
    }
    parts.sort_unstable();
    let overlap = |pair: &&[(u32, usize, usize)]| {
        let ((home, start, index), (next_home, next_start, _)) = (pair[0], pair[1]);
        home == next_home && start + plan.buffers[index].numel > next_start
    };
    match parts.windows(2).find(overlap) {
        Some(pair) => Err(format!("buffers {} and {} overlap in buffer {}", pair[0].2, pair[1].2, pair[0].0)),
        None => Ok(()),
    }
}

/// Every operand of a pack is a part where the pack puts it, or copied there; and nothing else is a part.
pub(super) fn are_those_of_packs(graph: &Graph, plan: &Plan, unpacked: &[Kernel]) -> Verdict {
    let copies = |node: u32| {
        plan.kernels.iter().find_map(|kernel| match kernel {
            Kernel::Structured(call) if call.node == node => Some(call.inputs.len()),
            _ => None,
        })
    };
    let mut parts = 0;
    for kernel in unpacked {
        let (Some(pack), Kernel::Structured(call)) = (packed_by(graph, kernel), kernel) else { continue };
        let home = buffer_of(&call.outputs[0].0).map(|home| home as u32);
        let mut placed = 0;
        for (operand, &start) in call.inputs.iter().zip(&pack.starts) {
            let Place::Buffer(buffer) = operand.place else { continue };
            match plan.buffers[buffer as usize].within {
                Some((whole, at)) if Some(whole) == home => {
                    if at != start {
                        return Err(format!("buffer {buffer} is packed from {start} on, and lies at {at}"));
                    }
                    placed += 1;
                }
                _ => {}
            }
        }
        let copied = copies(call.node).unwrap_or(0);
        if placed + copied != call.inputs.len() {
            return Err(format!("{placed} operands of {} are parts and {copied} copied", call.inputs.len()));
        }
        parts += placed;
    }
    match plan.buffers.iter().filter(|buffer| buffer.within.is_some()).count() {
        found if found == parts => Ok(()),
        found => Err(format!("{found} buffers are parts, and {parts} of them packed")),
    }
}
