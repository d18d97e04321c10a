//! Gamma functions and the inverse of the error function. As those of `rare.rs` they have no methods in JavaScript, so that
//! pages do not fetch them.

use super::entry::*;
use super::rare::Rounded;
use super::trigonometric::QUARTER_WGSL;
use super::wgsl::{FLOAT, IS_NAN, LOG, LOG_PARTS, LOG1P_NEAR};
use std::f64::consts::PI;

elementwise! {
    /// log |Γ(x)|, infinite at 0, −1, −2, … Derivative: `digamma`.
    LGAMMA = lgamma / try_lgamma (x): Float {
        cpu: of_f64(x, log_gamma),
        wgsl: "fl_lgamma({x})",
        helpers: [FLOAT, IS_NAN, LOG1P_NEAR, LOG_PARTS, LOG, QUARTER_WGSL, TURN_WGSL, LGAMMA_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, out): [g * x.try_digamma()?],
        domain: [(0.2, 6.0)],
        tolerance: (1e-5, "Stirling's series less the logarithm of a product, both near 9, in 32 bits"),
        example: "Tensor::new([0.5, 5.0], &device).lgamma()" => "tensor([0.5724, 3.1781])",
    }

    /// ψ(x) = Γ′(x) / Γ(x); NaN at −1, −2, … Derivative: `polygamma` of order 1.
    DIGAMMA = digamma / try_digamma (x): Float {
        cpu: of_f64(x, psi),
        wgsl: "fl_digamma({x})",
        helpers: [FLOAT, IS_NAN, LOG1P_NEAR, LOG_PARTS, LOG, QUARTER_WGSL, TURN_WGSL, DIGAMMA_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, out): [g * x.ones_like().try_polygamma(x)?],
        domain: [(0.2, 6.0)],
        tolerance: (1e-5, "an asymptotic series less a sum of reciprocals, in 32 bits"),
        example: "Tensor::new([1.0, 4.0], &device).digamma()" => "tensor([-0.5772,  1.2561])",
    }

    /// The derivative of order n of ψ(y), n being this tensor's numbers, rounded down: n = 0 is `digamma`. NaN where n is
    /// negative or above 30, or y below −50. Derivatives: 0, and `polygamma` of order n + 1.
    POLYGAMMA = polygamma / try_polygamma (x, y): Float {
        cpu: of_two_f64(x, y, psi_of_order),
        wgsl: "fl_polygamma({x}, {y})",
        helpers: [FLOAT, IS_NAN, LOG1P_NEAR, LOG_PARTS, LOG, QUARTER_WGSL, TURN_WGSL, DIGAMMA_WGSL, POLYGAMMA_WGSL],
        autocast: Full,
        saves: [x, y],
        vjp(g, out): [g.zeros_like(), g * x.try_add(1.0)?.try_polygamma(y)?],
        domain: [(1.2, 1.8), (0.5, 4.0)],
        tolerance: (1e-5, "a sum of ten powers and a series, in 32 bits"),
        example: "Tensor::new([1.0, 2.0], &device).polygamma(1.0)" => "tensor([ 1.6449, -2.4041])",
    }

    /// The number whose `erf` is x; NaN outside of [−1, 1]. Derivative: ½ √π e^(y²), y being the result.
    ERFINV = erfinv / try_erfinv (x): Float {
        cpu: of_f64(x, inverse_erf),
        wgsl: "fl_erfinv({x})",
        helpers: [FLOAT, IS_NAN, ERFINV_WGSL],
        autocast: Full,
        saves: [out],
        vjp(g, out): [g * (out * out).exp() * (PI.sqrt() / 2.0)],
        domain: [(-0.9, 0.9)],
        tolerance: (1e-5, "two polynomials in the logarithm of 1 − x²"),
        example: "Tensor::new([0.0, 0.5], &device).erfinv()" => "tensor([0.0000, 0.4769])",
    }
}

fn of_f64<T: Into<f64> + Rounded>(x: T, function: fn(f64) -> f64) -> T {
    T::rounded(function(x.into()))
}

fn of_two_f64<T: Into<f64> + Rounded>(x: T, y: T, function: fn(f64, f64) -> f64) -> T {
    T::rounded(function(x.into(), y.into()))
}

fn log_gamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// ψ(x + 1) = ψ(x) + 1/x up to 10, then log x − 1/(2x) − Σ B₂ₖ / (2k x²ᵏ); below ½ by reflection.
fn psi(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 && (x == x.floor() || x.is_infinite()) {
        return f64::NAN;
    }
    if x < 0.5 {
        return psi(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut at, mut sum) = (x, 0.0);
    while at < 10.0 {
        sum += 1.0 / at;
        at += 1.0;
    }
    let square = 1.0 / (at * at);
    let coefficients =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let tail = coefficients.iter().rev().fold(0.0, |tail, coefficient| (tail + coefficient) * square);
    at.ln() - 0.5 / at - tail - sum
}

/// (−1)ⁿ⁺¹ Σ n! / (x + k)ⁿ⁺¹: terms as they are up to max(10, n + 1), the others by the formula of Euler and Maclaurin, in which
/// their integral is (n − 1)! / xⁿ.
fn psi_of_order(n: f64, x: f64) -> f64 {
    let n = n.floor();
    if n == 0.0 {
        return psi(x);
    }
    if !(0.0..=30.0).contains(&n) || x.is_nan() || x < -50.0 {
        return f64::NAN;
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    if x <= 0.0 && x == x.floor() {
        return sign * f64::INFINITY;
    }
    // n! / xⁿ⁺¹, factor by factor, so that neither of the two leaves the range of floats before their quotient does.
    let term = |n: f64, x: f64| (1..=n as u32).fold(1.0 / x, |term, factor| term * (f64::from(factor) / x));
    let (mut at, mut sum) = (x, 0.0);
    while at < (n + 1.0).max(10.0) {
        sum += term(n, at);
        at += 1.0;
    }
    let integral = term(n - 1.0, at);
    let first = integral * (n / at);
    // B₂ₖ / (2k)! · (n + 1) … (n + 2k − 1) · first / at²ᵏ⁻¹.
    let coefficients = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
    ];
    sum += integral + first / 2.0;
    let mut factor = (n + 1.0) * first / at;
    for (k, coefficient) in coefficients.iter().enumerate() {
        sum += coefficient * factor;
        let last = n + 1.0 + 2.0 * k as f64;
        factor *= (last + 1.0) / at * ((last + 2.0) / at);
    }
    sign * sum
}

/// Begins with Giles' polynomials (2012), then three of Newton's steps.
fn inverse_erf(x: f64) -> f64 {
    if x.abs() >= 1.0 || x.is_nan() {
        return if x.abs() == 1.0 { x * f64::INFINITY } else { f64::NAN };
    }
    let w = -((1.0 - x) * (1.0 + x)).ln();
    let polynomial = |w: f64, terms: &[f64]| terms.iter().fold(0.0, |sum, term| sum * w + term);
    let mut y = x * if w < 5.0 { polynomial(w - 2.5, &CENTRAL) } else { polynomial(w.sqrt() - 3.0, &TAIL) };
    for _ in 0..3 {
        let error =
            if x.abs() < 0.5 { libm::erf(y) - x } else { x.signum() * (1.0 - x.abs() - libm::erfc(y.abs())) };
        y -= error * PI.sqrt() / 2.0 * (y * y).exp();
    }
    y
}

const CENTRAL: [f64; 9] = [
    2.810_226_36e-8,
    3.432_739_39e-7,
    -3.523_387_7e-6,
    -4.391_506_54e-6,
    0.000_218_580_87,
    -0.001_253_725_03,
    -0.004_177_681_64,
    0.246_640_727,
    1.501_409_41,
];

const TAIL: [f64; 9] = [
    -0.000_200_214_257,
    0.000_100_950_558,
    0.001_349_343_22,
    -0.003_673_428_44,
    0.005_739_507_73,
    -0.007_622_461_3,
    0.009_438_870_47,
    1.001_674_06,
    2.832_976_82,
];

/// `fl_half_turn`: sin πx and cos πx of the distance of x from the next integer, the sine positive. Needs [`QUARTER_WGSL`]. WGSL's own
/// functions are too coarse near the integers, and 0 for the smallest numbers.
const TURN_WGSL: &str = "
fn fl_half_turn(x: f32) -> vec2<f32> {
    let u = abs(x - round(x));
    let is_far = u > 0.25;
    let r = 3.14159265359 * select(u, 0.5 - u, is_far);
    let near = vec2<f32>(fl_sin_near(r), fl_cos_near(r));
    return select(near, near.yx, is_far);
}
";

const LGAMMA_WGSL: &str = "
fn fl_lgamma(x: f32) -> f32 {
    if (fl_is_nan(x)) { return x; }
    if ((bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u || (x <= 0.0 && x == floor(x))) { return fl_float(0x7f800000u); }
    // Differences of numbers near 9 are not 0 to the last bit.
    if (x == 1.0 || x == 2.0) { return 0.0; }
    var at = select(x, 1.0 - x, x < 0.0);
    var product = 1.0;
    for (var k = 0u; k < 8u; k++) {
        if (at < 8.0) {
            product *= at;
            at += 1.0;
        }
    }
    let inverse = 1.0 / at;
    let square = inverse * inverse;
    let series = inverse * fma(square, fma(square, 0.0007936508, -0.0027777778), 0.083333333);
    let value = fma(at - 0.5, fl_log(at), series - at) + 0.9189385332 - fl_log(product);
    if (x >= 0.0) { return value; }
    return 1.1447298858 - fl_log(fl_half_turn(x).x) - value;
}
";

const DIGAMMA_WGSL: &str = "
fn fl_digamma(x: f32) -> f32 {
    if (fl_is_nan(x)) { return x; }
    if (x == 0.0) { return fl_float(0x7f800000u | (~bitcast<u32>(x) & 0x80000000u)); }
    if (x < 0.0 && (x == floor(x) || x < -3e38)) { return fl_float(0x7fc00000u); }
    if (bitcast<u32>(x) == 0x7f800000u) { return x; }
    var at = select(x, 1.0 - x, x < 0.0);
    var sum = 0.0;
    for (var k = 0u; k < 8u; k++) {
        if (at < 8.0) {
            sum += 1.0 / at;
            at += 1.0;
        }
    }
    let inverse = 1.0 / at;
    let square = inverse * inverse;
    let tail = square * fma(square, fma(square, 0.003968254, -0.0083333333), 0.083333333);
    let value = fl_log(at) - 0.5 * inverse - tail - sum;
    if (x >= 0.0) { return value; }
    let turn = fl_half_turn(x);
    let slope = 3.14159265359 * turn.y / turn.x;
    return value - select(slope, -slope, x < round(x));
}
";

const POLYGAMMA_WGSL: &str = "
fn fl_polygamma(order: f32, x: f32) -> f32 {
    let n = floor(order);
    if (n == 0.0) { return fl_digamma(x); }
    if (fl_is_nan(n) || n < 0.0 || n > 30.0 || fl_is_nan(x) || x < -50.0) { return fl_float(0x7fc00000u); }
    let sign = select(1.0, -1.0, n - 2.0 * floor(n * 0.5) == 0.0);
    if (x <= 0.0 && x == floor(x)) { return sign * fl_float(0x7f800000u); }
    if (bitcast<u32>(x) == 0x7f800000u) { return 0.0; }
    let enough = max(8.0, n + 1.0);
    var at = x;
    var sum = 0.0;
    for (var k = 0u; k < 64u; k++) {
        if (at < enough) {
            sum += fl_polygamma_term(n, at);
            at += 1.0;
        }
    }
    // What is left of a high order after 64 terms does not count.
    if (at < enough) { return sign * sum; }
    let inverse = 1.0 / at;
    let integral = fl_polygamma_term(n - 1.0, at);
    let first = integral * (n * inverse);
    var factor = (n + 1.0) * first * inverse;
    sum += integral + first * 0.5 + factor * 0.083333333;
    factor *= (n + 2.0) * inverse * ((n + 3.0) * inverse);
    sum -= factor * 0.0013888889;
    factor *= (n + 4.0) * inverse * ((n + 5.0) * inverse);
    return sign * fma(factor, 3.3068783e-5, sum);
}

// n! / x^(n + 1), factor by factor.
fn fl_polygamma_term(n: f32, x: f32) -> f32 {
    let inverse = 1.0 / x;
    var term = inverse;
    for (var k = 1.0; k <= n; k += 1.0) { term *= k * inverse; }
    return term;
}
";

const ERFINV_WGSL: &str = "
fn fl_erfinv(x: f32) -> f32 {
    if (fl_is_nan(x)) { return x; }
    if (abs(x) >= 1.0) {
        return fl_float(select(0x7fc00000u, 0x7f800000u | (bitcast<u32>(x) & 0x80000000u), abs(x) == 1.0));
    }
    let w = -log((1.0 - x) * (1.0 + x));
    if (w < 5.0) {
        let c = w - 2.5;
        let high = fma(fma(fma(fma(2.81022636e-8, c, 3.43273939e-7), c, -3.5233877e-6), c, -4.39150654e-6), c, 0.00021858087);
        return x * fma(fma(fma(fma(high, c, -0.00125372503), c, -0.00417768164), c, 0.246640727), c, 1.50140941);
    }
    let t = sqrt(w) - 3.0;
    let high = fma(fma(fma(fma(-0.000200214257, t, 0.000100950558), t, 0.00134934322), t, -0.00367342844), t, 0.00573950773);
    return x * fma(fma(fma(fma(high, t, -0.0076224613), t, 0.00943887047), t, 1.00167406), t, 2.83297682);
}
";
