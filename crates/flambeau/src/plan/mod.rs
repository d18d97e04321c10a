//! Plans: what an evaluation runs. Made once per graph structure, cached, and run again with other inputs and data.
//!
//! `graph` snapshots the nodes, `write_out` turns composites into primitives, `schedule` groups them into kernels, `lower` writes the kernels down, and this file
//! places their memory and keeps the cache. Nothing here knows a backend.

mod copies;
mod cost;
mod dump;
mod epilogue;
mod explain;
mod frontier;
mod pack;
#[cfg(test)]
mod tests;
#[cfg(debug_assertions)]
mod verify;

pub(crate) mod graph;
pub(crate) mod lower;
pub(crate) mod rows;
pub(crate) mod schedule;
pub(crate) mod write_out;

use crate::dtype::DType;
use crate::ir::kernel::{Kernel, Place, PlanBuffer};
use crate::op::{Op, View};
pub(crate) use cost::Cost;
pub(crate) use dump::dump;
pub(crate) use explain::explain;
use graph::{Graph, Ref};
use std::collections::HashSet;

/// Kernels in running order, with their memory.
#[derive(Debug)]
pub(crate) struct Plan {
    pub kernels: Vec<Kernel>,
    pub buffers: Vec<PlanBuffer>,
    /// Bytes of each memory slot that temporaries share.
    pub slots: Vec<u64>,
    /// Where each of the graph's roots lies afterwards.
    pub roots: Vec<Place>,
    /// What a run of each kernel costs.
    pub costs: Vec<Cost>,
}

/// How a plan is to be made for a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanOptions {
    /// Bytes of one element in the device's memory.
    pub element_bytes: fn(DType) -> u64,
    /// Fuse ops into kernels; off, every op is a kernel of its own.
    pub fuse: bool,
    /// Let values that are packed be written where they belong; off, they are copied there.
    pub pack_in_place: bool,
}

impl Plan {
    /// Makes the plan of a graph.
    pub fn new(mut graph: Graph, options: PlanOptions) -> Plan {
        // A root that only reshapes a stored value shares its memory.
        for root in &mut graph.roots {
            *root = reshaped_from(&graph.nodes, *root);
        }
        let schedule = schedule::schedule(&graph, options.fuse);
        let mut lowered = lower::lower(&graph, schedule);
        if options.fuse {
            epilogue::fuse(&mut lowered, &graph.roots);
        }
        let roots: Vec<Place> = graph.roots.iter().map(|root| lowered.places[root]).collect();
        let kept: HashSet<Place> = roots.iter().copied().collect();
        let buffers = lowered.buffers.iter().enumerate().map(|(index, &value)| {
            let meta = graph.meta(value);
            let root = kept.contains(&Place::Buffer(index as u32));
            PlanBuffer { dtype: meta.dtype, numel: meta.numel(), root, slot: usize::MAX, within: None }
        });
        let mut plan = Plan {
            buffers: buffers.collect(),
            kernels: lowered.kernels,
            slots: Vec::new(),
            roots,
            costs: Vec::new(),
        };
        if options.pack_in_place {
            pack::pack_in_place(&mut plan, &graph, options.element_bytes);
        }
        plan.place_temporaries(options.element_bytes);
        plan.costs = Cost::of_kernels(&plan, &graph, options.element_bytes);
        #[cfg(debug_assertions)]
        if let Err(problem) = verify::verify(&plan, &graph, options.element_bytes) {
            panic!("an illegal plan: {problem}");
        }
        plan
    }

    /// What a run costs.
    pub fn cost(&self) -> Cost {
        let mut total = Cost::default();
        self.costs.iter().for_each(|&cost| total += cost);
        total
    }

    /// The buffer that this one is a part of, or itself.
    fn home(&self, buffer: u32) -> u32 {
        self.buffers[buffer as usize].within.map_or(buffer, |(home, _)| home)
    }

    /// Gives each temporary a memory slot; a slot is free again after the last kernel that reads it.
    fn place_temporaries(&mut self, element_bytes: fn(DType) -> u64) {
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

/// The value a chain of reshapes starts from, where that one can be stored instead.
fn reshaped_from(nodes: &[graph::GraphNode], root: Ref) -> Ref {
    let mut value = root;
    while let Some(Op::View(View::Reshape)) = &nodes[value.node as usize].op {
        value = nodes[value.node as usize].inputs[0];
    }
    match &nodes[value.node as usize].op {
        Some(op) if op.is_source() || matches!(op, Op::View(_)) => root,
        _ => value,
    }
}
