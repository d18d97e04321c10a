//! Rounding and signs: piecewise constant, so their derivative is zero wherever they have one.

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
}
