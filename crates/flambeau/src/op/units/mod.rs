//! The tile loop of products on matrix units, for whatever multiplies matrices.
//!
//! C (rows, columns) = A (rows, K) · B (K, columns). A workgroup makes one tile of C, each of its subgroups a part of that in
//! squares of 16 × 16. A round brings `DEPTH` steps of K to workgroup memory as f16, while the numbers of the next round are
//! on their way to registers. The op says where elements lie, by functions of WGSL:
//!
//! ```text
//! place_a(x) -> P          what is to be known of row x of A: computed once
//! four_a(P, k, end)        four elements from there on, along K or across, as f32; zero from step `end` on
//! whole_a(P, k)            the same where they are known to lie before the end: loads that wait for no comparison
//! place_b(x), four_b, …    the same for columns of B
//! ```
//!
//! **f32 as f16** (`Precision::Highest`). A number x is hi + lo: hi is x rounded to 11 bits, lo the rest in 11 bits, and
//! A·B ≈ hi·lo + lo·hi + hi·hi. f16 has few exponents, so rows of A and columns of B are first multiplied by powers of two
//! that take their largest elements to 2¹⁴ and are taken out of the results; `exponents` finds them. What is lost of an element is
//! then at most 2⁻²³ of itself or 2⁻³⁹ of the largest of its row (column), and of a product lo·lo, at most 2⁻²² of it.
//!
//! Matrix units cut their sums off where f32 arithmetic rounds, and the errors of many steps would all point to zero. So a
//! round's products have sums of their own, small ones first, and these are added to the whole by f32 arithmetic: on an H200
//! the error is then below that of a loop over fma (2026-11-17, `flambeau bench matmul --sizes 4096`, the largest: 3.2e-8, plain 1.7e-7).
//!
//! A tile with an infinity or a NaN in its operands is made by plain f32 arithmetic (`Precision::High` has one product, and
//! needs no such way). Both ways have one order of sums, whatever the tile and the tier.

mod exponents;
mod spelling;
#[cfg(test)]
mod tests;

pub(super) use exponents::{Exponents, Lines};
use spelling::Spelling;

use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::{Precision, UnitKind};
use crate::shader::Shader;
use std::fmt::Write;

/// Steps of K per round.
pub(super) const DEPTH: usize = 32;
/// Rows and columns of what a matrix unit multiplies.
const SQUARE: usize = 16;
/// Threads of a subgroup.
const LANES: usize = 32;
/// Numbers between lines of workgroup memory, so that eight lines begin at different banks.
const GAP: usize = 8;

/// Rows and columns of the tile of C that a workgroup makes. On an H200 (2026-11-17; products of 1024 and 4096, TFLOP/s) this one
/// reached 48 and 72, one of 64 × 64 37 and 41; one of 128 × 128, by subgroups of 64 × 32, took the driver more than seven
/// seconds to compile.
pub(super) const TILE: [usize; 2] = [128, 64];
/// Those of each subgroup.
const OF_SUBGROUP: [usize; 2] = [32, 32];
/// Subgroups of a workgroup that lie abreast, and all of them.
const ABREAST: usize = TILE[1] / OF_SUBGROUP[1];
const SUBGROUPS: usize = TILE[0] / OF_SUBGROUP[0] * ABREAST;
/// Threads of a workgroup.
pub(super) const THREADS: usize = SUBGROUPS * LANES;
/// Squares of a subgroup, down and across.
const SQUARES: [usize; 2] = [OF_SUBGROUP[0] / SQUARE, OF_SUBGROUP[1] / SQUARE];
/// Vectors of four from line to line of the memory that results go through.
const STRIP_PITCH: usize = OF_SUBGROUP[1] / 4 + 1;

/// What the functions of operands know of the workgroup they run in: where its tile begins, and whose it is.
pub(super) const KNOWN: &str = "
var<private> row0: u32;
var<private> column0: u32;
var<private> this_batch: u32;
var<private> zero: u32;
";

/// Steps of K of each of a number of parts: whole rounds.
pub(super) fn part_length(k: usize, parts: usize) -> usize {
    k.div_ceil(parts).next_multiple_of(DEPTH)
}

/// The halves that an element is staged as.
fn halves(call: &StructuredCall) -> &'static [&'static str] {
    match (call.outputs[0].1.dtype, call.precision) {
        (DType::F32, Precision::Highest) => &["hi", "lo"],
        _ => &["hi"],
    }
}

/// Are operands multiplied by powers of two on their way?
pub(super) fn is_scaled(call: &StructuredCall) -> bool {
    call.outputs[0].1.dtype == DType::F32
}

/// An operand on its way to workgroup memory.
struct Staged {
    name: &'static str,
    /// Rows of A or columns of B.
    tile: usize,
    /// Do four neighbours lie along K, or across?
    along_k: bool,
}

impl Staged {
    /// Numbers of a line of workgroup memory, without the gap.
    fn line(&self) -> usize {
        if self.along_k { DEPTH } else { self.tile }
    }

    fn lines(&self) -> usize {
        if self.along_k { self.tile } else { DEPTH }
    }

    /// From line to line, in vectors of four.
    fn pitch(&self) -> usize {
        (self.line() + GAP) / 4
    }

    /// Vectors of four per thread and round.
    fn count(&self) -> usize {
        self.tile * DEPTH / 4 / THREADS
    }

    /// Lines between two vectors of a thread: all of them have the same place in their lines.
    fn lines_apart(&self) -> usize {
        THREADS / (self.line() / 4)
    }

    /// Where a thread's vectors lie, registers for those of the next round, and powers of two.
    fn declare(&self, scaled: bool) -> String {
        let Staged { name, along_k, .. } = self;
        let (vectors, pitch, apart) = (self.line() / 4, self.pitch(), self.lines_apart());
        let mut text = format!(
            "    let {name}_inner = thread % {vectors}u * 4u;
    let {name}_outer = thread / {vectors}u;
    let {name}_at = {name}_outer * {pitch}u + thread % {vectors}u;
"
        );
        if !along_k {
            _ = writeln!(text, "    let {name}_place0 = place_{name}({name}_inner);");
        }
        for i in 0..self.count() {
            _ = writeln!(text, "    var {name}_next{i}: vec4<f32>;");
            if *along_k {
                let line = format!("{name}_outer + {}u", i * apart);
                _ = writeln!(text, "    let {name}_place{i} = place_{name}({line});");
                if scaled {
                    _ = writeln!(text, "    let {name}_scale{i} = power(-shift_{name}[{line}]);");
                }
            }
        }
        if scaled && !along_k {
            let shift = |j: usize| format!("power(-shift_{name}[{name}_inner + {j}u])");
            let shifts = [0, 1, 2, 3].map(shift).join(", ");
            _ = writeln!(text, "    let {name}_scale0 = vec4<f32>({shifts});");
        }
        text
    }

    /// Reads the numbers of the round that starts at step `k0`, which is known to be whole or not.
    fn load(&self, k0: &str, is_whole: bool) -> String {
        let Staged { name, along_k, .. } = self;
        let mut text = String::new();
        for i in 0..self.count() {
            let (place, step) = match along_k {
                true => (i, format!("{name}_inner")),
                false => (0, format!("{name}_outer + {}u", i * self.lines_apart())),
            };
            let of = format!("{name}_place{place}, {k0} + {step}");
            _ = match is_whole {
                true => writeln!(text, "            {name}_next{i} = whole_{name}({of});"),
                false => writeln!(text, "            {name}_next{i} = four_{name}({of}, end);"),
            };
        }
        text
    }

    /// Stores them in workgroup memory.
    fn store(&self, halves: &[&str], scaled: bool) -> String {
        let Staged { name, along_k, .. } = self;
        let mut text = String::new();
        for i in 0..self.count() {
            let scale = if *along_k { i } else { 0 };
            let at = format!("{name}_at + {}u", i * self.lines_apart() * self.pitch());
            let value = match scaled {
                true => format!("{name}_next{i} * {name}_scale{scale}"),
                false => format!("{name}_next{i}"),
            };
            _ = match halves.len() {
                1 => writeln!(text, "        {name}_hi[{at}] = vec4<f16>({value});"),
                // Rounded to eleven bits by its bits: drivers take f32(f16(x)) for x.
                _ => writeln!(
                    text,
                    "        let {name}_all{i} = {value};
        let {name}_first{i} = bitcast<vec4<f32>>((bitcast<vec4<u32>>({name}_all{i}) + 0x1000u) & vec4<u32>(0xffffe000u));
        {name}_hi[{at}] = vec4<f16>({name}_first{i});
        {name}_lo[{at}] = vec4<f16>({name}_all{i} - {name}_first{i});"
                ),
            };
        }
        text
    }
}

/// What an op brings for the tile loop, beside the functions of its operands.
pub(super) struct Product<'a> {
    pub call: &'a StructuredCall,
    pub units: UnitKind,
    /// Are all rounds known to be whole?
    pub is_whole: bool,
    /// Do four neighbours of A, and of B, lie along K?
    pub along_k: [bool; 2],
    /// WGSL of the end of rows and of columns.
    pub rows: String,
    pub columns: String,
    /// WGSL that hands on `four`, results of `row` from `column` on; both are inside of C, `column` a multiple of four.
    pub hand_on: String,
}

impl Product<'_> {
    /// Adds functions and workgroup memory to a shader and gives the body of its entry point, behind what says `row0`, `column0`,
    /// and from which step (`first`) to which (`end`) it goes.
    pub fn body(&self, shader: &mut Shader, exponents: Option<&Exponents>) -> String {
        let (halves, scaled) = (halves(self.call), exponents.is_some());
        let a = Staged { name: "a", tile: TILE[0], along_k: self.along_k[0] };
        let b = Staged { name: "b", tile: TILE[1], along_k: self.along_k[1] };
        let spelling = Spelling::new(self.units, [&a, &b], halves);
        spelling.announce(shader);
        for side in [&a, &b] {
            for half in halves {
                let count = side.lines() * side.pitch();
                shader.share(&format!("{}_{half}", side.name), "vec4<f16>", count);
            }
        }
        shader.share("strip", "vec4<f32>", SUBGROUPS * SQUARE * STRIP_PITCH);
        let prepare = exponents.map(|exponents| self.prepare(shader, exponents)).unwrap_or_default();
        let both = |text: &dyn Fn(&Staged) -> String| text(&a) + &text(&b);
        let load = |k0: &str| match self.is_whole {
            true => both(&|side| side.load(k0, true)),
            false => format!(
                "        if ({k0} + {DEPTH}u <= end) {{\n{}        }} else {{\n{}        }}\n",
                both(&|side| side.load(k0, true)),
                both(&|side| side.load(k0, false)),
            ),
        };
        format!(
            "{names}{prepare}{declare}{zero}{load_first}    for (var k0 = first; k0 < end; k0 += {DEPTH}u) {{
{store}        workgroupBarrier();
        if (k0 + {DEPTH}u < end) {{
{load_next}        }}
{multiply}        workgroupBarrier();
    }}
{write}",
            names = spelling.names(OF_SUBGROUP, ABREAST),
            declare = both(&|side| side.declare(scaled)),
            zero = each_square(|i, j| format!("    var c{i}_{j} = {};\n", spelling.zero())),
            load_first = load("first"),
            store = both(&|side| side.store(halves, scaled)),
            load_next = load(&format!("(k0 + {DEPTH}u)")),
            multiply = self.multiply(&spelling, halves),
            write = self.write(&spelling, scaled),
        )
    }

    /// Finds the powers of two; a tile whose operands are not all finite is made here, by f32 arithmetic.
    fn prepare(&self, shader: &mut Shader, exponents: &Exponents) -> String {
        let [rows, columns] = TILE;
        shader.share("shift_a", "i32", rows);
        shader.share("shift_b", "i32", columns);
        shader.add(&exponents.functions);
        shader.add(POWERS);
        let shifts = |name: &str, tile: usize| {
            format!(
                "    for (var x = thread; x < {tile}u; x += {THREADS}u) {{
        let exponent = i32(exponent_{name}(x));
        not_finite |= u32(exponent == 255);
        shift_{name}[x] = max(exponent - {TOP}, -126);
    }}
"
            )
        };
        let shifts = shifts("a", rows) + &shifts("b", columns);
        if halves(self.call).len() == 1 {
            return format!("    var not_finite = 0u;\n{shifts}    workgroupBarrier();\n");
        }
        shader.add("var<workgroup> is_plain: atomic<u32>;\nvar<workgroup> way: u32;\n");
        let element = |name: &str, along_k: bool, x: &str| match along_k {
            true => format!("four_{name}(place_{name}({x}), k & 0xfffffffcu, end)[k % 4u]"),
            false => format!("four_{name}(place_{name}(({x}) & 0xfffffffcu), k, end)[({x}) % 4u]"),
        };
        let of_a = element("a", self.along_k[0], "line");
        let of_b = [0, 1, 2, 3]
            .map(|j| element("b", self.along_k[1], &format!("(beside + {j}u)")))
            .join(",\n                ");
        format!(
            "    var not_finite = 0u;
    if (thread == 0u) {{ atomicStore(&is_plain, 0u); }}
    workgroupBarrier();
{shifts}    if (not_finite != 0u) {{ atomicStore(&is_plain, 1u); }}
    workgroupBarrier();
    if (thread == 0u) {{ way = atomicLoad(&is_plain); }}
    if (workgroupUniformLoad(&way) != 0u) {{
        for (var i = thread; i < {vectors}u; i += {THREADS}u) {{
            let line = i / {across}u;
            let beside = i % {across}u * 4u;
            let row = row0 + line;
            let column = column0 + beside;
            if (row >= {all_rows} || column >= {all_columns}) {{ continue; }}
            var four = vec4<f32>();
            for (var k = first; k < end; k++) {{
                four = fma(vec4<f32>({of_a}), vec4<f32>({of_b}), four);
            }}
{hand_on}        }}
        return;
    }}
",
            vectors = rows * columns / 4,
            across = columns / 4,
            all_rows = self.rows,
            all_columns = self.columns,
            hand_on = self.hand_on,
        )
    }

    /// A round: the squares of a row of squares each have a sum of their own, products of second halves first.
    fn multiply(&self, spelling: &Spelling, halves: &[&str]) -> String {
        let [down, across] = SQUARES;
        let steps = DEPTH / SQUARE;
        let mut text = String::new();
        for j in 0..across {
            for step in 0..steps {
                for half in halves {
                    let load = spelling.load(1, half, j, step);
                    _ = writeln!(text, "        let b_{half}{j}_{step} = {load};");
                }
            }
        }
        let products: &[[&str; 2]] = match halves.len() {
            1 => &[["hi", "hi"]],
            _ => &[["lo", "hi"], ["hi", "lo"], ["hi", "hi"]],
        };
        for i in 0..down {
            for step in 0..steps {
                for half in halves {
                    let load = spelling.load(0, half, i, step);
                    _ = writeln!(text, "        let a_{half}{i}_{step} = {load};");
                }
            }
            for j in 0..across {
                _ = writeln!(text, "        var sum{i}_{j} = {};", spelling.zero());
            }
            let small = products.len() - 1;
            for (products, step) in (0..steps)
                .map(|step| (&products[..small], step))
                .chain((0..steps).map(|step| (&products[small..], step)))
            {
                for [of_a, of_b] in products {
                    for j in 0..across {
                        let sum = format!("sum{i}_{j}");
                        let product = spelling.multiply_add(
                            [of_a, of_b],
                            [&format!("a_{of_a}{i}_{step}"), &format!("b_{of_b}{j}_{step}")],
                            &sum,
                        );
                        _ = writeln!(text, "        {sum} = {product};");
                    }
                }
            }
            for j in 0..across {
                let (whole, sum) = (format!("c{i}_{j}"), format!("sum{i}_{j}"));
                _ = writeln!(text, "        {whole} = {};", spelling.add(&whole, &sum));
            }
        }
        text
    }

    /// Hands on the results, sixteen rows of a subgroup at a time, through workgroup memory.
    fn write(&self, spelling: &Spelling, scaled: bool) -> String {
        let [down, across] = SQUARES;
        let vectors = OF_SUBGROUP[1] / 4;
        let mut text = format!("    let strip0 = subgroup * {}u;\n", SQUARE * STRIP_PITCH);
        let unscale = match scaled {
            false => "",
            // In two steps, neither of which leaves the range if the result does not.
            true => {
                "            let shift = vec4<i32>(shift_b[beside], shift_b[beside + 1u], shift_b[beside + 2u], shift_b[beside + 3u]) + shift_a[line];
            let half_way = shift / 2;
            four = four * powers(half_way) * powers(shift - half_way);
"
            }
        };
        for i in 0..down {
            for j in 0..across {
                let at = format!("strip0 + {}u", j * SQUARE / 4);
                _ = writeln!(text, "    {}", spelling.store(&format!("c{i}_{j}"), &at, STRIP_PITCH));
            }
            _ = write!(
                text,
                "    workgroupBarrier();
    for (var vector = lane; vector < {count}u; vector += {LANES}u) {{
        let line = line0 + {first}u + vector / {vectors}u;
        let beside = beside0 + vector % {vectors}u * 4u;
        let row = row0 + line;
        let column = column0 + beside;
        if (row < {all_rows} && column < {all_columns}) {{
            var four = strip[strip0 + vector / {vectors}u * {STRIP_PITCH}u + vector % {vectors}u];
{unscale}{hand_on}        }}
    }}
    workgroupBarrier();
",
                count = SQUARE * vectors,
                first = i * SQUARE,
                all_rows = self.rows,
                all_columns = self.columns,
                hand_on = self.hand_on,
            );
        }
        text
    }
}

fn each_square(text: impl Fn(usize, usize) -> String) -> String {
    let [down, across] = SQUARES;
    (0..down).flat_map(|i| (0..across).map(move |j| (i, j))).map(|(i, j)| text(i, j)).collect()
}

/// The exponent, as f32 has it, that the largest element of a row or column comes to: 14, behind which a product of K elements is far
/// from f32's largest number.
const TOP: usize = 127 + 14;

/// Powers of two, for exponents from −126 to 127.
const POWERS: &str = "
fn power(exponent: i32) -> f32 { return bitcast<f32>(u32(exponent + 127) << 23u); }
fn powers(exponents: vec4<i32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(vec4<u32>(exponents + 127) << vec4<u32>(23u));
}
";
