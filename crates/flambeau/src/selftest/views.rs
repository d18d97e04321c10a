//! Cases of views, chains of views, casts and sources.

use super::{Case, Input, Layout};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// A named chain of views.
type Chain = (&'static str, &'static [usize], fn(&Tensor) -> Result<Tensor>);

const CHAINS: &[Chain] = &[
    ("reshape", &[3, 4], |x| x.try_reshape([2, 6])),
    ("reshape to a scalar", &[1, 1], |x| x.try_reshape(())),
    ("reshape without elements", &[3, 0], |x| x.try_reshape([0, 2, 5])),
    ("reshape of a transposed matrix", &[3, 4], |x| x.try_transpose(0, 1)?.try_reshape([2, 6])),
    ("permute", &[2, 3, 4], |x| x.try_permute(&[2, 0, 1])),
    ("permute of a permuted one", &[2, 3, 4], |x| x.try_permute(&[2, 0, 1])?.try_permute(&[1, 0, 2])),
    ("expand", &[3, 1], |x| x.try_expand([2, 3, 4])),
    ("expand, then reshape", &[3, 1], |x| x.try_expand([3, 4])?.try_reshape([2, 6])),
    ("slice", &[5, 4], |x| x.slice_strided(0, 1, 1, 3)),
    ("slice with a step", &[7, 3], |x| x.slice_strided(0, 1, 3, 2)),
    ("slice backwards with a step", &[7, 3], |x| x.slice_strided(0, 6, -3, 3)),
    ("slice of a slice", &[9, 2], |x| x.slice_strided(0, 1, 2, 4)?.slice_strided(0, 1, 2, 2)),
    ("slice to nothing", &[4, 2], |x| x.try_narrow(0, 2, 0)),
    ("flip", &[2, 3], |x| x.try_flip(..)),
    ("pad", &[2, 3], |x| x.embed(1, 6, 2, 1)),
    ("pad with a step", &[2, 3], |x| x.embed(1, 9, 1, 3)),
    ("pad both dimensions", &[2, 3], |x| x.embed(1, 5, 1, 1)?.embed(0, 5, 1, 2)),
    ("pad of a pad", &[2, 2], |x| x.embed(1, 5, 1, 2)?.embed(1, 8, 2, 1)),
    ("pad, then reshape", &[2, 3], |x| x.embed(1, 4, 1, 1)?.try_reshape([4, 2])),
    ("pad, then expand", &[1, 3], |x| x.embed(0, 1, 0, 1)?.embed(1, 5, 1, 1)?.try_expand([3, 5])),
    ("pad, then slice with a step", &[2, 5], |x| x.embed(1, 9, 2, 1)?.slice_strided(1, 0, 2, 5)),
    ("pad, then flip", &[2, 3], |x| x.embed(1, 6, 1, 2)?.try_flip(..)),
    ("pad of nothing", &[2, 0], |x| x.embed(1, 3, 0, 1)),
    ("unfold", &[6], |x| x.try_unfold(0, 3, 1)),
    ("unfold with a step", &[2, 7], |x| x.try_unfold(1, 3, 2)),
    ("unfold of a transposed matrix", &[5, 2], |x| x.try_transpose(0, 1)?.try_unfold(1, 2, 2)),
    ("unfold of a pad", &[2, 4], |x| x.embed(1, 6, 1, 1)?.try_unfold(1, 3, 1)),
    ("unfold of both dimensions", &[4, 5], |x| x.try_unfold(0, 2, 1)?.try_unfold(1, 3, 2)),
    ("unfold, then sum", &[2, 6], |x| x.try_unfold(1, 3, 1)?.try_sum(-1)),
    ("squeeze and unsqueeze", &[2, 1, 3], |x| x.try_squeeze(1)?.try_unsqueeze(-1)),
    ("select", &[3, 4], |x| x.try_select(1, -1)),
    ("a view used twice", &[3, 3], |x| x.try_mul(&x.try_transpose(0, 1)?)),
    ("pads put side by side", &[2, 3], |x| x.embed(1, 6, 0, 1)?.try_add(&x.try_flip(1)?.embed(1, 6, 3, 1)?)),
    ("pad of a sum", &[3, 3], |x| x.try_sum_keepdim(1)?.embed(1, 3, 1, 1)?.try_add(x)),
    ("pad of a computed value", &[2, 3], |x| x.try_exp()?.embed(1, 5, 1, 1)?.try_mul(3.0)),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(name, shape, view) in CHAINS {
        for dtype in [DType::F32, DType::I32] {
            let input = Input::new(shape, dtype, (-2.0, 2.0));
            let body = move |inputs: &[Tensor]| view(&inputs[0]);
            cases.push(Case::new("view", format!("{name} {dtype}"), vec![input], body));
        }
    }
    for layout in Layout::ALL {
        let input = Input::floats([3, 3]).laid_out(layout);
        let body = |inputs: &[Tensor]| inputs[0].try_transpose(0, 1)?.try_reshape([9]);
        cases.push(Case::new("view", format!("reshape of {layout:?}"), vec![input], body));
    }
    cases.extend(casts());
    cases.extend(sources());
    cases
}

/// Every dtype to every other; floats to integers at values between integers.
fn casts() -> Vec<Case> {
    let mut cases = Vec::new();
    for from in DType::ALL {
        for to in DType::ALL.into_iter().filter(|&to| to != from) {
            let low = if matches!(to, DType::U8 | DType::U32) { 0.1 } else { -4.4 };
            let body = move |inputs: &[Tensor]| inputs[0].try_to_dtype(to);
            let input = Input::new([3, 5], from, (low, 7.9));
            cases.push(Case::new("view", format!("cast {from} to {to}"), vec![input], body).not_smooth());
        }
    }
    cases
}

fn sources() -> Vec<Case> {
    let input = || vec![Input::new([1], DType::I32, (0.0, 1.0))];
    let shape = || Shape::new(&[3, 4]);
    vec![
        Case::new("source", "iota", input(), move |x| x[0].iota_of(&shape(), 1)),
        Case::new("source", "iota read through views", input(), move |x| {
            x[0].iota_of(&shape(), 0)?.try_transpose(0, 1)?.embed(0, 6, 1, 1)?.try_reshape([9, 2])
        }),
        Case::new("source", "constant", input(), move |x| x[0].full_of(&shape(), Scalar::Int(7))),
        Case::new("source", "constant in a pad", input(), move |x| {
            x[0].full_of(&shape(), 7)?.embed(1, 7, 2, 1)?.slice_strided(1, 1, 2, 3)
        }),
        Case::new("source", "random bits", input(), |x| {
            Ok(Tensor::bits([5, 7], &Generator::new(3), x[0].device()))
        }),
        Case::new("source", "random bits read backwards", input(), |x| {
            Tensor::bits([5, 7], &Generator::new(3), x[0].device()).try_flip(..)
        }),
    ]
}
