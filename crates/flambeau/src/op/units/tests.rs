//! The texts of products and convolutions on matrix units, as wgpu spells them: naga must accept them, in both tiers.

use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::{Precision, UnitKind, WhyNot};
use crate::op::StructuredOp;
use crate::op::conv::{Conv, Direction};
use crate::op::matmul::MatMul;
use crate::op::testing::{Spec, call, validate_tier};
use std::sync::Arc;

/// Checks a call on matrix units at both precisions; how many shaders it has.
fn shaders(op: StructuredOp, inputs: &[Spec], output: Spec) -> usize {
    let plain = call(op, inputs, &[output]);
    let counts = [Precision::Highest, Precision::High].map(|precision| {
        let on_units = StructuredCall {
            units: Some(UnitKind::Cooperative { always: false }),
            precision,
            ..plain.clone()
        };
        let programs = validate_tier(&on_units);
        let uses_units = |source: &str| source.contains("coopMultiplyAdd");
        assert_eq!(programs.iter().filter(|program| uses_units(&program.source)).count(), 1, "{plain:?}");
        assert_eq!(on_units.op.on_units(&on_units), Some(Ok(())), "{plain:?}");
        programs.len()
    });
    assert_eq!(counts[0], counts[1]);
    counts[0]
}

#[test]
fn products_are_spelled_as_wgpu_wants_them() {
    let matmul = || StructuredOp::MatMul(MatMul);
    let product = |m: usize, n: usize, k: usize, dtype: DType| {
        shaders(matmul(), &[(&[m, k], dtype), (&[k, n], dtype)], (&[m, n], dtype))
    };
    // Packing, which finds exponents on the way, and the product; of long sums both in parts, and exponents by themselves; f16 needs
    // none, and is read where it lies if its sizes are multiples of 32.
    assert_eq!(product(2048, 2048, 2048, DType::F32), 2);
    assert_eq!(product(2047, 2049, 2001, DType::F32), 2);
    assert_eq!(product(4096, 4096, 4096, DType::F32), 3);
    assert_eq!(product(768, 768, 16_384, DType::F32), 5);
    assert_eq!(product(1024, 1024, 1024, DType::F16), 1);
    assert_eq!(product(1023, 1024, 1025, DType::F16), 2);
}

#[test]
fn convolutions_are_spelled_as_wgpu_wants_them() {
    let conv = |direction, result| {
        StructuredOp::Conv(Arc::new(Conv {
            direction,
            stride: [1; 3],
            padding: [0, 1, 1],
            dilation: [1; 3],
            groups: 1,
            result,
        }))
    };
    let (x, w, y): (Spec, Spec, Spec) =
        ((&[64, 128, 16, 17], DType::F32), (&[256, 128, 3, 3], DType::F32), (&[64, 256, 16, 17], DType::F32));
    // Exponents in parts, packing and the product, whose sums may be made in parts.
    assert_eq!(shaders(conv(Direction::Forward, [1, 16, 17]), &[x, w], y), 4);
    assert_eq!(shaders(conv(Direction::Input, [1, 16, 17]), &[y, w], x), 4);
    assert_eq!(shaders(conv(Direction::Weight, [1, 3, 3]), &[x, y], w), 5);
}

/// What is said of a call is what its shaders do.
#[test]
fn why_a_product_does_not_run_on_matrix_units() {
    let why = |op: StructuredOp, inputs: &[Spec], output: Spec, always: bool, precision: Precision| {
        let units = Some(UnitKind::Cooperative { always });
        let call = StructuredCall { units, precision, ..call(op, inputs, &[output]) };
        let programs = call.op.wgsl(&call).unwrap();
        assert!(programs.iter().all(|program| !program.source.contains("coopMultiplyAdd")), "{call:?}");
        call.op.on_units(&call)
    };
    let product = |m: usize, n: usize, k: usize, dtype: DType, always: bool, precision: Precision| {
        let inputs: [Spec; 2] = [(&[m, k], dtype), (&[k, n], dtype)];
        why(StructuredOp::MatMul(MatMul), &inputs, (&[m, n], dtype), always, precision)
    };
    let highest = Precision::Highest;
    assert_eq!(product(20, 2048, 2048, DType::F32, true, highest), Some(Err(WhyNot::Small)));
    assert_eq!(product(8, 8, 8, DType::F32, true, highest), Some(Err(WhyNot::Small)));
    assert_eq!(product(200, 200, 200, DType::F32, false, highest), Some(Err(WhyNot::Slower)));
    assert_eq!(product(200, 200, 200, DType::F32, false, Precision::High), Some(Err(WhyNot::Slower)));
    assert_eq!(product(40_000, 40_000, 10_000, DType::F32, true, highest), Some(Err(WhyNot::Packed)));
    let vector = product(2048, 1, 2048, DType::F32, true, highest);
    assert_eq!(vector, Some(Err(WhyNot::Kind("a matrix and a vector"))));
    assert_eq!(product(64, 64, 64, DType::I32, true, highest), None);
    let conv = StructuredOp::Conv(Arc::new(Conv {
        direction: Direction::Input,
        stride: [1, 2, 2],
        padding: [0, 1, 1],
        dilation: [1, 2, 2],
        groups: 1,
        result: [1, 16, 16],
    }));
    let (x, w, y): (Spec, Spec, Spec) =
        ((&[2, 64, 16, 16], DType::F32), (&[64, 64, 3, 3], DType::F32), (&[2, 64, 7, 7], DType::F32));
    let both = Some(Err(WhyNot::Kind("a stride with a dilation, backwards")));
    assert_eq!(why(conv, &[y, w], x, true, highest), both);
    let square: Spec = (&[64, 64], DType::F32);
    let plain = call(StructuredOp::MatMul(MatMul), &[square; 2], &[square]);
    assert_eq!(plain.op.on_units(&plain), Some(Err(WhyNot::None)));
}
