//! The LU decomposition with partial pivoting. For each panel of 32 columns: one workgroup a matrix factors it, the rows it has
//! exchanged are exchanged in all other columns, what lies to the right of its triangle is solved for, and the rest is updated.
//!
//! Small matrices are factored as a whole (`small`). Low panels are factored in workgroup memory, others in strips of 8 columns, which threads hold in registers (`strips`), and those
//! higher than that where they lie. Exchanges are not made one after the other: which row stands in a place after all of them
//! is found by following them backwards (`origin`), and all rows are read at once, then written.

mod small;
mod strips;

use super::super::{Lu, SINGULAR, Sizes};
use super::strip::{Texts, Way};
use super::tiles::{Behind, Taken, Tiles};
use super::{PANEL, PITCH, Repeated, THREADS, check, panels};
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::ReduceKind;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Checked, Program};
use crate::shader::{Code, Fold, Shader, ZERO, fault};

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
    if n <= PANEL && m <= PANEL {
        return Ok(vec![small::program(op, sizes, call)]);
    }
    if n <= PANEL && m <= HELD {
        let panel = panel(op, call, &scratch, Way::Held, true);
        return Ok(vec![panel.with([batch, m, n, 0, sizes.least(), n])]);
    }
    let mut programs = vec![copy(call, &scratch).with([batch * m, n])];
    let mut texts = Texts::new(|way| panel(op, call, &scratch, way, false));
    let beside = beside(call, &scratch);
    let tiles = Tiles::new(call, &scratch, (m, n), Taken::Product, false);
    let chunks = n.div_ceil(PANEL) - 1;
    for (first, width) in panels(sizes) {
        let panel = texts.of(Way::of(m - first, HELD));
        programs.push(panel.with([batch, m, n, first, width, PANEL.min(n - first)]));
        if chunks > 0 {
            programs.push(beside.with([batch * chunks, m, n, first, width, chunks]));
        }
        let panel = (first, width);
        programs.extend(tiles.behind(Behind { batch, rows: m, columns: n, panel, direct: true }));
    }
    Ok(programs)
}

/// The numbers of the rows of matrices without columns.
fn in_order(call: &StructuredCall, scratch: &[u64]) -> Repeated {
    Repeated::new("lu order", call, scratch, ["count", "rows"], |shader| {
        shader.bind(Bound::Output(1), "order", "i32");
        format!(
            "    for (var r = {ZERO} + thread; r < rows; r += 256u) {{ order[number * rows + r] = i32(r); }}\n"
        )
    })
}

/// Copies the matrices, a row each workgroup.
fn copy(call: &StructuredCall, scratch: &[u64]) -> Repeated {
    Repeated::new("lu copy", call, scratch, ["count", "columns"], |shader| {
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

/// Which row of before stands in a place after the exchanges from `start` up to `end`, each of a row with that of its pivot.
const ORIGIN: &str = "
var<workgroup> pivots: array<u32, 32>;
fn origin(place: u32, start: u32, end: u32) -> u32 {
    var at = place;
    for (var k = end; k > start; k--) {
        let other = pivots[k - 1u];
        at = select(select(at, k - 1u, at == other), other, at == k - 1u);
    }
    return at;
}
";

/// Where the largest number of a column is: what a thread has taken in, and what the workgroup has.
struct Search {
    fold: Fold,
    join: String,
}

impl Search {
    fn new(shader: &mut Shader) -> Search {
        let fold = Fold::new(ReduceKind::ArgMax, DType::F32, "", shader);
        let join = shader.joined(std::slice::from_ref(&fold), THREADS);
        Search { fold, join }
    }

    /// Declares `pos`, which becomes the place of the largest of what `take` takes in.
    fn text(&self, take: impl FnOnce(&Fold, &mut Code)) -> String {
        let mut code = Code::new();
        self.fold.declare(&mut code);
        take(&self.fold, &mut code);
        format!("{}{}", code.text(), self.join)
    }
}

/// What the texts of all ways have in common.
struct Panel {
    search: Search,
    /// Of a pivot that is zero.
    fault: String,
}

impl Panel {
    /// Binds the memory of a panel.
    fn new(op: &Lu, call: &StructuredCall, from_input: bool, shader: &mut Shader) -> Panel {
        let mut fault_text = String::new();
        if let Some(op) = op.regular_for {
            fault_text = fault(&mut shader.params, call.node, "number");
            shader.checks = Some(Checked::Matrix { op, what: SINGULAR });
        }
        if from_input {
            shader.bind(Bound::Input(0), "source", "f32");
        }
        shader.bind(Bound::Output(0), "matrix", "f32");
        shader.bind(Bound::Output(1), "order", "i32");
        shader.bind(Bound::Scratch(0), "exchanged", "u32");
        if op.regular_for.is_some() {
            shader.bind_status();
        }
        shader.include(ORIGIN);
        Panel { search: Search::new(shader), fault: fault_text }
    }

    /// Writes down in which order rows stand after the panel's exchanges.
    fn finish(&self) -> String {
        format!(
            "    if (first == 0u) {{
        for (var r = {ZERO} + thread; r < rows; r += 256u) {{ order[number * rows + r] = i32(r); }}
    }}
    storageBarrier();
    workgroupBarrier();
    var moved = 0;
    var to = 0u;
    let is_moved = thread < 64u && thread % 32u < width;
    if (is_moved) {{
        to = select(pivots[thread % 32u], thread, thread < 32u);
        moved = order[number * rows + first + origin(to, 0u, width)];
    }}
    storageBarrier();
    workgroupBarrier();
    if (is_moved) {{ order[number * rows + first + to] = moved; }}
    if (thread < 32u) {{ exchanged[number * 32u + thread] = pivots[thread]; }}
"
        )
    }
}

/// Factors a panel. Where a matrix has fewer rows than columns, the last panel has columns beyond its `width` steps, up to its
/// `span`.
fn panel(op: &Lu, call: &StructuredCall, scratch: &[u64], way: Way, from_input: bool) -> Repeated {
    let numbers = ["count", "rows", "columns", "first", "width", "span"];
    Repeated::new("lu panel", call, scratch, numbers, |shader| {
        let panel = Panel::new(op, call, from_input, shader);
        let factored = match way {
            Way::Strips(slots) => strips::text(&panel, slots, shader),
            Way::Held => columns_text(&panel, true, from_input, shader),
            Way::InPlace => columns_text(&panel, false, from_input, shader),
        };
        let finished = panel.finish();
        format!(
            "    let start = (number * rows + first) * columns + first;
    let height = rows - first;
    if (thread < 32u) {{ pivots[thread] = thread; }}
{factored}{finished}"
        )
    })
}

/// Column by column, in workgroup memory (`held`) or where the panel lies.
///
/// Columns of L are divided by their pivots at the end, so that threads may read a column while others update the next ones.
fn columns_text(panel: &Panel, held: bool, from_input: bool, shader: &mut Shader) -> String {
    if held {
        shader.share("tile", "f32", HELD * PITCH);
    }
    let cell = |r: &str, c: &str| match held {
        true => format!("tile[({r}) * {PITCH}u + {c}]"),
        false => format!("matrix[start + ({r}) * columns + {c}]"),
    };
    let barrier = if held { "workgroupBarrier();" } else { "storageBarrier(); workgroupBarrier();" };
    let source = if from_input { "source" } else { "matrix" };
    let load = match held {
        true => format!(
            "    for (var e = thread; e < height * 32u; e += 256u) {{
        if (e % 32u < span) {{
            tile[e / 32u * {PITCH}u + e % 32u] = {source}[start + e / 32u * columns + e % 32u];
        }}
    }}
    workgroupBarrier();
"
        ),
        false => String::new(),
    };
    let search = panel.search.text(|fold, code| {
        code.open(format_args!("for (var r = j + thread; r < height; r += 256u) "));
        fold.take(&format!("abs({})", cell("r", "j")), "r", code);
        code.close();
    });
    format!(
        "{load}    for (var j = {ZERO}; j < width; j++) {{
{search}        if (thread < span) {{
            let upper = {j_thread};
            {j_thread} = {pos_thread};
            {pos_thread} = upper;
        }}
        if (thread == 0u) {{ pivots[j] = pos; }}
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
            {fault}
        }}
        {barrier}
    }}
    for (var e = thread; e < height * 32u; e += 256u) {{
        let r = e / 32u;
        let c = e % 32u;
        if (c >= span) {{ continue; }}
        var value = {rc};
        if (r > c) {{
            let pivot = {cc};
            if (pivot != 0.0) {{ value /= pivot; }}
        }}
        matrix[start + r * columns + c] = value;
    }}
",
        fault = panel.fault,
        rj = cell("r", "j"),
        rc = cell("r", "c"),
        cc = cell("c", "c"),
        jc = cell("j", "c"),
        jj = cell("j", "j"),
        j_thread = cell("j", "thread"),
        pos_thread = cell("pos", "thread"),
    )
}

/// Exchanges the panel's rows in 32 other columns; to the right of the panel, its rows become L⁻¹ times themselves.
fn beside(call: &StructuredCall, scratch: &[u64]) -> Repeated {
    let numbers = ["count", "rows", "columns", "first", "width", "chunks"];
    Repeated::new("lu exchange", call, scratch, numbers, |shader| {
        shader.bind(Bound::Output(0), "matrix", "f32");
        shader.bind(Bound::ScratchRead(0), "exchanged", "u32");
        shader.include(ORIGIN);
        shader.share("triangle", "f32", PANEL * PITCH);
        shader.share("tile", "f32", PANEL * PITCH);
        format!(
            "    let matrix_number = number / chunks;
    let start = matrix_number * rows * columns;
    var from_column = number % chunks * 32u;
    if (from_column >= first) {{ from_column += 32u; }}
    if (thread < 32u) {{ pivots[thread] = exchanged[matrix_number * 32u + thread]; }}
    workgroupBarrier();
    let c = thread % 32u;
    let part = thread / 32u;
    let at = start + first * columns + from_column + c;
    // A thread has four rows of the panel, and those that they are exchanged with.
    var uppers = vec4<f32>();
    var lowers = vec4<f32>();
    for (var q = 0u; q < 4u; q++) {{
        let k = part + 8u * q;
        if (k < width && from_column + c < columns) {{
            uppers[q] = matrix[at + origin(k, 0u, width) * columns];
            lowers[q] = matrix[at + origin(pivots[k], 0u, width) * columns];
        }}
    }}
    storageBarrier();
    workgroupBarrier();
    for (var q = 0u; q < 4u; q++) {{
        let k = part + 8u * q;
        if (k < width && from_column + c < columns) {{
            matrix[at + k * columns] = uppers[q];
            matrix[at + pivots[k] * columns] = lowers[q];
        }}
        tile[k * {PITCH}u + c] = uppers[q];
    }}
    if (from_column < first) {{ return; }}
    for (var e = thread; e < 1024u; e += 256u) {{
        let r = e / 32u;
        var of_triangle = 0.0;
        if (r < width && c < width) {{ of_triangle = matrix[start + (first + r) * columns + first + c]; }}
        triangle[r * {PITCH}u + c] = of_triangle;
    }}
    storageBarrier();
    workgroupBarrier();
    for (var j = {ZERO}; j < width; j++) {{
        for (var r = j + 1u + part; r < width; r += 8u) {{
            tile[r * {PITCH}u + c] -= triangle[r * {PITCH}u + j] * tile[j * {PITCH}u + c];
        }}
        workgroupBarrier();
    }}
    for (var k = part; k < width; k += 8u) {{
        if (from_column + c < columns) {{ matrix[at + k * columns] = tile[k * {PITCH}u + c]; }}
    }}
"
        )
    })
}
