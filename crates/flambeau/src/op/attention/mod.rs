//! Scaled dot-product attention, forward and backward, in memory linear in the length of the sequences: the scores of
//! a few queries at a time, with the sums of their exponentials carried along (online softmax). Forward keeps each
//! query's largest score and the logarithm of its sum beside it; backward computes the weights again from them. (Added
//! up, large scores would leave the logarithm few digits.) Masks are read where they lie, dropout draws the same numbers
//! again in backward, and several heads of queries may share one of keys and values.
//!
//! - `definition`: what is computed, with tensor ops, for all that has no kernels, such as derivatives of derivatives;
//! - `exact`: the same in f64, for the interpreter;
//! - `cpu`: matrix products of blocks of queries, heads on different cores;
//! - `wgsl`: matrix products of blocks of queries with blocks of keys, through workgroup memory (`stages`), or on matrix units
//!   (`units`); `weighing` has what masks and dropout do with the scores of a block.

mod cpu;
mod definition;
mod exact;
mod samples;
mod stages;
#[cfg(test)]
mod tests;
mod units;
mod weighing;
mod wgsl;

use super::batch::{BatchCall, Batched, Sample, batched_draw, folded, unfolded};
use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp, not_differentiable};
use crate::autograd::is_grad_enabled;
use crate::calls::Methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::HostBuffer;
use crate::ir::call::{CpuOperand, Kernels, Layout, OnUnits, StructuredCall};
use crate::ir::program::Program;
use crate::rng::{self, Draw};
use crate::shape::{Shape, product};
pub(crate) use definition::{Dropout, Terms, weights};
use smallvec::{SmallVec, smallvec};

/// Attention of queries (B, H, L, E) to keys (B, G, S, E) and values (B, G, S, V), in F32 or F16, where H is a multiple of
/// G: heads of queries that follow each other share keys and values. data\[0\] is the scale; with dropout data\[1..5\] is
/// the key and the counter of the draw, data\[5\] the share of weights that are kept and data\[6\] what they are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Attention {
    /// Query i sees keys 0 to i only.
    pub causal: bool,
    /// Is a mask the last input? Each of its sizes is that of the scores (B, H, L, S), or 1. Booleans (which keys are seen),
    /// or F32 or F16 (what is added to the scores).
    pub masked: bool,
    /// Are weights dropped?
    pub dropout: bool,
    pub direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    /// (q, k, v) → the weighted sums (B, L, H, V), and (B, L, H, 2): each query's largest score m and log Σ e^(score − m).
    Forward,
    /// (q, k, v, gradient of the sums (B, L, H, V), logarithms (B, L, H, 2), Σ gradient · sums (B, L, H)) → the gradients
    /// of queries (B, L, H, E), keys (B, S, G, E) and values (B, S, G, V). With a mask, the last two lie in one result
    /// (B, S, G, E + V): a kernel can count on eight buffers, and the mask is one of them.
    Backward,
}

/// B, H, G, L, S, E and V.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    batches: usize,
    heads: usize,
    key_heads: usize,
    queries: usize,
    keys: usize,
    width: usize,
    value_width: usize,
}

impl Sizes {
    fn new(query: &Shape, value: &Shape) -> Sizes {
        let (batches, heads, queries, width) = (query[0], query[1], query[2], query[3]);
        let (key_heads, keys, value_width) = (value[1], value[2], value[3]);
        Sizes { batches, heads, key_heads, queries, keys, width, value_width }
    }

    /// Heads of queries that share a head of keys.
    fn members(&self) -> usize {
        self.heads / self.key_heads
    }

    /// The number of a query's row of scores among all.
    fn row(&self, batch: usize, head: usize, query: usize) -> usize {
        (batch * self.heads + head) * self.queries + query
    }
}

/// Which weights are dropped.
#[derive(Debug, Clone, Copy)]
struct Kept {
    draw: Draw,
    /// The share of weights that are kept.
    share: f32,
    /// What the kept ones are multiplied by.
    factor: f64,
}

impl Kept {
    /// Is the weight of a key kept? `row` is the number of its row among all, of `keys` weights each.
    #[inline]
    fn keeps(&self, row: usize, keys: usize, key: usize) -> bool {
        let (words, counter) = self.draw;
        let element = row as u64 * keys as u64 + key as u64;
        rng::uniform(rng::random_bits(words, rng::counter_at(counter, element))) < self.share
    }
}

impl Attention {
    /// The inputs before the mask.
    fn operands(&self) -> usize {
        match self.direction {
            Direction::Forward => 3,
            Direction::Backward => 6,
        }
    }

    /// Which weights a node's numbers say to keep.
    fn kept(&self, data: &[Scalar]) -> Option<Kept> {
        let word = |index: usize| data[index].to_i64() as u32;
        self.dropout.then(|| Kept {
            draw: ([word(1), word(2)], [word(3), word(4)]),
            share: data[5].to_f64() as f32,
            factor: data[6].to_f64(),
        })
    }

    /// What a node's numbers and its mask say, for the definition.
    fn terms(&self, data: &[Scalar], mask: Option<&Tensor>) -> Terms {
        let dropout = self.kept(data).map(|kept| Dropout { share: data[5].to_f64(), draw: kept.draw });
        Terms { scale: data[0].to_f64(), causal: self.causal, mask: mask.cloned(), dropout }
    }

    /// The results of a direction, in the dtype of the operands.
    fn outputs(&self, sizes: &Sizes, dtype: DType) -> SmallVec<[Meta; 1]> {
        let Sizes { batches, heads, key_heads, queries, keys, width, value_width } = *sizes;
        let by_key = |width: usize| Meta::new([batches, keys, key_heads, width], dtype);
        match (self.direction, self.masked) {
            (Direction::Forward, _) => smallvec![
                Meta::new([batches, queries, heads, value_width], dtype),
                Meta::new([batches, queries, heads, 2], DType::F32),
            ],
            (Direction::Backward, masked) => {
                let by_query = Meta::new([batches, queries, heads, width], dtype);
                match masked {
                    true => smallvec![by_query, by_key(width + value_width)],
                    false => smallvec![by_query, by_key(width), by_key(value_width)],
                }
            }
        }
    }
}

/// May queries, keys and values be given to the kernels? They have the same number of dimensions, and are the same in all but
/// the last two and, where heads of queries share those of keys, the one before.
fn fits(query: &Tensor, key: &Tensor, value: &Tensor) -> bool {
    let operands = [query, key, value];
    let computed = matches!(query.dtype(), DType::F32 | DType::F16);
    computed && operands.iter().all(|x| x.dtype() == query.dtype() && x.numel() > 0)
}

/// softmax(Q Kᵀ · scale + mask) V for queries (…, L, E), keys (…, S, E) and values (…, S, V) of which all but the last two
/// dimensions agree; before these, heads of queries may be a multiple of those of keys and values.
#[track_caller]
pub(crate) fn attend(query: &Tensor, key: &Tensor, value: &Tensor, terms: &Terms) -> Result<Tensor> {
    // A single query has no more scores than keys, and products share the work better than a kernel of blocks does: what a
    // model with a cache of keys asks, token by token.
    let single = terms.mask.is_some() && query.size(-2) == 1;
    match fits(query, key, value) && !single {
        true => fused(query, key, value, terms),
        false => definition::attend(query, key, value, terms),
    }
}

/// [`attend`] with the kernels, to operands that [`fits`].
#[track_caller]
fn fused(query: &Tensor, key: &Tensor, value: &Tensor, terms: &Terms) -> Result<Tensor> {
    let rank = query.rank();
    let heads = |x: &Tensor| if rank < 3 { 1 } else { x.shape()[rank - 3] };
    let shared = heads(query) != heads(key);
    // (B, H, …): fewer dimensions have formal ones in front, more are joined to one.
    let four = |x: &Tensor, heads: usize| {
        let (rows, width) = (x.shape()[rank - 2], x.shape()[rank - 1]);
        match rank {
            4 => Ok(x.clone()),
            _ => x.try_reshape([x.numel() / (heads * rows * width), heads, rows, width]),
        }
    };
    let joined = |x: &Tensor| four(x, if shared { heads(x) } else { 1 });
    let (q, k, v) = (joined(query)?, joined(key)?, joined(value)?);
    let mask = terms.mask.as_ref().map(|mask| -> Result<Tensor> {
        let mask = match mask.dtype() {
            DType::Bool | DType::F32 | DType::F16 => mask.clone(),
            _ => mask.try_to_dtype(DType::F32)?,
        };
        // Only what is joined is repeated: never a mask of keys for all queries.
        let missing = std::iter::repeat_n(1, rank - mask.rank());
        let mask = mask.try_reshape(missing.chain(mask.shape().iter().copied()).collect::<Shape>())?;
        let last = Shape::new(&mask.shape()[rank - 2..]);
        match mask.numel() == last.numel() {
            true => mask.try_reshape([1, 1, last[0], last[1]]),
            false if rank == 4 => Ok(mask),
            false => {
                let leading = query.shape()[..rank - 2].iter().chain(last.iter()).copied();
                joined(&mask.try_expand(leading.collect::<Shape>())?)
            }
        }
    });
    let mask = mask.transpose()?;
    let sizes = Sizes::new(q.shape(), v.shape());
    let op = Attention {
        causal: terms.causal,
        masked: mask.is_some(),
        dropout: terms.dropout.is_some(),
        direction: Direction::Forward,
    };
    let mut data: SmallVec<[Scalar; 8]> = smallvec![Scalar::Float(terms.scale)];
    if let Some(Dropout { share, draw: (words, counter) }) = terms.dropout {
        data.extend(words.into_iter().chain(counter).map(Scalar::from));
        data.extend([share, 1.0 / share].map(Scalar::Float));
    }
    let operands: SmallVec<[&Tensor; 4]> = [&q, &k, &v].into_iter().chain(&mask).collect();
    let outputs = op.outputs(&sizes, q.dtype());
    let op = Op::Structured(StructuredOp::Attention(op));
    let sums = Tensor::from_op_multi(op, &operands, outputs, &data)?;
    let sums = sums[0].try_permute(&[0, 2, 1, 3])?;
    match rank {
        4 => Ok(sums),
        _ => sums.try_reshape(query.shape().with(rank - 1, sizes.value_width)),
    }
}

impl Kernels for Attention {
    fn name(&self) -> &'static str {
        match self.direction {
            Direction::Forward => "attention",
            Direction::Backward => "attention_backward",
        }
    }

    fn layout(&self, input: usize) -> Layout {
        if input < 4 || input == self.operands() { Layout::Strided } else { Layout::Contiguous }
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], data: &[Scalar]) -> Result<()> {
        let sizes = Sizes::new(&inputs[0].meta.shape, &inputs[2].meta.shape);
        cpu::run(self, &sizes, inputs, outputs, data)
    }

    /// For every query and key that sees it: forward a score and a weighted value, backward the score again, the gradients
    /// of weights, values, queries and keys. What a mask hides is computed, too.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let Sizes { batches, heads, queries, keys, width, value_width, .. } =
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

    fn on_units(&self, call: &StructuredCall) -> Option<OnUnits> {
        let sizes = Sizes::new(&call.inputs[0].meta.shape, &call.inputs[2].meta.shape);
        let dtype = call.inputs[0].meta.dtype;
        matches!(dtype, DType::F16 | DType::F32).then(|| units::of_call(&sizes, call).map(|_| ()))
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
            Direction::Forward => Saves { inputs: 0b1111, outputs: true },
            Direction::Backward => Saves::NOTHING,
        }
    }

    /// With P the weights, s the scale and g the gradient: dV = Pᵀ g, dQ = s D K and dK = s Dᵀ Q, where
    /// D = P · (g Vᵀ − Σ g · sums). With dropout dV has the weights that were kept, and so has g Vᵀ.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (Direction::Forward, Some(gradient)) = (self.direction, &v.grads[0]) else {
            return not_differentiable(v);
        };
        let (inputs, mask) = (&v.inputs[..3], v.inputs.get(3));
        // The gradient of a mask is as large as all scores.
        if is_grad_enabled() || v.needs.get(3).is_some_and(|&needs| needs) {
            let gradient = gradient.try_permute(&[0, 2, 1, 3])?;
            return definition::gradients(inputs, &gradient, &self.terms(v.data, mask));
        }
        let (sums, logarithms) = (&v.outputs[0], &v.outputs[1]);
        let wide =
            |x: &Tensor| if x.dtype() == DType::F16 { x.try_to_dtype(DType::F32) } else { Ok(x.clone()) };
        let along = wide(gradient)?.try_mul(&wide(sums)?)?.try_sum(-1)?;
        let sizes = Sizes::new(inputs[0].shape(), inputs[2].shape());
        let op = Attention { direction: Direction::Backward, ..*self };
        let outputs = op.outputs(&sizes, inputs[0].dtype());
        let op = Op::Structured(StructuredOp::Attention(op));
        let operands = [&inputs[0], &inputs[1], &inputs[2], gradient, logarithms, &along];
        let operands: SmallVec<[&Tensor; 7]> = operands.into_iter().chain(mask).collect();
        let results = Tensor::from_op_multi(op, &operands, outputs, v.data)?;
        let heads_first = |gradient: &Tensor| gradient.try_permute(&[0, 2, 1, 3]).map(Some);
        let Some(_) = mask else { return results.iter().map(heads_first).collect() };
        let by_key = results[1].try_narrow(3, 0, sizes.width)?;
        let by_value = results[1].try_narrow(3, sizes.width, sizes.value_width)?;
        Ok(vec![heads_first(&results[0])?, heads_first(&by_key)?, heads_first(&by_value)?, None])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Result<Vec<Exact>> {
        Ok(exact::compute(self, inputs, outputs, data))
    }
}

impl Listed for Attention {
    const NAMES: &'static [&'static str] = &["attention", "attention_backward"];

    fn samples() -> Vec<Case> {
        samples::samples()
    }

    /// Samples are further batches of queries, keys and values.
    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        if self.dropout && !call.draws_differ {
            return call.one_by_one();
        }
        let batches = call.inputs[0].tensor().shape()[usize::from(call.inputs[0].is_each())];
        let operand = |(index, input): (usize, &Sample)| match input {
            // A mask may be one for all batches.
            Sample::Same(mask) if index == self.operands() && mask.shape()[0] == 1 => Ok(mask.clone()),
            _ => {
                let each = call.each(index)?;
                let shape = each.shape().with(1, batches);
                folded(&if index == self.operands() { each.try_expand(&shape)? } else { each })
            }
        };
        let inputs = call.inputs.iter().enumerate().map(operand).collect::<Result<Vec<_>>>()?;
        let folded = |meta: &Meta| Meta::new(meta.shape.with(0, call.size * meta.shape[0]), meta.dtype);
        let mut data: SmallVec<[Scalar; 8]> = SmallVec::from_slice(call.data);
        if self.dropout {
            data[1..5].copy_from_slice(&batched_draw(&call.data[1..5]));
        }
        let (inputs, outputs) =
            (inputs.iter().collect::<Vec<_>>(), call.outputs.iter().map(folded).collect());
        let results = Tensor::from_op_multi(call.op.clone(), &inputs, outputs, &data)?;
        results.iter().zip(call.outputs).map(|(result, meta)| unfolded(result, call.size, meta)).collect()
    }
}

/// Scripts have attention with masks and dropout, which is a function of `nn`.
impl Methods for Attention {}
