//! The switch between training and evaluation, which dropout and batch norm look at.

use std::sync::atomic::{AtomicBool, Ordering};

/// Is the layer that holds this training? It begins so; `module.eval()` and `module.train()` switch every one.
///
/// ```
/// use flambeau::nn::Mode;
/// let mode = Mode::default();
/// assert!(mode.is_training());
/// mode.set_training(false);
/// assert!(!mode.is_training());
/// ```
#[derive(Debug)]
pub struct Mode(AtomicBool);

impl Default for Mode {
    fn default() -> Mode {
        Mode(AtomicBool::new(true))
    }
}

impl Mode {
    /// Is it training?
    pub fn is_training(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Switches to training or evaluation.
    pub fn set_training(&self, training: bool) {
        self.0.store(training, Ordering::Relaxed);
    }
}
