//! Packing: the operands of a product on matrix units become lines of 32 numbers, as f16, divided by the power of two of their
//! row or column.
//!
//! One shader packs both operands. Eight threads make a line, of four numbers each. Where neighbouring lines, not neighbouring
//! numbers of one, lie together in memory, 32 of them go through workgroup memory, so that both sides are read and written in order.

use super::{INFINITY, LINE, bytes_of_lines, halves, vectors};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::shader::{Entry, Shader};

const THREADS: usize = 256;
/// Lines of a workgroup.
const LINES: usize = THREADS / 8;

/// What lines of an operand are made from, by functions of WGSL that give zeros where there is nothing.
pub(in crate::op) enum Source {
    /// `four_NAME(outer, inner)`: four neighbours. Line number `i` has those of outer `i % outers` from `i / outers · 32` on.
    Fours { outers: usize },
    /// `element_NAME(line, x)`: number x of a line. Neighbouring lines lie together. WGSL of the row or column that `line` begins
    /// at, where its numbers are of several.
    Elements { first: String },
}

/// Which exponent a number is divided by the power of two of.
pub(in crate::op) enum Scale {
    /// That of its line: WGSL of which, by `line`, or with fours by `outer`.
    OfLine(String),
    /// That of its own row or column.
    OfEach,
}

/// One operand.
pub(in crate::op) struct Packed {
    pub name: &'static str,
    /// Lines of each batch.
    pub lines: usize,
    pub source: Source,
    /// If it is scaled.
    pub scale: Option<Scale>,
    /// The scratch buffer of the lines.
    pub scratch: usize,
}

/// The shader that packs both operands. It is given with the functions of both, and with `exponents` where they are scaled;
/// `set_batch` is WGSL that takes `batch`.
pub(in crate::op) fn pack(
    call: &StructuredCall,
    mut shader: Shader,
    operands: [&Packed; 2],
    batches: usize,
    set_batch: &str,
) -> Program {
    let blocks = operands.map(|operand| operand.lines.div_ceil(LINES));
    for operand in operands {
        shader.bind(Bound::Scratch(operand.scratch), &format!("packed_{}", operand.name), "vec4<f16>");
    }
    shader.uses(crate::dtype::DType::F16);
    if operands.iter().any(|operand| matches!(operand.source, Source::Elements { .. })) {
        shader.share("turned", "f32", LINES * (LINE + 1));
    }
    let of_a = shader.params.size(blocks[0]);
    let [a, b] = operands.map(|operand| lines(call, operand, &mut shader));
    let body = format!(
        "    let batch = group.z;
{set_batch}    let x = thread % 8u * 4u;
    if (group.x < {of_a}) {{
        let line0 = group.x * {LINES}u;
{a}    }} else {{
        let line0 = (group.x - {of_a}) * {LINES}u;
{b}    }}
"
    );
    let groups = [blocks[0] + blocks[1], 1, batches].map(|count| count as u32);
    shader.finish(&Entry::grid(groups, THREADS), &body)
}

/// WGSL that makes the lines of one operand from `line0` on.
fn lines(call: &StructuredCall, operand: &Packed, shader: &mut Shader) -> String {
    let Packed { name, lines, source, scale, .. } = operand;
    let limit = shader.params.size(*lines);
    let (before, four) = match source {
        Source::Fours { outers } => {
            let outers = shader.params.size(*outers);
            let four = format!(
                "            let outer = line % {outers};
            let inner = line / {outers} * {LINE}u + x;
            var four = four_{name}(outer, inner);
"
            );
            (String::new(), four)
        }
        Source::Elements { first } => {
            let (pitch, step) = (LINE + 1, THREADS / LINES);
            let before = format!(
                "        for (var i = thread / {LINES}u; i < {LINE}u; i += {step}u) {{
            turned[thread % {LINES}u * {pitch}u + i] = element_{name}(line0 + thread % {LINES}u, i);
        }}
        workgroupBarrier();
"
            );
            let number = |j: usize| format!("turned[thread / 8u * {pitch}u + x + {j}u]");
            let numbers = [0, 1, 2, 3].map(number).join(", ");
            (
                before,
                format!(
                    "            let inner = {first} + x;\n            var four = vec4<f32>({numbers});\n"
                ),
            )
        }
    };
    let scaled = match scale {
        None => String::new(),
        Some(Scale::OfLine(which)) => format!("            four *= power(-shift_{name}_at({which}));\n"),
        Some(Scale::OfEach) => {
            let shift = |j: usize| format!("-shift_{name}_at(inner + {j}u)");
            let shifts = [0, 1, 2, 3].map(shift).join(", ");
            format!("            four *= powers(vec4<i32>({shifts}));\n")
        }
    };
    let count = vectors(call);
    let store = match halves(call) {
        1 => format!("            packed_{name}[at] = vec4<f16>(four);\n"),
        // Rounded to eleven bits by its bits: drivers take f32(f16(x)) for x.
        _ => format!(
            "            let bits = bitcast<vec4<u32>>(four);
            let is_finite = (bits & vec4<u32>({INFINITY}u)) < vec4<u32>({INFINITY}u);
            let first = bitcast<vec4<f32>>(select(bits, (bits + 0x1000u) & vec4<u32>(0xffffe000u), is_finite));
            packed_{name}[at] = vec4<f16>(first);
            packed_{name}[at + {second}u] = vec4<f16>(select(vec4<f32>(), four - first, is_finite));
",
            second = LINE / 4
        ),
    };
    format!(
        "{before}        let line = line0 + thread / 8u;
        if (line < {limit}) {{
{four}{scaled}            let at = (batch * {limit} + line) * {count}u + thread % 8u;
{store}        }}
"
    )
}

impl Packed {
    /// Bytes of all lines.
    pub fn bytes(&self, call: &StructuredCall, batches: usize) -> u64 {
        bytes_of_lines(call, batches * self.lines)
    }
}
