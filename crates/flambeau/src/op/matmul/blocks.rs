//! The product on the GPU without barriers: 8 × 8 results per thread, in registers, read straight from memory.
//!
//! For adapters that play a GPU on a CPU and pay dearly for barriers (SwiftShader: some 40 µs for each). A load takes as long there
//! as ten multiplications with additions (2026-11-17), so a thread has many results for what it loads.

use super::Sizes;
use super::simple::matrix;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO, widen};

/// Rows and columns of C per thread; columns are summed up in fours.
pub(crate) const BLOCK: usize = 8;
/// Threads in a workgroup: no barrier holds them together, and small products fill several cores.
pub(crate) const THREADS: usize = 8;

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
    shader.add(&format!(
        "fn store(at: u32, column: u32, values: vec4<f32>) {{
    for (var j = 0u; j < 4u; j++) {{
        if (column + j < {n}) {{ put(at + column + j, values[j]); }}
    }}
}}
"
    ));
    let (mut starts, mut reads, mut sums) = (String::new(), String::new(), String::new());
    let mut writes = String::new();
    for i in 0..BLOCK {
        // What lies outside reads the last row or column again; it is not written.
        starts += &format!("    let a{i}_at = at_a + min(row + {i}u, {m} - 1u) * {row_a};\n");
        starts += &format!("    let b{i}_at = at_b + min(column + {i}u, {n} - 1u) * {column_b};\n");
        sums += &format!("        let a{i} = {};\n", widen(a.meta.dtype, &format!("a[a{i}_at + step_a]")));
        writes +=
            &format!("    if (row + {i}u < {m}) {{\n        let at = (batch * {m} + row + {i}u) * {n};\n");
        for four in (0..BLOCK).step_by(4) {
            starts += &format!("    var sum{i}_{four} = vec4<f32>();\n");
            sums += &format!("        sum{i}_{four} += a{i} * b{four};\n");
            writes += &format!("        store(at, column + {four}u, sum{i}_{four});\n");
        }
        writes += "    }\n";
    }
    for four in (0..BLOCK).step_by(4) {
        let read = |j: usize| widen(b.meta.dtype, &format!("b[b{}_at + step_b]", four + j));
        reads += &format!("        let b{four} = vec4<f32>({});\n", [0, 1, 2, 3].map(read).join(", "));
    }
    let body = format!(
        "    let column = block % {across} * {BLOCK}u;
    let row = block / {across} % {down} * {BLOCK}u;
    let batch = block / ({across} * {down});
{find_a}{find_b}{starts}    var step_a = 0u;
    var step_b = 0u;
    for (var i = {ZERO}; i < {k}; i++) {{
{reads}{sums}        step_a += {step_a};
        step_b += {step_b};
    }}
{writes}"
    );
    shader.finish(&Entry::threads("block", threads, &count, THREADS), &body)
}
