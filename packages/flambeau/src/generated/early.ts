// Kernels that training begins with, as written by `node tests/run.mjs node --only early`: do not edit by hand.

export const EARLY: readonly string[] = [
  `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out0: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4<u32>, 6>;
fn put(at: u32, value: f32) { out0[at] = value; }
var<workgroup> lines: array<vec4<f32>, 1024>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let tile = group.x + group.y * groups.x;
    if (tile >= params[2].w) { return; }
    let column0 = tile % params[3].y * 32u;
    let row0 = tile / params[3].y % params[3].x * 32u;
    let product = tile / params[3].y / params[3].x;
    let batch = product % params[0].w;
    let first = product / params[0].w * params[1].x;
    let end = min(first + params[1].x, params[0].z);
    let base_a = params[1].y;
    let base_b = params[1].z;
    let slice = thread / 64u;
    let row_thread = thread % 64u / 8u;
    let column_thread = thread % 8u;
    let row_fixed = thread % params[4].x;
    let row_first = thread / params[4].x;
    let column_fixed = thread % params[4].w;
    let column_first = thread / params[4].w;
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var k0 = first; k0 < end; k0 += params[5].w) {
        for (var i = group.z; i < select(0u, 8u, slice < params[5].z); i++) {
            let row_moving = row_first + i * params[4].y;
            let row_here = select(row_fixed, row_moving, params[4].z == 1u);
            let left_step_here = select(row_moving, row_fixed, params[4].z == 1u);
            let row = row0 + row_here;
            let left_step = k0 + left_step_here;
            lines[0u + left_step_here * 8u + ((row_here / 4u) ^ (left_step_here % 8u))][row_here % 4u] = a[base_a + min(row, params[0].x - 1u) * params[1].w + min(left_step, params[0].z - 1u) * params[2].x];
            let column_moving = column_first + i * params[5].x;
            let column_here = select(column_fixed, column_moving, params[5].y == 1u);
            let right_step_here = select(column_moving, column_fixed, params[5].y == 1u);
            let column = column0 + column_here;
            let right_step = k0 + right_step_here;
            lines[512u + right_step_here * 8u + ((column_here / 4u) ^ (right_step_here % 8u))][column_here % 4u] = b[base_b + min(column, params[0].y - 1u) * params[2].y + min(right_step, params[0].z - 1u) * params[2].z];
        }
        workgroupBarrier();
        let last = select(0u, min((slice + 1u) * 16u, end - k0), slice < params[5].z);
        for (var line = slice * 16u + group.z; line < last; line++) {
            let a = lines[line * 8u + (row_thread ^ (line % 8u))];
            let b = lines[512u + line * 8u + (column_thread ^ (line % 8u))];
            sum0 = fma(vec4<f32>(a.x), b, sum0);
            sum1 = fma(vec4<f32>(a.y), b, sum1);
            sum2 = fma(vec4<f32>(a.z), b, sum2);
            sum3 = fma(vec4<f32>(a.w), b, sum3);
        }
        workgroupBarrier();
    }
    var results = array<vec4<f32>, 4>(sum0, sum1, sum2, sum3);
    for (var r = group.z; r < 4u; r++) { lines[thread * 4u + r] = results[r]; }
    workgroupBarrier();
    if (slice > 0u) { return; }
    for (var other = 1u + group.z; other < params[5].z; other++) {
        for (var r = group.z; r < 4u; r++) { results[r] += lines[(other * 64u + thread) * 4u + r]; }
    }
    for (var r = group.z; r < 4u; r++) {
        let row = row0 + row_thread * 4u + r;
        for (var c = group.z; c < 4u; c++) {
            let column = column0 + column_thread * 4u + c;
            if (row < params[3].z && column < params[3].w) { put((product * params[0].x + row) * params[0].y + column, results[r][c]); }
        }
    }
}
`,
  `@group(0) @binding(0) var<storage, read> in0: array<f32>;
@group(0) @binding(1) var<storage, read> in1: array<f32>;
@group(0) @binding(2) var<storage, read_write> out0: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4<u32>, 2>;

fn fl_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn fl_scale(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return (x * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(n - half + 127) << 23u);
}

fn fl_exp(x: f32) -> f32 {
    let bounded = clamp(x, -104.0, 89.0);
    let n = i32(round(bounded * 1.442695));
    let r = fma(f32(n), -3.1946183e-5, fma(f32(n * 2839), -0.000244140625, bounded));
    let p = fma(r, fma(r, fma(r, fma(r, 0.0013814465, 0.008368781), 0.041668393), 0.1666652), 0.49999994);
    return select(fl_scale(1.0 + fma(r * r, p, r), n), x, fl_is_nan(x));
}

fn fl_log1p_near(f: f32) -> f32 {
    let high = fma(f, fma(f, fma(f, fma(f, 0.06721161, -0.116758384), 0.11902555), -0.12407513), 0.14217499);
    let p = fma(f, fma(f, fma(f, fma(f, fma(f, high, -0.1666767), 0.20002228), -0.25000027), 0.3333331), -0.5);
    return fma(f * f, p, f);
}

fn fl_float(bits: u32) -> f32 { return bitcast<f32>(bits); }

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

fn fl_log(x: f32) -> f32 {
    let parts = fl_log_parts(x);
    return fl_log_edges(x, fma(parts.x, 0.693115234375, fma(parts.x, 3.1946183e-5, parts.y)));
}
var<workgroup> shared_acc3: array<f32, 256>;
var<workgroup> shared_acc6: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let number = group.x + group.y * groups.x;
    if (number >= params[1].w) { return; }
    let member = thread % params[0].x;
    let first = thread - member;
    let partials = select(params[0].x, 16u, params[0].x > 32u);
    let row = number * (256u / params[0].x) + thread / params[0].x;
    let index = min(row, params[0].w - 1u);
    let end = select(0u, params[0].z, row < params[0].w);
    let c0 = index;
    var acc3: f32 = bitcast<f32>(params[1].x);
    for (var q = member; q < end; q += params[0].x) {
        for (var l = group.z; l < params[0].y; l++) {
            let r = q * params[0].y + l;
            let c1 = r;
            let at1 = c1 + c0 * params[1].y;
            let v0: f32 = in0[at1];
            let at2 = c1;
            let v1: f32 = in1[at2];
            let v2: f32 = (v0 + v1);
            acc3 = select(acc3, v2, !fl_is_nan(acc3) & ((v2 > acc3) | fl_is_nan(v2)));
        }
    }
    shared_acc3[thread] = acc3;
    workgroupBarrier();
    if (member < partials) {
        for (var k = partials; k < params[0].x; k += partials) {
            {
                let x = shared_acc3[thread + k];
                acc3 = select(acc3, x, !fl_is_nan(acc3) & ((x > acc3) | fl_is_nan(x)));
            }
        }
        shared_acc3[thread] = acc3;
    }
    workgroupBarrier();
    acc3 = shared_acc3[first];
    for (var k = 1u + group.z; k < partials; k++) {
        {
            let x = shared_acc3[first + k];
            acc3 = select(acc3, x, !fl_is_nan(acc3) & ((x > acc3) | fl_is_nan(x)));
        }
    }
    let v3 = acc3;
    var acc6: f32 = f32(0);
    for (var q = member; q < end; q += params[0].x) {
        for (var l = group.z; l < params[0].y; l++) {
            let r = q * params[0].y + l;
            let c1 = r;
            let at3 = c1 + c0 * params[1].y;
            let v0: f32 = in0[at3];
            let at4 = c1;
            let v1: f32 = in1[at4];
            let v2: f32 = (v0 + v1);
            let v4: f32 = (v2 - v3);
            let v5: f32 = fl_exp(v4);
            acc6 += v5;
        }
    }
    shared_acc6[thread] = acc6;
    workgroupBarrier();
    if (member < partials) {
        for (var k = partials; k < params[0].x; k += partials) {
            {
                let x = shared_acc6[thread + k];
                acc6 += x;
            }
        }
        shared_acc6[thread] = acc6;
    }
    workgroupBarrier();
    acc6 = shared_acc6[first];
    for (var k = 1u + group.z; k < partials; k++) {
        {
            let x = shared_acc6[first + k];
            acc6 += x;
        }
    }
    let v6 = acc6;
    let v7: f32 = fl_log(v6);
    for (var q = member; q < end; q += params[0].x) {
        for (var l = group.z; l < params[0].y; l++) {
            let r = q * params[0].y + l;
            let c1 = r;
            let at5 = c1 + c0 * params[1].y;
            let v0: f32 = in0[at5];
            let at6 = c1;
            let v1: f32 = in1[at6];
            let v2: f32 = (v0 + v1);
            let v4: f32 = (v2 - v3);
            let v8: f32 = (v4 - v7);
            let at7 = c1 + c0 * params[1].z;
            out0[at7] = v8;
        }
    }
    if (member == 0u && row < params[0].w) {
    }
}
`,
  `@group(0) @binding(0) var<storage, read_write> out0: array<f32>;
@group(0) @binding(1) var<uniform> params: array<vec4<u32>, 2>;
// Counter-based random numbers: the WGSL twin of rng.rs, function by function. A test there checks that the
// constants are the same. Integers and uniforms are bit-equal to Rust; normals stay within 4 ulp, because a
// driver may contract a * b + c and nothing else here has any freedom: no log, no sqrt, no division.

fn fl_rotate(x: u32, by: u32) -> u32 {
    return (x << by) | (x >> (32u - by));
}

// Four rounds of Threefry; \`r\` holds their rotations.
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

// 32 random bits of element \`index\` of a draw that starts at \`counter\` (x: low word, y: high word).
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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let number = (group.x + group.y * groups.x) * 256u + thread;
    if (number >= params[1].z) { return; }
    let index = number;
    let c0 = index;
    let at1 = c0;
    let v0: u32 = fl_random_bits(vec2<u32>(params[0].x, params[0].y), vec2<u32>(params[0].z, params[0].w), at1);
    let v1: f32 = fl_uniform(v0);
    let v2: f32 = bitcast<f32>(params[1].x);
    let v3: f32 = (v1 * v2);
    let v4: f32 = bitcast<f32>(params[1].y);
    let v5: f32 = (v3 + v4);
    out0[index] = v5;
}
`,
  `@group(0) @binding(0) var<storage, read_write> out0: array<f32>;
@group(0) @binding(1) var<uniform> params: array<vec4<u32>, 1>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let number = (group.x + group.y * groups.x) * 256u + thread;
    if (number >= params[0].y) { return; }
    let index = number;
    let c0 = index;
    let v0: f32 = bitcast<f32>(params[0].x);
    out0[index] = v0;
}
`,
  `@group(0) @binding(0) var<storage, read> in0: array<i32>;
@group(0) @binding(1) var<storage, read> in1: array<f32>;
@group(0) @binding(2) var<storage, read_write> out0: array<f32>;
@group(0) @binding(3) var<storage, read_write> out1: array<i32>;
@group(0) @binding(4) var<storage, read_write> out2: array<f32>;
@group(0) @binding(5) var<storage, read_write> out3: array<f32>;
@group(0) @binding(6) var<storage, read_write> out4: array<u32>;
@group(0) @binding(7) var<storage, read_write> status: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> params: array<vec4<u32>, 4>;

fn fl_ordered(x: f32, y: f32) -> bool {
    return max(bitcast<u32>(x) & 0x7fffffffu, bitcast<u32>(y) & 0x7fffffffu) <= 0x7f800000u;
}

fn fl_divide(x: f32, y: f32) -> f32 {
    let near = select(1.0, 5.9604645e-8, abs(y) > 8e37);
    return (x * near) / (y * near);
}

fn fl_fault(slot: u32, run: u32, node: u32, value: u32) {
    if (atomicExchange(&status[slot], run) != run) {
        atomicStore(&status[slot + 1u], node);
        atomicStore(&status[slot + 2u], run);
        atomicStore(&status[slot + 3u], value);
    }
}
fn fl_take_over(slot: u32, run: u32, other: u32, its_run: u32, after: u32) -> bool {
    if (other == 0u) { return false; }
    if (atomicLoad(&status[other]) != its_run || atomicLoad(&status[other + 2u]) <= after) { return false; }
    if (atomicExchange(&status[slot], run) != run) {
        for (var k = 1u; k < 4u; k++) { atomicStore(&status[slot + k], atomicLoad(&status[other + k])); }
    }
    return true;
}
// 0: not known to this thread yet. All threads ask the same words, which are far away.
var<private> fl_health: u32;
fn fl_healthy(slot: u32, run: u32, first: vec3<u32>, second: vec3<u32>) -> bool {
    if (fl_health == 0u) {
        let sound = atomicLoad(&status[slot]) != run && !fl_take_over(slot, run, first.x, first.y, first.z)
            && !fl_take_over(slot, run, second.x, second.y, second.z);
        fl_health = select(2u, 1u, sound);
    }
    return fl_health == 1u;
}
var<workgroup> shared_acc9: array<f32, 256>;
var<workgroup> shared_acc11: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let number = group.x + group.y * groups.x;
    if (number >= params[3].y) { return; }
    let member = thread % params[0].x;
    let first = thread - member;
    let partials = select(params[0].x, 16u, params[0].x > 32u);
    let row = number * (256u / params[0].x) + thread / params[0].x;
    let index = min(row, params[0].w - 1u);
    let end = select(0u, params[0].z, row < params[0].w);
    let v1: i32 = bitcast<i32>(params[1].x);
    let v3: i32 = bitcast<i32>(params[1].y);
    let v7: f32 = bitcast<f32>(params[1].z);
    var acc9: f32 = f32(0);
    var acc11: f32 = f32(0);
    for (var q = member; q < end; q += params[0].x) {
        for (var l = group.z; l < params[0].y; l++) {
            let r = q * params[0].y + l;
            let c0 = r;
            let at1 = c0;
            let v0: i32 = in0[at1];
            let v2: bool = (v0 != v1);
            let v4: i32 = select(v3, v0, v2);
            let at2 = c0 * params[1].w;
            var g3 = u32(v4);
            if (g3 >= params[2].x) {
                fl_fault(params[2].y, params[2].z, params[2].w, g3);
                g3 = 0u;
            }
            let v5: f32 = in1[at2 + g3 * params[3].x];
            let v6: f32 = (-v5);
            let v8: f32 = select(v7, v6, v2);
            let v10: f32 = select(0.0, 1.0, v2);
            acc9 += v8;
            acc11 += v10;
            let at4 = c0;
            out1[at4] = v4;
            let at5 = c0;
            out3[at5] = v10;
            let at6 = c0;
            out4[at6] = select(0u, 1u, v2);
        }
    }
    shared_acc9[thread] = acc9;
    shared_acc11[thread] = acc11;
    workgroupBarrier();
    if (member < partials) {
        for (var k = partials; k < params[0].x; k += partials) {
            {
                let x = shared_acc9[thread + k];
                acc9 += x;
            }
            {
                let x = shared_acc11[thread + k];
                acc11 += x;
            }
        }
        shared_acc9[thread] = acc9;
        shared_acc11[thread] = acc11;
    }
    workgroupBarrier();
    acc9 = shared_acc9[first];
    acc11 = shared_acc11[first];
    for (var k = 1u + group.z; k < partials; k++) {
        {
            let x = shared_acc9[first + k];
            acc9 += x;
        }
        {
            let x = shared_acc11[first + k];
            acc11 += x;
        }
    }
    let v9 = acc9;
    let v11 = acc11;
    if (member == 0u && row < params[0].w) {
        let v12: f32 = fl_divide(v9, v11);
        out0[index] = v12;
        out2[index] = v11;
    }
}
`,
  `@group(0) @binding(0) var<storage, read> in0: array<f32>;
@group(0) @binding(1) var<storage, read> in1: array<f32>;
@group(0) @binding(2) var<storage, read> in2: array<f32>;
@group(0) @binding(3) var<storage, read> in3: array<f32>;
@group(0) @binding(4) var<storage, read_write> out0: array<f32>;
@group(0) @binding(5) var<storage, read_write> out1: array<f32>;
@group(0) @binding(6) var<storage, read_write> out2: array<f32>;
@group(0) @binding(7) var<storage, read_write> status: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> params: array<vec4<u32>, 4>;

fn fl_divide(x: f32, y: f32) -> f32 {
    let near = select(1.0, 5.9604645e-8, abs(y) > 8e37);
    return (x * near) / (y * near);
}

fn fl_fault(slot: u32, run: u32, node: u32, value: u32) {
    if (atomicExchange(&status[slot], run) != run) {
        atomicStore(&status[slot + 1u], node);
        atomicStore(&status[slot + 2u], run);
        atomicStore(&status[slot + 3u], value);
    }
}
fn fl_take_over(slot: u32, run: u32, other: u32, its_run: u32, after: u32) -> bool {
    if (other == 0u) { return false; }
    if (atomicLoad(&status[other]) != its_run || atomicLoad(&status[other + 2u]) <= after) { return false; }
    if (atomicExchange(&status[slot], run) != run) {
        for (var k = 1u; k < 4u; k++) { atomicStore(&status[slot + k], atomicLoad(&status[other + k])); }
    }
    return true;
}
// 0: not known to this thread yet. All threads ask the same words, which are far away.
var<private> fl_health: u32;
fn fl_healthy(slot: u32, run: u32, first: vec3<u32>, second: vec3<u32>) -> bool {
    if (fl_health == 0u) {
        let sound = atomicLoad(&status[slot]) != run && !fl_take_over(slot, run, first.x, first.y, first.z)
            && !fl_take_over(slot, run, second.x, second.y, second.z);
        fl_health = select(2u, 1u, sound);
    }
    return fl_health == 1u;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let number = (group.x + group.y * groups.x) * 256u + thread;
    if (number >= params[3].w) { return; }
    let index = number;
    let c0 = index;
    let v0: bool = fl_healthy(params[0].y, params[0].x, vec3<u32>(params[0].z, params[0].w, params[1].x), vec3<u32>(params[1].y, params[1].z, params[1].w));
    let at1 = c0;
    let v1: f32 = in0[at1];
    let at2 = c0;
    let v2: f32 = in1[at2];
    let v3: f32 = bitcast<f32>(params[2].x);
    let v4: f32 = (v2 * v3);
    let at3 = c0;
    let v5: f32 = in2[at3];
    let v6: f32 = bitcast<f32>(params[2].y);
    let v7: f32 = (v5 * v6);
    let v8: f32 = (v4 + v7);
    let v9: f32 = select(v2, v8, v0);
    let v10: f32 = bitcast<f32>(params[2].z);
    let v11: f32 = (v9 * v10);
    let at4 = c0;
    let v12: f32 = in3[at4];
    let v13: f32 = bitcast<f32>(params[2].w);
    let v14: f32 = (v12 * v13);
    let v15: f32 = bitcast<f32>(params[3].x);
    let v16: f32 = (v5 * v15);
    let v17: f32 = (v16 * v5);
    let v18: f32 = (v14 + v17);
    let v19: f32 = select(v12, v18, v0);
    let v20: f32 = sqrt(v19);
    let v21: f32 = bitcast<f32>(params[3].y);
    let v22: f32 = fl_divide(v20, v21);
    let v23: f32 = bitcast<f32>(params[3].z);
    let v24: f32 = (v22 + v23);
    let v25: f32 = fl_divide(v11, v24);
    let v26: f32 = (v1 + v25);
    let v27: f32 = select(v1, v26, v0);
    out0[index] = v27;
    out1[index] = v9;
    out2[index] = v19;
}
`,
  `@group(0) @binding(0) var<storage, read> in0: array<u32>;
@group(0) @binding(1) var<storage, read> in1: array<f32>;
@group(0) @binding(2) var<storage, read> in2: array<i32>;
@group(0) @binding(3) var<storage, read> in3: array<f32>;
@group(0) @binding(4) var<storage, read> in4: array<f32>;
@group(0) @binding(5) var<storage, read_write> out0: array<f32>;
@group(0) @binding(6) var<storage, read_write> out1: array<f32>;
@group(0) @binding(7) var<uniform> params: array<vec4<u32>, 3>;

fn fl_divide(x: f32, y: f32) -> f32 {
    let near = select(1.0, 5.9604645e-8, abs(y) > 8e37);
    return (x * near) / (y * near);
}

fn fl_scale(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return (x * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(n - half + 127) << 23u);
}

fn fl_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn fl_exp(x: f32) -> f32 {
    let bounded = clamp(x, -104.0, 89.0);
    let n = i32(round(bounded * 1.442695));
    let r = fma(f32(n), -3.1946183e-5, fma(f32(n * 2839), -0.000244140625, bounded));
    let p = fma(r, fma(r, fma(r, fma(r, 0.0013814465, 0.008368781), 0.041668393), 0.1666652), 0.49999994);
    return select(fl_scale(1.0 + fma(r * r, p, r), n), x, fl_is_nan(x));
}

fn fl_ordered(x: f32, y: f32) -> bool {
    return max(bitcast<u32>(x) & 0x7fffffffu, bitcast<u32>(y) & 0x7fffffffu) <= 0x7f800000u;
}
var<workgroup> shared_acc16: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let number = group.x + group.y * groups.x;
    if (number >= params[2].x) { return; }
    let member = thread % params[0].x;
    let first = thread - member;
    let partials = select(params[0].x, 16u, params[0].x > 32u);
    let row = number * (256u / params[0].x) + thread / params[0].x;
    let index = min(row, params[0].w - 1u);
    let end = select(0u, params[0].z, row < params[0].w);
    let c0 = index;
    let at1 = c0;
    let v3: i32 = i32(at1);
    let v8: f32 = bitcast<f32>(params[1].x);
    let at2 = 0u;
    let v9: f32 = in3[at2];
    let v10: f32 = fl_divide(v8, v9);
    let v14: f32 = bitcast<f32>(params[1].y);
    var acc16: f32 = f32(0);
    for (var q = member; q < end; q += params[0].x) {
        for (var l = group.z; l < params[0].y; l++) {
            let r = q * params[0].y + l;
            let c1 = r;
            let at3 = c1;
            let v0: bool = (in0[at3] != 0u);
            let at4 = c1 * params[1].z + c0;
            let v1: f32 = in1[at4];
            let v2: f32 = fl_exp(v1);
            let at5 = c1;
            let v4: i32 = in2[at5];
            let v5: bool = (v3 == v4);
            let v6: f32 = select(0.0, 1.0, v5);
            let v7: f32 = (v2 - v6);
            let at6 = c1;
            let v11: f32 = in4[at6];
            let v12: f32 = (v10 * v11);
            let v13: f32 = (v7 * v12);
            let v15: f32 = select(v14, v13, v0);
            acc16 += v15;
            let at7 = c1 * params[1].w + c0;
            out1[at7] = v15;
        }
    }
    shared_acc16[thread] = acc16;
    workgroupBarrier();
    if (member < partials) {
        for (var k = partials; k < params[0].x; k += partials) {
            {
                let x = shared_acc16[thread + k];
                acc16 += x;
            }
        }
        shared_acc16[thread] = acc16;
    }
    workgroupBarrier();
    acc16 = shared_acc16[first];
    for (var k = 1u + group.z; k < partials; k++) {
        {
            let x = shared_acc16[first + k];
            acc16 += x;
        }
    }
    let v16 = acc16;
    if (member == 0u && row < params[0].w) {
        out0[index] = v16;
    }
}
`,
];
