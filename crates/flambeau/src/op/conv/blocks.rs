//! Convolutions without barriers: 4 × 4 results of the product per thread, in registers, read straight from memory.
//!
//! For adapters that play a GPU on a CPU and pay dearly for barriers, as `matmul::blocks`.

use super::Direction;
use super::wgsl::{LONGEST, Product, Text};
use crate::ir::program::Program;
use crate::shader::{Entry, ZERO, widen};

/// Rows and columns of results per thread.
const BLOCK: usize = 4;
/// Threads in a workgroup: no barrier holds them together.
const THREADS: usize = 32;

impl Text<'_> {
    /// The shaders of a product, in parts where its depth is too long for one loop.
    // A function of its own, so that a browser fetches it where it is needed.
    #[inline(never)]
    pub(super) fn by_blocks(&self, product: Product) -> Vec<Program> {
        let Product { rows, columns, depth } = product;
        let groups = self.sizes.groups;
        let parts = depth.div_ceil(LONGEST).max(1);
        let [down, across] = [rows, columns].map(|size| size.div_ceil(BLOCK));
        let threads = groups * parts * down * across;
        self.hand_on(parts, false);
        self.stays_general();
        let [count, down, across, all_groups, all_rows, all_columns, all_steps, length, numel] =
            [threads, down, across, groups, rows, columns, depth, LONGEST, self.call.outputs[0].1.numel()]
                .map(|size| self.n(size));
        let (target, row_pitch) = self.target();
        let row_pitch = self.n(row_pitch);
        let places = self.places();
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        self.add(&format!(
            "{windows}{lefts}fn target_of(column: u32, group: u32) -> u32 {{ return {target}; }}\n"
        ));
        let weight = self.direction == Direction::Weight;
        // The half of a window's index that belongs to a column, and the one that belongs to a step of the depth.
        let half = |is_place: bool, i: &str| match is_place {
            true => format!("place({i}, channels)"),
            false => format!("tap({i})"),
        };
        let window = |j: usize| match weight {
            true => format!("window(step_half, half{j})"),
            false => format!("window(half{j}, step_half)"),
        };
        let (mut starts, mut reads) = (String::new(), String::new());
        let (mut sums, mut writes) = (String::new(), String::new());
        for i in 0..BLOCK {
            // What lies outside reads the last row again, or nothing; it is not written.
            starts += &format!(
                "    let left{i} = left_row(min(row + {i}u, {all_rows} - 1u), channels);
    let half{i} = {};
    var sum{i} = vec4<f32>();\n",
                half(!weight, &format!("column + {i}u"))
            );
            reads += &format!(
                "        let a{i} = {};\n",
                widen(self.dtype, &format!("b[left{i} + depth_offset]"))
            );
            sums += &format!("        sum{i} += a{i} * windows;\n");
            for j in 0..BLOCK {
                writes += &format!(
                    "    if (row + {i}u < {all_rows} && column + {j}u < {all_columns}) {{ put(part * {numel} + \
                     target_of(column + {j}u, channels) + (row + {i}u) * {row_pitch}, sum{i}[{j}]); }}\n"
                );
            }
        }
        let body = format!(
            "    let column = block % {across} * {BLOCK}u;
    let row = block / {across} % {down} * {BLOCK}u;
    let rest = block / ({across} * {down});
    let channels = rest % {all_groups};
    let part = rest / {all_groups};
    let end = min((part + 1u) * {length}, {all_steps});
{starts}    for (var step = part * {length} + {ZERO}; step < end; step++) {{
        let depth_offset = left_depth(step);
        let step_half = {step_half};
        let windows = vec4<f32>({windows});
{reads}{sums}    }}
{writes}",
            step_half = half(weight, "step"),
            windows = [0, 1, 2, 3].map(window).join(", "),
        );
        self.finish(&Entry::threads("block", threads, &count, THREADS), &body, parts)
    }
}
