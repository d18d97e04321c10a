//! Exponentials, logarithms, roots, and the activations made of them.

use super::entry::*;

elementwise! {
    /// `e^x`. Derivative: `e^x`.
    EXP = exp / try_exp (x): Float {
        cpu: x.exp(),
        wgsl: "exp({x})",
        saves: [y],
        vjp(g, y): [g * y],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).exp()" => "tensor([1.0000, 2.7183])",
    }

    /// The natural logarithm. Derivative: 1/x.
    LOG = log / try_log (x): Float {
        cpu: x.ln(),
        wgsl: "log({x})",
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
        cpu: x.tanh(),
        wgsl: "tanh(clamp({x}, -20.0, 20.0))",
        saves: [y],
        vjp(g, y): [g * (1.0 - y * y)],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).tanh()" => "tensor([0.0000, 0.7616])",
    }

    /// `max(x, 0)`. Derivative: 1 where x > 0, else 0.
    RELU = relu / try_relu (x): Number {
        cpu: if x < 0.0 { 0.0 } else { x },
        int: if x as i64 > 0 { x } else { 0 },
        wgsl: "select({x}, 0.0, {x} < 0.0)",
        wgsl_int: "max({x}, 0)",
        saves: [y],
        vjp(g, y): [g * y.gt(0.0)],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([-1.0, 2.0], &device).relu()" => "tensor([0., 2.])",
    }
}
