//! Through which memory a value is read, and how.

use super::graph::{Graph, Ref};
use crate::ir::access::Access;
use crate::ir::call::Layout;
use crate::op::Op;

/// The value in memory through which `value` is read, given how the reader wants it to lie: what it is a view of if it
/// can be read through that, else the first view on the way to it that will do. Readers of different views of one value
/// (a matrix and its transpose) so share memory.
pub(super) fn held_by(graph: &Graph, value: Ref, layout: Layout) -> Ref {
    let base = graph.base(value);
    if base == value {
        return value;
    }
    let mut chain = vec![value];
    while let Some(&last) = chain.last()
        && last != base
    {
        chain.push(graph.node(last).inputs[0]);
    }
    let numel = graph.meta(value).numel();
    let holds = |&held: &Ref| {
        let access = access_of(graph, value, held);
        let readable = match layout {
            Layout::Contiguous => access.is_contiguous(),
            Layout::Strided => access.is_strided(),
        };
        let is_source = graph.node(held).op.as_ref().is_some_and(Op::is_source);
        readable && !is_source && (held == base || graph.meta(held).numel() <= numel)
    };
    chain.into_iter().rev().find(holds).unwrap_or(value)
}

/// How `value` is found in the memory of `held`, which is itself or a value it is a view of.
pub(super) fn access_of(graph: &Graph, value: Ref, held: Ref) -> Access {
    let mut views = Vec::new();
    let mut at = value;
    while at != held {
        views.push(at);
        at = graph.node(at).inputs[0];
    }
    let start = Access::contiguous(&graph.meta(held).shape);
    views.iter().rev().fold(start, |access, &view| through(graph, access, view.node))
}

/// Reads an access through one more node, if that is a view.
pub(super) fn through(graph: &Graph, access: Access, view: u32) -> Access {
    let node = &graph.nodes[view as usize];
    match &node.op {
        Some(Op::View(view)) => access.through(view, &node.outputs[0].shape, node.data_start),
        _ => access,
    }
}
