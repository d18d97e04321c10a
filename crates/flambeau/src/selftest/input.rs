//! How the inputs of a case are made: of leaves with seeded values, which the op reads through a layout. That is what makes
//! strided, broadcast, flipped and padded inputs.

use super::{Case, Input, Layout, Values};
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::op::Meta;
use crate::rng;
use crate::shape::Shape;
use crate::tensor::Tensor;
use half::f16;

impl Layout {
    fn leaf_shape(self, shape: &Shape) -> Shape {
        match self {
            Layout::Contiguous | Layout::Flipped => shape.clone(),
            Layout::Transposed => shape.iter().rev().copied().collect(),
            Layout::Expanded if shape.rank() == 0 => shape.clone(),
            Layout::Expanded => shape.with(0, 1),
            Layout::Stepped => shape.iter().map(|size| 2 * size + 1).collect(),
            Layout::Embedded => shape.iter().map(|&size| embedded(size).unwrap_or(size)).collect(),
        }
    }

    /// The input, read from its leaf.
    fn view(self, leaf: &Tensor, shape: &Shape) -> Result<Tensor> {
        match self {
            Layout::Contiguous => Ok(leaf.clone()),
            Layout::Transposed => leaf.try_permute(&(0..shape.rank() as isize).rev().collect::<Vec<_>>()),
            Layout::Expanded => leaf.try_expand(shape),
            Layout::Flipped => leaf.try_flip(..),
            Layout::Stepped => {
                (0..shape.rank()).try_fold(leaf.clone(), |x, dim| x.slice_strided(dim, 1, 2, shape[dim]))
            }
            Layout::Embedded => (0..shape.rank())
                .filter(|&dim| embedded(shape[dim]).is_some())
                .try_fold(leaf.clone(), |x, dim| x.embed(dim, shape[dim], 1, 2)),
        }
    }
}

/// How many elements stand among the zeros of a dimension.
fn embedded(size: usize) -> Option<usize> {
    (size >= 3).then_some((size - 1) / 2)
}

impl Input {
    /// The values of its leaf; `salt` tells the inputs of a case apart.
    pub(super) fn leaf_values(&self, salt: u32) -> Vec<f64> {
        match &self.values {
            Values::Given(values) => values.clone(),
            &Values::Range(low, high) => {
                draw(self.layout.leaf_shape(&self.shape).numel(), self.dtype, low, high, salt)
            }
        }
    }

    /// The leaf, with given values in a given dtype.
    pub(super) fn leaf(&self, values: &[f64], dtype: DType, device: &Device) -> Result<Tensor> {
        let meta = Meta::new(self.layout.leaf_shape(&self.shape), dtype);
        Tensor::from_bytes(&bytes(dtype, values), meta, device)
    }

    /// What the op is given.
    pub(super) fn read(&self, leaf: &Tensor) -> Result<Tensor> {
        self.layout.view(leaf, &self.shape)
    }
}

impl Case {
    /// Applies the op to what it reads from its leaves.
    pub(super) fn apply_to_leaves(&self, leaves: &[Tensor]) -> Result<Tensor> {
        let read = |(input, leaf): (&Input, &Tensor)| input.read(leaf);
        self.apply(&self.inputs.iter().zip(leaves).map(read).collect::<Result<Vec<_>>>()?)
    }
}

/// Seeded values of a dtype between two numbers.
fn draw(count: usize, dtype: DType, low: f64, high: f64, salt: u32) -> Vec<f64> {
    let unit = |k: usize| f64::from(rng::random_bits([0x5e1f, salt], [k as u32, 0])) / 4294967296.0;
    let whole = |k: usize, low: f64, high: f64| (low + (unit(k) * (high - low + 1.0)).floor()).min(high);
    let (mut first, mut last) = (low.ceil(), high.floor());
    if last <= first {
        (first, last) = (-3.0, 3.0);
    }
    (0..count)
        .map(|k| match dtype {
            DType::Bool => f64::from(unit(k) < 0.5),
            DType::U8 => whole(k, first.max(0.0), last.min(255.0)),
            DType::U32 => whole(k, first.max(0.0), last),
            DType::I32 | DType::I64 => whole(k, first, last),
            DType::F16 | DType::F32 | DType::F64 => low + unit(k) * (high - low),
        })
        .collect()
}

/// Values in the host layout of a dtype.
pub(super) fn bytes(dtype: DType, values: &[f64]) -> Vec<u8> {
    fn convert<T: Element>(values: &[f64], narrow: impl Fn(f64) -> T) -> Vec<u8> {
        T::to_bytes(&values.iter().map(|&x| narrow(x)).collect::<Vec<T>>())
    }
    match dtype {
        DType::Bool => convert(values, |x| x != 0.0),
        DType::U8 => convert(values, |x| x as u8),
        DType::I32 => convert(values, |x| x as i32),
        DType::U32 => convert(values, |x| x as u32),
        DType::I64 => convert(values, |x| x as i64),
        DType::F16 => convert(values, f16::from_f64),
        DType::F32 => convert(values, |x| x as f32),
        DType::F64 => convert(values, |x| x),
    }
}
