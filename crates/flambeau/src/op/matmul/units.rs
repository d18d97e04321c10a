//! Products of matrices on matrix units: where the elements of their operands lie. The tile loop is `op::units`.

use super::Sizes;
use super::large::base;
use super::tiled::{Read, Side};
use crate::ir::UnitKind;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::op::parts::{scratch, sum_of_parts};
use crate::op::units::{DEPTH, KNOWN, Lines, Product, THREADS, TILE, is_scaled, part_length};
use crate::shader::{Entry, Params, Shader};

/// The shaders of a product with a number of parts of K: exponents first, then the product, then its parts.
pub(super) fn programs(call: &StructuredCall, sizes: &Sizes, units: UnitKind, parts: usize) -> Vec<Program> {
    let Sizes { batches, m, n, k } = *sizes;
    let exponents = is_scaled(call).then_some(Lines { batches, counts: [m, n], lengths: [k, k] });
    let mut memory = scratch(call, parts);
    let of_exponents = memory.len();
    memory.extend(exponents.iter().map(Lines::bytes));
    let mut programs = Vec::new();
    if let Some(exponents) = &exponents {
        let (mut shader, along_k, bases) =
            with_operands(call, Shader::new("matmul exponents", Tier::General));
        shader.scratch = memory.clone();
        programs.push(exponents.program(shader, along_k, of_exponents, &bases));
    }

    let (mut shader, along_k, bases) = with_operands(call, Shader::of(call, "matmul"));
    let [pm, pn, pk, pbatches, length] =
        [m, n, k, batches, part_length(k, parts)].map(|size| shader.params.size(size));
    let fours = n.is_multiple_of(4);
    let found = exponents.as_ref().map(|exponents| {
        shader.bind(Bound::Scratch(of_exponents), "exponents", "u32");
        exponents.found(&mut shader, |column| column.into())
    });
    match parts {
        1 => shader.hand_on(call, fours),
        _ => shader.hand_on_parts(call, fours),
    }
    shader.scratch = memory.clone();
    shader.specialise = true;
    let hand_on = match fours {
        true => format!("            put((job * {pm} + row) * {pn} + column, four);\n"),
        false => format!(
            "            let at = (job * {pm} + row) * {pn} + column;
            for (var j = 0u; j < min(4u, {pn} - column); j++) {{ put(at + j, four[j]); }}\n"
        ),
    };
    let is_whole = call.tier.is_specialised() && k.is_multiple_of(DEPTH);
    let product = Product { call, units, is_whole, along_k, rows: pm, columns: pn, hand_on };
    let [rows, columns] = TILE;
    let body = format!(
        "    row0 = group.y * {rows}u;
    column0 = group.x * {columns}u;
    let job = group.z;
    let batch = job % {pbatches};
    let first = job / {pbatches} * {length};
    let end = min(first + {length}, {pk});
    zero = select(0u, 1u, end < first);
{bases}{}",
        product.body(&mut shader, found.as_ref()),
    );
    let groups = [n.div_ceil(columns), m.div_ceil(rows), batches * parts].map(|count| count as u32);
    programs.push(shader.finish(&Entry::grid(groups, THREADS), &body));
    if parts > 1 {
        programs.push(Program { scratch: memory, ..sum_of_parts(call, parts, "matmul sum") });
    }
    programs
}

/// A shader with both operands and their functions; whether these lie along K; and WGSL that takes `batch` and says where its
/// matrices begin.
fn with_operands(call: &StructuredCall, mut shader: Shader) -> (Shader, [bool; 2], String) {
    let sides = [Side::new("a", &call.inputs[0], true, 0), Side::new("b", &call.inputs[1], false, 0)];
    shader.add(KNOWN);
    shader.add("var<private> base_a: u32;\nvar<private> base_b: u32;\n");
    let mut bases = String::from("    this_batch = batch;\n");
    for (number, side) in sides.iter().enumerate() {
        side.bind(number, &mut shader);
        bases += &base(side, &mut shader.params).replacen("let ", "", 1);
        let functions = functions(side, &mut shader.params);
        shader.add(&functions);
    }
    (shader, sides.map(|side| side.read.blocks_along_k()), bases)
}

/// `place` and `four` of an operand. Rows and columns beyond the edge repeat the last: their results are never written.
fn functions(side: &Side, params: &mut Params) -> String {
    let Side { name, across, along_k, read, .. } = side;
    let origin = if *name == "a" { "row0" } else { "column0" };
    let last = across.size - if *read == Read::Across { 4 } else { 1 };
    let [last, last_k] = [last, along_k.size - 1].map(|size| params.size(size));
    let [step_x, step_k] = [across.stride, along_k.stride].map(|stride| params.stride(stride));
    let offset = format!("base_{name} + min({origin} + x, {last}) * {step_x}");
    let four = |one: &dyn Fn(usize) -> String| format!("vec4<f32>({})", [0, 1, 2, 3].map(one).join(", "));
    let unless_beyond = |whole: &str| format!("if (k >= end) {{ return vec4<f32>(); }}\n    return {whole}");
    let (place, whole, guarded) = match read {
        Read::AlongK | Read::Across => {
            let whole = format!("vec4<f32>({name}[(place + k * {step_k}) / 4u])");
            (offset, whole.clone(), unless_beyond(&whole))
        }
        Read::SinglesAlongK => {
            let at = |step: String| format!("f32({name}[place + {step} * {step_k}])");
            let one =
                |j: usize| format!("select(0.0, {}, k + {j}u < end)", at(format!("min(k + {j}u, {last_k})")));
            (offset, four(&|j| at(format!("(k + {j}u)"))), format!("return {}", four(&one)))
        }
        Read::SinglesAcross => {
            let one = |j: usize| {
                format!("f32({name}[base_{name} + min(place + {j}u, {last}) * {step_x} + k * {step_k}])")
            };
            let whole = four(&one);
            (format!("{origin} + x"), whole.clone(), unless_beyond(&whole))
        }
    };
    format!(
        "fn place_{name}(x: u32) -> u32 {{ return {place}; }}
fn whole_{name}(place: u32, k: u32) -> vec4<f32> {{ return {whole}; }}
fn four_{name}(place: u32, k: u32, end: u32) -> vec4<f32> {{
    {guarded};
}}
"
    )
}
