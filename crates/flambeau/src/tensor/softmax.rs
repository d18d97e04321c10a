//! Softmax and its logarithm: composites with the derivative rules that need nothing but the result.

use super::{Tensor, twins};
use crate::error::Result;
use crate::op::Saves;

const OUTPUT: Saves = Saves { inputs: 0, outputs: true };

impl Tensor {
    /// This tensor, as floats, minus the largest value along `dim`: what is exponentiated is never above 0.
    #[track_caller]
    fn shifted(&self, dim: isize) -> Result<Tensor> {
        if self.numel() == 0 {
            return Ok(self.clone());
        }
        self.try_sub(&self.try_amax_keepdim(dim)?)
    }

    twins! {
        /// exp(x) / Σ exp(x) along `dim`, without overflow. Derivative of y: y · (g − Σ g·y).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 1.0], [1e4, -1e4]], &Device::cpu());
        /// assert_eq!(x.softmax(1).to_string(), "tensor([[0.5000, 0.5000],\n        [1.0000, 0.0000]])");
        /// ```
        softmax / try_softmax(&self, dim: isize) -> Tensor {
            let axis = self.shape().dim("softmax", dim)? as isize;
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let forward = || {
                let exponentials = x.shifted(axis)?.try_exp()?;
                exponentials.try_div(&exponentials.try_sum_keepdim(axis)?)
            };
            Tensor::with_rule("softmax", OUTPUT, &[&x], forward, move |v| {
                let (g, y) = (v.grad(), v.output());
                let mean = g.try_mul(y)?.try_sum_keepdim(axis)?;
                Ok(vec![Some(y.try_mul(&g.try_sub(&mean)?)?)])
            })
        }

        /// x − log Σ exp(x) along `dim`, without overflow. Derivative of y: g − exp(y) · Σ g.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1e4, -1e4], &Device::cpu());
        /// assert_eq!(x.log_softmax(0).to_string(), "tensor([     0., -20000.])");
        /// ```
        log_softmax / try_log_softmax(&self, dim: isize) -> Tensor {
            let axis = self.shape().dim("log_softmax", dim)? as isize;
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let forward = || {
                let shifted = x.shifted(axis)?;
                shifted.try_sub(&shifted.try_exp()?.try_sum_keepdim(axis)?.try_log()?)
            };
            Tensor::with_rule("log_softmax", OUTPUT, &[&x], forward, move |v| {
                let (g, y) = (v.grad(), v.output());
                Ok(vec![Some(g.try_sub(&y.try_exp()?.try_mul(&g.try_sum_keepdim(axis)?)?)?)])
            })
        }
    }
}
