//! Differences, slopes and areas of what is sampled.

use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};
use std::f64::consts::TAU;

/// Where samples lie: at equal distances, or at these coordinates (a vector).
#[derive(Debug, Clone)]
pub enum Spacing {
    /// This far apart.
    Uniform(f64),
    /// At these places, in order.
    Coordinates(Tensor),
}

impl From<f64> for Spacing {
    fn from(distance: f64) -> Self {
        Spacing::Uniform(distance)
    }
}
impl From<&Tensor> for Spacing {
    fn from(coordinates: &Tensor) -> Self {
        Spacing::Coordinates(coordinates.clone())
    }
}

impl Tensor {
    /// The distances between neighbouring coordinates, along a dimension of a tensor of this shape.
    #[track_caller]
    fn distances(&self, op: &'static str, dim: usize, shape: &Shape) -> Result<Tensor> {
        if self.rank() != 1 || self.numel() != shape[dim] {
            let message = format!("coordinates of shape {} for dimension {dim} of {shape}", self.shape());
            return Err(Error::shape(op, message));
        }
        let aligned: Shape = (dim + 1..shape.rank()).map(|_| 1).collect();
        let between = self.try_diff(1, 0)?;
        let aligned: Shape = [between.numel()].into_iter().chain(aligned.iter().copied()).collect();
        between.try_reshape(aligned)
    }

    twins! {
        /// Differences of neighbours along `dim`, taken `n` times: x\[k + 1\] − x\[k\]; the dimension is shorter by n.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1, 4, 9, 16], &Device::cpu());
        /// assert_eq!(x.diff(1, 0).to_string(), "tensor([3, 5, 7], dtype=i32)");
        /// assert_eq!(x.diff(2, 0).to_string(), "tensor([2, 2], dtype=i32)");
        /// ```
        diff / try_diff(&self, n: usize, dim: isize) -> Tensor {
            let axis = self.shape().dim("diff", dim)?;
            let mut result = self.clone();
            for _ in 0..n.min(self.shape()[axis]) {
                let left = result.shape()[axis] - 1;
                result = result.try_narrow(dim, 1, left)?.try_sub(result.try_narrow(dim, 0, left)?)?;
            }
            Ok(result)
        }

        /// Differences of neighbours of the tensor as one long row, with vectors before and after them.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, zero) = (Tensor::new([1, 4, 9], &Device::cpu()), Tensor::new([0], &Device::cpu()));
        /// assert_eq!(x.ediff1d(Some(&zero), None).to_string(), "tensor([0, 3, 5], dtype=i32)");
        /// ```
        ediff1d / try_ediff1d(&self, before: Option<&Tensor>, after: Option<&Tensor>) -> Tensor {
            let between = self.try_reshape(self.numel())?.try_diff(1, 0)?;
            let flat = |ends: Option<&Tensor>| ends.map(|ends| ends.try_reshape(ends.numel())).transpose();
            let parts: Vec<Tensor> = [flat(before)?, Some(between), flat(after)?].into_iter().flatten().collect();
            Tensor::try_cat(&parts, 0)
        }

        /// The slope along `dim` of what is sampled at equal distances or at coordinates, by central differences of second order;
        /// at both ends by differences of order `edge_order` (1 or 2). The shape stays.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0, 4.0, 7.0], &Device::cpu());
        /// assert_eq!(x.gradient(1.0, 0, 1).to_string(), "tensor([1.0000, 1.5000, 2.5000, 3.0000])");
        /// ```
        gradient / try_gradient(&self, spacing: impl Into<Spacing>, dim: isize, edge_order: usize) -> Tensor {
            let axis = self.shape().dim("gradient", dim)?;
            let n = self.shape()[axis];
            if !(1..=2).contains(&edge_order) || n < edge_order + 1 {
                let message = format!("differences of order {edge_order} at the ends of dimension {axis} of {}", self.shape());
                return Err(Error::argument("gradient", message));
            }
            let f = self.try_to_dtype(self.dtype().to_float())?;
            let part = |from: usize, length: usize| f.try_narrow(dim, from, length);
            let between = match spacing.into() {
                Spacing::Uniform(distance) => {
                    let shape = (axis..f.rank()).map(|d| if d == axis { n - 1 } else { 1 }).collect::<Shape>();
                    Tensor::try_full(shape, distance, (f.dtype(), f.device()))?
                }
                Spacing::Coordinates(places) => places.try_to_dtype(f.dtype())?.distances("gradient", axis, f.shape())?,
            };
            let step = |from: usize, length: usize| between.try_narrow(0, from, length);
            // Weights of three neighbours, d and e apart, for the slope at the middle one.
            let three = |from: usize, count: usize, at: usize| {
                let (d, e) = (step(from, count)?, step(from + 1, count)?);
                let both = d.try_add(&e)?;
                let weights = match at {
                    0 => [
                        both.try_add(&d)?.try_div(d.try_mul(&both)?)?.try_neg()?,
                        both.try_div(d.try_mul(&e)?)?,
                        d.try_div(e.try_mul(&both)?)?.try_neg()?,
                    ],
                    1 => [
                        e.try_div(d.try_mul(&both)?)?.try_neg()?,
                        e.try_sub(&d)?.try_div(d.try_mul(&e)?)?,
                        d.try_div(e.try_mul(&both)?)?,
                    ],
                    _ => [
                        e.try_div(d.try_mul(&both)?)?,
                        both.try_div(d.try_mul(&e)?)?.try_neg()?,
                        both.try_add(&e)?.try_div(e.try_mul(&both)?)?,
                    ],
                };
                let mut sum = part(from, count)?.try_mul(&weights[0])?;
                for (k, weight) in weights.iter().enumerate().skip(1) {
                    sum = sum.try_add(part(from + k, count)?.try_mul(weight)?)?;
                }
                Ok::<Tensor, Error>(sum)
            };
            let slope = |from: usize| part(from + 1, 1)?.try_sub(part(from, 1)?)?.try_div(step(from, 1)?);
            let (first, last) = match edge_order {
                1 => (slope(0)?, slope(n - 2)?),
                _ => (three(0, 1, 0)?, three(n - 3, 1, 2)?),
            };
            let mut parts = vec![first];
            if n > 2 {
                parts.push(three(0, n - 2, 1)?);
            }
            parts.push(last);
            Tensor::try_cat(&parts, dim)
        }

        /// The area below what is sampled along `dim`, which is taken out: trapezoids between neighbours.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let y = Tensor::new([1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(y.trapezoid(2.0, 0).to_string(), "tensor(8.)");
        /// ```
        trapezoid / try_trapezoid(&self, spacing: impl Into<Spacing>, dim: isize) -> Tensor {
            let axis = self.shape().dim("trapezoid", dim)?;
            let y = self.try_to_dtype(self.dtype().to_float())?;
            let left = y.shape()[axis].saturating_sub(1);
            if left == 0 {
                return y.try_narrow(dim, 0, 0)?.try_sum(dim);
            }
            let pairs = y.try_narrow(dim, 0, left)?.try_add(y.try_narrow(dim, 1, left)?)?;
            let weighted = match spacing.into() {
                Spacing::Uniform(distance) => pairs.try_mul(distance)?,
                Spacing::Coordinates(places) => {
                    pairs.try_mul(&places.try_to_dtype(y.dtype())?.distances("trapezoid", axis, y.shape())?)?
                }
            };
            weighted.try_sum(dim)?.try_mul(0.5)
        }

        /// Angles along `dim` without jumps: where neighbours differ by more than half a `period` (2π where none is given), periods are
        /// added. Derivative: 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 170.0, 350.0, 10.0], &Device::cpu());
        /// assert_eq!(x.unwrap(360.0, 0).to_string(), "tensor([  0., 170., 350., 370.])");
        /// ```
        unwrap / try_unwrap(&self, period: impl Into<Option<f64>>, dim: isize) -> Tensor {
            let period = period.into().unwrap_or(TAU);
            let axis = self.shape().dim("unwrap", dim)?;
            if self.shape()[axis] < 2 {
                return Ok(self.clone());
            }
            let angle = self.try_to_dtype(self.dtype().to_float())?;
            let step = angle.detach().try_diff(1, dim)?;
            let half = period / 2.0;
            let wrapped = step.try_add(half)?.try_remainder(period)?.try_sub(half)?;
            let on_the_edge = wrapped.try_eq(-half)?.try_bitand(&step.try_gt(0.0)?)?;
            let wrapped = on_the_edge.try_where_cond(half, wrapped)?;
            let small = step.try_abs()?.try_lt(half)?;
            let added = small.try_where_cond(0.0, wrapped.try_sub(&step)?)?.try_cumsum(dim)?;
            let first = added.try_narrow(dim, 0, 1)?.zeros_like();
            angle.try_add(Tensor::try_cat(&[first, added], dim)?)
        }

        /// Values at these places of the line through the points (places\[k\], values\[k\]), two vectors, of which `places` increase.
        /// Outside it is `left` and `right`, or the first and the last value. It has derivatives with respect to all three.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (places, values) = (Tensor::new([1.0, 2.0, 4.0], &device), Tensor::new([3.0, 2.0, 0.0], &device));
        /// let x = Tensor::new([0.0, 1.5, 3.0], &device);
        /// assert_eq!(x.interp(&places, &values, None, None).to_string(), "tensor([3.0000, 2.5000, 1.0000])");
        /// ```
        interp / try_interp(&self, places: &Tensor, values: &Tensor, left: Option<f64>, right: Option<f64>) -> Tensor {
            let n = places.numel();
            if places.rank() != 1 || values.shape() != places.shape() || n == 0 {
                let message = format!("places of shape {} with values of shape {}", places.shape(), values.shape());
                return Err(Error::shape("interp", message));
            }
            let dtype = self.dtype().promote(places.dtype()).promote(values.dtype()).to_float();
            let (x, places, values) = (self.try_to_dtype(dtype)?, places.try_to_dtype(dtype)?, values.try_to_dtype(dtype)?);
            let flat = x.try_reshape(x.numel())?;
            let at = |line: &Tensor, index: &Tensor| line.try_gather(0, index);
            let inside = if n == 1 {
                values.broadcast_as("interp", flat.shape())?.try_add(flat.try_mul(0.0)?)?
            } else {
                let after = places.detach().try_searchsorted(&flat.detach(), true)?;
                let before = after.try_sub(1)?.try_clamp(0, n as i64 - 2)?;
                let next = before.try_add(1)?;
                let (x0, y0) = (at(&places, &before)?, at(&values, &before)?);
                let (width, rise) = (at(&places, &next)?.try_sub(&x0)?, at(&values, &next)?.try_sub(&y0)?);
                y0.try_add(rise.try_div(&width)?.try_mul(flat.try_sub(&x0)?)?)?
            };
            let end = |index: usize, given: Option<f64>| match given {
                Some(value) => Tensor::try_full((), value, (dtype, x.device())),
                None => values.try_select(0, index as isize),
            };
            let low = flat.try_lt(places.try_select(0, 0)?)?;
            let high = flat.try_gt(places.try_select(0, n as isize - 1)?)?;
            let result = high.try_where_cond(end(n - 1, right)?, inside)?;
            low.try_where_cond(end(0, left)?, result)?.try_reshape(x.shape())
        }
    }
}
