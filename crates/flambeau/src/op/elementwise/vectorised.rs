//! Exponentials, logarithms and the error function of f32, written without branches, tables and calls: the compiler
//! runs a loop over them several lanes at a time. They are within two units in the last place, most of them within
//! one, everywhere, and keep infinities, NaN, signed zeros and subnormal operands; exponentials that would be subnormal
//! are 0. Products and sums are rounded one by one, as not every processor can merge them, so the results are the same
//! everywhere.

use crate::host::{BlockFn, Lanes, View, ViewMut, widest};
use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};
use std::f64::consts::FRAC_2_PI;

/// 1.5 · 2²³: a small number added to it is rounded to an integer, which is in the low bits then.
const ROUNDING: f32 = 12582912.0;
/// ln 2 in two parts. The first has 16 bits: its product with an exponent is exact.
const LN_2_HIGH: f32 = 45426.0 / 65536.0;
const LN_2_LOW: f32 = (std::f64::consts::LN_2 - 45426.0 / 65536.0) as f32;

/// c₀ + c₁ x + c₂ x² + …
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let (highest, lower) = (coefficients[N - 1], &coefficients[..N - 1]);
    lower.iter().rev().fold(highest, |sum, coefficient| sum * x + coefficient)
}

/// c₀ + c₁ x + … + c₄ x⁴ in pairs, which do not wait for each other (Estrin's scheme).
#[inline(always)]
fn quartic(x: f32, [c0, c1, c2, c3, c4]: [f32; 5]) -> f32 {
    let square = x * x;
    (c0 + c1 * x) + ((c2 + c3 * x) + c4 * square) * square
}

/// 2ⁿ for n from −126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// The smaller one; NaN if the first is.
#[inline(always)]
fn at_most(x: f32, bound: f32) -> f32 {
    if x > bound { bound } else { x }
}

/// (n, eʳ − 1) with x = n ln 2 + r and |r| ≤ ½ ln 2.
#[inline(always)]
fn exponential_parts(x: f32) -> (i32, f32) {
    let shifted = x * LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let tail = quartic(r, [0.5, 0.16666542, 0.041666277, 0.00836677, 0.0013946781]);
    (shifted.to_bits().wrapping_sub(ROUNDING.to_bits()) as i32, r + r * r * tail)
}

/// log 2⁻¹²⁶, rounded up: below it exponentials are subnormal, and taken as 0 (see `host::tiny`).
const LEAST_EXPONENT: f32 = -87.336_54;

/// `e^x` = 2ⁿ eʳ, times two powers of two, as 2ⁿ itself may be too large.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Above this bound the result is infinite.
    let bounded = at_most(if x < LEAST_EXPONENT { LEAST_EXPONENT } else { x }, 89.0);
    let (n, rest) = exponential_parts(bounded);
    let half = n >> 1;
    let y = (1.0 + rest) * power_of_two(half) * power_of_two(n.wrapping_sub(half));
    if x < LEAST_EXPONENT { 0.0 } else { y }
}

/// The hyperbolic tangent: a polynomial below 0.6, where the exponentials would cancel, 1 − 2 / (e²ˣ + 1) above.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let a = at_most(x.abs(), 10.0);
    let z = a * a;
    let tail = polynomial(z, [-0.3333333, 0.13333248, -0.053952474, 0.021734439, -0.008267088, 0.002231061]);
    let (n, rest) = exponential_parts(2.0 * a);
    let scale = power_of_two(n);
    let far = 1.0 - 2.0 / (scale * rest + (scale + 1.0));
    let y = if a < 0.6 { a + a * z * tail } else { far };
    y.copysign(x)
}

/// The error function: 1 − e^(−q), where q is a polynomial for −log(1 − erf x), which is smooth from 0 on.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let a = at_most(x.abs(), 4.0);
    let square = a * a;
    // The terms of q/a − 1 in pairs, too; the lowest, which weigh most for small a, come last.
    let high = quartic(a, [-0.00016039127, 0.0016670226, -0.00063283416, 0.00011764051, -9.256179e-6]);
    let middle = (0.10277783 - 0.019153066 * a) + high * square;
    let (n, rest) = exponential_parts(-(a + a * (0.12837917 + (0.6366194 * a + middle * square))));
    let scale = power_of_two(n);
    ((1.0 - scale) - scale * rest).copysign(x)
}

/// (n, m) with x = 2ⁿ m and m from √½ to √2, for positive normal numbers.
#[inline(always)]
fn logarithm_parts(x: f32) -> (i32, f32) {
    let n = x.to_bits().wrapping_sub(FRAC_1_SQRT_2.to_bits()) as i32 >> 23;
    (n, f32::from_bits(x.to_bits().wrapping_sub((n as u32) << 23)))
}

/// log(2ⁿ (1 + f)) = n ln 2 + f − f²/2 + f³ P(f).
#[inline(always)]
fn logarithm_of_parts(n: i32, f: f32) -> f32 {
    #[rustfmt::skip]
    const COEFFICIENTS: [f32; 8] = [
        0.33333316, -0.2500081, 0.20002286, -0.16624556, 0.14181194, -0.13128744, 0.12881629, -0.07859615,
    ];
    let n = n as f32;
    n * LN_2_HIGH + (f + (n * LN_2_LOW + f * f * (f * polynomial(f, COEFFICIENTS) - 0.5)))
}

/// log x where it is not `y`, a logarithm of positive numbers.
#[inline(always)]
fn logarithm_edges(x: f32, y: f32) -> f32 {
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x < 0.0 { f32::NAN } else { y }
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    let subnormal = x < f32::MIN_POSITIVE;
    let (n, m) = logarithm_parts(if subnormal { x * power_of_two(23) } else { x });
    let n = if subnormal { n.wrapping_sub(23) } else { n };
    logarithm_edges(x, logarithm_of_parts(n, m - 1.0))
}

/// log(1 + x): the logarithm of the rounded sum 2ⁿ m, to which what the rounding took is added at the scale of m.
#[inline(always)]
pub(super) fn ln_1p(x: f32) -> f32 {
    let sum = 1.0 + x;
    let (n, m) = logarithm_parts(sum);
    let lost = (x - (sum - 1.0)) * (m / sum);
    let f = (m - 1.0) + if sum < 1e9 { lost } else { 0.0 };
    let y = logarithm_edges(sum, logarithm_of_parts(n, f));
    if sum == 1.0 { x } else { y }
}

/// π/2 in three parts: the first two have 22 bits, so that their products with whole numbers below 2³¹ are exact.
const HALF_PI: [f64; 3] = [1.570_796_012_878_418, 3.139_164_164_167_596e-7, 6.223_372_171_896_613e-14];
/// 1.5 · 2⁵²: a number added to it is rounded to an integer, which is in the low bits then.
const ROUNDING_F64: f64 = 6_755_399_441_055_744.0;

/// sin(x + n π/2) for |x| ≤ 2³¹, by f64: x is r and a multiple of π/2, |r| ≤ π/4, and the sine or the cosine of r is its series.
#[inline(always)]
fn sine(x: f32, n: i32) -> f32 {
    let x = f64::from(x);
    let shifted = x * FRAC_2_PI + ROUNDING_F64;
    let k = shifted - ROUNDING_F64;
    let r = ((x - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2];
    let z = r * r;
    // As a product it keeps the sign of a zero.
    let sine = r * (1.0 + z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0 + z * (1.0 / 362_880.0)))));
    let cosine = 1.0
        + z * (-0.5 + z * (1.0 / 24.0 + z * (-1.0 / 720.0 + z * (1.0 / 40_320.0 - z * (1.0 / 3_628_800.0)))));
    let quarter = (shifted.to_bits() as i32).wrapping_add(n);
    let y = if quarter & 1 == 0 { sine } else { cosine };
    (if quarter & 2 == 0 { y } else { -y }) as f32
}

/// Sines, `n` quarters of a turn further on. Where a number of the block is too large, the standard library's, one by one.
#[inline(always)]
fn sines(args: &[View], out: ViewMut, n: i32, exact: fn(f32) -> f32) {
    let (x, out) = (f32::slice(args[0]), f32::slice_mut(out));
    if x.len() < out.len() {
        return out.fill(exact(x[0]));
    }
    let x = &x[..out.len()];
    out.iter_mut().zip(x).for_each(|(out, &x)| *out = sine(x, n));
    if x.iter().fold(false, |far, x| far | (x.abs() > 2_147_483_648.0)) {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = exact(x));
    }
}

widest! {
    fn all_sines(args: &[View], out: ViewMut) {
        sines(args, out, 0, f32::sin)
    }
}

widest! {
    fn all_cosines(args: &[View], out: ViewMut) {
        sines(args, out, 1, f32::cos)
    }
}

/// Sines and cosines of a block.
pub(super) const SINES: BlockFn = all_sines;
pub(super) const COSINES: BlockFn = all_cosines;

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance to the exact value, in units of the last place there.
    fn units(got: f32, exact: f64) -> f64 {
        let rounded = exact as f32;
        if got.to_bits() == rounded.to_bits() || got.is_nan() && rounded.is_nan() {
            return 0.0;
        }
        if !got.is_finite() || !rounded.is_finite() || got == 0.0 && rounded == 0.0 {
            return f64::INFINITY;
        }
        let above = rounded.abs().max(f32::MIN_POSITIVE);
        let unit = f64::from(above) - f64::from(f32::from_bits(above.to_bits() - 1));
        (f64::from(got) - exact).abs() / unit
    }

    /// `e^x`, or 0 where f32 has a subnormal number for it.
    fn normal_exponential(x: f64) -> f64 {
        let y = x.exp();
        if y < f64::from(f32::MIN_POSITIVE) { 0.0 } else { y }
    }

    #[test]
    fn they_are_accurate_everywhere() {
        type Function<T> = fn(T) -> T;
        let functions: [(&str, Function<f32>, Function<f64>, f64); 5] = [
            ("exp", exp, normal_exponential, 1.0),
            ("tanh", tanh, f64::tanh, 1.5),
            ("erf", erf, libm::erf, 2.0),
            ("ln", ln, f64::ln, 1.0),
            ("ln_1p", ln_1p, f64::ln_1p, 1.5),
        ];
        let edges = [0.0, f32::INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), 1.0];
        let exponents = [88.722_83, 88.722_84, 103.278_93, 103.972_08, 103.972_09];
        // Every 2003rd number there is, of both signs.
        let all = (0..=u32::MAX).step_by(2003).map(f32::from_bits);
        let points: Vec<f32> =
            edges.into_iter().chain(exponents).flat_map(|x: f32| [x, -x]).chain(all).collect();
        for (name, function, exact, most) in functions {
            for &x in &points {
                let units = units(function(x), exact(f64::from(x)));
                assert!(units <= most, "{name} of {x:e} is wrong by {units} units in the last place");
            }
        }
    }

    #[test]
    fn sines_are_right_for_numbers_of_every_size() {
        let mut x: Vec<f32> = (0..4000).map(|k| (k as f32 - 2000.0) * 0.013).collect();
        x.extend(
            (0..200).map(|k| {
                (k as f32 * std::f32::consts::FRAC_PI_2).copysign(if k % 2 == 0 { 1.0 } else { -1.0 })
            }),
        );
        x.extend((0..31).flat_map(|k| [1.7f32, -1.9, 1.0].map(|m| m * (1u32 << k) as f32)));
        x.extend([0.0, -0.0, 1e-30, -1e-40, f32::MIN_POSITIVE]);
        let far = [1e10, -3e20, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        for x in [x.clone(), [&x[..], &far].concat()] {
            for (function, exact) in [(SINES, f64::sin as fn(f64) -> f64), (COSINES, f64::cos)] {
                let mut y = vec![0.0f32; x.len()];
                function(&[View::F32(&x)], ViewMut::F32(&mut y));
                for (&x, &y) in x.iter().zip(&y) {
                    let wanted = exact(f64::from(x));
                    assert!(units(y, wanted) <= 1.0, "{x:e} gives {y:e} instead of {wanted:e}");
                    assert!(
                        y != 0.0 || y.is_sign_negative() == (wanted as f32).is_sign_negative(),
                        "{x:e} gives {y:e}"
                    );
                }
                let mut all = [0.0f32; 5];
                function(&[View::F32(&x[..1])], ViewMut::F32(&mut all));
                assert!(all.iter().all(|&one| units(one, exact(f64::from(x[0]))) <= 1.0));
            }
        }
    }
}
