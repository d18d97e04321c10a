//! Scaled dot-product attention, forward and backward, in memory linear in the length of the sequences: the scores of
//! a few queries at a time, with the sums of their exponentials carried along (online softmax). Forward keeps each
//! query's largest score and the logarithm of its sum beside it; backward computes the weights again from them. (Added
//! up, large scores would leave the logarithm few digits.)
//!
//! - `cpu`: matrix products of blocks of queries, heads on different cores;
//! - `wgsl`: matrix products of blocks of queries with blocks of keys, through workgroup memory (`stages`).
//!
//! Derivatives of derivatives come from the composite definition in this file.

mod cpu;
mod samples;
mod stages;
mod wgsl;

use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp, not_differentiable};
use crate::autograd::is_grad_enabled;
use crate::calls::Methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::shape::{Shape, product};
use smallvec::smallvec;

/// The longest query, key or value that the kernels take.
pub(crate) const MAX_WIDTH: usize = 128;

/// Attention of queries (B, H, L, E) to keys (B, H, S, E) and values (B, H, S, V); data\[0\] is the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Attention {
    /// Query i sees keys 0 to i only.
    pub causal: bool,
    pub direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    /// (q, k, v) → the weighted sums (B, L, H, V), and (B, L, H, 2): each query's largest score m and log Σ e^(score − m).
    Forward,
    /// (q, k, v, gradient of the sums (B, L, H, V), logarithms (B, L, H, 2), Σ gradient · sums (B, L, H)) → the gradients
    /// of queries (B, L, H, E), keys (B, S, H, E) and values (B, S, H, V).
    Backward,
}

/// B, H, L, S, E and V.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    batches: usize,
    heads: usize,
    queries: usize,
    keys: usize,
    width: usize,
    value_width: usize,
}

impl Sizes {
    fn new(query: &Shape, value: &Shape) -> Sizes {
        let (batches, heads, queries, width) = (query[0], query[1], query[2], query[3]);
        Sizes { batches, heads, queries, keys: value[2], width, value_width: value[3] }
    }
}

/// Scores of queries (…, L, E) against keys (…, S, E), with −∞ where a query does not see a key.
#[track_caller]
pub(crate) fn scores(query: &Tensor, key: &Tensor, scale: f64, causal: bool) -> Result<Tensor> {
    let scores = query.try_mul(scale)?.try_matmul(&key.try_transpose(-2, -1)?)?;
    if !causal {
        return Ok(scores);
    }
    let (rows, columns) = (scores.rank() - 2, scores.rank() - 1);
    let row = scores.iota_of(scores.shape(), rows)?;
    let sees = scores.iota_of(scores.shape(), columns)?.try_le(&row)?;
    sees.try_where_cond(&scores, f64::NEG_INFINITY)
}

/// May queries, keys and values be given to the kernels?
pub(crate) fn applies(query: &Tensor, key: &Tensor, value: &Tensor) -> bool {
    let operands = [query, key, value];
    let rank = query.rank();
    let leading = |x: &Tensor| Shape::new(&x.shape()[..rank - 2]);
    operands.iter().all(|x| x.dtype() == DType::F32 && x.rank() == rank && x.numel() > 0)
        && operands.iter().all(|x| x.shape()[rank - 1] <= MAX_WIDTH)
        && leading(query) == leading(key)
        && leading(query) == leading(value)
}

/// softmax(Q Kᵀ · scale) V for queries (…, L, E), keys (…, S, E) and values (…, S, V) that [`applies`] to.
#[track_caller]
pub(crate) fn attend(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    scale: f64,
    causal: bool,
) -> Result<Tensor> {
    let rank = query.rank();
    // (B, H, …): fewer dimensions have formal ones in front, more are joined to one.
    let four = |x: &Tensor| {
        let (length, width) = (x.shape()[rank - 2], x.shape()[rank - 1]);
        match rank {
            4 => Ok(x.clone()),
            _ => x.try_reshape([x.numel() / (length * width), 1, length, width]),
        }
    };
    let (q, k, v) = (four(query)?, four(key)?, four(value)?);
    let sizes = Sizes::new(q.shape(), v.shape());
    let rows = [sizes.batches, sizes.queries, sizes.heads];
    let outputs = smallvec![
        Meta::new([rows[0], rows[1], rows[2], sizes.value_width], DType::F32),
        Meta::new([rows[0], rows[1], rows[2], 2], DType::F32),
    ];
    let op = Attention { causal, direction: Direction::Forward };
    let op = Op::Structured(StructuredOp::Attention(op));
    let sums = Tensor::from_op_multi(op, &[&q, &k, &v], outputs, &[Scalar::Float(scale)])?;
    let sums = sums[0].try_permute(&[0, 2, 1, 3])?;
    match rank {
        4 => Ok(sums),
        _ => sums.try_reshape(query.shape().with(rank - 1, sizes.value_width)),
    }
}

/// Gradients of queries, keys and values, written with tensor ops: what can be differentiated again.
#[track_caller]
fn composite_gradients(inputs: &[Tensor], gradient: &Tensor, scale: f64, causal: bool) -> Result<Grads> {
    let [query, key, value] = inputs else { unreachable!("attention has three inputs") };
    let weights = scores(query, key, scale, causal)?.try_softmax(-1)?;
    let by_weight = gradient.try_matmul(&value.try_transpose(-2, -1)?)?;
    let mean = by_weight.try_mul(&weights)?.try_sum_keepdim(-1)?;
    let by_score = weights.try_mul(&by_weight.try_sub(&mean)?)?.try_mul(scale)?;
    Ok(vec![
        Some(by_score.try_matmul(key)?),
        Some(by_score.try_transpose(-2, -1)?.try_matmul(query)?),
        Some(weights.try_transpose(-2, -1)?.try_matmul(gradient)?),
    ])
}

impl Kernels for Attention {
    fn name(&self) -> &'static str {
        match self.direction {
            Direction::Forward => "attention",
            Direction::Backward => "attention_backward",
        }
    }

    fn layout(&self, input: usize) -> Layout {
        if input < 4 { Layout::Strided } else { Layout::Contiguous }
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], data: &[Scalar]) -> Result<()> {
        let sizes = Sizes::new(&inputs[0].meta.shape, &inputs[2].meta.shape);
        cpu::run(self, &sizes, inputs, outputs, data[0].to_f64() as f32)
    }

    /// For every query and key that sees it: forward a score and a weighted value, backward the score again, the gradients
    /// of weights, values, queries and keys.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let Sizes { batches, heads, queries, keys, width, value_width } =
            Sizes::new(&call.inputs[0].meta.shape, &call.inputs[2].meta.shape);
        let seen = match self.causal {
            true => (1..=queries).map(|position| position.min(keys)).sum(),
            false => product([queries, keys]),
        };
        let terms = match self.direction {
            Direction::Forward => width + value_width,
            Direction::Backward => 3 * width + 2 * value_width,
        };
        product([2, batches, heads, seen, terms]) as u64
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let sizes = Sizes::new(&call.inputs[0].meta.shape, &call.inputs[2].meta.shape);
        Ok(match self.direction {
            Direction::Forward => vec![wgsl::program(self, wgsl::Kind::Forward, &sizes, call)],
            Direction::Backward => vec![
                wgsl::program(self, wgsl::Kind::Queries, &sizes, call),
                wgsl::program(self, wgsl::Kind::Keys, &sizes, call),
            ],
        })
    }
}

impl Structured for Attention {
    fn saves(&self) -> Saves {
        match self.direction {
            Direction::Forward => Saves { inputs: 0b111, outputs: true },
            Direction::Backward => Saves::NOTHING,
        }
    }

    /// With P the weights, s the scale and g the gradient: dV = Pᵀ g, dQ = s D K and dK = s Dᵀ Q, where
    /// D = P · (g Vᵀ − Σ g · sums).
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (Direction::Forward, Some(gradient)) = (self.direction, &v.grads[0]) else {
            return not_differentiable(v);
        };
        let inputs = &v.inputs[..3];
        if is_grad_enabled() {
            let gradient = gradient.try_permute(&[0, 2, 1, 3])?;
            return composite_gradients(inputs, &gradient, v.data[0].to_f64(), self.causal);
        }
        let (sums, logarithms) = (&v.outputs[0], &v.outputs[1]);
        let along = gradient.try_mul(sums)?.try_sum(-1)?;
        let sizes = Sizes::new(inputs[0].shape(), inputs[2].shape());
        let (b, h) = (sizes.batches, sizes.heads);
        let outputs = smallvec![
            Meta::new([b, sizes.queries, h, sizes.width], DType::F32),
            Meta::new([b, sizes.keys, h, sizes.width], DType::F32),
            Meta::new([b, sizes.keys, h, sizes.value_width], DType::F32),
        ];
        let op = Attention { direction: Direction::Backward, ..*self };
        let op = Op::Structured(StructuredOp::Attention(op));
        let operands = [&inputs[0], &inputs[1], &inputs[2], gradient, logarithms, &along];
        let gradients = Tensor::from_op_multi(op, &operands, outputs, &[v.data[0]])?;
        gradients.iter().map(|gradient| gradient.try_permute(&[0, 2, 1, 3]).map(Some)).collect()
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Result<Vec<Exact>> {
        let floats = |input: usize| match &inputs[input].values {
            Block::F64(values) => &values[..],
            _ => unreachable!("attention is of floats"),
        };
        let sizes = Sizes::new(&inputs[0].shape, &inputs[2].shape);
        let scale = data[0].to_f64();
        let mut results: Vec<Vec<f64>> = outputs.iter().map(|meta| vec![0.0; meta.numel()]).collect();
        for head in 0..sizes.batches * sizes.heads {
            for query in 0..sizes.queries {
                let row = self.exact_row(&sizes, (floats(0), floats(1), floats(2)), scale, head, query);
                match self.direction {
                    Direction::Forward => row.forward(&sizes, floats(2), &mut results),
                    Direction::Backward => {
                        row.backward(
                            &sizes,
                            [floats(0), floats(1), floats(2), floats(3)],
                            scale,
                            &mut results,
                        );
                    }
                }
            }
        }
        let exact = |(meta, values): (&Meta, Vec<f64>)| Exact {
            shape: meta.shape.clone(),
            dtype: meta.dtype,
            values: Block::F64(values),
        };
        Ok(outputs.iter().zip(results).map(exact).collect())
    }
}

/// The weights of one query, in f64.
struct ExactRow {
    batch: usize,
    head: usize,
    query: usize,
    weights: Vec<f64>,
    /// The largest score, and the logarithm of the sum of the exponentials below it.
    logarithm: [f64; 2],
}

impl Attention {
    fn exact_row(
        &self,
        sizes: &Sizes,
        (queries, keys, _): (&[f64], &[f64], &[f64]),
        scale: f64,
        head: usize,
        query: usize,
    ) -> ExactRow {
        let seen = if self.causal { sizes.keys.min(query + 1) } else { sizes.keys };
        let q = &queries[(head * sizes.queries + query) * sizes.width..][..sizes.width];
        let score = |key: usize| {
            let k = &keys[(head * sizes.keys + key) * sizes.width..][..sizes.width];
            q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() * scale
        };
        let scores: Vec<f64> = (0..seen).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        let weights = scores.iter().map(|score| (score - largest).exp() / sum).collect();
        let (batch, head) = (head / sizes.heads, head % sizes.heads);
        ExactRow { batch, head, query, weights, logarithm: [largest, sum.ln()] }
    }
}

impl ExactRow {
    /// Where this head's row number `row` starts in a result (B, rows, H, width).
    fn place(&self, sizes: &Sizes, rows: usize, row: usize, width: usize) -> usize {
        ((self.batch * rows + row) * sizes.heads + self.head) * width
    }

    fn forward(&self, sizes: &Sizes, values: &[f64], results: &mut [Vec<f64>]) {
        let (head, width) = (self.batch * sizes.heads + self.head, sizes.value_width);
        let place = self.place(sizes, sizes.queries, self.query, width);
        for (key, weight) in self.weights.iter().enumerate() {
            let value = &values[(head * sizes.keys + key) * width..][..width];
            results[0][place..].iter_mut().zip(value).for_each(|(sum, value)| *sum += weight * value);
        }
        results[1][self.place(sizes, sizes.queries, self.query, 2)..][..2].copy_from_slice(&self.logarithm);
    }

    fn backward(
        &self,
        sizes: &Sizes,
        [queries, keys, values, gradients]: [&[f64]; 4],
        scale: f64,
        results: &mut [Vec<f64>],
    ) {
        let head = self.batch * sizes.heads + self.head;
        let (width, value_width) = (sizes.width, sizes.value_width);
        let g = &gradients[self.place(sizes, sizes.queries, self.query, value_width)..][..value_width];
        let by_weight = |key: usize| {
            let value = &values[(head * sizes.keys + key) * value_width..][..value_width];
            g.iter().zip(value).map(|(g, value)| g * value).sum::<f64>()
        };
        let by_weight: Vec<f64> = (0..self.weights.len()).map(by_weight).collect();
        let mean: f64 = by_weight.iter().zip(&self.weights).map(|(by, weight)| by * weight).sum();
        let query = &queries[(head * sizes.queries + self.query) * width..][..width];
        for (key, weight) in self.weights.iter().enumerate() {
            let by_score = weight * (by_weight[key] - mean) * scale;
            let k = &keys[(head * sizes.keys + key) * width..][..width];
            let place = self.place(sizes, sizes.queries, self.query, width);
            results[0][place..].iter_mut().zip(k).for_each(|(sum, k)| *sum += by_score * k);
            let place = self.place(sizes, sizes.keys, key, width);
            results[1][place..].iter_mut().zip(query).for_each(|(sum, q)| *sum += by_score * q);
            let place = self.place(sizes, sizes.keys, key, value_width);
            results[2][place..].iter_mut().zip(g).for_each(|(sum, g)| *sum += weight * g);
        }
    }
}

impl Listed for Attention {
    const NAMES: &'static [&'static str] = &["attention", "attention_backward"];

    fn samples() -> Vec<Case> {
        samples::samples()
    }
}

/// Scripts have attention with masks and dropout, which is a function of `nn`.
impl Methods for Attention {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::testing::{call, validate};

    #[test]
    fn shaders_are_valid() {
        for [l, s, e, v] in [[256, 256, 64, 64], [33, 70, 5, 7], [1, 40, 128, 100], [64, 1, 4, 128]] {
            let (b, h) = (2, 3);
            let shapes: [&[usize]; 6] =
                [&[b, h, l, e], &[b, h, s, e], &[b, h, s, v], &[b, l, h, v], &[b, l, h, 2], &[b, l, h]];
            let inputs = shapes.map(|shape| (shape, DType::F32));
            for causal in [false, true] {
                let of = |direction| StructuredOp::Attention(Attention { causal, direction });
                let forward = validate(&call(of(Direction::Forward), &inputs[..3], &inputs[3..5]));
                let gradients: [&[usize]; 3] = [&[b, l, h, e], &[b, s, h, e], &[b, s, h, v]];
                let gradients = gradients.map(|shape| (shape, DType::F32));
                let backward = validate(&call(of(Direction::Backward), &inputs, &gradients));
                assert_eq!((forward.len(), backward.len()), (1, 2));
            }
        }
    }
}
