//! What a kernel in the making reads: whether a node may join it without binding too many buffers.

use super::graph::Ref;
use super::schedule::{MAX_BEHIND, MAX_BINDINGS, MAX_OPS, Role, Scheduler, Use};
use crate::op::Op;
use std::collections::BTreeSet;

impl Scheduler<'_> {
    /// May the node be computed inside the kernel that uses it?
    pub fn admits(&self, at: Use, index: u32, is_reduction: bool, stored: bool) -> bool {
        let group = &self.schedule.groups[at.group as usize];
        if is_reduction && self.reducing(at, index).is_none() {
            return false;
        }
        let node = &self.graph.nodes[index as usize];
        let mut frontier = group.frontier.clone();
        frontier.remove(&Ref { node: index, output: 0 });
        for &input in &node.inputs {
            let base = self.graph.base(input);
            if !self.is_source(base) {
                frontier.insert(base);
            }
        }
        let results = group.outputs.len() + stored as usize;
        group.ops < MAX_OPS
            && (frontier.len() + results <= MAX_BINDINGS
                || self.hopeful && self.settled(at, index, &frontier) + results <= MAX_BINDINGS)
    }

    /// How many values a kernel will read, once those are computed in it that only it and a node that joins it use, and
    /// that are made from others it reads.
    fn settled(&self, at: Use, joining: u32, frontier: &BTreeSet<Ref>) -> usize {
        frontier.iter().filter(|&&value| !self.will_join(at, joining, value, frontier)).count()
    }

    fn will_join(&self, at: Use, joining: u32, value: Ref, frontier: &BTreeSet<Ref>) -> bool {
        let (mut stack, mut inside) = (vec![value.node], vec![joining]);
        while let Some(index) = stack.pop() {
            let i = index as usize;
            let here = Role::Member { group: at.group, path: at.path };
            let is_inside =
                |&user: &u32| inside.contains(&user) || self.schedule.roles[user as usize] == here;
            let is_cheap = matches!(self.graph.nodes[i].op, Some(Op::Map(_) | Op::Cast));
            if !is_cheap
                || self.required[i]
                || !self.consumers[i].iter().all(is_inside)
                || !self.uses[i].iter().all(|other| *other == at)
                || inside.len() > MAX_BEHIND
            {
                return false;
            }
            inside.push(index);
            for &input in &self.graph.nodes[i].inputs {
                let base = self.graph.base(input);
                if self.is_source(base) || (base != value && frontier.contains(&base)) {
                    continue;
                }
                if base != input {
                    return false;
                }
                stack.push(base.node);
            }
        }
        true
    }
}
