//! The update of what lies behind a panel: a product of two of its parts is taken away, tile by tile.

use super::{PANEL, Repeated};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use std::fmt::Write;

/// Numbers of the depth that are in workgroup memory at once.
const DEPTH: usize = 16;
/// Rows and columns from which tiles are large.
const LARGE: usize = 256;

/// What is taken away from the matrix C behind a panel, whose columns below it are P.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// P Pᵀ, from the lower triangle alone. The panel's own triangle is put into its place from a scratch buffer.
    Symmetric,
    /// P U, where U lies to the right of the panel.
    Product,
}

/// C ← C − P U, or C − P Pᵀ, in the first output.
pub(super) struct Tiles {
    text: Repeated,
    /// Rows and columns of a tile.
    tile: usize,
}

/// Where a panel lies.
#[derive(Clone, Copy)]
pub(super) struct Behind {
    pub batch: usize,
    pub rows: usize,
    pub columns: usize,
    /// The panel's first column and its width.
    pub panel: (usize, usize),
    /// Is the panel's triangle in its place already?
    pub direct: bool,
}

impl Tiles {
    /// `from_input`: C is read from the first input.
    pub fn new(
        call: &StructuredCall,
        scratch: &[u64],
        sizes: (usize, usize),
        taken: Taken,
        from_input: bool,
    ) -> Tiles {
        let tile = if sizes.0.min(sizes.1) >= LARGE { 64 } else { 32 };
        let each = tile / 16;
        let numbers = ["count", "rows", "columns", "first", "width", "tiles_down", "tiles_across", "direct"];
        let part = match taken {
            Taken::Symmetric => "cholesky update",
            Taken::Product => "lu update",
        };
        let text = Repeated::new(part, call, scratch, numbers, |shader| {
            if from_input {
                shader.bind(Bound::Input(0), "source", "f32");
            }
            shader.bind(Bound::Output(0), "matrix", "f32");
            if taken == Taken::Symmetric {
                shader.bind(Bound::ScratchRead(0), "triangle", "f32");
            }
            shader.share("left", "f32", tile * (DEPTH + 1));
            shader.share("right", "f32", tile * (DEPTH + 1));
            let right = match taken {
                Taken::Symmetric => "(from_column + r) * columns + first + k",
                Taken::Product => "(first + k) * columns + from_column + r",
            };
            // Threads read along memory.
            let split = match taken {
                Taken::Symmetric => format!("let r = e / {DEPTH}u; let d = e % {DEPTH}u;"),
                Taken::Product => format!("let r = e % {tile}u; let d = e / {tile}u;"),
            };
            let mut body = String::from(
                "    let across = number % tiles_across;
    let down = number / tiles_across % tiles_down;
    let matrix_number = number / tiles_across / tiles_down;
    let start = matrix_number * rows * columns;
",
            );
            if taken == Taken::Symmetric {
                body += "    if (across > down) { return; }
    if (across + down == 0u && direct == 0u) {
        for (var e = thread; e < 1024u; e += 256u) {
            matrix[start + (first + e / 32u) * columns + first + e % 32u] = triangle[matrix_number * 1024u + e];
        }
    }
";
            }
            _ = write!(
                body,
                "    let from_row = first + width + down * {tile}u;
    let from_column = first + width + across * {tile}u;
    let y = thread / 16u;
    let x = thread % 16u;
"
            );
            let cells: Vec<(usize, usize)> = (0..each * each).map(|e| (e / each, e % each)).collect();
            cells.iter().for_each(|(i, j)| _ = writeln!(body, "    var sum{i}{j} = 0.0;"));
            _ = write!(
                body,
                "    for (var depth = 0u; depth < {PANEL}u; depth += {DEPTH}u) {{
        for (var e = thread; e < {count}u; e += 256u) {{
            let r = e / {DEPTH}u;
            let d = e % {DEPTH}u;
            var value = 0.0;
            if (from_row + r < rows && depth + d < width) {{
                value = matrix[start + (from_row + r) * columns + first + depth + d];
            }}
            left[r * {pitch}u + d] = value;
        }}
        for (var e = thread; e < {count}u; e += 256u) {{
            {split}
            let k = depth + d;
            var value = 0.0;
            if (from_column + r < columns && k < width) {{ value = matrix[start + {right}]; }}
            right[r * {pitch}u + d] = value;
        }}
        workgroupBarrier();
        for (var d = 0u; d < {DEPTH}u; d++) {{
",
                count = tile * DEPTH,
                pitch = DEPTH + 1,
            );
            for i in 0..each {
                _ = writeln!(body, "            let a{i} = left[(y + {}u) * {}u + d];", 16 * i, DEPTH + 1);
                _ = writeln!(body, "            let b{i} = right[(x + {}u) * {}u + d];", 16 * i, DEPTH + 1);
            }
            cells.iter().for_each(|(i, j)| {
                _ = writeln!(body, "            sum{i}{j} = fma(a{i}, b{j}, sum{i}{j});");
            });
            body += "        }\n        workgroupBarrier();\n    }\n";
            let source = if from_input { "source" } else { "matrix" };
            for (i, j) in cells {
                _ = write!(
                    body,
                    "    if (from_row + y + {down}u < rows && from_column + x + {across}u < columns) {{
        let at = start + (from_row + y + {down}u) * columns + from_column + x + {across}u;
        matrix[at] = {source}[at] - sum{i}{j};
    }}
",
                    down = 16 * i,
                    across = 16 * j,
                );
            }
            body
        });
        Tiles { text, tile }
    }

    /// The update behind a panel; nothing where nothing lies there.
    pub fn behind(&self, at: Behind) -> Option<Program> {
        let (first, width) = at.panel;
        let tiles = |size: usize| (size - first - width).div_ceil(self.tile);
        let (down, across) = (tiles(at.rows), tiles(at.columns));
        let count = at.batch * down * across;
        let numbers = [count, at.rows, at.columns, first, width, down, across, usize::from(at.direct)];
        (count > 0).then(|| self.text.with(numbers))
    }
}
