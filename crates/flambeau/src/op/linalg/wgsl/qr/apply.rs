//! What the reflections of a panel do to other columns: X ← X − V (Tᵀ (Vᵀ X)), or with T.
//!
//! A workgroup has 32 columns. Where they are high, several share them, 128 rows each: one program finds Vᵀ X of the parts, another adds
//! these up and does the rest.

use super::super::{PANEL, PITCH, Repeated};
use super::{Places, Sizes};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::shader::ZERO;

/// Rows of a workgroup that shares its columns with others.
const PART: usize = 128;

/// What reflections are applied to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// (I − V T Vᵀ)ᵀ to the columns of the matrix that lie to the right of the panel.
    Rest,
    /// I − V T Vᵀ to Q.
    Basis,
}

/// What of it a program does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Whole,
    /// Vᵀ X of a part.
    Weigh,
    /// The sum of all parts, times T and V.
    Spread,
}

/// Numbers in the scratch buffer that parts are handed on in.
pub(super) fn sums_words(batch: usize, rows: usize, columns: usize) -> usize {
    match rows.div_ceil(PART) {
        0 | 1 => 1,
        parts => batch * columns.div_ceil(PANEL).max(1) * parts * PANEL * PANEL,
    }
}

/// The texts of a target.
pub(super) struct Apply {
    whole: Repeated,
    weigh: Repeated,
    spread: Repeated,
}

impl Apply {
    pub fn new(call: &StructuredCall, places: &Places, target: Target) -> Apply {
        let [whole, weigh, spread] =
            [Stage::Whole, Stage::Weigh, Stage::Spread].map(|stage| text(call, places, target, stage));
        Apply { whole, weigh, spread }
    }

    /// The reflections of the panel (its number, first column and width) applied to the columns from one up to another.
    pub fn programs(
        &self,
        sizes: Sizes,
        (number, first, width): (usize, usize, usize),
        (begin, end): (usize, usize),
    ) -> Vec<Program> {
        let Sizes { batch, rows: m, columns: n } = sizes;
        let (chunks, parts) = ((end - begin).div_ceil(PANEL), (m - first).div_ceil(PART));
        let count = super::panels(sizes).len();
        let with = |text: &Repeated, parts: usize, rows: usize| {
            let groups = batch * chunks * parts;
            text.with([groups, m, n, first, width, chunks, number, count, end, begin, parts, rows])
        };
        match (chunks, parts) {
            (0, _) => Vec::new(),
            (_, 1) => vec![with(&self.whole, 1, m - first)],
            _ => vec![with(&self.weigh, parts, PART), with(&self.spread, parts, PART)],
        }
    }
}

/// 32 columns from `from_column` on, of matrices that have `across` of them.
fn text(call: &StructuredCall, places: &Places, target: Target, stage: Stage) -> Repeated {
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
        "row_parts",
        "rows_of_part",
    ];
    let name = match (target, stage) {
        (Target::Rest, Stage::Weigh) => "qr update, sums",
        (Target::Rest, _) => "qr update",
        (Target::Basis, Stage::Weigh) => "qr basis, sums",
        (Target::Basis, _) => "qr basis",
    };
    Repeated::new(name, call, &places.scratch, numbers, |shader| {
        shader.bind(Bound::Scratch(places.work), "work", "f32");
        if stage != Stage::Weigh {
            shader.bind(Bound::ScratchRead(places.factors), "factors", "f32");
            shader.share("factor", "f32", PANEL * PITCH);
        }
        match stage {
            Stage::Whole => {}
            Stage::Weigh => shader.bind(Bound::Scratch(places.sums), "sums_of_parts", "f32"),
            Stage::Spread => shader.bind(Bound::ScratchRead(places.sums), "sums_of_parts", "f32"),
        }
        let x = match target {
            Target::Rest => "work",
            Target::Basis => {
                shader.bind(Bound::Output(0), "basis", "f32");
                "basis"
            }
        };
        shader.share("vectors", "f32", PANEL * PITCH);
        shader.share("tile", "f32", PANEL * PITCH);
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
        let weigh = format!(
            "    for (var before = begin; before < end; before += 32u) {{
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
"
        );
        let spread = format!(
            "    for (var e = thread; e < 1024u; e += 256u) {{
        factor[e / 32u * {PITCH}u + e % 32u] = factors[(matrix_number * panels + panel_number) * 1024u + e];
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
    for (var before = begin; before < end; before += 32u) {{
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
        );
        let work = match stage {
            Stage::Whole => weigh + &spread,
            Stage::Weigh => {
                weigh
                    + "    for (var k = 0u; k < 4u; k++) { sums_of_parts[number * 1024u + (part + 8u * k) * 32u + lane] = sums[k]; }\n"
            }
            Stage::Spread => {
                format!(
                    "    for (var p = {ZERO}; p < row_parts; p++) {{
        let at = ((matrix_number * chunks + chunk) * row_parts + p) * 1024u + part * 32u + lane;
        sums += vec4<f32>(sums_of_parts[at], sums_of_parts[at + 256u], sums_of_parts[at + 512u], sums_of_parts[at + 768u]);
    }}
{spread}"
                )
            }
        };
        format!(
            "    let row_part = number % row_parts;
    let chunk = number / row_parts % chunks;
    let matrix_number = number / row_parts / chunks;
    let start = matrix_number * rows * columns;
    let height = rows - first;
    let begin = {ZERO} + row_part * rows_of_part;
    let end = min(height, begin + rows_of_part);
    let lane = thread % 32u;
    let part = thread / 32u;
    let column = from_column + chunk * 32u + lane;
    let of_target = matrix_number * rows * across + first * across + column;
    // Vᵀ X: rows `part`, `part` + 8, … of column `lane`.
    var sums = vec4<f32>();
{work}"
        )
    })
}
