//! What is stored and what is computed again; packing; slots.

use super::check;

#[test]
fn a_cheap_value_is_computed_where_it_is_reduced() {
    check(
        "
        x = f32 1000
        a = mul x 2
        b = sum(0) a
        → b
        ",
        "
        0 fused [ | 1000]: v0 = i0[1]; v1 = d0; v2 = mul v0 v1; v3 = sum v2; b0[0] = v3
        memory: b0 f32×1 result
        ",
    );
}

#[test]
fn a_cheap_value_is_computed_again() {
    check(
        "
        x = f32 64 64
        a = mul x 2
        b = sum(0) a
        c = sum(1) a
        → b c
        ",
        "
        0 fused [64 | 64]: v0 = i0[1 64]; v1 = d0; v2 = mul v0 v1; v3 = sum v2; b0[1 0] = v3
        1 fused [64 | 64]: v0 = i0[64 1]; v1 = d0; v2 = mul v0 v1; v3 = sum v2; b1[1 0] = v3
        memory: b0 f32×64 result, b1 f32×64 result
        results: b0, b1 of 7 nodes
        ",
    );
}

#[test]
fn a_dear_value_is_stored() {
    check(
        "
        x = f32 64 64
        a = exp x
        b = sum(0) a
        c = sum(1) a
        → b c
        ",
        "
        0 fused [64 | 64] 2 phases: v0* = i0[64 1]; v1* = exp v0; v2 = sum v1; b2[1 0] = v2; b0[64 1]* = v1
        1 fused [64 | 64]: v0 = b0[1 64]; v1 = sum v0; b1[1 0] = v1
        memory: b0 f32×4096 slot 0, b1 f32×64 result, b2 f32×64 result
        results: b1, b2 of 6 nodes
        ",
    );
}

#[test]
fn a_broadcast_is_never_stored() {
    check(
        "
        x = f32 64
        a = reshape(1 64) x
        e = expand(32 64) a
        y = f32 32 64
        b = add e y
        c = mul e y
        d = sum(0) b
        f = sum(1) c
        → d f
        ",
        "
        0 fused [64 | 32]: v0 = i1[1 0]; v1 = i0[1 64]; v2 = add v0 v1; v3 = sum v2; b0[1 0] = v3
        1 fused [32 | 64]: v0 = i1[0 1]; v1 = i0[64 1]; v2 = mul v0 v1; v3 = sum v2; b1[1 0] = v3
        memory: b0 f32×64 result, b1 f32×32 result
        results: b0, b1 of 10 nodes
        ",
    );
}

#[test]
fn values_are_written_where_they_are_packed() {
    check(
        "
        x = f32 64
        y = f32 10
        a = exp x
        b = neg y
        c = pack(74 0 64) a b
        → c
        ",
        "
        0 fused [10]: v0 = i0[1]; v1 = neg v0; b0[1] = v1
        1 fused [64]: v0 = i1[1]; v1 = exp v0; b1[1] = v1
        memory: b0 f32×10 in b2 from 64, b1 f32×64 in b2 from 0, b2 f32×74 result
        ",
    );
}

#[test]
fn inputs_are_copied_into_their_places() {
    check(
        "
        x = f32 64
        y = f32 10
        c = pack(74 0 64) x y
        → c
        ",
        "
        0 pack i1[1], i0[1] → b0[74]
        memory: b0 f32×74 result
        ",
    );
}

#[test]
fn a_pack_in_the_middle_keeps_its_memory() {
    check(
        "
        x = f32 70
        y = f32 10
        a = exp x
        b = neg y
        c = pack(138 0 128) a b
        d = mul c 2
        → d
        ",
        "
        0 fused [10]: v0 = i0[1]; v1 = neg v0; b0[1] = v1
        1 fused [70]: v0 = i1[1]; v1 = exp v0; b1[1] = v1
        2 fused [138]: v0 = b2[1]; v1 = d0; v2 = mul v0 v1; b3[1] = v2
        memory: b0 f32×10 in b2 from 128, b1 f32×70 in b2 from 0, b2 f32×138 slot 0, b3 f32×138 result
        ",
    );
}

#[test]
fn places_that_cannot_be_bound_are_copied() {
    check(
        "
        x = f32 10
        y = f32 10
        a = exp x
        b = neg y
        c = pack(20 0 10) a b
        → c
        ",
        "
        0 fused [10]: v0 = i0[1]; v1 = neg v0; b0[1] = v1
        1 fused [10]: v0 = i1[1]; v1 = exp v0; b1[1] = v1
        2 pack b0[1] → b2[20]
        memory: b0 f32×10 slot 0, b1 f32×10 in b2 from 0, b2 f32×20 result
        ",
    );
}

#[test]
fn temporaries_take_turns() {
    check(
        "
        x = f32 64 64
        a = matmul x x
        b = matmul a x
        c = matmul b x
        d = matmul c x
        → d
        ",
        "
        0 matmul i0[64 1], i0[64 1] → b0[64, 64]
        1 matmul b0[64 1], i0[64 1] → b1[64, 64]
        2 matmul b1[64 1], i0[64 1] → b2[64, 64]
        3 matmul b2[64 1], i0[64 1] → b3[64, 64]
        memory: b0 f32×4096 slot 0, b1 f32×4096 slot 1, b2 f32×4096 slot 0, b3 f32×4096 result
        ",
    );
}

#[test]
fn a_value_lives_until_its_last_reader() {
    check(
        "
        x = f32 64 64
        a = matmul x x
        b = matmul a x
        c = add a b
        → c
        ",
        "
        0 matmul i0[64 1], i0[64 1] → b0[64, 64]
        1 matmul b0[64 1], i0[64 1] then [4096]: v0 = b0[1]; v1 = result[1]; v2 = add v0 v1; b1[1] = v2
        memory: b0 f32×4096 slot 0, b1 f32×4096 result
        ",
    );
}

#[test]
fn sizes_that_differ_share_no_slot() {
    check(
        "
        x = f32 64 64
        y = f32 8 8
        a = matmul x x
        b = matmul y y
        c = sum(0 1) a
        d = sum(0 1) b
        e = add c d
        → e
        ",
        "
        0 matmul i0[8 1], i0[8 1] → b0[8, 8]
        1 fused [ | 64]: v0 = b0[1]; v1 = sum v0; b1[0] = v1
        2 matmul i1[64 1], i1[64 1] → b2[64, 64]
        3 fused [ | 4096]: v0 = b2[1]; v1 = sum v0; v2 = b1[0]; v3 = add v1 v2; b3[0] = v3
        memory: b0 f32×64 slot 0, b1 f32×1 slot 1, b2 f32×4096 slot 2, b3 f32×1 result
        ",
    );
}

#[test]
fn results_outlive_the_run() {
    check(
        "
        x = f32 64 64
        a = matmul x x
        b = matmul a x
        → a b
        ",
        "
        0 matmul i0[64 1], i0[64 1] → b0[64, 64]
        1 matmul b0[64 1], i0[64 1] → b1[64, 64]
        memory: b0 f32×4096 result, b1 f32×4096 result
        results: b0, b1 of 3 nodes
        ",
    );
}

#[test]
fn nothing_is_row_invariant_a_plan() {
    check(
        "
        x = f32 0 4
        a = exp x
        → a
        ",
        "
        0 fused [0]: v0 = i0[1]; v1 = exp v0; b0[1] = v1
        memory: b0 f32×0 result
        ",
    );
}

#[test]
fn a_cheap_value_of_two_inputs_is_computed_again() {
    check(
        "
        x = f32 64 64
        y = f32 1 64
        e = expand(64 64) y
        a = add x e
        b = sum(0) a
        c = sum(1) a
        → b c
        ",
        "
        0 fused [64 | 64]: v0 = i1[1 64]; v1 = i0[1 0]; v2 = add v0 v1; v3 = sum v2; b0[1 0] = v3
        1 fused [64 | 64]: v0 = i1[64 1]; v1 = i0[0 1]; v2 = add v0 v1; v3 = sum v2; b1[1 0] = v3
        memory: b0 f32×64 result, b1 f32×64 result
        results: b0, b1 of 8 nodes
        ",
    );
}

#[test]
fn a_value_that_its_neighbour_reads_is_copied() {
    check(
        "
        x = f32 64
        a = cumsum(0) x
        b = cumsum(0) a
        c = pack(128 0 64) b a
        → c
        ",
        "
        0 cumsum i0[1] → b0[64]
        1 cumsum b0[1] → b1[64]
        2 pack b0[1] → b2[128]
        memory: b0 f32×64 slot 0, b1 f32×64 in b2 from 0, b2 f32×128 result
        ",
    );
}

#[test]
fn a_value_that_is_packed_twice_is_copied() {
    check(
        "
        x = f32 64
        a = exp x
        c = pack(128 0 64) a a
        → c
        ",
        "
        0 fused [64]: v0 = i0[1]; v1 = exp v0; b0[1] = v1
        1 pack b0[1], b0[1] → b1[128]
        memory: b0 f32×64 slot 0, b1 f32×128 result
        ",
    );
}

#[test]
fn a_part_that_is_a_result_keeps_the_whole() {
    check(
        "
        x = f32 64
        y = f32 64
        a = exp x
        b = neg y
        c = pack(128 0 64) a b
        d = cumsum(0) c
        → a d
        ",
        "
        0 fused [64]: v0 = i0[1]; v1 = exp v0; b0[1] = v1
        1 fused [64]: v0 = i1[1]; v1 = neg v0; b1[1] = v1
        2 cumsum b2[1] → b3[128]
        memory: b0 f32×64 in b2 from 0, b1 f32×64 in b2 from 64, b2 f32×128 result, b3 f32×128 result
        results: b0, b3 of 6 nodes
        ",
    );
}

#[test]
fn a_whole_lives_as_long_as_its_parts() {
    check(
        "
        x = f32 64
        y = f32 64
        a = cumsum(0) x
        b = cumsum(0) y
        c = pack(128 0 64) a b
        d = cumsum(0) c
        e = cumsum(0) d
        f = cumsum(0) e
        g = narrow(0 0 64) f
        h = add a g
        → h
        ",
        "
        0 cumsum i0[1] → b0[64]
        1 cumsum i1[1] → b1[64]
        2 cumsum b2[1] → b3[128]
        3 cumsum b3[1] → b4[128]
        4 cumsum b4[1] → b5[128]
        5 fused [64]: v0 = b1[1]; v1 = b5[1]+d0; v2 = add v0 v1; b6[1] = v2
        memory: b0 f32×64 in b2 from 64, b1 f32×64 in b2 from 0, b2 f32×128 slot 0, b3 f32×128 slot 1, b4 f32×128 slot 2, b5 f32×128 slot 1, b6 f32×64 result
        ",
    );
}
