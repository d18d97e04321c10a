//! The autograd graph: how a tensor came about, as far as derivatives are concerned.
//!
//! These edges are separate from the compute edges of the nodes: evaluating a node cuts the latter only. A function
//! keeps the values its rule has declared, and lets go of them when a backward pass has used them.

use super::mode;
use crate::device::Device;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::Precision;
use crate::op::{Grads, Meta, Op, Saves, Vjp};
use crate::tensor::Tensor;
use crate::tensor::node::{Node, Value};
use crate::tensor::precision;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A function that sees a gradient while backward builds, and may replace it.
pub(crate) type Hook = Arc<dyn Fn(&Tensor) -> Option<Tensor> + Send + Sync>;

/// Where a tensor's gradient goes.
#[derive(Clone)]
pub(crate) enum Edge {
    /// Gathered in a leaf.
    Leaf(Arc<Leaf>),
    /// Passed on by the function of which the tensor is an output.
    Function(Arc<Function>, u32),
}

/// The gradient of a tensor that the user asked for.
#[derive(Default)]
pub(crate) struct Leaf {
    grad: Mutex<Option<Tensor>>,
    hooks: Mutex<Vec<(u64, Hook)>>,
    lower: Mutex<LowerCopy>,
}

/// A value in the precision that mixed precision takes it in, made beside it.
#[derive(Default)]
struct LowerCopy {
    /// Has it been asked for since the last one was made?
    wanted: bool,
    /// The copy, and the node that it is of.
    made: Option<(Weak<Node>, Tensor)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number no other hook, function or slot of this process has.
pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Relaxed)
}

impl Leaf {
    pub fn grad(&self) -> Option<Tensor> {
        lock(&self.grad).clone()
    }

    pub fn set_grad(&self, grad: Option<Tensor>) {
        *lock(&self.grad) = grad;
    }

    /// The copy of this very value in lower precision, if somebody has made one. Whoever makes the next value then makes one
    /// of it, too.
    pub fn lower_copy(&self, of: &Value) -> Option<Tensor> {
        let mut lower = lock(&self.lower);
        lower.wanted = true;
        let (node, copy) = lower.made.as_ref()?;
        std::ptr::eq(node.as_ptr(), Arc::as_ptr(&of.node)).then(|| copy.clone())
    }

    /// Was a copy asked for?
    pub fn wants_lower_copy(&self) -> bool {
        lock(&self.lower).wanted
    }

    pub fn set_lower_copy(&self, of: &Value, copy: Tensor) {
        *lock(&self.lower) = LowerCopy { wanted: false, made: Some((Arc::downgrade(&of.node), copy)) };
    }

    /// Lets go of the copy.
    pub fn forget_lower_copy(&self) {
        *lock(&self.lower) = LowerCopy::default();
    }

    /// Adds to what earlier backward passes left.
    pub fn accumulate(&self, grad: Tensor) -> Result<()> {
        let mut slot = lock(&self.grad);
        let sum = match &*slot {
            Some(before) => before.try_add(&grad)?,
            None => grad,
        };
        *slot = Some(sum);
        Ok(())
    }
}

type CustomRule = dyn Fn(&Vjp) -> Result<Grads> + Send + Sync;
type CheckpointRegion = dyn Fn(&[Tensor]) -> Result<Tensor> + Send + Sync;

/// How a function's gradients are found.
pub(crate) enum Rule {
    /// The op table's rule.
    Op(Op, SmallVec<[Scalar; 1]>),
    /// A rule given by the user.
    Custom(Arc<CustomRule>),
    /// Runs the region again, this time recording it, and goes on backwards through the recording.
    Checkpoint(Arc<CheckpointRegion>),
}

/// An input as its function remembers it.
struct SavedInput {
    /// The value, where the rule reads it.
    value: Option<Value>,
    meta: Meta,
    edge: Option<Edge>,
}

/// One recorded op.
pub(crate) struct Function {
    /// Increases with creation: inputs come before outputs.
    pub sequence: u64,
    pub name: &'static str,
    pub rule: Rule,
    device: Device,
    /// The line that applied the op.
    line: &'static Location<'static>,
    /// The scope that said how precise its products are, if there was one.
    precision: Option<Precision>,
    pub outputs: SmallVec<[Meta; 1]>,
    inputs: Mutex<Vec<SavedInput>>,
    saved_outputs: Mutex<Vec<Value>>,
    saves: Saves,
    freed: Mutex<bool>,
    hooks: Mutex<Vec<(u64, u32, Hook)>>,
    /// Outputs whose gradient the user wants to read.
    retained: Mutex<Vec<(u32, Arc<Leaf>)>>,
}

impl Function {
    pub fn new(
        name: &'static str,
        rule: Rule,
        saves: Saves,
        inputs: &[&Tensor],
        outputs: &[Value],
    ) -> Arc<Function> {
        let remember = |(index, input): (usize, &&Tensor)| {
            let value = saves.input(index).then(|| input.value().clone());
            if let Some(value) = &value {
                value.node.save();
            }
            SavedInput { value, meta: input.meta().clone(), edge: input.edge().cloned() }
        };
        let saved_inputs = inputs.iter().enumerate().map(remember).collect();
        let saved_outputs = if saves.outputs { outputs.to_vec() } else { Vec::new() };
        saved_outputs.iter().for_each(|value| value.node.save());
        Arc::new(Function {
            sequence: next_id(),
            name,
            rule,
            device: outputs[0].node.device.clone(),
            line: outputs[0].node.location,
            precision: precision::scope(),
            outputs: outputs.iter().map(|value| value.meta().clone()).collect(),
            inputs: Mutex::new(saved_inputs),
            saved_outputs: Mutex::new(saved_outputs),
            saves,
            freed: Mutex::new(false),
            hooks: Mutex::default(),
            retained: Mutex::default(),
        })
    }

    /// Where the gradients of the inputs go.
    pub fn edges(&self) -> Vec<Option<Edge>> {
        lock(&self.inputs).iter().map(|input| input.edge.clone()).collect()
    }

    /// Where the gradients of the inputs go, and what these look like.
    pub fn inputs(&self) -> Vec<(Option<Edge>, Meta)> {
        lock(&self.inputs).iter().map(|input| (input.edge.clone(), input.meta.clone())).collect()
    }

    /// The gradients of the inputs. `keep` leaves the saved values for another pass.
    pub fn backward(
        self: &Arc<Self>,
        grads: &[Option<Tensor>],
        needs: &[bool],
        keep: bool,
    ) -> Result<Backward> {
        if *lock(&self.freed) {
            return Err(Error::Autograd(format!(
                "the values that {} saved have been freed by an earlier backward pass; pass retain_graph to the \
                 first one to go through the graph again",
                self.name
            )));
        }
        let restore = |input: &SavedInput| match &input.value {
            Some(value) => Ok(Tensor::from_parts(value.clone(), input.edge.clone())),
            None => Tensor::unsaved(&input.meta, &self.device),
        };
        let inputs = lock(&self.inputs).iter().map(restore).collect::<Result<Vec<Tensor>>>()?;
        let outputs: Vec<Tensor> = match self.saves.outputs {
            true => {
                let saved = lock(&self.saved_outputs);
                let edge = |index: usize| Some(Edge::Function(self.clone(), index as u32));
                saved
                    .iter()
                    .enumerate()
                    .map(|(k, value)| Tensor::from_parts(value.clone(), edge(k)))
                    .collect()
            }
            false => {
                let unsaved = self.outputs.iter().map(|meta| Tensor::unsaved(meta, &self.device));
                unsaved.collect::<Result<_>>()?
            }
        };
        let vjp = |data: &[Scalar], rule: &dyn Fn(&Vjp) -> Result<Grads>| {
            let v = Vjp { name: self.name, grads, inputs: &inputs, outputs: &outputs, needs, data };
            rule(&v).map(Backward::Grads)
        };
        let _precision = precision::inherit(self.precision);
        let result = match &self.rule {
            Rule::Op(op, data) => {
                let _line = mode::OnBehalfOf::enter(self.line);
                vjp(data, &|v| op.vjp(v))
            }
            Rule::Custom(rule) => vjp(&[], &**rule),
            Rule::Checkpoint(region) => {
                let _recompute = mode::Region::enter();
                let _record = mode::set_grad_enabled(true);
                region(&inputs).map(Backward::Recorded)
            }
        }?;
        if !keep {
            self.free();
        }
        Ok(result)
    }

    /// Lets go of the saved values.
    fn free(&self) {
        let saves_something = self.saves != Saves::NOTHING || self.is_checkpoint();
        *lock(&self.freed) = saves_something;
        for input in lock(&self.inputs).iter_mut() {
            if let Some(value) = input.value.take() {
                value.node.unsave();
            }
        }
        lock(&self.saved_outputs).drain(..).for_each(|value| value.node.unsave());
    }

    fn add_hook(&self, output: u32, hook: Hook) -> u64 {
        let id = next_id();
        lock(&self.hooks).push((id, output, hook));
        id
    }

    /// Where the gradient of an output is kept, if the user asked for it.
    pub fn retained(&self, output: u32) -> Option<Arc<Leaf>> {
        lock(&self.retained).iter().find(|(at, _)| *at == output).map(|(_, leaf)| leaf.clone())
    }

    /// Keeps the gradient of an output from now on.
    pub fn retain(&self, output: u32) {
        let mut retained = lock(&self.retained);
        if !retained.iter().any(|(at, _)| *at == output) {
            retained.push((output, Arc::default()));
        }
    }

    /// Does it run a region again, whose inputs are not all known beforehand?
    pub fn is_checkpoint(&self) -> bool {
        matches!(self.rule, Rule::Checkpoint(_))
    }

    fn run_hooks(&self, output: u32, mut grad: Tensor) -> Tensor {
        let hooks: Vec<Hook> = lock(&self.hooks)
            .iter()
            .filter(|(_, at, _)| *at == output)
            .map(|(_, _, hook)| hook.clone())
            .collect();
        for hook in hooks {
            grad = hook(&grad).unwrap_or(grad);
        }
        grad
    }
}

/// What a function gives back.
pub(crate) enum Backward {
    /// A gradient per input.
    Grads(Grads),
    /// The output of a checkpointed region, recorded anew: the gradient goes into it.
    Recorded(Tensor),
}

impl Edge {
    /// Passes a gradient through the hooks registered at this edge.
    pub fn hooked(&self, grad: Tensor) -> Tensor {
        match self {
            Edge::Function(function, output) => function.run_hooks(*output, grad),
            Edge::Leaf(leaf) => {
                let hooks: Vec<Hook> = lock(&leaf.hooks).iter().map(|(_, hook)| hook.clone()).collect();
                hooks.iter().fold(grad, |grad, hook| hook(&grad).unwrap_or(grad))
            }
        }
    }

    pub fn add_hook(&self, hook: Hook) -> u64 {
        match self {
            Edge::Function(function, output) => function.add_hook(*output, hook),
            Edge::Leaf(leaf) => {
                let id = next_id();
                lock(&leaf.hooks).push((id, hook));
                id
            }
        }
    }

    pub fn remove_hook(&self, id: u64) {
        match self {
            Edge::Function(function, _) => lock(&function.hooks).retain(|(known, _, _)| *known != id),
            Edge::Leaf(leaf) => lock(&leaf.hooks).retain(|(known, _)| *known != id),
        }
    }

    /// Where the gradient can be read, if it is kept.
    pub fn kept(&self) -> Option<Arc<Leaf>> {
        match self {
            Edge::Function(function, output) => function.retained(*output),
            Edge::Leaf(leaf) => Some(leaf.clone()),
        }
    }

    pub fn downgrade(&self) -> WeakEdge {
        match self {
            Edge::Function(function, output) => WeakEdge::Function(Arc::downgrade(function), *output),
            Edge::Leaf(leaf) => WeakEdge::Leaf(Arc::downgrade(leaf)),
        }
    }
}

/// An edge that does not keep the graph alive.
pub(crate) enum WeakEdge {
    Leaf(Weak<Leaf>),
    Function(Weak<Function>, u32),
}

impl WeakEdge {
    pub fn upgrade(&self) -> Option<Edge> {
        match self {
            WeakEdge::Leaf(leaf) => leaf.upgrade().map(Edge::Leaf),
            WeakEdge::Function(function, output) => {
                function.upgrade().map(|function| Edge::Function(function, *output))
            }
        }
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.free();
        // Without recursion: a chain of 100,000 functions must not overflow the stack.
        let take = |function: &mut Function| {
            let inputs = function.inputs.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(inputs).into_iter().filter_map(|input| input.edge).collect::<Vec<_>>()
        };
        let mut stack = take(self);
        while let Some(edge) = stack.pop() {
            if let Edge::Function(function, _) = edge
                && let Some(mut function) = Arc::into_inner(function)
            {
                function.free();
                stack.extend(take(&mut function));
            }
        }
    }
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Edge::Leaf(_) => f.write_str("Leaf"),
            Edge::Function(function, _) => f.write_str(function.name),
        }
    }
}
