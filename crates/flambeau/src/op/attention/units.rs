//! Attention of f16 on matrix units: the products of blocks are theirs, what becomes of scores is that of the plain kernels
//! (`weighing`), for the same four rows by four columns of a thread.
//!
//! A workgroup has 64 rows, 16 for each subgroup, and walks over blocks of 32 others:
//!
//! ```text
//! scores   (16, 32) = own (16, E) · otherᵀ (E, 32)     own rows in registers, others in workgroup memory
//! strip    (64, 32) of f32: scores go through it to threads, and sums in the end
//! weights  (64, 32) of f16: what threads made of them
//! sums     (16, V) += weights (16, 32) · other (32, V)
//! ```
//!
//! The rows of a square of sums cannot be shrunk one by one when a larger score comes. So forward walks twice: once for the largest
//! score of each query, and then for the sums, which costs half as many products again and no other memory. (Shrinking them on their way
//! through the strip, where a score exceeds its bound by e⁸, was right where threads play matrix units, and gave NaNs on an H200,
//! 2026-11-18; why is not known.)
//!
//! Of f32, operands and weights would be two halves each, with powers of two for rows of one product and columns of the next; that is
//! not built, and f32 takes the plain kernels, at every precision.

use super::Sizes;
use super::stages::{LINE, Strided, each_row};
use super::weighing::Weighing;
use super::wgsl::{Body, Kind, OF_QUERIES, Operands, Output, of_own_queries, over_threads};
use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::{UnitKind, WhyNot};
use crate::op::units::{LANES, SQUARE, Spelling, Squares, units_of};
use crate::shader::Shader;
use std::fmt::Write;

/// Rows of a workgroup.
pub(super) const OWN: usize = 64;
/// Rows of a block that they meet.
const OTHERS: usize = 4 * LINE;
pub(super) const THREADS: usize = OWN / SQUARE * LANES;
/// Vectors of four from row to row of the strip and of weights: eight rows begin at different banks.
const STRIP_PITCH: usize = LINE + 1;
const WEIGHTS_PITCH: usize = LINE + 2;
/// The widest rows: sums and own rows stay in registers.
const MAX_WIDTH: usize = 64;

/// How a call's matrices are multiplied as a whole, if its operands and its device allow it.
pub(super) fn of_call(sizes: &Sizes, call: &StructuredCall) -> Result<UnitKind, WhyNot> {
    let units = units_of(call)?;
    match () {
        () if call.inputs[0].meta.dtype != DType::F16 => Err(WhyNot::Kind("attention of f32")),
        () if sizes.width.max(sizes.value_width) > MAX_WIDTH => Err(WhyNot::Kind("heads that wide")),
        () if bytes(sizes) > call.workgroup_memory as usize => {
            Err(WhyNot::Kind("so little workgroup memory"))
        }
        () => Ok(units),
    }
}

/// Bytes of workgroup memory at most.
fn bytes(sizes: &Sizes) -> usize {
    let lines = OWN * pitch(sizes.width.max(sizes.value_width)) * 8;
    lines + OWN * STRIP_PITCH * 16 + 2 * OWN * WEIGHTS_PITCH * 8 + THREADS * 16
}

/// Squares along a row.
fn squares(width: usize) -> usize {
    width.div_ceil(SQUARE)
}

/// Vectors of four from line to line: eight lines begin at different banks.
fn pitch(width: usize) -> usize {
    squares(width) * SQUARE / 4 + 2
}

/// An operand's rows in workgroup memory: the workgroup's own, before the walk, or one of the two blocks that it meets.
struct Rows<'a> {
    operand: &'a Strided,
    pitch: usize,
    rows: usize,
    /// Where they begin.
    first: usize,
    /// WGSL of the number of the first row.
    from: &'static str,
}

impl<'a> Rows<'a> {
    fn own(operand: &'a Strided) -> Rows<'a> {
        Rows { operand, pitch: pitch(operand.columns.width), rows: OWN, first: 0, from: "first_row" }
    }

    fn others(operand: &'a Strided, first: usize) -> Rows<'a> {
        Rows { operand, pitch: pitch(operand.columns.width), rows: OTHERS, first, from: "start" }
    }

    /// As many vectors as a row has in whole squares.
    fn vectors(&self) -> usize {
        squares(self.operand.columns.width) * SQUARE / 4
    }

    /// Vectors that a thread brings.
    fn count(&self) -> usize {
        (self.rows * self.vectors()).div_ceil(THREADS)
    }

    /// `text` for each vector that a thread brings, of its number, its row and its place in the row.
    fn each(&self, text: impl Fn(usize, &str, &str) -> String) -> String {
        let vectors = self.vectors();
        let one = |p: usize| {
            let piece = format!("(thread + {}u)", p * THREADS);
            let (row, vector) = (format!("({piece} / {vectors}u)"), format!("({piece} % {vectors}u)"));
            let is_whole = (self.rows * vectors).is_multiple_of(THREADS);
            match is_whole || (p + 1) * THREADS <= self.rows * vectors {
                true => format!("        {}\n", text(p, &row, &vector)),
                false => {
                    format!("        if ({row} < {}u) {{ {} }}\n", self.rows, text(p, &row, &vector))
                }
            }
        };
        (0..self.count()).map(one).collect()
    }

    /// Brings them to registers, from a block's first row on.
    fn load(&self, from: &str) -> String {
        let name = self.operand.name;
        self.each(|p, row, vector| {
            format!("next_{name}{p} = {};", self.operand.halves(&format!("{from} + {row}"), vector))
        })
    }

    fn declare(&self) -> String {
        let name = self.operand.name;
        (0..self.count()).map(|p| format!("    var next_{name}{p} = vec4<f16>();\n")).collect()
    }

    /// Stores them in workgroup memory.
    fn store(&self) -> String {
        let (name, pitch, first) = (self.operand.name, self.pitch, self.first);
        self.each(|p, row, vector| format!("lines[{first}u + {row} * {pitch}u + {vector}] = next_{name}{p};"))
    }

    /// As squares of a product along the width, or of one that sums up rows.
    fn squares(&self, along_width: bool) -> Squares {
        Squares { memory: "lines", pitch: self.pitch, by_rows: !along_width }
    }
}

/// What the text of a workgroup is made with.
struct Writer {
    spelling: Spelling,
}

impl Writer {
    /// Brings the workgroup's own rows to registers, as squares.
    fn own_rows(&self, operand: &Strided) -> String {
        let rows = Rows::own(operand);
        let (name, pitch) = (operand.name, rows.pitch);
        let by_rows = Squares { memory: "lines", pitch, by_rows: true };
        let mut text = rows.declare() + &rows.load(rows.from);
        text += &format!("    workgroupBarrier();\n{}    workgroupBarrier();\n", rows.store());
        for e in 0..squares(operand.columns.width) {
            let at = format!("subgroup * {}u + {}u", SQUARE * pitch, e * SQUARE / 4);
            _ = writeln!(text, "    let own_{name}{e} = {};", self.spelling.load_a(&by_rows, &at));
        }
        text
    }

    /// Own rows times a block's: into the strip, and from there to `{scores}0` … of each thread.
    fn scores(&self, scores: &str, own: &Strided, other: &Rows) -> String {
        let of_b = other.squares(true);
        let mut text = String::new();
        for j in 0..OTHERS / SQUARE {
            _ = writeln!(text, "        var {scores}_square{j} = {};", self.spelling.zero());
        }
        for e in 0..squares(own.columns.width) {
            for j in 0..OTHERS / SQUARE {
                let place = other.first + j * SQUARE * other.pitch + e * SQUARE / 4;
                let (square, name) = (format!("{scores}_square{j}"), own.name);
                let b = format!("{scores}_b{e}_{j}");
                _ = writeln!(
                    text,
                    "        let {b} = {};",
                    self.spelling.load_b(&of_b, &format!("{place}u"))
                );
                let product = self.spelling.multiply_add(&format!("own_{name}{e}"), (&of_b, &b), &square);
                _ = writeln!(text, "        {square} = {product};");
            }
        }
        for j in 0..OTHERS / SQUARE {
            text += &self.to_strip(&format!("{scores}_square{j}"), j);
        }
        text += "        workgroupBarrier();\n";
        text + &each_row(|i| format!("var {scores}{i} = {};", from_strip(i)))
    }

    /// Stores a square of the subgroup's rows in the strip, so many squares across.
    fn to_strip(&self, square: &str, across: usize) -> String {
        let place = format!("subgroup * {}u + {}u", SQUARE * STRIP_PITCH, across * SQUARE / 4);
        format!("        {}\n", self.spelling.store(square, &place, STRIP_PITCH))
    }

    /// Declares the sums of a subgroup's rows.
    fn zeros(&self, sum: &str, width: usize) -> String {
        let zero = self.spelling.zero();
        (0..squares(width)).map(|v| format!("    var {sum}_square{v} = {zero};\n")).collect()
    }

    /// Adds a block's rows, weighted, to the sums.
    fn weighted_sums(&self, sum: &str, weights: &'static str, other: &Rows) -> String {
        let (of_a, of_b) = (of_weights(weights), other.squares(false));
        let mut text = String::new();
        for step in 0..OTHERS / SQUARE {
            let at = format!("subgroup * {}u + {}u", SQUARE * WEIGHTS_PITCH, step * SQUARE / 4);
            let a = format!("{weights}_a{step}");
            _ = writeln!(text, "        let {a} = {};", self.spelling.load_a(&of_a, &at));
            for v in 0..squares(other.operand.columns.width) {
                let place = other.first + step * SQUARE * other.pitch + v * SQUARE / 4;
                let (square, b) = (format!("{sum}_square{v}"), format!("{sum}_b{step}_{v}"));
                _ = writeln!(
                    text,
                    "        let {b} = {};",
                    self.spelling.load_b(&of_b, &format!("{place}u"))
                );
                let product = self.spelling.multiply_add(&a, (&of_b, &b), &square);
                _ = writeln!(text, "        {square} = {product};");
            }
        }
        text
    }

    /// Sums go through the strip to the threads that write them: `{sum}{row}_{vector}`.
    fn hand_back(&self, sum: &str, operand: &Strided) -> String {
        let (mut text, columns) = (String::new(), operand.columns);
        for n in 0..columns.vectors_of_thread() {
            text += "        workgroupBarrier();\n";
            for across in 0..OTHERS / SQUARE {
                let v = n * OTHERS / SQUARE + across;
                if v < squares(columns.width) {
                    text += &self.to_strip(&format!("{sum}_square{v}"), across);
                }
            }
            text += "        workgroupBarrier();\n";
            text += &each_row(|i| format!("let {sum}{i}_{n} = {};", from_strip(i)));
        }
        text
    }
}

fn from_strip(i: usize) -> String {
    format!("strip[(down * 4u + {i}u) * {STRIP_PITCH}u + across]")
}

fn of_weights(memory: &'static str) -> Squares {
    Squares { memory, pitch: WEIGHTS_PITCH, by_rows: true }
}

/// A thread's numbers as weights, as f16.
fn hand_over(numbers: &str, weights: &str) -> String {
    each_row(|i| {
        format!("{weights}[(down * 4u + {i}u) * {WEIGHTS_PITCH}u + across] = vec4<f16>({numbers}{i});")
    })
}

/// A walk over the blocks of `others` rows: these come to workgroup memory, the next ones to registers meanwhile, and `work` is done.
fn walk(others: &[&Rows], first: &str, work: &str) -> String {
    let each = |text: &dyn Fn(&Rows) -> String| others.iter().map(|rows| text(rows)).collect::<String>();
    format!(
        "    {{
{declare}    var start = {first};
{load_first}    for (; start < end; start += {OTHERS}u) {{
        let others = vec4<u32>(start + across * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
        workgroupBarrier();
{store}        workgroupBarrier();
{load_next}{work}    }}
    }}
",
        declare = each(&|rows| rows.declare()),
        load_first = each(&|rows| rows.load(rows.from)),
        store = each(&|rows| rows.store()),
        load_next = each(&|rows| rows.load(&format!("(start + {OTHERS}u)"))),
    )
}

/// The text of a workgroup, with the memory that it shares; walks begin at row `first` and end at `end`.
pub(super) fn body(
    units: UnitKind,
    operands: &Operands,
    weighing: &Weighing,
    results: &[&Output],
    first: &str,
    shader: &mut Shader,
) -> Body {
    let writer = Writer { spelling: Spelling::new(units) };
    let Operands { q, k, v, g } = *operands;
    let widest = pitch(k.columns.width.max(v.columns.width));
    shader.share("lines", "vec4<f16>", OWN * widest);
    shader.share("strip", "vec4<f32>", OWN * STRIP_PITCH);
    shader.share("weights", "vec4<f16>", OWN * WEIGHTS_PITCH);
    // The second block lies behind the first one.
    let second = OTHERS * widest;
    let (played, names) = (matches!(units, UnitKind::Played), writer.spelling.names());
    let joined = |combine: fn(&str, &str) -> String, number: &str, result: &str| match played {
        true => over_threads(combine, number, result),
        false => over_lanes(combine, number, result),
    };
    if played {
        shader.share("tile", "vec4<f32>", THREADS);
    }
    let own = Squares { memory: "lines", pitch: Rows::own(q).pitch, by_rows: true };
    match g {
        None => {
            let (keys, values) = (Rows::others(k, 0), Rows::others(v, second));
            writer.spelling.announce(
                shader,
                &[own, of_weights("weights")],
                &unique([keys.squares(true), values.squares(false)]),
            );
            let largest = |i: usize| {
                format!(
                    "{}\n        largest{i} = max(largest{i}, max(max(score{i}.x, score{i}.y), max(score{i}.z, score{i}.w)));",
                    weighing.masked(i)
                )
            };
            let weighed = |i: usize| {
                format!(
                    "{}\n        score{i} = {};\n        total{i} += dot(score{i}, vec4<f32>(1.0));{}",
                    weighing.masked(i),
                    weighing.exponentials(i),
                    weighing.dropped(i)
                )
            };
            let scores = writer.scores("score", q, &keys) + &weighing.of_block();
            let lowest = weighing.lowest();
            let find = walk(&[&keys], first, &(scores.clone() + &each_row(largest)));
            let found = joined(|a, b| format!("max({a}, {b})"), "largest", "best")
                + &each_row(|i| format!("let bound{i} = best[{i}];"));
            let sum = walk(
                &[&keys, &values],
                first,
                &(scores
                    + &each_row(weighed)
                    + &hand_over("score", "weights")
                    + "        workgroupBarrier();\n"
                    + &writer.weighted_sums("sum", "weights", &values)),
            );
            Body {
                before: names
                    + &writer.own_rows(q)
                    + &each_row(|i| format!("var largest{i} = {lowest}; var total{i} = 0.0;"))
                    + &writer.zeros("sum", v.columns.width),
                walk: find + &found + &sum,
                after: joined(|a, b| format!("{a} + {b}"), "total", "all")
                    + &writer.hand_back("sum", v)
                    + &results[0].sums_and_logarithms(weighing, v.columns, "bound"),
            }
        }
        Some(g) if weighing.kind == Kind::Queries => {
            let (keys, values) = (Rows::others(k, 0), Rows::others(v, second));
            writer.spelling.announce(
                shader,
                &unique([own, Squares { pitch: Rows::own(g).pitch, ..own }, of_weights("weights")]),
                &unique([keys.squares(true), values.squares(true), keys.squares(false)]),
            );
            let work = writer.scores("score", q, &keys)
                + "        workgroupBarrier();\n"
                + &writer.scores("change", g, &values)
                + &weighing.of_block()
                + &each_row(|i| weighing.by_query(i))
                + &hand_over("score", "weights")
                + "        workgroupBarrier();\n"
                + &writer.weighted_sums("sum", "weights", &keys);
            Body {
                before: names
                    + &writer.own_rows(q)
                    + &writer.own_rows(g)
                    + &of_own_queries()
                    + &writer.zeros("sum", q.columns.width),
                walk: walk(&[&keys, &values], first, &work),
                after: writer.hand_back("sum", q) + &results[0].write("sum", |_| " * scale".into()),
            }
        }
        Some(g) => {
            let (queries, gradients) = (Rows::others(q, 0), Rows::others(g, second));
            shader.share("changes", "vec4<f16>", OWN * WEIGHTS_PITCH);
            let own_v = Squares { pitch: Rows::own(v).pitch, ..own };
            writer.spelling.announce(
                shader,
                &unique([own, own_v, of_weights("weights"), of_weights("changes")]),
                &unique([
                    queries.squares(true),
                    gradients.squares(true),
                    queries.squares(false),
                    gradients.squares(false),
                ]),
            );
            let work = writer.scores("score", k, &queries)
                + "        workgroupBarrier();\n"
                + &writer.scores("change", v, &gradients)
                + OF_QUERIES
                + &weighing.unseen()
                + &weighing.of_block()
                + &each_row(|i| weighing.by_key(i))
                + &hand_over("score", "weights")
                + &hand_over("change", "changes")
                + "        workgroupBarrier();\n"
                + &writer.weighted_sums("sum", "changes", &queries)
                + &writer.weighted_sums("more", "weights", &gradients);
            Body {
                before: names
                    + &writer.own_rows(k)
                    + &writer.own_rows(v)
                    + &writer.zeros("sum", k.columns.width)
                    + &writer.zeros("more", v.columns.width),
                walk: walk(&[&queries, &gradients], first, &work),
                after: writer.hand_back("sum", k)
                    + &results[0].write("sum", |_| " * scale".into())
                    + &writer.hand_back("more", v)
                    + &results[1].write("more", |_| weighing.of_kept()),
            }
        }
    }
}

/// Operands without those that are there twice.
fn unique<const N: usize>(squares: [Squares; N]) -> Vec<Squares> {
    let mut kept: Vec<Squares> = Vec::new();
    for one in squares {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

/// [`over_threads`] where the threads that share rows are neighbours of a subgroup.
fn over_lanes(combine: fn(&str, &str) -> String, number: &str, result: &str) -> String {
    let mut text = format!("        var {result} = vec4<f32>({number}0, {number}1, {number}2, {number}3);\n");
    for apart in [1, 2, 4] {
        let other = format!("subgroupShuffleXor({result}, {apart}u)");
        _ = writeln!(text, "        {result} = {};", combine(result, &other));
    }
    text
}
