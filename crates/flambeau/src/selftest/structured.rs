//! Cases of the structured primitives: matrix products, gather, scatter, scans and sorts.

use super::case::{Case, Input, Layout};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::scan::ScanKind;
use crate::shape::Shape;
use crate::tensor::Tensor;

pub(super) fn cases() -> Vec<Case> {
    matmul().into_iter().chain(gather()).chain(scatter()).chain(rows()).chain(pack()).collect()
}

const LONG_SUM: &str = "sums of many products in another order";

fn product(name: String, a: Input, b: Input) -> Case {
    Case::new("matmul", format!("matmul {name}"), vec![a, b], |x| x[0].try_matmul(&x[1]))
        .within(1e-5, LONG_SUM)
}

fn matmul() -> Vec<Case> {
    let mut cases = Vec::new();
    // Every combination of ranks, with batches broadcast.
    let left: [&[usize]; 6] = [&[3], &[2, 3], &[4, 2, 3], &[1, 2, 3], &[2, 1, 2, 3], &[2, 4, 2, 3]];
    let right: [&[usize]; 6] = [&[3], &[3, 2], &[4, 3, 2], &[1, 3, 2], &[2, 4, 3, 2], &[1, 3, 2]];
    for a in left {
        for b in right {
            let name = format!("{} by {}", Shape::new(a), Shape::new(b));
            let known = |case: &Case| case.name.ends_with(&name);
            if !cases.iter().any(known) {
                cases.push(product(name, Input::floats(a), Input::floats(b)));
            }
        }
    }
    // Around the edges of tiles.
    for (m, k, n) in [
        (1, 1, 1),
        (1, 17, 1),
        (15, 16, 17),
        (16, 16, 16),
        (17, 15, 16),
        (63, 64, 65),
        (64, 64, 64),
        (65, 63, 64),
        (1, 130, 64),
        (130, 1, 17),
        (64, 130, 1),
        (130, 65, 63),
    ] {
        cases.push(product(format!("{m}x{k} by {k}x{n}"), Input::floats([m, k]), Input::floats([k, n])));
    }
    for (m, k, n) in [(3, 4, 5), (17, 33, 18)] {
        for (first, second) in [
            (Layout::Transposed, Layout::Contiguous),
            (Layout::Contiguous, Layout::Transposed),
            (Layout::Transposed, Layout::Transposed),
            (Layout::Flipped, Layout::Stepped),
            (Layout::Expanded, Layout::Embedded),
        ] {
            let (a, b) = (Input::floats([m, k]).laid_out(first), Input::floats([k, n]).laid_out(second));
            cases.push(product(format!("{m}x{k}x{n} {first:?} by {second:?}"), a, b));
        }
    }
    for (a, b) in [([0, 3], [3, 2]), ([2, 0], [0, 3]), ([2, 3], [3, 0])] {
        cases.push(product(format!("{a:?} by {b:?}"), Input::floats(a), Input::floats(b)));
    }
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool && dtype != DType::F32) {
        let operand = |shape: [usize; 2]| Input::new(shape, dtype, (-3.0, 3.0));
        cases.push(product(format!("in {dtype}"), operand([5, 18]), operand([18, 3])));
    }
    let batched = Input::floats([3, 4, 5]).laid_out(Layout::Transposed);
    cases.push(product("of batches with transposed strides".into(), batched, Input::floats([3, 5, 2])));
    cases.push(Case::new(
        "matmul",
        "matmul with work before and after",
        vec![Input::floats([3, 4]), Input::floats([4, 2])],
        |x| x[0].try_tanh()?.try_matmul(&x[1].try_mul(2.0)?)?.try_add(1.0)?.try_sin(),
    ));
    cases.push(Case::new("matmul", "matmul of a matrix with itself", vec![Input::floats([4, 4])], |x| {
        x[0].try_matmul(&x[0].try_transpose(0, 1)?)
    }));
    cases
}

/// Packs without gaps: what lies in a gap is not defined. Parts that start at multiples of 64 are written in place.
fn pack() -> Vec<Case> {
    type Packing = (&'static str, fn(&[Tensor]) -> Result<Tensor>);
    let packings: [Packing; 6] = [
        ("of inputs", |x| Tensor::pack(&[x[0].clone(), x[1].clone()], &[0, 64], 128)),
        ("of results, used again", |x| {
            let (a, b) = (x[0].try_tanh()?, x[0].try_matmul(&x[1])?);
            let packed = Tensor::pack(&[a.clone(), b.clone()], &[64, 0], 128)?;
            let sum = a.try_sum(..)?.try_add(b.try_sum(..)?)?;
            packed.try_mul(2.0)?.try_add(sum)
        }),
        ("of a value and one made from it", |x| {
            let a = x[0].try_mul(0.1)?.try_matmul(&x[1])?;
            let b = a.try_matmul(&a)?;
            Tensor::pack(&[a, b], &[0, 64], 128)?.try_mul(2.0)
        }),
        ("of two results of one kernel", |x| {
            let a = x[0].try_add(&x[1])?;
            let b = a.try_exp()?;
            Tensor::pack(&[a, b], &[0, 64], 128)?.try_sin()
        }),
        ("of one value twice", |x| {
            let a = x[0].try_matmul(&x[1])?;
            Tensor::pack(&[a.clone(), a], &[0, 64], 128)?.try_sin()
        }),
        ("at starts that are not aligned", |x| {
            let a = x[0].try_narrow(0, 0, 1)?.try_add(1.0)?;
            Tensor::pack(&[a, x[1].try_mul(3.0)?], &[0, 8], 72)?.try_sin()
        }),
    ];
    let case = |(name, packing): Packing| {
        let inputs = vec![Input::floats([8, 8]), Input::floats([8, 8])];
        Case::new("pack", format!("pack {name}"), inputs, packing).within(1e-5, LONG_SUM)
    };
    packings.into_iter().map(case).collect()
}

/// Index values, the same for every dtype.
const INDEX: [f64; 6] = [2.0, 0.0, 1.0, 1.0, 2.0, 0.0];
const INDEX_DTYPES: [DType; 4] = [DType::I32, DType::U32, DType::U8, DType::I64];

fn gather() -> Vec<Case> {
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

fn scatter() -> Vec<Case> {
    let add: Write = |base, dim, index, values| base.try_scatter_add(dim, index, values);
    let set: Write = |base, dim, index, values| base.try_scatter(dim, index, values);
    // No place is written twice along a column: what a second write leaves is not differentiable.
    let distinct = [2.0, 0.0, 1.0, 1.0, 2.0, 0.0];
    let repeated = [2.0, 0.0, 1.0, 2.0, 2.0, 1.0];
    let mut cases = Vec::new();
    cases.extend(scatter_by_one_list(add, set));
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

/// The running sum from the end, which is the derivative of the running sum.
fn reversed(x: &Tensor, dim: isize) -> Result<Tensor> {
    let numbers = match x.dtype() {
        DType::Bool | DType::U8 => x.try_to_dtype(DType::I32)?,
        _ => x.clone(),
    };
    numbers.scanned(x.shape().dim("cumsum", dim)?, ScanKind::Sum, true)
}

/// Scans and sorts, which work along a dimension.
fn rows() -> Vec<Case> {
    type Along = fn(&Tensor, isize) -> Result<Tensor>;
    let ops: [(&str, Along, bool); 6] = [
        ("cumsum", |x, dim| x.try_cumsum(dim), true),
        ("cumprod", |x, dim| x.try_cumprod(dim), true),
        ("reversed cumsum", reversed, true),
        ("argsort", |x, dim| x.try_argsort(dim, false), false),
        ("sort", |x, dim| Ok(x.try_sort(dim, false)?.0), true),
        ("sort descending", |x, dim| Ok(x.try_sort(dim, true)?.0), true),
    ];
    let mut cases = Vec::new();
    for (name, op, differentiable) in ops {
        let mut push = |what: String, input: Input, dim: isize| {
            let body = move |x: &[Tensor]| op(&x[0], dim);
            let case = Case::new("rows", format!("{name} {what} along {dim}"), vec![input], body);
            cases.push(Case { differentiable, ..case }.within(1e-5, "running results of a row"));
        };
        for dim in 0..3 {
            push("[2, 3, 4]".into(), Input::floats([2, 3, 4]), dim);
        }
        // Products of more numbers than this leave the range of f32 or need numbers near 1.
        for length in [1, 15, 33] {
            push(format!("[2, {length}]"), Input::new([2, length], DType::F32, (0.8, 1.2)), 1);
        }
        if name != "cumprod" {
            for length in [64, 257, 1030] {
                push(format!("[2, {length}]"), Input::floats([2, length]), 1);
            }
        }
        for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::F32) {
            push(format!("of {dtype}"), Input::new([3, 5], dtype, (-3.0, 3.0)), 1);
        }
        for layout in Layout::ALL.into_iter().skip(1) {
            // Repeated values and the zeros of a pad are ties of a sort.
            push(format!("{layout:?}"), Input::floats([3, 4]).laid_out(layout), 1);
        }
        push("no rows".into(), Input::floats([0, 3]), 1);
        push("empty rows".into(), Input::floats([3, 0]), 1);
    }
    for case in &mut cases {
        let ties =
            case.inputs.iter().any(|input| matches!(input.layout, Layout::Expanded | Layout::Embedded));
        case.smooth = !(ties && case.name.starts_with("sort"));
    }
    cases
}
