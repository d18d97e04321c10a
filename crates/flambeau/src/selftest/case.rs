//! A case: an op applied to described inputs. Inputs are made of leaves with seeded values, which the op reads
//! through a layout: that is what makes strided, broadcast, flipped and padded inputs.

use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::op::Meta;
use crate::rng;
use crate::shape::Shape;
use crate::tensor::Tensor;
use half::f16;

/// Where the values of an input come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Drawn evenly between two numbers; integers and booleans likewise, as far as their dtype allows.
    Range(f64, f64),
    /// These.
    Given(Vec<f64>),
}

/// How an input lies in the memory of the leaf it is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As it is.
    Contiguous,
    /// Dimensions in reverse order.
    Transposed,
    /// The first dimension repeated from size 1.
    Expanded,
    /// Every dimension backwards.
    Flipped,
    /// Every second element along each dimension, from the second on.
    Stepped,
    /// Every second element along each dimension of at least three, zeros around and between.
    Embedded,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 6] = [
        Layout::Contiguous,
        Layout::Transposed,
        Layout::Expanded,
        Layout::Flipped,
        Layout::Stepped,
        Layout::Embedded,
    ];

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

/// One input of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The shape the op sees.
    pub shape: Shape,
    /// The element type.
    pub dtype: DType,
    /// The leaf's values.
    pub values: Values,
    /// How the leaf is read.
    pub layout: Layout,
}

impl Input {
    /// A contiguous input with values from a range.
    pub fn new(shape: impl Into<Shape>, dtype: DType, range: (f64, f64)) -> Input {
        let values = Values::Range(range.0, range.1);
        Input { shape: shape.into(), dtype, values, layout: Layout::Contiguous }
    }

    /// A contiguous F32 input with values between −2 and 2.
    pub fn floats(shape: impl Into<Shape>) -> Input {
        Input::new(shape, DType::F32, (-2.0, 2.0))
    }

    /// A contiguous input with these values.
    pub fn given(shape: impl Into<Shape>, dtype: DType, values: &[f64]) -> Input {
        let values = Values::Given(values.to_vec());
        Input { shape: shape.into(), dtype, values, layout: Layout::Contiguous }
    }

    /// The same input in another layout.
    pub fn laid_out(self, layout: Layout) -> Input {
        Input { layout, ..self }
    }

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

/// What a case computes from its inputs.
pub(super) type Body = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;

/// An op applied to described inputs.
pub struct Case {
    /// What it is, unique among the cases.
    pub name: String,
    /// The kind of op: elementwise, view, reduction, structured.
    pub group: &'static str,
    /// What the op is given.
    pub inputs: Vec<Input>,
    pub(super) body: Body,
    /// Does a gradient flow to its float inputs?
    pub differentiable: bool,
    /// Can finite differences judge its derivatives? Not at kinks and ties.
    pub smooth: bool,
    /// Are its inputs where floats end? Then only values are judged, rounded as floats are, to the last digits.
    pub edges: bool,
    /// The relative tolerance, with the reason, where the default is too tight.
    pub tolerance: Option<(f64, &'static str)>,
}

impl Case {
    /// A case of a differentiable op with the default tolerance.
    pub(super) fn new(
        group: &'static str,
        name: impl Into<String>,
        inputs: Vec<Input>,
        body: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
    ) -> Case {
        let (name, body) = (name.into(), Box::new(body));
        Case { name, group, inputs, body, differentiable: true, smooth: true, edges: false, tolerance: None }
    }

    /// The same case of an op no gradient flows through.
    pub(super) fn without_gradient(self) -> Case {
        Case { differentiable: false, ..self }
    }

    /// The same case at a kink or a tie.
    pub(super) fn not_smooth(self) -> Case {
        Case { smooth: false, ..self }
    }

    /// The same case where floats end.
    pub(super) fn at_edges(self) -> Case {
        Case { edges: true, ..self }
    }

    /// The same case with another relative tolerance.
    pub(super) fn within(self, rtol: f64, reason: &'static str) -> Case {
        Case { tolerance: Some((rtol, reason)), ..self }
    }

    /// Applies the op to what it reads from its leaves.
    pub(super) fn apply_to_leaves(&self, leaves: &[Tensor]) -> Result<Tensor> {
        let read = |(input, leaf): (&Input, &Tensor)| input.read(leaf);
        self.apply(&self.inputs.iter().zip(leaves).map(read).collect::<Result<Vec<_>>>()?)
    }

    /// Applies the op.
    pub fn apply(&self, inputs: &[Tensor]) -> Result<Tensor> {
        (self.body)(inputs)
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.name).field("inputs", &self.inputs).finish_non_exhaustive()
    }
}
