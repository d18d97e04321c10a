//! What the rotations of a round do to A and V: one workgroup for 32 rows of a pair's columns.

use super::{Jacobi, ROTATIONS, STACK, Sides, TOURNAMENT, TURNED};
use crate::ir::program::Bound;
use crate::op::linalg::wgsl::{PITCH, Repeated};

impl Jacobi<'_> {
    /// X ← X J for 32 rows of the pair's columns; of a symmetric A, Jᵀ X J for the rows of another pair, once for both.
    pub(super) fn turn(&self) -> Repeated {
        let numbers = ["count", "rows", "columns", "pairs", "round", "chunks"];
        self.text("jacobi turn", numbers, |shader| {
            shader.bind(Bound::Scratch(STACK), "stack", "f32");
            shader.bind(Bound::ScratchRead(ROTATIONS), "rotations", "f32");
            shader.bind(Bound::ScratchRead(TURNED), "turned", "u32");
            shader.share("tile", "f32", 32 * PITCH);
            shader.share("right", "f32", 32 * PITCH);
            shader.add("var<workgroup> is_still: u32;\n");
            shader.include(TOURNAMENT);
            let is_square = match self.sides {
                Sides::One => "false",
                Sides::Two => "chunk < pairs",
            };
            if self.sides == Sides::Two {
                shader.share("left", "f32", 32 * PITCH);
            }
            let row = match self.sides {
                Sides::One => "chunk * 32u + r",
                Sides::Two => {
                    "select(columns + (chunk - pairs) * 32u + r, select(end, column_of(r, others), column_of(r, others) < columns), is_square)"
                }
            };
            let by_left = match self.sides {
                Sides::One => String::new(),
                Sides::Two => format!(
                    "    if (is_square) {{
        for (var e = thread; e < 1024u; e += 256u) {{
            left[e / 32u * {PITCH}u + e % 32u] = rotations[(matrix_number * pairs + chunk) * 1024u + e];
        }}
        workgroupBarrier();
        var sums = vec4<f32>();
        for (var k = 0u; k < 32u; k++) {{
            let factors = vec4<f32>(left[k * {PITCH}u + part], left[k * {PITCH}u + part + 8u],
                left[k * {PITCH}u + part + 16u], left[k * {PITCH}u + part + 24u]);
            sums = fma(factors, vec4<f32>(tile[k * {PITCH}u + lane]), sums);
        }}
        workgroupBarrier();
        for (var k = 0u; k < 4u; k++) {{ tile[(part + 8u * k) * {PITCH}u + lane] = sums[k]; }}
        workgroupBarrier();
    }}
"
                ),
            };
            // What lies on the other side of the diagonal.
            let mirrored = match self.sides {
                Sides::One => String::new(),
                Sides::Two => format!(
                    "    if (is_square && chunk != pair) {{
        workgroupBarrier();
        for (var q = 0u; q < 4u; q++) {{ tile[(part + 8u * q) * {PITCH}u + lane] = sums[q]; }}
        workgroupBarrier();
        for (var r = part; r < 32u; r += 8u) {{
            let row = column_of(r, blocks);
            let other = column_of(lane, others);
            if (row < columns && other < columns) {{
                stack[start + row * columns + other] = tile[lane * {PITCH}u + r];
            }}
        }}
    }}
"
                ),
            };
            let still = match self.sides {
                Sides::One => "turned[matrix_number * pairs + pair] == 0u",
                Sides::Two => {
                    "(is_square && chunk > pair) || (turned[matrix_number * pairs + pair] == 0u && (!is_square || turned[matrix_number * pairs + min(chunk, pairs - 1u)] == 0u))"
                }
            };
            let others = if self.sides == Sides::Two { "    let others = pair_of(min(chunk, pairs - 1u), round, pairs);\n" } else { "" };
            format!(
                "    let chunk = number % chunks;
    let pair = number / chunks % pairs;
    let matrix_number = number / chunks / pairs;
    let end = rows + columns;
    let start = matrix_number * end * columns;
    let is_square = {is_square};
    if (thread == 0u) {{ is_still = select(0u, 1u, {still}); }}
    if (workgroupUniformLoad(&is_still) == 1u) {{ return; }}
    let blocks = pair_of(pair, round, pairs);
{others}    let part = thread / 32u;
    let lane = thread % 32u;
    let column = column_of(lane, blocks);
    for (var r = part; r < 32u; r += 8u) {{
        let row = {row};
        var value = 0.0;
        if (row < end && column < columns) {{ value = stack[start + row * columns + column]; }}
        tile[r * {PITCH}u + lane] = value;
        right[r * {PITCH}u + lane] = rotations[(matrix_number * pairs + pair) * 1024u + r * 32u + lane];
    }}
    workgroupBarrier();
{by_left}    var sums = vec4<f32>();
    for (var k = 0u; k < 32u; k++) {{
        let rows_of_tile = vec4<f32>(tile[part * {PITCH}u + k], tile[(part + 8u) * {PITCH}u + k],
            tile[(part + 16u) * {PITCH}u + k], tile[(part + 24u) * {PITCH}u + k]);
        sums = fma(rows_of_tile, vec4<f32>(right[k * {PITCH}u + lane]), sums);
    }}
    for (var q = 0u; q < 4u; q++) {{
        let r = part + 8u * q;
        let row = {row};
        if (row < end && column < columns) {{ stack[start + row * columns + column] = sums[q]; }}
    }}
{mirrored}"
            )
        })
    }
}
