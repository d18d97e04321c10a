//! Attention on the GPU. A workgroup has a block of rows (queries, or going back to keys and values keys) and walks over
//! the blocks of rows that they meet. For each it makes the block's scores as a matrix product, turns them into weights,
//! and adds the weighted rows as another product (`stages`). Widths are written into the shader, lengths and strides are
//! not. Where heads of queries share keys, a workgroup of keys walks over the queries of all of them.

use super::stages::{
    COMPONENTS, Columns, LINE, ROWS, Stage, Strided, THREADS, TILE, each_row, hand_over, products,
    weighted_sums,
};
use super::units;
use super::weighing::Weighing;
use super::{Attention, Sizes};
use crate::dtype::{DType, Lane};
use crate::ir::call::{Kernels, StructuredCall};
use crate::ir::program::{Bound, Param, Program, Tier};
use crate::shader::{Entry, Params, Shader, ZERO};
use std::fmt::Write;

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

/// Declares the sums of a thread.
fn zeros(sum: &str, columns: Columns) -> String {
    let vectors = columns.vectors_of_thread();
    let zero = |i: usize| (0..vectors).map(move |n| format!("    var {sum}{i}_{n} = vec4<f32>();\n"));
    (0..4).flat_map(zero).collect()
}

/// A result (B, rows, heads, pitch), of which `columns` begin at `first`.
pub(super) struct Output {
    name: &'static str,
    /// Where a thread's row lies among (B, rows, heads).
    place: fn(usize) -> String,
    dtype: DType,
    pitch: usize,
    first: usize,
    columns: Columns,
}

impl Output {
    /// Are its rows, and what comes before these columns, whole vectors?
    fn in_vectors(&self) -> bool {
        [self.pitch, self.first, self.columns.width].iter().all(|size| size.is_multiple_of(4))
    }

    /// Writes a thread's sums, each row times `factor` of its number.
    pub fn write(&self, sum: &str, factor: impl Fn(usize) -> String) -> String {
        let Output { name, place, dtype, pitch, first, columns } = self;
        let width = columns.width;
        let stored = |value: String, to: &str| match dtype {
            DType::F16 => format!("{to}({value})"),
            _ => value,
        };
        let mut code = String::new();
        for i in 0..4 {
            let before = if *first == 0 { String::new() } else { format!(" + {first}u") };
            _ = writeln!(
                code,
                "    if (row + {i}u < own) {{\n        let base = {} * {pitch}u{before};",
                place(i)
            );
            for n in 0..columns.vectors_of_thread() {
                let vector = format!("(across + {}u{})", n * LINE, columns.slab_start());
                let mut put = |at: String, text: String| {
                    _ = match columns.are_whole() {
                        true => writeln!(code, "        {text}"),
                        false => writeln!(code, "        if ({at} < {width}u) {{ {text} }}"),
                    };
                };
                if self.in_vectors() {
                    let value = stored(format!("{sum}{i}_{n}{}", factor(i)), "vec4<f16>");
                    put(format!("{vector} * 4u"), format!("{name}[base / 4u + {vector}] = {value};"));
                    continue;
                }
                for (k, component) in COMPONENTS.into_iter().enumerate() {
                    let at = format!("{vector} * 4u + {k}u");
                    let value = stored(format!("{sum}{i}_{n}.{component}{}", factor(i)), "f16");
                    put(at.clone(), format!("{name}[base + {at}] = {value};"));
                }
            }
            code += "    }\n";
        }
        code
    }
}

impl Output {
    /// Forward: writes sums over their totals, and each query's `bound` with the logarithm of its total.
    pub fn sums_and_logarithms(&self, weighing: &Weighing, columns: Columns, bound: &str) -> String {
        let logarithm = |i: usize| {
            format!(
                "if (row + {i}u < own) {{ logarithms[{}] = vec2<f32>({bound}{i}, {}); }}",
                place(i),
                weighing.total(i).1
            )
        };
        let once = if columns.slabs == 1 { "" } else { " && slab == 0u" };
        self.write("sum", |i| format!(" / {}{}", weighing.total(i).0, weighing.of_kept()))
            + &format!("    if (across == 0u{once}) {{\n{}    }}\n", each_row(logarithm))
    }
}

/// Where a thread's row `i` lies among (B, rows, H).
fn place(i: usize) -> String {
    format!("((batch * own + row + {i}u) * heads + head)")
}

/// Where a thread's row `i` lies among (B, rows, G), where heads of queries share keys.
fn place_of_key(i: usize) -> String {
    format!("((batch * own + row + {i}u) * key_heads + key_head)")
}

/// The largest of `{number}0` … `{number}3` over the threads that share rows, or their sum.
pub(super) fn over_threads(combine: impl Fn(&str, &str) -> String, number: &str, result: &str) -> String {
    let all = (1..LINE).fold(format!("tile[down * {LINE}u]"), |all, k| {
        combine(&all, &format!("tile[down * {LINE}u + {k}u]"))
    });
    format!(
        "        workgroupBarrier();
        tile[down * {LINE}u + across] = vec4<f32>({number}0, {number}1, {number}2, {number}3);
        workgroupBarrier();
        let {result} = {all};
"
    )
}

/// What was kept of the queries that a block of keys meets.
pub(super) const OF_QUERIES: &str = "        let at = (batch * queries + min(others, vec4<u32>(queries - 1u))) * heads + head;
        let largest = vec4<f32>(logarithms[at.x].x, logarithms[at.y].x, logarithms[at.z].x, logarithms[at.w].x);
        let logarithm = vec4<f32>(logarithms[at.x].y, logarithms[at.y].y, logarithms[at.z].y, logarithms[at.w].y);
        let mean = vec4<f32>(along[at.x], along[at.y], along[at.z], along[at.w]);
";

/// What was kept of a thread's own queries: `logarithm{i}` and `mean{i}`.
pub(super) fn of_own_queries() -> String {
    let own = |name: &str, from: &str| {
        each_row(|i| format!("let {name}{i} = {from}[min({}, own * all_heads - 1u)];", place(i)))
    };
    own("logarithm", "logarithms") + &own("mean", "along")
}

/// What a workgroup does, as WGSL.
pub(super) struct Body {
    /// Declares what it keeps from block to block.
    pub before: String,
    /// Walks over the rows that it meets.
    pub walk: String,
    /// Writes its results.
    pub after: String,
}

/// The same where products are made by threads.
struct InStages {
    /// Declares what it keeps from block to block.
    before: String,
    /// Declares the scores of a block.
    scores: String,
    stages: Vec<Stage>,
    /// Writes its results.
    after: String,
}

/// What a shader reads: queries, keys, values and, going back, the gradient of the sums.
pub(super) struct Operands<'a> {
    pub q: &'a Strided,
    pub k: &'a Strided,
    pub v: &'a Strided,
    pub g: Option<&'a Strided>,
}

impl InStages {
    fn new(operands: &Operands, weighing: &Weighing, results: &[&Output]) -> InStages {
        let Operands { q, k, v, g } = *operands;
        match (g, results) {
            (Some(g), [by_key, by_value]) => InStages::of_keys([q, k, v, g], weighing, by_key, by_value),
            (Some(g), _) => InStages::of_queries([q, k, v, g], weighing, results[0]),
            (None, _) => InStages::forward(q, k, v, weighing, results[0]),
        }
    }

    /// As one text, with the memory that it shares; the walk begins at row `first` and ends at `end`.
    fn body(self, kind: Kind, first: &str, shader: &mut Shader) -> Body {
        shader.share("tile", "vec4<f32>", TILE);
        let handed_over: &[&str] = if kind == Kind::Keys { &["weights", "changes"] } else { &["weights"] };
        for name in handed_over {
            shader.share(name, "vec4<f32>", ROWS * LINE);
        }
        let in_registers: String =
            (0..TILE / THREADS).map(|p| format!("    var next{p} = vec4<f32>();\n")).collect();
        let load_first = self.stages[0].load("start", "0u");
        let mut work = self.scores;
        for (number, stage) in self.stages.iter().enumerate() {
            work += &match self.stages.get(number + 1) {
                Some(next) => stage.run(next, "start"),
                None => stage.run(&self.stages[0], &format!("(start + {ROWS}u)")),
            };
        }
        let walk = format!(
            "    var start = {first};
{load_first}    for (; start < end; start += {ROWS}u) {{
        let others = vec4<u32>(start + across * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
{work}    }}
"
        );
        Body { before: self.before + &in_registers, walk, after: self.after }
    }

    /// Scores that become weights, by a rule, and the sums weighted with them.
    fn with(
        before: String,
        scores: &[&str],
        mut products: Vec<Stage>,
        rule: String,
        sums: Vec<Stage>,
        after: String,
    ) -> InStages {
        if let Some(last) = products.last_mut() {
            last.after = rule;
        }
        products.extend(sums);
        let zero = |name: &&str| each_row(|i| format!("var {name}{i} = vec4<f32>();"));
        InStages { before, scores: scores.iter().map(zero).collect(), stages: products, after }
    }

    /// The weights are exponentials below the largest score so far; what was summed up before is shrunk to it.
    fn forward(q: &Strided, k: &Strided, v: &Strided, weighing: &Weighing, sums: &Output) -> InStages {
        let masked = |i: usize| {
            format!(
                "{}
        let here{i} = max(max(score{i}.x, score{i}.y), max(score{i}.z, score{i}.w));",
                weighing.masked(i)
            )
        };
        let weighed = |i: usize| {
            let shrunk: String = (0..v.columns.vectors_of_thread())
                .map(|n| format!("\n        sum{i}_{n} *= shrink{i};"))
                .collect();
            format!(
                "let bound{i} = max(largest{i}, best[{i}]);
        let shrink{i} = exp(largest{i} - bound{i});
        largest{i} = bound{i};
        score{i} = {};
        total{i} = total{i} * shrink{i} + dot(score{i}, vec4<f32>(1.0));{shrunk}{}",
                weighing.exponentials(i),
                weighing.dropped(i),
            )
        };
        let lowest = weighing.lowest();
        InStages::with(
            zeros("sum", v.columns)
                + &each_row(|i| format!("var largest{i} = {lowest}; var total{i} = 0.0;")),
            &["score"],
            vec![products("score", q, k)],
            weighing.of_block()
                + &each_row(masked)
                + &over_threads(|a, b| format!("max({a}, {b})"), "here", "best")
                + &each_row(weighed)
                + &hand_over("score", "weights"),
            vec![weighted_sums("sum", "weights", v)],
            over_threads(|a, b| format!("{a} + {b}"), "total", "all")
                + &sums.sums_and_logarithms(weighing, v.columns, "largest"),
        )
    }

    /// dQ = scale · Σ P · (g Vᵀ − mean) K.
    fn of_queries([q, k, v, g]: [&Strided; 4], weighing: &Weighing, by_query: &Output) -> InStages {
        InStages::with(
            of_own_queries() + &zeros("sum", q.columns),
            &["score", "change"],
            vec![products("score", q, k), products("change", g, v)],
            weighing.of_block() + &each_row(|i| weighing.by_query(i)) + &hand_over("score", "weights"),
            vec![weighted_sums("sum", "weights", k)],
            by_query.write("sum", |_| " * scale".into()),
        )
    }

    /// dK = scale · Σ Pᵀ · (V gᵀ − mean) Q, and dV = Σ Pᵀ g.
    fn of_keys(
        [q, k, v, g]: [&Strided; 4],
        weighing: &Weighing,
        by_key: &Output,
        by_value: &Output,
    ) -> InStages {
        InStages::with(
            zeros("sum", k.columns) + &zeros("more", v.columns),
            &["score", "change"],
            vec![products("score", k, q), products("change", v, g)],
            OF_QUERIES.to_string()
                + &weighing.unseen()
                + &weighing.of_block()
                + &each_row(|i| weighing.by_key(i))
                + &hand_over("score", "weights")
                + &hand_over("change", "changes"),
            vec![weighted_sums("sum", "changes", q), weighted_sums("more", "weights", g)],
            by_key.write("sum", |_| " * scale".into()) + &by_value.write("more", |_| weighing.of_kept()),
        )
    }
}

pub(super) fn program(op: &Attention, kind: Kind, sizes: &Sizes, call: &StructuredCall) -> Program {
    let mut shader = Shader::new(op.name(), Tier::General);
    let params = &mut shader.params;
    let scale = format!("bitcast<f32>({})", params.push(Param::Data(call.data_start, Lane::F32)));
    let (queries, keys, heads) =
        (params.size(sizes.queries), params.size(sizes.keys), params.size(sizes.heads));
    let of_keys = kind == Kind::Keys;
    let on_units = units::of_call(sizes, call).ok();
    let (own_rows, threads) = if on_units.is_some() { (units::OWN, units::THREADS) } else { (ROWS, THREADS) };
    let blocks = if of_keys { sizes.keys } else { sizes.queries }.div_ceil(own_rows);
    let (own, other) = if of_keys { (&keys, &queries) } else { (&queries, &keys) };
    let own_heads = sizes.batches * if of_keys { sizes.key_heads } else { sizes.heads };
    let [all_blocks, all_heads] = [blocks, own_heads].map(|size| params.size(size));
    let slabs = Columns::slabs_of(match kind {
        Kind::Forward => sizes.value_width,
        Kind::Queries => sizes.width,
        Kind::Keys => sizes.width.max(sizes.value_width),
    });
    let shared = sizes.members() > 1;
    let key_head = if shared { "key_head" } else { "head" };
    let operand = |name, input, order, params: &mut Params| {
        let head = if matches!(input, 1 | 2) { key_head } else { "head" };
        Strided::new((name, head), slabs, call, input, order, params)
    };
    let straight = [0, 1, 2, 3];
    let q = operand("q", 0, straight, params);
    let k = operand("k", 1, straight, params);
    let v = operand("v", 2, straight, params);
    let g = (kind != Kind::Forward).then(|| operand("g", 3, [0, 2, 1, 3], params));
    for (input, operand) in [Some(&q), Some(&k), Some(&v), g.as_ref()].into_iter().flatten().enumerate() {
        operand.bind(input, &mut shader);
    }
    if kind != Kind::Forward {
        shader.bind(Bound::Input(4), "logarithms", "vec2<f32>");
        shader.bind(Bound::Input(5), "along", "f32");
    }
    for (operand, rows) in [(&q, &queries), (&k, &keys), (&v, &keys)] {
        shader.add(&operand.reader(rows));
    }
    if let Some(g) = &g {
        shader.add(&g.reader(&queries));
    }
    let weighing = Weighing::new(op, kind, other, call, (&queries, &keys), &mut shader);
    let output = |name, number: usize, first: usize, columns: Columns| Output {
        name,
        place: if of_keys && shared { place_of_key } else { place },
        dtype: call.outputs[number].1.dtype,
        pitch: call.outputs[number].1.shape[3],
        first,
        columns,
    };
    let results = match (kind, op.masked) {
        (Kind::Forward, _) => vec![(0, output("sums", 0, 0, v.columns))],
        (Kind::Queries, _) => vec![(0, output("by_query", 0, 0, q.columns))],
        (Kind::Keys, false) => {
            vec![(1, output("by_key", 1, 0, k.columns)), (2, output("by_value", 2, 0, v.columns))]
        }
        (Kind::Keys, true) => {
            let by_key = output("gradients", 1, 0, k.columns);
            vec![(1, by_key), (1, output("gradients", 1, sizes.width, v.columns))]
        }
    };
    for (at, (number, result)) in results.iter().enumerate() {
        if results[..at].iter().all(|(earlier, _)| earlier != number) {
            shader.bind_elements(Bound::Output(*number), result.name, result.dtype, result.in_vectors());
        }
    }
    if kind == Kind::Forward {
        shader.bind(Bound::Output(1), "logarithms", "vec2<f32>");
    }
    // Blocks with much work first: the small ones fill what is left of the time.
    let (block, first, end) = match (op.causal, kind) {
        (false, _) => (format!("number / {all_heads}"), "0u", other.clone()),
        (true, Kind::Keys) => (format!("number / {all_heads}"), "first_row", other.clone()),
        (true, _) => (
            format!("{all_blocks} - 1u - number / {all_heads}"),
            "0u",
            format!("min({other}, first_row + {own_rows}u)"),
        ),
    };
    let operands = Operands { q: &q, k: &k, v: &v, g: g.as_ref() };
    let results: Vec<&Output> = results.iter().map(|(_, result)| result).collect();
    let body = match on_units {
        Some(units) => units::body(units, &operands, &weighing, &results, first, &mut shader),
        None => InStages::new(&operands, &weighing, &results).body(kind, first, &mut shader),
    };
    let of_head = weighing.of_head();
    let walk = match of_keys && shared {
        true => format!(
            "    for (var member = {ZERO}; member < members; member++) {{
    let head = key_head * members + member;
{of_head}{}    }}
",
            body.walk
        ),
        false => body.walk,
    };
    // Which head is the workgroup's, and what comes before its blocks.
    let own_head = "let batch = number % all_heads / heads;\n    let head = number % heads;";
    let members = if shared { shader.params.size(sizes.members()) } else { String::new() };
    let (which, before) = match (shared, of_keys) {
        (false, _) => (own_head.to_string(), body.before + &of_head),
        (true, false) => {
            (format!("{own_head}\n    let key_head = head / {members};"), body.before + &of_head)
        }
        (true, true) => (
            format!(
                "let key_heads = {};
    let members = {members};
    let batch = number % all_heads / key_heads;
    let key_head = number % key_heads;",
                shader.params.size(sizes.key_heads),
            ),
            body.before,
        ),
    };
    let text = format!(
        "    let first_row = ({block}) * {own_rows}u;
    let own = {own};
    let queries = {queries};
    let heads = {heads};
    let all_heads = {all_heads};
    {which}
    let down = thread / {LINE}u;
    let across = thread % {LINE}u;
    let row = first_row + down * 4u;
    let scale = {scale};
{before}    let end = {end};
{walk}{after}",
        after = body.after,
    );
    let jobs = blocks * own_heads;
    let limit = format!("{all_blocks} * {all_heads}");
    match slabs {
        1 => shader.finish(&Entry::workgroups("number", jobs, &limit, threads), &text),
        _ => {
            let entry = Entry::workgroups("job", jobs * slabs, &format!("{limit} * {slabs}u"), threads);
            let which = format!("    let number = job / {slabs}u;\n    let slab = job % {slabs}u;\n");
            shader.finish(&entry, &(which + &text))
        }
    }
}
