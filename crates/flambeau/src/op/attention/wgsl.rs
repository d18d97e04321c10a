//! Attention on the GPU. A workgroup has a block of rows (queries, or going back to keys and values keys) and walks over
//! the blocks of rows that they meet. For each it makes the block's scores as a matrix product, turns them into weights,
//! and adds the weighted rows as another product (`stages`). Widths are written into the shader, lengths and strides are
//! not.

use super::stages::{
    COMPONENTS, LINE, ROWS, Stage, Strided, THREADS, TILE, each_row, hand_over, products, vectors_of_thread,
    weighted_sums,
};
use super::{Attention, Sizes};
use crate::dtype::Lane;
use crate::ir::call::{Kernels, StructuredCall};
use crate::ir::program::{Bound, Param, Program, Tier};
use crate::shader::{Entry, Params, Shader};
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
fn zeros(sum: &str, width: usize) -> String {
    let vectors = vectors_of_thread(width);
    let zero = |i: usize| (0..vectors).map(move |n| format!("    var {sum}{i}_{n} = vec4<f32>();\n"));
    (0..4).flat_map(zero).collect()
}

/// Are the rows of a result of this width whole vectors?
fn in_vectors(width: usize) -> bool {
    width.is_multiple_of(4)
}

/// Writes a thread's sums to a result (B, rows, H, width), each row times `factor` of its number.
fn write(result: &str, sum: &str, width: usize, factor: impl Fn(usize) -> String) -> String {
    let mut code = String::new();
    for i in 0..4 {
        _ = writeln!(code, "    if (row + {i}u < own) {{\n        let base = {} * {width}u;", place(i));
        for n in 0..vectors_of_thread(width) {
            let vector = format!("(across + {}u)", n * LINE);
            let mut put = |at: String, text: String| {
                _ = match width.is_multiple_of(4 * LINE) {
                    true => writeln!(code, "        {text}"),
                    false => writeln!(code, "        if ({at} < {width}u) {{ {text} }}"),
                };
            };
            if in_vectors(width) {
                put(
                    format!("{vector} * 4u"),
                    format!("{result}[base / 4u + {vector}] = {sum}{i}_{n}{};", factor(i)),
                );
                continue;
            }
            for (k, component) in COMPONENTS.into_iter().enumerate() {
                let at = format!("{vector} * 4u + {k}u");
                put(at.clone(), format!("{result}[base + {at}] = {sum}{i}_{n}.{component}{};", factor(i)));
            }
        }
        code += "    }\n";
    }
    code
}

/// Where a thread's row `i` lies among (B, rows, H).
fn place(i: usize) -> String {
    format!("((batch * own + row + {i}u) * heads + head)")
}

/// The largest of `{number}0` … `{number}3` over the threads that share rows, or their sum.
fn over_threads(combine: impl Fn(&str, &str) -> String, number: &str, result: &str) -> String {
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

/// What a workgroup does.
struct Body {
    /// Declares what it keeps from block to block.
    before: String,
    /// Declares the scores of a block.
    scores: String,
    stages: Vec<Stage>,
    /// Writes its results.
    after: String,
}

impl Body {
    /// Scores that become weights, by a rule, and the sums weighted with them.
    fn new(
        before: String,
        scores: &[&str],
        mut products: Vec<Stage>,
        rule: String,
        sums: Vec<Stage>,
        after: String,
    ) -> Body {
        if let Some(last) = products.last_mut() {
            last.after = rule;
        }
        products.extend(sums);
        let zero = |name: &&str| each_row(|i| format!("var {name}{i} = vec4<f32>();"));
        Body { before, scores: scores.iter().map(zero).collect(), stages: products, after }
    }

    /// The weights are exponentials below the largest score so far; what was summed up before is shrunk to it.
    fn forward(q: &Strided, k: &Strided, v: &Strided, meets: impl Fn(usize) -> String) -> Body {
        let masked = |i: usize| {
            format!(
                "score{i} = select(vec4<f32>(-3.4e38), score{i} * scale, {});
        let here{i} = max(max(score{i}.x, score{i}.y), max(score{i}.z, score{i}.w));",
                meets(i)
            )
        };
        let weighed = |i: usize| {
            let shrunk: String = (0..vectors_of_thread(v.width))
                .map(|n| format!("\n        sum{i}_{n} *= shrink{i};"))
                .collect();
            format!(
                "let bound{i} = max(largest{i}, best[{i}]);
        let shrink{i} = exp(largest{i} - bound{i});
        largest{i} = bound{i};
        score{i} = exp(score{i} - bound{i});
        total{i} = total{i} * shrink{i} + dot(score{i}, vec4<f32>(1.0));{shrunk}"
            )
        };
        let logarithm = |i: usize| {
            format!(
                "if (row + {i}u < own) {{ logarithms[{}] = vec2<f32>(largest{i}, log(all[{i}])); }}",
                place(i)
            )
        };
        Body::new(
            zeros("sum", v.width) + &each_row(|i| format!("var largest{i} = -3.4e38; var total{i} = 0.0;")),
            &["score"],
            vec![products("score", q, k)],
            each_row(masked)
                + &over_threads(|a, b| format!("max({a}, {b})"), "here", "best")
                + &each_row(weighed)
                + &hand_over("score", "weights"),
            vec![weighted_sums("sum", "weights", v)],
            over_threads(|a, b| format!("{a} + {b}"), "total", "all")
                + &write("sums", "sum", v.width, |i| format!(" / all[{i}]"))
                + &format!("    if (across == 0u) {{\n{}    }}\n", each_row(logarithm)),
        )
    }

    /// dQ = scale · Σ P · (g Vᵀ − mean) K.
    fn of_queries(
        q: &Strided,
        k: &Strided,
        v: &Strided,
        g: &Strided,
        meets: impl Fn(usize) -> String,
    ) -> Body {
        let own = |name: &str, from: &str| {
            each_row(|i| format!("let {name}{i} = {from}[min({}, own * all_heads - 1u)];", place(i)))
        };
        let weighed = |i: usize| {
            format!(
                "score{i} = select(vec4<f32>(), exp((score{i} * scale - logarithm{i}.x) - logarithm{i}.y), {}) * (change{i} - mean{i});",
                meets(i)
            )
        };
        Body::new(
            own("logarithm", "logarithms") + &own("mean", "along") + &zeros("sum", q.width),
            &["score", "change"],
            vec![products("score", q, k), products("change", g, v)],
            each_row(weighed) + &hand_over("score", "weights"),
            vec![weighted_sums("sum", "weights", k)],
            write("by_query", "sum", q.width, |_| " * scale".into()),
        )
    }

    /// dK = scale · Σ Pᵀ · (V gᵀ − mean) Q, and dV = Σ Pᵀ g.
    fn of_keys(q: &Strided, k: &Strided, v: &Strided, g: &Strided, meets: impl Fn(usize) -> String) -> Body {
        let of_queries =
            "        let at = (batch * queries + min(others, vec4<u32>(queries - 1u))) * heads + head;
        let largest = vec4<f32>(logarithms[at.x].x, logarithms[at.y].x, logarithms[at.z].x, logarithms[at.w].x);
        let logarithm = vec4<f32>(logarithms[at.x].y, logarithms[at.y].y, logarithms[at.z].y, logarithms[at.w].y);
        let mean = vec4<f32>(along[at.x], along[at.y], along[at.z], along[at.w]);
";
        let weighed = |i: usize| {
            format!(
                "score{i} = select(vec4<f32>(), exp((score{i} * scale - largest) - logarithm), {});
        change{i} = score{i} * (change{i} - mean);",
                meets(i)
            )
        };
        Body::new(
            zeros("sum", k.width) + &zeros("more", v.width),
            &["score", "change"],
            vec![products("score", k, q), products("change", v, g)],
            of_queries.to_string()
                + &each_row(weighed)
                + &hand_over("score", "weights")
                + &hand_over("change", "changes"),
            vec![weighted_sums("sum", "changes", q), weighted_sums("more", "weights", g)],
            write("by_key", "sum", k.width, |_| " * scale".into())
                + &write("by_value", "more", v.width, |_| String::new()),
        )
    }
}

pub(super) fn program(op: &Attention, kind: Kind, sizes: &Sizes, call: &StructuredCall) -> Program {
    let mut shader = Shader::new(op.name(), Tier::General);
    let params = &mut shader.params;
    let scale = format!("bitcast<f32>({})", params.push(Param::Data(call.data_start, Lane::F32)));
    let (queries, keys, heads) =
        (params.size(sizes.queries), params.size(sizes.keys), params.size(sizes.heads));
    let blocks = if kind == Kind::Keys { sizes.keys } else { sizes.queries }.div_ceil(ROWS);
    let (own, other) = if kind == Kind::Keys { (&keys, &queries) } else { (&queries, &keys) };
    let [all_blocks, all_heads] = [blocks, sizes.batches * sizes.heads].map(|size| params.size(size));
    let operand = |name, input, order, params: &mut Params| Strided::new(name, call, input, order, params);
    let straight = [0, 1, 2, 3];
    let q = operand("q", 0, straight, params);
    let k = operand("k", 1, straight, params);
    let v = operand("v", 2, straight, params);
    let g = (kind != Kind::Forward).then(|| operand("g", 3, [0, 2, 1, 3], params));
    let results: &[(&str, usize, usize)] = match kind {
        Kind::Forward => &[("sums", 0, v.width), ("logarithms", 1, 2)],
        Kind::Queries => &[("by_query", 0, q.width)],
        Kind::Keys => &[("by_key", 1, k.width), ("by_value", 2, v.width)],
    };
    for (input, operand) in [Some(&q), Some(&k), Some(&v), g.as_ref()].into_iter().flatten().enumerate() {
        operand.bind(input, &mut shader);
    }
    if kind != Kind::Forward {
        shader.bind(Bound::Input(4), "logarithms", "vec2<f32>");
        shader.bind(Bound::Input(5), "along", "f32");
    }
    for &(name, output, width) in results {
        let element = match name {
            "logarithms" => "vec2<f32>",
            _ if in_vectors(width) => "vec4<f32>",
            _ => "f32",
        };
        shader.bind(Bound::Output(output), name, element);
    }
    for (operand, rows) in [(&q, &queries), (&k, &keys), (&v, &keys)] {
        shader.add(&operand.reader(rows));
    }
    if let Some(g) = &g {
        shader.add(&g.reader(&queries));
    }
    shader.share("tile", "vec4<f32>", TILE);
    let handed_over: &[&str] = if kind == Kind::Keys { &["weights", "changes"] } else { &["weights"] };
    for name in handed_over {
        shader.share(name, "vec4<f32>", ROWS * LINE);
    }
    // Which of a thread's columns its row `i` meets.
    let meets = |i: usize| {
        let inside = format!("others < vec4<u32>({other})");
        match (op.causal, kind) {
            (false, _) => inside,
            (true, Kind::Keys) => format!("({inside}) & (others >= vec4<u32>(row + {i}u))"),
            (true, _) => format!("({inside}) & (others <= vec4<u32>(row + {i}u))"),
        }
    };
    let body = match &g {
        None => Body::forward(&q, &k, &v, meets),
        Some(g) if kind == Kind::Queries => Body::of_queries(&q, &k, &v, g, meets),
        Some(g) => Body::of_keys(&q, &k, &v, g, meets),
    };
    let in_registers: String =
        (0..TILE / THREADS).map(|p| format!("    var next{p} = vec4<f32>();\n")).collect();
    let load_first = body.stages[0].load("start", "0u");
    let mut work = body.scores;
    for (number, stage) in body.stages.iter().enumerate() {
        work += &match body.stages.get(number + 1) {
            Some(next) => stage.run(next, "start"),
            None => stage.run(&body.stages[0], &format!("(start + {ROWS}u)")),
        };
    }
    // Blocks with much work first: the small ones fill what is left of the time.
    let (block, first, end) = match (op.causal, kind) {
        (false, _) => (format!("number / {all_heads}"), "0u", other.clone()),
        (true, Kind::Keys) => (format!("number / {all_heads}"), "first_row", other.clone()),
        (true, _) => (
            format!("{all_blocks} - 1u - number / {all_heads}"),
            "0u",
            format!("min({other}, first_row + {ROWS}u)"),
        ),
    };
    let text = format!(
        "    let first_row = ({block}) * {ROWS}u;
    let own = {own};
    let queries = {queries};
    let heads = {heads};
    let all_heads = {all_heads};
    let batch = number % all_heads / heads;
    let head = number % heads;
    let down = thread / {LINE}u;
    let across = thread % {LINE}u;
    let row = first_row + down * 4u;
    let scale = {scale};
{before}{in_registers}    let end = {end};
    var start = {first};
{load_first}    for (; start < end; start += {ROWS}u) {{
        let others = vec4<u32>(start + across * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
{work}    }}
{after}",
        before = body.before,
        after = body.after,
    );
    let jobs = blocks * sizes.batches * sizes.heads;
    let limit = format!("{all_blocks} * {all_heads}");
    shader.finish(&Entry::workgroups("number", jobs, &limit, THREADS), &text)
}
