//! Elementwise functions made of the table's primitives: powers, clamping, interpolation, and stable compositions.

use super::{Autocast, Tensor, twins};
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::op::elementwise::{Operand, POW, apply};

impl Tensor {
    twins! {
        /// `x^y`, element by element. Derivatives: y x^(y−1) and x^y log x, with their limits at x = 0.
        ///
        /// A negative base with a whole exponent is a number, with any other exponent NaN. Integers stay integers; a
        /// negative exponent then gives the reciprocal towards zero. A number as exponent (½, ±1, 2, 3, −½, −2)
        /// becomes roots and products.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([2.0, -3.0], &Device::cpu());
        /// assert_eq!(x.pow(3).to_string(), "tensor([  8., -27.])");
        /// assert_eq!(x.pow(&Tensor::new([0.5, -1.0], &Device::cpu())).to_string(), "tensor([ 1.4142, -0.3333])");
        /// ```
        pow / try_pow(&self, exponent: impl Into<Operand>) -> Tensor {
            let (exponent, entered) = (exponent.into(), POW.autocast.enter([self])?);
            let [x] = entered.inputs([self]);
            if let Operand::Scalar(scalar) = exponent
                && let Some(power) = x.power_of(scalar)?
            {
                return Ok(power);
            }
            apply(&POW, &[x, &entered.input(exponent.beside(x))?])
        }

        /// `x²`. Derivative: 2x.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, -3.0], &Device::cpu()).square().to_string(), "tensor([1., 9.])");
        /// ```
        square / try_square(&self) -> Tensor {
            let entered = POW.autocast.enter([self])?;
            let [x] = entered.inputs([self]);
            x.try_mul(x)
        }

        /// `other − x`. Derivative: −1, and 1 for other.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 3.0], &Device::cpu()).rsub(2.0).to_string(), "tensor([ 1., -1.])");
        /// ```
        rsub / try_rsub(&self, other: impl Into<Operand>) -> Tensor {
            other.into().beside(self).try_sub(self)
        }

        /// Linear interpolation: `x + weight (end − x)`; from the end, `end − (1 − weight) (end − x)`, for weights from ½ on,
        /// so that a weight of 1 gives the end itself.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([0.0, 4.0], &Device::cpu()).lerp(8.0, 0.25).to_string(), "tensor([2., 5.])");
        /// ```
        lerp / try_lerp(&self, end: impl Into<Operand>, weight: impl Into<Operand>) -> Tensor {
            let (end, weight) = (end.into().beside(self), weight.into());
            let way = end.try_sub(self)?;
            match weight {
                Operand::Scalar(weight) if weight.to_f64().abs() < 0.5 => self.try_add(way.try_mul(weight)?),
                Operand::Scalar(weight) => end.try_sub(way.try_mul(1.0 - weight.to_f64())?),
                Operand::Tensor(weight) => {
                    let from_start = self.try_add(way.try_mul(&weight)?)?;
                    let from_end = end.try_sub(way.try_mul(weight.try_rsub(1.0)?)?)?;
                    weight.try_abs()?.try_lt(0.5)?.try_where_cond(from_start, from_end)
                }
            }
        }

        /// `log(1 + e^(βx)) / β`, and x itself where βx > threshold, as PyTorch's softplus with arguments.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 1.0], &Device::cpu());
        /// assert_eq!(x.softplus_with(2.0, 20.0).to_string(), "tensor([0.3466, 1.0635])");
        /// ```
        softplus_with / try_softplus_with(&self, beta: f64, threshold: f64) -> Tensor {
            if beta == 0.0 {
                return Err(Error::argument("softplus_with", "beta must not be 0"));
            }
            let entered = Autocast::Full.enter([self])?;
            let [x] = entered.inputs([self]);
            let scaled = x.try_mul(beta)?;
            let smooth = scaled.try_softplus()?.try_mul(1.0 / beta)?;
            scaled.try_gt(threshold)?.try_where_cond(x, smooth)
        }

        /// `log σ(x) = −log(1 + e^−x)`, without overflow. Derivative: σ(−x).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, -100.0], &Device::cpu());
        /// assert_eq!(x.log_sigmoid().to_string(), "tensor([  -0.6931, -100.0000])");
        /// ```
        log_sigmoid / try_log_sigmoid(&self) -> Tensor {
            let _entered = Autocast::Widest.enter([self])?;
            self.try_neg()?.try_softplus()?.try_neg()
        }

        /// x log y, and 0 where x is 0, whatever y; NaN where y is. Derivatives: log y, and x / y.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 2.0], &Device::cpu());
        /// assert_eq!(x.xlogy(&Tensor::new([0.0, 1.0], &Device::cpu())).to_string(), "tensor([0., 0.])");
        /// ```
        xlogy / try_xlogy(&self, other: impl Into<Operand>) -> Tensor {
            let other = other.into().beside(self);
            let zero = self.try_eq(0)?.try_logical_and(other.try_isnan()?.try_logical_not()?)?;
            // The logarithm of 1 in place of what does not count, so that no derivative is infinite there.
            let product = self.try_mul(&zero.try_where_cond(1.0, &other)?.try_log()?)?;
            zero.try_where_cond(0.0, &product)
        }

        /// x + value · a · b.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.addcmul(&x, &x, 0.5).to_string(), "tensor([1.5000, 4.0000])");
        /// ```
        addcmul / try_addcmul(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Tensor {
            self.try_add(a.try_mul(b)?.try_mul(value.into())?)
        }

        /// x + value · a / b.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.addcdiv(&x, &x, 0.5).to_string(), "tensor([1.5000, 2.5000])");
        /// ```
        addcdiv / try_addcdiv(&self, a: &Tensor, b: &Tensor, value: impl Into<Scalar>) -> Tensor {
            self.try_add(a.try_div(b)?.try_mul(value.into())?)
        }

        /// `log(x / (1 − x))`, the inverse of the sigmoid; with `eps`, of x clamped to [eps, 1 − eps].
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.5, 1.0], &Device::cpu());
        /// assert_eq!(x.logit(0.1).to_string(), "tensor([0.0000, 2.1972])");
        /// ```
        logit / try_logit(&self, eps: impl Into<Option<f64>>) -> Tensor {
            let _entered = Autocast::Widest.enter([self])?;
            let x = match eps.into() {
                Some(eps) => self.try_clamp(eps, 1.0 - eps)?,
                None => self.clone(),
            };
            x.try_div(x.try_rsub(1.0)?)?.try_log()
        }

        /// `x − trunc x`, what follows the point. Derivative: 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.25, -1.5], &Device::cpu()).frac().to_string(), "tensor([ 0.2500, -0.5000])");
        /// ```
        frac / try_frac(&self) -> Tensor {
            self.try_sub(self.try_trunc()?)
        }

        /// Degrees to radians: `x π / 180`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([90.0, 180.0], &Device::cpu()).deg2rad().to_string(), "tensor([1.5708, 3.1416])");
        /// ```
        deg2rad / try_deg2rad(&self) -> Tensor {
            self.try_mul(std::f64::consts::PI / 180.0)
        }

        /// Radians to degrees: `x 180 / π`.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([std::f64::consts::PI], &Device::cpu());
        /// assert_eq!(x.rad2deg().to_string(), "tensor([180.])");
        /// ```
        rad2deg / try_rad2deg(&self) -> Tensor {
            self.try_mul(180.0 / std::f64::consts::PI)
        }

        /// NaN, ∞ and −∞ replaced by numbers. Derivative: 1 where x is finite, else 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([f32::NAN, f32::INFINITY, 1.0], &Device::cpu());
        /// assert_eq!(x.nan_to_num(0.0, 9.0, -9.0).to_string(), "tensor([0., 9., 1.])");
        /// ```
        nan_to_num / try_nan_to_num(&self, nan: f64, positive: f64, negative: f64) -> Tensor {
            if !self.dtype().is_float() {
                return Ok(self.clone());
            }
            let infinite = self.try_gt(0.0)?.try_where_cond(self.full_like(positive), negative)?;
            let finite = self.try_isinf()?.try_where_cond(infinite, self)?;
            self.try_isnan()?.try_where_cond(nan, finite)
        }
    }

    /// x to the power of a number, where that has a cheaper form than the general power.
    #[track_caller]
    fn power_of(&self, exponent: Scalar) -> Result<Option<Tensor>> {
        let float = self.dtype().is_float();
        let whole = float || (self.dtype().is_int() && matches!(exponent, Scalar::Int(_)));
        Ok(Some(match exponent.to_f64() {
            1.0 if whole => self.clone(),
            2.0 if whole => self.try_mul(self)?,
            3.0 if whole => self.try_cube()?,
            0.5 if float => self.try_sqrt()?,
            -0.5 if float => self.try_rsqrt()?,
            -1.0 if float => self.try_reciprocal()?,
            // In this order the derivative at 0 is infinite, as it should be, not 0 · ∞.
            -2.0 if float => self.try_reciprocal()?.try_square()?,
            _ => return Ok(None),
        }))
    }
}
