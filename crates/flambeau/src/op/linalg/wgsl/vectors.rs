//! Eigenvectors and singular vectors: what Jacobi's rotations leave, put in order.

use super::super::Sizes;
use super::jacobi::{Jacobi, STACK, STATES, Sides};
use super::qr::{self, Places};
use super::{PANEL, Repeated};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::shader::ZERO;

/// The scratch buffers after those of the rotations: the numbers that vectors are put in order by, and what QR needs.
const KEYS: usize = STATES + 1;
const WORK: usize = KEYS + 1;
const FACTORS: usize = WORK + 1;
const SUMS: usize = FACTORS + 1;

/// w and V of symmetric matrices.
pub(in super::super) fn eigh(sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
    let Sizes { batch, rows: n, .. } = sizes;
    if batch * n == 0 {
        return Ok(Vec::new());
    }
    let mut jacobi = Jacobi::new(sizes, Sides::Two, call)?;
    jacobi.scratch.push(4 * (batch * n) as u64);
    let mut programs = jacobi.programs();
    let chunks = n.div_ceil(PANEL);
    programs.push(keys(&jacobi).with([batch * chunks, n, n, chunks]));
    programs.push(arrange(&jacobi).with([batch * chunks, n, n, chunks]));
    Ok(programs)
}

/// U, s and Vᵀ of matrices that have as many rows as columns, or more.
///
/// The columns u σ are orthogonal as far as they are not small; Q of their decomposition is U, and orthogonal always.
pub(in super::super) fn svd(sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
    let Sizes { batch, rows: m, columns: n } = sizes;
    if batch * n == 0 {
        return Ok(Vec::new());
    }
    let mut jacobi = Jacobi::new(sizes, Sides::One, call)?;
    let panels = n.div_ceil(PANEL);
    let words = [batch * n, batch * m * n, batch * panels * PANEL * PANEL, qr::sums_words(sizes, n)];
    jacobi.scratch.extend(words.map(|words| 4 * words as u64));
    let mut programs = jacobi.programs();
    programs.push(keys(&jacobi).with([batch * panels, m, n, panels]));
    programs.push(arrange(&jacobi).with([batch * panels, m, n, panels]));
    let scratch = jacobi.scratch.clone();
    let places = Places { work: WORK, factors: FACTORS, sums: SUMS, whole: false, scratch };
    programs.extend(qr::decompose(sizes, n, call, &places));
    Ok(programs)
}

/// Eigenvalues, or the squares of singular values: 32 columns a workgroup.
fn keys(jacobi: &Jacobi) -> Repeated {
    Repeated::new(
        "jacobi keys",
        jacobi.call,
        &jacobi.scratch,
        ["count", "rows", "columns", "chunks"],
        |shader| {
            shader.bind(Bound::ScratchRead(STACK), "stack", "f32");
            shader.bind(Bound::Scratch(KEYS), "keys", "f32");
            shader.share("parts", "f32", 8 * PANEL);
            let key = match jacobi.sides {
                Sides::Two => "    if (part == 0u && column < columns) {
        keys[matrix_number * columns + column] = stack[start + column * columns + column];
    }
"
                .to_owned(),
                Sides::One => format!(
                    "    var sum = 0.0;
    if (column < columns) {{
        for (var r = {ZERO} + part; r < rows; r += 8u) {{
            let value = stack[start + r * columns + column];
            sum = fma(value, value, sum);
        }}
    }}
    parts[part * 32u + lane] = sum;
    workgroupBarrier();
    if (part == 0u && column < columns) {{
        for (var k = 1u; k < 8u; k++) {{ sum += parts[k * 32u + lane]; }}
        keys[matrix_number * columns + column] = sum;
    }}
"
                ),
            };
            format!("{COLUMN}{key}")
        },
    )
}

/// Which matrix and column a thread has.
const COLUMN: &str = "    let matrix_number = number / chunks;
    let start = matrix_number * (rows + columns) * columns;
    let part = thread / 32u;
    let lane = thread % 32u;
    let column = number % chunks * 32u + lane;
";

/// Puts values and vectors in order: eigenvalues increase, singular values decrease. A column's place is how many come before it.
fn arrange(jacobi: &Jacobi) -> Repeated {
    Repeated::new(
        "jacobi arrange",
        jacobi.call,
        &jacobi.scratch,
        ["count", "rows", "columns", "chunks"],
        |shader| {
            shader.bind(Bound::ScratchRead(STACK), "stack", "f32");
            shader.bind(Bound::ScratchRead(KEYS), "keys", "f32");
            shader.bind(Bound::ScratchRead(STATES), "states", "u32");
            let (values, vectors) = match jacobi.sides {
                Sides::Two => (0, 1),
                Sides::One => (1, 2),
            };
            shader.bind(Bound::Output(values), "values", "f32");
            shader.bind(Bound::Output(vectors), "vectors", "f32");
            let (before, value, rest) = match jacobi.sides {
            Sides::Two => (
                "other < own",
                "own",
                "        vectors[(matrix_number * columns + r) * columns + place] = stack[start + (rows + r) * columns + column];
",
            ),
            Sides::One => {
                shader.bind(Bound::Scratch(WORK), "work", "f32");
                (
                    "other > own",
                    "sqrt(own)",
                    "        vectors[(matrix_number * columns + place) * columns + r] = stack[start + (rows + r) * columns + column];
",
                )
            }
        };
            let columns_of_work = match jacobi.sides {
                Sides::Two => String::new(),
                Sides::One => format!(
                    "    for (var r = {ZERO} + part; r < rows; r += 8u) {{
        work[(matrix_number * rows + r) * columns + place] = stack[start + r * columns + column];
    }}
"
                ),
            };
            shader.share("parts", "u32", 8 * PANEL);
            format!(
                "{COLUMN}    var own = 0.0;
    var count_before = 0u;
    if (column < columns) {{
        own = keys[matrix_number * columns + column];
        for (var c = {ZERO} + part; c < columns; c += 8u) {{
            let other = keys[matrix_number * columns + c];
            if ({before} || (other == own && c < column)) {{ count_before++; }}
        }}
    }}
    parts[part * 32u + lane] = count_before;
    workgroupBarrier();
    if (column >= columns) {{ return; }}
    var place = 0u;
    for (var k = 0u; k < 8u; k++) {{ place += parts[k * 32u + lane]; }}
    if (part == 0u) {{
        values[matrix_number * columns + place] = {value} * bitcast<f32>(states[4u * matrix_number]);
    }}
    for (var r = {ZERO} + part; r < columns; r += 8u) {{
{rest}    }}
{columns_of_work}"
            )
        },
    )
}
