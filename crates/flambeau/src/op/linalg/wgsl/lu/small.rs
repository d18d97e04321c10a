//! Matrices of up to 32 × 32: 32 threads a matrix, which on most GPUs wait for each other in one step. A thread has a row, and looks for each
//! pivot itself.

use super::{Lu, PANEL, PITCH, SINGULAR, Sizes};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Checked, Program, Tier};
use crate::shader::{Entry, IS_NAN, Shader, ZERO, fault};

pub(super) fn program(op: &Lu, sizes: Sizes, call: &StructuredCall) -> Program {
    let mut shader = Shader::new("lu small", Tier::General);
    let numbers = [sizes.batch, sizes.rows, sizes.columns, sizes.least()];
    let [count, rows, columns, width] = numbers.map(|size| shader.params.size(size));
    let mut singular = String::new();
    if let Some(op) = op.regular_for {
        singular = fault(&mut shader.params, call.node, "number");
        shader.checks = Some(Checked::Matrix { op, what: SINGULAR });
    }
    shader.bind(Bound::Input(0), "source", "f32");
    shader.bind(Bound::Output(0), "matrix", "f32");
    shader.bind(Bound::Output(1), "order", "i32");
    if op.regular_for.is_some() {
        shader.bind_status();
    }
    shader.include(IS_NAN);
    shader.share("tile", "f32", PANEL * PITCH);
    shader.share("names", "u32", PANEL);
    let body = format!(
        "    let rows = {rows};
    let columns = {columns};
    let width = {width};
    let start = number * rows * columns;
    for (var e = thread; e < rows * columns; e += {PANEL}u) {{
        tile[e / columns * {PITCH}u + e % columns] = source[start + e];
    }}
    names[thread] = thread;
    workgroupBarrier();
    for (var j = {ZERO}; j < width; j++) {{
        var pos = j;
        var best = abs(tile[j * {PITCH}u + j]);
        for (var r = j + 1u; r < rows; r++) {{
            let x = abs(tile[r * {PITCH}u + j]);
            let better = !fl_is_nan(best) & ((x > best) | fl_is_nan(x));
            best = select(best, x, better);
            pos = select(pos, r, better);
        }}
        workgroupBarrier();
        if (thread < columns) {{
            let upper = tile[j * {PITCH}u + thread];
            tile[j * {PITCH}u + thread] = tile[pos * {PITCH}u + thread];
            tile[pos * {PITCH}u + thread] = upper;
        }}
        if (thread == 0u) {{
            let upper = names[j];
            names[j] = names[pos];
            names[pos] = upper;
        }}
        workgroupBarrier();
        let pivot = tile[j * {PITCH}u + j];
        if (pivot != 0.0) {{
            if (thread > j && thread < rows) {{
                let own = thread * {PITCH}u;
                let factor = tile[own + j] / pivot;
                tile[own + j] = factor;
                for (var c = j + 1u; c < columns; c++) {{ tile[own + c] -= factor * tile[j * {PITCH}u + c]; }}
            }}
        }} else if (thread == 0u) {{
            {singular}
        }}
        workgroupBarrier();
    }}
    for (var e = thread; e < rows * columns; e += {PANEL}u) {{
        matrix[start + e] = tile[e / columns * {PITCH}u + e % columns];
    }}
    if (thread < rows) {{ order[number * rows + thread] = i32(names[thread]); }}
"
    );
    shader.finish(&Entry::workgroups("number", sizes.batch, &count, PANEL), &body)
}
