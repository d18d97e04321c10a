//! Reading and writing at positions given by tensors, or where a mask says so.

use super::{Tensor, twins};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::op::elementwise::Operand;
use crate::op::scatter::{Mode, Scatter};
use crate::op::{Meta, Op, StructuredOp};
use crate::shape::Shape;

impl Tensor {
    /// Checks an index against this tensor: integers, of the same rank, nowhere larger but along `dim`.
    fn check_index(&self, op: &'static str, dim: isize, index: &Tensor) -> Result<usize> {
        let dim = self.shape().dim(op, dim)?;
        if !index.dtype().is_int() {
            return Err(Error::dtype_not_accepted(op, index.dtype(), "an integer dtype for the index"));
        }
        let fits = |shape: &Shape| (0..shape.rank()).all(|d| d == dim || shape[d] <= self.shape()[d]);
        if index.rank() != self.rank() || !fits(index.shape()) {
            let message = format!(
                "an index of shape {} does not fit shape {} along dimension {dim}",
                index.shape(),
                self.shape()
            );
            return Err(Error::shape(op, message));
        }
        Ok(dim)
    }

    /// A vector of positions along `dim` of a tensor of this shape, repeated along the other dimensions.
    #[track_caller]
    pub(super) fn along(&self, dim: usize, shape: &Shape) -> Result<Tensor> {
        let aligned: Shape = (0..shape.rank()).map(|d| if d == dim { self.numel() } else { 1 }).collect();
        self.try_reshape(aligned)?.broadcast_as("index", &shape.with(dim, self.numel()))
    }

    /// Checks a vector of positions.
    fn check_positions(op: &'static str, index: &Tensor) -> Result<()> {
        if index.rank() > 1 {
            return Err(Error::shape(op, format!("an index of shape {} is not a vector", index.shape())));
        }
        if !index.dtype().is_int() {
            return Err(Error::dtype_not_accepted(op, index.dtype(), "an integer dtype for the index"));
        }
        Ok(())
    }

    #[track_caller]
    fn scattered(&self, mode: Mode, dim: isize, index: &Tensor, values: Operand) -> Result<Tensor> {
        let scatter = |dim| Scatter { dim, mode };
        let op = crate::ir::call::Kernels::name(&scatter(0));
        let dim = self.check_index(op, dim, index)?;
        let values = match values {
            Operand::Scalar(value) => self.full_of(index.shape(), value)?,
            Operand::Tensor(values) => values.try_to_dtype(self.dtype())?,
        };
        let smaller = |(have, want): (&usize, &usize)| have < want;
        if values.rank() != index.rank() || values.shape().iter().zip(index.shape().iter()).any(smaller) {
            let message =
                format!("values of shape {} for an index of shape {}", values.shape(), index.shape());
            return Err(Error::shape(op, message));
        }
        let mut used = values;
        for (d, &size) in index.shape().iter().enumerate() {
            used = used.try_narrow(d as isize, 0, size)?;
        }
        if index.numel() == 0 {
            return Ok(self.clone());
        }
        let operands = [self.clone(), index.clone(), used];
        Tensor::from_op(Op::Structured(StructuredOp::Scatter(scatter(dim))), &operands, self.meta().clone())
    }

    twins! {
        /// out[c] = self[c with c\[dim\] replaced by index[c]], for every coordinate c of the index. An index outside
        /// the dimension (negative ones too) is an error when the result is computed.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// let index = Tensor::new([[0, 0], [1, 0]], &device);
        /// assert_eq!(x.gather(1, &index).to_string(), "tensor([[1., 1.],\n        [4., 3.]])");
        /// ```
        gather / try_gather(&self, dim: isize, index: &Tensor) -> Tensor {
            let dim = self.check_index("gather", dim, index)?;
            let meta = Meta::new(index.shape(), self.dtype());
            Tensor::from_op(Op::Gather { dim }, &[self.clone(), index.clone()], meta)
        }

        /// [`gather`](Tensor::gather) where the index is repeated to this tensor's shape along the other dimensions.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 5.0], [7.0, 3.0]], &Device::cpu());
        /// let best = x.argmax_keepdim(1);
        /// assert_eq!(x.take_along_dim(&best, 1).to_string(), "tensor([[5.],\n        [7.]])");
        /// ```
        take_along_dim / try_take_along_dim(&self, index: &Tensor, dim: isize) -> Tensor {
            let along = self.shape().dim("take_along_dim", dim)?;
            if index.rank() != self.rank() {
                let message = format!("shapes {} and {} differ in rank", self.shape(), index.shape());
                return Err(Error::shape("take_along_dim", message));
            }
            let others = self.shape().with(along, 1).broadcast(&index.shape().with(along, 1));
            let others =
                others.ok_or_else(|| Error::broadcast("take_along_dim", self.shape(), index.shape()))?;
            let whole = |tensor: &Tensor| {
                tensor.broadcast_as("take_along_dim", &others.with(along, tensor.shape()[along]))
            };
            whole(self)?.try_gather(dim, &whole(index)?)
        }

        /// The slices along `dim` that a vector of positions names.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// let rows = Tensor::new([1, 1, 0], &device);
        /// assert_eq!(x.index_select(0, &rows).to_string(), "tensor([[3., 4.],\n        [3., 4.],\n        [1., 2.]])");
        /// ```
        index_select / try_index_select(&self, dim: isize, index: &Tensor) -> Tensor {
            let dim = self.shape().dim("index_select", dim)?;
            Tensor::check_positions("index_select", index)?;
            self.try_gather(dim as isize, &index.along(dim, self.shape())?)
        }

        /// This tensor with values added at indexed places along `dim`; the adjoint of gather. Of larger values only
        /// the part that the index covers is used.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let index = Tensor::new([0, 1, 1], &device);
        /// let sums = Tensor::zeros([2], &device).scatter_add(0, &index, &Tensor::new([1.0, 2.0, 3.0], &device));
        /// assert_eq!(sums.to_string(), "tensor([1., 5.])");
        /// ```
        scatter_add / try_scatter_add(&self, dim: isize, index: &Tensor, values: impl Into<Operand>) -> Tensor {
            self.scattered(Mode::Add, dim, index, values.into())
        }

        /// This tensor with values, or one number, written at indexed places along `dim`; where an index comes twice
        /// the last value stays.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let marked = Tensor::zeros([3], &device).scatter(0, &Tensor::new([2, 0], &device), 1.0);
        /// assert_eq!(marked.to_string(), "tensor([1., 0., 1.])");
        /// ```
        scatter / try_scatter(&self, dim: isize, index: &Tensor, values: impl Into<Operand>) -> Tensor {
            self.scattered(Mode::Set, dim, index, values.into())
        }

        /// This tensor with slices of `source` added at the positions along `dim` that a vector names.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let source = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// let sums = Tensor::zeros([1, 2], &device).index_add(0, &Tensor::new([0, 0], &device), &source);
        /// assert_eq!(sums.to_string(), "tensor([[4., 6.]])");
        /// ```
        index_add / try_index_add(&self, dim: isize, index: &Tensor, source: &Tensor) -> Tensor {
            let along = self.shape().dim("index_add", dim)?;
            Tensor::check_positions("index_add", index)?;
            if *source.shape() != self.shape().with(along, index.numel()) {
                let message = format!(
                    "a source of shape {} with {} positions does not fit shape {} along dimension {along}",
                    source.shape(), index.numel(), self.shape());
                return Err(Error::shape("index_add", message));
            }
            self.try_scatter_add(dim, &index.along(along, source.shape())?, source)
        }

        /// This tensor with a number where a mask is true.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, -2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.masked_fill(&x.gt(0.0), 0.0).to_string(), "tensor([ 0., -2.,  0.])");
        /// ```
        masked_fill / try_masked_fill(&self, mask: &Tensor, value: impl Into<Operand>) -> Tensor {
            if mask.dtype() != DType::Bool {
                return Err(Error::dtype_not_accepted("masked_fill", mask.dtype(), "a mask of dtype bool"));
            }
            let value = match value.into() {
                Operand::Scalar(Scalar::Float(value)) if !self.dtype().is_float() => {
                    let message = format!("{value} cannot be written into a tensor of dtype {}", self.dtype());
                    return Err(Error::dtype("masked_fill", message));
                }
                Operand::Scalar(value) => self.full_of(&Shape::default(), value)?,
                Operand::Tensor(value) if value.rank() > 0 => {
                    let message = format!("a value of shape {} is not a single number", value.shape());
                    return Err(Error::shape("masked_fill", message));
                }
                Operand::Tensor(value) => value.try_to_dtype(self.dtype())?,
            };
            mask.try_where_cond(&value, self)
        }
    }

    /// The elements where a mask is true, in order, as a vector. How many there are depends on the data, so the mask
    /// is read back: this waits for it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # pollster::block_on(async {
    /// let x = Tensor::new([1.0, -2.0, 3.0], &Device::cpu());
    /// assert_eq!(x.masked_select(&x.gt(0.0)).await?.to_string(), "tensor([1., 3.])");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        if mask.dtype() != DType::Bool {
            return Err(Error::dtype_not_accepted("masked_select", mask.dtype(), "a mask of dtype bool"));
        }
        let shape = self.shape().broadcast(mask.shape());
        let shape = shape.ok_or_else(|| Error::broadcast("masked_select", self.shape(), mask.shape()))?;
        let chosen = mask.broadcast_as("masked_select", &shape)?.to_vec::<bool>().await?;
        let positions: Vec<i32> = true_positions(&chosen).map(|position| position as i32).collect();
        let index = Tensor::try_from_slice(&positions, positions.len(), self.device())?;
        let whole = self.broadcast_as("masked_select", &shape)?.try_reshape(shape.numel())?;
        whole.try_index_select(0, &index)
    }

    /// The coordinates of the elements that are not zero: one row (I32) for each. How many there are depends on the
    /// data, so this waits for it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # pollster::block_on(async {
    /// let x = Tensor::new([[0.0, 5.0], [7.0, 0.0]], &Device::cpu());
    /// assert_eq!(x.nonzero().await?.to_string(), "tensor([[0, 1],\n        [1, 0]], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn nonzero(&self) -> Result<Tensor> {
        let chosen = self.try_to_dtype(DType::Bool)?.to_vec::<bool>().await?;
        let strides = self.shape().strides();
        let mut coordinates: Vec<i32> = Vec::new();
        for position in true_positions(&chosen) {
            let along = self.shape().iter().zip(&strides);
            coordinates.extend(along.map(|(&size, &stride)| (position / stride as usize % size) as i32));
        }
        let count = chosen.iter().filter(|&&chosen| chosen).count();
        Tensor::try_from_slice(&coordinates, [count, self.rank()], self.device())
    }
}

fn true_positions(mask: &[bool]) -> impl Iterator<Item = usize> {
    mask.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(position, _)| position)
}

#[cfg(not(target_arch = "wasm32"))]
impl Tensor {
    /// [`masked_select`](Tensor::masked_select), blocking.
    pub fn masked_select_blocking(&self, mask: &Tensor) -> Result<Tensor> {
        pollster::block_on(self.masked_select(mask))
    }

    /// [`nonzero`](Tensor::nonzero), blocking.
    pub fn nonzero_blocking(&self) -> Result<Tensor> {
        pollster::block_on(self.nonzero())
    }
}
