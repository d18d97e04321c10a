//! Convolutions that fill the GPU, as the matrix products they are (see `wgsl`), by the design of large products: see
//! `matmul::large`. The numbers of the next round are on their way while one is computed.
//!
//! The index of an element is half row or column, half depth. A thread brings elements of a few rows and columns, whose
//! halves it computes once, and of one step of depth or a few, whose halves it computes once a round: nothing is divided
//! for a single element. Neighbouring threads read neighbours in memory: 16 steps of depth of the left operand (and of
//! the right one for the weight), 16 columns of the right one else.
//!
//! Which elements these are, `Elements` says: those of a whole product here, those of one phase in `phases`.

use super::Direction;
use super::wgsl::{Product, Text};
use crate::ir::program::Program;
use crate::op::matmul::Sizes;
use crate::op::matmul::large::{Shuffle, fills, gathered, position, results, row_offset, steps};
use crate::op::matmul::tiling::{DEPTH, GENERAL_TILE, Tile, large, part_length};
use crate::shader::{Entry, widen};
use std::fmt::Write;

/// Parts of the depth at most: weight gradients are small, and sums over many positions.
const MAX_PARTS: usize = 64;
/// Rounds of one part: software adapters end loops of more than 65,535.
const MAX_ROUNDS: usize = 32_768;
/// Threads that read neighbours.
const ABREAST: usize = 16;

/// How a shader finds the elements of its product, in WGSL.
pub(super) struct Elements {
    /// `place`, `tap` and `window` of the right operand, `left_row` and `left_depth` of the left one, and of a column
    /// `is_result`, and `target_of`, the offset of its first result.
    pub functions: String,
    /// Says from which step (`first`) to which (`end`) the depth of a workgroup goes.
    pub range: String,
    /// The end of the depth where it may be within a round.
    pub end: Option<String>,
    /// Where the results of a workgroup's part begin.
    pub origin: String,
    /// How far the rows of results lie apart.
    pub row_pitch: String,
    /// Are results handed on four by four?
    pub fours: bool,
}

/// How threads bring the tile of the right operand to workgroup memory.
struct Right {
    /// Columns and steps of a thread.
    columns: Vec<String>,
    steps: Vec<String>,
}

/// Workgroups along columns, rows and a number of products; None if they are too many, or their rounds for a length of
/// depth.
fn grid(product: Product, tile: &Tile, products: usize, length: usize) -> Option<[u32; 3]> {
    let [rows, columns] = tile.size();
    let grid = [product.columns.div_ceil(columns), product.rows.div_ceil(rows), products];
    let fits = grid.iter().all(|&count| count <= 65_535) && length.div_ceil(DEPTH) <= MAX_ROUNDS;
    fits.then(|| grid.map(|count| count as u32))
}

impl Text<'_> {
    /// The tile of a text of this tier, and the workgroups; None if those of either tier are too many, because both take the
    /// same way.
    pub(super) fn tile(
        &self,
        product: Product,
        best: &'static Tile,
        products: usize,
        length: usize,
    ) -> Option<(&'static Tile, [u32; 3])> {
        let [general, specialised] =
            [GENERAL_TILE, best].map(|tile| grid(product, tile, products, length).map(|grid| (tile, grid)));
        Some(self.call.tier.either(general?, specialised?))
    }

    /// How a product that fills the GPU is cut: the tile, the workgroups and the length of a part; None if it does not.
    pub(super) fn large_cut(&self, product: Product) -> Option<(&'static Tile, [u32; 3], usize)> {
        let groups = self.sizes.groups;
        let sizes = Sizes { batches: groups, m: product.rows, n: product.columns, k: product.depth };
        let (tile, parts) = large(&sizes, MAX_PARTS, false, self.call.gpu)?;
        let length = part_length(product.depth, parts);
        let (tile, grid) = self.tile(product, tile, groups * product.depth.div_ceil(length), length)?;
        Some((tile, grid, length))
    }

    /// The shaders of a product that fills the GPU; None if it does not.
    #[inline(never)] // A page fetches it when a plan is hot.
    pub(super) fn large(&self, product: Product) -> Option<Vec<Program>> {
        let (tile, grid, length) = self.large_cut(product)?;
        let elements = self.elements(product, length);
        Some(self.large_product(product.rows, tile, grid, &elements, product.depth.div_ceil(length)))
    }

    /// The elements of a whole product, in parts of a length.
    pub(super) fn elements(&self, product: Product, length: usize) -> Elements {
        let [columns, depth, groups] = [product.columns, product.depth, self.sizes.groups].map(|n| self.n(n));
        let [part_length, numel] = [length, self.call.outputs[0].1.numel()].map(|n| self.n(n));
        let weight = self.direction == Direction::Weight;
        let places = if weight { &depth } else { &columns };
        let (target, row_pitch) = self.target();
        Elements {
            functions: format!(
                "{windows}{lefts}fn is_result(column: u32) -> bool {{ return column < {columns}; }}
fn target_of(column: u32, group: u32) -> u32 {{ return {target}; }}
",
                windows = self.window_functions(places),
                lefts = self.left_functions(),
            ),
            range: format!(
                "    let part = group.z / {groups};
    let first = part * {part_length};
    let end = min(first + {part_length}, {depth});
",
            ),
            end: (!fills(self.call, product.depth, DEPTH)).then_some(depth),
            origin: format!("part * {numel} + "),
            row_pitch: self.n(row_pitch),
            fours: if weight { product.columns } else { row_pitch }.is_multiple_of(4),
        }
    }

    /// The shader of a product with a number of rows, and the one that adds up its parts.
    pub(super) fn large_product(
        &self,
        all_rows: usize,
        tile: &Tile,
        grid: [u32; 3],
        elements: &Elements,
        parts: usize,
    ) -> Vec<Program> {
        self.hand_on(parts, elements.fours);
        let [rows, columns] = tile.size();
        let threads = tile.threads[0] * tile.threads[1];
        let weight = self.direction == Direction::Weight;
        let right = Right::new(weight, threads, columns);
        let [pall_rows, groups] = [all_rows, self.sizes.groups].map(|n| self.n(n));
        let last_row = self.n(all_rows - 1);
        let all_columns = self.n(self.product().columns);
        let full = fills(self.call, all_rows, rows);
        let load = |k0: &str| match &elements.end {
            None => self.load(&right, rows, threads, k0, None),
            Some(end) if !self.call.tier.is_specialised() => self.load(&right, rows, threads, k0, Some(end)),
            Some(end) => format!(
                "        if ({k0} + {DEPTH}u <= {end}) {{\n{}        }} else {{\n{}        }}\n",
                self.load(&right, rows, threads, k0, None),
                self.load(&right, rows, threads, k0, Some(end))
            ),
        };
        self.add(&elements.functions);
        self.share("lines_a", "f32", rows * DEPTH);
        self.share("lines_b", "vec4<f32>", columns * DEPTH / 4);
        let body = format!(
            "{position}    let row0 = group.y * {rows}u;
    let column0 = group.x * {columns}u;
    let channels = group.z % {groups};
{range}    let fast = thread % {ABREAST}u;
    let slow = thread / {ABREAST}u;
{places_a}{places_b}{zero}{load_first}    for (var k0 = first; k0 < end; k0 += {DEPTH}u) {{
{store}        workgroupBarrier();
        if (k0 + {DEPTH}u < end) {{
{load_next}        }}
{steps}        workgroupBarrier();
    }}
{write}",
            position = position(tile),
            range = elements.range,
            places_a = places_of_left(rows, threads, (!full).then_some(&last_row)),
            places_b = right.places(weight),
            zero =
                results(tile).map(|(r, v)| format!("    var c{r}_{v} = vec4<f32>();\n")).collect::<String>(),
            load_first = load("first"),
            store = store(&right, rows, columns, threads),
            load_next = load(&format!("(k0 + {DEPTH}u)")),
            steps = steps(tile, Shuffle::Each, self.call.tier),
            write = match self.call.tier.is_specialised() {
                false => write_in_loops(tile, [&pall_rows, &all_columns], elements),
                true => write_each(tile, (!full).then_some(&pall_rows), elements),
            },
        );
        self.finish(&Entry::grid(grid, threads), &body, parts)
    }

    /// Reads a round's numbers from memory; beyond an end of the depth, where one is given, the left ones are zero. (The
    /// right ones always are.)
    fn load(&self, right: &Right, rows: usize, threads: usize, k0: &str, end: Option<&str>) -> String {
        let weight = self.direction == Direction::Weight;
        let mut text = format!("            let depth_offset = left_depth({k0} + fast);\n");
        for i in 0..rows * ABREAST / threads {
            let value = widen(self.dtype, &format!("b[a_row{i} + depth_offset]"));
            _ = match end {
                None => writeln!(text, "            a_next{i} = {value};"),
                Some(end) => writeln!(
                    text,
                    "            a_next{i} = 0.0;\n            if ({k0} + fast < {end}) {{ a_next{i} = {value}; }}"
                ),
            };
        }
        for (j, step) in right.steps.iter().enumerate() {
            let half = if weight {
                format!("place({k0} + {step}, channels)")
            } else {
                format!("tap({k0} + {step})")
            };
            _ = writeln!(text, "            let b_step{j} = {half};");
            for i in 0..right.columns.len() {
                let value = match weight {
                    true => format!("window(b_step{j}, b_column{i})"),
                    false => format!("window(b_column{i}, b_step{j})"),
                };
                _ = writeln!(text, "            b_next{i}_{j} = {value};");
            }
        }
        text
    }
}

impl Right {
    fn new(weight: bool, threads: usize, columns: usize) -> Right {
        let lines = threads / ABREAST;
        let along = |name: &str, apart: usize, count: usize| {
            (0..count).map(|i| format!("({name} + {}u)", i * apart)).collect::<Vec<_>>()
        };
        match weight {
            true => Right { columns: along("slow", lines, columns / lines), steps: vec!["fast".into()] },
            false => Right {
                columns: along("fast", ABREAST, columns / ABREAST),
                steps: along("slow", lines, DEPTH / lines),
            },
        }
    }

    /// The halves of a thread's columns, and registers for its numbers.
    fn places(&self, weight: bool) -> String {
        let mut text = String::new();
        for (i, column) in self.columns.iter().enumerate() {
            let half = if weight { "tap(column0 + COLUMN)" } else { "place(column0 + COLUMN, channels)" };
            _ = writeln!(text, "    let b_column{i} = {};", half.replace("COLUMN", column));
            for j in 0..self.steps.len() {
                _ = writeln!(text, "    var b_next{i}_{j}: f32;");
            }
        }
        text
    }
}

/// The halves of a thread's rows of the left operand, and registers for its numbers. Rows past the end repeat the last.
fn places_of_left(rows: usize, threads: usize, last: Option<&String>) -> String {
    let lines = threads / ABREAST;
    let mut text = String::new();
    for i in 0..rows / lines {
        let row = format!("row0 + slow + {}u", i * lines);
        let row = last.map_or(row.clone(), |last| format!("min({row}, {last})"));
        _ = writeln!(text, "    let a_row{i} = left_row({row}, channels);\n    var a_next{i}: f32;");
    }
    text
}

/// Stores a thread's numbers in workgroup memory, where threads that do so at once meet different banks.
fn store(right: &Right, rows: usize, columns: usize, threads: usize) -> String {
    let lines = threads / ABREAST;
    let mut text = String::new();
    for i in 0..rows / lines {
        _ = writeln!(
            text,
            "        lines_a[fast * {rows}u + ((slow + {}u) ^ (fast / 4u * 8u))] = a_next{i};",
            i * lines
        );
    }
    for (i, column) in right.columns.iter().enumerate() {
        for (j, step) in right.steps.iter().enumerate() {
            _ = writeln!(
                text,
                "        lines_b[{step} * {}u + (({column} / 4u) ^ ({step} % 8u))][{column} % 4u] = b_next{i}_{j};",
                columns / 4
            );
        }
    }
    text
}

/// Hands on a thread's results, as far as they are results, in loops: whoever takes them is in the shader once, and the driver
/// compiles it once. No compiler knows where the loops end, so that none unrolls them.
fn write_in_loops(tile: &Tile, [rows, columns]: [&str; 2], elements: &Elements) -> String {
    let Elements { origin, row_pitch, fours, .. } = elements;
    let ([down, across], [row_threads, column_threads]) = (tile.per_thread, tile.threads);
    let hand_on = |column: &str, value: &str| {
        format!(
            "        if (is_result({column})) {{
            let begin = {origin}target_of({column}, channels);
            for (var r = 0u; r < min({down}u, {rows}); r++) {{
                let row = row0 + row_thread * 4u + r / 4u * {}u + r % 4u;
                if (row < {rows}) {{ put(begin + row * {row_pitch}, {value}); }}
            }}
        }}
",
            row_threads * 4
        )
    };
    let body = match fours {
        true => hand_on("column", "results[at + r]"),
        false => format!(
            "        for (var j = 0u; j < min(4u, {columns}); j++) {{\n{}        }}\n",
            hand_on("(column + j)", "results[at + r][j]")
        ),
    };
    format!(
        "{gathered}    for (var v = 0u; v < min({}u, {columns}); v++) {{
        let column = column0 + column_thread * 4u + v * {}u;
        let at = v * {down}u;
{body}    }}
",
        across / 4,
        column_threads * 4,
        gathered = gathered(tile),
    )
}

/// The same without loops, which is faster.
#[inline(never)] // A page fetches it when a plan is hot.
fn write_each(tile: &Tile, all_rows: Option<&String>, elements: &Elements) -> String {
    let Elements { origin, row_pitch, fours, .. } = elements;
    let mut text = String::new();
    for v in 0..tile.per_thread[1] / 4 {
        let column = format!("column0 + column_thread * 4u + {}u", v * tile.threads[1] * 4);
        for j in 0..if *fours { 1 } else { 4 } {
            _ = write!(
                text,
                "    let column{v}_{j} = {column} + {j}u;
    if (is_result(column{v}_{j})) {{
        let begin = {origin}target_of(column{v}_{j}, channels);\n"
            );
            for r in 0..tile.per_thread[0] {
                let row = format!("(row0 + row_thread * 4u + {}u)", row_offset(tile, r));
                let value = if *fours { format!("c{r}_{v}") } else { format!("c{r}_{v}[{j}]") };
                let put = format!("put(begin + {row} * {row_pitch}, {value});");
                _ = match all_rows {
                    Some(all) => writeln!(text, "        if ({row} < {all}) {{ {put} }}"),
                    None => writeln!(text, "        {put}"),
                };
            }
            text += "    }\n";
        }
    }
    text
}
