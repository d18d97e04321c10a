//! Arithmetic: sums, products, quotients, powers, extremes.

use super::entry::*;

elementwise! {
    /// `x + y`. Derivatives: 1 and 1.
    ADD = add / try_add (x, y): Number {
        cpu: x + y,
        int: x.wrapping_add(y),
        wgsl: "({x} + {y})",
        saves: [],
        vjp(g, out): [g.clone(), g.clone()],
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).add(0.5)" => "tensor([1.5000, 2.5000])",
    }

    /// `x − y`. Derivatives: 1 and −1.
    SUB = sub / try_sub (x, y): Number {
        cpu: x - y,
        int: x.wrapping_sub(y),
        wgsl: "({x} - {y})",
        saves: [],
        vjp(g, out): [g.clone(), -g],
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).sub(0.5)" => "tensor([0.5000, 1.5000])",
    }

    /// `x · y`. Derivatives: y and x.
    MUL = mul / try_mul (x, y): Number {
        cpu: x * y,
        int: x.wrapping_mul(y),
        wgsl: "({x} * {y})",
        saves: [x, y],
        vjp(g, out): [g * y, g * x],
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).mul(3.0)" => "tensor([3., 6.])",
    }

    /// `x / y`, true division: integers give F32. Derivatives: 1/y and −x/y².
    DIV = div / try_div (x, y): Float {
        cpu: x / y,
        wgsl: "({x} / {y})",
        saves: [x, y],
        vjp(g, out): [g / y, -(g * x / (y * y))],
        domain: [(-2.0, 2.0), (0.5, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).div(4.0)" => "tensor([0.2500, 0.5000])",
    }

    /// `−x`. Derivative: −1.
    NEG = neg / try_neg (x): Number {
        cpu: -x,
        int: x.wrapping_neg(),
        wgsl: "(-{x})",
        wgsl_int: "(~{x} + 1)",
        saves: [],
        vjp(g, out): [-g],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([1.0, -2.0], &device).neg()" => "tensor([-1.,  2.])",
    }
}
