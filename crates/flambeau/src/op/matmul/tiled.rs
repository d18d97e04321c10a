//! The product of floats on the GPU, tile by tile, for matrices too small to fill it: few results, many steps along K.
//! The shader's text does not depend on sizes, so that products of all shapes share it.
//!
//! A workgroup makes one tile of C. Each round it brings `depth` columns of A and rows of B into workgroup memory, in
//! blocks of 4 × 4 that one thread loads while the round before is computed. There both lie as vectors along the rows
//! of C (A) and along its columns (B), one line per step of K, so that each thread reads whole vectors and keeps its
//! 4 × 4 results in registers:
//!
//! ```text
//! lines of A  (depth, tile rows / 4)     of vec4        C tile = Σ over k: A[k, rows] ⊗ B[k, columns]
//! lines of B  (depth, tile columns / 4)  of vec4
//! ```
//!
//! Columns within a line are shuffled by `swizzle`, so that threads that store blocks of one row of A, one below the
//! other, do not wait for each other's memory bank.

use super::Sizes;
use super::tiling::Tiling;
use crate::ir::access::{Axis, Level};
use crate::ir::call::{Operand, StructuredCall};
use crate::ir::program::{Bound, Param, Program};
use crate::op::parts::scratch;
use crate::shader::{Entry, Params, Shader};
use std::fmt::Write;

/// How a thread reads its block of 4 steps along K by 4 rows of A (or columns of B) from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// Four vectors along K.
    AlongK,
    /// Four vectors along the rows of A, or the columns of B.
    Across,
    /// Sixteen numbers; neighbours along K are near each other.
    SinglesAlongK,
    /// Sixteen numbers; neighbours across are near each other.
    SinglesAcross,
}

impl Read {
    /// `across` and `along_k` are the operand's two axes.
    fn of(level: &Level, across: &Axis, along_k: &Axis) -> Read {
        let batches = &level.axes[..level.axes.len() - 2];
        let whole = |x: i64| x % 4 == 0;
        let aligned = whole(level.offset.constant)
            && level.offset.terms.iter().all(|&(_, coefficient)| whole(coefficient))
            && batches.iter().all(|axis| axis.size == 1 || whole(axis.stride));
        let vectors = |inner: &Axis, outer: &Axis| {
            aligned
                && inner.stride == 1
                && inner.size.is_multiple_of(4)
                && (outer.size == 1 || whole(outer.stride))
        };
        match (along_k.stride, across.stride) {
            _ if vectors(across, along_k) => Read::Across,
            _ if vectors(along_k, across) => Read::AlongK,
            (1, _) => Read::SinglesAlongK,
            _ => Read::SinglesAcross,
        }
    }

    pub fn is_vector(self) -> bool {
        matches!(self, Read::AlongK | Read::Across)
    }

    /// Do neighbouring threads take blocks that follow each other along K?
    pub fn blocks_along_k(self) -> bool {
        matches!(self, Read::AlongK | Read::SinglesAlongK)
    }
}

/// One operand: A with its rows across, or B with its columns.
pub(super) struct Side<'a> {
    pub name: &'static str,
    pub operand: &'a Operand,
    pub across: &'a Axis,
    pub along_k: &'a Axis,
    pub read: Read,
    /// Rows of A or columns of B per tile.
    pub tile: usize,
}

impl<'a> Side<'a> {
    pub fn new(name: &'static str, operand: &'a Operand, k_is_last: bool, tile: usize) -> Side<'a> {
        let level = &operand.access.levels[0];
        let rank = level.axes.len();
        let (row, column) = (&level.axes[rank - 2], &level.axes[rank - 1]);
        let (across, along_k) = if k_is_last { (row, column) } else { (column, row) };
        Side { name, operand, across, along_k, read: Read::of(level, across, along_k), tile }
    }

    pub fn bind(&self, input: usize, shader: &mut Shader) {
        shader.bind_elements(Bound::Input(input), self.name, self.operand.meta.dtype, self.read.is_vector());
    }

    /// `fn find_a(batch) -> u32`, the offset of a batch's matrix, and
    /// `fn load_a(base, x, k, end) -> mat4x4<f32>`: column i is the vector across, from x on, at step k + i; zeros
    /// outside the matrix and from step `end` on.
    fn functions(&self, params: &mut Params) -> String {
        let Side { name, operand, across, along_k, read, .. } = self;
        let level = &operand.access.levels[0];
        let mut find = format!("    var at = {};\n", params.push(Param::Offset(level.offset.clone())));
        let batches = &level.axes[..level.axes.len() - 2];
        if batches.iter().any(|axis| axis.size > 1) {
            find += "    var rest = batch;\n";
            for axis in batches.iter().rev() {
                let (size, stride) = (params.size(axis.size), params.stride(axis.stride));
                _ = write!(find, "    at += (rest % {size}) * {stride};\n    rest /= {size};\n");
            }
        }
        let limit = params.size(across.size);
        let (step_x, step_k) = (params.stride(across.stride), params.stride(along_k.stride));
        // Unrolled: a matrix indexed by a variable would leave the registers.
        let zeros: String = (0..4).map(|i| format!("    var v{i} = vec4<f32>();\n")).collect();
        let vector = |condition: String, i: usize, at: String| {
            format!("    if ({condition}) {{ v{i} = vec4<f32>({name}[({at}) / 4u]); }}\n")
        };
        let load = match read {
            Read::Across => {
                let read =
                    |i| vector(format!("k + {i}u < end"), i, format!("base + (k + {i}u) * {step_k} + x"));
                let vectors: String = (0..4).map(read).collect();
                format!(
                    "{zeros}    if (x < {limit}) {{\n{vectors}    }}\n    return mat4x4<f32>(v0, v1, v2, v3);\n"
                )
            }
            Read::AlongK => {
                let read =
                    |j| vector(format!("x + {j}u < {limit}"), j, format!("base + (x + {j}u) * {step_x} + k"));
                let vectors: String = (0..4).map(read).collect();
                format!(
                    "{zeros}    if (k < end) {{\n{vectors}    }}\n    return transpose(mat4x4<f32>(v0, v1, v2, v3));\n"
                )
            }
            Read::SinglesAlongK | Read::SinglesAcross => {
                let single =
                    |i, j| format!("f32({name}[base + (x + {j}u) * {step_x} + (k + {i}u) * {step_k}])");
                let (mut inside, mut edge) = (String::new(), String::new());
                for i in 0..4 {
                    let numbers = [0, 1, 2, 3].map(|j| single(i, j)).join(", ");
                    _ = writeln!(inside, "        v{i} = vec4<f32>({numbers});");
                    for (j, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
                        let condition = format!("x + {j}u < {limit} && k + {i}u < end");
                        _ = writeln!(
                            edge,
                            "        if ({condition}) {{ v{i}.{component} = {}; }}",
                            single(i, j)
                        );
                    }
                }
                format!(
                    "{zeros}    if (x + 4u <= {limit} && k + 4u <= end) {{\n{inside}    }} else {{\n{edge}    }}
    return mat4x4<f32>(v0, v1, v2, v3);\n"
                )
            }
        };
        format!(
            "fn find_{name}(batch: u32) -> u32 {{\n{find}    return at;\n}}
fn load_{name}(base: u32, x: u32, k: u32, end: u32) -> mat4x4<f32> {{\n{load}}}\n"
        )
    }

    /// WGSL for the place of block `block` of the tile: (which four across, which four steps).
    fn place(&self, block: &str, depth: usize) -> [String; 2] {
        let (lines, vectors) = (depth / 4, self.tile / 4);
        match self.read.blocks_along_k() {
            true => [format!("({block}) / {lines}u"), format!("({block}) % {lines}u")],
            false => [format!("({block}) % {vectors}u"), format!("({block}) / {vectors}u")],
        }
    }
}

/// The kernel for these sizes.
#[inline(never)] // A page fetches it when a plan is hot.
pub(super) fn program(call: &StructuredCall, sizes: &Sizes, tiling: &Tiling) -> Program {
    let Sizes { batches, m, n, k } = *sizes;
    let [rows, columns] = tiling.tile;
    let a = Side::new("a", &call.inputs[0], true, rows);
    let b = Side::new("b", &call.inputs[1], false, columns);
    let mut shader = Shader::of(call, "matmul");
    let params = &mut shader.params;
    let jobs = params.size(batches * tiling.parts);
    let count = params.size(batches);
    let (pk, part) = (params.size(k), params.size(tiling.part_length(k)));
    let (threads_m, threads_n) = (tiling.threads()[0], tiling.threads()[1]);
    let threads = threads_m * threads_n * tiling.slices;
    let write = write([m, n], params);
    let fours = n.is_multiple_of(4);
    a.bind(0, &mut shader);
    b.bind(1, &mut shader);
    match tiling.parts {
        1 => shader.hand_on(call, fours),
        _ => shader.hand_on_parts(call, fours),
    }
    shader.scratch = scratch(call, tiling.parts);
    // Lines of A, then lines of B.
    shader.share("lines", "vec4<f32>", (rows + columns) * tiling.depth / 4);
    let functions = [a.functions(&mut shader.params), b.functions(&mut shader.params), write].concat();
    shader.add(&functions);
    shader.add(&format!(
        "fn swizzle(column: u32, line: u32) -> u32 {{ return column ^ ((line / 4u * 2u) & {}u); }}\n",
        (rows.min(columns) / 4).min(8) - 1
    ));
    let body = format!(
        "{position}    let row0 = group.y * {rows}u;
    let column0 = group.x * {columns}u;
    for (var job = group.z; job < {jobs}; job += groups.z) {{
        let batch = job % {count};
        let first = job / {count} * {part};
        let end = min(first + {part}, {pk});
        let base_a = find_a(batch);
        let base_b = find_b(batch);
{zero}{prefetch_first}        for (var k0 = first; k0 < end; k0 += {depth}u) {{
{store}            workgroupBarrier();
{prefetch_next}{compute}            workgroupBarrier();
        }}
{finish}    }}
",
        position = position(tiling),
        zero = for_each_result(tiling, |_, name| format!("        var {name} = vec4<f32>();\n")),
        prefetch_first = prefetch(&a, &b, tiling, threads, "first", true),
        store = store(&a, &b, tiling, threads),
        prefetch_next = prefetch(&a, &b, tiling, threads, &format!("k0 + {}u", tiling.depth), false),
        compute = compute(tiling),
        finish = finish(tiling),
        depth = tiling.depth,
    );
    let groups =
        [n.div_ceil(columns) as u32, m.div_ceil(rows) as u32, (batches * tiling.parts).min(65_535) as u32];
    shader.finish(&Entry::grid(groups, threads), &body)
}

/// The blocks a thread loads each round: (its number as WGSL, which side).
fn blocks<'a>(a: &'a Side, b: &'a Side, tiling: &Tiling, threads: usize) -> Vec<(String, Vec<&'a Side<'a>>)> {
    let of = |side: &Side| side.tile / 4 * (tiling.depth / 4);
    let (of_a, all) = (of(a), of(a) + of(b));
    let block = |start: usize| {
        let mut sides = Vec::new();
        if start < of_a {
            sides.push(a);
        }
        if start + threads > of_a && start < all {
            sides.push(b);
        }
        (format!("thread + {start}u"), sides)
    };
    (0..all).step_by(threads).map(block).collect()
}

/// WGSL that runs the code for the side that a block belongs to.
fn for_side(
    a: &Side,
    b: &Side,
    tiling: &Tiling,
    threads: usize,
    code: impl Fn(usize, &Side, &str) -> String,
) -> String {
    let of_a = a.tile / 4 * (tiling.depth / 4);
    let all = of_a + b.tile / 4 * (tiling.depth / 4);
    let mut text = String::new();
    for (number, (block, sides)) in blocks(a, b, tiling, threads).into_iter().enumerate() {
        let start = number * threads;
        let in_b = format!("{block} - {of_a}u");
        let guard = if start + threads > all { format!("if ({block} < {all}u) ") } else { String::new() };
        text += &match sides[..] {
            [side] if side.name == "a" => {
                format!("            {guard}{{\n{}            }}\n", code(number, side, &block))
            }
            [side] => format!("            {guard}{{\n{}            }}\n", code(number, side, &in_b)),
            _ => format!(
                "            if ({block} < {of_a}u) {{\n{}            }} else {guard}{{\n{}            }}\n",
                code(number, a, &block),
                code(number, b, &in_b)
            ),
        };
    }
    text
}

/// Loads this thread's blocks of the round that starts at step `k`.
fn prefetch(a: &Side, b: &Side, tiling: &Tiling, threads: usize, k: &str, declare: bool) -> String {
    let mut text = String::new();
    if declare {
        for number in 0..blocks(a, b, tiling, threads).len() {
            _ = writeln!(text, "        var block{number}: mat4x4<f32>;");
        }
    }
    text + &for_side(a, b, tiling, threads, |number, side, block| {
        let [across, step] = side.place(block, tiling.depth);
        let origin = if side.name == "a" { "row0" } else { "column0" };
        let name = side.name;
        format!(
            "                block{number} = load_{name}(base_{name}, {origin} + 4u * ({across}), {k} + 4u * ({step}), end);\n"
        )
    })
}

/// Stores this thread's blocks as vectors of the lines.
fn store(a: &Side, b: &Side, tiling: &Tiling, threads: usize) -> String {
    for_side(a, b, tiling, threads, |number, side, block| {
        let [across, step] = side.place(block, tiling.depth);
        let vectors = side.tile / 4;
        let origin = if side.name == "a" { 0 } else { a.tile / 4 * tiling.depth };
        let mut text = format!(
            "                let line = 4u * ({step});
                let at = {origin}u + line * {vectors}u + swizzle({across}, line);\n"
        );
        for i in 0..4 {
            _ = writeln!(text, "                lines[at + {}u] = block{number}[{i}];", i * vectors);
        }
        text
    })
}

/// Where a thread's results lie in the tile. Threads that follow each other form squares (nearly), so that 32 of
/// them read few different vectors of A and of B.
fn position(tiling: &Tiling) -> String {
    let [threads_m, threads_n] = tiling.threads();
    let per_slice = threads_m * threads_n;
    let width = threads_n.min(8);
    let height = (32 / width).min(threads_m);
    let across = threads_n / width;
    format!(
        "    let slice = thread / {per_slice}u;
    let inside = thread % {per_slice}u;
    let square = inside / {size}u;
    let row_thread = square / {across}u * {height}u + inside % {size}u / {width}u;
    let column_thread = square % {across}u * {width}u + inside % {width}u;
",
        size = width * height,
    )
}

/// The results of a thread: `code` is given the number and the name of each; c2_1 is vector 1 of row 2.
fn for_each_result(tiling: &Tiling, code: impl Fn(usize, String) -> String) -> String {
    let [rows, columns] = tiling.per_thread;
    let vectors = columns / 4;
    (0..rows * vectors)
        .map(|index| code(index, format!("c{}_{}", index / vectors, index % vectors)))
        .collect()
}

/// One round: every thread adds the products of its rows and columns, step by step.
fn compute(tiling: &Tiling) -> String {
    let [tile_m, tile_n] = tiling.tile;
    let [rows, columns] = tiling.per_thread;
    let [threads_m, threads_n] = tiling.threads();
    let (vectors_a, vectors_b) = (tile_m / 4, tile_n / 4);
    let lines = tiling.depth / tiling.slices;
    let origin_b = vectors_a * tiling.depth;
    let mut text = format!(
        "            for (var line0 = slice * {lines}u; line0 < slice * {lines}u + {lines}u; line0 += 4u) {{\n"
    );
    for (name, thread, threads, vectors, origin, count) in [
        ("a", "row_thread", threads_m, vectors_a, 0, rows / 4),
        ("b", "column_thread", threads_n, vectors_b, origin_b, columns / 4),
    ] {
        for v in 0..count {
            _ = writeln!(
                text,
                "                let at_{name}{v} = {origin}u + line0 * {vectors}u + swizzle({thread} + {}u, line0);",
                v * threads
            );
        }
    }
    for step in 0..4 {
        text += "                {\n";
        for (name, vectors, count) in [("a", vectors_a, rows / 4), ("b", vectors_b, columns / 4)] {
            for v in 0..count {
                let offset = step * vectors;
                _ = writeln!(text, "                    let {name}{v} = lines[at_{name}{v} + {offset}u];");
            }
        }
        for r in 0..rows {
            for v in 0..columns / 4 {
                let x = ["x", "y", "z", "w"][r % 4];
                _ = writeln!(
                    text,
                    "                    c{r}_{v} = fma(vec4<f32>(a{}.{x}), b{v}, c{r}_{v});",
                    r / 4
                );
            }
        }
        text += "                }\n";
    }
    text + "            }\n"
}

/// Adds up the slices, in order, and writes the tile.
fn finish(tiling: &Tiling) -> String {
    let [rows, columns] = tiling.per_thread;
    let [threads_m, threads_n] = tiling.threads();
    let vectors = columns / 4;
    let writes = for_each_result(tiling, |index, name| {
        let (r, v) = (index / vectors, index % vectors);
        let row = format!("row0 + 4u * (row_thread + {}u) + {}u", r / 4 * threads_m, r % 4);
        let column = format!("column0 + 4u * (column_thread + {}u)", v * threads_n);
        format!("            write(job, {row}, {column}, {name});\n")
    });
    if tiling.slices == 1 {
        return format!("        {{\n{writes}        }}\n");
    }
    let results = rows * vectors;
    let slice = threads_m * threads_n * results;
    let keep =
        for_each_result(tiling, |index, name| format!("            lines[mine + {index}u] = {name};\n"));
    let add =
        for_each_result(tiling, |index, name| format!("                {name} += lines[at + {index}u];\n"));
    format!(
        "        let mine = (slice - 1u) * {slice}u + inside * {results}u;
        if (slice > 0u) {{
{keep}        }}
        workgroupBarrier();
        if (slice == 0u) {{
            for (var at = inside * {results}u; at < {all}u; at += {slice}u) {{
{add}            }}
{writes}        }}
        workgroupBarrier();
",
        all = slice * (tiling.slices - 1),
    )
}

/// `fn write(job, row, column, result)`: hands on four neighbouring results, as far as they are inside C.
fn write([m, n]: [usize; 2], params: &mut Params) -> String {
    let (pm, pn) = (params.size(m), params.size(n));
    let body = match n.is_multiple_of(4) {
        true => format!(
            "    if (row < {pm} && column < {pn}) {{ put((job * {pm} + row) * {pn} + column, result); }}\n"
        ),
        false => format!(
            "    if (row >= {pm}) {{ return; }}
    let at = (job * {pm} + row) * {pn} + column;
    for (var j = 0u; j < 4u; j++) {{
        if (column + j < {pn}) {{ put(at + j, result[j]); }}
    }}
"
        ),
    };
    format!("fn write(job: u32, row: u32, column: u32, result: vec4<f32>) {{\n{body}}}\n")
}
