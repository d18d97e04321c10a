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
//! `matmul::tiled` does it. The order of sums is that of the text that takes over, so that nobody sees when it does. How many
//! slices there are, and along which side neighbouring threads read neighbours, are numbers where they differ from product to
//! product, so that one text is enough. Loops begin at a zero that no compiler knows: none unrolls them, and what they call is
//! in the shader once.

use crate::ir::program::Program;
use crate::shader::{Entry, Params, Shader, ZERO};

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
    pub order: Order,
    /// The element.
    pub element: String,
}

/// Which neighbours neighbouring threads bring.
pub(super) enum Order {
    /// Neighbours along the depth, after lines that need only the step.
    AlongDepth(String),
    /// Neighbours along rows or columns, after lines that need only the row or column.
    Across(String),
    /// A number of the block says whether they are neighbours along the depth.
    Told(bool),
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
    /// Groups of threads that share the depth of a round, and how many a workgroup has room for.
    pub slices: usize,
    pub most_slices: usize,
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
    fn loads(&self, [x, step, origin]: [&str; 3], lines: usize, slices: usize, params: &mut Params) -> Loads {
        let Side { order, element } = self;
        // Threads that follow each other, and how many such lines of threads there are.
        let length = |along_depth: bool| if along_depth { STEPS * slices } else { TILE };
        let others = |along_depth: bool| THREADS * slices / length(along_depth);
        let store = format!(
            "            lines[{lines}u + {step}_here * 8u + (({x}_here / 4u) ^ ({step}_here % 8u))][{x}_here % 4u] = {element};\n"
        );
        match order {
            Order::AlongDepth(known) => Loads {
                once: format!("    let {step}_here = thread % {}u;\n", length(true)),
                a_round: format!("        let {step} = k0 + {step}_here;\n{known}"),
                each: format!(
                    "            let {x}_here = thread / {}u + i * {}u;
            let {x} = {origin} + {x}_here;
{store}",
                    length(true),
                    others(true)
                ),
            },
            Order::Across(known) => Loads {
                once: format!(
                    "    let {x}_here = thread % {TILE}u;\n    let {x} = {origin} + {x}_here;\n{known}"
                ),
                a_round: String::new(),
                each: format!(
                    "            let {step}_here = thread / {TILE}u + i * {}u;
            let {step} = k0 + {step}_here;
{store}",
                    others(false)
                ),
            },
            Order::Told(along_depth) => {
                let [length, others, along_depth] =
                    [length(*along_depth), others(*along_depth), usize::from(*along_depth)]
                        .map(|number| params.size(number));
                Loads {
                    once: format!(
                        "    let {x}_fixed = thread % {length};\n    let {x}_first = thread / {length};\n"
                    ),
                    a_round: String::new(),
                    each: format!(
                        "            let {x}_moving = {x}_first + i * {others};
            let {x}_here = select({x}_fixed, {x}_moving, {along_depth} == 1u);
            let {step}_here = select({x}_moving, {x}_fixed, {along_depth} == 1u);
            let {x} = {origin} + {x}_here;
            let {step} = k0 + {step}_here;
{store}"
                    ),
                }
            }
        }
    }
}

/// Finishes a shader that hands on results one by one.
pub(super) fn finish(mut shader: Shader, product: &Product) -> Program {
    let Product { sizes: [rows, columns, products], begin, left, right, target, slices, most_slices } =
        product;
    let (down, across) = (rows.div_ceil(TILE), columns.div_ceil(TILE));
    let tiles = down * across * products;
    let params = &mut shader.params;
    let [tiles_there, tiles_down, tiles_across, all_rows, all_columns] =
        [tiles, down, across, *rows, *columns].map(|size| params.size(size));
    let lines = STEPS * most_slices * TILE / 4;
    let of_left = left.loads(["row", "left_step", "row0"], 0, *slices, params);
    let of_right = right.loads(["column", "right_step", "column0"], lines, *slices, params);
    let teams = Slices::new(*slices, *most_slices, params);
    shader.share("lines", "vec4<f32>", 2 * lines);
    shader.specialise = true;
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
    for (var k0 = first; k0 < end; k0 += {depth}) {{
{round_left}{round_right}        for (var i = {ZERO}; i < {loads}; i++) {{
{each_left}{each_right}        }}
        workgroupBarrier();
        let last = {last};
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
        depth = teams.depth,
        loads = teams.loads,
        last = teams.last,
        join = teams.join,
    );
    shader.finish(&Entry::workgroups("tile", tiles, &tiles_there, THREADS * most_slices), &body)
}

/// WGSL of what slices do; where a workgroup has room for several, their number is one of the block's.
struct Slices {
    /// Steps of a round.
    depth: String,
    /// Elements of each operand that a thread brings in a round.
    loads: String,
    /// The end of the lines that are a slice's.
    last: String,
    /// Adds up the slices' results, in order; then there is one slice.
    join: String,
}

impl Slices {
    fn new(slices: usize, most: usize, params: &mut Params) -> Slices {
        let last = format!("min((slice + 1u) * {STEPS}u, end - k0)");
        if most == 1 {
            return Slices {
                depth: format!("{STEPS}u"),
                loads: format!("{LOADS}u"),
                last,
                join: String::new(),
            };
        }
        let [count, depth] = [slices, STEPS * slices].map(|number| params.size(number));
        Slices {
            depth,
            loads: format!("select(0u, {LOADS}u, slice < {count})"),
            last: format!("select(0u, {last}, slice < {count})"),
            join: format!(
                "    for (var r = {ZERO}; r < 4u; r++) {{ lines[thread * 4u + r] = results[r]; }}
    workgroupBarrier();
    if (slice > 0u) {{ return; }}
    for (var other = 1u + {ZERO}; other < {count}; other++) {{
        for (var r = {ZERO}; r < 4u; r++) {{ results[r] += lines[(other * {THREADS}u + thread) * 4u + r]; }}
    }}
"
            ),
        }
    }
}
