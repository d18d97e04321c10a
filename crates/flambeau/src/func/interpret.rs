//! Going through the nodes of a recorded function, in dependency order, with batches in place of placeholders.

use super::trace::{Trace, Wanted};
use crate::autograd::{OnBehalfOf, Region};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::op::batch::{BatchCall, Sample, batched_draw};
use crate::op::{Meta, Op};
use crate::tensor::Tensor;
use crate::tensor::node::{Node, State, Value};
use crate::tensor::precision;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// What the outputs of a node are in the batch.
type Samples = SmallVec<[Sample; 1]>;

/// A node's op, inputs and numbers, if it is still to be computed.
pub(super) type Pending = (Op, SmallVec<[Value; 3]>, SmallVec<[Scalar; 1]>);

pub(super) struct Interpreter<'a> {
    trace: &'a Trace,
    /// Nodes by their addresses, which are theirs as long as they live.
    known: FxHashMap<*const Node, (Arc<Node>, Samples)>,
    /// What composites are made of.
    written: FxHashMap<*const Node, SmallVec<[Tensor; 1]>>,
}

impl<'a> Interpreter<'a> {
    pub fn new(trace: &'a Trace, kept: &[&Kept]) -> Interpreter<'a> {
        let known = kept.iter().flat_map(|kept| kept.samples()).collect();
        Interpreter { trace, known, written: FxHashMap::default() }
    }

    /// What a placeholder stands for.
    pub fn set(&mut self, placeholder: &Tensor, sample: &Sample) {
        let node = &placeholder.value().node;
        self.known.insert(Arc::as_ptr(node), (node.clone(), smallvec![sample.clone()]));
    }

    /// Batches the values; all nodes on the way are made without history.
    pub fn batch(&mut self, values: &[(Tensor, Wanted)]) -> Result<Vec<Tensor>> {
        for (value, _) in values {
            self.add(value.value())?;
        }
        values.iter().map(|(value, wanted)| self.result(value, *wanted)).collect()
    }

    fn result(&self, value: &Tensor, wanted: Wanted) -> Result<Tensor> {
        match (wanted, self.found(value.value())) {
            (Wanted::Sum, _) => self.summed(value.value()),
            (Wanted::Each, Sample::Each(each)) => Ok(each),
            (Wanted::Each, Sample::Same(same)) => {
                same.try_unsqueeze(0)?.try_expand(same.shape().inserted(0, self.size()))
            }
        }
    }

    /// How many samples there are.
    pub(super) fn size(&self) -> usize {
        self.trace.size
    }

    /// The value that stands for a result of a composite.
    pub(super) fn written_out(&self, value: &Value) -> Value {
        let mut value = value.clone();
        while let Some(results) = self.written.get(&Arc::as_ptr(&value.node)) {
            value = results[value.output as usize].value().clone();
        }
        value
    }

    /// What a value has become, if it has been come to.
    pub(super) fn known(&self, value: &Value) -> Option<&Sample> {
        let (_, samples) = self.known.get(&Arc::as_ptr(&value.node))?;
        samples.get(value.output as usize)
    }

    /// What a value has become.
    pub(super) fn found(&self, value: &Value) -> Sample {
        self.known(value).cloned().expect("inputs come before what uses them")
    }

    /// Batches a value after what it needs.
    fn add(&mut self, value: &Value) -> Result<()> {
        let mut stack = vec![(value.clone(), false)];
        while let Some((value, is_ready)) = stack.pop() {
            let node = &value.node;
            if self.known.contains_key(&Arc::as_ptr(node)) {
                continue;
            }
            let Some((op, inputs, data)) = self.pending(node) else {
                let same = Value::all(node).map(|value| Sample::Same(Tensor::from_parts(value, None)));
                self.known.insert(Arc::as_ptr(node), (node.clone(), same.collect()));
                continue;
            };
            if !is_ready {
                stack.push((value.clone(), true));
                stack.extend(inputs.into_iter().map(|input| (input, false)));
                continue;
            }
            let inputs: Vec<Sample> = inputs.iter().map(|input| self.found(input)).collect();
            if let (Op::Composite(_), true) = (&op, inputs.iter().any(Sample::is_each)) {
                let address = Arc::as_ptr(node);
                if let Some(written) = self.written.get(&address) {
                    let samples = written.iter().map(|result| self.found(result.value())).collect();
                    self.known.insert(address, (node.clone(), samples));
                } else {
                    let written = self.write_out(node, &op, &data)?;
                    stack.push((value.clone(), true));
                    stack.extend(written.iter().map(|result| (result.value().clone(), false)));
                    self.written.insert(address, written);
                }
                continue;
            }
            let samples = self.node(node, &op, &inputs, &data)?;
            self.known.insert(Arc::as_ptr(node), (node.clone(), samples));
        }
        Ok(())
    }

    /// What is to be done for a node; nothing for one that was there before the function was recorded, or is computed already.
    pub(super) fn pending(&self, node: &Node) -> Option<Pending> {
        if node.region < self.trace.region {
            return None;
        }
        match &*node.state() {
            State::Ready(_) | State::Pending { op: Op::Placeholder | Op::Unsaved, .. } => None,
            State::Pending { op, inputs, data } => Some((op.clone(), inputs.clone(), data.clone())),
        }
    }

    /// The ops that a composite is made of, for one sample.
    fn write_out(&self, node: &Arc<Node>, op: &Op, data: &[Scalar]) -> Result<SmallVec<[Tensor; 1]>> {
        let Op::Composite(op) = op else { unreachable!("only composites are written out") };
        let _inside = (crate::autograd::Batching::enter(), Region::reenter(node.region));
        let _plain = crate::autograd::set_autocast_enabled(false);
        let _precision = precision::restore(Some(node.precision));
        let inputs: SmallVec<[Tensor; 4]> = match &*node.state() {
            State::Pending { inputs, .. } => {
                inputs.iter().map(|input| Tensor::from_parts(input.clone(), None)).collect()
            }
            State::Ready(_) => unreachable!("what depends on a placeholder is never computed"),
        };
        Ok(op.write(&inputs, data)?.0)
    }

    /// A node of the batch for one of the recorded function's.
    fn node(&self, node: &Node, op: &Op, inputs: &[Sample], data: &[Scalar]) -> Result<Samples> {
        let _line = OnBehalfOf::enter(node.location);
        // Regions of checkpoints inside of the function stay apart.
        let _region = (node.region != self.trace.region).then(|| Region::reenter(node.region));
        // What the function has recorded in a scope is batched in the same.
        let multiplies = op.multiplies_f32(&node.outputs);
        let _precision = multiplies.then(|| precision::restore(Some(node.precision)));
        let size = self.trace.size;
        if let (Op::Bits, true) = (op, self.trace.draws_differ) {
            let meta = &node.outputs[0];
            let meta = Meta::new(meta.shape.inserted(0, size), meta.dtype);
            let bits = Tensor::source(Op::Bits, meta, &node.device, &batched_draw(data))?;
            return Ok(smallvec![Sample::Each(bits)]);
        }
        if inputs.is_empty() {
            let made = Tensor::source(op.clone(), node.outputs[0].clone(), &node.device, data)?;
            return Ok(smallvec![Sample::Same(made)]);
        }
        if !inputs.iter().any(Sample::is_each) {
            let inputs: SmallVec<[&Tensor; 4]> = inputs.iter().map(Sample::tensor).collect();
            let made = Tensor::from_op_multi(op.clone(), &inputs, node.outputs.clone(), data)?;
            return Ok(made.into_iter().map(Sample::Same).collect());
        }
        let draws_differ = self.trace.draws_differ;
        let call = BatchCall { op, size, inputs, outputs: &node.outputs, data, draws_differ };
        Ok(op.batch(&call)?.into_iter().map(Sample::Each).collect())
    }

    /// What the recorded derivative rules will read again.
    pub fn kept(self) -> Kept {
        let saved = self.known.into_values().filter(|(node, _)| node.is_saved() && node.is_pending());
        Kept::new(saved.filter(|(node, _)| node.region >= self.trace.region))
    }
}

/// Batched values that derivative rules will read: an evaluation leaves them in memory, as it does for rules that are not batched.
pub(super) struct Kept(Vec<(Arc<Node>, KeptValues)>);

/// A node's values, and whether each is one for each sample.
type KeptValues = SmallVec<[(Value, bool); 1]>;

impl Kept {
    fn new(samples: impl Iterator<Item = (Arc<Node>, Samples)>) -> Kept {
        let keep = |sample: &Sample| {
            let value = sample.tensor().value().clone();
            value.node.save();
            (value, sample.is_each())
        };
        Kept(samples.map(|(node, samples)| (node, samples.iter().map(keep).collect())).collect())
    }

    fn samples(&self) -> impl Iterator<Item = (*const Node, (Arc<Node>, Samples))> {
        let sample = |(value, is_each): &(Value, bool)| {
            let tensor = Tensor::from_parts(value.clone(), None);
            if *is_each { Sample::Each(tensor) } else { Sample::Same(tensor) }
        };
        self.0.iter().map(move |(node, values)| {
            (Arc::as_ptr(node), (node.clone(), values.iter().map(sample).collect()))
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.iter().flat_map(|(_, values)| values).for_each(|(value, _)| value.node.unsave());
    }
}
