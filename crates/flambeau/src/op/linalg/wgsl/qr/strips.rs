//! A panel of QR in strips of 8 columns, which are in registers. A step is one sum over all rows, of products with all of the strip's
//! columns. After a strip, Vᵀ X is found for the panel's other columns: of those to its right for their reflection, of those
//! to its left, which are V themselves, for T.

use super::super::strip::{self, PITCH, STRIP, masked, number, of_tile, row};
use super::super::{PITCH as PANEL_PITCH, THREADS};
use crate::shader::{Shader, ZERO};
use std::fmt::Write;

/// The panel's reflections and T, with `slots` rows a thread.
pub(super) fn text(slots: usize, shader: &mut Shader) -> String {
    shader.share("tile", "f32", THREADS * PITCH);
    // The row of the diagonal, for every other step in turn.
    shader.share("top", "vec4<f32>", 4);
    // T of the strip.
    shader.share("corner", "vec4<f32>", 2 * STRIP);
    shader.share("products", "f32", THREADS);
    shader.share("weights", "f32", THREADS);
    let joins = [0, 1].map(|turn| join(turn, shader));
    let mut code = format!("    for (var strip = {ZERO}; strip < width; strip += {STRIP}u) {{\n");
    strip::load("work", slots, &mut code);
    code += "        workgroupBarrier();
        var low_sum = vec4<f32>();
        var high_sum = vec4<f32>();
        // A row of the strip's T, of the first threads.
        var low_factor = vec4<f32>();
        var high_factor = vec4<f32>();
";
    for column in 0..STRIP {
        step(slots, column, &joins[column % 2], &mut code);
    }
    weigh(slots, &mut code);
    finish_factor(&mut code);
    reflect(slots, &mut code);
    code += "        storageBarrier();\n        workgroupBarrier();\n    }\n";
    code
}

/// Adds up `low_sum` and `high_sum` of all threads, in `tile`. Two turns have memory of their own, so that a step may begin while others
/// still read the sums of the one before.
fn join(turn: usize, shader: &mut Shader) -> String {
    if shader.takes_subgroups() {
        let mut code = String::new();
        for bit in [1, 2, 4, 8, 16, 32, 64] {
            _ = write!(
                code,
                "        if ({bit}u < subgroup_size) {{
            low_sum += subgroupShuffleXor(low_sum, {bit}u);
            high_sum += subgroupShuffleXor(high_sum, {bit}u);
        }}
"
            );
        }
        // Subgroups have four threads at least.
        let first = turn * THREADS / 4 * STRIP;
        _ = writeln!(code, "        if (lane == 0u) {{");
        for k in 0..STRIP {
            let sum = number(k, "_sum");
            _ = writeln!(code, "            tile[{first}u + subgroup * {STRIP}u + {k}u] = {sum};");
        }
        let [low, high] = of_tile(&format!("{first}u + k * {STRIP}u"));
        _ = write!(
            code,
            "        }}
        workgroupBarrier();
        low_sum = vec4<f32>();
        high_sum = vec4<f32>();
        for (var k = 0u; k < subgroups; k++) {{
            low_sum += {low};
            high_sum += {high};
        }}
"
        );
        return code;
    }
    let mut code = String::new();
    for k in 0..STRIP {
        _ = writeln!(code, "        tile[thread * {PITCH}u + {k}u] = {};", number(k, "_sum"));
    }
    let sums =
        |first: usize| [0, 1, 2, 3].map(|k| format!("products[k * {STRIP}u + {}u]", first + k)).join(", ");
    _ = write!(
        code,
        "        workgroupBarrier();
        if (thread < 64u) {{
            var sum = 0.0;
            for (var k = 0u; k < 32u; k++) {{
                sum += tile[(thread / {STRIP}u * 32u + k) * {PITCH}u + thread % {STRIP}u];
            }}
            products[thread] = sum;
        }}
        workgroupBarrier();
        low_sum = vec4<f32>();
        high_sum = vec4<f32>();
        for (var k = 0u; k < 8u; k++) {{
            low_sum += vec4<f32>({});
            high_sum += vec4<f32>({});
        }}
",
        sums(0),
        sums(4),
    );
    code
}

/// The reflection of a column; names are those of `columns_text`.
fn step(slots: usize, column: usize, join: &str, code: &mut String) {
    let turn = 2 * (column % 2);
    _ = write!(
        code,
        "        if (strip + {column}u < width) {{
        low_sum = vec4<f32>();
        high_sum = vec4<f32>();
"
    );
    for slot in 0..slots {
        let own = number(column, slot);
        _ = writeln!(
            code,
            "        if ({} > {column}u) {{ low_sum += {own} * low{slot}; high_sum += {own} * high{slot}; }}",
            row(slot)
        );
    }
    let [low_rest, high_rest] = masked("_weight", |k| k > column);
    let [low_before, high_before] = masked("_product", |k| k < column);
    _ = write!(
        code,
        "        if (thread == {column}u) {{ top[{turn}] = low0; top[{}] = high0; }}
{join}        let low = top[{turn}];
        let high = top[{}];
        let alpha = {alpha};
        let square = {square};
        var beta = alpha;
        var scale = 0.0;
        var tau = 0.0;
        if (square > 0.0) {{
            beta = sqrt(alpha * alpha + square);
            if (alpha > 0.0) {{ beta = -beta; }}
            scale = 1.0 / (alpha - beta);
            tau = (beta - alpha) / beta;
        }}
        // vᵢ · vⱼ of the vectors before, and v · x of the columns after.
        let low_product = low + scale * low_sum;
        let high_product = high + scale * high_sum;
        let low_weight = tau * low_product;
        let high_weight = tau * high_product;
        let low_rest = {low_rest};
        let high_rest = {high_rest};
        let above = -tau * (dot(low_factor, {low_before}) + dot(high_factor, {high_before}));
        {own_factor} = select(above, tau, thread == {column}u);
        if (thread > {column}u) {{ {own_factor} = 0.0; }}
        if (thread == {column}u) {{
            low0 -= low_rest;
            high0 -= high_rest;
            {own} = beta;
        }}
",
        turn + 1,
        turn + 1,
        alpha = number(column, ""),
        square = number(column, "_sum"),
        own_factor = number(column, "_factor"),
        own = number(column, 0),
    );
    for slot in 0..slots {
        let own = number(column, slot);
        _ = write!(
            code,
            "        if ({} > {column}u) {{
            let v = scale * {own};
            low{slot} -= v * low_rest;
            high{slot} -= v * high_rest;
            {own} = v;
        }}
",
            row(slot)
        );
    }
    *code += "        }\n";
}

/// Puts V of a slot's rows into `tile`: with ones on the diagonal, and zeros above it.
fn vectors(slot: usize, code: &mut String) {
    *code += "        workgroupBarrier();\n";
    for k in 0..STRIP {
        let own = number(k, slot);
        let value = match slot {
            0 => format!("select(select(0.0, 1.0, thread == {k}u), {own}, thread > {k}u)"),
            _ => own,
        };
        _ = writeln!(code, "        tile[thread * {PITCH}u + {k}u] = {value};");
    }
    *code += "        workgroupBarrier();\n";
}

/// Stores the strip, and finds Vᵀ X of the panel's other columns, a thread for every eighth row of a column: `products`.
fn weigh(slots: usize, code: &mut String) {
    _ = write!(
        code,
        "        if (thread < {STRIP}u) {{
            corner[2u * thread] = low_factor;
            corner[2u * thread + 1u] = high_factor;
"
    );
    for k in 0..STRIP {
        _ = writeln!(
            code,
            "            if (strip + {k}u < span) {{ work[start + (strip + thread) * columns + strip + {k}u] = {}; }}",
            number(k, 0)
        );
    }
    _ = write!(
        code,
        "        }}
        let is_other = column < span && (column < strip || column >= strip + {STRIP}u);
        low_sum = vec4<f32>();
        high_sum = vec4<f32>();
"
    );
    let [low, high] = of_tile("at");
    for slot in 0..slots {
        vectors(slot, code);
        strip::store("work", slot, if slot == 0 { STRIP } else { 0 }, code);
        _ = write!(
            code,
            "        if (is_other) {{
            for (var k = part; k < {THREADS}u; k += 8u) {{
                let r = strip + {first}u + k;
                if (r >= height) {{ break; }}
                let at = k * {PITCH}u;
                let value = work[start + r * columns + column];
                low_sum += value * {low};
                high_sum += value * {high};
            }}
        }}
",
            first = slot * THREADS,
        );
    }
    *code += "        workgroupBarrier();\n";
    for k in 0..STRIP {
        _ = writeln!(code, "        tile[thread * {PITCH}u + {k}u] = {};", number(k, "_sum"));
    }
    // The thread's own: row `part` of column `column`, and then that of Tᵀ (Vᵀ X).
    _ = write!(
        code,
        "        workgroupBarrier();
        var product = 0.0;
        for (var k = 0u; k < 8u; k++) {{ product += tile[(k * 32u + column) * {PITCH}u + part]; }}
        products[thread] = product;
        workgroupBarrier();
        var weight = 0.0;
        for (var k = 0u; k < {STRIP}u; k++) {{
            weight += corner[2u * k + part / 4u][part % 4u] * products[k * 32u + column];
        }}
        weights[thread] = weight;
        workgroupBarrier();
"
    );
}

/// T of the panel so far: that of the strip on the diagonal, and above it −T Vᵀ(V of the strip) T(of the strip).
fn finish_factor(code: &mut String) {
    _ = write!(
        code,
        "        if (column < strip) {{
            var above = 0.0;
            for (var k = column; k < strip; k++) {{
                above += factor[column * {PANEL_PITCH}u + k] * weights[part * 32u + k];
            }}
            factor[column * {PANEL_PITCH}u + strip + part] = -above;
        }}
        if (thread < {STRIP}u) {{
"
    );
    for k in 0..STRIP {
        _ = writeln!(
            code,
            "            factor[(strip + thread) * {PANEL_PITCH}u + strip + {k}u] = {};",
            number(k, "_factor")
        );
    }
    *code += "        }\n";
}

/// Reflects the columns to the right of the strip.
fn reflect(slots: usize, code: &mut String) {
    _ = writeln!(code, "        if (strip + {STRIP}u < span) {{");
    for (half, first) in [("low", 0), ("high", 4)] {
        let numbers = [0, 1, 2, 3].map(|k| format!("weights[{}u + column]", (first + k) * 32));
        _ = writeln!(code, "        let {half}_weights = vec4<f32>({});", numbers.join(", "));
    }
    let [low, high] = of_tile("at");
    for slot in 0..slots {
        vectors(slot, code);
        _ = write!(
            code,
            "        if (column < span && column >= strip + {STRIP}u) {{
            for (var k = part; k < {THREADS}u; k += 8u) {{
                let r = strip + {first}u + k;
                if (r >= height) {{ break; }}
                let at = k * {PITCH}u;
                work[start + r * columns + column] -= dot({low}, low_weights) + dot({high}, high_weights);
            }}
        }}
",
            first = slot * THREADS,
        );
    }
    *code += "        }\n";
}
