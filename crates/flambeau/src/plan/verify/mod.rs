//! What a legal plan is, as code. The CPU's raw pointers and the GPU's unchecked shaders rest on exactly this.
//!
//! Each pass has a function here that says what must hold after it. In debug builds, and so in all tests and on all random
//! graphs, it runs right after the pass: what is illegal is said together with the pass that made it so. Everything is
//! checked again that a later pass could break; all of it is linear in the plan, but for sorting.
//!
//! | after | checked here | in |
//! |---|---|---|
//! | snapshot | dependency order, shapes, numbers, what a run brings | `graph` |
//! | expand | the same, primitives only, results and inputs of the snapshot | `graph` |
//! | fuse | every value is computed or in memory where it is used, limits, no cycle | `fusion` |
//! | lower | instructions and operands, loops and phases, bounds, orders | `fused`, `loops`, `calls`, `access`, `order` |
//! | epilogue | that, and epilogues | `calls` |
//! | pack | that, and parts | `parts` |
//! | memory | that, and slots | `memory` |

mod access;
mod calls;
mod fused;
mod fusion;
mod graph;
mod loops;
mod memory;
mod order;
mod parts;

use super::Plan;
use super::expand::Expanded;
use super::fuse::Fusion;
use super::graph::{Graph, Ref, Snapshot};
use super::lower::Lowered;
use crate::dtype::DType;
use crate::ir::kernel::{Kernel, Place};
use crate::op::Meta;
use access::Starts;

/// What is wrong, if anything is.
type Verdict = Result<(), String>;

/// Something illegal, and the pass that made it.
#[derive(Debug)]
pub(super) struct Illegal {
    pass: &'static str,
    problem: String,
    /// The kernels there are, in full.
    kernels: String,
}

impl std::fmt::Display for Illegal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "illegal after {}: {}\n{}", self.pass, self.problem, self.kernels)
    }
}

/// Panics in debug builds if a pass has made something illegal.
pub(super) fn check(verdict: impl FnOnce() -> Result<(), Illegal>) {
    if cfg!(debug_assertions)
        && let Err(illegal) = verdict()
    {
        panic!("{illegal}");
    }
}

fn named(pass: &'static str, kernels: &[Kernel], verdict: Verdict) -> Result<(), Illegal> {
    verdict.map_err(|problem| Illegal { pass, problem, kernels: super::dump::kernels(kernels) })
}

pub(super) fn after_snapshot(snapshot: &Snapshot) -> Result<(), Illegal> {
    let legal = || {
        graph::is_legal(snapshot.graph(), snapshot.data.len())?;
        graph::has_only_what_is_needed(snapshot.graph())?;
        graph::run_fits(snapshot)
    };
    named("snapshot", &[], legal())
}

/// A graph that has come again: it is known to be legal, what the run brings is not.
pub(super) fn after_replay(snapshot: &Snapshot) -> Result<(), Illegal> {
    named("replay", &[], graph::run_fits(snapshot))
}

pub(super) fn after_expand(snapshot: &Snapshot, expanded: &Expanded) -> Result<(), Illegal> {
    let legal = || {
        let numbers = snapshot.data.len() + expanded.key.literals.len();
        graph::is_legal(&expanded.graph, numbers)?;
        graph::is_expanded(snapshot, expanded)
    };
    named("expand", &[], legal())
}

/// `wanted` are the roots before those that only reshape others gave way to them.
pub(super) fn after_sharing_roots(graph: &Graph, wanted: &[Ref]) -> Result<(), Illegal> {
    named("sharing roots", &[], graph::roots_hold(graph, wanted))
}

pub(super) fn after_fuse(graph: &Graph, fusion: &Fusion) -> Result<(), Illegal> {
    named("fuse", &[], fusion::is_legal(graph, fusion))
}

pub(super) fn after_lower(graph: &Graph, lowered: &Lowered) -> Result<(), Illegal> {
    let legal = || {
        fused::loads_are_of_their_nodes(graph, lowered)?;
        lowered_is_legal(graph, lowered)
    };
    named("lower", &lowered.kernels, legal())
}

/// Fused kernels have been joined with structured ones, and are not in order yet.
pub(super) fn after_joining_epilogues(kernels: &[Kernel], buffers: usize) -> Result<(), Illegal> {
    named("epilogue", kernels, order::can_be_found(kernels, buffers))
}

pub(super) fn after_epilogue(graph: &Graph, lowered: &Lowered) -> Result<(), Illegal> {
    named("epilogue", &lowered.kernels, lowered_is_legal(graph, lowered))
}

/// `unpacked` are the kernels before the pass.
pub(super) fn after_pack(
    graph: &Graph,
    plan: &Plan,
    unpacked: &[Kernel],
    element_bytes: fn(DType) -> u64,
) -> Result<(), Illegal> {
    let legal = || {
        plan_is_legal(graph, plan, element_bytes)?;
        parts::are_those_of_packs(graph, plan, unpacked)
    };
    named("pack", &plan.kernels, legal())
}

pub(super) fn after_memory(
    graph: &Graph,
    plan: &Plan,
    element_bytes: fn(DType) -> u64,
) -> Result<(), Illegal> {
    let legal = || {
        plan_is_legal(graph, plan, element_bytes)?;
        memory::results_are_kept(plan)?;
        memory::lives_do_not_overlap(plan, element_bytes)
    };
    named("memory", &plan.kernels, legal())
}

fn lowered_is_legal(graph: &Graph, lowered: &Lowered) -> Verdict {
    let meta = |&value: &Ref| graph.meta(value);
    let contents = Contents::new(graph, lowered.buffers.iter().map(meta).map(content).collect());
    let homes: Vec<u32> = (0..lowered.buffers.len() as u32).collect();
    let place = |root: &Ref| lowered.places.get(root).copied().ok_or(format!("{root:?} is not stored"));
    let roots: Vec<Place> = graph.roots.iter().map(place).collect::<Result<_, _>>()?;
    kernels_are_legal(graph, &lowered.kernels, &contents)?;
    contents.hold_results(graph, &roots)?;
    order::is_legal(&lowered.kernels, &homes, &roots)
}

fn plan_is_legal(graph: &Graph, plan: &Plan, element_bytes: fn(DType) -> u64) -> Verdict {
    let buffers = plan.buffers.iter().map(|buffer| (buffer.dtype, buffer.numel));
    let contents = Contents::new(graph, buffers.collect());
    parts::lie_apart(plan, element_bytes)?;
    let homes: Vec<u32> = (0..plan.buffers.len() as u32).map(|buffer| plan.home(buffer)).collect();
    kernels_are_legal(graph, &plan.kernels, &contents)?;
    contents.hold_results(graph, &plan.roots)?;
    order::is_legal(&plan.kernels, &homes, &plan.roots)
}

fn kernels_are_legal(graph: &Graph, kernels: &[Kernel], contents: &Contents) -> Verdict {
    let starts = Starts::of(graph);
    for (number, kernel) in kernels.iter().enumerate() {
        let legal = match kernel {
            Kernel::Fused(fused) => {
                fused::Checker { graph, contents, starts: &starts, fused, result: None }.check()
            }
            Kernel::Structured(call) => calls::is_legal(graph, contents, &starts, call),
        };
        legal.map_err(|problem| format!("kernel {number} ({}): {problem}", kernel.describe().join(" ")))?;
    }
    Ok(())
}

/// Dtype and number of elements of what lies at each place.
struct Contents {
    inputs: Vec<(DType, usize)>,
    buffers: Vec<(DType, usize)>,
}

impl Contents {
    fn new(graph: &Graph, buffers: Vec<(DType, usize)>) -> Contents {
        let inputs = graph.nodes.iter().filter(|node| node.op.is_none());
        Contents { inputs: inputs.flat_map(|node| node.outputs.iter().map(content)).collect(), buffers }
    }

    fn at(&self, place: Place) -> Result<(DType, usize), String> {
        let known = match place {
            Place::Input(input) => self.inputs.get(input as usize),
            Place::Buffer(buffer) => self.buffers.get(buffer as usize),
        };
        known.copied().ok_or_else(|| format!("there is no {place:?}"))
    }

    /// What must lie at a place does.
    fn hold(&self, place: Place, meta: &Meta) -> Verdict {
        let (found, wanted) = (self.at(place)?, content(meta));
        if found == wanted {
            return Ok(());
        }
        Err(format!("{place:?} holds {}×{}, not {}×{}", found.0, found.1, wanted.0, wanted.1))
    }

    fn hold_results(&self, graph: &Graph, roots: &[Place]) -> Verdict {
        if roots.len() != graph.roots.len() {
            return Err(format!("{} results for {} roots", roots.len(), graph.roots.len()));
        }
        graph.roots.iter().zip(roots).try_for_each(|(&root, &place)| self.hold(place, graph.meta(root)))
    }
}

fn content(meta: &Meta) -> (DType, usize) {
    (meta.dtype, meta.numel())
}

fn buffer_of(place: &Place) -> Option<usize> {
    match place {
        Place::Buffer(buffer) => Some(*buffer as usize),
        Place::Input(_) => None,
    }
}

/// One of those that wait for themselves, given what each of them waits for.
fn in_a_cycle(waits: &[Vec<usize>]) -> Option<usize> {
    let mut readers = vec![Vec::new(); waits.len()];
    let mut left: Vec<usize> = waits.iter().map(Vec::len).collect();
    for (waiting, waits) in waits.iter().enumerate() {
        waits.iter().for_each(|&before| readers[before].push(waiting));
    }
    let mut ready: Vec<usize> = (0..waits.len()).filter(|&index| left[index] == 0).collect();
    while let Some(done) = ready.pop() {
        for &reader in &readers[done] {
            left[reader] -= 1;
            if left[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    left.iter().position(|&left| left > 0)
}
