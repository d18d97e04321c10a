//! A plan as text: its kernels, what each of them fuses, and the bytes it moves, so that a person can see why it is
//! fast or slow.

use super::Plan;
use super::cost::bytes_of;
use super::graph::Graph;
use super::rules::Rule;
use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::kernel::Kernel;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Describes a plan made from a graph. `multiplies` says how a device makes the products of a call.
pub(crate) fn explain(
    plan: &Plan,
    graph: &Graph,
    element_bytes: fn(DType) -> u64,
    multiplies: impl Fn(&StructuredCall) -> Option<String>,
) -> String {
    let bytes = bytes_of(plan, graph, element_bytes);
    let mut text = String::new();
    let ops = graph.nodes.iter().filter(|node| node.op.is_some()).count();
    let inputs = graph.nodes.iter().filter(|node| node.op.is_none());
    let inputs: usize = inputs.map(|node| node.outputs.len()).sum();
    _ = writeln!(text, "{} kernels for {ops} nodes, {inputs} inputs", plan.kernels.len());
    _ = writeln!(text, "{:>4}  {:>10}  {:>10}  {:<16}  ops", "#", "read", "written", "elements");
    for (number, kernel) in plan.kernels.iter().enumerate() {
        let read: u64 = kernel.inputs().into_iter().map(&bytes).sum();
        let written: u64 = kernel.outputs().into_iter().map(&bytes).sum();
        let elements = match kernel {
            Kernel::Fused(fused) if fused.kept < fused.space.len() => {
                format!("{} × {}", fused.outer_count(), fused.inner_count())
            }
            Kernel::Fused(fused) => fused.outer_count().to_string(),
            Kernel::Structured(call) => call.outputs.first().map_or(0, |(_, meta)| meta.numel()).to_string(),
        };
        let ops = kernel.describe().join(" → ");
        _ = writeln!(text, "{number:>4}  {:>10}  {:>10}  {elements:<16}  {ops}", size(read), size(written));
    }
    for (how, kernels) in multiplied(plan, multiplies) {
        _ = writeln!(text, "{how}: kernels {}", kernels.join(", "));
    }
    for (rule, nodes) in placed(plan, graph) {
        _ = writeln!(text, "{}: {}", rule.text(), nodes.join(", "));
    }
    let temporaries: u64 = plan.slots.iter().sum();
    let results: u64 = plan.roots.iter().map(|&place| bytes(place)).sum();
    _ = writeln!(
        text,
        "memory: {} of results, {} of temporaries in {} slots",
        size(results),
        size(temporaries),
        plan.slots.len()
    );
    text
}

/// The kernels that make products, by how they do.
fn multiplied(plan: &Plan, how: impl Fn(&StructuredCall) -> Option<String>) -> BTreeMap<String, Vec<String>> {
    let mut multiplied: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, kernel) in plan.kernels.iter().enumerate() {
        if let Kernel::Structured(call) = kernel
            && let Some(how) = how(call)
        {
            multiplied.entry(how).or_default().push(number.to_string());
        }
    }
    multiplied
}

/// The nodes that each rule of fusion placed, but for those that are just there.
fn placed(plan: &Plan, graph: &Graph) -> BTreeMap<Rule, Vec<String>> {
    let mut placed: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for (number, (&rule, node)) in plan.rules.iter().zip(&graph.nodes).enumerate() {
        if let (Some(op), false) = (&node.op, matches!(rule, Rule::Unused | Rule::LookedThrough)) {
            placed.entry(rule).or_default().push(format!("{} #{number}", op.name()));
        }
    }
    placed
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
