//! Which nodes are rematerialised: computed again by every kernel that uses them, instead of being written to memory for them.

use super::fuse::{Fuser, MAX_BINDINGS, MAX_OPS, Role, SMALL, Use};
use super::graph::Ref;
use crate::op::Op;

/// Ops that a kernel computes again rather than have their result in memory.
const MAX_RECOMPUTED: usize = 4;

impl Fuser<'_> {
    /// Lets every kernel that uses a node compute it again, if it is a few cheap ops, and that makes no kernel read
    /// more than the node's own values; false if not.
    pub fn recompute_in_readers(&mut self, index: u32, uses: &[Use]) -> bool {
        let Some(leaves) = self.leaves(index) else { return false };
        let (graph, own) = (self.graph, Ref { node: index, output: 0 });
        let numel = graph.meta(own).numel();
        let pays = |at: &Use| {
            let group = &self.fusion.groups[at.group as usize];
            let new = || leaves.iter().filter(|leaf| !group.inputs.contains(leaf));
            let read: usize = new().map(|&leaf| graph.meta(leaf).numel()).filter(|n| n * SMALL > numel).sum();
            let direct = || graph.nodes[index as usize].inputs.iter().map(|&input| graph.base(input));
            let unread = direct().filter(|&base| !self.is_source(base) && !group.inputs.contains(&base));
            // They take its place.
            let bound_beside =
                group.inputs.len() - usize::from(group.inputs.contains(&own)) + group.outputs.len();
            // The leaves are read if all between them and it is computed again, too.
            let bound = if self.hopeful { 0 } else { bound_beside + unread.count() };
            read <= numel
                && bound <= MAX_BINDINGS
                && group.ops + MAX_RECOMPUTED <= MAX_OPS
                && bound_beside + new().count() <= MAX_BINDINGS
        };
        if !uses.iter().all(pays) {
            return false;
        }
        self.fusion.roles[index as usize] = Role::Recomputed;
        let mut done: Vec<Use> = Vec::new();
        for &at in uses {
            if !done.contains(&at) {
                done.push(at);
                let group = &mut self.fusion.groups[at.group as usize];
                group.inputs.remove(&own);
                group.ops += 1;
                graph.nodes[index as usize].inputs.iter().for_each(|&input| self.push_use(input, at));
            }
        }
        true
    }

    /// The value of fewer bytes that a node is a cast of: if one of the two is to be in memory, then that one.
    fn narrower(&self, index: u32) -> Option<Ref> {
        let node = &self.graph.nodes[index as usize];
        let base = self.graph.base(*node.inputs.first()?);
        let (from, to) = (self.graph.meta(base), &node.outputs[0]);
        let is_narrower =
            from.numel() == to.numel() && from.dtype.is_float() && from.dtype.size() < to.dtype.size();
        (matches!(node.op, Some(Op::Cast)) && is_narrower && !self.is_source(base)).then_some(base)
    }

    /// What a node is computed from by a few cheap ops, if all of that will be in memory or is small.
    fn leaves(&self, index: u32) -> Option<Vec<Ref>> {
        let graph = self.graph;
        let numel = graph.nodes[index as usize].outputs[0].numel();
        let is_cheap = |op: &Op| match op {
            Op::Map(map) => map.is_cheap,
            Op::Cast => true,
            _ => false,
        };
        if !graph.nodes[index as usize].op.as_ref().is_some_and(is_cheap) {
            return None;
        }
        if let Some(narrow) = self.narrower(index) {
            return Some(vec![narrow]);
        }
        let (mut stack, mut leaves, mut ops) = (vec![index], Vec::new(), 0);
        while let Some(node) = stack.pop() {
            ops += 1;
            for &input in &graph.nodes[node as usize].inputs {
                let base = graph.base(input);
                match &graph.node(base).op {
                    Some(Op::Bits) => return None,
                    Some(op) if op.is_source() => {}
                    Some(op) if op.structured().is_none() && graph.meta(base).numel() * SMALL > numel => {
                        if !is_cheap(op) || ops + stack.len() >= MAX_RECOMPUTED {
                            return None;
                        }
                        stack.push(base.node);
                    }
                    _ if leaves.contains(&base) => {}
                    _ => leaves.push(base),
                }
            }
        }
        Some(leaves)
    }
}
