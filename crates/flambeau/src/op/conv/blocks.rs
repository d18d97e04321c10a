//! Convolutions without barriers: 8 × 8 results of the product per thread, in registers, read straight from memory.
//!
//! For adapters that play a GPU on a CPU and pay dearly for barriers, as `matmul::blocks`. On SwiftShader a load takes as long as
//! ten multiplications with additions, whatever neighbouring threads load, and a division half as long as a load (2026-11-17). So
//! a thread has many results for what it loads, and the depth is two loops, of which the inner one divides nothing. (Products keep to
//! 4 × 4: there such a text doubled a small network's step and the time it takes to compile.)
//!
//! | direction | outer | inner |
//! |---|---|---|
//! | forward, input | taps | channels: the place of a window moves by a plane |
//! | weight | images × lines of y | positions of a line: it moves by the stride |

use super::Direction;
use super::wgsl::{LONGEST, Product, Text};
use crate::ir::program::Program;
use crate::shader::{Entry, ZERO, widen};
use crate::shape::product;

/// Rows and columns of results per thread; columns are summed up in fours.
const BLOCK: usize = 8;
/// Threads in a workgroup: no barrier holds them together, and small products fill several cores.
const THREADS: usize = 8;
/// The dimension of which a line is.
const LINE: usize = 2;

/// How far the inner loop goes, and how far its steps lie apart in both operands.
struct Inner {
    count: usize,
    left: usize,
    right: usize,
}

impl Text<'_> {
    /// The shaders of a product, in parts where a loop would be too long.
    // A function of its own, so that a browser fetches it where it is needed.
    #[inline(never)]
    pub(super) fn by_blocks(&self, product: Product) -> Vec<Program> {
        let Product { rows, columns, depth } = product;
        let groups = self.sizes.groups;
        let weight = self.direction == Direction::Weight;
        let inner = self.inner_loop();
        let outer = depth / inner.count.max(1);
        // Software adapters count the rounds of both loops together.
        let inner_length = inner.count.clamp(1, LONGEST);
        let outer_length = (LONGEST / (inner_length + 1)).max(1);
        let inner_parts = inner.count.div_ceil(inner_length).max(1);
        let parts = inner_parts * outer.div_ceil(outer_length).max(1);
        let [down, across] = [rows, columns].map(|size| size.div_ceil(BLOCK));
        let threads = groups * parts * down * across;
        self.hand_on(parts, false);
        self.stays_general();
        let [count, down, across, all_groups, all_rows, all_columns, numel] =
            [threads, down, across, groups, rows, columns, self.call.outputs[0].1.numel()]
                .map(|size| self.n(size));
        let [all_outer, all_inner, inner_parts] = [outer, inner.count, inner_parts].map(|size| self.n(size));
        let [outer_length, inner_length, left_step, right_step] =
            [outer_length, inner_length, inner.left, inner.right].map(|size| self.n(size));
        let (target, row_pitch) = self.target();
        let row_pitch = self.n(row_pitch);
        let halves = self.half_functions(&self.places(), &|| self.meet_function());
        let lefts = self.left_functions();
        self.add(&format!(
            "{halves}{lefts}fn target_of(column: u32, group: u32) -> u32 {{ return {target}; }}
fn store(row: u32, column: u32, targets: vec4<u32>, values: vec4<f32>) {{
    if (row >= {all_rows}) {{ return; }}
    for (var j = 0u; j < 4u; j++) {{
        if (column + j < {all_columns}) {{ put(targets[j] + row * {row_pitch}, values[j]); }}
    }}
}}
"
        ));
        // The half of a window's index that belongs to a column, and the one that belongs to a round of the outer loop.
        let half = |is_place: bool, i: &str| match is_place {
            true => format!("place({i}, channels)"),
            false => format!("tap({i})"),
        };
        let (mut starts, mut meetings) = (String::new(), String::new());
        let (mut reads, mut sums, mut writes) = (String::new(), String::new(), String::new());
        for i in 0..BLOCK {
            let both = if weight { format!("round, half{i}") } else { format!("half{i}, round") };
            // What lies outside reads the last row again, or nothing; it is not written.
            starts += &format!(
                "    let left{i} = left_row(min(row + {i}u, {all_rows} - 1u), channels);
    let half{i} = {};\n",
                half(!weight, &format!("column + {i}u"))
            );
            meetings += &format!("        let m{i} = meet({both});\n");
            sums += &format!(
                "            let a{i} = {};\n",
                widen(self.dtype, &format!("b[left{i} + depth_offset]"))
            );
        }
        for four in (0..BLOCK).step_by(4) {
            let each = |text: &dyn Fn(usize) -> String| [0, 1, 2, 3].map(|j| text(four + j)).join(", ");
            let windows = each(&|j| format!("window(m{j}, shift)"));
            reads += &format!("            let windows{four} = vec4<f32>({windows});\n");
            let targets = each(&|j| format!("target_of(column + {j}u, channels)"));
            writes += &format!("    let targets{four} = part * {numel} + vec4<u32>({targets});\n");
            for i in 0..BLOCK {
                starts += &format!("    var sum{i}_{four} = vec4<f32>();\n");
                sums += &format!("            sum{i}_{four} += a{i} * windows{four};\n");
                writes +=
                    &format!("    store(row + {i}u, column + {four}u, targets{four}, sum{i}_{four});\n");
            }
        }
        let first_step = if weight { format!("outer * {all_inner}") } else { "outer".into() };
        let body = format!(
            "    let column = block % {across} * {BLOCK}u;
    let row = block / {across} % {down} * {BLOCK}u;
    let rest = block / ({across} * {down});
    let channels = rest % {all_groups};
    let part = rest / {all_groups};
    let inner_start = part % {inner_parts} * {inner_length};
    let inner_end = min(inner_start + {inner_length}, {all_inner});
    let outer_start = part / {inner_parts} * {outer_length};
    let outer_end = min(outer_start + {outer_length}, {all_outer});
    let left_step = {left_step};
    let right_step = {right_step};
{starts}    for (var outer = outer_start + {ZERO}; outer < outer_end; outer++) {{
        let round = {round};
{meetings}        var depth_offset = left_depth({first_step}) + inner_start * left_step;
        var shift = inner_start * right_step;
        for (var inner = inner_start + {ZERO}; inner < inner_end; inner++) {{
{reads}{sums}            depth_offset += left_step;
            shift += right_step;
        }}
    }}
{writes}",
            round = half(weight, &first_step),
        );
        self.finish(&Entry::threads("block", threads, &count, THREADS), &body, parts)
    }

    fn inner_loop(&self) -> Inner {
        let (sizes, (channels, read)) = (self.sizes, self.read());
        let [right, taps] = [product(read), sizes.taps()];
        match self.direction {
            Direction::Forward => Inner { count: channels, left: taps, right },
            Direction::Input => Inner { count: channels, left: sizes.inputs * taps, right },
            Direction::Weight => Inner { count: sizes.output[LINE], left: 1, right: sizes.stride[LINE] },
        }
    }

    /// WGSL of `meet(place, tap)`, where the inner loop begins to read windows, and of `window`, which reads one so much further on.
    /// Whether there is an element is known before the inner loop, except along a line.
    fn meet_function(&self) -> String {
        let half = self.half_struct();
        let (_, read) = self.read();
        let value = |at: &str| widen(self.dtype, &format!("a[{at}]"));
        let stride = &self.sizes.stride;
        if self.direction != Direction::Weight {
            let (meet, inside) = self.meeting(&self.dims(), stride);
            return format!(
                "{half}struct Meeting {{ at: u32, inside: bool }}
fn meet(p: Half, t: Half) -> Meeting {{
{meet}    let inside = {inside};
    return Meeting(select(0u, p.base + t.base + {at}, inside), inside);
}}
fn window(m: Meeting, shift: u32) -> f32 {{ return select(0.0, {value}, m.inside); }}
",
                at = self.offset(read, |d| format!("at{d}")),
                value = value("m.at + shift"),
            );
        }
        let others: Vec<usize> = self.dims().into_iter().filter(|&d| d != LINE).collect();
        let (meet, inside) = self.meeting(&others, stride);
        let inside = if others.is_empty() { "true" } else { &inside };
        format!(
            "{half}struct Meeting {{ line: u32, at: u32 }}
fn meet(p: Half, t: Half) -> Meeting {{
{meet}    let inside = {inside};
    return Meeting(p.base + t.base + {line}, select(0x40000000u, p.at{LINE} + t.at{LINE}, inside));
}}
fn window(m: Meeting, shift: u32) -> f32 {{
    let at = m.at + shift;
    let inside = at < {length};
    return select(0.0, {value}, inside);
}}
",
            line = self.offset(read, |d| if d == LINE { "0u".into() } else { format!("at{d}") }),
            length = self.n(read[LINE]),
            value = value("select(0u, m.line + at, inside)"),
        )
    }
}
