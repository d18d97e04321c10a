//! Recording a function for one sample of a batch, and batching what was recorded.
//!
//! The function runs once, on placeholders of one sample's shape, and leaves nodes and derivative functions behind as it always
//! does. [`Trace::batch`] then goes through the nodes in dependency order and makes of each what its op says (`op::batch`):
//! values that depend on no sample stay as they are, the others get the samples along a first dimension. Nodes made inside of
//! the function are known by their region.
//!
//! **The derivative of a batched function is the batch of the function's derivative.** Batching looks at values only; the results
//! get one derivative function, whose rule runs backward through what was recorded for one sample, on placeholders for
//! the gradients, and batches the nodes that this adds. So derivative rules need no rules of their own for batches, custom functions
//! and checkpoints keep theirs, and derivatives of any order are the same thing again. What the function captured gets the sum
//! over the samples.

use super::interpret::{Interpreter, Kept};
use super::marks::{captured, marked};
use crate::autograd::function::{Edge, Function, Rule, next_id};
use crate::autograd::{self, BackwardOptions, Batching, Region, Saves, Vjp, is_grad_enabled, no_grad};
use crate::error::Result;
use crate::op::Meta;
use crate::op::batch::Sample;
use crate::tensor::Tensor;
use crate::tensor::node::Value;
use std::cell::RefCell;
use std::sync::Arc;

/// A function recorded for one sample.
pub(super) struct Trace {
    /// How many samples there are.
    pub size: usize,
    /// Does every sample draw random numbers of its own?
    pub draws_differ: bool,
    /// Nodes of this region and of later ones were made inside of the function.
    pub region: u32,
    /// So were derivative functions from this number on.
    first_function: u64,
}

/// A placeholder, with what it stands for.
pub(super) struct Entry {
    placeholder: Tensor,
    sample: Sample,
}

/// What is wanted of a value that was recorded for one sample.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The values of all samples, along the first dimension.
    Each,
    /// Their sum.
    Sum,
}

impl Trace {
    /// Records what `f` does with one sample of each of these tensors, whose first dimension is the batch.
    pub fn record<T>(
        size: usize,
        draws_differ: bool,
        batches: &[Tensor],
        f: impl FnOnce(&[Tensor]) -> Result<T>,
    ) -> Result<(Arc<Trace>, Vec<Entry>, T)> {
        let (_batching, _region) = (Batching::enter(), Region::enter());
        let region = autograd::current_region();
        let trace = Arc::new(Trace { size, draws_differ, region, first_function: next_id() });
        let entry = |batch: &Tensor| Entry::new(Sample::Each(batch.clone()));
        let entries = batches.iter().map(entry).collect::<Result<Vec<_>>>()?;
        let placeholders: Vec<Tensor> = entries.iter().map(|entry| entry.placeholder.clone()).collect();
        let result = f(&placeholders)?;
        Ok((trace, entries, result))
    }

    /// What values recorded for one sample are for the batch, with their history.
    pub fn batch(
        self: &Arc<Self>,
        values: &[(Tensor, Wanted)],
        entries: Vec<Entry>,
        known: &[&Kept],
    ) -> Result<Vec<Tensor>> {
        let recorded: Vec<&Tensor> =
            values.iter().map(|(value, _)| value).filter(|value| value.is_tracked()).collect();
        let is_recorded = is_grad_enabled() && !recorded.is_empty();
        let captured = if is_recorded {
            captured(&recorded, self.first_function, || self.inside())?
        } else {
            Vec::new()
        };
        let is_recorded = is_recorded
            && (!captured.is_empty() || entries.iter().any(|entry| entry.placeholder.is_tracked()));
        let mut interpreter = Interpreter::new(self, known);
        for Entry { placeholder, sample } in &entries {
            interpreter.set(placeholder, sample);
        }
        let results = no_grad(|| interpreter.batch(values))?;
        if !is_recorded {
            return Ok(results);
        }
        let inputs: Vec<Tensor> = entries
            .iter()
            .map(|entry| entry.sample.tensor().clone())
            .chain(captured.iter().cloned())
            .collect();
        let outputs: Vec<Value> = results.iter().map(|result| result.value().clone()).collect();
        let recording = Recording {
            trace: self.clone(),
            values: Held(values.iter().map(|(value, _)| value.clone()).collect()),
            wanted: values.iter().map(|(_, wanted)| *wanted).collect(),
            placeholders: entries.iter().map(|entry| entry.placeholder.clone()).collect(),
            is_each: entries.iter().map(|entry| entry.sample.is_each()).collect(),
            captured: Held(captured),
            kept: interpreter.kept(),
        };
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let rule = Rule::Custom(Arc::new(move |v: &Vjp| recording.backward(v)));
        let function = Function::new("vmap", rule, Saves::inputs(u32::MAX), &inputs, &outputs);
        let with_history = |(index, (output, (value, _))): (usize, (Value, &(Tensor, Wanted)))| {
            let edge = value.is_tracked().then(|| Edge::Function(function.clone(), index as u32));
            Tensor::from_parts(output, edge)
        };
        Ok(outputs.into_iter().zip(values).enumerate().map(with_history).collect())
    }

    /// Until dropped, what this thread makes belongs to the recorded function.
    fn inside(&self) -> (Batching, Region) {
        (Batching::enter(), Region::reenter(self.region))
    }
}

impl Entry {
    /// A placeholder for a sample. Gradients are found for it if one flows into the batch.
    fn new(sample: Sample) -> Result<Entry> {
        let batch = sample.tensor();
        let shape = if sample.is_each() { batch.shape().removed(0) } else { batch.shape().clone() };
        let placeholder = Tensor::placeholder(Meta::new(shape, batch.dtype()), batch.device())?;
        let is_tracked = is_grad_enabled() && batch.is_tracked();
        let placeholder = if is_tracked { marked(&placeholder) } else { placeholder };
        Ok(Entry { placeholder, sample })
    }
}

/// What the derivative rule of batched values needs.
struct Recording {
    trace: Arc<Trace>,
    /// The results, recorded for one sample.
    values: Held,
    wanted: Vec<Wanted>,
    placeholders: Vec<Tensor>,
    /// Which placeholders stand for a value of each sample.
    is_each: Vec<bool>,
    captured: Held,
    /// What the recorded rules have saved, batched.
    kept: Kept,
}

impl Recording {
    /// The rule's inputs are what the placeholders stand for, then what was captured.
    fn backward(&self, v: &Vjp) -> Result<Vec<Option<Tensor>>> {
        let given = self.placeholders.len();
        let mut entries: Vec<Entry> = Vec::new();
        for ((placeholder, &is_each), batch) in self.placeholders.iter().zip(&self.is_each).zip(v.inputs) {
            let sample = if is_each { Sample::Each(batch.clone()) } else { Sample::Same(batch.clone()) };
            entries.push(Entry { placeholder: placeholder.clone(), sample });
        }
        let asked: Vec<usize> = (0..v.inputs.len()).filter(|&index| v.needs[index]).collect();
        let target = |&index: &usize| match index < given {
            true => self.placeholders[index].clone(),
            false => self.captured.0[index - given].clone(),
        };
        let targets: Vec<Tensor> = asked.iter().map(target).collect();
        let found = {
            let _inside = self.trace.inside();
            let (mut outputs, mut gradients) = (Vec::new(), Vec::new());
            for ((value, wanted), gradient) in self.values.0.iter().zip(&self.wanted).zip(v.grads) {
                let (true, Some(gradient)) = (value.is_tracked(), gradient) else { continue };
                let entry = Entry::new(match wanted {
                    Wanted::Each => Sample::Each(gradient.clone()),
                    Wanted::Sum => Sample::Same(gradient.clone()),
                })?;
                outputs.push(value.clone());
                gradients.push(Some(entry.placeholder.clone()));
                entries.push(entry);
            }
            let options = BackwardOptions { retain_graph: true, create_graph: is_grad_enabled() };
            autograd::grad_since(self.trace.first_function, &outputs, &gradients, &targets, options)?
        };
        let wanted = |index: usize| match index < given && self.is_each[index] {
            true => Wanted::Each,
            false => Wanted::Sum,
        };
        let mut values = Vec::new();
        let mut places = Vec::new();
        for (&index, gradient) in asked.iter().zip(found) {
            if let Some(gradient) = gradient {
                values.push((gradient, wanted(index)));
                places.push(index);
            }
        }
        let mut results = vec![None; v.inputs.len()];
        let batched = self.trace.batch(&values, entries, &[&self.kept])?;
        for (place, result) in places.into_iter().zip(batched) {
            results[place] = Some(result);
        }
        Ok(results)
    }
}

/// Tensors that a derivative rule holds, let go of without recursion: their history may lead to another batched function, which
/// holds tensors whose history leads to another one, and so on.
struct Held(Vec<Tensor>);

thread_local! {
    /// Tensors still to be let go of, while somebody does so.
    static LEAVING: RefCell<Option<Vec<Tensor>>> = const { RefCell::new(None) };
}

impl Drop for Held {
    fn drop(&mut self) {
        let mine = std::mem::take(&mut self.0);
        let first = LEAVING.with_borrow_mut(|leaving| match leaving {
            Some(leaving) => {
                leaving.extend(mine);
                false
            }
            None => {
                *leaving = Some(mine);
                true
            }
        });
        while first && !LEAVING.with_borrow(Option::is_none) {
            let next = LEAVING.with_borrow_mut(|leaving| leaving.as_mut().and_then(Vec::pop));
            if next.is_none() {
                LEAVING.with_borrow_mut(|leaving| *leaving = None);
            }
        }
    }
}
