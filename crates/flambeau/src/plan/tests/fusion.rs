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
fn windows_that_overlap_do_not_repeat_what_takes_long() {
    check(
        "
        x = f32 100
        a = exp x
        b = sin a
        c = add b x
        d = unfold(0 10 5) c
        e = neg d
        → e
        ",
        "
        0 fused [100]: v0 = i0[1]; v1 = exp v0; v2 = sin v1; v3 = add v2 v0; b0[1] = v3
        1 fused [19 10]: v0 = b0[5 1]; v1 = neg v0; b1[10 1] = v1
        memory: b0 f32×100 slot 0, b1 f32×190 result
        ",
    );
}

#[test]
fn an_op_or_two_are_repeated_in_windows_that_overlap() {
    check(
        "
        x = f32 100
        a = exp x
        b = unfold(0 10 5) a
        c = neg b
        → c
        ",
        "
        0 fused [19 10]: v0 = i0[5 1]; v1 = exp v0; v2 = neg v1; b0[10 1] = v2
        memory: b0 f32×190 result
        ",
    );
}

#[test]
fn windows_side_by_side_are_read_through() {
    check(
        "
        x = f32 100
        a = exp x
        b = sin a
        c = add b x
        d = unfold(0 10 10) c
        e = neg d
        → e
        ",
        "
        0 fused [100]: v0 = i0[1]; v1 = exp v0; v2 = sin v1; v3 = add v2 v0; v4 = neg v3; b0[1] = v4
        memory: b0 f32×100 result
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

#[test]
fn a_kernel_binds_seven_buffers() {
    check(
        "
        a = f32 8
        b = f32 8
        c = f32 8
        d = f32 8
        e = f32 8
        f = f32 8
        g = f32 8
        h = f32 8
        x = add a b
        x0 = add x c
        x1 = add x0 d
        x2 = add x1 e
        x3 = add x2 f
        x4 = add x3 g
        x5 = add x4 h
        → x5
        ",
        "
        0 fused [8]: v0 = i7[1]; v1 = i6[1]; v2 = add v0 v1; v3 = i5[1]; v4 = add v2 v3; b0[1] = v4
        1 fused [8]: v0 = b0[1]; v1 = i4[1]; v2 = add v0 v1; v3 = i3[1]; v4 = add v2 v3; v5 = i2[1]; v6 = add v4 v5; v7 = i1[1]; v8 = add v6 v7; v9 = i0[1]; v10 = add v8 v9; b1[1] = v10
        memory: b0 f32×8 slot 0, b1 f32×8 result
        ",
    );
}

#[test]
fn what_hoped_to_bind_fewer_buffers_is_done_again() {
    check(
        "
        x = f32 8
        y = f32 8
        p1 = f32 8
        p2 = f32 8
        p3 = f32 8
        p4 = f32 8
        q1 = f32 8
        q2 = f32 8
        q3 = f32 8
        q4 = f32 8
        m1 = mul x y
        m2 = add x y
        r = add m1 m2
        a1 = add x p1
        a2 = add a1 p2
        a3 = add a2 p3
        a4 = add a3 p4
        a = add a4 r
        b = sin r
        c1 = add m1 q1
        c2 = add c1 q2
        c3 = add c2 q3
        c4 = add c3 q4
        c = add c4 m2
        → a b c
        ",
        "
        0 fused [8]: v0 = i1[1]; v1 = i0[1]; v2 = mul v0 v1; v3 = add v0 v1; v4 = add v2 v3; v5 = sin v4; b4[1] = v5; b2[1] = v4; b1[1] = v2; b0[1] = v3
        1 fused [8]: v0 = i1[1]; v1 = i5[1]; v2 = add v0 v1; v3 = i4[1]; v4 = add v2 v3; v5 = i3[1]; v6 = add v4 v5; v7 = i2[1]; v8 = add v6 v7; v9 = b2[1]; v10 = add v8 v9; b3[1] = v10
        2 fused [8]: v0 = b1[1]; v1 = i9[1]; v2 = add v0 v1; v3 = i8[1]; v4 = add v2 v3; v5 = i7[1]; v6 = add v4 v5; v7 = i6[1]; v8 = add v6 v7; v9 = b0[1]; v10 = add v8 v9; b5[1] = v10
        memory: b0 f32×8 slot 2, b1 f32×8 slot 1, b2 f32×8 slot 0, b3 f32×8 result, b4 f32×8 result, b5 f32×8 result
        results: b3, b4, b5 of 24 nodes
        ",
    );
}

#[test]
fn a_permuted_result_is_stored() {
    check(
        "
        x = f32 3 4
        a = exp x
        b = permute(1 0) a
        → b
        ",
        "
        0 fused [4 3]: v0 = i0[1 4]; v1 = exp v0; b0[3 1] = v1
        memory: b0 f32×12 result
        ",
    );
}
