//! The verifier, invariant by invariant: a legal plan in which one thing is broken is illegal, and the pass and the problem
//! are said.

mod fusions;
mod graphs;
mod kernels;
mod loops;
mod memory;

use super::{graph_of, options, snapshot_of};
use crate::ir::access::Level;
use crate::ir::call::StructuredCall;
use crate::ir::kernel::{Fused, InstKind, Kernel};
use crate::op::Op;
use crate::plan::fuse::{Fusion, fuse};
use crate::plan::graph::Graph;
use crate::plan::lower::{Lowered, lower};
use crate::plan::verify::{self, Illegal};
use crate::plan::{Plan, epilogue, pack};

/// Tests of one pass: `name: graph, what is broken => what is said;`.
macro_rules! illegal {
    ($made:ident: $($name:ident: $graph:expr, $broken:expr => $said:expr;)*) => {
        $(
            #[test]
            fn $name() {
                super::says($made($graph, $broken), $said);
            }
        )*
    };
}
use illegal;

const CHAIN: &str = "
    x = f32 3 4
    a = exp x
    b = neg a
    → b";
const TWO_INPUTS: &str = "
    x = f32 8
    y = f32 8
    a = sub x y
    → a";
const TWO_KERNELS: &str = "
    x = f32 8
    a = exp x
    y = f32 5
    b = mul y 2
    → a b";
const SLICE: &str = "
    x = f32 10
    a = narrow(0 2 5) x
    b = exp a
    → b";
const SOFTMAX: &str = "
    x = f32 8 16
    y = softmax(1) x
    → y";
const PRODUCT: &str = "
    a = f32 8 16
    e = exp a
    b = f32 16 4
    c = matmul e b
    → c";
const SCAN: &str = "
    x = f32 4 8
    a = exp x
    b = cumsum(1) a
    c = add a b
    → c";
const PRODUCTS: &str = "
    x = f32 64 64
    a = matmul x x
    b = matmul a x
    c = matmul b x
    d = matmul c x
    → d";

/// Asserts that something is illegal, and that this is said of it.
#[track_caller]
fn says(verdict: Result<(), Illegal>, wanted: &str) {
    let said = verdict.expect_err("nothing is illegal").to_string();
    let first = said.lines().next().unwrap_or_default();
    assert!(first.contains(wanted), "{first}\ndoes not say\n{wanted}");
}

fn fusion(text: &str, broken: impl FnOnce(&Graph, &mut Fusion)) -> Result<(), Illegal> {
    let graph = graph_of(text);
    let mut fusion = fuse(&graph, true);
    verify::check(|| verify::after_fuse(&graph, &fusion));
    broken(&graph, &mut fusion);
    verify::after_fuse(&graph, &fusion)
}

fn lowered(text: &str, broken: impl FnOnce(&mut Lowered)) -> Result<(), Illegal> {
    let graph = graph_of(text);
    let mut lowered = lower(&graph, fuse(&graph, true));
    verify::check(|| verify::after_lower(&graph, &lowered));
    broken(&mut lowered);
    verify::after_lower(&graph, &lowered)
}

fn with_epilogues(text: &str, broken: impl FnOnce(&mut Lowered)) -> Result<(), Illegal> {
    let graph = graph_of(text);
    let mut lowered = lower(&graph, fuse(&graph, true));
    epilogue::fuse(&mut lowered, &graph.roots);
    verify::check(|| verify::after_epilogue(&graph, &lowered));
    broken(&mut lowered);
    verify::after_epilogue(&graph, &lowered)
}

fn packed(text: &str, broken: impl FnOnce(&mut Plan)) -> Result<(), Illegal> {
    let graph = graph_of(text);
    let mut plan = Plan::of(lower(&graph, fuse(&graph, true)), &graph, Vec::new());
    let unpacked = plan.kernels.clone();
    pack::pack_in_place(&mut plan, &graph, options().element_bytes);
    verify::check(|| verify::after_pack(&graph, &plan, &unpacked, options().element_bytes));
    broken(&mut plan);
    verify::after_pack(&graph, &plan, &unpacked, options().element_bytes)
}

fn placed(text: &str, broken: impl FnOnce(&mut Plan)) -> Result<(), Illegal> {
    let graph = graph_of(text);
    let mut plan = Plan::new(graph.clone(), options());
    broken(&mut plan);
    verify::after_memory(&graph, &plan, options().element_bytes)
}

/// The node of an op.
fn node(graph: &Graph, name: &str) -> usize {
    let is_it = |op: &Option<Op>| op.as_ref().is_some_and(|op| op.name() == name);
    graph.nodes.iter().position(|node| is_it(&node.op)).expect(name)
}

fn fused(kernels: &mut [Kernel]) -> &mut Fused {
    let fused = kernels.iter_mut().find_map(|kernel| match kernel {
        Kernel::Fused(fused) => Some(fused),
        Kernel::Structured(_) => None,
    });
    fused.expect("a fused kernel")
}

fn call(kernels: &mut [Kernel]) -> &mut StructuredCall {
    let call = kernels.iter_mut().find_map(|kernel| match kernel {
        Kernel::Structured(call) => Some(call),
        Kernel::Fused(_) => None,
    });
    call.expect("a structured kernel")
}

fn epilogue(kernels: &mut [Kernel]) -> &mut Fused {
    call(kernels).epilogue.as_mut().expect("an epilogue")
}

/// The first level of the access of an instruction.
fn level(fused: &mut Fused, inst: usize) -> &mut Level {
    &mut fused.insts[inst].kind.access_mut().expect("an access").levels[0]
}

fn args(fused: &mut Fused, inst: usize) -> &mut Vec<usize> {
    match &mut fused.insts[inst].kind {
        InstKind::Map { args, .. } => args,
        _ => panic!("no map"),
    }
}
