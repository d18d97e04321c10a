//! WGSL functions that several ops share. WGSL's own guarantees are too loose for most of them (a sine may be off by
//! 2⁻¹¹), and its compilers may assume that no value is NaN: these are accurate to a few units in the last place, and
//! look at the bits for NaN.
//!
//! Polynomials are fitted for the least largest error on the interval each one is used on. `fma` is written out so
//! that no compiler rearranges the sums.

pub(super) use crate::shader::IS_NAN;

/// `fl_float` makes the numbers that WGSL cannot write (infinities, NaN) from their bits.
pub(super) const FLOAT: &str = "
fn fl_float(bits: u32) -> f32 { return bitcast<f32>(bits); }
";

/// `fl_ordered`: neither is NaN.
pub(super) const ORDERED: &str = "
fn fl_ordered(x: f32, y: f32) -> bool {
    return max(bitcast<u32>(x) & 0x7fffffffu, bitcast<u32>(y) & 0x7fffffffu) <= 0x7f800000u;
}
";

/// `fl_divide`: x / y. GPUs multiply by 1 / y, which for y above 2¹²⁶ is subnormal and may count as 0: then ∞ / y would be NaN.
pub(super) const DIVIDE: &str = "
fn fl_divide(x: f32, y: f32) -> f32 {
    let near = select(1.0, 5.9604645e-8, abs(y) > 8e37);
    return (x * near) / (y * near);
}
";

/// `fl_scale`: x · 2ⁿ, in two factors so that both can be written as floats.
pub(super) const SCALE: &str = "
fn fl_scale(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return (x * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(n - half + 127) << 23u);
}
";

/// `fl_exp`; needs [`IS_NAN`] and [`SCALE`]. With n = round(x / ln 2): 2ⁿ · e^(x − n ln 2). The product of
/// n with the high part of ln 2 is made as integers: exact, and no compiler can merge it with the other.
pub(super) const EXP: &str = "
fn fl_exp(x: f32) -> f32 {
    let bounded = clamp(x, -104.0, 89.0);
    let n = i32(round(bounded * 1.442695));
    let r = fma(f32(n), -3.1946183e-5, fma(f32(n * 2839), -0.000244140625, bounded));
    let p = fma(r, fma(r, fma(r, fma(r, 0.0013814465, 0.008368781), 0.041668393), 0.1666652), 0.49999994);
    return select(fl_scale(1.0 + fma(r * r, p, r), n), x, fl_is_nan(x));
}
";

/// `fl_log1p_near`: log(1 + f) for f from √½ − 1 to √2 − 1.
pub(super) const LOG1P_NEAR: &str = "
fn fl_log1p_near(f: f32) -> f32 {
    let high = fma(f, fma(f, fma(f, fma(f, 0.06721161, -0.116758384), 0.11902555), -0.12407513), 0.14217499);
    let p = fma(f, fma(f, fma(f, fma(f, fma(f, high, -0.1666767), 0.20002228), -0.25000027), 0.3333331), -0.5);
    return fma(f * f, p, f);
}
";

/// `fl_log_parts`: (e, log m) with x = m · 2ᵉ and m from √½ to √2; needs [`LOG1P_NEAR`]. `fl_log_edges` puts in the
/// logarithms of zero, infinity, NaN and negative numbers; needs [`FLOAT`].
pub(super) const LOG_PARTS: &str = "
fn fl_log_parts(x: f32) -> vec2<f32> {
    let tiny = bitcast<u32>(x) < 0x00800000u;
    let bits = bitcast<u32>(select(x, x * 8388608.0, tiny));
    let e = i32(bits - 0x3f3504f3u) >> 23u;
    let m = bitcast<f32>(bits - (u32(e) << 23u));
    return vec2<f32>(f32(e) - select(0.0, 23.0, tiny), fl_log1p_near(m - 1.0));
}
fn fl_log_edges(x: f32, y: f32) -> f32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7fffffffu) == 0u) { return fl_float(0xff800000u); }
    if (bits > 0x7f800000u) { return fl_float(0x7fc00000u); }
    return select(y, x, bits == 0x7f800000u);
}
";

/// `fl_log`; needs [`LOG_PARTS`] and what that needs.
pub(super) const LOG: &str = "
fn fl_log(x: f32) -> f32 {
    let parts = fl_log_parts(x);
    return fl_log_edges(x, fma(parts.x, 0.693115234375, fma(parts.x, 3.1946183e-5, parts.y)));
}
";

/// `fl_log1p`; needs [`LOG`] and what that needs.
pub(super) const LOG1P: &str = "
fn fl_log1p(x: f32) -> f32 {
    if (x > -0.2928 && x < 0.4142) { return fl_log1p_near(x); }
    return fl_log(1.0 + x);
}
";
