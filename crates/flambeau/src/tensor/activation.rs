//! Activations with options, and those that are a few ops of others. At their kinks derivatives are PyTorch's.

use super::{Autocast, Tensor, twins};
use crate::error::{Error, Result};
use crate::op::Saves;
use crate::rng::Generator;
use crate::shape::Shape;

/// SELU's constants: what keeps mean 0 and variance 1 through layers.
const SELU_ALPHA: f64 = 1.6732632423543772;
const SELU_SCALE: f64 = 1.0507009873554805;

impl Tensor {
    /// scale · x where x > 0, else scale · α (e^(βx) − 1). Derivative: scale, else β (y + scale · α).
    #[track_caller]
    fn exponential_unit(&self, name: &'static str, alpha: f64, beta: f64, scale: f64) -> Result<Tensor> {
        let _entered = Autocast::Widest.enter([self])?;
        let times = |x: &Tensor, factor: f64| if factor == 1.0 { Ok(x.clone()) } else { x.try_mul(factor) };
        let x = self.try_to_dtype(self.dtype().to_float())?;
        let forward = || {
            let below = times(&times(&x, beta)?.try_expm1()?, scale * alpha)?;
            x.try_gt(0.0)?.try_where_cond(&times(&x, scale)?, &below)
        };
        Tensor::with_rule(name, Saves::inputs(1), &[&x], forward, move |v| {
            let (g, x) = (v.grad(), v.input(0));
            // Not from the result: far below 0 that is −α to the last bit. Above 0, where it is not taken, no overflow.
            let slope = times(&x.try_clamp_max(0.0)?, beta)?.try_exp()?;
            let below = times(&g.try_mul(&slope)?, scale * alpha * beta)?;
            Ok(vec![Some(x.try_gt(0.0)?.try_where_cond(&times(g, scale)?, &below)?)])
        })
    }

    twins! {
        /// x where x > 0, else α (e^x − 1). Derivative: 1, else α e^x. PyTorch's α is 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([2.0, -1.0], &Device::cpu()).elu(1.0).to_string(), "tensor([ 2.0000, -0.6321])");
        /// ```
        elu / try_elu(&self, alpha: f64) -> Tensor {
            self.exponential_unit("elu", alpha, 1.0, 1.0)
        }

        /// x where x > 0, else α (e^(x/α) − 1): smooth for every α. Derivative: 1, else e^(x/α). PyTorch's α is 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([2.0, -1.0], &Device::cpu()).celu(2.0).to_string(), "tensor([ 2.0000, -0.7869])");
        /// ```
        celu / try_celu(&self, alpha: f64) -> Tensor {
            if alpha == 0.0 {
                return Err(Error::argument("celu", "alpha must not be 0"));
            }
            self.exponential_unit("celu", alpha, 1.0 / alpha, 1.0)
        }

        /// s · elu(x) with the s and α that keep mean 0 and variance 1 through layers.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([2.0, -1.0], &Device::cpu()).selu().to_string(), "tensor([ 2.1014, -1.1113])");
        /// ```
        selu / try_selu(&self) -> Tensor {
            self.exponential_unit("selu", SELU_ALPHA, 1.0, SELU_SCALE)
        }

        /// x where x > 0, else `slope · x`; at 0 the derivative is the slope. PyTorch's slope is 0.01.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([2.0, -1.0], &Device::cpu()).leaky_relu(0.1).to_string(), "tensor([ 2.0000, -0.1000])");
        /// ```
        leaky_relu / try_leaky_relu(&self, slope: f64) -> Tensor {
            self.try_gt(0.0)?.try_where_cond(self, &self.try_mul(slope)?)
        }

        /// x where x > 0, else `weight · x`, with one weight, or one for each channel of dimension 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let y = Tensor::new([[2.0, -1.0]], &device).prelu(&Tensor::new([0.5, 0.25], &device));
        /// assert_eq!(y.to_string(), "tensor([[ 2.0000, -0.2500]])");
        /// ```
        prelu / try_prelu(&self, weight: &Tensor) -> Tensor {
            let entered = Autocast::Lower.enter([self, weight])?;
            let [x, weight] = entered.inputs([self, weight]);
            let channels = if self.rank() > 1 { self.shape()[1] } else { 1 };
            if weight.rank() > 1 || (weight.numel() != 1 && weight.numel() != channels) {
                let message = format!(
                    "a weight of shape {} for an input of shape {} with {channels} channels",
                    weight.shape(), self.shape());
                return Err(Error::shape("prelu", message));
            }
            let after = self.rank().saturating_sub(2);
            let weight = match weight.numel() {
                1 => weight.try_reshape(())?,
                n => weight.try_reshape(std::iter::once(n).chain(std::iter::repeat_n(1, after)).collect::<Shape>())?,
            };
            x.try_gt(0.0)?.try_where_cond(x, &x.try_mul(&weight)?)
        }

        /// x where x > 0, else a · x with a random in [lower, upper) for each element, as in training; in evaluation
        /// PyTorch uses [`leaky_relu`](Tensor::leaky_relu) with the mean slope. PyTorch's bounds are 1/8 and 1/3.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let y = Tensor::new([2.0, -1.0], &Device::cpu()).rrelu(0.5, 0.5, &Generator::new(1));
        /// assert_eq!(y.to_string(), "tensor([ 2.0000, -0.5000])");
        /// ```
        rrelu / try_rrelu(&self, lower: f64, upper: f64, generator: &Generator) -> Tensor {
            if lower > upper {
                return Err(Error::argument("rrelu", format!("the lower bound {lower} is above the upper {upper}")));
            }
            let slope = self.detach().try_rand_like(generator)?.try_mul(upper - lower)?.try_add(lower)?;
            self.try_gt(0.0)?.try_where_cond(self, &self.try_mul(&slope)?)
        }

        /// x brought into [min, max]. Derivative: 1 where min < x < max, else 0 (unlike [`clamp`](Tensor::clamp), 0 at
        /// the bounds). PyTorch's bounds are −1 and 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([-2.0, 0.5, 2.0], &Device::cpu());
        /// assert_eq!(x.hardtanh(-1.0, 1.0).to_string(), "tensor([-1.0000,  0.5000,  1.0000])");
        /// ```
        hardtanh / try_hardtanh(&self, min: f64, max: f64) -> Tensor {
            if min > max {
                return Err(Error::argument("hardtanh", format!("the lower bound {min} is above the upper {max}")));
            }
            let forward = || self.try_clamp(min, max);
            Tensor::with_rule("hardtanh", Saves::inputs(1), &[self], forward, move |v| {
                let (g, x) = (v.grad(), v.input(0));
                let inside = x.try_gt(min)?.try_logical_and(x.try_lt(max)?)?;
                Ok(vec![Some(inside.try_where_cond(g, 0.0)?)])
            })
        }

        /// x where |x| > λ, else 0; the derivative is 1 and 0. PyTorch's λ is ½.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([-2.0, 0.5, 2.0], &Device::cpu());
        /// assert_eq!(x.hardshrink(0.5).to_string(), "tensor([-2.,  0.,  2.])");
        /// ```
        hardshrink / try_hardshrink(&self, lambda: f64) -> Tensor {
            self.try_abs()?.try_le(lambda)?.try_where_cond(0.0, self)
        }

        /// x − λ where x > λ, x + λ where x < −λ, else 0; the derivative is 1, 1 and 0. PyTorch's λ is ½.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([-2.0, 0.5, 2.0], &Device::cpu());
        /// assert_eq!(x.softshrink(0.5).to_string(), "tensor([-1.5000,  0.0000,  1.5000])");
        /// ```
        softshrink / try_softshrink(&self, lambda: f64) -> Tensor {
            if lambda.is_nan() || lambda < 0.0 {
                return Err(Error::argument("softshrink", format!("lambda is {lambda}; it must not be negative")));
            }
            let nearer = self.try_gt(0.0)?.try_where_cond(&self.try_sub(lambda)?, &self.try_add(lambda)?)?;
            self.try_abs()?.try_le(lambda)?.try_where_cond(0.0, &nearer)
        }

        /// x where x > threshold, else a number; the derivative is 1 and 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.05, 0.5], &Device::cpu());
        /// assert_eq!(x.threshold(0.1, 20.0).to_string(), "tensor([20.0000,  0.5000])");
        /// ```
        threshold / try_threshold(&self, threshold: f64, value: f64) -> Tensor {
            self.try_le(threshold)?.try_where_cond(value, self)
        }

        /// `x / (1 + |x|)`. Derivative: 1 / (1 + |x|)².
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, -3.0], &Device::cpu()).softsign().to_string(), "tensor([ 0.5000, -0.7500])");
        /// ```
        softsign / try_softsign(&self) -> Tensor {
            self.try_div(&self.try_abs()?.try_add(1.0)?)
        }

        /// `x − tanh x`. Derivative: tanh²x.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([0.0, 1.0], &Device::cpu()).tanhshrink().to_string(), "tensor([0.0000, 0.2384])");
        /// ```
        tanhshrink / try_tanhshrink(&self) -> Tensor {
            self.try_sub(&self.try_tanh()?)
        }

        /// The gated linear unit: a · σ(b), where a and b are the halves along `dim`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[3.0, 0.0]], &Device::cpu());
        /// assert_eq!(x.glu(1).to_string(), "tensor([[1.5000]])");
        /// ```
        glu / try_glu(&self, dim: isize) -> Tensor {
            let axis = self.shape().dim("glu", dim)?;
            let size = self.shape()[axis];
            if !size.is_multiple_of(2) {
                let message = format!("dimension {axis} of shape {} cannot be halved", self.shape());
                return Err(Error::shape("glu", message));
            }
            let gate = self.try_narrow(dim, size / 2, size / 2)?.try_sigmoid()?;
            self.try_narrow(dim, 0, size / 2)?.try_mul(&gate)
        }

        /// softmax(−x) along `dim`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 1.0], &Device::cpu());
        /// assert_eq!(x.softmin(0).to_string(), "tensor([0.7311, 0.2689])");
        /// ```
        softmin / try_softmin(&self, dim: isize) -> Tensor {
            self.try_neg()?.try_softmax(dim)
        }
    }
}
