//! Arithmetic: sums, products, quotients, powers, extremes.

use super::entry::*;
use super::wgsl::{DIVIDE, EXP, FLOAT, IS_NAN, ORDERED, SCALE};
use crate::host::block_fn;
use crate::op::not_differentiable;

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
        cpu: Real::product(x, y),
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
        wgsl: "fl_divide({x}, {y})",
        helpers: [DIVIDE],
        is_cheap: true,
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
    /// `1 / x`. Derivative: −1/x².
    RECIPROCAL = reciprocal / try_reciprocal (x): Float {
        cpu: 1.0 / x,
        wgsl: "(1.0 / {x})",
        autocast: Full,
        saves: [y],
        vjp(g, y): [-(g * y * y)],
        domain: [(0.5, 2.0)],
        example: "Tensor::new([2.0, -4.0], &device).reciprocal()" => "tensor([ 0.5000, -0.2500])",
    }

    /// `|x|`. Derivative: the sign of x, 0 at 0.
    ABS = abs / try_abs (x): Number {
        cpu: x.abs(),
        int: Integer::magnitude(x),
        wgsl: "abs({x})",
        saves: [x],
        vjp(g, y): [g * x.sign()],
        domain: [(0.2, 2.0)],
        example: "Tensor::new([1.5, -2.0], &device).abs()" => "tensor([1.5000, 2.0000])",
    }

    /// −1, 0 or 1, the sign of x; 0 for NaN. Derivative: 0.
    SIGN = sign / try_sign (x): Number {
        cpu: Real::sign(x),
        int: Integer::sign(x),
        wgsl: "(select(0.0, 1.0, {x} > 0.0) - select(0.0, 1.0, {x} < 0.0))",
        wgsl_int: "clamp({x}, -1, 1)",
        wgsl_uint: "min({x}, 1u)",
        saves: [],
        vjp(g, y): [g.zeros_like()],
        domain: [(0.2, 2.0)],
        example: "Tensor::new([1.5, 0.0, -2.0], &device).sign()" => "tensor([ 1.,  0., -1.])",
    }

    /// The larger of x and y; NaN if either is. Derivatives: 1 for the larger one, ½ for both where they are equal.
    MAXIMUM = maximum / try_maximum (x, y): Number {
        cpu: if x > y || x.is_nan() { x } else { y },
        int: x.max(y),
        wgsl: "select({x} + {y}, max({x}, {y}), fl_ordered({x}, {y}))",
        wgsl_int: "max({x}, {y})",
        helpers: [ORDERED],
        saves: [x, y],
        vjp(g, out): [outside(g, &x.try_lt(y)?, x, y)?, outside(g, &y.try_lt(x)?, x, y)?],
        domain: [(-2.0, 0.0), (0.1, 2.0)],
        example: "Tensor::new([1.0, 3.0], &device).maximum(2.0)" => "tensor([2., 3.])",
    }

    /// The smaller of x and y; NaN if either is. Derivatives: 1 for the smaller one, ½ for both where they are equal.
    MINIMUM = minimum / try_minimum (x, y): Number {
        cpu: if x < y || x.is_nan() { x } else { y },
        int: x.min(y),
        wgsl: "select({x} + {y}, min({x}, {y}), fl_ordered({x}, {y}))",
        wgsl_int: "min({x}, {y})",
        helpers: [ORDERED],
        saves: [x, y],
        vjp(g, out): [outside(g, &x.try_gt(y)?, x, y)?, outside(g, &y.try_gt(x)?, x, y)?],
        domain: [(-2.0, 0.0), (0.1, 2.0)],
        example: "Tensor::new([1.0, 3.0], &device).minimum(2.0)" => "tensor([1., 2.])",
    }

    /// `max(x, min)`; NaN where x or min is. Derivative: 1 where x ≥ min, else 0; min gets the gradient where it was taken.
    CLAMP_MIN = clamp_min / try_clamp_min (x, min): Number {
        cpu: if x < min || min.is_nan() { min } else { x },
        int: x.max(min),
        wgsl: "select({x}, {min}, (({x} < {min}) & fl_ordered({x}, {min})) | fl_is_nan({min}))",
        wgsl_int: "max({x}, {min})",
        helpers: [ORDERED, IS_NAN],
        is_cheap: true,
        saves: [x, min],
        vjp(g, out): [taken(&x.try_lt(min)?, min)?.try_where_cond(0.0, g)?, taken(&x.try_lt(min)?, min)?.try_where_cond(g, 0.0)?],
        domain: [(-2.0, 0.0), (0.1, 2.0)],
        example: "Tensor::new([-2.0, 2.0], &device).clamp_min(0.0)" => "tensor([0., 2.])",
    }

    /// `min(x, max)`; NaN where x or max is. Derivative: 1 where x ≤ max, else 0; max gets the gradient where it was taken.
    CLAMP_MAX = clamp_max / try_clamp_max (x, max): Number {
        cpu: if x > max || max.is_nan() { max } else { x },
        int: x.min(max),
        wgsl: "select({x}, {max}, (({x} > {max}) & fl_ordered({x}, {max})) | fl_is_nan({max}))",
        wgsl_int: "min({x}, {max})",
        helpers: [ORDERED, IS_NAN],
        is_cheap: true,
        saves: [x, max],
        vjp(g, out): [taken(&x.try_gt(max)?, max)?.try_where_cond(0.0, g)?, taken(&x.try_gt(max)?, max)?.try_where_cond(g, 0.0)?],
        domain: [(-2.0, 0.0), (0.1, 2.0)],
        example: "Tensor::new([-2.0, 2.0], &device).clamp_max(0.0)" => "tensor([-2.,  0.])",
    }

    /// x brought into [min, max]: `min(max(x, min), max)`, NaN where x or a bound is. Derivative: 1 where
    /// min ≤ x ≤ max, else 0; a bound that was taken gets the gradient.
    CLAMP = clamp / try_clamp (x, min, max): Number {
        cpu: {
            let raised = if x < min || min.is_nan() { min } else { x };
            if raised > max || max.is_nan() { max } else { raised }
        },
        int: x.max(min).min(max),
        wgsl: "fl_clamp({x}, {min}, {max})",
        wgsl_int: "min(max({x}, {min}), {max})",
        helpers: [ORDERED, IS_NAN, CLAMP_WGSL],
        is_cheap: true,
        saves: [x, min, max],
        vjp(g, out): [
            taken(&x.try_clamp_min(min)?.try_gt(max)?, max)?
                .try_logical_or(taken(&x.try_lt(min)?, min)?)?
                .try_where_cond(0.0, g)?,
            taken(&x.try_clamp_min(min)?.try_gt(max)?, max)?
                .try_where_cond(0.0, taken(&x.try_lt(min)?, min)?.try_where_cond(g, 0.0)?)?,
            taken(&x.try_clamp_min(min)?.try_gt(max)?, max)?.try_where_cond(g, 0.0)?
        ],
        domain: [(-2.0, 2.0), (-0.9, -0.5), (0.5, 0.9)],
        example: "Tensor::new([-2.0, 0.5, 2.0], &device).clamp(-1.0, 1.0)" => "tensor([-1.0000,  0.5000,  1.0000])",
    }

    /// `x · x · x`. Derivative: 3 x².
    CUBE = cube / try_cube (x): Number {
        cpu: Real::product(Real::product(x, x), x),
        int: x.wrapping_mul(x).wrapping_mul(x),
        wgsl: "({x} * {x} * {x})",
        saves: [x],
        vjp(g, out): [g * (x.square() * 3.0)],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([1.0, -2.0], &device).cube()" => "tensor([ 1., -8.])",
    }

    /// `x − y ⌊x / y⌋`: x modulo y with the sign of y, as the operator `%`. Derivatives: 1 and −⌊x / y⌋.
    ///
    /// A float modulo zero is NaN; an integer modulo zero is 0.
    REMAINDER = remainder / try_remainder (x, y): Number {
        cpu: Real::modulo(x, y),
        int: Integer::modulo(x, y),
        wgsl: "fl_remainder({x}, {y})",
        wgsl_int: "fl_remainder_i32({x}, {y})",
        wgsl_uint: "({x} % max({y}, 1u))",
        helpers: [FLOAT, SCALE, FMOD_WGSL, REST_WGSL, REMAINDER_WGSL],
        saves: [x, y],
        vjp(g, out): [g.clone(), -(g * x.floor_divide(y))],
        domain: [(3.1, 3.9), (1.1, 1.5)],
        example: "Tensor::new([5.0, -5.0], &device).remainder(3.0)" => "tensor([2., 1.])",
    }

    /// `x − y trunc(x / y)`: x modulo y with the sign of x. Derivatives: 1 and −trunc(x / y).
    ///
    /// A float modulo zero is NaN; an integer modulo zero is 0.
    FMOD = fmod / try_fmod (x, y): Number {
        cpu: x % y,
        int: Integer::rest(x, y),
        wgsl: "fl_fmod({x}, {y})",
        wgsl_int: "fl_rest_i32({x}, {y})",
        wgsl_uint: "({x} % max({y}, 1u))",
        helpers: [FLOAT, SCALE, FMOD_WGSL, REST_WGSL],
        saves: [x, y],
        vjp(g, out): [g.clone(), -(g * (x / y).trunc())],
        domain: [(3.1, 3.9), (1.1, 1.5)],
        example: "Tensor::new([5.0, -5.0], &device).fmod(3.0)" => "tensor([ 2., -2.])",
    }

    /// `⌊x / y⌋`; integers stay integers. Derivatives: 0 and 0.
    ///
    /// An integer divided by zero is itself.
    FLOOR_DIVIDE = floor_divide / try_floor_divide (x, y): Number {
        cpu: Real::floor_divide(x, y),
        int: Integer::floor_divide(x, y),
        wgsl: "fl_floor_divide({x}, {y})",
        wgsl_int: "fl_floor_divide_i32({x}, {y})",
        wgsl_uint: "({x} / max({y}, 1u))",
        helpers: [FLOAT, SCALE, DIVIDE, FMOD_WGSL, REST_WGSL, FLOOR_DIVIDE_WGSL],
        saves: [],
        vjp(g, out): [g.zeros_like(), g.zeros_like()],
        domain: [(3.1, 3.9), (1.1, 1.5)],
        example: "Tensor::new([5, -5], &device).floor_divide(3)" => "tensor([ 1, -2], dtype=i32)",
    }

    /// `√(x² + y²)` without overflow on the way. Derivatives: x / √(x² + y²) and y / √(x² + y²).
    HYPOT = hypot / try_hypot (x, y): Float {
        cpu: x.hypot(y),
        wgsl: "fl_hypot({x}, {y})",
        helpers: [FLOAT, DIVIDE, HYPOT_WGSL],
        saves: [x, y, out],
        vjp(g, out): [g * x / out, g * y / out],
        domain: [(0.2, 2.0), (0.2, 2.0)],
        example: "Tensor::new([3.0, 5.0], &device).hypot(4.0)" => "tensor([5.0000, 6.4031])",
    }
}

/// The gradient of an extreme's operand: none where it lost, half where it drew.
fn outside(g: &Tensor, lost: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    lost.try_where_cond(0.0, x.try_eq(y)?.try_where_cond(g * 0.5, g)?)
}

/// Was a bound taken: beyond it, or because it is NaN?
fn taken(beyond: &Tensor, bound: &Tensor) -> Result<Tensor> {
    match bound.dtype().is_float() {
        true => beyond.try_logical_or(bound.try_isnan()?),
        false => Ok(beyond.clone()),
    }
}

/// `x^y`; [`Tensor::pow`] has the docs, and avoids it for exponents that have a cheaper form. Derivatives:
/// y x^(y−1) and x^y log x, both with their limits at x = 0.
pub(crate) static POW: Elementwise = Elementwise {
    map: Map {
        name: "pow",
        args: &["x", "y"],
        cpu: |lane| match lane {
            Lane::F32 => Some(block_fn!([x, y] f32 => f32, x.powf(y))),
            Lane::F64 => Some(block_fn!([x, y] f64 => f64, x.powf(y))),
            Lane::I32 => Some(block_fn!([x, y] i32 => i32, x.power(y))),
            Lane::I64 => Some(block_fn!([x, y] i64 => i64, x.power(y))),
            Lane::U32 => Some(block_fn!([x, y] u32 => u32, x.power(y))),
            Lane::Bool => None,
        },
        wgsl: "fl_pow({x}, {y})",
        wgsl_int: "fl_pow_i32({x}, {y})",
        wgsl_uint: "fl_pow_u32({x}, {y})",
        wgsl_bool: "fl_pow_u32({x}, {y})",
        wgsl_helpers: &[ORDERED, FLOAT, SCALE, IS_NAN, EXP, POW_WGSL],
        is_cheap: false,
    },
    signature: Signature::Number,
    autocast: Autocast::Full,
    saves: Saves { inputs: 0b11, outputs: true },
    vjp: |v| {
        let (g, x, y) = (v.grad(), v.input(0), v.input(1));
        if !x.dtype().is_float() {
            return not_differentiable(v);
        }
        let (x_is_zero, y_is_zero) = (x.try_eq(0.0)?, y.try_eq(0.0)?);
        let base = || {
            // 0 · 0^(0 − 1) has the limit 0.
            let exponent = x_is_zero.try_bitand(&y_is_zero)?.try_where_cond(1.0, y)?;
            g.try_mul(y)?.try_mul(x.try_pow(exponent.try_sub(1.0)?)?)
        };
        let exponent = || {
            // 0^y log 0 has the limit 0 for y ≥ 0.
            let limit = x_is_zero.try_bitand(y.try_ge(0.0)?)?;
            let logarithm = limit.try_where_cond(1.0, x)?.try_log()?;
            g.try_mul(v.output())?.try_mul(logarithm)
        };
        Ok(vec![v.needs[0].then(base).transpose()?, v.needs[1].then(exponent).transpose()?])
    },
    differentiable: true,
    domain: &[(0.2, 3.0), (-2.0, 2.0)],
    tolerance: None,
};

const CLAMP_WGSL: &str = "
fn fl_clamp(x: f32, low: f32, high: f32) -> f32 {
    let raised = select(x, low, ((x < low) & fl_ordered(x, low)) | fl_is_nan(low));
    return select(raised, high, ((raised > high) & fl_ordered(raised, high)) | fl_is_nan(high));
}
";

/// Exact: each round takes a multiple of y that has at most 12 bits, in two products without rounding.
const FMOD_WGSL: &str = "
fn fl_fmod(x: f32, y: f32) -> f32 {
    let divisor = abs(y);
    let bits = vec2<u32>(bitcast<u32>(x), bitcast<u32>(y)) & vec2<u32>(0x7fffffffu);
    if (bits.x >= 0x7f800000u || bits.y > 0x7f800000u || bits.y == 0u) { return fl_float(0x7fc00000u); }
    var rest = abs(x);
    for (var i = 0u; i < 32u && rest >= divisor; i++) {
        let gap = i32(bitcast<u32>(rest) >> 23u) - i32(bits.y >> 23u);
        let step = fl_scale(divisor, max(gap - 11, 0));
        let count = trunc(rest / step);
        let high = bitcast<f32>(bitcast<u32>(step) & 0xfffff000u);
        rest = fma(-count, step - high, fma(-count, high, rest));
        if (rest < 0.0) { rest += step; } else if (rest >= step) { rest -= step; }
    }
    return select(rest, -rest, (bitcast<u32>(x) >> 31u) == 1u);
}
";

/// Without the divisors that the hardware may not like: 0 and −1 leave nothing.
const REST_WGSL: &str = "
fn fl_rest_i32(x: i32, y: i32) -> i32 { return x % select(y, 1, y == 0 || y == -1); }
";

const REMAINDER_WGSL: &str = "
fn fl_remainder(x: f32, y: f32) -> f32 {
    let rest = fl_fmod(x, y);
    return select(rest, rest + y, rest != 0.0 && ((rest < 0.0) != (y < 0.0)));
}
fn fl_remainder_i32(x: i32, y: i32) -> i32 {
    let rest = fl_rest_i32(x, y);
    return select(rest, rest + y, rest != 0 && ((rest < 0) != (y < 0)));
}
";

const FLOOR_DIVIDE_WGSL: &str = "
fn fl_floor_divide(x: f32, y: f32) -> f32 {
    if (y == 0.0) { return x / y; }
    let rest = fl_fmod(x, y);
    let below = rest != 0.0 && ((rest < 0.0) != (y < 0.0));
    return round(fl_divide(x - rest, y)) - select(0.0, 1.0, below);
}
fn fl_floor_divide_i32(x: i32, y: i32) -> i32 {
    let rest = fl_rest_i32(x, y);
    if (y == -1) { return ~x + 1; }
    return x / select(y, 1, y == 0) - select(0, 1, rest != 0 && ((rest < 0) != (y < 0)));
}
";

const HYPOT_WGSL: &str = "
fn fl_hypot(x: f32, y: f32) -> f32 {
    let large = max(abs(x), abs(y));
    let small = min(abs(x), abs(y));
    let bits = vec2<u32>(bitcast<u32>(x), bitcast<u32>(y)) & vec2<u32>(0x7fffffffu);
    if (any(bits == vec2<u32>(0x7f800000u))) { return fl_float(0x7f800000u); }
    if (max(bits.x, bits.y) > 0x7f800000u) { return x + y; }
    if (large == 0.0) { return 0.0; }
    let ratio = fl_divide(small, large);
    return large * sqrt(fma(ratio, ratio, 1.0));
}
";

/// `fl_power`: x^y of positive finite numbers. With x = m · 2ᵉ and s = (m − 1) / (m + 1), log₂ m = C s + s³ P(s²); an
/// error there counts y times, so s, C and y are split into halves of 12 bits, whose products are exact, and the sums
/// run from the largest down, without the whole number n that goes into the exponent. Within 5 units in the last
/// place.
const POW_WGSL: &str = "
fn fl_half(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }
fn fl_power(x: f32, exponent: f32) -> f32 {
    let y = clamp(exponent, -4294967296.0, 4294967296.0);
    let tiny = bitcast<u32>(x) < 0x00800000u;
    let bits = bitcast<u32>(select(x, x * 8388608.0, tiny));
    let whole = i32(bits - 0x3f3504f3u) >> 23u;
    let e = f32(whole - select(0, 23, tiny));
    let f = bitcast<f32>(bits - (u32(whole) << 23u)) - 1.0;
    let full = f / (2.0 + f);
    let s = fl_half(full);
    let more = (((f - 2.0 * s) - s * fl_half(f)) - s * (f - fl_half(f))) / (2.0 + f);
    let z = full * full;
    let p = z * fma(z, fma(z, fma(z, 0.33659467, 0.41190103), 0.5770798), 0.9617967);
    let main = s * 2.8847656;
    let rest = fma(full, p, fma(s, 0.0006244568, more * 2.8853901));
    let n = round(clamp(y * (e + (main + rest)), -240.0, 240.0));
    let high = fl_half(y);
    let most = fl_half(main);
    let left = ((high * e - n) + high * most) + (y - high) * e + (high * (main - most) + (y - high) * main);
    return fl_scale(fl_exp(clamp(fma(y, rest, left), -1.0, 1.0) * 0.6931472), i32(n));
}
fn fl_pow(x: f32, y: f32) -> f32 {
    if (y == 0.0 || x == 1.0) { return 1.0; }
    if (!fl_ordered(x, y)) { return x + y; }
    let base = bitcast<u32>(x) & 0x7fffffffu;
    let endless = (bitcast<u32>(y) & 0x7fffffffu) == 0x7f800000u;
    let whole = endless || trunc(y) == y;
    let odd = !endless && whole && abs(y) < 16777216.0 && (i32(y) & 1) == 1;
    var power: f32;
    if (base == 0u || base == 0x7f800000u) {
        power = select(fl_float(0x7f800000u), 0.0, (base == 0u) == (y > 0.0));
    } else if (endless) {
        power = select(0.0, fl_float(0x7f800000u), (base > 0x3f800000u) == (y > 0.0));
        if (base == 0x3f800000u) { power = 1.0; }
    } else {
        power = fl_power(bitcast<f32>(base), y);
        if (x < 0.0 && !whole) { power = fl_float(0x7fc00000u); }
    }
    return select(power, -power, odd && (bitcast<u32>(x) >> 31u) == 1u);
}
fn fl_pow_u32(x: u32, y: u32) -> u32 {
    var base = x;
    var left = y;
    var power = 1u;
    while (left > 0u) {
        power *= select(1u, base, (left & 1u) == 1u);
        base *= base;
        left >>= 1u;
    }
    return power;
}
fn fl_pow_i32(x: i32, y: i32) -> i32 {
    if (y >= 0) { return bitcast<i32>(fl_pow_u32(bitcast<u32>(x), u32(y))); }
    if (x == -1) { return select(1, -1, (y & 1) == 1); }
    return select(0, 1, x == 1);
}
";
