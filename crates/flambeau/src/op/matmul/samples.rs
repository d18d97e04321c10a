//! Samples of products for the self-test: ranks, sizes around those of tiles, layouts, dtypes.

use crate::dtype::DType;
use crate::op::case::{Case, Input, LONG_SUM, Layout};
use crate::shape::Shape;

fn product(name: String, a: Input, b: Input) -> Case {
    Case::new("matmul", format!("matmul {name}"), vec![a, b], |x| x[0].try_matmul(&x[1]))
        .within(1e-5, LONG_SUM)
}

pub(super) fn samples() -> Vec<Case> {
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
    // A matrix by a vector, from both sides: lines that lie together and those that do not, by fours and one by one.
    for k in [256, 301] {
        for layout in [Layout::Contiguous, Layout::Transposed, Layout::Stepped] {
            let matrix = || Input::floats([37, k]).laid_out(layout);
            cases.push(product(format!("37x{k} {layout:?} by a vector"), matrix(), Input::floats([k])));
            let case = Case::new(
                "matmul",
                format!("vector by 37x{k} {layout:?}"),
                vec![Input::floats([k]), matrix()],
                |x| x[0].try_matmul(&x[1].try_transpose(0, 1)?)?.try_add(1.0),
            );
            cases.push(case.within(1e-5, LONG_SUM));
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
