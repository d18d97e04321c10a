//! Tensors made of coordinates: ranges, grids, identities, triangles, one-hot rows. None of them takes memory until
//! it is stored: kernels compute the coordinates they need.

use super::{Tensor, TensorOptions, twins};
use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::op::{Meta, Op};
use crate::shape::Shape;
use std::borrow::Borrow;

/// 0, 1, 2, … along a dimension, as I32.
#[track_caller]
fn iota(shape: impl Into<Shape>, dim: usize, device: &Device) -> Result<Tensor> {
    Tensor::source(Op::Iota { dim }, Meta::new(shape, DType::I32), device, &[])
}

/// The diagonal with this number, or the nearest that coordinates (I32) can be compared with: no matrix reaches it.
fn coordinate(diagonal: i64) -> i64 {
    diagonal.clamp(i64::from(i32::MIN) + 1, i64::from(i32::MAX))
}

impl Tensor {
    /// The column's distance to the right of the diagonal, in a matrix of these sizes.
    #[track_caller]
    fn beside_diagonal(rows: usize, columns: usize, device: &Device) -> Result<Tensor> {
        iota([rows, columns], 1, device)?.try_sub(&iota([rows, columns], 0, device)?)
    }

    #[track_caller]
    fn triangle(&self, op: &'static str, keep: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        if self.rank() < 2 {
            return Err(Error::shape(op, format!("shape {} has fewer than two dimensions", self.shape())));
        }
        let beside = Tensor::beside_diagonal(self.size(-2), self.size(-1), self.device())?;
        keep(&beside)?.try_where_cond(self, self.zeros_like())
    }

    twins! {
        /// start, start + step, … up to but not including `end`: ⌈(end − start) / step⌉ numbers. Integers give I32,
        /// floats F32, unless the options name a dtype.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::arange(1, 8, 3, &Device::cpu()).to_string(), "tensor([1, 4, 7], dtype=i32)");
        /// assert_eq!(Tensor::arange(1.0, 0.0, -0.5, &Device::cpu()).to_string(), "tensor([1.0000, 0.5000])");
        /// ```
        arange / try_arange(
            start: impl Into<Scalar>, end: impl Into<Scalar>, step: impl Into<Scalar>, options: impl Into<TensorOptions>,
        ) -> Tensor {
            let (start, end, step, options) = (start.into(), end.into(), step.into(), options.into());
            let kinds = [start, end, step].map(Scalar::default_dtype);
            let kind = kinds.into_iter().reduce(DType::promote).unwrap_or(DType::I32);
            let kind = if kind == DType::Bool { DType::I32 } else { kind };
            let count = (end.to_f64() - start.to_f64()) / step.to_f64();
            if !count.is_finite() || count < 0.0 {
                let message = format!(
                    "{} is not reached from {} by steps of {}", end.to_f64(), start.to_f64(), step.to_f64());
                return Err(Error::argument("arange", message));
            }
            let count = count.ceil() as usize;
            let last = start.to_f64() + count.saturating_sub(1) as f64 * step.to_f64();
            let bound = f64::from(i32::MAX);
            if count > i32::MAX as usize || (kind == DType::I32 && (last.abs() > bound || start.to_f64().abs() > bound)) {
                let message = format!("{} to {last} does not fit the coordinates of a tensor (i32)", start.to_f64());
                return Err(Error::argument("arange", message));
            }
            let dtype = options.dtype_or(kind);
            // A wider float asked for is what the range is computed in.
            let computed = if kind.is_float() && dtype == DType::F64 { dtype } else { kind };
            let number = |value: Scalar| Tensor::try_full((), value, (computed, &options.device));
            let steps = iota(count, 0, &options.device)?.try_to_dtype(computed)?;
            steps.try_mul(&number(step)?)?.try_add(&number(start)?)?.try_to_dtype(dtype)
        }

        /// `steps` numbers at equal distances from `start` to `end`, both included.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::linspace(0.0, 1.0, 5, &Device::cpu());
        /// assert_eq!(x.to_string(), "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])");
        /// ```
        linspace / try_linspace(start: f64, end: f64, steps: usize, options: impl Into<TensorOptions>) -> Tensor {
            let options = options.into();
            let dtype = options.dtype_or(DType::F32);
            let computed = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
            let number = |value: f64| Tensor::try_full((), value, (computed, &options.device));
            let distance = if steps > 1 { (end - start) / (steps - 1) as f64 } else { 0.0 };
            let place = iota(steps, 0, &options.device)?;
            let ahead = place.try_to_dtype(computed)?.try_mul(&number(distance)?)?;
            let from_start = ahead.try_add(&number(start)?)?;
            if steps < 2 {
                return from_start.try_to_dtype(dtype);
            }
            // Counted from the nearer end, so that both ends are exact.
            let left = Tensor::try_full((), steps as i64 - 1, &options.device)?.try_sub(&place)?;
            let from_end = number(end)?.try_sub(&left.try_to_dtype(computed)?.try_mul(&number(distance)?)?)?;
            let first_half = Tensor::try_full((), (steps / 2) as i64, &options.device)?.try_gt(&place)?;
            first_half.try_where_cond(&from_start, &from_end)?.try_to_dtype(dtype)
        }

        /// The identity matrix of n rows.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::eye(2, &Device::cpu()).to_string(), "tensor([[1., 0.],\n        [0., 1.]])");
        /// ```
        eye / try_eye(n: usize, options: impl Into<TensorOptions>) -> Tensor {
            Tensor::try_eye_rectangular(n, n, options)
        }

        /// A matrix with ones on its diagonal and zeros elsewhere.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::eye_rectangular(1, 2, &Device::cpu());
        /// assert_eq!(x.to_string(), "tensor([[1., 0.]])");
        /// ```
        eye_rectangular / try_eye_rectangular(rows: usize, columns: usize, options: impl Into<TensorOptions>) -> Tensor {
            let options = options.into();
            let beside = Tensor::beside_diagonal(rows, columns, &options.device)?;
            beside.try_eq(0)?.try_to_dtype(options.dtype_or(DType::F32))
        }

        /// The lower triangle of each matrix: what is above the `diagonal`-th diagonal is 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([2, 2], &Device::cpu());
        /// assert_eq!(x.tril(0).to_string(), "tensor([[1., 0.],\n        [1., 1.]])");
        /// ```
        tril / try_tril(&self, diagonal: i64) -> Tensor {
            self.triangle("tril", |beside| beside.try_le(coordinate(diagonal)))
        }

        /// The upper triangle of each matrix: what is below the `diagonal`-th diagonal is 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([2, 2], &Device::cpu());
        /// assert_eq!(x.triu(1).to_string(), "tensor([[0., 1.],\n        [0., 0.]])");
        /// ```
        triu / try_triu(&self, diagonal: i64) -> Tensor {
            self.triangle("triu", |beside| beside.try_gt(coordinate(diagonal) - 1))
        }

        /// For every class number a row of `classes` integers that is 1 there and 0 elsewhere. A class outside is
        /// an error when the result is computed.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0, 2], &Device::cpu()).one_hot(3);
        /// assert_eq!(x.to_string(), "tensor([[1, 0, 0],\n        [0, 0, 1]], dtype=i32)");
        /// ```
        one_hot / try_one_hot(&self, classes: usize) -> Tensor {
            if !self.dtype().is_int() {
                return Err(Error::dtype_not_accepted("one_hot", self.dtype(), "an integer dtype"));
            }
            let shape = self.shape().inserted(self.rank(), classes);
            // Classes beyond the last are found out where a class is looked up.
            let all = self.iota_of(&Shape::new(&[classes]), 0)?;
            let class = all.try_gather(0, &self.try_reshape(self.numel())?)?.try_reshape(self.shape())?;
            let class = class.try_unsqueeze(-1)?;
            class.broadcast_as("one_hot", &shape)?.try_eq(self.iota_of(&shape, self.rank())?)?.try_to_dtype(DType::I32)
        }

        /// Grids of coordinates: result i holds vector i along dimension i and repeats it along the others
        /// (PyTorch's `indexing="ij"`).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let grids = Tensor::meshgrid(&[Tensor::new([1, 2], &device), Tensor::new([3, 4, 5], &device)]);
        /// assert_eq!(grids[0].to_string(), "tensor([[1, 1, 1],\n        [2, 2, 2]], dtype=i32)");
        /// assert_eq!(grids[1].to_string(), "tensor([[3, 4, 5],\n        [3, 4, 5]], dtype=i32)");
        /// ```
        meshgrid / try_meshgrid[T: Borrow<Tensor>](vectors: &[T]) -> Vec<Tensor> {
            let vectors: Vec<&Tensor> = vectors.iter().map(Borrow::borrow).collect();
            if let Some(other) = vectors.iter().find(|vector| vector.rank() > 1) {
                return Err(Error::shape("meshgrid", format!("shape {} is not a vector's", other.shape())));
            }
            let shape: Shape = vectors.iter().map(|vector| vector.numel()).collect();
            let grid = |(dim, vector): (usize, &&Tensor)| {
                let along = (0..shape.rank()).map(|d| if d == dim { shape[d] } else { 1 }).collect::<Shape>();
                vector.try_reshape(along)?.try_expand(&shape)
            };
            vectors.iter().enumerate().map(grid).collect()
        }

        /// [`meshgrid`](Tensor::meshgrid) with the first two dimensions exchanged, as for pictures
        /// (PyTorch's `indexing="xy"`).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let grids = Tensor::meshgrid_xy(&[Tensor::new([1, 2], &device), Tensor::new([3, 4, 5], &device)]);
        /// assert_eq!(grids[0].shape().dims(), [3, 2]);
        /// ```
        meshgrid_xy / try_meshgrid_xy[T: Borrow<Tensor>](vectors: &[T]) -> Vec<Tensor> {
            let grids = Tensor::try_meshgrid(vectors)?;
            if grids.len() < 2 {
                return Ok(grids);
            }
            grids.iter().map(|grid| grid.try_transpose(0, 1)).collect()
        }
    }
}
