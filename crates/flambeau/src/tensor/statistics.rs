//! Variances, norms and logarithms of sums. Every derivative is finite where PyTorch's is: zero where a standard
//! deviation or a norm is zero.

use super::{Autocast, Tensor, twins};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::{Dims, product};

impl Tensor {
    /// A function of this tensor with slope 0 at 0, where its own slope would be infinite; its value there is 0.
    #[track_caller]
    fn flat_at_zero(&self, function: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let zero = self.try_eq(0)?;
        let away = zero.try_where_cond(self.ones_like(), self)?;
        zero.try_where_cond(self.zeros_like(), function(&away)?)
    }

    /// The dims' variance and mean, which keep the dimensions.
    #[track_caller]
    fn moments(&self, op: &'static str, dims: &Dims, correction: f64) -> Result<(Tensor, Tensor)> {
        if !self.dtype().is_float() {
            return Err(Error::dtype_not_accepted(op, self.dtype(), "a float dtype"));
        }
        let _entered = Autocast::Widest.enter([self])?;
        if self.dtype() == DType::F16 {
            // The squares of f16, and the sum of many, are too large for one.
            let (var, mean) = self.try_to_dtype(DType::F32)?.moments(op, dims, correction)?;
            return Ok((var.try_to_dtype(DType::F16)?, mean.try_to_dtype(DType::F16)?));
        }
        let mean = self.try_mean_keepdim(dims)?;
        let deviation = self.try_sub(&mean)?;
        let sum = deviation.try_mul(&deviation)?.try_sum_keepdim(dims)?;
        let resolved = dims.resolve(op, self.shape())?;
        let count = product(resolved.iter().map(|&dim| self.shape()[dim]));
        let freedom = (count as f64 - correction).max(0.0);
        // Without any freedom left the result is NaN, also for deviations of zero.
        Ok((sum.try_mul(1.0 / freedom)?, mean))
    }

    twins! {
        /// The variance over `dims`, which are taken out: Σ(x − mean)² / max(0, n − correction). A correction of 1
        /// is PyTorch's default, 0 the biased estimate.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.var(.., 1).to_string(), "tensor(1.)");
        /// assert_eq!(x.var(.., 0).to_string(), "tensor(0.6667)");
        /// ```
        var / try_var(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> Tensor {
            let dims = dims.into();
            self.try_var_keepdim(&dims, correction)?.without("var", &dims)
        }

        /// [`var`](Tensor::var), where the dimensions stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 3.0], &Device::cpu()).var_keepdim(0, 1).to_string(), "tensor([2.])");
        /// ```
        var_keepdim / try_var_keepdim(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> Tensor {
            Ok(self.moments("var", &dims.into(), correction.into())?.0)
        }

        /// The variance and the mean over `dims`, which are taken out.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (var, mean) = Tensor::new([1.0, 2.0, 3.0], &Device::cpu()).var_mean(.., 1);
        /// assert_eq!((var.to_string(), mean.to_string()), ("tensor(1.)".into(), "tensor(2.)".into()));
        /// ```
        var_mean / try_var_mean(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> (Tensor, Tensor) {
            let dims = dims.into();
            let (var, mean) = self.try_var_mean_keepdim(&dims, correction)?;
            Ok((var.without("var_mean", &dims)?, mean.without("var_mean", &dims)?))
        }

        /// [`var_mean`](Tensor::var_mean), where the dimensions stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (var, mean) = Tensor::new([[1.0, 3.0]], &Device::cpu()).var_mean_keepdim(1, 0);
        /// assert_eq!((var.to_string(), mean.to_string()), ("tensor([[1.]])".into(), "tensor([[2.]])".into()));
        /// ```
        var_mean_keepdim / try_var_mean_keepdim(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> (Tensor, Tensor) {
            self.moments("var_mean", &dims.into(), correction.into())
        }

        /// The standard deviation over `dims`, which are taken out: √var. Its derivative is 0 where it is 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 5.0], &Device::cpu()).std(.., 0).to_string(), "tensor(2.)");
        /// ```
        std / try_std(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> Tensor {
            let dims = dims.into();
            self.try_std_keepdim(&dims, correction)?.without("std", &dims)
        }

        /// [`std`](Tensor::std), where the dimensions stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 5.0], &Device::cpu()).std_keepdim(0, 0).to_string(), "tensor([2.])");
        /// ```
        std_keepdim / try_std_keepdim(&self, dims: impl Into<Dims>, correction: impl Into<f64>) -> Tensor {
            self.moments("std", &dims.into(), correction.into())?.0.flat_at_zero(Tensor::try_sqrt)
        }

        /// The p-norm over `dims`, which are taken out: (Σ|x|ᵖ)^(1/p); the largest |x| for p = ∞, the smallest for
        /// −∞, the number of elements that are not zero for 0. Its derivative is 0 where it is 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([3.0, -4.0], &Device::cpu());
        /// assert_eq!(x.norm(2, ..).to_string(), "tensor(5.)");
        /// assert_eq!(x.norm(f64::INFINITY, ..).to_string(), "tensor(4.)");
        /// ```
        norm / try_norm(&self, p: impl Into<f64>, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_norm_keepdim(p, &dims)?.without("norm", &dims)
        }

        /// [`norm`](Tensor::norm), where the dimensions stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([3.0, -4.0], &Device::cpu()).norm_keepdim(1, 0).to_string(), "tensor([7.])");
        /// ```
        norm_keepdim / try_norm_keepdim(&self, p: impl Into<f64>, dims: impl Into<Dims>) -> Tensor {
            let (p, dims) = (p.into(), dims.into());
            if !self.dtype().is_float() {
                return Err(Error::dtype_not_accepted("norm", self.dtype(), "a float dtype"));
            }
            let entered = Autocast::Full.enter([self])?;
            if entered.is_casting() {
                return entered.inputs([self])[0].try_norm_keepdim(p, &dims);
            }
            if p == 0.0 {
                return self.try_eq(0)?.try_eq(false)?.try_to_dtype(self.dtype())?.try_sum_keepdim(&dims);
            }
            if p == 2.0 {
                return self.try_mul(self)?.try_sum_keepdim(&dims)?.flat_at_zero(Tensor::try_sqrt);
            }
            let size = self.try_abs()?;
            if p == f64::INFINITY {
                return size.try_amax_keepdim(&dims);
            }
            if p == f64::NEG_INFINITY {
                return size.try_amin_keepdim(&dims);
            }
            if p == 1.0 {
                return size.try_sum_keepdim(&dims);
            }
            let power = |tensor: &Tensor, exponent: f64| tensor.try_pow(exponent);
            if p < 0.0 {
                // A zero among the elements makes the norm zero, and flat.
                let zero = size.try_eq(0)?;
                let away = zero.try_where_cond(size.ones_like(), &size)?;
                let norm = power(&power(&away, p)?.try_sum_keepdim(&dims)?, 1.0 / p)?;
                return zero.try_any_keepdim(&dims)?.try_where_cond(norm.zeros_like(), norm);
            }
            let sum = size.flat_at_zero(|size| power(size, p))?.try_sum_keepdim(&dims)?;
            sum.flat_at_zero(|sum| power(sum, 1.0 / p))
        }

        /// log Σ exp(x) over `dims`, which are taken out, without overflow. Derivative: softmax.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([500.0, 500.0], &Device::cpu());
        /// assert_eq!(x.logsumexp(0).to_string(), "tensor(500.6931)");
        /// ```
        logsumexp / try_logsumexp(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            self.try_logsumexp_keepdim(&dims)?.without("logsumexp", &dims)
        }

        /// [`logsumexp`](Tensor::logsumexp), where the dimensions stay with size 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 0.0], &Device::cpu());
        /// assert_eq!(x.logsumexp_keepdim(0).to_string(), "tensor([0.6931])");
        /// ```
        logsumexp_keepdim / try_logsumexp_keepdim(&self, dims: impl Into<Dims>) -> Tensor {
            let entered = Autocast::Full.enter([self])?;
            let [x] = entered.inputs([self]);
            let (dims, x) = (dims.into(), x.try_to_dtype(x.dtype().to_float())?);
            if self.numel() == 0 {
                return x.try_exp()?.try_sum_keepdim(&dims)?.try_log();
            }
            // The result does not depend on the shift, so the shift needs no derivative. An infinite one would give
            // inf − inf.
            let largest = x.detach().try_amax_keepdim(&dims)?;
            let infinite = largest.try_abs()?.try_eq(f64::INFINITY)?;
            let shift = infinite.try_where_cond(largest.zeros_like(), &largest)?;
            x.try_sub(&shift)?.try_exp()?.try_sum_keepdim(&dims)?.try_log()?.try_add(&shift)
        }
    }
}
