//! Samples of scattering for the self-test: dtypes of values and indexes, dimensions, layouts, and all ways of the GPU.

use crate::dtype::DType;
use crate::error::Result;
use crate::op::Tensor;
use crate::op::case::{Case, INDEX_DTYPES, Input, Layout};

type Write = fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>;

/// One list of positions for every line: as many as it takes to put them in order first, and fewer.
fn scatter_by_one_list(add: Write, set: Write) -> Vec<Case> {
    let mut cases = Vec::new();
    for (count, places) in [(31, 9), (40, 9), (70, 100), (300, 5)] {
        let index: Vec<f64> = (0..count).map(|k| (k * k + k / 3) as f64 % places as f64).collect();
        for dtype in [DType::F32, DType::I32] {
            let operand = |shape: [usize; 2]| Input::new(shape, dtype, (-3.0, 3.0));
            let inputs =
                vec![operand([places, 3]), Input::given([count, 1], DType::I32, &index), operand([count, 3])];
            let name = format!("{count} to {places} places of {dtype}");
            let body = move |x: &[Tensor]| add(&x[0], 0, &x[1].try_expand([count, 3])?, &x[2]);
            cases.push(Case::new("scatter", format!("scatter_add of {name}"), inputs.clone(), body));
            let body = move |x: &[Tensor]| {
                let index = x[1].try_t()?.try_expand([3, count])?;
                set(&x[0].detach().try_t()?, 1, &index, &x[2].detach().try_t()?)
            };
            cases.push(Case::new("scatter", format!("scatter of {name}"), inputs, body).without_gradient());
        }
    }
    cases
}

/// Lines with positions of their own: few, as many as a workgroup sorts, more than that, and many for each place. Some lines of the base
/// have none.
fn scatter_by_lines(add: Write, set: Write) -> Vec<Case> {
    let mut cases = Vec::new();
    for (count, places) in [(40, 9), (33, 1), (70, 300), (1500, 700), (2500, 6)] {
        let index: Vec<f64> = (0..2 * count).map(|k| (k * k + k / 3) as f64 % places as f64).collect();
        for dtype in [DType::F32, DType::F16, DType::U32, DType::Bool] {
            // The CPU rounds sums of F16 after each addition.
            if dtype == DType::F16 && count > places {
                continue;
            }
            let operand = |shape: [usize; 2]| Input::new(shape, dtype, (-3.0, 3.0));
            let inputs =
                vec![operand([3, places]), Input::given([2, count], DType::I32, &index), operand([2, count])];
            let name = format!("lines of {count} to {places} places of {dtype}");
            let case = format!("scatter_add of {name}");
            cases.push(match count <= 40 {
                true => Case::new("scatter", case, inputs.clone(), move |x| add(&x[0], 1, &x[1], &x[2])),
                false => {
                    let body = move |x: &[Tensor]| add(&x[0].detach(), 1, &x[1], &x[2].detach());
                    Case::new("scatter", case, inputs.clone(), body).without_gradient()
                }
            });
            let body = move |x: &[Tensor]| set(&x[0].detach(), 1, &x[1], &x[2].detach());
            cases.push(Case::new("scatter", format!("scatter of {name}"), inputs, body).without_gradient());
        }
    }
    // More values than one workgroup adds up.
    let index: Vec<f64> = (0..40_000).map(|k| (k * k % 1009) as f64).collect();
    let inputs =
        vec![Input::given([40_000], DType::I32, &index), Input::new([40_000], DType::I32, (-9.0, 9.0))];
    let body = move |x: &[Tensor]| add(&x[1].try_narrow(0, 0, 1009)?, 0, &x[0], &x[1]);
    cases.push(Case::new("scatter", "scatter_add of 40000 integers", inputs, body).without_gradient());
    cases
}

pub(super) fn samples() -> Vec<Case> {
    let add: Write = |base, dim, index, values| base.try_scatter_add(dim, index, values);
    let set: Write = |base, dim, index, values| base.try_scatter(dim, index, values);
    // No place is written twice along a column: what a second write leaves is not differentiable.
    let distinct = [2.0, 0.0, 1.0, 1.0, 2.0, 0.0];
    let repeated = [2.0, 0.0, 1.0, 2.0, 2.0, 1.0];
    let mut cases = Vec::new();
    cases.extend(scatter_by_one_list(add, set));
    cases.extend(scatter_by_lines(add, set));
    for (name, write, index) in [("scatter_add", add, repeated), ("scatter", set, distinct)] {
        for dtype in INDEX_DTYPES {
            let inputs =
                vec![Input::floats([3, 4]), Input::given([2, 3], dtype, &index), Input::floats([2, 3])];
            let body = move |x: &[Tensor]| write(&x[0], 0, &x[1], &x[2]);
            cases.push(Case::new("scatter", format!("{name} by {dtype}"), inputs, body));
        }
        for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::F32) {
            let operand = |shape: [usize; 2]| Input::new(shape, dtype, (-3.0, 3.0));
            let inputs = vec![operand([3, 3]), Input::given([2, 3], DType::I32, &index), operand([2, 3])];
            let body = move |x: &[Tensor]| write(&x[0], 0, &x[1], &x[2]);
            cases.push(Case::new("scatter", format!("{name} of {dtype}"), inputs, body));
        }
        for dim in 0..3 {
            let index = if dim == 2 { [0.0, 1.0, 2.0, 2.0, 0.0, 1.0] } else { distinct.map(|i| i.min(1.0)) };
            let shape: [usize; 3] = if dim == 2 { [1, 2, 3] } else { [1, 1, 6] };
            let inputs =
                vec![Input::floats([2, 2, 6]), Input::given(shape, DType::I32, &index), Input::floats(shape)];
            let body = move |x: &[Tensor]| write(&x[0], dim, &x[1], &x[2]);
            cases.push(Case::new("scatter", format!("{name} along {dim} of three"), inputs, body));
        }
        for layout in Layout::ALL.into_iter().skip(1) {
            let inputs = vec![
                Input::floats([3, 3]).laid_out(layout),
                Input::given([2, 3], DType::I32, &distinct),
                Input::floats([2, 3]).laid_out(layout),
            ];
            let body = move |x: &[Tensor]| write(&x[0], 0, &x[1], &x[2])?.try_mul(2.0);
            cases.push(Case::new("scatter", format!("{name} {layout:?}"), inputs, body));
        }
        let inputs =
            vec![Input::floats([3, 4]), Input::given([0, 3], DType::I32, &[]), Input::floats([0, 3])];
        let body = move |x: &[Tensor]| write(&x[0], 0, &x[1], &x[2]);
        cases.push(Case::new("scatter", format!("{name} of nothing"), inputs, body));
    }
    cases
}
