//! The rotations of a round: one workgroup for each pair of blocks.

use super::{BLOCK, Jacobi, ROTATIONS, STACK, STATES, Sides, TOURNAMENT, TURNED};
use crate::ir::program::Bound;
use crate::op::linalg::wgsl::{PITCH, Repeated};
use crate::shader::ZERO;

/// A pair by a rotation: its sine, and the tangent of half the angle.
const TURNED_PAIR: &str = "
fn turned_pair(pair: vec2<f32>, by: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(pair.x - by.x * (pair.y + by.y * pair.x), pair.y + by.x * (pair.x - by.y * pair.y));
}
";

/// The two columns, of the 32 of a pair of blocks, that thread `k` rotates in a turn: in 31 turns every column meets all others, in 16
/// all those of the other block.
const MEETING: &str = "
fn meeting(k: u32, turn: u32, meets_all: bool) -> vec2<u32> {
    if (meets_all) { return pair_of(k, turn, 16u); }
    return vec2<u32>(k, 16u + ((k + turn) & 15u));
}
";

/// The place of each column among the 32, the largest value first.
const SORTS: &str = "    if (thread < 32u) {
        let own = products[thread * PITCH + thread];
        var place = 0u;
        for (var k = 0u; k < 32u; k++) {
            let other = products[k * PITCH + k];
            let is_before = other > own || (other == own && k < thread);
            if (is_before && column_of(k, blocks) < columns) { place++; }
        }
        // Columns beyond the last come last; a pair that is not turned stays as it is.
        places[thread] = select(thread, place, column_of(thread, blocks) < columns && any == 1u);
    }
    workgroupBarrier();
";

impl Jacobi<'_> {
    /// The rotation of each pair's columns.
    pub(super) fn solve(&self) -> Repeated {
        let numbers = ["count", "rows", "columns", "pairs", "round", "sweep", "inner"];
        self.text("jacobi solve", numbers, |shader| {
            shader.bind(Bound::ScratchRead(STACK), "stack", "f32");
            shader.bind(Bound::Scratch(ROTATIONS), "rotations", "f32");
            shader.bind(Bound::Scratch(TURNED), "turned", "u32");
            shader.bind(Bound::Scratch(STATES), "states", "atomic<u32>");
            shader.share("products", "f32", 32 * PITCH);
            shader.share("turns", "f32", 32 * PITCH);
            shader.share("angles", "vec2<f32>", BLOCK);
            if self.sides == Sides::One {
                shader.share("places", "u32", 2 * BLOCK);
            }
            shader.add("var<workgroup> is_done: u32;\nvar<workgroup> rotated: u32;\n");
            shader.include(TOURNAMENT);
            shader.include(MEETING);
            shader.include(TURNED_PAIR);
            let load = match self.sides {
                Sides::Two => format!(
                    "    for (var e = thread; e < 1024u; e += 256u) {{
        let r = column_of(e / 32u, blocks);
        let c = column_of(e % 32u, blocks);
        var value = 0.0;
        if (r < columns && c < columns) {{ value = stack[start + r * columns + c]; }}
        products[e / 32u * {PITCH}u + e % 32u] = value;
    }}
"
                ),
                // Rows of 32 numbers at a time; four products a thread.
                Sides::One => format!(
                    "    var sums = vec4<f32>();
    let i = thread / 8u;
    let j = thread % 8u;
    for (var before = {ZERO}; before < rows; before += 32u) {{
        for (var e = thread; e < 1024u; e += 256u) {{
            let r = before + e / 32u;
            let c = column_of(e % 32u, blocks);
            var value = 0.0;
            if (r < rows && c < columns) {{ value = stack[start + r * columns + c]; }}
            turns[e / 32u * {PITCH}u + e % 32u] = value;
        }}
        workgroupBarrier();
        for (var r = 0u; r < 32u; r++) {{
            let at = r * {PITCH}u;
            let others = vec4<f32>(turns[at + j], turns[at + j + 8u], turns[at + j + 16u], turns[at + j + 24u]);
            sums = fma(vec4<f32>(turns[at + i]), others, sums);
        }}
        workgroupBarrier();
    }}
    for (var k = 0u; k < 4u; k++) {{ products[i * {PITCH}u + j + 8u * k] = sums[k]; }}
"
                ),
            };
            let sorts = match self.sides {
                Sides::Two => String::new(),
                Sides::One => SORTS.replace("PITCH", &format!("{PITCH}u")),
            };
            let (meets_all, place) = match self.sides {
                Sides::Two => ("round == 0u", "e % 32u"),
                Sides::One => ("true", "places[e % 32u]"),
            };
            let least = match self.sides {
                Sides::Two => "least",
                Sides::One => "4e-7 * sqrt(max(pp, 0.0)) * sqrt(max(qq, 0.0))",
            };
            format!(
                "    let matrix_number = number / pairs;
    let pair = number % pairs;
    let start = matrix_number * (rows + columns) * columns;
    let blocks = pair_of(pair, round, pairs);
    if (thread == 0u) {{
        // Nothing was rotated in the sweep before.
        is_done = select(0u, 1u, atomicLoad(&states[4u * matrix_number + 2u]) < sweep);
        rotated = 0u;
        if (is_done == 1u) {{ turned[number] = 0u; }}
    }}
    if (workgroupUniformLoad(&is_done) == 1u) {{ return; }}
    let least = bitcast<f32>(atomicLoad(&states[4u * matrix_number + 1u]));
{load}    workgroupBarrier();
    // Is there anything to rotate? Columns of one block meet in the first round alone.
    for (var e = thread; e < 1024u; e += 256u) {{
        let p = e / 32u;
        let q = e % 32u;
        if (p < q && ({meets_all} || (p < 16u && q >= 16u))) {{
            let pp = products[p * {PITCH}u + p];
            let qq = products[q * {PITCH}u + q];
            if (abs(products[p * {PITCH}u + q]) > {least}) {{ rotated = 1u; }}
        }}
        turns[e / 32u * {PITCH}u + e % 32u] = select(0.0, 1.0, e / 32u == e % 32u);
    }}
    var any = 0u;
    let row = thread / 16u;
    let lane = thread % 16u;
    let meets_all = {meets_all};
    let turn_count = select(16u, 31u, meets_all);
    let rounds = select(inner, 0u, workgroupUniformLoad(&rotated) == 0u);
    if (thread == 0u) {{ rotated = 0u; }}
    for (var again = {ZERO}; again < rounds; again++) {{
        for (var turn = 0u; turn < turn_count; turn++) {{
            workgroupBarrier();
            if (thread < 16u) {{
                let players = meeting(thread, turn, meets_all);
                let pp = products[players.x * {PITCH}u + players.x];
                let qq = products[players.y * {PITCH}u + players.y];
                let pq = products[players.x * {PITCH}u + players.y];
                var angle = vec2<f32>();
                if (abs(pq) > {least}) {{
                    let zeta = (qq - pp) / (2.0 * pq);
                    let tangent = select(-1.0, 1.0, zeta >= 0.0) / (abs(zeta) + sqrt(fma(zeta, zeta, 1.0)));
                    let half = tangent / (1.0 + sqrt(fma(tangent, tangent, 1.0)));
                    let square = half * half;
                    let sine = 2.0 * half / (1.0 + square);
                    // Quotients and roots of GPUs may be wrong in their last bits, all in one direction: what is missing is added.
                    angle = vec2<f32>(sine + (2.0 * half - sine - sine * square) / (1.0 + square), half);
                    rotated = 1u;
                }}
                angles[thread] = angle;
            }}
            workgroupBarrier();
            // Rows and columns of a pair by those of another.
            let a = meeting(row, turn, meets_all);
            let b = meeting(lane, turn, meets_all);
            let by_a = angles[row];
            let by_b = angles[lane];
            let pp = products[a.x * {PITCH}u + b.x];
            let pq = products[a.x * {PITCH}u + b.y];
            let qp = products[a.y * {PITCH}u + b.x];
            let qq = products[a.y * {PITCH}u + b.y];
            let of_p = turned_pair(vec2<f32>(pp, qp), by_a);
            let of_q = turned_pair(vec2<f32>(pq, qq), by_a);
            let upper = turned_pair(vec2<f32>(of_p.x, of_q.x), by_b);
            let lower = turned_pair(vec2<f32>(of_p.y, of_q.y), by_b);
            products[a.x * {PITCH}u + b.x] = upper.x;
            products[a.x * {PITCH}u + b.y] = upper.y;
            products[a.y * {PITCH}u + b.x] = lower.x;
            products[a.y * {PITCH}u + b.y] = lower.y;
            for (var r = row; r < 32u; r += 16u) {{
                let pair = turned_pair(vec2<f32>(turns[r * {PITCH}u + b.x], turns[r * {PITCH}u + b.y]), by_b);
                turns[r * {PITCH}u + b.x] = pair.x;
                turns[r * {PITCH}u + b.y] = pair.y;
            }}
        }}
        if (workgroupUniformLoad(&rotated) == 0u) {{ break; }}
        any = 1u;
        if (thread == 0u) {{ rotated = 0u; }}
    }}
    workgroupBarrier();
    if (thread == 0u) {{
        turned[number] = any;
        if (any == 1u) {{ atomicStore(&states[4u * matrix_number + 2u], sweep + 1u); }}
    }}
{sorts}    for (var e = thread; e < 1024u; e += 256u) {{
        rotations[number * 1024u + e / 32u * 32u + {place}] = turns[e / 32u * {PITCH}u + e % 32u];
    }}
"
            )
        })
    }
}
