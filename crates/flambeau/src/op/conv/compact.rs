//! Convolutions by the short shader of `op::compact`, in the parts of the text that takes over: `large` or `tiled`.

use super::Direction;
use super::wgsl::{Product, Text};
use crate::ir::program::Program;
use crate::op::compact::{self, Order};
use crate::op::parts::compact_programs;
use crate::shader::widen;

impl Text<'_> {
    /// The shaders of a product, whether or not it fills the GPU.
    // A function of its own, so that a browser can fetch it with convolutions.
    #[inline(never)]
    pub(super) fn compact(&self, product: Product) -> Vec<Program> {
        let groups = self.sizes.groups;
        let weight = self.direction == Direction::Weight;
        let length = match self.large_cut(product) {
            Some((_, _, length)) => length,
            None => product.tiling(groups, self.call.gpu).part,
        };
        let parts = product.depth.div_ceil(length).max(1);
        self.hand_on_compact(parts);
        let [rows, depth, all_groups, plength] =
            [product.rows, product.depth, groups, length].map(|size| self.n(size));
        let numel = self.n(self.call.outputs[0].1.numel());
        let (target, row_pitch) = self.target();
        let row_pitch = self.n(row_pitch);
        let places = self.places();
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        self.add(&format!(
            "{windows}{lefts}fn target_of(column: u32, group: u32) -> u32 {{ return {target}; }}\n"
        ));
        let left = compact::Side {
            order: Order::AlongDepth(format!(
                "        let depth_offset = left_depth(min(left_step, {depth} - 1u));\n"
            )),
            element: widen(
                self.dtype,
                &format!("b[left_row(min(row, {rows} - 1u), channels) + depth_offset]"),
            ),
        };
        let right = match weight {
            true => compact::Side {
                order: Order::AlongDepth("        let here = place(right_step, channels);\n".into()),
                element: "window(here, tap(column))".into(),
            },
            false => compact::Side {
                order: Order::Across("    let here = place(column, channels);\n".into()),
                element: "window(here, tap(right_step))".into(),
            },
        };
        let product = compact::Product {
            sizes: [product.rows, product.columns, groups * parts],
            begin: format!(
                "    let channels = product % {all_groups};
    let part = product / {all_groups};
    let first = part * {plength};
    let end = min(first + {plength}, {depth});
"
            ),
            left,
            right,
            target: format!("part * {numel} + target_of(column, channels) + row * {row_pitch}"),
            slices: 1,
            most_slices: 1,
        };
        compact_programs(self.call, compact::finish(self.take(), &product), parts, "conv sum")
    }
}
