//! What joins one kernel, and how views are read.

use super::check;

#[test]
fn a_chain_is_one_kernel() {
    check(
        "
        x = f32 3 4
        a = exp x
        b = mul a 2
        c = add b x
        → c
        ",
        "
        0 fused [12]: v0 = i0[1]; v1 = exp v0; v2 = d0; v3 = mul v1 v2; v4 = add v3 v0; b0[1] = v4
        memory: b0 f32×12 result
        ",
    );
}

#[test]
fn two_results_of_one_chain() {
    check(
        "
        x = f32 8
        a = exp x
        b = neg a
        → a b
        ",
        "
        0 fused [8]: v0 = i0[1]; v1 = exp v0; v2 = neg v1; b1[1] = v2; b0[1] = v1
        memory: b0 f32×8 result, b1 f32×8 result
        results: b0, b1 of 3 nodes
        ",
    );
}

#[test]
fn a_value_used_twice_is_computed_once() {
    check(
        "
        x = f32 100000
        a = exp x
        b = sin a
        c = cos a
        d = add b c
        → d
        ",
        "
        0 fused [100000]: v0 = i0[1]; v1 = exp v0; v2 = sin v1; v3 = cos v1; v4 = add v2 v3; b0[1] = v4
        memory: b0 f32×100000 result
        ",
    );
}

#[test]
fn a_permutation_is_read_through() {
    check(
        "
        x = f32 3 4
        a = permute(1 0) x
        b = exp a
        → b
        ",
        "
        0 fused [4 3]: v0 = i0[1 4]; v1 = exp v0; b0[3 1] = v1
        memory: b0 f32×12 result
        ",
    );
}

#[test]
fn a_reshape_across_strides_takes_two_levels() {
    check(
        "
        x = f32 6 4
        a = reshape(2 3 4) x
        b = permute(1 0 2) a
        c = reshape(3 8) b
        d = neg c
        → d
        ",
        "
        0 fused [24]: v0 = i0[1]@[4 12 1]; v1 = neg v0; b0[1] = v1
        memory: b0 f32×24 result
        ",
    );
}

#[test]
fn a_broadcast_has_stride_zero() {
    check(
        "
        x = f32 4
        a = reshape(1 4) x
        b = expand(3 4) a
        y = f32 3 4
        c = add b y
        → c
        ",
        "
        0 fused [3 4]: v0 = i1[0 1]; v1 = i0[4 1]; v2 = add v0 v1; b0[4 1] = v2
        memory: b0 f32×12 result
        ",
    );
}

#[test]
fn a_slice_starts_at_a_number_of_the_run() {
    check(
        "
        x = f32 10
        a = narrow(0 2 5) x
        b = exp a
        → b
        ",
        "
        0 fused [5]: v0 = i0[1]+d0; v1 = exp v0; b0[1] = v1
        memory: b0 f32×5 result
        ",
    );
}

#[test]
fn a_flip_goes_backwards() {
    check(
        "
        x = f32 10
        a = flip(0) x
        b = neg a
        → b
        ",
        "
        0 fused [10]: v0 = i0[-1]+d0; v1 = neg v0; b0[1] = v1
        memory: b0 f32×10 result
        ",
    );
}

#[test]
fn a_pad_has_elements_in_the_middle_only() {
    check(
        "
        x = f32 4
        a = pad(0 7 2) x
        b = exp a
        → b
        ",
        "
        0 fused [7]: v0 = i0[1{+d0/1:4}]; v1 = exp v0; b0[1] = v1
        memory: b0 f32×7 result
        ",
    );
}

#[test]
fn a_gather_joins_its_users() {
    check(
        "
        x = f32 5 4
        i = i32 3
        a = index_select(0) x i
        b = exp a
        → b
        ",
        "
        0 fused [3 4]: v0 = i0[1 0]; v1 = i1[0 1]+v0·4; v2 = exp v1; b0[4 1] = v2
        memory: b0 f32×12 result
        ",
    );
}

#[test]
fn a_cast_is_an_instruction() {
    check(
        "
        x = f32 3 4
        a = cast x
        → a
        ",
        "
        0 fused [12]: v0 = i0[1]; v1 = i32 v0; b0[1] = v1
        memory: b0 i32×12 result
        ",
    );
}

#[test]
fn what_is_there_takes_no_plan() {
    check(
        "
        x = f32 3 4
        → x
        ",
        "",
    );
}

#[test]
fn a_reshape_of_an_input_is_the_input() {
    check(
        "
        x = f32 3 4
        a = reshape(12) x
        → a
        ",
        "
        results: i0 of 2 nodes
        ",
    );
}

#[test]
fn a_reshaped_result_shares_its_memory() {
    check(
        "
        x = f32 3 4
        a = exp x
        b = reshape(12) a
        → b
        ",
        "
        0 fused [12]: v0 = i0[1]; v1 = exp v0; b0[1] = v1
        memory: b0 f32×12 result
        ",
    );
}

#[test]
fn other_shapes_are_other_kernels() {
    check(
        "
        x = f32 8
        a = exp x
        y = f32 5
        b = exp y
        → a b
        ",
        "
        0 fused [8]: v0 = i0[1]; v1 = exp v0; b0[1] = v1
        1 fused [5]: v0 = i1[1]; v1 = exp v0; b1[1] = v1
        memory: b0 f32×8 result, b1 f32×5 result
        results: b0, b1 of 4 nodes
        ",
    );
}
