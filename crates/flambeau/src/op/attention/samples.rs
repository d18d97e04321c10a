//! Samples of attention for the self-test: lengths and widths around those at which its kernels divide their work, and views.

use super::{applies, attend, scores};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::Tensor;
use crate::op::case::{Case, Input, flat_gradients};

fn case(name: String, inputs: Vec<Input>, causal: bool, view: fn(&Tensor) -> Result<Tensor>) -> Case {
    let body = move |x: &[Tensor]| {
        let (q, k, v) = (view(&x[0])?, view(&x[1])?, view(&x[2])?);
        // Other dtypes, as finite differences have them, take the definition.
        match applies(&q, &k, &v) {
            true => attend(&q, &k, &v, 0.3, causal),
            false => scores(&q, &k, 0.3, causal)?.try_softmax(-1)?.try_matmul(&v),
        }
    };
    let name = format!("attention {name}{}", if causal { " causal" } else { "" });
    Case::new("attention", name, inputs, body).within(2e-5, "sums of many products")
}

/// The gradients of queries, keys and values, one after the other.
fn backward_case(causal: bool) -> Case {
    let body = move |x: &[Tensor]| {
        flat_gradients(x, |x| attend(&x[0], &x[1], &x[2], 0.3, causal)?.try_square()?.try_sum(..))
    };
    let inputs = vec![floats([1, 2, 9, 6]), floats([1, 2, 17, 6]), floats([1, 2, 17, 3])];
    let name = format!("attention_backward{}", if causal { " causal" } else { "" });
    Case::new("attention_backward", name, inputs, body)
        .within(2e-5, "sums of many products")
        .without_gradient()
}

fn floats(shape: [usize; 4]) -> Input {
    Input::new(shape, DType::F32, (-1.5, 1.5))
}

pub(super) fn samples() -> Vec<Case> {
    let mut cases = Vec::new();
    for causal in [false, true] {
        cases.push(backward_case(causal));
        for [b, h, l, s, e, v] in [
            [1, 1, 1, 1, 1, 1],
            [2, 3, 2, 2, 2, 2],
            [2, 2, 9, 17, 6, 3],
            [1, 2, 17, 9, 3, 6],
            [2, 1, 70, 35, 33, 20],
            [1, 1, 140, 130, 64, 64],
            [1, 2, 20, 20, 128, 128],
            [1, 1, 40, 41, 100, 72],
        ] {
            let inputs = vec![floats([b, h, l, e]), floats([b, h, s, e]), floats([b, h, s, v])];
            let name = format!("{b}×{h}, {l} queries of {e}, {s} keys, values of {v}");
            cases.push(case(name, inputs, causal, |x| Ok(x.clone())));
        }
        let inputs = || vec![floats([2, 5, 3, 4]), floats([2, 5, 3, 4]), floats([2, 5, 3, 4])];
        cases.push(case("of heads inside".into(), inputs(), causal, |x| x.try_permute(&[0, 2, 1, 3])));
        cases.push(case("of three dimensions".into(), inputs(), causal, |x| x.try_select(0, 1)));
        cases.push(case("of a slice".into(), inputs(), causal, |x| x.try_narrow(1, 1, 3)?.try_flip(3)));
    }
    cases
}
