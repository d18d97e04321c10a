//! The product on the GPU with one thread per result: for integers, and for products too small for tiles.

use super::Sizes;
use crate::ir::call::{Operand, StructuredCall};
use crate::ir::program::{Bound, Param, Program, Trust};
use crate::shader::results::Results;
use crate::shader::{Params, ZERO, groups_for, lane_type, storage_type, widen};

pub(super) fn program(call: &StructuredCall, sizes: &Sizes) -> Program {
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    let (_, c) = &call.outputs[0];
    let mut params = Params::default();
    let [numel, m, n, k] = [c.numel(), sizes.m, sizes.n, sizes.k].map(|size| params.size(size));
    let (find_a, [row_a, stride_a]) = matrix(&mut params, a, "a");
    let (find_b, [stride_b, column_b]) = matrix(&mut params, b, "b");
    let (lane, stored) = (lane_type(c.dtype), storage_type(c.dtype));
    let Results { enable, declarations, bindings, functions } = Results::new(call, &mut params, 2, false);
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read> a: array<{stored}>;
@group(0) @binding(1) var<storage, read> b: array<{stored}>;
{declarations}@group(0) @binding({uniform}) var<uniform> params: array<vec4<u32>, {vectors}>;

{functions}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let at = (group.x + group.y * groups.x) * 64u + thread;
    if (at >= {numel}) {{ return; }}
    let column = at % {n};
    let row = at / {n} % {m};
    let batch = at / ({n} * {m});
{find_a}    at_a += row * {row_a};
{find_b}    at_b += column * {column_b};
    var sum = {lane}(0);
    for (var i = {ZERO}; i < {k}; i++) {{
        sum += {read_a} * {read_b};
    }}
    put(at, sum);
}}
",
        uniform = 2 + bindings.len(),
        vectors = params.vectors(),
        read_a = widen(a.meta.dtype, &format!("a[at_a + i * {stride_a}]")),
        read_b = widen(b.meta.dtype, &format!("b[at_b + i * {stride_b}]")),
    );
    Program {
        label: "matmul",
        source: source.into(),
        entry: "main".into(),
        bindings: [vec![Bound::Input(0), Bound::Input(1)], bindings].concat(),
        params: params.list,
        groups: groups_for(c.numel(), 64),
        scratch: Vec::new(),
        trust: Trust::OURS,
        checks: None,
        specialise: false,
    }
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
