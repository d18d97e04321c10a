//! Scattering on the GPU where one list of positions serves every line, as in the gradient of an embedding: the list
//! is put in order first, and each result then adds up its own values. The work grows with the number of values, not
//! with that of values times results; nothing is added in an order that changes.

use super::{Mode, Scatter};
use crate::dtype::DType;
use crate::ir::call::{Kernels, StructuredCall};
use crate::ir::program::{Bound, Checked, Param, Program, Tier};
use crate::shader::{self, Entry, Fold, Shader, narrow, widen};
use std::fmt::Write;

/// Positions up to which each looks at all the others to find its rank.
const MOST: usize = 1 << 17;
/// Positions from which that pays.
const LEAST: usize = 32;
/// Threads that look for one position.
const THREADS: usize = 64;

/// Does one list of positions serve every line?
pub(super) fn applies(op: &Scatter, call: &StructuredCall) -> bool {
    let (base, index) = (&call.inputs[0].meta.shape, &call.inputs[1]);
    let length = index.meta.shape[op.dim];
    let level = &index.access.levels[0];
    let other = |d: &usize| *d != op.dim;
    (LEAST..=MOST).contains(&length)
        && (0..base.rank())
            .filter(other)
            .all(|d| index.meta.shape[d] == base[d] && (base[d] == 1 || level.axes[d].stride == 0))
}

/// The shaders: positions in order, then results.
pub(super) fn programs(op: &Scatter, call: &StructuredCall) -> Vec<Program> {
    let length = call.inputs[1].meta.shape[op.dim];
    vec![order(op, call, length), results(op, call, length)]
}

/// Scratch buffers: positions in order, and their numbers.
fn bind_scratch(shader: &mut Shader, length: usize) {
    shader.bind(Bound::Scratch(0), "sorted", "u32");
    shader.bind(Bound::Scratch(1), "numbers", "u32");
    shader.scratch = vec![length as u64 * 4; 2];
}

/// Each workgroup finds where one position comes in the order of (position, number), and writes both there.
fn order(op: &Scatter, call: &StructuredCall, length: usize) -> Program {
    let index = &call.inputs[1];
    let level = &index.access.levels[0];
    let mut shader = Shader::new("scatter_order", Tier::General);
    let params = &mut shader.params;
    let (count, stride) = (params.size(length), params.stride(level.axes[op.dim].stride));
    let offset = params.push(Param::Offset(level.offset.clone()));
    let positions = call.inputs[0].meta.shape[op.dim];
    let size = params.size(positions);
    let fault = shader::fault(params, call.node, "own");
    shader.bind_elements(Bound::Input(1), "index", index.meta.dtype, false);
    bind_scratch(&mut shader, length);
    shader.bind_status();
    shader.checks = Some(Checked::Index { op: op.name(), size: positions });
    shader.subgroups = call.subgroups;
    let join = shader.joined(&[Fold::sum("before", DType::U32)], THREADS);
    let body = format!(
        "    let own = u32(index[{offset} + number * {stride}]);
    var before = 0u;
    for (var i = thread; i < {count}; i += {THREADS}u) {{
        let other = u32(index[{offset} + i * {stride}]);
        before += select(0u, 1u, other < own || (other == own && i < number));
    }}
{join}    if (thread == 0u) {{
        sorted[before] = own;
        numbers[before] = number;
        if (own >= {size}) {{ {fault} }}
    }}
"
    );
    shader.finish(&Entry::workgroups("number", length, &count, THREADS), &body)
}

/// A thread for each result finds its place in the ordered list, and takes what stands there.
fn results(op: &Scatter, call: &StructuredCall, length: usize) -> Program {
    let (base, values) = (&call.inputs[0].meta, &call.inputs[2].meta);
    let (strides, value_strides) = (base.shape.strides(), values.shape.strides());
    let mut shader = Shader::new(op.name(), Tier::General);
    let params = &mut shader.params;
    let (numel, count) = (params.size(base.numel()), params.size(length));
    let mut coordinates = String::new();
    for d in 0..base.shape.rank() {
        let (size, stride) = (params.size(base.shape[d]), params.stride(strides[d]));
        _ = match d == op.dim {
            true => writeln!(coordinates, "    let place = (at / {stride}) % {size};"),
            false => {
                let along = params.stride(value_strides[d]);
                writeln!(coordinates, "    line += (at / {stride}) % {size} * {along};")
            }
        };
    }
    let step = params.stride(value_strides[op.dim]);
    let value = widen(values.dtype, &format!("values[line + numbers[k] * {step}]"));
    let combine = match (op.mode, base.dtype) {
        (Mode::Set, _) => format!("result = {value};"),
        (Mode::Add, DType::Bool) => format!("result = result || {value};"),
        (Mode::Add, _) => format!("result += {value};"),
    };
    shader.bind_elements(Bound::Input(0), "base", base.dtype, false);
    shader.bind_elements(Bound::Input(2), "values", values.dtype, false);
    shader.bind_elements(Bound::Output(0), "out", base.dtype, false);
    bind_scratch(&mut shader, length);
    let body = format!(
        "    var line = 0u;
{coordinates}    var result = {first};
    var low = 0u;
    var high = {count};
    while (low < high) {{
        let middle = (low + high) / 2u;
        if (sorted[middle] < place) {{ low = middle + 1u; }} else {{ high = middle; }}
    }}
    for (var k = low; k < {count}; k++) {{
        if (sorted[k] != place) {{ break; }}
        {combine}
    }}
    out[at] = {result};
",
        first = widen(base.dtype, "base[at]"),
        result = narrow(base.dtype, "result"),
    );
    shader.finish(&Entry::threads("at", base.numel(), &numel, THREADS), &body)
}
