//! Logical and bitwise ops, and the choice between two values.

use super::entry::*;
use crate::host::widest;
use std::hint::select_unpredictable;

elementwise! {
    /// `x and y`, bit by bit.
    BITAND = bitand / try_bitand (x, y): Bits {
        cpu: x & y,
        wgsl: "({x} & {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 100.0), (0.0, 100.0)],
        example: "Tensor::new([6, 5], &device).bitand(3)" => "tensor([2, 1], dtype=i32)",
    }

    /// `x or y`, bit by bit.
    BITOR = bitor / try_bitor (x, y): Bits {
        cpu: x | y,
        wgsl: "({x} | {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 100.0), (0.0, 100.0)],
        example: "Tensor::new([6, 5], &device).bitor(3)" => "tensor([7, 7], dtype=i32)",
    }

    /// `x` exclusive-or `y`, bit by bit.
    BITXOR = bitxor / try_bitxor (x, y): Bits {
        cpu: x ^ y,
        wgsl: "({x} ^ {y})",
        wgsl_bool: "({x} != {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 100.0), (0.0, 100.0)],
        example: "Tensor::new([6, 5], &device).bitxor(3)" => "tensor([5, 6], dtype=i32)",
    }

    /// `not x`, bit by bit; of booleans, the other one.
    BITNOT = bitnot / try_bitnot (x): Bits {
        cpu: !x,
        wgsl: "(~{x})",
        wgsl_bool: "(!{x})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 100.0)],
        example: "Tensor::new([6, -1], &device).bitnot()" => "tensor([-7,  0], dtype=i32)",
    }

    /// `x · 2^y`: the bits moved up; 0 where y is negative or at least the number of bits.
    SHIFT_LEFT = shift_left / try_shift_left (x, y): Integers {
        cpu: x.shifted_left(y),
        wgsl: "select({x} << (u32({y}) & 31u), 0, u32({y}) > 31u)",
        wgsl_uint: "select({x} << ({y} & 31u), 0u, {y} > 31u)",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 100.0), (0.0, 8.0)],
        example: "Tensor::new([1, -3], &device).shift_left(4)" => "tensor([ 16, -48], dtype=i32)",
    }

    /// `⌊x / 2^y⌋`: the bits moved down; the sign alone where y is negative or at least the number of bits.
    SHIFT_RIGHT = shift_right / try_shift_right (x, y): Integers {
        cpu: x.shifted_right(y),
        wgsl: "({x} >> min(u32({y}), 31u))",
        wgsl_uint: "select({x} >> ({y} & 31u), 0u, {y} > 31u)",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 100.0), (0.0, 8.0)],
        example: "Tensor::new([17, -48], &device).shift_right(4)" => "tensor([ 1, -3], dtype=i32)",
    }

    /// `x and y`; anything but zero is true.
    LOGICAL_AND = logical_and / try_logical_and (x, y): Logic {
        cpu: x & y,
        wgsl: "({x} & {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 1.0), (0.0, 1.0)],
        example: "Tensor::new([0.0, 2.0], &device).logical_and(true)" => "tensor([False,  True])",
    }

    /// `x or y`; anything but zero is true.
    LOGICAL_OR = logical_or / try_logical_or (x, y): Logic {
        cpu: x | y,
        wgsl: "({x} | {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 1.0), (0.0, 1.0)],
        example: "Tensor::new([0.0, 2.0], &device).logical_or(false)" => "tensor([False,  True])",
    }

    /// Either x or y, not both; anything but zero is true.
    LOGICAL_XOR = logical_xor / try_logical_xor (x, y): Logic {
        cpu: x ^ y,
        wgsl: "({x} != {y})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 1.0), (0.0, 1.0)],
        example: "Tensor::new([0.0, 2.0], &device).logical_xor(true)" => "tensor([ True, False])",
    }

    /// `not x`: true where x is zero.
    LOGICAL_NOT = logical_not / try_logical_not (x): Logic {
        cpu: !x,
        wgsl: "(!{x})",
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 1.0)],
        example: "Tensor::new([0.0, 2.0], &device).logical_not()" => "tensor([ True, False])",
    }
}

/// `condition ? a : b`; derivatives: 1 for the chosen one.
pub(crate) static SELECT: Elementwise = Elementwise {
    map: Map {
        name: "where",
        args: &["condition", "a", "b"],
        cpu: |lane| {
            Some(match lane {
                Lane::Bool => select::<bool>,
                Lane::U32 => select::<u32>,
                Lane::I32 => select::<i32>,
                Lane::I64 => select::<i64>,
                Lane::F32 => select_floats,
                Lane::F64 => select::<f64>,
            })
        },
        wgsl: "select({b}, {a}, {condition})",
        wgsl_int: "select({b}, {a}, {condition})",
        wgsl_uint: "select({b}, {a}, {condition})",
        wgsl_bool: "select({b}, {a}, {condition})",
        wgsl_helpers: &[],
        is_cheap: true,
    },
    signature: Signature::Select,
    autocast: Autocast::Widest,
    saves: Saves::inputs(0b001),
    vjp: |v| {
        let (g, condition) = (v.grad(), v.input(0));
        let zero = g.zeros_like();
        Ok(vec![None, Some(condition.try_where_cond(g, &zero)?), Some(condition.try_where_cond(&zero, g)?)])
    },
    differentiable: true,
    domain: &[(0.0, 1.0), (-2.0, 2.0), (-2.0, 2.0)],
    tolerance: None,
};

widest! {
    fn select_floats(args: &[View], out: ViewMut) {
        select::<f32>(args, out)
    }
}

#[inline(always)]
fn select<T: Lanes>(args: &[View], out: ViewMut) {
    let out = T::slice_mut(out);
    let len = out.len();
    let (condition, a, b) = (bool::slice(args[0]), T::slice(args[1]), T::slice(args[2]));
    // Each of them may be one value for all places; the second or the third often is.
    match (condition.len() >= len, a.len() >= len, b.len() >= len) {
        (true, true, true) => choose(out, condition, a[..len].iter().zip(&b[..len])),
        (true, true, false) => choose(out, condition, a[..len].iter().map(|a| (a, &b[0]))),
        (true, false, true) => choose(out, condition, b[..len].iter().map(|b| (&a[0], b))),
        (true, false, false) => choose(out, condition, std::iter::repeat_n((&a[0], &b[0]), len)),
        (false, a_each, b_each) => {
            let (chosen, each) = if condition[0] { (a, a_each) } else { (b, b_each) };
            if each { out.copy_from_slice(&chosen[..len]) } else { out.fill(chosen[0]) }
        }
    }
}

/// Without branches, which would be guessed wrong as often as not.
#[inline(always)]
fn choose<'a, T: Copy + 'a>(
    out: &mut [T],
    condition: &[bool],
    values: impl ExactSizeIterator<Item = (&'a T, &'a T)>,
) {
    for ((out, &condition), (&a, &b)) in out.iter_mut().zip(condition).zip(values) {
        *out = select_unpredictable(condition, a, b);
    }
}
