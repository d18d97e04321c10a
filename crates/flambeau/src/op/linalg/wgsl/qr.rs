//! The QR decomposition by Householder's reflections, 32 of them at once.
//!
//! The reflections of a panel are I − V T Vᵀ, where V has a vector vⱼ in each column, with ones on the diagonal, and T is upper
//! triangular: T\[j\]\[j\] = τⱼ, and the numbers above it are −τⱼ T (Vᵀ vⱼ). One workgroup a matrix finds V and T, in workgroup memory,
//! in registers (`strips`) or where the panel lies; then others apply (I − V T Vᵀ)ᵀ to the columns to the right, 32 each (`apply`). Q is
//! what all panels make of the identity, from the last to the first.

mod apply;
mod strips;

use super::super::Sizes;
use super::strip::{Texts, Way};
use super::{PANEL, PITCH, Repeated, check, panels};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::shader::{Shader, ZERO, fits_shader};
use apply::{Apply, Target};

/// Rows of a panel that fits into workgroup memory beside T.
const HELD: usize = 64;

/// Where a decomposition's memory is.
pub(super) struct Places {
    /// The scratch buffer with the matrices, which become V with R above it.
    pub work: usize,
    /// That of T of every panel.
    pub factors: usize,
    /// That of what workgroups that share columns have found; see [`sums_words`].
    pub sums: usize,
    /// Are the matrices the call's input, and is R its second result?
    pub whole: bool,
    /// Bytes of all scratch buffers of the call.
    pub scratch: Vec<u64>,
}

pub(in super::super) fn programs(sizes: Sizes, c: usize, call: &StructuredCall) -> Result<Vec<Program>> {
    let Sizes { batch, rows: m, columns: n } = sizes;
    if batch * m * (c + n) == 0 {
        return Ok(Vec::new());
    }
    check(sizes, call)?;
    fits_shader(call.op.name(), "elements", batch * m * c)?;
    let words =
        [sizes.numel().max(1), batch * panels(sizes).len().max(1) * PANEL * PANEL, sums_words(sizes, c)];
    let scratch = words.map(|words| 4 * words as u64).to_vec();
    Ok(decompose(sizes, c, call, &Places { work: 0, factors: 1, sums: 2, whole: true, scratch }))
}

/// Numbers in the scratch buffer `sums`.
pub(super) fn sums_words(sizes: Sizes, c: usize) -> usize {
    apply::sums_words(sizes.batch, sizes.rows, sizes.columns.max(c))
}

/// Q (m × c) in the first result.
pub(super) fn decompose(sizes: Sizes, c: usize, call: &StructuredCall, places: &Places) -> Vec<Program> {
    let Sizes { batch, rows: m, columns: n } = sizes;
    let count = panels(sizes).len();
    let mut programs = Vec::new();
    if n > 0 && places.whole {
        programs.push(copy(call, places).with([batch * m, n]));
    }
    let mut texts = Texts::new(|way| panel(call, places, way));
    let rest = Apply::new(call, places, Target::Rest);
    for (number, (first, width)) in panels(sizes).enumerate() {
        let span = PANEL.min(n - first);
        let panel = texts.of(Way::of(m - first, HELD));
        programs.push(panel.with([batch, m, n, first, width, span, number, count]));
        programs.extend(rest.programs(sizes, (number, first, width), (first + span, n)));
    }
    programs.push(finish(call, places).with([batch * m, m, n, c]));
    let basis = Apply::new(call, places, Target::Basis);
    for (number, (first, width)) in panels(sizes).enumerate().rev() {
        // Columns before the panel's are still those of the identity, which it does not reach.
        programs.extend(basis.programs(sizes, (number, first, width), (first, c)));
    }
    programs
}

/// Copies the matrices, a row each workgroup.
fn copy(call: &StructuredCall, places: &Places) -> Repeated {
    Repeated::new("qr copy", call, &places.scratch, ["count", "columns"], |shader| {
        shader.bind(Bound::Input(0), "source", "f32");
        shader.bind(Bound::Scratch(places.work), "work", "f32");
        format!(
            "    for (var c = {ZERO} + thread; c < columns; c += 256u) {{
        work[number * columns + c] = source[number * columns + c];
    }}
"
        )
    })
}

/// The reflections of a panel.
fn panel(call: &StructuredCall, places: &Places, way: Way) -> Repeated {
    let numbers = ["count", "rows", "columns", "first", "width", "span", "panel_number", "panels"];
    Repeated::new("qr panel", call, &places.scratch, numbers, |shader| {
        shader.bind(Bound::Scratch(places.work), "work", "f32");
        shader.bind(Bound::Scratch(places.factors), "factors", "f32");
        shader.share("factor", "f32", PANEL * PITCH);
        let factored = match way {
            Way::Strips(slots) => strips::text(slots, shader),
            Way::Held => columns_text(true, shader),
            Way::InPlace => columns_text(false, shader),
        };
        format!(
            "    let start = (number * rows + first) * columns + first;
    let height = rows - first;
    let column = thread % 32u;
    let part = thread / 32u;
    for (var e = thread; e < 1024u; e += 256u) {{ factor[e / 32u * {PITCH}u + e % 32u] = 0.0; }}
{factored}    let at = (number * panels + panel_number) * 1024u;
    for (var e = thread; e < 1024u; e += 256u) {{ factors[at + e] = factor[e / 32u * {PITCH}u + e % 32u]; }}
"
        )
    })
}

/// Column by column, in workgroup memory (`held`) or where the panel lies.
///
/// With a the column before its reflection, α = a\[j\], β = ∓‖a‖ and s = 1 / (α − β): v = s a below the diagonal, τ = (β − α) / β. Columns
/// are multiplied by s, and the diagonal is written, at the end. So all that a step needs are the products of the j-th column's
/// rest with every column: of those after it for their reflection, of itself for ‖a‖, of those before it for T.
fn columns_text(held: bool, shader: &mut Shader) -> String {
    shader.share("parts", "f32", 8 * PANEL);
    shader.share("products", "f32", PANEL);
    shader.share("scales", "f32", PANEL);
    shader.share("diagonal", "f32", PANEL);
    if held {
        shader.share("tile", "f32", HELD * PITCH);
    }
    let cell = |r: &str, c: &str| match held {
        true => format!("tile[({r}) * {PITCH}u + {c}]"),
        false => format!("work[start + ({r}) * columns + {c}]"),
    };
    let barrier = if held { "workgroupBarrier();" } else { "storageBarrier(); workgroupBarrier();" };
    let load = match held {
        true => format!(
            "    for (var e = thread; e < height * 32u; e += 256u) {{
        if (e % 32u < span) {{ tile[e / 32u * {PITCH}u + e % 32u] = work[start + e / 32u * columns + e % 32u]; }}
    }}
"
        ),
        false => String::new(),
    };
    format!(
        "{load}    workgroupBarrier();
    for (var j = {ZERO}; j < width; j++) {{
        var sum = 0.0;
        if (column < span) {{
            for (var r = j + 1u + part; r < height; r += 8u) {{ sum += {r_j} * {r_column}; }}
        }}
        parts[part * 32u + column] = sum;
        workgroupBarrier();
        sum = 0.0;
        var square = 0.0;
        for (var k = 0u; k < 8u; k++) {{
            sum += parts[k * 32u + column];
            square += parts[k * 32u + j];
        }}
        let alpha = {j_j};
        var beta = alpha;
        var scale = 0.0;
        var tau = 0.0;
        if (square > 0.0) {{
            beta = sqrt(alpha * alpha + square);
            if (alpha > 0.0) {{ beta = -beta; }}
            scale = 1.0 / (alpha - beta);
            tau = (beta - alpha) / beta;
        }}
        var of_row = 0.0;
        if (column < span) {{ of_row = {j_column}; }}
        if (part == 0u) {{
            // vᵢ · vⱼ of the vectors before.
            if (column < j) {{ products[column] = scales[column] * (of_row + scale * sum); }}
            if (column == j) {{
                scales[j] = scale;
                diagonal[j] = beta;
                factor[j * {PITCH}u + j] = tau;
            }}
        }}
        {barrier}
        let weight = tau * (of_row + scale * sum);
        if (column > j && column < span) {{
            for (var r = j + 1u + part; r < height; r += 8u) {{ {r_column} -= weight * scale * {r_j}; }}
            if (part == 0u) {{ {j_column} = of_row - weight; }}
        }}
        if (thread < j) {{
            var above = 0.0;
            for (var i = thread; i < j; i++) {{ above += factor[thread * {PITCH}u + i] * products[i]; }}
            factor[thread * {PITCH}u + j] = -tau * above;
        }}
        {barrier}
    }}
    for (var e = thread; e < height * 32u; e += 256u) {{
        let r = e / 32u;
        let c = e % 32u;
        if (c >= span) {{ continue; }}
        var value = {r_c};
        if (c < width && r == c) {{ value = diagonal[c]; }}
        if (c < width && r > c) {{ value *= scales[c]; }}
        work[start + r * columns + c] = value;
    }}
",
        r_j = cell("r", "j"),
        r_column = cell("r", "column"),
        j_j = cell("j", "j"),
        j_column = cell("j", "column"),
        r_c = cell("r", "c"),
    )
}

/// R with a diagonal that is not negative, and the identity with the signs that this takes, which becomes Q. A workgroup has a row of
/// each.
fn finish(call: &StructuredCall, places: &Places) -> Repeated {
    Repeated::new("qr finish", call, &places.scratch, ["count", "rows", "columns", "width"], |shader| {
        shader.bind(Bound::ScratchRead(places.work), "work", "f32");
        shader.bind(Bound::Output(0), "basis", "f32");
        let mut upper = String::new();
        if places.whole {
            shader.bind(Bound::Output(1), "upper", "f32");
            upper = format!(
                "    if (row >= width) {{ return; }}
    for (var c = {ZERO} + thread; c < columns; c += 256u) {{
        upper[(matrix_number * width + row) * columns + c] = select(0.0, sign * work[number * columns + c], c >= row);
    }}
"
            );
        }
        format!(
            "    let matrix_number = number / rows;
    let row = number % rows;
    var sign = 1.0;
    if (row < columns && work[number * columns + row] < 0.0) {{ sign = -1.0; }}
    for (var c = {ZERO} + thread; c < width; c += 256u) {{
        basis[number * width + c] = select(0.0, sign, c == row);
    }}
{upper}"
        )
    })
}
