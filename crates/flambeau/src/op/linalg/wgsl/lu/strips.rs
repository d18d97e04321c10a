//! A panel of LU in strips of 8 columns, which are in registers. A step finds the pivot, hands its row round in workgroup memory, and
//! updates registers. After a strip, its exchanges are made in the panel's other columns, and those to its right are updated.

use super::super::THREADS;
use super::super::strip::{self, PITCH, STRIP, half, masked, number, of_tile, of_vectors, row};
use super::Panel;
use crate::shader::{Shader, ZERO};
use std::fmt::Write;

/// The factored panel, with `slots` rows a thread.
pub(super) fn text(panel: &Panel, slots: usize, shader: &mut Shader) -> String {
    shader.share("tile", "f32", THREADS * PITCH);
    // The pivot's row, and the row that it changes places with.
    shader.share("exchange", "vec4<f32>", 4);
    shader.share("corner", "vec4<f32>", 2 * STRIP);
    shader.share("beside", "vec4<f32>", 64);
    let mut code = format!("    for (var strip = {ZERO}; strip < width; strip += {STRIP}u) {{\n");
    strip::load("matrix", slots, &mut code);
    for column in 0..STRIP {
        step(panel, slots, column, &mut code);
    }
    exchange(&mut code);
    update(slots, &mut code);
    code += "        storageBarrier();\n        workgroupBarrier();\n    }\n";
    code
}

/// Factors a column of the strip.
fn step(panel: &Panel, slots: usize, column: usize, code: &mut String) {
    let search = panel.search.text(|fold, code| {
        for slot in 0..slots {
            let row = row(slot);
            code.open(format_args!("if ({row} >= {column}u && strip + {row} < height) "));
            fold.take(&format!("abs({})", number(column, slot)), &format!("strip + {row}"), code);
            code.close();
        }
    });
    _ = write!(code, "        if (strip + {column}u < width) {{\n{search}");
    for slot in 0..slots {
        _ = writeln!(
            code,
            "        if (pos == strip + {}) {{ exchange[0] = low{slot}; exchange[1] = high{slot}; }}",
            row(slot)
        );
    }
    _ = write!(
        code,
        "        if (thread == {column}u) {{ exchange[2] = low0; exchange[3] = high0; }}
        if (thread == 0u) {{ pivots[strip + {column}u] = pos; }}
        workgroupBarrier();
        let low = exchange[0];
        let high = exchange[1];
"
    );
    for slot in 0..slots {
        _ = writeln!(
            code,
            "        if (pos == strip + {}) {{ low{slot} = exchange[2]; high{slot} = exchange[3]; }}",
            row(slot)
        );
    }
    // The pivot's row from the next column on.
    let [low_rest, high_rest] = masked("", |k| k > column);
    _ = write!(
        code,
        "        if (thread == {column}u) {{ low0 = low; high0 = high; }}
        let pivot = {};
        if (pivot != 0.0) {{
            let low_rest = {low_rest};
            let high_rest = {high_rest};
",
        number(column, ""),
    );
    for slot in 0..slots {
        let own = number(column, slot);
        let update = |half: &str| format!("{half}{slot} -= factor * {half}_rest;");
        // Nothing of the first half comes after its last column.
        let low = if half(column + 1, "") == "low" { update("low") } else { String::new() };
        _ = write!(
            code,
            "            if ({} > {column}u) {{
                let factor = {own} / pivot;
                {low} {}
                {own} = factor;
            }}
",
            row(slot),
            update("high"),
        );
    }
    _ = write!(
        code,
        "        }} else if (thread == 0u) {{
            {}
        }}
        }}
",
        panel.fault
    );
}

/// Makes the strip's exchanges in the panel's other columns, a thread for two rows of a column, and solves for what lies to the
/// right of the strip's triangle: U of these columns, in `beside` too.
fn exchange(code: &mut String) {
    _ = write!(
        code,
        "        if (thread < {STRIP}u) {{ corner[2u * thread] = low0; corner[2u * thread + 1u] = high0; }}
        workgroupBarrier();
        let c = thread % 32u;
        let upper_row = strip + thread / 32u;
        let lower_row = pivots[upper_row];
        let is_other = c < span && (c < strip || c >= strip + {STRIP}u);
        var upper = 0.0;
        var lower = 0.0;
        if (is_other) {{
            upper = matrix[start + origin(upper_row, strip, strip + {STRIP}u) * columns + c];
            lower = matrix[start + origin(lower_row, strip, strip + {STRIP}u) * columns + c];
        }}
        storageBarrier();
        workgroupBarrier();
        if (is_other) {{
            matrix[start + upper_row * columns + c] = upper;
            matrix[start + lower_row * columns + c] = lower;
        }}
        storageBarrier();
        workgroupBarrier();
        let is_right = c < span && c >= strip + {STRIP}u;
        if (thread < 32u) {{
            var solved = array<f32, {STRIP}>();
            if (is_right) {{
"
    );
    for i in 0..STRIP {
        _ = writeln!(code, "                solved[{i}] = matrix[start + (strip + {i}u) * columns + c];");
    }
    for i in 1..STRIP {
        for k in 0..i {
            _ = writeln!(
                code,
                "                solved[{i}] -= {} * solved[{k}];",
                of_vectors("corner", i, k)
            );
        }
    }
    for i in 1..STRIP {
        _ = writeln!(code, "                matrix[start + (strip + {i}u) * columns + c] = solved[{i}];");
    }
    _ = write!(
        code,
        "            }}
            beside[2u * c] = vec4<f32>(solved[0], solved[1], solved[2], solved[3]);
            beside[2u * c + 1u] = vec4<f32>(solved[4], solved[5], solved[6], solved[7]);
        }}
        workgroupBarrier();
        let beside_low = beside[2u * c];
        let beside_high = beside[2u * c + 1u];
"
    );
}

/// Stores the strip, and takes L U away from what lies to its right, 256 rows at a time.
fn update(slots: usize, code: &mut String) {
    for slot in 0..slots {
        for column in 0..STRIP {
            _ = writeln!(code, "        tile[thread * {PITCH}u + {column}u] = {};", number(column, slot));
        }
        *code += "        workgroupBarrier();\n";
        strip::store("matrix", slot, 0, code);
        let [low, high] = of_tile("at");
        _ = write!(
            code,
            "        if (is_right) {{
            for (var k = thread / 32u + {skipped}u; k < {THREADS}u; k += 8u) {{
                let r = strip + {first}u + k;
                if (r >= height) {{ break; }}
                let at = k * {PITCH}u;
                matrix[start + r * columns + c] -= dot({low}, beside_low) + dot({high}, beside_high);
            }}
        }}
        workgroupBarrier();
",
            first = slot * THREADS,
            // The rows of U are not among those.
            skipped = if slot == 0 { STRIP } else { 0 },
        );
    }
}
