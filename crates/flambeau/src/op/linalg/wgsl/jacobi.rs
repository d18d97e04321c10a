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
//! The rotations of 32 columns are found by the same tournament of single columns, in workgroup memory. Of a symmetric matrix, columns
//! of one block meet in a sweep's first round alone: 16 turns a round instead of 31, and not a sweep more. Of any other matrix they
//! meet in each, and are put in the order of their lengths, the largest first, which saves one sweep in ten to four. V, which begins as the
//! identity, lies below A and takes all rotations too. Matrices are divided by a power of two first, so that squares stay in range.
//! A matrix in which a whole sweep has found nothing to rotate is done; its later rounds end at once.
//!
//! A column of a matrix of 1024² takes 20,000 rotations, and what each of them is off a rotation adds up. A cosine of a small angle, as
//! an f32, is off by up to 3e-8, and too large where it rounds to 1: V lost 4,000 ε of its orthogonality. So rotations are
//! p − s (q + τ p) and q + s (p − τ q) with τ = tan(θ/2): the cosine is 1 − s τ, which is never rounded, and what s is off counts
//! s² times.

mod solve;
mod turn;

use super::super::{NOT_FINITE, Sizes};
use super::{Repeated, THREADS};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Checked, Program};
use crate::shader::{ZERO, fault, fits_shader};

/// Columns of a block.
const BLOCK: usize = 16;
/// Sweeps over blocks at most: some more than large matrices need (512²: 11, 1024²: 12).
const SWEEPS: usize = 16;
/// Sweeps inside of a pair at most: where there is one pair only, it must be done with them. Two for each pair would save one sweep
/// over blocks in ten.
const INNER: usize = 1;
const INNER_ALONE: usize = 12;

/// Numbers of a matrix that one workgroup measures, and the most parts that a matrix is cut into for that: two numbers for each have
/// room where a pair's rotations will be.
const PART: usize = 4096;
const PARTS: usize = 512;

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
        let parts = (m * n).div_ceil(PART).min(PARTS);
        let mut programs = vec![
            self.measure().with([batch * parts, m, n, parts]),
            self.join().with([batch, n, parts]),
            self.fill().with([batch * (m + n), m, n]),
        ];
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
        part: &'static str,
        numbers: [&str; N],
        write: impl FnOnce(&mut crate::shader::Shader) -> String,
    ) -> Repeated {
        Repeated::new(part, self.call, &self.scratch, numbers, write)
    }

    /// Of each part of a matrix the largest number and, over that number's power of two, the sum of squares. They wait where the
    /// rotations will be. Numbers that are not finite are a fault.
    fn measure(&self) -> Repeated {
        self.text("jacobi measure", ["count", "rows", "columns", "parts"], |shader| {
            let fault = fault(&mut shader.params, self.call.node, "number / parts");
            shader.checks = Some(Checked::Matrix { op: self.call.op.name(), what: NOT_FINITE });
            shader.bind(Bound::Input(0), "source", "f32");
            shader.bind(Bound::Scratch(ROTATIONS), "measures", "f32");
            shader.bind_status();
            shader.share("folded", "f32", THREADS);
            shader.include(POWER);
            format!(
                "    let size = rows * columns;
    let span = (size + parts - 1u) / parts;
    let first = number % parts * span;
    let end = min(first + span, size);
    let start = number / parts * size;
    var own = 0.0;
    for (var e = first + thread; e < end; e += 256u) {{
        let bits = bitcast<u32>(source[start + e]) & 0x7fffffffu;
        if (bits >= 0x7f800000u) {{ {fault} }} else {{ own = max(own, bitcast<f32>(bits)); }}
    }}
{largest}    let largest = folded[0];
    workgroupBarrier();
    own = 0.0;
    for (var e = first + thread; e < end; e += 256u) {{
        let value = source[start + e] / power_below(largest);
        own = fma(value, value, own);
    }}
{squares}    if (thread == 0u) {{
        measures[2u * number] = largest;
        measures[2u * number + 1u] = folded[0];
    }}
",
                largest = fold("max(folded[thread], folded[thread + half])"),
                squares = fold("folded[thread] + folded[thread + half]"),
            )
        })
    }

    /// The power of two below the largest number of each matrix, and what counts as zero off a diagonal.
    fn join(&self) -> Repeated {
        self.text("jacobi scale", ["count", "columns", "parts"], |shader| {
            shader.bind(Bound::ScratchRead(ROTATIONS), "measures", "f32");
            shader.bind(Bound::Scratch(STATES), "states", "u32");
            shader.share("folded", "f32", THREADS);
            shader.include(POWER);
            format!(
                "    let start = 2u * number * parts;
    var own = 0.0;
    for (var part = {ZERO} + thread; part < parts; part += 256u) {{ own = max(own, measures[start + 2u * part]); }}
{largest}    let scale = power_below(folded[0]);
    workgroupBarrier();
    own = 0.0;
    for (var part = {ZERO} + thread; part < parts; part += 256u) {{
        let ratio = power_below(measures[start + 2u * part]) / scale;
        own = fma(measures[start + 2u * part + 1u] * ratio, ratio, own);
    }}
{squares}    if (thread == 0u) {{
        states[4u * number] = bitcast<u32>(scale);
        // Rounding leaves about 3e-8 / sqrt(n) of large matrices in each place, whatever is rotated.
        let share = select(2e-7 / sqrt(f32(columns)), 4e-8 / f32(columns), columns <= 32u);
        states[4u * number + 1u] = bitcast<u32>(share * sqrt(folded[0]));
        states[4u * number + 2u] = 0u;
    }}
",
                largest = fold("max(folded[thread], folded[thread + half])"),
                squares = fold("folded[thread] + folded[thread + half]"),
            )
        })
    }

    /// A over its scale with the identity below; of a symmetric A the lower triangle is read. A workgroup has a row.
    fn fill(&self) -> Repeated {
        self.text("jacobi fill", ["count", "rows", "columns"], |shader| {
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
}

/// The 256 numbers `own` of a workgroup as one, in `folded[0]`.
fn fold(join: &str) -> String {
    format!(
        "    folded[thread] = own;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {{
        if (thread < half) {{ folded[thread] = {join}; }}
        workgroupBarrier();
    }}
"
    )
}

/// The power of two below a number, 1 for subnormal ones.
const POWER: &str = "
fn power_below(number: f32) -> f32 {
    let exponent = bitcast<u32>(number) & 0x7f800000u;
    return bitcast<f32>(select(exponent, 0x3f800000u, exponent == 0u));
}
";

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
