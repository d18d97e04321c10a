//! Connectionist temporal classification: the likelihood of a label sequence, summed over all its alignments in time.
//!
//! With the labels extended by blanks (blank, l₁, blank, l₂, …, blank; L = 2S + 1 states), αₜ(s) is the logarithm of
//! the probability of all ways to be in state s after step t. The derivative with respect to a log probability is
//! minus the probability that a state holds at a step, which needs the same recursion backwards in time. Both run
//! side by side, as one batch of twice the size: a time step is a dozen nodes, and backward adds no recursion.

use super::{Reduction, floats, forward};
use crate::autograd::{Saves, is_grad_enabled};
use crate::error::{Error, Result};
use crate::memory::reserved;
use crate::shape::{Shape, product};
use crate::tensor::Tensor;

/// The logarithm of a probability of zero; finite, so that differences of it are numbers.
const LOG_ZERO: f64 = -1e30;

/// −log p(labels | x), where p sums over all alignments of the labels with the time steps.
///
/// The mean divides each sequence's loss by the length of its labels (at least 1), then averages over the batch.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::CtcLoss;
/// let device = Device::cpu();
/// // Two steps, one sequence, classes blank and 1: alignments (1, 1), (1, blank) and (blank, 1).
/// let log_probabilities = Tensor::full([2, 1, 2], 0.5, &device).log();
/// let loss = CtcLoss::default().forward(&log_probabilities, &Tensor::new([[1]], &device), &[2], &[1]);
/// assert_eq!(loss.to_string(), "tensor(0.2877)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct CtcLoss {
    /// The class that stands for no label (0).
    pub blank: usize,
    /// What becomes of the sequences' losses.
    pub reduction: Reduction,
    /// Infinite losses (labels that do not fit into the steps) count as 0.
    pub zero_infinity: bool,
}

impl CtcLoss {
    forward! {
        /// The loss of log probabilities (T, N, C) or (T, C) against labels: (N, S) padded with anything, (S), or all
        /// sequences one after the other in one vector. The lengths say how many steps and labels each sequence has.
        /// An infinite loss gives no gradient.
        (&self, log_probs: &Tensor, targets: &Tensor, input_lengths: &[usize], target_lengths: &[usize]) {
            let single = log_probs.rank() == 2;
            let log_probs = if single { log_probs.try_unsqueeze(1)? } else { log_probs.clone() };
            self.check(&log_probs, targets, input_lengths, target_lengths)?;
            let sequences = Sequences::new(self, &log_probs, targets, input_lengths, target_lengths)?;
            let losses = sequences.losses(&log_probs)?;
            let losses = match self.zero_infinity {
                true => losses.try_isinf()?.try_where_cond(0.0, &losses)?,
                false => losses,
            };
            match self.reduction {
                Reduction::None if single => losses.try_reshape(()),
                Reduction::None => Ok(losses),
                Reduction::Sum => losses.try_sum(..),
                Reduction::Mean => {
                    let lengths: Vec<f32> = target_lengths.iter().map(|&n| n.max(1) as f32).collect();
                    let lengths = Tensor::try_from_slice(&lengths, lengths.len(), losses.device())?;
                    losses.try_div(&lengths.try_to_dtype(losses.dtype())?)?.try_mean(..)
                }
            }
        }
    }

    fn check(
        &self,
        log_probs: &Tensor,
        targets: &Tensor,
        input_lengths: &[usize],
        target_lengths: &[usize],
    ) -> Result<()> {
        const OP: &str = "ctc_loss";
        floats(OP, log_probs)?;
        if log_probs.rank() != 3 {
            let message =
                format!("log probabilities of shape {}; (T, N, C) or (T, C) is expected", log_probs.shape());
            return Err(Error::shape(OP, message));
        }
        if !targets.dtype().is_int() {
            return Err(Error::dtype_not_accepted(OP, targets.dtype(), "labels of an integer dtype"));
        }
        let (steps, batch, classes) = (log_probs.shape()[0], log_probs.shape()[1], log_probs.shape()[2]);
        if self.blank >= classes {
            return Err(Error::argument(OP, format!("blank is {}, of {classes} classes", self.blank)));
        }
        if input_lengths.len() != batch || target_lengths.len() != batch {
            let message = format!(
                "{} input lengths and {} target lengths for a batch of {batch}",
                input_lengths.len(),
                target_lengths.len()
            );
            return Err(Error::argument(OP, message));
        }
        if let Some(length) = input_lengths.iter().find(|&&length| length == 0 || length > steps) {
            return Err(Error::argument(OP, format!("an input length of {length} is outside 1..={steps}")));
        }
        let labels = target_lengths.iter().fold(0, |sum: usize, &length| sum.saturating_add(length));
        let longest = target_lengths.iter().copied().max().unwrap_or(0);
        let fits = match *targets.shape().dims() {
            [length] => length == labels || (batch == 1 && length >= labels),
            [rows, length] => rows == batch && length >= longest,
            _ => false,
        };
        if !fits {
            let message =
                format!("targets of shape {} for target lengths {target_lengths:?}", targets.shape());
            return Err(Error::shape(OP, message));
        }
        Ok(())
    }
}

/// The labels of a batch with blanks in between, and the lengths.
#[derive(Clone)]
struct Sequences {
    blank: i64,
    steps: usize,
    batch: usize,
    /// L = 2S + 1.
    states: usize,
    /// (N, L): the class of each state.
    classes: Tensor,
    /// (N, 1): how many steps each sequence has.
    step_counts: Tensor,
    /// (N, 1): its last state, 2 · its number of labels.
    last_states: Tensor,
}

impl Sequences {
    #[track_caller]
    fn new(
        options: &CtcLoss,
        log_probs: &Tensor,
        targets: &Tensor,
        input_lengths: &[usize],
        target_lengths: &[usize],
    ) -> Result<Sequences> {
        let (steps, batch) = (log_probs.shape()[0], log_probs.shape()[1]);
        let device = log_probs.device();
        let column = |numbers: Vec<i32>| Tensor::try_from_slice(&numbers, [numbers.len(), 1], device);
        let step_counts = column(input_lengths.iter().map(|&n| n as i32).collect())?;
        let last_states = column(target_lengths.iter().map(|&n| 2 * n as i32).collect())?;
        let labels = padded(targets, target_lengths)?;
        let states = 2 * labels.shape()[1] + 1;
        let shape = Shape::new(&[batch, states]);
        let blank = options.blank as i64;
        let classes = if states == 1 {
            Tensor::try_full(&shape, blank, device)?
        } else {
            let state = labels.iota_of(&shape, 1)?;
            let is_label = state.try_bitand(1)?.try_eq(1)?.try_logical_and(&state.try_lt(&last_states)?)?;
            is_label.try_where_cond(&labels.embed(1, states, 1, 2)?, blank)?
        };
        Ok(Sequences { blank, steps, batch, states, classes, step_counts, last_states })
    }

    /// (N): −log of the likelihood of each sequence.
    #[track_caller]
    fn losses(&self, log_probs: &Tensor) -> Result<Tensor> {
        // (T, N, L): the log probability of each state at each step.
        let states = Shape::new(&[self.steps, self.batch, self.states]);
        let classes = self.classes.try_unsqueeze(0)?.broadcast_as("ctc_loss", &states)?;
        let emissions = log_probs.try_gather(2, &classes)?;
        if !(is_grad_enabled() && emissions.is_tracked()) {
            let (likelihood, _) = self.forward_pass(&emissions)?;
            return self.infinite_where_impossible(&likelihood);
        }
        let (likelihood, occupancy) = crate::autograd::no_grad(|| self.both_passes(&emissions))?;
        let forward = || self.infinite_where_impossible(&likelihood);
        let inputs = [&emissions, &occupancy];
        let sequences = self.clone();
        Tensor::with_rule("ctc_loss", Saves::inputs(0b11), &inputs, forward, move |v| {
            // Second derivatives need the occupancy as a function of the log probabilities.
            let occupancy = match is_grad_enabled() {
                true => sequences.both_passes(v.input(0))?.1,
                false => v.input(1).clone(),
            };
            let g = v.grad().try_neg()?.try_reshape([1, sequences.batch, 1])?;
            Ok(vec![Some(occupancy.try_mul(&g)?), None])
        })
    }

    /// The likelihood (N, 1), and α (T, N, L).
    #[track_caller]
    fn forward_pass(&self, emissions: &Tensor) -> Result<(Tensor, Tensor)> {
        let alpha = recursion(emissions, &self.classes, self.blank)?;
        Ok((self.likelihood(&alpha)?, alpha))
    }

    /// The likelihood (N, 1), and the probability of each state at each step, given the labels (T, N, L).
    #[track_caller]
    fn both_passes(&self, emissions: &Tensor) -> Result<(Tensor, Tensor)> {
        let reversed = self.reversed(emissions)?;
        let reversed_classes = self.classes.try_gather(1, &self.mirrored_states()?)?;
        let classes = Tensor::try_cat(&[&self.classes, &reversed_classes], 0)?;
        let both = recursion(&Tensor::try_cat(&[emissions, &reversed], 1)?, &classes, self.blank)?;
        let alpha = both.try_narrow(1, 0, self.batch)?;
        let beta = self.reversed(&both.try_narrow(1, self.batch, self.batch)?)?;
        let likelihood = self.likelihood(&alpha)?;
        // A step's emission is in both α and β.
        let joint = alpha.try_add(&beta)?.try_sub(&emissions.try_clamp_min(LOG_ZERO)?)?;
        let occupancy = joint.try_sub(&likelihood)?.try_exp()?;
        let step = emissions.iota_of(emissions.shape(), 0)?;
        let state = emissions.iota_of(emissions.shape(), 2)?;
        let within = step.try_lt(&self.step_counts)?.try_logical_and(&state.try_le(&self.last_states)?)?;
        let counted = within.try_logical_and(&likelihood.try_gt(0.5 * LOG_ZERO)?)?;
        Ok((likelihood, counted.try_where_cond(&occupancy, 0.0)?))
    }

    /// (N, L): state 2S − s for state s, within each sequence.
    #[track_caller]
    fn mirrored_states(&self) -> Result<Tensor> {
        let state = self.classes.iota_of(self.classes.shape(), 1)?;
        self.last_states.try_sub(&state)?.try_clamp_min(0)
    }

    /// (T, N, L) with each sequence's own steps and states in reverse order.
    #[track_caller]
    fn reversed(&self, values: &Tensor) -> Result<Tensor> {
        let step = values.iota_of(values.shape(), 0)?;
        let mirrored = self.step_counts.try_sub(&step)?.try_sub(1)?.try_clamp_min(0)?;
        let states = self.mirrored_states()?.try_unsqueeze(0)?.broadcast_as("ctc_loss", values.shape())?;
        values.try_gather(0, &mirrored)?.try_gather(2, &states)
    }

    /// (N, 1): the likelihood of being in one of the last two states after the last step.
    #[track_caller]
    fn likelihood(&self, alpha: &Tensor) -> Result<Tensor> {
        let last_step = self.step_counts.try_sub(1)?.try_unsqueeze(0)?;
        let rows = alpha.shape().with(0, 1);
        let end = alpha.try_gather(0, &last_step.broadcast_as("ctc_loss", &rows)?)?.try_squeeze(0)?;
        let on_blank = end.try_gather(1, &self.last_states)?;
        let label = self.last_states.try_sub(1)?;
        let on_label = end.try_gather(1, &label.try_clamp_min(0)?)?;
        let on_label = label.try_lt(0)?.try_where_cond(LOG_ZERO, &on_label)?;
        on_blank.try_logaddexp(&on_label)
    }

    #[track_caller]
    fn infinite_where_impossible(&self, likelihood: &Tensor) -> Result<Tensor> {
        let impossible = likelihood.try_le(0.5 * LOG_ZERO)?;
        impossible.try_where_cond(f64::INFINITY, &likelihood.try_neg()?)?.try_reshape(self.batch)
    }
}

/// Labels as (N, S), whichever way they were given. What is beyond a sequence's length is anything.
#[track_caller]
fn padded(targets: &Tensor, lengths: &[usize]) -> Result<Tensor> {
    if targets.rank() == 2 {
        return Ok(targets.clone());
    }
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mut positions: Vec<i32> = reserved(product([lengths.len(), longest]))?;
    let mut start = 0;
    for &length in lengths {
        positions.extend((0..longest).map(|k| if k < length { (start + k) as i32 } else { 0 }));
        start += length;
    }
    if longest == 0 {
        return targets.try_narrow(0, 0, 0)?.try_reshape([lengths.len(), 0]);
    }
    let positions = Tensor::try_from_slice(&positions, positions.len(), targets.device())?;
    targets.try_index_select(0, &positions)?.try_reshape([lengths.len(), longest])
}

/// α of every step, (T, N, L): a state is reached from itself, from the one before it, and from the label before it
/// if that is another one.
#[track_caller]
fn recursion(emissions: &Tensor, classes: &Tensor, blank: i64) -> Result<Tensor> {
    let emissions = emissions.try_clamp_min(LOG_ZERO)?;
    let states = classes.shape()[1];
    let state = classes.iota_of(classes.shape(), 1)?;
    let closed = |where_closed: &Tensor| {
        let open = emissions.full_of(classes.shape(), 0.0)?;
        where_closed.try_where_cond(LOG_ZERO, &open)
    };
    let shifted =
        |values: &Tensor, by: usize| values.try_narrow(1, 0, states - by)?.embed(1, states, by as i64, 1);
    let mut alpha = closed(&state.try_gt(1)?)?.try_add(&emissions.try_select(0, 0)?)?;
    let mut all = vec![alpha.clone()];
    if states == 1 {
        for step in 1..emissions.shape()[0] {
            alpha = alpha.try_add(&emissions.try_select(0, step as isize)?)?;
            all.push(alpha.clone());
        }
        return Tensor::try_stack(&all, 0);
    }
    let no_step = closed(&state.try_lt(1)?)?;
    let same = shifted(classes, 2)?.try_eq(classes)?.try_logical_or(&classes.try_eq(blank)?)?;
    let no_skip = closed(&same.try_logical_or(&state.try_lt(2)?)?)?;
    for step in 1..emissions.shape()[0] {
        let stepped = shifted(&alpha, 1)?.try_add(&no_step)?;
        let skipped = shifted(&alpha, 2)?.try_add(&no_skip)?;
        let reached = alpha.try_logaddexp(&stepped)?.try_logaddexp(&skipped)?;
        alpha = reached.try_add(&emissions.try_select(0, step as isize)?)?;
        all.push(alpha.clone());
    }
    Tensor::try_stack(&all, 0)
}
