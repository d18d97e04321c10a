//! Attention on the GPU. Each row (a query, or going back to keys and values a key) is the work of a few threads, which
//! share its width; the rows it meets go through workgroup memory in blocks. Widths are written into the shader, lengths
//! and strides are not.

use super::{Attention, Sizes};
use crate::backend::wgsl::{Params, groups_for};
use crate::dtype::Lane;
use crate::op::structured::{Bound, Param, Program, Structured};
use crate::plan::kernel::StructuredCall;
use std::fmt::Write;

/// Threads of a workgroup.
const THREADS: usize = 128;
/// Vectors of a row that one thread has: 8 of four numbers, for up to four rows of registers.
const CHUNKS: usize = 8;
/// Rows in workgroup memory at once.
const BLOCK: usize = 8;

/// What a shader computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The sums and logarithms of queries.
    Forward,
    /// The gradients of queries.
    Queries,
    /// The gradients of keys and values.
    Keys,
}

/// An operand with its strides over batch, head, row and width as WGSL.
struct Strided {
    name: &'static str,
    offset: String,
    strides: [String; 4],
    width: usize,
}

impl Strided {
    /// `order` says which axes of the operand are batch, head, row and width.
    fn new(
        name: &'static str,
        call: &StructuredCall,
        input: usize,
        order: [usize; 4],
        params: &mut Params,
    ) -> Strided {
        let operand = &call.inputs[input];
        let level = &operand.access.levels[0];
        let offset = params.push(Param::Linear(level.offset.clone()));
        let strides = order.map(|axis| params.stride(level.axes[axis].stride));
        Strided { name, offset, strides, width: operand.meta.shape[3] }
    }

    /// A function that reads four numbers of a row, zeros beyond its width.
    fn reader(&self) -> String {
        let Strided { name, offset, strides: [batch, head, row, column], width } = self;
        let mut body = String::new();
        for (k, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
            _ = writeln!(
                body,
                "    if (at + {k}u < {width}u) {{ four.{component} = {name}[base + (at + {k}u) * {column}]; }}"
            );
        }
        format!(
            "fn row_{name}(batch: u32, head: u32, row: u32, chunk: u32) -> vec4<f32> {{
    let base = {offset} + batch * {batch} + head * {head} + row * {row};
    let at = chunk * 4u;
    var four = vec4<f32>();
{body}    return four;
}}
"
        )
    }
}

/// Statements for each of a thread's vectors.
fn each(chunks: usize, statement: impl Fn(usize) -> String) -> String {
    (0..chunks).map(|n| format!("        {}\n", statement(n))).collect()
}

/// Σ of the products of a thread's vectors with those of row `j` of a tile.
fn product(row: &str, tile: &str, chunks: usize, parts: usize) -> String {
    let terms = (0..chunks).map(|n| format!("dot({row}{n}, {tile}[at + {}u])", n * parts));
    terms.collect::<Vec<_>>().join(" + ")
}

/// Writes a thread's vectors to a result (B, rows, H, width).
fn write(result: &str, vector: &str, chunks: usize, parts: usize, width: usize, factor: &str) -> String {
    let mut code = format!("        let {result}_base = (place * {width}u);\n");
    for n in 0..chunks {
        for (k, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
            _ = writeln!(
                code,
                "        if ((part + {}u) * 4u + {k}u < {width}u) {{ {result}[{result}_base + (part + {}u) * 4u + {k}u] = \
                 {vector}{n}.{component}{factor}; }}",
                n * parts,
                n * parts
            );
        }
    }
    code
}

pub(super) fn program(op: &Attention, kind: Kind, sizes: &Sizes, call: &StructuredCall) -> Program {
    let vectors = sizes.width.max(sizes.value_width).div_ceil(4);
    let parts = vectors.div_ceil(CHUNKS).next_power_of_two();
    let chunks = vectors.div_ceil(parts);
    let (row_vectors, rows) = (chunks * parts, THREADS / parts);
    let mut params = Params::distinct();
    let scale = format!("bitcast<f32>({})", params.push(Param::Data(call.datum, Lane::F32)));
    let (queries, keys, heads) =
        (params.size(sizes.queries), params.size(sizes.keys), params.size(sizes.heads));
    let own_count = if kind == Kind::Keys { sizes.keys } else { sizes.queries };
    let blocks = own_count.div_ceil(rows);
    let (own, other) = if kind == Kind::Keys { (&keys, &queries) } else { (&queries, &keys) };
    let block_count = params.size(blocks);
    let total = params.size(blocks * sizes.batches * sizes.heads);
    let operand = |name, input, params: &mut Params| Strided::new(name, call, input, [0, 1, 2, 3], params);
    let mut operands =
        vec![operand("q", 0, &mut params), operand("k", 1, &mut params), operand("v", 2, &mut params)];
    let mut bindings: Vec<Bound> = (0..call.inputs.len()).map(Bound::Input).collect();
    let mut names = vec!["q", "k", "v"];
    if kind != Kind::Forward {
        operands.push(Strided::new("g", call, 3, [0, 2, 1, 3], &mut params));
        names.extend(["g", "logarithms", "along"]);
    }
    let results: &[(&str, usize)] = match kind {
        Kind::Forward => &[("sums", 0), ("logarithms", 1)],
        Kind::Queries => &[("by_query", 0)],
        Kind::Keys => &[("by_key", 1), ("by_value", 2)],
    };
    let mut source = String::new();
    for (binding, name) in names.iter().enumerate() {
        _ = writeln!(source, "@group(0) @binding({binding}) var<storage, read> {name}: array<f32>;");
    }
    for &(name, output) in results {
        let binding = bindings.len();
        _ = writeln!(source, "@group(0) @binding({binding}) var<storage, read_write> {name}: array<f32>;");
        bindings.push(Bound::Output(output));
    }
    _ = writeln!(
        source,
        "@group(0) @binding({}) var<uniform> params: array<vec4<u32>, {}>;",
        bindings.len(),
        params.vectors()
    );
    operands.iter().for_each(|operand| source += &operand.reader());
    for tile in ["tile_a", "tile_b"] {
        _ = writeln!(source, "var<workgroup> {tile}: array<vec4<f32>, {}>;", BLOCK * row_vectors);
    }
    let exchanged: &[&str] = if kind == Kind::Forward { &["scores"] } else { &["scores", "changes"] };
    for name in exchanged {
        _ = writeln!(source, "var<workgroup> {name}: array<f32, {}>;", BLOCK * THREADS);
    }
    for name in exchanged {
        let terms: Vec<String> = (0..parts).map(|part| format!("{name}[at + {part}u]")).collect();
        _ = writeln!(
            source,
            "fn whole_{name}(j: u32, first: u32) -> f32 {{\n    let at = j * {THREADS}u + first;\n    return {};\n}}",
            terms.join(" + ")
        );
    }
    // Which rows a thread has in registers, and which go through the tiles.
    let (row_a, row_b, tile_a, tile_b) = match kind {
        Kind::Forward => ("q", None, "k", "v"),
        Kind::Queries => ("q", Some("g"), "k", "v"),
        Kind::Keys => ("k", Some("v"), "q", "g"),
    };
    let read =
        |row: &str, n: usize| format!("row_{row}(batch, head, min(row, {own} - 1u), part + {}u)", n * parts);
    let mut start = each(chunks, |n| format!("let a{n} = {} * scale;", read(row_a, n)));
    if let Some(row_b) = row_b {
        start += &each(chunks, |n| format!("let b{n} = {};", read(row_b, n)));
    }
    start += &each(chunks, |n| format!("var sum{n} = vec4<f32>();"));
    if kind == Kind::Keys {
        start += &each(chunks, |n| format!("var more{n} = vec4<f32>();"));
    }
    start += match kind {
        Kind::Forward => "        var largest = -3.4e38;\n        var total = 0.0;\n",
        Kind::Queries => "        let logarithm = logarithms[place];\n        let mean = along[place];\n",
        Kind::Keys => "",
    };
    // Which of the rows in the tiles this one meets.
    let (first, end, meets) = match (op.causal, kind) {
        (false, _) => ("0u".to_string(), other.clone(), format!("other < {other}")),
        (true, Kind::Keys) => {
            (format!("block * {rows}u"), other.clone(), format!("other < {other} && other >= row"))
        }
        (true, _) => (
            "0u".to_string(),
            format!("min({other}, (block + 1u) * {rows}u)"),
            format!("other < {other} && other <= row"),
        ),
    };
    let exchange = match kind {
        Kind::Forward => String::new(),
        _ => format!(
            "            changes[j * {THREADS}u + thread] = {};\n",
            product("b", "tile_b", chunks, parts)
        ),
    };
    let add = |sum: &str, factor: &str, tile: &str| {
        each(chunks, |n| format!("        {sum}{n} += {factor} * {tile}[at + {}u];", n * parts))
    };
    let work = match kind {
        Kind::Forward => format!(
            "        var best = largest;
        for (var j = 0u; j < {BLOCK}u; j++) {{
            let other = start + j;
            if ({meets}) {{ best = max(best, whole_scores(j, thread - part)); }}
        }}
        let shrink = exp(largest - best);
        largest = best;
        total *= shrink;
{shrunk}        for (var j = 0u; j < {BLOCK}u; j++) {{
            let other = start + j;
            if ({meets}) {{
                let at = j * {row_vectors}u + part;
                let weight = exp(whole_scores(j, thread - part) - largest);
                total += weight;
{add}            }}
        }}
",
            shrunk = each(chunks, |n| format!("sum{n} *= shrink;")),
            add = add("sum", "weight", "tile_b"),
        ),
        Kind::Queries => format!(
            "        for (var j = 0u; j < {BLOCK}u; j++) {{
            let other = start + j;
            if ({meets}) {{
                let at = j * {row_vectors}u + part;
                let weight = exp(whole_scores(j, thread - part) - logarithm);
                let by_score = weight * (whole_changes(j, thread - part) - mean);
{add}            }}
        }}
",
            add = add("sum", "by_score", "tile_a"),
        ),
        Kind::Keys => format!(
            "        for (var j = 0u; j < {BLOCK}u; j++) {{
            let other = start + j;
            if ({meets}) {{
                let at = j * {row_vectors}u + part;
                let query = (batch * {queries} + other) * {heads} + head;
                let weight = exp(whole_scores(j, thread - part) - logarithms[query]);
                let by_score = weight * (whole_changes(j, thread - part) - along[query]);
{add}{more}            }}
        }}
",
            add = add("sum", "by_score", "tile_a"),
            more = add("more", "weight", "tile_b"),
        ),
    };
    let finish = match kind {
        Kind::Forward => {
            write("sums", "sum", chunks, parts, sizes.value_width, " / total")
                + "        if (part == 0u) { logarithms[place] = largest + log(total); }\n"
        }
        Kind::Queries => write("by_query", "sum", chunks, parts, sizes.width, " * scale"),
        Kind::Keys => {
            write("by_key", "sum", chunks, parts, sizes.width, " * scale")
                + &write("by_value", "more", chunks, parts, sizes.value_width, "")
        }
    };
    let meet = if parts > 1 { "        workgroupBarrier();\n" } else { "" };
    _ = write!(
        source,
        "
@compute @workgroup_size({THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let number = group.x + group.y * groups.x;
    if (number >= {total}) {{ return; }}
    let block = number % {block_count};
    let batch = number / {block_count} / {heads};
    let head = number / {block_count} % {heads};
    let part = thread % {parts}u;
    let row = block * {rows}u + thread / {parts}u;
    let place = (batch * {own} + min(row, {own} - 1u)) * {heads} + head;
    let scale = {scale};
{start}    let end = {end};
    for (var start = {first}; start < end; start += {BLOCK}u) {{
        workgroupBarrier();
        for (var i = thread; i < {tile}u; i += {THREADS}u) {{
            let other = start + i / {row_vectors}u;
            var a = vec4<f32>();
            var b = vec4<f32>();
            if (other < {other}) {{
                a = row_{tile_a}(batch, head, other, i % {row_vectors}u);
                b = row_{tile_b}(batch, head, other, i % {row_vectors}u);
            }}
            tile_a[i] = a;
            tile_b[i] = b;
        }}
        workgroupBarrier();
        for (var j = 0u; j < {BLOCK}u; j++) {{
            let at = j * {row_vectors}u + part;
            scores[j * {THREADS}u + thread] = {scores};
{exchange}        }}
{meet}{work}    }}
    if (row < {own}) {{
{finish}    }}
}}
",
        tile = BLOCK * row_vectors,
        scores = product("a", "tile_a", chunks, parts),
    );
    Program {
        label: op.name(),
        source,
        entry: "main".into(),
        bindings,
        params: params.list,
        groups: groups_for(blocks * sizes.batches * sizes.heads, 1),
        scratch: Vec::new(),
        trusted: true,
        checks: None,
    }
}
