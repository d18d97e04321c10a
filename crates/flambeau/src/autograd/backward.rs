//! The backward pass: adds the nodes that compute gradients. It evaluates nothing.

use super::function::{Backward, Edge, Function, Leaf};
use super::{mode, set_autocast_enabled};
use crate::error::{Error, Result};
use crate::host::sorted_by;
use crate::tensor::Tensor;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// How a backward pass treats the graph.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackwardOptions {
    /// Keep the saved values, so that another pass can go through the graph.
    pub retain_graph: bool,
    /// Record the gradients' own computation, so that they can be differentiated again.
    pub create_graph: bool,
}

/// Which leaves gather gradients.
enum Wanted<'a> {
    /// All that are reached, in their own slots.
    Leaves,
    /// Only these edges, handed back. Functions before this number are not gone through.
    Inputs(&'a [Tensor], u64),
}

/// Runs backward from `outputs`; every leaf reached gathers its gradient.
pub(crate) fn backward(outputs: &[Tensor], grads: &[Option<Tensor>], options: BackwardOptions) -> Result<()> {
    run(outputs, grads, options, Wanted::Leaves).map(|_| ())
}

/// The gradients of `outputs` with respect to `inputs`, leaves or not; `None` where an input does not take part. The
/// gradients of leaves (`x.grad()`) are left alone, and only what lies between inputs and outputs is gone through.
///
/// ```
/// # use flambeau::prelude::*;
/// let x = Tensor::new([3.0], &Device::cpu()).requires_grad();
/// let create = BackwardOptions { create_graph: true, ..Default::default() };
/// let dy = grad(&[(&x * &x * &x).sum(..)], &[x.clone()], create)?[0].clone().unwrap();
/// let ddy = grad(&[dy.sum(..)], &[x], BackwardOptions::default())?[0].clone().unwrap();
/// assert_eq!(dy.to_string(), "tensor([27.], requires_grad=true)");
/// assert_eq!(ddy.to_string(), "tensor([18.])");
/// # Ok::<(), Error>(())
/// ```
pub fn grad(outputs: &[Tensor], inputs: &[Tensor], options: BackwardOptions) -> Result<Vec<Option<Tensor>>> {
    let grads = vec![None; outputs.len()];
    run(outputs, &grads, options, Wanted::Inputs(inputs, 0))
}

/// Like [`grad`], with the gradients of the outputs given.
pub fn grad_with(
    outputs: &[Tensor],
    grads: &[Option<Tensor>],
    inputs: &[Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    run(outputs, grads, options, Wanted::Inputs(inputs, 0))
}

/// Like [`grad_with`], through what was recorded from function number `first` on: the results of functions before it count as leaves.
pub(crate) fn grad_since(
    first: u64,
    outputs: &[Tensor],
    grads: &[Option<Tensor>],
    inputs: &[Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    run(outputs, grads, options, Wanted::Inputs(inputs, first))
}

/// A place gradients flow to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    Leaf(*const Leaf),
    Function(*const Function, u32),
}

fn target(edge: &Edge) -> Target {
    match edge {
        Edge::Leaf(leaf) => Target::Leaf(Arc::as_ptr(leaf)),
        Edge::Function(function, output) => Target::Function(Arc::as_ptr(function), *output),
    }
}

/// Functions waiting for their gradients, the latest first.
struct Waiting(Arc<Function>);
impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.0.sequence == other.0.sequence
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.sequence.cmp(&other.0.sequence)
    }
}

/// Which functions lie between the outputs and the inputs asked for: only those run.
struct Route {
    asked: FxHashSet<Target>,
    /// Functions before this number are not gone through.
    first: u64,
    /// Every function seen, and whether it leads to an input. Holding them keeps their addresses theirs.
    functions: FxHashMap<*const Function, (Arc<Function>, bool)>,
}

impl Route {
    fn leads(&self, edge: &Edge) -> bool {
        self.asked.contains(&target(edge))
            || matches!(edge, Edge::Function(function, _) if self.runs(function))
    }

    fn runs(&self, function: &Arc<Function>) -> bool {
        self.functions.get(&Arc::as_ptr(function)).is_some_and(|(_, leads)| *leads)
    }

    /// Looks at what lies before an edge.
    fn explore(&mut self, edge: &Edge) {
        let mut found: Vec<Arc<Function>> = Vec::new();
        let mut stack = vec![edge.clone()];
        while let Some(edge) = stack.pop() {
            if let Edge::Function(function, _) = edge
                && function.sequence >= self.first
                && let Entry::Vacant(entry) = self.functions.entry(Arc::as_ptr(&function))
            {
                stack.extend(function.edges().into_iter().flatten());
                entry.insert((function.clone(), false));
                found.push(function);
            }
        }
        for function in sorted_by(found, |function| function.sequence) {
            // What a checkpointed region captures is known only when it has been recorded again.
            let leads =
                function.is_checkpoint() || function.edges().iter().flatten().any(|edge| self.leads(edge));
            self.functions.insert(Arc::as_ptr(&function), (function, leads));
        }
    }
}

struct Pass {
    waiting: BinaryHeap<Waiting>,
    gathered: FxHashMap<*const Function, Vec<Option<Tensor>>>,
    leaves: Vec<(Arc<Leaf>, Tensor)>,
    leaf_index: FxHashMap<*const Leaf, usize>,
    /// None when every leaf is wanted.
    route: Option<Route>,
}

impl Pass {
    fn leads(&self, edge: &Edge) -> bool {
        self.route.as_ref().is_none_or(|route| route.leads(edge))
    }

    fn runs(&self, function: &Arc<Function>) -> bool {
        self.route.as_ref().is_none_or(|route| route.runs(function))
    }

    /// Starts, or goes on, at an edge that was not reached through a function.
    fn enter(&mut self, edge: &Edge, grad: Tensor) -> Result<()> {
        if let Some(route) = &mut self.route {
            route.explore(edge);
        }
        if self.leads(edge) { self.flow(edge, grad) } else { Ok(()) }
    }

    /// Adds a gradient to what has flowed to an edge so far.
    fn flow(&mut self, edge: &Edge, grad: Tensor) -> Result<()> {
        match edge {
            Edge::Leaf(leaf) => match self.leaf_index.get(&Arc::as_ptr(leaf)) {
                Some(&index) => {
                    let sum = self.leaves[index].1.try_add(&grad)?;
                    self.leaves[index].1 = sum;
                }
                None => {
                    self.leaf_index.insert(Arc::as_ptr(leaf), self.leaves.len());
                    self.leaves.push((leaf.clone(), grad));
                }
            },
            Edge::Function(function, output) => {
                let gathered = self.gathered.entry(Arc::as_ptr(function)).or_insert_with(|| {
                    self.waiting.push(Waiting(function.clone()));
                    vec![None; function.outputs.len()]
                });
                let slot = &mut gathered[*output as usize];
                *slot = Some(match slot.take() {
                    Some(before) => before.try_add(&grad)?,
                    None => grad,
                });
            }
        }
        Ok(())
    }

    /// The next function, latest first, with the gradients of its outputs, hooks applied.
    fn next(&mut self) -> Option<(Arc<Function>, Vec<Option<Tensor>>)> {
        let Waiting(function) = self.waiting.pop()?;
        let gathered = self.gathered.remove(&Arc::as_ptr(&function)).unwrap_or_default();
        let hooked = gathered.into_iter().enumerate().map(|(output, grad)| {
            grad.map(|grad| Edge::Function(function.clone(), output as u32).hooked(grad))
        });
        let grads = hooked.collect();
        Some((function, grads))
    }

    /// Sends gradients through a function.
    fn pass_on(&mut self, function: &Arc<Function>, grads: Vec<Option<Tensor>>, keep: bool) -> Result<()> {
        let edges = function.edges();
        let needs: Vec<bool> =
            edges.iter().map(|edge| edge.as_ref().is_some_and(|edge| self.leads(edge))).collect();
        match function.backward(&grads, &needs, keep)? {
            Backward::Grads(grads) => {
                for ((edge, grad), needed) in edges.iter().zip(grads).zip(needs) {
                    if let (Some(edge), Some(grad), true) = (edge, grad, needed) {
                        self.flow(edge, grad)?;
                    }
                }
            }
            Backward::Recorded(output) => {
                if let (Some(edge), Some(grad)) = (output.edge(), grads.into_iter().next().flatten()) {
                    self.enter(edge, grad)?;
                }
            }
        }
        Ok(())
    }
}

fn run(
    outputs: &[Tensor],
    grads: &[Option<Tensor>],
    options: BackwardOptions,
    wanted: Wanted,
) -> Result<Vec<Option<Tensor>>> {
    if outputs.len() != grads.len() {
        let message = format!("{} gradients were given for {} outputs", grads.len(), outputs.len());
        return Err(Error::Autograd(message));
    }
    let _mode = mode::set_grad_enabled(options.create_graph);
    // Rules run in the dtypes of the forward pass.
    let _plain = set_autocast_enabled(false);
    let keep = options.retain_graph || options.create_graph;
    let asked: Vec<Target> = match &wanted {
        Wanted::Leaves => Vec::new(),
        Wanted::Inputs(inputs, _) => inputs.iter().enumerate().map(asked_target).collect::<Result<_>>()?,
    };
    let route = match wanted {
        Wanted::Leaves => None,
        Wanted::Inputs(_, first) => {
            Some(Route { asked: asked.iter().copied().collect(), first, functions: FxHashMap::default() })
        }
    };
    let mut pass = Pass {
        waiting: BinaryHeap::new(),
        gathered: FxHashMap::default(),
        leaves: Vec::new(),
        leaf_index: FxHashMap::default(),
        route,
    };
    for (output, grad) in outputs.iter().zip(grads) {
        let edge = output.edge().ok_or_else(|| {
            Error::Autograd(
                "backward was called on a tensor that does not require a gradient: no input of it was marked with \
                 requires_grad, or it was made under no_grad or by detach"
                    .into(),
            )
        })?;
        pass.enter(edge, start(output, grad.as_ref())?)?;
    }
    let mut results: FxHashMap<Target, Tensor> = FxHashMap::default();
    while let Some((function, grads)) = pass.next() {
        for (output, grad) in grads.iter().enumerate() {
            let Some(grad) = grad else { continue };
            let at = Target::Function(Arc::as_ptr(&function), output as u32);
            match &pass.route {
                Some(route) if route.asked.contains(&at) => {
                    results.insert(at, grad.clone());
                }
                Some(_) => {}
                None => {
                    if let Some(leaf) = function.retained(output as u32) {
                        leaf.accumulate(grad.clone())?;
                    }
                }
            }
        }
        if pass.runs(&function) {
            pass.pass_on(&function, grads, keep)?;
        }
    }
    for (leaf, grad) in pass.leaves {
        let grad = Edge::Leaf(leaf.clone()).hooked(grad);
        match &wanted {
            Wanted::Leaves => leaf.accumulate(grad)?,
            Wanted::Inputs(..) => {
                results.insert(Target::Leaf(Arc::as_ptr(&leaf)), grad);
            }
        }
    }
    Ok(asked.iter().map(|at| results.get(at).cloned()).collect())
}

fn asked_target((index, input): (usize, &Tensor)) -> Result<Target> {
    input.edge().map(target).ok_or_else(|| {
        Error::Autograd(format!("input {index} of shape {} does not require a gradient", input.shape()))
    })
}

/// The gradient an output starts with: the one given, or 1 for a single element.
fn start(output: &Tensor, grad: Option<&Tensor>) -> Result<Tensor> {
    match grad {
        Some(grad) if grad.shape() != output.shape() => Err(Error::Autograd(format!(
            "the gradient has shape {}, the output {}",
            grad.shape(),
            output.shape()
        ))),
        Some(grad) => grad.try_to_dtype(output.dtype()),
        None if output.numel() == 1 => Ok(output.ones_like()),
        None => Err(Error::Autograd(format!(
            "backward from a tensor of shape {} needs a gradient; without one the output must have a single element",
            output.shape()
        ))),
    }
}
