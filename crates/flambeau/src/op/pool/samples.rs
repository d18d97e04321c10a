//! Samples of pooling for the self-test, and of its adjoints.

use super::{Divisor, Pool, PoolKind, Window};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::Tensor;
use crate::op::case::{Case, Input, LONG_SUM, Layout};
use crate::tensor::{AvgPoolOptions, MaxPoolOptions, Spatial};

pub(super) fn samples() -> Vec<Case> {
    pools().into_iter().chain(adjoints()).collect()
}

fn case(name: String, inputs: Vec<Input>, body: impl Fn(&[Tensor]) -> Result<Tensor> + 'static) -> Case {
    Case::new("windows", name, inputs, body).within(1e-5, LONG_SUM)
}

fn pools() -> Vec<Case> {
    type Body = Box<dyn Fn(&Tensor) -> Result<Tensor>>;
    let max = |kernel: [usize; 2], options: MaxPoolOptions<2>| -> Body {
        Box::new(move |x| x.try_max_pool2d(kernel, &options))
    };
    let mean = |kernel: [usize; 2], options: AvgPoolOptions<2>| -> Body {
        Box::new(move |x| x.try_avg_pool2d(kernel, &options))
    };
    let (plain_max, plain_mean) = (MaxPoolOptions::default(), AvgPoolOptions::default());
    let padded = plain_mean.with_padding(1).with_stride([2, 1]).with_ceil_mode(true);
    let bodies: Vec<(&str, &[usize], Body)> = vec![
        ("max plain", &[2, 1, 4, 5], max([2, 2], plain_max)),
        ("max overlapping", &[1, 2, 5, 6], max([3, 2], plain_max.with_stride([2, 1]))),
        ("max one apart", &[1, 2, 5, 6], max([3, 3], plain_max.with_stride(1).with_padding(1))),
        (
            "max ceil",
            &[1, 2, 6, 5],
            max([3, 2], plain_max.with_stride([2, 3]).with_padding([1, 0]).with_ceil_mode(true)),
        ),
        ("max dilated", &[1, 1, 7, 8], max([2, 3], plain_max.with_stride([1, 2]).with_dilation([3, 2]))),
        ("max large", &[3, 5, 20, 21], max([3, 3], plain_max.with_stride(2).with_padding(1))),
        ("mean plain", &[2, 1, 4, 5], mean([2, 2], plain_mean)),
        ("mean padded", &[1, 2, 5, 6], mean([3, 2], padded)),
        ("mean present", &[1, 2, 5, 6], mean([3, 2], padded.with_count_include_pad(false))),
        ("mean divided", &[1, 2, 5, 6], mean([3, 2], padded.with_divisor_override(5))),
        (
            "max 1d",
            &[2, 2, 9],
            Box::new(move |x| x.try_max_pool1d(3, &MaxPoolOptions::default().with_stride(2))),
        ),
        ("mean 1d", &[2, 9], Box::new(|x| x.try_avg_pool1d(4, &AvgPoolOptions::default().with_padding(2)))),
        (
            "max 3d",
            &[1, 1, 4, 3, 5],
            Box::new(|x| x.try_max_pool3d([2, 2, 3], &MaxPoolOptions::default().with_stride(1))),
        ),
        (
            "mean 3d",
            &[1, 1, 4, 3, 5],
            Box::new(|x| x.try_avg_pool3d([2, 2, 3], &AvgPoolOptions::default().with_stride(1))),
        ),
        ("max adaptive", &[1, 2, 5, 7], Box::new(|x| x.try_adaptive_max_pool2d([3, 2]))),
        ("mean adaptive", &[1, 2, 5, 7], Box::new(|x| x.try_adaptive_avg_pool2d([3, 2]))),
        ("mean adaptive more", &[2, 3], Box::new(|x| x.try_adaptive_avg_pool1d(5))),
        ("max adaptive uniform", &[1, 2, 6, 6], Box::new(|x| x.try_adaptive_max_pool2d(3))),
        ("mean adaptive uniform", &[1, 2, 6, 4], Box::new(|x| x.try_adaptive_avg_pool2d([3, 4]))),
        ("max global", &[2, 3, 3, 4], Box::new(|x| x.try_adaptive_max_pool2d(1))),
        ("mean global", &[2, 3, 3, 4], Box::new(|x| x.try_adaptive_avg_pool2d(1))),
        ("max no images", &[0, 3, 4, 4], max([2, 2], plain_max)),
        ("mean no images", &[0, 3, 4, 4], mean([2, 2], plain_mean)),
    ];
    let mut cases: Vec<Case> = bodies
        .into_iter()
        .map(|(name, shape, body)| {
            let name = format!("pool {name} {shape:?}");
            case(name, vec![Input::floats(shape)], move |x| body(&x[0]))
        })
        .collect();
    for dtype in [DType::F16, DType::F64] {
        let input = || vec![Input::new([2, 3, 5, 6], dtype, (-2.0, 2.0))];
        cases.push(case(format!("pool max of {dtype}"), input(), |x| {
            x[0].try_max_pool2d(2, &MaxPoolOptions::default().with_stride(1))
        }));
        cases.push(case(format!("pool mean of {dtype}"), input(), |x| {
            x[0].try_avg_pool2d(2, &AvgPoolOptions::default().with_stride(1))
        }));
    }
    for layout in Layout::ALL.into_iter().skip(1) {
        let input = || vec![Input::floats([1, 1, 4, 6]).laid_out(layout)];
        // Repeated values and the zeros of a pad are ties.
        let mut largest = case(format!("pool max {layout:?}"), input(), |x| {
            x[0].try_max_pool2d(Spatial([2, 3]), &MaxPoolOptions::default())
        });
        largest.smooth = !matches!(layout, Layout::Expanded | Layout::Embedded);
        cases.push(largest);
        cases.push(case(format!("pool mean {layout:?}"), input(), |x| {
            x[0].try_avg_pool2d(2, &AvgPoolOptions::default())
        }));
    }
    let indices = vec![Input::floats([2, 3, 5, 6])];
    cases.push(case("pool positions of maxima".into(), indices, |x| {
        Ok(x[0].try_max_pool2d_with_indices(3, &MaxPoolOptions::default().with_padding(1))?.1)
    }));
    cases
}

/// The ops that come from derivatives, as ops of their own.
fn adjoints() -> [Case; 2] {
    let window = Window::Sliding { kernel: 2, stride: 1, padding: 0, dilation: 1 };
    let pool = move |kind| Pool {
        kind,
        windows: [Window::FORMAL, window, window],
        input: [1, 3, 4],
        output: [1, 2, 3],
        rank: 2,
    };
    let mean = PoolKind::MeanBackward(Divisor::Present);
    let places = Input::given([1, 2, 3], DType::I32, &[5.0, 5.0, 3.0, 9.0, 5.0, 11.0]);
    [
        case("avg_pool_backward".into(), vec![Input::floats([2, 2, 3])], move |x| pool(mean).apply(mean, x)),
        case("max_pool_backward".into(), vec![Input::floats([1, 2, 3]), places], move |x| {
            pool(PoolKind::MaxBackward).apply(PoolKind::MaxBackward, x)
        }),
    ]
}
