//! Exponentials, logarithms, roots, and the activations made of them.

use super::entry::*;
use super::wgsl::{
    EXP as EXP_WGSL, FLOAT, IS_NAN, LOG as LOG_WGSL, LOG_PARTS, LOG1P as LOG1P_WGSL, LOG1P_NEAR, SCALE,
};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

elementwise! {
    /// `e^x`. Derivative: `e^x`.
    EXP = exp / try_exp (x): Float {
        cpu: Real::exp(x),
        wgsl: "fl_exp({x})",
        helpers: [SCALE, IS_NAN, EXP_WGSL],
        autocast: Full,
        saves: [y],
        vjp(g, y): [g * y],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).exp()" => "tensor([1.0000, 2.7183])",
    }

    /// The natural logarithm. Derivative: 1/x.
    LOG = log / try_log (x): Float {
        cpu: Real::ln(x),
        wgsl: "fl_log({x})",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g / x],
        domain: [(0.2, 3.0)],
        example: "Tensor::new([1.0, 10.0], &device).log()" => "tensor([0.0000, 2.3026])",
    }

    /// `√x`. Derivative: 1 / (2√x).
    SQRT = sqrt / try_sqrt (x): Float {
        cpu: x.sqrt(),
        wgsl: "sqrt({x})",
        saves: [y],
        vjp(g, y): [g / (y * 2.0)],
        domain: [(0.2, 3.0)],
        example: "Tensor::new([1.0, 4.0], &device).sqrt()" => "tensor([1., 2.])",
    }

    /// The hyperbolic tangent. Derivative: 1 − tanh²x.
    TANH = tanh / try_tanh (x): Float {
        cpu: Real::tanh(x),
        wgsl: "fl_tanh({x})",
        helpers: [SCALE, IS_NAN, EXP_WGSL, TANH_WGSL],
        saves: [y],
        vjp(g, y): [g * (1.0 - y * y)],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).tanh()" => "tensor([0.0000, 0.7616])",
    }

    /// `max(x, 0)`. Derivative: 1 where x > 0, else 0.
    RELU = relu / try_relu (x): Number {
        cpu: if x < 0.0 { 0.0 } else { x },
        int: if x as i64 > 0 { x } else { 0 },
        wgsl: "select(max({x}, 0.0), {x}, fl_is_nan({x}))",
        wgsl_int: "max({x}, 0)",
        helpers: [IS_NAN],
        saves: [y],
        vjp(g, y): [g * y.gt(0.0)],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([-1.0, 2.0], &device).relu()" => "tensor([0., 2.])",
    }

    /// `2^x`. Derivative: `2^x ln 2`.
    EXP2 = exp2 / try_exp2 (x): Float {
        cpu: x.exp2(),
        wgsl: "fl_exp2({x})",
        helpers: [SCALE, IS_NAN, EXP_WGSL, EXP2_WGSL],
        saves: [y],
        vjp(g, y): [g * y * LN_2],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.5, 3.0], &device).exp2()" => "tensor([1.4142, 8.0000])",
    }

    /// `e^x − 1`, accurate near 0. Derivative: `e^x`.
    EXPM1 = expm1 / try_expm1 (x): Float {
        cpu: x.exp_m1(),
        wgsl: "fl_expm1({x})",
        helpers: [SCALE, IS_NAN, EXP_WGSL, EXPM1_WGSL],
        autocast: Full,
        saves: [y],
        vjp(g, y): [g * (y + 1.0)],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).expm1()" => "tensor([0.0000, 1.7183])",
    }

    /// The logarithm to base 2. Derivative: 1 / (x ln 2).
    LOG2 = log2 / try_log2 (x): Float {
        cpu: x.log2(),
        wgsl: "fl_log2({x})",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG2_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g / (x * LN_2)],
        domain: [(0.2, 3.0)],
        example: "Tensor::new([1.0, 8.0], &device).log2()" => "tensor([0., 3.])",
    }

    /// The logarithm to base 10. Derivative: 1 / (x ln 10).
    LOG10 = log10 / try_log10 (x): Float {
        cpu: x.log10(),
        wgsl: "fl_log10({x})",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG10_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g / (x * LN_10)],
        domain: [(0.2, 3.0)],
        example: "Tensor::new([1.0, 5.0], &device).log10()" => "tensor([0.0000, 0.6990])",
    }

    /// `log(1 + x)`, accurate near 0. Derivative: 1 / (1 + x).
    LOG1P = log1p / try_log1p (x): Float {
        cpu: Real::ln_1p(x),
        wgsl: "fl_log1p({x})",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG_WGSL, LOG1P_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g / (x + 1.0)],
        domain: [(-0.5, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).log1p()" => "tensor([0.0000, 0.6931])",
    }

    /// `1 / √x`. Derivative: −½ x^(−3/2).
    RSQRT = rsqrt / try_rsqrt (x): Float {
        cpu: x.sqrt().recip(),
        wgsl: "inverseSqrt({x})",
        autocast: Full,
        saves: [y],
        vjp(g, y): [g * (y * y * y) * -0.5],
        domain: [(0.2, 3.0)],
        example: "Tensor::new([1.0, 4.0], &device).rsqrt()" => "tensor([1.0000, 0.5000])",
    }

    /// The logistic function `1 / (1 + e^−x)`. Derivative: σ(x) (1 − σ(x)).
    SIGMOID = sigmoid / try_sigmoid (x): Float {
        cpu: 1.0 / (1.0 + Real::exp(-x)),
        wgsl: "fl_sigmoid({x})",
        helpers: [SCALE, IS_NAN, EXP_WGSL, SIGMOID_WGSL],
        saves: [y],
        vjp(g, y): [g * (y * (1.0 - y))],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).sigmoid()" => "tensor([0.5000, 0.7311])",
    }

    /// `log(1 + e^x)`, a smooth ReLU, without overflow. Derivative: σ(x).
    ///
    /// [`softplus_with`](Tensor::softplus_with) has PyTorch's `beta` and `threshold`.
    SOFTPLUS = softplus / try_softplus (x): Float {
        cpu: Real::softplus(x),
        wgsl: "(max({x}, 0.0) + fl_log1p(fl_exp(-abs({x}))))",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG_WGSL, LOG1P_WGSL, SCALE, IS_NAN, EXP_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g * x.sigmoid()],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 30.0], &device).softplus()" => "tensor([ 0.6931, 30.0000])",
    }

    /// The error function `2/√π ∫₀ˣ e^(−t²) dt`. Derivative: 2/√π e^(−x²).
    ERF = erf / try_erf (x): Float {
        cpu: Real::erf(x),
        wgsl: "fl_erf({x})",
        helpers: [SCALE, IS_NAN, EXP_WGSL, ERF_WGSL],
        saves: [x],
        vjp(g, y): [g * (-(x * x)).exp() * FRAC_2_SQRT_PI],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).erf()" => "tensor([0.0000, 0.8427])",
    }

    /// `1 − erf x`, accurate where that is close to 0. Derivative: −2/√π e^(−x²).
    ERFC = erfc / try_erfc (x): Float {
        cpu: Real::erfc(x),
        wgsl: "fl_erfc({x})",
        helpers: [SCALE, IS_NAN, EXP_WGSL, ERFC_WGSL],
        saves: [x],
        vjp(g, y): [g * (-(x * x)).exp() * -FRAC_2_SQRT_PI],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).erfc()" => "tensor([1.0000, 0.1573])",
    }

    /// `log(e^x + e^y)`, without overflow. Derivatives: σ(x − y) and σ(y − x).
    LOGADDEXP = logaddexp / try_logaddexp (x, y): Float {
        cpu: if x == y && x.is_infinite() { x } else { x.max(y) + Real::ln_1p(Real::exp(-(x - y).abs())) },
        wgsl: "fl_logaddexp({x}, {y})",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG_WGSL, LOG1P_WGSL, SCALE, IS_NAN, EXP_WGSL, LOGADDEXP_WGSL],
        saves: [x, y],
        vjp(g, out): [g * (x - y).sigmoid(), g * (y - x).sigmoid()],
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 1000.0], &device).logaddexp(1.0)" => "tensor([   1.6931, 1000.0000])",
    }
}

/// Equal ones may be infinite.
const LOGADDEXP_WGSL: &str = "
fn fl_logaddexp(x: f32, y: f32) -> f32 {
    return select(max(x, y) + fl_log1p(fl_exp(-abs(x - y))), x + 0.6931472, x == y);
}
";

/// With n = round(x): 2ⁿ · e^((x − n) ln 2).
const EXP2_WGSL: &str = "
fn fl_exp2(x: f32) -> f32 {
    let bounded = clamp(x, -151.0, 129.0);
    let n = round(bounded);
    return select(fl_scale(fl_exp((bounded - n) * 0.6931472), i32(n)), x, fl_is_nan(x));
}
";

const EXPM1_WGSL: &str = "
fn fl_expm1(x: f32) -> f32 {
    if (abs(x) < 0.5) {
        let high = fma(x, fma(x, fma(x, 2.4970255e-5, 0.0001997402), 0.0013888543), 0.008333141);
        return fma(x * x, fma(x, fma(x, fma(x, high, 0.041666668), 0.16666667), 0.5), x);
    }
    return fl_exp(x) - 1.0;
}
";

const LOG2_WGSL: &str = "
fn fl_log2(x: f32) -> f32 {
    let parts = fl_log_parts(x);
    return fl_log_edges(x, fma(parts.y, 1.442695, parts.x));
}
";

const LOG10_WGSL: &str = "
fn fl_log10(x: f32) -> f32 {
    let parts = fl_log_parts(x);
    return fl_log_edges(x, fma(parts.x, 0.301025390625, fma(parts.x, 4.605039e-6, parts.y * 0.4342945)));
}
";

/// A polynomial below 0.6, where the exponentials would cancel.
pub(super) const TANH_WGSL: &str = "
fn fl_tanh(x: f32) -> f32 {
    let a = min(abs(x), 20.0);
    if (a < 0.6) {
        let z = x * x;
        let high = fma(z, fma(z, fma(z, 0.002231061, -0.008267088), 0.021734439), -0.053952474);
        return fma(x * z, fma(z, fma(z, high, 0.13333248), -0.3333333), x);
    }
    let y = 1.0 - 2.0 / (fl_exp(2.0 * a) + 1.0);
    return select(select(y, -y, x < 0.0), x, fl_is_nan(x));
}
";

pub(super) const SIGMOID_WGSL: &str = "
fn fl_sigmoid(x: f32) -> f32 {
    let e = fl_exp(-abs(x));
    return select(e, 1.0, x >= 0.0) / (1.0 + e);
}
";

/// e^(−x²) times t P(t) with t = 1 / (1 + x/2). The square is taken in two parts, as its rounding would count in the
/// exponent; that of the high part is exact.
const ERFC_WGSL: &str = "
fn fl_erfc(x: f32) -> f32 {
    let a = min(abs(x), 10.2);
    let t = 1.0 / fma(a, 0.5, 1.0);
    let top = fma(t, fma(t, fma(t, fma(t, -0.059124582, 0.28484687), -0.48776412), 0.27871418), -0.02707258);
    let p = t * fma(t, fma(t, fma(t, fma(t, top, 0.20287652), 0.24305567), 0.28238195), 0.28208604);
    let high = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let y = p * fl_exp((high - a) * (high + a)) * fl_exp(-high * high);
    return select(select(y, 2.0 - y, x < 0.0), x, fl_is_nan(x));
}
";

/// A polynomial for small x; above, 1 − e^(−q), where q is a polynomial for −log(1 − erf x).
pub(super) const ERF_WGSL: &str = "
fn fl_erf(x: f32) -> f32 {
    let a = min(abs(x), 4.0);
    if (a < 0.92) {
        let z = x * x;
        let high = fma(z, fma(z, fma(z, 8.397288e-5, -0.0008149688), 0.0052017057), -0.0268597);
        return x * fma(z, fma(z, fma(z, high, 0.11283702), -0.37612635), 1.1283792);
    }
    let high = fma(a, fma(a, fma(a, 2.0909556e-5, -0.000432303), 0.004160527), -0.025091497);
    let q = fma(a, fma(a, fma(a, fma(a, high, 0.10823662), 0.6333867), 1.1294951), -0.00017055203);
    let y = 1.0 - fl_exp(-q);
    return select(select(y, -y, x < 0.0), x, fl_is_nan(x));
}
";
