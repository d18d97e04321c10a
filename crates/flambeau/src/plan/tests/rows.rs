//! Reductions: what they take in, and kernels of several phases.

use super::check;

#[test]
fn a_reduction_takes_what_it_reduces() {
    check(
        "
        x = f32 3 4
        a = exp x
        b = sum(1) a
        → b
        ",
        "
        0 fused [3 | 4]: v0 = i0[4 1]; v1 = exp v0; v2 = sum v1; b0[1 0] = v2
        memory: b0 f32×3 result
        ",
    );
}

#[test]
fn a_sum_over_rows_reads_across() {
    check(
        "
        x = f32 3 4
        b = sum(0) x
        → b
        ",
        "
        0 fused [4 | 3]: v0 = i0[1 4]; v1 = sum v0; b0[1 0] = v1
        memory: b0 f32×4 result
        ",
    );
}

#[test]
fn what_follows_a_reduction_joins_it() {
    check(
        "
        x = f32 3 4
        b = sum(1) x
        c = exp b
        → c
        ",
        "
        0 fused [3 | 4]: v0 = i0[4 1]; v1 = sum v0; v2 = exp v1; b0[1 0] = v2
        memory: b0 f32×3 result
        ",
    );
}

#[test]
fn a_position_is_an_integer() {
    check(
        "
        x = f32 3 4
        b = argmax(1) x
        → b
        ",
        "
        0 fused [3 | 4]: v0 = i0[4 1]; v1 = argmax v0; b0[1 0] = v1
        memory: b0 i32×3 result
        ",
    );
}

#[test]
fn two_dimensions_apart() {
    check(
        "
        x = f32 3 4 5
        b = sum(0 2) x
        → b
        ",
        "
        0 fused [4 | 3 5]: v0 = i0[5 20 1]; v1 = sum v0; b0[1 0 0] = v1
        memory: b0 f32×4 result
        ",
    );
}

#[test]
fn a_result_per_element_beside_a_sum() {
    check(
        "
        x = f32 8 16
        a = exp x
        b = sum(1) a
        → a b
        ",
        "
        0 fused [8 | 16] 2 phases: v0* = i0[16 1]; v1* = exp v0; v2 = sum v1; b1[1 0] = v2; b0[16 1]* = v1
        memory: b0 f32×128 result, b1 f32×8 result
        results: b0, b1 of 4 nodes
        ",
    );
}

#[test]
fn a_sum_of_sums_is_two_kernels() {
    check(
        "
        x = f32 8 16
        b = sum(1) x
        c = sum(0) b
        → c
        ",
        "
        0 fused [8 | 16]: v0 = i0[16 1]; v1 = sum v0; b0[1 0] = v1
        1 fused [ | 8]: v0 = b0[1]; v1 = sum v0; b1[0] = v1
        memory: b0 f32×8 slot 0, b1 f32×1 result
        ",
    );
}

#[test]
fn softmax_is_three_phases() {
    check(
        "
        x = f32 8 16
        y = softmax(1) x
        → y
        ",
        "
        0 fused [8 | 16] 3 phases: v0* = i0[16 1]; v1 = amax v0; v2* = sub v0 v1; v3* = exp v2; v4 = sum v3; v5* = div v3 v4; b0[16 1]* = v5
        memory: b0 f32×128 result
        ",
    );
}

#[test]
fn a_largest_taken_from_its_row() {
    check(
        "
        x = f32 8 16
        m = amax_keepdim(1) x
        e = expand(8 16) m
        d = sub x e
        → d
        ",
        "
        0 fused [8 | 16] 2 phases: v0* = i0[16 1]; v1 = amax v0; v2* = sub v0 v1; b0[16 1]* = v2
        memory: b0 f32×128 result
        ",
    );
}

#[test]
fn a_variance_is_three_phases() {
    check(
        "
        x = f32 8 16
        m = sum_keepdim(1) x
        e = expand(8 16) m
        d = sub x e
        q = mul d d
        v = sum(1) q
        → v
        ",
        "
        0 fused [8 | 16] 3 phases: v0* = i0[16 1]; v1 = sum v0; v2* = sub v0 v1; v3* = mul v2 v2; v4 = sum v3; b0[1 0] = v4
        memory: b0 f32×8 result
        ",
    );
}

#[test]
fn rows_across_memory() {
    check(
        "
        x = f32 8 16
        m = sum_keepdim(0) x
        e = expand(8 16) m
        d = sub x e
        → d
        ",
        "
        0 fused [16 | 8] 2 phases: v0* = i0[1 16]; v1 = sum v0; v2* = sub v0 v1; b0[1 16]* = v2
        memory: b0 f32×128 result
        ",
    );
}

#[test]
fn few_long_rows_stay_apart() {
    check(
        "
        x = f32 2 100000
        m = sum_keepdim(1) x
        e = expand(2 100000) m
        d = sub x e
        → d
        ",
        "
        0 fused [2 | 100000]: v0 = i0[100000 1]; v1 = sum v0; b0[1 0] = v1
        1 fused [2 100000]: v0 = i0[100000 1]; v1 = b0[1 0]; v2 = sub v0 v1; b1[100000 1] = v2
        memory: b0 f32×2 slot 0, b1 f32×200000 result
        ",
    );
}

#[test]
fn two_reductions_of_one_row() {
    check(
        "
        x = f32 8 16
        s = sum(1) x
        m = amax(1) x
        t = add s m
        → t
        ",
        "
        0 fused [8 | 16] 2 phases: v0* = i0[16 1]; v1 = sum v0; v2 = amax v0; v3 = add v1 v2; b0[1 0] = v3
        memory: b0 f32×8 result
        ",
    );
}

#[test]
fn sums_of_rows_and_of_columns_stay_apart() {
    check(
        "
        x = f32 8 16
        s = sum(1) x
        m = sum(0) x
        → s m
        ",
        "
        0 fused [8 | 16]: v0 = i0[16 1]; v1 = sum v0; b0[1 0] = v1
        1 fused [16 | 8]: v0 = i0[1 16]; v1 = sum v0; b1[1 0] = v1
        memory: b0 f32×8 result, b1 f32×16 result
        results: b0, b1 of 5 nodes
        ",
    );
}

#[test]
fn a_value_used_inside_and_after_a_reduction() {
    check(
        "
        x = f32 8 16
        r = f32 8 1
        y = exp r
        e = expand(8 16) y
        p = mul x e
        s = sum_keepdim(1) p
        t = add s y
        → t
        ",
        "
        0 fused [8 | 16] 2 phases: v0* = i1[16 1]; v1 = i0[1 0]; v2 = exp v1; v3* = mul v0 v2; v4 = sum v3; v5 = add v4 v2; b0[1 0] = v5
        memory: b0 f32×8 result
        ",
    );
}

#[test]
fn what_columns_are_normalised_with_ends_their_statistics() {
    check(
        "
        x = f32 16 2 1024
        w = f32 1 2 1
        old = f32 1 2 1
        n = f32 1
        s = sum_keepdim(0 2) x
        m = mul s 3
        c = sub x m
        q = mul c c
        v1 = sum_keepdim(0 2) q
        v = mul v1 3
        new = add old v
        r = rsqrt v
        k = mul r w
        y1 = mul c k
        y = exp y1
        z1 = mul y r
        z = sum_keepdim(0 2) z1
        count = add n 1
        again = add n 2
        → y z new count again
        ",
        "
        0 fused [2 | 16 1024]: v0 = i1[1024 2048 1]; v1 = sum v0; v2 = d1; v3 = mul v1 v2; b0[1 0 0] = v3
        1 fused [2 | 16 1024]: v0 = i2[1 0 0]; v1 = i1[1024 2048 1]; v2 = b0[1 0 0]; v3 = sub v1 v2; v4 = mul v3 v3; v5 = sum v4; v6 = d0; v7 = mul v5 v6; v8 = add v0 v7; v9 = rsqrt v7; v10 = i0[1 0 0]; v11 = mul v9 v10; b5[1 0 0] = v8; b2[1 0 0] = v11; b1[1 0 0] = v9
        2 fused [16 2 1024]: v0 = i1[2048 1024 1]; v1 = b0[0 1 0]; v2 = sub v0 v1; v3 = b2[0 1 0]; v4 = mul v2 v3; v5 = exp v4; b3[2048 1024 1] = v5
        3 fused [2 | 16 1024]: v0 = b3[1024 2048 1]; v1 = b1[1 0 0]; v2 = mul v0 v1; v3 = sum v2; b4[1 0 0] = v3
        4 fused []: v0 = i3[]; v1 = d3; v2 = add v0 v1; v3 = d2; v4 = add v0 v3; b7[] = v2; b6[] = v4
        memory: b0 f32×2 slot 0, b1 f32×2 slot 2, b2 f32×2 slot 1, b3 f32×32768 result, b4 f32×2 result, b5 f32×2 result, b6 f32×1 result, b7 f32×1 result
        results: b3, b4, b5, b6, b7 of 26 nodes
        ",
    );
}
