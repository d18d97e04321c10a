//! Epilogues: elementwise work that follows a product or a convolution is done by its kernel, on each result while it
//! is still in a register.
//!
//! A fused kernel without reductions that reads a structured kernel's results in their order is taken into it. Where
//! others read the results too, they are stored beside what the epilogue makes of them.

use super::fuse::{Fuser, MAX_BINDINGS, MAX_LOOKBACK};
use super::graph::Ref;
use super::lower::{Lowered, in_running_order};
use super::verify;
use crate::ir::call::StructuredCall;
use crate::ir::kernel::{Fused, InstKind, Kernel, Output, Place};
use crate::op::{Op, View};

/// Elementwise ops an epilogue may hold: shaders repeat it for every result of a thread.
const MAX_OPS: usize = 24;
/// How far the search for a cycle goes before it gives up and keeps the kernels apart.
const MAX_SEARCH: usize = 512;

impl Fuser<'_> {
    /// Is it made, element by element, from the results of a structured kernel that nothing else reads? That kernel will
    /// do it then (`epilogue`).
    pub fn may_be_epilogue(&self, index: u32) -> bool {
        let numel = self.graph.nodes[index as usize].outputs[0].numel();
        let (mut stack, mut seen) = (vec![index], 0);
        while let Some(node) = stack.pop() {
            seen += 1;
            let node = &self.graph.nodes[node as usize];
            match &node.op {
                Some(Op::Map(_) | Op::Cast | Op::View(View::Reshape)) if seen <= MAX_LOOKBACK => {
                    let alone = |input: &&Ref| self.consumers[input.node as usize].len() == 1;
                    let inputs = node.inputs.iter().filter(alone).map(|input| input.node);
                    stack.extend(inputs);
                }
                Some(op)
                    if node.outputs.len() == 1
                        && node.outputs[0].numel() == numel
                        && op.structured().is_some_and(|op| op.takes_epilogue()) =>
                {
                    return true;
                }
                _ => {}
            }
        }
        false
    }
}

/// Takes fused kernels into the structured kernels whose results they read, wherever that is possible.
pub(super) fn fuse(lowered: &mut Lowered, roots: &[Ref]) {
    let kept: Vec<Place> = roots.iter().map(|root| lowered.places[root]).collect();
    let mut kernels = Kernels::new(std::mem::take(&mut lowered.kernels), lowered.buffers.len());
    let mut changed = false;
    for index in 0..kernels.list.len() {
        changed |= kernels.join_producer(index, &kept);
    }
    let list: Vec<Kernel> = kernels.list.into_iter().flatten().collect();
    verify::check(|| verify::after_joining_epilogues(&list, lowered.buffers.len()));
    lowered.kernels = match changed {
        true => in_running_order(list, lowered.buffers.len()),
        false => list,
    };
    if changed {
        drop_unused_buffers(lowered, roots);
    }
}

/// Kernels, with who makes and who reads each buffer; None for those that have become epilogues' other halves.
struct Kernels {
    list: Vec<Option<Kernel>>,
    producers: Vec<usize>,
    readers: Vec<Vec<usize>>,
}

impl Kernels {
    fn new(list: Vec<Kernel>, buffers: usize) -> Kernels {
        let (mut producers, mut readers) = (vec![usize::MAX; buffers], vec![Vec::new(); buffers]);
        for (index, kernel) in list.iter().enumerate() {
            kernel.outputs().into_iter().filter_map(buffer_of).for_each(|buffer| producers[buffer] = index);
            kernel.inputs().into_iter().filter_map(buffer_of).for_each(|buffer| readers[buffer].push(index));
        }
        Kernels { list: list.into_iter().map(Some).collect(), producers, readers }
    }

    /// Makes the kernel the epilogue of one whose results it reads, if it can be; of the last one where there are
    /// several.
    fn join_producer(&mut self, index: usize, roots: &[Place]) -> bool {
        let Some(Kernel::Fused(fused)) = &self.list[index] else { return false };
        if !is_elementwise(fused) {
            return false;
        }
        let operands = (0..fused.inputs.len()).filter_map(|operand| {
            let producer = self.producers[buffer_of(fused.inputs[operand].0)?];
            let Some(Kernel::Structured(call)) = &self.list[producer] else { return None };
            let keeps = self.keeps(call, index, roots);
            let bindings = call.inputs.len() + fused.inputs.len() - 1 + fused.outputs.len() + keeps as usize;
            let fits = takes(call) && reads_in_order(fused, operand, call) && bindings <= MAX_BINDINGS;
            (fits && !(keeps && self.waits_for(fused, operand, producer)))
                .then_some((producer, operand, keeps))
        });
        let Some((producer, operand, keeps)) = operands.max() else { return false };
        let (Some(Kernel::Structured(call)), Some(Kernel::Fused(fused))) =
            (self.list[producer].take(), self.list[index].take())
        else {
            unreachable!("both were just looked at")
        };
        let joined = with_epilogue(call, fused, operand, keeps);
        for buffer in joined.output_places().into_iter().filter_map(buffer_of) {
            self.producers[buffer] = index;
        }
        for place in joined.inputs.iter().map(|operand| operand.place) {
            if let Some(buffer) = buffer_of(place) {
                self.readers[buffer].retain(|&reader| reader != producer);
                self.readers[buffer].push(index);
            }
        }
        self.list[index] = Some(Kernel::Structured(joined));
        true
    }

    /// Are the call's results needed by others than this kernel?
    fn keeps(&self, call: &StructuredCall, index: usize, roots: &[Place]) -> bool {
        let place = call.outputs[0].0;
        let read = |buffer: usize| self.readers[buffer].iter().any(|&reader| reader != index);
        roots.contains(&place) || buffer_of(place).is_some_and(read)
    }

    /// Does the kernel read, beside that operand, what can only be computed after `producer`? (Says yes where that
    /// takes long to find out.)
    fn waits_for(&self, fused: &Fused, operand: usize, producer: usize) -> bool {
        let made_by = |place: Place| buffer_of(place).map(|buffer| self.producers[buffer]);
        let others = fused.inputs.iter().enumerate().filter(|&(other, _)| other != operand);
        let mut stack: Vec<usize> = others.filter_map(|(_, &(place, _))| made_by(place)).collect();
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(kernel) = stack.pop() {
            if kernel == producer || seen.len() > MAX_SEARCH {
                return true;
            }
            if seen.insert(kernel) {
                let inputs = self.list[kernel].as_ref().map(Kernel::inputs).unwrap_or_default();
                stack.extend(inputs.into_iter().filter_map(made_by));
            }
        }
        false
    }
}

fn buffer_of(place: Place) -> Option<usize> {
    match place {
        Place::Buffer(buffer) => Some(buffer as usize),
        Place::Input(_) => None,
    }
}

/// May the call be given an epilogue?
fn takes(call: &StructuredCall) -> bool {
    call.epilogue.is_none() && call.outputs.len() == 1 && call.op.takes_epilogue()
}

/// Is it a few ops on each element, none of which can fail or costs much more than the others?
fn is_elementwise(fused: &Fused) -> bool {
    let plain = fused.insts.iter().all(|inst| match inst.kind {
        InstKind::Load { .. }
        | InstKind::Constant { .. }
        | InstKind::Index { .. }
        | InstKind::Map { .. }
        | InstKind::Cast { .. }
        | InstKind::Mask { .. } => true,
        InstKind::Bits { .. } | InstKind::Healthy | InstKind::Gather { .. } | InstKind::Reduce { .. } => {
            false
        }
    });
    let ops = fused.insts.iter().filter(|inst| matches!(inst.kind, InstKind::Map { .. })).count();
    plain && ops <= MAX_OPS && fused.phases.is_empty()
}

/// Does the kernel's element i come from the call's result i?
fn reads_in_order(fused: &Fused, operand: usize, call: &StructuredCall) -> bool {
    let in_order = |kind: &InstKind| match kind {
        InstKind::Load { operand: read, access } if *read == operand => access.is_contiguous(),
        _ => true,
    };
    fused.outer_count() == call.outputs[0].1.numel() && fused.insts.iter().all(|inst| in_order(&inst.kind))
}

fn with_epilogue(mut call: StructuredCall, mut fused: Fused, operand: usize, keeps: bool) -> StructuredCall {
    let (place, dtype) = fused.inputs.remove(operand);
    let last = fused.inputs.len();
    let mut result = None;
    for (position, inst) in fused.insts.iter_mut().enumerate() {
        if let InstKind::Load { operand: read, access } = &mut inst.kind {
            if *read == operand {
                *read = last;
                result = Some((position, access.clone()));
            } else if *read > operand {
                *read -= 1;
            }
        }
    }
    if let Some((inst, access)) = result.filter(|_| keeps) {
        fused.outputs.push(Output { inst, place, dtype, access, per_element: false });
    }
    call.outputs[0].0 = fused.outputs[0].place;
    call.epilogue = Some(Box::new(fused));
    call
}

/// Numbers the buffers anew, without those that no kernel writes any more.
fn drop_unused_buffers(lowered: &mut Lowered, roots: &[Ref]) {
    let mut used = vec![false; lowered.buffers.len()];
    let named = lowered.kernels.iter().flat_map(|kernel| kernel.inputs().into_iter().chain(kernel.outputs()));
    let kept = roots.iter().map(|root| lowered.places[root]);
    named.chain(kept).filter_map(buffer_of).for_each(|buffer| used[buffer] = true);
    let mut next = 0;
    let numbers: Vec<Option<u32>> = used
        .iter()
        .map(|&used| {
            next += used as u32;
            used.then(|| next - 1)
        })
        .collect();
    let renumber = |place: &mut Place| {
        if let Place::Buffer(buffer) = place {
            *buffer = numbers[*buffer as usize].unwrap_or(u32::MAX);
        }
    };
    lowered.kernels.iter_mut().flat_map(Kernel::places_mut).for_each(renumber);
    lowered.places.retain(|_, place| buffer_of(*place).is_none_or(|buffer| used[buffer]));
    lowered.places.values_mut().for_each(renumber);
    let mut used = used.into_iter();
    lowered.buffers.retain(|_| used.next().unwrap_or(true));
}
