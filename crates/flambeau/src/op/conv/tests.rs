//! The shaders of convolutions, checked by naga, and how products are cut.

use super::{Conv, Direction, spatial};
use crate::dtype::DType;
use crate::op::StructuredOp;
use crate::op::structured::Program;
use crate::op::testing::{call, validate};
use std::sync::Arc;

/// The programs of all directions for x, w and y of these shapes, checked by naga.
fn check(
    dtype: DType,
    x: &[usize],
    w: &[usize],
    y: &[usize],
    stride: usize,
    groups: usize,
) -> [Vec<Program>; 3] {
    let three = |number: usize, neutral: usize| {
        std::array::from_fn(|d| if d < 5 - x.len() { neutral } else { number })
    };
    let cases = [(Direction::Forward, x, w, y), (Direction::Input, y, w, x), (Direction::Weight, x, y, w)];
    cases.map(|(direction, a, b, result)| {
        let op = Conv {
            direction,
            stride: three(stride, 1),
            padding: three(1, 0),
            dilation: three(1, 1),
            groups,
            result: spatial(result),
        };
        validate(&call(StructuredOp::Conv(Arc::new(op)), &[(a, dtype), (b, dtype)], &[(result, dtype)]))
    })
}

#[test]
fn shaders_are_valid() {
    for dtype in [DType::F16, DType::F32] {
        check(dtype, &[2, 3, 9], &[8, 3, 3], &[2, 8, 9], 1, 1);
        check(dtype, &[2, 3, 9, 9], &[8, 3, 3, 3], &[2, 8, 5, 5], 2, 1);
        check(dtype, &[2, 6, 9, 9], &[6, 1, 3, 3], &[2, 6, 9, 9], 1, 6);
        check(dtype, &[64, 24, 21, 21], &[70, 24, 3, 3], &[64, 70, 21, 21], 1, 1);
        check(dtype, &[64, 32, 42, 42], &[72, 16, 3, 3], &[64, 72, 21, 21], 2, 2);
        check(dtype, &[64, 40, 21, 21], &[40, 1, 3, 3], &[64, 40, 21, 21], 1, 40);
        check(dtype, &[2, 6, 5, 5, 5], &[12, 3, 3, 3, 3], &[2, 12, 5, 5, 5], 1, 2);
    }
}

#[test]
fn large_products_take_large_tiles_and_few_results_are_cut_in_parts() {
    let shapes = (&[64, 128, 56, 56], &[128, 128, 3, 3]);
    let [forward, input, weight] = check(DType::F32, shapes.0, shapes.1, &[64, 128, 56, 56], 1, 1);
    assert!(forward[0].source.contains("c7_1") && input[0].source.contains("c7_1"));
    assert_eq!((forward.len(), input.len(), weight.len()), (1, 1, 2));
    // 200,704 positions, shared by workgroups.
    assert!(weight[0].scratch[0] > 0);
    let batches = [128, 192].map(|images| {
        let [forward, ..] =
            check(DType::F32, &[images, 32, 13, 13], &[64, 32, 3, 3], &[images, 64, 13, 13], 1, 1);
        forward[0].source.clone()
    });
    assert_eq!(batches[0], batches[1], "the number of images is no part of the shader");
}
