//! Products on matrix units, for whatever multiplies matrices: C (rows, columns) = A (rows, K) · B (K, columns).
//!
//! Matrix units multiply squares of f16 and add in f32. So operands are first *packed* (`pack`): into lines of 32 numbers that
//! lie together, as f16. The tile loop reads nothing but lines, so one short text serves products and convolutions of all
//! sizes and layouts, and drivers compile it in a fraction of a second.
//!
//! ```text
//! a line       (hi 32, lo 32) or (hi 32) of f16
//! along K      32 steps of one row of A (column of B):      lines by (chunk of K, row)
//! across       32 rows of A (columns of B) at one step:     lines by (chunk of rows, step)
//! ```
//!
//! Matrices of f16 have such lines where they lie, if their sizes are multiples of 32, and need not be packed.
//!
//! A workgroup makes one tile of C, each of its subgroups a part of that in squares of 16 × 16. A round brings the lines of
//! 32 steps of K to workgroup memory, which are as many as the tile has rows and columns. The op says where lines begin, by
//! functions of WGSL that give it in vectors of four as a sum of two:
//!
//! ```text
//! along K      place_a(row) + round_a(round)
//! across       place_a(row / 32) + step_a(k)
//! ```
//!
//! A round is so short that finding steps by divisions takes as long as multiplying: where step_a(32 round + j) is step_a(32 round) +
//! step_a(j), the second is found once.
//!
//! Lines of neighbouring rows follow each other, and there are lines (of zeros) for all rows of the last tile, unless lines lie
//! `AtPlaces`, as windows of convolutions do. Workgroup memory is what bounds how many workgroups a processor has at a time, and so
//! the speed: results leave through strips of a square or a few, and what follows them is left to another kernel: computed here,
//! it would take registers from the loop and wait for memory with few threads.
//!
//! **f32 as f16** (`Precision::Highest`). A number x is hi + lo: hi is x rounded to 11 bits, lo the rest in 11 bits, and
//! A·B ≈ hi·hi + (hi·lo + lo·hi). f16 has few exponents, so rows of A and columns of B are first multiplied by powers of two
//! that take their largest elements to 2¹⁴ and are taken out of the results; `exponents` finds them. What is lost of an element is
//! then at most 2⁻²³ of itself or 2⁻³⁹ of the largest of its row (column), and of a product lo·lo, at most 2⁻²² of it.
//!
//! Matrix units cut their sums off where f32 arithmetic rounds, and the errors of many steps would all point to zero. So
//! sums of hi·hi are added to the whole by f32 arithmetic after every 64 steps, and the small products have sums of their own: on
//! an H200 the error is then below that of a loop over fma (2026-11-17: of 4096 positive numbers 4.6e-7 at most, plain 8.4e-7).
//!
//! Infinities and NaNs come out as f32 has them: where a sum of hi·hi is not finite, it is the result, without the small products.
//! (But an infinity times a number below 2⁻³⁸ of the largest of its row is NaN.)

mod exponents;
mod pack;
mod spelling;
#[cfg(test)]
mod tests;

pub(super) use exponents::{Exponents, Lines};
pub(super) use pack::{Packed, Scale, Source, find_and_pack, pack};
pub(super) use spelling::{Spelling, Squares};

use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::{Precision, UnitKind, WhyNot};
use crate::shader::Shader;
use std::fmt::Write;

/// Numbers of a line, and steps of K per round.
pub(super) const LINE: usize = 32;
/// Rows and columns of what a matrix unit multiplies.
pub(super) const SQUARE: usize = 16;
/// Threads of a subgroup.
pub(super) const LANES: usize = 32;

/// Rows and columns of C that a workgroup makes, and those of each subgroup.
#[derive(Debug, PartialEq)]
pub(super) struct Tile {
    pub size: [usize; 2],
    of_subgroup: [usize; 2],
    /// Subgroups that hand on results at a time, and the squares abreast that each of them does.
    at_once: usize,
    strip: usize,
}

/// On an H200 (2026-11-17; products of 4096, 2048 and 1024 squared, and of 4096 × 1152 over K = 384, packed before, TFLOP/s) it
/// reaches 79, 78, 70 and 64 with two halves, 164, 156, 124 and 123 with one. Two halves by 128 × 128 and subgroups of 64 × 32:
/// 82, 80, 44 and 52.
pub(super) static SMALL: Tile = Tile { size: [64, 64], of_subgroup: [32, 32], at_once: 4, strip: 1 };
/// For one half: 200, 194, 127 and 129.
pub(super) static MEDIUM: Tile = Tile { size: [128, 64], of_subgroup: [64, 32], at_once: 4, strip: 2 };
/// The same for few rows.
pub(super) static WIDE: Tile = Tile { size: [64, 128], of_subgroup: [32, 64], at_once: 4, strip: 4 };
/// For one half and much work: 263, 243, 76 and 112. All subgroups at a time would cost a third of the speed of the loop (174),
/// for reasons that the driver's compiler keeps to itself.
pub(super) static LARGE: Tile = Tile { size: [128, 128], of_subgroup: [64, 64], at_once: 2, strip: 1 };

impl Tile {
    /// Subgroups of a workgroup that lie abreast.
    fn abreast(&self) -> usize {
        self.size[1] / self.of_subgroup[1]
    }

    fn subgroups(&self) -> usize {
        self.size[0] / self.of_subgroup[0] * self.abreast()
    }

    pub fn threads(&self) -> usize {
        self.subgroups() * LANES
    }

    /// Vectors of four from row to row of a strip: eight rows begin at different banks.
    fn strip_pitch(&self) -> usize {
        self.strip * SQUARE / 4 + 1
    }

    fn strip_vectors(&self) -> usize {
        SQUARE * self.strip_pitch()
    }

    /// Squares of a subgroup, down and across.
    fn squares(&self) -> [usize; 2] {
        self.of_subgroup.map(|length| length / SQUARE)
    }
}

/// How the lines of an operand lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lies {
    AlongK,
    /// Along K, those of neighbouring rows (columns) anywhere.
    AtPlaces,
    Across,
}

/// What the functions of operands know of the workgroup they run in: where its tile begins, and whose it is.
pub(super) const KNOWN: &str = "
var<private> row0: u32;
var<private> column0: u32;
var<private> this_batch: u32;
var<private> zero: u32;
";

/// The same of workgroups that have no tile, and WGSL that takes `batch` and says whose they are.
pub(super) const KNOWN_OF_BATCH: &str = "
var<private> this_batch: u32;
var<private> zero: u32;
";
pub(super) const SET_BATCH: &str = "    this_batch = batch;\n    zero = select(0u, 1u, batch > 65535u);\n";

/// A device's matrix units. Browsers have none, and a page fetches no more than it needs.
pub(super) fn units_of(call: &StructuredCall) -> Result<UnitKind, WhyNot> {
    call.units.filter(|_| cfg!(not(target_arch = "wasm32"))).ok_or(WhyNot::None)
}

/// Rounds of each of a number of parts of K.
pub(super) fn rounds_of_part(k: usize, parts: usize) -> usize {
    k.div_ceil(LINE).div_ceil(parts)
}

/// The halves that an element is packed as.
pub(super) fn halves(call: &StructuredCall) -> usize {
    match (call.outputs[0].1.dtype, call.precision) {
        (DType::F32, Precision::Highest) => 2,
        _ => 1,
    }
}

/// Vectors of four of a line.
pub(super) fn vectors(call: &StructuredCall) -> usize {
    halves(call) * LINE / 4
}

/// Bytes of packed lines.
pub(super) fn bytes_of_lines(call: &StructuredCall, lines: usize) -> u64 {
    (lines * vectors(call) * 8) as u64
}

/// Are operands multiplied by powers of two on their way?
pub(super) fn is_scaled(call: &StructuredCall) -> bool {
    call.outputs[0].1.dtype == DType::F32
}

/// Vectors of four from line to line of workgroup memory: eight lines begin at different banks.
fn pitch(call: &StructuredCall) -> usize {
    vectors(call) + 2
}

/// An operand on its way from memory to workgroup memory, where a round's lines follow each other.
struct Staged {
    name: &'static str,
    lies: Lies,
    /// May steps be found as sums?
    adds_up: bool,
    /// Lines of a round, vectors of each, and from one to the next in workgroup memory.
    lines: usize,
    vectors: usize,
    pitch: usize,
    threads: usize,
}

impl Staged {
    /// Lines that threads bring at a time: a thread's own are so many apart.
    fn apart(&self) -> usize {
        self.threads / self.vectors
    }

    /// Lines that a thread brings a vector of.
    fn count(&self) -> usize {
        self.lines / self.apart()
    }

    /// Where a thread's vectors are, as far as all rounds share it. The thread's line is `line`, its vector `vector`.
    fn declare(&self) -> String {
        let Staged { name, .. } = self;
        let origin = if *name == "a" { "row0" } else { "column0" };
        let one = |number: usize, place: String| {
            format!("    let {name}_place{number} = place_{name}({place}) + vector;\n")
        };
        match self.lies {
            Lies::AlongK => one(0, format!("{origin} + line")),
            Lies::AtPlaces => (0..self.count())
                .map(|i| one(i, format!("{origin} + line + {}u", i * self.apart())))
                .collect(),
            Lies::Across => {
                let within = |s: usize| {
                    format!("    let {name}_within{s} = step_{name}(line + {}u);\n", s * self.apart())
                };
                let steps = if self.adds_up { LINE / self.apart() } else { 0 };
                let places = (0..self.lines / LINE).map(|i| one(i, format!("{origin} / {LINE}u + {i}u")));
                places.chain((0..steps).map(within)).collect()
            }
        }
    }

    /// Reads a thread's vectors of round `round`.
    fn load(&self) -> String {
        let Staged { name, vectors, .. } = self;
        let apart = self.apart();
        let (mut text, at): (String, Box<dyn Fn(usize) -> String>) = match self.lies {
            Lies::AlongK => (
                format!("        let {name}_round = {name}_place0 + round_{name}(round);\n"),
                Box::new(|i| format!("{name}_round + {}u", i * apart * vectors)),
            ),
            Lies::AtPlaces => (
                format!("        let {name}_round = round_{name}(round);\n"),
                Box::new(|i| format!("{name}_place{i} + {name}_round")),
            ),
            Lies::Across => {
                let step = |s: usize| {
                    let step = match self.adds_up {
                        true => format!("{name}_round + {name}_within{s}"),
                        false => format!("step_{name}(round * {LINE}u + line + {}u)", s * apart),
                    };
                    format!("        let {name}_step{s} = {step};\n")
                };
                let round = match self.adds_up {
                    true => format!("        let {name}_round = step_{name}(round * {LINE}u);\n"),
                    false => String::new(),
                };
                let at = |i: usize| (i * apart / LINE, i * apart % LINE / apart);
                (
                    round + &(0..LINE / apart).map(step).collect::<String>(),
                    Box::new(move |i| format!("{name}_place{} + {name}_step{}", at(i).0, at(i).1)),
                )
            }
        };
        for i in 0..self.count() {
            _ = writeln!(text, "        let {name}{i} = packed_{name}[{}];", at(i));
        }
        text
    }

    /// Stores them in workgroup memory.
    fn store(&self) -> String {
        let Staged { name, pitch, .. } = self;
        let one =
            |i: usize| format!("        lines_{name}[at + {}u] = {name}{i};\n", i * self.apart() * pitch);
        (0..self.count()).map(one).collect()
    }
}

/// What an op brings for the tile loop, beside the functions of its operands. Their lines are bound as `packed_a` and `packed_b`.
pub(super) struct Product<'a> {
    pub call: &'a StructuredCall,
    pub units: UnitKind,
    pub tile: &'static Tile,
    /// How the lines of A and of B lie.
    pub lies: [Lies; 2],
    /// Of lines across: is step(32 r + j) = step(32 r) + step(j)?
    pub adds_up: [bool; 2],
    /// WGSL of the end of rows and of columns.
    pub rows: String,
    pub columns: String,
    /// WGSL that hands on `four`, results of `row` from `column` on; both are inside of C, `column` a multiple of four.
    pub hand_on: String,
}

impl Product<'_> {
    /// Adds functions and workgroup memory to a shader and gives the body of its entry point, behind what says `row0`, `column0`,
    /// and from which round (`first`) to which (`end`) it goes.
    pub fn body(&self, shader: &mut Shader, exponents: Option<&Exponents>) -> String {
        let (call, tile) = (self.call, self.tile);
        let (vectors, pitch, threads) = (vectors(call), pitch(call), tile.threads());
        let side = |name: &'static str, number: usize| {
            let (lies, lines) = (self.lies[number], tile.size[number]);
            Staged { name, lies, adds_up: self.adds_up[number], lines, vectors, pitch, threads }
        };
        let (a, b) = (side("a", 0), side("b", 1));
        let spelling = Spelling::new(self.units);
        let [squares_a, squares_b] = self.squares(pitch);
        spelling.announce(shader, &[squares_a], &[squares_b]);
        for side in [&a, &b] {
            shader.share(&format!("lines_{}", side.name), "vec4<f16>", side.lines * pitch);
        }
        let is_split = halves(call) == 2;
        shader.share("strip", "vec4<f32>", tile.at_once * tile.strip_vectors());
        let prepare = exponents.map(|exponents| self.prepare(shader, exponents)).unwrap_or_default();
        let zero =
            |name: &str| self.each_square(|i, j| format!("    var {name}{i}_{j} = {};\n", spelling.zero()));
        let add = |to: &str, other: &str, i: usize, j: usize| {
            let (to, other) = (format!("{to}{i}_{j}"), format!("{other}{i}_{j}"));
            format!("{to} = {};", spelling.add(&to, &other))
        };
        let (sums, flush) = match is_split {
            false => (zero("whole"), String::new()),
            true => {
                let each = self.each_square(|i, j| {
                    format!("            {} sum{i}_{j} = {};\n", add("whole", "sum", i, j), spelling.zero())
                });
                (
                    zero("whole") + &zero("small") + &zero("sum"),
                    format!(
                        "        if ((round - first) % 2u == 1u || round + 1u == end) {{\n{each}        }}\n"
                    ),
                )
            }
        };
        let both = |text: &dyn Fn(&Staged) -> String| text(&a) + &text(&b);
        format!(
            "{names}{prepare}    let vector = thread % {vectors}u;
    let line = thread / {vectors}u;
    let at = line * {pitch}u + vector;
{declare}{sums}    for (var round = first; round < end; round++) {{
{load}        workgroupBarrier();
{store}        workgroupBarrier();
{multiply}{flush}    }}
{write}",
            names = spelling.names() + &self.places(pitch),
            declare = both(&Staged::declare),
            load = both(&Staged::load),
            store = both(&Staged::store),
            multiply = self.multiply(&spelling, [&squares_a, &squares_b], is_split),
            write = self.write(&spelling, is_split, exponents.is_some()),
        )
    }

    /// Finds the powers of two of the tile's rows and columns.
    fn prepare(&self, shader: &mut Shader, exponents: &Exponents) -> String {
        let [rows, columns] = self.tile.size;
        let threads = self.tile.threads();
        shader.share("shift_a", "i32", rows);
        shader.share("shift_b", "i32", columns);
        shader.add(&exponents.functions);
        let shifts = |name: &str, tile: usize| {
            format!(
                "    for (var x = thread; x < {tile}u; x += {threads}u) {{ shift_{name}[x] = shift_{name}_of(x); }}\n"
            )
        };
        shifts("a", rows) + &shifts("b", columns)
    }

    /// Both operands as they lie in workgroup memory: A by rows where it lies along K, B where it does not.
    fn squares(&self, pitch: usize) -> [Squares; 2] {
        let is_across = self.lies.map(|lies| lies == Lies::Across);
        [
            Squares { memory: "lines_a", pitch, by_rows: !is_across[0] },
            Squares { memory: "lines_b", pitch, by_rows: is_across[1] },
        ]
    }

    /// Where a subgroup's results begin in the tile (`line0`, `beside0`), and its squares in both operands.
    fn places(&self, pitch: usize) -> String {
        let ([rows, columns], abreast) = (self.tile.of_subgroup, self.tile.abreast());
        format!(
            "    let line0 = subgroup / {abreast}u * {rows}u;
    let beside0 = subgroup % {abreast}u * {columns}u;
    let a_first = line0 * {pitch}u;
    let b_first = beside0 * {pitch}u;
"
        )
    }

    /// Where the square of an operand (0: A, 1: B) lies that is so many down or across and steps along K from the subgroup's
    /// first, in the first or the second halves.
    fn place(&self, side: usize, pitch: usize, half: usize, square: usize, step: usize) -> String {
        let within_line = half * LINE / 4;
        let at = match self.lies[side] {
            Lies::AlongK | Lies::AtPlaces => square * SQUARE * pitch + within_line + step * SQUARE / 4,
            Lies::Across => {
                let (chunk, place) = (square * SQUARE / LINE, square * SQUARE % LINE);
                (chunk * LINE + step * SQUARE) * pitch + within_line + place / 4
            }
        };
        format!("{}_first + {at}u", ["a", "b"][side])
    }

    /// A round, row of squares by row of squares.
    fn multiply(&self, spelling: &Spelling, [of_a, of_b]: [&Squares; 2], is_split: bool) -> String {
        let [down, across] = self.tile.squares();
        let steps = LINE / SQUARE;
        let halves: &[&str] = if is_split { &["hi", "lo"] } else { &["hi"] };
        let products: &[[&str; 3]] = match is_split {
            false => &[["whole", "hi", "hi"]],
            true => &[["small", "lo", "hi"], ["small", "hi", "lo"], ["sum", "hi", "hi"]],
        };
        let loads = |side: usize, square: usize| {
            let mut text = String::new();
            for step in 0..steps {
                for (number, half) in halves.iter().enumerate() {
                    let at = self.place(side, of_a.pitch, number, square, step);
                    let load = match side {
                        0 => spelling.load_a(of_a, &at),
                        _ => spelling.load_b(of_b, &at),
                    };
                    _ = writeln!(text, "        let {}_{half}{square}_{step} = {load};", ["a", "b"][side]);
                }
            }
            text
        };
        let mut text: String = (0..across).map(|j| loads(1, j)).collect();
        for i in 0..down {
            text += &loads(0, i);
            for [to, half_a, half_b] in products {
                for step in 0..steps {
                    for j in 0..across {
                        let sum = format!("{to}{i}_{j}");
                        let (a, b) = (format!("a_{half_a}{i}_{step}"), format!("b_{half_b}{j}_{step}"));
                        let multiplied = spelling.multiply_add(&a, (of_b, &b), &sum);
                        _ = writeln!(text, "        {sum} = {multiplied};");
                    }
                }
            }
        }
        text
    }

    /// Hands on the results through workgroup memory, strip by strip.
    fn write(&self, spelling: &Spelling, is_split: bool, scaled: bool) -> String {
        let tile = self.tile;
        let [down, across] = tile.squares();
        let strip0 = format!("    let strip0 = subgroup % {}u * {}u;\n", tile.at_once, tile.strip_vectors());
        let strips = (0..down).flat_map(|i| (0..across).step_by(tile.strip).map(move |j| (i, j)));
        let turns = tile.subgroups() / tile.at_once;
        let strips = strips.map(|(i, j)| {
            let steps = self.hand_on_strip(spelling, is_split, scaled, (i, j));
            if turns == 1 {
                return steps.join("        workgroupBarrier();\n") + "        workgroupBarrier();\n";
            }
            let mine = format!("        if (subgroup / {}u == turn) {{\n", tile.at_once);
            let step = |step: String| format!("{mine}{step}        }}\n        workgroupBarrier();\n");
            let steps: String = steps.into_iter().map(step).collect();
            format!("    for (var turn = 0u; turn < {turns}u; turn++) {{\n{steps}    }}\n")
        });
        strip0 + &strips.collect::<String>()
    }

    /// Hands on the squares of one strip, of which the first is `i` down and `j` across, in steps with barriers between them.
    fn hand_on_strip(
        &self,
        spelling: &Spelling,
        is_split: bool,
        scaled: bool,
        (i, j): (usize, usize),
    ) -> Vec<String> {
        let tile = self.tile;
        let (pitch, abreast) = (tile.strip_pitch(), tile.strip * SQUARE / 4);
        let store = |sums: &str| -> String {
            (0..tile.strip)
                .map(|x| {
                    let place = format!("strip0 + {}u", x * SQUARE / 4);
                    format!("        {}\n", spelling.store(&format!("{sums}{i}_{}", j + x), &place, pitch))
                })
                .collect()
        };
        let at =
            |place: &str| format!("strip[strip0 + {place} / {abreast}u * {pitch}u + {place} % {abreast}u]");
        let unscale = match scaled {
            false => "",
            // In two steps, neither of which leaves the range if the result does not.
            true => {
                "                let of_columns = vec4<i32>(shift_b[beside], shift_b[beside + 1u], shift_b[beside + 2u], shift_b[beside + 3u]);
                let shift = of_columns + shift_a[line];
                let half_way = shift / 2;
                four = four * powers(half_way) * powers(shift - half_way);
"
            }
        };
        // What becomes of the four results at `place`, once `four` has them.
        let hand_on = |four: &str| {
            format!(
                "            let line = line0 + {first_line}u + place / {abreast}u;
            let beside = beside0 + {first_beside}u + place % {abreast}u * 4u;
            let row = row0 + line;
            let column = column0 + beside;
            if (row < {all_rows} && column < {all_columns}) {{
                {four}
{unscale}{hand_on}            }}
",
                first_line = i * SQUARE,
                first_beside = j * SQUARE,
                all_rows = self.rows,
                all_columns = self.columns,
                hand_on = self.hand_on,
            )
        };
        let vectors = SQUARE * abreast;
        if !is_split {
            let each = format!(
                "        for (var place = lane; place < {vectors}u; place += {LANES}u) {{\n{}        }}\n",
                hand_on(&format!("var four = {};", at("place")))
            );
            return vec![store("whole"), each];
        }
        // Small products follow through the same strip.
        let places: Vec<String> = (0..vectors / LANES).map(|x| format!("(lane + {}u)", x * LANES)).collect();
        let kept = |(x, place): (usize, &String)| format!("        let kept{i}_{j}_{x} = {};\n", at(place));
        let each = |(x, place): (usize, &String)| {
            let four = format!(
                "var four = kept{i}_{j}_{x};
                let is_finite = (bitcast<vec4<u32>>(four) & vec4<u32>({INFINITY}u)) < vec4<u32>({INFINITY}u);
                four = select(four, four + {}, is_finite);",
                at("place")
            );
            format!("        {{\n            let place = {place};\n{}        }}\n", hand_on(&four))
        };
        vec![
            store("whole"),
            places.iter().enumerate().map(kept).collect(),
            store("small"),
            places.iter().enumerate().map(each).collect(),
        ]
    }

    fn each_square(&self, text: impl Fn(usize, usize) -> String) -> String {
        let [down, across] = self.tile.squares();
        (0..down).flat_map(|i| (0..across).map(move |j| (i, j))).map(|(i, j)| text(i, j)).collect()
    }
}

/// The bits of infinity.
const INFINITY: u32 = 0x7f80_0000;

const _: () = assert!(LINE.is_multiple_of(SQUARE));
