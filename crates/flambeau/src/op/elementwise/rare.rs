//! Primitives that few programs use. They are tested as all others are, and have no methods in JavaScript, so that pages
//! do not fetch them.

use super::entry::*;
use super::wgsl::{FLOAT, IS_NAN};

elementwise! {
    /// |x| with the sign of y, that of a zero too. Derivative: 1 where both have one sign, else −1; 0 at x = 0.
    COPYSIGN = copysign / try_copysign (x, y): Float {
        cpu: x.copysign(y),
        wgsl: "fl_float((bitcast<u32>({x}) & 0x7fffffffu) | (bitcast<u32>({y}) & 0x80000000u))",
        helpers: [FLOAT],
        saves: [x, y],
        vjp(g, out): [g * x.sign() * y.ones_like().try_copysign(y)?, g.zeros_like()],
        domain: [(0.2, 2.0), (0.2, 2.0)],
        example: "Tensor::new([1.0, -2.0], &device).copysign(-0.0)" => "tensor([-1., -2.])",
    }

    /// Is the sign bit set: x below 0, or −0?
    SIGNBIT = signbit / try_signbit (x): Test {
        cpu: x.is_sign_negative(),
        int: is_below_zero(x),
        wgsl: "((bitcast<u32>({x}) >> 31u) == 1u)",
        wgsl_int: "({x} < 0)",
        wgsl_uint: "false",
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([-0.0, 2.0], &device).signbit()" => "tensor([ True, False])",
    }

    /// The greatest common divisor, never negative; with 0 the other number.
    GCD = gcd / try_gcd (x, y): Integers {
        cpu: common_divisor(x, y),
        wgsl: "bitcast<i32>(fl_gcd(bitcast<u32>(abs({x})), bitcast<u32>(abs({y}))))",
        wgsl_uint: "fl_gcd({x}, {y})",
        helpers: [GCD_WGSL],
        saves: [],
        vjp(g, out): none,
        domain: [(-100.0, 100.0), (-100.0, 100.0)],
        example: "Tensor::new([12, -18, 0], &device).gcd(8)" => "tensor([4, 2, 8], dtype=i32)",
    }

    /// How many bits of |x| are set.
    BITWISE_COUNT = bitwise_count / try_bitwise_count (x): Integers {
        cpu: x.magnitude().count_ones() as _,
        wgsl: "countOneBits(abs({x}))",
        wgsl_uint: "countOneBits({x})",
        saves: [],
        vjp(g, out): none,
        domain: [(-100.0, 100.0)],
        example: "Tensor::new([7, -8, 0], &device).bitwise_count()" => "tensor([3, 1, 0], dtype=i32)",
    }

    /// The modified Bessel function of the first kind, of order 0: Σₖ ((x/2)ᵏ / k!)². Derivative: `i1`.
    I0 = i0 / try_i0 (x): Float {
        cpu: bessel(x, 0),
        wgsl: "fl_bessel({x}, 0u)",
        helpers: [FLOAT, IS_NAN, BESSEL_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, out): [g * x.try_i1()?],
        domain: [(-3.0, 3.0)],
        tolerance: (1e-5, "a sum of up to 150 terms in 32 bits, each made from the one before"),
        example: "Tensor::new([0.0, 1.0], &device).i0()" => "tensor([1.0000, 1.2661])",
    }

    /// The modified Bessel function of the first kind, of order 1: Σₖ (x/2)²ᵏ⁺¹ / (k! (k + 1)!). Derivative: `i0 − i1 / x`.
    I1 = i1 / try_i1 (x): Float {
        cpu: bessel(x, 1),
        wgsl: "fl_bessel({x}, 1u)",
        helpers: [FLOAT, IS_NAN, BESSEL_WGSL],
        autocast: Full,
        saves: [x, out],
        vjp(g, out): [g * x.eq(0.0).where_cond(0.5, x.try_i0()? - out / x)],
        domain: [(0.2, 3.0)],
        tolerance: (1e-5, "a sum of up to 150 terms in 32 bits, each made from the one before"),
        example: "Tensor::new([0.0, 1.0], &device).i1()" => "tensor([0.0000, 0.5652])",
    }
}

fn is_below_zero<T: Default + PartialOrd>(x: T) -> bool {
    x < T::default()
}

/// Euclid's algorithm.
fn common_divisor<T: Integer + Default + PartialEq>(x: T, y: T) -> T {
    let (mut a, mut b) = (x, y);
    while b != T::default() {
        (a, b) = (b, a.rest(b));
    }
    a.magnitude()
}

const GCD_WGSL: &str = "
fn fl_gcd(x: u32, y: u32) -> u32 {
    var a = x;
    var b = y;
    while (b != 0u) {
        let rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
";

/// The series above, whose terms all have one sign: (x/2)²ᵏ⁺ⁿ / (k! (k + n)!).
fn bessel<T: Into<f64> + Rounded>(x: T, order: u32) -> T {
    T::rounded(bessel_series(x.into(), order))
}

/// A float lane's number nearest to one of f64.
pub(super) trait Rounded {
    fn rounded(x: f64) -> Self;
}

impl Rounded for f32 {
    fn rounded(x: f64) -> Self {
        x as f32
    }
}

impl Rounded for f64 {
    fn rounded(x: f64) -> Self {
        x
    }
}

fn bessel_series(x: f64, order: u32) -> f64 {
    // Beyond, the function is larger than every number.
    if x.abs() > 720.0 || x.is_nan() {
        return if order == 0 { x * x } else { x * f64::INFINITY };
    }
    let square = x * x / 4.0;
    let mut term = if order == 0 { 1.0 } else { x / 2.0 };
    let mut sum = term;
    for k in 1..2000 {
        term *= square / f64::from(k * (k + order));
        sum += term;
        if term.abs() <= 1e-17 * sum.abs() {
            break;
        }
    }
    sum
}

const BESSEL_WGSL: &str = "
fn fl_bessel(x: f32, order: u32) -> f32 {
    if (fl_is_nan(x)) { return x; }
    let sign = select(bitcast<u32>(x) & 0x80000000u, 0u, order == 0u);
    if (abs(x) > 93.0) { return fl_float(0x7f800000u | sign); }
    let square = x * x * 0.25;
    var term = select(x * 0.5, 1.0, order == 0u);
    var sum = term;
    for (var k = 1u; k < 200u; k++) {
        term *= square / f32(k * (k + order));
        sum += term;
        if (abs(term) < 1e-8 * abs(sum)) { break; }
    }
    return sum;
}
";
