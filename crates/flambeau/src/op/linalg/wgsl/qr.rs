//! The QR decomposition by Householder's reflections, 32 of them at once.
//!
//! The reflections of a panel are I − V T Vᵀ, where V has a vector vⱼ in each column, with ones on the diagonal, and T is upper
//! triangular: T\[j\]\[j\] = τⱼ, and the numbers above it are −τⱼ T (Vᵀ vⱼ). One workgroup a matrix finds V and T; then others apply
//! (I − V T Vᵀ)ᵀ to the columns to the right, 32 each. Q is what all panels make of the identity, from the last to the first.

use super::super::Sizes;
use super::{PANEL, PITCH, Repeated, check, panels};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::shader::{ZERO, fits_shader};

/// Rows of a panel that fits into workgroup memory beside T.
const HELD: usize = 64;

/// Where a decomposition's memory is.
pub(super) struct Places {
    /// The scratch buffer with the matrices, which become V with R above it.
    pub work: usize,
    /// That of T of every panel.
    pub factors: usize,
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
    let words = [sizes.numel().max(1), batch * panels(sizes).len().max(1) * PANEL * PANEL];
    let scratch = words.map(|words| 4 * words as u64).to_vec();
    Ok(decompose(sizes, c, call, &Places { work: 0, factors: 1, whole: true, scratch }))
}

/// Q (m × c) in the first result.
pub(super) fn decompose(sizes: Sizes, c: usize, call: &StructuredCall, places: &Places) -> Vec<Program> {
    let Sizes { batch, rows: m, columns: n } = sizes;
    let count = panels(sizes).len();
    let mut programs = Vec::new();
    if n > 0 && places.whole {
        programs.push(copy(call, places).with([batch * m, n]));
    }
    let texts = [true, false].map(|held| panel(call, places, held));
    let across = apply(call, places, Target::Rest);
    for (number, (first, width)) in panels(sizes).enumerate() {
        let panel = &texts[usize::from(m - first > HELD)];
        let span = PANEL.min(n - first);
        programs.push(panel.with([batch, m, n, first, width, span, number, count]));
        let chunks = (n - first - span).div_ceil(PANEL);
        if chunks > 0 {
            let numbers = [batch * chunks, m, n, first, width, chunks, number, count, n, first + span];
            programs.push(across.with(numbers));
        }
    }
    programs.push(finish(call, places).with([batch * m, m, n, c]));
    let basis = apply(call, places, Target::Basis);
    let chunks = c.div_ceil(PANEL);
    for (number, (first, width)) in panels(sizes).enumerate().rev() {
        programs.push(basis.with([batch * chunks, m, n, first, width, chunks, number, count, c, 0]));
    }
    programs
}

/// Copies the matrices, a row each workgroup.
fn copy(call: &StructuredCall, places: &Places) -> Repeated {
    Repeated::new(call, &places.scratch, ["count", "columns"], |shader| {
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

/// The reflections of a panel, in workgroup memory (`held`) or where it lies.
///
/// With a the column before its reflection, α = a\[j\], β = ∓‖a‖ and s = 1 / (α − β): v = s a below the diagonal, τ = (β − α) / β. Columns
/// are multiplied by s, and the diagonal is written, at the end. So all that a step needs are the products of the j-th column's
/// rest with every column: of those after it for their reflection, of itself for ‖a‖, of those before it for T.
fn panel(call: &StructuredCall, places: &Places, held: bool) -> Repeated {
    let numbers = ["count", "rows", "columns", "first", "width", "span", "panel_number", "panels"];
    Repeated::new(call, &places.scratch, numbers, |shader| {
        shader.bind(Bound::Scratch(places.work), "work", "f32");
        shader.bind(Bound::Scratch(places.factors), "factors", "f32");
        shader.share("parts", "f32", 8 * PANEL);
        shader.share("products", "f32", PANEL);
        shader.share("scales", "f32", PANEL);
        shader.share("diagonal", "f32", PANEL);
        shader.share("factor", "f32", PANEL * PITCH);
        if held {
            shader.share("tile", "f32", HELD * PITCH);
        }
        let cell = |r: &str, c: &str| match held {
            true => format!("tile[({r}) * {PITCH}u + {c}]"),
            false => format!("work[start + (first + {r}) * columns + first + {c}]"),
        };
        let barrier = if held { "workgroupBarrier();" } else { "storageBarrier(); workgroupBarrier();" };
        let load = match held {
            true => format!(
                "    for (var e = thread; e < height * 32u; e += 256u) {{
        if (e % 32u < span) {{
            tile[e / 32u * {PITCH}u + e % 32u] = work[start + (first + e / 32u) * columns + first + e % 32u];
        }}
    }}
"
            ),
            false => String::new(),
        };
        format!(
            "    let start = number * rows * columns;
    let height = rows - first;
    let lane = thread % 32u;
    let part = thread / 32u;
{load}    for (var e = thread; e < 1024u; e += 256u) {{ factor[e / 32u * {PITCH}u + e % 32u] = 0.0; }}
    workgroupBarrier();
    for (var j = {ZERO}; j < width; j++) {{
        var sum = 0.0;
        if (lane < span) {{
            for (var r = j + 1u + part; r < height; r += 8u) {{ sum += {r_j} * {r_lane}; }}
        }}
        parts[part * 32u + lane] = sum;
        workgroupBarrier();
        sum = 0.0;
        var square = 0.0;
        for (var k = 0u; k < 8u; k++) {{
            sum += parts[k * 32u + lane];
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
        if (lane < span) {{ of_row = {j_lane}; }}
        if (part == 0u) {{
            // vᵢ · vⱼ of the vectors before.
            if (lane < j) {{ products[lane] = scales[lane] * (of_row + scale * sum); }}
            if (lane == j) {{
                scales[j] = scale;
                diagonal[j] = beta;
                factor[j * {PITCH}u + j] = tau;
            }}
        }}
        {barrier}
        let weight = tau * (of_row + scale * sum);
        if (lane > j && lane < span) {{
            for (var r = j + 1u + part; r < height; r += 8u) {{ {r_lane} -= weight * scale * {r_j}; }}
            if (part == 0u) {{ {j_lane} = of_row - weight; }}
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
        work[start + (first + r) * columns + first + c] = value;
    }}
    let at = (number * panels + panel_number) * 1024u;
    for (var e = thread; e < 1024u; e += 256u) {{ factors[at + e] = factor[e / 32u * {PITCH}u + e % 32u]; }}
",
            r_j = cell("r", "j"),
            r_lane = cell("r", "lane"),
            j_j = cell("j", "j"),
            j_lane = cell("j", "lane"),
            r_c = cell("r", "c"),
        )
    })
}

/// What reflections are applied to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// (I − V T Vᵀ)ᵀ to the columns of the matrix that lie to the right of the panel.
    Rest,
    /// I − V T Vᵀ to Q.
    Basis,
}

/// Reflections of 32 columns from `from_column` on, of matrices that have `across` of them: X ← X − V (Tᵀ (Vᵀ X)), or with T.
fn apply(call: &StructuredCall, places: &Places, target: Target) -> Repeated {
    let numbers = [
        "count",
        "rows",
        "columns",
        "first",
        "width",
        "chunks",
        "panel_number",
        "panels",
        "across",
        "from_column",
    ];
    Repeated::new(call, &places.scratch, numbers, |shader| {
        shader.bind(Bound::Scratch(places.work), "work", "f32");
        shader.bind(Bound::ScratchRead(places.factors), "factors", "f32");
        let x = match target {
            Target::Rest => "work",
            Target::Basis => {
                shader.bind(Bound::Output(0), "basis", "f32");
                "basis"
            }
        };
        shader.share("vectors", "f32", PANEL * PITCH);
        shader.share("tile", "f32", PANEL * PITCH);
        shader.share("factor", "f32", PANEL * PITCH);
        let of_factor = match target {
            Target::Rest => format!("factor[k * {PITCH}u + i]"),
            Target::Basis => format!("factor[i * {PITCH}u + k]"),
        };
        let load_vectors = format!(
            "        for (var e = thread; e < 1024u; e += 256u) {{
            let r = e / 32u;
            let c = e % 32u;
            var value = 0.0;
            if (before + r < height && c < width) {{
                if (before + r > c) {{ value = work[start + (first + before + r) * columns + first + c]; }}
                if (before + r == c) {{ value = 1.0; }}
            }}
            vectors[r * {PITCH}u + c] = value;
        }}
"
        );
        format!(
            "    let matrix_number = number / chunks;
    let start = matrix_number * rows * columns;
    let height = rows - first;
    let column = from_column + number % chunks * 32u + thread % 32u;
    let of_target = matrix_number * rows * across + first * across + column;
    let lane = thread % 32u;
    let part = thread / 32u;
    for (var e = thread; e < 1024u; e += 256u) {{
        factor[e / 32u * {PITCH}u + e % 32u] = factors[(matrix_number * panels + panel_number) * 1024u + e];
    }}
    // Vᵀ X: rows `part`, `part` + 8, … of column `lane`.
    var sums = vec4<f32>();
    for (var before = {ZERO}; before < height; before += 32u) {{
{load_vectors}        for (var r = part; r < 32u; r += 8u) {{
            var value = 0.0;
            if (before + r < height && column < across) {{ value = {x}[of_target + (before + r) * across]; }}
            tile[r * {PITCH}u + lane] = value;
        }}
        workgroupBarrier();
        for (var r = 0u; r < 32u; r++) {{
            let at = r * {PITCH}u + part;
            let v = vec4<f32>(vectors[at], vectors[at + 8u], vectors[at + 16u], vectors[at + 24u]);
            sums = fma(v, vec4<f32>(tile[r * {PITCH}u + lane]), sums);
        }}
        workgroupBarrier();
    }}
    for (var k = 0u; k < 4u; k++) {{ tile[(part + 8u * k) * {PITCH}u + lane] = sums[k]; }}
    workgroupBarrier();
    var turned = vec4<f32>();
    for (var q = 0u; q < 4u; q++) {{
        let i = part + 8u * q;
        var sum = 0.0;
        for (var k = 0u; k < 32u; k++) {{ sum += {of_factor} * tile[k * {PITCH}u + lane]; }}
        turned[q] = sum;
    }}
    workgroupBarrier();
    for (var k = 0u; k < 4u; k++) {{ tile[(part + 8u * k) * {PITCH}u + lane] = turned[k]; }}
    for (var before = {ZERO}; before < height; before += 32u) {{
        workgroupBarrier();
{load_vectors}        workgroupBarrier();
        for (var r = part; r < 32u; r += 8u) {{
            if (before + r < height && column < across) {{
                var sum = 0.0;
                for (var k = 0u; k < 32u; k++) {{ sum += vectors[r * {PITCH}u + k] * tile[k * {PITCH}u + lane]; }}
                {x}[of_target + (before + r) * across] -= sum;
            }}
        }}
    }}
"
        )
    })
}

/// R with a diagonal that is not negative, and the identity with the signs that this takes, which becomes Q. A workgroup has a row of
/// each.
fn finish(call: &StructuredCall, places: &Places) -> Repeated {
    Repeated::new(call, &places.scratch, ["count", "rows", "columns", "width"], |shader| {
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
