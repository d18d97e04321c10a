//! Convolutions on matrix units: how their operands become lines, and where these are. The tile loop is `op::units`.
//!
//! The tensor that windows are read from (x, or y for the input's gradient) is packed by channels, at every position of a grid
//! that has the padding in it. A tap of the kernel is then a fixed number of lines further on, and no window is put together in
//! memory. The input's gradient is a convolution of y with the kernel turned around, as long as no stride leaves gaps; with one
//! it is made phase by phase (`phases` has the formulas): workgroups of a phase take the rounds of its own taps.
//!
//! | direction | A | B | rounds |
//! |---|---|---|---|
//! | forward, input | weights of a row, along K | channels at column + tap, along K | taps × chunks of channels |
//! | weight | 32 features at a position, across | 32 channels at position + tap, across | images × positions / 32 |
//!
//! Columns of B are multiplied by powers of two that belong to what they are read from: an image, or for the weight's gradient a
//! channel of all images. So nothing is read once for every tap to find them.

use super::wgsl::{Product, Text};
use super::{Direction, Sizes};
use crate::ir::WhyNot;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::op::matmul::{self, tiling};
use crate::op::parts;
use crate::op::units::{
    self, KNOWN, KNOWN_OF_BATCH, LINE, Lies, Lines, Packed, SET_BATCH, Scale, Source, is_scaled, pack,
    rounds_of_part, units_of,
};
use crate::shader::{Entry, Shader, widen};
use crate::shape::product;

/// Where windows lie in the tensor they are read from, and in the grid that it is packed as.
struct Windows {
    /// Channels of a group, chunks of 32 of them, and the tensor's sizes.
    channels: usize,
    chunks: usize,
    read: [usize; 3],
    /// Windows along each dimension, and how far they lie apart.
    positions: [usize; 3],
    stride: [usize; 3],
    /// Positions of the grid before the tensor's first; there may be fewer than none.
    before: [i64; 3],
    grid: [usize; 3],
    /// Are there phases, and how many?
    phases: Option<usize>,
}

impl Windows {
    fn new(direction: Direction, sizes: &Sizes) -> Option<Windows> {
        let Sizes { kernel, dilation, padding, .. } = *sizes;
        let reach = |d: usize| (kernel[d] - 1) * dilation[d];
        let dims = [0, 1, 2];
        let (channels, read, positions, stride, before) = match direction {
            Direction::Forward | Direction::Weight => {
                (sizes.inputs, sizes.input, sizes.output, sizes.stride, padding.map(|x| x as i64))
            }
            Direction::Input if sizes.stride == [1; 3] => {
                let before = dims.map(|d| reach(d) as i64 - padding[d] as i64);
                (sizes.outputs, sizes.output, sizes.input, [1; 3], before)
            }
            Direction::Input => return Windows::of_phases(sizes),
        };
        let grid = dims.map(|d| (positions[d] - 1) * stride[d] + reach(d) + 1);
        let chunks = channels.div_ceil(LINE);
        Some(Windows { channels, chunks, read, positions, stride, before, grid, phases: None })
    }

    /// Those of an input's gradient with a stride, the same for all phases: tap k′ of a phase takes its element q to
    /// q + lead − k′ · dilation of y, where lead is ⌊p / s⌋ to ⌈p / s⌉.
    fn of_phases(sizes: &Sizes) -> Option<Windows> {
        let Sizes { kernel, dilation, padding, stride, .. } = *sizes;
        let dims = [0, 1, 2];
        if dims.iter().any(|&d| stride[d] > 1 && dilation[d] > 1) {
            return None;
        }
        let positions = dims.map(|d| sizes.input[d].div_ceil(stride[d]));
        let back = |d: usize| ((kernel[d].div_ceil(stride[d]) - 1) * dilation[d]) as i64;
        let before = dims.map(|d| back(d) - (padding[d] / stride[d]) as i64);
        let grid = dims.map(|d| {
            let last = positions[d] - 1 + padding[d].div_ceil(stride[d]);
            (last as i64 + before[d] + 1).max(1) as usize
        });
        let (channels, chunks) = (sizes.outputs, sizes.outputs.div_ceil(LINE));
        let phases = Some(product(stride));
        Some(Windows {
            channels,
            chunks,
            read: sizes.output,
            positions,
            stride: [1; 3],
            before,
            grid,
            phases,
        })
    }

    /// Is the place of window 32 r + j that of window 32 r, and that of j further? It is where windows lie in the grid without gaps, or
    /// where whole rows, planes or images of them are 32, or 32 are a whole number of these.
    fn places_add_up(&self, images: usize) -> bool {
        let is_dense = self.grid == self.positions && self.stride == [1; 3];
        let fits = |d: usize| {
            let together = product(&self.positions[d..]);
            together.is_multiple_of(LINE) || LINE.is_multiple_of(together)
        };
        (images * product(self.positions)).is_multiple_of(LINE)
            && (is_dense || [0, 1, 2].into_iter().all(fits))
    }

    /// Lines of a chunk of channels.
    fn lines(&self, images: usize) -> usize {
        images * product(self.grid)
    }
}

/// A convolution as a product on matrix units.
pub(super) struct Chosen {
    windows: Windows,
    /// What is multiplied: channels are whole lines.
    rows: usize,
    columns: usize,
    depth: usize,
    on_units: tiling::OnUnits,
}

/// How a convolution is made on matrix units, where there are any and they are faster.
pub(super) fn chosen(
    direction: Direction,
    sizes: &Sizes,
    call: &StructuredCall,
    asked: Product,
) -> Result<Chosen, WhyNot> {
    units_of(call)?;
    let windows =
        Windows::new(direction, sizes).ok_or(WhyNot::Kind("a stride with a dilation, backwards"))?;
    let Sizes { images, groups, .. } = *sizes;
    let weight = direction == Direction::Weight;
    let of_kernel = sizes.taps() * windows.chunks;
    let (rows, columns, depth) = match weight {
        true => (asked.rows, of_kernel * LINE, asked.depth),
        false => (asked.rows, images * product(windows.positions), of_kernel * LINE),
    };
    let phases = windows.phases.unwrap_or(1);
    let on_units = {
        let left = asked.rows.next_multiple_of(LINE) * if weight { asked.depth } else { depth };
        let packed = groups * (left + windows.lines(images) * windows.chunks * LINE);
        let of = |m, n, k| matmul::Sizes { batches: groups * phases, m, n, k };
        // Taps are shared out among phases.
        let multiplied = of(rows, columns, depth.div_ceil(phases));
        let plain = match windows.phases {
            Some(_) => of(rows, columns, asked.depth.div_ceil(phases)),
            None => of(asked.rows, asked.columns, asked.depth),
        };
        let most = if windows.phases.is_some() { 1 } else { tiling::MAX_PARTS };
        tiling::on_units(&multiplied, &plain, packed, most, call)?
    };
    Ok(Chosen { windows, rows, columns, depth, on_units })
}

/// The shaders of a convolution on matrix units.
pub(super) fn programs(
    direction: Direction,
    sizes: &Sizes,
    call: &StructuredCall,
    asked: Product,
    chosen: Chosen,
) -> Vec<Program> {
    let Chosen { windows, rows, columns, depth, on_units } = chosen;
    let Sizes { groups, images, .. } = *sizes;
    let weight = direction == Direction::Weight;
    let phases = windows.phases.unwrap_or(1);
    let tiling::OnUnits { units, tile, parts, .. } = on_units;
    let lies = if weight { [Lies::Across; 2] } else { [Lies::AlongK, Lies::AtPlaces] };
    let rounds = depth.div_ceil(LINE);
    let results = parts::OnUnits::new(call, parts);
    let mut memory = results.memory.clone();
    let scratch = memory.len();
    let scaled = is_scaled(call);

    // Packing, and the exponents before it: most of their work is to divide by sizes, which is faster where the text has these.
    let text = |label| Text::of(Shader::of(call, label), direction, sizes, call);
    let packing = text("conv packing");
    let left = left(&packing, asked, &windows, tile.size[0], scratch);
    let right = right(&packing, &windows, scratch + 1);
    memory.extend([&left, &right].map(|operand| operand.bytes(call, groups)));
    let exponents = scaled.then(|| lines(direction, sizes, asked, &windows));
    let of_exponents = memory.len();
    memory.extend(exponents.iter().map(Lines::bytes));
    let mut programs = Vec::new();
    if let Some(exponents) = &exponents {
        let fours = in_fours(direction, sizes, &windows);
        let shader = Shader::of(call, "conv exponents");
        let text = Text::with_operands(shader, fours, direction, sizes, call);
        elements_of_lines(&text, fours, asked, &windows, exponents);
        let mut shader = text.take();
        (shader.scratch, shader.in_turn) = (memory.clone(), true);
        programs.extend(exponents.programs(shader, [Lies::AlongK; 2], of_exponents, SET_BATCH));
    }
    let mut shader = packing.take();
    (shader.scratch, shader.in_turn) = (memory.clone(), true);
    if let Some(exponents) = &exponents {
        shader.bind(Bound::ScratchRead(of_exponents), "exponents", "u32");
        exponents.shifts(&mut shader);
    }
    programs.push(pack(call, shader, &[&left, &right], groups, SET_BATCH));

    // The product.
    let text = Text::unbound(Shader::of(call, call.op.name()), direction, sizes, call);
    text.add(KNOWN);
    text.add(&places(&text, &windows, [&left, &right], [columns, asked.depth]));
    let [pgroups, prows, pcolumns, all, length, numel] =
        [groups, rows, columns, rounds, rounds_of_part(depth, parts), call.outputs[0].1.numel()]
            .map(|size| text.n(size));
    let per_image = text.n(product(windows.positions));
    let chunks = text.n(windows.chunks);
    let channel = |column: &str| format!("{column} / {LINE}u % {chunks} * {LINE}u + {column} % {LINE}u");
    let (hand_on, fours) = match weight {
        true => {
            let [outputs, channels, taps] =
                [sizes.outputs, sizes.inputs, sizes.taps()].map(|size| text.n(size));
            let hand_on = format!(
                "            let tap = column / {LINE}u / {chunks};
            let channel = {};
            let target_at = part * {numel} + ((this_batch * {outputs} + row) * {channels} + channel) * {taps} + tap;
            for (var j = 0u; j < 4u; j++) {{
                if (channel + j < {channels}) {{ put(target_at + j * {taps}, four[j]); }}
            }}\n",
                channel("column")
            );
            (hand_on, false)
        }
        false if windows.phases.is_some() => {
            let pitch = text.n(sizes.input_plane());
            let hand_on = format!(
                "            for (var j = 0u; j < min(4u, {pcolumns} - column); j++) {{
                let target_at = target_of(column + j, this_batch);
                if (target_at != NOWHERE) {{ put(target_at + row * {pitch}, four[j]); }}
            }}\n"
            );
            (hand_on, false)
        }
        false => {
            let (target, pitch) = text.target();
            let fours = pitch.is_multiple_of(4);
            let pitch = text.n(pitch);
            text.add(&format!("fn target_of(column: u32, group: u32) -> u32 {{ return {target}; }}\n"));
            let hand_on = match fours {
                true => format!(
                    "            put(part * {numel} + target_of(column, this_batch) + row * {pitch}, four);\n"
                ),
                false => format!(
                    "            for (var j = 0u; j < min(4u, {pcolumns} - column); j++) {{
                put(part * {numel} + target_of(column + j, this_batch) + row * {pitch}, four[j]);
            }}\n"
                ),
            };
            (hand_on, fours)
        }
    };
    let mut shader = text.take();
    for operand in [&left, &right] {
        let name = operand.name;
        shader.bind(Bound::ScratchRead(operand.scratch), &format!("packed_{name}"), "vec4<f16>");
    }
    let line_of = |column: &str| match weight {
        true => channel(column),
        false => format!("{column} / {per_image}"),
    };
    let found = exponents.as_ref().map(|exponents| exponents.found(&mut shader, of_exponents, &line_of));
    results.hand_on(call, &mut shader, fours);
    (shader.scratch, shader.in_turn) = (memory.clone(), true);
    let adds_up = [true, windows.places_add_up(images)];
    let multiplied =
        units::Product { call, units, tile, lies, adds_up, rows: prows, columns: pcolumns, hand_on };
    let [tile_rows, tile_columns] = tile.size;
    let range = match windows.phases {
        None => format!(
            "    let part = group.z / {pgroups};
    let first = part * {length};
    let end = min(first + {length}, {all});
"
        ),
        Some(_) => {
            format!("    set_phase(group.z / {pgroups});\n    let first = 0u;\n    let end = rounds;\n")
        }
    };
    let body = format!(
        "    row0 = group.y * {tile_rows}u;
    column0 = group.x * {tile_columns}u;
    this_batch = group.z % {pgroups};
{range}    zero = select(0u, 1u, end < first);
{}",
        multiplied.body(&mut shader, found.as_ref()),
    );
    let groups = [columns.div_ceil(tile_columns), rows.div_ceil(tile_rows), groups * parts * phases];
    let entry = Entry::grid(groups.map(|count| count as u32), tile.threads());
    programs.push(shader.finish(&entry, &body));
    programs.extend(results.completion(call, "conv sum", memory));
    programs
}

/// Lines whose elements have one power of two: rows of A; images of B, or for the weight's gradient its channels.
fn lines(direction: Direction, sizes: &Sizes, asked: Product, windows: &Windows) -> Lines {
    let plane = product(windows.read);
    let (left, right) = match direction {
        Direction::Forward | Direction::Input => {
            ((asked.rows, sizes.taps() * windows.chunks * LINE), (sizes.images, windows.channels * plane))
        }
        Direction::Weight => ((asked.rows, asked.depth), (sizes.inputs, sizes.images * plane)),
    };
    Lines { batches: sizes.groups, counts: [left.0, right.0], lengths: [left.1, right.1], when_packed: false }
}

/// Four numbers of WGSL, each zero unless it is inside.
fn four_of(one: impl Fn(usize) -> String) -> String {
    format!("vec4<f32>({})", [0, 1, 2, 3].map(one).join(",\n        "))
}

/// Can the operands' elements be read four at a time to find exponents? Weights lie apart.
fn in_fours(direction: Direction, sizes: &Sizes, windows: &Windows) -> [bool; 2] {
    let is_whole = |plane: usize| plane.is_multiple_of(4);
    [is_whole(product(windows.read)), direction == Direction::Weight && is_whole(sizes.output_plane())]
}

/// `four_NAME(outer, inner)`: elements of a channel (`outer`) of all images, from number `inner` on.
fn four_of_channel(
    text: &Text,
    fours: bool,
    name: &str,
    buffer: &str,
    channels: usize,
    plane: usize,
) -> String {
    let images = text.sizes.images;
    let [pchannels, all, pplane, length] =
        [channels, text.sizes.groups * channels, plane, images * plane].map(|size| text.n(size));
    let place = |i: &str| format!("({i} / {pplane} * {all} + channel) * {pplane} + {i} % {pplane}");
    let one = |j: usize| {
        let i = format!("min(inner + {j}u, {length} - 1u)");
        let element = widen(text.dtype, &format!("{buffer}[{}]", place(&i)));
        format!("select(0.0, {element}, inner + {j}u < {length})")
    };
    let four = match fours {
        true => {
            let place = place(&format!("min(inner, {length} - 4u)"));
            format!("select(vec4<f32>(), vec4<f32>({buffer}[({place}) / 4u]), inner < {length})")
        }
        false => four_of(one),
    };
    format!(
        "fn four_{name}(outer: u32, inner: u32) -> vec4<f32> {{
    let channel = this_batch * {pchannels} + min(outer, {pchannels} - 1u);
    return {four};
}}
"
    )
}

/// The functions that exponents are found with.
fn elements_of_lines(text: &Text, fours: [bool; 2], asked: Product, windows: &Windows, lines: &Lines) {
    text.add(KNOWN_OF_BATCH);
    let plane = product(windows.read);
    if text.direction == Direction::Weight {
        let sizes = text.sizes;
        text.add(&four_of_channel(text, fours[1], "a", "b", sizes.outputs, sizes.output_plane()));
        text.add(&four_of_channel(text, fours[0], "b", "a", windows.channels, plane));
        return;
    }
    text.add(&four_of_weights(text, asked, windows));
    let all = text.sizes.groups * windows.channels * plane;
    let [last, length, image] = [lines.counts[1] - 1, lines.lengths[1], all].map(|size| text.n(size));
    let one = |j: usize| {
        let at = format!("a[start + min(inner + {j}u, {length} - 1u)]");
        format!("select(0.0, {}, inner + {j}u < {length})", widen(text.dtype, &at))
    };
    let four = match fours[0] {
        true => {
            let element = format!("a[(start + min(inner, {length} - 4u)) / 4u]");
            format!("select(vec4<f32>(), vec4<f32>({element}), inner < {length})")
        }
        false => four_of(one),
    };
    text.add(&format!(
        "fn four_b(outer: u32, inner: u32) -> vec4<f32> {{
    let start = min(outer, {last}) * {image} + this_batch * {length};
    return {four};
}}
"
    ));
}

/// `four_a(outer, inner)`: weights of a row, `inner` being tap · channels + channel, with channels of whole lines.
fn four_of_weights(text: &Text, asked: Product, windows: &Windows) -> String {
    let sizes = text.sizes;
    let [rows, taps, chunks, channels, outputs, inputs] =
        [asked.rows, sizes.taps(), windows.chunks, windows.channels, sizes.outputs, sizes.inputs]
            .map(|size| text.n(size));
    // The input's gradient has the kernel turned around.
    let place = |channel: &str| match text.direction {
        Direction::Input => {
            format!("((this_batch * {outputs} + {channel}) * {inputs} + row) * {taps} + {taps} - 1u - tap")
        }
        _ => format!("((this_batch * {outputs} + row) * {inputs} + {channel}) * {taps} + tap"),
    };
    let one = |j: usize| {
        let element = format!("b[{}]", place(&format!("min(channel + {j}u, {channels} - 1u)")));
        format!("select(0.0, {}, channel + {j}u < {channels})", widen(text.dtype, &element))
    };
    format!(
        "fn four_a(outer: u32, inner: u32) -> vec4<f32> {{
    let tap = inner / {LINE}u / {chunks};
    if (outer >= {rows} || tap >= {taps}) {{ return vec4<f32>(); }}
    let row = outer;
    let channel = inner / {LINE}u % {chunks} * {LINE}u + inner % {LINE}u;
    return {};
}}
",
        four_of(one)
    )
}

/// Steps of K of the weight's gradient, in whole lines.
fn padded_depth(asked: Product) -> usize {
    asked.depth.next_multiple_of(LINE)
}

/// How A is packed: weights, or y; rows of whole tiles of a size.
fn left(text: &Text, asked: Product, windows: &Windows, tile: usize, scratch: usize) -> Packed {
    text.add(KNOWN_OF_BATCH);
    let scaled = is_scaled(text.call);
    let sizes = text.sizes;
    if text.direction != Direction::Weight {
        text.add(&four_of_weights(text, asked, windows));
        let outers = asked.rows.next_multiple_of(tile);
        return Packed {
            name: "a",
            lines: outers * sizes.taps() * windows.chunks,
            source: Source::Fours { outers },
            scale: scaled.then(|| Scale::OfLine("outer".into())),
            scratch,
        };
    }
    let (outputs, plane, depth) = (sizes.outputs, sizes.output_plane(), padded_depth(asked));
    let [poutputs, all, pplane, steps, pdepth] =
        [outputs, sizes.groups * outputs, plane, asked.depth, depth].map(|size| text.n(size));
    let element = widen(text.dtype, "b[select(0u, place, is_inside)]");
    text.add(&format!(
        "fn element_a(line: u32, x: u32) -> f32 {{
    let step = line % {pdepth};
    let feature = line / {pdepth} * {LINE}u + x;
    let place = (step / {pplane} * {all} + this_batch * {poutputs} + feature) * {pplane} + step % {pplane};
    let is_inside = step < {steps} && feature < {poutputs};
    return select(0.0, {element}, is_inside);
}}
"
    ));
    Packed {
        name: "a",
        lines: outputs.next_multiple_of(tile) / LINE * depth,
        source: Source::Elements { first: format!("line / {pdepth} * {LINE}u") },
        scale: scaled.then_some(Scale::OfEach),
        scratch,
    }
}

/// How B is packed: the channels at every position of the grid.
fn right(text: &Text, windows: &Windows, scratch: usize) -> Packed {
    let images = text.sizes.images;
    let Windows { channels, chunks, read, before, grid, .. } = windows;
    let lines = windows.lines(images);
    let [pchannels, all, plane, pgrid, pimages, plines, plast] = [
        *channels,
        text.sizes.groups * channels,
        product(read),
        product(grid),
        images,
        lines,
        lines * chunks,
    ]
    .map(|size| text.n(size));
    let coordinates = text.each_dim(|d| {
        let before = text.n(before[d] as u32 as usize);
        format!("    let from{d} = at{d} - {before};\n")
    });
    let inside = text.each_dim(|d| format!(" && from{d} < {}", text.n(read[d])));
    let within = text.offset(read, |d| format!("from{d}"));
    let element = widen(text.dtype, "a[select(0u, place, is_inside)]");
    text.add(&format!(
        "fn element_b(line: u32, x: u32) -> f32 {{
    let channel = line / {plines} * {LINE}u + x;
    let image = line / {pgrid} % {pimages};
    var rest = line % {pgrid};
{unravel}{coordinates}    let place = (image * {all} + this_batch * {pchannels} + channel) * {plane} + {within};
    let is_inside = line < {plast} && channel < {pchannels}{inside};
    return select(0.0, {element}, is_inside);
}}
",
        unravel = text.unravel(grid),
    ));
    let scale = match text.direction {
        Direction::Weight => Scale::OfEach,
        Direction::Forward | Direction::Input => Scale::OfLine(format!("line / {pgrid} % {pimages}")),
    };
    Packed {
        name: "b",
        lines: lines * chunks,
        source: Source::Elements { first: format!("line / {plines} * {LINE}u") },
        scale: is_scaled(text.call).then_some(scale),
        scratch,
    }
}

/// Where lines are: `place` and `round` or `step` of both operands, of which one has so many columns and steps. Rows and columns
/// beyond the edge repeat the last.
fn places(
    text: &Text,
    windows: &Windows,
    [left, right]: [&Packed; 2],
    [columns, steps]: [usize; 2],
) -> String {
    let sizes = text.sizes;
    let Windows { positions, stride, grid, chunks, .. } = windows;
    let [of_image, pgrid, pchunks, of_chunk] =
        [product(positions), product(grid), *chunks, windows.lines(sizes.images)].map(|size| text.n(size));
    let place = text.offset(grid, |d| format!("at{d} * {}", text.n(stride[d])));
    let [of_left, of_right] = [left, right].map(|operand| text.n(operand.lines));
    let vectors = units::vectors(text.call);
    let window_place = format!(
        "fn window_place(i: u32) -> u32 {{
    let image = i / {of_image};
    var rest = i % {of_image};
{}    return image * {pgrid} + {place};
}}
",
        text.unravel(positions),
    );
    let window_tap = || {
        let tap = text.offset(grid, |d| format!("at{d} * {}", text.n(sizes.dilation[d])));
        format!(
            "fn window_tap(i: u32) -> u32 {{
    let chunk = i % {pchunks};
    var rest = i / {pchunks};
{}    return chunk * {of_chunk} + {tap};
}}
",
            text.unravel(&sizes.kernel),
        )
    };
    let of_kernel = sizes.taps() * chunks;
    if text.direction == Direction::Weight {
        let depth = text.n(steps.next_multiple_of(LINE));
        let [last_tap, steps] = [of_kernel - 1, steps].map(|size| text.n(size));
        // Steps beyond the end meet zeros of A.
        let functions = format!(
            "fn place_a(x: u32) -> u32 {{ return (this_batch * {of_left} + x * {depth}) * {vectors}u; }}
fn step_a(k: u32) -> u32 {{ return k * {vectors}u; }}
fn place_b(x: u32) -> u32 {{ return (this_batch * {of_right} + window_tap(min(x, {last_tap}))) * {vectors}u; }}
fn step_b(k: u32) -> u32 {{ return window_place(min(k, {steps} - 1u)) * {vectors}u; }}
"
        );
        return window_place + &window_tap() + &functions;
    }
    let [rows, last_column] = [left.lines / of_kernel, columns - 1].map(|size| text.n(size));
    let (of_taps, [round_a, round_b]) = match windows.phases {
        None => (window_tap(), ["round", "window_tap(round)"]),
        Some(_) => (phase_functions(text, windows), ["line_of_tap(round).x", "line_of_tap(round).y"]),
    };
    let functions = format!(
        "fn place_a(x: u32) -> u32 {{ return (this_batch * {of_left} + x) * {vectors}u; }}
fn round_a(round: u32) -> u32 {{ return {round_a} * {rows} * {vectors}u; }}
fn place_b(x: u32) -> u32 {{ return (this_batch * {of_right} + window_place(min(x, {last_column}))) * {vectors}u; }}
fn round_b(round: u32) -> u32 {{ return {round_b} * {vectors}u; }}
"
    );
    window_place + &of_taps + &functions
}

/// What workgroups know of their phase: `set_phase(number)`, after which they have so many `rounds`; `line_of_tap(round)`, the
/// lines of packed weights and of windows; and `target_of(column, group)`, where a result lies, or `NOWHERE`.
fn phase_functions(text: &Text, windows: &Windows) -> String {
    let sizes = text.sizes;
    let Windows { positions, before, grid, chunks, .. } = windows;
    let known = text.each_dim(|d| {
        format!(
            "var<private> r{d}: u32;
var<private> taps{d}: u32;
var<private> start{d}: u32;
var<private> from{d}: u32;
"
        )
    });
    let numbers = text.each_dim(|d| {
        let (kernel, stride, padding) = (sizes.kernel[d], sizes.stride[d], sizes.padding[d]);
        let [taps, more, last, stride, padding, before] = [
            kernel / stride,
            kernel % stride,
            padding + stride - 1,
            stride,
            padding,
            before[d] as u32 as usize,
        ]
        .map(|n| text.n(n));
        format!(
            "    r{d} = at{d};
    taps{d} = {taps} + select(0u, 1u, at{d} < {more});
    let lead{d} = ({last} - at{d}) / {stride};
    start{d} = lead{d} * {stride} + at{d} - {padding};
    from{d} = lead{d} + {before};
"
        )
    });
    let all_taps = text.each_dim(|d| format!(" * taps{d}"));
    let taps_of: String = text
        .dims()
        .into_iter()
        .rev()
        .map(|d| format!("    let k{d} = rest % taps{d};\n    rest /= taps{d};\n"))
        .collect();
    let weight = text.offset(&sizes.kernel, |d| format!("(r{d} + k{d} * {})", text.n(sizes.stride[d])));
    let window = text.offset(grid, |d| format!("(from{d} - k{d} * {})", text.n(sizes.dilation[d])));
    let element = |d: usize| format!("(at{d} * {} + start{d})", text.n(sizes.stride[d]));
    let outside = text.each_dim(|d| format!(" || {} >= {}", element(d), text.n(sizes.input[d])));
    let [pchunks, taps, of_chunk, of_image, all, inputs, plane] = [
        *chunks,
        sizes.taps(),
        windows.lines(sizes.images),
        product(positions),
        sizes.groups * sizes.inputs,
        sizes.inputs,
        sizes.input_plane(),
    ]
    .map(|size| text.n(size));
    format!(
        "const NOWHERE = 0xffffffffu;
{known}var<private> rounds: u32;
fn set_phase(number: u32) {{
    var rest = number;
{coordinates}{numbers}    rounds = {pchunks}{all_taps};
}}
fn line_of_tap(i: u32) -> vec2<u32> {{
    let chunk = i % {pchunks};
    var rest = i / {pchunks};
{taps_of}    let turned = {taps} - 1u - ({weight});
    return vec2<u32>(turned * {pchunks} + chunk, chunk * {of_chunk} + {window});
}}
fn target_of(column: u32, group: u32) -> u32 {{
    let image = column / {of_image};
    var rest = column % {of_image};
{unravel}    if (false{outside}) {{ return NOWHERE; }}
    return (image * {all} + group * {inputs}) * {plane} + {target};
}}
",
        coordinates = text.unravel(&sizes.stride),
        unravel = text.unravel(positions),
        target = text.offset(&sizes.input, element),
    )
}
