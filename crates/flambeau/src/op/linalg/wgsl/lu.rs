//! The LU decomposition with partial pivoting. For each panel: one workgroup a matrix factors it, the rows it has exchanged are
//! exchanged in all other columns, what lies to the right of its triangle is solved for, and the rest is updated.

use super::super::{Lu, SINGULAR, Sizes};
use super::tiles::{Behind, Taken, Tiles};
use super::{PANEL, PITCH, Repeated, THREADS, check, panels};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Checked, Program};
use crate::shader::{ZERO, fault};

/// Rows of a panel that fits into workgroup memory, with what its factorisation needs beside.
const HELD: usize = 96;

pub(in super::super) fn programs(op: &Lu, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
    let Sizes { batch, rows: m, columns: n } = sizes;
    if batch * m == 0 {
        return Ok(Vec::new());
    }
    check(sizes, call)?;
    let scratch = [4 * (batch * PANEL) as u64];
    if n == 0 {
        return Ok(vec![in_order(call, &scratch).with([batch, m])]);
    }
    if n <= PANEL {
        let panel = panel(op, call, &scratch, m <= HELD, true);
        let copied = (m > HELD).then(|| copy(call, &scratch).with([batch * m, n]));
        return Ok(copied.into_iter().chain([panel.with([batch, m, n, 0, sizes.least(), n])]).collect());
    }
    let mut programs = vec![copy(call, &scratch).with([batch * m, n])];
    let texts = [true, false].map(|held| panel(op, call, &scratch, held, false));
    let beside = beside(call, &scratch);
    let tiles = Tiles::new(call, &scratch, (m, n), Taken::Product, false);
    let chunks = n.div_ceil(PANEL) - 1;
    for (first, width) in panels(sizes) {
        let panel = &texts[usize::from(m - first > HELD)];
        programs.push(panel.with([batch, m, n, first, width, PANEL.min(n - first)]));
        programs.push(beside.with([batch * chunks, m, n, first, width, chunks]));
        programs.extend(tiles.behind(Behind {
            batch,
            rows: m,
            columns: n,
            panel: (first, width),
            direct: true,
        }));
    }
    Ok(programs)
}

/// The numbers of the rows of matrices without columns.
fn in_order(call: &StructuredCall, scratch: &[u64]) -> Repeated {
    Repeated::new(call, scratch, ["count", "rows"], |shader| {
        shader.bind(Bound::Output(1), "order", "i32");
        format!(
            "    for (var r = {ZERO} + thread; r < rows; r += 256u) {{ order[number * rows + r] = i32(r); }}\n"
        )
    })
}

/// Copies the matrices, a row each workgroup.
fn copy(call: &StructuredCall, scratch: &[u64]) -> Repeated {
    Repeated::new(call, scratch, ["count", "columns"], |shader| {
        shader.bind(Bound::Input(0), "source", "f32");
        shader.bind(Bound::Output(0), "matrix", "f32");
        format!(
            "    for (var c = {ZERO} + thread; c < columns; c += 256u) {{
        matrix[number * columns + c] = source[number * columns + c];
    }}
"
        )
    })
}

/// Factors a panel, in workgroup memory (`held`) or where it lies. Where a matrix has fewer rows than columns, the last panel has
/// columns beyond its `width` steps, up to its `span`.
///
/// Columns of L are divided by their pivots at the end, so that threads may read a column while others update the next ones.
fn panel(op: &Lu, call: &StructuredCall, scratch: &[u64], held: bool, from_input: bool) -> Repeated {
    Repeated::new(call, scratch, ["count", "rows", "columns", "first", "width", "span"], |shader| {
        let mut fault_text = String::new();
        if let Some(op) = op.regular_for {
            fault_text = fault(&mut shader.params, call.node, "number");
            shader.checks = Some(Checked::Matrix { op, what: SINGULAR });
        }
        if held && from_input {
            shader.bind(Bound::Input(0), "source", "f32");
        }
        shader.bind(Bound::Output(0), "matrix", "f32");
        shader.bind(Bound::Output(1), "order", "i32");
        shader.bind(Bound::Scratch(0), "exchanged", "u32");
        if op.regular_for.is_some() {
            shader.bind_status();
        }
        shader.share("largest", "f32", THREADS);
        shader.share("places", "u32", THREADS);
        shader.share("pivots", "u32", PANEL);
        if held {
            shader.share("tile", "f32", HELD * PITCH);
        }
        let cell = |r: &str, c: &str| match held {
            true => format!("tile[({r}) * {PITCH}u + {c}]"),
            false => format!("matrix[start + (first + {r}) * columns + first + {c}]"),
        };
        let barrier = if held { "workgroupBarrier();" } else { "storageBarrier(); workgroupBarrier();" };
        let source = if from_input { "source" } else { "matrix" };
        let load = match held {
            true => format!(
                "    for (var e = thread; e < height * 32u; e += 256u) {{
        if (e % 32u < span) {{
            tile[e / 32u * {PITCH}u + e % 32u] = {source}[start + (first + e / 32u) * columns + first + e % 32u];
        }}
    }}
    workgroupBarrier();
"
            ),
            false => String::new(),
        };
        let divide = format!(
            "    for (var e = thread; e < height * 32u; e += 256u) {{
        let r = e / 32u;
        let c = e % 32u;
        if (c >= span) {{ continue; }}
        var value = {rc};
        if (r > c) {{
            let pivot = {cc};
            if (pivot != 0.0) {{ value /= pivot; }}
        }}
        {stored} = value;
    }}
",
            rc = cell("r", "c"),
            cc = cell("c", "c"),
            stored = "matrix[start + (first + r) * columns + first + c]",
        );
        format!(
            "    let start = number * rows * columns;
    let height = rows - first;
{load}    for (var j = {ZERO}; j < width; j++) {{
        var best = -1.0;
        var place = j;
        for (var r = j + thread; r < height; r += 256u) {{
            let value = abs({rj});
            if (value > best) {{ best = value; place = r; }}
        }}
        largest[thread] = best;
        places[thread] = place;
        workgroupBarrier();
        if (thread < 16u) {{
            for (var k = 1u; k < 16u; k++) {{
                let other = largest[thread + 16u * k];
                let its_place = places[thread + 16u * k];
                if (other > best || (other == best && its_place < place)) {{ best = other; place = its_place; }}
            }}
            largest[thread] = best;
            places[thread] = place;
        }}
        workgroupBarrier();
        best = largest[0];
        place = places[0];
        for (var k = 1u; k < 16u; k++) {{
            let other = largest[k];
            let its_place = places[k];
            if (other > best || (other == best && its_place < place)) {{ best = other; place = its_place; }}
        }}
        if (thread < span) {{
            let upper = {j_thread};
            {j_thread} = {place_thread};
            {place_thread} = upper;
        }}
        if (thread == 0u) {{ pivots[j] = place; }}
        {barrier}
        let pivot = {jj};
        if (pivot != 0.0) {{
            let c = thread % 32u;
            if (c > j && c < span) {{
                for (var r = j + 1u + thread / 32u; r < height; r += 8u) {{
                    {rc} -= {rj} / pivot * {jc};
                }}
            }}
        }} else if (thread == 0u) {{
            {fault_text}
        }}
        {barrier}
    }}
{divide}    if (first == 0u) {{
        for (var r = thread; r < rows; r += 256u) {{ order[number * rows + r] = i32(r); }}
    }}
    storageBarrier();
    workgroupBarrier();
    if (thread == 0u) {{
        for (var j = {ZERO}; j < width; j++) {{
            let at = number * rows + first + j;
            let other = number * rows + first + pivots[j];
            let moved = order[at];
            order[at] = order[other];
            order[other] = moved;
            exchanged[number * 32u + j] = pivots[j];
        }}
    }}
",
            rj = cell("r", "j"),
            rc = cell("r", "c"),
            jc = cell("j", "c"),
            jj = cell("j", "j"),
            j_thread = cell("j", "thread"),
            place_thread = cell("place", "thread"),
        )
    })
}

/// Exchanges the panel's rows in 32 other columns; to the right of the panel, its rows become L⁻¹ times themselves.
fn beside(call: &StructuredCall, scratch: &[u64]) -> Repeated {
    let numbers = ["count", "rows", "columns", "first", "width", "chunks"];
    Repeated::new(call, scratch, numbers, |shader| {
        shader.bind(Bound::Output(0), "matrix", "f32");
        shader.bind(Bound::ScratchRead(0), "exchanged", "u32");
        shader.share("triangle", "f32", PANEL * PITCH);
        shader.share("tile", "f32", PANEL * PITCH);
        format!(
            "    let matrix_number = number / chunks;
    let start = matrix_number * rows * columns;
    var from_column = number % chunks * 32u;
    if (from_column >= first) {{ from_column += 32u; }}
    if (thread < 32u && from_column + thread < columns) {{
        let at = start + first * columns + from_column + thread;
        for (var j = {ZERO}; j < width; j++) {{
            let other = exchanged[matrix_number * 32u + j];
            if (other != j) {{
                let moved = matrix[at + j * columns];
                matrix[at + j * columns] = matrix[at + other * columns];
                matrix[at + other * columns] = moved;
            }}
        }}
    }}
    if (from_column < first) {{ return; }}
    storageBarrier();
    workgroupBarrier();
    for (var e = thread; e < 1024u; e += 256u) {{
        let r = e / 32u;
        let c = e % 32u;
        var of_triangle = 0.0;
        var value = 0.0;
        if (r < width && c < width) {{ of_triangle = matrix[start + (first + r) * columns + first + c]; }}
        if (r < width && from_column + c < columns) {{ value = matrix[start + (first + r) * columns + from_column + c]; }}
        triangle[r * {PITCH}u + c] = of_triangle;
        tile[r * {PITCH}u + c] = value;
    }}
    workgroupBarrier();
    let c = thread % 32u;
    for (var j = {ZERO}; j < width; j++) {{
        for (var r = j + 1u + thread / 32u; r < width; r += 8u) {{
            tile[r * {PITCH}u + c] -= triangle[r * {PITCH}u + j] * tile[j * {PITCH}u + c];
        }}
        workgroupBarrier();
    }}
    for (var e = thread; e < 1024u; e += 256u) {{
        let r = e / 32u;
        if (r < width && from_column + e % 32u < columns) {{
            matrix[start + (first + r) * columns + from_column + e % 32u] = tile[r * {PITCH}u + e % 32u];
        }}
    }}
"
        )
    })
}
