//! That the shaders of every way through matrices are valid, and how many there are.

use super::{Cholesky, Eigh, Lu, Qr, Svd, Triangular};
use crate::dtype::DType;
use crate::ir::program::Program;
use crate::op::StructuredOp;
use crate::op::structured::Apart;
use crate::op::testing::{call, validate};

const F32: DType = DType::F32;

fn square(op: StructuredOp, shape: &[usize]) -> Vec<Program> {
    validate(&call(op, &[(shape, F32)], &[(shape, F32)]))
}

fn lu(regular_for: Option<&'static str>, shape: &[usize]) -> Vec<Program> {
    let op = StructuredOp::Lu(Apart::new(Lu { regular_for }));
    let rows = [&shape[..shape.len() - 2], &shape[shape.len() - 2..shape.len() - 1]].concat();
    validate(&call(op, &[(shape, F32)], &[(shape, F32), (&rows, DType::I32)]))
}

#[test]
fn shaders_are_valid_and_few() {
    for (shape, programs) in
        [(&[3, 32, 32][..], 1), (&[33, 33], 3), (&[1024, 1024], 63), (&[0, 4, 4], 0), (&[4, 0, 0], 0)]
    {
        assert_eq!(square(StructuredOp::Cholesky(Apart::new(Cholesky)), shape).len(), programs, "{shape:?}");
    }
    for regular_for in [None, Some("inv")] {
        for (shape, programs) in [
            (&[10_000, 32, 32][..], 1),
            (&[1000, 7], 2),
            (&[3000, 40], 1 + 3 + 2),
            (&[7, 20], 1),
            (&[2, 64, 64], 1 + 3 + 2),
            (&[2, 40, 100], 1 + 3 + 2),
            (&[1024, 1024], 1 + 32 * 3 - 1),
            (&[5, 3, 0], 1),
            (&[0, 3, 3], 0),
        ] {
            assert_eq!(lu(regular_for, shape).len(), programs, "{shape:?}");
        }
    }
    for (n, k, programs) in [(32, 1, 1), (1024, 1024, 1), (3, 0, 0)] {
        let op = StructuredOp::Triangular(Apart::new(Triangular { upper: true, unit: false }));
        let found = validate(&call(op, &[(&[n, n], F32), (&[n, k], F32)], &[(&[n, k], F32)]));
        assert_eq!(found.len(), programs, "{n} × {k}");
    }
}

#[test]
fn shaders_of_orthogonal_factors_are_valid_and_few() {
    // Where more than 128 rows are left, reflections are applied by two programs.
    let (high, low) = (28, 4);
    for (m, n, programs) in [
        (32, 32, 4),
        (5, 40, 5),
        (100, 33, 1 + 3 + 1 + 2),
        (1024, 1024, 1 + (3 * high + 2 * low - 1) + 1 + (2 * high + low)),
        (3000, 8, 1 + 1 + 1 + 2),
        (0, 3, 0),
    ] {
        let (op, k) = (StructuredOp::Qr(Apart::new(Qr { complete: false })), m.min(n));
        let found = validate(&call(op, &[(&[2, m, n], F32)], &[(&[2, m, k], F32), (&[2, k, n], F32)]));
        assert_eq!(found.len(), programs, "{m} × {n}");
    }
    // Two programs for a pair of blocks, and five besides, three of them before; larger ones have up to 16 sweeps.
    for (n, programs) in [(32, 3 + 2 + 2), (33, 3 + 16 * 3 * 2 + 2), (0, 0)] {
        let op = StructuredOp::Eigh(Apart::new(Eigh));
        let found = validate(&call(op, &[(&[2, n, n], F32)], &[(&[2, n], F32), (&[2, n, n], F32)]));
        assert_eq!(found.len(), programs, "{n}");
    }
    for (m, n, programs) in [(40, 32, 3 + 6 + 2 + 3), (0, 0, 0)] {
        let op = StructuredOp::Svd(Apart::new(Svd));
        let (u, s, vt) = ([2, m, n], [2, n], [2, n, n]);
        let found = validate(&call(op, &[(&u, F32)], &[(&u, F32), (&s, F32), (&vt, F32)]));
        assert_eq!(found.len(), programs, "{m} × {n}");
    }
}

#[test]
fn panels_of_all_places_have_one_text() {
    let programs = square(StructuredOp::Cholesky(Apart::new(Cholesky)), &[300, 300]);
    let texts: std::collections::HashSet<_> = programs.iter().map(|program| program.source.clone()).collect();
    assert_eq!(texts.len(), 4, "the first panel and its update, and all others");
}
