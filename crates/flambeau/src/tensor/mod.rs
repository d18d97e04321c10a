//! The tensor: a handle to a node of the lazy graph, with its place in the autograd graph.
//!
//! Methods here check shapes and dtypes and make nodes; nothing is computed until a value is read, an optimizer
//! steps, or [`Tensor::eval`] is called. Every method that can fail comes in two forms: `x.name()` panics at the
//! caller's line with the error's message, `x.try_name()` returns it.

mod activation;
mod conv;
mod create;
mod cumulative;
mod custom;
mod display;
mod einsum;
mod grad;
mod index_many;
mod index_spec;
mod indexing;
mod inplace;
mod join;
mod linalg;
mod math;
mod mixed_precision;
pub(crate) mod node;
mod operators;
mod pack;
mod pad;
mod pool;
pub(crate) mod precision;
mod quiet;
mod random;
mod ranges;
pub(crate) mod read;
mod reduce;
mod sizes;
mod slicing;
mod softmax;
mod sort;
mod statistics;
mod view;

pub use conv::{
    Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvOptions, ConvTranspose1dOptions, ConvTranspose2dOptions,
    ConvTranspose3dOptions, ConvTransposeOptions, Padding, Spatial,
};
pub use create::{IntoTensorData, TensorOptions};
pub use custom::CustomKernel;
pub use display::{PrintOptions, print_options, set_print_options, with_print_options};
pub use index_many::ScatterReduction;
pub use index_spec::{Ellipsis, Index, IndexSpec, NewAxis, Span};
pub use linalg::ContractedDims;
pub use pad::PadMode;
pub use pool::{
    AvgPool1dOptions, AvgPool2dOptions, AvgPool3dOptions, AvgPoolOptions, MaxPool1dOptions, MaxPool2dOptions,
    MaxPool3dOptions, MaxPoolOptions,
};
pub use precision::{
    MatmulPrecisionGuard, enter_matmul_precision, float32_matmul_precision, matmul_precision,
    set_float32_matmul_precision,
};
pub use quiet::QuietTensor;
// What layers, losses and optimizers are written with besides the methods: they name nothing below this module.
pub(crate) use crate::ir::program::{FiniteCheck, Window};
pub(crate) use crate::op::Meta;
pub(crate) use crate::op::composite::{Composite, Results};
pub(crate) use crate::op::elementwise::Operand;
pub(crate) use mixed_precision::{Autocast, cast_all, refuse};
pub use mixed_precision::{AutocastGuard, autocast, is_autocast_enabled, set_autocast_enabled};
pub(crate) use read::widen;
pub use read::{read_later, read_many};
pub use sizes::{Size, Sizes};
pub use slicing::SplitSizes;
pub use sort::Unique;

use crate::autograd::function::{Edge, Function, Rule};
use crate::autograd::{is_grad_enabled, no_grad};
use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::call::StructuredCall;
use crate::op::{Grads, Op, Saves, View, Vjp};
use crate::plan::graph::{self, Graph};
use crate::plan::{self, Plan, PlanOptions};
use crate::shape::Shape;
use node::{Node, State, Value};
use smallvec::{SmallVec, smallvec};
use std::panic::Location;
use std::sync::Arc;

/// An n-dimensional array on a device: a value already computed, or one the device knows how to compute.
///
/// Values are immutable and handles are cheap to clone.
pub struct Tensor {
    value: Value,
    edge: Option<Edge>,
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        Tensor::from_parts(self.value.clone(), self.edge.clone())
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        self.value.node.release();
    }
}

impl std::fmt::Debug for Tensor {
    /// Shape, dtype, device and state, without evaluating anything.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor(shape={}, dtype={}, device={}", self.shape(), self.dtype(), self.device())?;
        match &*self.value.node.state() {
            State::Pending { op, .. } => write!(f, ", pending {}", op.name())?,
            State::Ready(_) => write!(f, ", ready")?,
        }
        if let Some(edge) = &self.edge {
            write!(f, ", grad={edge:?}")?;
        }
        f.write_str(")")
    }
}

/// Makes the panicking twin of a `try_` method or of a `try_` function that makes a tensor.
macro_rules! twins {
    () => {};
    (
        $(#[$doc:meta])*
        $name:ident / $try_name:ident $([$($generics:tt)*])? (&$self:ident $(, $arg:ident : $type:ty)* $(,)?) -> $result:ty $body:block
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[track_caller]
        pub fn $name $(<$($generics)*>)? (&$self $(, $arg: $type)*) -> $result {
            $crate::error::expect($self.$try_name($($arg),*))
        }

        #[doc = concat!("[`", stringify!($name), "`](Tensor::", stringify!($name), "), or the error instead of a panic.")]
        #[track_caller]
        pub fn $try_name $(<$($generics)*>)? (&$self $(, $arg: $type)*) -> Result<$result> $body

        twins! { $($rest)* }
    };
    (
        $(#[$doc:meta])*
        $name:ident / $try_name:ident $([$($generics:tt)*])? ($($arg:ident : $type:ty),* $(,)?) -> $result:ty $body:block
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[track_caller]
        pub fn $name $(<$($generics)*>)? ($($arg: $type),*) -> $result {
            $crate::error::expect(Tensor::$try_name($($arg),*))
        }

        #[doc = concat!("[`", stringify!($name), "`](Tensor::", stringify!($name), "), or the error instead of a panic.")]
        #[track_caller]
        pub fn $try_name $(<$($generics)*>)? ($($arg: $type),*) -> Result<$result> $body

        twins! { $($rest)* }
    };
}
pub(crate) use twins;

impl Tensor {
    /// A handle; counts as one until it is dropped.
    pub(crate) fn from_parts(value: Value, edge: Option<Edge>) -> Tensor {
        value.node.hold();
        Tensor { value, edge }
    }

    /// A tensor for values that are already in a device's memory.
    #[track_caller]
    pub(crate) fn from_storage(storage: Arc<node::Storage>, meta: Meta, device: &Device) -> Result<Tensor> {
        let state = State::Ready(smallvec![storage]);
        let node = Node::new(device.clone(), smallvec![meta], Location::caller(), state)?;
        Ok(Tensor::from_parts(Value { node, output: 0 }, None))
    }

    /// The same values, evaluated, as the only output of a node.
    #[track_caller]
    pub(crate) fn alone(&self) -> Result<Tensor> {
        match self.value.storage() {
            Some(storage) if self.value.node.outputs.len() > 1 => {
                Tensor::from_storage(storage, self.meta().clone(), self.device())
            }
            _ => Ok(self.clone()),
        }
    }

    /// The result of an op with one output; recorded for autograd if an input is.
    #[track_caller]
    pub(crate) fn from_op(op: Op, inputs: &[Tensor], meta: Meta) -> Result<Tensor> {
        Tensor::from_op_with(op, inputs, meta, &[])
    }

    /// Like [`Tensor::from_op`], with numbers that may change from step to step.
    #[track_caller]
    pub(crate) fn from_op_with(op: Op, inputs: &[Tensor], meta: Meta, data: &[Scalar]) -> Result<Tensor> {
        let refs: SmallVec<[&Tensor; 4]> = inputs.iter().collect();
        Tensor::from_op_on(op, &refs, meta, data)
    }

    /// Like [`Tensor::from_op_with`], for inputs that lie apart.
    #[track_caller]
    pub(crate) fn from_op_on(op: Op, inputs: &[&Tensor], meta: Meta, data: &[Scalar]) -> Result<Tensor> {
        let (node, function) = Tensor::record(op, inputs, smallvec![meta], data)?;
        Ok(Tensor::from_parts(
            Value { node, output: 0 },
            function.map(|function| Edge::Function(function, 0)),
        ))
    }

    /// The results of an op with any number of outputs.
    #[track_caller]
    pub(crate) fn from_op_multi(
        op: Op,
        inputs: &[&Tensor],
        outputs: SmallVec<[Meta; 1]>,
        data: &[Scalar],
    ) -> Result<SmallVec<[Tensor; 1]>> {
        let (node, function) = Tensor::record(op, inputs, outputs, data)?;
        let tensor = |value: Value| {
            let tracked = function.as_ref().filter(|_| value.meta().dtype.is_float());
            let edge = tracked.map(|function| Edge::Function(function.clone(), value.output));
            Tensor::from_parts(value, edge)
        };
        Ok(Value::all(&node).map(tensor).collect())
    }

    /// The node of an op, and the function that remembers it, where there is a derivative to be found later.
    #[track_caller]
    fn record(
        op: Op,
        inputs: &[&Tensor],
        outputs: SmallVec<[Meta; 1]>,
        data: &[Scalar],
    ) -> Result<(Arc<Node>, Option<Arc<Function>>)> {
        let device = inputs[0].device();
        same_device(op.name(), inputs)?;
        let recorded = is_grad_enabled() && inputs.iter().any(|input| input.edge.is_some());
        let differentiable = outputs.iter().any(|meta| meta.dtype.is_float());
        let rule = (recorded && differentiable).then(|| (op.clone(), op.saves(), op.name()));
        let node = Tensor::node(device, op, inputs, outputs, data)?;
        let function = rule.map(|(op, saves, name)| {
            let values: SmallVec<[Value; 1]> = Value::all(&node).collect();
            Function::new(name, Rule::Op(op, SmallVec::from_slice(data)), saves, inputs, &values)
        });
        Ok((node, function))
    }

    /// A composite that brings a derivative rule of its own: `forward` is not recorded. The rule is written with
    /// tensor ops, so that it has derivatives too.
    #[track_caller]
    pub(crate) fn with_rule(
        name: &'static str,
        saves: Saves,
        inputs: &[&Tensor],
        forward: impl FnOnce() -> Result<Tensor>,
        rule: impl Fn(&Vjp) -> Result<Grads> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        let output = no_grad(forward)?;
        let recorded = is_grad_enabled() && inputs.iter().any(|input| input.edge.is_some());
        if !recorded || !output.dtype().is_float() {
            return Ok(output);
        }
        let values = std::slice::from_ref(&output.value);
        let function = Function::new(name, Rule::Custom(Arc::new(rule)), saves, inputs, values);
        Ok(Tensor::from_parts(output.value.clone(), Some(Edge::Function(function, 0))))
    }

    /// A source: a node without inputs.
    #[track_caller]
    pub(crate) fn source(op: Op, meta: Meta, device: &Device, data: &[Scalar]) -> Result<Tensor> {
        let node = Tensor::node(device, op, &[], smallvec![meta], data)?;
        Ok(Tensor::from_parts(Value { node, output: 0 }, None))
    }

    #[track_caller]
    fn node(
        device: &Device,
        op: Op,
        inputs: &[&Tensor],
        outputs: SmallVec<[Meta; 1]>,
        data: &[Scalar],
    ) -> Result<Arc<Node>> {
        for meta in &outputs {
            device.backend().accepts(meta.dtype)?;
        }
        let inputs = inputs.iter().map(|input| input.value.clone()).collect();
        let state = State::Pending { op, inputs, data: SmallVec::from_slice(data) };
        let node = Node::new(device.clone(), outputs, Location::caller(), state)?;
        device.note(&node);
        Ok(node)
    }

    /// Stands for an input or output that a derivative rule did not declare as saved.
    pub(crate) fn unsaved(meta: &Meta, device: &Device) -> Result<Tensor> {
        let state = State::Pending { op: Op::Unsaved, inputs: SmallVec::new(), data: SmallVec::new() };
        let node = Node::new(device.clone(), smallvec![meta.clone()], Location::caller(), state)?;
        Ok(Tensor::from_parts(Value { node, output: 0 }, None))
    }

    /// Stands for one sample of a batch.
    pub(crate) fn placeholder(meta: Meta, device: &Device) -> Result<Tensor> {
        let state = State::Pending { op: Op::Placeholder, inputs: SmallVec::new(), data: SmallVec::new() };
        let node = Node::new(device.clone(), smallvec![meta], Location::caller(), state)?;
        Ok(Tensor::from_parts(Value { node, output: 0 }, None))
    }

    /// Is it a choice between two values, still to be made, by this condition, or made so by its composite?
    pub(crate) fn is_chosen_by(&self, condition: &Tensor) -> bool {
        match &*self.value.node.state() {
            State::Pending { op: Op::Composite(op), .. } => op.kind.guarded,
            State::Pending { op: Op::Map(op), inputs, .. } => {
                **op == crate::op::elementwise::SELECT && Arc::ptr_eq(&inputs[0].node, &condition.value.node)
            }
            _ => false,
        }
    }

    /// The tensor that this one, without history and still to be looked at, is a permutation of, if `order` undoes it:
    /// a view of a view would have to be copied to be a result.
    fn before_permutation(&self, order: &[usize]) -> Option<Tensor> {
        match &*self.value.node.state() {
            State::Pending { op: Op::View(View::Permute(first)), inputs, .. }
                if self.edge.is_none() && order.iter().enumerate().all(|(dim, &from)| first[from] == dim) =>
            {
                Some(Tensor::from_parts(inputs[0].clone(), None))
            }
            _ => None,
        }
    }

    /// The f16 copy of a parameter that its optimizer has written with it, with the history of a cast. Asking makes the next
    /// update write one. On the CPU, where parts of a buffer are copies, there is none.
    #[inline(never)] // A page fetches it only when it is asked for (packages/flambeau/parts/later.txt).
    fn lower_copy(&self) -> Option<Tensor> {
        let Some(Edge::Leaf(leaf)) = self.edge.as_ref().filter(|_| !self.device().is_cpu()) else {
            return None;
        };
        let copy = leaf.lower_copy(&self.value)?;
        if !is_grad_enabled() {
            return Some(copy);
        }
        let (rule, values) = (Rule::Op(Op::Cast, SmallVec::new()), std::slice::from_ref(&copy.value));
        let function = Function::new(Op::Cast.name(), rule, Op::Cast.saves(), &[self], values);
        Some(Tensor::from_parts(copy.value.clone(), Some(Edge::Function(function, 0))))
    }

    /// The number that it is at every place, without history and still to be computed.
    pub(crate) fn number(&self) -> Option<Scalar> {
        match &*self.value.node.state() {
            State::Pending { op: Op::Constant, data, .. } if self.edge.is_none() => Some(data[0]),
            _ => None,
        }
    }

    /// Is it another matrix, or several, with the last two dimensions swapped, still to be looked at?
    pub(crate) fn is_transposed(&self) -> bool {
        match &*self.value.node.state() {
            State::Pending { op: Op::View(View::Permute(order)), .. } => {
                let rank = order.len();
                let swapped = |dim: usize| if dim + 2 < rank { dim } else { 2 * rank - 3 - dim };
                rank >= 2 && order.iter().enumerate().all(|(dim, &from)| from == swapped(dim))
            }
            _ => false,
        }
    }

    /// Do both handles point at the same node's same output?
    pub(crate) fn is_same(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.value.node, &other.value.node) && self.value.output == other.value.output
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn edge(&self) -> Option<&Edge> {
        self.edge.as_ref()
    }

    pub(crate) fn meta(&self) -> &Meta {
        self.value.meta()
    }

    /// The sizes of the dimensions.
    pub fn shape(&self) -> &Shape {
        &self.meta().shape
    }

    /// The size of one dimension; negative counts from the back.
    #[track_caller]
    pub fn size(&self, dim: isize) -> usize {
        self.shape()[crate::error::expect(self.shape().dim("size", dim))]
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.shape().numel()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.meta().dtype
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        &self.value.node.device
    }

    twins! {
        /// The same values in another dtype. Floats become integers towards zero; anything but zero is true.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.7, -1.7], &Device::cpu());
        /// assert_eq!(x.to_dtype(DType::I32).to_string(), "tensor([ 1, -1], dtype=i32)");
        /// ```
        to_dtype / try_to_dtype(&self, dtype: DType) -> Tensor {
            if dtype == self.dtype() {
                return Ok(self.clone());
            }
            Tensor::from_op(Op::Cast, std::slice::from_ref(self), Meta::new(self.shape(), dtype))
        }

        /// `condition ? a : b`, element by element; self is the condition.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, -2.0], &Device::cpu());
        /// assert_eq!(x.gt(0.0).where_cond(&x, 0.0).to_string(), "tensor([1., 0.])");
        /// ```
        where_cond / try_where_cond(&self, a: impl Into<crate::op::elementwise::Operand>, b: impl Into<crate::op::elementwise::Operand>) -> Tensor {
            use crate::op::elementwise::{Operand, SELECT, apply};
            let (a, b) = match (a.into(), b.into()) {
                (Operand::Tensor(a), b) => { let b = b.beside(&a); (a, b) }
                (a, Operand::Tensor(b)) => (a.beside(&b), b),
                (Operand::Scalar(a), Operand::Scalar(b)) => {
                    let dtype = a.default_dtype().promote(b.default_dtype());
                    let constant = |scalar| Tensor::constant(scalar, Shape::default(), dtype, self.device());
                    (constant(a), constant(b))
                }
            };
            apply(&SELECT, &[self, &a, &b])
        }
    }

    /// The plan that would compute this tensor now, as text: one line per kernel with the ops it fuses and the bytes
    /// it moves, and how each product is made: on matrix units and how precisely, or why not. Empty for a tensor that is already
    /// evaluated.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// let plan = ((&x * 2.0).exp() + 1.0).sum(..).explain();
    /// assert!(plan.starts_with("1 kernels"), "{plan}");
    /// ```
    pub fn explain(&self) -> String {
        let multiplies = |call: &StructuredCall| self.device().backend().multiplies(call);
        self.describe_plan(|made, graph, options| {
            plan::explain(made, graph, options.element_bytes, multiplies)
        })
    }

    /// The plan that would compute this tensor now, in full: every kernel with its instructions, how each finds its
    /// elements, and where buffers lie. Empty for a tensor that is already evaluated. With the environment variable
    /// `FLAMBEAU_DUMP=plan` every new plan is printed so, with `FLAMBEAU_DUMP=wgsl` its shaders too.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::zeros([3, 4], &Device::cpu());
    /// x.eval()?;
    /// let plan = x.exp().sum(1).dump();
    /// assert!(plan.starts_with("0 fused [3 | 4]: v0 = i0[4 1]; v1 = exp v0; v2 = sum v1; b0[1 0] = v2"), "{plan}");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dump(&self) -> String {
        self.describe_plan(|made, graph, _| plan::dump(made, graph))
    }

    fn describe_plan(&self, describe: impl Fn(&Plan, &Graph, PlanOptions) -> String) -> String {
        let snapshot = graph::capture(std::slice::from_ref(&self.value), |_| false);
        if snapshot.targets.is_empty() || snapshot.graph().has_placeholder() {
            return String::new();
        }
        let options = self.device().backend().plan_options();
        let graph = snapshot.expanded.as_ref().map_or(snapshot.graph(), |expanded| &expanded.graph);
        describe(&Plan::new(graph.clone(), options), graph, options)
    }

    /// Are its values in memory?
    pub(crate) fn is_evaluated(&self) -> bool {
        !self.value.node.is_pending()
    }

    /// Evaluates the tensor now, without reading it. Several evaluate in one plan with [`eval`].
    pub fn eval(&self) -> Result<()> {
        self.device().evaluate(std::slice::from_ref(&self.value))
    }
}

/// Evaluates several tensors in one plan; they must be on one device.
///
/// ```
/// # use flambeau::prelude::*;
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let (a, b) = (x.exp(), x.sum(..));
/// eval(&[&a, &b])?;
/// # Ok::<(), Error>(())
/// ```
pub fn eval(tensors: &[&Tensor]) -> Result<()> {
    let Some(first) = tensors.first() else { return Ok(()) };
    same_device("eval", tensors)?;
    let values: Vec<Value> = tensors.iter().map(|tensor| tensor.value.clone()).collect();
    first.device().evaluate(&values)
}

fn same_device(op: &'static str, tensors: &[&Tensor]) -> Result<()> {
    let device = tensors[0].device();
    match tensors.iter().find(|other| other.device() != device) {
        Some(other) => {
            let (left, right) = (format!("{device:?}"), format!("{:?}", other.device()));
            Err(Error::DeviceMismatch { op, left, right })
        }
        None => Ok(()),
    }
}
