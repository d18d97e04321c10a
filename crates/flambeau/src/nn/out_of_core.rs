//! Models whose parameters lie in host memory, and come to the device that computes a segment at a time.
//!
//! Forward keeps what passes from one segment to the next. Backward goes through the segments from the last to the first: a
//! segment's parameters come to the device, its forward pass is repeated and recorded, and its gradients go to the host, where the
//! optimizer is. Each of these is an evaluation of its own, so that what one segment needs is gone before the next begins.

use super::parameter::Substitute;
use super::{Buffer, Forward, Module, Parameter, Part, Placement, Placing, Stage};
use crate::Precision;
use crate::autograd::{
    BackwardOptions, Context, CustomFunction, checkpoint, grad_with, is_autocast_enabled, is_grad_enabled,
    no_grad, record_draws, replay_draws, set_autocast_enabled, set_grad_enabled,
};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::rng::Draw;
use crate::tensor::{Tensor, eval, precision};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A model that computes on a device which need not hold it: made on the CPU, in host memory, it takes inputs on the device and
/// gives outputs there. Its parameters, their gradients and the optimizer stay in host memory ([`Placement::OnHost`]), unless
/// it is placed otherwise; a trainer with a memory limit does that by itself.
///
/// It is cut along its [stages](Forward::stages), so it must be a chain of them, as [`Sequential`](super::Sequential) is.
/// `backward` computes at once, and leaves gradients with the parameters only: gradients of gradients are an error. Dropout
/// draws the same numbers as without it. There is no such model in browsers, where nothing waits for a device.
///
/// ```
/// # use flambeau::{CpuConfig, nn::{Linear, OutOfCore, Relu, Sequential}, optim::Sgd, prelude::*};
/// let device = Device::cpu_with(&CpuConfig { memory_limit: Some(3 << 20), ..CpuConfig::default() });
/// let host = Device::cpu();
/// // 5.3 MB of parameters, trained within 3.1 MB.
/// let layers = (0..5).fold(Sequential::new(), |all, _| all.with(Linear::new(512, 512, &host)).with(Relu));
/// let model = OutOfCore::new(layers, &device);
/// let mut sgd = Sgd::new(model.parameters(), 0.1);
/// let x = Tensor::ones([4, 512], &device);
/// let loss = model.try_forward(&x)?.try_mean(..)?;
/// loss.backward()?;
/// sgd.step()?;
/// assert!(device.memory().peak < 3 << 20);
/// # Ok::<(), Error>(())
/// ```
pub struct OutOfCore<M> {
    shared: Arc<Shared<M>>,
}

struct Shared<M> {
    model: M,
    device: Device,
    placement: Mutex<Placement>,
    /// Parameters that stay on the device: each with the value in host memory that it was copied from.
    resident: Mutex<FxHashMap<u64, (Tensor, Tensor)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: Forward + 'static> OutOfCore<M> {
    /// A model in host memory that computes on this device, each stage a segment.
    pub fn new(model: M, device: &Device) -> OutOfCore<M> {
        let placement = Mutex::new(Placement::OnHost { segments: model.stages().len().max(1) });
        let shared = Shared { model, device: device.clone(), placement, resident: Mutex::default() };
        OutOfCore { shared: Arc::new(shared) }
    }

    /// The same, placed otherwise. For [`Placement::OnDevice`] the model must have been moved there.
    #[must_use]
    pub fn with_placement(self, placement: Placement) -> OutOfCore<M> {
        self.place(placement);
        self
    }

    /// The model itself.
    pub fn model(&self) -> &M {
        &self.shared.model
    }
}

impl<M: Forward + 'static> Placing for OutOfCore<M> {
    fn device(&self) -> &Device {
        &self.shared.device
    }

    fn stage_count(&self) -> usize {
        self.shared.model.stages().len()
    }

    fn placement(&self) -> Placement {
        *lock(&self.shared.placement)
    }

    fn place(&self, placement: Placement) {
        lock(&self.shared.resident).clear();
        *lock(&self.shared.placement) = placement;
    }
}

impl<M: Forward + 'static> Module for OutOfCore<M> {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        self.shared.model.parts(visit);
    }

    fn type_name(&self) -> Option<&str> {
        self.shared.model.type_name()
    }

    fn describe(&self) -> String {
        self.shared.model.describe()
    }

    fn placing(&self) -> Option<&dyn Placing> {
        Some(self)
    }
}

impl<M: Forward + 'static> Forward for OutOfCore<M> {
    fn stages(&self) -> Vec<Stage<'_>> {
        self.shared.model.stages()
    }

    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let placement = self.placement();
        match placement {
            Placement::OnDevice { segments: 1 } => return self.shared.model.try_forward(input),
            Placement::OnDevice { segments } => return self.checkpointed(input, segments),
            Placement::StateOnHost { .. } | Placement::OnHost { .. } => {}
        }
        self.shared.check(input)?;
        let segments = segments(&self.shared.model.stages(), placement.segments());
        if !is_grad_enabled() {
            let through = |x: Tensor, segment: &Range<usize>| self.shared.forward(segment, &x);
            return segments.iter().try_fold(input.clone(), through);
        }
        // Its gradient is not asked for: it has the pass recorded, whatever the input is.
        let tracked = Tensor::zeros([], &self.shared.device).requires_grad();
        let pass = Pass {
            shared: self.shared.clone(),
            segments,
            kept: Mutex::default(),
            casting: is_autocast_enabled(),
        };
        let mut outputs = pass.apply(&[input, &tracked])?;
        outputs.pop().ok_or_else(|| Error::Autograd("OutOfCore gave no output".into()))
    }
}

impl<M: Forward + 'static> OutOfCore<M> {
    /// Forward with the activations of each segment computed again in the backward pass.
    fn checkpointed(&self, input: &Tensor, count: usize) -> Result<Tensor> {
        let segments = segments(&self.shared.model.stages(), count);
        let through = |x: Tensor, segment: &Range<usize>| {
            let (shared, segment) = (self.shared.clone(), segment.clone());
            checkpoint(
                move |inputs| {
                    let stages = shared.model.stages();
                    stages[segment.clone()].iter().try_fold(inputs[0].clone(), |x, stage| stage.run(&x))
                },
                &[&x],
            )
        };
        segments.iter().try_fold(input.clone(), through)
    }
}

/// Cuts stages into so many segments (at most one a stage), the largest of which has as few bytes of parameters as the order
/// allows, each with at least one stage.
fn segments(stages: &[Stage], count: usize) -> Vec<Range<usize>> {
    // A stage without parameters counts a little, so that activations are shared out as well.
    let bytes = |stage: &Stage| {
        let parameters = stage.parameters().iter();
        1 + parameters.map(|parameter| (parameter.numel() * parameter.dtype().size()) as u64).sum::<u64>()
    };
    let sizes: Vec<u64> = stages.iter().map(bytes).collect();
    let count = count.clamp(1, sizes.len().max(1));
    // The smallest size that so many segments need not exceed, by halving.
    let (mut low, mut high) = (sizes.iter().copied().max().unwrap_or(0), sizes.iter().sum::<u64>());
    while low < high {
        let middle = low + (high - low) / 2;
        match cut(&sizes, middle, 0).len() <= count {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    cut(&sizes, low, count)
}

/// Segments of at most this size, from the first stage on; cut further where that leaves too few.
fn cut(sizes: &[u64], most: u64, count: usize) -> Vec<Range<usize>> {
    let mut segments: Vec<Range<usize>> = Vec::new();
    let mut size = 0;
    for (stage, &own) in sizes.iter().enumerate() {
        // Every segment that is still to come needs a stage.
        let must_begin = sizes.len() - stage < count.saturating_sub(segments.len().saturating_sub(1));
        match segments.last_mut() {
            Some(last) if size + own <= most && !must_begin => {
                last.end = stage + 1;
                size += own;
            }
            _ => {
                segments.push(stage..stage + 1);
                size = own;
            }
        }
    }
    segments
}

/// Blocks until host memory has the values, evaluated on the device before.
fn bring(tensor: &Tensor, device: &Device) -> Result<Tensor> {
    pollster::block_on(tensor.detach().to(device))
}

/// Parameters and buffers of a segment on the device, until this is dropped.
struct Brought {
    parameters: Vec<(Parameter, Tensor)>,
    buffers: Vec<(Buffer, Tensor)>,
    _substitutes: Vec<Substitute>,
}

impl<M: Forward + 'static> Shared<M> {
    fn check(&self, input: &Tensor) -> Result<()> {
        match *input.device() == self.device {
            true => Ok(()),
            false => {
                let (left, right) = (format!("{:?}", input.device()), format!("{:?}", self.device));
                Err(Error::DeviceMismatch { op: "OutOfCore", left, right })
            }
        }
    }

    /// Brings a segment's values to the device. With `learning` gradients flow to the copies of what learns.
    fn bring(&self, stages: &[Stage], learning: bool) -> Result<Brought> {
        let mut brought = Brought { parameters: Vec::new(), buffers: Vec::new(), _substitutes: Vec::new() };
        let mut known = std::collections::HashSet::new();
        for parameter in stages.iter().flat_map(Stage::parameters) {
            if !known.insert(parameter.id()) {
                continue;
            }
            let mut copy = self.on_device(parameter)?;
            if learning && parameter.requires_grad() {
                copy = copy.requires_grad();
                brought.parameters.push((parameter.clone(), copy.clone()));
            }
            brought._substitutes.push(Substitute::of_parameter_elsewhere(parameter, &copy));
        }
        for buffer in stages.iter().flat_map(Stage::buffers) {
            if known.insert(buffer.id()) {
                let copy = bring(&buffer.get(), &self.device)?;
                brought.buffers.push((buffer.clone(), copy.clone()));
                brought._substitutes.push(Substitute::of_buffer_elsewhere(buffer, &copy));
            }
        }
        Ok(brought)
    }

    fn on_device(&self, parameter: &Parameter) -> Result<Tensor> {
        let value = parameter.value();
        if !matches!(*lock(&self.placement), Placement::StateOnHost { .. }) {
            return bring(&value, &self.device);
        }
        let mut resident = lock(&self.resident);
        if let Some((of, copy)) = resident.get(&parameter.id())
            && of.is_same(&value)
        {
            return Ok(copy.clone());
        }
        // The copy of the value before goes first.
        resident.remove(&parameter.id());
        let copy = bring(&value, &self.device)?;
        resident.insert(parameter.id(), (value, copy.clone()));
        Ok(copy)
    }

    /// A segment's output, computed at once. Buffers that it changes are changed in host memory.
    fn forward(&self, segment: &Range<usize>, input: &Tensor) -> Result<Tensor> {
        let stages = &self.model.stages()[segment.clone()];
        let brought = self.bring(stages, false)?;
        let output = no_grad(|| stages.iter().try_fold(input.clone(), |x, stage| stage.run(&x)))?;
        let changed = brought.buffers.iter().filter_map(|(buffer, copy)| {
            let value = buffer.get();
            (!value.is_same(copy)).then(|| (buffer.clone(), value))
        });
        let changed: Vec<(Buffer, Tensor)> = changed.collect();
        eval(&changed.iter().map(|(_, value)| value).chain([&output]).collect::<Vec<_>>())?;
        drop(brought);
        for (buffer, value) in &changed {
            buffer.try_set(&bring(value, &buffer.device())?)?;
        }
        Ok(output)
    }

    /// The gradient of a segment's input, if it is asked for; those of its parameters are added to what host memory has.
    fn backward(
        &self,
        segment: &Range<usize>,
        kept: Kept,
        grad: Tensor,
        wanted: bool,
    ) -> Result<Option<Tensor>> {
        let stages = &self.model.stages()[segment.clone()];
        let brought = self.bring(stages, true)?;
        let Kept { input, draws, precision } = kept;
        let input = if wanted { input.requires_grad() } else { input };
        let mut asked: Vec<Tensor> = brought.parameters.iter().map(|(_, copy)| copy.clone()).collect();
        asked.extend(wanted.then(|| input.clone()));
        if asked.is_empty() {
            return Ok(None);
        }
        let mut found = {
            let _recorded = set_grad_enabled(true);
            let run = || {
                let _precision = precision::restore(precision);
                stages.iter().try_fold(input.clone(), |x, stage| stage.run(&x))
            };
            let output = replay_draws(&draws, run)?;
            match output.is_tracked() {
                true => grad_with(&[output], &[Some(grad)], &asked, BackwardOptions::default())?,
                false => vec![None; asked.len()],
            }
        };
        drop((asked, input));
        eval(&found.iter().flatten().collect::<Vec<_>>())?;
        let parameters: Vec<Parameter> =
            brought.parameters.iter().map(|(parameter, _)| parameter.clone()).collect();
        // The copies go before gradients are read: on GPUs these pass through memory of their own.
        drop(brought);
        let of_input = if wanted { found.pop().flatten() } else { None };
        for (parameter, gradient) in parameters.iter().zip(found) {
            let Some(gradient) = gradient else { continue };
            let gradient = bring(&gradient, &parameter.device())?;
            let sum = match parameter.grad() {
                Some(before) => no_grad(|| before.try_add(&gradient))?,
                None => gradient,
            };
            sum.eval()?;
            parameter.set_grad(Some(&sum))?;
        }
        Ok(of_input)
    }
}

/// What backward needs of a segment.
struct Kept {
    input: Tensor,
    /// What was drawn in it.
    draws: Arc<[Draw]>,
    /// The scope that said how precise its products are, if there was one: it is computed again in the same.
    precision: Option<Precision>,
}

/// One pass through all segments.
struct Pass<M> {
    shared: Arc<Shared<M>>,
    segments: Vec<Range<usize>>,
    kept: Mutex<Vec<Kept>>,
    /// Was it made in a scope of mixed precision?
    casting: bool,
}

impl<M: Forward + 'static> CustomFunction for Pass<M> {
    fn name(&self) -> &'static str {
        "OutOfCore"
    }

    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut x = inputs[0].clone();
        x.eval()?;
        let mut kept = lock(&self.kept);
        for segment in &self.segments {
            let (output, draws) = record_draws(|| self.shared.forward(segment, &x));
            let output = output?;
            kept.push(Kept { input: x, draws, precision: precision::scope() });
            x = output;
        }
        Ok(vec![x])
    }

    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        let mut kept = std::mem::take(&mut *lock(&self.kept));
        if kept.is_empty() {
            let message =
                "OutOfCore has let go of what passed between its segments; run forward again before backward";
            return Err(Error::Autograd(message.into()));
        }
        if is_grad_enabled() {
            return Err(Error::Autograd("gradients of gradients do not go through OutOfCore".into()));
        }
        let _precision = set_autocast_enabled(self.casting);
        let mut grad = Some(grads[0].detach());
        for (number, segment) in self.segments.iter().enumerate().rev() {
            let (Some(own), Some(of_segment)) = (kept.pop(), grad.take()) else { break };
            of_segment.eval()?;
            let wanted = number > 0 || context.needs_grad(0);
            // Ids, as those of tokens, have no gradient.
            let wanted = wanted && own.input.dtype().is_float();
            grad = self.shared.backward(segment, own, of_segment, wanted)?;
        }
        Ok(vec![grad.filter(|_| context.needs_grad(0)), None])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Linear;

    #[test]
    fn stages_are_cut_so_that_the_largest_segment_is_small() {
        let cut = |sizes: &[usize], count: usize| {
            let layers: Vec<Linear> =
                sizes.iter().map(|&size| Linear::new(1, size, &Device::cpu())).collect();
            let stages: Vec<Stage> = layers.iter().map(Stage::of).collect();
            segments(&stages, count)
        };
        assert_eq!(cut(&[1, 1, 1, 1], 2), [0..2, 2..4]);
        assert_eq!(cut(&[9, 1, 1, 1], 2), [0..1, 1..4]);
        assert_eq!(cut(&[1, 1, 1, 9], 2), [0..3, 3..4]);
        assert_eq!(cut(&[5, 5, 5], 1), std::slice::from_ref(&(0..3)));
        assert_eq!(cut(&[5, 5, 5], 9), [0..1, 1..2, 2..3]);
        assert_eq!(cut(&[9, 1, 1, 1], 3).len(), 3);
        assert_eq!(cut(&[], 3), []);
    }
}
