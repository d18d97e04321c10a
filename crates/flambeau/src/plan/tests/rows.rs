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
