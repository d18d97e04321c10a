//! Broken snapshots and expansions.

use super::{CHAIN, SLICE, SOFTMAX, graph_of, says, snapshot_of, verify};
use crate::dtype::Scalar;
use crate::ir::Precision;
use crate::plan::expand::Expanded;
use crate::plan::graph::{Graph, Ref, Snapshot};
use crate::plan::verify::Illegal;
use crate::shape::Shape;
use std::sync::Arc;

fn graph(snapshot: &mut Snapshot) -> &mut Graph {
    &mut Arc::get_mut(&mut snapshot.recorded).expect("nobody else has it").graph
}

fn snapshot(text: &str, broken: impl FnOnce(&mut Snapshot)) -> Result<(), Illegal> {
    let mut snapshot = snapshot_of(text);
    broken(&mut snapshot);
    verify::after_snapshot(&snapshot)
}

fn replayed(text: &str, broken: impl FnOnce(&mut Snapshot)) -> Result<(), Illegal> {
    let mut snapshot = snapshot_of(text);
    broken(&mut snapshot);
    verify::after_replay(&snapshot)
}

fn expanded(text: &str, broken: impl FnOnce(&Graph, &mut Expanded)) -> Result<(), Illegal> {
    let mut snapshot = snapshot_of(text);
    let mut expanded = snapshot.expanded.take().expect("a composite");
    broken(snapshot.graph(), &mut expanded);
    verify::after_expand(&snapshot, &expanded)
}

super::illegal! { snapshot:
    a_node_reads_a_later_one: CHAIN, |s| graph(s).nodes[1].inputs[0].node = 2
        => "illegal after snapshot: node 1 (exp): it reads Ref { node: 2, output: 0 }, which does not come before it";
    a_node_reads_an_output_that_is_not_there: CHAIN, |s| graph(s).nodes[1].inputs[0].output = 1
        => "which does not come before it";
    a_shape_does_not_follow: CHAIN, |s| graph(s).nodes[1].outputs[0].shape = Shape::new(&[3, 5])
        => "node 1 (exp): [Meta";
    a_view_does_not_fit: SLICE, |s| graph(s).nodes[1].outputs[0].shape = Shape::new(&[11])
        => "node 1 (slice): [Meta";
    what_multiplies_nothing_has_a_precision: CHAIN, |s| graph(s).nodes[1].precision = Precision::High
        => "node 1 (exp): it multiplies no f32 at high";
    a_number_is_missing: SLICE, |s| s.data.clear() => "its numbers from 0 on are not among 0";
    a_root_is_not_there: CHAIN, |s| graph(s).roots[0].node = 9 => "is no value of the graph";
    a_node_is_not_needed: CHAIN, |s| graph(s).roots[0].node = 1 => "node 2 (neg) is needed by no root";
    an_input_is_missing: CHAIN, |s| s.inputs.clear() => "0 values for 1 inputs";
    a_target_has_another_root: CHAIN, |s| s.targets[0].1 = 1 => "the roots from 1 on are not";
}

super::illegal! { replayed:
    a_slice_starts_too_late: SLICE, |s| s.data[0] = Scalar::Int(6)
        => "illegal after replay: d0, Some(6), is no start between 0 and 5";
}

super::illegal! { expanded:
    a_result_is_not_found: SOFTMAX, |_, e| e.graph.roots[0].node = u32::MAX => "is no value of the graph";
    a_result_is_lost: SOFTMAX, |_, e| _ = e.graph.roots.pop() => "illegal after expand: the results were [Meta";
    a_composite_stays: SOFTMAX,
        |first, e| e.graph.nodes.last_mut().expect("a node").op = first.nodes[1].op.clone()
        => "is still there";
    an_input_comes_from_nowhere: SOFTMAX, |_, e| e.key.inputs[0] = 7 => "its inputs are not the snapshot's [7]";
    a_node_has_no_origin: SOFTMAX, |_, e| _ = e.key.origins.pop() => "not every node has an origin";
}

#[test]
fn a_root_shares_the_memory_of_another_value() {
    let graph = graph_of(CHAIN);
    let verdict = verify::after_sharing_roots(&graph, &[Ref { node: 1, output: 0 }]);
    says(verdict, "illegal after sharing roots: the roots");
}
