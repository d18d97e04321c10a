//! Pooling on the GPU: a thread per result. Worth specialising: nearly all it computes is where windows lie.

use super::{Divisor, Pool, PoolKind, Window};
use crate::dtype::DType;
use crate::ir::call::{Kernels, StructuredCall};
use crate::ir::program::{Bound, Program};
use crate::shader::{Entry, Shader, ZERO, narrow, widen};
use crate::shape::product;
use std::cell::RefCell;

pub(super) fn program(op: &Pool, call: &StructuredCall) -> Program {
    let dtype = call.outputs[0].1.dtype;
    let text = Text { pool: op, shader: RefCell::new(Shader::new(op.name(), call.tier)) };
    let count = call.outputs[0].1.numel();
    let numel = text.n(count);
    bind(op.kind, call, &mut text.shader.borrow_mut());
    let body = match op.kind {
        PoolKind::Max | PoolKind::Mean(_) => text.over_window(dtype),
        PoolKind::MaxBackward | PoolKind::MeanBackward(_) => text.over_windows_of_element(dtype),
    };
    let mut shader = text.shader.into_inner();
    shader.specialise = true;
    shader.finish(&Entry::threads("at", count, &numel, 64), &body)
}

/// Declares operands and results. Maxima have a second result: where they were found.
fn bind(kind: PoolKind, call: &StructuredCall, shader: &mut Shader) {
    shader.bind_elements(Bound::Input(0), "x", call.inputs[0].meta.dtype, false);
    if kind == PoolKind::MaxBackward {
        shader.bind(Bound::Input(1), "places", "i32");
    }
    if kind != PoolKind::Max {
        return shader.hand_on(call, false);
    }
    shader.bind_elements(Bound::Output(0), "y", call.outputs[0].1.dtype, false);
    shader.bind(Bound::Output(1), "places", "i32");
}

/// A shader's text, and the numbers that it has named so far.
struct Text<'a> {
    pool: &'a Pool,
    shader: RefCell<Shader>,
}

impl Text<'_> {
    /// WGSL that stands for a size.
    fn n(&self, size: usize) -> String {
        self.shader.borrow_mut().params.size(size)
    }

    /// WGSL of ⌊i·a / b⌋ and ⌈i·a / b⌉, without leaving 32 bits where sizes are below 65,536. Where b is 0, nothing asks.
    fn floor_of(&self, i: &str, a: usize, b: usize) -> String {
        let b = b.max(1);
        let [whole, rest, b] = [a / b, a % b, b].map(|n| self.n(n));
        format!("({i} * {whole} + {i} * {rest} / {b})")
    }

    fn ceil_of(&self, i: &str, a: usize, b: usize) -> String {
        let b = b.max(1);
        let [whole, rest, most, b] = [a / b, a % b, b - 1, b].map(|n| self.n(n));
        format!("({i} * {whole} + ({i} * {rest} + {most}) / {b})")
    }

    /// The dimensions that are more than formal.
    fn dims(&self) -> Vec<usize> {
        let pool = self.pool;
        let formal =
            |d: usize| pool.windows[d] == Window::FORMAL && pool.input[d] == 1 && pool.output[d] == 1;
        (0..3).filter(|&d| d == 2 || !formal(d)).collect()
    }

    /// WGSL that takes `at` apart into a channel and coordinates `c0`, `c1`, ….
    fn unravel(&self, sizes: [usize; 3]) -> String {
        let mut code = format!("    let channel = at / {};\n", self.n(product(sizes)));
        let mut inner = 1;
        for d in self.dims().into_iter().rev() {
            code += &format!("    let c{d} = at / {} % {};\n", self.n(inner), self.n(sizes[d]));
            inner *= sizes[d];
        }
        code
    }

    /// The place of coordinates in a channel.
    fn place(&self, sizes: [usize; 3], coordinate: &str) -> String {
        let mut dims = self.dims().into_iter().map(|d| (sizes[d], format!("{coordinate}{d}")));
        let first = dims.next().map_or(String::from("0u"), |(_, coordinate)| coordinate);
        dims.fold(first, |outer, (size, coordinate)| format!("({outer} * {} + {coordinate})", self.n(size)))
    }

    /// WGSL of what the sum of the window with these coordinates is divided by.
    fn divisor_of(&self, coordinate: &str) -> String {
        let (PoolKind::Mean(divisor) | PoolKind::MeanBackward(divisor)) = self.pool.kind else {
            unreachable!("maxima are not divided")
        };
        if let Divisor::Given(divisor) = divisor {
            return format!("{divisor}.0");
        }
        let share = |d: usize| {
            let (o, input, output) = (format!("{coordinate}{d}"), self.pool.input[d], self.pool.output[d]);
            match self.pool.windows[d] {
                Window::Adaptive => {
                    let next = format!("({o} + 1u)");
                    format!("({} - {})", self.ceil_of(&next, input, output), self.floor_of(&o, input, output))
                }
                Window::Sliding { kernel, stride, padding, .. } => {
                    let padded = divisor == Divisor::WithPadding;
                    let end = if padded { input + 2 * padding } else { input + padding };
                    let [end, kernel, stride, padding] = [end, kernel, stride, padding].map(|n| self.n(n));
                    let start = format!("{o} * {stride}");
                    let first = if padded { start.clone() } else { format!("max({start}, {padding})") };
                    format!("(min({start} + {kernel}, {end}) - {first})")
                }
            }
        };
        format!("f32({})", self.dims().into_iter().map(share).collect::<Vec<_>>().join(" * "))
    }

    /// A window's maximum or mean.
    fn over_window(&self, dtype: DType) -> String {
        let mut code = self.unravel(self.pool.output);
        let mut close = String::new();
        let is_max = self.pool.kind == PoolKind::Max;
        code += match is_max {
            true => "    var best = 0.0;\n    var found = -1;\n",
            false => "    var sum = 0.0;\n",
        };
        code += &format!("    let base = channel * {};\n", self.n(self.pool.input_plane()));
        for d in self.dims() {
            let (o, input, output) = (format!("c{d}"), self.pool.input[d], self.pool.output[d]);
            match self.pool.windows[d] {
                Window::Adaptive => {
                    let end = self.ceil_of(&format!("({o} + 1u)"), input, output);
                    let start = self.floor_of(&o, input, output);
                    code += &format!("    for (var i{d} = {start}; i{d} < {end}; i{d}++) {{\n");
                    close += "    }\n";
                }
                Window::Sliding { kernel, stride, padding, dilation } => {
                    let [kernel, stride, padding, dilation, input] =
                        [kernel, stride, padding, dilation, input].map(|n| self.n(n));
                    code += &format!(
                        "    for (var k{d} = {start}; k{d} < {kernel}; k{d}++) {{
    let i{d} = {o} * {stride} + k{d} * {dilation} - {padding};
    if (i{d} < {input}) {{\n",
                        start = self.shader.borrow().params.tier().either(ZERO, "0u"),
                    );
                    close += "    }}\n";
                }
            }
        }
        code += &format!(
            "    let place = {};\n    let value = {};\n",
            self.place(self.pool.input, "i"),
            widen(dtype, "x[base + place]")
        );
        let nan = "((bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u)";
        code += &match is_max {
            true => format!(
                "    if (found < 0 || value > best || {nan}) {{ best = value; found = i32(place); }}\n{close}    \
                 y[at] = {};\n    places[at] = found;\n",
                narrow(dtype, "best")
            ),
            false => {
                let divisor = self.divisor_of("c");
                format!("    sum += value;\n{close}    put(at, sum / {divisor});\n")
            }
        };
        code
    }

    /// An element's gradient: the sum over the windows that contain it.
    fn over_windows_of_element(&self, dtype: DType) -> String {
        let mut code = self.unravel(self.pool.input);
        let mut close = String::new();
        code +=
            &format!("    var sum = 0.0;\n    let base = channel * {};\n", self.n(self.pool.output_plane()));
        for d in self.dims() {
            let (i, input, output) = (format!("c{d}"), self.pool.input[d], self.pool.output[d]);
            match self.pool.windows[d] {
                Window::Adaptive => {
                    let first = self.floor_of(&i, output, input);
                    let past = self.ceil_of(&format!("({i} + 1u)"), output, input);
                    code += &format!("    for (var o{d} = {first}; o{d} < {past}; o{d}++) {{\n");
                    close += "    }\n";
                }
                Window::Sliding { kernel, stride, padding, dilation } => {
                    let is_dilated = dilation > 1;
                    let [span, padding, stride, dilation, output] =
                        [(kernel - 1) * dilation + 1, padding, stride, dilation, output].map(|n| self.n(n));
                    code += &format!(
                        "    let t{d} = {i} + {padding};
    var first{d} = 0u;
    if (t{d} >= {span}) {{ first{d} = (t{d} - {span}) / {stride} + 1u; }}
    let past{d} = min(t{d} / {stride} + 1u, {output});
    for (var o{d} = first{d}; o{d} < past{d}; o{d}++) {{\n"
                    );
                    close += "    }\n";
                    if is_dilated {
                        code += &format!("    if ((t{d} - o{d} * {stride}) % {dilation} == 0u) {{\n");
                        close += "    }\n";
                    }
                }
            }
        }
        code += &format!("    let window = base + {};\n", self.place(self.pool.output, "o"));
        let value = widen(dtype, "x[window]");
        code += &match self.pool.kind {
            PoolKind::MaxBackward => {
                let own = self.place(self.pool.input, "c");
                format!("    if (places[window] == i32({own})) {{ sum += {value}; }}\n")
            }
            _ => format!("    sum += {value} / {};\n", self.divisor_of("o")),
        };
        code + &format!("{close}    put(at, sum);\n")
    }
}
