//! `x.i((.., 2, 1..3))`: PyTorch's `x[:, 2, 1:3]`, for reading and, with `i_assign`, for writing.

use super::index_many::{Picks, from_the_back};
use super::{Size, Tensor};
use crate::dtype::DType;
use crate::error::{Error, Result, expect};
use crate::op::elementwise::Operand;
use crate::shape::Shape;
use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A dimension of size 1 put in by [`i`](Tensor::i), PyTorch's `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewAxis;

/// As many whole dimensions as the rest of the index leaves, PyTorch's `...`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ellipsis;

/// Every `step`-th place of a range; bounds may be negative, counted from the back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: Option<isize>,
    end: Option<isize>,
    step: usize,
}

impl Span {
    pub(super) fn new(range: &impl RangeBounds<isize>, step: usize) -> Span {
        let start = match range.start_bound() {
            Bound::Included(&start) => Some(start),
            Bound::Excluded(&before) => Some(before.saturating_add(1)),
            Bound::Unbounded => None,
        };
        let end = match range.end_bound() {
            // The last element is at -1, and what comes after it has no negative number.
            Bound::Included(-1) | Bound::Unbounded => None,
            Bound::Included(&last) => Some(last.saturating_add(1)),
            Bound::Excluded(&end) => Some(end),
        };
        Span { start, end, step }
    }

    /// Start and length in a dimension of this size.
    pub(super) fn resolve(&self, op: &'static str, size: usize) -> Result<(usize, usize)> {
        if self.step == 0 {
            return Err(Error::argument(op, "the step of a range must be above 0"));
        }
        let size = size as isize;
        let place = |bound: isize| (if bound < 0 { bound + size } else { bound }).clamp(0, size);
        let (start, end) = (place(self.start.unwrap_or(0)), place(self.end.unwrap_or(size)));
        Ok((start as usize, ((end - start).max(0) as usize).div_ceil(self.step)))
    }
}

/// What is done with one dimension.
#[derive(Debug, Clone)]
pub enum Index {
    /// One place; the dimension is taken out.
    At(isize),
    /// A range.
    Range(Span),
    /// A new dimension of size 1.
    NewAxis,
    /// Whole dimensions.
    Ellipsis,
    /// The places a tensor of integers names; its dimensions stand in for the one indexed. Several tensors are repeated to one
    /// shape and name places together.
    Tensor(Tensor),
    /// Positions that a mask held along a dimension of this size: what [`Index::located`] makes of it.
    Mask {
        /// The positions.
        positions: Tensor,
        /// The mask's size, which must be the dimension's.
        size: usize,
    },
    /// A new dimension of size 1 (true) or 0 (false).
    Flag(bool),
}

impl Index {
    /// Every `step`-th place of a range.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::arange(0, 6, 1, &Device::cpu());
    /// assert_eq!(x.i(Index::step(1.., 2)).to_string(), "tensor([1, 3, 5], dtype=i32)");
    /// ```
    pub fn step(range: impl RangeBounds<isize>, step: usize) -> Index {
        Index::Range(Span::new(&range, step))
    }
}

macro_rules! integer_index {
    ($($t:ty),*) => { $(
        impl From<$t> for Index {
            fn from(index: $t) -> Self {
                Index::At(index.to_isize())
            }
        }
        integer_index!(@range $t, Range<$t>, RangeInclusive<$t>, RangeFrom<$t>, RangeTo<$t>, RangeToInclusive<$t>);
    )* };
    (@range $t:ty, $($range:ty),*) => { $(
        impl From<$range> for Index {
            fn from(range: $range) -> Self {
                let bound = |bound: Bound<&$t>| bound.map(|&bound| bound.to_isize());
                Index::step((bound(range.start_bound()), bound(range.end_bound())), 1)
            }
        }
    )* };
}
integer_index!(i32, i64, isize, u32, usize);

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Self {
        Index::step(.., 1)
    }
}
impl From<NewAxis> for Index {
    fn from(_: NewAxis) -> Self {
        Index::NewAxis
    }
}
impl From<Ellipsis> for Index {
    fn from(_: Ellipsis) -> Self {
        Index::Ellipsis
    }
}
impl From<Tensor> for Index {
    fn from(index: Tensor) -> Self {
        Index::Tensor(index)
    }
}
impl From<&Tensor> for Index {
    fn from(index: &Tensor) -> Self {
        Index::Tensor(index.clone())
    }
}

/// An index for [`i`](Tensor::i): one [`Index`], or a tuple or list of them.
pub trait IndexSpec {
    /// The indexes, one after the other.
    fn into_indexes(self) -> Vec<Index>;
}

impl<T: Into<Index>> IndexSpec for T {
    fn into_indexes(self) -> Vec<Index> {
        vec![self.into()]
    }
}
impl IndexSpec for Vec<Index> {
    fn into_indexes(self) -> Vec<Index> {
        self
    }
}
impl IndexSpec for &[Index] {
    fn into_indexes(self) -> Vec<Index> {
        self.to_vec()
    }
}

macro_rules! tuple {
    ($($name:ident),*) => {
        impl<$($name: Into<Index>),*> IndexSpec for ($($name,)*) {
            #[allow(non_snake_case)]
            fn into_indexes(self) -> Vec<Index> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
    };
}
tuple!(A);
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);
tuple!(A, B, C, D, E);
tuple!(A, B, C, D, E, F);

/// One step on the way from a tensor to the part indexed; it can be undone.
enum Step {
    Slice { dim: usize, start: usize, step: usize, length: usize },
    Drop { dim: usize },
    Insert { dim: usize },
    Pick { dim: usize, index: Tensor },
    PickMany(Picks),
}

impl Step {
    #[track_caller]
    fn forward(&self, tensor: &Tensor) -> Result<Tensor> {
        match self {
            Step::Slice { dim, start, step, length } => tensor.spanned(*dim, *start, *step, *length),
            Step::Drop { dim } => tensor.try_reshape(tensor.shape().removed(*dim)),
            Step::Insert { dim } => tensor.try_unsqueeze(*dim as isize),
            Step::Pick { dim, index } => {
                let picked = tensor.try_index_select(*dim as isize, &index.try_reshape(index.numel())?)?;
                let sizes = tensor.shape().dims();
                let shape = sizes[..*dim].iter().chain(index.shape().iter()).chain(&sizes[dim + 1..]);
                picked.try_reshape(shape.copied().collect::<Shape>())
            }
            Step::PickMany(picks) => picks.forward(tensor),
        }
    }

    /// A tensor of shape `before` with this part in its place and zeros elsewhere.
    #[track_caller]
    fn back(&self, part: &Tensor, before: &Shape) -> Result<Tensor> {
        match self {
            Step::Slice { dim, start, step, length } => {
                let whole = *start == 0 && *step == 1 && *length == before[*dim];
                if whole { Ok(part.clone()) } else { part.embed(*dim, before[*dim], *start as i64, *step) }
            }
            Step::Drop { .. } | Step::Insert { .. } => part.try_reshape(before),
            Step::Pick { dim, index } => {
                let flat = part.try_reshape(before.with(*dim, index.numel()))?;
                let index = index.try_reshape(index.numel())?.along(*dim, flat.shape())?;
                part.full_of(before, 0)?.try_scatter(*dim as isize, &index, &flat)
            }
            Step::PickMany(_) => {
                Err(Error::argument("i_assign", "places of several tensors are written by index_put"))
            }
        }
    }
}

/// The steps an index makes through a tensor of this shape.
fn steps(indexes: &[Index], shape: &Shape) -> Result<Vec<Step>> {
    let picks = |index: &&Index| matches!(index, Index::Tensor(_) | Index::Mask { .. });
    let uses = |index: &&Index| matches!(index, Index::At(_) | Index::Range(_)) || picks(index);
    let used = indexes.iter().filter(uses).count();
    let ellipses = indexes.iter().filter(|index| matches!(index, Index::Ellipsis)).count();
    if used > shape.rank() || ellipses > 1 {
        let message = format!("{used} indexes with {ellipses} ellipses for a tensor of shape {shape}");
        return Err(Error::shape("i", message));
    }
    let several = indexes.iter().filter(picks).count() > 1;
    let mut many = Picks { dims: Vec::new(), indexes: Vec::new() };
    let mut steps = Vec::new();
    // `dim` counts in the tensor made so far, `from` in the original.
    let (mut dim, mut from) = (0, 0);
    for index in indexes {
        match index {
            Index::At(at) => {
                let size = shape[from] as isize;
                if *at < -size || *at >= size {
                    let message = format!("index {at} is out of range for dimension {from} of {shape}");
                    return Err(Error::shape("i", message));
                }
                let start = at.rem_euclid(size) as usize;
                steps.push(Step::Slice { dim, start, step: 1, length: 1 });
                steps.push(Step::Drop { dim });
                from += 1;
            }
            Index::Range(span) => {
                let (start, length) = span.resolve("i", shape[from])?;
                steps.push(Step::Slice { dim, start, step: span.step, length });
                (dim, from) = (dim + 1, from + 1);
            }
            Index::NewAxis => {
                steps.push(Step::Insert { dim });
                dim += 1;
            }
            Index::Ellipsis => (dim, from) = (dim + shape.rank() - used, from + shape.rank() - used),
            Index::Flag(flag) => {
                steps.push(Step::Insert { dim });
                steps.push(Step::Slice { dim, start: 0, step: 1, length: usize::from(*flag) });
                dim += 1;
            }
            Index::Mask { size, .. } if *size != shape[from] => {
                let message = format!("a mask of size {size} for dimension {from} of {shape}");
                return Err(Error::shape("i", message));
            }
            Index::Tensor(index) | Index::Mask { positions: index, .. } => {
                if !index.dtype().is_int() {
                    return Err(Error::dtype_not_accepted(
                        "i",
                        index.dtype(),
                        "an integer dtype (for masks: Index::located, or masked_select)",
                    ));
                }
                let index = from_the_back(index, shape[from])?;
                if several {
                    many.dims.push(dim);
                    many.indexes.push(index);
                    (dim, from) = (dim + 1, from + 1);
                } else {
                    (dim, from) = (dim + index.rank(), from + 1);
                    steps.push(Step::Pick { dim: dim - index.rank(), index });
                }
            }
        }
    }
    if several {
        steps.push(Step::PickMany(many));
    }
    Ok(steps)
}

impl Tensor {
    /// A part of the tensor: `x.i((.., 2, 1..3))` is PyTorch's `x[:, 2, 1:3]`. Integers take their dimension out,
    /// ranges keep it (negative bounds count from the back), `..` is a whole dimension, [`Ellipsis`] as many as are
    /// left, [`NewAxis`] puts one in, and a tensor of integers picks places.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::arange(0, 12, 1, &device).reshape([3, 4]);
    /// assert_eq!(x.i((1, -2..)).to_string(), "tensor([6, 7], dtype=i32)");
    /// assert_eq!(x.i((Ellipsis, 0)).to_string(), "tensor([0, 4, 8], dtype=i32)");
    /// assert_eq!(x.i((NewAxis, 0, ..2)).to_string(), "tensor([[0, 1]], dtype=i32)");
    /// let rows = Tensor::new([2, 0], &device);
    /// assert_eq!(x.i((&rows, 3)).to_string(), "tensor([11,  3], dtype=i32)");
    /// ```
    #[track_caller]
    pub fn i(&self, spec: impl IndexSpec) -> Tensor {
        expect(self.try_i(spec))
    }

    /// [`i`](Tensor::i), or the error instead of a panic.
    #[track_caller]
    pub fn try_i(&self, spec: impl IndexSpec) -> Result<Tensor> {
        let steps = steps(&spec.into_indexes(), self.shape())?;
        let mut part = self.clone();
        for step in &steps {
            part = step.forward(&part)?;
        }
        Ok(part)
    }

    /// Writes a part: PyTorch's `x[spec] = value`. The value is repeated to the part's shape and takes this tensor's
    /// dtype. Values are immutable: this handle is bound to the new tensor, and other handles and views keep what
    /// they had. On a leaf that requires a gradient it is an error outside of `no_grad`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::zeros([2, 3], &Device::cpu());
    /// x.i_assign((1, 1..), 5.0);
    /// assert_eq!(x.to_string(), "tensor([[0., 0., 0.],\n        [0., 5., 5.]])");
    /// ```
    #[track_caller]
    pub fn i_assign(&mut self, spec: impl IndexSpec, value: impl Into<Operand>) {
        expect(self.try_i_assign(spec, value));
    }

    /// [`i_assign`](Tensor::i_assign), or the error instead of a panic.
    #[track_caller]
    pub fn try_i_assign(&mut self, spec: impl IndexSpec, value: impl Into<Operand>) -> Result<()> {
        let (indexes, value) = (spec.into_indexes(), value.into());
        let steps = steps(&indexes, self.shape())?;
        self.rebind("i_assign", |whole| {
            if let Some(Step::PickMany(_)) = steps.last() {
                return whole.put_at("i_assign", indexes, &value, false);
            }
            let mut shapes = Vec::with_capacity(steps.len());
            let mut region = whole.detach();
            for step in &steps {
                shapes.push(region.shape().clone());
                region = step.forward(&region)?;
            }
            let value = value.beside(&region).try_to_dtype(whole.dtype())?;
            let mut value = value.broadcast_as("i_assign", region.shape())?;
            let mut mask = Tensor::try_full(region.shape(), true, (DType::Bool, whole.device()))?;
            for (step, before) in steps.iter().zip(&shapes).rev() {
                value = step.back(&value, before)?;
                mask = step.back(&mask, before)?;
            }
            mask.try_where_cond(&value, whole)
        })
    }
}
