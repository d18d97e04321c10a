//! Legal fusions: whatever a kernel uses is computed in it or lies in memory, kernels keep their limits, and none waits
//! for itself.

use super::{Verdict, in_a_cycle};
use crate::ir::call::Layout;
use crate::op::Op;
use crate::plan::fuse::{Fusion, MAX_BINDINGS, MAX_OPS, Role};
use crate::plan::graph::{Graph, Ref};
use crate::plan::reads::held_by;
use std::collections::{BTreeSet, HashSet};

pub(super) fn is_legal(graph: &Graph, fusion: &Fusion) -> Verdict {
    let count = graph.nodes.len();
    if [fusion.roles.len(), fusion.stored.len(), fusion.rules.len()] != [count; 3] {
        return Err(format!("not all of {count} nodes have a role"));
    }
    (0..count).try_for_each(|index| role_fits(graph, fusion, index))?;
    outputs_are_stored_members(graph, fusion)?;
    if let Some(root) = graph.roots.iter().find(|root| !fusion.stored[root.node as usize]) {
        return Err(format!("the root {root:?} is not stored"));
    }
    let kernels: Vec<Reads> =
        (0..fusion.groups.len()).map(|group| Reads::of(graph, fusion, group)).collect::<Result<_, _>>()?;
    keep_limits(fusion, &kernels)?;
    members_are_used(fusion, &kernels)?;
    is_acyclic(graph, fusion, &kernels)
}

/// A role suits the node's op, and whether it is stored.
fn role_fits(graph: &Graph, fusion: &Fusion, index: usize) -> Verdict {
    let op = graph.nodes[index].op.as_ref();
    let stored = fusion.stored[index];
    let fits = match fusion.roles[index] {
        Role::Input => op.is_none() && stored,
        Role::Structured => op.and_then(Op::structured).is_some() && stored,
        Role::Member { group, .. } => {
            (group as usize) < fusion.groups.len() && op.is_some_and(|op| op.structured().is_none())
        }
        Role::Recomputed => matches!(op, Some(Op::Map(_) | Op::Cast)) && !stored,
        Role::Transparent => op.is_some() && !stored,
    };
    match fits {
        true => Ok(()),
        false => Err(format!(
            "node {index} ({}) is {:?}, stored: {stored}",
            op.map_or("input", Op::name),
            fusion.roles[index]
        )),
    }
}

/// A kernel stores members of its own, at the path they have, and every stored member is stored by its kernel, once.
fn outputs_are_stored_members(graph: &Graph, fusion: &Fusion) -> Verdict {
    let mut by_kernel = vec![false; graph.nodes.len()];
    for (group, kernel) in fusion.groups.iter().enumerate() {
        if kernel.outputs.is_empty() {
            return Err(format!("kernel {group} stores nothing"));
        }
        for &(node, path) in &kernel.outputs {
            let here = Role::Member { group: group as u32, path };
            if fusion.roles[node as usize] != here || !fusion.stored[node as usize] {
                return Err(format!("kernel {group} stores node {node}, which is no stored part of it"));
            }
            if std::mem::replace(&mut by_kernel[node as usize], true) {
                return Err(format!("node {node} is stored twice"));
            }
        }
    }
    let is_lost = |&index: &usize| {
        matches!(fusion.roles[index], Role::Member { .. }) && fusion.stored[index] && !by_kernel[index]
    };
    match (0..graph.nodes.len()).find(is_lost) {
        Some(index) => Err(format!("node {index} has memory, and its kernel does not store it")),
        None => Ok(()),
    }
}

/// What a kernel computes and what it reads, found by going from its results to memory, as lowering does.
struct Reads {
    computed: HashSet<u32>,
    values: BTreeSet<Ref>,
}

impl Reads {
    fn of(graph: &Graph, fusion: &Fusion, group: usize) -> Result<Reads, String> {
        let mut stack: Vec<u32> = fusion.groups[group].outputs.iter().map(|&(node, _)| node).collect();
        let mut reads = Reads { computed: stack.iter().copied().collect(), values: BTreeSet::new() };
        while let Some(index) = stack.pop() {
            let node = &graph.nodes[index as usize];
            for (position, &input) in node.inputs.iter().enumerate() {
                let from_memory = position == 0 && matches!(node.op, Some(Op::Gather { .. }));
                let value = match from_memory {
                    true => held_by(graph, input, Layout::Strided),
                    false => graph.base(input),
                };
                let is_source = graph.node(value).op.as_ref().is_some_and(Op::is_source);
                let here = match fusion.roles[value.node as usize] {
                    Role::Member { group: other, .. } => other as usize == group,
                    Role::Recomputed => true,
                    _ => false,
                };
                if here && !from_memory {
                    if reads.computed.insert(value.node) {
                        stack.push(value.node);
                    }
                } else if fusion.stored[value.node as usize] && (from_memory || !is_source) {
                    reads.values.insert(value);
                } else if from_memory || !is_source {
                    return Err(format!("kernel {group} needs node {}, which nothing stores", value.node));
                }
            }
        }
        Ok(reads)
    }
}

/// The fuser counted what a kernel reads, and it is not too much.
fn keep_limits(fusion: &Fusion, kernels: &[Reads]) -> Verdict {
    for (group, (kernel, reads)) in fusion.groups.iter().zip(kernels).enumerate() {
        if let Some(value) = reads.values.iter().find(|value| !kernel.inputs.contains(value)) {
            return Err(format!("kernel {group} reads {value:?}, which was not counted"));
        }
        if let Some(value) = kernel.inputs.iter().find(|value| !reads.values.contains(value)) {
            return Err(format!("kernel {group} does not read {value:?}, which was counted"));
        }
        let bindings = reads.values.len() + kernel.outputs.len();
        if bindings > MAX_BINDINGS || kernel.ops > MAX_OPS {
            return Err(format!("kernel {group} binds {bindings} buffers and has {} ops", kernel.ops));
        }
    }
    Ok(())
}

fn members_are_used(fusion: &Fusion, kernels: &[Reads]) -> Verdict {
    for (index, role) in fusion.roles.iter().enumerate() {
        if let Role::Member { group, .. } = role
            && !kernels[*group as usize].computed.contains(&(index as u32))
        {
            return Err(format!("node {index} is part of kernel {group}, which does not use it"));
        }
    }
    Ok(())
}

fn is_acyclic(graph: &Graph, fusion: &Fusion, kernels: &[Reads]) -> Verdict {
    let mut waits: Vec<Vec<Ref>> =
        kernels.iter().map(|reads| reads.values.iter().copied().collect()).collect();
    let mut maker: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    for (index, role) in fusion.roles.iter().enumerate() {
        maker[index] = match role {
            Role::Member { group, .. } => Some(*group as usize),
            Role::Structured => Some(waits.len()),
            _ => None,
        };
        if let (Role::Structured, Some(op)) = (role, graph.nodes[index].op.as_ref().and_then(Op::structured))
        {
            let operands = graph.nodes[index].inputs.iter().enumerate();
            let held = operands.map(|(position, &input)| held_by(graph, input, op.layout(position)));
            let held: Vec<Ref> = held.collect();
            if let Some(value) = held.iter().find(|value| !fusion.stored[value.node as usize]) {
                return Err(format!("{} needs {value:?}, which nothing stores", op.name()));
            }
            waits.push(held);
        }
    }
    let made_by = |values: &Vec<Ref>| values.iter().filter_map(|value| maker[value.node as usize]).collect();
    let waits: Vec<Vec<usize>> = waits.iter().map(made_by).collect();
    let Some(kernel) = in_a_cycle(&waits) else { return Ok(()) };
    let nodes: Vec<usize> = (0..maker.len()).filter(|&node| maker[node] == Some(kernel)).collect();
    Err(format!("the kernel of the nodes {nodes:?} waits for itself"))
}
