//! Cases of kernels with several reductions over the same rows: what softmax, normalisation and losses become, in the
//! sizes at which such kernels change their way of working.

use super::{Case, Input, Layout};
use crate::dtype::DType;
use crate::error::Result;
use crate::shape::Shape;
use crate::tensor::Tensor;

type Body = fn(&[Tensor], isize) -> Result<Tensor>;

/// What is done to x, and how many parameters shaped as a row it takes.
const BODIES: [(&str, usize, Body); 6] = [
    ("softmax", 0, |x, dim| x[0].try_softmax(dim)),
    ("log_softmax", 0, |x, dim| x[0].try_log_softmax(dim)),
    ("normalised by hand", 0, |x, dim| {
        let centred = x[0].try_sub(&x[0].try_mean_keepdim(dim)?)?;
        let variance = centred.try_mul(&centred)?.try_mean_keepdim(dim)?;
        centred.try_div(&variance.try_add(1e-2)?.try_sqrt()?)
    }),
    ("log of a sum of exponentials", 0, |x, dim| {
        let largest = x[0].try_amax_keepdim(dim)?;
        x[0].try_sub(&largest)?.try_exp()?.try_sum_keepdim(dim)?.try_log()?.try_add(&largest)
    }),
    ("two sums and what they scale", 0, |x, dim| {
        let (sum, squares) = (x[0].try_sum_keepdim(dim)?, x[0].try_square()?.try_sum_keepdim(dim)?);
        let scaled = x[0].try_mul(&squares.try_add(1.0)?.try_rsqrt()?)?;
        // A hundredth, because the sine of a long sum would show the order in which it was added up.
        scaled.try_add(&sum.try_mul(0.01)?)?.try_sin()
    }),
    ("weighted", 1, |x, dim| {
        let weighted = x[0].try_mul(&x[1])?;
        x[0].try_sub(&weighted.try_mean_keepdim(dim)?)?.try_mul(&x[1])
    }),
];

fn case(body: usize, what: String, input: Input, dim: usize) -> Case {
    let (name, parameters, body) = BODIES[body];
    let row: Shape = (0..input.shape.rank()).map(|d| if d == dim { input.shape[d] } else { 1 }).collect();
    let mut inputs = vec![input];
    inputs.extend((0..parameters).map(|_| Input::new(row.clone(), DType::F32, (0.5, 1.5))));
    let case = Case::new("rows", format!("{name} {what}"), inputs, move |x: &[Tensor]| body(x, dim as isize));
    case.within(2e-5, "several reductions of long rows").not_smooth()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for length in [1, 3, 10, 33, 63, 64, 65, 255, 1000, 5000] {
        for body in [0, 2] {
            cases.push(case(body, format!("of rows of {length}"), Input::floats([3, length]), 1));
        }
    }
    for body in 0..BODIES.len() {
        for (shape, dim) in [
            (vec![2, 68], 1),
            (vec![2, 1100], 1),
            (vec![3, 9000], 1),
            (vec![70, 3], 0),
            (vec![3, 5, 4], 1),
            (vec![2, 40, 7], 1),
            (vec![9], 0),
        ] {
            let what = format!("{} over {dim}", Shape::new(&shape));
            cases.push(case(body, what, Input::floats(shape), dim));
        }
        for layout in Layout::ALL.into_iter().skip(1) {
            let what = format!("{layout:?}").to_lowercase();
            cases.push(case(body, what, Input::floats([4, 36]).laid_out(layout), 1));
        }
    }
    cases.extend(special());
    cases
}

/// Masks, values of which every reader wants another part, and shapes that change on the way.
fn special() -> Vec<Case> {
    let mut masked = vec![f64::NEG_INFINITY; 3 * 40];
    masked.iter_mut().enumerate().filter(|(k, _)| k % 40 <= k / 40).for_each(|(k, x)| *x = k as f64 / 7.0);
    let mask = Input::given([3, 40], DType::F32, &masked);
    let two = vec![Input::floats([3, 40]), mask];
    let given = |name: &str, inputs: Vec<Input>, body: fn(&[Tensor]) -> Result<Tensor>| {
        Case::new("rows", name, inputs, body).within(2e-5, "several reductions of long rows").not_smooth()
    };
    let half = vec![Input::new([3, 40], DType::F16, (-2.0, 2.0))];
    vec![
        given("masked softmax", two, |x| x[0].try_add(x[1].detach())?.try_softmax(1)),
        given("softmax in f16", half, |x| x[0].try_softmax(1)),
        given("rows regrouped", vec![Input::floats([2, 6, 5])], |x| {
            let groups = x[0].try_reshape([2, 2, 15])?;
            let centred = groups.try_sub(&groups.try_mean_keepdim(2)?)?;
            let spread = centred.try_square()?.try_mean_keepdim(2)?;
            let scaled = centred.try_mul(&spread.try_add(1e-2)?.try_rsqrt()?)?;
            scaled.try_reshape([2, 6, 5])?.try_mul(&x[0])
        }),
        given("rows and columns", vec![Input::floats([6, 40])], |x| {
            x[0].try_softmax(1)?.try_add(&x[0].try_softmax(0)?)
        }),
        given("a row's positions", vec![Input::floats([3, 70])], |x| {
            let best = x[0].try_argmax_keepdim(1)?;
            let here = x[0].iota_of(x[0].shape(), 1)?.try_eq(&best)?;
            here.try_where_cond(&x[0], &x[0].try_sub(&x[0].try_mean_keepdim(1)?)?)
        }),
        given("picked from a row", vec![Input::floats([5, 70])], |x| {
            let best = x[0].try_argmax_keepdim(1)?;
            x[0].try_log_softmax(1)?.try_gather(1, &best)
        }),
        given("channels", vec![Input::floats([3, 4, 6, 5])], |x| {
            let mean = x[0].try_mean_keepdim([0, 2, 3])?;
            let variance = x[0].try_sub(&mean)?.try_square()?.try_mean_keepdim([0, 2, 3])?;
            x[0].try_sub(&mean)?.try_mul(&variance.try_add(1e-2)?.try_rsqrt()?)
        }),
    ]
}
