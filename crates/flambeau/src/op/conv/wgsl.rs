//! Convolution on the GPU.
//!
//! Every direction is a product of matrices per group. The left one is operand b; the right one, windows of operand a,
//! is never in memory: its elements are read where the windows lie. Tiles of both operands go through workgroup memory four elements at a time,
//! and every thread keeps a block of results in registers. All sizes are parameters; the shaders are worth specialising.
//!
//! | direction | rows | columns | depth |
//! |---|---|---|---|
//! | forward | O | images × P | C × K |
//! | input | C | images × I | O × K |
//! | weight | O | C × K | images × P |
//!
//! A product with few results is cut along its depth; the parts are added by a second shader, in order. Where a tile
//! would be mostly empty (a channel or a few per group), threads loop over the definition instead (`narrow`). Products
//! that fill the GPU are made by `large`, with a stride in `phases`. Where compiling is slow, `compact` makes all but those
//! until a plan is hot. Adapters that pay dearly for barriers have `blocks`.

use super::units;
use super::{Direction, Sizes};
use crate::dtype::DType;
use crate::ir::GpuSize;
use crate::ir::call::{OnUnits, StructuredCall};
use crate::ir::program::{Bound, Program, Tier};
use crate::op::parts::{hand_on_compact, scratch, sum_of_parts};
use crate::op::units::units_of;
use crate::shader::{Entry, Fold, Shader, widen};
use crate::shape::product;
use std::cell::RefCell;

/// Steps of depth one workgroup takes: software adapters end loops of more rounds than 65,535.
pub(super) const LONGEST: usize = 32_768;
/// Rows of a product up to which a tile would be mostly empty.
const FEW_ROWS: usize = 4;
/// Workgroups that keep a large GPU busy.
pub(super) const BUSY: usize = 512;

pub(super) fn programs(direction: Direction, sizes: &Sizes, call: &StructuredCall) -> Vec<Program> {
    let text = || Text::new(direction, sizes, call);
    let product = text().product();
    let narrow = (product.rows <= FEW_ROWS).then(|| text().narrow(product)).flatten();
    let is_compact = call.tier == Tier::Compact;
    let on_units = || {
        let chosen = units::chosen(direction, sizes, call, product).ok().filter(|_| !is_compact)?;
        Some(units::programs(direction, sizes, call, product, chosen))
    };
    let by_phases = || text().by_phases();
    let whole = || match is_compact {
        true => text().compact(product),
        false => text().large(product).unwrap_or_else(|| text().tiled(product)),
    };
    narrow.or_else(on_units).or_else(by_phases).unwrap_or_else(whole)
}

/// Does a call run on matrix units?
pub(super) fn on_units(direction: Direction, sizes: &Sizes, call: &StructuredCall) -> OnUnits {
    // No text is begun where there are none.
    units_of(call)?;
    let product = Text::new(direction, sizes, call).product();
    units::chosen(direction, sizes, call, product).map(|_| ())
}

/// The same for adapters that pay dearly for barriers.
pub(super) fn programs_without_barriers(
    direction: Direction,
    sizes: &Sizes,
    call: &StructuredCall,
) -> Vec<Program> {
    let text = || Text::new(direction, sizes, call);
    let product = text().product();
    let by_thread = product.rows <= FEW_ROWS && direction != Direction::Weight;
    let narrow = by_thread.then(|| text().narrow(product)).flatten();
    narrow.unwrap_or_else(|| text().by_blocks(product))
}

/// The text of a shader.
pub(super) struct Text<'a> {
    pub direction: Direction,
    pub sizes: &'a Sizes,
    pub call: &'a StructuredCall,
    pub dtype: DType,
    shader: RefCell<Shader>,
}

/// Sizes of the product of one group.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub rows: usize,
    pub columns: usize,
    pub depth: usize,
}

/// How a product is cut: `side` × `side` threads, of which each owns 4·`tall` × 4 results.
pub(super) struct Tiling {
    side: usize,
    tall: usize,
    row_tiles: usize,
    column_tiles: usize,
    parts: usize,
    /// Steps of depth of a part.
    pub part: usize,
}

impl Product {
    pub fn tiling(self, groups: usize, gpu: GpuSize) -> Tiling {
        let busy = gpu.busy(BUSY);
        let tiles =
            |side: usize, tall: usize| (self.rows.div_ceil(4 * side * tall), self.columns.div_ceil(4 * side));
        let count = |(rows, columns): (usize, usize)| groups * rows * columns;
        let (side, tall) = match self {
            Product { rows, columns, .. }
                if rows <= 32 || columns <= 32 || count(tiles(16, 1)) < busy / 8 =>
            {
                (8, 1)
            }
            Product { rows, .. } if rows >= 128 && count(tiles(16, 2)) >= busy => (16, 2),
            _ => (16, 1),
        };
        let (row_tiles, column_tiles) = tiles(side, tall);
        let wanted = busy / (groups * row_tiles * column_tiles).max(1);
        let parts = wanted.min(self.depth / 128).max(self.depth.div_ceil(LONGEST)).max(1);
        let part = self.depth.div_ceil(parts).next_multiple_of(side).max(side);
        Tiling { side, tall, row_tiles, column_tiles, parts: self.depth.div_ceil(part).max(1), part }
    }
}

impl<'a> Text<'a> {
    pub fn new(direction: Direction, sizes: &'a Sizes, call: &'a StructuredCall) -> Text<'a> {
        Text::of(Shader::of(call, call.op.name()), direction, sizes, call)
    }

    /// With a shader that binds nothing yet.
    pub fn of(shader: Shader, direction: Direction, sizes: &'a Sizes, call: &'a StructuredCall) -> Text<'a> {
        Text::with_operands(shader, [false; 2], direction, sizes, call)
    }

    /// The same with operands that are read in vectors of four, or not.
    pub fn with_operands(
        mut shader: Shader,
        fours: [bool; 2],
        direction: Direction,
        sizes: &'a Sizes,
        call: &'a StructuredCall,
    ) -> Text<'a> {
        let dtype = call.outputs[0].1.dtype;
        shader.bind_elements(Bound::Input(0), "a", dtype, fours[0]);
        shader.bind_elements(Bound::Input(1), "b", dtype, fours[1]);
        Text::unbound(shader, direction, sizes, call)
    }

    /// The same without the operands.
    pub fn unbound(
        mut shader: Shader,
        direction: Direction,
        sizes: &'a Sizes,
        call: &'a StructuredCall,
    ) -> Text<'a> {
        let dtype = call.outputs[0].1.dtype;
        (shader.specialise, shader.subgroups) = (true, call.subgroups);
        Text { direction, sizes, call, dtype, shader: RefCell::new(shader) }
    }

    /// WGSL that stands for a size.
    pub fn n(&self, size: usize) -> String {
        self.shader.borrow_mut().params.size(size)
    }

    /// Declares how results are handed on: to a scratch buffer if they are parts of sums.
    pub fn hand_on(&self, parts: usize, fours: bool) {
        let mut shader = self.shader.borrow_mut();
        match parts {
            1 => shader.hand_on(self.call, fours),
            _ => shader.hand_on_parts(self.call, fours),
        }
        shader.scratch = scratch(self.call, parts);
    }

    /// The same for compact texts.
    pub fn hand_on_compact(&self, parts: usize) {
        hand_on_compact(&mut self.shader.borrow_mut(), self.call, parts);
    }

    /// Says that the shader would gain nothing from its sizes.
    pub fn stays_general(&self) {
        self.shader.borrow_mut().specialise = false;
    }

    /// The shader, for who finishes it.
    pub fn take(&self) -> Shader {
        self.shader.take()
    }

    /// Adds functions, types and workgroup memory.
    pub fn add(&self, functions: &str) {
        self.shader.borrow_mut().add(functions);
    }

    pub fn share(&self, name: &str, element: &str, count: usize) {
        self.shader.borrow_mut().share(name, element, count);
    }

    /// WGSL that adds up these variables of a workgroup's threads.
    pub fn joined(&self, sums: &[Fold], threads: usize) -> String {
        self.shader.borrow_mut().joined(sums, threads)
    }

    /// The shader that makes results, or parts of sums and then results.
    pub fn finish(&self, entry: &Entry, body: &str, parts: usize) -> Vec<Program> {
        let program = self.shader.take().finish(entry, body);
        match parts {
            1 => vec![program],
            _ => vec![program, sum_of_parts(self.call, parts, "conv sum")],
        }
    }

    pub fn product(&self) -> Product {
        let Sizes { images, inputs, outputs, .. } = *self.sizes;
        let taps = self.sizes.taps();
        let (rows, columns, depth) = match self.direction {
            Direction::Forward => (outputs, images * self.sizes.output_plane(), inputs * taps),
            Direction::Input => (inputs, images * self.sizes.input_plane(), outputs * taps),
            Direction::Weight => (outputs, inputs * taps, images * self.sizes.output_plane()),
        };
        Product { rows, columns, depth }
    }

    /// The dimensions that are more than formal.
    pub fn dims(&self) -> Vec<usize> {
        let Sizes { input, kernel, output, padding, .. } = self.sizes;
        let formal = |d: usize| input[d] == 1 && kernel[d] == 1 && output[d] == 1 && padding[d] == 0;
        (0..3).filter(|&d| d == 2 || !formal(d)).collect()
    }

    /// WGSL that takes `rest` apart into coordinates `at0`, `at1`, …, the last of `sizes` changing fastest.
    pub fn unravel(&self, sizes: &[usize; 3]) -> String {
        let dims = self.dims();
        let mut code = String::new();
        for (position, &d) in dims.iter().enumerate().rev() {
            code += &match position {
                0 => format!("    let at{d} = rest;\n"),
                _ => {
                    format!("    let at{d} = rest % {size};\n    rest /= {size};\n", size = self.n(sizes[d]))
                }
            };
        }
        code
    }

    /// The place of an element in a channel of these sizes, from the coordinates `p.d`.
    pub fn offset(&self, sizes: &[usize; 3], coordinate: impl Fn(usize) -> String) -> String {
        let mut dims = self.dims().into_iter();
        let first = dims.next().map_or(String::from("0u"), &coordinate);
        dims.fold(first, |outer, d| format!("({outer} * {} + {})", self.n(sizes[d]), coordinate(d)))
    }

    /// WGSL of the two halves of the right operand's index and of reading at both.
    ///
    /// `place(i)` is an image and a position, `tap(i)` a channel and a tap of the kernel, both as an offset and
    /// coordinates; those past the end have coordinates that never meet. `window(place, tap)` is the element, or zero.
    pub fn window_functions(&self, places: &str) -> String {
        self.half_functions(places, &|| self.window_function(&self.sizes.stride))
    }

    /// WGSL of a function that takes both halves, and of `place` and `tap`.
    pub fn half_functions(&self, places: &str, function: &dyn Fn() -> String) -> String {
        let sizes = self.sizes;
        let forward = self.direction != Direction::Input;
        let (channels, read) = self.read();
        let positions = if forward { &sizes.output } else { &sizes.input };
        let [channels, plane, positions_of_image, all] =
            [channels, product(read), product(positions), sizes.groups * channels].map(|n| self.n(n));
        let [taps, kernel] = [self.read().0 * sizes.taps(), sizes.taps()].map(|n| self.n(n));
        let place = self.each_dim(|d| match (forward, sizes.stride[d], sizes.padding[d]) {
            (true, stride, padding) => format!(", at{d} * {} - {}", self.n(stride), self.n(padding)),
            (false, _, padding) => format!(", at{d} + {}", self.n(padding)),
        });
        let tap = self.each_dim(|d| format!(", at{d} * {}", self.n(sizes.dilation[d])));
        format!(
            "{function}fn place(i: u32, group: u32) -> Half {{
    if (i >= {places}) {{ return {no_place}; }}
    let image = i / {positions_of_image};
    var rest = i % {positions_of_image};
{place_coordinates}    return Half((image * {all} + group * {channels}) * {plane}{place});
}}
fn tap(i: u32) -> Half {{
    if (i >= {taps}) {{ return {no_tap}; }}
    let channel = i / {kernel};
    var rest = i % {kernel};
{tap_coordinates}    return Half(channel * {plane}{tap});
}}
",
            function = function(),
            no_place = self.no_place(),
            no_tap = self.no_tap(),
            place_coordinates = self.unravel(positions),
            tap_coordinates = self.unravel(&sizes.kernel),
        )
    }

    /// WGSL of a half of an index, and of `window`, which reads at two that meet with these strides.
    pub fn window_function(&self, stride: &[usize; 3]) -> String {
        let (_, read) = self.read();
        let (meet, inside) = self.meeting(&self.dims(), stride);
        format!(
            "{half}fn window(p: Half, t: Half) -> f32 {{
{meet}    if ({inside}) {{ return {value}; }}
    return 0.0;
}}
",
            half = self.half_struct(),
            value = widen(
                self.dtype,
                &format!("a[p.base + t.base + {}]", self.offset(read, |d| format!("at{d}")))
            ),
        )
    }

    /// WGSL of a half of an index.
    pub fn half_struct(&self) -> String {
        format!("struct Half {{ base: u32{} }}\n", self.each_dim(|d| format!(", at{d}: u32")))
    }

    /// WGSL of the coordinates `at0`, … at which a place `p` and a tap `t` meet in these dimensions, and of whether there is an
    /// element there.
    pub fn meeting(&self, dims: &[usize], stride: &[usize; 3]) -> (String, String) {
        let forward = self.direction != Direction::Input;
        let (_, read) = self.read();
        let meet = dims.iter().map(|&d| match (forward, stride[d]) {
            (true, _) => format!("    let at{d} = p.at{d} + t.at{d};\n"),
            (false, 1) => format!("    let at{d} = p.at{d} - t.at{d};\n"),
            (false, stride) => {
                let stride = self.n(stride);
                format!("    let all{d} = p.at{d} - t.at{d};\n    let at{d} = all{d} / {stride};\n")
            }
        });
        let meet = meet.collect();
        let inside = dims.iter().map(|&d| match (forward, stride[d]) {
            (true, _) | (false, 1) => format!("at{d} < {}", self.n(read[d])),
            (false, stride) => {
                format!("at{d} < {} && all{d} == at{d} * {}", self.n(read[d]), self.n(stride))
            }
        });
        (meet, inside.collect::<Vec<_>>().join(" && "))
    }

    /// The channels per group and the sizes of the tensor that windows are read from.
    pub fn read(&self) -> (usize, &[usize; 3]) {
        match self.direction {
            Direction::Forward | Direction::Weight => (self.sizes.inputs, &self.sizes.input),
            Direction::Input => (self.sizes.outputs, &self.sizes.output),
        }
    }

    /// WGSL of a place and of a tap past the end: they meet nothing.
    pub fn no_place(&self) -> String {
        format!("Half(0u{})", self.each_dim(|_| ", 0x40000000u".into()))
    }

    pub fn no_tap(&self) -> String {
        format!("Half(0u{})", self.each_dim(|_| ", 0x60000000u".into()))
    }

    /// The text of every dimension, one after another.
    pub fn each_dim(&self, text: impl Fn(usize) -> String) -> String {
        self.dims().into_iter().map(text).collect()
    }

    /// WGSL of the left operand: the offset of an element is `left_row(row, group) + left_depth(step)`.
    pub fn left_functions(&self) -> String {
        let sizes = self.sizes;
        let (groups, inputs, outputs, taps) = (sizes.groups, sizes.inputs, sizes.outputs, sizes.taps());
        let (row, depth) = match self.direction {
            Direction::Forward => {
                let [outputs, depth] = [outputs, inputs * taps].map(|n| self.n(n));
                (format!("(group * {outputs} + row) * {depth}"), "step".to_string())
            }
            Direction::Input => {
                let all = inputs * taps;
                let [whole, all, taps] = [outputs * all, all, taps].map(|n| self.n(n));
                (format!("group * {whole} + row * {taps}"), format!("step / {taps} * {all} + step % {taps}"))
            }
            Direction::Weight => {
                let plane = sizes.output_plane();
                let [image, outputs, plane] = [groups * outputs * plane, outputs, plane].map(|n| self.n(n));
                (
                    format!("(group * {outputs} + row) * {plane}"),
                    format!("step / {plane} * {image} + step % {plane}"),
                )
            }
        };
        format!(
            "fn left_row(row: u32, group: u32) -> u32 {{ return {row}; }}
fn left_depth(step: u32) -> u32 {{ return {depth}; }}
"
        )
    }

    /// WGSL of the offset of a column's first result, and how far its rows lie apart.
    pub fn target(&self) -> (String, usize) {
        let sizes = self.sizes;
        let images = |channels: usize, plane: usize| {
            let [all, channels, pplane] = [sizes.groups * channels, channels, plane].map(|n| self.n(n));
            let offset =
                format!("(column / {pplane} * {all} + group * {channels}) * {pplane} + column % {pplane}");
            (offset, plane)
        };
        match self.direction {
            Direction::Forward => images(sizes.outputs, sizes.output_plane()),
            Direction::Input => images(sizes.inputs, sizes.input_plane()),
            Direction::Weight => {
                let columns = sizes.inputs * sizes.taps();
                (format!("group * {} + column", self.n(sizes.outputs * columns)), columns)
            }
        }
    }

    /// WGSL of the number of images × positions.
    pub fn places(&self) -> String {
        let Product { columns, depth, .. } = self.product();
        self.n(if self.direction == Direction::Weight { depth } else { columns })
    }

    /// Results tile by tile, in parts of the depth where there are several.
    #[inline(never)] // A page fetches it when a plan is hot.
    fn tiled(&self, product: Product) -> Vec<Program> {
        let Tiling { side, tall, row_tiles, column_tiles, parts, part } =
            product.tiling(self.sizes.groups, self.call.gpu);
        let groups = self.sizes.groups;
        let weight = self.direction == Direction::Weight;
        let jobs = row_tiles * column_tiles * groups * parts;
        let [all_jobs, across, down, part_length] = [jobs, column_tiles, row_tiles, part].map(|n| self.n(n));
        let numel = self.n(self.call.outputs[0].1.numel());
        let [rows, columns, depth, groups_of_channels] =
            [product.rows, product.columns, product.depth, groups].map(|n| self.n(n));
        let places = if weight { &depth } else { &columns };
        // Neighbouring threads read neighbouring elements: columns of images, or steps of the depth for the weight.
        let (quad, step) = if weight { ("slow", "fast") } else { ("fast", "slow") };
        let half = |index: &str, is_tap: bool| match is_tap {
            true => format!("tap({index})"),
            false => format!("place({index}, channels)"),
        };
        let step_half = half("k0 + step", !weight);
        let column = |j: usize| half(&format!("first_column + quad * 4u + {j}u"), weight);
        let setup: String = (0..4).map(|j| format!("    let column{j} = {};\n", column(j))).collect();
        let (mut loads, mut sums, mut stores, mut zeros) =
            (String::new(), String::new(), String::new(), String::new());
        let left = widen(self.dtype, "b[left_row(row, group) + depth_offset]");
        let (pitch_a, pitch_b) = (side * tall + 1, side + 1);
        for r in 0..tall {
            loads += &format!("        tile_a[fast * {pitch_a}u + slow + {}u] = vec4<f32>(\n", r * side);
            for j in 0..4 {
                let row = format!("first_row + (slow + {}u) * 4u + {j}u", r * side);
                let comma = if j < 3 { "," } else { ");" };
                loads += &format!("            left({row}, k0 + fast, channels, depth_offset){comma}\n");
            }
            sums += &format!("            let a{r} = tile_a[i * {pitch_a}u + slow + {}u];\n", r * side);
            for (j, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
                zeros += &format!("    var sum{r}{j} = vec4<f32>(0.0);\n");
                sums +=
                    &format!("            sum{r}{j} = fma(vec4<f32>(a{r}.{component}), right, sum{r}{j});\n");
                let row = format!("first_row + (slow + {}u) * 4u + {j}u", r * side);
                stores +=
                    &format!("    store({row}, first_column + fast * 4u, channels, part, sum{r}{j});\n");
            }
        }
        let (target, row_pitch) = self.target();
        self.hand_on(parts, false);
        let row_pitch = self.n(row_pitch);
        let windows = self.window_functions(places);
        let lefts = self.left_functions();
        self.share("tile_a", "vec4<f32>", side * pitch_a);
        self.share("tile_b", "vec4<f32>", side * pitch_b);
        self.add(&(windows + &lefts));
        self.add(&format!(
            "fn left(row: u32, step: u32, group: u32, depth_offset: u32) -> f32 {{
    if (row >= {rows} || step >= {depth}) {{ return 0.0; }}
    return {left};
}}
fn store(row: u32, first: u32, group: u32, part: u32, values: vec4<f32>) {{
    if (row >= {rows}) {{ return; }}
    for (var j = 0u; j < 4u; j++) {{
        let column = first + j;
        if (column < {columns}) {{ put(part * {numel} + {target} + row * {row_pitch}, values[j]); }}
    }}
}}
"
        ));
        let body = format!(
            "    let first_row = job % {down} * {tile_rows}u;
    let first_column = job / {down} % {across} * {tile_columns}u;
    let channels = job / {down} / {across} % {groups_of_channels};
    let part = job / {down} / {across} / {groups_of_channels};
    let fast = thread % {side}u;
    let slow = thread / {side}u;
    let quad = {quad};
    let step = {step};
{setup}{zeros}    let end = min((part + 1u) * {part_length}, {depth});
    for (var k0 = part * {part_length}; k0 < end; k0 += {side}u) {{
        let depth_offset = left_depth(k0 + fast);
{loads}        let half = {step_half};
        tile_b[step * {pitch_b}u + quad] = vec4<f32>({elements});
        workgroupBarrier();
        for (var i = 0u; i < {side}u; i++) {{
            let right = tile_b[i * {pitch_b}u + fast];
{sums}        }}
        workgroupBarrier();
    }}
{stores}",
            tile_rows = 4 * side * tall,
            tile_columns = 4 * side,
            elements = match weight {
                true => [0, 1, 2, 3].map(|j| format!("window(half, column{j})")),
                false => [0, 1, 2, 3].map(|j| format!("window(column{j}, half)")),
            }
            .join(", "),
        );
        let entry = Entry::workgroups("job", jobs, &all_jobs, side * side);
        self.finish(&entry, &body, parts)
    }
}
