//! The product of floats by the short shader of `op::compact`, in the parts and with the slices of the text that takes over.
//! However its operands lie, the text is the same.

use super::Sizes;
use super::large::base;
use super::tiled::Side;
use super::tiling::{Choice, MOST_SLICES, part_length};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Program};
use crate::op::compact::{self, Order, Product};
use crate::op::parts::{compact_programs, hand_on_compact};
use crate::shader::{Params, Shader, widen};

/// The kernels for these sizes.
pub(super) fn programs(call: &StructuredCall, sizes: &Sizes, choice: &Choice) -> Vec<Program> {
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
    hand_on_compact(&mut shader, call, parts);
    let product = Product {
        sizes: [m, n, batches * parts],
        begin,
        left,
        right,
        target: format!("(product * {pm} + row) * {pn} + column"),
        slices,
        most_slices: MOST_SLICES,
    };
    compact_programs(call, compact::finish(shader, &product), parts, "matmul sum")
}

fn side(side: &Side, [x, step]: [&str; 2], [all, steps]: [&str; 2], params: &mut Params) -> compact::Side {
    let (stride_x, stride_k) = (params.stride(side.across.stride), params.stride(side.along_k.stride));
    let name = side.name;
    let at = format!(
        "{name}[base_{name} + min({x}, {all} - 1u) * {stride_x} + min({step}, {steps} - 1u) * {stride_k}]"
    );
    compact::Side {
        order: Order::Told(side.along_k.stride == 1),
        element: widen(side.operand.meta.dtype, &at),
    }
}
