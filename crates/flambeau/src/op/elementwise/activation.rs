//! Activations that are one expression. Those with options are composites, in `tensor/activation.rs`.

use super::entry::*;
use super::exponential::{ERF_WGSL, SIGMOID_WGSL, TANH_WGSL};
use super::wgsl::{EXP, FLOAT, IS_NAN, LOG, LOG_PARTS, LOG1P, LOG1P_NEAR, SCALE};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

/// √(2/π), of GELU's tanh form.
const SQRT_2_BY_PI: f64 = FRAC_2_SQRT_PI / SQRT_2;

elementwise! {
    /// `x σ(x)`, also called swish. Derivative: σ(x) (1 + x (1 − σ(x))).
    SILU = silu / try_silu (x): Float {
        cpu: x / (1.0 + Real::exp(-x)),
        wgsl: "({x} * fl_sigmoid({x}))",
        helpers: [SCALE, IS_NAN, EXP, SIGMOID_WGSL],
        saves: [x],
        vjp(g, y): [{
            let s = x.sigmoid();
            g * (&s * (1.0 + x * (1.0 - &s)))
        }],
        domain: [(-3.0, 3.0)],
        example: "Tensor::new([0.0, 1.0], &device).silu()" => "tensor([0.0000, 0.7311])",
    }

    /// `x Φ(x)` with the normal distribution's Φ(x) = ½ (1 + erf(x/√2)). Derivative: Φ(x) + x e^(−x²/2) / √(2π).
    ///
    /// [`gelu_tanh`](Tensor::gelu_tanh) is PyTorch's `approximate="tanh"`.
    GELU = gelu / try_gelu (x): Float {
        cpu: 0.5 * x * (1.0 + Real::erf(x.times(FRAC_1_SQRT_2))),
        wgsl: "(0.5 * {x} * (1.0 + fl_erf({x} * 0.70710677)))",
        helpers: [SCALE, IS_NAN, EXP, ERF_WGSL],
        saves: [x],
        vjp(g, y): [{
            let normal = ((x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
            let density = (x * x * -0.5).exp() * (0.5 * FRAC_1_SQRT_2 * FRAC_2_SQRT_PI);
            g * (normal + x * density)
        }],
        domain: [(-3.0, 3.0)],
        tolerance: (5e-6, "1 + erf cancels below 0"),
        example: "Tensor::new([0.0, 1.0, -1.0], &device).gelu()" => "tensor([ 0.0000,  0.8413, -0.1587])",
    }

    /// GELU by a hyperbolic tangent: `½ x (1 + tanh u)` with u = √(2/π) (x + 0.044715 x³).
    /// Derivative: ½ (1 + tanh u) + ½ x (1 − tanh²u) u′.
    GELU_TANH = gelu_tanh / try_gelu_tanh (x): Float {
        cpu: 0.5 * x * (1.0 + Real::tanh((x + 0.044715 * x * x * x).times(SQRT_2_BY_PI))),
        wgsl: "(0.5 * {x} * (1.0 + fl_tanh(0.7978846 * ({x} + 0.044715 * {x} * {x} * {x}))))",
        helpers: [SCALE, IS_NAN, EXP, TANH_WGSL],
        saves: [x],
        vjp(g, y): [{
            let square = x * x;
            let t = (x * (&square * 0.044715 + 1.0) * SQRT_2_BY_PI).tanh();
            let slope = (&square * (3.0 * 0.044715) + 1.0) * SQRT_2_BY_PI;
            g * ((&t + 1.0) * 0.5 + x * (1.0 - &t * &t) * slope * 0.5)
        }],
        domain: [(-3.0, 3.0)],
        tolerance: (3e-5, "1 + tanh cancels below 0"),
        example: "Tensor::new([0.0, 1.0, -1.0], &device).gelu_tanh()" => "tensor([ 0.0000,  0.8412, -0.1588])",
    }

    /// `x tanh(log(1 + e^x))`. With t that tangent, the derivative is t + x (1 − t²) σ(x).
    MISH = mish / try_mish (x): Float {
        cpu: x * Real::tanh(Real::softplus(x)),
        wgsl: "({x} * fl_tanh(max({x}, 0.0) + fl_log1p(fl_exp(-abs({x})))))",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG, LOG1P, SCALE, IS_NAN, EXP, TANH_WGSL],
        saves: [x],
        vjp(g, y): [{
            let t = x.softplus().tanh();
            g * (&t + x * (1.0 - &t * &t) * x.sigmoid())
        }],
        domain: [(-3.0, 3.0)],
        example: "Tensor::new([0.0, 1.0], &device).mish()" => "tensor([0.0000, 0.8651])",
    }

    /// `min(max(x, 0), 6)`. Derivative: 1 where 0 < x < 6, else 0.
    RELU6 = relu6 / try_relu6 (x): Float {
        cpu: x.clamp(0.0, 6.0),
        wgsl: "select(clamp({x}, 0.0, 6.0), {x}, fl_is_nan({x}))",
        helpers: [IS_NAN],
        saves: [y],
        vjp(g, y): [y.gt(0.0).logical_and(y.lt(6.0)).where_cond(g, 0.0)],
        domain: [(0.5, 5.5)],
        example: "Tensor::new([-1.0, 2.0, 7.0], &device).relu6()" => "tensor([0., 2., 6.])",
    }

    /// `relu6(x + 3) / 6`. Derivative: 1/6 where −3 < x < 3, else 0.
    HARDSIGMOID = hardsigmoid / try_hardsigmoid (x): Float {
        cpu: if x <= -3.0 { 0.0 } else if x >= 3.0 { 1.0 } else { (x + 3.0) / 6.0 },
        wgsl: "select(clamp({x} + 3.0, 0.0, 6.0) / 6.0, {x}, fl_is_nan({x}))",
        helpers: [IS_NAN],
        saves: [x],
        vjp(g, y): [x.abs().lt(3.0).where_cond(g * (1.0 / 6.0), 0.0)],
        domain: [(-2.5, 2.5)],
        example: "Tensor::new([-4.0, 0.0, 1.5], &device).hardsigmoid()" => "tensor([0.0000, 0.5000, 0.7500])",
    }

    /// `x relu6(x + 3) / 6`, 0 at −∞. Derivative: x/3 + ½ where −3 ≤ x ≤ 3, 0 below and 1 above.
    HARDSWISH = hardswish / try_hardswish (x): Float {
        cpu: if x <= -3.0 { 0.0 } else if x >= 3.0 { x } else { x * (x + 3.0) / 6.0 },
        wgsl: "(max({x}, -3.0) * select(clamp({x} + 3.0, 0.0, 6.0) / 6.0, {x}, fl_is_nan({x})))",
        helpers: [IS_NAN],
        saves: [x],
        vjp(g, y): [{
            let inside = g * (x * (1.0 / 3.0) + 0.5);
            x.abs().le(3.0).where_cond(inside, x.gt(0.0).where_cond(g, 0.0))
        }],
        domain: [(-2.5, 2.5)],
        example: "Tensor::new([-4.0, 1.0, 5.0], &device).hardswish()" => "tensor([0.0000, 0.6667, 5.0000])",
    }
}
