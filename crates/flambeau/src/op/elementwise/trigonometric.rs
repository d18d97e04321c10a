//! Trigonometric and hyperbolic functions and their inverses.

use super::entry::*;
use super::vectorised;
use super::wgsl::{DIVIDE, EXP, FLOAT, IS_NAN, LOG, LOG_PARTS, LOG1P, LOG1P_NEAR, SCALE};

elementwise! {
    /// The sine. Derivative: cos x.
    SIN = sin / try_sin (x): Float {
        cpu: x.sin(),
        cpu_block: vectorised::SINES,
        wgsl: "fl_sin({x})",
        helpers: [QUARTER_WGSL, FLOAT, SIN_WGSL],
        saves: [x],
        vjp(g, y): [g * x.cos()],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).sin()" => "tensor([0.0000, 0.8415])",
    }

    /// The cosine. Derivative: −sin x.
    COS = cos / try_cos (x): Float {
        cpu: x.cos(),
        cpu_block: vectorised::COSINES,
        wgsl: "fl_cos({x})",
        helpers: [QUARTER_WGSL, FLOAT, COS_WGSL],
        saves: [x],
        vjp(g, y): [-(g * x.sin())],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).cos()" => "tensor([1.0000, 0.5403])",
    }

    /// The tangent. Derivative: 1 + tan²x.
    TAN = tan / try_tan (x): Float {
        cpu: x.tan(),
        wgsl: "fl_tan({x})",
        helpers: [QUARTER_WGSL, FLOAT, TAN_WGSL],
        autocast: Full,
        saves: [y],
        vjp(g, y): [g * (y * y + 1.0)],
        domain: [(-1.2, 1.2)],
        example: "Tensor::new([0.0, 1.0], &device).tan()" => "tensor([0.0000, 1.5574])",
    }

    /// The inverse sine, in [−π/2, π/2]; NaN outside [−1, 1]. Derivative: 1 / √(1 − x²).
    ASIN = asin / try_asin (x): Float {
        cpu: x.asin(),
        wgsl: "fl_asin({x})",
        helpers: [FLOAT, ASIN_NEAR_WGSL, ASIN_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g / (-(x * x) + 1.0).sqrt()],
        domain: [(-0.9, 0.9)],
        example: "Tensor::new([0.0, 0.5], &device).asin()" => "tensor([0.0000, 0.5236])",
    }

    /// The inverse cosine, in [0, π]; NaN outside [−1, 1]. Derivative: −1 / √(1 − x²).
    ACOS = acos / try_acos (x): Float {
        cpu: x.acos(),
        wgsl: "fl_acos({x})",
        helpers: [FLOAT, ASIN_NEAR_WGSL, ACOS_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [-(g / (-(x * x) + 1.0).sqrt())],
        domain: [(-0.9, 0.9)],
        example: "Tensor::new([0.0, 0.5], &device).acos()" => "tensor([1.5708, 1.0472])",
    }

    /// The inverse tangent, in [−π/2, π/2]. Derivative: 1 / (1 + x²).
    ATAN = atan / try_atan (x): Float {
        cpu: x.atan(),
        wgsl: "fl_atan({x})",
        helpers: [ATAN_NEAR_WGSL, IS_NAN, ATAN_WGSL],
        saves: [x],
        vjp(g, y): [g / (x * x + 1.0)],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).atan()" => "tensor([0.0000, 0.7854])",
    }

    /// The hyperbolic sine `(e^x − e^−x) / 2`. Derivative: cosh x.
    SINH = sinh / try_sinh (x): Float {
        cpu: x.sinh(),
        wgsl: "fl_sinh({x})",
        helpers: [SCALE, IS_NAN, EXP, SINH_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g * x.cosh()],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).sinh()" => "tensor([0.0000, 1.1752])",
    }

    /// The hyperbolic cosine `(e^x + e^−x) / 2`. Derivative: sinh x.
    COSH = cosh / try_cosh (x): Float {
        cpu: x.cosh(),
        wgsl: "fl_cosh({x})",
        helpers: [SCALE, IS_NAN, EXP, COSH_WGSL],
        autocast: Full,
        saves: [x],
        vjp(g, y): [g * x.sinh()],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).cosh()" => "tensor([1.0000, 1.5431])",
    }

    /// The inverse hyperbolic sine `log(x + √(x² + 1))`. Derivative: 1 / √(x² + 1).
    ASINH = asinh / try_asinh (x): Float {
        cpu: Real::asinh(x),
        wgsl: "fl_asinh({x})",
        helpers: [LOG1P_NEAR, FLOAT, LOG_PARTS, LOG, LOG1P, IS_NAN, ASINH_WGSL],
        saves: [x],
        vjp(g, y): [g / (x * x + 1.0).sqrt()],
        domain: [(-2.0, 2.0)],
        example: "Tensor::new([0.0, 1.0], &device).asinh()" => "tensor([0.0000, 0.8814])",
    }

    /// The inverse hyperbolic cosine `log(x + √(x² − 1))`; NaN below 1. Derivative: 1 / √(x² − 1).
    ACOSH = acosh / try_acosh (x): Float {
        cpu: Real::acosh(x),
        wgsl: "fl_acosh({x})",
        helpers: [FLOAT, LOG1P_NEAR, LOG_PARTS, LOG, LOG1P, ACOSH_WGSL],
        saves: [x],
        vjp(g, y): [g / (x * x - 1.0).sqrt()],
        domain: [(1.1, 3.0)],
        example: "Tensor::new([1.0, 2.0], &device).acosh()" => "tensor([0.0000, 1.3170])",
    }

    /// The inverse hyperbolic tangent `½ log((1 + x) / (1 − x))`; NaN outside [−1, 1]. Derivative: 1 / (1 − x²).
    ATANH = atanh / try_atanh (x): Float {
        cpu: Real::atanh(x),
        wgsl: "fl_atanh({x})",
        helpers: [FLOAT, LOG1P_NEAR, LOG_PARTS, LOG, LOG1P, ATANH_WGSL],
        saves: [x],
        vjp(g, y): [g / (1.0 - x * x)],
        domain: [(-0.9, 0.9)],
        example: "Tensor::new([0.0, 0.5], &device).atanh()" => "tensor([0.0000, 0.5493])",
    }

    /// The angle of the point (x, y), in [−π, π]; self is y. Derivatives: x / (x² + y²) and −y / (x² + y²), 0 at the
    /// origin.
    ATAN2 = atan2 / try_atan2 (y, x): Float {
        cpu: y.atan2(x),
        wgsl: "fl_atan2({y}, {x})",
        helpers: [IS_NAN, DIVIDE, ATAN_NEAR_WGSL, ATAN2_WGSL],
        saves: [y, x],
        vjp(g, out): [g * x / squared_distance(y, x), -(g * y / squared_distance(y, x))],
        domain: [(-2.0, 2.0), (0.5, 2.0)],
        example: "Tensor::new([1.0, -1.0], &device).atan2(-1.0)" => "tensor([ 2.3562, -2.3562])",
    }
}

/// x² + y², and 1 at the origin.
fn squared_distance(y: &Tensor, x: &Tensor) -> Tensor {
    let squared = x * x + y * y;
    squared.eq(0.0).where_cond(1.0, squared)
}

/// `fl_quarter`: (r, n) with x = r + n π/2 and r from −π/4 to π/4; `fl_sin_near` and `fl_cos_near` are for such r. The
/// products of n with the parts of π/2 are made as integers: exact, and no compiler can merge them. Beyond 10⁵ they
/// would be rounded: `fl_quarter_far` multiplies the 32 bits of |x| by 96 bits of 2/π, those whose product is a fraction
/// or a turn modulo 4, and keeps 2 + 62 bits.
pub(super) const QUARTER_WGSL: &str = "
fn fl_high_product(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}
fn fl_quarter_far(x: f32) -> vec2<f32> {
    var digits = array<u32, 7>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
    let bits = bitcast<u32>(x);
    let number = (bits << 8u) | 0x80000000u;
    let start = ((bits >> 23u) & 0xffu) - 128u;
    var w = vec3<u32>();
    for (var k = 0u; k < 3u; k++) {
        let at = start / 32u + k;
        w[k] = (digits[at] << (start % 32u)) | ((digits[at + 1u] >> 1u) >> (31u - start % 32u));
    }
    let low = number * w.y;
    var rest = low + fl_high_product(number, w.z);
    var share = number * w.x + fl_high_product(number, w.y) + select(0u, 1u, rest < low);
    let n = (share + 0x20000000u) >> 30u;
    share -= n << 30u;
    let below = share >> 31u == 1u;
    if (below) {
        rest = ~rest + 1u;
        share = ~share + select(0u, 1u, rest == 0u);
    }
    let r = fma(f32(rest), 2.1684043e-19, f32(share) * 9.313226e-10) * 1.5707964;
    let sign = select(1.0, -1.0, bits >> 31u == 1u);
    return vec2<f32>(select(r, -r, below) * sign, f32(n) * sign);
}
fn fl_quarter(x: f32) -> vec2<f32> {
    if (abs(x) > 100000.0) { return fl_quarter_far(x); }
    let n = i32(round(x * 0.63661975));
    let near = fma(f32(n * 253), -1.9073486328125e-6, fma(f32(n * 201), -0.0078125, x));
    return vec2<f32>(fma(f32(n), -9.9209358e-10, fma(f32(n * 170), -7.450580596923828e-9, near)), f32(n));
}
fn fl_sin_near(r: f32) -> f32 {
    let z = r * r;
    return fma(r * z, fma(z, fma(z, fma(z, 2.7182373e-6, -0.00019839327), 0.008333329), -0.16666667), r);
}
fn fl_cos_near(r: f32) -> f32 {
    let z = r * r;
    return fma(z * z, fma(z, fma(z, 2.4437728e-5, -0.0013887362), 0.041666646), fma(z, -0.5, 1.0));
}
fn fl_endless(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u; }
";

const SIN_WGSL: &str = "
fn fl_sin(x: f32) -> f32 {
    if (fl_endless(x)) { return fl_float(0x7fc00000u); }
    let part = fl_quarter(x);
    let turn = i32(part.y);
    let y = select(fl_sin_near(part.x), fl_cos_near(part.x), (turn & 1) == 1);
    return select(y, -y, (turn & 2) == 2);
}
";

const COS_WGSL: &str = "
fn fl_cos(x: f32) -> f32 {
    if (fl_endless(x)) { return fl_float(0x7fc00000u); }
    let part = fl_quarter(x);
    let turn = i32(part.y) + 1;
    let y = select(fl_sin_near(part.x), fl_cos_near(part.x), (turn & 1) == 1);
    return select(y, -y, (turn & 2) == 2);
}
";

const TAN_WGSL: &str = "
fn fl_tan(x: f32) -> f32 {
    if (fl_endless(x)) { return fl_float(0x7fc00000u); }
    let part = fl_quarter(x);
    let sine = fl_sin_near(part.x);
    let cosine = fl_cos_near(part.x);
    if ((i32(part.y) & 1) == 1) { return -cosine / sine; }
    return sine / cosine;
}
";

/// `fl_asin_near`: the inverse sine from 0 to ½; further on, asin x = π/2 − 2 asin √((1 − x) / 2).
const ASIN_NEAR_WGSL: &str = "
fn fl_asin_near(x: f32) -> f32 {
    let z = x * x;
    let high = fma(z, fma(z, fma(z, 0.037565187, 0.014402615), 0.031817608), 0.04451572);
    return fma(x * z, fma(z, fma(z, high, 0.07500511), 0.1666666), x);
}
";

const ASIN_WGSL: &str = "
fn fl_asin(x: f32) -> f32 {
    let a = abs(x);
    if (bitcast<u32>(a) > 0x3f800000u) { return fl_float(0x7fc00000u); }
    if (a <= 0.5) { return fl_asin_near(x); }
    let y = 1.5707964 - 2.0 * fl_asin_near(sqrt((1.0 - a) * 0.5));
    return select(y, -y, x < 0.0);
}
";

const ACOS_WGSL: &str = "
fn fl_acos(x: f32) -> f32 {
    let a = abs(x);
    if (bitcast<u32>(a) > 0x3f800000u) { return fl_float(0x7fc00000u); }
    if (a <= 0.5) { return 1.5707964 - fl_asin_near(x); }
    let y = 2.0 * fl_asin_near(sqrt((1.0 - a) * 0.5));
    return select(y, 3.1415927 - y, x < 0.0);
}
";

/// `fl_atan_near`: the inverse tangent from −1 to 1.
const ATAN_NEAR_WGSL: &str = "
fn fl_atan_near(x: f32) -> f32 {
    let z = x * x;
    let top = fma(z, fma(z, fma(z, 0.0011348784, -0.0074226377), 0.02276034), -0.044946447);
    let high = fma(z, fma(z, fma(z, top, 0.06759572), -0.088188484), 0.110602446);
    return fma(x * z, fma(z, fma(z, fma(z, high, -0.14280131), 0.19999693), -0.33333328), x);
}
";

const ATAN_WGSL: &str = "
fn fl_atan(x: f32) -> f32 {
    if (abs(x) <= 1.0) { return fl_atan_near(x); }
    let y = 1.5707964 - fl_atan_near(1.0 / abs(x));
    return select(select(y, -y, x < 0.0), x, fl_is_nan(x));
}
";

/// The angle in the first eighth, then mirrored; infinities count as ones beside each other and zero the other way.
const ATAN2_WGSL: &str = "
fn fl_atan2(y: f32, x: f32) -> f32 {
    if (fl_is_nan(x) || fl_is_nan(y)) { return x + y; }
    let bits = vec2<u32>(bitcast<u32>(x), bitcast<u32>(y));
    let a = bits & vec2<u32>(0x7fffffffu);
    let steep = a.y > a.x;
    let large = max(abs(x), abs(y));
    var ratio = fl_divide(min(abs(x), abs(y)), select(large, 1.0, large == 0.0));
    if (max(a.x, a.y) == 0x7f800000u) { ratio = select(0.0, 1.0, a.x == a.y); }
    var angle = fl_atan_near(ratio);
    angle = select(angle, 1.5707964 - angle, steep);
    angle = select(angle, 3.1415927 - angle, (bits.x >> 31u) == 1u);
    return select(angle, -angle, (bits.y >> 31u) == 1u);
}
";

/// A polynomial below 1, where the exponentials would cancel; above, in halves so that e^x does not overflow early.
const SINH_WGSL: &str = "
fn fl_sinh(x: f32) -> f32 {
    if (abs(x) < 1.0) {
        let z = x * x;
        return fma(x * z, fma(z, fma(z, fma(z, 2.8174397e-6, 0.00019836066), 0.00833335), 0.16666667), x);
    }
    let e = fl_exp(0.5 * abs(x));
    let y = 0.5 * e * e - 0.5 / e / e;
    return select(y, -y, x < 0.0);
}
";

const COSH_WGSL: &str = "
fn fl_cosh(x: f32) -> f32 {
    let e = fl_exp(0.5 * abs(x));
    return 0.5 * e * e + 0.5 / e / e;
}
";

/// log(1 + a + a² / (1 + √(a² + 1))); log 2a where a² would overflow.
const ASINH_WGSL: &str = "
fn fl_asinh(x: f32) -> f32 {
    let a = abs(x);
    let b = min(a, 1e9);
    var y = fl_log1p(b + b * b / (1.0 + sqrt(b * b + 1.0)));
    if (a > 1e9) { y = fl_log(a) + 0.6931472; }
    return select(select(y, -y, x < 0.0), x, fl_is_nan(x));
}
";

/// With t = x − 1: log(1 + t + √(t (t + 2))); log 2x where x² would overflow.
const ACOSH_WGSL: &str = "
fn fl_acosh(x: f32) -> f32 {
    if (bitcast<u32>(x) - 0x3f800000u > 0x40000000u) { return fl_float(0x7fc00000u); }
    if (x > 1e9) { return fl_log(x) + 0.6931472; }
    let t = x - 1.0;
    return fl_log1p(t + sqrt(t * (x + 1.0)));
}
";

/// ½ log(1 + 2a / (1 − a)).
const ATANH_WGSL: &str = "
fn fl_atanh(x: f32) -> f32 {
    let a = abs(x);
    if (bitcast<u32>(a) >= 0x3f800000u) {
        return fl_float(select(0x7fc00000u, 0x7f800000u | (bitcast<u32>(x) & 0x80000000u), a == 1.0));
    }
    let y = 0.5 * fl_log1p(2.0 * a / (1.0 - a));
    return select(y, -y, x < 0.0);
}
";
