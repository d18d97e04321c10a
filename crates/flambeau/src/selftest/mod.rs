//! The library's own test suite, made from the op table: every primitive on a device, against the f64 interpreter.
//!
//! It is part of the library, not of its tests, so that the same suite runs natively, in a browser and on the
//! self-test page of an application: [`op_suite`] for the ops one by one, [`random_graphs`] for what they become
//! when the planner fuses them, [`training_curve`] for a run of which every loss must be the same everywhere.
//!
//! - `elementwise`, `views`, `reductions`, `rows`, `gather`: the cases of what fused kernels are made of; structured primitives
//!   bring theirs along (`op::case` says what a case is);
//! - `input`: how inputs are made and laid out;
//! - `errors`: calls that must be refused;
//! - `check`: how a case is judged; `batched`: how one is in a batch;
//! - `random_graph`: random graphs, their judgement and their shrinking;
//! - `training`: the run that is the same everywhere.

mod batched;
mod check;
#[cfg(test)]
mod completeness;
mod elementwise;
mod errors;
mod gather;
mod input;
mod primitives;
mod random_graph;
mod reductions;
mod rows;
mod training;
mod views;

pub use crate::op::case::{Case, Input, Layout, Values};
pub use primitives::primitives;
pub use random_graph::RandomGraph;
pub use training::training_curve;

use crate::device::Device;
use crate::op::SAMPLES;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// Every case of the suite.
///
/// ```
/// let cases = flambeau::selftest::cases();
/// assert!(cases.iter().any(|case| case.name == "sum f32 [2, 3, 4] over [0, 2]"));
/// ```
pub fn cases() -> Vec<Case> {
    elementwise::cases().into_iter().chain(structured_cases()).collect()
}

/// Cases that still have every op in every dtype, but not each elementwise op with each layout and shape: for places
/// where compiling a shader takes long.
///
/// ```
/// use flambeau::selftest::{cases, essential_cases};
/// assert!(essential_cases().len() < cases().len());
/// ```
pub fn essential_cases() -> Vec<Case> {
    elementwise::essential().into_iter().chain(structured_cases()).collect()
}

/// The cases of everything that is not elementwise.
fn structured_cases() -> impl Iterator<Item = Case> {
    let fused = [views::cases(), reductions::cases(), rows::cases(), gather::cases()];
    fused.into_iter().flatten().chain(SAMPLES.iter().flat_map(|samples| samples()))
}

/// How one case or one graph went.
#[derive(Debug, Clone, Default)]
pub struct CaseReport {
    /// The case's name.
    pub name: String,
    /// The kind of op: the case's group.
    pub group: &'static str,
    /// The primitives its graphs were made of.
    pub ops: BTreeSet<&'static str>,
    /// Comparisons made.
    pub checks: usize,
    /// What was wrong, in words; empty when all is well.
    pub failures: Vec<String>,
    /// The device does not take a dtype of the case: nothing was compared.
    pub skipped: bool,
}

/// How a suite went.
#[derive(Debug, Clone, Default)]
pub struct SuiteReport {
    /// The device's name.
    pub device: String,
    /// The primitives that ran.
    pub ops: BTreeSet<&'static str>,
    /// Cases that ran.
    pub cases: usize,
    /// Cases of dtypes the device does not take.
    pub skipped: usize,
    /// Comparisons made.
    pub checks: usize,
    /// What was wrong, each with the name of its case.
    pub failures: Vec<String>,
}

impl SuiteReport {
    fn on(device: &Device) -> SuiteReport {
        SuiteReport { device: device.name(), ..Default::default() }
    }

    fn take(&mut self, report: &CaseReport) {
        self.ops.extend(&report.ops);
        self.cases += usize::from(!report.skipped);
        self.skipped += usize::from(report.skipped);
        self.checks += report.checks;
        self.failures.extend(report.failures.iter().map(|failure| format!("{}: {failure}", report.name)));
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SuiteReport { device, ops, cases, checks, failures, .. } = self;
        write!(f, "{device}: {} ops in {cases} cases = {checks} checks, ", ops.len())?;
        match failures.len() {
            0 => f.write_str("all passed"),
            count => write!(f, "{count} failed"),
        }
    }
}

/// Runs cases on a device: forward and gradients in f32 (and the other dtypes forward) against the
/// interpreter, refusals of wrong arguments, and on the CPU finite differences of first and second order in f64.
///
/// ```no_run
/// # use flambeau::prelude::*;
/// # async fn example() {
/// let report = flambeau::selftest::op_suite(&Device::cpu(), flambeau::selftest::cases(), |_| ()).await;
/// assert_eq!(report.failures, Vec::<String>::new());
/// # }
/// ```
pub async fn op_suite(
    device: &Device,
    cases: Vec<Case>,
    mut progress: impl FnMut(&CaseReport),
) -> SuiteReport {
    let mut report = SuiteReport::on(device);
    let truth = Device::for_interpreter();
    for case in cases {
        let result = check::run(&case, device, &truth).await;
        progress(&result);
        report.take(&result);
    }
    let refused = errors::run(device, &truth);
    progress(&refused);
    report.take(&refused);
    report
}

/// Runs cases on a device for a batch of samples at once ([`func::vmap`](crate::func::vmap)) and for one after the other; values and
/// gradients must agree.
///
/// ```
/// # use flambeau::prelude::*;
/// # pollster::block_on(async {
/// let mut cases = flambeau::selftest::cases();
/// cases.truncate(3);
/// let report = flambeau::selftest::batched_suite(&Device::cpu(), cases, |_| ()).await;
/// assert_eq!((report.cases, report.failures.len()), (3, 0));
/// # });
/// ```
pub async fn batched_suite(
    device: &Device,
    cases: Vec<Case>,
    mut progress: impl FnMut(&CaseReport),
) -> SuiteReport {
    let mut report = SuiteReport::on(device);
    for case in cases {
        let result = batched::run(&case, device).await;
        progress(&result);
        report.take(&result);
    }
    report
}

/// Runs random graphs, forward and backward, on a device against the interpreter; one per seed.
///
/// ```
/// # use flambeau::prelude::*;
/// # pollster::block_on(async {
/// let report = flambeau::selftest::random_graphs(&Device::cpu(), 0..3, |_| ()).await;
/// assert_eq!((report.cases, report.failures.len()), (3, 0));
/// # });
/// ```
pub async fn random_graphs(
    device: &Device,
    seeds: Range<u64>,
    mut progress: impl FnMut(&CaseReport),
) -> SuiteReport {
    let mut report = SuiteReport::on(device);
    let truth = Device::for_interpreter();
    for seed in seeds {
        let result = RandomGraph::new(seed).run(device, &truth).await;
        progress(&result);
        report.take(&result);
    }
    report
}
