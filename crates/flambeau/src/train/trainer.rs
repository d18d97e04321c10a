//! The loop.

use super::fitting::Fitting;
use super::options::{Options, SchedulePer};
use super::outcome::Outcome;
use super::report::{EpochReport, Event, Flow, Metrics, Progress, Stop, Summary};
use super::running::{Running, Totals, Underway};
use super::state::Past;
use super::together::Together;
use crate::autograd::no_grad;
use crate::data::DataLoader;
#[cfg(not(target_arch = "wasm32"))]
use crate::device::Device;
use crate::error::{Error, Result};
#[cfg(not(target_arch = "wasm32"))]
use crate::io::{Checkpoint, Latest};
use crate::nn::Module;
use crate::nn::utils::clip_grad_norm;
use crate::optim::Optimizer;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::path::PathBuf;
use web_time::Instant;

/// Trains a model. What a batch is and what its loss is, the closure given to [`fit`](Trainer::fit) says.
///
/// ```
/// # use flambeau::prelude::*;
/// # flambeau::block_on(async {
/// use flambeau::data::{DataLoader, TensorDataset};
/// use flambeau::nn::{Linear, loss::MseLoss};
/// use flambeau::{optim::Sgd, train::{Outcome, Trainer}};
/// let device = Device::cpu();
/// let x = Tensor::rand([64, 1], &Generator::new(1), &device);
/// let y = &x * 2.0 + 3.0;
/// let mut batches = DataLoader::new(TensorDataset::new([x, y])?, &device).with_batch_size(16).with_shuffle(1);
/// let model = Linear::new(1, 1, &device);
/// let optimizer = Sgd::new(model.parameters(), 0.5);
/// let mut trainer = Trainer::new(model, optimizer).with_epochs(40);
/// let loss = |model: &Linear, (x, y): (Tensor, Tensor)| {
///     let loss = MseLoss::default().try_forward(&model.try_forward(&x)?, &y)?;
///     Ok(Outcome::new(loss, x.shape()[0]))
/// };
/// let summary = trainer.fit(&mut batches, None, loss).await?;
/// assert!(summary.last("loss").unwrap() < 1e-3);
/// assert!((trainer.model().weight.value().item().await? - 2.0).abs() < 0.1);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub struct Trainer<M> {
    pub(super) model: M,
    pub(super) optimizer: Box<dyn Optimizer>,
    pub(super) options: Options,
    pub(super) past: Past,
    pub(super) running: Running,
    /// A report whose sums are on their way, with the step it is for.
    underway: Option<(u64, Underway)>,
    /// Those it trains with.
    pub(super) together: Option<Together>,
    last_saved: Option<(u64, PathBuf)>,
    /// How the run was fitted into its limit of memory.
    pub(super) fitting: Option<Fitting>,
}

/// What was handed out of a batch.
#[derive(Clone, Copy)]
struct Piece {
    /// What it counts: a member's share, or one of several pieces.
    weight: f64,
    of: usize,
    is_last: bool,
}

/// The clock of one call of `fit`.
struct Clock {
    start: Instant,
    /// Seconds of earlier parts of the run.
    before: f64,
    first_step: u64,
    samples: u64,
    /// Seconds spent evaluating.
    evaluating: f64,
}

impl Clock {
    fn training_seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64() - self.evaluating
    }

    fn samples_per_second(&self) -> f64 {
        self.samples as f64 / self.training_seconds().max(1e-9)
    }
}

impl<M: Module> Trainer<M> {
    /// A run of this model with this optimizer, which must hold the model's parameters.
    pub fn new(model: M, optimizer: impl Optimizer + 'static) -> Trainer<M> {
        Trainer::with_boxed(model, Box::new(optimizer))
    }

    /// [`new`](Trainer::new) with an optimizer chosen at run time.
    pub fn with_boxed(model: M, optimizer: Box<dyn Optimizer>) -> Trainer<M> {
        model.set_names();
        Trainer {
            model,
            optimizer,
            options: Options::default(),
            past: Past::default(),
            running: Running::default(),
            underway: None,
            together: None,
            last_saved: None,
            fitting: None,
        }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The optimizer, to change its learning rate for example.
    pub fn optimizer(&mut self) -> &mut dyn Optimizer {
        &mut *self.optimizer
    }

    /// The model, when the run is over.
    pub fn into_model(self) -> M {
        self.model
    }

    /// Steps taken so far.
    pub fn step(&self) -> u64 {
        self.past.step
    }

    /// Trains until the last epoch or step, and evaluates after each epoch if there are batches for that.
    ///
    /// `outcome` makes the loss of a batch, and may add metrics; it is called for training and evaluation alike.
    pub async fn fit<B: 'static>(
        &mut self,
        batches: &mut DataLoader<B>,
        mut test: Option<&mut DataLoader<B>>,
        mut outcome: impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Summary> {
        self.begin_together(batches, test.as_deref_mut()).await?;
        #[cfg(not(target_arch = "wasm32"))]
        let _stream = self.begin_stream();
        let sent = self.group().map(|group| group.traffic().transmitted());
        let waited = batches.time_waiting();
        let (before, first_step) = (self.past.seconds, self.past.step);
        let mut clock = Clock { start: Instant::now(), before, first_step, samples: 0, evaluating: 0.0 };
        self.model.train();
        self.fit_into_limit(batches, test.as_deref_mut(), &mut outcome).await?;
        let per_epoch = batches.len() as u64;
        let total = (self.options.epochs * per_epoch).min(self.options.max_steps.unwrap_or(u64::MAX));
        let mut stopped = None;
        while stopped.is_none() && self.past.step < total {
            let Some(batch) = batches.next().await? else {
                continue;
            };
            let is_last_piece = batches.is_between_batches();
            let piece = Piece { weight: batches.weight(), of: batches.pieces(), is_last: is_last_piece };
            self.train_on(batch, piece, &mut outcome, &mut clock).await?;
            if !is_last_piece {
                self.settle_gradients(batches.device())?;
                continue;
            }
            let epoch_ends = batches.position() as u64 >= per_epoch || self.past.step >= total;
            self.meet(1, epoch_ends || self.is_time_to_save()).await?;
            let mut asked = false;
            let reports = self.past.step.is_multiple_of(self.options.log_every) || epoch_ends;
            if reports {
                asked |= self.report(total, per_epoch, &mut clock).await?;
            }
            if epoch_ends {
                asked |= self.finish_report(total, per_epoch, &mut clock).await?;
                let (ended, stop) = self.end_epoch(test.as_deref_mut(), &mut outcome, &mut clock).await?;
                asked |= ended;
                stopped = stop;
            }
            if reports && self.any_wants(asked).await? {
                stopped = stopped.or(Some(Stop::Asked));
            }
            let last = stopped.is_some() || self.past.step >= total;
            if last || self.is_time_to_save() {
                self.meet(0, true).await?;
                self.average_statistics().await?;
                // All sums must be in: one that is not finite ends the run before it is saved.
                self.report(total, per_epoch, &mut clock).await?;
                self.finish_report(total, per_epoch, &mut clock).await?;
                self.past.seconds = clock.before + clock.start.elapsed().as_secs_f64();
                let asked = self.save(batches).await?;
                if self.any_wants(asked).await? && !last {
                    stopped = Some(Stop::Asked);
                }
            }
        }
        self.past.seconds = clock.before + clock.start.elapsed().as_secs_f64();
        Ok(Summary {
            history: self.past.history.clone(),
            losses: self.past.losses.clone(),
            steps: self.past.step,
            seconds: self.past.seconds,
            samples_per_second: clock.samples_per_second(),
            seconds_waiting_for_data: (batches.time_waiting() - waited).as_secs_f64(),
            stopped,
            group: self.together.as_ref().map(|together| {
                together.summary(sent.unwrap_or_default(), self.past.step - clock.first_step)
            }),
        })
    }

    /// Forward, backward and, when enough gradients have been added up, the optimizer's step.
    async fn train_on<B>(
        &mut self,
        batch: B,
        piece: Piece,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
        clock: &mut Clock,
    ) -> Result<()> {
        let Piece { weight, of: pieces, is_last } = piece;
        let made = self.learn(batch, weight, pieces, outcome)?;
        match weight > 0.0 {
            true => {
                let whole = if pieces > 1 { 1.0 } else { weight / self.share().1 as f64 };
                clock.samples += (made.samples as f64 / whole).round() as u64;
                self.running.add(&made, self.past.step + 1)?;
            }
            false => self.running.pass_over(),
        }
        // The step evaluates everything that is held: let go of what nobody will look at.
        let of_losses = made.loss.device().clone();
        drop(made);
        if !is_last {
            return Ok(());
        }
        self.past.step += 1;
        if !self.past.step.is_multiple_of(self.options.accumulation) {
            return Ok(());
        }
        if pieces > 1 || self.computes_elsewhere() {
            self.settle_gradients(&of_losses)?;
        }
        self.reduce_gradients().await?;
        self.clip_gradients()?;
        match &mut self.options.scaler {
            None => self.optimizer.step()?,
            Some(scaler) => {
                scaler.step(&mut *self.optimizer)?;
                scaler.update()?;
            }
        }
        self.optimizer.zero_grad();
        if let Some(ema) = &mut self.options.ema {
            ema.update()?;
        }
        if let Some((scheduler, SchedulePer::Step)) = &mut self.options.scheduler {
            scheduler.step(&mut *self.optimizer);
        }
        Ok(())
    }

    /// Forward and backward: adds the gradients of a batch, or of one of its pieces, to those before. `weight` is what a member's
    /// share, or a piece, counts.
    pub(super) fn learn<B>(
        &mut self,
        batch: B,
        weight: f64,
        pieces: usize,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let made = self.options.as_precisely(|| outcome(&self.model, batch))?;
        let loss = match self.options.accumulation * pieces as u64 {
            1 => made.loss.clone(),
            several => made.loss.try_div(several as f64)?,
        };
        // A member by itself learns from the mean of its share, but nothing from what only stands in.
        let in_step = self.together.as_ref().is_some_and(|together| !together.is_diloco());
        let loss = match weight == 1.0 || (!in_step && pieces == 1 && weight > 0.0) {
            true => loss,
            false => loss.try_mul(weight)?,
        };
        match &self.options.scaler {
            None => loss.backward()?,
            Some(scaler) => scaler.try_scale(&loss)?.backward()?,
        }
        Ok(made)
    }

    /// Clips what is to be clipped.
    pub(super) fn clip_gradients(&mut self) -> Result<()> {
        let Some(max_norm) = self.options.clip_grad_norm else { return Ok(()) };
        if let Some(scaler) = &mut self.options.scaler {
            scaler.unscale(&*self.optimizer)?;
        }
        clip_grad_norm(&self.optimizer.parameters(), max_norm, 2.0)?;
        Ok(())
    }

    /// Starts to read the sums of this interval, and finishes the report before: by now its sums have arrived.
    async fn report(&mut self, total: u64, per_epoch: u64, clock: &mut Clock) -> Result<bool> {
        let asked = self.finish_report(total, per_epoch, clock).await?;
        self.underway = self.running.take()?.map(|sums| (self.past.step, sums));
        Ok(asked)
    }

    /// Waits for the report that is on its way, if there is one; true if a callback wants to stop.
    async fn finish_report(&mut self, total: u64, per_epoch: u64, clock: &mut Clock) -> Result<bool> {
        let Some((step, underway)) = self.underway.take() else { return Ok(false) };
        let totals = self.combined(underway.finish().await?).await?;
        let totals = totals.map_err(|bad_step| self.diverged(bad_step))?;
        self.past.totals.add(&totals);
        let mut metrics = totals.means("");
        let loss = metrics.remove(0).1;
        self.past.losses.push((step, loss));
        let seconds = clock.training_seconds();
        let steps = (self.past.step - clock.first_step).max(1) as f64;
        let progress = Progress {
            step,
            total_steps: total,
            epoch: (step.saturating_sub(1)) / per_epoch.max(1) + 1,
            loss,
            metrics,
            learning_rate: self.optimizer.learning_rate(),
            samples_per_second: clock.samples_per_second(),
            seconds: clock.before + seconds,
            seconds_left: seconds / steps * total.saturating_sub(step) as f64,
        };
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(path) = self.options.log_file.as_ref().filter(|_| self.writes()) {
            super::log_file::append(path, "step", &progress)?;
        }
        Ok(self.tell(&Event::Logged(&progress)))
    }

    /// The sums of all members, or the first bad step among them.
    async fn combined(
        &self,
        own: std::result::Result<Totals, u64>,
    ) -> Result<std::result::Result<Totals, u64>> {
        match &self.together {
            Some(together) => together.combine(own).await,
            None => Ok(own),
        }
    }

    /// Evaluates, reports, schedules; true if a callback wants to stop, and why the run ends if it does.
    async fn end_epoch<B: 'static>(
        &mut self,
        test: Option<&mut DataLoader<B>>,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
        clock: &mut Clock,
    ) -> Result<(bool, Option<Stop>)> {
        let mut metrics = std::mem::take(&mut self.past.totals).means("");
        if let Some(test) = test {
            let start = Instant::now();
            self.average_statistics().await?;
            metrics.extend(self.evaluate_with_average(test, outcome).await?);
            clock.evaluating += start.elapsed().as_secs_f64();
        }
        self.past.epochs += 1;
        let report = EpochReport { epoch: self.past.epochs, step: self.past.step, metrics };
        if let Some((scheduler, SchedulePer::Epoch)) = &mut self.options.scheduler {
            if let Some(loss) = report.get("test_loss").or(report.get("loss")) {
                scheduler.observe(loss);
            }
            scheduler.step(&mut *self.optimizer);
        }
        let mut stop = None;
        if let Some(stopping) = &mut self.options.early_stopping {
            let Some(value) = report.get(&stopping.metric) else {
                let known: Vec<&str> = report.metrics.iter().map(|(name, _)| name.as_str()).collect();
                let message =
                    format!("there is no metric `{}`; there are {}", stopping.metric, known.join(", "));
                return Err(Error::argument("EarlyStopping", message));
            };
            stop = stopping.observe(value).then_some(Stop::EarlyStopping);
        }
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(path) = self.options.log_file.as_ref().filter(|_| self.writes()) {
            super::log_file::append(path, "epoch", &report)?;
        }
        self.past.history.push(report);
        let report = self.past.history.last().expect("it was just added").clone();
        Ok((self.tell(&Event::EpochEnded(&report)), stop))
    }

    /// Does this member write the files?
    #[cfg(not(target_arch = "wasm32"))]
    fn writes(&self) -> bool {
        self.share().0 == 0
    }

    async fn evaluate_with_average<B: 'static>(
        &mut self,
        test: &mut DataLoader<B>,
        outcome: &mut impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Metrics> {
        if let Some(ema) = &mut self.options.ema {
            ema.apply()?;
        }
        let metrics = self.evaluate(test, outcome).await;
        if let Some(ema) = &mut self.options.ema {
            ema.restore()?;
        }
        metrics
    }

    /// Loss and metrics over an epoch of batches, in evaluation mode, with `test_` before their names. In a group all members
    /// call it, and each takes its share.
    pub async fn evaluate<B: 'static>(
        &self,
        batches: &mut DataLoader<B>,
        mut outcome: impl FnMut(&M, B) -> Result<Outcome>,
    ) -> Result<Metrics> {
        let (rank, size) = self.share();
        if size > 1 {
            batches.set_share(rank, size);
        }
        self.model.eval();
        let mut running = Running::default();
        let mut finished = Ok(());
        while let Some(batch) = batches.next().await? {
            if batches.weight() == 0.0 {
                running.pass_over();
                continue;
            }
            let made = || self.options.as_precisely(|| outcome(&self.model, batch));
            let added = no_grad(|| running.add(&made()?, 0));
            finished = added.and_then(|()| running.evaluate());
            if finished.is_err() {
                break;
            }
        }
        self.model.train();
        finished?;
        match running.take()? {
            None => Err(Error::argument("Trainer::evaluate", "there are no batches")),
            Some(underway) => match self.combined(underway.finish().await?).await? {
                Ok(totals) => Ok(totals.means("test_")),
                Err(_) => Err(Error::Diverged("the loss of the evaluation is not finite".into())),
            },
        }
    }

    /// Tells all callbacks; true if one wants to stop.
    pub(super) fn tell(&mut self, event: &Event) -> bool {
        let wishes = self.options.callbacks.iter_mut().map(|callback| callback(event));
        wishes.fold(false, |stop, flow| stop | (flow == Flow::Stop))
    }

    fn diverged(&self, step: u64) -> Error {
        let kept = match &self.last_saved {
            Some((saved, path)) => format!("the checkpoint of step {saved} is good: {}", path.display()),
            None => "no checkpoint was written before".into(),
        };
        Error::Diverged(format!(
            "the loss of step {step} is not finite; {kept}. Try a lower learning rate or clip the gradients"
        ))
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl<M: Module> Trainer<M> {
    /// Goes on from the newest checkpoint that is whole; returns its step, or none if there are no checkpoints. Damaged
    /// ones are passed over, logged, and told to the callbacks; if all are, that is an error, and the folder stays as it
    /// is. Batches must be set up as they were. In a group rank 0 reads, and tells the others.
    pub async fn resume<B>(&mut self, batches: &mut DataLoader<B>) -> Result<Option<u64>> {
        let device = self.optimizer.parameters()[0].device();
        if !self.writes() {
            return self.resume_as_told(batches, &device).await;
        }
        let found = self.newest(&device);
        if self.share().1 > 1 {
            self.tell_others(&found).await?;
        }
        let Some(found) = found? else { return Ok(None) };
        self.load_states(&found.states, batches)?;
        if let Some(path) = &self.options.log_file {
            super::log_file::cut_after(path, found.step)?;
        }
        self.last_saved = Some((found.step, found.path));
        self.tell(&Event::Resumed(found.step));
        Ok(Some(found.step))
    }

    /// The newest checkpoint that is whole.
    fn newest(&mut self, device: &Device) -> Result<Option<Checkpoint>> {
        let Some((checkpoints, _)) = &self.options.checkpoints else {
            return Err(Error::argument("Trainer::resume", "no checkpoints were set; use with_checkpoints"));
        };
        let folder = checkpoints.folder().to_owned();
        let Latest { checkpoint, skipped } = checkpoints.latest(device)?;
        for (path, error) in &skipped {
            self.tell(&Event::PassedOver(path, error));
        }
        match (checkpoint, skipped.first()) {
            (None, Some((_, newest))) => Err(all_damaged(&folder, skipped.len(), newest)),
            (found, _) => Ok(found),
        }
    }

    fn is_time_to_save(&self) -> bool {
        let every = self.options.checkpoints.as_ref().map(|(_, every)| *every);
        every.is_some_and(|every| self.past.step.is_multiple_of(every))
    }

    /// Writes a checkpoint; true if a callback wants to stop.
    async fn save<B>(&mut self, batches: &DataLoader<B>) -> Result<bool> {
        if self.options.checkpoints.is_none() {
            return Ok(false);
        }
        self.gather_for_checkpoint().await?;
        let Some((checkpoints, _)) = self.options.checkpoints.as_ref().filter(|_| self.writes()) else {
            return Ok(false);
        };
        let states = self.states(batches);
        let parts: Vec<_> = states.iter().map(|(name, state)| (*name, state)).collect();
        let path = checkpoints.save(self.past.step, &parts).await?;
        self.last_saved = Some((self.past.step, path.clone()));
        Ok(self.tell(&Event::Saved(&path)))
    }
}

/// The error of a folder in which no checkpoint is whole: beginning anew would write over what may still be saved.
#[cfg(not(target_arch = "wasm32"))]
fn all_damaged(folder: &Path, count: usize, newest: &Error) -> Error {
    let message = format!(
        "none of the {count} checkpoints is whole, so the run cannot go on, and nothing was changed; the newest: {newest}. \
         Put a good copy in their place, or move them away to begin anew"
    );
    Error::Io { path: folder.display().to_string(), message }
}

#[cfg(target_arch = "wasm32")]
impl<M: Module> Trainer<M> {
    fn is_time_to_save(&self) -> bool {
        false
    }

    async fn save<B>(&mut self, _: &DataLoader<B>) -> Result<bool> {
        Ok(false)
    }
}
