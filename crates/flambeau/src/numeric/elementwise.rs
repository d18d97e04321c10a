//! Functions of single elements, and comparisons of whole tensors.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::elementwise::Operand;
use crate::tensor::{Tensor, twins};
use std::f64::consts::{LN_2, PI};

impl Tensor {
    twins! {
        /// 0 below zero, 1 above, `at_zero` at zero, NaN for NaN. Derivative: 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([-1.5, 0.0, 2.0], &Device::cpu());
        /// assert_eq!(x.heaviside(0.5).to_string(), "tensor([0.0000, 0.5000, 1.0000])");
        /// ```
        heaviside / try_heaviside(&self, at_zero: impl Into<Operand>) -> Tensor {
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let above = x.try_gt(0.0)?.try_to_dtype(x.dtype())?;
            let step = x.try_eq(0.0)?.try_where_cond(at_zero.into().beside(&x), above)?;
            x.try_isnan()?.try_where_cond(x.detach(), step)
        }

        /// sin(πx) / (πx), and 1 at 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 0.5, 1.5], &Device::cpu());
        /// assert_eq!(x.sinc().to_string(), "tensor([ 1.0000,  0.6366, -0.2122])");
        /// ```
        sinc / try_sinc(&self) -> Tensor {
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let zero = x.try_eq(0.0)?;
            let angle = zero.try_where_cond(x.ones_like(), &x)?.try_mul(PI)?;
            zero.try_where_cond(x.ones_like(), angle.try_sin()?.try_div(&angle)?)
        }

        /// The third root, that of negative numbers too. Derivative: 1 / (3 ∛x²).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([8.0, -27.0], &Device::cpu()).cbrt().to_string(), "tensor([ 2., -3.])");
        /// ```
        cbrt / try_cbrt(&self) -> Tensor {
            let root = self.try_abs()?.try_pow(1.0 / 3.0)?;
            self.try_signbit()?.try_where_cond(root.try_neg()?, &root)
        }

        /// The larger of both, or the one that is not NaN.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, f32::NAN], &Device::cpu());
        /// assert_eq!(x.fmax(0.5).to_string(), "tensor([1.0000, 0.5000])");
        /// ```
        fmax / try_fmax(&self, other: impl Into<Operand>) -> Tensor {
            let other = other.into().beside(self);
            self.unless_nan(&other, self.try_maximum(&other)?)
        }

        /// The smaller of both, or the one that is not NaN.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, f32::NAN], &Device::cpu());
        /// assert_eq!(x.fmin(0.5).to_string(), "tensor([0.5000, 0.5000])");
        /// ```
        fmin / try_fmin(&self, other: impl Into<Operand>) -> Tensor {
            let other = other.into().beside(self);
            self.unless_nan(&other, self.try_minimum(&other)?)
        }

        /// Is it +∞?
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([f32::INFINITY, f32::NEG_INFINITY], &Device::cpu());
        /// assert_eq!(x.isposinf().to_string(), "tensor([ True, False])");
        /// ```
        isposinf / try_isposinf(&self) -> Tensor {
            self.try_isinf()?.try_bitand(&self.try_gt(0)?)
        }

        /// Is it −∞?
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([f32::INFINITY, f32::NEG_INFINITY], &Device::cpu());
        /// assert_eq!(x.isneginf().to_string(), "tensor([False,  True])");
        /// ```
        isneginf / try_isneginf(&self) -> Tensor {
            self.try_isinf()?.try_bitand(&self.try_lt(0)?)
        }

        /// log₂(2ˣ + 2ʸ) without overflow.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([3.0], &Device::cpu()).logaddexp2(3.0).to_string(), "tensor([4.])");
        /// ```
        logaddexp2 / try_logaddexp2(&self, other: impl Into<Operand>) -> Tensor {
            let other = other.into().beside(self);
            let sum = self.try_mul(LN_2)?.try_logaddexp(other.try_mul(LN_2)?)?;
            sum.try_mul(1.0 / LN_2)
        }

        /// ⌊x / y⌋ and x modulo y, with the sign of y.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (quotient, rest) = Tensor::new([7, -7], &Device::cpu()).divmod(3);
        /// assert_eq!(quotient.to_string(), "tensor([ 2, -3], dtype=i32)");
        /// assert_eq!(rest.to_string(), "tensor([1, 2], dtype=i32)");
        /// ```
        divmod / try_divmod(&self, other: impl Into<Operand>) -> (Tensor, Tensor) {
            let other = other.into().beside(self);
            Ok((self.try_floor_divide(&other)?, self.try_remainder(&other)?))
        }

        /// What follows the point, and what comes before it; both have the sign of x.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (fraction, whole) = Tensor::new([2.5, -1.25], &Device::cpu()).modf();
        /// assert_eq!(fraction.to_string(), "tensor([ 0.5000, -0.2500])");
        /// assert_eq!(whole.to_string(), "tensor([ 2., -1.])");
        /// ```
        modf / try_modf(&self) -> (Tensor, Tensor) {
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let whole = x.try_trunc()?;
            let fraction = x.try_isinf()?.try_where_cond(x.zeros_like(), x.try_sub(&whole)?)?;
            Ok((fraction, whole))
        }

        /// x · 2ⁿ, exactly, as long as it is a normal number. Derivative: 2ⁿ.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([0.75, 3.0], &Device::cpu()).ldexp(2).to_string(), "tensor([ 3., 12.])");
        /// ```
        ldexp / try_ldexp(&self, exponents: impl Into<Operand>) -> Tensor {
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let exponents = exponents.into().beside(&x).try_to_dtype(x.dtype())?.detach();
            // In two factors, so that each of them can be written as a float.
            let half = exponents.try_mul(0.5)?.try_floor()?;
            let factor = |exponent: &Tensor| exponent.try_round()?.try_exp2();
            x.try_mul(&factor(&half)?)?.try_mul(&factor(&exponents.try_sub(&half)?)?)
        }

        /// The mantissa m, ½ ≤ |m| < 1, and the exponent e (I32) with x = m · 2ᵉ. Zero, infinities and NaN are their own
        /// mantissa, with the exponent 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (mantissa, exponent) = Tensor::new([8.0, -0.75, 0.0], &Device::cpu()).frexp();
        /// assert_eq!(mantissa.to_string(), "tensor([ 0.5000, -0.7500,  0.0000])");
        /// assert_eq!(exponent.to_string(), "tensor([4, 0, 0], dtype=i32)");
        /// ```
        frexp / try_frexp(&self) -> (Tensor, Tensor) {
            let x = self.try_to_dtype(self.dtype().to_float())?;
            let plain = x.try_isfinite()?.try_bitand(&x.try_ne(0.0)?)?;
            let size = plain.try_where_cond(x.detach().try_abs()?, x.ones_like().detach())?;
            // A logarithm may be off by a little where it is whole.
            let guess = size.try_log2()?.try_floor()?.try_add(1.0)?;
            let scaled = size.try_ldexp(guess.try_neg()?)?;
            let up = scaled.try_ge(1.0)?.try_to_dtype(x.dtype())?;
            let down = scaled.try_lt(0.5)?.try_to_dtype(x.dtype())?;
            let exponent = guess.try_add(&up)?.try_sub(&down)?;
            let exponent = plain.try_where_cond(&exponent, exponent.zeros_like())?;
            let mantissa = plain.try_where_cond(x.try_ldexp(exponent.try_neg()?)?, &x)?;
            Ok((mantissa, exponent.try_to_dtype(DType::I32)?))
        }

        /// The next number from x towards y, in x's dtype (F32 or F64). Beside 0 that is the smallest normal number: devices may
        /// take smaller ones as zero.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0], &Device::cpu());
        /// assert_eq!((x.nextafter(2.0) - &x).item_blocking()?, f64::from(f32::EPSILON));
        /// # Ok::<(), Error>(())
        /// ```
        nextafter / try_nextafter(&self, towards: impl Into<Operand>) -> Tensor {
            let (x, digits, least) = match self.dtype() {
                DType::F64 => (self.detach(), 53, f64::MIN_POSITIVE),
                DType::F32 => (self.detach(), 24, f64::from(f32::MIN_POSITIVE)),
                other => return Err(Error::dtype_not_accepted("nextafter", other, "f32 or f64")),
            };
            let y = towards.into().beside(&x).try_to_dtype(x.dtype())?;
            let (mantissa, exponent) = x.try_frexp()?;
            let up = y.try_gt(&x)?;
            // Towards zero from a power of two the step is half as large.
            let inwards = up.try_bitxor(&x.try_gt(0.0)?)?;
            let half = inwards.try_bitand(&mantissa.try_abs()?.try_eq(0.5)?)?;
            let steps = [digits + 1, digits].map(|digits| x.full_like(0.5f64.powi(digits)));
            let step = half.try_where_cond(&steps[0], &steps[1])?;
            // Of the mantissa, since the step itself may be subnormal.
            let moved = up.try_where_cond(mantissa.try_add(&step)?, mantissa.try_sub(&step)?)?;
            let next = moved.try_ldexp(exponent.try_to_dtype(x.dtype())?)?;
            let beside_zero = x.ones_like().try_mul(least)?;
            let beside_zero = up.try_where_cond(&beside_zero, beside_zero.try_neg()?)?;
            let next = x.try_eq(0.0)?.try_where_cond(beside_zero, next)?;
            let stays = x.try_eq(&y)?.try_bitor(&x.try_isinf()?)?;
            let next = stays.try_where_cond(&x, next)?;
            let unordered = x.try_isnan()?.try_bitor(&y.try_isnan()?)?;
            unordered.try_where_cond(f64::NAN, next)
        }

        /// The distance from x to the next number away from zero, with the sign of x.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0], &Device::cpu());
        /// assert_eq!(x.spacing().item_blocking()?, f64::from(f32::EPSILON));
        /// # Ok::<(), Error>(())
        /// ```
        spacing / try_spacing(&self) -> Tensor {
            let ends = self.full_like(f64::INFINITY).try_copysign(self)?;
            let step = self.try_nextafter(&ends)?.try_sub(self)?;
            self.try_isinf()?.try_where_cond(f64::NAN, step)
        }

        /// The least common multiple of integers, never negative; 0 where one of them is 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([4, -6, 0], &Device::cpu()).lcm(10).to_string(), "tensor([20, 30,  0], dtype=i32)");
        /// ```
        lcm / try_lcm(&self, other: impl Into<Operand>) -> Tensor {
            let other = other.into().beside(self);
            self.try_floor_divide(self.try_gcd(&other)?)?.try_mul(&other)?.try_abs()
        }

        /// Is |x − y| ≤ `atol` + `rtol` |y|? Infinities are close to themselves, NaN to NaN if `equal_nan`. NumPy takes
        /// rtol = 10⁻⁵ and atol = 10⁻⁸ where none are given.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.isclose(&Tensor::new([1.0, 2.1], &Device::cpu()), 1e-5, 1e-8, false).to_string(), "tensor([ True, False])");
        /// ```
        isclose / try_isclose(&self, other: impl Into<Operand>, rtol: f64, atol: f64, equal_nan: bool) -> Tensor {
            let dtype = self.dtype().to_float();
            let x = self.try_to_dtype(dtype)?;
            let y = other.into().beside(&x);
            let room = y.try_abs()?.try_mul(rtol)?.try_add(atol)?;
            let near = x.try_sub(&y)?.try_abs()?.try_le(&room)?.try_bitand(&y.try_isfinite()?)?;
            let close = near.try_bitor(&x.try_eq(&y)?)?;
            match equal_nan {
                true => close.try_bitor(&x.try_isnan()?.try_bitand(&y.try_isnan()?)?),
                false => Ok(close),
            }
        }
    }

    /// `result`, or the other operand where one of them is NaN.
    #[track_caller]
    fn unless_nan(&self, other: &Tensor, result: Tensor) -> Result<Tensor> {
        if !result.dtype().is_float() {
            return Ok(result);
        }
        let (x, y) = (self.try_to_dtype(result.dtype())?, other.try_to_dtype(result.dtype())?);
        x.try_isnan()?.try_where_cond(&y, y.try_isnan()?.try_where_cond(&x, result)?)
    }

    /// Are all elements [close](Tensor::isclose)? This reads the answer.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// assert!(x.allclose(&(&x * 1.000001), 1e-5, 1e-8, false).await?);
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn allclose(&self, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
        Ok(self.try_isclose(other, rtol, atol, equal_nan)?.try_all(..)?.item().await? != 0.0)
    }

    /// Have both one shape and the same elements? NaN is equal to nothing. This reads the answer.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// assert!(x.array_equal(&x).await? && !x.array_equal(&x.narrow(0, 0, 1)).await?);
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn array_equal(&self, other: &Tensor) -> Result<bool> {
        if self.shape() != other.shape() {
            return Ok(false);
        }
        Ok(self.try_eq(other)?.try_all(..)?.item().await? != 0.0)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Tensor {
    /// [`allclose`](Tensor::allclose), blocking.
    pub fn allclose_blocking(&self, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
        pollster::block_on(self.allclose(other, rtol, atol, equal_nan))
    }

    /// [`array_equal`](Tensor::array_equal), blocking.
    pub fn array_equal_blocking(&self, other: &Tensor) -> Result<bool> {
        pollster::block_on(self.array_equal(other))
    }
}
