//! Kernels of few values, which would take a kernel each: what statistics end in (a batch norm's scale, its running mean and
//! variance), and single numbers (counts of batches, steps of an optimizer).

use super::fuse::{Fuser, MAX_LOOKBACK, SMALL, Use};
use super::graph::Ref;
use super::rules::Placing;
use crate::op::{Op, View};

/// What a node is made of, if one of its values is made of a reduction's result one for one.
struct End {
    reduction: u32,
    /// Values in memory that it would be computed from elsewhere.
    values: usize,
}

impl Fuser<'_> {
    /// Is it few values, made of a reduction and of others, for kernels that are much larger? The reduction needs a kernel whose results
    /// are as few, and what is computed there is one value to read instead of several.
    pub(super) fn ends_reduction(&mut self, node: &Placing) -> bool {
        let shape = &self.graph.nodes[node.index as usize].outputs[0].shape;
        let Some(end) = self.end_of_reduction(node.index).filter(|end| end.values > 1) else { return false };
        let is_apart = |at: &Use| {
            let space = &self.fusion.groups[at.group as usize].space;
            let as_phase = || space.with_phase(self.graph, &self.fusion.paths, end.reduction, at.path, shape);
            space.numel() >= SMALL * shape.numel() && as_phase().is_none()
        };
        node.uses.iter().all(is_apart)
            && (self.join_others_of_its_reduction(node) || self.start_kernel_for_others(node.index))
    }

    /// Starts a kernel which others, made of the same reduction or single numbers too, may join.
    pub(super) fn start_kernel_for_others(&mut self, index: u32) -> bool {
        let group = self.fusion.groups.len() as u32;
        if let Some(end) = self.end_of_reduction(index) {
            self.ends.entry(end.reduction).or_insert(group);
        } else if self.is_single_number(index) {
            self.singles = Some(group);
        }
        self.start_kernel(index)
    }

    /// Joins the kernel that another value is computed in which is made of the same reduction, and is stored there.
    pub(super) fn join_others_of_its_reduction(&mut self, node: &Placing) -> bool {
        let end = self.end_of_reduction(node.index);
        let group = end.and_then(|end| self.ends.get(&end.reduction).copied());
        group.is_some_and(|group| self.join_beside(node, group))
    }

    /// Joins a kernel of other single numbers, if it is one itself and made of what is in memory: every batch norm counts its batches.
    pub(super) fn join_single_numbers(&mut self, node: &Placing) -> bool {
        let group = self.singles.filter(|_| self.is_single_number(node.index));
        group.is_some_and(|group| self.join_beside(node, group))
    }

    /// Joins a kernel without rows that computes as many values, and is stored there, for others to read.
    fn join_beside(&mut self, node: &Placing, group: u32) -> bool {
        let index = node.index;
        let at = Use { group, path: self.outer };
        let space = &self.fusion.groups[group as usize].space;
        let numel = self.graph.nodes[index as usize].outputs[0].numel();
        let fits = space.rows.is_none() && space.numel() == numel;
        // A kernel that uses it could not read it from memory: what it uses as it is has joined it before.
        let is_used_there = node.uses.iter().any(|other| other.group == group);
        let joins =
            fits && !is_used_there && self.admits(at, index, false, true) && !self.makes_cycle(index, group);
        if joins {
            self.fusion.stored[index as usize] = true;
            self.join(at, index, true);
        }
        joins
    }

    /// Is it one number, made of what is in memory?
    fn is_single_number(&self, index: u32) -> bool {
        let node = &self.graph.nodes[index as usize];
        let is_there = |&input: &Ref| {
            let base = self.graph.base(input);
            self.is_source(base) || self.graph.node(base).op.is_none()
        };
        matches!(node.op, Some(Op::Map(_) | Op::Cast))
            && node.outputs[0].numel() == 1
            && node.inputs.iter().all(is_there)
    }

    /// The last reduction that a node is made of by a few ops that keep the order of values.
    fn end_of_reduction(&self, index: u32) -> Option<End> {
        let graph = self.graph;
        let numel = graph.nodes[index as usize].outputs[0].numel();
        let (mut seen, mut next) = (vec![index], 0);
        let (mut last, mut values) = (None, 0);
        // What is nearest first.
        while let Some(&at) = seen.get(next) {
            next += 1;
            let node = &graph.nodes[at as usize];
            let is_one_for_one = at == index || node.outputs[0].numel() == numel;
            match &node.op {
                Some(Op::Map(_) | Op::Cast | Op::View(View::Reshape)) if is_one_for_one => {
                    for input in &node.inputs {
                        if !seen.contains(&input.node) && seen.len() <= MAX_LOOKBACK {
                            seen.push(input.node);
                        }
                    }
                }
                Some(op) if op.is_source() => {}
                Some(Op::Reduce(_)) if is_one_for_one && at != index => {
                    last = last.max(Some(at));
                    values += 1;
                }
                _ => values += 1,
            }
        }
        last.map(|reduction| End { reduction, values })
    }
}
