//! Legal graphs: nodes come after what they read, shapes fit, only products of f32 have a precision, and a run brings what the
//! graph asks for.

use super::Verdict;
use super::access::Starts;
use crate::ir::{Precision, View};
use crate::op::{Meta, Op};
use crate::plan::expand::Expanded;
use crate::plan::graph::{Graph, GraphNode, Ref, Snapshot};
use crate::shape::Shape;

/// A graph whose runs have this many numbers.
pub(super) fn is_legal(graph: &Graph, numbers: usize) -> Verdict {
    for (index, node) in graph.nodes.iter().enumerate() {
        let name = || node.op.as_ref().map_or("input", Op::name);
        let say = |problem: String| format!("node {index} ({}): {problem}", name());
        if let Some(input) = node.inputs.iter().find(|&&input| !exists_before(graph, input, index)) {
            return Err(say(format!("it reads {input:?}, which does not come before it")));
        }
        if node.data_start as usize + numbers_of(node) > numbers {
            return Err(say(format!("its numbers from {} on are not among {numbers}", node.data_start)));
        }
        let heeds = node.op.as_ref().is_some_and(|op| op.multiplies_f32(&node.outputs));
        if node.precision != Precision::Highest && !heeds {
            return Err(say(format!("it multiplies no f32 at {}", node.precision)));
        }
        if !fits(graph, node) {
            let inputs: Vec<&Meta> = node.inputs.iter().map(|&input| graph.meta(input)).collect();
            return Err(say(format!("{inputs:?} do not give {:?}", node.outputs)));
        }
    }
    match graph.roots.iter().find(|&&root| !exists_before(graph, root, graph.nodes.len())) {
        Some(root) => Err(format!("the root {root:?} is no value of the graph")),
        None => Ok(()),
    }
}

fn exists_before(graph: &Graph, value: Ref, index: usize) -> bool {
    let node = value.node as usize;
    node < index && (value.output as usize) < graph.nodes[node].outputs.len()
}

/// The numbers that an op takes from the data, where that is the same for all its nodes.
fn numbers_of(node: &GraphNode) -> usize {
    match &node.op {
        Some(Op::Constant | Op::View(View::Slice { .. } | View::Embed { .. })) => 1,
        Some(Op::Bits) => 4,
        _ => 0,
    }
}

/// Do the inputs of a node have shapes that give its output? Structured ops and composites check that themselves.
fn fits(graph: &Graph, node: &GraphNode) -> bool {
    let inputs: Vec<&Meta> = node.inputs.iter().map(|&input| graph.meta(input)).collect();
    let Some(out) = node.outputs.first() else { return false };
    match (&node.op, &inputs[..]) {
        (None | Some(Op::Constant | Op::Iota { .. } | Op::Bits | Op::Healthy), inputs) => inputs.is_empty(),
        (Some(Op::Map(map)), inputs) => {
            inputs.len() == map.args.len() && inputs.iter().all(|input| input.shape == out.shape)
        }
        (Some(Op::Cast), [input]) => input.shape == out.shape,
        (Some(Op::View(view)), [input]) => input.dtype == out.dtype && views(view, &input.shape, &out.shape),
        (Some(Op::Gather { dim }), [source, index]) => {
            let inside = |d: usize| d == *dim || out.shape[d] <= source.shape[d];
            source.shape.rank() == out.shape.rank()
                && index.shape == out.shape
                && source.dtype == out.dtype
                && (out.numel() == 0 || (0..out.shape.rank()).all(inside))
        }
        (Some(Op::Reduce(reduce)), [input]) => {
            let size = |d: usize| if reduce.dims.contains(&d) { 1 } else { input.shape[d] };
            let kept: Shape = (0..input.shape.rank()).map(size).collect();
            out.shape == kept && out.dtype == reduce.kind.result(input.dtype)
        }
        (Some(Op::Cast | Op::View(_) | Op::Gather { .. } | Op::Reduce(_)), _) => false,
        (Some(Op::Structured(_) | Op::Composite(_) | Op::Unsaved | Op::Placeholder), _) => true,
    }
}

/// Is this the shape that a view has of another?
fn views(view: &View, from: &Shape, to: &Shape) -> bool {
    let others_equal =
        |dim: usize| from.rank() <= to.rank() && (0..from.rank()).all(|d| d == dim || from[d] == to[d]);
    // The last of `count` elements that lie `step` apart.
    let last = |count: usize, step: usize| count.saturating_sub(1).saturating_mul(step);
    match view {
        View::Reshape => from.numel() == to.numel(),
        View::Permute(order) => {
            let mut dims: Vec<usize> = order.to_vec();
            dims.sort_unstable();
            dims.into_iter().eq(0..from.rank()) && order.iter().map(|&d| &from[d]).eq(to.iter())
        }
        View::Expand => {
            from.rank() == to.rank() && from.iter().zip(to.iter()).all(|(a, b)| a == b || *a == 1)
        }
        View::Slice { dim, step } => {
            let fits = to[*dim] == 0 || last(to[*dim], step.unsigned_abs()) < from[*dim];
            from.rank() == to.rank() && others_equal(*dim) && fits
        }
        View::Embed { dim, step } => {
            let fits = from[*dim] == 0 || last(from[*dim], *step) < to[*dim];
            from.rank() == to.rank() && others_equal(*dim) && fits
        }
        View::Window { dim, step } => {
            let (count, size) = (to[*dim], to[to.rank() - 1]);
            to.rank() == from.rank() + 1
                && others_equal(*dim)
                && (count == 0 || last(count, *step) + size <= from[*dim])
        }
    }
}

/// Nothing is computed that no root needs.
pub(super) fn has_only_what_is_needed(graph: &Graph) -> Verdict {
    let mut needed = vec![false; graph.nodes.len()];
    graph.roots.iter().for_each(|root| needed[root.node as usize] = true);
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        if needed[index] {
            node.inputs.iter().for_each(|input| needed[input.node as usize] = true);
        } else if let Some(op) = &node.op {
            return Err(format!("node {index} ({}) is needed by no root", op.name()));
        }
    }
    Ok(())
}

/// A run brings its inputs, starts that keep slices inside of what they slice, and nodes that the roots fill.
pub(super) fn run_fits(snapshot: &Snapshot) -> Verdict {
    let graph = snapshot.graph();
    let inputs = inputs(graph).count();
    if snapshot.inputs.len() != inputs {
        return Err(format!("{} values for {inputs} inputs", snapshot.inputs.len()));
    }
    Starts::of(graph).allow(&snapshot.data)?;
    for (node, first) in &snapshot.targets {
        let roots = graph.roots.get(*first..first + node.outputs.len()).unwrap_or_default();
        if !roots.iter().map(|&root| graph.meta(root)).eq(&node.outputs) {
            return Err(format!("the roots from {first} on are not {:?}", node.outputs));
        }
    }
    Ok(())
}

fn inputs(graph: &Graph) -> impl Iterator<Item = &Meta> {
    graph.nodes.iter().filter(|node| node.op.is_none()).flat_map(|node| &node.outputs)
}

/// The expanded graph has primitives only, the snapshot's results in their order, and inputs, numbers and nodes that are
/// found in the snapshot.
pub(super) fn is_expanded(snapshot: &Snapshot, expanded: &Expanded) -> Verdict {
    let (first, graph, key) = (snapshot.graph(), &expanded.graph, &expanded.key);
    if let Some(node) = graph.nodes.iter().find(|node| matches!(node.op, Some(Op::Composite(_)))) {
        return Err(format!("{:?} is still there", node.op.as_ref().map(Op::name)));
    }
    let metas = |graph: &Graph| graph.roots.iter().map(|&root| graph.meta(root).clone()).collect::<Vec<_>>();
    let (before, after) = (metas(first), metas(graph));
    if before != after {
        return Err(format!("the results were {before:?} and are {after:?}"));
    }
    let known: Vec<&Meta> = inputs(first).collect();
    let found = key.inputs.iter().map(|&input| known.get(input as usize).copied());
    if !found.eq(inputs(graph).map(Some)) {
        return Err(format!("its inputs are not the snapshot's {:?}", key.inputs));
    }
    let origins_exist = key.origins.iter().all(|&origin| (origin as usize) < first.nodes.len());
    if key.origins.len() != graph.nodes.len() || !origins_exist {
        return Err("not every node has an origin".into());
    }
    let numbers: Vec<_> = snapshot.data.iter().chain(&key.literals).copied().collect();
    Starts::of(graph).allow(&numbers)
}

/// Each root still stands for the wanted value: it is reached by undoing reshapes.
pub(super) fn roots_hold(graph: &Graph, wanted: &[Ref]) -> Verdict {
    let stands_for = |(&root, &wanted): (&Ref, &Ref)| {
        let mut value = wanted;
        while value != root
            && let Some(View::Reshape) = graph.node(value).view()
        {
            value = graph.node(value).inputs[0];
        }
        value == root
    };
    match graph.roots.len() == wanted.len() && graph.roots.iter().zip(wanted).all(stands_for) {
        true => Ok(()),
        false => Err(format!("the roots {:?} do not hold {wanted:?}", graph.roots)),
    }
}
