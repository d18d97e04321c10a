//! Packing: the operands of a product on matrix units become lines of 32 numbers, as f16, divided by the power of two of their
//! row or column.
//!
//! One shader packs all operands that are to be packed. Eight threads make a line, of four numbers each. Where neighbouring lines, not neighbouring
//! numbers of one, lie together in memory, the 64 of a workgroup go through its memory, so that both sides are read and written in order; a thread
//! then takes eight numbers of one line, since finding where a line lies costs more than reading from there.
//!
//! Where rows and columns are short, its workgroups go over whole ones twice: first they find their exponents, then they pack.

use super::exponents::{bits_of, shifts_of};
use super::{INFINITY, LINE, Lies, Lines, bytes_of_lines, halves, vectors};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::shader::{Entry, Shader};

const THREADS: usize = 256;
/// Lines that a workgroup writes at a time, and lines that it makes.
const ABREAST: usize = THREADS / 8;
const LINES: usize = 2 * ABREAST;

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

/// The shader that packs operands, one or both. It is given with the functions of both, and with `exponents` where they are
/// scaled; `set_batch` is WGSL that takes `batch`.
pub(in crate::op) fn pack(
    call: &StructuredCall,
    mut shader: Shader,
    operands: &[&Packed],
    batches: usize,
    set_batch: &str,
) -> Program {
    for operand in operands {
        shader.bind(Bound::Scratch(operand.scratch), &format!("packed_{}", operand.name), "vec4<f16>");
    }
    shader.uses(crate::dtype::DType::F16);
    if operands.iter().any(|operand| matches!(operand.source, Source::Elements { .. })) {
        shader.share("turned", "f32", LINES * (LINE + 1));
    }
    let texts: Vec<String> = operands.iter().map(|operand| lines(call, operand, &mut shader)).collect();
    let blocks: Vec<usize> = operands.iter().map(|operand| operand.lines.div_ceil(LINES)).collect();
    let work = match &texts[..] {
        [a, b] => {
            let of_a = shader.params.size(blocks[0]);
            format!(
                "    if (group.x < {of_a}) {{
        let line0 = group.x * {LINES}u;
{a}    }} else {{
        let line0 = (group.x - {of_a}) * {LINES}u;
{b}    }}
"
            )
        }
        [one] => format!("    let line0 = group.x * {LINES}u;\n{one}"),
        _ => unreachable!("a product has two operands"),
    };
    let body = format!("    let batch = group.z;\n{set_batch}    let x = thread % 8u * 4u;\n{work}");
    let groups = [blocks.iter().sum(), 1, batches].map(|count| count as u32);
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
            // All of a thread's are on their way at once.
            let each = |text: &dyn Fn(usize) -> String| (0..LINE).step_by(step).map(text).collect::<String>();
            let before = format!(
                "        let first = thread / {LINES}u;
        let mine = thread % {LINES}u;
{}{}        workgroupBarrier();
",
                each(&|i| format!("        let element{i} = element_{name}(line0 + mine, first + {i}u);\n")),
                each(&|i| format!("        turned[mine * {pitch}u + first + {i}u] = element{i};\n")),
            );
            let number = |j: usize| format!("turned[(line - line0) * {pitch}u + x + {j}u]");
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
    let (count, store) = (vectors(call), store(call, name));
    let write = |after: usize| {
        format!(
            "        {{
            let line = line0 + thread / 8u + {after}u;
            if (line < {limit}) {{
{four}{scaled}            let at = (batch * {limit} + line) * {count}u + thread % 8u;
{store}            }}
        }}
"
        )
    };
    before + &(0..LINES).step_by(ABREAST).map(write).collect::<String>()
}

/// WGSL that stores `four` as halves from `at` on.
fn store(call: &StructuredCall, name: &str) -> String {
    match halves(call) {
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
    }
}

/// Rows of a workgroup that goes over whole ones.
const WHOLE_ROWS: usize = 8;
/// Steps of whole columns that a thread has on their way at a time.
const ON_THEIR_WAY: usize = 4;

/// The shader that finds the exponents of the rows of A and the columns of B of matrices, and packs them. Like `pack` it is given
/// with `four_a` and `four_b`; `extents` are the outer and inner sizes of both.
pub(in crate::op) fn find_and_pack(
    call: &StructuredCall,
    mut shader: Shader,
    operands: [&Packed; 2],
    (lies, extents): ([Lies; 2], [[usize; 2]; 2]),
    (exponents, scratch): (&Lines, usize),
    set_batch: &str,
) -> Program {
    for operand in operands {
        shader.bind(Bound::Scratch(operand.scratch), &format!("packed_{}", operand.name), "vec4<f16>");
    }
    shader.bind(Bound::Scratch(scratch), "exponents", "u32");
    shader.uses(crate::dtype::DType::F16);
    shader.share("largest", "vec4<u32>", THREADS);
    shader.add(&(bits_of() + &shifts_of()));
    let [of_a, of_b] = exponents.counts.map(|count| shader.params.size(count));
    let count = vectors(call);
    let mut blocks = [0; 2];
    let [a, b] = [0, 1].map(|number| {
        let Packed { name, lines, ref source, .. } = *operands[number];
        let Source::Fours { outers } = *source else { unreachable!("matrices are packed by fours") };
        let inners = lines / outers * LINE;
        let [outer, inner] = extents[number].map(|size| shader.params.size(size));
        let [padded_outers, padded_inners, lines] =
            [outers, inners, lines].map(|size| shader.params.size(size));
        let before = if number == 0 { String::new() } else { format!("{of_a} + ") };
        let store = store(call, name);
        let exponent_at = format!("exponents[batch * ({of_a} + {of_b}) + {before}");
        if lies[number] == Lies::Across {
            blocks[number] = inners / LINE;
            // Eight threads take four columns each, 32 steps at a time, and have several of these on their way.
            let steps: Vec<usize> = (0..ON_THEIR_WAY).map(|i| i * (THREADS / 8)).collect();
            let each = |text: &dyn Fn(usize) -> String| steps.iter().map(|&step| text(step)).collect::<String>();
            let loads = each(&|step| {
                format!("            let at_{step} = four_{name}(outer + {step}u, inner);\n")
            });
            let compare = each(&|step| format!("            most = max(most, bits_of(at_{step}));\n"));
            let stores = each(&|step| {
                format!(
                    "            if (outer + {step}u < {padded_outers}) {{
            let four = at_{step} * scale;
            let at = (batch * {lines} + block * {padded_outers} + outer + {step}u) * {count}u + thread % 8u;
{store}            }}
"
                )
            });
            return format!(
                "        let inner = block * {LINE}u + x;
        for (var outer = thread / 8u; outer < {outer}; outer += {apart}u) {{
{loads}{compare}        }}
        largest[thread] = most;
        workgroupBarrier();
        for (var other = thread % 8u; other < {THREADS}u; other += 8u) {{ most = max(most, largest[other]); }}
        let scale = powers(-shifts_of(most));
        if (thread < 8u) {{
            for (var j = 0u; j < 4u; j++) {{
                if (inner + j < {inner}) {{ {exponent_at}inner + j] = most[j] >> 23u; }}
            }}
        }}
        for (var outer = thread / 8u; outer < {padded_outers}; outer += {apart}u) {{
{loads}{stores}        }}
",
                apart = ON_THEIR_WAY * THREADS / 8,
            );
        }
        blocks[number] = outers.div_ceil(WHOLE_ROWS);
        let of_row = THREADS / WHOLE_ROWS;
        format!(
            "        let outer = block * {WHOLE_ROWS}u + thread / {of_row}u;
        for (var inner = thread % {of_row}u * 4u; inner < {inner}; inner += {step}u) {{
            most = max(most, bits_of(four_{name}(outer, inner)));
        }}
        largest[thread] = most;
        workgroupBarrier();
        let first = thread / {of_row}u * {of_row}u;
        for (var other = first; other < first + {of_row}u; other++) {{ most = max(most, largest[other]); }}
        let one = max(max(most.x, most.y), max(most.z, most.w));
        let scale = powers(-shifts_of(vec4<u32>(one)));
        if (thread == first && outer < {outer}) {{ {exponent_at}outer] = one >> 23u; }}
        if (outer < {padded_outers}) {{
            for (var inner = thread % {of_row}u * 4u; inner < {padded_inners}; inner += {step}u) {{
                let four = four_{name}(outer, inner) * scale;
                let at = (batch * {lines} + inner / {LINE}u * {padded_outers} + outer) * {count}u + thread % 8u;
{store}            }}
        }}
",
            step = of_row * 4,
        )
    });
    let of_rows = shader.params.size(blocks[0]);
    let body = format!(
        "    let batch = group.z;
{set_batch}    let x = thread % 8u * 4u;
    var most = vec4<u32>();
    if (group.x < {of_rows}) {{
        let block = group.x;
{a}    }} else {{
        let block = group.x - {of_rows};
{b}    }}
"
    );
    let groups = [blocks[0] + blocks[1], 1, exponents.batches].map(|count| count as u32);
    shader.finish(&Entry::grid(groups, THREADS), &body)
}

impl Packed {
    /// Bytes of all lines.
    pub fn bytes(&self, call: &StructuredCall, batches: usize) -> u64 {
        bytes_of_lines(call, batches * self.lines)
    }
}
