//! Convolutions on matrix units: where the elements of the two matrices lie whose product each direction is (see `wgsl`). The
//! tile loop is `op::units`.
//!
//! Columns of the right matrix, the windows, are multiplied by powers of two that belong to what they are read from: an image, or
//! for the weight's gradient a channel of all images. So nothing is read once for every tap to find them.

use super::wgsl::{Product, Text};
use super::{Direction, Sizes};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::op::matmul::{self, tiling};
use crate::op::parts::{scratch, sum_of_parts};
use crate::op::units::{self, DEPTH, KNOWN, Lines, THREADS, TILE, is_scaled, part_length};
use crate::shader::{Entry, Shader, widen};

/// The shaders of a convolution on matrix units, where there are any and they are faster.
pub(super) fn on_units(
    direction: Direction,
    sizes: &Sizes,
    call: &StructuredCall,
    product: Product,
) -> Option<Vec<Program>> {
    let Product { rows, columns, depth } = product;
    let groups = sizes.groups;
    let as_product = matmul::Sizes { batches: groups, m: rows, n: columns, k: depth };
    let (kind, parts) = tiling::on_units(&as_product, call)?;
    let length = part_length(depth, parts);
    let lines = is_scaled(call).then(|| lines(direction, sizes, product));
    let mut memory = scratch(call, parts);
    let of_exponents = memory.len();
    memory.extend(lines.iter().map(Lines::bytes));
    let mut programs = Vec::new();
    if let Some(lines) = &lines {
        let shader = Shader::new("conv exponents", Tier::General);
        programs.push(exponents(
            lines,
            Text::of(shader, direction, sizes, call),
            product,
            of_exponents,
            &memory,
        ));
    }

    let text = Text::new(direction, sizes, call);
    let elements = text.elements(product, length);
    let weight = direction == Direction::Weight;
    text.add(KNOWN);
    text.add(&elements.functions);
    text.add(&left(&text, product));
    text.add(&right(weight));
    let [pgroups, prows, pcolumns] = [groups, rows, columns].map(|size| text.n(size));
    let per_line = if weight { sizes.taps() } else { columns / sizes.images };
    let per_line = text.n(per_line);
    let mut shader = text.take();
    let found = lines.as_ref().map(|lines| {
        shader.bind(Bound::Scratch(of_exponents), "exponents", "u32");
        lines.found(&mut shader, |column| format!("{column} / {per_line}"))
    });
    match parts {
        1 => shader.hand_on(call, elements.fours),
        _ => shader.hand_on_parts(call, elements.fours),
    }
    shader.scratch = memory.clone();
    let (origin, pitch) = (&elements.origin, &elements.row_pitch);
    let hand_on = match elements.fours {
        true => format!("            put({origin}target_of(column, this_batch) + row * {pitch}, four);\n"),
        false => format!(
            "            for (var j = 0u; j < min(4u, {pcolumns} - column); j++) {{
                put({origin}target_of(column + j, this_batch) + row * {pitch}, four[j]);
            }}\n"
        ),
    };
    let product = units::Product {
        call,
        units: kind,
        is_whole: call.tier.is_specialised() && depth.is_multiple_of(DEPTH),
        along_k: [true, weight],
        rows: prows,
        columns: pcolumns,
        hand_on,
    };
    let [tile_rows, tile_columns] = TILE;
    let body = format!(
        "    row0 = group.y * {tile_rows}u;
    column0 = group.x * {tile_columns}u;
    this_batch = group.z % {pgroups};
{range}    zero = select(0u, 1u, end < first);
{}",
        product.body(&mut shader, found.as_ref()),
        range = elements.range,
    );
    let groups = [columns.div_ceil(tile_columns), rows.div_ceil(tile_rows), groups * parts];
    let entry = Entry::grid(groups.map(|count| count as u32), THREADS);
    programs.push(shader.finish(&entry, &body));
    if parts > 1 {
        programs.push(Program { scratch: memory, ..sum_of_parts(call, parts, "conv sum") });
    }
    Some(programs)
}

/// Lines whose elements have one power of two: rows of the left matrix; images of the right one, or its channels.
fn lines(direction: Direction, sizes: &Sizes, product: Product) -> Lines {
    let right = match direction {
        Direction::Forward => (sizes.images, sizes.inputs * sizes.input_plane()),
        Direction::Input => (sizes.images, sizes.outputs * sizes.output_plane()),
        Direction::Weight => (sizes.inputs, sizes.images * sizes.input_plane()),
    };
    Lines { batches: sizes.groups, counts: [product.rows, right.0], lengths: [product.depth, right.1] }
}

/// `place` and `four` of the left matrix, along its depth. Rows beyond the edge repeat the last.
fn left(text: &Text, product: Product) -> String {
    let [last_row, last_step] = [product.rows - 1, product.depth - 1].map(|size| text.n(size));
    let at = |step: &str| widen(text.dtype, &format!("b[place + left_depth({step})]"));
    let one =
        |j: usize| format!("select(0.0, {}, k + {j}u < end)", at(&format!("min(k + {j}u, {last_step})")));
    format!(
        "fn place_a(x: u32) -> u32 {{ return left_row(min(row0 + x, {last_row}), this_batch); }}
fn whole_a(place: u32, k: u32) -> vec4<f32> {{ return vec4<f32>({}); }}
fn four_a(place: u32, k: u32, end: u32) -> vec4<f32> {{ return vec4<f32>({}); }}
",
        [0, 1, 2, 3].map(|j| at(&format!("(k + {j}u)"))).join(", "),
        [0, 1, 2, 3].map(one).join(", ")
    )
}

/// `place` and `four` of the right matrix: four columns, or for the weight's gradient four steps.
fn right(weight: bool) -> String {
    match weight {
        true => {
            let one = |j: usize| format!("window(place(k + {j}u, this_batch), tap)");
            format!(
                "fn place_b(x: u32) -> Half {{ return tap(column0 + x); }}
fn whole_b(tap: Half, k: u32) -> vec4<f32> {{ return vec4<f32>({}); }}
fn four_b(tap: Half, k: u32, end: u32) -> vec4<f32> {{
    if (k >= end) {{ return vec4<f32>(); }}
    return whole_b(tap, k);
}}
",
                [0, 1, 2, 3].map(one).join(", ")
            )
        }
        false => {
            let place = |j: usize| format!("place(column0 + x + {j}u, this_batch)");
            let one = |j: usize| format!("window(places.p{j}, step)");
            format!(
                "struct Places {{ p0: Half, p1: Half, p2: Half, p3: Half }}
fn place_b(x: u32) -> Places {{ return Places({}); }}
fn whole_b(places: Places, k: u32) -> vec4<f32> {{
    let step = tap(k);
    return vec4<f32>({});
}}
fn four_b(places: Places, k: u32, end: u32) -> vec4<f32> {{
    if (k >= end) {{ return vec4<f32>(); }}
    return whole_b(places, k);
}}
",
                [0, 1, 2, 3].map(place).join(", "),
                [0, 1, 2, 3].map(one).join(", ")
            )
        }
    }
}

/// The shader that finds the exponents.
fn exponents(lines: &Lines, text: Text, product: Product, scratch: usize, memory: &[u64]) -> Program {
    text.add(KNOWN);
    text.add(&text.left_functions());
    text.add(&left(&text, product));
    let (channels, read) = text.read();
    let plane = crate::shape::product(read);
    let all = text.sizes.groups * channels;
    let [last, length, pchannels, pplane, image] =
        [lines.counts[1] - 1, lines.lengths[1], channels, plane, all * plane].map(|size| text.n(size));
    // An element of a line, which is all channels of an image, or one channel of all images.
    let (start, at) = match text.direction {
        Direction::Weight => (
            format!("(this_batch * {pchannels} + line) * {pplane}"),
            format!("i / {pplane} * {image} + i % {pplane}"),
        ),
        _ => (format!("line * {image} + this_batch * {pchannels} * {pplane}"), "i".to_string()),
    };
    let value = widen(text.dtype, "a[place + within(min(k + JJu, LAST - 1u))]");
    let one = |j: usize| {
        let value = value.replace("JJ", &j.to_string()).replace("LAST", &length);
        format!("select(0.0, {value}, k + {j}u < end)")
    };
    text.add(&format!(
        "fn within(i: u32) -> u32 {{ return {at}; }}
fn place_b(x: u32) -> u32 {{
    let line = min(column0 + x, {last});
    return {start};
}}
fn four_b(place: u32, k: u32, end: u32) -> vec4<f32> {{ return vec4<f32>({}); }}
",
        [0, 1, 2, 3].map(one).join(", ")
    ));
    let mut shader = text.take();
    (shader.scratch, shader.specialise) = (memory.to_vec(), false);
    lines.program(shader, [true, true], scratch, "    this_batch = batch;\n")
}
