//! Samples for the self-test: every kind, sign and layout, and lengths for every way through the kernels.

use super::{Dft, Kind};
use crate::op::Tensor;
use crate::op::case::{Case, Input, LONG_SUM, Layout};
use crate::shape::Shape;

/// What methods are made of. Their derivatives are the two others.
const KINDS: [Kind; 3] = [Kind::Complex, Kind::ToSpectrum { doubled: false }, Kind::ToReal { doubled: true }];

/// A case along `dim` of lines of `length`, where the other dimensions are `shape`'s.
fn case(kind: Kind, inverse: bool, shape: &[usize], dim: usize, layout: Layout) -> Case {
    let length = shape[dim];
    let op = Dft { kind, inverse, dim, length };
    let mut input = shape.to_vec();
    input[dim] = op.sizes().0;
    input.extend(op.pairs().0.then_some(2));
    let name = format!("{kind:?} {inverse} {shape:?} along {dim} {layout:?}");
    let scale = 1.0 / (length.max(1) as f64).sqrt();
    let body = move |x: &[Tensor]| x[0].dft(op.clone(), scale);
    Case::new("fft", name, vec![Input::floats(Shape::new(&input)).laid_out(layout)], body)
        .within(1e-5, LONG_SUM)
}

pub(super) fn samples() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |kind, inverse, shape: &[usize], dim| {
        cases.push(case(kind, inverse, shape, dim, Layout::Contiguous));
    };
    for kind in KINDS {
        // Even, odd, a large prime, lengths of 1 and 2; the last dimension and others.
        for (shape, dim) in [
            (&[3, 12][..], 1),
            (&[2, 15, 3], 1),
            (&[2, 34], 1),
            (&[17, 2], 0),
            (&[4, 1], 1),
            (&[2, 2, 2], 1),
            (&[0, 4], 1),
            (&[4, 0], 0),
        ] {
            push(kind, false, shape, dim);
        }
        push(kind, true, &[2, 10], 1);
    }
    push(Kind::ToSpectrum { doubled: true }, false, &[2, 9], 1);
    push(Kind::ToReal { doubled: false }, true, &[2, 9], 1);
    // Every kind of butterfly, and several of them.
    for length in [7, 9, 11, 13, 16, 30, 1000] {
        push(Kind::Complex, false, &[2, length], 1);
    }
    push(Kind::ToSpectrum { doubled: false }, false, &[2, 256], 1);
    push(Kind::ToReal { doubled: true }, true, &[2, 256], 1);
    for layout in Layout::ALL.into_iter().skip(1) {
        for kind in KINDS {
            cases.push(case(kind, false, &[3, 4], 1, layout));
        }
    }
    cases
}
