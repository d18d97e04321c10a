//! Tensors made of coordinates beyond ranges: geometric ones, grids, and indexes of triangles and diagonals.

use super::of_host;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorOptions, twins};
use std::borrow::Borrow;

impl Tensor {
    twins! {
        /// `steps` numbers from baseˢᵗᵃʳᵗ to baseᵉⁿᵈ, both included, whose logarithms are at equal distances.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::logspace(0.0, 2.0, 3, 10.0, &Device::cpu());
        /// assert_eq!(x.to_string(), "tensor([  1.,  10., 100.])");
        /// ```
        logspace / try_logspace(start: f64, end: f64, steps: usize, base: f64, options: impl Into<TensorOptions>) -> Tensor {
            let way = |k: usize| if steps > 1 { k as f64 / (steps - 1) as f64 } else { 0.0 };
            let power = |k: usize| match k + 1 == steps && steps > 1 {
                true => base.powf(end),
                false => base.powf(start + way(k) * (end - start)),
            };
            of_host(&(0..steps).map(power).collect::<Vec<_>>(), steps, &options.into())
        }

        /// `steps` numbers from `start` to `end`, both included, each the same multiple of the one before.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::geomspace(1.0, 8.0, 4, &Device::cpu()).to_string(), "tensor([1., 2., 4., 8.])");
        /// ```
        geomspace / try_geomspace(start: f64, end: f64, steps: usize, options: impl Into<TensorOptions>) -> Tensor {
            let quotient = end / start;
            if !quotient.is_finite() || quotient <= 0.0 {
                let message = format!("{start} and {end} must have one sign and not be 0");
                return Err(Error::argument("geomspace", message));
            }
            let last = steps.saturating_sub(1);
            let number = |k: usize| match k {
                0 => start,
                _ if k == last => end,
                _ => start * quotient.powf(k as f64 / last as f64),
            };
            of_host(&(0..steps).map(number).collect::<Vec<_>>(), steps, &options.into())
        }

        /// The coordinates of every element of a shape, one dimension after the other: (rank, …shape), I32 unless the options say
        /// otherwise.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let grid = Tensor::indices([2, 2], &Device::cpu());
        /// assert_eq!(grid.select(0, 1).to_string(), "tensor([[0, 1],\n        [0, 1]], dtype=i32)");
        /// ```
        indices / try_indices(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Tensor {
            let (shape, options) = (shape.into(), options.into());
            let dtype = options.dtype_or(DType::I32);
            if shape.rank() == 0 {
                return Tensor::try_full([0], 0, (dtype, options.device()));
            }
            let along = |&size: &usize| Tensor::try_arange(0, size as i64, 1, options.device());
            let vectors = shape.iter().map(along).collect::<Result<Vec<_>>>()?;
            Tensor::try_stack(&Tensor::try_meshgrid(&vectors)?, 0)?.try_to_dtype(dtype)
        }

        /// A matrix of ones on and below its `diagonal`-th diagonal and zeros above.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::tri(2, 3, 0, &Device::cpu()).to_string(), "tensor([[1., 0., 0.],\n        [1., 1., 0.]])");
        /// ```
        tri / try_tri(rows: usize, columns: usize, diagonal: i64, options: impl Into<TensorOptions>) -> Tensor {
            let options = options.into();
            let ones = Tensor::try_full([rows, columns], 1, (options.dtype_or(DType::F32), options.device()))?;
            ones.try_tril(diagonal)
        }

        /// Rows and columns (I32) of the lower triangle of a matrix, up to the `diagonal`-th diagonal, row by row.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (rows, columns) = Tensor::tril_indices(2, 2, 0, &Device::cpu());
        /// assert_eq!(rows.to_string(), "tensor([0, 1, 1], dtype=i32)");
        /// assert_eq!(columns.to_string(), "tensor([0, 0, 1], dtype=i32)");
        /// ```
        tril_indices / try_tril_indices(
            rows: usize, columns: usize, diagonal: i64, options: impl Into<TensorOptions>,
        ) -> (Tensor, Tensor) {
            triangle("tril_indices", rows, columns, &options.into(), |beside| beside <= diagonal)
        }

        /// Rows and columns (I32) of the upper triangle of a matrix, from the `diagonal`-th diagonal on, row by row.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (rows, columns) = Tensor::triu_indices(2, 2, 1, &Device::cpu());
        /// assert_eq!((rows.to_string(), columns.to_string()), ("tensor([0], dtype=i32)".into(), "tensor([1], dtype=i32)".into()));
        /// ```
        triu_indices / try_triu_indices(
            rows: usize, columns: usize, diagonal: i64, options: impl Into<TensorOptions>,
        ) -> (Tensor, Tensor) {
            triangle("triu_indices", rows, columns, &options.into(), |beside| beside >= diagonal)
        }

        /// Places in a tensor of this shape, counted as one long row, as coordinates: one tensor for each dimension.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let coordinates = Tensor::new([1, 5], &Device::cpu()).unravel_index([2, 3]);
        /// assert_eq!(coordinates[0].to_string(), "tensor([0, 1], dtype=i32)");
        /// assert_eq!(coordinates[1].to_string(), "tensor([1, 2], dtype=i32)");
        /// ```
        unravel_index / try_unravel_index(&self, shape: impl Into<Shape>) -> Vec<Tensor> {
            let shape = shape.into();
            let strides = shape.strides();
            if !self.dtype().is_int() {
                return Err(Error::dtype_not_accepted("unravel_index", self.dtype(), "an integer dtype"));
            }
            let along = |(&size, &stride): (&usize, &i64)| {
                self.try_floor_divide(stride.max(1))?.try_remainder(size as i64)
            };
            shape.iter().zip(&strides).map(along).collect()
        }

        /// Coordinates in a tensor of this shape as places in it as one long row. Coordinates outside are not noticed.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (rows, columns) = (Tensor::new([0, 1], &Device::cpu()), Tensor::new([1, 2], &Device::cpu()));
        /// assert_eq!(Tensor::ravel_multi_index(&[rows, columns], [2, 3]).to_string(), "tensor([1, 5], dtype=i32)");
        /// ```
        ravel_multi_index / try_ravel_multi_index[T: Borrow<Tensor>](coordinates: &[T], shape: impl Into<Shape>) -> Tensor {
            let shape = shape.into();
            if coordinates.len() != shape.rank() || coordinates.is_empty() {
                let message = format!("{} coordinates for shape {shape}", coordinates.len());
                return Err(Error::argument("ravel_multi_index", message));
            }
            let strides = shape.strides();
            let mut places: Option<Tensor> = None;
            for (along, &stride) in coordinates.iter().map(Borrow::borrow).zip(&strides) {
                let part = along.try_mul(stride)?;
                places = Some(places.map_or(Ok(part.clone()), |sum| sum.try_add(&part))?);
            }
            places.ok_or_else(|| Error::argument("ravel_multi_index", "no coordinates"))
        }
    }
}

/// The places of a matrix whose distance to the right of the diagonal is wanted.
#[track_caller]
fn triangle(
    op: &'static str,
    rows: usize,
    columns: usize,
    options: &TensorOptions,
    wanted: impl Fn(i64) -> bool,
) -> Result<(Tensor, Tensor)> {
    Shape::new(&[rows, columns]).check(op)?;
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let (rows, columns): (Vec<i32>, Vec<i32>) = places
        .filter(|&(row, column)| wanted(column as i64 - row as i64))
        .map(|(row, column)| (row as i32, column as i32))
        .unzip();
    let tensor = |places: Vec<i32>| {
        let count = places.len();
        Tensor::try_from_vec(places, count, options.device())?.try_to_dtype(options.dtype_or(DType::I32))
    };
    Ok((tensor(rows)?, tensor(columns)?))
}
