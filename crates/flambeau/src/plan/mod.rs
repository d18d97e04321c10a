//! Plans: what an evaluation runs. Made once per graph structure, cached, and run again with other inputs and data.
//!
//! The passes, in order, each in a file of its own:
//!
//! 1. `graph`: the snapshot of the nodes that are needed, and its key;
//! 2. `expand`: composites become primitives;
//! 3. `fuse`: which nodes share a kernel, by the `rules`; `space` (a kernel's coordinates), `kernel_inputs` (what it would
//!    read), `recompute` (what is computed twice) and `reads` (through which memory a value is read) help it;
//! 4. `lower`: kernels, instructions, accesses; `phases`: kernels that go over their rows more than once;
//! 5. `epilogue`: elementwise work joins the product or convolution before it;
//! 6. `pack`: values are written where they are packed;
//! 7. `memory`: temporaries share slots;
//! 8. `cost`: FLOPs and bytes.
//!
//! `verify` says what a legal plan is, pass by pass, `explain` and `dump` write one down. Nothing here knows a backend.

mod cost;
mod dump;
mod epilogue;
pub(crate) mod expand;
mod explain;
mod few;
mod fuse;
pub(crate) mod graph;
mod kernel_inputs;
mod lower;
mod memory;
mod pack;
mod phases;
mod reads;
mod recompute;
mod rules;
mod space;
#[cfg(test)]
mod tests;
mod verify;

use crate::dtype::DType;
use crate::ir::kernel::{Kernel, Place, PlanBuffer};
use crate::op::{Op, View};
pub(crate) use cost::Cost;
pub(crate) use dump::dump;
pub(crate) use explain::explain;
use graph::{Graph, Ref};
use lower::Lowered;
use rules::Rule;
use rustc_hash::FxHashSet;

/// Kernels in running order, with their memory.
#[derive(Debug)]
pub(crate) struct Plan {
    pub kernels: Vec<Kernel>,
    pub buffers: Vec<PlanBuffer>,
    /// Bytes of each memory slot that temporaries share.
    pub slots: Vec<u64>,
    /// Bytes of all temporaries: what they would take if none had the memory of another.
    pub temporary_bytes: u64,
    /// Where each of the graph's roots lies afterwards.
    pub roots: Vec<Place>,
    /// What a run of each kernel costs.
    pub costs: Vec<Cost>,
    /// Why each node of the graph is where it is.
    pub rules: Vec<Rule>,
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
    /// Makes the plan of a graph: the passes, in order.
    pub fn new(graph: Graph, options: PlanOptions) -> Plan {
        let graph = share_reshaped_roots(graph);
        let fusion = fuse::fuse(&graph, options.fuse);
        verify::check(|| verify::after_fuse(&graph, &fusion));
        let rules = fusion.rules.clone();
        let mut lowered = lower::lower(&graph, fusion);
        verify::check(|| verify::after_lower(&graph, &lowered));
        if options.fuse {
            epilogue::fuse(&mut lowered, &graph.roots);
            verify::check(|| verify::after_epilogue(&graph, &lowered));
        }
        let mut plan = Plan::of(lowered, &graph, rules);
        if options.pack_in_place {
            let unpacked = if cfg!(debug_assertions) { plan.kernels.clone() } else { Vec::new() };
            pack::pack_in_place(&mut plan, &graph, options.element_bytes);
            verify::check(|| verify::after_pack(&graph, &plan, &unpacked, options.element_bytes));
        }
        plan.place_temporaries(options.element_bytes);
        verify::check(|| verify::after_memory(&graph, &plan, options.element_bytes));
        plan.costs = Cost::of_kernels(&plan, &graph, options.element_bytes);
        plan
    }

    /// Lowered kernels with their buffers, none of which has a place yet.
    fn of(lowered: Lowered, graph: &Graph, rules: Vec<Rule>) -> Plan {
        let roots: Vec<Place> = graph.roots.iter().map(|root| lowered.places[root]).collect();
        let kept: FxHashSet<Place> = roots.iter().copied().collect();
        let buffers = lowered.buffers.iter().enumerate().map(|(index, &value)| {
            let meta = graph.meta(value);
            let root = kept.contains(&Place::Buffer(index as u32));
            PlanBuffer { dtype: meta.dtype, numel: meta.numel(), root, slot: usize::MAX, within: None }
        });
        Plan {
            buffers: buffers.collect(),
            kernels: lowered.kernels,
            slots: Vec::new(),
            temporary_bytes: 0,
            roots,
            costs: Vec::new(),
            rules,
        }
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
}

/// A root that only reshapes a stored value shares its memory.
fn share_reshaped_roots(mut graph: Graph) -> Graph {
    let shared = graph.roots.iter().map(|&root| reshaped_from(&graph.nodes, root)).collect();
    let wanted = std::mem::replace(&mut graph.roots, shared);
    verify::check(|| verify::after_sharing_roots(&graph, &wanted));
    graph
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
