//! How matrix units are spelled in WGSL.
//!
//! `Cooperative` is wgpu's spelling. `Played` does the same with ordinary arithmetic, for tests where there are no matrix units:
//! a square of results is eight numbers in each of 32 threads (thread t has half of row t / 2), and an operand is the place
//! in workgroup memory where it begins.

use super::{DEPTH, LANES, SQUARE, Staged};
use crate::dtype::DType;
use crate::ir::UnitKind;
use crate::shader::Shader;
use std::fmt::Write;

pub(super) struct Spelling {
    units: UnitKind,
    halves: &'static [&'static str],
    sides: [Laid; 2],
}

/// How an operand lies in workgroup memory.
struct Laid {
    name: &'static str,
    along_k: bool,
    pitch: usize,
    /// Vectors of four from one square to the next, across and along K.
    across: usize,
    along: usize,
}

impl Spelling {
    pub fn new(units: UnitKind, sides: [&Staged; 2], halves: &'static [&'static str]) -> Spelling {
        let sides = sides.map(|side| {
            let pitch = side.pitch();
            let (line, lines) = (SQUARE / 4, SQUARE * pitch);
            let (across, along) = if side.along_k { (lines, line) } else { (line, lines) };
            Laid { name: side.name, along_k: side.along_k, pitch, across, along }
        });
        Spelling { units, halves, sides }
    }

    /// Has the shader know matrix units, or adds the functions that play them.
    pub fn announce(&self, shader: &mut Shader) {
        match self.units {
            UnitKind::Cooperative => shader.takes_matrix_units(),
            UnitKind::Played => {
                shader.uses(DType::F16);
                shader.add(&self.played());
            }
        }
    }

    /// Says which `subgroup` this is and which `lane` of it, where its results begin in the tile (`line0`, `beside0`), and where
    /// its squares begin in both operands; subgroups of these rows and columns lie so many abreast.
    pub fn names(&self, [rows, columns]: [usize; 2], abreast: usize) -> String {
        let numbers = match self.units {
            UnitKind::Cooperative => String::new(),
            UnitKind::Played => {
                format!("    let subgroup = thread / {LANES}u;\n    let lane = thread % {LANES}u;\n")
            }
        };
        let first = |side: &Laid, x: &str| match side.along_k {
            true => format!("    let {}_first = {x} * {}u;\n", side.name, side.pitch),
            false => format!("    let {}_first = {x} / 4u;\n", side.name),
        };
        format!(
            "{numbers}    let line0 = subgroup / {abreast}u * {rows}u;
    let beside0 = subgroup % {abreast}u * {columns}u;
{}{}",
            first(&self.sides[0], "line0"),
            first(&self.sides[1], "beside0"),
        )
    }

    /// A square of zeros.
    pub fn zero(&self) -> &'static str {
        match self.units {
            UnitKind::Cooperative => "coop_mat16x16<f32, C>()",
            UnitKind::Played => "array<f32, 8>()",
        }
    }

    /// The square of an operand (0: A, 1: B) that is so many down or across and steps along K from the subgroup's first.
    pub fn load(&self, side: usize, half: &str, square: usize, step: usize) -> String {
        let Laid { name, along_k, pitch, across, along } = &self.sides[side];
        let at = format!("{name}_first + {}u", square * across + step * along);
        // A lies by rows where it lies along K, B where it does not.
        let by_rows = *along_k == (side == 0);
        match self.units {
            UnitKind::Cooperative => {
                let (role, load) = (["A", "B"][side], if by_rows { "coopLoadT" } else { "coopLoad" });
                format!("{load}<coop_mat16x16<f16, {role}>>(&{name}_{half}[{at}], {pitch}u)")
            }
            UnitKind::Played => at,
        }
    }

    pub fn multiply_add(&self, [of_a, of_b]: [&str; 2], [a, b]: [&str; 2], sum: &str) -> String {
        match self.units {
            UnitKind::Cooperative => format!("coopMultiplyAdd({a}, {b}, {sum})"),
            UnitKind::Played => format!("play_{of_a}_{of_b}({a}, {b}, {sum}, lane)"),
        }
    }

    pub fn add(&self, x: &str, y: &str) -> String {
        match self.units {
            UnitKind::Cooperative => format!("{x} + {y}"),
            UnitKind::Played => format!("play_add({x}, {y})"),
        }
    }

    /// Stores a square of results in the strip.
    pub fn store(&self, square: &str, at: &str, pitch: usize) -> String {
        match self.units {
            UnitKind::Cooperative => format!("coopStoreT({square}, &strip[{at}], {pitch}u);"),
            UnitKind::Played => format!("play_store({square}, {at}, {pitch}u, lane);"),
        }
    }

    fn played(&self) -> String {
        let mut text = String::from(
            "fn play_add(x: array<f32, 8>, y: array<f32, 8>) -> array<f32, 8> {
    var sum = x;
    var other = y;
    for (var j = 0u; j < 8u; j++) { sum[j] += other[j]; }
    return sum;
}
fn play_store(square: array<f32, 8>, at: u32, pitch: u32, lane: u32) {
    var all = square;
    let first = at + lane / 2u * pitch + lane % 2u * 2u;
    strip[first] = vec4<f32>(all[0], all[1], all[2], all[3]);
    strip[first + 1u] = vec4<f32>(all[4], all[5], all[6], all[7]);
}
",
        );
        let element = |side: &Laid, half: &str, x: &str| {
            let numbers = side.pitch * 4;
            let place = match side.along_k {
                true => format!("({x}) * {numbers}u + k"),
                false => format!("k * {numbers}u + {x}"),
            };
            let name = side.name;
            format!("f32({name}_{half}[{name} + ({place}) / 4u][({place}) % 4u])")
        };
        for of_a in self.halves {
            for of_b in self.halves {
                let (a, b) = (
                    element(&self.sides[0], of_a, "lane / 2u"),
                    element(&self.sides[1], of_b, "(lane % 2u * 8u + j)"),
                );
                _ = write!(
                    text,
                    "fn play_{of_a}_{of_b}(a: u32, b: u32, before: array<f32, 8>, lane: u32) -> array<f32, 8> {{
    var sum = before;
    for (var j = 0u; j < 8u; j++) {{
        for (var k = 0u; k < {SQUARE}u; k++) {{ sum[j] = fma({a}, {b}, sum[j]); }}
    }}
    return sum;
}}
"
                );
            }
        }
        text
    }
}

const _: () = assert!(DEPTH.is_multiple_of(SQUARE));
