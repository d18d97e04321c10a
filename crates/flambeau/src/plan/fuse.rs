//! The pass that fuses: decides which nodes share a kernel.
//!
//! Nodes are visited from the results backwards, and placed by the `rules`. A node whose every use lies in one kernel, at
//! the same coordinates, becomes part of that kernel; a node used in several places is computed in each of them if that
//! is cheap, else gets memory of its own, and is computed by one of the kernels that use it where that makes no cycle.
//! Views are never kernels: their readers look through them. Which reductions a kernel can hold is said in `space`.

use super::graph::{Graph, Ref};
use super::kernel_inputs::Inputs;
use super::rules::{Placing, Rule};
use super::space::{Space, same_elements};
use crate::ir::access::Access;
use crate::ir::call::Layout;
use crate::op::{Op, View};
use rustc_hash::FxHashMap;

/// Storage buffers one kernel may bind: WebGPU's default limit, kept everywhere so that plans are the same
/// everywhere. One is left for the device's status word.
pub(crate) const MAX_BINDINGS: usize = 7;
/// Ops one kernel may hold: a chain of 100,000 ops is many kernels, not one shader.
pub(super) const MAX_OPS: usize = 64;
/// How far the search for a cycle goes before it gives up and keeps the kernels apart.
const MAX_SEARCH: usize = 512;
/// How many nodes lie at most between a value per row that is stored and the reduction it comes from.
pub(super) const MAX_LOOKBACK: usize = 12;

/// A value this many times smaller than another costs nothing beside it.
pub(super) const SMALL: usize = 8;

/// How the coordinates of a node are found from those of its kernel: a chain of views, innermost step last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The kernel's kept coordinates, in the shape of its results.
    Outer,
    /// Kept and reduced coordinates, as the input of this reduction has them.
    Inner(u32),
    /// Through this view.
    View { parent: u32, view: u32 },
    /// Anywhere in memory, as a gather reads its source.
    Memory,
}

/// Interned chains of steps.
#[derive(Debug, Default, Clone)]
pub(crate) struct Paths {
    steps: Vec<Step>,
    known: FxHashMap<Step, u32>,
}

impl Paths {
    pub fn of(&mut self, step: Step) -> u32 {
        *self.known.entry(step).or_insert_with(|| {
            self.steps.push(step);
            self.steps.len() as u32 - 1
        })
    }

    /// The step a path ends with: the one nearest to the node it leads to.
    pub fn step(&self, path: u32) -> Step {
        self.steps[path as usize]
    }

    /// Does the path start inside a reduction?
    pub fn is_inner(&self, mut path: u32) -> bool {
        loop {
            match self.step(path) {
                Step::Outer | Step::Memory => return false,
                Step::Inner(_) => return true,
                Step::View { parent, .. } => path = parent,
            }
        }
    }

    /// Does it go through windows that overlap, by a third or more, so that elements are read again?
    pub(super) fn repeats_in_windows(&self, graph: &Graph, mut path: u32) -> bool {
        while let Step::View { parent, view } = self.step(path) {
            let node = &graph.nodes[view as usize];
            let is_window = matches!(node.view(), Some(View::Window { .. }));
            if is_window && 2 * node.outputs[0].numel() >= 3 * graph.meta(node.inputs[0]).numel() {
                return true;
            }
            path = parent;
        }
        false
    }

    /// Does it only reshape the kernel's results?
    pub(super) fn is_flat(&self, graph: &Graph, mut path: u32) -> bool {
        loop {
            match self.step(path) {
                Step::Outer => return true,
                Step::Inner(_) | Step::Memory => return false,
                Step::View { parent, view } => match graph.nodes[view as usize].view() {
                    Some(View::Reshape) => path = parent,
                    _ => return false,
                },
            }
        }
    }
}

/// A kernel in the making.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Nodes computed here and stored, with the path they are computed at; the first gives the kernel its shape.
    pub outputs: Vec<(u32, u32)>,
    pub space: Space,
    pub(super) ops: usize,
    /// Values it reads from memory, as far as known.
    pub(super) inputs: Inputs,
}

/// What a node has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing needs it in memory and no kernel holds it (views, sources, dead nodes).
    Transparent,
    /// Already in memory.
    Input,
    /// Part of a fused kernel, at a path; stored if it is one of the group's outputs.
    Member { group: u32, path: u32 },
    /// Computed again by every kernel that uses it.
    Recomputed,
    /// A structured kernel of its own.
    Structured,
}

pub(crate) struct Fusion {
    pub groups: Vec<Group>,
    pub roles: Vec<Role>,
    /// Which nodes have memory of their own.
    pub stored: Vec<bool>,
    /// Why each node is where it is.
    pub rules: Vec<Rule>,
    pub paths: Paths,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Use {
    pub group: u32,
    pub path: u32,
}

pub(super) struct Fuser<'a> {
    pub graph: &'a Graph,
    pub fusion: Fusion,
    pub uses: Vec<Vec<Use>>,
    /// Needed in memory by a structured op, a gather, or the caller.
    pub required: Vec<bool>,
    pub consumers: Vec<Vec<u32>>,
    pub outer: u32,
    search: Search,
    /// The kernel that values are computed in which are made of a reduction.
    pub ends: FxHashMap<u32, u32>,
    /// The kernel that the last single number made of what is in memory is computed in.
    pub singles: Option<u32>,
    /// May a reduction whose result other kernels use too be part of a kernel that makes something of it?
    pub together: bool,
    /// Did that question come up?
    pub had_choice: bool,
    /// May a node join a kernel that then reads too many values, because some of them should join it as well?
    pub hopeful: bool,
}

/// What the search for a cycle has seen: nodes and groups marked with the search's number.
#[derive(Default)]
struct Search {
    number: u32,
    nodes: Vec<u32>,
    groups: Vec<u32>,
}

impl Search {
    /// Forgets what earlier searches have seen.
    fn start(&mut self, nodes: usize, groups: usize) {
        self.number += 1;
        self.nodes.resize(nodes, 0);
        self.groups.resize(groups, 0);
    }

    /// Marks; false if it was marked before.
    fn see(number: u32, marks: &mut [u32], index: u32) -> bool {
        std::mem::replace(&mut marks[index as usize], number) != number
    }
}

/// Groups the graph's nodes into kernels. `fuse` false gives every op a kernel of its own (debug mode).
///
/// A reduction whose result several kernels use can be part of the one it is a result's last step for: a kernel less,
/// but the others then wait for all of that one, and may not join it where they could have. Both ways are tried, and
/// the one with fewer kernels is taken. Where a kernel came to bind too many buffers, in the hope that values it reads would
/// be computed in it, all is done again without that hope.
pub(crate) fn fuse(graph: &Graph, fuse: bool) -> Fusion {
    let (together, apart) = both_ways(graph, fuse);
    let best = match apart {
        Some(apart) if apart.groups.len() < together.groups.len() => apart,
        _ => together,
    };
    match best.groups.iter().all(|group| group.inputs.len() + group.outputs.len() <= MAX_BINDINGS) {
        true => best,
        false => Fuser::run(graph, fuse, true, false).0,
    }
}

/// Nodes from which both ways are tried at once.
#[cfg(not(target_arch = "wasm32"))]
const MANY_NODES: usize = 256;

/// Reductions as part of the kernels they end, and apart from them where there is a choice.
fn both_ways(graph: &Graph, fuse: bool) -> (Fusion, Option<Fusion>) {
    #[cfg(not(target_arch = "wasm32"))]
    if graph.nodes.len() >= MANY_NODES {
        let run = |together: bool| Fuser::run(graph, fuse, together, true);
        let ((together, had_choice), (apart, _)) = rayon::join(|| run(true), || run(false));
        return (together, had_choice.then_some(apart));
    }
    let (together, had_choice) = Fuser::run(graph, fuse, true, true);
    (together, had_choice.then(|| Fuser::run(graph, fuse, false, true).0))
}

impl<'a> Fuser<'a> {
    fn run(graph: &'a Graph, fuse: bool, together: bool, hopeful: bool) -> (Fusion, bool) {
        let count = graph.nodes.len();
        let mut consumers = vec![Vec::new(); count];
        for (index, node) in graph.nodes.iter().enumerate() {
            for input in &node.inputs {
                consumers[input.node as usize].push(index as u32);
            }
        }
        let mut paths = Paths::default();
        let outer = paths.of(Step::Outer);
        let fusion = Fusion {
            groups: Vec::new(),
            roles: vec![Role::Transparent; count],
            stored: vec![false; count],
            rules: vec![Rule::Unused; count],
            paths,
        };
        let mut fuser = Fuser {
            graph,
            fusion,
            uses: vec![Vec::new(); count],
            required: vec![false; count],
            consumers,
            outer,
            search: Search::default(),
            ends: FxHashMap::default(),
            singles: None,
            together,
            had_choice: false,
            hopeful,
        };
        for root in &graph.roots {
            fuser.required[root.node as usize] = true;
        }
        for index in (0..count as u32).rev() {
            let uses = std::mem::take(&mut fuser.uses[index as usize]);
            let required = fuser.required[index as usize];
            let rule = fuser.place(&Placing { index, uses, required, fuse });
            fuser.fusion.rules[index as usize] = rule;
        }
        (fuser.fusion, fuser.had_choice)
    }
}

impl Fuser<'_> {
    /// Starts a kernel whose result is this node.
    pub(super) fn start_kernel(&mut self, index: u32) -> bool {
        self.fusion.stored[index as usize] = true;
        let group = self.fusion.groups.len() as u32;
        let space = Space::new(&self.graph.nodes[index as usize].outputs[0].shape);
        self.fusion.groups.push(Group { space, ..Group::default() });
        self.join(Use { group, path: self.outer }, index, true);
        true
    }

    /// The space of a kernel with one more reduction, whose result is used at a path; None if it cannot hold it.
    pub fn reducing(&self, at: Use, reduction: u32) -> Option<Space> {
        let (graph, paths) = (self.graph, &self.fusion.paths);
        let space = &self.fusion.groups[at.group as usize].space;
        let result = &graph.nodes[reduction as usize].outputs[0].shape;
        match space.rows {
            _ if paths.step(at.path) == Step::Memory => None,
            None if paths.is_flat(graph, at.path) => Some(space.reducing(graph, reduction)),
            _ => space.with_phase(graph, paths, reduction, at.path, result),
        }
    }

    /// The space in which a kernel can store a node that it uses at a path; None if it cannot.
    pub(super) fn space_to_store(&self, at: Use, index: u32) -> Option<Space> {
        let (graph, paths) = (self.graph, &self.fusion.paths);
        let space = &self.fusion.groups[at.group as usize].space;
        if paths.is_flat(graph, at.path) {
            return Some(space.clone());
        }
        if paths.step(at.path) == Step::Memory {
            return None;
        }
        if space.rows.is_none() {
            return self.rows_of_a_reduction_before(at, index);
        }
        let shape = &graph.nodes[index as usize].outputs[0].shape;
        let access = space.climb(graph, paths, Access::contiguous(shape), at.path);
        // A view may let the kernel see only some of the node's elements.
        let stored = space.is_per_row(&access) && shape.numel() == space.row_count()
            || space.is_per_element(&access) && shape.numel() == space.numel();
        (stored && space.takes_phases()).then(|| space.clone())
    }

    /// The space in which a node is computed once per row, because it is made of a reduction by a few ops.
    fn rows_of_a_reduction_before(&self, at: Use, index: u32) -> Option<Space> {
        let graph = self.graph;
        let numel = graph.nodes[index as usize].outputs[0].shape.numel();
        let (mut stack, mut seen) = (vec![index], 0);
        while let Some(node) = stack.pop() {
            seen += 1;
            let inputs = &graph.nodes[node as usize].inputs;
            match &graph.nodes[node as usize].op {
                // Nothing between the node and its reduction changes the order of rows.
                Some(Op::Reduce(_)) => {
                    let shape = &graph.nodes[index as usize].outputs[0].shape;
                    let space = &self.fusion.groups[at.group as usize].space;
                    let space = space.with_phase(graph, &self.fusion.paths, node, at.path, shape);
                    if space.is_some() {
                        return space;
                    }
                }
                Some(Op::Map(_) | Op::Cast | Op::View(View::Reshape)) if seen <= MAX_LOOKBACK => {
                    stack.extend(
                        inputs
                            .iter()
                            .map(|input| input.node)
                            .filter(|&input| graph.nodes[input as usize].outputs[0].shape.numel() == numel),
                    );
                }
                _ => {}
            }
        }
        None
    }

    pub fn is_source(&self, value: Ref) -> bool {
        self.graph.node(value).op.as_ref().is_some_and(Op::is_source)
    }

    pub(super) fn join(&mut self, at: Use, index: u32, stored: bool) {
        self.fusion.roles[index as usize] = Role::Member { group: at.group, path: at.path };
        let graph = self.graph;
        let node = &graph.nodes[index as usize];
        let space = match &node.op {
            Some(Op::Reduce(_)) => self.reducing(at, index),
            _ => None,
        };
        let group = &mut self.fusion.groups[at.group as usize];
        if let Some(space) = space {
            group.space = space;
        }
        group.inputs.remove(&Ref { node: index, output: 0 });
        group.ops += 1;
        if stored {
            group.outputs.push((index, at.path));
        }
        match &node.op {
            Some(Op::Reduce(_)) => {
                let path = self.fusion.paths.of(Step::Inner(index));
                self.push_use(node.inputs[0], Use { group: at.group, path });
            }
            Some(Op::Gather { .. }) => {
                let source = self.require_buffer(node.inputs[0], Layout::Strided);
                self.fusion.groups[at.group as usize].inputs.insert(source);
                let path = self.fusion.paths.of(Step::Memory);
                self.uses[source.node as usize].push(Use { group: at.group, path });
                self.push_use(node.inputs[1], at);
            }
            Some(Op::View(_)) => {
                let path = self.fusion.paths.of(Step::View { parent: at.path, view: index });
                self.push_use(node.inputs[0], Use { group: at.group, path });
            }
            _ => node.inputs.iter().for_each(|&input| self.push_use(input, at)),
        }
    }

    /// Records that a kernel reads a value at a path, looking through views.
    pub(super) fn push_use(&mut self, mut value: Ref, mut at: Use) {
        while let Some(Op::View(_)) = &self.graph.node(value).op {
            at.path = self.fusion.paths.of(Step::View { parent: at.path, view: value.node });
            value = self.graph.node(value).inputs[0];
        }
        if !self.is_source(value) {
            at.path = self.known_path(value, at);
            self.fusion.groups[at.group as usize].inputs.insert(value);
            self.uses[value.node as usize].push(at);
        }
    }

    /// The path at which the kernel is already known to use the same elements of the value, or the one given.
    fn known_path(&self, value: Ref, at: Use) -> u32 {
        let (graph, paths) = (self.graph, &self.fusion.paths);
        let space = &self.fusion.groups[at.group as usize].space;
        // Uses are those of all results of a node, whose coordinates differ where their shapes do.
        let results = &graph.node(value).outputs;
        if results.iter().any(|meta| meta.shape != results[0].shape) {
            return at.path;
        }
        let mut others = self.uses[value.node as usize]
            .iter()
            .filter(|other| other.group == at.group && paths.step(other.path) != Step::Memory)
            .peekable();
        if others.peek().is_none() || space.rows.is_some() && !space.takes_phases() {
            return at.path;
        }
        let elements =
            |path: u32| space.climb(graph, paths, Access::contiguous(&graph.meta(value).shape), path);
        let here = elements(at.path);
        others
            .map(|other| other.path)
            .find(|&path| path == at.path || same_elements(&elements(path), &here))
            .unwrap_or(at.path)
    }

    pub(super) fn require_operands(&mut self, index: u32) {
        let graph = self.graph;
        let node = &graph.nodes[index as usize];
        let Some(structured) = node.op.as_ref().and_then(Op::structured) else { return };
        for (position, &input) in node.inputs.iter().enumerate() {
            self.require_buffer(input, structured.layout(position));
        }
    }

    /// Demands memory for a value, or for what it is a strided view of; returns which.
    fn require_buffer(&mut self, value: Ref, layout: Layout) -> Ref {
        let held = super::reads::held_by(self.graph, value, layout);
        self.required[held.node as usize] = true;
        held
    }

    /// Would storing the node from inside the kernel make the kernel wait for itself?
    ///
    /// A search from the kernel back finds it soon where the kernel needs little, as one that blends statistics at a step's end does;
    /// one from the node on, where few need what it gives.
    pub(super) fn makes_cycle(&mut self, index: u32, group: u32) -> bool {
        self.waits_for(index, group).or_else(|| self.is_waited_for_by(index, group)).unwrap_or(true)
    }

    /// Does the kernel read what other kernels make of the node? None if there is too much to look at.
    fn waits_for(&mut self, index: u32, group: u32) -> Option<bool> {
        self.search.start(2 * self.graph.nodes.len(), self.fusion.groups.len());
        // Nodes with whether another kernel stands between them and the kernel.
        let mut stack: Vec<(u32, bool)> = self.outputs_of(group).map(|node| (node, false)).collect();
        let mut seen = 0;
        while let Some((node, outside)) = stack.pop() {
            if node == index && outside {
                return Some(true);
            }
            // Nodes come after those they need.
            let mark = 2 * node + u32::from(outside);
            if node <= index || !Search::see(self.search.number, &mut self.search.nodes, mark) {
                continue;
            }
            seen += 1;
            if seen > MAX_SEARCH {
                return None;
            }
            let outside = match self.fusion.roles[node as usize] {
                Role::Member { group: other, .. } if other != group => {
                    if Search::see(self.search.number, &mut self.search.groups, other) {
                        stack.extend(self.outputs_of(other).map(|node| (node, true)));
                    }
                    true
                }
                Role::Structured => true,
                _ => outside,
            };
            stack.extend(self.graph.nodes[node as usize].inputs.iter().map(|input| (input.node, outside)));
        }
        Some(false)
    }

    fn outputs_of(&self, group: u32) -> impl Iterator<Item = u32> + use<'_> {
        self.fusion.groups[group as usize].outputs.iter().map(|&(node, _)| node)
    }

    /// Do other kernels make of the node what the kernel reads? None if there is too much to look at.
    fn is_waited_for_by(&mut self, index: u32, group: u32) -> Option<bool> {
        // Nodes with whether another kernel stands between them and the node.
        let mut stack = vec![(index, false)];
        self.search.start(2 * self.graph.nodes.len(), self.fusion.groups.len());
        let mut seen = 0;
        while let Some((node, outside)) = stack.pop() {
            for &consumer in &self.consumers[node as usize] {
                let role = self.fusion.roles[consumer as usize];
                if matches!(role, Role::Member { group: other, .. } if other == group) {
                    if outside {
                        return Some(true);
                    }
                    continue;
                }
                let outside = outside || matches!(role, Role::Member { .. } | Role::Structured);
                let mark = 2 * consumer + u32::from(outside);
                if !Search::see(self.search.number, &mut self.search.nodes, mark) {
                    continue;
                }
                seen += 1;
                if seen > MAX_SEARCH {
                    return None;
                }
                if let Role::Member { group: other, .. } = role
                    && Search::see(self.search.number, &mut self.search.groups, other)
                {
                    stack.extend(self.outputs_of(other).map(|node| (node, true)));
                }
                stack.push((consumer, outside));
            }
        }
        Some(false)
    }
}
