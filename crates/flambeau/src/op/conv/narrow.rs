//! Convolutions with a channel or a few per group: as products of matrices they would leave most of a tile empty, so
//! threads go through the definition. Short windows are unrolled, so that nothing about them is computed by the shader.

use super::Direction;
use super::wgsl::{BUSY, LONGEST, Product, Shader};
use crate::ir::program::Program;
use crate::op::parts::{scratch, sum_of_parts};
use crate::shader::results::Results;
use crate::shader::{groups_for, widen};
use std::fmt::Write;

/// Threads that share the sums of one channel's weights.
const REDUCERS: usize = 128;
/// The longest window that is unrolled: a plane's 3 × 3. (SwiftShader takes minutes and gigabytes to compile the windows
/// of volumes.) The sums of as many weights fit workgroup memory.
const UNROLLED: usize = 9;
/// Positions of a thread below which another part of them would cost more than it saves.
const POSITIONS: usize = 16;

impl Shader<'_> {
    /// The shaders for a few rows per group; None if their loops would be too long.
    pub(super) fn narrow(&self, product: Product) -> Option<Vec<Program>> {
        match self.direction {
            Direction::Forward | Direction::Input if product.depth <= LONGEST / 2 => {
                Some(vec![self.by_thread(product)])
            }
            Direction::Weight if product.columns <= UNROLLED => Some(self.by_channel(product)),
            Direction::Weight if product.depth <= LONGEST * REDUCERS / 2 => {
                Some(vec![self.by_workgroup(product)])
            }
            _ => None,
        }
    }

    /// A thread per result goes through its window.
    fn by_thread(&self, product: Product) -> Program {
        let Product { rows, depth, .. } = product;
        let plane = self.target().1;
        let places = self.places();
        let numel = self.n(self.call.outputs[0].1.numel());
        let results = self.results(false);
        let [image, channels, plane, rows, depth_end] =
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
                start = self.call.tier.either("team.z", "0u")
            ),
        };
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        let source = format!(
            "{declarations}{windows}{lefts}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) team: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let at = (team.x + team.y * groups.x) * 64u + thread;
    if (at >= {numel}) {{ return; }}
    let channel = at / {plane} % {channels};
    let group = channel / {rows};
    let here = place(at / {image} * {plane} + at % {plane}, group);
    let row = left_row(channel % {rows}, group);
    var sum = 0.0;
{sum}    put(at, sum);
}}
",
            declarations = self.declarations(&results),
        );
        let groups = groups_for(self.call.outputs[0].1.numel(), 64);
        self.program(source, results, groups)
    }

    /// A workgroup for all weights of a channel of y, in parts where channels are few: its threads share the images and
    /// positions, each of which is read once, and add their sums pairwise.
    fn by_channel(&self, product: Product) -> Vec<Program> {
        let Product { rows, columns, depth } = product;
        let channels = self.sizes.groups * rows;
        let longest = depth.div_ceil(LONGEST * REDUCERS);
        let wanted = (BUSY / channels).min(depth / (REDUCERS * POSITIONS));
        let parts = wanted.max(longest).max(1);
        let length = depth.div_ceil(parts);
        let places = self.places();
        let [part_length, jobs, numel] =
            [length, channels * parts, self.call.outputs[0].1.numel()].map(|n| self.n(n));
        let [all_channels, rows] = [channels, rows].map(|n| self.n(n));
        let results = match parts {
            1 => self.results(false),
            _ => Results::of_parts(self.call, 2, false),
        };
        let (mut zeros, mut terms, mut shares, mut adds) =
            (String::new(), String::new(), String::new(), String::new());
        for t in 0..columns {
            let line = t * REDUCERS;
            _ = writeln!(zeros, "    var sum{t} = 0.0;");
            _ = writeln!(terms, "        sum{t} += window(here, tap({t}u)) * y;");
            _ = writeln!(shares, "    sums[thread + {line}u] = sum{t};");
            _ = writeln!(adds, "            sums[thread + {line}u] += sums[thread + half + {line}u];");
        }
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        let source = format!(
            "{declarations}var<workgroup> sums: array<f32, {memory}>;
{windows}{lefts}
@compute @workgroup_size({REDUCERS})
fn main(@builtin(workgroup_id) team: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let job = team.x + team.y * groups.x;
    if (job >= {jobs}) {{ return; }}
    let channel = job % {all_channels};
    let part = job / {all_channels};
    let group = channel / {rows};
    let row = left_row(channel % {rows}, group);
    let end = min((part + 1u) * {part_length}, {places});
{zeros}    for (var i = part * {part_length} + thread; i < end; i += {REDUCERS}u) {{
        let here = place(i, group);
        let y = {left};
{terms}    }}
{shares}    workgroupBarrier();
    for (var half = {first}u; half > 0u; half /= 2u) {{
        if (thread < half) {{
{adds}        }}
        workgroupBarrier();
    }}
    if (thread < {columns}u) {{
        put(part * {numel} + channel * {columns}u + thread, sums[thread * {REDUCERS}u]);
    }}
}}
",
            declarations = self.declarations(&results),
            memory = columns * REDUCERS,
            left = widen(self.dtype, "b[row + left_depth(i)]"),
            first = REDUCERS / 2,
        );
        let mut sums = self.program(source, results, groups_for(channels * parts, 1));
        sums.scratch = scratch(self.call, parts);
        match parts {
            1 => vec![sums],
            _ => vec![sums, sum_of_parts(self.call, parts, "conv sum")],
        }
    }

    /// A workgroup per weight: its threads share the images and positions, and add their sums pairwise.
    fn by_workgroup(&self, product: Product) -> Program {
        let Product { rows, columns, .. } = product;
        let numel = self.call.outputs[0].1.numel();
        let places = self.places();
        let results = self.results(false);
        let [all, matrix, columns, rows] = [numel, rows * columns, columns, rows].map(|n| self.n(n));
        let (windows, lefts) = (self.window_functions(&places), self.left_functions());
        let source = format!(
            "{declarations}var<workgroup> sums: array<f32, {REDUCERS}>;
{windows}{lefts}
@compute @workgroup_size({REDUCERS})
fn main(@builtin(workgroup_id) team: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let at = team.x + team.y * groups.x;
    if (at >= {all}) {{ return; }}
    let group = at / {matrix};
    let row = left_row(at / {columns} % {rows}, group);
    let here = tap(at % {columns});
    var sum = 0.0;
    for (var i = thread; i < {places}; i += {REDUCERS}u) {{
        sum += window(place(i, group), here) * {left};
    }}
    sums[thread] = sum;
    workgroupBarrier();
    for (var half = {first}u; half > 0u; half /= 2u) {{
        if (thread < half) {{ sums[thread] += sums[thread + half]; }}
        workgroupBarrier();
    }}
    if (thread == 0u) {{
        put(at, sums[0]);
    }}
}}
",
            declarations = self.declarations(&results),
            left = widen(self.dtype, "b[row + left_depth(i)]"),
            first = REDUCERS / 2,
        );
        self.program(source, results, groups_for(numel, 1))
    }
}
