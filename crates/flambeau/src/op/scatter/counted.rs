//! Adding integers on the GPU by atomics: their sum is the same in every order. Where there are few places for many values, as in a
//! histogram, every workgroup adds up its share in memory of its own first.

use super::{Mode, Scatter};
use crate::dtype::DType;
use crate::ir::call::{Kernels, StructuredCall};
use crate::ir::program::{Bound, Checked, Param, Program, Tier};
use crate::shader::{self, Entry, Shader, storage_type};
use std::fmt::Write;

/// Threads of a workgroup.
const THREADS: usize = 256;
/// Places that a workgroup has memory for, and values that are a share worth having.
const PLACES: usize = 2048;
const SHARE: usize = 1 << 14;
/// Shares at most.
const SHARES: usize = 1024;

/// Are integers added?
pub(super) fn applies(op: &Scatter, call: &StructuredCall) -> bool {
    op.mode == Mode::Add && matches!(call.inputs[0].meta.dtype, DType::I32 | DType::U32)
}

/// The shaders: the base, then what is added to it.
pub(super) fn programs(op: &Scatter, call: &StructuredCall) -> Vec<Program> {
    let (base, index) = (&call.inputs[0].meta, &call.inputs[1].meta);
    let mut programs = vec![copied(op, call)];
    if index.numel() > 0 {
        let has_few_places = base.numel() <= PLACES && base.shape[op.dim] == base.numel();
        programs.push(added(op, call, has_few_places && index.numel() >= SHARE));
    }
    programs
}

fn copied(op: &Scatter, call: &StructuredCall) -> Program {
    let base = &call.inputs[0].meta;
    let mut shader = Shader::new(op.name(), Tier::General);
    let numel = shader.params.size(base.numel());
    let stored = storage_type(base.dtype);
    shader.bind(Bound::Input(0), "base", stored);
    shader.bind(Bound::Output(0), "out", stored);
    shader.finish(&Entry::threads("at", base.numel(), &numel, THREADS), "    out[at] = base[at];\n")
}

/// A thread for each value, or a workgroup for each share of them.
fn added(op: &Scatter, call: &StructuredCall, by_shares: bool) -> Program {
    let [base, index, values] = [0, 1, 2].map(|input| &call.inputs[input].meta);
    let level = &call.inputs[1].access.levels[0];
    let (strides, value_strides) = (base.shape.strides(), values.shape.strides());
    let mut shader = Shader::new(op.name(), Tier::General);
    let params = &mut shader.params;
    let (count, size) = (values.numel(), base.shape[op.dim]);
    let [limit, places] = [count, size].map(|size| params.size(size));
    let offset = params.push(Param::Offset(level.offset.clone()));
    let mut from = offset;
    let mut to = format!("found * {}", params.stride(strides[op.dim]));
    for d in 0..index.shape.rank() {
        let (size, stride) = (params.size(index.shape[d]), params.stride(value_strides[d]));
        let coordinate = format!("(at / {stride}) % {size}");
        _ = write!(from, " + {coordinate} * {}", params.stride(level.axes[d].stride));
        if d != op.dim {
            _ = write!(to, " + {coordinate} * {}", params.stride(strides[d]));
        }
    }
    let fault = shader::fault(params, call.node, "found");
    shader.bind_elements(Bound::Input(1), "index", index.dtype, false);
    shader.bind(Bound::Input(2), "values", storage_type(values.dtype));
    shader.bind(Bound::Output(0), "out", "atomic<u32>");
    shader.bind_status();
    shader.checks = Some(Checked::Index { op: op.name(), size });
    let add = |into: &str| {
        format!(
            "let found = u32(index[{from}]);
        if (found < {places}) {{ atomicAdd(&{into}, u32(values[at])); }} else {{ {fault} }}"
        )
    };
    if !by_shares {
        let body = format!("    {}\n", add(&format!("out[{to}]")));
        return shader.finish(&Entry::threads("at", count, &limit, THREADS), &body);
    }
    let share = SHARE.max(count.div_ceil(SHARES).next_multiple_of(THREADS));
    let shares = count.div_ceil(share);
    let [share, groups] = [share, shares].map(|size| shader.params.size(size));
    shader.share("sums", "atomic<u32>", PLACES);
    let body = format!(
        "    for (var place = thread; place < {places}; place += {THREADS}u) {{ atomicStore(&sums[place], 0u); }}
    workgroupBarrier();
    let end = min((number + 1u) * {share}, {limit});
    for (var at = number * {share} + thread; at < end; at += {THREADS}u) {{
        {}
    }}
    workgroupBarrier();
    for (var place = thread; place < {places}; place += {THREADS}u) {{
        let sum = atomicLoad(&sums[place]);
        if (sum != 0u) {{ atomicAdd(&out[place], sum); }}
    }}
",
        add("sums[found]")
    );
    shader.finish(&Entry::workgroups("number", shares, &groups, THREADS), &body)
}
