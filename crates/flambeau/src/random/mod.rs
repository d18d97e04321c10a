//! Random tensors of many distributions: methods of [`Generator`], with NumPy's names and arguments, the shape and the options last.
//!
//! ```
//! # use flambeau::prelude::*;
//! let generator = Generator::new(1);
//! let waits = generator.exponential(2.0, [1000], &Device::cpu());
//! assert!((waits.mean(..).item_blocking()? - 2.0).abs() < 0.3);
//! # Ok::<(), Error>(())
//! ```
//!
//! The same seed gives the same numbers on every device, as for [`Tensor::rand`] and [`Tensor::randn`]: element i of a draw is a function of
//! the seed and of the counter alone. No distribution rejects and tries again, so no rounding can make one device take another way:
//!
//! - those with a formula for the inverse of their distribution function ([`exponential`](Generator::exponential),
//!   [`weibull`](Generator::weibull), …) or of normal numbers ([`lognormal`](Generator::lognormal)) are computed by it (`continuous`);
//! - those without ([`gamma`](Generator::gamma) and what is made of it, [`wald`](Generator::wald),
//!   [`vonmises`](Generator::vonmises)) are a smooth function of a normal number, which the host tabulates in f64 and devices
//!   interpolate, within 10⁻⁶ (`smooth`);
//! - whole numbers ([`poisson`](Generator::poisson), [`binomial`](Generator::binomial), …) are found by 32 random bits in a table of
//!   their distribution function, which the host makes: the same integers everywhere, each with its probability to 2⁻³²
//!   (`discrete`).
//!
//! Floats agree between devices within 4·10⁻⁶ of their size. They are made of 23 or 24 random bits, so tails end where less than 10⁻⁷
//! is left. Where a parameter makes a table it is a number; other parameters may be tensors, which are broadcast to the shape.

mod choosing;
mod continuous;
mod discrete;
mod smooth;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::elementwise::Operand;
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorOptions};

/// Declares draws and their `try_` forms.
macro_rules! draws {
    ($(
        $(#[$doc:meta])*
        $name:ident / $try_name:ident (&$self:ident $(, $arg:ident : $type:ty)* $(,)?) $body:block
    )*) => {
        impl Generator {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(&$self $(, $arg: $type)*) -> Tensor {
                    $crate::error::expect($self.$try_name($($arg),*))
                }

                #[doc = concat!("[`", stringify!($name), "`](Generator::", stringify!($name), "), or the error instead of a panic.")]
                #[track_caller]
                pub fn $try_name(&$self $(, $arg: $type)*) -> Result<Tensor> $body
            )*
        }
    };
}
use draws;

/// A draw of floats: what is asked for, and its name for errors.
struct Draw<'a> {
    op: &'static str,
    generator: &'a Generator,
    shape: Shape,
    options: TensorOptions,
}

impl<'a> Draw<'a> {
    fn new(
        op: &'static str,
        generator: &'a Generator,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Draw<'a>> {
        let (shape, options) = (shape.into(), options.into());
        shape.check(op)?;
        Ok(Draw { op, generator, shape, options })
    }

    fn refuse<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::argument(self.op, message))
    }

    /// Refuses a parameter that is not above zero.
    fn positive(&self, name: &str, value: f64) -> Result<f64> {
        match value > 0.0 && value.is_finite() {
            true => Ok(value),
            false => self.refuse(format!("{name} = {value} is not above 0")),
        }
    }

    /// Refuses a number among the parameters that is not above zero; tensors are not looked at.
    fn positive_operand(&self, name: &str, value: &Operand) -> Result<()> {
        match value {
            Operand::Scalar(value) => self.positive(name, value.to_f64()).map(|_| ()),
            Operand::Tensor(_) => Ok(()),
        }
    }

    /// Random bits (U32).
    #[track_caller]
    fn bits(&self) -> Tensor {
        Tensor::bits(self.shape.clone(), self.generator, self.options.device())
    }

    /// Uniform numbers in (0, 1), F32: odd multiples of 2⁻²⁴.
    #[track_caller]
    fn uniform(&self) -> Result<Tensor> {
        let odd = self.bits().try_shift_right(9)?.try_shift_left(1)?.try_bitor(1)?;
        odd.try_to_dtype(DType::F32)?.try_mul(f64::from(2f32.powi(-24)))
    }

    /// Standard normal numbers, F32.
    #[track_caller]
    fn normal(&self) -> Result<Tensor> {
        Tensor::try_randn(&self.shape, self.generator, (DType::F32, self.options.device()))
    }

    /// A parameter beside numbers of this shape, F32.
    #[track_caller]
    fn parameter(&self, value: impl Into<Operand>) -> Result<Tensor> {
        match value.into() {
            Operand::Scalar(value) => Tensor::try_full((), value, (DType::F32, self.options.device())),
            Operand::Tensor(tensor) => tensor.broadcast_as(self.op, &self.shape)?.try_to_dtype(DType::F32),
        }
    }

    /// location + scale · x, in the dtype that is asked for.
    #[track_caller]
    fn placed(&self, x: Tensor, location: impl Into<Operand>, scale: impl Into<Operand>) -> Result<Tensor> {
        self.finished(x.try_mul(&self.parameter(scale)?)?.try_add(&self.parameter(location)?)?)
    }

    /// The dtype that is asked for.
    #[track_caller]
    fn finished(&self, x: Tensor) -> Result<Tensor> {
        let dtype = self.options.dtype_or(DType::F32);
        if !dtype.is_float() {
            return Err(Error::dtype_not_accepted(self.op, dtype, "a float dtype"));
        }
        x.try_to_dtype(dtype)
    }
}
