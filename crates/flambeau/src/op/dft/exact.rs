//! The definition, for the interpreter: every sum term by term, in f64, with roots of unity of reduced arguments.

use super::{Dft, Exact, Kind, Lines, Meta};
use crate::host::Block;
use std::f64::consts::TAU;

pub(super) fn transform(op: &Dft, input: &Exact, output: &Meta, scale: f64) -> Exact {
    let Block::F64(from) = &input.values else { unreachable!("the interpreter's floats are F64") };
    let Lines { outer, inner } = op.lines(&input.shape);
    let ((from_size, to_size), (from_pairs, to_pairs)) = (op.sizes(), op.pairs());
    let sign = if op.inverse { 1.0 } else { -1.0 };
    let roots: Vec<(f64, f64)> = (0..op.length)
        .map(|t| (sign * TAU * t as f64 / op.length as f64).sin_cos())
        .map(|(sin, cos)| (cos, sin))
        .collect();
    let mut to = vec![0.0; output.numel()];
    for line in 0..outer * inner {
        let place = |position: usize, size: usize| (line / inner * size + position) * inner + line % inner;
        let terms: Vec<(f64, f64)> = (0..from_size)
            .map(|n| match (op.kind, from_pairs) {
                (_, false) => (from[place(n, from_size)], 0.0),
                (Kind::ToReal { .. }, _) => {
                    let (at, weight) = (2 * place(n, from_size), op.weight(n));
                    (weight * from[at], weight * from[at + 1])
                }
                _ => (from[2 * place(n, from_size)], from[2 * place(n, from_size) + 1]),
            })
            .collect();
        for k in 0..to_size {
            let (mut re, mut im) = (0.0, 0.0);
            for (n, &(x, y)) in terms.iter().enumerate() {
                let (cos, sin) = roots[n * k % op.length];
                re += x * cos - y * sin;
                im += x * sin + y * cos;
            }
            match op.kind {
                Kind::ToReal { .. } => to[place(k, to_size)] = scale * re,
                _ => {
                    let (at, factor) =
                        (2 * place(k, to_size), scale * if to_pairs { op.weight(k) } else { 1.0 });
                    (to[at], to[at + 1]) = (factor * re, factor * im);
                }
            }
        }
    }
    Exact { shape: output.shape.clone(), dtype: output.dtype, values: Block::F64(to.into()) }
}
