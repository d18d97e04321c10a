//! Logical and bitwise ops, and the choice between two values.

use super::entry::*;

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
        saves: [],
        vjp(g, out): none,
        domain: [(0.0, 100.0), (0.0, 100.0)],
        example: "Tensor::new([6, 5], &device).bitxor(3)" => "tensor([5, 6], dtype=i32)",
    }
}

/// `condition ? a : b`; derivatives: 1 for the chosen one.
pub(crate) static SELECT: Elementwise = Elementwise {
    name: "where",
    args: &["condition", "a", "b"],
    signature: Signature::Select,
    cpu: |lane| {
        Some(match lane {
            Lane::Bool => select::<bool>,
            Lane::U32 => select::<u32>,
            Lane::I32 => select::<i32>,
            Lane::I64 => select::<i64>,
            Lane::F32 => select::<f32>,
            Lane::F64 => select::<f64>,
        })
    },
    wgsl: "select({b}, {a}, {condition})",
    wgsl_int: "select({b}, {a}, {condition})",
    wgsl_helpers: "",
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

fn select<T: Lanes>(args: &[&Block], out: &mut Block) {
    let out = T::slice_mut(out);
    let len = out.len();
    let (condition, a, b) =
        (&bool::slice(args[0])[..len], &T::slice(args[1])[..len], &T::slice(args[2])[..len]);
    for i in 0..len {
        out[i] = if condition[i] { a[i] } else { b[i] };
    }
}
