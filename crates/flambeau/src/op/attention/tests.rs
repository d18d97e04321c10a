//! Shaders of all forms of attention, and what stands in them.

use super::*;
use crate::ir::UnitKind;
use crate::op::testing::{call, validate, validate_tier};

/// The shaders of both directions for operands (B, 4, L, E), (B, G, S, E), (B, G, S, V) and a mask.
fn programs(
    op: Attention,
    sizes: [usize; 5],
    dtype: DType,
    mask: Option<([usize; 4], DType)>,
) -> Vec<Program> {
    calls(op, sizes, dtype, mask).iter().flat_map(validate).collect()
}

fn calls(
    op: Attention,
    [g, l, s, e, v]: [usize; 5],
    dtype: DType,
    mask: Option<([usize; 4], DType)>,
) -> [StructuredCall; 2] {
    let (b, h) = (2, 4);
    let operands: [(&[usize], DType); 6] = [
        (&[b, h, l, e], dtype),
        (&[b, g, s, e], dtype),
        (&[b, g, s, v], dtype),
        (&[b, l, h, v], dtype),
        (&[b, l, h, 2], DType::F32),
        (&[b, l, h], DType::F32),
    ];
    let sizes = Sizes::new(&Shape::new(operands[0].0), &Shape::new(operands[2].0));
    [Direction::Forward, Direction::Backward].map(|direction| {
        let op = Attention { direction, ..op };
        let mut inputs = operands[..op.operands()].to_vec();
        inputs.extend(mask.iter().map(|(shape, dtype)| (&shape[..], *dtype)));
        let results = op.outputs(&sizes, dtype);
        let outputs: Vec<_> = results.iter().map(|meta| (meta.shape.dims(), meta.dtype)).collect();
        call(StructuredOp::Attention(op), &inputs, &outputs)
    })
}

fn plain(causal: bool) -> Attention {
    Attention { causal, masked: false, dropout: false, direction: Direction::Forward }
}

/// Whole and part of a vector, of a block and of a slab; every mask with and without the rest.
#[test]
fn shaders_are_valid() {
    let whole = [4, 256, 256, 64, 64];
    let none: Option<([usize; 4], DType)> = None;
    let (f32, f16) = (DType::F32, DType::F16);
    for (sizes, dtype, mask, causal, dropout) in [
        (whole, f32, none, false, false),
        (whole, f32, none, true, true),
        (whole, f16, Some(([2, 1, 1, 256], DType::Bool)), true, true),
        ([4, 33, 70, 5, 7], f32, none, true, false),
        ([4, 33, 70, 5, 7], f16, Some(([1, 4, 33, 70], f32)), false, false),
        ([2, 1, 40, 128, 100], f32, Some(([1, 1, 1, 40], f16)), false, true),
        ([2, 1, 40, 128, 100], f16, none, true, false),
        ([1, 64, 1, 4, 128], f32, Some(([2, 4, 64, 1], DType::Bool)), true, true),
        ([4, 40, 33, 300, 129], f16, Some(([1, 1, 40, 1], f16)), true, true),
        ([2, 9, 70, 256, 512], f32, none, false, true),
    ] {
        let op = Attention { masked: mask.is_some(), dropout, ..plain(causal) };
        let programs = programs(op, sizes, dtype, mask);
        assert_eq!(programs.len(), 3);
        assert!(programs.iter().all(|program| program.bindings.len() <= 8));
    }
}

/// What is asked for is in the text, and only that.
#[test]
fn shaders_have_what_they_need() {
    let text = |masked: bool, dropout: bool, heads: usize, width: usize| -> String {
        let op = Attention { masked, dropout, ..plain(true) };
        let mask = masked.then_some(([2, 1, 1, 48], DType::Bool));
        let programs = programs(op, [heads, 48, 48, width, width], DType::F32, mask);
        programs.iter().map(|program| &*program.source).collect()
    };
    let simple = text(false, false, 4, 64);
    for (name, other) in [
        ("mask", text(true, false, 4, 64)),
        ("fl_threefry", text(false, true, 4, 64)),
        ("key_head", text(false, false, 2, 64)),
        ("slab", text(false, false, 4, 256)),
    ] {
        assert!(!simple.contains(name) && other.contains(name), "{name}");
        assert!(simple.len() < other.len(), "{name}");
    }
}

/// One text serves all lengths, batches, heads, strides and random numbers.
#[test]
fn lengths_share_their_shaders() {
    let text = |sizes: [usize; 5], mask: [usize; 4]| -> Vec<_> {
        let op = Attention { masked: true, dropout: true, ..plain(true) };
        let programs = programs(op, sizes, DType::F32, Some((mask, DType::Bool)));
        programs.into_iter().map(|program| program.source).collect()
    };
    let first = text([4, 48, 48, 64, 64], [2, 1, 1, 48]);
    assert_eq!(first, text([4, 33, 1000, 64, 64], [1, 4, 1, 1000]));
    assert_ne!(first, text([4, 48, 48, 64, 64], [2, 1, 48, 48]));
}

/// F16 is multiplied on matrix units where rows are short enough; naga must accept how they are spelled and played.
#[test]
fn halves_go_to_matrix_units() {
    let on_units = |sizes: [usize; 5], dtype: DType, units: UnitKind, workgroup_memory: u32| -> usize {
        let op = Attention { masked: true, dropout: true, ..plain(true) };
        let mask = Some(([2, 1, 1, sizes[2]], DType::Bool));
        let calls = calls(op, sizes, dtype, mask);
        let calls = calls.map(|call| StructuredCall { units: Some(units), workgroup_memory, ..call });
        let programs = calls.iter().flat_map(validate_tier);
        programs.filter(|program| program.source.contains("coopMultiplyAdd(")).count()
    };
    let (real, enough) = (UnitKind::Cooperative { always: false }, 32 << 10);
    assert_eq!(on_units([4, 70, 100, 64, 64], DType::F16, real, enough), 3);
    assert_eq!(on_units([2, 70, 100, 40, 20], DType::F16, real, enough), 3);
    assert_eq!(on_units([2, 70, 100, 40, 20], DType::F16, UnitKind::Played, enough), 0);
    // Plain kernels: of f32, of wide rows, and where workgroups have little memory.
    assert_eq!(on_units([4, 70, 100, 64, 64], DType::F32, real, enough), 0);
    assert_eq!(on_units([4, 70, 100, 80, 64], DType::F16, real, enough), 0);
    assert_eq!(on_units([4, 70, 100, 64, 64], DType::F16, real, 16 << 10), 0);
}
