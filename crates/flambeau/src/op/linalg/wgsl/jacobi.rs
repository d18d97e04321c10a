//! Eigenvalues and singular values by Jacobi's rotations.
//!
//! The columns of a matrix are cut into blocks of 16, and the blocks are paired as the players of a tournament are: after a round
//! for each other block, every block has met all others, which is a sweep. In a round, `solve` finds for each pair the rotation J of
//! its 32 columns that makes them independent, and `turn` applies all of them.
//!
//! - [`Sides::Two`]: of a symmetric A the pair's own 32 × 32 numbers become diagonal: A ← Jᵀ A J, until all of A is.
//! - [`Sides::One`]: of any A the pair's columns become orthogonal, by what makes their products diagonal: A ← A J. In the end the
//!   columns are u σ.
//!
//! The rotations of 32 columns are found by the same tournament of single columns, in workgroup memory. V, which begins as the
//! identity, lies below A and takes all rotations too. Matrices are divided by a power of two first, so that squares stay in range.
//! A matrix in which a whole sweep has found nothing to rotate is done; its later rounds end at once.

use super::super::{NOT_FINITE, Sizes};
use super::{PITCH, Repeated, THREADS};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Checked, Program};
use crate::shader::{ZERO, fault, fits_shader};

/// Columns of a block.
const BLOCK: usize = 16;
/// Sweeps over blocks at most: some more than large matrices need.
const SWEEPS: usize = 14;
/// Sweeps inside of a pair at most: where there is one pair only, it must be done with them.
const INNER: usize = 2;
const INNER_ALONE: usize = 12;

/// What is rotated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    One,
    Two,
}

/// The scratch buffers.
pub(super) const STACK: usize = 0;
const ROTATIONS: usize = 1;
const TURNED: usize = 2;
/// Of each matrix: its scale, what counts as zero, and the sweep after the last that rotated something.
pub(super) const STATES: usize = 3;

/// A batch of matrices with V below each.
pub(super) struct Jacobi<'a> {
    pub sizes: Sizes,
    pub sides: Sides,
    pub call: &'a StructuredCall,
    /// Bytes of all scratch buffers of the call, the first of which are these.
    pub scratch: Vec<u64>,
}

impl<'a> Jacobi<'a> {
    pub fn new(sizes: Sizes, sides: Sides, call: &'a StructuredCall) -> Result<Jacobi<'a>> {
        let Sizes { batch, rows, columns } = sizes;
        fits_shader(call.op.name(), "elements", batch * (rows + columns) * columns)?;
        let pairs = pairs(columns);
        let words = [batch * (rows + columns) * columns, batch * pairs * 1024, batch * pairs, batch * 4];
        Ok(Jacobi { sizes, sides, call, scratch: words.map(|words| 4 * words as u64).to_vec() })
    }

    /// Everything up to a diagonal A, or orthogonal columns of it.
    pub fn programs(&self) -> Vec<Program> {
        let Sizes { batch, rows: m, columns: n } = self.sizes;
        let mut programs =
            vec![self.measure().with([batch, m, n]), self.fill().with([batch * (m + n), m, n])];
        let pairs = pairs(n);
        let (solve, turn) = (self.solve(), self.turn());
        let sweeps = match (pairs, self.sides) {
            (1, Sides::Two) => 1,
            // What products of columns lose of small ones, the columns themselves still have.
            (1, Sides::One) => 3,
            _ => SWEEPS,
        };
        let inner = if pairs == 1 { INNER_ALONE } else { INNER };
        let of_stack = match self.sides {
            Sides::One => (m + n).div_ceil(32),
            Sides::Two => pairs + n.div_ceil(32),
        };
        for sweep in 0..sweeps {
            for round in 0..2 * pairs - 1 {
                programs.push(solve.with([batch * pairs, m, n, pairs, round, sweep, inner]));
                programs.push(turn.with([batch * pairs * of_stack, m, n, pairs, round, of_stack]));
            }
        }
        programs
    }

    fn text<const N: usize>(
        &self,
        numbers: [&str; N],
        write: impl FnOnce(&mut crate::shader::Shader) -> String,
    ) -> Repeated {
        Repeated::new(self.call, &self.scratch, numbers, write)
    }

    /// The power of two below the largest number of each matrix, and what counts as zero off a diagonal. Numbers that are not
    /// finite are a fault.
    fn measure(&self) -> Repeated {
        self.text(["count", "rows", "columns"], |shader| {
            let fault = fault(&mut shader.params, self.call.node, "number");
            shader.checks = Some(Checked::Matrix { op: self.call.op.name(), what: NOT_FINITE });
            shader.bind(Bound::Input(0), "source", "f32");
            shader.bind(Bound::Scratch(STATES), "states", "u32");
            shader.bind_status();
            shader.share("parts", "f32", THREADS);
            let fold = |join: &str| {
                format!(
                    "    parts[thread] = own;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {{
        if (thread < half) {{ parts[thread] = {join}; }}
        workgroupBarrier();
    }}
"
                )
            };
            format!(
                "    let size = rows * columns;
    var own = 0.0;
    for (var e = {ZERO} + thread; e < size; e += 256u) {{
        let bits = bitcast<u32>(source[number * size + e]) & 0x7fffffffu;
        if (bits >= 0x7f800000u) {{ {fault} }} else {{ own = max(own, bitcast<f32>(bits)); }}
    }}
{largest}    let exponent = bitcast<u32>(parts[0]) & 0x7f800000u;
    let scale = select(exponent, 0x3f800000u, exponent == 0u);
    workgroupBarrier();
    own = 0.0;
    for (var e = {ZERO} + thread; e < size; e += 256u) {{
        let value = source[number * size + e] / bitcast<f32>(scale);
        own = fma(value, value, own);
    }}
{squares}    if (thread == 0u) {{
        states[4u * number] = scale;
        states[4u * number + 1u] = bitcast<u32>(4e-8 * sqrt(parts[0]) / f32(columns));
        states[4u * number + 2u] = 0u;
    }}
",
                largest = fold("max(parts[thread], parts[thread + half])"),
                squares = fold("parts[thread] + parts[thread + half]"),
            )
        })
    }

    /// A over its scale with the identity below; of a symmetric A the lower triangle is read. A workgroup has a row.
    fn fill(&self) -> Repeated {
        self.text(["count", "rows", "columns"], |shader| {
            shader.bind(Bound::Input(0), "source", "f32");
            shader.bind(Bound::Scratch(STACK), "stack", "f32");
            shader.bind(Bound::ScratchRead(STATES), "states", "u32");
            let place = match self.sides {
                Sides::One => "row * columns + c",
                Sides::Two => "max(row, c) * columns + min(row, c)",
            };
            format!(
                "    let matrix_number = number / (rows + columns);
    let row = number % (rows + columns);
    let scale = bitcast<f32>(states[4u * matrix_number]);
    for (var c = {ZERO} + thread; c < columns; c += 256u) {{
        var value = select(0.0, 1.0, row == rows + c);
        if (row < rows) {{ value = source[matrix_number * rows * columns + {place}] / scale; }}
        stack[number * columns + c] = value;
    }}
"
            )
        })
    }

    /// The rotation of each pair's columns.
    fn solve(&self) -> Repeated {
        let numbers = ["count", "rows", "columns", "pairs", "round", "sweep", "inner"];
        self.text(numbers, |shader| {
            shader.bind(Bound::ScratchRead(STACK), "stack", "f32");
            shader.bind(Bound::Scratch(ROTATIONS), "rotations", "f32");
            shader.bind(Bound::Scratch(TURNED), "turned", "u32");
            shader.bind(Bound::Scratch(STATES), "states", "atomic<u32>");
            shader.share("products", "f32", 32 * PITCH);
            shader.share("turns", "f32", 32 * PITCH);
            shader.share("angles", "vec2<f32>", BLOCK);
            shader.add("var<workgroup> is_done: u32;\nvar<workgroup> rotated: u32;\n");
            shader.include(TOURNAMENT);
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
    for (var e = thread; e < 1024u; e += 256u) {{
        turns[e / 32u * {PITCH}u + e % 32u] = select(0.0, 1.0, e / 32u == e % 32u);
    }}
    var any = 0u;
    let row = thread / 16u;
    let lane = thread % 16u;
    for (var again = {ZERO}; again < inner; again++) {{
        for (var turn = 0u; turn < 31u; turn++) {{
            workgroupBarrier();
            if (thread < 16u) {{
                let players = pair_of(thread, turn, 16u);
                let pp = products[players.x * {PITCH}u + players.x];
                let qq = products[players.y * {PITCH}u + players.y];
                let pq = products[players.x * {PITCH}u + players.y];
                var angle = vec2<f32>(1.0, 0.0);
                if (abs(pq) > {least}) {{
                    let zeta = (qq - pp) / (2.0 * pq);
                    let tangent = select(-1.0, 1.0, zeta >= 0.0) / (abs(zeta) + sqrt(fma(zeta, zeta, 1.0)));
                    let cosine = 1.0 / sqrt(fma(tangent, tangent, 1.0));
                    let sine = tangent * cosine;
                    // Roots and quotients may be wrong in their last bits, all in one direction, and V would lose its orthogonality
                    // with each rotation: c² + s² is brought back to 1.
                    let missing = 0.5 * fma(-cosine, cosine, fma(-sine, sine, 1.0));
                    angle = vec2<f32>(fma(missing, cosine, cosine), fma(missing, sine, sine));
                    rotated = 1u;
                }}
                angles[thread] = angle;
            }}
            workgroupBarrier();
            // Rows and columns of a pair by those of another.
            let a = pair_of(row, turn, 16u);
            let b = pair_of(lane, turn, 16u);
            let by_a = angles[row];
            let by_b = angles[lane];
            let pp = products[a.x * {PITCH}u + b.x];
            let pq = products[a.x * {PITCH}u + b.y];
            let qp = products[a.y * {PITCH}u + b.x];
            let qq = products[a.y * {PITCH}u + b.y];
            let upper = vec2<f32>(by_a.x * pp - by_a.y * qp, by_a.x * pq - by_a.y * qq);
            let lower = vec2<f32>(by_a.y * pp + by_a.x * qp, by_a.y * pq + by_a.x * qq);
            products[a.x * {PITCH}u + b.x] = by_b.x * upper.x - by_b.y * upper.y;
            products[a.x * {PITCH}u + b.y] = by_b.y * upper.x + by_b.x * upper.y;
            products[a.y * {PITCH}u + b.x] = by_b.x * lower.x - by_b.y * lower.y;
            products[a.y * {PITCH}u + b.y] = by_b.y * lower.x + by_b.x * lower.y;
            for (var r = row; r < 32u; r += 16u) {{
                let p = turns[r * {PITCH}u + b.x];
                let q = turns[r * {PITCH}u + b.y];
                turns[r * {PITCH}u + b.x] = by_b.x * p - by_b.y * q;
                turns[r * {PITCH}u + b.y] = by_b.y * p + by_b.x * q;
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
    for (var e = thread; e < 1024u; e += 256u) {{
        rotations[number * 1024u + e] = turns[e / 32u * {PITCH}u + e % 32u];
    }}
"
            )
        })
    }

    /// X ← X J for 32 rows of the pair's columns; of a symmetric A, Jᵀ X J for the rows of another pair.
    fn turn(&self) -> Repeated {
        let numbers = ["count", "rows", "columns", "pairs", "round", "chunks"];
        self.text(numbers, |shader| {
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
            let still = match self.sides {
                Sides::One => "turned[matrix_number * pairs + pair] == 0u",
                Sides::Two => {
                    "turned[matrix_number * pairs + pair] == 0u && (chunk >= pairs || turned[matrix_number * pairs + min(chunk, pairs - 1u)] == 0u)"
                }
            };
            let others = if self.sides == Sides::Two { "    let others = pair_of(min(chunk, pairs - 1u), round, pairs);\n" } else { "" };
            format!(
                "    let chunk = number % chunks;
    let pair = number / chunks % pairs;
    let matrix_number = number / chunks / pairs;
    let end = rows + columns;
    let start = matrix_number * end * columns;
    if (thread == 0u) {{ is_still = select(0u, 1u, {still}); }}
    if (workgroupUniformLoad(&is_still) == 1u) {{ return; }}
    let blocks = pair_of(pair, round, pairs);
    let is_square = {is_square};
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
{by_left}    for (var r = part; r < 32u; r += 8u) {{
        let row = {row};
        var sum = 0.0;
        for (var k = 0u; k < 32u; k++) {{ sum = fma(tile[r * {PITCH}u + k], right[k * {PITCH}u + lane], sum); }}
        if (row < end && column < columns) {{ stack[start + row * columns + column] = sum; }}
    }}
"
            )
        })
    }
}

/// Pairs of blocks of n columns.
fn pairs(n: usize) -> usize {
    n.div_ceil(2 * BLOCK).max(1)
}

/// A tournament of 2 `pairs` players: the last stays where it is, the others go round. And the columns of a pair of blocks.
const TOURNAMENT: &str = "
fn pair_of(pair: u32, round: u32, pairs: u32) -> vec2<u32> {
    let others = 2u * pairs - 1u;
    if (pair == 0u) { return vec2<u32>(round % others, others); }
    let first = (round + pair) % others;
    let second = (round + others - pair) % others;
    return vec2<u32>(min(first, second), max(first, second));
}
fn column_of(k: u32, blocks: vec2<u32>) -> u32 {
    return select(blocks.y * 16u + k - 16u, blocks.x * 16u + k, k < 16u);
}
";
