//! The backward pass: adds the nodes that compute gradients. It evaluates nothing.

use super::function::{Backward, Edge, Function, Leaf};
use super::mode;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use std::collections::{BinaryHeap, HashMap};
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
    /// Only these edges, handed back.
    Inputs(&'a [Tensor]),
}

/// Runs backward from `outputs`; every leaf reached gathers its gradient.
pub(crate) fn backward(outputs: &[Tensor], grads: &[Option<Tensor>], options: BackwardOptions) -> Result<()> {
    run(outputs, grads, options, Wanted::Leaves).map(|_| ())
}

/// The gradients of `outputs` with respect to `inputs`; `None` where an input does not take part. Leaves are left
/// alone.
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
    run(outputs, &grads, options, Wanted::Inputs(inputs))
}

/// Like [`grad`], with the gradients of the outputs given.
pub fn grad_with(
    outputs: &[Tensor],
    grads: &[Option<Tensor>],
    inputs: &[Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    run(outputs, grads, options, Wanted::Inputs(inputs))
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

struct Pass {
    waiting: BinaryHeap<Waiting>,
    gathered: HashMap<*const Function, Vec<Option<Tensor>>>,
    leaves: Vec<(Arc<Leaf>, Tensor)>,
    leaf_index: HashMap<*const Leaf, usize>,
}

impl Pass {
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
}

fn run(
    outputs: &[Tensor],
    grads: &[Option<Tensor>],
    options: BackwardOptions,
    wanted: Wanted,
) -> Result<Vec<Option<Tensor>>> {
    let _mode = mode::set_grad_enabled(options.create_graph);
    let keep = options.retain_graph || options.create_graph;
    let mut pass = Pass {
        waiting: BinaryHeap::new(),
        gathered: HashMap::new(),
        leaves: Vec::new(),
        leaf_index: HashMap::new(),
    };
    for (output, grad) in outputs.iter().zip(grads) {
        let edge = output.edge().ok_or_else(|| {
            Error::Autograd(
                "backward was called on a tensor that does not require a gradient: no input of it was marked with \
                 requires_grad, or it was made under no_grad or by detach"
                    .into(),
            )
        })?;
        pass.flow(&edge.clone(), start(output, grad.as_ref())?)?;
    }
    let asked: Vec<Option<Target>> = match &wanted {
        Wanted::Leaves => Vec::new(),
        Wanted::Inputs(inputs) => inputs.iter().map(|input| input.edge().map(target)).collect(),
    };
    if let (Wanted::Inputs(inputs), Some(missing)) = (&wanted, asked.iter().position(Option::is_none)) {
        return Err(Error::Autograd(format!(
            "input {missing} of shape {} does not require a gradient",
            inputs[missing].shape()
        )));
    }
    let mut results: Vec<Option<Tensor>> = vec![None; asked.len()];
    while let Some(Waiting(function)) = pass.waiting.pop() {
        let gathered = pass.gathered.remove(&Arc::as_ptr(&function)).unwrap_or_default();
        let hooked = gathered.into_iter().enumerate().map(|(output, grad)| {
            grad.map(|grad| Edge::Function(function.clone(), output as u32).hooked(grad))
        });
        let grads: Vec<Option<Tensor>> = hooked.collect();
        for (position, asked) in asked.iter().enumerate() {
            if let Some(Target::Function(pointer, output)) = asked
                && std::ptr::eq(*pointer, Arc::as_ptr(&function))
            {
                results[position].clone_from(&grads[*output as usize]);
            }
        }
        let edges = function.edges();
        let needs: Vec<bool> = edges.iter().map(Option::is_some).collect();
        match function.backward(&grads, &needs, keep)? {
            Backward::Grads(grads) => {
                for (edge, grad) in edges.iter().zip(grads) {
                    if let (Some(edge), Some(grad)) = (edge, grad) {
                        pass.flow(edge, grad)?;
                    }
                }
            }
            Backward::Recorded(output) => {
                if let (Some(edge), Some(grad)) = (output.edge(), grads.into_iter().next().flatten()) {
                    pass.flow(&edge.clone(), grad)?;
                }
            }
        }
    }
    for (leaf, grad) in pass.leaves {
        let grad = Edge::Leaf(leaf.clone()).hooked(grad);
        match &wanted {
            Wanted::Leaves => leaf.accumulate(grad)?,
            Wanted::Inputs(_) => {
                for (position, asked) in asked.iter().enumerate() {
                    if *asked == Some(Target::Leaf(Arc::as_ptr(&leaf))) {
                        results[position] = Some(grad.clone());
                    }
                }
            }
        }
    }
    Ok(results)
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
