// Counter-based random numbers: the WGSL twin of rng.rs, function by function. A test there checks that the
// constants are the same. Integers and uniforms are bit-equal to Rust; normals stay within 4 ulp, because a
// driver may contract a * b + c and nothing else here has any freedom: no log, no sqrt, no division.

fn fl_rotate(x: u32, by: u32) -> u32 {
    return (x << by) | (x >> (32u - by));
}

// Four rounds of Threefry; `r` holds their rotations.
fn fl_four_rounds(state: vec2<u32>, r: vec4<u32>) -> vec2<u32> {
    var a = state.x;
    var b = state.y;
    a += b; b = fl_rotate(b, r.x) ^ a;
    a += b; b = fl_rotate(b, r.y) ^ a;
    a += b; b = fl_rotate(b, r.z) ^ a;
    a += b; b = fl_rotate(b, r.w) ^ a;
    return vec2<u32>(a, b);
}

// Threefry-2x32 with 20 rounds.
fn fl_threefry(key: vec2<u32>, counter: vec2<u32>) -> vec2<u32> {
    let k0 = key.x;
    let k1 = key.y;
    let k2 = 0x1bd11bdau ^ k0 ^ k1;
    let even = vec4<u32>(13u, 15u, 26u, 6u);
    let odd = vec4<u32>(17u, 29u, 16u, 24u);
    var x = counter + vec2<u32>(k0, k1);
    x = fl_four_rounds(x, even) + vec2<u32>(k1, k2 + 1u);
    x = fl_four_rounds(x, odd) + vec2<u32>(k2, k0 + 2u);
    x = fl_four_rounds(x, even) + vec2<u32>(k0, k1 + 3u);
    x = fl_four_rounds(x, odd) + vec2<u32>(k1, k2 + 4u);
    x = fl_four_rounds(x, even) + vec2<u32>(k2, k0 + 5u);
    return x;
}

// 32 random bits of element `index` of a draw that starts at `counter` (x: low word, y: high word).
fn fl_random_bits(key: vec2<u32>, counter: vec2<u32>, index: u32) -> u32 {
    let low = counter.x + index;
    let high = counter.y + select(0u, 1u, low < index);
    return fl_threefry(key, vec2<u32>(low, high)).x;
}

// In [0, 1): a multiple of 2^-24.
fn fl_uniform(bits: u32) -> f32 {
    return f32(bits >> 8u) * 5.9604645e-8;
}

// In (0, 1): an odd multiple of 2^-24.
fn fl_uniform_open(bits: u32) -> f32 {
    return f32(((bits >> 9u) << 1u) | 1u) * 5.9604645e-8;
}

// Standard normal: the inverse of the normal distribution function at fl_uniform_open(bits).
fn fl_normal(bits: u32) -> f32 {
    // Distance from the middle, in units of 2^-24.
    let k = bitcast<i32>(((bits >> 9u) << 1u) | 1u) - 8388608;
    let n = f32(k);
    // y = 4 u (1 - u): both factors are exact, so y is rounded once.
    let y = ((8388608.0 - n) * (8388608.0 + n)) * 1.4210855e-14;
    // w = -ln(y), with y = 2^e (1 + f) and 1 + f between sqrt(1/2) and sqrt(2).
    let raw = bitcast<i32>(y);
    let e = (raw - 0x3f3504f3) >> 23u;
    let f = bitcast<f32>(raw - (e << 23u)) - 1.0;
    // ln(1 + f) = f + f^2 q. (Not f times a polynomial that ends in 1.0: some drivers rewrite (m - 1.0) * q + 1.0.)
    var q = 0.08734843;
    q = q * f + -0.14307521;
    q = q * f + 0.14917974;
    q = q * f + -0.16570508;
    q = q * f + 0.19962072;
    q = q * f + -0.25001755;
    q = q * f + 0.3333395;
    q = q * f + -0.4999999;
    let w = -(f32(e) * 0.6931472 + ((f * f) * q + f));
    // x = (u - 1/2) * P(w).
    var p: f32;
    if (w < 5.0) {
        p = -2.4864747e-8;
        p = p * w + 6.251686e-7;
        p = p * w + -5.5902756e-6;
        p = p * w + 1.1266292e-5;
        p = p * w + 0.00012604949;
        p = p * w + -0.0003605726;
        p = p * w + -0.0066023865;
        p = p * w + 0.032664526;
        p = p * w + 0.6562342;
        p = p * w + 2.5066283;
    } else {
        let t = w - 7.0;
        p = -1.3752309e-10;
        p = p * t + 5.6247167e-9;
        p = p * t + -1.01013214e-7;
        p = p * t + 1.0335133e-6;
        p = p * t + -5.7752636e-6;
        p = p * t + -8.7519165e-6;
        p = p * t + 0.0007700708;
        p = p * t + -0.016512223;
        p = p * t + 0.529586;
        p = p * t + 7.013855;
    }
    return n * 5.9604645e-8 * p;
}
