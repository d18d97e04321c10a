//! The product of floats by the short shader of `op::compact`, in the parts and with the slices of the text that takes over.

use super::Sizes;
use super::large::base;
use super::tiled::Side;
use super::tiling::{Choice, part_length};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::op::compact::{self, Product};
use crate::op::parts::scratch;
use crate::shader::{Params, Shader, widen};

/// The kernel for these sizes.
pub(super) fn program(call: &StructuredCall, sizes: &Sizes, choice: &Choice) -> Program {
    let Sizes { batches, m, n, k } = *sizes;
    let (length, slices) = match choice {
        Choice::Large(_, parts) => (part_length(k, *parts), 1),
        Choice::Small(tiling) => (tiling.part_length(k), tiling.slices),
    };
    let parts = choice.parts();
    let mut shader = Shader::of(call, "matmul");
    let params = &mut shader.params;
    let [pm, pn, pk, pbatches, plength] = [m, n, k, batches, length].map(|size| params.size(size));
    let a = Side::new("a", &call.inputs[0], true, 0);
    let b = Side::new("b", &call.inputs[1], false, 0);
    let begin = format!(
        "    let batch = product % {pbatches};
    let first = product / {pbatches} * {plength};
    let end = min(first + {plength}, {pk});
{}{}",
        base(&a, params),
        base(&b, params)
    );
    let left = side(&a, ["row", "left_step"], [&pm, &pk], params);
    let right = side(&b, ["column", "right_step"], [&pn, &pk], params);
    shader.bind_elements(Bound::Input(0), "a", call.inputs[0].meta.dtype, false);
    shader.bind_elements(Bound::Input(1), "b", call.inputs[1].meta.dtype, false);
    match parts {
        1 => shader.hand_on(call, false),
        _ => shader.hand_on_parts(call, false),
    }
    shader.scratch = scratch(call, parts);
    let product = Product {
        sizes: [m, n, batches * parts],
        begin,
        left,
        right,
        target: format!("(product * {pm} + row) * {pn} + column"),
        slices,
    };
    compact::finish(shader, &product)
}

fn side(side: &Side, [x, step]: [&str; 2], [all, steps]: [&str; 2], params: &mut Params) -> compact::Side {
    let (stride_x, stride_k) = (params.stride(side.across.stride), params.stride(side.along_k.stride));
    let name = side.name;
    let at = format!(
        "{name}[base_{name} + min({x}, {all} - 1u) * {stride_x} + min({step}, {steps} - 1u) * {stride_k}]"
    );
    compact::Side {
        along_depth: side.along_k.stride == 1,
        known: String::new(),
        element: widen(side.operand.meta.dtype, &at),
    }
}
