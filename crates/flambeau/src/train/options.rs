//! What a run is told beforehand.

use super::early_stopping::EarlyStopping;
use super::report::{Event, Flow};
use super::trainer::Trainer;
use crate::autograd::autocast;
#[cfg(not(target_arch = "wasm32"))]
use crate::io::Checkpoints;
use crate::nn::Module;
use crate::optim::{Ema, GradScaler, Scheduler};
use crate::{Precision, enter_matmul_precision};
#[cfg(not(target_arch = "wasm32"))]
use std::path::PathBuf;

/// When a scheduler moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulePer {
    /// After every step of the optimizer.
    Step,
    /// After every epoch; it is told the test loss, or the training loss where there is no evaluation.
    Epoch,
}

/// A callback.
pub(super) type Callback = Box<dyn FnMut(&Event) -> Flow>;

/// The settings of a run.
pub(super) struct Options {
    pub epochs: u64,
    pub max_steps: Option<u64>,
    pub log_every: u64,
    pub clip_grad_norm: Option<f64>,
    pub accumulation: u64,
    pub scheduler: Option<(Box<dyn Scheduler>, SchedulePer)>,
    pub early_stopping: Option<EarlyStopping>,
    pub ema: Option<Ema>,
    pub scaler: Option<GradScaler>,
    pub precision: Option<Precision>,
    pub memory_limit: Option<u64>,
    pub statistics_by_piece: bool,
    pub callbacks: Vec<Callback>,
    #[cfg(not(target_arch = "wasm32"))]
    pub checkpoints: Option<(Checkpoints, u64)>,
    #[cfg(not(target_arch = "wasm32"))]
    pub log_file: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            epochs: 1,
            max_steps: None,
            log_every: 50,
            clip_grad_norm: None,
            accumulation: 1,
            scheduler: None,
            early_stopping: None,
            ema: None,
            scaler: None,
            precision: None,
            memory_limit: None,
            statistics_by_piece: false,
            callbacks: Vec::new(),
            #[cfg(not(target_arch = "wasm32"))]
            checkpoints: None,
            #[cfg(not(target_arch = "wasm32"))]
            log_file: None,
        }
    }
}

impl Options {
    /// What becomes of a batch, as precisely as it was asked for.
    pub fn as_precisely<T>(&self, body: impl FnOnce() -> T) -> T {
        let _precision = self.precision.map(enter_matmul_precision);
        autocast(self.scaler.is_some(), body)
    }
}

impl<M: Module> Trainer<M> {
    /// How often the data is gone through; once by default.
    #[must_use]
    pub fn with_epochs(mut self, epochs: u64) -> Self {
        self.options.epochs = epochs;
        self
    }

    /// Ends the run after so many steps, whatever the epoch.
    #[must_use]
    pub fn with_max_steps(mut self, steps: u64) -> Self {
        self.options.max_steps = Some(steps);
        self
    }

    /// Steps between two reports of the loss; 50 by default.
    #[must_use]
    pub fn with_log_every(mut self, steps: u64) -> Self {
        self.options.log_every = steps.max(1);
        self
    }

    /// Scales the gradients so that their norm over all parameters is at most this.
    #[must_use]
    pub fn with_clip_grad_norm(mut self, max_norm: f64) -> Self {
        self.options.clip_grad_norm = Some(max_norm);
        self
    }

    /// Adds up the gradients of so many batches before each step of the optimizer.
    #[must_use]
    pub fn with_accumulation(mut self, batches: u64) -> Self {
        self.options.accumulation = batches.max(1);
        self
    }

    /// Keeps the memory of the device where batches are made below so many bytes, if there is a way. Before the first step
    /// several are estimated, in the order of what they cost, and the first that is enough is taken ([`Fitting`](super::Fitting),
    /// [`Event::Fitted`]): batches in pieces whose gradients are added up; for a model in [`OutOfCore`](crate::nn::OutOfCore) also
    /// activations that are computed again, the optimizer's state in host memory, and the parameters there, too. Where nothing is
    /// enough, [`Error::DoesNotFit`](crate::Error::DoesNotFit) has the numbers.
    ///
    /// The mean gradient is that of the whole batch but for rounding. What is drawn (dropout, augmentation) differs from piece to
    /// piece. Models with batch norm are not cut into pieces unless [`with_statistics_by_piece`](Trainer::with_statistics_by_piece)
    /// allows it. Open the device with the same limit to have it enforced: an allocation above it is an error then.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.options.memory_limit = Some(bytes);
        self
    }

    /// Lets batch norm normalise each piece of a batch by itself, where batches are cut to keep within a limit of memory: as if the
    /// batches were that small.
    #[must_use]
    pub fn with_statistics_by_piece(mut self) -> Self {
        self.options.statistics_by_piece = true;
        self
    }

    /// Moves the learning rate.
    #[must_use]
    pub fn with_scheduler(mut self, scheduler: impl Scheduler + 'static, per: SchedulePer) -> Self {
        self.options.scheduler = Some((Box::new(scheduler), per));
        self
    }

    /// Ends the run when a metric no longer improves.
    #[must_use]
    pub fn with_early_stopping(mut self, stopping: EarlyStopping) -> Self {
        self.options.early_stopping = Some(stopping);
        self
    }

    /// Keeps an average of the weights, and evaluates with it.
    #[must_use]
    pub fn with_ema(mut self, ema: Ema) -> Self {
        self.options.ema = Some(ema);
        self
    }

    /// Trains and evaluates in mixed precision: losses are made in a scope of [`autocast`](crate::autograd::autocast), and
    /// scaled by this. The model's parameters stay f32. The device must have f16.
    #[must_use]
    pub fn with_amp(mut self, scaler: GradScaler) -> Self {
        self.options.scaler = Some(scaler);
        self
    }

    /// How precise products of f32 are, forward and backward: losses are made in a scope of
    /// [`matmul_precision`](crate::matmul_precision). Without it, as the device or the process says.
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.options.precision = Some(precision);
        self
    }

    /// Calls this with everything that happens.
    #[must_use]
    pub fn with_callback(mut self, callback: impl FnMut(&Event) -> Flow + 'static) -> Self {
        self.options.callbacks.push(Box::new(callback));
        self
    }

    /// Writes checkpoints every so many steps, at the end of the run, and when it is asked to stop.
    #[cfg(not(target_arch = "wasm32"))]
    #[must_use]
    pub fn with_checkpoints(mut self, checkpoints: Checkpoints, every_steps: u64) -> Self {
        self.options.checkpoints = Some((checkpoints, every_steps.max(1)));
        self
    }

    /// Appends a line of JSON to this file for every report.
    #[cfg(not(target_arch = "wasm32"))]
    #[must_use]
    pub fn with_log_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.log_file = Some(path.into());
        self
    }
}
