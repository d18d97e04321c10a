//! Samples for the self-test: sizes for every way through the kernels, batches, layouts, nothing at all.
//!
//! Inputs are drawn between −2 and 2; what a decomposition wants of its matrices is made of them. Vectors are unique up to their
//! signs, and what is compared does not depend on those.

use super::{identity, transposed};
use crate::error::Result;
use crate::op::Tensor;
use crate::op::case::{Case, Input, Layout};
use crate::shape::Shape;

/// Why results may differ in more than their last digits.
const CONDITION: &str = "errors grow with the condition of the matrix";

fn case(name: &str, shapes: &[&[usize]], body: impl Fn(&[Tensor]) -> Result<Tensor> + 'static) -> Case {
    let inputs = shapes.iter().map(|shape| Input::floats(Shape::new(shape))).collect();
    Case::new("linalg", format!("{name} {shapes:?}"), inputs, body).within(2e-4, CONDITION)
}

/// The same case with its inputs in another layout.
fn laid_out(case: Case, layout: Layout) -> Case {
    let inputs = case.inputs.iter().cloned().map(|input| input.laid_out(layout)).collect();
    Case { name: format!("{} {layout:?}", case.name), inputs, ..case }
}

/// X Xᵀ + n I.
fn positive(x: &Tensor) -> Result<Tensor> {
    let n = x.size(-1) as f64;
    Ok(x.try_matmul(&transposed(x)?)? + identity(x)? * (n + 1.0))
}

/// X + 3 n I, whose condition is small, with its rows in reverse, so that pivots are elsewhere.
fn regular(x: &Tensor) -> Result<Tensor> {
    let n = x.size(-1) as f64;
    (x + identity(x)? * (3.0 * n + 1.0)).try_flip(-2)
}

/// Square shapes, the last of which take several panels.
const SQUARE: [&[usize]; 6] = [&[1, 1], &[2, 3, 3], &[2, 2, 5, 5], &[0, 3, 3], &[2, 0, 0], &[33, 33]];

fn square(name: &'static str, body: fn(&Tensor) -> Result<Tensor>) -> Vec<Case> {
    let one = |shape: &&[usize]| case(name, &[shape], move |x| body(&x[0]));
    let layouts = Layout::ALL.into_iter().skip(1);
    let laid = layouts.map(|layout| laid_out(case(name, &[&[3, 4, 4]], move |x| body(&x[0])), layout));
    SQUARE.iter().map(one).chain(laid).collect()
}

pub(super) fn cholesky() -> Vec<Case> {
    let mut cases = square("cholesky", |x| positive(x)?.cholesky_factor());
    cases.push(case("cholesky", &[&[70, 70]], |x| positive(&x[0])?.cholesky_factor()));
    cases
}

pub(super) fn lu() -> Vec<Case> {
    let mut cases = square("lu", |x| Ok(regular(x)?.lu_packed(None)?.0));
    for shape in [&[2, 5, 3][..], &[2, 3, 5], &[40, 3], &[3, 40], &[100, 33], &[33, 70]] {
        // The largest number of each column stands where it is not the first.
        cases.push(case("lu", &[shape], |x| {
            let x = &x[0];
            let options = (x.dtype(), x.device());
            let diagonal = Tensor::try_eye_rectangular(x.size(-2), x.size(-1), options)? * 60.0;
            Ok((x + diagonal).try_roll(&[1], &[-2])?.lu_packed(None)?.0)
        }));
    }
    cases.push(
        case("lu order", &[&[2, 37, 37]], |x| Ok(regular(&x[0])?.lu_packed(None)?.1)).without_gradient(),
    );
    cases
}

pub(super) fn triangular() -> Vec<Case> {
    let mut cases = Vec::new();
    for (upper, unit) in [(false, false), (false, true), (true, false), (true, true)] {
        let name = format!("solve_triangular upper {upper} unit {unit}");
        let solve = move |x: &[Tensor]| {
            // A dominant diagonal, or small numbers beside ones.
            let n = x[0].size(-1) as f64;
            let t = if unit { &x[0] * (0.5 / n) } else { &x[0] + identity(&x[0])? * (2.0 * n + 2.0) };
            t.triangular(&x[1], upper, unit)
        };
        for (n, k, batch) in [(1, 1, 1), (5, 3, 2), (33, 9, 2), (70, 1, 1)] {
            cases.push(case(&name, &[&[batch, n, n], &[batch, n, k]], solve));
        }
        cases.push(case(&name, &[&[0, 3, 3], &[0, 3, 2]], solve));
        cases.push(case(&name, &[&[3, 3], &[3, 0]], solve));
        for layout in Layout::ALL.into_iter().skip(1) {
            cases.push(laid_out(case(&name, &[&[3, 4, 4], &[3, 4, 3]], solve), layout));
        }
    }
    cases
}

/// Shapes of matrices that are not square, the last of which take several panels.
const OBLONG: [&[usize]; 6] = [&[2, 5, 3], &[2, 3, 5], &[40, 3], &[3, 40], &[70, 35], &[0, 4, 2]];

/// X with a diagonal that dominates and is spread: what it is decomposed into is well defined.
fn spread(x: &Tensor) -> Result<Tensor> {
    let (m, n) = (x.size(-2), x.size(-1));
    let steps = Tensor::try_arange(1.0, m.min(n) as f64 + 1.0, 1.0, (x.dtype(), x.device()))?;
    let mut diagonal = steps.try_diag_embed(0)?;
    if m > n {
        diagonal = diagonal.try_pad(&[0, 0, 0, (m - n) as isize], 0.0)?;
    } else if n > m {
        diagonal = diagonal.try_pad(&[0, (n - m) as isize], 0.0)?;
    }
    Ok(x * 0.1 + diagonal)
}

pub(super) fn qr() -> Vec<Case> {
    let both = |x: &Tensor| -> Result<Tensor> {
        let (q, r) = spread(x)?.qr_factors(false)?;
        // A gradient flows into both.
        Ok(q.try_sum([-2, -1])? + r.try_square()?.try_sum([-2, -1])?)
    };
    let mut cases = square("qr Q", |x| Ok(spread(x)?.qr_factors(false)?.0));
    cases.extend(square("qr R", |x| Ok(spread(x)?.qr_factors(false)?.1)));
    for shape in OBLONG {
        cases.push(case("qr Q", &[shape], |x| Ok(spread(&x[0])?.qr_factors(false)?.0)));
        cases.push(case("qr R", &[shape], |x| Ok(spread(&x[0])?.qr_factors(false)?.1)));
        cases.push(case("qr Q and R", &[shape], move |x| both(&x[0])));
    }
    for shape in [&[2, 5, 3][..], &[3, 5], &[4, 0]] {
        let complete = move |x: &[Tensor]| {
            let (q, r) = spread(&x[0])?.qr_factors(true)?;
            // Columns that complete Q are not unique; what they span is.
            let k = x[0].size(-2).min(x[0].size(-1));
            let rest = q.try_narrow(-1, k, q.size(-1) - k)?;
            Tensor::try_cat(&[r, rest.try_matmul(&transposed(&rest)?)?], -1)
        };
        let complete = case("qr complete", &[shape], complete);
        // The columns that complete Q have no gradient.
        cases.push(if shape[shape.len() - 2] > shape[shape.len() - 1] {
            complete.without_gradient()
        } else {
            complete
        });
    }
    cases
}

/// V sin(w / n) Vᵀ, which is made of everything and does not depend on signs.
fn of_eigenvectors(x: &Tensor) -> Result<Tensor> {
    let x = spread(x)?;
    let (w, v) = (&x + transposed(&x)?).eigh_factors()?;
    v.try_mul(&(w / x.size(-1).max(1) as f64).try_sin()?.try_unsqueeze(-2)?)?.try_matmul(&transposed(&v)?)
}

pub(super) fn eigh() -> Vec<Case> {
    let mut cases = square("eigh V sin(w / n) Vᵀ", of_eigenvectors);
    cases.extend(square("eigh w", |x| {
        let x = spread(x)?;
        Ok((&x + transposed(&x)?).eigh_factors()?.0)
    }));
    cases
}

/// U sin(s / n) Vᵀ.
fn of_singular_vectors(x: &Tensor) -> Result<Tensor> {
    let (u, s, vt) = spread(x)?.svd_factors()?;
    u.try_mul(&(s / x.size(-1).max(1) as f64).try_sin()?.try_unsqueeze(-2)?)?.try_matmul(&vt)
}

pub(super) fn svd() -> Vec<Case> {
    let mut cases = square("svd U sin(s / n) Vᵀ", of_singular_vectors);
    cases.extend(square("svd s", |x| Ok(spread(x)?.svd_factors()?.1)));
    for shape in OBLONG.into_iter().filter(|shape| shape[shape.len() - 2] >= shape[shape.len() - 1]) {
        cases.push(case("svd U sin(s / n) Vᵀ", &[shape], |x| of_singular_vectors(&x[0])));
        cases.push(case("svd s", &[shape], |x| Ok(spread(&x[0])?.svd_factors()?.1)));
    }
    cases
}
