//! Cases of gathering.

use super::{Case, Input, Layout};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::case::INDEX_DTYPES;
use crate::tensor::Tensor;

/// Index values, the same for every dtype.
const INDEX: [f64; 6] = [2.0, 0.0, 1.0, 1.0, 2.0, 0.0];

pub(super) fn cases() -> Vec<Case> {
    type Reading = (&'static str, fn(&Tensor, &Tensor) -> Result<Tensor>);
    let mut cases = Vec::new();
    for dtype in INDEX_DTYPES {
        let inputs = vec![Input::floats([3, 4]), Input::given([2, 3], dtype, &INDEX)];
        cases.push(Case::new("gather", format!("gather by {dtype}"), inputs, |x| x[0].try_gather(0, &x[1])));
    }
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::F32) {
        let inputs = vec![Input::new([2, 5], dtype, (-3.0, 3.0)), Input::given([2, 3], DType::I32, &INDEX)];
        cases.push(Case::new("gather", format!("gather of {dtype}"), inputs, |x| x[0].try_gather(1, &x[1])));
    }
    for dim in 0..3 {
        let inputs = vec![Input::floats([3, 4, 3]), Input::given([1, 2, 3], DType::I32, &INDEX)];
        let body = move |x: &[Tensor]| x[0].try_gather(dim, &x[1]);
        cases.push(Case::new("gather", format!("gather along {dim} of three"), inputs, body));
    }
    for layout in Layout::ALL {
        let inputs = vec![Input::floats([3, 3]).laid_out(layout), Input::given([2, 3], DType::I32, &INDEX)];
        cases.push(Case::new("gather", format!("gather from {layout:?}"), inputs, |x| {
            x[0].try_gather(0, &x[1])
        }));
    }
    let readings: [Reading; 7] = [
        ("with a transposed index", |x, i| x.try_gather(1, &i.try_transpose(0, 1)?)),
        ("with an expanded index", |x, i| x.try_gather(1, &i.try_narrow(0, 0, 1)?.try_expand([3, 3])?)),
        ("with a padded index", |x, i| x.try_gather(1, &i.embed(1, 5, 1, 1)?)),
        ("of a computed value", |x, i| x.try_exp()?.try_gather(0, i)?.try_mul(2.0)),
        ("of a gather", |x, i| x.try_gather(0, i)?.try_gather(1, &i.try_mul(0)?)),
        ("inside a sum", |x, i| x.try_gather(0, i)?.try_mul(x.try_narrow(0, 0, 2)?)?.try_sum(1)),
        ("inside a pad", |x, i| x.try_gather(0, i)?.embed(1, 6, 1, 2)?.try_add(1.0)),
    ];
    for (name, reading) in readings {
        let inputs = vec![Input::floats([3, 3]), Input::given([2, 3], DType::I32, &INDEX)];
        let body = move |x: &[Tensor]| reading(&x[0], &x[1]);
        cases.push(Case::new("gather", format!("gather {name}"), inputs, body));
    }
    let inputs = vec![Input::floats([3, 4]), Input::given([0, 3], DType::I32, &[])];
    cases.push(Case::new("gather", "gather by an empty index", inputs, |x| x[0].try_gather(0, &x[1])));
    cases
}
