//! Triangular systems: a workgroup has eight columns of the result and finds them 32 rows at a time, from the rows before.

use super::super::{Sizes, Triangular};
use super::{PANEL, PITCH, Repeated, check};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::shader::{ZERO, fits_shader};

/// Columns of a workgroup.
const COLUMNS: usize = 8;

pub(in super::super) fn programs(
    op: &Triangular,
    sizes: Sizes,
    call: &StructuredCall,
) -> Result<Vec<Program>> {
    let Sizes { batch, rows: n, columns: k } = sizes;
    if sizes.numel() == 0 {
        return Ok(Vec::new());
    }
    check(sizes, call)?;
    fits_shader(call.op.name(), "elements", batch * n * n)?;
    let chunks = k.div_ceil(COLUMNS);
    let [upper, unit] = [op.upper, op.unit].map(usize::from);
    Ok(vec![text(call).with([batch * chunks, n, k, chunks, upper, unit])])
}

/// An upper triangle is a lower one whose rows and columns are counted from the end.
fn text(call: &StructuredCall) -> Repeated {
    let numbers = ["count", "size", "columns", "chunks", "upper", "unit"];
    Repeated::new("solve_triangular", call, &[], numbers, |shader| {
        shader.bind(Bound::Input(0), "triangle", "f32");
        shader.bind(Bound::Input(1), "given", "f32");
        shader.bind(Bound::Output(0), "found", "f32");
        shader.share("tile", "f32", PANEL * PITCH);
        shader.share("known", "f32", PANEL * COLUMNS);
        shader.add("fn place(i: u32, size: u32, upper: u32) -> u32 { return select(i, size - 1u - i, upper == 1u); }\n");
        format!(
            "    let matrix_number = number / chunks;
    let column = number % chunks * {COLUMNS}u + thread % {COLUMNS}u;
    let lane = thread / {COLUMNS}u;
    let slot = thread % {COLUMNS}u;
    let of_triangle = matrix_number * size * size;
    let of_result = matrix_number * size * columns;
    for (var first = {ZERO}; first < size; first += 32u) {{
        let i = first + lane;
        let is_inside = i < size && column < columns;
        let at = of_result + place(min(i, size - 1u), size, upper) * columns + column;
        var rest = 0.0;
        if (is_inside) {{ rest = given[at]; }}
        for (var before = {ZERO}; before < first; before += 32u) {{
            for (var e = thread; e < 1024u; e += 256u) {{
                let r = first + e / 32u;
                var value = 0.0;
                if (r < size) {{
                    value = triangle[of_triangle + place(r, size, upper) * size + place(before + e % 32u, size, upper)];
                }}
                tile[e / 32u * {PITCH}u + e % 32u] = value;
            }}
            var value = 0.0;
            if (column < columns) {{
                value = found[of_result + place(before + lane, size, upper) * columns + column];
            }}
            known[lane * {COLUMNS}u + slot] = value;
            workgroupBarrier();
            for (var j = 0u; j < 32u; j++) {{
                rest -= tile[lane * {PITCH}u + j] * known[j * {COLUMNS}u + slot];
            }}
            workgroupBarrier();
        }}
        for (var e = thread; e < 1024u; e += 256u) {{
            let r = first + e / 32u;
            let c = first + e % 32u;
            var value = select(0.0, 1.0, r == c);
            if (r < size && c < size) {{
                value = triangle[of_triangle + place(r, size, upper) * size + place(c, size, upper)];
            }}
            tile[e / 32u * {PITCH}u + e % 32u] = value;
        }}
        workgroupBarrier();
        for (var j = 0u; j < 32u; j++) {{
            if (lane == j) {{
                if (unit == 0u) {{ rest /= tile[j * {PITCH}u + j]; }}
                known[j * {COLUMNS}u + slot] = rest;
            }}
            workgroupBarrier();
            if (lane > j) {{ rest -= tile[lane * {PITCH}u + j] * known[j * {COLUMNS}u + slot]; }}
        }}
        if (is_inside) {{ found[at] = rest; }}
        storageBarrier();
        workgroupBarrier();
    }}
"
        )
    })
}
