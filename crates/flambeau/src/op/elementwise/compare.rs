//! Comparisons and tests; their results are booleans and carry no gradient.
//!
//! WGSL compilers may assume that there are no NaN, so the float expressions look at the bits too. Both tests are joined by `&` and `|`,
//! not by `&&` and `||`: those are branches, and SwiftShader takes all memory for a loop that has many of them in a round.

use super::entry::*;
use super::wgsl::{IS_NAN, ORDERED};

elementwise! {
    /// `x > y`; false if either is NaN.
    GT = gt / try_gt (x, y): Test {
        cpu: x > y,
        wgsl: "(({x} > {y}) & fl_ordered({x}, {y}))",
        wgsl_int: "({x} > {y})",
        helpers: [ORDERED],
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).gt(1.5)" => "tensor([False,  True])",
    }

    /// `x ≥ y`; false if either is NaN.
    GE = ge / try_ge (x, y): Test {
        cpu: x >= y,
        wgsl: "(({x} >= {y}) & fl_ordered({x}, {y}))",
        wgsl_int: "({x} >= {y})",
        helpers: [ORDERED],
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).ge(2.0)" => "tensor([False,  True])",
    }

    /// `x < y`; false if either is NaN.
    LT = lt / try_lt (x, y): Test {
        cpu: x < y,
        wgsl: "(({x} < {y}) & fl_ordered({x}, {y}))",
        wgsl_int: "({x} < {y})",
        helpers: [ORDERED],
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).lt(1.5)" => "tensor([ True, False])",
    }

    /// `x ≤ y`; false if either is NaN.
    LE = le / try_le (x, y): Test {
        cpu: x <= y,
        wgsl: "(({x} <= {y}) & fl_ordered({x}, {y}))",
        wgsl_int: "({x} <= {y})",
        helpers: [ORDERED],
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).le(1.0)" => "tensor([ True, False])",
    }

    /// `x = y`; false if either is NaN.
    EQ = eq / try_eq (x, y): Test {
        cpu: x == y,
        wgsl: "(({x} == {y}) & fl_ordered({x}, {y}))",
        wgsl_int: "({x} == {y})",
        helpers: [ORDERED],
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).eq(2.0)" => "tensor([False,  True])",
    }

    /// `x ≠ y`; true if either is NaN.
    NE = ne / try_ne (x, y): Test {
        cpu: x != y,
        wgsl: "(({x} != {y}) | !fl_ordered({x}, {y}))",
        wgsl_int: "({x} != {y})",
        helpers: [ORDERED],
        saves: [],
        vjp(g, out): none,
        domain: [(-2.0, 2.0), (-2.0, 2.0)],
        example: "Tensor::new([1.0, 2.0], &device).ne(2.0)" => "tensor([ True, False])",
    }

    /// Is x NaN?
    ISNAN = isnan / try_isnan (x): Test {
        cpu: x.is_nan(),
        int: never(x),
        wgsl: "fl_is_nan({x})",
        wgsl_int: "false",
        helpers: [IS_NAN],
        saves: [],
        vjp(g, y): none,
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([1.0, f32::NAN], &device).isnan()" => "tensor([False,  True])",
    }

    /// Is x infinite?
    ISINF = isinf / try_isinf (x): Test {
        cpu: x.is_infinite(),
        int: never(x),
        wgsl: "((bitcast<u32>({x}) & 0x7fffffffu) == 0x7f800000u)",
        wgsl_int: "false",
        saves: [],
        vjp(g, y): none,
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([1.0, f32::NEG_INFINITY], &device).isinf()" => "tensor([False,  True])",
    }

    /// Is x neither infinite nor NaN?
    ISFINITE = isfinite / try_isfinite (x): Test {
        cpu: x.is_finite(),
        int: !never(x),
        wgsl: "((bitcast<u32>({x}) & 0x7fffffffu) < 0x7f800000u)",
        wgsl_int: "true",
        saves: [],
        vjp(g, y): none,
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([1.0, f32::NAN], &device).isfinite()" => "tensor([ True, False])",
    }
}

/// What no integer is.
fn never<T>(_: T) -> bool {
    false
}
