//! The planner, case by case: a graph in a few lines of text gives this plan, in `dump`'s text.
//!
//! A line of a graph is `name = op operands`; numbers are constants. `x = f32 3 4` is an input of shape (3, 4), and the last
//! line, `→ a b`, names the results. An op is an elementwise primitive of the table, or one of those in [`node`], with
//! whole numbers in brackets: `sum(1) x`, `permute(1 0) x`.

mod fusion;
mod memory;
mod products;
mod rows;
mod verify;

use super::graph::{Graph, Snapshot, capture};
use super::{Plan, PlanOptions, dump, share_reshaped_roots};
use crate::device::Device;
use crate::dtype::DType;
use crate::op::elementwise::{apply, table};
use crate::tensor::Tensor;
use std::collections::HashMap;

/// Asserts that a graph gives a plan.
#[track_caller]
fn check(graph: &str, plan: &str) {
    let (made, wanted) = (plan_of(graph), trimmed(plan));
    assert_eq!(trimmed(&made), wanted, "\n--- the graph\n{graph}\n--- gives\n{made}");
}

/// The lines that are not empty, without what stands before and after them.
fn trimmed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// The plan of a graph.
fn plan_of(text: &str) -> String {
    let graph = graph_of(text);
    dump(&Plan::new(graph.clone(), options()), &graph)
}

/// A device with elements of their own size that packs in place.
fn options() -> PlanOptions {
    PlanOptions { element_bytes: |dtype| dtype.size() as u64, fuse: true, pack_in_place: true }
}

/// The graph that is fused.
fn graph_of(text: &str) -> Graph {
    let snapshot = snapshot_of(text);
    let expanded = snapshot.expanded.as_ref().map(|expanded| &expanded.graph);
    share_reshaped_roots(expanded.unwrap_or(snapshot.graph()).clone())
}

fn snapshot_of(text: &str) -> Snapshot {
    let device = Device::cpu();
    let mut known: HashMap<&str, Tensor> = HashMap::new();
    let mut results: Vec<Tensor> = Vec::new();
    for line in trimmed(text) {
        match line.strip_prefix('→') {
            Some(names) => results = names.split_whitespace().map(|name| known[name].clone()).collect(),
            None => {
                let (name, rest) = line.split_once(" = ").expect("name = op operands");
                let made = node(rest, &known, &device);
                known.insert(name, made);
            }
        }
    }
    let values: Vec<_> = results.iter().map(|result| result.value().clone()).collect();
    capture(&values, |_| false)
}

fn node(text: &str, known: &HashMap<&str, Tensor>, device: &Device) -> Tensor {
    let (head, operands) = text.split_once(' ').unwrap_or((text, ""));
    // Brackets may hold several numbers: `sum(0 1) x`.
    let (op, numbers, operands) = match text.split_once('(') {
        Some((op, rest)) => {
            let (numbers, operands) = rest.split_once(')').expect("a closing bracket");
            (op, numbers, operands)
        }
        None => (head, "", operands),
    };
    let numbers: Vec<i64> = numbers.split_whitespace().map(|n| n.parse().expect("a whole number")).collect();
    let sizes = || numbers.iter().map(|&n| n as usize).collect::<Vec<_>>();
    let dims = || numbers.iter().map(|&n| n as isize).collect::<Vec<_>>();
    if let "f32" | "i32" = op {
        let shape: Vec<usize> = operands.split_whitespace().map(|n| n.parse().expect("a size")).collect();
        let dtype = if op == "f32" { DType::F32 } else { DType::I32 };
        let input = Tensor::zeros(shape, (dtype, device));
        input.eval().expect("zeros");
        return input;
    }
    let words: Vec<&str> = operands.split_whitespace().collect();
    let first = words.iter().find_map(|word| known.get(word));
    let operand = |word: &&str| match (known.get(word), first) {
        (Some(tensor), _) => tensor.clone(),
        (None, Some(first)) => {
            let number: f64 = word.parse().unwrap_or_else(|_| panic!("there is no {word}"));
            Tensor::constant(number.into(), first.shape(), first.dtype(), device)
        }
        (None, None) => panic!("{op} of nothing known"),
    };
    let x: Vec<Tensor> = words.iter().map(operand).collect();
    if let Some(entry) = table().find(|entry| entry.name == op) {
        return apply(entry, &x.iter().collect::<Vec<_>>()).expect(text);
    }
    match op {
        "sum" => x[0].sum(dims()),
        "sum_keepdim" => x[0].sum_keepdim(dims()),
        "amax" => x[0].amax(dims()),
        "amax_keepdim" => x[0].amax_keepdim(dims()),
        "argmax" => x[0].argmax(numbers[0] as isize),
        "reshape" => x[0].reshape(sizes()),
        "permute" => x[0].permute(&dims()),
        "expand" => x[0].expand(sizes()),
        "narrow" => x[0].narrow(numbers[0] as isize, numbers[1] as usize, numbers[2] as usize),
        "flip" => x[0].flip(numbers[0] as isize),
        "pad" => x[0].embed(sizes()[0], sizes()[1], numbers[2], 1).expect(text),
        "unfold" => x[0].unfold(numbers[0] as isize, numbers[1] as usize, numbers[2] as usize),
        "cast" => x[0].to_dtype(DType::I32),
        "index_select" => x[0].index_select(numbers[0] as isize, &x[1]),
        "matmul" => x[0].matmul(&x[1]),
        "conv2d" => x[0].conv2d(&x[1], None, &crate::Conv2dOptions::default()),
        "cumsum" => x[0].cumsum(numbers[0] as isize),
        "softmax" => x[0].softmax(numbers[0] as isize),
        "pack" => Tensor::pack(&x, &sizes()[1..], sizes()[0]).expect(text),
        other => panic!("there is no op {other}"),
    }
}
