//! Averages, covariances and correlations, and reductions that leave NaN out.

use super::rows_over;
use crate::error::{Error, Result};
use crate::shape::Dims;
use crate::tensor::{Tensor, twins};

/// How [`cov`](Tensor::cov) estimates.
#[derive(Debug, Clone, Default)]
pub struct CovOptions {
    /// What is taken off the number of observations; 1 where nothing is given.
    pub correction: Option<f64>,
    /// How often each observation was made (NumPy's `fweights`).
    pub frequencies: Option<Tensor>,
    /// How much each observation counts (NumPy's `aweights`).
    pub weights: Option<Tensor>,
}

impl Tensor {
    /// The tensor with another number in place of NaN.
    #[track_caller]
    fn nan_as(&self, number: f64) -> Result<Tensor> {
        match self.dtype().is_float() {
            true => self.try_isnan()?.try_where_cond(number, self),
            false => Ok(self.clone()),
        }
    }

    /// How many elements over `dims` are numbers, as floats of this dtype.
    #[track_caller]
    fn numbers(&self, dims: &Dims) -> Result<Tensor> {
        self.try_isnan()?.try_logical_not()?.try_sum(dims)?.try_to_dtype(self.dtype().to_float())
    }

    /// An extreme over `dims` that leaves NaN out; NaN where there is nothing else.
    #[track_caller]
    fn nan_extreme(
        &self,
        dims: Dims,
        worst: f64,
        extreme: fn(&Tensor, Dims) -> Result<Tensor>,
    ) -> Result<Tensor> {
        if !self.dtype().is_float() {
            return extreme(self, dims);
        }
        let found = extreme(&self.nan_as(worst)?, dims.clone())?;
        self.numbers(&dims)?.try_eq(0.0)?.try_where_cond(f64::NAN, found)
    }

    twins! {
        /// The mean over `dims`, which are taken out, of elements that count as much as their weights, which are broadcast: Σ w x / Σ w.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, w) = (Tensor::new([1.0, 4.0], &Device::cpu()), Tensor::new([2.0, 1.0], &Device::cpu()));
        /// assert_eq!(x.average(&w, ..).to_string(), "tensor(2.)");
        /// ```
        average / try_average(&self, weights: &Tensor, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            let dtype = self.dtype().promote(weights.dtype()).to_float();
            let weights = weights.try_to_dtype(dtype)?.broadcast_as("average", self.shape())?;
            let sum = self.try_to_dtype(dtype)?.try_mul(&weights)?.try_sum(&dims)?;
            sum.try_div(weights.try_sum(&dims)?)
        }

        /// The largest minus the smallest element over `dims`, which are taken out ("peak to peak").
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([4, 9, 2], &Device::cpu()).ptp(..).to_string(), "tensor(7, dtype=i32)");
        /// ```
        ptp / try_ptp(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_amax(&dims)?.try_sub(self.try_amin(&dims)?)
        }

        /// The covariances of variables (rows) whose observations are the columns: (D, N) → (D, D); of one variable (N), its variance.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::CovOptions;
        /// let x = Tensor::new([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]], &Device::cpu());
        /// assert_eq!(x.cov(&CovOptions::default()).to_string(), "tensor([[ 1., -1.],\n        [-1.,  1.]])");
        /// ```
        cov / try_cov(&self, options: &CovOptions) -> Tensor {
            if self.rank() > 2 {
                return Err(Error::shape("cov", format!("shape {} is neither a vector's nor a matrix's", self.shape())));
            }
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let x = if x.rank() < 2 { x.try_reshape([1, x.numel()])? } else { x };
            let n = x.size(1);
            let checked = |given: &Option<Tensor>| match given {
                Some(weights) if weights.shape().dims() != [n] => {
                    Err(Error::shape("cov", format!("weights of shape {} for {n} observations", weights.shape())))
                }
                Some(weights) => Ok(Some(weights.try_to_dtype(x.dtype())?)),
                None => Ok(None),
            };
            let (frequencies, weights) = (checked(&options.frequencies)?, checked(&options.weights)?);
            let correction = options.correction.unwrap_or(1.0);
            let ones = Tensor::try_full([n], 1, (x.dtype(), x.device()))?;
            let each = match (&frequencies, &weights) {
                (Some(f), Some(w)) => f.try_mul(w)?,
                (Some(one), None) | (None, Some(one)) => one.clone(),
                (None, None) => ones,
            };
            let total = each.try_sum(..)?;
            let lost = match &weights {
                Some(weights) => each.try_mul(weights)?.try_sum(..)?.try_div(&total)?.try_mul(correction)?,
                None => total.full_like(correction),
            };
            let mean = x.try_mul(&each)?.try_sum_keepdim(1)?.try_div(&total)?;
            let deviation = x.try_sub(&mean)?;
            let products = deviation.try_mul(&each)?.try_matmul(&deviation.try_t()?)?;
            let estimate = products.try_div(total.try_sub(lost)?)?;
            if self.rank() < 2 { estimate.try_reshape(()) } else { Ok(estimate) }
        }

        /// The correlations of variables (rows) whose observations are the columns: (D, N) → (D, D).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]], &Device::cpu());
        /// assert_eq!(x.corrcoef().to_string(), "tensor([[ 1., -1.],\n        [-1.,  1.]])");
        /// ```
        corrcoef / try_corrcoef(&self) -> Tensor {
            let cov = self.try_cov(&CovOptions::default())?;
            if cov.rank() == 0 {
                return cov.try_div(&cov);
            }
            let deviation = cov.try_diagonal(0, 0, 1)?.try_sqrt()?;
            cov.try_div(deviation.try_unsqueeze(1)?)?.try_div(&deviation)?.try_clamp(-1.0, 1.0)
        }

        /// The sum over `dims`, which are taken out, where NaN counts as 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, f32::NAN, 3.0], &Device::cpu()).nansum(..).to_string(), "tensor(4.)");
        /// ```
        nansum / try_nansum(&self, dims: impl Into<Dims>) -> Tensor {
            self.nan_as(0.0)?.try_sum(dims)
        }

        /// The product over `dims`, which are taken out, where NaN counts as 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([2.0, f32::NAN, 3.0], &Device::cpu()).nanprod(..).to_string(), "tensor(6.)");
        /// ```
        nanprod / try_nanprod(&self, dims: impl Into<Dims>) -> Tensor {
            self.nan_as(1.0)?.try_prod(dims)
        }

        /// The mean over `dims`, which are taken out, of what is not NaN; NaN where there is nothing else.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, f32::NAN, 3.0], &Device::cpu()).nanmean(..).to_string(), "tensor(2.)");
        /// ```
        nanmean / try_nanmean(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_to_dtype(self.dtype().to_float())?.try_nansum(&dims)?.try_div(self.numbers(&dims)?)
        }

        /// The variance over `dims`, which are taken out, of what is not NaN; NaN where no freedom is left.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, f32::NAN, 3.0], &Device::cpu()).nanvar(.., 0).to_string(), "tensor(1.)");
        /// ```
        nanvar / try_nanvar(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> Tensor {
            let rows = rows_over("nanvar", self, &dims.into())?;
            let counts = rows.numbers(&Dims::from(-1))?;
            let mean = rows.try_nanmean(-1)?.try_unsqueeze(-1)?;
            let deviation = rows.try_isnan()?.try_where_cond(0.0, rows.try_sub(&mean)?)?;
            let freedom = counts.try_sub(correction.into())?;
            let variance = deviation.try_mul(&deviation)?.try_sum(-1)?.try_div(&freedom)?;
            freedom.try_le(0.0)?.try_where_cond(f64::NAN, variance)
        }

        /// The standard deviation over `dims`, which are taken out, of what is not NaN; NaN where no freedom is left.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, f32::NAN, 5.0], &Device::cpu()).nanstd(.., 0).to_string(), "tensor(2.)");
        /// ```
        nanstd / try_nanstd(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> Tensor {
            self.try_nanvar(dims, correction)?.try_sqrt()
        }

        /// The largest element over `dims`, which are taken out, that is not NaN; NaN where there is nothing else.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, f32::NAN, 5.0], &Device::cpu()).nanmax(..).to_string(), "tensor(5.)");
        /// ```
        nanmax / try_nanmax(&self, dims: impl Into<Dims>) -> Tensor {
            self.nan_extreme(dims.into(), f64::NEG_INFINITY, |x, dims| x.try_amax(dims))
        }

        /// The smallest element over `dims`, which are taken out, that is not NaN; NaN where there is nothing else.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, f32::NAN, 5.0], &Device::cpu()).nanmin(..).to_string(), "tensor(1.)");
        /// ```
        nanmin / try_nanmin(&self, dims: impl Into<Dims>) -> Tensor {
            self.nan_extreme(dims.into(), f64::INFINITY, |x, dims| x.try_amin(dims))
        }

        /// The first position (I32) of the largest element that is not NaN, along a dimension, which is taken out, or with `..` in the tensor
        /// as one long row; 0 where there is nothing but NaN.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([f32::NAN, 1.0, 5.0], &Device::cpu());
        /// assert_eq!(x.nanargmax(0).to_string(), "tensor(2, dtype=i32)");
        /// ```
        nanargmax / try_nanargmax(&self, dims: impl Into<Dims>) -> Tensor {
            self.nan_as(f64::NEG_INFINITY)?.try_argmax(dims)
        }

        /// The first position (I32) of the smallest element that is not NaN; as [`nanargmax`](Tensor::nanargmax).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([f32::NAN, 1.0, 5.0], &Device::cpu());
        /// assert_eq!(x.nanargmin(0).to_string(), "tensor(1, dtype=i32)");
        /// ```
        nanargmin / try_nanargmin(&self, dims: impl Into<Dims>) -> Tensor {
            self.nan_as(f64::INFINITY)?.try_argmin(dims)
        }

        /// The running sum along `dim`, where NaN counts as 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, f32::NAN, 3.0], &Device::cpu()).nancumsum(0).to_string(), "tensor([1., 1., 4.])");
        /// ```
        nancumsum / try_nancumsum(&self, dim: isize) -> Tensor {
            self.nan_as(0.0)?.try_cumsum(dim)
        }

        /// The running product along `dim`, where NaN counts as 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([2.0, f32::NAN, 3.0], &Device::cpu()).nancumprod(0).to_string(), "tensor([2., 2., 6.])");
        /// ```
        nancumprod / try_nancumprod(&self, dim: isize) -> Tensor {
            self.nan_as(1.0)?.try_cumprod(dim)
        }
    }
}
