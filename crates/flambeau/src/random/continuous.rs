//! Distributions whose inverse is a formula, of uniform numbers u in (0, 1) or of normal ones z.

use super::{Draw, draws};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::elementwise::{NORMAL, Operand, apply};
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorOptions};
use std::f64::consts::{PI, SQRT_2};

/// How many different normal numbers there are: one for each odd multiple of 2⁻²⁴.
const NORMALS: f64 = (1u32 << 23) as f64;

draws! {
    /// Uniform numbers in [low, high).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).uniform(-1.0, 1.0, [3], &Device::cpu());
    /// assert!(x.abs().le(1.0).all(..).item_blocking()? == 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    uniform / try_uniform(&self,
        low: impl Into<Operand>, high: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("uniform", self, shape, options)?;
        let (low, high) = (draw.parameter(low)?, draw.parameter(high)?);
        let u = Tensor::try_rand(&draw.shape, self, draw.options.device())?;
        draw.finished(u.try_mul(&high.try_sub(&low)?)?.try_add(&low)?)
    }

    /// Normal numbers: mean + deviation · z.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let means = Tensor::new([0.0, 1000.0], &Device::cpu());
    /// let x = Generator::new(1).normal(&means, 1.0, [2], &Device::cpu());
    /// assert!(x.to_vec_blocking::<f32>()?[1] > 900.0);
    /// # Ok::<(), Error>(())
    /// ```
    normal / try_normal(&self,
        mean: impl Into<Operand>, deviation: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("normal", self, shape, options)?;
        let z = draw.normal()?;
        draw.placed(z, mean, deviation)
    }

    /// Vectors of normal numbers with means (n) and a covariance matrix (n, n), which must be positive definite: (…, n) for a shape (…).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let (mean, covariance) = (Tensor::new([0.0, 5.0], &Device::cpu()), Tensor::eye(2, &Device::cpu()));
    /// let x = Generator::new(1).multivariate_normal(&mean, &covariance, [100], &Device::cpu());
    /// assert_eq!(x.shape().dims(), [100, 2]);
    /// ```
    multivariate_normal / try_multivariate_normal(&self,
        mean: &Tensor, covariance: &Tensor, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        const OP: &str = "multivariate_normal";
        let n = mean.numel();
        if mean.rank() != 1 || covariance.shape().dims() != [n, n] {
            let message = format!("means {} and covariances {} are none", mean.shape(), covariance.shape());
            return Err(Error::shape(OP, message));
        }
        let shape: Shape = shape.into().iter().copied().chain([n]).collect();
        let draw = Draw::new(OP, self, shape, options)?;
        let root = covariance.try_to_dtype(DType::F32)?.try_cholesky(false)?;
        let z = draw.normal()?.try_matmul(&root.try_transpose(-2, -1)?)?;
        draw.placed(z, mean, 1.0)
    }

    /// e to the power of normal numbers: exp(mean + deviation · z).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).lognormal(0.0, 1.0, [3], &Device::cpu());
    /// assert!(x.gt(0.0).all(..).item_blocking()? == 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    lognormal / try_lognormal(&self,
        mean: impl Into<Operand>, deviation: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("lognormal", self, shape, options)?;
        let x = draw.normal()?.try_mul(&draw.parameter(deviation)?)?.try_add(&draw.parameter(mean)?)?;
        draw.finished(x.try_exp()?)
    }

    /// Normal numbers between two bounds, as if all others had been thrown away. At least 2⁻¹¹ of the normal numbers must lie between them.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).truncated_normal(0.0, 1.0, -0.5, 2.0, [100], &Device::cpu());
    /// assert!(x.amin(..).item_blocking()? >= -0.5 && x.amax(..).item_blocking()? <= 2.0);
    /// # Ok::<(), Error>(())
    /// ```
    truncated_normal / try_truncated_normal(&self,
        mean: f64, deviation: f64, low: f64, high: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("truncated_normal", self, shape, options)?;
        draw.positive("deviation", deviation)?;
        let below = |bound: f64| 0.5 * libm::erfc(-(bound - mean) / deviation / SQRT_2);
        // Normal number m of all lies at the probability (m + ½) / 2²³.
        let first = (below(low) * NORMALS - 0.5).ceil().max(0.0);
        let last = (below(high) * NORMALS - 0.5).floor().min(NORMALS - 1.0);
        if last.is_nan() || first.is_nan() || last - first < 4096.0 {
            return draw.refuse(format!("too little of a normal distribution lies between {low} and {high}"));
        }
        let number = draw.bits().try_remainder((last - first) as i64 + 1)?.try_add(first as i64)?;
        let z = apply(&NORMAL, &[&number.try_shift_left(9)?])?;
        draw.finished(z.try_mul(deviation)?.try_add(mean)?.try_clamp(low, high)?)
    }

    /// Exponential numbers of this mean: −scale · ln u.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).exponential(1.0, [3], &Device::cpu());
    /// assert!(x.gt(0.0).all(..).item_blocking()? == 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    exponential / try_exponential(&self, scale: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("exponential", self, shape, options)?;
        let scale = scale.into();
        draw.positive_operand("scale", &scale)?;
        let x = draw.uniform()?.try_log()?.try_neg()?;
        draw.placed(x, 0.0, scale)
    }

    /// Laplace's distribution: exponential numbers of this scale to both sides of a location.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).laplace(0.0, 1.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    laplace / try_laplace(&self,
        location: impl Into<Operand>, scale: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("laplace", self, shape, options)?;
        // From the nearer end, so that both tails are as fine.
        let u = draw.uniform()?;
        let upper = u.try_ge(0.5)?;
        let tail = upper.try_where_cond(u.try_rsub(1.0)?, &u)?.try_mul(2.0)?.try_log()?;
        let x = upper.try_where_cond(tail.try_neg()?, &tail)?;
        draw.placed(x, location, scale)
    }

    /// The logistic distribution: location + scale · ln(u / (1 − u)).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).logistic(0.0, 1.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    logistic / try_logistic(&self,
        location: impl Into<Operand>, scale: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("logistic", self, shape, options)?;
        let u = draw.uniform()?;
        let x = u.try_log()?.try_sub(u.try_rsub(1.0)?.try_log()?)?;
        draw.placed(x, location, scale)
    }

    /// Gumbel's distribution, that of the largest of many: location − scale · ln(−ln u).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).gumbel(0.0, 1.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    gumbel / try_gumbel(&self,
        location: impl Into<Operand>, scale: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("gumbel", self, shape, options)?;
        let x = draw.uniform()?.try_log()?.try_neg()?.try_log()?.try_neg()?;
        draw.placed(x, location, scale)
    }

    /// Cauchy's distribution: location + scale · tan(π (u − ½)). It has no mean.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).cauchy(0.0, 1.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    cauchy / try_cauchy(&self,
        location: impl Into<Operand>, scale: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("cauchy", self, shape, options)?;
        // cot πv of the distance v from the nearer end, which is exact; tan near its pole is not.
        let u = draw.uniform()?;
        let upper = u.try_ge(0.5)?;
        let from_end = upper.try_where_cond(u.try_rsub(1.0)?, &u)?.try_mul(PI)?;
        let size = from_end.try_cos()?.try_div(from_end.try_sin()?)?;
        let x = upper.try_where_cond(&size, size.try_neg()?)?;
        draw.placed(x, location, scale)
    }

    /// Rayleigh's distribution: scale · √(−2 ln u).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).rayleigh(1.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    rayleigh / try_rayleigh(&self, scale: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("rayleigh", self, shape, options)?;
        let x = draw.uniform()?.try_log()?.try_mul(-2.0)?.try_sqrt()?;
        draw.placed(x, 0.0, scale)
    }

    /// Weibull's distribution of scale 1: (−ln u)^(1/a).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).weibull(2.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    weibull / try_weibull(&self, a: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("weibull", self, shape, options)?;
        let a = a.into();
        draw.positive_operand("a", &a)?;
        let exponent = draw.parameter(a)?.try_reciprocal()?;
        draw.finished(draw.uniform()?.try_log()?.try_neg()?.try_pow(&exponent)?)
    }

    /// The Lomax distribution (Pareto's, moved to 0), as NumPy's: u^(−1/a) − 1.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).pareto(2.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    pareto / try_pareto(&self, a: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("pareto", self, shape, options)?;
        let a = a.into();
        draw.positive_operand("a", &a)?;
        let exponent = draw.parameter(a)?.try_reciprocal()?.try_neg()?;
        draw.finished(draw.uniform()?.try_log()?.try_mul(&exponent)?.try_expm1()?)
    }

    /// Numbers in (0, 1) with the density a xᵃ⁻¹: u^(1/a).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).power(2.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    power / try_power(&self, a: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("power", self, shape, options)?;
        let a = a.into();
        draw.positive_operand("a", &a)?;
        let exponent = draw.parameter(a)?.try_reciprocal()?;
        draw.finished(draw.uniform()?.try_pow(&exponent)?)
    }

    /// Numbers between `left` and `right` whose density rises in a line to `mode` and falls again.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).triangular(-3.0, 0.0, 8.0, [100], &Device::cpu());
    /// assert!(x.amin(..).item_blocking()? >= -3.0 && x.amax(..).item_blocking()? <= 8.0);
    /// # Ok::<(), Error>(())
    /// ```
    triangular / try_triangular(&self,
        left: f64, mode: f64, right: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("triangular", self, shape, options)?;
        if !(left <= mode && mode <= right && left < right) {
            return draw.refuse(format!("{left}, {mode} and {right} do not follow each other"));
        }
        let u = draw.uniform()?;
        let width = right - left;
        let rising = u.try_mul(width * (mode - left))?.try_sqrt()?.try_add(left)?;
        let falling = u.try_rsub(1.0)?.try_mul(width * (right - mode))?.try_sqrt()?.try_rsub(right)?;
        draw.finished(u.try_lt((mode - left) / width)?.try_where_cond(rising, falling)?)
    }
}
