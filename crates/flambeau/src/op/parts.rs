//! Long sums on the GPU, made in parts by several workgroups: the parts lie side by side in a scratch buffer, and a
//! second kernel adds them up in their order, so that the result is the same in every run.

use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Trust};
use crate::shader::results::Results;
use crate::shader::{Params, ZERO, groups_for, lane_type};

/// The buffer of the parts' results, (parts, output…), where there is more than one.
pub(super) fn scratch(call: &StructuredCall, parts: usize) -> Vec<u64> {
    if parts > 1 { vec![(parts * call.outputs[0].1.numel() * 4) as u64] } else { Vec::new() }
}

/// The output as the sum of the parts' results, in their order.
pub(super) fn sum_of_parts(call: &StructuredCall, parts: usize, label: &'static str) -> Program {
    let (_, c) = &call.outputs[0];
    let mut params = Params::default();
    let (numel, pparts) = (params.size(c.numel()), params.size(parts));
    let lane = lane_type(c.dtype);
    let Results { enable, declarations, bindings, functions } = Results::new(call, &mut params, 1, false);
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read_write> parts: array<{lane}>;
{declarations}@group(0) @binding({uniform}) var<uniform> params: array<vec4<u32>, {vectors}>;

{functions}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let at = (group.x + group.y * groups.x) * 64u + thread;
    if (at >= {numel}) {{ return; }}
    var sum = {lane}(0);
    for (var part = {ZERO}; part < {pparts}; part++) {{ sum += parts[part * {numel} + at]; }}
    put(at, sum);
}}
",
        uniform = 1 + bindings.len(),
        vectors = params.vectors(),
    );
    Program {
        label,
        source: source.into(),
        entry: "main".into(),
        bindings: [vec![Bound::Scratch(0)], bindings].concat(),
        params: params.list,
        groups: groups_for(c.numel(), 64),
        scratch: scratch(call, parts),
        trust: Trust::OURS,
        checks: None,
        specialise: false,
    }
}
