//! Long sums on the GPU, made in parts by several workgroups: the parts lie side by side in a scratch buffer, and a
//! second kernel adds them up in their order, so that the result is the same in every run.
//!
//! Compact products are made so wherever an epilogue follows, in one part if need be: then all of them are one text, and
//! what is particular to an epilogue is a short kernel of its own.

use crate::dtype::DType;
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

/// The dtype that results are added up in.
fn wide(call: &StructuredCall) -> DType {
    match call.outputs[0].1.dtype {
        DType::F16 => DType::F32,
        dtype => dtype,
    }
}

/// The output as the sum of the parts' results, in their order: one text for all sizes.
pub(super) fn sum_of_parts(call: &StructuredCall, parts: usize, label: &'static str) -> Program {
    sum(call, parts, (memory_of_parts(call, parts), wide(call)), label, false)
}

/// The same one by one, or four at a time, where the parts lie in memory as this dtype.
fn sum(
    call: &StructuredCall,
    parts: usize,
    (memory, left): (Vec<u64>, DType),
    label: &'static str,
    fours: bool,
) -> Program {
    let (_, c) = &call.outputs[0];
    let mut shader = Shader::new(label, Tier::General);
    let count = if fours { c.numel() / 4 } else { c.numel() };
    let (pcount, pparts) = (shader.params.size(count), shader.params.size(parts));
    let (lane, first) = match fours {
        true => (format!("vec4<{}>", lane_type(c.dtype)), "number * 4u"),
        false => (lane_type(c.dtype).to_string(), "number"),
    };
    shader.bind_elements(Bound::Scratch(0), "parts", left, fours);
    shader.hand_on(call, fours);
    shader.scratch = memory;
    shader.completes = parts == 1;
    let body = format!(
        "    var sum = {lane}();
    for (var part = {ZERO}; part < {pparts}; part++) {{ sum += {lane}(parts[part * {pcount} + number]); }}
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
    /// What they lie there as: parts are wide, whole results are what the product is of.
    left: DType,
}

impl OnUnits {
    pub fn new(call: &StructuredCall, parts: usize) -> OnUnits {
        let left = if parts > 1 { wide(call) } else { call.outputs[0].1.dtype };
        let memory = match is_summed(call, parts) {
            true => vec![(parts * call.outputs[0].1.numel() * left.size()) as u64],
            false => Vec::new(),
        };
        OnUnits { memory, parts, left }
    }

    pub fn hand_on(&self, call: &StructuredCall, shader: &mut Shader, fours: bool) {
        match self.memory.is_empty() {
            true => shader.hand_on(call, fours),
            false => shader.leave(self.left, fours),
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
        let sum = || sum(call, self.parts, (scratch, self.left), label, fours);
        is_left.then(|| Program { in_turn: true, completes: false, ..sum() })
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
