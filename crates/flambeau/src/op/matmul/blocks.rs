//! The product on the GPU without barriers: 4 × 4 results per thread, in registers, read straight from memory.
//!
//! For adapters that play a GPU on a CPU and pay dearly for barriers (SwiftShader: some 40 µs for each).

use super::Sizes;
use super::simple::matrix;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO, widen};

/// Rows and columns of C per thread.
const BLOCK: usize = 4;
/// Threads in a workgroup: no barrier holds them together.
const THREADS: usize = 32;

pub(super) fn program(call: &StructuredCall, sizes: &Sizes) -> Program {
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    let mut shader = Shader::new("matmul", Tier::General);
    let params = &mut shader.params;
    let blocks = [sizes.m.div_ceil(BLOCK), sizes.n.div_ceil(BLOCK)];
    let threads = sizes.batches * blocks[0] * blocks[1];
    let [count, m, n, k, down, across] =
        [threads, sizes.m, sizes.n, sizes.k, blocks[0], blocks[1]].map(|size| params.size(size));
    let (find_a, [row_a, step_a]) = matrix(params, a, "a");
    let (find_b, [step_b, column_b]) = matrix(params, b, "b");
    shader.bind_elements(Bound::Input(0), "a", a.meta.dtype, false);
    shader.bind_elements(Bound::Input(1), "b", b.meta.dtype, false);
    shader.hand_on(call, false);
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
    let body = format!(
        "    let column = block % {across} * {BLOCK}u;
    let row = block / {across} % {down} * {BLOCK}u;
    let batch = block / ({across} * {down});
{find_a}{find_b}{starts}    for (var i = {ZERO}; i < {k}; i++) {{
{reads}{sums}    }}
{writes}"
    );
    shader.finish(&Entry::threads("block", threads, &count, THREADS), &body)
}
