//! Broken stages and phases.

use super::{SOFTMAX, fused, lowered};
use crate::ir::kernel::{Fused, Phase};
use crate::plan::lower::Lowered;

const SUM: &str = "
    x = f32 3 4
    a = exp x
    b = sum(1) a
    c = exp b
    → c";
const TWO_SUMS: &str = "
    x = f32 8 16
    s = sum(1) x
    m = amax(1) x
    t = add s m
    → t";
const BESIDE: &str = "
    x = f32 8 16
    a = exp x
    b = sum(1) a
    → a b";

fn insts(lowered: &mut Lowered) -> &mut Fused {
    fused(&mut lowered.kernels)
}

fn phases(lowered: &mut Lowered) -> &mut Vec<Phase> {
    &mut fused(&mut lowered.kernels).phases
}

super::illegal! { lowered:
    rows_are_not_those_that_are_reduced: SUM, |l| insts(l).kept = 2 => "instruction 2: it is not what node 2 computes";
    a_value_outside_depends_on_the_place_in_the_row: SUM, |l| insts(l).insts[0].inner = false
        => "instruction 0 runs once per row and depends on the place in it";
    a_value_is_used_outside_of_its_loop: SUM, |l| insts(l).insts[3].inner = true
        => "instruction 3 uses 2 outside of the loop that defines it";
    a_result_is_stored_from_inside_the_loop: SUM, |l| insts(l).outputs[0].inst = 1
        => "Buffer(0) is stored from inside the reduction's loop";
    several_reductions_have_no_phases: TWO_SUMS, |l| phases(l).clear() => "several reductions without phases";
    a_value_per_row_comes_too_early: TWO_SUMS, |l| phases(l).swap(0, 1)
        => "phase 0: per row, instruction 1 is not there";
    phases_are_in_the_wrong_order: SOFTMAX, |l| phases(l).swap(0, 1)
        => "phase 0: instruction 2 needs 1, which is not there";
    what_is_reduced_is_missing: SOFTMAX, |l| phases(l)[0].insts.clear()
        => "phase 0: the reduced instruction 0 is not there";
    what_is_stored_is_missing: SOFTMAX, |l| phases(l)[2].insts.clear()
        => "phase 2: the stored instruction 5 is not there";
    a_value_per_element_is_computed_per_row: SOFTMAX, |l| phases(l)[0].before.push(0)
        => "phase 0: instruction 0 runs before it, not in it";
    a_result_per_row_is_not_computed: BESIDE, |l| phases(l)[0].reductions.clear()
        => "is stored once per row, but not computed so";
    a_reduction_is_fed_twice: SOFTMAX, |l| phases(l)[1].reductions.push(1) => "2 phases feed instruction 1";
    a_result_is_stored_by_no_phase: SOFTMAX, |l| phases(l)[2].outputs.clear() => "0 phases store Buffer(0)";
}
