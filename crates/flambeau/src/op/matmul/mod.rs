//! The batched matrix product: (B…, M, K) × (B…, K, N) → (B…, M, N). Operands are read through their strides, so a
//! transposed or broadcast operand is not copied.
//!
//! `cpu` calls a blocked product, or `small` for the smallest. On the GPU `large` multiplies matrices that fill it, `tiled` smaller ones, `simple`
//! integers and the smallest, `vector` a matrix by a vector; `tiling` chooses by shape, because a browser cannot time kernels. `compact` takes the place of
//! the first two until a plan is hot, where compiling is slow. `units` multiplies on matrix units, where there are any and it pays.

mod blocks;
mod compact;
mod cpu;
pub(super) mod large;
mod samples;
mod simple;
mod small;
mod tiled;
pub(super) mod tiling;
mod units;
mod vector;

use super::batch::{BatchCall, Batched, Sample, folded, unfolded};
use super::case::Case;
use super::parts::sum_of_parts;
use super::structured::{Exact, Listed, Structured};
use super::units::units_of;
use super::{Grads, Meta, Saves, Tensor, Vjp};
use crate::calls::{methods, scalar};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, HostBuffer};
use crate::ir::WhyNot;
use crate::ir::call::{CpuOperand, Kernels, Layout, OnUnits, StructuredCall};
use crate::ir::program::{Program, Tier};
use crate::op::Autocast;
use crate::shape::product;
use crate::tensor::ContractedDims;
use cpu::{float_product, integer_product};
use half::f16;
use smallvec::smallvec;
use tiling::Choice;

/// C = A·B over the last two dimensions; the others are batches of equal size.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MatMul;

/// Multiplications up to which the GPU takes one thread per result: tiles would be mostly empty.
const SIMPLE: usize = 8192;

/// Sizes of one product.
pub(in crate::op) struct Sizes {
    pub batches: usize,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

fn sizes(a: &[usize], c: &[usize]) -> Sizes {
    let rank = c.len();
    Sizes { batches: product(&c[..rank - 2]), m: c[rank - 2], n: c[rank - 1], k: a[rank - 1] }
}

/// Has it no tiles worth the name, or no floats?
fn is_simple(dtype: DType, sizes: &Sizes) -> bool {
    !dtype.is_float() || sizes.batches * sizes.m * sizes.n * sizes.k <= SIMPLE
}

/// How a product is made on matrix units, if it is.
fn chosen(call: &StructuredCall, sizes: &Sizes) -> std::result::Result<tiling::OnUnits, WhyNot> {
    let packed = sizes.batches * (sizes.m + sizes.n) * sizes.k;
    tiling::on_units(sizes, sizes, packed, tiling::MAX_PARTS, call)
}

impl Kernels for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Strided
    }

    fn fills_outputs(&self) -> bool {
        true
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

    fn takes_epilogue(&self) -> bool {
        true
    }

    fn wgsl_without_barriers(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let (a, (_, c)) = (&call.inputs[0].meta, &call.outputs[0]);
        let sizes = sizes(&a.shape, &c.shape);
        match c.dtype.is_float() {
            true => Ok(vec![blocks::program(call, &sizes)]),
            false => Ok(vec![simple::program(call, &sizes)]),
        }
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let (a, (_, c)) = (&call.inputs[0].meta, &call.outputs[0]);
        let sizes = sizes(&a.shape, &c.shape);
        if is_simple(c.dtype, &sizes) {
            return Ok(vec![simple::program(call, &sizes)]);
        }
        if vector::applies(call, &sizes) {
            return Ok(vec![vector::program(call, &sizes)]);
        }
        if let Ok(on_units) = chosen(call, &sizes) {
            return Ok(units::programs(call, &sizes, &on_units));
        }
        let choice = Choice::of(&sizes, call.epilogue.is_some(), call.gpu);
        if call.tier == Tier::Compact {
            return Ok(compact::programs(call, &sizes, &choice));
        }
        let (product, parts) = match choice {
            Choice::Large(tile, parts) => {
                let tile = call.tier.either(tile.general(), tile);
                (large::program(call, &sizes, tile, parts), parts)
            }
            Choice::Small(tiling) => (tiled::program(call, &sizes, &tiling), tiling.parts),
        };
        match parts {
            1 => Ok(vec![product]),
            parts => Ok(vec![product, sum_of_parts(call, parts, "matmul sum")]),
        }
    }

    fn on_units(&self, call: &StructuredCall) -> Option<OnUnits> {
        let (a, (_, c)) = (&call.inputs[0].meta, &call.outputs[0]);
        let sizes = sizes(&a.shape, &c.shape);
        matches!(c.dtype, DType::F16 | DType::F32).then(|| {
            units_of(call)?;
            match () {
                () if is_simple(c.dtype, &sizes) => Err(WhyNot::Small),
                () if vector::applies(call, &sizes) => Err(WhyNot::Kind("a matrix and a vector")),
                () => chosen(call, &sizes).map(|_| ()),
            }
        })
    }

    fn flops(&self, call: &StructuredCall) -> u64 {
        let terms = call.inputs[0].meta.shape.dims().last().copied().unwrap_or(1);
        product([2, call.outputs[0].1.numel(), terms]) as u64
    }
}

impl Structured for MatMul {
    fn saves(&self) -> Saves {
        Saves::inputs(0b11)
    }

    /// dA = dC·Bᵀ, dB = Aᵀ·dC. The gradient of a transposed matrix, as a layer's weight is, is made transposed: it
    /// then lies as the matrix itself does.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (g, a, b) = (v.grad(), v.input(0), v.input(1));
        let transposed = |x: &Tensor| x.try_transpose(-2, -1);
        let da = || match a.is_transposed() {
            true => transposed(&b.product(&transposed(g)?)?),
            false => g.product(&transposed(b)?),
        };
        let db = || match b.is_transposed() {
            true => transposed(&transposed(g)?.product(a)?),
            false => transposed(a)?.product(g),
        };
        Ok(vec![v.needs[0].then(da).transpose()?, v.needs[1].then(db).transpose()?])
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
                c.into()
            }};
        }
        let values = match (&inputs[0].values, &inputs[1].values) {
            (Block::F64(a), Block::F64(b)) => Block::F64(multiply!(a, b, 0.0)),
            (Block::I64(a), Block::I64(b)) => Block::I64(multiply!(a, b, 0)),
            other => unreachable!("the interpreter multiplies numbers, not {other:?}"),
        };
        Ok(vec![Exact { shape: shape.clone(), dtype: *dtype, values }])
    }
}

impl Listed for MatMul {
    const NAMES: &'static [&'static str] = &["matmul"];
    const AUTOCAST: Autocast = Autocast::Lower;
    const HEEDS_PRECISION: bool = true;

    fn samples() -> Vec<Case> {
        samples::samples()
    }

    /// Batches are leading dimensions. Where all samples are multiplied by one matrix, their rows are those of one product.
    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        let meta = &call.outputs[0];
        match &call.inputs {
            [Sample::Each(a), Sample::Same(b)] if b.rank() == 2 => {
                Ok(smallvec![unfolded(&folded(a)?.product(b)?, call.size, meta)?])
            }
            _ => call.leading(),
        }
    }
}

methods! { MatMul:
    matmul(x: Tensor, other: Tensor) -> Tensor { x.try_matmul(&other) }
    mm(x: Tensor, other: Tensor) -> Tensor { x.try_mm(&other) }
    bmm(x: Tensor, other: Tensor) -> Tensor { x.try_bmm(&other) }
    mv(x: Tensor, vector: Tensor) -> Tensor { x.try_mv(&vector) }
    addmm(x: Tensor, a: Tensor, b: Tensor, beta: f64 = "1", alpha: f64 = "1") -> Tensor {
        x.try_addmm(&a, &b, scalar(beta), scalar(alpha))
    }
    baddbmm(x: Tensor, a: Tensor, b: Tensor, beta: f64 = "1", alpha: f64 = "1") -> Tensor {
        x.try_baddbmm(&a, &b, scalar(beta), scalar(alpha))
    }
    tensordot(x: Tensor, other: Tensor, dims: Vec<isize>, others: Vec<isize>) -> Tensor {
        x.try_tensordot(&other, ContractedDims::from((&dims[..], &others[..])))
    }
}
