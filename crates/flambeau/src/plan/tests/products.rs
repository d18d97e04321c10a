//! Structured kernels and their epilogues.

use super::check;

#[test]
fn a_product() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        c = matmul a b
        → c
        ",
        "
        0 matmul i1[16 1], i0[4 1] → b0[8, 4]
        memory: b0 f32×32 result
        ",
    );
}

#[test]
fn a_product_takes_what_follows() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        c = matmul a b
        d = relu c
        → d
        ",
        "
        0 matmul i1[16 1], i0[4 1] then [32]: v0 = result[1]; v1 = relu v0; b0[1] = v1
        memory: b0 f32×32 result
        ",
    );
}

#[test]
fn a_bias_is_read_by_the_epilogue() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        v = f32 4
        c = matmul a b
        w = reshape(1 4) v
        u = expand(8 4) w
        d = add c u
        → d
        ",
        "
        0 matmul i2[16 1], i1[4 1] then [8 4]: v0 = result[4 1]; v1 = i0[0 1]; v2 = add v0 v1; b0[4 1] = v2
        memory: b0 f32×32 result
        ",
    );
}

#[test]
fn a_result_that_others_need_is_stored_beside() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        c = matmul a b
        d = relu c
        → c d
        ",
        "
        0 matmul i1[16 1], i0[4 1] then [32]: v0 = result[1]; v1 = relu v0; b1[1] = v1; b0[1] = v0
        memory: b0 f32×32 result, b1 f32×32 result
        results: b0, b1 of 4 nodes
        ",
    );
}

#[test]
fn a_permuted_reader_stays_apart() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        c = matmul a b
        t = permute(1 0) c
        d = relu t
        → d
        ",
        "
        0 matmul i1[16 1], i0[4 1] → b0[8, 4]
        1 fused [4 8]: v0 = b0[1 4]; v1 = relu v0; b1[8 1] = v1
        memory: b0 f32×32 slot 0, b1 f32×32 result
        ",
    );
}

#[test]
fn a_reduction_is_no_epilogue() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        c = matmul a b
        s = sum(1) c
        → s
        ",
        "
        0 matmul i1[16 1], i0[4 1] → b0[8, 4]
        1 fused [8 | 4]: v0 = b0[4 1]; v1 = sum v0; b1[1 0] = v1
        memory: b0 f32×32 slot 0, b1 f32×8 result
        ",
    );
}

#[test]
fn an_operand_is_computed_before() {
    check(
        "
        a = f32 8 16
        e = exp a
        b = f32 16 4
        c = matmul e b
        → c
        ",
        "
        0 fused [128]: v0 = i1[1]; v1 = exp v0; b0[1] = v1
        1 matmul b0[16 1], i0[4 1] → b1[8, 4]
        memory: b0 f32×128 slot 0, b1 f32×32 result
        ",
    );
}

#[test]
fn a_transposed_operand_is_read_as_it_lies() {
    check(
        "
        a = f32 8 16
        t = permute(1 0) a
        b = f32 8 4
        c = matmul t b
        → c
        ",
        "
        0 matmul i1[1 16], i0[4 1] → b0[16, 4]
        memory: b0 f32×64 result
        ",
    );
}

#[test]
fn a_norm_of_a_product_does_not_wait_for_itself() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        c = matmul a b
        m = sum_keepdim(0) c
        e = expand(8 4) m
        d = sub c e
        → d
        ",
        "
        0 matmul i1[16 1], i0[4 1] → b0[8, 4]
        1 fused [4 | 8] 2 phases: v0* = b0[1 4]; v1 = sum v0; v2* = sub v0 v1; b1[1 4]* = v2
        memory: b0 f32×32 slot 0, b1 f32×32 result
        ",
    );
}

#[test]
fn a_convolution_takes_what_follows() {
    check(
        "
        x = f32 2 3 8 8
        w = f32 4 3 3 3
        y = conv2d x w
        z = relu y
        → z
        ",
        "
        0 conv i1[192 64 8 1], i0[27 9 3 1] then [288]: v0 = result[1]; v1 = relu v0; b0[1] = v1
        memory: b0 f32×288 result
        ",
    );
}

#[test]
fn a_scan_takes_no_epilogue() {
    check(
        "
        x = f32 4 8
        y = cumsum(1) x
        z = exp y
        → z
        ",
        "
        0 cumsum i0[8 1] → b0[4, 8]
        1 fused [32]: v0 = b0[1]; v1 = exp v0; b1[1] = v1
        memory: b0 f32×32 slot 0, b1 f32×32 result
        ",
    );
}

#[test]
fn an_epilogue_does_not_wait_for_itself() {
    check(
        "
        a = f32 512 16
        b = f32 16 256
        c = matmul a b
        m = sum_keepdim(0) c
        e = expand(512 256) m
        d = sub c e
        → d
        ",
        "
        0 matmul i1[16 1], i0[256 1] → b0[512, 256]
        1 fused [256 | 512]: v0 = b0[1 256]; v1 = sum v0; b1[1 0] = v1
        2 fused [512 256]: v0 = b0[256 1]; v1 = b1[0 1]; v2 = sub v0 v1; b2[256 1] = v2
        memory: b0 f32×131072 slot 0, b1 f32×256 slot 1, b2 f32×131072 result
        ",
    );
}

#[test]
fn an_epilogue_binds_what_is_left() {
    check(
        "
        a = f32 8 16
        b = f32 16 4
        p = f32 8 4
        q = f32 8 4
        r = f32 8 4
        s = f32 8 4
        t = f32 8 4
        c = matmul a b
        d = add c p
        e = add d q
        f = add e r
        g = add f s
        h = add g t
        → h
        ",
        "
        0 matmul i6[16 1], i5[4 1] → b0[8, 4]
        1 fused [32]: v0 = b0[1]; v1 = i4[1]; v2 = add v0 v1; v3 = i3[1]; v4 = add v2 v3; v5 = i2[1]; v6 = add v4 v5; v7 = i1[1]; v8 = add v6 v7; v9 = i0[1]; v10 = add v8 v9; b1[1] = v10
        memory: b0 f32×32 slot 0, b1 f32×32 result
        ",
    );
}
