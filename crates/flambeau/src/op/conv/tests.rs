//! The shaders of convolutions, checked by naga, and how products are cut and chosen.

use super::{Conv, Direction, spatial};
use crate::dtype::DType;
use crate::ir::program::Program;
use crate::op::StructuredOp;
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
        check(dtype, &[64, 20, 301], &[24, 20, 5], &[64, 24, 150], 2, 1);
        check(dtype, &[8, 16, 13, 14, 15], &[24, 8, 3, 3, 3], &[8, 24, 5, 5, 5], 3, 2);
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

#[test]
fn strided_input_gradients_that_fill_the_gpu_go_by_phases() {
    let has_phases = |program: &Program| program.source.contains("phase_of");
    let strided = [64, 96].map(|images| {
        let shapes: [&[usize]; 3] = [&[images, 64, 55, 56], &[80, 32, 3, 3], &[images, 80, 28, 28]];
        let [forward, input, weight] = check(DType::F32, shapes[0], shapes[1], shapes[2], 2, 2);
        assert!(!has_phases(&forward[0]) && !has_phases(&weight[0]));
        assert!(has_phases(&input[0]) && input.len() == 1);
        assert_eq!(input[0].groups[2], 8, "four phases of two groups");
        input[0].source.clone()
    });
    assert_eq!(strided[0], strided[1], "the number of images is no part of the shader");
    let [_, input, _] = check(DType::F32, &[64, 64, 56, 56], &[80, 64, 3, 3], &[64, 80, 56, 56], 1, 1);
    assert!(!has_phases(&input[0]), "without a stride there is one phase");
    let [_, input, _] = check(DType::F32, &[2, 64, 8, 8], &[80, 64, 3, 3], &[2, 80, 4, 4], 2, 1);
    assert!(!has_phases(&input[0]), "few results");
    let [_, input, _] = check(DType::F32, &[64, 64, 54, 54], &[80, 64, 1, 1], &[64, 80, 28, 28], 2, 1);
    assert!(!has_phases(&input[0]), "most phases would be empty");
}
