//! What a kernel in the making reads: whether a node may join it without binding too many buffers.

use super::fuse::{Fuser, MAX_BINDINGS, MAX_LOOKBACK, MAX_OPS, Role, Use};
use super::graph::Ref;
use crate::op::Op;
use smallvec::SmallVec;

/// The values that a kernel reads: few, because few can be bound.
#[derive(Debug, Clone, Default)]
pub(super) struct Inputs(SmallVec<[Ref; 8]>);

impl Inputs {
    pub fn insert(&mut self, value: Ref) {
        if !self.contains(&value) {
            self.0.push(value);
        }
    }

    pub fn remove(&mut self, value: &Ref) {
        self.0.retain(|known| known != value);
    }

    pub fn contains(&self, value: &Ref) -> bool {
        self.0.contains(value)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Ref> {
        self.0.iter()
    }
}

impl Fuser<'_> {
    /// May the node be computed inside the kernel that uses it?
    pub fn admits(&self, at: Use, index: u32, is_reduction: bool, stored: bool) -> bool {
        let group = &self.fusion.groups[at.group as usize];
        if is_reduction && self.reducing(at, index).is_none() {
            return false;
        }
        let node = &self.graph.nodes[index as usize];
        let mut inputs = group.inputs.clone();
        inputs.remove(&Ref { node: index, output: 0 });
        for &input in &node.inputs {
            let base = self.graph.base(input);
            if !self.is_source(base) {
                inputs.insert(base);
            }
        }
        let results = group.outputs.len() + stored as usize;
        group.ops < MAX_OPS
            && (inputs.len() + results <= MAX_BINDINGS
                || self.hopeful && self.inputs_in_the_end(at, index, &inputs) + results <= MAX_BINDINGS)
    }

    /// How many values a kernel will read, once those are computed in it that only it and a node that joins it use, and
    /// that are made from others it reads.
    fn inputs_in_the_end(&self, at: Use, joining: u32, inputs: &Inputs) -> usize {
        inputs.iter().filter(|&&value| !self.will_join(at, joining, value, inputs)).count()
    }

    fn will_join(&self, at: Use, joining: u32, value: Ref, inputs: &Inputs) -> bool {
        let (mut stack, mut inside) = (vec![value.node], vec![joining]);
        while let Some(index) = stack.pop() {
            let i = index as usize;
            let here = Role::Member { group: at.group, path: at.path };
            let is_inside = |&user: &u32| inside.contains(&user) || self.fusion.roles[user as usize] == here;
            let is_cheap = matches!(self.graph.nodes[i].op, Some(Op::Map(_) | Op::Cast));
            if !is_cheap
                || self.required[i]
                || !self.consumers[i].iter().all(is_inside)
                || !self.uses[i].iter().all(|other| *other == at)
                || inside.len() > MAX_LOOKBACK
            {
                return false;
            }
            inside.push(index);
            for &input in &self.graph.nodes[i].inputs {
                let base = self.graph.base(input);
                if self.is_source(base) || (base != value && inputs.contains(&base)) {
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
