//! Fitting a run into a limit of memory: which of several measures is enough, by estimates of each, in the order of what they cost.

use super::estimate::{Estimate, readable};
use super::outcome::Outcome;
use super::report::Event;
use super::running::Running;
use super::trainer::Trainer;
use crate::autograd::no_grad;
use crate::data::DataLoader;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::io::State;
use crate::nn::{Module, Parameter, Placement};
use crate::optim::Optimizer;
use crate::rehearsal::Rehearsal;
use crate::tensor::Tensor;
use serde::Serialize;
use std::fmt;

/// What is left of a limit for what no estimate counts, 1 / 50: numbers and fault words of kernels.
const MARGIN: u64 = 50;

/// How a run was fitted into a limit of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fitting {
    /// The limit, in bytes.
    pub limit: u64,
    /// Where the model lies, if it can be placed; see [`OutOfCore`](crate::nn::OutOfCore).
    pub placement: Option<Placement>,
    /// What a step needs like this.
    pub estimate: Estimate,
    /// What was tried before and needs too much, with the bytes.
    pub too_large: Vec<(String, u64)>,
    /// What one should know of it.
    pub notes: Vec<String>,
}

impl fmt::Display for Fitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, peak) in &self.too_large {
            writeln!(f, "{what}: {}, above the limit of {}", readable(*peak), readable(self.limit))?;
        }
        write!(f, "{}: {}", described(self.placement, self.estimate.pieces), readable(self.estimate.peak))?;
        self.notes.iter().try_for_each(|note| write!(f, "\n{note}"))
    }
}

fn described(placement: Option<Placement>, pieces: usize) -> String {
    let placement = placement.unwrap_or(Placement::OnDevice { segments: 1 });
    match pieces {
        1 => placement.to_string(),
        pieces => format!("{placement}, batches in {pieces} pieces"),
    }
}

/// The values of parameters and running statistics, put back when this is dropped.
struct Values(Vec<(Parameter, Tensor)>, Vec<(crate::nn::Buffer, Tensor)>);

impl Values {
    fn of(model: &impl Module) -> Values {
        let parameters = model.parameters().into_iter().map(|parameter| {
            let value = parameter.value();
            (parameter, value)
        });
        let buffers = model.named_buffers().into_iter().map(|(_, buffer)| {
            let value = buffer.get();
            (buffer, value)
        });
        Values(parameters.collect(), buffers.collect())
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        self.0.iter().for_each(|(parameter, value)| parameter.restore(value));
        self.1.iter().for_each(|(buffer, value)| buffer.restore(value));
    }
}

/// The placements worth trying, in the order of what they cost.
fn placements(stages: usize, may_leave_host: bool, may_stay_on_host: bool) -> Vec<Placement> {
    let root = (stages as f64).sqrt().ceil() as usize;
    let mut counts: Vec<usize> = [root, stages].into_iter().filter(|&count| count > 1).collect();
    counts.dedup();
    let mut placements = Vec::new();
    if may_leave_host {
        placements.push(Placement::OnDevice { segments: 1 });
        placements.extend(counts.iter().map(|&segments| Placement::OnDevice { segments }));
    }
    if may_stay_on_host {
        let all = if counts.is_empty() { vec![1] } else { counts };
        placements.extend(all.iter().map(|&segments| Placement::StateOnHost { segments }));
        placements.extend(all.iter().map(|&segments| Placement::OnHost { segments }));
    }
    placements
}

/// Items of the smallest batch of an epoch.
fn smallest_batch<B: 'static>(batches: &DataLoader<B>) -> usize {
    let (items, size) = (batches.items_per_epoch(), batches.batch_size());
    items.saturating_sub(batches.len().saturating_sub(1) * size).min(size)
}

/// Pieces that a batch may come in, from one to as many as it has items.
fn pieces_of(batch: usize) -> Vec<usize> {
    let mut pieces: Vec<usize> = std::iter::successors(Some(1_usize), |pieces| pieces.checked_mul(2))
        .take_while(|&pieces| pieces < batch)
        .collect();
    pieces.push(batch.max(1));
    pieces
}

impl<M: Module> Trainer<M> {
    /// Chooses how the run keeps within its limit, if it has one, and says so.
    pub(super) async fn fit_into_limit<B: 'static>(
        &mut self,
        batches: &mut DataLoader<B>,
        test: Option<&mut DataLoader<B>>,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<()> {
        let Some(limit) = self.options.memory_limit else { return Ok(()) };
        if self.together.is_some() {
            let message = "a member of a group is not fitted into a limit of memory yet; train alone, or with smaller batches";
            return Err(Error::argument("Trainer::with_memory_limit", message));
        }
        let fitting = self.choose(limit, batches, outcome).await?;
        batches.set_pieces(fitting.estimate.pieces)?;
        if let Some(placement) = fitting.placement {
            self.place(placement, batches.device()).await?;
        }
        if let Some(test) = test {
            let pieces = pieces_of(test.batch_size());
            let mut last = 0;
            let fits = |&pieces: &usize| {
                last = self.rehearse_evaluation(test, pieces, outcome)?;
                Ok(last <= limit - limit / MARGIN)
            };
            match first(&pieces, fits)? {
                Some(pieces) => test.set_pieces(pieces)?,
                None => {
                    return Err(Error::DoesNotFit {
                        needed: last,
                        limit,
                        advice: "the evaluation needs that for a single item".into(),
                    });
                }
            }
        }
        self.tell(&Event::Fitted(&fitting));
        self.fitting = Some(fitting);
        Ok(())
    }

    /// How the run was fitted into its limit of memory, once [`fit`](Trainer::fit) has been called.
    pub fn fitting(&self) -> Option<&Fitting> {
        self.fitting.as_ref()
    }

    /// What [`fit`](Trainer::fit) would choose to keep within the limit set with
    /// [`with_memory_limit`](Trainer::with_memory_limit), or the error with the numbers. Nothing is computed or moved.
    pub async fn plan_memory<B: 'static>(
        &mut self,
        batches: &DataLoader<B>,
        mut outcome: impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Fitting> {
        let limit = self.options.memory_limit.ok_or_else(|| {
            Error::argument("Trainer::plan_memory", "there is no limit; set one with `with_memory_limit`")
        })?;
        self.choose(limit, batches, &mut outcome).await
    }

    async fn choose<B: 'static>(
        &mut self,
        limit: u64,
        batches: &DataLoader<B>,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Fitting> {
        self.settle_pending(batches.device())?;
        let is_here = self.optimizer.parameters()[0].device() == *batches.device();
        let placements: Vec<Option<Placement>> = match self.model.placing() {
            None => vec![None],
            Some(placing) => {
                let may_leave_host = is_here || self.options.ema.is_none();
                let may_stay = !is_here && self.options.scaler.is_none();
                placements(placing.stage_count(), may_leave_host, may_stay).into_iter().map(Some).collect()
            }
        };
        let has_statistics =
            self.model.named_buffers().iter().any(|(name, _)| name.ends_with("running_mean"));
        let may_cut = !has_statistics || self.options.statistics_by_piece;
        // Batch norm needs two items at least, of the epoch's last batch, too.
        let most = if has_statistics { smallest_batch(batches) / 2 } else { batches.batch_size() };
        let mut pieces = if may_cut { pieces_of(batches.batch_size()) } else { vec![1] };
        pieces.retain(|&pieces| pieces == 1 || pieces <= most);
        let mut notes = Vec::new();
        if has_statistics && !may_cut {
            notes.push(
                "batches are not cut into pieces: batch norm would normalise each by itself (with_statistics_by_piece allows it)"
                    .to_owned(),
            );
        }
        let mut too_large = Vec::new();
        let mut least: Option<(Option<Placement>, Estimate)> = None;
        for placement in placements {
            // The most pieces need the least memory: where that is too much, fewer need not be tried.
            let fewest = self.rehearse_placed(placement, pieces[pieces.len() - 1], batches, outcome).await?;
            if fewest.peak > limit - limit / MARGIN {
                too_large.push((described(placement, fewest.pieces), fewest.peak));
                if least.as_ref().is_none_or(|(_, least)| fewest.peak < least.peak) {
                    least = Some((placement, fewest));
                }
                continue;
            }
            for &count in &pieces {
                let estimate = self.rehearse_placed(placement, count, batches, outcome).await?;
                if estimate.peak <= limit - limit / MARGIN {
                    if has_statistics && count > 1 {
                        notes.push("batch norm normalises each piece of a batch by itself".into());
                    }
                    return Ok(Fitting { limit, placement, estimate, too_large, notes });
                }
                too_large.push((described(placement, count), estimate.peak));
            }
        }
        let (placement, estimate) = least.ok_or_else(|| {
            Error::argument("Trainer::with_memory_limit", "the model can be placed nowhere: it is on another device than its batches, with a GradScaler or an average of the weights; make it on the batches' device")
        })?;
        Err(self.does_not_fit(limit, placement, &estimate, &notes))
    }

    fn does_not_fit(
        &self,
        limit: u64,
        placement: Option<Placement>,
        estimate: &Estimate,
        notes: &[String],
    ) -> Error {
        let parts = estimate.parts();
        let (largest, bytes) = parts.iter().max_by_key(|(_, bytes)| *bytes).expect("there are parts");
        let by_parameters = match placement {
            None => "wrap the model in nn::OutOfCore, so that parameters may stay in host memory".to_owned(),
            Some(_) => {
                let bytes = |parameter: &Parameter| (parameter.numel() * parameter.dtype().size()) as u64;
                let all = self.model.parameters();
                let largest =
                    all.iter().rev().max_by_key(|parameter| bytes(parameter)).expect("there are parameters");
                let name = largest.name().unwrap_or_default();
                format!(
                    "the largest parameter, {name}, takes {}, and its gradient as much; use smaller layers, or more of them",
                    readable(bytes(largest))
                )
            }
        };
        let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
        Error::DoesNotFit {
            needed: estimate.peak,
            limit,
            advice: format!(
                "the least is with {}, where {largest} take {}; {by_parameters}{notes}",
                described(placement, estimate.pieces),
                readable(*bytes)
            ),
        }
    }

    /// The estimate with the model placed like this, which it is for the time of the rehearsal.
    async fn rehearse_placed<B: 'static>(
        &mut self,
        placement: Option<Placement>,
        pieces: usize,
        batches: &DataLoader<B>,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Estimate> {
        let (Some(placement), Some(before)) =
            (placement, self.model.placing().map(|placing| placing.placement()))
        else {
            return self.rehearse_step(batches, pieces, outcome);
        };
        let device = batches.device();
        let moves = placement.is_on_device() && self.optimizer.parameters()[0].device() != *device;
        let _rehearsal = Rehearsal::begin();
        let values = Values::of(&self.model);
        let place = |model: &M, placement| {
            if let Some(placing) = model.placing() {
                placing.place(placement);
            }
        };
        place(&self.model, placement);
        let estimate = match moves {
            false => self.rehearse_step(batches, pieces, outcome),
            true => match self.moved_optimizer(device).await {
                Err(error) => Err(error),
                Ok(moved) => {
                    let own = std::mem::replace(&mut self.optimizer, moved);
                    let estimate = self.rehearse_step(batches, pieces, outcome);
                    self.optimizer = own;
                    estimate
                }
            },
        };
        place(&self.model, before);
        drop(values);
        estimate
    }

    /// Moves the model, and gives an optimizer for it there, whose state is that of the start.
    async fn moved_optimizer(&self, device: &Device) -> Result<Box<dyn Optimizer>> {
        self.model.to(device).await?;
        self.optimizer.anew()
    }

    /// Places the model, and takes the optimizer with it.
    async fn place(&mut self, placement: Placement, device: &Device) -> Result<()> {
        if placement.is_on_device() && self.optimizer.parameters()[0].device() != *device {
            let mut state: State = self.optimizer.state();
            let mut anew = self.moved_optimizer(device).await?;
            let mut moved = Vec::new();
            for (name, tensor) in state.tensors.iter() {
                moved.push((name.to_owned(), tensor.to(device).await?));
            }
            state.tensors = moved.into_iter().collect();
            anew.load_state(&state)?;
            self.optimizer = anew;
        }
        if let Some(placing) = self.model.placing() {
            placing.place(placement);
        }
        Ok(())
    }

    /// Lets go of copies of parameters that stay on the device: those of a rehearsal have no numbers.
    pub(super) fn forget_copies(&self) {
        if let Some(placing) = self.model.placing() {
            placing.place(placing.placement());
        }
    }

    /// The peak of evaluating a batch in so many pieces.
    fn rehearse_evaluation<B: 'static>(
        &self,
        batches: &DataLoader<B>,
        pieces: usize,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<u64> {
        let rehearsal = Rehearsal::begin();
        let values = Values::of(&self.model);
        rehearsal.reset_peak(batches.device());
        self.model.eval();
        let mut running = Running::default();
        let evaluated = batches.sample(pieces).and_then(|batch| {
            let made = || self.options.as_precisely(|| outcome(&self.model, batch));
            no_grad(|| running.add(&made()?, 0)).and_then(|()| running.evaluate())
        });
        self.model.train();
        drop(running);
        drop(values);
        let peak = rehearsal.memory(batches.device()).peak;
        self.forget_copies();
        evaluated.map(|()| peak)
    }
}

/// The first of these that passes.
fn first<T: Copy>(all: &[T], mut passes: impl FnMut(&T) -> Result<bool>) -> Result<Option<T>> {
    for candidate in all {
        if passes(candidate)? {
            return Ok(Some(*candidate));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_gets_dearer() {
        let tried: Vec<String> = placements(9, true, true).iter().map(Placement::to_string).collect();
        assert_eq!(
            tried,
            [
                "all on the device",
                "all on the device, activations computed again by 3 segments",
                "all on the device, activations computed again by 9 segments",
                "optimizer's state in host memory, 3 segments",
                "optimizer's state in host memory, 9 segments",
                "parameters and optimizer's state in host memory, 3 segments",
                "parameters and optimizer's state in host memory, 9 segments",
            ]
        );
        assert_eq!(placements(1, true, false), [Placement::OnDevice { segments: 1 }]);
        assert_eq!(placements(1, false, true).len(), 2);
        assert_eq!(pieces_of(1), [1]);
        assert_eq!(pieces_of(12), [1, 2, 4, 8, 12]);
        assert_eq!(pieces_of(16), [1, 2, 4, 8, 16]);
    }
}
