//! The second tier of kernels where there are no threads: in a browser, which compiles beside the thread that asks. Each run of a hot
//! plan asks for one pipeline, until there are no more.

use super::compile::CompiledPlan;
use super::runtime::Runtime;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// What hot plans still gain from.
pub(super) struct Specialiser {
    runtime: Arc<Runtime>,
    /// Runs of all plans so far.
    runs: AtomicU32,
    wanted: Mutex<Vec<(Arc<CompiledPlan>, Vec<usize>)>>,
}

impl Specialiser {
    pub fn new(runtime: &Arc<Runtime>) -> Specialiser {
        Specialiser { runtime: runtime.clone(), runs: AtomicU32::new(0), wanted: Mutex::default() }
    }

    /// Counts a run of a plan, and asks for a pipeline of a plan that is hot.
    pub fn count_run(&self, plan: &Arc<CompiledPlan>) {
        if !plan.gains {
            return;
        }
        let is_hot = plan.heat.count(self.runs.fetch_add(1, Relaxed));
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if is_hot {
            wanted.extend(plan.gaining().into_iter().rev().map(|kernels| (plan.clone(), kernels)));
        }
        if let Some((plan, kernels)) = wanted.pop() {
            plan.specialise(&kernels, &self.runtime);
        }
    }

    /// There is nothing to keep: browsers do that themselves.
    pub fn keep_pipelines(&self) {}

    /// Nobody waits here.
    pub fn wait(&self) {}
}
