//! The Cholesky decomposition: panels from the left to the right, each with the update of what lies behind it.

use super::super::{NOT_POSITIVE_DEFINITE, Sizes};
use super::tiles::{Behind, Taken, Tiles};
use super::{PANEL, PITCH, Repeated, check, panels};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Checked, Program};
use crate::shader::{ZERO, fault};

pub(in super::super) fn programs(sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
    let Sizes { batch, rows: n, .. } = sizes;
    if sizes.numel() == 0 {
        return Ok(Vec::new());
    }
    check(sizes, call)?;
    let scratch = [4 * (batch * PANEL * PANEL) as u64];
    let mut programs = Vec::new();
    // The first panel reads the input, the others what is left of it in the output.
    let texts = [true, false].map(|from_input| {
        (panel(call, &scratch, from_input), Tiles::new(call, &scratch, (n, n), Taken::Symmetric, from_input))
    });
    for (first, width) in panels(sizes) {
        let (panel, tiles) = &texts[usize::from(first > 0)];
        let below = n - first - width;
        let chunks = below.div_ceil(PANEL).max(1);
        // Where other workgroups still read the panel's triangle, it waits in a scratch buffer.
        let direct = first == 0 || chunks == 1;
        programs.push(panel.with([batch * chunks, n, first, width, chunks, usize::from(direct)]));
        programs.extend(tiles.behind(Behind { batch, rows: n, columns: n, panel: (first, width), direct }));
    }
    Ok(programs)
}

/// Every workgroup factors the panel's triangle, and with it 32 of the rows below.
///
/// Columns are divided by the roots of their pivots at the end: the j-th step takes a\[r\]\[j\] a\[c\]\[j\] / a\[j\]\[j\] away from a\[r\]\[c\],
/// writes only columns after the j-th, and ends with the one barrier it needs.
fn panel(call: &StructuredCall, scratch: &[u64], from_input: bool) -> Repeated {
    let numbers = ["count", "size", "first", "width", "chunks", "direct"];
    Repeated::new("cholesky panel", call, scratch, numbers, |shader| {
        let fault = fault(&mut shader.params, call.node, "matrix_number");
        shader.checks = Some(Checked::Matrix { op: "cholesky", what: NOT_POSITIVE_DEFINITE });
        if from_input {
            shader.bind(Bound::Input(0), "source", "f32");
        }
        shader.bind(Bound::Output(0), "matrix", "f32");
        shader.bind(Bound::Scratch(0), "triangle", "f32");
        shader.bind_status();
        shader.share("tile", "f32", 2 * PANEL * PITCH);
        let source = if from_input { "source" } else { "matrix" };
        format!(
            "    let matrix_number = number / chunks;
    let chunk = number % chunks;
    let start = matrix_number * size * size;
    let below = first + width + chunk * 32u;
    for (var e = thread; e < 2048u; e += 256u) {{
        let r = e / 32u;
        let c = e % 32u;
        let row = select(below + r - 32u, first + r, r < 32u);
        var value = 0.0;
        if (c < width && row < size && (r >= 32u || (r < width && c <= r))) {{
            value = {source}[start + row * size + first + c];
        }}
        tile[r * {PITCH}u + c] = value;
    }}
    workgroupBarrier();
    for (var j = {ZERO}; j < width; j++) {{
        var pivot = tile[j * {PITCH}u + j];
        if (!(pivot > 0.0)) {{
            if (chunk == 0u && thread == 0u) {{ {fault} }}
            pivot = 1.0;
        }}
        for (var e = thread; e < 2048u; e += 256u) {{
            let r = e / 32u;
            let c = e % 32u;
            if (c > j && c < width && r > j) {{
                tile[r * {PITCH}u + c] -= tile[r * {PITCH}u + j] / pivot * tile[c * {PITCH}u + j];
            }}
        }}
        workgroupBarrier();
    }}
    for (var e = thread; e < 2048u; e += 256u) {{
        let r = e / 32u;
        let c = e % 32u;
        let pivot = tile[c * {PITCH}u + c];
        let value = tile[r * {PITCH}u + c] / sqrt(select(1.0, pivot, pivot > 0.0));
        if (r >= 32u) {{
            let row = below + r - 32u;
            if (row < size && c < width) {{ matrix[start + row * size + first + c] = value; }}
            // What lies on the other side of the diagonal.
            let column = below + c;
            if (column < size && r - 32u < width) {{ matrix[start + (first + r - 32u) * size + column] = 0.0; }}
        }} else if (chunk == 0u && r < width && c < width) {{
            let kept = select(0.0, value, c <= r);
            if (direct == 1u) {{
                matrix[start + (first + r) * size + first + c] = kept;
            }} else {{
                triangle[matrix_number * 1024u + e] = kept;
            }}
        }}
    }}
"
        )
    })
}
