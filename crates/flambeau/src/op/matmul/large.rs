//! The product of large matrices on the GPU. Worth specialising: on an H200 the same kernel with sizes as uniforms is a
//! quarter slower.
//!
//! A workgroup makes one tile of C. Each round it brings `DEPTH` columns of A and rows of B into workgroup memory, while
//! the numbers of the next round are already on their way to registers. A lies there as numbers, with the rows of every
//! four lines shuffled in their own way, so that threads that store one row hit different banks; B lies as vectors along
//! the columns of C. Both together take 16 KiB at most, which every device has.
//! Each thread keeps its 4 × 4 to 8 × 8 results in registers. In the specialised shader all steps of a round are unrolled, and
//! the tile is the one that suits the sizes; in the general one steps are a loop, which is compiled in a fraction of the time,
//! and the tile is always the same, so that few shaders serve all sizes. The order of sums is that of K in both.
//!
//! Rows and columns beyond the edge of C repeat the last one: their results are never written. Only the last round
//! looks at where K ends.

use super::Sizes;
use super::tiled::{Read, Side};
use super::tiling::{DEPTH, Tile, part_length};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Param, Program, Tier};
use crate::op::parts::scratch;
use crate::shader::{Entry, Params, Shader};
use std::fmt::Write;

const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// Where vector v of a line of B lies in workgroup memory: at v ^ a number that depends on the line.
#[derive(Clone, Copy)]
pub(in crate::op) enum Shuffle {
    None,
    /// 0, 2, 4, 6 for every four lines.
    Fours,
    /// 0 to 7.
    Each,
}

impl Shuffle {
    fn of_line(self, line: usize) -> usize {
        match self {
            Shuffle::None => 0,
            Shuffle::Fours => line / 4 * 2,
            Shuffle::Each => line % 8,
        }
    }

    /// The same as WGSL, for a step that is an expression.
    pub fn of_step(self, step: &str) -> String {
        match self {
            Shuffle::None => "0u".into(),
            Shuffle::Fours => format!("({step} / 4u * 2u)"),
            Shuffle::Each => format!("({step} % 8u)"),
        }
    }
}

/// How the threads of a workgroup bring one side's tile to workgroup memory: each takes `count` pieces, which are
/// vectors where the memory allows it.
struct Loader<'a> {
    side: &'a Side<'a>,
    /// Elements of a piece: 4 or 1.
    width: usize,
    count: usize,
    threads: usize,
    /// WGSL of K, of the last row or column that a piece may start at, and of the strides across and along K.
    k: String,
    last: String,
    /// Does the matrix end where a tile does?
    fills: bool,
    step_x: String,
    step_k: String,
}

impl<'a> Loader<'a> {
    fn new(
        side: &'a Side<'a>,
        threads: usize,
        k: &str,
        params: &mut Params,
        call: &StructuredCall,
    ) -> Loader<'a> {
        let width = if side.read.is_vector() { 4 } else { 1 };
        let last = side.across.size - if side.read == Read::Across { 4 } else { 1 };
        Loader {
            side,
            width,
            count: side.tile * DEPTH / width / threads,
            threads,
            k: k.into(),
            last: params.size(last),
            fills: fills(call, side.across.size, side.tile),
            step_x: params.stride(side.across.stride),
            step_k: params.stride(side.along_k.stride),
        }
    }

    /// Where each piece lies: `ax0` and `ak0` in the tile, `ao0` in memory at step 0.
    fn places(&self) -> String {
        let Side { name, tile, read, .. } = self.side;
        let Loader { last, step_x, step_k, .. } = self;
        let origin = if *name == "a" { "row0" } else { "column0" };
        let mut text = String::new();
        for i in 0..self.count {
            let piece = format!("(thread + {}u)", i * self.threads);
            let (x, k) = match (read.blocks_along_k(), self.width) {
                (true, width) => {
                    let line = DEPTH / width;
                    (format!("{piece} / {line}u"), format!("{piece} % {line}u * {width}u"))
                }
                (false, width) => {
                    let line = tile / width;
                    (format!("{piece} % {line}u * {width}u"), format!("{piece} / {line}u"))
                }
            };
            let inside = match self.fills {
                true => format!("({origin} + {name}x{i})"),
                false => format!("min({origin} + {name}x{i}, {last})"),
            };
            let element = if self.width == 4 { "vec4<f32>" } else { "f32" };
            _ = write!(
                text,
                "    let {name}x{i} = {x};
    let {name}k{i} = {k};
    let {name}o{i} = base_{name} + {inside} * {step_x} + {name}k{i} * {step_k};
    var {name}next{i}: {element};
"
            );
        }
        text
    }

    /// Reads the pieces of the round that starts at step `k0`; zeros beyond K if it may end within the round.
    fn load(&self, k0: &str, guarded: bool) -> String {
        let name = self.side.name;
        let Loader { k, step_k, .. } = self;
        let element = if self.width == 4 { "vec4<f32>" } else { "f32" };
        let piece = |i: usize| {
            let at = format!("({name}o{i} + ({k0}) * {step_k})");
            let at = if self.width == 4 { format!("{at} / 4u") } else { at };
            let read = format!("{name}next{i} = {element}({name}[{at}]);");
            match guarded {
                true => format!(
                    "            {name}next{i} = {element}(0.0);\n            if ({k0} + {name}k{i} < {k}) {{ {read} }}\n",
                ),
                false => format!("            {read}\n"),
            }
        };
        (0..self.count).map(piece).collect()
    }

    /// How vectors of B are shuffled, so that threads that store numbers of one column meet different banks.
    fn shuffle(&self) -> Shuffle {
        match self.side.read {
            Read::AlongK => Shuffle::Fours,
            Read::SinglesAlongK => Shuffle::Each,
            Read::Across | Read::SinglesAcross => Shuffle::None,
        }
    }

    /// Stores the pieces in workgroup memory.
    fn store(&self) -> String {
        let Side { name, tile, read, .. } = self.side;
        let mut text = String::new();
        for i in 0..self.count {
            for (j, component) in COMPONENTS.into_iter().enumerate().take(self.width) {
                let (x, k) = match *read == Read::Across {
                    true => (format!("{name}x{i} + {j}u"), format!("{name}k{i}")),
                    false => (format!("{name}x{i}"), format!("({name}k{i} + {j}u)")),
                };
                let value = match self.width {
                    4 => format!("{name}next{i}.{component}"),
                    _ => format!("{name}next{i}"),
                };
                let place = match *name {
                    "a" => format!("lines_a[{k} * {tile}u + (({x}) ^ ({k} / 4u * 8u))]"),
                    _ => format!(
                        "lines_b[{k} * {}u + ((({x}) / 4u) ^ {})][({x}) % 4u]",
                        tile / 4,
                        self.shuffle().of_step(&k)
                    ),
                };
                _ = match (*name, *read) {
                    ("b", Read::Across) if j == 0 => writeln!(
                        text,
                        "        lines_b[{k} * {}u + {name}x{i} / 4u] = {name}next{i};",
                        tile / 4
                    ),
                    ("b", Read::Across) => Ok(()),
                    _ => writeln!(text, "        {place} = {value};"),
                };
            }
        }
        text
    }
}

/// The kernel for these sizes; with more than one part, K is shared out and the results go to a scratch buffer.
#[inline(never)] // A page fetches it when a plan is hot.
pub(super) fn program(call: &StructuredCall, sizes: &Sizes, tile: &Tile, parts: usize) -> Program {
    let Sizes { batches, m, n, k } = *sizes;
    let [rows, columns] = tile.size();
    let threads = tile.threads[0] * tile.threads[1];
    let a = Side::new("a", &call.inputs[0], true, rows);
    let b = Side::new("b", &call.inputs[1], false, columns);
    let mut shader = Shader::of(call, "matmul");
    let params = &mut shader.params;
    let [pm, pn, pk, pbatches, length] =
        [m, n, k, batches, part_length(k, parts)].map(|size| params.size(size));
    let load_a = Loader::new(&a, threads, &pk, params, call);
    let load_b = Loader::new(&b, threads, &pk, params, call);
    let bases = base(&a, params) + &base(&b, params);
    let fours = n.is_multiple_of(4);
    a.bind(0, &mut shader);
    b.bind(1, &mut shader);
    match parts {
        1 => shader.hand_on(call, fours),
        _ => shader.hand_on_parts(call, fours),
    }
    shader.share("lines_a", "f32", rows * DEPTH);
    shader.share("lines_b", "vec4<f32>", columns * DEPTH / 4);
    shader.scratch = scratch(call, parts);
    shader.specialise = true;
    let both = |k0: &str, guarded: bool| load_a.load(k0, guarded) + &load_b.load(k0, guarded);
    let load = |k0: &str| match (call.tier.is_specialised(), k.is_multiple_of(DEPTH)) {
        (false, _) => both(k0, true),
        (true, true) => both(k0, false),
        (true, false) => format!(
            "        if ({k0} + {DEPTH}u <= {pk}) {{\n{}        }} else {{\n{}        }}\n",
            both(k0, false),
            both(k0, true)
        ),
    };
    let body = format!(
        "{position}    let row0 = group.y * {rows}u;
    let column0 = group.x * {columns}u;
    let job = group.z;
    let batch = job % {pbatches};
    let first = job / {pbatches} * {length};
    let end = min(first + {length}, {pk});
{bases}{places_a}{places_b}{zero}{load_first}    for (var k0 = first; k0 < end; k0 += {DEPTH}u) {{
{store_a}{store_b}        workgroupBarrier();
        if (k0 + {DEPTH}u < end) {{
{load_next}        }}
{steps}        workgroupBarrier();
    }}
{write}",
        position = position(tile),
        places_a = load_a.places(),
        places_b = load_b.places(),
        zero = results(tile).map(|(r, v)| format!("    var c{r}_{v} = vec4<f32>();\n")).collect::<String>(),
        load_first = load("first"),
        store_a = load_a.store(),
        store_b = load_b.store(),
        load_next = load(&format!("(k0 + {DEPTH}u)")),
        steps = steps(tile, load_b.shuffle(), call.tier),
        write = match call.tier.is_specialised() {
            false => write_in_loops(tile, fours, [&pm, &pn]),
            true => results(tile).map(|(r, v)| write(call, tile, sizes, [&pm, &pn], r, v)).collect(),
        },
    );
    let groups = [n.div_ceil(columns) as u32, m.div_ceil(rows) as u32, (batches * parts) as u32];
    shader.finish(&Entry::grid(groups, threads), &body)
}

/// `base_a`: where the batch's matrix starts.
pub(super) fn base(side: &Side, params: &mut Params) -> String {
    let level = &side.operand.access.levels[0];
    let mut text = params.push(Param::Offset(level.offset.clone()));
    let mut inner = 1;
    for axis in level.axes[..level.axes.len() - 2].iter().rev().filter(|axis| axis.size > 1) {
        let [inner_size, size] = [inner, axis.size].map(|size| params.size(size));
        _ = write!(text, " + batch / {inner_size} % {size} * {}", params.stride(axis.stride));
        inner *= axis.size;
    }
    format!("    let base_{} = {text};\n", side.name)
}

/// Where a thread's results lie in the tile: 32 threads that follow each other form 4 rows of 8, so that they read
/// few different numbers of A and of B.
pub(in crate::op) fn position(tile: &Tile) -> String {
    let across = tile.threads[1] / 8;
    let shuffled: String =
        (0..DEPTH / 4).map(|q| format!("    let row_place{q} = (row_thread * 4u) ^ {}u;\n", q * 8)).collect();
    format!(
        "    let square = thread / 32u;
    let row_thread = square / {across}u * 4u + thread % 32u / 8u;
    let column_thread = square % {across}u * 8u + thread % 8u;
{shuffled}"
    )
}

/// Row and vector of each result of a thread.
pub(in crate::op) fn results(tile: &Tile) -> impl Iterator<Item = (usize, usize)> + use<> {
    let [rows, columns] = tile.per_thread;
    (0..rows).flat_map(move |r| (0..columns / 4).map(move |v| (r, v)))
}

/// The row of the tile, relative to the thread's first, where a thread's row `r` lies.
pub(in crate::op) fn row_offset(tile: &Tile, r: usize) -> usize {
    r / 4 * tile.threads[0] * 4 + r % 4
}

/// Adds the products of all steps of a round.
pub(in crate::op) fn steps(tile: &Tile, shuffle: Shuffle, tier: Tier) -> String {
    match tier.is_specialised() {
        false => rolled_steps(tile, shuffle),
        true => (0..DEPTH).map(|line| step_of_line(tile, shuffle, line)).collect(),
    }
}

#[inline(never)] // A page fetches it when a plan is hot.
fn step_of_line(tile: &Tile, shuffle: Shuffle, line: usize) -> String {
    let [rows, columns] = tile.size();
    let row = |r: usize| format!("lines_a[row_place{} + {}u]", line / 4, line * rows + row_offset(tile, r));
    let shuffled = match shuffle.of_line(line) {
        0 => "column_thread".into(),
        shuffle => format!("(column_thread ^ {shuffle}u)"),
    };
    let column = |v: usize| format!("lines_b[{shuffled} + {}u]", line * columns / 4 + v * tile.threads[1]);
    step(tile, row, column)
}

/// It ends where the round does, which no compiler knows: none unrolls it. Steps beyond K would add zeros.
fn rolled_steps(tile: &Tile, shuffle: Shuffle) -> String {
    let [rows, columns] = tile.size();
    let row = |r: usize| format!("lines_a[line_a + {}u]", row_offset(tile, r));
    let column = |v: usize| format!("lines_b[line_b + {}u]", v * tile.threads[1]);
    format!(
        "        for (var line = 0u; line < min(end - k0, {DEPTH}u); line++) {{
            let line_a = line * {rows}u + ((row_thread * 4u) ^ (line / 4u * 8u));
            let line_b = line * {vectors}u + (column_thread ^ {shuffle});
{step}        }}
",
        vectors = columns / 4,
        shuffle = shuffle.of_step("line"),
        step = step(tile, row, column),
    )
}

/// Adds the products of one step of K, whose numbers of A and vectors of B lie at these places.
fn step(tile: &Tile, row: impl Fn(usize) -> String, column: impl Fn(usize) -> String) -> String {
    let mut text = String::from("        {\n");
    for r in 0..tile.per_thread[0] {
        _ = writeln!(text, "            let a{r} = {};", row(r));
    }
    for v in 0..tile.per_thread[1] / 4 {
        _ = writeln!(text, "            let b{v} = {};", column(v));
    }
    for (r, v) in results(tile) {
        _ = writeln!(text, "            c{r}_{v} = fma(vec4<f32>(a{r}), b{v}, c{r}_{v});");
    }
    text + "        }\n"
}

/// A thread's results as an array, which loops can index: result (r, v) is number v · rows + r.
pub(in crate::op) fn gathered(tile: &Tile) -> String {
    let down = tile.per_thread[0];
    let mut text = format!("    var results: array<vec4<f32>, {}>;\n", down * tile.per_thread[1] / 4);
    for (r, v) in results(tile) {
        _ = writeln!(text, "    results[{}u] = c{r}_{v};", v * down + r);
    }
    text
}

/// Hands on a thread's results, as far as they are results, in loops: whoever takes them is in the shader once, and the driver
/// compiles it once. No compiler knows where the loops end, so that none unrolls them.
fn write_in_loops(tile: &Tile, fours: bool, [m, n]: [&str; 2]) -> String {
    let ([down, across], [row_threads, column_threads]) = (tile.per_thread, tile.threads);
    let put = match fours {
        true => format!("if (column < {n}) {{ put(at, results[v * {down}u + r]); }}"),
        false => format!(
            "for (var j = 0u; j < min(4u, {n} - min(column, {n})); j++) {{ put(at + j, results[v * {down}u + r][j]); }}"
        ),
    };
    format!(
        "{gathered}    for (var v = 0u; v < min({vectors}u, {n}); v++) {{
        let column = column0 + column_thread * 4u + v * {}u;
        for (var r = 0u; r < min({down}u, {m}); r++) {{
            let row = row0 + row_thread * 4u + r / 4u * {}u + r % 4u;
            let at = (job * {m} + row) * {n} + column;
            if (row < {m}) {{ {put} }}
        }}
    }}
",
        column_threads * 4,
        row_threads * 4,
        gathered = gathered(tile),
        vectors = across / 4,
    )
}

/// Writes four neighbouring results, as far as they are inside C.
#[inline(never)] // A page fetches it when a plan is hot.
fn write(
    call: &StructuredCall,
    tile: &Tile,
    sizes: &Sizes,
    [pm, pn]: [&str; 2],
    r: usize,
    v: usize,
) -> String {
    let Sizes { m, n, .. } = *sizes;
    let [rows, columns] = tile.size();
    let row = format!("(row0 + row_thread * 4u + {}u)", row_offset(tile, r));
    let column = format!("(column0 + column_thread * 4u + {}u)", v * tile.threads[1] * 4);
    let at = format!("(job * {pm} + {row}) * {pn} + {column}");
    let vectors = n.is_multiple_of(4);
    let mut conditions = Vec::new();
    if !fills(call, m, rows) {
        conditions.push(format!("{row} < {pm}"));
    }
    if vectors && !fills(call, n, columns) {
        conditions.push(format!("{column} < {pn}"));
    }
    let single = |(j, component): (usize, &str)| {
        format!("if ({column} + {j}u < {pn}) {{ put({at} + {j}u, c{r}_{v}.{component}); }}")
    };
    let body = match vectors {
        true => format!("put({at}, c{r}_{v});"),
        false => COMPONENTS.into_iter().enumerate().map(single).collect::<Vec<_>>().join(" "),
    };
    match conditions.is_empty() {
        true => format!("    {body}\n"),
        false => format!("    if ({}) {{ {body} }}\n", conditions.join(" && ")),
    }
}

/// Does the shader know that tiles of a size end where the matrix does?
pub(in crate::op) fn fills(call: &StructuredCall, size: usize, tile: usize) -> bool {
    call.tier.is_specialised() && size.is_multiple_of(tile)
}
