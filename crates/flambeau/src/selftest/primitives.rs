//! Which primitives there are, and which a graph is made of.

use crate::op::{NAMES, Op, ReduceKind, View, elementwise};
use crate::tensor::Tensor;
use crate::tensor::node::{Node, State, Value};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The names of every primitive the library has: what the suite must run.
///
/// ```
/// assert!(flambeau::selftest::primitives().contains("matmul"));
/// ```
pub fn primitives() -> BTreeSet<&'static str> {
    let views = ["reshape", "permute", "expand", "slice", "pad", "unfold"];
    let others = ["constant", "iota", "random_bits", "cast", "gather"];
    elementwise::whole_table()
        .map(|op| op.name)
        .chain(ReduceKind::ALL.map(ReduceKind::name))
        .chain(views)
        .chain(NAMES.iter().copied().flatten().copied())
        .chain(others)
        .collect()
}

/// Is the op in the list above? A new variant does not compile until it is named here, and then there.
pub(super) fn is_listed(op: &Op) -> bool {
    match op {
        Op::Map(_)
        | Op::Reduce(_)
        | Op::Constant
        | Op::Iota { .. }
        | Op::Bits
        | Op::Cast
        | Op::Gather { .. } => true,
        Op::View(
            View::Reshape
            | View::Permute(_)
            | View::Expand
            | View::Slice { .. }
            | View::Embed { .. }
            | View::Window { .. },
        ) => true,
        Op::Structured(op) => !op.names().is_empty(),
        // Not made by ops on tensors: the optimizer's guard, and stand-ins that are never evaluated.
        Op::Healthy | Op::Unsaved | Op::Placeholder => false,
        // Made of others.
        Op::Composite(_) => false,
    }
}

/// Adds the names of the unevaluated ops a tensor is made of.
pub(super) fn collect(tensor: &Tensor, names: &mut BTreeSet<&'static str>) {
    let mut seen: HashSet<*const Node> = HashSet::new();
    let mut stack: Vec<Value> = vec![tensor.value().clone()];
    while let Some(value) = stack.pop() {
        if seen.insert(Arc::as_ptr(&value.node))
            && let State::Pending { op, inputs, data } = &*value.node.state()
        {
            if is_listed(op) {
                names.insert(op.name());
            }
            if let Op::Composite(op) = op {
                let inputs: Vec<Tensor> =
                    inputs.iter().map(|input| Tensor::from_parts(input.clone(), None)).collect();
                let (results, _) = op.write(&inputs, data).expect("the operands have been checked");
                results.iter().for_each(|result| collect(result, names));
            }
            stack.extend(inputs.iter().cloned());
        }
    }
}
