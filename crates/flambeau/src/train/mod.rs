//! Training runs: the loop with everything around it that a real run needs.
//!
//! [`Trainer`] repeats forward, backward and step over a [`DataLoader`](crate::data::DataLoader), and looks after
//! metrics, logs, schedules, clipping, evaluation, early stopping, checkpoints and resuming. A run that was stopped, or
//! killed, goes on from its newest checkpoint with the same numbers, bit for bit, as if nothing had happened.
//!
//! Losses and metrics are summed on the device and read back a while later, so that the GPU never waits to be looked
//! at. A loss that is not finite ends the run with the number of the step, and is never saved.
//!
//! Several processes, or several adapters of one machine, train one model as a group ([`Trainer::with_group`]): in step, or by
//! themselves with a meeting every hundred steps ([`Trainer::with_diloco`]).

mod compression;
mod diloco;
mod early_stopping;
mod estimate;
mod fitting;
mod judged;
#[cfg(not(target_arch = "wasm32"))]
mod log_file;
pub mod metrics;
mod options;
mod outcome;
mod pieces;
mod recovery;
mod report;
mod running;
mod state;
mod together;
mod trainer;

pub use compression::Compression;
pub use diloco::{Diloco, DilocoOptions};
pub use early_stopping::EarlyStopping;
pub use estimate::Estimate;
pub use fitting::Fitting;
pub use options::SchedulePer;
pub use outcome::Outcome;
pub use recovery::recovering;
pub use report::{EpochReport, Event, Flow, Metrics, Progress, Stop, Summary};
pub use together::GroupSummary;
pub use trainer::Trainer;
