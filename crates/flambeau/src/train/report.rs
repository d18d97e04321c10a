//! What a run tells: while it goes on, after each epoch, and at the end.

use super::fitting::Fitting;
use super::together::GroupSummary;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Metrics by name, in the order they were given.
pub type Metrics = Vec<(String, f64)>;

/// How far a run is. Means are over the steps since the last report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps taken.
    pub step: u64,
    /// Steps the whole run will take.
    pub total_steps: u64,
    /// The epoch, from 1.
    pub epoch: u64,
    /// The mean loss.
    pub loss: f64,
    /// The means of the metrics.
    pub metrics: Metrics,
    /// The learning rate of the next step.
    pub learning_rate: f64,
    /// Samples per second since the run began or was resumed.
    pub samples_per_second: f64,
    /// Seconds of training so far, earlier parts of a resumed run included.
    pub seconds: f64,
    /// Seconds it will still take, if it goes on like this.
    pub seconds_left: f64,
}

/// What an epoch gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// Its number, from 1.
    pub epoch: u64,
    /// Steps taken until its end.
    pub step: u64,
    /// Mean loss and metrics of training, then those of evaluation with `test_` before their names.
    pub metrics: Metrics,
}

impl EpochReport {
    /// A metric by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// What happens during a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A checkpoint is damaged: the run goes on from an older one.
    PassedOver(&'a Path, &'a Error),
    /// The run goes on from a checkpoint of this step.
    Resumed(u64),
    /// The run keeps within its limit of memory like this.
    Fitted(&'a Fitting),
    /// Some steps were taken.
    Logged(&'a Progress),
    /// An epoch has ended.
    EpochEnded(&'a EpochReport),
    /// A checkpoint was written.
    Saved(&'a Path),
}

/// What a callback wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Write a checkpoint and end the run.
    Stop,
}

/// Why a run ended before its last epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A callback said so.
    Asked,
    /// The watched metric no longer improved.
    EarlyStopping,
}

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Every epoch.
    pub history: Vec<EpochReport>,
    /// Mean losses, with the step at the end of each interval.
    pub losses: Vec<(u64, f64)>,
    /// Steps taken, earlier parts of a resumed run included.
    pub steps: u64,
    /// Seconds of training, earlier parts of a resumed run included.
    pub seconds: f64,
    /// Samples per second since the run began or was resumed, without evaluation.
    pub samples_per_second: f64,
    /// Seconds spent waiting for data since the run began or was resumed.
    pub seconds_waiting_for_data: f64,
    /// Why it ended early, if it did.
    pub stopped: Option<Stop>,
    /// What being a member of a group has cost, if it was one.
    pub group: Option<GroupSummary>,
}

impl Summary {
    /// A metric of the last epoch.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.history.last()?.get(name)
    }
}
