//! A case of the self-test: an op applied to described inputs, and what is to be expected of it. Here is how cases are said;
//! `selftest` makes the inputs and judges.

use super::Tensor;
use crate::autograd::{BackwardOptions, grad};
use crate::dtype::DType;
use crate::error::Result;
use crate::shape::Shape;

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
}

/// What a case computes from its inputs.
pub(crate) type Body = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;

/// An op applied to described inputs.
pub struct Case {
    /// What it is, unique among the cases.
    pub name: String,
    /// The kind of op: elementwise, view, reduction, structured.
    pub group: &'static str,
    /// What the op is given.
    pub inputs: Vec<Input>,
    pub(crate) body: Body,
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
    pub(crate) fn new(
        group: &'static str,
        name: impl Into<String>,
        inputs: Vec<Input>,
        body: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
    ) -> Case {
        let (name, body) = (name.into(), Box::new(body));
        Case { name, group, inputs, body, differentiable: true, smooth: true, edges: false, tolerance: None }
    }

    /// The same case of an op no gradient flows through.
    pub(crate) fn without_gradient(self) -> Case {
        Case { differentiable: false, ..self }
    }

    /// The same case at a kink or a tie.
    pub(crate) fn not_smooth(self) -> Case {
        Case { smooth: false, ..self }
    }

    /// The same case where floats end.
    pub(crate) fn at_edges(self) -> Case {
        Case { edges: true, ..self }
    }

    /// The same case with another relative tolerance.
    pub(crate) fn within(self, rtol: f64, reason: &'static str) -> Case {
        Case { tolerance: Some((rtol, reason)), ..self }
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

/// Why sums of many products may differ in their last digits.
pub(crate) const LONG_SUM: &str = "sums of many products in another order";

/// The dtypes that indexes may have.
pub(crate) const INDEX_DTYPES: [DType; 4] = [DType::I32, DType::U32, DType::U8, DType::I64];

/// The gradients of a loss by all tensors it is made of, one after the other in one flat tensor: how the ops that come from
/// derivative rules are run as ops of their own.
pub(crate) fn flat_gradients(
    operands: &[Tensor],
    loss: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<Tensor> {
    let leaves: Vec<Tensor> = operands.iter().map(|x| x.detach().requires_grad()).collect();
    let gradients = grad(&[loss(&leaves)?], &leaves, BackwardOptions::default())?;
    let flat = gradients.iter().flatten().map(|gradient| gradient.try_reshape([gradient.numel()]));
    Tensor::try_cat(&flat.collect::<Result<Vec<_>>>()?, 0)
}

/// An op that works along a dimension.
pub(crate) type Along = fn(&Tensor, isize) -> Result<Tensor>;

/// Cases of an op that works along a dimension: every dimension, dtype and layout, nothing at all, and rows of `lengths`.
pub(crate) fn along_rows(name: &str, op: Along, lengths: &[usize]) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |what: String, input: Input, dim: isize| {
        let body = move |x: &[Tensor]| op(&x[0], dim);
        let case = Case::new("rows", format!("{name} {what} along {dim}"), vec![input], body);
        cases.push(case.within(1e-5, "running results of a row"));
    };
    for dim in 0..3 {
        push("[2, 3, 4]".into(), Input::floats([2, 3, 4]), dim);
    }
    // Near 1, so that products stay in the range of f32.
    for length in [1, 15, 33] {
        push(format!("[2, {length}]"), Input::new([2, length], DType::F32, (0.8, 1.2)), 1);
    }
    for &length in lengths {
        push(format!("[2, {length}]"), Input::floats([2, length]), 1);
    }
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::F32) {
        push(format!("of {dtype}"), Input::new([3, 5], dtype, (-3.0, 3.0)), 1);
    }
    for layout in Layout::ALL.into_iter().skip(1) {
        push(format!("{layout:?}"), Input::floats([3, 4]).laid_out(layout), 1);
    }
    push("no rows".into(), Input::floats([0, 3]), 1);
    push("empty rows".into(), Input::floats([3, 0]), 1);
    cases
}
