//! Broken fusions.

use super::{CHAIN, PRODUCT, SCAN, TWO_KERNELS, fusion, node};
use crate::plan::fuse::{Fusion, Role};
use crate::plan::graph::{Graph, Ref};

fn value(graph: &Graph, name: &str) -> Ref {
    Ref { node: node(graph, name) as u32, output: 0 }
}

/// Nothing computes a node any more.
fn forget(fusion: &mut Fusion, node: usize) {
    fusion.roles[node] = Role::Transparent;
    fusion.stored[node] = false;
}

/// Lets the kernel of the sum compute and store what the scan reads, and so wait for itself.
fn compute_before_and_after_the_scan(graph: &Graph, fusion: &mut Fusion) {
    let exp = node(graph, "exp");
    let Role::Member { path, .. } = fusion.roles[node(graph, "add")] else { panic!("no member") };
    fusion.groups.truncate(1);
    fusion.roles[exp] = Role::Member { group: 0, path };
    fusion.groups[0].outputs.push((exp as u32, path));
    fusion.groups[0].inputs.remove(&value(graph, "exp"));
    fusion.groups[0].inputs.insert(graph.nodes[exp].inputs[0]);
}

super::illegal! { fusion:
    a_node_has_no_role: CHAIN, |_, f| _ = f.roles.pop()
        => "illegal after fuse: not all of 3 nodes have a role";
    a_role_is_not_the_ops: CHAIN, |_, f| f.roles[1] = Role::Structured => "node 1 (exp) is Structured, stored: false";
    a_kernel_stores_nothing: CHAIN, |_, f| f.groups[0].outputs.clear() => "kernel 0 stores nothing";
    a_kernel_stores_what_has_no_memory: CHAIN, |_, f| f.groups[0].outputs[0].0 = 1
        => "kernel 0 stores node 1, which is no stored part of it";
    a_node_is_stored_twice: CHAIN, |_, f| f.groups[0].outputs = vec![f.groups[0].outputs[0]; 2]
        => "node 2 is stored twice";
    a_node_has_memory_that_nobody_writes: CHAIN, |_, f| f.stored[1] = true
        => "node 1 has memory, and its kernel does not store it";
    a_root_is_not_stored: CHAIN, |_, f| {
        forget(f, 1);
        forget(f, 2);
        f.groups.clear();
    } => "the root Ref { node: 2, output: 0 } is not stored";
    a_value_is_nowhere: CHAIN, |_, f| f.roles[1] = Role::Transparent => "kernel 0 needs node 1, which nothing stores";
    a_read_was_not_counted: CHAIN, |_, f| f.groups[0].inputs = Default::default() => "which was not counted";
    a_count_has_too_many: CHAIN, |_, f| f.groups[0].inputs.insert(Ref { node: 1, output: 0 })
        => "kernel 0 does not read Ref { node: 1, output: 0 }, which was counted";
    a_kernel_has_too_many_ops: CHAIN, |_, f| f.groups[0].ops = 65 => "binds 2 buffers and has 65 ops";
    a_member_is_not_used: TWO_KERNELS, |g, f| {
        let Role::Member { group, path } = f.roles[node(g, "exp")] else { panic!("no member") };
        f.roles[node(g, "constant")] = Role::Member { group, path };
    } => "which does not use it";
    an_operand_is_nowhere: PRODUCT, |g, f| {
        forget(f, node(g, "exp"));
        f.groups.clear();
    } => "matmul needs";
    a_kernel_waits_for_itself: SCAN, compute_before_and_after_the_scan => "waits for itself";
}
