//! Long sums on the GPU, made in parts by several workgroups: the parts lie side by side in a scratch buffer, and a
//! second kernel adds them up in their order, so that the result is the same in every run.

use super::structured::{Bound, Program};
use crate::backend::wgsl::{Params, groups_for, lane_type, narrow, storage_type};
use crate::dtype::DType;
use crate::plan::kernel::StructuredCall;

/// The buffer of the parts' results, (parts, output…), where there is more than one.
pub(super) fn scratch(call: &StructuredCall, parts: usize) -> Vec<u64> {
    if parts > 1 { vec![(parts * call.outputs[0].1.numel() * 4) as u64] } else { Vec::new() }
}

/// The output as the sum of the parts' results, in their order.
pub(super) fn sum_of_parts(call: &StructuredCall, parts: usize, label: &'static str) -> Program {
    let (_, c) = &call.outputs[0];
    let mut params = Params::default();
    let (numel, pparts) = (params.size(c.numel()), params.size(parts));
    let (lane, stored) = (lane_type(c.dtype), storage_type(c.dtype));
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read_write> parts: array<{lane}>;
@group(0) @binding(1) var<storage, read_write> c: array<{stored}>;
@group(0) @binding(2) var<uniform> params: array<vec4<u32>, {vectors}>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let at = (group.x + group.y * groups.x) * 64u + thread;
    if (at >= {numel}) {{ return; }}
    var sum = {lane}(0);
    for (var part = 0u; part < {pparts}; part++) {{ sum += parts[part * {numel} + at]; }}
    c[at] = {result};
}}
",
        enable = if c.dtype == DType::F16 { "enable f16;\n" } else { "" },
        vectors = params.vectors(),
        result = narrow(c.dtype, "sum"),
    );
    Program {
        label,
        source,
        entry: "main".into(),
        bindings: vec![Bound::Scratch(0), Bound::Output(0)],
        params: params.list,
        groups: groups_for(c.numel(), 64),
        scratch: scratch(call, parts),
        trusted: true,
        checks: None,
    }
}
