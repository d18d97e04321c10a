//! Input gradients with a stride, and transposed convolutions, by phases: without the zeros that a stride puts between
//! the elements of y.
//!
//! Along a dimension of I elements with stride s, padding p and K taps, the tap k takes the element i of x to the
//! element (i + p − k) / s of y, if that is whole. Which taps count follows from the phase r = (i + p) mod s:
//!
//! - the taps of a phase are k = r + s·k′ for k′ < t(r), with t(r) = ⌈(K − r) / s⌉, which is ⌊K / s⌋, and one more where
//!   r < K mod s;
//! - its elements are i = s·(q + lead(r)) + r − p for q = 0, 1, …, with lead(r) = ⌈(p − r) / s⌉;
//! - its tap k′ takes its element q to the element q + lead(r) − k′ of y.
//!
//! So a phase, one r for each dimension, is a product of its own without a stride: C rows, images × Π ⌈I / s⌉ columns,
//! and a depth of O × Π t(r). Columns where i ≥ I in some dimension meet nothing and are never written. Kernels with fewer
//! taps than a stride are left to `large`: most phases would be zeros, which lie scattered in memory.
//!
//! One dispatch makes the phases of all groups by the design of `large`, those with the most taps (every r = 0) first.

use super::Direction;
use super::large::Elements;
use super::wgsl::{Product, Text};
use crate::ir::program::Program;
use crate::op::matmul::Sizes;
use crate::op::matmul::large::fills;
use crate::op::matmul::tiling::{DEPTH, large};
use crate::shape::product;

impl Text<'_> {
    /// The shader of an input gradient that has phases and fills the GPU; None if it does not.
    pub(super) fn by_phases(&self) -> Option<Vec<Program>> {
        let sizes = self.sizes;
        let strided: Vec<usize> = self.dims().into_iter().filter(|&d| sizes.stride[d] > 1).collect();
        let pays = |&d: &usize| sizes.kernel[d] >= sizes.stride[d] && sizes.dilation[d] == 1;
        let has_phases = self.direction == Direction::Input && !strided.is_empty();
        if has_phases && strided.iter().all(pays) { self.all_phases(&strided) } else { None }
    }

    /// One shader for the phases of the strided dimensions; None if they do not fill the GPU.
    // A function of its own, so that a browser can fetch it when it is needed.
    #[inline(never)]
    fn all_phases(&self, strided: &[usize]) -> Option<Vec<Program>> {
        let phases = product(strided.iter().map(|&d| self.sizes.stride[d]));
        let products = self.sizes.groups * phases;
        let product = self.largest_phase();
        let Product { rows, columns, depth } = product;
        let (tile, _) =
            large(&Sizes { batches: products, m: rows, n: columns, k: depth }, 1, false, self.call.gpu)?;
        let (tile, grid) = self.tile(product, tile, products, depth)?;
        let elements = self.elements_of_phases(&self.n(columns));
        Some(self.large_product(rows, tile, grid, &elements, 1))
    }

    /// The product of the phase with the most taps.
    fn largest_phase(&self) -> Product {
        let sizes = self.sizes;
        let taps = product((0..3).map(|d| sizes.kernel[d].div_ceil(sizes.stride[d])));
        let positions = product(self.positions_of_phase());
        Product { rows: sizes.inputs, columns: sizes.images * positions, depth: sizes.outputs * taps }
    }

    /// Elements of x in a phase, along every dimension.
    fn positions_of_phase(&self) -> [usize; 3] {
        std::array::from_fn(|d| self.sizes.input[d].div_ceil(self.sizes.stride[d]))
    }

    /// Where the elements of every phase lie; `columns` counts those of one.
    fn elements_of_phases(&self, columns: &str) -> Elements {
        let sizes = self.sizes;
        let rounds_are_whole = fills(self.call, sizes.outputs, DEPTH);
        let functions = [
            self.window_function(&[1; 3]),
            self.phase_functions(),
            self.step_functions(),
            self.column_functions(columns),
        ];
        Elements {
            functions: functions.concat(),
            range: format!(
                "    let this_phase = phase_of(group.z / {groups});
    phase = this_phase;
    let first = 0u;
    let end = this_phase.depth;
",
                groups = self.n(sizes.groups)
            ),
            end: (!rounds_are_whole).then(|| "end".into()),
            origin: String::new(),
            row_pitch: self.n(sizes.input_plane()),
            fours: false,
        }
    }

    /// WGSL of the phase of a workgroup: r, t(r), lead(r) and the first element of x along every dimension.
    fn phase_functions(&self) -> String {
        let sizes = self.sizes;
        let numbers = self.each_dim(|d| {
            let (stride, padding) = (sizes.stride[d], sizes.padding[d]);
            let (taps, more) = (sizes.kernel[d] / stride, sizes.kernel[d] % stride);
            let [taps, more, last] = [taps, more, padding + stride - 1].map(|n| self.n(n));
            let [stride, padding] = [stride, padding].map(|n| self.n(n));
            format!(
                "    let taps{d} = {taps} + select(0u, 1u, at{d} < {more});
    let lead{d} = ({last} - at{d}) / {stride};
    let start{d} = lead{d} * {stride} + at{d} - {padding};
"
            )
        });
        format!(
            "struct Phase {{ depth: u32{fields} }}
var<private> phase: Phase;
fn phase_of(number: u32) -> Phase {{
    var rest = number;
{coordinates}{numbers}    return Phase({outputs}{taps}{values});
}}
",
            fields = self.each_dim(|d| format!(", r{d}: u32, taps{d}: u32, lead{d}: u32, start{d}: u32")),
            coordinates = self.unravel(&sizes.stride),
            outputs = self.n(sizes.outputs),
            taps = self.each_dim(|d| format!(" * taps{d}")),
            values = self.each_dim(|d| format!(", at{d}, taps{d}, lead{d}, start{d}")),
        )
    }

    /// WGSL of a step of the depth, a channel of y and a tap k′ of the phase, for both operands.
    ///
    /// A phase has one of two numbers of taps along a dimension. Both are known, so that nothing is divided by a number
    /// that is not.
    fn step_functions(&self) -> String {
        let sizes = self.sizes;
        let mut coordinates = String::new();
        for d in self.dims().into_iter().rev() {
            let (taps, more) = (sizes.kernel[d] / sizes.stride[d], sizes.kernel[d] % sizes.stride[d]);
            let [fewer, one_more, first] = [taps, taps + 1, more].map(|n| self.n(n));
            let outer = match more {
                0 => format!("rest / {fewer}"),
                _ => format!("select(rest / {fewer}, rest / {one_more}, phase.r{d} < {first})"),
            };
            coordinates += &format!(
                "    let outer{d} = {outer};
    let at{d} = rest - outer{d} * phase.taps{d};
    rest = outer{d};
"
            );
        }
        let kernel_tap = |d: usize| format!("(phase.r{d} + step.at{d} * {})", self.n(sizes.stride[d]));
        let weights = sizes.inputs * sizes.taps();
        format!(
            "fn step_of(i: u32) -> Half {{
    var rest = i;
{coordinates}    return Half(rest{at});
}}
fn tap(i: u32) -> Half {{
    if (i >= phase.depth) {{ return {no_tap}; }}
    let step = step_of(i);
    return Half(step.base * {plane}{tap});
}}
fn left_row(row: u32, group: u32) -> u32 {{ return group * {group_weights} + row * {taps}; }}
fn left_depth(i: u32) -> u32 {{
    let step = step_of(i);
    return step.base * {weights} + {kernel_tap};
}}
",
            at = self.each_dim(|d| format!(", at{d}")),
            no_tap = self.no_tap(),
            plane = self.n(sizes.output_plane()),
            tap = self.each_dim(|d| format!(", step.at{d} * {}", self.n(sizes.dilation[d]))),
            group_weights = self.n(sizes.outputs * weights),
            weights = self.n(weights),
            taps = self.n(sizes.taps()),
            kernel_tap = self.offset(&sizes.kernel, kernel_tap),
        )
    }

    /// WGSL of a column, an image and an element q of the phase: where it reads y, and where it is written in x.
    fn column_functions(&self, columns: &str) -> String {
        let sizes = self.sizes;
        let positions = self.positions_of_phase();
        let element = |d: usize| format!("(column.at{d} * {} + phase.start{d})", self.n(sizes.stride[d]));
        let inside = self.each_dim(|d| match sizes.input[d].is_multiple_of(sizes.stride[d]) {
            true => String::new(),
            false => format!(" && {} < {}", element(d), self.n(sizes.input[d])),
        });
        format!(
            "fn column_of(i: u32) -> Half {{
    var rest = i % {count};
{coordinates}    return Half(i / {count}{at});
}}
fn is_result(i: u32) -> bool {{
    let column = column_of(i);
    return i < {columns}{inside};
}}
fn place(i: u32, group: u32) -> Half {{
    if (!is_result(i)) {{ return {no_place}; }}
    let column = column_of(i);
    return Half((column.base * {all_outputs} + group * {outputs}) * {output_plane}{place});
}}
fn target_of(i: u32, group: u32) -> u32 {{
    let column = column_of(i);
    return (column.base * {all_inputs} + group * {inputs}) * {input_plane} + {target};
}}
",
            count = self.n(product(positions)),
            coordinates = self.unravel(&positions),
            at = self.each_dim(|d| format!(", at{d}")),
            no_place = self.no_place(),
            all_outputs = self.n(sizes.groups * sizes.outputs),
            outputs = self.n(sizes.outputs),
            output_plane = self.n(sizes.output_plane()),
            place = self.each_dim(|d| format!(", column.at{d} + phase.lead{d}")),
            all_inputs = self.n(sizes.groups * sizes.inputs),
            inputs = self.n(sizes.inputs),
            input_plane = self.n(sizes.input_plane()),
            target = self.offset(&sizes.input, element),
        )
    }
}
