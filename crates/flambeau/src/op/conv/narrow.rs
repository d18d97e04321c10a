//! Convolutions with a channel or a few per group: as products of matrices they would leave most of a tile empty, so
//! threads go through the definition. Short windows are unrolled, so that nothing about them is computed by the shader.

use super::Direction;
use super::wgsl::{BUSY, LONGEST, Product, Text};
use crate::dtype::DType;
use crate::ir::program::Program;
use crate::shader::{Entry, Fold, ZERO, widen};
use std::fmt::Write;

/// Threads that share the sums of one channel's weights.
const REDUCERS: usize = 128;
/// The longest window that is unrolled: a plane's 3 × 3. (SwiftShader takes minutes and gigabytes to compile the windows
/// of volumes.) The sums of as many weights fit workgroup memory.
const UNROLLED: usize = 9;
/// Positions of a thread below which another part of them would cost more than it saves.
const POSITIONS: usize = 16;

impl Text<'_> {
    /// The shaders for a few rows per group; None if their loops would be too long.
    pub(super) fn narrow(&self, product: Product) -> Option<Vec<Program>> {
        match self.direction {
            Direction::Forward | Direction::Input if product.depth <= LONGEST / 2 => {
                Some(self.by_thread(product))
            }
            Direction::Weight if product.columns <= UNROLLED => Some(self.by_channel(product)),
            Direction::Weight if product.depth <= LONGEST * REDUCERS / 2 => Some(self.by_workgroup(product)),
            _ => None,
        }
    }

    /// A thread per result goes through its window.
    fn by_thread(&self, product: Product) -> Vec<Program> {
        let Product { rows, depth, .. } = product;
        let plane = self.target().1;
        let places = self.places();
        let count = self.call.outputs[0].1.numel();
        let numel = self.n(count);
        self.hand_on(1, false);
        let [image, all_channels, plane, rows, depth_end] =
            [self.sizes.groups * rows * plane, self.sizes.groups * rows, plane, rows, depth]
                .map(|n| self.n(n));
        let term = |i: &str| {
            let left = widen(self.dtype, &format!("b[row + left_depth({i})]"));
            format!("    sum += window(here, tap({i})) * {left};\n")
        };
        let sum = match depth <= UNROLLED {
            true => (0..depth).map(|i| term(&format!("{i}u"))).collect(),
            false => format!(
                "    for (var i = {start}; i < {depth_end}; i++) {{\n    {}    }}\n",
                term("i"),
                start = self.call.tier.either(ZERO, "0u")
            ),
        };
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        self.add(&(windows + &lefts));
        let body = format!(
            "    let channel = at / {plane} % {all_channels};
    let channels = channel / {rows};
    let here = place(at / {image} * {plane} + at % {plane}, channels);
    let row = left_row(channel % {rows}, channels);
    var sum = 0.0;
{sum}    put(at, sum);
"
        );
        self.finish(&Entry::threads("at", count, &numel, 64), &body, 1)
    }

    /// A workgroup for all weights of a channel of y, in parts where channels are few: its threads share the images and
    /// positions, each of which is read once, and add up their sums.
    fn by_channel(&self, product: Product) -> Vec<Program> {
        let Product { rows, columns, depth } = product;
        let channels = self.sizes.groups * rows;
        let longest = depth.div_ceil(LONGEST * REDUCERS);
        let wanted = (self.call.gpu.busy(BUSY) / channels).min(depth / (REDUCERS * POSITIONS));
        let parts = wanted.max(longest).max(1);
        let length = depth.div_ceil(parts);
        let places = self.places();
        let [part_length, jobs, numel] =
            [length, channels * parts, self.call.outputs[0].1.numel()].map(|n| self.n(n));
        let [all_channels, rows] = [channels, rows].map(|n| self.n(n));
        self.hand_on(parts, false);
        let (mut zeros, mut terms) = (String::new(), String::new());
        for t in 0..columns {
            _ = writeln!(zeros, "    var sum{t} = 0.0;");
            _ = writeln!(terms, "        sum{t} += window(here, tap({t}u)) * y;");
        }
        let sums: Vec<String> = (0..columns).map(|t| format!("sum{t}")).collect();
        let folds: Vec<Fold> = sums.iter().map(|sum| Fold::sum(sum, DType::F32)).collect();
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        self.add(&(windows + &lefts));
        let join = self.joined(&folds, REDUCERS);
        let body = format!(
            "    let channel = job % {all_channels};
    let part = job / {all_channels};
    let channels = channel / {rows};
    let row = left_row(channel % {rows}, channels);
    let end = min((part + 1u) * {part_length}, {places});
{zeros}    for (var i = part * {part_length} + thread; i < end; i += {REDUCERS}u) {{
        let here = place(i, channels);
        let y = {left};
{terms}    }}
{join}    if (thread < {columns}u) {{
        var sums = array<f32, {columns}>({sums});
        put(part * {numel} + channel * {columns}u + thread, sums[thread]);
    }}
",
            left = widen(self.dtype, "b[row + left_depth(i)]"),
            sums = sums.join(", "),
        );
        self.finish(&Entry::workgroups("job", channels * parts, &jobs, REDUCERS), &body, parts)
    }

    /// A workgroup per weight: its threads share the images and positions, and add up their sums.
    fn by_workgroup(&self, product: Product) -> Vec<Program> {
        let Product { rows, columns, .. } = product;
        let numel = self.call.outputs[0].1.numel();
        let places = self.places();
        self.hand_on(1, false);
        let [all, matrix, columns, rows] = [numel, rows * columns, columns, rows].map(|n| self.n(n));
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        self.add(&(windows + &lefts));
        let join = self.joined(&[Fold::sum("sum", DType::F32)], REDUCERS);
        let body = format!(
            "    let channels = at / {matrix};
    let row = left_row(at / {columns} % {rows}, channels);
    let here = tap(at % {columns});
    var sum = 0.0;
    for (var i = thread; i < {places}; i += {REDUCERS}u) {{
        sum += window(place(i, channels), here) * {left};
    }}
{join}    if (thread == 0u) {{
        put(at, sum);
    }}
",
            left = widen(self.dtype, "b[row + left_depth(i)]"),
        );
        self.finish(&Entry::workgroups("at", numel, &all, REDUCERS), &body, 1)
    }
}
