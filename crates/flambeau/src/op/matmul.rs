//! The batched matrix product: (B…, M, K) × (B…, K, N) → (B…, M, N). Operands are read through their strides, so a
//! transposed or broadcast operand is not copied.

use super::elementwise::Block;
use super::structured::{Bound, Exact, Layout, Param, Program, Structured};
use super::{Grads, Meta, Saves, Vjp};
use crate::backend::cpu::{CpuOperand, HostBuffer};
use crate::backend::wgsl::{Params, groups_for, lane_type, narrow, storage_type, widen};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::plan::kernel::{Operand, StructuredCall};
use half::f16;

/// C = A·B over the last two dimensions; the others are batches of equal size.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MatMul;

/// Sizes of one product.
struct Sizes {
    batches: usize,
    m: usize,
    n: usize,
    k: usize,
}

fn sizes(a: &[usize], c: &[usize]) -> Sizes {
    let rank = c.len();
    Sizes { batches: c[..rank - 2].iter().product(), m: c[rank - 2], n: c[rank - 1], k: a[rank - 1] }
}

impl Structured for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Strided
    }

    fn saves(&self) -> Saves {
        Saves::inputs(0b11)
    }

    /// dA = dC·Bᵀ, dB = Aᵀ·dC.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (g, a, b) = (v.grad(), v.input(0), v.input(1));
        let transposed = |x: &crate::Tensor| x.try_transpose(-2, -1);
        let da = if v.needs[0] { Some(g.product(&transposed(b)?)?) } else { None };
        let db = if v.needs[1] { Some(transposed(a)?.product(g)?) } else { None };
        Ok(vec![da, db])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Meta { shape, dtype } = &outputs[0];
        let Sizes { batches, m, n, k } = sizes(&inputs[0].shape, shape);
        macro_rules! multiply {
            ($a:expr, $b:expr, $zero:expr) => {{
                let mut c = vec![$zero; batches * m * n];
                for (index, c) in c.iter_mut().enumerate() {
                    let (batch, row, column) = (index / (m * n), index / n % m, index % n);
                    for i in 0..k {
                        *c += $a[(batch * m + row) * k + i] * $b[(batch * k + i) * n + column];
                    }
                }
                c
            }};
        }
        let values = match (&inputs[0].values, &inputs[1].values) {
            (Block::F64(a), Block::F64(b)) => Block::F64(multiply!(a, b, 0.0)),
            (Block::I64(a), Block::I64(b)) => Block::I64(multiply!(a, b, 0)),
            other => unreachable!("the interpreter multiplies numbers, not {other:?}"),
        };
        Ok(vec![Exact { shape: shape.clone(), dtype: *dtype, values }])
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let (a, b) = (&inputs[0], &inputs[1]);
        match (a.buffer, b.buffer, &mut outputs[0]) {
            (HostBuffer::F32(x), HostBuffer::F32(y), HostBuffer::F32(c)) => float_product(inputs, x, y, c),
            (HostBuffer::F64(x), HostBuffer::F64(y), HostBuffer::F64(c)) => float_product(inputs, x, y, c),
            (HostBuffer::F16(x), HostBuffer::F16(y), HostBuffer::F16(c)) => {
                let wide = |values: &[f16]| values.iter().map(|x| x.to_f32()).collect::<Vec<f32>>();
                let mut result = vec![0f32; c.len()];
                float_product(inputs, &wide(x), &wide(y), &mut result);
                c.iter_mut().zip(result).for_each(|(c, x)| *c = f16::from_f32(x));
            }
            (HostBuffer::I32(x), HostBuffer::I32(y), HostBuffer::I32(c)) => {
                integer_product(inputs, x, y, c, |c, a, b| c.wrapping_add(a.wrapping_mul(b)));
            }
            (HostBuffer::U32(x), HostBuffer::U32(y), HostBuffer::U32(c)) => {
                integer_product(inputs, x, y, c, |c, a, b| c.wrapping_add(a.wrapping_mul(b)));
            }
            (HostBuffer::U8(x), HostBuffer::U8(y), HostBuffer::U8(c)) => {
                integer_product(inputs, x, y, c, |c, a, b| c.wrapping_add(a.wrapping_mul(b)));
            }
            (HostBuffer::I64(x), HostBuffer::I64(y), HostBuffer::I64(c)) => {
                integer_product(inputs, x, y, c, |c, a, b| c.wrapping_add(a.wrapping_mul(b)));
            }
            _ => unreachable!("matmul promotes its operands to one number type"),
        }
        Ok(())
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let Sizes { k, .. } = sizes(&call.inputs[0].meta.shape, &call.outputs[0].1.shape);
        match k.div_ceil(PART) {
            0 | 1 => Ok(vec![tiled(call, 1)]),
            parts => Ok(vec![tiled(call, parts), sum_of_parts(call, parts, "matmul sum")]),
        }
    }
}

/// Offsets and strides of one batch's matrix.
struct Matrix {
    offset: usize,
    row: isize,
    column: isize,
}

/// The matrix of a batch, the batch counted over all batch dimensions.
fn matrix(operand: &CpuOperand, batch: usize) -> Matrix {
    let level = &operand.access.levels[0];
    let rank = level.axes.len();
    let (mut offset, mut rest) = (level.offset.value(operand.data), batch);
    for axis in level.axes[..rank - 2].iter().rev() {
        offset += (rest % axis.size) as i64 * axis.stride;
        rest /= axis.size;
    }
    let (row, column) = (level.axes[rank - 2].stride as isize, level.axes[rank - 1].stride as isize);
    Matrix { offset: offset as usize, row, column }
}

fn product_sizes(inputs: &[CpuOperand]) -> Sizes {
    let (a, b) = (&inputs[0].meta.shape, &inputs[1].meta.shape);
    let rank = a.rank();
    Sizes { batches: a[..rank - 2].iter().product(), m: a[rank - 2], n: b[rank - 1], k: a[rank - 1] }
}

fn float_product<T: Copy + num_traits::Zero + num_traits::One + 'static>(
    inputs: &[CpuOperand],
    a: &[T],
    b: &[T],
    c: &mut [T],
) {
    let Sizes { batches, m, n, k } = product_sizes(inputs);
    if k == 0 || c.is_empty() {
        return c.fill(T::zero());
    }
    #[cfg(not(target_arch = "wasm32"))]
    let parallelism =
        if m * n * k >= 1 << 18 { gemm::Parallelism::Rayon(0) } else { gemm::Parallelism::None };
    #[cfg(target_arch = "wasm32")]
    let parallelism = gemm::Parallelism::None;
    for batch in 0..batches {
        let (x, y) = (matrix(&inputs[0], batch), matrix(&inputs[1], batch));
        // Safety: the strides stay inside the operands' memory, and c has batches · m · n elements.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr().add(batch * m * n),
                1,
                n as isize,
                false,
                a.as_ptr().add(x.offset),
                x.column,
                x.row,
                b.as_ptr().add(y.offset),
                y.column,
                y.row,
                T::zero(),
                T::one(),
                false,
                false,
                false,
                parallelism,
            );
        }
    }
}

fn integer_product<T: Copy + Default>(
    inputs: &[CpuOperand],
    a: &[T],
    b: &[T],
    c: &mut [T],
    multiply_add: impl Fn(T, T, T) -> T,
) {
    let Sizes { m, n, k, .. } = product_sizes(inputs);
    for (index, c) in c.iter_mut().enumerate() {
        let (batch, row, column) = (index / (m * n), (index / n % m) as isize, (index % n) as isize);
        let (x, y) = (matrix(&inputs[0], batch), matrix(&inputs[1], batch));
        *c = (0..k as isize).fold(T::default(), |sum, i| {
            let a = a[(x.offset as isize + row * x.row + i * x.column) as usize];
            let b = b[(y.offset as isize + i * y.row + column * y.column) as usize];
            multiply_add(sum, a, b)
        });
    }
}

/// Rows and columns of C per workgroup, and steps of K per round. 16 × 16 threads own 4 × 4 results each.
const TILE: usize = 64;
const DEPTH: usize = 16;
/// Steps of K one workgroup takes; longer sums are made in parts, which a second shader adds up in order.
const PART: usize = 32_768;

/// C tile by tile: A (64 × 16) and B (16 × 64) of each round go through workgroup memory, and every thread keeps a
/// 4 × 4 corner of C in registers.
fn tiled(call: &StructuredCall, parts: usize) -> Program {
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    let (_, c) = &call.outputs[0];
    let Sizes { batches, m, n, k } = sizes(&a.meta.shape, &c.shape);
    let mut params = Params::default();
    let [pm, pn, pk, pb] = [m, n, k, batches].map(|size| params.size(size));
    let pjobs = params.size(batches * parts);
    let load_a = element(&mut params, a, "a", "row", "i");
    let load_b = element(&mut params, b, "b", "i", "column");
    let (lane, stored) = (lane_type(c.dtype), storage_type(c.dtype));
    let enable = if c.dtype == DType::F16 { "enable f16;\n" } else { "" };
    let (target, result, bound) = match parts {
        1 => (stored, narrow(c.dtype, "acc[r][s]"), Bound::Output(0)),
        _ => (lane, "acc[r][s]".to_string(), Bound::Scratch(0)),
    };
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read> a: array<{stored}>;
@group(0) @binding(1) var<storage, read> b: array<{stored}>;
@group(0) @binding(2) var<storage, read_write> c: array<{target}>;
@group(0) @binding(3) var<uniform> params: array<vec4<u32>, {vectors}>;
var<workgroup> tile_a: array<{lane}, {tile_len}>;
var<workgroup> tile_b: array<{lane}, {tile_len}>;

fn load_a(batch: u32, row: u32, i: u32) -> {lane} {{
    if (row >= {pm} || i >= {pk}) {{ return {lane}(0); }}
    {load_a}
}}
fn load_b(batch: u32, i: u32, column: u32) -> {lane} {{
    if (i >= {pk} || column >= {pn}) {{ return {lane}(0); }}
    {load_b}
}}

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>,
        @builtin(local_invocation_index) thread: u32, @builtin(num_workgroups) groups: vec3<u32>) {{
    let row0 = group.y * {TILE}u;
    let column0 = group.x * {TILE}u;
    for (var job = group.z; job < {pjobs}; job += groups.z) {{
        let batch = job % {pb};
        let first = job / {pb} * {PART}u;
        let end = min(first + {PART}u, {pk});
        var acc: array<array<{lane}, 4>, 4>;
        for (var r = 0u; r < 4u; r++) {{ for (var s = 0u; s < 4u; s++) {{ acc[r][s] = {lane}(0); }} }}
        for (var k0 = first; k0 < end; k0 += {DEPTH}u) {{
            for (var t = 0u; t < 4u; t++) {{
                let at = thread + t * 256u;
                tile_a[at] = load_a(batch, row0 + at / {DEPTH}u, k0 + at % {DEPTH}u);
                tile_b[at] = load_b(batch, k0 + at / {TILE}u, column0 + at % {TILE}u);
            }}
            workgroupBarrier();
            for (var i = 0u; i < {DEPTH}u; i++) {{
                for (var r = 0u; r < 4u; r++) {{
                    let x = tile_a[(local.y * 4u + r) * {DEPTH}u + i];
                    for (var s = 0u; s < 4u; s++) {{
                        acc[r][s] += x * tile_b[i * {TILE}u + local.x + s * 16u];
                    }}
                }}
            }}
            workgroupBarrier();
        }}
        for (var r = 0u; r < 4u; r++) {{
            for (var s = 0u; s < 4u; s++) {{
                let row = row0 + local.y * 4u + r;
                let column = column0 + local.x + s * 16u;
                if (row < {pm} && column < {pn}) {{
                    c[(job * {pm} + row) * {pn} + column] = {result};
                }}
            }}
        }}
    }}
}}
",
        vectors = params.vectors(),
        tile_len = TILE * DEPTH,
    );
    let groups = [n.div_ceil(TILE) as u32, m.div_ceil(TILE) as u32, (batches * parts).min(65_535) as u32];
    Program {
        label: "matmul",
        source,
        entry: "main".into(),
        bindings: vec![Bound::Input(0), Bound::Input(1), bound],
        params: params.list,
        groups,
        scratch: scratch(call, parts),
        trusted: true,
        checks: None,
    }
}

/// The buffer of the parts' results, (parts, B…, M, N), where there is more than one.
pub(super) fn scratch(call: &StructuredCall, parts: usize) -> Vec<u64> {
    if parts > 1 { vec![(parts * call.outputs[0].1.numel() * 4) as u64] } else { Vec::new() }
}

/// The output as the sum of the parts' results, in their order.
pub(super) fn sum_of_parts(call: &StructuredCall, parts: usize, label: &'static str) -> Program {
    let (_, c) = &call.outputs[0];
    let mut params = Params::default();
    let (numel, pparts) = (params.size(c.numel()), params.size(parts));
    let (lane, stored) = (lane_type(c.dtype), storage_type(c.dtype));
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read_write> parts: array<{lane}>;
@group(0) @binding(1) var<storage, read_write> c: array<{stored}>;
@group(0) @binding(2) var<uniform> params: array<vec4<u32>, {vectors}>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let at = (group.x + group.y * groups.x) * 64u + thread;
    if (at >= {numel}) {{ return; }}
    var sum = {lane}(0);
    for (var part = 0u; part < {pparts}; part++) {{ sum += parts[part * {numel} + at]; }}
    c[at] = {result};
}}
",
        enable = if c.dtype == DType::F16 { "enable f16;\n" } else { "" },
        vectors = params.vectors(),
        result = narrow(c.dtype, "sum"),
    );
    Program {
        label,
        source,
        entry: "main".into(),
        bindings: vec![Bound::Scratch(0), Bound::Output(0)],
        params: params.list,
        groups: groups_for(c.numel(), 64),
        scratch: scratch(call, parts),
        trusted: true,
        checks: None,
    }
}

/// WGSL that returns one element of an operand, given its batch, row and column.
fn element(params: &mut Params, operand: &Operand, name: &str, row: &str, column: &str) -> String {
    let level = &operand.access.levels[0];
    let rank = level.axes.len();
    let mut code =
        format!("var at = {};\n    var rest = batch;\n", params.push(Param::Linear(level.offset.clone())));
    for axis in level.axes[..rank - 2].iter().rev() {
        let (size, stride) = (params.size(axis.size), params.stride(axis.stride));
        code += &format!("    at += (rest % {size}) * {stride};\n    rest /= {size};\n");
    }
    let (by_row, by_column) =
        (params.stride(level.axes[rank - 2].stride), params.stride(level.axes[rank - 1].stride));
    let value = widen(operand.meta.dtype, &format!("{name}[at + {row} * {by_row} + {column} * {by_column}]"));
    code + &format!("    return {value};")
}
