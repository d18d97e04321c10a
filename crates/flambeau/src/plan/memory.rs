//! The pass that places memory: temporaries whose lives do not overlap share a slot.

use super::Plan;
use crate::dtype::DType;
use crate::ir::kernel::Place;

impl Plan {
    /// Gives each temporary a memory slot; a slot is free again after the last kernel that reads it.
    pub(super) fn place_temporaries(&mut self, element_bytes: fn(DType) -> u64) {
        for index in 0..self.buffers.len() {
            // A part that outlives the run keeps the whole.
            let home = self.home(index as u32) as usize;
            self.buffers[home].root |= self.buffers[index].root;
        }
        let mut last_use = vec![0; self.buffers.len()];
        for (step, kernel) in self.kernels.iter().enumerate() {
            for place in kernel.inputs().into_iter().chain(kernel.outputs()) {
                if let Place::Buffer(buffer) = place {
                    last_use[self.home(buffer) as usize] = step;
                }
            }
        }
        let mut free: Vec<usize> = Vec::new();
        for (step, kernel) in self.kernels.iter().enumerate() {
            for place in kernel.outputs() {
                let Place::Buffer(index) = place else { continue };
                let home = self.home(index) as usize;
                let buffer = &mut self.buffers[home];
                if buffer.root || buffer.slot != usize::MAX {
                    continue;
                }
                let bytes = buffer.numel as u64 * element_bytes(buffer.dtype);
                self.temporary_bytes += bytes;
                let fits =
                    |&slot: &usize| self.slots[slot] >= bytes && self.slots[slot] <= bytes.max(4096) * 2;
                let best = free.iter().copied().filter(fits).min_by_key(|&slot| self.slots[slot]);
                buffer.slot = best.unwrap_or_else(|| {
                    self.slots.push(bytes);
                    self.slots.len() - 1
                });
                free.retain(|&slot| slot != buffer.slot);
            }
            let ended = kernel.inputs().into_iter().chain(kernel.outputs());
            for place in ended {
                let Place::Buffer(index) = place else { continue };
                let home = self.home(index) as usize;
                let buffer = &self.buffers[home];
                if !buffer.root && last_use[home] == step && !free.contains(&buffer.slot) {
                    free.push(buffer.slot);
                }
            }
        }
    }
}
