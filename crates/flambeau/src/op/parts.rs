//! Long sums on the GPU, made in parts by several workgroups: the parts lie side by side in a scratch buffer, and a
//! second kernel adds them up in their order, so that the result is the same in every run.

use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO, lane_type};

/// The buffer of the parts' results, (parts, output…), where there is more than one.
pub(super) fn scratch(call: &StructuredCall, parts: usize) -> Vec<u64> {
    if parts > 1 { vec![(parts * call.outputs[0].1.numel() * 4) as u64] } else { Vec::new() }
}

/// The output as the sum of the parts' results, in their order.
pub(super) fn sum_of_parts(call: &StructuredCall, parts: usize, label: &'static str) -> Program {
    let (_, c) = &call.outputs[0];
    let mut shader = Shader::new(label, Tier::General);
    let (numel, pparts) = (shader.params.size(c.numel()), shader.params.size(parts));
    let lane = lane_type(c.dtype);
    shader.bind(Bound::Scratch(0), "parts", lane);
    shader.hand_on(call, false);
    shader.scratch = scratch(call, parts);
    let body = format!(
        "    var sum = {lane}(0);
    for (var part = {ZERO}; part < {pparts}; part++) {{ sum += parts[part * {numel} + at]; }}
    put(at, sum);
"
    );
    shader.finish(&Entry::threads("at", c.numel(), &numel, 64), &body)
}
