//! The product on the GPU without barriers: 4 × 4 results per thread, in registers, read straight from memory.
//!
//! For adapters that play a GPU on a CPU and pay dearly for barriers (SwiftShader: some 40 µs for each).

use super::Sizes;
use super::simple::matrix;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Trust};
use crate::shader::results::Results;
use crate::shader::{Params, ZERO, groups_for, storage_type, widen};

/// Rows and columns of C per thread.
const BLOCK: usize = 4;
/// Threads in a workgroup: no barrier holds them together.
const THREADS: usize = 32;

pub(super) fn program(call: &StructuredCall, sizes: &Sizes) -> Program {
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    let (_, c) = &call.outputs[0];
    let mut params = Params::default();
    let blocks = [sizes.m.div_ceil(BLOCK), sizes.n.div_ceil(BLOCK)];
    let threads = sizes.batches * blocks[0] * blocks[1];
    let [count, m, n, k, down, across] =
        [threads, sizes.m, sizes.n, sizes.k, blocks[0], blocks[1]].map(|size| params.size(size));
    let (find_a, [row_a, step_a]) = matrix(&mut params, a, "a");
    let (find_b, [step_b, column_b]) = matrix(&mut params, b, "b");
    let stored = storage_type(c.dtype);
    let Results { enable, declarations, bindings, functions } = Results::new(call, &mut params, 2, false);
    let (mut starts, mut reads, mut sums) = (String::new(), String::new(), String::new());
    let mut writes = String::new();
    for i in 0..BLOCK {
        // What lies outside reads the last row or column again; it is not written.
        starts += &format!("    var a{i}_at = at_a + min(row + {i}u, {m} - 1u) * {row_a};\n");
        starts += &format!("    var b{i}_at = at_b + min(column + {i}u, {n} - 1u) * {column_b};\n");
        starts += &format!("    var sum{i} = vec4<f32>();\n");
        reads += &format!("        let a{i} = {};\n", widen(a.meta.dtype, &format!("a[a{i}_at]")));
        reads += &format!("        let b{i} = {};\n", widen(b.meta.dtype, &format!("b[b{i}_at]")));
        reads += &format!("        a{i}_at += {step_a};\n        b{i}_at += {step_b};\n");
        sums += &format!("        sum{i} += a{i} * vec4<f32>(b0, b1, b2, b3);\n");
        writes += &format!(
            "    if (row + {i}u < {m}) {{\n        let at = (batch * {m} + row + {i}u) * {n} + column;\n"
        );
        for j in 0..BLOCK {
            writes += &format!("        if (column + {j}u < {n}) {{ put(at + {j}u, sum{i}[{j}]); }}\n");
        }
        writes += "    }\n";
    }
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read> a: array<{stored}>;
@group(0) @binding(1) var<storage, read> b: array<{stored}>;
{declarations}@group(0) @binding({uniform}) var<uniform> params: array<vec4<u32>, {vectors}>;

{functions}
@compute @workgroup_size({THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let block = (group.x + group.y * groups.x) * {THREADS}u + thread;
    if (block >= {count}) {{ return; }}
    let column = block % {across} * {BLOCK}u;
    let row = block / {across} % {down} * {BLOCK}u;
    let batch = block / ({across} * {down});
{find_a}{find_b}{starts}    for (var i = {ZERO}; i < {k}; i++) {{
{reads}{sums}    }}
{writes}}}
",
        uniform = 2 + bindings.len(),
        vectors = params.vectors(),
    );
    Program {
        label: "matmul",
        source: source.into(),
        entry: "main".into(),
        bindings: [vec![Bound::Input(0), Bound::Input(1)], bindings].concat(),
        params: params.list,
        groups: groups_for(threads, THREADS),
        scratch: Vec::new(),
        trust: Trust::OURS,
        checks: None,
        specialise: false,
    }
}
