//! Further ops along rows, columns and vectors: reductions, running sums, orders.

use super::cases::{Case, Given, Sample, floats};
use super::further::{Sizes, of_memory};

pub fn rows(side: usize) -> Vec<Case> {
    let (count, shape) = (side * side, vec![side, side]);
    let x = floats(&shape);
    let to_one = |name, body| of_memory(name, vec![x.clone()], count, Sample::Rows(1), body);
    let to_all = |name, body| of_memory(name, vec![x.clone()], 2 * count, Sample::Rows(1), body);
    // A long product of these is neither nothing nor too much.
    let near_one = Given::Between(shape.clone(), 0.9, 1.1);
    let (weight, between) = (floats(&[side]), floats(&[64, side, side / 64]));
    vec![
        to_one("max of rows", |x| x[0].try_amax(-1)),
        to_one("min of rows", |x| x[0].try_amin(-1)),
        to_one("mean of rows", |x| x[0].try_mean(-1)),
        Case { inputs: vec![near_one], ..to_one("product of rows", |x| x[0].try_prod(-1)) },
        to_one("norm of rows", |x| x[0].try_norm(2.0, -1)),
        to_one("standard deviation of rows", |x| x[0].try_std(-1, 1.0)),
        to_one("logsumexp of rows", |x| x[0].try_logsumexp(-1)),
        // Bytes, one of which is true in about half of the rows.
        of_memory(
            "any of rows",
            vec![Given::Bools(shape, 0.7 / side as f64)],
            count / 4,
            Sample::Rows(1),
            |x| x[0].try_any(-1),
        ),
        to_one("top 50 of rows", |x| Ok(x[0].try_topk(50, -1, true, true)?.0)),
        to_one("median of rows", |x| Ok(x[0].try_median(-1)?.0)),
        to_all("cumsum of rows", |x| x[0].try_cumsum(-1)),
        to_all("log softmax", |x| x[0].try_log_softmax(-1)),
        of_memory("rms norm", vec![x.clone(), weight], 2 * count, Sample::Rows(1), |x| {
            x[0].try_rms_norm(&[x[1].numel()], Some(&x[1]), 1e-5)
        }),
        of_memory("sum over the middle", vec![between], count, Sample::Rows(1), |x| x[0].try_sum(1)),
    ]
}

pub fn columns(side: usize) -> Vec<Case> {
    let (count, x) = (side * side, floats(&[side, side]));
    let to_one = |name, body| of_memory(name, vec![x.clone()], count, Sample::Columns(1), body);
    let to_all = |name, body| of_memory(name, vec![x.clone()], 2 * count, Sample::Columns(1), body);
    vec![
        to_one("max of columns", |x| x[0].try_amax(0)),
        to_one("argmax of columns", |x| x[0].try_argmax(0)),
        to_all("cumsum of columns", |x| x[0].try_cumsum(0)),
        to_all("sort of columns", |x| Ok(x[0].try_sort(0, false)?.0)),
    ]
}

pub fn vectors(sizes: &Sizes) -> Vec<Case> {
    let (length, x) = (sizes.vector, floats(&[sizes.vector]));
    let to_one = |name, body| of_memory(name, vec![x.clone()], length, Sample::Whole, body);
    let to_all = |name, body| of_memory(name, vec![x.clone()], 2 * length, Sample::Whole, body);
    vec![
        to_all("sort of a vector", |x| Ok(x[0].try_sort(0, false)?.0)),
        to_all("cumsum of a vector", |x| x[0].try_cumsum(0)),
        to_one("argmax of a vector", |x| x[0].try_argmax(0)),
        to_one("mean of a vector", |x| x[0].try_mean(..)),
        to_one("norm of a vector", |x| x[0].try_norm(2.0, ..)),
        of_memory("dot", vec![x.clone(); 2], 2 * length, Sample::Whole, |x| x[0].try_dot(&x[1])),
    ]
}
