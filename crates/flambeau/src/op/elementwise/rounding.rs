//! Rounding: piecewise constant, so the derivative is zero wherever there is one.

use super::entry::*;

elementwise! {
    /// The largest integer not above x. Derivative: 0.
    FLOOR = floor / try_floor (x): Number {
        cpu: x.floor(),
        int: x,
        wgsl: "floor({x})",
        wgsl_int: "{x}",
        saves: [],
        vjp(g, y): [g.zeros_like()],
        domain: [(0.1, 0.9)],
        example: "Tensor::new([1.7, -1.2], &device).floor()" => "tensor([ 1., -2.])",
    }

    /// The smallest integer not below x. Derivative: 0.
    CEIL = ceil / try_ceil (x): Number {
        cpu: x.ceil(),
        int: x,
        wgsl: "ceil({x})",
        wgsl_int: "{x}",
        saves: [],
        vjp(g, y): [g.zeros_like()],
        domain: [(0.1, 0.9)],
        example: "Tensor::new([1.2, -1.7], &device).ceil()" => "tensor([ 2., -1.])",
    }

    /// The nearest integer; halves go to the even one. Derivative: 0.
    ROUND = round / try_round (x): Number {
        cpu: x.round_ties_even(),
        int: x,
        wgsl: "round({x})",
        wgsl_int: "{x}",
        saves: [],
        vjp(g, y): [g.zeros_like()],
        domain: [(0.1, 0.4)],
        example: "Tensor::new([1.5, 2.5, -0.6], &device).round()" => "tensor([ 2.,  2., -1.])",
    }

    /// The integer part: x without what follows the point. Derivative: 0.
    TRUNC = trunc / try_trunc (x): Number {
        cpu: x.trunc(),
        int: x,
        wgsl: "trunc({x})",
        wgsl_int: "{x}",
        saves: [],
        vjp(g, y): [g.zeros_like()],
        domain: [(0.1, 0.9)],
        example: "Tensor::new([1.7, -1.7], &device).trunc()" => "tensor([ 1., -1.])",
    }
}
