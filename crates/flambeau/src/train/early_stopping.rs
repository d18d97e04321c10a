//! Stops a run that no longer improves.

/// Ends a run when a metric has not improved for some epochs.
///
/// ```
/// use flambeau::train::EarlyStopping;
/// let mut stopping = EarlyStopping::new("test_loss", 2);
/// let losses = [1.0, 0.5, 0.6, 0.55];
/// assert_eq!(losses.map(|loss| stopping.observe(loss)), [false, false, false, true]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EarlyStopping {
    pub(super) metric: String,
    patience: usize,
    /// By how much a value must be better to count.
    min_delta: f64,
    larger_is_better: bool,
    pub(super) best: Option<f64>,
    pub(super) epochs_without: usize,
}

impl EarlyStopping {
    /// Watches `loss`, `test_loss` or a metric such as `test_accuracy`; what ends in `loss` shall fall, all else shall
    /// rise. Stops after `patience` epochs without improvement.
    pub fn new(metric: impl Into<String>, patience: usize) -> EarlyStopping {
        let metric = metric.into();
        let larger_is_better = !metric.ends_with("loss");
        EarlyStopping { metric, patience, min_delta: 0.0, larger_is_better, best: None, epochs_without: 0 }
    }

    /// How much better a value must be to count as an improvement.
    #[must_use]
    pub fn with_min_delta(mut self, min_delta: f64) -> EarlyStopping {
        self.min_delta = min_delta;
        self
    }

    /// Says whether smaller values are better, whatever the metric's name.
    #[must_use]
    pub fn falling(mut self, falling: bool) -> EarlyStopping {
        self.larger_is_better = !falling;
        self
    }

    /// Takes an epoch's value; true when it is time to stop.
    pub fn observe(&mut self, value: f64) -> bool {
        let better = self.best.is_none_or(|best| match self.larger_is_better {
            true => value > best + self.min_delta,
            false => value < best - self.min_delta,
        });
        if better {
            (self.best, self.epochs_without) = (Some(value), 0);
        } else {
            self.epochs_without += 1;
        }
        self.epochs_without >= self.patience
    }
}
