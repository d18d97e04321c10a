//! Softmax and its logarithm: composites with the derivative rules that need nothing but the result.

use super::{Autocast, Tensor, twins};
use crate::error::Result;
use crate::op::composite::Composite;
use crate::op::{Grads, Saves, Vjp};
use smallvec::smallvec;

const OUTPUT: Saves = Saves { inputs: 0, outputs: true };

/// Of x along settings\[0\].
static SOFTMAX: Composite = Composite::with_rule(
    "softmax",
    |of| {
        let axis = of.settings[0] as isize;
        let exponentials = of.inputs[0].shifted(axis)?.try_exp()?;
        Ok(smallvec![exponentials.try_div(&exponentials.try_sum_keepdim(axis)?)?])
    },
    OUTPUT,
    |v, settings| gradient(&SOFTMAX_GRADIENT, v, settings),
)
.with_autocast(Autocast::Full);

/// Of g and y along settings\[0\].
static SOFTMAX_GRADIENT: Composite = Composite::plain("softmax_gradient", |of| {
    let (g, y) = (&of.inputs[0], &of.inputs[1]);
    let mean = g.try_mul(y)?.try_sum_keepdim(of.settings[0] as isize)?;
    Ok(smallvec![y.try_mul(&g.try_sub(&mean)?)?])
});

static LOG_SOFTMAX: Composite = Composite::with_rule(
    "log_softmax",
    |of| {
        let axis = of.settings[0] as isize;
        let shifted = of.inputs[0].shifted(axis)?;
        let sum = shifted.try_exp()?.try_sum_keepdim(axis)?;
        Ok(smallvec![shifted.try_sub(&sum.try_log()?)?])
    },
    OUTPUT,
    |v, settings| gradient(&LOG_SOFTMAX_GRADIENT, v, settings),
)
.with_autocast(Autocast::Full);

static LOG_SOFTMAX_GRADIENT: Composite = Composite::plain("log_softmax_gradient", |of| {
    let (g, y) = (&of.inputs[0], &of.inputs[1]);
    let sum = g.try_sum_keepdim(of.settings[0] as isize)?;
    Ok(smallvec![g.try_sub(&y.try_exp()?.try_mul(&sum)?)?])
});

fn gradient(kind: &'static Composite, v: &Vjp, settings: &[i64]) -> Result<Grads> {
    let (g, y) = (v.grad(), v.output());
    Ok(vec![Some(Tensor::composed(kind, settings, &[g, y], y.meta().clone())?)])
}

impl Tensor {
    /// This tensor, as floats, minus the largest value along `dim`: what is exponentiated is never above 0.
    #[track_caller]
    fn shifted(&self, dim: isize) -> Result<Tensor> {
        if self.numel() == 0 {
            return Ok(self.clone());
        }
        self.try_sub(&self.try_amax_keepdim(dim)?)
    }

    /// One of the two along a dimension; of a single number, along the only dimension it could have.
    #[track_caller]
    fn soft(&self, kind: &'static Composite, dim: isize) -> Result<Tensor> {
        if self.rank() == 0 && (dim == 0 || dim == -1) {
            return self.try_reshape(1)?.soft(kind, 0)?.try_reshape(());
        }
        let axis = self.shape().dim(kind.name, dim)?;
        let entered = kind.autocast.enter([self])?;
        let [x] = entered.inputs([self]);
        let x = x.try_to_dtype(x.dtype().to_float())?;
        Tensor::composed(kind, &[axis as i64], &[&x], x.meta().clone())
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
            self.soft(&SOFTMAX, dim)
        }

        /// x − log Σ exp(x) along `dim`, without overflow. Derivative of y: g − exp(y) · Σ g.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1e4, -1e4], &Device::cpu());
        /// assert_eq!(x.log_softmax(0).to_string(), "tensor([     0., -20000.])");
        /// ```
        log_softmax / try_log_softmax(&self, dim: isize) -> Tensor {
            self.soft(&LOG_SOFTMAX, dim)
        }
    }
}
