//! CPU arithmetic that the table's expressions need beyond Rust's own: division that rounds down, shifts and powers
//! that are defined for every operand, the error function. Of f32 the functions of exponentials and logarithms are those
//! of [`vectorised`]; of f64, which is for exact comparisons, the standard library's.
//!
//! Integer division by zero follows WGSL, so that every device agrees: `x / 0 = x` and `x mod 0 = 0`.

use super::vectorised;
use crate::host::tiny;
use std::f64::consts::LN_2;

/// Above this, √(x² ± 1) is x, and x² may overflow.
const FAR: f64 = 1e100;

/// Float lanes.
pub(in crate::op) trait Real: Copy {
    /// x · y.
    fn product(self, other: Self) -> Self;
    /// x modulo y, with the sign of y.
    fn modulo(self, divisor: Self) -> Self;
    /// The largest integer not above x / y.
    fn floor_divide(self, divisor: Self) -> Self;
    /// −1, 0 or 1; 0 for NaN.
    fn sign(self) -> Self;
    /// `e^x`.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// `log(1 + x)`.
    fn ln_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// 1 − the error function.
    fn erfc(self) -> Self;
    /// The inverse hyperbolic sine, without overflow.
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine, without overflow.
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent, as accurate below 0 as above.
    fn atanh(self) -> Self;
    /// `log(1 + e^x)`.
    fn softplus(self) -> Self;
    /// x times a constant, in x's precision.
    fn times(self, factor: f64) -> Self;
}

macro_rules! real {
    ($($t:ty: $product:path, $exp:path, $ln:path, $ln_1p:path, $tanh:path, $erf:path);*) => { $(
        impl Real for $t {
            #[inline]
            fn product(self, other: Self) -> Self {
                $product(self, other)
            }

            #[inline]
            fn modulo(self, divisor: Self) -> Self {
                let rest = self % divisor;
                if rest != 0.0 && (rest < 0.0) != (divisor < 0.0) { rest + divisor } else { rest }
            }

            #[inline]
            fn floor_divide(self, divisor: Self) -> Self {
                if divisor == 0.0 {
                    return self / divisor;
                }
                let rest = self % divisor;
                let below = rest != 0.0 && (rest < 0.0) != (divisor < 0.0);
                let quotient = (self - rest) / divisor - if below { 1.0 } else { 0.0 };
                let zero: Self = 0.0;
                if quotient == 0.0 { zero.copysign(self / divisor) } else { quotient.round() }
            }

            #[inline]
            fn sign(self) -> Self {
                f32::from(i8::from(self > 0.0) - i8::from(self < 0.0)).into()
            }

            #[inline]
            fn exp(self) -> Self {
                $exp(self)
            }

            #[inline]
            fn ln(self) -> Self {
                $ln(self)
            }

            #[inline]
            fn ln_1p(self) -> Self {
                $ln_1p(self)
            }

            #[inline]
            fn tanh(self) -> Self {
                $tanh(self)
            }

            #[inline]
            fn erf(self) -> Self {
                $erf(self)
            }

            #[inline]
            fn erfc(self) -> Self {
                libm::erfc(f64::from(self)) as $t
            }

            #[inline]
            fn asinh(self) -> Self {
                let (x, size) = (f64::from(self), f64::from(self.abs()));
                (if size > FAR { (size.ln() + LN_2).copysign(x) } else { x.asinh() }) as $t
            }

            #[inline]
            fn acosh(self) -> Self {
                let x = f64::from(self);
                (if x > FAR { x.ln() + LN_2 } else { x.acosh() }) as $t
            }

            #[inline]
            fn atanh(self) -> Self {
                f64::from(self.abs()).atanh().copysign(f64::from(self)) as $t
            }

            #[inline]
            fn softplus(self) -> Self {
                self.max(0.0) + $ln_1p($exp(-self.abs()))
            }

            #[inline]
            fn times(self, factor: f64) -> Self {
                self * factor as $t
            }
        }
    )* };
}
real!(
    f32: tiny::product, vectorised::exp, vectorised::ln, vectorised::ln_1p, vectorised::tanh, vectorised::erf;
    f64: std::ops::Mul::mul, f64::exp, f64::ln, f64::ln_1p, f64::tanh, libm::erf
);

/// Integer lanes.
pub(super) trait Integer: Copy {
    /// x modulo y, with the sign of y.
    fn modulo(self, divisor: Self) -> Self;
    /// x modulo y, with the sign of x.
    fn rest(self, divisor: Self) -> Self;
    /// The largest integer not above x / y.
    fn floor_divide(self, divisor: Self) -> Self;
    /// x to the power y; a negative exponent gives the reciprocal, towards zero.
    fn power(self, exponent: Self) -> Self;
    /// −1, 0 or 1.
    fn sign(self) -> Self;
    /// The distance to zero.
    fn magnitude(self) -> Self;
    /// x · 2^y; 0 where y is negative or as large as the width.
    fn shifted_left(self, count: Self) -> Self;
    /// x / 2^y rounded down; where y is negative or as large as the width, as if all bits were shifted out.
    fn shifted_right(self, count: Self) -> Self;
}

macro_rules! integer {
    ($($t:ty),*) => { $(
        #[allow(unused_comparisons, reason = "unsigned lanes have no negative operands")]
        impl Integer for $t {
            #[inline]
            fn modulo(self, divisor: Self) -> Self {
                let rest = self.rest(divisor);
                if rest != 0 && (rest < 0) != (divisor < 0) { rest + divisor } else { rest }
            }

            #[inline]
            fn rest(self, divisor: Self) -> Self {
                self.checked_rem(divisor).unwrap_or(0)
            }

            #[inline]
            fn floor_divide(self, divisor: Self) -> Self {
                let rest = self.rest(divisor);
                let below = rest != 0 && (rest < 0) != (divisor < 0);
                self.checked_div(divisor).unwrap_or(self) - if below { 1 } else { 0 }
            }

            #[inline]
            fn power(self, exponent: Self) -> Self {
                if exponent < 0 {
                    let odd = exponent & 1 == 1;
                    return if self == 1 || (self.wrapping_add(1) == 0 && !odd) {
                        1
                    } else if self.wrapping_add(1) == 0 {
                        self
                    } else {
                        0
                    };
                }
                let (mut base, mut left, mut power): (Self, Self, Self) = (self, exponent, 1);
                while left > 0 {
                    if left & 1 == 1 {
                        power = power.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                power
            }

            #[inline]
            fn sign(self) -> Self {
                if self == 0 { 0 } else { self / self.magnitude() }
            }

            #[inline]
            fn magnitude(self) -> Self {
                if self < 0 { self.wrapping_neg() } else { self }
            }

            #[inline]
            fn shifted_left(self, count: Self) -> Self {
                if count < 0 || count >= <$t>::BITS as Self { 0 } else { self << count }
            }

            #[inline]
            fn shifted_right(self, count: Self) -> Self {
                if count < 0 || count >= <$t>::BITS as Self {
                    if self < 0 { !0 } else { 0 }
                } else {
                    self >> count
                }
            }
        }
    )* };
}
integer!(i32, i64, u32);
