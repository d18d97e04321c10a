//! Helpers around parameters and sequences: clipping gradients, parameters as one vector, padding and packing.
//!
//! Clipping stays on the device: nothing is read back, and the norm is a tensor that is computed with the step.

use super::Parameter;
use crate::autograd::no_grad;
use crate::error::{Error, Result};
use crate::memory::reserved;
use crate::tensor::Tensor;

/// The gradients that there are, without history, and their parameters.
fn gradients(parameters: &[Parameter]) -> Vec<(&Parameter, Tensor)> {
    let grad = |parameter: &Parameter| parameter.grad().map(|grad| grad.detach());
    parameters.iter().filter_map(|parameter| Some((parameter, grad(parameter)?))).collect()
}

/// The p-norm of all gradients together, as one vector, after scaling them so that it is at most `max_norm`.
///
/// The norm that is returned is that before clipping; it is computed only when it is read, or with the optimizer's
/// step. `norm_type` is p; infinity is the largest magnitude.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::{Parameter, utils::clip_grad_norm};
/// let w = Parameter::new(&Tensor::new([3.0, 4.0], &Device::cpu()));
/// (w.get() * w.get()).sum(..).backward()?;
/// let norm = clip_grad_norm(&[w.clone()], 1.0, 2.0)?;
/// assert_eq!(norm.to_string(), "tensor(10.)");
/// assert_eq!(w.grad().unwrap().to_string(), "tensor([0.6000, 0.8000])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn clip_grad_norm(parameters: &[Parameter], max_norm: f64, norm_type: f64) -> Result<Tensor> {
    let Some(first) = parameters.first() else {
        return Err(Error::argument("clip_grad_norm", "no parameters were given"));
    };
    if norm_type.is_nan() || norm_type <= 0.0 {
        let message = format!("a norm of type {norm_type}; a positive number or infinity is expected");
        return Err(Error::argument("clip_grad_norm", message));
    }
    no_grad(|| {
        let grads = gradients(parameters);
        let Some(norm) = total_norm(&grads, norm_type)? else {
            return first.value().full_of(&().into(), 0.0);
        };
        // PyTorch's coefficient, which leaves a norm below the limit alone.
        let scale = norm.try_add(1e-6)?.try_reciprocal()?.try_mul(max_norm)?.try_clamp_max(1.0)?;
        for (parameter, grad) in &grads {
            let scale = scale.try_to_dtype(grad.dtype())?;
            parameter.set_grad(Some(&grad.try_mul(&scale)?))?;
        }
        Ok(norm)
    })
}

/// The norm of all gradients together, if there are any.
#[track_caller]
fn total_norm(grads: &[(&Parameter, Tensor)], p: f64) -> Result<Option<Tensor>> {
    let infinite = p == f64::INFINITY;
    let mut total: Option<Tensor> = None;
    for (_, grad) in grads {
        if grad.numel() == 0 {
            continue;
        }
        let part = match p {
            _ if infinite => grad.try_abs()?.try_amax(..)?,
            1.0 => grad.try_abs()?.try_sum(..)?,
            2.0 => grad.try_square()?.try_sum(..)?,
            _ => grad.try_abs()?.try_pow(p)?.try_sum(..)?,
        };
        total = Some(match total {
            None => part,
            Some(total) if infinite => total.try_maximum(&part)?,
            Some(total) => total.try_add(&part)?,
        });
    }
    match total {
        Some(total) if !infinite && p != 1.0 => total.try_pow(1.0 / p).map(Some),
        total => Ok(total),
    }
}

/// [`clip_grad_norm`], and the norm as a number: an error, and gradients stay, if it is not finite. It waits for the norm.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::{Parameter, utils::clip_grad_norm_if_finite};
/// # flambeau::block_on(async {
/// let w = Parameter::new(&Tensor::new([3.0, 4.0], &Device::cpu()));
/// w.set_grad(Some(&(w.value() * f32::INFINITY)))?;
/// assert!(clip_grad_norm_if_finite(&[w.clone()], 1.0, 2.0).await.is_err());
/// w.set_grad(Some(&w.value()))?;
/// assert_eq!(clip_grad_norm_if_finite(&[w], 1.0, 2.0).await?, 5.0);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub async fn clip_grad_norm_if_finite(
    parameters: &[Parameter],
    max_norm: f64,
    norm_type: f64,
) -> Result<f64> {
    let norm = match total_norm(&gradients(parameters), norm_type)? {
        Some(norm) => norm.item().await?,
        None => 0.0,
    };
    if !norm.is_finite() {
        let message = format!("the norm of the gradients, of type {norm_type}, is {norm}");
        return Err(Error::argument("clip_grad_norm_if_finite", message));
    }
    clip_grad_norm(parameters, max_norm, norm_type)?;
    Ok(norm)
}

/// Brings every element of every gradient into [−max, max].
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::{Parameter, utils::clip_grad_value};
/// let w = Parameter::new(&Tensor::new([3.0, -4.0], &Device::cpu()));
/// (w.get() * w.get()).sum(..).backward()?;
/// clip_grad_value(&[w.clone()], 7.0)?;
/// assert_eq!(w.grad().unwrap().to_string(), "tensor([ 6., -7.])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn clip_grad_value(parameters: &[Parameter], max: f64) -> Result<()> {
    for (parameter, grad) in gradients(parameters) {
        parameter.set_grad(Some(&grad.try_clamp(-max, max)?))?;
    }
    Ok(())
}

/// All parameters one after the other as a vector, through which gradients flow into them.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::{Parameter, utils::parameters_to_vector};
/// let device = Device::cpu();
/// let w = Parameter::new(&Tensor::new([[1.0, 2.0]], &device));
/// let b = Parameter::new(&Tensor::new([3.0], &device));
/// assert_eq!(parameters_to_vector(&[w, b])?.detach().to_string(), "tensor([1., 2., 3.])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn parameters_to_vector(parameters: &[Parameter]) -> Result<Tensor> {
    if parameters.is_empty() {
        return Err(Error::argument("parameters_to_vector", "no parameters were given"));
    }
    let flat = |parameter: &Parameter| parameter.get().try_reshape(parameter.numel());
    Tensor::try_cat(&parameters.iter().map(flat).collect::<Result<Vec<_>>>()?, 0)
}

/// Puts the parts of a vector into the parameters; the inverse of [`parameters_to_vector`].
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::{Parameter, utils::vector_to_parameters};
/// let device = Device::cpu();
/// let w = Parameter::new(&Tensor::zeros([1, 2], &device));
/// vector_to_parameters(&Tensor::new([1.0, 2.0], &device), &[w.clone()])?;
/// assert_eq!(w.value().to_string(), "tensor([[1., 2.]])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn vector_to_parameters(vector: &Tensor, parameters: &[Parameter]) -> Result<()> {
    let needed: usize = parameters.iter().map(|parameter| parameter.numel()).sum();
    if vector.rank() != 1 || vector.numel() != needed {
        let message = format!("a vector of {needed} numbers is expected, not shape {}", vector.shape());
        return Err(Error::shape("vector_to_parameters", message));
    }
    let mut start = 0;
    for parameter in parameters {
        let part = vector.detach().try_narrow(0, start, parameter.numel())?;
        parameter.try_set(&part.try_reshape(parameter.shape())?.try_to_dtype(parameter.dtype())?)?;
        start += parameter.numel();
    }
    Ok(())
}

/// Which dimension of a tensor of sequences comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SequenceLayout {
    /// (T, B, …), PyTorch's default.
    #[default]
    StepsFirst,
    /// (B, T, …), PyTorch's `batch_first`.
    BatchFirst,
}

/// Sequences (Lᵢ, …) of different lengths in one tensor of this layout, filled up with a number.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::utils::{SequenceLayout, pad_sequence};
/// let device = Device::cpu();
/// let sequences = [Tensor::new([1.0, 2.0, 3.0], &device), Tensor::new([4.0], &device)];
/// let padded = pad_sequence(&sequences, SequenceLayout::BatchFirst, 0.0)?;
/// assert_eq!(padded.to_string(), "tensor([[1., 2., 3.],\n        [4., 0., 0.]])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pad_sequence(sequences: &[Tensor], layout: SequenceLayout, value: f64) -> Result<Tensor> {
    let rest = |sequence: &Tensor| sequence.shape().get(1..).map(<[usize]>::to_vec);
    let agree = sequences.windows(2).all(|pair| rest(&pair[0]) == rest(&pair[1]));
    if sequences.is_empty() || !agree || sequences[0].rank() == 0 {
        let shapes: Vec<_> = sequences.iter().map(|sequence| sequence.shape()).collect();
        let message = format!("sequences of shapes {shapes:?}; (L, …) that differ in L alone are expected");
        return Err(Error::shape("pad_sequence", message));
    }
    let longest = sequences.iter().map(|sequence| sequence.shape()[0]).max().unwrap_or(0);
    let padded = |sequence: &Tensor| {
        let missing = longest - sequence.shape()[0];
        if missing == 0 {
            return Ok(sequence.clone());
        }
        let mut pads = vec![0; 2 * sequence.rank()];
        pads[2 * sequence.rank() - 1] = missing as isize;
        match sequence.dtype().is_float() {
            true => sequence.try_pad(&pads, value),
            false => sequence.try_pad(&pads, value as i64),
        }
    };
    let padded = sequences.iter().map(padded).collect::<Result<Vec<_>>>()?;
    Tensor::try_stack(&padded, if layout == SequenceLayout::BatchFirst { 0 } else { 1 })
}

/// Sequences of different lengths, packed step by step: first the first elements of all sequences, longest first,
/// then the second elements of those that have one, and so on.
#[derive(Debug, Clone)]
pub struct PackedSequence {
    /// (Σ lengths, …).
    pub data: Tensor,
    /// How many sequences have a first, second, … element.
    pub batch_sizes: Vec<usize>,
    /// Which sequence came first in `data`, second, …: longest first.
    pub sorted_indices: Vec<usize>,
    /// Where each sequence is in that order: the inverse.
    pub unsorted_indices: Vec<usize>,
}

impl PackedSequence {
    /// The same sequences on another device.
    pub async fn to(&self, device: &crate::Device) -> Result<PackedSequence> {
        Ok(PackedSequence { data: self.data.to(device).await?, ..self.clone() })
    }

    /// The lengths of the sequences, in their own order.
    pub fn lengths(&self) -> Vec<usize> {
        let length = |&place: &usize| self.batch_sizes.iter().filter(|&&size| size > place).count();
        self.unsorted_indices.iter().map(length).collect()
    }

    /// Refuses one whose parts do not fit together.
    fn check(&self, op: &'static str) -> Result<()> {
        let batch = self.sorted_indices.len();
        let is_order = self.unsorted_indices.len() == batch
            && self
                .sorted_indices
                .iter()
                .enumerate()
                .all(|(place, &sequence)| self.unsorted_indices.get(sequence) == Some(&place));
        let shrinks = self.batch_sizes.iter().chain(&[0]).is_sorted_by(|a, b| a >= b);
        let count = self.batch_sizes.iter().fold(0, |sum: usize, &size| sum.saturating_add(size));
        let fits = self.batch_sizes.first().is_none_or(|&first| first == batch);
        if is_order && shrinks && fits && self.data.shape().first() == Some(&count) {
            return Ok(());
        }
        let message = format!(
            "data of shape {} does not fit batch sizes {:?} in the order {:?} and back {:?}",
            self.data.shape(),
            self.batch_sizes,
            self.sorted_indices,
            self.unsorted_indices
        );
        Err(Error::shape(op, message))
    }

    /// For each element of the data: its step, and its place in the sorted order.
    fn places(batch_sizes: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
        let step = |(step, &size): (usize, &usize)| (0..size).map(move |place| (step, place));
        batch_sizes.iter().enumerate().flat_map(step)
    }
}

/// Packs padded sequences. The lengths are host numbers in any order.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::utils::{SequenceLayout::BatchFirst, pack_padded_sequence, pad_packed_sequence};
/// let padded = Tensor::new([[4.0, 0.0], [1.0, 2.0]], &Device::cpu());
/// let packed = pack_padded_sequence(&padded, &[1, 2], BatchFirst)?;
/// assert_eq!(packed.data.to_string(), "tensor([1., 4., 2.])");
/// assert_eq!(packed.batch_sizes, [2, 1]);
/// let (again, lengths) = pad_packed_sequence(&packed, BatchFirst, 0.0)?;
/// assert_eq!((again.to_string(), lengths), (padded.to_string(), vec![1, 2]));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pack_padded_sequence(
    padded: &Tensor,
    lengths: &[usize],
    layout: SequenceLayout,
) -> Result<PackedSequence> {
    const OP: &str = "pack_padded_sequence";
    if padded.rank() < 2 {
        return Err(Error::shape(
            OP,
            format!("padded sequences of shape {}; (T, B, …) is expected", padded.shape()),
        ));
    }
    let rows = match layout {
        SequenceLayout::BatchFirst => padded.clone(),
        SequenceLayout::StepsFirst => padded.try_transpose(0, 1)?,
    };
    let (batch, steps) = (rows.shape()[0], rows.shape()[1]);
    if lengths.len() != batch || lengths.iter().any(|&length| length == 0 || length > steps) {
        let message =
            format!("lengths {lengths:?} for {batch} sequences of at most {steps} steps, at least 1");
        return Err(Error::argument(OP, message));
    }
    let mut sorted_indices: Vec<usize> = (0..batch).collect();
    sorted_indices.sort_by_key(|&sequence| std::cmp::Reverse(lengths[sequence]));
    let mut unsorted_indices = vec![0; batch];
    sorted_indices.iter().enumerate().for_each(|(place, &sequence)| unsorted_indices[sequence] = place);
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let alive = |step: usize| lengths.iter().filter(|&&length| length > step).count();
    let mut batch_sizes = reserved(longest)?;
    batch_sizes.extend((0..longest).map(alive));
    let mut positions: Vec<i32> = reserved(batch_sizes.iter().sum())?;
    let position = |(step, place): (usize, usize)| (sorted_indices[place] * steps + step) as i32;
    positions.extend(PackedSequence::places(&batch_sizes).map(position));
    let flat = rows.try_flatten(0, 1)?;
    let positions = Tensor::try_from_slice(&positions, positions.len(), padded.device())?;
    let data = flat.try_index_select(0, &positions)?;
    Ok(PackedSequence { data, batch_sizes, sorted_indices, unsorted_indices })
}

/// The sequences, padded with a number, in this layout, and their lengths; the inverse of [`pack_padded_sequence`].
#[track_caller]
pub fn pad_packed_sequence(
    packed: &PackedSequence,
    layout: SequenceLayout,
    value: f64,
) -> Result<(Tensor, Vec<usize>)> {
    packed.check("pad_packed_sequence")?;
    let lengths = packed.lengths();
    let (batch, steps) = (lengths.len(), packed.batch_sizes.len());
    let count = packed.data.shape()[0];
    // (B, T): where each element is in the data; the one after the data stands for padding.
    let mut positions = vec![count as i32; batch * steps];
    for (at, (step, place)) in PackedSequence::places(&packed.batch_sizes).enumerate() {
        positions[packed.sorted_indices[place] * steps + step] = at as i32;
    }
    let filler = packed.data.full_of(&packed.data.shape().with(0, 1), value)?;
    let extended = Tensor::try_cat(&[&packed.data, &filler], 0)?;
    let positions = Tensor::try_from_slice(&positions, positions.len(), packed.data.device())?;
    let rows = extended.try_index_select(0, &positions)?.try_unflatten(0, [batch, steps])?;
    let padded = match layout {
        SequenceLayout::BatchFirst => rows,
        SequenceLayout::StepsFirst => rows.try_transpose(0, 1)?,
    };
    Ok((padded, lengths))
}

/// [`pad_packed_sequence`] to a number of steps that all have; an error if a sequence is longer.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::utils::{SequenceLayout, pack_sequence, pad_packed_sequence_to};
/// let packed = pack_sequence(&[Tensor::ones([2, 1], &Device::cpu())])?;
/// let (padded, lengths) = pad_packed_sequence_to(&packed, SequenceLayout::BatchFirst, 0.0, 3)?;
/// assert_eq!((padded.shape().dims(), lengths), (&[1, 3, 1][..], vec![2]));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pad_packed_sequence_to(
    packed: &PackedSequence,
    layout: SequenceLayout,
    value: f64,
    steps: usize,
) -> Result<(Tensor, Vec<usize>)> {
    let (padded, lengths) = pad_packed_sequence(packed, layout, value)?;
    let dim = if layout == SequenceLayout::BatchFirst { 1 } else { 0 };
    let Some(missing) = steps.checked_sub(padded.shape()[dim]) else {
        let message = format!("sequences of {} steps do not fit in {steps}", padded.shape()[dim]);
        return Err(Error::argument("pad_packed_sequence_to", message));
    };
    let mut sides = vec![0; 2 * (padded.rank() - dim)];
    sides[2 * (padded.rank() - dim) - 1] = missing as isize;
    Ok((padded.try_pad(&sides, value)?, lengths))
}

/// Packs a list of sequences (Lᵢ, …).
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::utils::pack_sequence;
/// let device = Device::cpu();
/// let packed = pack_sequence(&[Tensor::new([4.0], &device), Tensor::new([1.0, 2.0], &device)])?;
/// assert_eq!(packed.data.to_string(), "tensor([1., 4., 2.])");
/// assert_eq!(packed.lengths(), [1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pack_sequence(sequences: &[Tensor]) -> Result<PackedSequence> {
    let padded = pad_sequence(sequences, SequenceLayout::BatchFirst, 0.0)?;
    let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.shape()[0]).collect();
    pack_padded_sequence(&padded, &lengths, SequenceLayout::BatchFirst)
}
