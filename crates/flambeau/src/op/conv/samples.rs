//! Samples of convolutions for the self-test, in all directions.

use super::{Conv, Direction};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::Tensor;
use crate::op::case::{Case, Input, LONG_SUM, Layout};
use crate::shape::Shape;
use crate::tensor::{ConvOptions, ConvTransposeOptions, Padding};

pub(super) fn samples() -> Vec<Case> {
    let convolutions = small_convolutions().into_iter().chain(large_convolutions());
    convolutions.chain(transposed()).chain([weight_gradient(1), weight_gradient(2)]).collect()
}

fn case(name: String, inputs: Vec<Input>, body: impl Fn(&[Tensor]) -> Result<Tensor> + 'static) -> Case {
    Case::new("windows", name, inputs, body).within(1e-5, LONG_SUM)
}

fn two(
    stride: [usize; 2],
    padding: impl Into<Padding<2>>,
    dilation: [usize; 2],
    groups: usize,
) -> ConvOptions<2> {
    ConvOptions { stride, padding: padding.into(), dilation, groups }
}

fn conv2d(name: &str, x: Input, w: Input, options: ConvOptions<2>) -> Case {
    let name = format!("conv2d {name} {} by {}", x.shape, w.shape);
    case(name, vec![x, w], move |x| x[0].try_conv2d(&x[1], None, &options))
}

/// Every option, in sizes that finite differences can judge.
fn small_convolutions() -> Vec<Case> {
    let floats = |shape: &[usize]| Input::floats(shape);
    let plain = ConvOptions::<2>::default();
    let mut cases = vec![
        conv2d("plain", floats(&[1, 2, 4, 4]), floats(&[2, 2, 3, 3]), plain),
        conv2d("pointwise", floats(&[2, 3, 2, 3]), floats(&[2, 3, 1, 1]), plain),
        conv2d("strided pointwise", floats(&[2, 3, 3, 4]), floats(&[2, 3, 1, 1]), plain.with_stride([2, 3])),
        conv2d("strided", floats(&[2, 1, 5, 6]), floats(&[2, 1, 2, 3]), two([2, 3], [1, 2], [1, 1], 1)),
        conv2d("same", floats(&[1, 2, 3, 5]), floats(&[2, 2, 2, 4]), plain.with_padding([(0, 1), (1, 2)])),
        conv2d("dilated", floats(&[1, 1, 6, 7]), floats(&[2, 1, 3, 2]), two([1, 2], [2, 0], [2, 3], 1)),
        conv2d("grouped", floats(&[1, 4, 3, 4]), floats(&[6, 2, 2, 1]), two([1, 1], [1, 0], [1, 1], 2)),
        conv2d("depthwise", floats(&[2, 3, 3, 3]), floats(&[3, 1, 2, 2]), two([1, 1], [1, 1], [1, 1], 3)),
        conv2d("two each", floats(&[1, 3, 4, 4]), floats(&[6, 1, 2, 2]), two([2, 2], [1, 0], [2, 1], 3)),
    ];
    let same = ConvOptions { padding: Padding::Same, ..Default::default() };
    cases.push(case("conv1d same".into(), vec![floats(&[2, 2, 7]), floats(&[3, 2, 4])], move |x| {
        x[0].try_conv1d(&x[1], None, &same)
    }));
    let with_bias = vec![floats(&[2, 9]), floats(&[3, 2, 3]), floats(&[3])];
    cases.push(case("conv1d of a single image with bias".into(), with_bias, |x| {
        x[0].try_conv1d(&x[1], Some(&x[2]), &ConvOptions::default().with_stride(2))
    }));
    cases.push(case("conv3d".into(), vec![floats(&[1, 1, 3, 4, 3]), floats(&[2, 1, 2, 2, 3])], |x| {
        x[0].try_conv3d(&x[1], None, &ConvOptions::default().with_padding([(1, 0), (0, 1), (1, 1)]))
    }));
    cases.push(case(
        "conv3d grouped".into(),
        vec![floats(&[1, 2, 3, 2, 3]), floats(&[2, 1, 2, 2, 1])],
        |x| {
            let options =
                ConvOptions { stride: [2, 1, 1], padding: 1.into(), dilation: [1, 2, 1], groups: 2 };
            x[0].try_conv3d(&x[1], None, &options)
        },
    ));
    for layout in Layout::ALL.into_iter().skip(1) {
        let (x, w) = (floats(&[1, 1, 4, 4]).laid_out(layout), floats(&[1, 1, 2, 3]).laid_out(layout));
        cases.push(conv2d(&format!("{layout:?}"), x, w, plain));
    }
    for dtype in [DType::F16, DType::F64] {
        for groups in [1, 2] {
            let operand = |shape: &[usize]| Input::new(shape, dtype, (-1.0, 1.0));
            let (x, w) = (operand(&[2, 6, 5, 5]), operand(&[10, 6 / groups, 3, 3]));
            cases.push(conv2d(&format!("of {dtype}"), x, w, two([1, 1], [1, 1], [1, 1], groups)));
            let (x, w) = (operand(&[2, 2, 5, 5]), operand(&[2 * groups, 1, 3, 3]));
            cases.push(conv2d(&format!("depthwise of {dtype}"), x, w, two([1, 1], [1, 1], [1, 1], 2)));
        }
    }
    cases.push(conv2d("no images", floats(&[0, 2, 4, 4]), floats(&[8, 2, 3, 3]), plain));
    cases.push(conv2d("no images few rows", floats(&[0, 2, 4, 4]), floats(&[2, 2, 3, 3]), plain));
    let both = vec![floats(&[1, 2, 4, 4]), floats(&[2, 2, 3, 3])];
    cases.push(case("conv2d with work before and after".into(), both, |x| {
        x[0].try_sin()?.try_conv2d(&x[1].try_mul(0.5)?, None, &ConvOptions::default())?.try_tanh()
    }));
    cases
}

/// Around the edges of tiles, parts and blocks.
fn large_convolutions() -> Vec<Case> {
    // Of one sign: long sums would cancel otherwise, and leave what f32 has rounded.
    let positive = |shape: &[usize]| Input::new(shape, DType::F32, (0.25, 1.0));
    let shapes: [(&[usize], &[usize], ConvOptions<2>); 12] = [
        (&[1, 1, 10, 11], &[32, 1, 3, 3], two([1, 1], 0, [1, 1], 1)),
        (&[3, 5, 9, 8], &[33, 5, 3, 3], two([1, 1], 1, [1, 1], 1)),
        (&[2, 33, 7, 7], &[65, 33, 2, 2], two([1, 1], 0, [1, 1], 1)),
        (&[2, 64, 8, 8], &[64, 64, 3, 3], two([2, 2], 1, [1, 1], 1)),
        (&[1, 16, 40, 40], &[40, 16, 1, 1], two([1, 1], 0, [1, 1], 1)),
        (&[2, 20, 12, 12], &[40, 10, 3, 3], two([1, 2], [1, 0], [2, 1], 2)),
        (&[4, 40, 9, 9], &[40, 1, 3, 3], two([1, 1], 1, [1, 1], 40)),
        (&[2, 3, 30, 30], &[6, 3, 7, 7], two([2, 2], 3, [1, 1], 1)),
        (&[1, 140, 5, 5], &[3, 140, 3, 3], two([1, 1], 1, [1, 1], 1)),
        (&[1, 8, 60, 70], &[36, 8, 5, 5], two([1, 1], 2, [1, 1], 1)),
        (&[1, 130, 24, 24], &[130, 130, 1, 1], two([1, 1], 0, [1, 1], 1)),
        (&[1, 24, 63, 66], &[20, 24, 3, 3], two([2, 2], 1, [1, 1], 1)),
    ];
    shapes.into_iter().map(|(x, w, options)| conv2d("large", positive(x), positive(w), options)).collect()
}

fn transposed() -> Vec<Case> {
    let shapes: [(&[usize], &[usize], ConvTransposeOptions<2>); 6] = [
        (&[1, 2, 3, 3], &[2, 2, 2, 3], Default::default()),
        (
            &[2, 2, 2, 3],
            &[2, 1, 3, 3],
            ConvTransposeOptions {
                stride: [2, 3],
                padding: [1, 0],
                output_padding: [1, 2],
                ..Default::default()
            },
        ),
        (
            &[1, 4, 2, 3],
            &[4, 3, 2, 2],
            ConvTransposeOptions { groups: 2, dilation: [2, 1], ..Default::default() },
        ),
        (
            &[2, 3, 3, 2],
            &[3, 1, 2, 2],
            ConvTransposeOptions { groups: 3, stride: [2, 1], ..Default::default() },
        ),
        (
            &[2, 20, 7, 7],
            &[20, 34, 4, 4],
            ConvTransposeOptions { stride: [2, 2], padding: [1, 1], ..Default::default() },
        ),
        (&[1, 70, 6, 6], &[70, 12, 3, 3], Default::default()),
    ];
    let mut cases: Vec<Case> = shapes
        .into_iter()
        .map(|(x, w, options)| {
            // Large ones of one sign, as above.
            let range = if crate::shape::product(w) > 1000 { (0.25, 1.0) } else { (-1.0, 1.0) };
            let (x, w) = (Input::new(x, DType::F32, range), Input::new(w, DType::F32, range));
            let name = format!("conv_transpose2d {} by {}", x.shape, w.shape);
            case(name, vec![x, w], move |x| x[0].try_conv_transpose2d(&x[1], None, &options))
        })
        .collect();
    let inputs = vec![Input::floats([2, 2, 4]), Input::floats([2, 2, 3]), Input::floats([2])];
    cases.push(case("conv_transpose1d with bias".into(), inputs, |x| {
        x[0].try_conv_transpose1d(&x[1], Some(&x[2]), &ConvTransposeOptions::default().with_stride(2))
    }));
    let inputs = vec![Input::floats([1, 2, 2, 1, 2]), Input::floats([2, 1, 2, 2, 2])];
    cases.push(case("conv_transpose3d".into(), inputs, |x| {
        x[0].try_conv_transpose3d(&x[1], None, &ConvTransposeOptions::default().with_stride([1, 2, 2]))
    }));
    cases
}

/// The gradient of the weight, as an op of its own.
fn weight_gradient(groups: usize) -> Case {
    let conv = Conv {
        direction: Direction::Weight,
        stride: [1, 2, 1],
        padding: [0, 1, 0],
        dilation: [1, 1, 2],
        groups,
        result: [1; 3],
    };
    let inputs = vec![Input::floats([2, 2, 3, 5]), Input::floats([2, 2, 2, 3])];
    case(format!("conv_weight in {groups} groups"), inputs, move |x| {
        conv.apply(&x[0], &x[1], &Shape::new(&[2, 2 / groups, 2, 2]))
    })
}
