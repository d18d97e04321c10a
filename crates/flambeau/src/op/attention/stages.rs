//! How attention's rows go through workgroup memory, on the GPU: operands, and the two products of a block in stages.
//! While one stage is computed, the numbers of the next are on their way to registers.
//!
//! A block is 32 rows by 32 rows. Of its scores, a thread has 4 rows (`down`) by 4 columns (`across`); of the weighted
//! sums, 4 rows by every eighth vector of the width. Workgroup memory is 16 KiB at most. Rows of more than 128 numbers are
//! summed up in slabs, each by a workgroup of its own, which makes the scores again.

use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Param};
use crate::shader::{Params, Shader};
use std::fmt::Write;

/// Vectors of four rows in a block: both a workgroup's own rows and those they meet.
pub(super) const LINE: usize = 8;
/// Rows of a block.
pub(super) const ROWS: usize = 4 * LINE;
/// Threads of a workgroup: each has 4 × 4 of a block's scores.
pub(super) const THREADS: usize = LINE * LINE;
/// Vectors of the workgroup's tile.
pub(super) const TILE: usize = 512;
/// Vectors of a row's width that go through the tile at once.
const MAX_CHUNK: usize = TILE / ROWS / 2;
/// A tile, and weights and changes of a block: what every device has.
const _: () = assert!(16 * (TILE + 2 * ROWS * LINE) <= 16 << 10);
pub(super) const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// The widest slab: its sums, and those of the other operand, fill a thread's registers.
const MAX_SLAB: usize = 128;

/// The numbers of a row, and the slabs in which they are summed up.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub width: usize,
    pub slabs: usize,
}

impl Columns {
    /// Slabs that sums of this width are made in.
    pub fn slabs_of(width: usize) -> usize {
        width.div_ceil(MAX_SLAB)
    }

    /// Vectors of a thread's part of a slab.
    pub fn vectors_of_thread(self) -> usize {
        self.width.div_ceil(4 * LINE * self.slabs)
    }

    /// Vectors of a slab.
    fn slab(self) -> usize {
        self.vectors_of_thread() * LINE
    }

    /// What is added to the number of a vector of a slab to have its number in the row.
    pub fn slab_start(self) -> String {
        if self.slabs == 1 { String::new() } else { format!(" + slab * {}u", self.slab()) }
    }

    /// Do threads have nothing beyond the width?
    pub fn are_whole(self) -> bool {
        self.width == 4 * self.slab() * self.slabs
    }
}

/// An operand with its strides over batch, head, row and width as WGSL.
pub(super) struct Strided {
    pub name: &'static str,
    /// The variable that has the number of its head.
    head: &'static str,
    half: bool,
    offset: String,
    strides: [String; 4],
    pub columns: Columns,
    /// Do rows lie in memory as whole vectors?
    vectors: bool,
}

impl Strided {
    /// `head` is the variable that has the number of its head; `order` says which axes of the operand are batch, head, row and
    /// width.
    pub fn new(
        (name, head): (&'static str, &'static str),
        slabs: usize,
        call: &StructuredCall,
        input: usize,
        order: [usize; 4],
        params: &mut Params,
    ) -> Strided {
        let operand = &call.inputs[input];
        let half = operand.meta.dtype == DType::F16;
        let level = &operand.access.levels[0];
        let width = operand.meta.shape[3];
        let whole = |number: i64| number % 4 == 0;
        let vectors = width.is_multiple_of(4)
            && level.axes[order[3]].stride == 1
            && order[..3].iter().all(|&axis| level.axes[axis].size == 1 || whole(level.axes[axis].stride))
            && whole(level.offset.constant)
            && level.offset.terms.iter().all(|&(_, coefficient)| whole(coefficient));
        let offset = params.push(Param::Offset(level.offset.clone()));
        let strides = order.map(|axis| params.stride(level.axes[axis].stride));
        Strided { name, head, half, offset, strides, columns: Columns { width, slabs }, vectors }
    }

    pub fn bind(&self, input: usize, shader: &mut Shader) {
        let dtype = if self.half { DType::F16 } else { DType::F32 };
        shader.bind_elements(Bound::Input(input), self.name, dtype, self.vectors);
    }

    /// WGSL that reads four numbers of a row as f16.
    pub fn halves(&self, row: &str, chunk: &str) -> String {
        format!("vec4<f16>(row_{}(batch, {}, {row}, {chunk}))", self.name, self.head)
    }

    /// A function that reads four numbers of a row: zeros beyond its width, the last row beyond the last.
    pub fn reader(&self, rows: &str) -> String {
        let Strided { name, half, offset, strides: [batch, head, row, column], columns, vectors, .. } = self;
        let width = columns.width;
        let widened = |stored: String, to: &str| if *half { format!("{to}({stored})") } else { stored };
        let vector = widened(format!("{name}[(base + at) / 4u]"), "vec4<f32>");
        let number = |k: usize| widened(format!("{name}[base + (at + {k}u) * {column}]"), "f32");
        let body = match (vectors, columns.are_whole()) {
            (true, true) => format!("    return {vector};\n"),
            (true, false) => format!(
                "    var four = vec4<f32>();
    if (at < {width}u) {{ four = {vector}; }}
    return four;
"
            ),
            (false, true) => format!("    return vec4<f32>({});\n", [0, 1, 2, 3].map(number).join(", ")),
            (false, false) => {
                let guarded = |k| format!("    if (at + {k}u < {width}u) {{ four[{k}] = {}; }}\n", number(k));
                let numbers: String = (0..4).map(guarded).collect();
                format!("    var four = vec4<f32>();\n{numbers}    return four;\n")
            }
        };
        format!(
            "fn row_{name}(batch: u32, head: u32, row: u32, chunk: u32) -> vec4<f32> {{
    let base = {offset} + batch * {batch} + head * {head} + min(row, {rows} - 1u) * {row};
    let at = chunk * 4u;
{body}}}
"
        )
    }
}

/// What goes through the tile, in equal parts: how a part's numbers come to the registers `next0`, … and from there to
/// the tile, and what is then done with them. `START` stands for the first row of the other block, `PART` for the part.
pub(super) struct Stage {
    parts: usize,
    load: String,
    store: String,
    compute: String,
    /// What is done after the last part.
    pub after: String,
}

impl Stage {
    pub fn load(&self, start: &str, part: &str) -> String {
        self.load.replace("START", start).replace("PART", part)
    }

    /// Runs the stage, whose first part is in the registers already, and brings the first part of the next one there.
    pub fn run(&self, next: &Stage, next_start: &str) -> String {
        let Stage { parts, store, compute, after, .. } = self;
        format!(
            "        for (var part = 0u; part < {parts}u; part++) {{
            workgroupBarrier();
{store}            workgroupBarrier();
            if (part + 1u < {parts}u) {{
{}            }} else {{
{}            }}
{}        }}
{after}",
            self.load("start", "(part + 1u)"),
            next.load(next_start, "0u"),
            compute.replace("PART", "part"),
        )
    }
}

/// Statements for each of a thread's rows.
pub(super) fn each_row(statement: impl Fn(usize) -> String) -> String {
    (0..4).map(|i| format!("        {}\n", statement(i))).collect()
}

/// Adds to `{sum}0` … `{sum}3` the products of a thread's 4 rows of `own` with the 4 rows of `other` that are its
/// columns. In the tile both lie with the width along lines and the rows across, shuffled so that threads that store at
/// once meet different banks.
pub(super) fn products(sum: &str, own: &Strided, other: &Strided) -> Stage {
    let vectors = own.columns.width.div_ceil(4);
    let chunk = vectors.next_power_of_two().clamp(2, MAX_CHUNK);
    let right = chunk * 4 * LINE;
    let (pieces, apart) = (ROWS * chunk / THREADS, THREADS / chunk);
    let (mut load, mut store, mut steps) = (String::new(), String::new(), String::new());
    for p in 0..2 * pieces {
        let (operand, first, origin) =
            if p < pieces { (own, "first_row", 0) } else { (other, "START", right) };
        let r = format!("(thread / {chunk}u + {}u)", p % pieces * apart);
        _ = writeln!(
            load,
            "            next{p} = row_{}(batch, {}, {first} + {r}, thread % {chunk}u + PART * {chunk}u);",
            operand.name, operand.head
        );
        for k in 0..4 {
            _ = writeln!(
                store,
                "            tile[{origin}u + (thread % {chunk}u * 4u + {k}u) * {LINE}u + (({r} / 4u) ^ (thread % {chunk}u))]\
                 [{r} % 4u] = next{p}[{k}];"
            );
        }
    }
    for k in 0..4 {
        let line = format!("(c * 4u + {k}u) * {LINE}u");
        _ = writeln!(
            steps,
            "                let a{k} = tile[{line} + (down ^ c)];
                let b{k} = tile[{right}u + {line} + (across ^ c)];"
        );
        for (i, component) in COMPONENTS.into_iter().enumerate() {
            _ = writeln!(
                steps,
                "                {sum}{i} = fma(vec4<f32>(a{k}.{component}), b{k}, {sum}{i});"
            );
        }
    }
    let compute = format!("            for (var c = 0u; c < {chunk}u; c++) {{\n{steps}            }}\n");
    Stage { parts: vectors.div_ceil(chunk), load, store, compute, after: String::new() }
}

/// Hands a thread's 4 × 4 numbers to the workgroup: per row of the other block, those of this block as vectors.
pub(super) fn hand_over(numbers: &str, weights: &str) -> String {
    let store = |(j, component): (usize, &str)| {
        let column: Vec<String> = (0..4).map(|i| format!("{numbers}{i}.{component}")).collect();
        format!(
            "        {weights}[(across * 4u + {j}u) * {LINE}u + (down ^ across)] = vec4<f32>({});\n",
            column.join(", ")
        )
    };
    COMPONENTS.into_iter().enumerate().map(store).collect()
}

/// Adds to `{sum}{row}_{vector}` the rows of `other`, weighted.
pub(super) fn weighted_sums(sum: &str, weights: &str, other: &Strided) -> Stage {
    let count = other.columns.vectors_of_thread();
    let pitch = other.columns.slab();
    let rows = if pitch * ROWS <= TILE { ROWS } else { ROWS / 2 };
    let (mut load, mut store, mut steps) = (String::new(), String::new(), String::new());
    for p in 0..rows * pitch / THREADS {
        let piece = format!("(thread + {}u)", p * THREADS);
        _ = writeln!(
            load,
            "            next{p} = row_{}(batch, {}, START + PART * {rows}u + {piece} / {pitch}u, {piece} % {pitch}u{});",
            other.name,
            other.head,
            other.columns.slab_start(),
        );
        _ = writeln!(store, "            tile[{piece}] = next{p};");
    }
    for k in 0..4 {
        _ = writeln!(steps, "                let weight{k} = {weights}[line + {}u];", k * LINE);
        for n in 0..count {
            _ = writeln!(
                steps,
                "                let row{k}_{n} = tile[(four * 4u + {k}u) * {pitch}u + across + {}u];",
                n * LINE
            );
            for (i, component) in COMPONENTS.into_iter().enumerate() {
                _ = writeln!(
                    steps,
                    "                {sum}{i}_{n} = fma(vec4<f32>(weight{k}.{component}), row{k}_{n}, {sum}{i}_{n});"
                );
            }
        }
    }
    let fours = rows / 4;
    let compute = format!(
        "            for (var four = 0u; four < {fours}u; four++) {{
                let line = (PART * {fours}u + four) * {} + (down ^ (PART * {fours}u + four));
{steps}            }}
",
        format_args!("{}u", 4 * LINE)
    );
    Stage { parts: ROWS / rows, load, store, compute, after: String::new() }
}
