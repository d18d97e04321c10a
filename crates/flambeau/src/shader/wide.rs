//! Large elementwise kernels whose operands lie as their results do, or are the same along lines: each thread reads, computes
//! and writes four neighbouring elements, which keeps more memory requests under way and finds their place once.

use super::Code;
use super::codegen::Generator;
use super::fours::{Elements, Fours, varies};
use super::line;
use crate::ir::kernel::{Fused, InstKind};

/// Elements from which the longer shader pays.
const LARGE: usize = 1 << 20;

/// How a kernel is read by fours, where it can work so, and it pays.
pub(super) fn wide(kernel: &Fused) -> Option<Fours> {
    let last = kernel.kept.checked_sub(1)?;
    let elementwise = kernel.space.len() == kernel.kept && kernel.phases.is_empty();
    if !elementwise || kernel.outer_count() < LARGE || !kernel.space[last].is_multiple_of(4) {
        return None;
    }
    let fours = Fours::of_inputs(kernel, last);
    let varies = varies(kernel, last);
    // Across lines, single elements would be as far apart as before, and four times as many in a row.
    let good = |(position, kind): (usize, &InstKind)| match kind {
        InstKind::Load { operand, .. } | InstKind::Gather { operand, .. } => {
            last == 0 || fours.inputs[*operand] || !varies[position]
        }
        _ => true,
    };
    let pays =
        fours.inputs.contains(&true) && kernel.insts.iter().map(|inst| &inst.kind).enumerate().all(good);
    pays.then(|| Fours { outputs: vec![true; kernel.outputs.len()], ..fours })
}

impl Generator<'_> {
    /// Four elements from 4 · number on.
    pub fn wide_body(&mut self, code: &mut Code, fours: &Fours) {
        let kernel = self.kernel;
        line!(code, "let index = number * 4u;");
        self.coordinates(code, "index", 0..kernel.kept);
        let (insts, outputs): (Vec<usize>, Vec<usize>) =
            ((0..kernel.insts.len()).collect(), (0..kernel.outputs.len()).collect());
        let axis = Some(kernel.kept - 1);
        let work = Elements { fours, axis, insts: &insts, known: &[], outputs: &outputs };
        self.elements(code, &work, |_, _, _| {}, |_, _, _| {});
    }
}
