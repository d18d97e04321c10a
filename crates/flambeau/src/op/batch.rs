//! How ops are batched: what `func::vmap` makes of a node that was recorded for one sample.
//!
//! A batched value has the samples along a new first dimension. Elementwise ops and casts stay what they are; views,
//! reductions and gathers work on dimensions one further on; a structured primitive says it where it is defined
//! ([`Listed::batch`](super::structured::Listed::batch)), else it runs once for each sample.

use super::{Meta, Op, Reduce, StructuredOp, Tensor, View};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::rng;
use crate::shape::Shape;
use smallvec::SmallVec;

/// What a value recorded for one sample is in a batch.
#[derive(Clone)]
pub(crate) enum Sample {
    /// The same value for all samples.
    Same(Tensor),
    /// One value for each sample, along the first dimension.
    Each(Tensor),
}

impl Sample {
    pub fn tensor(&self) -> &Tensor {
        match self {
            Sample::Same(tensor) | Sample::Each(tensor) => tensor,
        }
    }

    pub fn is_each(&self) -> bool {
        matches!(self, Sample::Each(_))
    }
}

/// The results of an op for all samples.
pub(crate) type Batched = SmallVec<[Tensor; 1]>;

/// An op to be computed for every sample of a batch.
pub(crate) struct BatchCall<'a> {
    pub op: &'a Op,
    /// How many samples there are.
    pub size: usize,
    /// At least one of them is [`Sample::Each`].
    pub inputs: &'a [Sample],
    /// The results of one sample.
    pub outputs: &'a [Meta],
    pub data: &'a [Scalar],
    /// Does every sample draw random numbers of its own?
    pub draws_differ: bool,
}

impl BatchCall<'_> {
    /// An input for each sample; one that is the same for all is repeated, which is a view.
    pub fn each(&self, index: usize) -> Result<Tensor> {
        match &self.inputs[index] {
            Sample::Each(tensor) => Ok(tensor.clone()),
            Sample::Same(tensor) => {
                tensor.try_unsqueeze(0)?.try_expand(tensor.shape().inserted(0, self.size))
            }
        }
    }

    /// All inputs for each sample.
    pub fn all(&self) -> Result<Vec<Tensor>> {
        (0..self.inputs.len()).map(|index| self.each(index)).collect()
    }

    /// The results of all samples, as the op that takes all inputs batched gives them.
    pub fn by(&self, op: Op) -> Result<Batched> {
        let inputs = self.all()?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let outputs =
            self.outputs.iter().map(|meta| Meta::new(meta.shape.inserted(0, self.size), meta.dtype));
        Tensor::from_op_multi(op, &inputs, outputs.collect(), self.data)
    }

    /// The same op, which takes any number of leading dimensions.
    pub fn leading(&self) -> Result<Batched> {
        self.by(self.op.clone())
    }

    /// Another structured op with all inputs batched.
    pub fn by_structured(&self, op: StructuredOp) -> Result<Batched> {
        self.by(Op::Structured(op))
    }

    /// The op, once for each sample: right for every op, and as slow as it sounds.
    pub fn one_by_one(&self) -> Result<Batched> {
        let mut results: Vec<Vec<Tensor>> = vec![Vec::with_capacity(self.size); self.outputs.len()];
        for sample in 0..self.size {
            let pick = |input: &Sample| match input {
                Sample::Same(tensor) => Ok(tensor.clone()),
                Sample::Each(tensor) => tensor.try_select(0, sample as isize),
            };
            let inputs = self.inputs.iter().map(pick).collect::<Result<Vec<_>>>()?;
            let inputs: Vec<&Tensor> = inputs.iter().collect();
            let outputs = self.outputs.iter().cloned().collect();
            let made = Tensor::from_op_multi(self.op.clone(), &inputs, outputs, self.data)?;
            results.iter_mut().zip(made).for_each(|(all, one)| all.push(one));
        }
        let device = self.inputs[0].tensor().device();
        let stack = |(all, meta): (Vec<Tensor>, &Meta)| match all.is_empty() {
            true => Tensor::try_full(meta.shape.inserted(0, 0), 0, (meta.dtype, device)),
            false => Tensor::try_stack(&all, 0),
        };
        results.into_iter().zip(self.outputs).map(stack).collect()
    }
}

/// A value (S, N, …) with its first two dimensions as one: (S·N, …).
pub(crate) fn folded(x: &Tensor) -> Result<Tensor> {
    let sizes = x.shape().dims();
    x.try_reshape(Shape::from_iter([sizes[0] * sizes[1]].into_iter().chain(sizes[2..].iter().copied())))
}

/// The first dimension (S·N) as two: (S, N).
pub(crate) fn unfolded(x: &Tensor, samples: usize, meta: &Meta) -> Result<Tensor> {
    x.try_reshape(meta.shape.inserted(0, samples))
}

/// The key and the counter that samples draw from instead of one draw: a sequence of its own, found from the draw, so that it is the
/// same wherever the draw is repeated.
pub(crate) fn batched_draw(data: &[Scalar]) -> [Scalar; 4] {
    let word = |index: usize| data[index].to_i64() as u32;
    let key = rng::key_for_samples([word(0), word(1)], [word(2), word(3)]);
    [key[0], key[1], 0, 0].map(Scalar::from)
}

impl Op {
    /// The results for all samples, given that some input has one value for each of them.
    pub fn batch(&self, call: &BatchCall) -> Result<Batched> {
        match self {
            Op::Map(_) | Op::Cast => call.leading(),
            Op::View(view) => call.by(Op::View(view.batched())),
            Op::Gather { dim } => call.by(Op::Gather { dim: dim + 1 }),
            Op::Reduce(reduce) => call.by(Op::Reduce(reduce.batched())),
            Op::Structured(op) => op.batch(call),
            Op::Composite(op) => unreachable!("{} is written out before", op.kind.name),
            Op::Constant | Op::Iota { .. } | Op::Bits | Op::Healthy | Op::Unsaved | Op::Placeholder => {
                unreachable!("{} has no inputs", self.name())
            }
        }
    }
}

impl View {
    /// The same view behind a further first dimension.
    fn batched(&self) -> View {
        match self {
            View::Reshape => View::Reshape,
            View::Permute(order) => {
                View::Permute([0].into_iter().chain(order.iter().map(|dim| dim + 1)).collect())
            }
            View::Expand => View::Expand,
            &View::Slice { dim, step } => View::Slice { dim: dim + 1, step },
            &View::Embed { dim, step } => View::Embed { dim: dim + 1, step },
            &View::Window { dim, step } => View::Window { dim: dim + 1, step },
        }
    }
}

impl Reduce {
    /// The same reduction behind a further first dimension.
    fn batched(&self) -> Reduce {
        Reduce { kind: self.kind, dims: self.dims.iter().map(|dim| dim + 1).collect() }
    }
}
