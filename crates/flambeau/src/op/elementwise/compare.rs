//! Comparisons and tests; their results are booleans and carry no gradient.

use super::entry::*;

elementwise! {
    /// `x > y`.
    GT = gt / try_gt (x, y): Test {
        cpu: x > y,
        wgsl: "({x} > {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).gt(1.5)" => "tensor([False,  True])",
    }

    /// `x = y`.
    EQ = eq / try_eq (x, y): Test {
        cpu: x == y,
        wgsl: "({x} == {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).eq(2.0)" => "tensor([False,  True])",
    }
}
