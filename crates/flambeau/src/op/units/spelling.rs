//! How matrix units are spelled in WGSL.
//!
//! `Cooperative` is wgpu's spelling. `Played` does the same with ordinary arithmetic, for tests where there are no matrix units:
//! a square of results is eight numbers in each of 32 threads (thread t has half of row t / 2), a square of A is the row that a
//! thread needs of it, and a square of B the place in workgroup memory where it begins.

use super::{LANES, SQUARE};
use crate::dtype::DType;
use crate::ir::UnitKind;
use crate::shader::Shader;

/// Workgroup memory of `vec4<f16>` that squares of an operand are read from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::op) struct Squares {
    pub memory: &'static str,
    /// Vectors of four from line to line.
    pub pitch: usize,
    /// Is a line a row of the operand, or a column?
    pub by_rows: bool,
}

impl Squares {
    /// The played function that reads rows of A, or that multiplies with squares of B.
    fn function(&self, verb: &str) -> String {
        let turned = if self.by_rows { "" } else { "_turned" };
        format!("{verb}_{}_{}{turned}", self.memory, self.pitch)
    }

    /// WGSL of the element in a row and a column of the square that begins at `at`.
    fn element(&self, row: &str, column: &str) -> String {
        let Squares { memory, pitch, by_rows } = self;
        let (line, within) = if *by_rows { (row, column) } else { (column, row) };
        format!("f32({memory}[at + {line} * {pitch}u + {within} / 4u][{within} % 4u])")
    }
}

pub(in crate::op) struct Spelling {
    units: UnitKind,
}

impl Spelling {
    pub fn new(units: UnitKind) -> Spelling {
        Spelling { units }
    }

    /// Has the shader know matrix units, or adds the functions that play them for these operands.
    pub fn announce(&self, shader: &mut Shader, of_a: &[Squares], of_b: &[Squares]) {
        match self.units {
            UnitKind::Cooperative { .. } => shader.takes_matrix_units(),
            UnitKind::Played => {
                shader.uses(DType::F16);
                shader.add(&played(of_a, of_b));
            }
        }
    }

    /// Says which `subgroup` this is and which `lane` of it.
    pub fn names(&self) -> String {
        match self.units {
            UnitKind::Cooperative { .. } => String::new(),
            UnitKind::Played => {
                format!("    let subgroup = thread / {LANES}u;\n    let lane = thread % {LANES}u;\n")
            }
        }
    }

    /// A square of zeros.
    pub fn zero(&self) -> &'static str {
        match self.units {
            UnitKind::Cooperative { .. } => "coop_mat16x16<f32, C>()",
            UnitKind::Played => "array<f32, 8>()",
        }
    }

    /// The square of A that begins at a place.
    pub fn load_a(&self, squares: &Squares, at: &str) -> String {
        match self.units {
            UnitKind::Cooperative { .. } => cooperative_load(squares, "A", at),
            UnitKind::Played => format!("{}({at}, lane)", squares.function("row")),
        }
    }

    /// The square of B that begins at a place.
    pub fn load_b(&self, squares: &Squares, at: &str) -> String {
        match self.units {
            UnitKind::Cooperative { .. } => cooperative_load(squares, "B", at),
            UnitKind::Played => at.to_string(),
        }
    }

    /// Squares of A and B that were loaded, multiplied and added to a sum.
    pub fn multiply_add(&self, a: &str, (of_b, b): (&Squares, &str), sum: &str) -> String {
        match self.units {
            UnitKind::Cooperative { .. } => format!("coopMultiplyAdd({a}, {b}, {sum})"),
            UnitKind::Played => format!("{}({a}, {b}, {sum}, lane)", of_b.function("play")),
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
}

fn cooperative_load(squares: &Squares, role: &str, at: &str) -> String {
    let Squares { memory, pitch, by_rows } = squares;
    let load = if *by_rows { "coopLoadT" } else { "coopLoad" };
    format!("{load}<coop_mat16x16<f16, {role}>>(&{memory}[{at}], {pitch}u)")
}

/// `both` adds squares, `row_…` reads a thread's row of A, and `play_…` multiplies it with a square of B and adds a third: in the
/// order of K, as f32. Loops end where no compiler can tell, so that they stay loops: unrolled, a shader took minutes to compile.
fn played(of_a: &[Squares], of_b: &[Squares]) -> String {
    let mut functions = String::from(
        "fn both(a: array<f32, 8>, b: array<f32, 8>) -> array<f32, 8> {
    var sum = a;
    for (var j = 0u; j < 8u; j++) { sum[j] += b[j]; }
    return sum;
}
",
    );
    for squares in of_a {
        let (name, element) = (squares.function("row"), squares.element("(lane / 2u)", "k"));
        functions += &format!(
            "fn {name}(at: u32, lane: u32) -> array<f32, {SQUARE}> {{
    var row = array<f32, {SQUARE}>();
    for (var k = 0u; k < {SQUARE}u + lane / {LANES}u; k++) {{ row[k] = {element}; }}
    return row;
}}
"
        );
    }
    for squares in of_b {
        let (name, element) = (squares.function("play"), squares.element("k", "(lane % 2u * 8u + j)"));
        functions += &format!(
            "fn {name}(a: array<f32, {SQUARE}>, at: u32, before: array<f32, 8>, lane: u32) -> array<f32, 8> {{
    var row = a;
    var sum = before;
    for (var j = 0u; j < 8u + lane / {LANES}u; j++) {{
        for (var k = 0u; k < {SQUARE}u + lane / {LANES}u; k++) {{ sum[j] = fma(row[k], {element}, sum[j]); }}
    }}
    return sum;
}}
"
        );
    }
    functions
}
