//! Attention in f64, query by query: what the interpreter computes.

use super::{Attention, Direction, Kept, Sizes};
use crate::dtype::Scalar;
use crate::host::Block;
use crate::op::Meta;
use crate::op::structured::Exact;

fn floats(exact: &Exact) -> &[f64] {
    match &exact.values {
        Block::F64(values) => values,
        _ => unreachable!("attention is of floats"),
    }
}

pub(super) fn compute(op: &Attention, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Vec<Exact> {
    let sizes = Sizes::new(&inputs[0].shape, &inputs[2].shape);
    let (operands, mask) = inputs.split_at(op.operands());
    let operands: Vec<&[f64]> = operands.iter().map(floats).collect();
    let attention = Attended {
        op,
        sizes,
        operands: &operands,
        mask: mask.first(),
        scale: data[0].to_f64(),
        kept: op.kept(data),
    };
    let mut results: Vec<Vec<f64>> = outputs.iter().map(|meta| vec![0.0; meta.numel()]).collect();
    for batch in 0..sizes.batches {
        for head in 0..sizes.heads {
            for query in 0..sizes.queries {
                let row = attention.row(batch, head, query);
                match op.direction {
                    Direction::Forward => row.forward(&mut results),
                    Direction::Backward => row.backward(&mut results),
                }
            }
        }
    }
    let exact = |(meta, values): (&Meta, Vec<f64>)| Exact {
        shape: meta.shape.clone(),
        dtype: meta.dtype,
        values: Block::F64(values.into()),
    };
    outputs.iter().zip(results).map(exact).collect()
}

struct Attended<'a> {
    op: &'a Attention,
    sizes: Sizes,
    operands: &'a [&'a [f64]],
    mask: Option<&'a Exact>,
    scale: f64,
    kept: Option<Kept>,
}

/// The weights of one query.
struct Row<'a> {
    attention: &'a Attended<'a>,
    batch: usize,
    head: usize,
    query: usize,
    weights: Vec<f64>,
    /// What dropout multiplies each weight by.
    factors: Vec<f64>,
    /// The largest score, and the logarithm of the sum of the exponentials below it.
    logarithm: [f64; 2],
}

impl Attended<'_> {
    /// A row of an operand (B, heads, rows, width).
    fn vector(&self, operand: usize, [batch, head, row]: [usize; 3]) -> &[f64] {
        let Sizes { heads, key_heads, queries, keys, width, value_width, .. } = self.sizes;
        let (heads, rows, width) = match operand {
            0 => (heads, queries, width),
            1 => (key_heads, keys, width),
            _ => (key_heads, keys, value_width),
        };
        &self.operands[operand][((batch * heads + head) * rows + row) * width..][..width]
    }

    /// What the mask makes of a score.
    fn masked(&self, score: f64, place: [usize; 4]) -> f64 {
        let Some(mask) = self.mask else { return score };
        let at = mask.shape.iter().zip(place).fold(0, |at, (&size, c)| at * size + c.min(size - 1));
        match &mask.values {
            Block::Bool(sees) if sees[at] => score,
            Block::Bool(_) => f64::NEG_INFINITY,
            _ => score + floats(mask)[at],
        }
    }

    fn row(&self, batch: usize, head: usize, query: usize) -> Row<'_> {
        let seen = if self.op.causal { self.sizes.keys.min(query + 1) } else { self.sizes.keys };
        let q = self.vector(0, [batch, head, query]);
        let score = |key: usize| {
            let k = self.vector(1, [batch, head / self.sizes.members(), key]);
            let product: f64 = q.iter().zip(k).map(|(q, k)| q * k).sum();
            self.masked(product * self.scale, [batch, head, query, key])
        };
        let scores: Vec<f64> = (0..seen).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        let weights = scores.iter().map(|score| (score - largest).exp() / sum).collect();
        let number = self.sizes.row(batch, head, query);
        let factor = |key: usize| match &self.kept {
            Some(kept) if kept.keeps(number, self.sizes.keys, key) => kept.factor,
            Some(_) => 0.0,
            None => 1.0,
        };
        let factors = (0..seen).map(factor).collect();
        Row { attention: self, batch, head, query, weights, factors, logarithm: [largest, sum.ln()] }
    }
}

/// sum += factor · x.
fn add(sum: &mut [f64], factor: f64, x: &[f64]) {
    sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
}

impl Row<'_> {
    /// The values of a key, or the key itself.
    fn of_key(&self, operand: usize, key: usize) -> &[f64] {
        let head = self.head / self.attention.sizes.members();
        self.attention.vector(operand, [self.batch, head, key])
    }

    /// Where the query's numbers start in a result (B, L, H, width).
    fn place(&self, width: usize) -> usize {
        let Sizes { queries, heads, .. } = self.attention.sizes;
        ((self.batch * queries + self.query) * heads + self.head) * width
    }

    /// Where a key's numbers start in a result (B, S, G, width).
    fn place_of_key(&self, key: usize, width: usize) -> usize {
        let Sizes { keys, key_heads, .. } = self.attention.sizes;
        ((self.batch * keys + key) * key_heads + self.head / self.attention.sizes.members()) * width
    }

    fn forward(&self, results: &mut [Vec<f64>]) {
        let place = self.place(self.attention.sizes.value_width);
        for (key, (weight, factor)) in self.weights.iter().zip(&self.factors).enumerate() {
            add(&mut results[0][place..], weight * factor, self.of_key(2, key));
        }
        results[1][self.place(2)..][..2].copy_from_slice(&self.logarithm);
    }

    fn backward(&self, results: &mut [Vec<f64>]) {
        let Sizes { width, value_width, .. } = self.attention.sizes;
        let gradient = &self.attention.operands[3][self.place(value_width)..][..value_width];
        let by_weight = |key: usize| {
            let value = self.of_key(2, key);
            gradient.iter().zip(value).map(|(g, value)| g * value).sum::<f64>() * self.factors[key]
        };
        let by_weight: Vec<f64> = (0..self.weights.len()).map(by_weight).collect();
        let mean: f64 = by_weight.iter().zip(&self.weights).map(|(by, weight)| by * weight).sum();
        let query = self.attention.vector(0, [self.batch, self.head, self.query]);
        // With a mask, keys and values are neighbours in one result.
        let masked = self.attention.op.masked;
        let (key_pitch, value_pitch) =
            if masked { (width + value_width, width + value_width) } else { (width, value_width) };
        for (key, weight) in self.weights.iter().enumerate() {
            let by_score = weight * (by_weight[key] - mean) * self.attention.scale;
            add(&mut results[0][self.place(width)..][..width], by_score, self.of_key(1, key));
            let by_key = self.place_of_key(key, key_pitch);
            add(&mut results[1][by_key..][..width], by_score, query);
            let by_value = self.place_of_key(key, value_pitch) + if masked { width } else { 0 };
            let values = &mut results[if masked { 1 } else { 2 }];
            add(&mut values[by_value..][..value_width], weight * self.factors[key], gradient);
        }
    }
}
