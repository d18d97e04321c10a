//! A snapshot of the nodes an evaluation needs, as a list in dependency order.
//!
//! The list without its data is the key of the plan cache: two graphs with equal lists run the same plan. Equal
//! subexpressions are merged while the list is made, except across checkpoint regions, which exist to be recomputed.

use crate::dtype::Scalar;
use crate::op::{Meta, Op, View};
use crate::tensor::node::{Node, State, Storage, Value};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// One output of one node of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ref {
    pub node: u32,
    pub output: u32,
}

/// A node of the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct GraphNode {
    /// What it computes; None for a value that is already there.
    pub op: Option<Op>,
    pub inputs: SmallVec<[Ref; 3]>,
    pub outputs: SmallVec<[Meta; 1]>,
    /// The index of its first number in the graph's data.
    pub datum: u32,
    pub region: u32,
}

/// The structure of an evaluation: the plan cache's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Graph {
    pub nodes: Vec<GraphNode>,
    /// What must be in memory afterwards.
    pub roots: Vec<Ref>,
}

impl Graph {
    pub fn meta(&self, value: Ref) -> &Meta {
        &self.nodes[value.node as usize].outputs[value.output as usize]
    }

    pub fn node(&self, value: Ref) -> &GraphNode {
        &self.nodes[value.node as usize]
    }

    /// The value that a chain of views starts from.
    pub fn base(&self, mut value: Ref) -> Ref {
        while let Some(Op::View(_)) = &self.node(value).op {
            value = self.node(value).inputs[0];
        }
        value
    }
}

/// A graph with everything one run of it needs.
pub(crate) struct Snapshot {
    pub graph: Graph,
    /// The values of the input nodes, in the order of the list.
    pub inputs: Vec<Arc<Storage>>,
    /// Numbers that may differ from run to run.
    pub data: Vec<Scalar>,
    /// The nodes to fill, with the position of each one's first output in `graph.roots`.
    pub targets: Vec<(Arc<Node>, usize)>,
    /// The line that created each node.
    pub locations: Vec<&'static Location<'static>>,
}

/// Collects what `wanted` needs. Values that a derivative rule has saved become roots too, so that a later
/// backward pass finds them instead of computing them again.
pub(crate) fn capture(wanted: &[Value]) -> Snapshot {
    let mut captures = CAPTURES.lock().unwrap_or_else(PoisonError::into_inner);
    *captures += 1;
    let mut builder = Builder::new(*captures);
    for value in wanted {
        builder.add(value);
    }
    builder.finish(wanted)
}

/// How many captures there have been. Each marks the nodes it meets with its number, so there is one at a time.
static CAPTURES: Mutex<u64> = Mutex::new(0);
/// Bits of a node's mark that say which entry of the list it has become; the others are the capture's number.
const ENTRY_BITS: u32 = 24;
/// Nodes for which there is room from the start: a small model's training step.
const ROOM: usize = 256;

struct Builder {
    capture: u64,
    nodes: Vec<GraphNode>,
    inputs: Vec<Arc<Storage>>,
    data: Vec<Scalar>,
    locations: Vec<&'static Location<'static>>,
    /// Checkpoint regions in the order they are met: their own numbers differ from step to step.
    regions: FxHashMap<u32, u32>,
    /// Entries without data by the hash of op, inputs and region.
    merged: FxHashMap<u64, SmallVec<[u32; 1]>>,
    /// Pending nodes with their entry, in the order of the list; kept alive until the run is over.
    pending: Vec<(Arc<Node>, u32)>,
}

impl Builder {
    fn new(capture: u64) -> Builder {
        Builder {
            capture,
            nodes: Vec::with_capacity(ROOM),
            inputs: Vec::new(),
            data: Vec::new(),
            locations: Vec::with_capacity(ROOM),
            regions: FxHashMap::default(),
            merged: FxHashMap::with_capacity_and_hasher(ROOM, Default::default()),
            pending: Vec::with_capacity(ROOM),
        }
    }

    /// The entry a node has become.
    fn entry(&self, node: &Node) -> Option<u32> {
        let mark = node.mark();
        (mark >> ENTRY_BITS == self.capture).then_some((mark & ((1 << ENTRY_BITS) - 1)) as u32)
    }

    fn remember(&self, node: &Node, entry: u32) {
        assert!(entry < 1 << ENTRY_BITS, "an evaluation of more than {} nodes", 1 << ENTRY_BITS);
        node.set_mark(self.capture << ENTRY_BITS | u64::from(entry));
    }

    fn add(&mut self, value: &Value) {
        let mut stack: Vec<(Value, bool)> = vec![(value.clone(), false)];
        while let Some((value, expanded)) = stack.pop() {
            let node = &value.node;
            if self.entry(node).is_some() {
                continue;
            }
            let state = node.state();
            match &*state {
                State::Ready(storages) => {
                    let index = self.push(node, None, SmallVec::new(), 0);
                    // A ready node with several outputs is listed whole; each output is an input of the plan.
                    self.inputs.extend(storages.iter().cloned());
                    self.remember(node, index);
                }
                State::Pending { inputs, .. } if !expanded => {
                    stack.push((value.clone(), true));
                    let unknown = inputs.iter().filter(|input| self.entry(&input.node).is_none());
                    stack.extend(unknown.map(|input| (input.clone(), false)));
                }
                State::Pending { op, inputs, data } => {
                    let refs: SmallVec<[Ref; 3]> = inputs.iter().map(|input| self.resolve(input)).collect();
                    let index = self.push_op(node, op, refs, data);
                    self.remember(node, index);
                    self.pending.push((node.clone(), index));
                }
            }
        }
    }

    fn resolve(&self, value: &Value) -> Ref {
        let node = self.entry(&value.node).expect("inputs come before what uses them");
        Ref { node, output: value.output }
    }

    fn push_op(&mut self, node: &Arc<Node>, op: &Op, refs: SmallVec<[Ref; 3]>, data: &[Scalar]) -> u32 {
        if !data.is_empty() {
            let datum = self.data.len() as u32;
            self.data.extend_from_slice(data);
            return self.push(node, Some(op.clone()), refs, datum);
        }
        let region = self.region(node);
        let mut hasher = FxHasher::default();
        (op, &refs, region).hash(&mut hasher);
        let hash = hasher.finish();
        let same = |&&index: &&u32| {
            let known = &self.nodes[index as usize];
            known.op.as_ref() == Some(op)
                && known.inputs == refs
                && known.region == region
                && known.outputs == node.outputs
        };
        if let Some(&same) = self.merged.get(&hash).and_then(|entries| entries.iter().find(same)) {
            return same;
        }
        let index = self.push(node, Some(op.clone()), refs, 0);
        self.merged.entry(hash).or_default().push(index);
        index
    }

    fn region(&mut self, node: &Node) -> u32 {
        let next = self.regions.len() as u32 + 1;
        if node.region == 0 { 0 } else { *self.regions.entry(node.region).or_insert(next) }
    }

    fn push(&mut self, node: &Arc<Node>, op: Option<Op>, inputs: SmallVec<[Ref; 3]>, datum: u32) -> u32 {
        // A value that is there has left its region.
        let region = if op.is_some() { self.region(node) } else { 0 };
        self.nodes.push(GraphNode { op, inputs, outputs: node.outputs.clone(), datum, region });
        self.locations.push(node.location);
        self.nodes.len() as u32 - 1
    }

    fn finish(self, wanted: &[Value]) -> Snapshot {
        let mut wants = vec![false; self.nodes.len()];
        for value in wanted {
            wants[self.resolve(value).node as usize] = true;
        }
        let mut graph = Graph { nodes: self.nodes, roots: Vec::new() };
        for (node, index) in &self.pending {
            if node.is_saved() {
                // A saved view costs nothing to take again; what it looks at must be kept.
                let base = graph.base(Ref { node: *index, output: 0 });
                let kept = graph.node(base).op.as_ref().is_some_and(|op| !op.is_source());
                wants[base.node as usize] |= kept;
            }
        }
        let mut first_root = vec![usize::MAX; graph.nodes.len()];
        for (index, wanted) in wants.iter().enumerate() {
            if *wanted && graph.nodes[index].op.is_some() {
                first_root[index] = graph.roots.len();
                let outputs = graph.nodes[index].outputs.len() as u32;
                graph.roots.extend((0..outputs).map(|output| Ref { node: index as u32, output }));
            }
        }
        let filled = self.pending.iter().filter(|(_, index)| first_root[*index as usize] != usize::MAX);
        let targets = filled.map(|(node, index)| (node.clone(), first_root[*index as usize])).collect();
        Snapshot { graph, inputs: self.inputs, data: self.data, targets, locations: self.locations }
    }
}

impl GraphNode {
    /// The view it takes, if it is one.
    pub fn view(&self) -> Option<&View> {
        match &self.op {
            Some(Op::View(view)) => Some(view),
            _ => None,
        }
    }
}
