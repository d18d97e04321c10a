//! Indexing by several tensors at once, by masks, and writing at such places: PyTorch's advanced indexing and `index_put`.

use super::index_spec::{Index, IndexSpec};
use super::{Tensor, twins};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::elementwise::Operand;
use crate::shape::Shape;

impl Index {
    /// The same index with masks (tensors of booleans) replaced by the positions that they hold: one tensor of integers for each
    /// dimension of a mask. How many there are depends on the data, so this waits for it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([[1.0, -2.0], [-3.0, 4.0]], &Device::cpu());
    /// assert_eq!(x.i(Index::located(x.gt(0.0)).await?).to_string(), "tensor([1., 4.])");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn located(spec: impl IndexSpec) -> Result<Vec<Index>> {
        let mut located = Vec::new();
        for index in spec.into_indexes() {
            match index {
                Index::Tensor(mask) if mask.dtype() == DType::Bool && mask.rank() > 0 => {
                    let positions = mask.nonzero().await?;
                    for dim in 0..mask.rank() {
                        located.push(Index::Mask {
                            positions: positions.try_select(1, dim as isize)?,
                            size: mask.shape()[dim],
                        });
                    }
                }
                Index::Tensor(flag) if flag.dtype() == DType::Bool => {
                    located.push(Index::Flag(flag.item().await? != 0.0))
                }
                other => located.push(other),
            }
        }
        Ok(located)
    }

    /// [`located`](Index::located), blocking.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn located_blocking(spec: impl IndexSpec) -> Result<Vec<Index>> {
        pollster::block_on(Index::located(spec))
    }
}

impl From<bool> for Index {
    fn from(flag: bool) -> Self {
        Index::Flag(flag)
    }
}

/// How [`Tensor::scatter_reduce`] joins values of one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScatterReduction {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The largest; of equal ones, the last gets the gradient.
    Largest,
    /// The smallest; of equal ones, the last gets the gradient.
    Smallest,
}

/// Tensors that stand in for dimensions of a tensor, together.
pub(super) struct Picks {
    pub dims: Vec<usize>,
    pub indexes: Vec<Tensor>,
}

impl Picks {
    /// What the indexes name: their common shape stands where the dimensions were if these are neighbours, else in front.
    #[track_caller]
    pub fn forward(&self, tensor: &Tensor) -> Result<Tensor> {
        let mut shape = self.indexes[0].shape().clone();
        for index in &self.indexes[1..] {
            let joined = shape.broadcast(index.shape());
            shape = joined.ok_or_else(|| Error::broadcast("i", &shape, index.shape()))?;
        }
        let neighbours = self.dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let place = if neighbours { self.dims[0] } else { 0 };
        let mut order: Vec<usize> = (0..tensor.rank()).filter(|dim| !self.dims.contains(dim)).collect();
        order.splice(place..place, self.dims.iter().copied());
        let moved = tensor.try_permute(&order.iter().map(|&dim| dim as isize).collect::<Vec<_>>())?;
        let joined = moved.try_flatten(place as isize, (place + self.dims.len() - 1) as isize)?;
        let mut flat: Option<Tensor> = None;
        for (index, &dim) in self.indexes.iter().zip(&self.dims) {
            let index = index.try_to_dtype(DType::I32)?.broadcast_as("i", &shape)?;
            flat = Some(match flat {
                Some(before) => before.try_mul(tensor.shape()[dim])?.try_add(&index)?,
                None => index,
            });
        }
        let flat = flat.ok_or_else(|| Error::argument("i", "no index"))?;
        let picked = joined.try_index_select(place as isize, &flat.try_reshape(flat.numel())?)?;
        let sizes = joined.shape().dims();
        let result = sizes[..place].iter().chain(shape.iter()).chain(&sizes[place + 1..]);
        picked.try_reshape(result.copied().collect::<Shape>())
    }
}

/// Positions with those below 0 counted from the back. Others outside are an error when the result is computed.
#[track_caller]
pub(super) fn from_the_back(index: &Tensor, size: usize) -> Result<Tensor> {
    if matches!(index.dtype(), DType::U8 | DType::U32) {
        return Ok(index.clone());
    }
    index.try_lt(0)?.try_where_cond(&index.try_add(size)?, index)
}

impl Tensor {
    /// The place of every element of the part indexed, in the flat tensor, with the part's shape.
    #[track_caller]
    fn flat_places(&self, indexes: Vec<Index>) -> Result<Tensor> {
        let all = Tensor::try_arange(0, self.numel() as i64, 1, (DType::I32, self.device()))?;
        all.try_reshape(self.shape())?.try_i(indexes)
    }

    /// A tensor whose part at the index is another.
    #[track_caller]
    pub(super) fn put_at(
        &self,
        op: &'static str,
        indexes: Vec<Index>,
        value: &Operand,
        accumulate: bool,
    ) -> Result<Tensor> {
        let places = self.flat_places(indexes)?;
        let value = match value {
            Operand::Scalar(value) => self.full_of(places.shape(), *value)?,
            Operand::Tensor(value) => {
                // As in PyTorch, leading dimensions of size 1 may be more than the part has.
                let surplus = value.rank().saturating_sub(places.rank());
                let drop = value.shape().iter().take(surplus).all(|&size| size == 1);
                let value = if drop { value.try_reshape(&value.shape()[surplus..])? } else { value.clone() };
                value.try_to_dtype(self.dtype())?.broadcast_as(op, places.shape())?
            }
        };
        let (flat, places) = (self.try_reshape(self.numel())?, places.try_reshape(places.numel())?);
        let value = value.try_reshape(places.numel())?;
        let written = match accumulate {
            true => flat.try_scatter_add(0, &places, &value)?,
            false => flat.try_scatter(0, &places, &value)?,
        };
        written.try_reshape(self.shape())
    }

    twins! {
        /// A tensor whose part at the index is `value`, or has it added (`accumulate`; a place named twice gets both): PyTorch's
        /// `index_put`. Masks want [`Index::located`] first.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (rows, columns) = (Tensor::new([0, 1, 1], &device), Tensor::new([2, 0, 0], &device));
        /// let y = Tensor::zeros([2, 3], &device).index_put((&rows, &columns), 5.0, true);
        /// assert_eq!(y.to_string(), "tensor([[ 0.,  0.,  5.],\n        [10.,  0.,  0.]])");
        /// ```
        index_put / try_index_put(&self, spec: impl IndexSpec, value: impl Into<Operand>, accumulate: bool) -> Tensor {
            self.put_at("index_put", spec.into_indexes(), &value.into(), accumulate)
        }

        /// The tensor with one number at the positions of a vector along a dimension.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let y = Tensor::zeros([2, 3], &device).index_fill(1, &Tensor::new([0, 2], &device), 7.0);
        /// assert_eq!(y.to_string(), "tensor([[7., 0., 7.],\n        [7., 0., 7.]])");
        /// ```
        index_fill / try_index_fill(&self, dim: isize, index: &Tensor, value: impl Into<Operand>) -> Tensor {
            let dim = self.shape().dim("index_fill", dim)?;
            let mut spec = vec![Index::from(..); dim];
            spec.push(index.into());
            self.put_at("index_fill", spec, &value.into(), false)
        }

        /// The tensor with values joined at positions along a dimension: what was there takes part if `include_self`.
        ///
        /// ```
        /// # use flambeau::{ScatterReduction, prelude::*};
        /// let device = Device::cpu();
        /// let (index, values) = (Tensor::new([0, 0, 1], &device), Tensor::new([1.0, 5.0, 2.0], &device));
        /// let base = Tensor::full([3], 3.0, &device);
        /// let largest = base.scatter_reduce(0, &index, &values, ScatterReduction::Largest, true);
        /// assert_eq!(largest.to_string(), "tensor([5., 3., 3.])");
        /// let mean = base.scatter_reduce(0, &index, &values, ScatterReduction::Mean, false);
        /// assert_eq!(mean.to_string(), "tensor([3., 2., 3.])");
        /// ```
        scatter_reduce / try_scatter_reduce(
            &self, dim: isize, index: &Tensor, values: &Tensor, reduction: ScatterReduction, include_self: bool,
        ) -> Tensor {
            let ones = index.full_of(index.shape(), 1)?;
            let times = self.detach().zeros_like().try_scatter_add(dim, index, &ones)?;
            let touched = times.try_gt(0)?;
            let own = if include_self { self.clone() } else { touched.try_where_cond(0, self)? };
            match reduction {
                ScatterReduction::Sum => own.try_scatter_add(dim, index, values),
                ScatterReduction::Mean => {
                    let sums = own.try_scatter_add(dim, index, values)?;
                    let count = if include_self { times.try_add(1)? } else { times.try_clamp_min(1)? };
                    let mean = sums.try_div(&count)?;
                    if self.dtype().is_float() { Ok(mean) } else { mean.try_floor()?.try_to_dtype(self.dtype()) }
                }
                ScatterReduction::Largest | ScatterReduction::Smallest => {
                    let largest = reduction == ScatterReduction::Largest;
                    // In this order the last one that is written is the one wanted.
                    let order = values.detach().try_argsort(dim, !largest)?;
                    let sorted = (index.try_gather(dim, &order)?, values.try_gather(dim, &order)?);
                    let written = self.try_scatter(dim, &sorted.0, &sorted.1)?;
                    match (include_self, largest) {
                        (false, _) => Ok(written),
                        (true, true) => touched.try_where_cond(self.try_maximum(&written)?, self),
                        (true, false) => touched.try_where_cond(self.try_minimum(&written)?, self),
                    }
                }
            }
        }
    }
}
