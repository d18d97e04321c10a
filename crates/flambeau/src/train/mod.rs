//! Training runs: the loop with everything around it that a real run needs.
//!
//! [`Trainer`] repeats forward, backward and step over a [`DataLoader`](crate::data::DataLoader), and looks after
//! metrics, logs, schedules, clipping, evaluation, early stopping, checkpoints and resuming. A run that was stopped, or
//! killed, goes on from its newest checkpoint with the same numbers, bit for bit, as if nothing had happened.
//!
//! Losses and metrics are summed on the device and read back a while later, so that the GPU never waits to be looked
//! at. A loss that is not finite ends the run with the number of the step, and is never saved.

mod early_stopping;
#[cfg(not(target_arch = "wasm32"))]
mod log_file;
pub mod metrics;
mod options;
mod outcome;
mod recovery;
mod report;
mod running;
mod state;
mod trainer;

pub use early_stopping::EarlyStopping;
pub use options::SchedulePer;
pub use outcome::Outcome;
pub use recovery::recovering;
pub use report::{EpochReport, Event, Flow, Metrics, Progress, Stop, Summary};
pub use trainer::Trainer;
