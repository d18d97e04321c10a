//! Broken parts and slots.

use super::{PRODUCTS, call, graph_of, options, packed, placed, says, verify};
use crate::plan::Plan;

const PACK: &str = "
    x = f32 64
    y = f32 10
    a = exp x
    b = neg y
    c = pack(202 0 64) a b
    → c";
const UNALIGNED: &str = "
    x = f32 10
    y = f32 10
    a = exp x
    b = neg y
    c = pack(20 0 10) a b
    → c";
const READ_AND_PACKED: &str = "
    x = f32 64
    a = exp x
    b = cumsum(0) a
    c = pack(128 0 64) a b
    → c";
const ONE_KERNEL: &str = "
    x = f32 64
    a = exp x
    b = neg a
    c = pack(128 0 64) a b
    → c";

/// Makes both operands of a pack parts of it.
fn place_both(plan: &mut Plan) {
    let whole = plan.buffers.iter().position(|buffer| buffer.numel == 128).expect("a pack") as u32;
    let parts = plan.buffers.iter_mut().filter(|buffer| buffer.numel == 64);
    parts.enumerate().for_each(|(number, part)| part.within = Some((whole, 64 * number)));
}

super::illegal! { packed:
    a_part_lies_in_a_part: PACK, |p| p.buffers[0].within = Some((1, 0))
        => "illegal after pack: buffer 0 is a part of buffer 1, which cannot have parts";
    a_part_does_not_fit: PACK, |p| p.buffers[0].within = Some((2, 256)) => "buffer 0 does not fit buffer 2 from 256 on";
    a_part_cannot_be_bound: PACK, |p| p.buffers[0].within = Some((2, 65))
        => "buffer 0 cannot be bound from 65 on";
    parts_overlap: PACK, |p| p.buffers[0].within = Some((2, 0)) => "overlap in buffer 2";
    a_part_lies_elsewhere: PACK, |p| p.buffers[0].within = Some((2, 128))
        => "buffer 0 is packed from 64 on, and lies at 128";
    an_operand_is_copied_twice: UNALIGNED, |p| {
        let call = call(&mut p.kernels);
        call.inputs.push(call.inputs[0].clone());
    } => "1 operands of 2 are parts and 2 copied";
    a_kernel_reads_and_writes_one_memory: READ_AND_PACKED, |p| {
        place_both(p);
        p.kernels.pop();
    } => "kernel 1 reads and writes the memory of buffer 2";
    a_kernel_writes_one_memory_twice: ONE_KERNEL, |p| {
        place_both(p);
        p.kernels.pop();
    } => "kernel 0 writes the memory of buffer 2 twice";
}

#[test]
fn a_part_is_packed_by_nobody() {
    let graph = graph_of(PACK);
    let plan = Plan::new(graph.clone(), options());
    let verdict = verify::after_pack(&graph, &plan, &[], options().element_bytes);
    says(verdict, "2 buffers are parts, and 0 of them packed");
}

super::illegal! { placed:
    a_result_is_missing: PRODUCTS, |p| _ = p.roots.pop() => "illegal after memory: 0 results for 1 roots";
    a_result_is_not_kept: PRODUCTS, |p| p.buffers[3].root = false
        => "buffer 3 is a result, and its memory is not kept";
    a_temporary_has_no_memory: PRODUCTS, |p| p.buffers[0].slot = usize::MAX => "buffer 0 has no memory";
    a_temporary_does_not_fit: PRODUCTS, |p| p.slots[0] = 1 => "buffer 0 does not fit slot 0";
    lives_overlap: PRODUCTS, |p| p.buffers[1].slot = 0 => "buffers 0 and 1 share slot 0 and are both needed";
}
