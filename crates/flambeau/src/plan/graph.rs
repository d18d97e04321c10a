//! A snapshot of the nodes an evaluation needs, as a list in dependency order.
//!
//! The list without its data is the key of the plan cache: two graphs with equal lists run the same plan. Equal
//! subexpressions are merged while the list is made, except across checkpoint regions, which exist to be recomputed.

use super::expand::{Expanded, expand, has_composites};
use super::verify;
use crate::dtype::Scalar;
use crate::ir::Precision;
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
    pub data_start: u32,
    pub region: u32,
    /// How precise products of f32 are to be, in an op that is or may be made of such; else the highest.
    pub precision: Precision,
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

    /// Does it need a value that no evaluation has?
    pub fn has_placeholder(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.op, Some(Op::Placeholder)))
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
    pub recorded: Arc<Recorded>,
    /// The values of the input nodes, in the order of the list.
    pub inputs: Vec<Arc<Storage>>,
    /// Numbers that may differ from run to run.
    pub data: Vec<Scalar>,
    /// The nodes to fill, with the position of each one's first output in `graph.roots`.
    pub targets: Vec<(Arc<Node>, usize)>,
    /// The line that created each node.
    pub locations: Vec<&'static Location<'static>>,
    /// The graph in primitives, if it is a new one and has composites.
    pub expanded: Option<Expanded>,
}

impl Snapshot {
    pub fn graph(&self) -> &Graph {
        &self.recorded.graph
    }
}

/// A graph, and what each node that led to it has become: enough to recognise the same graph when it comes again.
pub(crate) struct Recorded {
    pub graph: Graph,
    /// The entry of each node, in the order in which a capture meets them.
    entries: Vec<u32>,
}

/// Collects what `wanted` needs. Values that a derivative rule has saved become roots too, so that a later
/// backward pass finds them instead of computing them again. A graph whose plan is known is not expanded.
pub(crate) fn capture(wanted: &[Value], is_known: impl FnOnce(&Graph) -> bool) -> Snapshot {
    let mut captures = CAPTURES.lock().unwrap_or_else(PoisonError::into_inner);
    *captures += 1;
    let snapshot = collect(wanted, *captures, List::new());
    let mut snapshot = snapshot.expect("a new list takes every node");
    if !is_known(snapshot.graph()) && has_composites(&snapshot.graph().nodes) {
        *captures += 1;
        snapshot.expanded = Some(expand(&snapshot, *captures - 1, *captures));
    }
    drop(captures);
    verify::check(|| verify::after_snapshot(&snapshot));
    if let Some(expanded) = &snapshot.expanded {
        verify::check(|| verify::after_expand(&snapshot, expanded));
    }
    snapshot
}

/// The same, if it leads to the graph of `recorded`: nodes are compared with that instead of being copied and hashed.
pub(crate) fn replay(wanted: &[Value], recorded: &Arc<Recorded>) -> Option<Snapshot> {
    let mut captures = CAPTURES.lock().unwrap_or_else(PoisonError::into_inner);
    *captures += 1;
    let snapshot = collect(wanted, *captures, List::Known { recorded: recorded.clone(), met: 0 })?;
    drop(captures);
    verify::check(|| verify::after_replay(&snapshot));
    Some(snapshot)
}

fn collect(wanted: &[Value], capture: u64, list: List) -> Option<Snapshot> {
    let mut builder = Builder::new(capture, list);
    for value in wanted {
        builder.add(value)?;
    }
    builder.finish(wanted)
}

/// How many captures there have been. Each marks the nodes it meets with its number, so there is one at a time.
static CAPTURES: Mutex<u64> = Mutex::new(0);
/// Bits of a node's mark that say which entry of the list it has become; the others are the capture's number.
pub(super) const ENTRY_BITS: u32 = 24;
/// Nodes for which there is room from the start: a small model's training step.
const ROOM: usize = 256;

/// The entries that nodes become.
pub(super) enum List {
    /// Made now.
    New {
        nodes: Vec<GraphNode>,
        /// Entries without data by the hash of op, inputs and region.
        merged: FxHashMap<u64, SmallVec<[u32; 1]>>,
        entries: Vec<u32>,
    },
    /// Those of an earlier capture, as long as what is met agrees with them.
    Known { recorded: Arc<Recorded>, met: usize },
}

/// A node as a capture meets it.
pub(super) struct Visited<'a> {
    pub node: &'a Node,
    /// What it computes, unless its value is there.
    pub op: Option<&'a Op>,
    pub inputs: SmallVec<[Ref; 3]>,
    pub data: &'a [Scalar],
    /// The index of its first number in the graph's data, if it has any.
    pub data_start: u32,
    pub region: u32,
    pub precision: Precision,
}

impl Visited<'_> {
    fn is(&self, entry: &GraphNode) -> bool {
        entry.op.as_ref() == self.op
            && entry.inputs == self.inputs
            && (entry.region, entry.precision) == (self.region, self.precision)
            && entry.data_start == self.data_start
            && entry.outputs == self.node.outputs
    }

    fn entry(self) -> GraphNode {
        let Visited { node, op, inputs, data_start, region, precision, .. } = self;
        let outputs = node.outputs.clone();
        GraphNode { op: op.cloned(), inputs, outputs, data_start, region, precision }
    }
}

impl List {
    pub fn new() -> List {
        List::New {
            nodes: Vec::with_capacity(ROOM),
            merged: FxHashMap::with_capacity_and_hasher(ROOM, Default::default()),
            entries: Vec::with_capacity(ROOM),
        }
    }

    /// The entries of a new list.
    pub fn into_nodes(self) -> Vec<GraphNode> {
        match self {
            List::New { nodes, .. } => nodes,
            List::Known { recorded, .. } => recorded.graph.nodes.clone(),
        }
    }

    /// The entry that a node becomes; None where that is not the one of the earlier capture.
    pub fn entry(&mut self, met: Visited) -> Option<u32> {
        match self {
            List::Known { recorded, met: count } => {
                let entry = *recorded.entries.get(*count)?;
                *count += 1;
                met.is(&recorded.graph.nodes[entry as usize]).then_some(entry)
            }
            List::New { nodes, merged, entries } => {
                // Values that are there, and those that depend on data, are not merged.
                let next = nodes.len() as u32;
                let same = (met.op.is_some() && met.data.is_empty()).then(|| {
                    let mut hasher = FxHasher::default();
                    (met.op, &met.inputs, met.region, met.precision).hash(&mut hasher);
                    merged.entry(hasher.finish()).or_default()
                });
                let known =
                    same.as_ref().and_then(|same| same.iter().find(|&&entry| met.is(&nodes[entry as usize])));
                let entry = known.copied().unwrap_or(next);
                if entry == next {
                    same.into_iter().for_each(|same| same.push(next));
                    nodes.push(met.entry());
                }
                entries.push(entry);
                Some(entry)
            }
        }
    }
}

struct Builder {
    capture: u64,
    list: List,
    inputs: Vec<Arc<Storage>>,
    data: Vec<Scalar>,
    locations: Vec<&'static Location<'static>>,
    /// Checkpoint regions in the order they are met: their own numbers differ from step to step.
    regions: FxHashMap<u32, u32>,
    /// Pending nodes with their entry, in the order of the list; kept alive until the run is over.
    pending: Vec<(Arc<Node>, u32)>,
}

impl Builder {
    fn new(capture: u64, list: List) -> Builder {
        Builder {
            capture,
            list,
            inputs: Vec::new(),
            data: Vec::new(),
            locations: Vec::with_capacity(ROOM),
            regions: FxHashMap::default(),
            pending: Vec::with_capacity(ROOM),
        }
    }

    /// The entry a node has become.
    fn entry(&self, node: &Node) -> Option<u32> {
        let mark = node.mark();
        (mark >> ENTRY_BITS == self.capture).then_some((mark & ((1 << ENTRY_BITS) - 1)) as u32)
    }

    /// Puts a node on the list.
    fn place(&mut self, met: Visited) -> Option<u32> {
        let node = met.node;
        let entry = self.list.entry(met)?;
        if entry as usize == self.locations.len() {
            self.locations.push(node.location);
        }
        assert!(entry < 1 << ENTRY_BITS, "an evaluation of more than {} nodes", 1 << ENTRY_BITS);
        node.set_mark(self.capture << ENTRY_BITS | u64::from(entry));
        Some(entry)
    }

    /// Puts a value on the list, after what it needs; None where the list is another graph's.
    fn add(&mut self, value: &Value) -> Option<()> {
        let mut stack: Vec<(Value, bool)> = vec![(value.clone(), false)];
        while let Some((value, expanded)) = stack.pop() {
            let node = &value.node;
            if self.entry(node).is_some() {
                continue;
            }
            let state = node.state();
            match &*state {
                State::Ready(storages) => {
                    // It has left its region. One with several outputs is listed whole; each is an input of the plan.
                    let inputs = SmallVec::new();
                    let precision = Precision::Highest;
                    let region = 0;
                    self.place(Visited {
                        node,
                        op: None,
                        inputs,
                        data: &[],
                        data_start: 0,
                        region,
                        precision,
                    })?;
                    self.inputs.extend(storages.iter().cloned());
                }
                State::Pending { inputs, .. } if !expanded => {
                    stack.push((value.clone(), true));
                    let unknown = inputs.iter().filter(|input| self.entry(&input.node).is_none());
                    stack.extend(unknown.map(|input| (input.clone(), false)));
                }
                State::Pending { op, inputs, data } => {
                    let inputs = inputs.iter().map(|input| self.resolve(input)).collect();
                    let data_start = if data.is_empty() { 0 } else { self.data.len() as u32 };
                    let (op, region, precision) = (Some(op), self.region(node), node.precision);
                    let entry =
                        self.place(Visited { node, op, inputs, data, data_start, region, precision })?;
                    self.data.extend_from_slice(data);
                    self.pending.push((node.clone(), entry));
                }
            }
        }
        Some(())
    }

    fn resolve(&self, value: &Value) -> Ref {
        let node = self.entry(&value.node).expect("inputs come before what uses them");
        Ref { node, output: value.output }
    }

    fn region(&mut self, node: &Node) -> u32 {
        let next = self.regions.len() as u32 + 1;
        if node.region == 0 { 0 } else { *self.regions.entry(node.region).or_insert(next) }
    }

    fn finish(self, wanted: &[Value]) -> Option<Snapshot> {
        let wanted: Vec<u32> = wanted.iter().map(|value| self.resolve(value).node).collect();
        let Builder { list, inputs, data, locations, pending, .. } = self;
        let (recorded, first_root) = match list {
            List::New { nodes, entries, .. } => {
                let mut graph = Graph { nodes, roots: Vec::new() };
                let (roots, first_root) = roots(&graph, &wanted, &pending);
                graph.roots = roots;
                (Arc::new(Recorded { graph, entries }), first_root)
            }
            List::Known { recorded, met } => {
                let (roots, first_root) = roots(&recorded.graph, &wanted, &pending);
                if met != recorded.entries.len() || roots != recorded.graph.roots {
                    return None;
                }
                (recorded, first_root)
            }
        };
        let filled = pending.into_iter().map(|(node, index)| (node, first_root[index as usize]));
        let targets = filled.filter(|(_, first)| *first != usize::MAX).collect();
        Some(Snapshot { recorded, inputs, data, targets, locations, expanded: None })
    }
}

/// What must be in memory afterwards, and for each entry the position of its first output there.
fn roots(graph: &Graph, wanted: &[u32], pending: &[(Arc<Node>, u32)]) -> (Vec<Ref>, Vec<usize>) {
    let mut wants = vec![false; graph.nodes.len()];
    wanted.iter().for_each(|&entry| wants[entry as usize] = true);
    for (_, index) in pending.iter().filter(|(node, _)| node.is_saved()) {
        // A saved view costs nothing to take again; what it looks at must be kept.
        let base = graph.base(Ref { node: *index, output: 0 });
        let kept = graph.node(base).op.as_ref().is_some_and(|op| !op.is_source());
        wants[base.node as usize] |= kept;
    }
    let mut roots = Vec::new();
    let mut first_root = vec![usize::MAX; graph.nodes.len()];
    for (index, wanted) in wants.iter().enumerate() {
        if *wanted && graph.nodes[index].op.is_some() {
            first_root[index] = roots.len();
            let outputs = graph.nodes[index].outputs.len() as u32;
            roots.extend((0..outputs).map(|output| Ref { node: index as u32, output }));
        }
    }
    (roots, first_root)
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
