//! Cases of reductions: every kind over every set of dimensions, in every layout, long and short rows.

use super::{Case, Input, Layout};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::ReduceKind;
use crate::shape::{Dims, Shape};
use crate::tensor::Tensor;

/// Every non-empty set of dimensions of a rank.
fn subsets(rank: usize) -> impl Iterator<Item = Vec<isize>> {
    (1..1u32 << rank)
        .map(move |mask| (0..rank).filter(|d| mask & (1 << d) != 0).map(|d| d as isize).collect())
}

fn over_one_dimension(kind: ReduceKind) -> bool {
    matches!(kind, ReduceKind::Prod | ReduceKind::ArgMax | ReduceKind::ArgMin)
}

fn case(kind: ReduceKind, what: String, input: Input, dims: Vec<isize>) -> Case {
    let name = format!("{} {} {what} over {dims:?}", kind.name(), input.dtype);
    let body = move |inputs: &[Tensor]| inputs[0].reduce_keepdim(kind, &Dims::from(dims.clone()));
    let case = Case::new("reduction", name, vec![input], body);
    if kind.is_index() { case.without_gradient() } else { case }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in ReduceKind::ALL {
        let usable = |dims: &Vec<isize>| dims.len() == 1 || !over_one_dimension(kind);
        for shape in [&[7][..], &[3, 4], &[2, 3, 4]] {
            for dims in subsets(shape.len()).filter(usable) {
                cases.push(case(kind, Shape::new(shape).to_string(), Input::floats(shape), dims));
            }
        }
        for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool && dtype != DType::F32) {
            cases.push(case(kind, "[3, 4]".into(), Input::new([3, 4], dtype, (-3.0, 3.0)), vec![1]));
        }
        for layout in Layout::ALL.into_iter().skip(1) {
            for dims in subsets(2).filter(usable) {
                let input = Input::floats([3, 5]).laid_out(layout);
                // Repeated values and the zeros of a pad are ties.
                let ties = matches!(layout, Layout::Embedded | Layout::Expanded);
                let case = case(kind, format!("{layout:?}").to_lowercase(), input, dims);
                let extreme = matches!(kind, ReduceKind::Max | ReduceKind::Min);
                cases.push(if ties && extreme { case.not_smooth() } else { case });
            }
        }
        cases.extend(long(kind).into_iter().map(|case| case.within(1e-5, "rows of hundreds of values")));
        cases.extend(special(kind));
    }
    cases.extend(composites());
    cases
}

/// Rows around the sizes at which kernels change their way of working.
fn long(kind: ReduceKind) -> Vec<Case> {
    let mut cases = Vec::new();
    // A product of hundreds of numbers stays in range only near 1.
    let range = if kind == ReduceKind::Prod { (0.95, 1.05) } else { (-2.0, 2.0) };
    for (shape, dims) in [
        ([2, 31], 1),
        ([2, 32], 1),
        ([3, 257], 1),
        ([1, 700], 1),
        ([257, 3], 0),
        ([33, 2], 0),
        ([1100, 40], 1),
        ([40, 1100], 0),
    ] {
        if kind == ReduceKind::Prod && shape[0] * shape[1] > 1000 {
            continue;
        }
        let what = Shape::from(shape).to_string();
        cases.push(case(kind, format!("long {what}"), Input::new(shape, DType::F32, range), vec![dims]));
    }
    if !over_one_dimension(kind) {
        cases.push(case(kind, "long [5, 2, 70]".into(), Input::floats([5, 2, 70]), vec![0, 2]));
        let transposed = Input::floats([6, 90]).laid_out(Layout::Transposed);
        cases.push(case(kind, "long transposed".into(), transposed, vec![1]));
    }
    let integers = Input::new([2, 300], DType::I32, (-1.0, 1.0));
    cases.push(case(kind, "long [2, 300]".into(), integers, vec![1]));
    cases
}

/// Ties, zeros, NaNs, infinities, and rows of no elements.
fn special(kind: ReduceKind) -> Vec<Case> {
    let given = |what: &str, values: &[f64]| {
        let input = Input::given([2, values.len() / 2], DType::F32, values);
        case(kind, what.into(), input, vec![1]).not_smooth()
    };
    let mut cases = vec![
        given("ties", &[1.0, 3.0, 3.0, -1.0, 2.0, 2.0, 2.0, 2.0]),
        given("zeros", &[0.0, 3.0, 0.0, -1.0, 2.0, 0.0, 4.0, 2.0]),
    ];
    let unusual = [1.0, f64::NAN, 3.0, f64::INFINITY, f64::NEG_INFINITY, 0.0];
    let forward_only = |inputs: &[Tensor]| Ok(inputs[0].detach());
    let input = Input::given([2, 3], DType::F32, &unusual);
    let name = format!("{} of NaN and infinities", kind.name());
    let body = move |inputs: &[Tensor]| forward_only(inputs)?.reduce_keepdim(kind, &Dims::from(1));
    cases.push(Case::new("reduction", name, vec![input], body).without_gradient());
    cases.push(case(kind, "no rows [0, 3]".into(), Input::floats([0, 3]), vec![1]));
    if kind.has_identity() {
        cases.push(case(kind, "empty rows [3, 0]".into(), Input::floats([3, 0]), vec![1]));
    }
    cases
}

/// Reductions with work before and after them, as fused kernels have it.
fn composites() -> Vec<Case> {
    type Composite = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let composites: [Composite; 8] = [
        ("mean", |x| x.try_mean([0, 1])),
        ("softmax", |x| {
            let e = x.try_sub(&x.reduce_keepdim(ReduceKind::Max, &Dims::from(1))?)?.try_exp()?;
            e.try_div(&e.try_sum_keepdim(1)?)
        }),
        ("largest of a computed value", |x| x.try_exp()?.try_mul(x)?.try_amax(1)),
        ("variance", |x| {
            let centred = x.try_sub(&x.try_mean_keepdim(1)?)?;
            centred.try_mul(&centred)?.try_mean(1)
        }),
        ("two sums of one row", |x| x.try_sum(1)?.try_mul(&x.try_mul(x)?.try_sum(1)?)),
        ("a sum of a sum", |x| x.try_sum(0)?.try_tanh()?.try_sum(0)),
        ("a sum beside what it sums", |x| x.try_mul(&x.try_sin()?.try_sum(..)?)),
        ("sums over rows and columns", |x| {
            x.try_sum_keepdim(0)?.try_mul(&x.try_sum_keepdim(1)?)?.try_add(&x.try_cos()?)
        }),
    ];
    let mut cases = Vec::new();
    for (name, body) in composites {
        for shape in [[3, 4], [2, 150]] {
            let body = move |inputs: &[Tensor]| body(&inputs[0]);
            let case = Case::new("reduction", format!("{name} {shape:?}"), vec![Input::floats(shape)], body);
            cases.push(case.within(1e-5, "several reductions in a row"));
        }
    }
    cases
}
