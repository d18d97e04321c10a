//! Trigonometric and hyperbolic functions and their inverses.

use super::entry::*;

elementwise! {
    /// The sine. Derivative: cos x.
    SIN = sin / try_sin (x): Float {
        cpu: x.sin(),
        wgsl: "sin({x})",
        saves: [x],
        vjp(g, y): [g * x.cos()],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).sin()" => "tensor([0.0000, 0.8415])",
    }

    /// The cosine. Derivative: −sin x.
    COS = cos / try_cos (x): Float {
        cpu: x.cos(),
        wgsl: "cos({x})",
        saves: [x],
        vjp(g, y): [-(g * x.sin())],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).cos()" => "tensor([1.0000, 0.5403])",
    }
}
