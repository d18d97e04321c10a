//! Long sums on the GPU, made in parts by several workgroups: the parts lie side by side in a scratch buffer, and a
//! second kernel adds them up in their order, so that the result is the same in every run.
//!
//! Compact products are made so wherever an epilogue follows, in one part if need be: then all of them are one text, and
//! what is particular to an epilogue is a short kernel of its own.

use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, ZERO, lane_type};

/// The buffer of the parts' results, (parts, output…), where there is more than one.
pub(super) fn scratch(call: &StructuredCall, parts: usize) -> Vec<u64> {
    if parts > 1 { memory_of_parts(call, parts) } else { Vec::new() }
}

fn memory_of_parts(call: &StructuredCall, parts: usize) -> Vec<u64> {
    vec![(parts * call.outputs[0].1.numel() * 4) as u64]
}

/// The output as the sum of the parts' results, in their order: one text for all sizes.
pub(super) fn sum_of_parts(call: &StructuredCall, parts: usize, label: &'static str) -> Program {
    sum(call, parts, label, false)
}

/// The same one by one, or four at a time.
fn sum(call: &StructuredCall, parts: usize, label: &'static str, fours: bool) -> Program {
    let (_, c) = &call.outputs[0];
    let mut shader = Shader::new(label, Tier::General);
    let count = if fours { c.numel() / 4 } else { c.numel() };
    let (pcount, pparts) = (shader.params.size(count), shader.params.size(parts));
    let (lane, first) = match fours {
        true => (format!("vec4<{}>", lane_type(c.dtype)), "number * 4u"),
        false => (lane_type(c.dtype).to_string(), "number"),
    };
    shader.bind(Bound::Scratch(0), "parts", &lane);
    shader.hand_on(call, fours);
    shader.scratch = memory_of_parts(call, parts);
    shader.completes = parts == 1;
    let body = format!(
        "    var sum = {lane}();
    for (var part = {ZERO}; part < {pparts}; part++) {{ sum += parts[part * {pcount} + number]; }}
    put({first}, sum);
"
    );
    shader.finish(&Entry::threads("number", count, &pcount, 64), &body)
}

/// What becomes of the results of a product on matrix units: they are stored, or left to a kernel that adds up parts and does
/// what follows.
pub(super) struct OnUnits {
    /// The scratch buffer that they are left in, if any.
    pub memory: Vec<u64>,
    parts: usize,
}

impl OnUnits {
    pub fn new(call: &StructuredCall, parts: usize) -> OnUnits {
        let memory = if is_summed(call, parts) { memory_of_parts(call, parts) } else { Vec::new() };
        OnUnits { memory, parts }
    }

    pub fn hand_on(&self, call: &StructuredCall, shader: &mut Shader, fours: bool) {
        match self.memory.is_empty() {
            true => shader.hand_on(call, fours),
            false => shader.hand_on_parts(call, fours),
        }
    }

    /// The kernel that they are left to, in a call with these scratch buffers.
    pub fn completion(
        &self,
        call: &StructuredCall,
        label: &'static str,
        scratch: Vec<u64>,
    ) -> Option<Program> {
        let is_left = !self.memory.is_empty();
        let fours = call.outputs[0].1.numel().is_multiple_of(4);
        let sum = || sum(call, self.parts, label, fours);
        is_left.then(|| Program { scratch, in_turn: true, completes: false, ..sum() })
    }
}

/// Has a compact product hand on its results: to memory, or to `sum_of_parts`.
pub(super) fn hand_on_compact(shader: &mut Shader, call: &StructuredCall, parts: usize) {
    match is_summed(call, parts) {
        true => {
            shader.hand_on_parts(call, false);
            shader.scratch = memory_of_parts(call, parts);
        }
        false => shader.hand_on(call, false),
    }
}

/// The shaders of a compact product.
pub(super) fn compact_programs(
    call: &StructuredCall,
    product: Program,
    parts: usize,
    label: &'static str,
) -> Vec<Program> {
    match is_summed(call, parts) {
        true => vec![product, sum_of_parts(call, parts, label)],
        false => vec![product],
    }
}

fn is_summed(call: &StructuredCall, parts: usize) -> bool {
    parts > 1 || call.epilogue.is_some()
}
