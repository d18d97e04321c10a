//! How matrix units are spelled in WGSL.
//!
//! `Cooperative` is wgpu's spelling. `Played` does the same with ordinary arithmetic, for tests where there are no matrix units:
//! a square of results is eight numbers in each of 32 threads (thread t has half of row t / 2), and an operand is the place
//! in workgroup memory where it begins.

use super::{LANES, LINE, Lies, SQUARE, Tile};
use crate::dtype::DType;
use crate::ir::UnitKind;
use crate::shader::Shader;

pub(super) struct Spelling {
    units: UnitKind,
    /// How A and B lie in workgroup memory, and vectors of four from line to line.
    lies: [Lies; 2],
    pitch: usize,
}

impl Spelling {
    pub fn new(units: UnitKind, lies: [Lies; 2], pitch: usize) -> Spelling {
        Spelling { units, lies, pitch }
    }

    /// Has the shader know matrix units, or adds the function that plays them.
    pub fn announce(&self, shader: &mut Shader) {
        match self.units {
            UnitKind::Cooperative { .. } => shader.takes_matrix_units(),
            UnitKind::Played => {
                shader.uses(DType::F16);
                shader.add(&self.played());
            }
        }
    }

    /// Says which `subgroup` this is and which `lane` of it, where its results begin in the tile (`line0`, `beside0`), and where
    /// its squares begin in both operands.
    pub fn names(&self, tile: &Tile) -> String {
        let numbers = match self.units {
            UnitKind::Cooperative { .. } => String::new(),
            UnitKind::Played => {
                format!("    let subgroup = thread / {LANES}u;\n    let lane = thread % {LANES}u;\n")
            }
        };
        let ([rows, columns], abreast, pitch) = (tile.of_subgroup, tile.abreast(), self.pitch);
        format!(
            "{numbers}    let line0 = subgroup / {abreast}u * {rows}u;
    let beside0 = subgroup % {abreast}u * {columns}u;
    let a_first = line0 * {pitch}u;
    let b_first = beside0 * {pitch}u;
"
        )
    }

    /// A square of zeros.
    pub fn zero(&self) -> &'static str {
        match self.units {
            UnitKind::Cooperative { .. } => "coop_mat16x16<f32, C>()",
            UnitKind::Played => "array<f32, 8>()",
        }
    }

    /// The square of an operand (0: A, 1: B) that is so many down or across and steps along K from the subgroup's first, in
    /// the first or the second halves.
    pub fn load(&self, side: usize, half: usize, square: usize, step: usize) -> String {
        let (name, pitch) = (["a", "b"][side], self.pitch);
        let within_line = half * LINE / 4;
        let at = match self.lies[side] {
            Lies::AlongK | Lies::AtPlaces => square * SQUARE * pitch + within_line + step * SQUARE / 4,
            Lies::Across => {
                let (chunk, place) = (square * SQUARE / LINE, square * SQUARE % LINE);
                (chunk * LINE + step * SQUARE) * pitch + within_line + place / 4
            }
        };
        let at = format!("{name}_first + {at}u");
        // A lies by rows where it lies along K, B where it does not.
        let by_rows = (self.lies[side] != Lies::Across) == (side == 0);
        match self.units {
            UnitKind::Cooperative { .. } => {
                let (role, load) = (["A", "B"][side], if by_rows { "coopLoadT" } else { "coopLoad" });
                format!("{load}<coop_mat16x16<f16, {role}>>(&lines_{name}[{at}], {pitch}u)")
            }
            UnitKind::Played => at,
        }
    }

    pub fn multiply_add(&self, [a, b]: [&String; 2], sum: &str) -> String {
        match self.units {
            UnitKind::Cooperative { .. } => format!("coopMultiplyAdd({a}, {b}, {sum})"),
            UnitKind::Played => format!("play({a}, {b}, {sum}, lane)"),
        }
    }

    pub fn add(&self, a: &str, b: &str) -> String {
        match self.units {
            UnitKind::Cooperative { .. } => format!("{a} + {b}"),
            UnitKind::Played => format!("both({a}, {b})"),
        }
    }

    /// Stores a square in the strip, from a place on, with so many vectors of four from row to row.
    pub fn store(&self, square: &str, place: &str, pitch: usize) -> String {
        match self.units {
            UnitKind::Cooperative { .. } => format!("coopStoreT({square}, &strip[{place}], {pitch}u);"),
            UnitKind::Played => {
                let four = |from: usize| {
                    let numbers = [0, 1, 2, 3].map(|j| format!("{square}[{}]", from + j)).join(", ");
                    let at = format!("{place} + lane / 2u * {pitch}u + lane % 2u * 2u + {}u", from / 4);
                    format!("strip[{at}] = vec4<f32>({numbers});")
                };
                four(0) + " " + &four(4)
            }
        }
    }

    /// `both` adds squares, and `play` multiplies two and adds a third: in the order of K, as f32.
    fn played(&self) -> String {
        let element = |side: usize, x: &str| {
            let (name, pitch) = (["a", "b"][side], self.pitch);
            let (line, within) = if self.lies[side] == Lies::Across { ("k", x) } else { (x, "k") };
            format!("f32(lines_{name}[{name} + {line} * {pitch}u + {within} / 4u][{within} % 4u])")
        };
        let (a, b) = (element(0, "(lane / 2u)"), element(1, "(lane % 2u * 8u + j)"));
        format!(
            "fn both(a: array<f32, 8>, b: array<f32, 8>) -> array<f32, 8> {{
    var sum = a;
    for (var j = 0u; j < 8u; j++) {{ sum[j] += b[j]; }}
    return sum;
}}
fn play(a: u32, b: u32, before: array<f32, 8>, lane: u32) -> array<f32, 8> {{
    var sum = before;
    for (var j = 0u; j < 8u; j++) {{
        for (var k = 0u; k < {SQUARE}u; k++) {{ sum[j] = fma({a}, {b}, sum[j]); }}
    }}
    return sum;
}}
"
        )
    }
}

const _: () = assert!(LINE.is_multiple_of(SQUARE));
