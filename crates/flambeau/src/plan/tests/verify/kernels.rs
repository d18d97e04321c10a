//! Broken fused kernels, calls and epilogues, and kernels in the wrong order.

use super::{CHAIN, PRODUCT, PRODUCTS, SCAN, SLICE, TWO_INPUTS, TWO_KERNELS};
use super::{args, call, epilogue, fused, graph_of, level, lowered, verify, with_epilogues};
use crate::dtype::DType;
use crate::ir::Precision;
use crate::ir::kernel::{InstKind, Kernel, Place};
use crate::plan::fuse::fuse;
use crate::plan::graph::Ref;
use crate::plan::lower::lower;
use crate::plan::verify::Illegal;

const PERMUTED: &str = "
    x = f32 3 4
    a = permute(1 0) x
    b = exp a
    → b";
const GATHER: &str = "
    x = f32 5 4
    i = i32 3
    a = index_select(0) x i
    → a";
const RELU: &str = "
    a = f32 8 16
    b = f32 16 4
    c = matmul a b
    d = relu c
    → d";
const PACK: &str = "
    x = f32 64
    y = f32 10
    c = pack(74 0 64) x y
    → c";
const OTHER_DTYPE: &str = "
    a = f32 8 16
    b = f32 16 4
    i = i32 128
    c = matmul a b
    j = neg i
    → c j";

super::illegal! { lowered:
    a_root_has_no_place: CHAIN, |l| _ = l.places.remove(&Ref { node: 2, output: 0 })
        => "illegal after lower: Ref { node: 2, output: 0 } is not stored";
    a_root_has_anothers_place: TWO_KERNELS, |l| {
        let first = l.buffers[0];
        l.places.insert(first, Place::Buffer(1));
    } => "Buffer(1) holds";
    a_load_reads_another_value: TWO_INPUTS, |l| fused(&mut l.kernels).inputs.swap(0, 1) => "where node";
    there_are_fewer_coordinates: CHAIN, |l| fused(&mut l.kernels).kept = 9 => "9 of 1 coordinates are kept";
    too_many_buffers_are_bound: CHAIN, |l| {
        let inputs = &mut fused(&mut l.kernels).inputs;
        *inputs = vec![inputs[0]; 7];
    } => "kernel 0 (exp neg): 8 buffers are bound";
    a_buffer_is_of_another_dtype: CHAIN, |l| fused(&mut l.kernels).inputs[0].1 = DType::I32 => "is not of dtype i32";
    a_buffer_is_bound_twice: CHAIN, |l| {
        let inputs = &mut fused(&mut l.kernels).inputs;
        *inputs = vec![inputs[0]; 2];
    } => "Input(0) is bound twice";
    an_instruction_reads_a_later_one: CHAIN, |l| args(fused(&mut l.kernels), 1)[0] = 2
        => "instruction 1: it reads instruction 2, which comes later";
    an_access_takes_other_coordinates: CHAIN, |l| fused(&mut l.kernels).space[0] = 11
        => "it takes other coordinates than [11]";
    an_instruction_computes_something_else: CHAIN, |l| fused(&mut l.kernels).insts[1].node = 2
        => "instruction 1: it is not what node 2 computes";
    a_load_is_off_by_one: CHAIN, |l| level(fused(&mut l.kernels), 0).offset.constant = 1
        => "instruction 0: level 0 reaches from 1 to 12 of 12";
    a_load_starts_before_its_buffer: CHAIN, |l| level(fused(&mut l.kernels), 0).axes[0].stride = -1
        => "level 0 reaches from -11 to 0 of 12";
    a_slice_reaches_too_far: SLICE, |l| level(fused(&mut l.kernels), 0).axes[0].stride = 2
        => "level 0 reaches from 0 to 13 of 10";
    an_access_starts_anywhere: CHAIN, |l| level(fused(&mut l.kernels), 0).offset.terms.push((9, 1))
        => "level 0 starts anywhere";
    a_gather_takes_too_large_indexes: GATHER, |l| {
        let gathers = fused(&mut l.kernels).insts.iter_mut().find_map(|inst| match &mut inst.kind {
            InstKind::Gather { size, .. } => Some(size),
            _ => None,
        });
        *gathers.expect("a gather") = 6;
    } => "level 0 reaches from 0 to 23 of 20";
    a_load_is_of_another_dtype: CHAIN, |l| fused(&mut l.kernels).insts[0].dtype = DType::I32
        => "instruction 0: it reads f32 as i32";
    a_result_is_no_instruction: CHAIN, |l| fused(&mut l.kernels).outputs[0].inst = 9
        => "Buffer(0) is the result of no instruction";
    a_result_is_of_another_dtype: CHAIN, |l| fused(&mut l.kernels).outputs[0].dtype = DType::I32
        => "Buffer(0) is f32: f32 is stored as i32";
    a_result_is_stored_in_another_order: PERMUTED, |l| {
        let axes = &mut fused(&mut l.kernels).outputs[0].access.levels[0].axes;
        (axes[0].stride, axes[1].stride) = (1, 4);
    } => "Buffer(0) of 12 elements is stored in another order";
    a_result_is_stored_through_levels: CHAIN, |l| {
        let levels = &mut fused(&mut l.kernels).outputs[0].access.levels;
        levels.push(levels[0].clone());
    } => "Buffer(0) is stored through several levels";
    an_operand_is_idle: TWO_INPUTS, |l| {
        let insts = &mut fused(&mut l.kernels).insts;
        insts[1] = insts[0].clone();
    } => "no instruction reads operand 1";
    an_instruction_is_idle: CHAIN, |l| {
        let insts = &mut fused(&mut l.kernels).insts;
        insts.push(insts[0].clone());
    } => "nothing uses instruction 3";
}

super::illegal! { lowered:
    a_call_is_of_another_precision: PRODUCT, |l| call(&mut l.kernels).precision = Precision::High
        => "(matmul): it is not what node 3 computes";
    a_call_is_of_another_node: PRODUCT, |l| call(&mut l.kernels).node = 0 => "(matmul): it is not what node 0 computes";
    an_operand_is_of_another_dtype: OTHER_DTYPE, |l| {
        call(&mut l.kernels).inputs[0].place = fused(&mut l.kernels).inputs[0].0;
    } => "is i32, not f32";
    an_operand_lies_otherwise_than_wanted: PACK,
        |l| call(&mut l.kernels).inputs[0].access.levels[0].axes[0].stride = 2
        => "operand 0: it must be Contiguous";
    an_operand_is_off_by_one: PRODUCT, |l| call(&mut l.kernels).inputs[0].access.levels[0].offset.constant = 1
        => "operand 0: level 0 reaches from 1 to 128 of 128";
    an_operand_has_other_sizes: PRODUCT, |l| call(&mut l.kernels).inputs[0].access.levels[0].axes[0].size = 7
        => "operand 0: it takes other coordinates than [8, 16]";
    a_result_does_not_fit_its_place: PRODUCT, |l| call(&mut l.kernels).outputs[0].0 = Place::Buffer(0)
        => "Buffer(0) holds f32×128, not f32×32";
    a_place_is_not_there: PRODUCT, |l| call(&mut l.kernels).outputs[0].0 = Place::Buffer(9)
        => "there is no Buffer(9)";
}

super::illegal! { lowered:
    a_kernel_is_missing: PRODUCTS, |l| _ = l.kernels.remove(0) => "nothing writes buffer 0";
    kernels_are_in_the_wrong_order: PRODUCTS, |l| l.kernels.swap(1, 2)
        => "kernel 1 reads buffer 1, which is not written yet";
    a_buffer_is_written_again: PRODUCTS, |l| l.kernels.insert(1, l.kernels[0].clone())
        => "kernel 1 writes buffer 0 again";
    a_buffer_is_not_read: PRODUCT, |l| {
        call(&mut l.kernels).inputs[0].place = fused(&mut l.kernels).inputs[0].0;
    } => "kernel 0 writes buffer 0, which nothing reads";
}

super::illegal! { with_epilogues:
    an_operand_is_not_there: CHAIN, |l| match &mut fused(&mut l.kernels).insts[0].kind {
        InstKind::Load { operand, .. } => *operand = 5,
        _ => panic!("no load"),
    } => "illegal after epilogue: kernel 0 (exp neg): instruction 0: there is no operand 5";
    a_scan_gets_an_epilogue: SCAN, |l| {
        let Some(Kernel::Fused(last)) = l.kernels.pop() else { panic!("no fused kernel") };
        call(&mut l.kernels).epilogue = Some(Box::new(last));
    } => "epilogue: cumsum takes none";
    an_epilogue_binds_too_many_buffers: RELU, |l| {
        let operand = call(&mut l.kernels).inputs[0].place;
        epilogue(&mut l.kernels).inputs = vec![(operand, DType::F32); 5];
    } => "epilogue: 8 buffers are bound";
    an_epilogue_runs_over_something_else: RELU, |l| epilogue(&mut l.kernels).space[0] = 31
        => "epilogue: it runs over [31], not over the results";
    an_epilogue_stores_elsewhere: RELU, |l| call(&mut l.kernels).outputs[0].0 = Place::Buffer(9)
        => "epilogue: the call's result is Buffer(9), not its first";
    an_epilogue_reads_in_another_order: RELU, |l| level(epilogue(&mut l.kernels), 0).axes[0].stride = -1
        => "instruction 0 is not elementwise work on the result in its order";
}

/// Kernels before they are put in order.
fn joined(text: &str, broken: impl FnOnce(&mut Vec<Kernel>)) -> Result<(), Illegal> {
    let graph = graph_of(text);
    let mut lowered = lower(&graph, fuse(&graph, true));
    broken(&mut lowered.kernels);
    verify::after_joining_epilogues(&lowered.kernels, lowered.buffers.len())
}

super::illegal! { joined:
    an_epilogue_waits_for_itself: PRODUCTS, |kernels| call(kernels).inputs[0].place = Place::Buffer(1)
        => "illegal after epilogue: kernel 0 waits for itself";
    an_epilogue_waits_for_what_nothing_makes: PRODUCTS, |kernels| _ = kernels.remove(0)
        => "kernel 0 reads buffer 0, which nothing writes";
}
