//! Legal memory: results outlive the run, and temporaries that share a slot are never needed at the same time.

use super::{Verdict, buffer_of};
use crate::dtype::DType;
use crate::plan::Plan;

/// A result's memory is the result's alone, and is not given to others.
pub(super) fn results_are_kept(plan: &Plan) -> Verdict {
    for root in plan.roots.iter().filter_map(buffer_of) {
        let home = plan.home(root as u32) as usize;
        if !plan.buffers[home].root || plan.buffers[home].slot != usize::MAX {
            return Err(format!("buffer {root} is a result, and its memory is not kept"));
        }
    }
    Ok(())
}

/// The first and the last kernel that needs a buffer, or a part of it.
fn lives(plan: &Plan) -> Vec<Option<(usize, usize)>> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; plan.buffers.len()];
    for (number, kernel) in plan.kernels.iter().enumerate() {
        for buffer in kernel.inputs().iter().chain(&kernel.outputs()).filter_map(buffer_of) {
            let life = &mut lives[plan.home(buffer as u32) as usize];
            *life = Some((life.map_or(number, |(first, _)| first), number));
        }
    }
    lives
}

/// Temporaries that share a slot are never needed at the same time, and fit it.
pub(super) fn lives_do_not_overlap(plan: &Plan, element_bytes: fn(DType) -> u64) -> Verdict {
    let mut tenants: Vec<(usize, usize, usize, usize)> = Vec::new();
    for (index, (buffer, life)) in plan.buffers.iter().zip(lives(plan)).enumerate() {
        let Some((first, last)) = life.filter(|_| !buffer.root && buffer.within.is_none()) else { continue };
        let Some(&bytes) = plan.slots.get(buffer.slot) else {
            return Err(format!("buffer {index} has no memory"));
        };
        if bytes < buffer.numel as u64 * element_bytes(buffer.dtype) {
            return Err(format!("buffer {index} does not fit slot {}", buffer.slot));
        }
        tenants.push((buffer.slot, first, last, index));
    }
    tenants.sort_unstable();
    let both_needed =
        |pair: &&[(usize, usize, usize, usize)]| pair[0].0 == pair[1].0 && pair[1].1 <= pair[0].2;
    match tenants.windows(2).find(both_needed) {
        Some(pair) => Err(format!(
            "buffers {} and {} share slot {} and are both needed",
            pair[0].3, pair[1].3, pair[0].0
        )),
        None => Ok(()),
    }
}
