//! Products of matrices on matrix units: how their operands become lines, and where these are. The tile loop is `op::units`.
//!
//! Matrices of f16 whose sizes are multiples of 32 are read where they lie, unless the work is so much that packing pays.

use super::Sizes;
use super::large::base;
use super::tiled::{Read, Side};
use super::tiling::OnUnits;
use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::op::parts;
use crate::op::units::{
    KNOWN, KNOWN_OF_BATCH, LINE, Lies, Lines, Packed, Product, SET_BATCH, Scale, Source, find_and_pack,
    is_scaled, pack, rounds_of_part, vectors,
};
use crate::shader::{Entry, Params, Shader};

/// The shaders of a product: those that find exponents and pack, the product, and what completes it.
pub(super) fn programs(call: &StructuredCall, sizes: &Sizes, on_units: &OnUnits) -> Vec<Program> {
    let Sizes { batches, m, n, k } = *sizes;
    let OnUnits { units, tile, parts, in_place } = *on_units;
    let sides = [Side::new("a", &call.inputs[0], true, 0), Side::new("b", &call.inputs[1], false, 0)];
    let lies = sides.each_ref().map(lies);
    let exponents = is_scaled(call).then(|| Lines::of_product(batches, [m, n], k));
    let results = parts::OnUnits::new(call, parts);
    let mut memory = results.memory.clone();
    let packed = [0, 1].map(|number| {
        let side = &sides[number];
        let is_packed = !(in_place && has_lines(side));
        is_packed.then(|| {
            let packed = packed(side, tile.size[number], is_scaled(call), memory.len());
            memory.push(packed.bytes(call, batches));
            packed
        })
    });
    let of_exponents = memory.len();
    memory.extend(exponents.iter().map(Lines::bytes));

    let mut programs = before(call, &sides, packed.each_ref(), exponents.as_ref(), &memory, batches);
    let mut shader = Shader::of(call, "matmul");
    shader.add(KNOWN);
    let mut bases = String::new();
    for (number, side) in sides.iter().enumerate() {
        let (name, functions) = (side.name, places(side, packed[number].as_ref(), call, &mut shader.params));
        shader.add(&functions);
        let bound = match &packed[number] {
            Some(operand) => Bound::ScratchRead(operand.scratch),
            None => {
                shader.add(&format!("var<private> base_{name}: u32;\n"));
                bases += &set_base(side, &mut shader.params);
                Bound::Input(number)
            }
        };
        shader.bind(bound, &format!("packed_{name}"), "vec4<f16>");
    }
    let found = exponents
        .as_ref()
        .map(|exponents| exponents.found(&mut shader, of_exponents, &|column| column.into()));
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
    // What is read where it lies has lines anywhere.
    let lies = [0, 1].map(|number| match (lies[number], &packed[number]) {
        (Lies::AlongK, None) => Lies::AtPlaces,
        (lies, _) => lies,
    });
    let adds_up = [true; 2];
    let product = Product { call, units, tile, lies, adds_up, rows: pm, columns: pn, hand_on };
    let [rows, columns] = tile.size;
    let body = format!(
        "    row0 = group.y * {rows}u;
    column0 = group.x * {columns}u;
    let job = group.z;
    let batch = job % {pbatches};
    this_batch = batch;
{bases}    let first = job / {pbatches} * {length};
    let end = min(first + {length}, {all});
    zero = select(0u, 1u, end < first);
{}",
        product.body(&mut shader, found.as_ref()),
    );
    let groups = [n.div_ceil(columns), m.div_ceil(rows), batches * parts].map(|count| count as u32);
    programs.push(shader.finish(&Entry::grid(groups, tile.threads()), &body));
    programs.extend(results.completion(call, "matmul sum", memory));
    programs
}

/// The shaders that go before the product: they find exponents, whose scratch buffer is the last, and pack.
fn before(
    call: &StructuredCall,
    sides: &[Side; 2],
    packed: [&Option<Packed>; 2],
    exponents: Option<&Lines>,
    memory: &[u64],
    batches: usize,
) -> Vec<Program> {
    let packed: Vec<&Packed> = packed.into_iter().flatten().collect();
    if packed.is_empty() {
        return Vec::new();
    }
    let with_operands = |label| {
        let (mut shader, bases) = with_operands(sides, Shader::of(call, label));
        (shader.scratch, shader.in_turn, shader.specialise) = (memory.to_vec(), true, true);
        (shader, bases)
    };
    let (mut packing, bases) = with_operands("matmul packing");
    let lies = sides.each_ref().map(lies);
    let of_exponents = memory.len() - 1;
    match (exponents, &packed[..]) {
        (Some(exponents), &[a, b]) if exponents.when_packed => {
            let extents = sides.each_ref().map(extents);
            let exponents = (exponents, of_exponents);
            vec![find_and_pack(call, packing, [a, b], (lies, extents), exponents, &bases)]
        }
        (Some(exponents), _) => {
            let (shader, bases) = with_operands("matmul exponents");
            let mut programs = exponents.programs(shader, lies, of_exponents, &bases);
            packing.bind(Bound::ScratchRead(of_exponents), "exponents", "u32");
            exponents.shifts(&mut packing);
            programs.push(pack(call, packing, &packed, batches, &bases));
            programs
        }
        (None, _) => vec![pack(call, packing, &packed, batches, &bases)],
    }
}

/// Does an operand lie in memory as lines of f16?
fn has_lines(side: &Side) -> bool {
    let is_whole = |size: usize| size.is_multiple_of(LINE);
    side.operand.meta.dtype == DType::F16
        && side.read.is_vector()
        && is_whole(side.along_k.size)
        && (lies(side) == Lies::AlongK || is_whole(side.across.size))
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

/// `place` and `round` or `step` of an operand's lines, packed or where they lie.
fn places(side: &Side, packed: Option<&Packed>, call: &StructuredCall, params: &mut Params) -> String {
    let (name, vectors) = (side.name, vectors(call));
    let Some(Packed { lines, source, .. }) = packed else {
        let last = params.size(side.across.size - 1);
        // Rows and columns beyond the edge repeat the last ones.
        return match lies(side) {
            Lies::Across => {
                let step = params.stride(side.along_k.stride);
                format!(
                    "fn place_{name}(chunk: u32) -> u32 {{ return (base_{name} + min(chunk, {last} / {LINE}u) * {LINE}u) / 4u; }}
fn step_{name}(k: u32) -> u32 {{ return k * {step} / 4u; }}
"
                )
            }
            _ => {
                let step = params.stride(side.across.stride);
                format!(
                    "fn place_{name}(x: u32) -> u32 {{ return (base_{name} + min(x, {last}) * {step}) / 4u; }}
fn round_{name}(round: u32) -> u32 {{ return round * {vectors}u; }}
"
                )
            }
        };
    };
    let Source::Fours { outers } = source else { unreachable!("matrices are packed by fours") };
    let [lines, outers] = [*lines, *outers].map(|size| params.size(size));
    let first = format!("this_batch * {lines}");
    match lies(side) {
        Lies::Across => format!(
            "fn place_{name}(chunk: u32) -> u32 {{ return ({first} + chunk * {outers}) * {vectors}u; }}
fn step_{name}(k: u32) -> u32 {{ return k * {vectors}u; }}
"
        ),
        _ => format!(
            "fn place_{name}(x: u32) -> u32 {{ return ({first} + x) * {vectors}u; }}
fn round_{name}(round: u32) -> u32 {{ return round * {outers} * {vectors}u; }}
"
        ),
    }
}

/// WGSL that takes `batch` and says where its matrix begins.
fn set_base(side: &Side, params: &mut Params) -> String {
    base(side, params).replacen("let ", "", 1)
}

/// A shader with both operands and `four` of each, and WGSL that takes `batch` and says where its matrices begin.
fn with_operands(sides: &[Side; 2], mut shader: Shader) -> (Shader, String) {
    shader.add(KNOWN_OF_BATCH);
    shader.add("var<private> base_a: u32;\nvar<private> base_b: u32;\n");
    let mut bases = String::from(SET_BATCH);
    for (number, side) in sides.iter().enumerate() {
        side.bind(number, &mut shader);
        bases += &set_base(side, &mut shader.params);
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
