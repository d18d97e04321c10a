//! Marking what a derivative is taken with respect to, and finding what else one may be taken with respect to.

use crate::autograd::function::{Backward, Edge, Function, Rule};
use crate::autograd::{Saves, Vjp};
use crate::device::Device;
use crate::error::Result;
use crate::op::Meta;
use crate::tensor::Tensor;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The same value with a place of its own in autograd's graph, from which gradients flow on to where they flowed before. Unlike a
/// leaf it gathers nothing, and a derivative with respect to it is not one with respect to other uses of the same tensor.
pub(super) fn marked(x: &Tensor) -> Tensor {
    let rule = Rule::Custom(Arc::new(|v: &Vjp| Ok(vec![v.grads[0].clone()])));
    let function = Function::new("func", rule, Saves::NOTHING, &[x], std::slice::from_ref(x.value()));
    Tensor::from_parts(x.value().clone(), Some(Edge::Function(function, 0)))
}

/// What tensors were made from that has a gradient and was there before function number `first`: stand-ins without values, through
/// which gradients flow to it. `inside` is held while a checkpointed region runs again.
pub(super) fn captured<G>(tensors: &[&Tensor], first: u64, inside: impl Fn() -> G) -> Result<Vec<Tensor>> {
    let mut found = Vec::new();
    // Functions gone through, and edges found, by their addresses: the tensors hold them all.
    let mut functions: FxHashSet<*const Function> = FxHashSet::default();
    let mut edges: FxHashSet<(usize, u32)> = FxHashSet::default();
    let mut again: Vec<Tensor> = Vec::new();
    let place = |tensor: &Tensor| {
        let edge = tensor.edge().cloned();
        edge.map(|edge| (edge, tensor.meta().clone(), tensor.device().clone()))
    };
    let mut stack: Vec<(Edge, Meta, Device)> = tensors.iter().filter_map(|tensor| place(tensor)).collect();
    while let Some((edge, meta, device)) = stack.pop() {
        let address = match &edge {
            Edge::Function(function, _) if function.sequence >= first => {
                if functions.insert(Arc::as_ptr(function)) {
                    let inputs = function.inputs().into_iter();
                    stack.extend(inputs.filter_map(|(edge, meta)| Some((edge?, meta, device.clone()))));
                    // What a checkpointed region captures is known only when it has been recorded again.
                    if function.is_checkpoint() {
                        let _inside = inside();
                        if let Backward::Recorded(output) = function.backward(&[], &[], true)? {
                            stack.extend(place(&output));
                            again.push(output);
                        }
                    }
                }
                continue;
            }
            Edge::Function(function, output) => (Arc::as_ptr(function) as usize, *output),
            Edge::Leaf(leaf) => (Arc::as_ptr(leaf) as usize, 0),
        };
        if edges.insert(address) {
            let absent = Tensor::placeholder(meta, &device)?;
            found.push(Tensor::from_parts(absent.value().clone(), Some(edge)));
        }
    }
    Ok(found)
}
