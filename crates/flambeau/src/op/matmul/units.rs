//! Products of matrices on matrix units: how their operands become lines, and where these are. The tile loop is `op::units`.

use super::Sizes;
use super::large::base;
use super::tiled::{Read, Side};
use super::tiling::OnUnits;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::op::parts::{self, sum_of_parts};
use crate::op::units::{
    KNOWN, KNOWN_OF_BATCH, LINE, Lies, Lines, Packed, Product, SET_BATCH, Scale, Source, is_scaled, pack,
    rounds_of_part,
};
use crate::shader::{Entry, Params, Shader};

/// The shaders of a product: those that find exponents, the one that packs, the product, and what completes it.
pub(super) fn programs(call: &StructuredCall, sizes: &Sizes, on_units: &OnUnits) -> Vec<Program> {
    let Sizes { batches, m, n, k } = *sizes;
    let OnUnits { units, tile, parts } = *on_units;
    let sides = [Side::new("a", &call.inputs[0], true, 0), Side::new("b", &call.inputs[1], false, 0)];
    let lies = sides.each_ref().map(lies);
    let exponents = is_scaled(call).then_some(Lines { batches, counts: [m, n], lengths: [k, k] });
    let results = parts::OnUnits::new(call, parts);
    let mut memory = results.memory.clone();
    let packed = [0, 1]
        .map(|number| packed(&sides[number], tile.size[number], is_scaled(call), memory.len() + number));
    memory.extend(packed.iter().map(|operand| operand.bytes(call, batches)));
    let of_exponents = memory.len();
    memory.extend(exponents.iter().map(Lines::bytes));

    let mut programs = Vec::new();
    if let Some(exponents) = &exponents {
        let (mut shader, bases) = with_operands(&sides, Shader::new("matmul exponents", Tier::General));
        (shader.scratch, shader.in_turn) = (memory.clone(), true);
        programs.extend(exponents.programs(shader, lies, of_exponents, &bases));
    }
    let (mut shader, bases) = with_operands(&sides, Shader::new("matmul packing", Tier::General));
    (shader.scratch, shader.in_turn) = (memory.clone(), true);
    if let Some(exponents) = &exponents {
        shader.bind(Bound::ScratchRead(of_exponents), "exponents", "u32");
        exponents.shifts(&mut shader);
    }
    programs.push(pack(call, shader, packed.each_ref(), batches, &bases));

    let mut shader = Shader::of(call, "matmul");
    shader.add(KNOWN);
    for operand in &packed {
        let name = operand.name;
        shader.bind(Bound::ScratchRead(operand.scratch), &format!("packed_{name}"), "vec4<f16>");
    }
    let found = exponents
        .as_ref()
        .map(|exponents| exponents.found(&mut shader, of_exponents, &|column| column.into()));
    for (number, operand) in packed.iter().enumerate() {
        let functions = places(operand, lies[number], &mut shader.params);
        shader.add(&functions);
    }
    let [pm, pn, pbatches, all, length] =
        [m, n, batches, k.div_ceil(LINE), rounds_of_part(k, parts)].map(|size| shader.params.size(size));
    let fours = n.is_multiple_of(4);
    results.hand_on(call, &mut shader, fours);
    (shader.scratch, shader.in_turn, shader.specialise) = (memory.clone(), true, true);
    let hand_on = match fours {
        true => format!("            put((job * {pm} + row) * {pn} + column, four);\n"),
        false => format!(
            "            let target_at = (job * {pm} + row) * {pn} + column;
            for (var j = 0u; j < min(4u, {pn} - column); j++) {{ put(target_at + j, four[j]); }}\n"
        ),
    };
    let product = Product { call, units, tile, lies, rows: pm, columns: pn, hand_on };
    let [rows, columns] = tile.size;
    let body = format!(
        "    row0 = group.y * {rows}u;
    column0 = group.x * {columns}u;
    let job = group.z;
    this_batch = job % {pbatches};
    let first = job / {pbatches} * {length};
    let end = min(first + {length}, {all});
    zero = select(0u, 1u, end < first);
{}",
        product.body(&mut shader, found.as_ref()),
    );
    let groups = [n.div_ceil(columns), m.div_ceil(rows), batches * parts].map(|count| count as u32);
    programs.push(shader.finish(&Entry::grid(groups, tile.threads()), &body));
    if results.are_completed {
        let sum = sum_of_parts(call, parts, "matmul sum");
        programs.push(Program { scratch: memory, in_turn: true, ..sum });
    }
    programs
}

fn lies(side: &Side) -> Lies {
    if side.read.blocks_along_k() { Lies::AlongK } else { Lies::Across }
}

/// The outer and the inner size of an operand: lines go along the inner one.
fn extents(side: &Side) -> [usize; 2] {
    match lies(side) {
        Lies::Across => [side.along_k.size, side.across.size],
        _ => [side.across.size, side.along_k.size],
    }
}

/// How an operand becomes lines: of whole rounds and whole tiles of a size, with zeros beyond the ends.
fn packed(side: &Side, tile: usize, scaled: bool, scratch: usize) -> Packed {
    let [outer, inner] = extents(side);
    let (outers, inners, scale) = match lies(side) {
        Lies::Across => (outer.next_multiple_of(LINE), inner.next_multiple_of(tile), Scale::OfEach),
        _ => (outer.next_multiple_of(tile), inner.next_multiple_of(LINE), Scale::OfLine("outer".into())),
    };
    Packed {
        name: side.name,
        lines: outers * (inners / LINE),
        source: Source::Fours { outers },
        scale: scaled.then_some(scale),
        scratch,
    }
}

/// `place` and `round` or `step` of an operand's lines.
fn places(operand: &Packed, lies: Lies, params: &mut Params) -> String {
    let Packed { name, lines, ref source, .. } = *operand;
    let Source::Fours { outers } = source else { unreachable!("matrices are packed by fours") };
    let [lines, outers] = [lines, *outers].map(|size| params.size(size));
    match lies {
        Lies::Across => format!(
            "fn place_{name}(chunk: u32) -> u32 {{ return this_batch * {lines} + chunk * {outers}; }}
fn step_{name}(k: u32) -> u32 {{ return k; }}
"
        ),
        _ => format!(
            "fn place_{name}(x: u32) -> u32 {{ return this_batch * {lines} + x; }}
fn round_{name}(round: u32) -> u32 {{ return round * {outers}; }}
"
        ),
    }
}

/// A shader with both operands and `four` of each, and WGSL that takes `batch` and says where its matrices begin.
fn with_operands(sides: &[Side; 2], mut shader: Shader) -> (Shader, String) {
    shader.add(KNOWN_OF_BATCH);
    shader.add("var<private> base_a: u32;\nvar<private> base_b: u32;\n");
    let mut bases = String::from(SET_BATCH);
    for (number, side) in sides.iter().enumerate() {
        side.bind(number, &mut shader);
        bases += &base(side, &mut shader.params).replacen("let ", "", 1);
        let function = four(side, &mut shader.params);
        shader.add(&function);
    }
    (shader, bases)
}

/// `four(outer, inner)` of an operand.
fn four(side: &Side, params: &mut Params) -> String {
    let (name, is_along) = (side.name, lies(side) == Lies::AlongK);
    let [outers, inners] = extents(side).map(|size| params.size(size));
    let strides = [side.across.stride, side.along_k.stride].map(|stride| params.stride(stride));
    let [outer_step, inner_step] = if is_along { strides } else { [strides[1].clone(), strides[0].clone()] };
    let value = match side.read {
        Read::AlongK | Read::Across => {
            format!("vec4<f32>({name}[(base_{name} + outer * {outer_step} + inner) / 4u])")
        }
        Read::SinglesAlongK | Read::SinglesAcross => {
            let one = |j: usize| {
                let at = format!(
                    "base_{name} + outer * {outer_step} + min(inner + {j}u, {inners} - 1u) * {inner_step}"
                );
                format!("select(0.0, f32({name}[{at}]), inner + {j}u < {inners})")
            };
            format!("vec4<f32>({})", [0, 1, 2, 3].map(one).join(", "))
        }
    };
    format!(
        "fn four_{name}(outer: u32, inner: u32) -> vec4<f32> {{
    if (outer >= {outers} || inner >= {inners}) {{ return vec4<f32>(); }}
    return {value};
}}
"
    )
}
