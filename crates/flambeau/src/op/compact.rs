//! Matrix products by a short shader: the first text of products and convolutions on devices where compiling is what a first
//! step waits for (browsers). It serves all sizes, whatever divides them, so that a batch of another size needs none that is
//! new. It is also slower than the others, and gives way to the specialised text once a plan is hot.
//!
//! A workgroup makes 32 × 32 results. Each round it brings a few steps of the depth of both operands to workgroup memory,
//! element by element, and every thread adds the products of its 4 × 4 results, step by step:
//!
//! ```text
//! lines of A  (steps, 8) of vec4        C tile = Σ over k: A[k, rows] ⊗ B[k, columns]
//! lines of B  (steps, 8) of vec4
//! ```
//!
//! With slices, groups of 64 threads take 16 steps of a round each, and their sums are added up in order at the end: as
//! `matmul::tiled` does it. The order of sums is that of the text that takes over, so that nobody sees when it does. Loops begin
//! at a zero that no compiler knows: none unrolls them, and what they call is in the shader once.

use crate::ir::program::Program;
use crate::shader::{Entry, Shader, ZERO};

/// Rows and columns of results of a workgroup.
const TILE: usize = 32;
/// Steps of the depth that a slice takes in a round.
const STEPS: usize = 16;
/// Threads of a slice: 8 × 8, of 4 × 4 results each.
const THREADS: usize = 64;
/// Elements of each operand that a thread brings in a round.
const LOADS: usize = TILE * STEPS / THREADS;

/// How a thread finds the elements that it brings of one operand, in WGSL.
///
/// The left one's are at `row` and `left_step`, the right one's at `column` and `right_step`: numbers of the whole product.
/// They may be beyond the end. What is found there is never used, but must be in memory.
pub(super) struct Side {
    /// Do neighbouring threads bring neighbours along the depth? Else along rows or columns.
    pub along_depth: bool,
    /// Lines that need only what is the same for all elements of a thread: the row or column, or, along the depth, the step.
    pub known: String,
    /// The element.
    pub element: String,
}

/// What is multiplied, in WGSL.
pub(super) struct Product {
    /// Rows and columns of results, and how many such products there are.
    pub sizes: [usize; 3],
    /// Lines that say from which step, `first`, to which, `end`, the depth of product number `product` goes, and whatever
    /// the sides and the target name.
    pub begin: String,
    pub left: Side,
    pub right: Side,
    /// The number of the result at `row` and `column`.
    pub target: String,
    /// Groups of threads that share the depth of a round.
    pub slices: usize,
}

/// WGSL of how one operand comes to workgroup memory.
struct Loads {
    /// Before the rounds, and before the elements of a round.
    once: String,
    a_round: String,
    /// Element number `i` of a thread.
    each: String,
}

impl Side {
    /// `x` is the name of the row or column, `origin` that of the tile's first; its lines begin at `lines`.
    fn loads(&self, [x, step, origin]: [&str; 3], lines: usize, slices: usize) -> Loads {
        let Side { along_depth, known, element } = self;
        let threads = THREADS * slices;
        let (fixed, length) = if *along_depth { (step, STEPS * slices) } else { (x, TILE) };
        let (here, others) = (format!("{fixed}_here"), threads / length);
        let once = format!("    let {here} = thread % {length}u;\n");
        let moving = format!("thread / {length}u + i * {others}u");
        let store = |x_here: &str, line: &str| {
            format!(
                "            lines[{lines}u + {line} * 8u + (({x_here} / 4u) ^ ({line} % 8u))][{x_here} % 4u] = {element};\n"
            )
        };
        match along_depth {
            true => Loads {
                once,
                a_round: format!("        let {step} = k0 + {here};\n{known}"),
                each: format!(
                    "            let {x}_here = {moving};\n            let {x} = {origin} + {x}_here;\n{}",
                    store(&format!("{x}_here"), &here)
                ),
            },
            false => Loads {
                once: format!("{once}    let {x} = {origin} + {here};\n{known}"),
                a_round: String::new(),
                each: format!(
                    "            let {step}_here = {moving};\n            let {step} = k0 + {step}_here;\n{}",
                    store(&here, &format!("{step}_here"))
                ),
            },
        }
    }
}

/// Finishes a shader that hands on results one by one.
pub(super) fn finish(mut shader: Shader, product: &Product) -> Program {
    let Product { sizes: [rows, columns, products], begin, left, right, target, slices } = product;
    let (down, across) = (rows.div_ceil(TILE), columns.div_ceil(TILE));
    let tiles = down * across * products;
    let [tiles_there, tiles_down, tiles_across, all_rows, all_columns] =
        [tiles, down, across, *rows, *columns].map(|size| shader.params.size(size));
    let lines = STEPS * slices * TILE / 4;
    shader.share("lines", "vec4<f32>", 2 * lines);
    shader.specialise = true;
    let of_left = left.loads(["row", "left_step", "row0"], 0, *slices);
    let of_right = right.loads(["column", "right_step", "column0"], lines, *slices);
    let body = format!(
        "    let column0 = tile % {tiles_across} * {TILE}u;
    let row0 = tile / {tiles_across} % {tiles_down} * {TILE}u;
    let product = tile / {tiles_across} / {tiles_down};
{begin}    let slice = thread / {THREADS}u;
    let row_thread = thread % {THREADS}u / 8u;
    let column_thread = thread % 8u;
{once_left}{once_right}    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var k0 = first; k0 < end; k0 += {depth}u) {{
{round_left}{round_right}        for (var i = {ZERO}; i < {LOADS}u; i++) {{
{each_left}{each_right}        }}
        workgroupBarrier();
        let last = min((slice + 1u) * {STEPS}u, end - k0);
        for (var line = slice * {STEPS}u + {ZERO}; line < last; line++) {{
            let a = lines[line * 8u + (row_thread ^ (line % 8u))];
            let b = lines[{lines}u + line * 8u + (column_thread ^ (line % 8u))];
            sum0 = fma(vec4<f32>(a.x), b, sum0);
            sum1 = fma(vec4<f32>(a.y), b, sum1);
            sum2 = fma(vec4<f32>(a.z), b, sum2);
            sum3 = fma(vec4<f32>(a.w), b, sum3);
        }}
        workgroupBarrier();
    }}
    var results = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
{join}    for (var r = {ZERO}; r < 4u; r++) {{
        let row = row0 + row_thread * 4u + r;
        for (var c = {ZERO}; c < 4u; c++) {{
            let column = column0 + column_thread * 4u + c;
            if (row < {all_rows} && column < {all_columns}) {{ put({target}, results[r][c]); }}
        }}
    }}
",
        once_left = of_left.once,
        once_right = of_right.once,
        round_left = of_left.a_round,
        round_right = of_right.a_round,
        each_left = of_left.each,
        each_right = of_right.each,
        depth = STEPS * slices,
        join = if *slices > 1 { join(*slices) } else { String::new() },
    );
    shader.finish(&Entry::workgroups("tile", tiles, &tiles_there, THREADS * slices), &body)
}

/// Adds up the slices' results, in order; then there is one slice.
fn join(slices: usize) -> String {
    format!(
        "    for (var r = {ZERO}; r < 4u; r++) {{ lines[thread * 4u + r] = results[r]; }}
    workgroupBarrier();
    if (slice > 0u) {{ return; }}
    for (var other = 1u + {ZERO}; other < {slices}u; other++) {{
        for (var r = {ZERO}; r < 4u; r++) {{ results[r] += lines[(other * {THREADS}u + thread) * 4u + r]; }}
    }}
"
    )
}
