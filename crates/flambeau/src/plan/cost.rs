//! What a run of a plan costs, counted from its kernels: arithmetic, and bytes of operands.

use super::Plan;
use super::graph::Graph;
use crate::dtype::DType;
use crate::ir::Meta;
use crate::ir::kernel::{Fused, Inst, InstKind, Kernel, Place};
use crate::shape::product;
use std::ops::AddAssign;

/// The cost of a kernel, or of all kernels of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Coordinates that are run over: those of the results, times those that are reduced.
    pub elements: u64,
    /// Multiplications and additions of products and convolutions; one for every other op and element.
    pub flops: u64,
    /// Bytes of the operands read and of the results expanded, each counted once.
    pub bytes: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.elements = self.elements.saturating_add(other.elements);
        self.flops = self.flops.saturating_add(other.flops);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The bytes of what lies at each place of a plan.
pub(crate) fn bytes_of<'a>(
    plan: &'a Plan,
    graph: &'a Graph,
    element_bytes: fn(DType) -> u64,
) -> impl Fn(Place) -> u64 + 'a {
    let inputs: Vec<&Meta> =
        graph.nodes.iter().filter(|node| node.op.is_none()).flat_map(|node| &node.outputs).collect();
    move |place| match place {
        Place::Input(input) => {
            let meta = inputs[input as usize];
            meta.numel() as u64 * element_bytes(meta.dtype)
        }
        Place::Buffer(buffer) => {
            let buffer = &plan.buffers[buffer as usize];
            buffer.numel as u64 * element_bytes(buffer.dtype)
        }
    }
}

impl Cost {
    /// The cost of each kernel of a plan made from a graph.
    pub fn of_kernels(plan: &Plan, graph: &Graph, element_bytes: fn(DType) -> u64) -> Vec<Cost> {
        let bytes_of = bytes_of(plan, graph, element_bytes);
        let cost = |kernel: &Kernel| {
            let operands = kernel.inputs().into_iter().chain(kernel.outputs());
            Cost {
                elements: elements(kernel),
                flops: flops(kernel),
                bytes: operands.map(&bytes_of).fold(0, u64::saturating_add),
            }
        };
        plan.kernels.iter().map(cost).collect()
    }
}

fn elements(kernel: &Kernel) -> u64 {
    match kernel {
        Kernel::Fused(fused) => product(&fused.space) as u64,
        Kernel::Structured(call) => call.outputs.first().map_or(0, |(_, meta)| meta.numel() as u64),
    }
}

/// The arithmetic of a kernel.
fn flops(kernel: &Kernel) -> u64 {
    match kernel {
        Kernel::Fused(fused) => fused_flops(fused),
        Kernel::Structured(call) => {
            call.op.flops(call).saturating_add(call.epilogue.as_deref().map_or(0, fused_flops))
        }
    }
}

fn fused_flops(fused: &Fused) -> u64 {
    let (outer, all) = (fused.outer_count() as u64, product(&fused.space) as u64);
    let of = |inst: &Inst| match &inst.kind {
        InstKind::Map { .. } if inst.inner => all,
        InstKind::Map { .. } => outer,
        InstKind::Reduce { .. } => all,
        _ => 0,
    };
    fused.insts.iter().map(of).fold(0, u64::saturating_add)
}
