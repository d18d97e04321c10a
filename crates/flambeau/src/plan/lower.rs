//! Turns a fusion into kernels: instructions, accesses, operands, and the order they run in.

use super::fuse::{Fusion, Paths, Role, Step};
use super::graph::{Graph, Ref};
use super::reads::{access_of, held_by};
use super::space::{Space, same_elements};
use crate::host::{mapped_with, sorted_by};
use crate::ir::GpuSize;
use crate::ir::access::{Access, Axis, Level, collapse};
use crate::ir::call::{LEAST_WORKGROUP_MEMORY, Layout, Operand, StructuredCall};
use crate::ir::kernel::{Fused, Inst, InstKind, Kernel, Output, Place};
use crate::ir::program::Tier;
use crate::op::{Op, View};
use crate::shape::Shape;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Kernels that a thread lowers, at least.
const FEWEST_GROUPS: usize = 8;

/// Kernels in running order, and where every stored value lies.
pub(crate) struct Lowered {
    pub kernels: Vec<Kernel>,
    pub places: FxHashMap<Ref, Place>,
    /// The graph value of every plan buffer.
    pub buffers: Vec<Ref>,
}

pub(crate) fn lower(graph: &Graph, fusion: Fusion) -> Lowered {
    let (mut places, mut buffers, mut inputs) = (FxHashMap::default(), Vec::new(), 0);
    for (index, node) in graph.nodes.iter().enumerate() {
        for output in 0..node.outputs.len() as u32 {
            let value = Ref { node: index as u32, output };
            if node.op.is_none() {
                places.insert(value, Place::Input(inputs));
                inputs += 1;
            } else if fusion.stored[index] {
                places.insert(value, Place::Buffer(buffers.len() as u32));
                buffers.push(value);
            }
        }
    }
    // Kernels do not look at each other; paths that one adds mean nothing to the others.
    let groups: Vec<usize> = (0..fusion.groups.len()).collect();
    let lowered = |paths: &mut Paths, &group: &usize| {
        let program_order = fusion.groups[group].outputs.iter().map(|&(node, _)| node).max().unwrap_or(0);
        (program_order, Kernel::Fused(Emitter::new(graph, &fusion, paths, &places, group).finish()))
    };
    let mut kernels: Vec<(u32, Kernel)> =
        mapped_with(&groups, FEWEST_GROUPS, || fusion.paths.clone(), lowered);
    for (index, role) in fusion.roles.iter().enumerate() {
        if *role == Role::Structured {
            kernels.push((index as u32, Kernel::Structured(structured(graph, &places, index as u32))));
        }
    }
    let kernels = sorted_by(kernels, |&(program_order, _)| program_order.into());
    let kernels = in_running_order(kernels.into_iter().map(|(_, kernel)| kernel).collect(), buffers.len());
    Lowered { kernels, places, buffers }
}

fn structured(graph: &Graph, places: &FxHashMap<Ref, Place>, index: u32) -> StructuredCall {
    let node = &graph.nodes[index as usize];
    let op = node.op.as_ref().and_then(Op::structured).expect("a structured node has a structured op");
    let operands = node.inputs.iter().enumerate().map(|(position, &input)| {
        let held = held_by(graph, input, op.layout(position));
        Operand {
            place: places[&held],
            meta: graph.meta(input).clone(),
            access: access_of(graph, input, held),
        }
    });
    let inputs = operands.collect();
    let outputs = (0..node.outputs.len() as u32).map(|output| {
        let value = Ref { node: index, output };
        (places[&value], graph.meta(value).clone())
    });
    StructuredCall {
        outputs: outputs.collect(),
        inputs,
        data_start: node.data_start,
        node: index,
        op: op.kernels(),
        tier: Tier::General,
        block: None,
        subgroups: false,
        gpu: GpuSize::default(),
        workgroup_memory: LEAST_WORKGROUP_MEMORY,
        units: None,
        precision: node.precision,
        epilogue: None,
    }
}

/// Sorts kernels so that each comes after those it reads from, and otherwise in the order given.
pub(super) fn in_running_order(kernels: Vec<Kernel>, buffers: usize) -> Vec<Kernel> {
    let mut producer = vec![usize::MAX; buffers];
    for (index, kernel) in kernels.iter().enumerate() {
        for place in kernel.outputs() {
            if let Place::Buffer(buffer) = place {
                producer[buffer as usize] = index;
            }
        }
    }
    let mut order = Vec::with_capacity(kernels.len());
    let mut done = vec![false; kernels.len()];
    let mut stack: Vec<usize> = (0..kernels.len()).rev().collect();
    while let Some(&index) = stack.last() {
        if done[index] {
            stack.pop();
            continue;
        }
        let waits = kernels[index].inputs().into_iter().filter_map(|place| match place {
            Place::Buffer(buffer) => Some(producer[buffer as usize]),
            Place::Input(_) => None,
        });
        let before = stack.len();
        stack.extend(waits.filter(|&producer| !done[producer]));
        assert!(stack.len() <= 2 * kernels.len() * kernels.len() + 2, "the fusion has a cycle");
        if stack.len() == before {
            done[index] = true;
            order.push(index);
            stack.pop();
        }
    }
    let mut kernels: Vec<Option<Kernel>> = kernels.into_iter().map(Some).collect();
    order.into_iter().filter_map(|index| kernels[index].take()).collect()
}

/// Writes the instructions of one fused kernel.
struct Emitter<'a> {
    graph: &'a Graph,
    fusion: &'a Fusion,
    paths: &'a mut Paths,
    places: &'a FxHashMap<Ref, Place>,
    group: usize,
    space: Space,
    insts: Vec<Inst>,
    inputs: Vec<(Place, crate::dtype::DType)>,
    known: FxHashMap<(Ref, u32), usize>,
}

impl<'a> Emitter<'a> {
    fn new(
        graph: &'a Graph,
        fusion: &'a Fusion,
        paths: &'a mut Paths,
        places: &'a FxHashMap<Ref, Place>,
        group: usize,
    ) -> Self {
        let space = fusion.groups[group].space.clone();
        let (insts, inputs, known) = (Vec::new(), Vec::new(), FxHashMap::default());
        Emitter { graph, fusion, paths, places, group, space, insts, inputs, known }
    }

    fn finish(mut self) -> Fused {
        let outputs = self.fusion.groups[self.group].outputs.clone();
        let stored = outputs.into_iter().map(|(node, path)| {
            let value = Ref { node, output: 0 };
            let meta = self.graph.meta(value);
            Output {
                inst: self.compute(value, path),
                place: self.places[&value],
                dtype: meta.dtype,
                access: self.climb(Access::contiguous(&meta.shape), path),
                per_element: false,
            }
        });
        let outputs = stored.collect();
        let (order, kept) = self.space.order();
        let space: Vec<usize> = order.iter().map(|&axis| self.space.sizes[axis]).collect();
        let mut kernel =
            Fused { space, kept, insts: self.insts, inputs: self.inputs, outputs, phases: Vec::new() };
        kernel.find_phases(&self.space);
        let sorted = Shape::new(&kernel.space);
        let loads = kernel.insts.iter_mut().filter_map(|inst| inst.kind.access_mut());
        let mut accesses: Vec<&mut Access> =
            loads.chain(kernel.outputs.iter_mut().map(|output| &mut output.access)).collect();
        for access in &mut accesses {
            **access = std::mem::take(*access).through(&View::Permute(order.clone()), &sorted, 0);
            let axes = access.levels[0].axes.iter_mut();
            axes.filter(|axis| axis.size == 1 && axis.hole.is_none()).for_each(|axis| axis.stride = 0);
        }
        kernel.kept = collapse(&mut kernel.space, kept, &mut accesses);
        kernel
    }

    /// The instruction whose result is the value at this path, looking through views.
    fn emit(&mut self, mut value: Ref, mut path: u32) -> usize {
        let mut pads = false;
        while let Some(view) = self.graph.node(value).view() {
            pads |= matches!(view, View::Embed { .. });
            path = self.paths.of(Step::View { parent: path, view: value.node });
            value = self.graph.node(value).inputs[0];
        }
        let is_source = self.graph.node(value).op.as_ref().is_some_and(Op::is_source);
        // All its uses here are at paths that find the same elements.
        let here = match self.fusion.roles[value.node as usize] {
            Role::Member { group, path } if group as usize == self.group => Some(path),
            Role::Recomputed => Some(path),
            _ => is_source.then_some(path),
        };
        if let Some(path) = here {
            let result = self.compute(value, path);
            if pads && !is_source {
                let access = self.climb(Access::contiguous(&self.graph.meta(value).shape), path);
                return self.push(InstKind::Mask { arg: result, access }, value, path);
            }
            return result;
        }
        self.once(value, path, |this| {
            let access = this.climb(Access::contiguous(&this.graph.meta(value).shape), path);
            let operand = this.operand(value);
            InstKind::Load { operand, access }
        })
    }

    /// The instruction that computes a value here.
    fn compute(&mut self, value: Ref, path: u32) -> usize {
        let graph = self.graph;
        let node = graph.node(value);
        let shape = &node.outputs[0].shape;
        match node.op.as_ref().expect("inputs are loaded, not computed") {
            Op::View(view) => {
                let inner = self.paths.of(Step::View { parent: path, view: value.node });
                let result = self.emit(node.inputs[0], inner);
                let computed = self.insts[result].kind.access().is_none();
                if matches!(view, View::Embed { .. }) && computed {
                    let access = self.climb(Access::contiguous(&graph.meta(node.inputs[0]).shape), inner);
                    return self.push(InstKind::Mask { arg: result, access }, value, path);
                }
                result
            }
            Op::Constant => self.once(value, path, |this| InstKind::Constant {
                data_start: node.data_start,
                access: this.climb(Access::contiguous(shape), path),
            }),
            Op::Iota { dim } => self.once(value, path, |this| InstKind::Index {
                access: this.climb(Access::coordinate(shape, *dim), path),
            }),
            Op::Bits => self.once(value, path, |this| InstKind::Bits {
                data_start: node.data_start,
                access: this.climb(Access::contiguous(shape), path),
            }),
            Op::Healthy => self.once(value, path, |_| InstKind::Healthy),
            Op::Map(op) => self.once(value, path, |this| InstKind::Map {
                op,
                args: node.inputs.iter().map(|&input| this.emit(input, path)).collect(),
            }),
            Op::Cast => {
                self.once(value, path, |this| InstKind::Cast { arg: this.emit(node.inputs[0], path) })
            }
            Op::Gather { dim } => self.once(value, path, |this| this.gather(value, *dim, path)),
            Op::Reduce(reduce) => self.once(value, path, |this| {
                let inner = this.paths.of(Step::Inner(value.node));
                InstKind::Reduce { arg: this.emit(node.inputs[0], inner), reduce: reduce.clone() }
            }),
            op @ (Op::Structured(_) | Op::Composite(_) | Op::Unsaved | Op::Placeholder) => {
                unreachable!("{} is never fused", op.name())
            }
        }
    }

    fn gather(&mut self, value: Ref, dim: usize, path: u32) -> InstKind {
        let graph = self.graph;
        let node = graph.node(value);
        let source = node.inputs[0];
        let held = held_by(graph, source, Layout::Strided);
        let from = access_of(graph, source, held);
        let level = &from.levels[0];
        let axes =
            level.axes.iter().zip(node.outputs[0].shape.iter()).enumerate().map(|(d, (axis, &size))| Axis {
                size,
                stride: if d == dim { 0 } else { axis.stride },
                hole: None,
            });
        let here = Level { axes: axes.collect(), offset: level.offset.clone() };
        let access = self.climb(Access { levels: SmallVec::from_elem(here, 1) }, path);
        let index = self.emit(node.inputs[1], path);
        let (stride, size) = (level.axes[dim].stride, level.axes[dim].size);
        let operand = self.operand(held);
        InstKind::Gather { operand, access, index, stride, size }
    }

    fn climb(&self, access: Access, path: u32) -> Access {
        self.space.climb(self.graph, self.paths, access, path)
    }

    fn once(&mut self, value: Ref, path: u32, make: impl FnOnce(&mut Self) -> InstKind) -> usize {
        if let Some(&known) = self.known.get(&(value, path)) {
            return known;
        }
        let kind = make(self);
        let inner = self.paths.is_inner(path);
        let position = self.alike(&kind, inner).unwrap_or_else(|| self.push(kind, value, path));
        self.known.insert((value, path), position);
        position
    }

    /// An instruction that already reads the same elements of the same operand.
    fn alike(&self, kind: &InstKind, inner: bool) -> Option<usize> {
        let InstKind::Load { operand, access } = kind else { return None };
        let crosses = self.space.rows.as_ref().is_some_and(|rows| rows.broadcast);
        self.insts.iter().position(|inst| match &inst.kind {
            InstKind::Load { operand: known, access: at } => {
                known == operand && (crosses || inst.inner == inner) && same_elements(at, access)
            }
            _ => false,
        })
    }

    fn push(&mut self, kind: InstKind, value: Ref, path: u32) -> usize {
        let inner = self.paths.is_inner(path);
        self.insts.push(Inst { kind, dtype: self.graph.meta(value).dtype, inner, node: value.node });
        self.insts.len() - 1
    }

    fn operand(&mut self, value: Ref) -> usize {
        let entry = (self.places[&value], self.graph.meta(value).dtype);
        self.inputs.iter().position(|known| *known == entry).unwrap_or_else(|| {
            self.inputs.push(entry);
            self.inputs.len() - 1
        })
    }
}
