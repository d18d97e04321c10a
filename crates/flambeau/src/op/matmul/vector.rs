//! A matrix by a vector on the GPU: nothing is used twice, so that memory alone counts. A workgroup multiplies and adds up a line of the
//! matrix that lies together, four numbers at a time where it can.

use super::Sizes;
use super::simple::matrix;
use crate::dtype::DType;
use crate::ir::call::{Operand, StructuredCall};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Fold, Shader, ZERO, widen};

/// Threads of a workgroup.
const THREADS: usize = 128;
/// Terms of a sum from which it pays.
const LEAST_TERMS: usize = 256;

/// Is one operand a vector, and do the lines of the other lie together?
pub(super) fn applies(call: &StructuredCall, sizes: &Sizes) -> bool {
    let along = |operand: &Operand, dim: usize| {
        let axes = &operand.access.levels[0].axes;
        axes[axes.len() - dim].stride == 1
    };
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    sizes.k >= LEAST_TERMS && ((sizes.n == 1 && along(a, 1)) || (sizes.m == 1 && along(b, 2)))
}

/// May an operand be read in vectors of four along a dimension, counted from the last?
fn fours(operand: &Operand, dim: usize) -> bool {
    let level = &operand.access.levels[0];
    let along = level.axes.len() - dim;
    let aligned = |(d, stride): (usize, i64)| if d == along { stride == 1 } else { stride % 4 == 0 };
    operand.meta.dtype == DType::F32
        && level.offset.terms.is_empty()
        && level.offset.constant % 4 == 0
        && level.axes.iter().map(|axis| axis.stride).enumerate().all(aligned)
}

pub(super) fn program(call: &StructuredCall, sizes: &Sizes) -> Program {
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    let (_, c) = &call.outputs[0];
    let by_fours = sizes.k.is_multiple_of(4) && fours(a, 1) && fours(b, 2);
    let mut shader = Shader::new("matmul vector", Tier::General);
    let params = &mut shader.params;
    let [numel, m, n, k] = [c.numel(), sizes.m, sizes.n, sizes.k].map(|size| params.size(size));
    let (find_a, [row_a, stride_a]) = matrix(params, a, "a");
    let (find_b, [stride_b, column_b]) = matrix(params, b, "b");
    shader.bind_elements(Bound::Input(0), "a", a.meta.dtype, by_fours);
    shader.bind_elements(Bound::Input(1), "b", b.meta.dtype, by_fours);
    shader.hand_on(call, false);
    shader.subgroups = call.subgroups;
    let join = shader.joined(&[Fold::sum("sum", DType::F32)], THREADS);
    let (step, term) = match by_fours {
        true => (4 * THREADS, "dot(a[(at_a + i) / 4u], b[(at_b + i) / 4u])".to_string()),
        false => {
            let read_a = widen(a.meta.dtype, &format!("a[at_a + i * {stride_a}]"));
            let read_b = widen(b.meta.dtype, &format!("b[at_b + i * {stride_b}]"));
            (THREADS, format!("{read_a} * {read_b}"))
        }
    };
    let body = format!(
        "    let column = at % {n};
    let row = at / {n} % {m};
    let batch = at / ({n} * {m});
{find_a}    at_a += row * {row_a};
{find_b}    at_b += column * {column_b};
    var sum = 0.0;
    for (var i = {ZERO} + thread * {each}u; i < {k}; i += {step}u) {{ sum += {term}; }}
{join}    if (thread == 0u) {{ put(at, sum); }}
",
        each = step / THREADS,
    );
    shader.finish(&Entry::workgroups("at", c.numel(), &numel, THREADS), &body)
}
