//! The product on the GPU with one thread per result: for integers, and for products too small for tiles.

use super::Sizes;
use crate::ir::call::{Operand, StructuredCall};
use crate::ir::program::{Bound, Param, Program, Tier};
use crate::shader::{Entry, Params, Shader, ZERO, lane_type, widen};

pub(super) fn program(call: &StructuredCall, sizes: &Sizes) -> Program {
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    let (_, c) = &call.outputs[0];
    let mut shader = Shader::new("matmul", Tier::General);
    let params = &mut shader.params;
    let [numel, m, n, k] = [c.numel(), sizes.m, sizes.n, sizes.k].map(|size| params.size(size));
    let (find_a, [row_a, stride_a]) = matrix(params, a, "a");
    let (find_b, [stride_b, column_b]) = matrix(params, b, "b");
    shader.bind_elements(Bound::Input(0), "a", a.meta.dtype, false);
    shader.bind_elements(Bound::Input(1), "b", b.meta.dtype, false);
    shader.hand_on(call, false);
    let body = format!(
        "    let column = at % {n};
    let row = at / {n} % {m};
    let batch = at / ({n} * {m});
{find_a}    at_a += row * {row_a};
{find_b}    at_b += column * {column_b};
    var sum = {lane}(0);
    for (var i = {ZERO}; i < {k}; i++) {{
        sum += {read_a} * {read_b};
    }}
    put(at, sum);
",
        lane = lane_type(c.dtype),
        read_a = widen(a.meta.dtype, &format!("a[at_a + i * {stride_a}]")),
        read_b = widen(b.meta.dtype, &format!("b[at_b + i * {stride_b}]")),
    );
    shader.finish(&Entry::threads("at", c.numel(), &numel, 64), &body)
}

/// WGSL that finds where a batch's matrix starts (`at_<name>`), and its strides along rows and columns.
pub(super) fn matrix(params: &mut Params, operand: &Operand, name: &str) -> (String, [String; 2]) {
    let level = &operand.access.levels[0];
    let (batches, [row, column]) = level.axes.split_at(level.axes.len() - 2) else {
        unreachable!("a matrix has two dimensions")
    };
    let offset = params.push(Param::Offset(level.offset.clone()));
    let mut code = format!("    var at_{name} = {offset};\n    var rest_{name} = batch;\n");
    for axis in batches.iter().rev() {
        let (size, stride) = (params.size(axis.size), params.stride(axis.stride));
        code += &format!("    at_{name} += (rest_{name} % {size}) * {stride};\n    rest_{name} /= {size};\n");
    }
    (code, [params.stride(row.stride), params.stride(column.stride)])
}
