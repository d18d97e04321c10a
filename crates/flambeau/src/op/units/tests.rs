//! The texts of products and convolutions on matrix units, as wgpu spells them: naga must accept them, in both tiers.

use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::{Precision, UnitKind};
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
