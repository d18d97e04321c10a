//! Scattering on the GPU where one list of positions serves every line, as in the gradient of an embedding: the list
//! is put in order first, and each result then adds up its own values. The work grows with the number of values, not
//! with that of values times results; nothing is added in an order that changes.

use super::{Mode, Scatter};
use crate::dtype::DType;
use crate::ir::call::{Kernels, StructuredCall};
use crate::ir::program::{Bound, Checked, Param, Program, Trust};
use crate::shader::{self, Params, groups_for, narrow, status_declaration, storage_type, widen};
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
    let bytes = length as u64 * 4;
    let (order, results) = (order(op, call, length), results(op, call, length));
    [order, results].map(|program| Program { scratch: vec![bytes, bytes], ..program }).into()
}

/// Each workgroup finds where one position comes in the order of (position, number), and writes both there.
fn order(op: &Scatter, call: &StructuredCall, length: usize) -> Program {
    let index = &call.inputs[1];
    let level = &index.access.levels[0];
    let mut params = Params::default();
    let (count, stride) = (params.size(length), params.stride(level.axes[op.dim].stride));
    let offset = params.push(Param::Offset(level.offset.clone()));
    let size = params.size(call.inputs[0].meta.shape[op.dim]);
    let fault = shader::fault(&mut params, call.node, "own");
    let source = format!(
        "@group(0) @binding(0) var<storage, read> index: array<{index_type}>;
@group(0) @binding(1) var<storage, read_write> sorted: array<u32>;
@group(0) @binding(2) var<storage, read_write> numbers: array<u32>;
{status}@group(0) @binding(4) var<uniform> params: array<vec4<u32>, {vectors}>;
var<workgroup> counts: array<u32, {THREADS}>;

@compute @workgroup_size({THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let number = group.x + group.y * groups.x;
    if (number >= {count}) {{ return; }}
    let own = u32(index[{offset} + number * {stride}]);
    var before = 0u;
    for (var i = thread; i < {count}; i += {THREADS}u) {{
        let other = u32(index[{offset} + i * {stride}]);
        before += select(0u, 1u, other < own || (other == own && i < number));
    }}
    counts[thread] = before;
    workgroupBarrier();
    for (var half = {half}u; half > 0u; half /= 2u) {{
        if (thread < half) {{ counts[thread] += counts[thread + half]; }}
        workgroupBarrier();
    }}
    if (thread == 0u) {{
        sorted[counts[0]] = own;
        numbers[counts[0]] = number;
        if (own >= {size}) {{ {fault} }}
    }}
}}
",
        index_type = storage_type(index.meta.dtype),
        status = status_declaration(3),
        vectors = params.vectors(),
        half = THREADS / 2,
    );
    Program {
        label: "scatter_order",
        source: source.into(),
        entry: "main".into(),
        bindings: vec![Bound::Input(1), Bound::Scratch(0), Bound::Scratch(1), Bound::Status],
        params: params.list,
        groups: groups_for(length, 1),
        scratch: Vec::new(),
        trust: Trust::OURS,
        checks: Some(Checked::Index { op: op.name(), size: call.inputs[0].meta.shape[op.dim] }),
        specialise: false,
    }
}

/// A thread for each result finds its place in the ordered list, and takes what stands there.
fn results(op: &Scatter, call: &StructuredCall, length: usize) -> Program {
    let (base, values) = (&call.inputs[0].meta, &call.inputs[2].meta);
    let (strides, value_strides) = (base.shape.strides(), values.shape.strides());
    let mut params = Params::default();
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
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read> base: array<{stored}>;
@group(0) @binding(1) var<storage, read> values: array<{stored}>;
@group(0) @binding(2) var<storage, read_write> out: array<{stored}>;
@group(0) @binding(3) var<storage, read_write> sorted: array<u32>;
@group(0) @binding(4) var<storage, read_write> numbers: array<u32>;
@group(0) @binding(5) var<uniform> params: array<vec4<u32>, {vectors}>;

@compute @workgroup_size({THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let at = (group.x + group.y * groups.x) * {THREADS}u + thread;
    if (at >= {numel}) {{ return; }}
    var line = 0u;
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
}}
",
        enable = if base.dtype == DType::F16 { "enable f16;\n" } else { "" },
        stored = storage_type(base.dtype),
        vectors = params.vectors(),
        first = widen(base.dtype, "base[at]"),
        result = narrow(base.dtype, "result"),
    );
    Program {
        label: op.name(),
        source: source.into(),
        entry: "main".into(),
        bindings: vec![
            Bound::Input(0),
            Bound::Input(2),
            Bound::Output(0),
            Bound::Scratch(0),
            Bound::Scratch(1),
        ],
        params: params.list,
        groups: groups_for(base.numel(), THREADS),
        scratch: Vec::new(),
        trust: Trust::OURS,
        checks: None,
        specialise: false,
    }
}
