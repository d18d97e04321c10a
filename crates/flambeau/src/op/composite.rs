//! Ops made of others that are one node until a plan is made.
//!
//! A training step describes its graph anew every time, and every node costs the host a microsecond or two (`flambeau
//! bench overhead`). So what steps are mostly made of (layers, losses, updates) is one node each. Only a new plan writes them out
//! (`plan::write_out`) into primitives, which are merged and fused as if the step had been described with them.

use super::{Grads, Meta, Op, Saves, Tensor, Vjp};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::op::Autocast;
use crate::tensor::node::Node;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The results of a composite.
pub(crate) type Results = SmallVec<[Tensor; 1]>;

/// Makes the results with tensor ops.
type Write = fn(&Operands) -> Result<Results>;
/// A derivative rule that is told the settings.
type Rule = fn(&Vjp, &[i64]) -> Result<Grads>;
/// Constants that stand for numbers, with the numbers' places.
type Numbers = Vec<(Arc<Node>, u32)>;

/// A kind of op that is made of others.
pub(crate) struct Composite {
    pub name: &'static str,
    /// The results, from tensor ops. A plan keeps what this gives, and runs it again with other values and numbers: the
    /// ops may depend on the settings and on what the inputs look like only.
    pub write: Write,
    /// What the derivative rule reads.
    pub saves: Saves,
    /// The derivative rule, told the settings. Without one, the derivative is that of the ops it is made of.
    pub vjp: Option<Rule>,
    /// Do the results stay what they were before when the device has seen a fault?
    pub guarded: bool,
    /// Which dtypes the op that makes it takes in mixed precision: it asks for it before it looks at its inputs.
    pub autocast: Autocast,
}

impl Composite {
    /// One whose derivative is that of the ops it is made of.
    pub const fn plain(name: &'static str, write: Write) -> Composite {
        Composite {
            name,
            write,
            saves: Saves::NOTHING,
            vjp: None,
            guarded: false,
            autocast: Autocast::Widest,
        }
    }

    /// One whose results stay what they were before when the device has seen a fault.
    pub const fn guarded(name: &'static str, write: Write) -> Composite {
        Composite { guarded: true, ..Composite::plain(name, write) }
    }

    /// One with a derivative rule.
    pub const fn with_rule(name: &'static str, write: Write, saves: Saves, vjp: Rule) -> Composite {
        Composite { saves, vjp: Some(vjp), ..Composite::plain(name, write) }
    }

    /// One that takes these dtypes in mixed precision.
    pub const fn with_autocast(self, autocast: Autocast) -> Composite {
        Composite { autocast, ..self }
    }
}

impl PartialEq for Composite {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
impl Eq for Composite {}
impl Hash for Composite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}
impl std::fmt::Debug for Composite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A composite with its settings: everything about it that is part of a plan's key. Numbers that may change from step
/// to step are the node's data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CompositeOp {
    pub kind: &'static Composite,
    pub settings: SmallVec<[i64; 4]>,
}

impl CompositeOp {
    /// The ops it is made of, and the nodes among them that stand for its numbers.
    pub fn write(&self, inputs: &[Tensor], numbers: &[Scalar]) -> Result<(Results, Numbers)> {
        let operands = Operands { inputs, settings: &self.settings, numbers, used: RefCell::default() };
        let results = (self.kind.write)(&operands)?;
        Ok((results, operands.used.into_inner()))
    }
}

/// What a composite is written out from.
pub(crate) struct Operands<'a> {
    pub inputs: &'a [Tensor],
    pub settings: &'a [i64],
    numbers: &'a [Scalar],
    /// The constants that stand for numbers.
    used: RefCell<Numbers>,
}

impl Operands<'_> {
    /// One of the numbers, at every place of a tensor that looks like `like`.
    #[track_caller]
    pub fn number(&self, index: usize, like: &Tensor) -> Tensor {
        let constant = Tensor::constant(self.numbers[index], like.shape(), like.dtype(), like.device());
        self.used.borrow_mut().push((constant.value().node.clone(), index as u32));
        constant
    }
}

impl Tensor {
    /// The results of a composite; `outputs` says what they look like. Operands must have been checked.
    #[track_caller]
    pub(crate) fn composite(
        kind: &'static Composite,
        settings: &[i64],
        inputs: &[&Tensor],
        numbers: &[f64],
        outputs: SmallVec<[Meta; 1]>,
    ) -> Result<Results> {
        let numbers: SmallVec<[Scalar; 8]> = numbers.iter().map(|&number| Scalar::Float(number)).collect();
        let op = CompositeOp { kind, settings: SmallVec::from_slice(settings) };
        let recorded =
            crate::autograd::is_grad_enabled() && inputs.iter().any(|input| input.edge().is_some());
        if recorded && kind.vjp.is_none() {
            let inputs: SmallVec<[Tensor; 4]> = inputs.iter().map(|&input| input.clone()).collect();
            return op.write(&inputs, &numbers).map(|(results, _)| results);
        }
        Tensor::from_op_multi(Op::Composite(op), inputs, outputs, &numbers)
    }

    /// True as long as the device has seen no fault, in this tensor's shape: what guards updates.
    #[track_caller]
    pub(crate) fn healthy(&self) -> Result<Tensor> {
        Tensor::source(Op::Healthy, Meta::new(self.shape(), DType::Bool), self.device(), &[])
    }

    /// The only result of a composite without numbers.
    #[track_caller]
    pub(crate) fn composed(
        kind: &'static Composite,
        settings: &[i64],
        inputs: &[&Tensor],
        output: Meta,
    ) -> Result<Tensor> {
        let results = Tensor::composite(kind, settings, inputs, &[], smallvec::smallvec![output])?;
        Ok(results.into_iter().next().expect("a composite has a result"))
    }
}
