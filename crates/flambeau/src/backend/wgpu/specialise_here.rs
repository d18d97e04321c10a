//! The second tier of kernels where there are no threads: in a browser, which compiles beside the thread that asks. Each run of a hot
//! plan asks for one pipeline, until there are no more, and takes those into use that have arrived. No run waits for them.

use super::compile::{CompiledPlan, Takeover};
use super::runtime::{Arriving, Runtime};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// What hot plans still gain from.
pub(super) struct Specialiser {
    runtime: Arc<Runtime>,
    /// Runs of all plans so far.
    runs: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    wanted: Vec<Kernels>,
    asked: Vec<(Kernels, Arriving, Takeover)>,
}

/// Kernels of a plan that share a pipeline.
struct Kernels {
    plan: Arc<CompiledPlan>,
    numbers: Vec<usize>,
}

impl Specialiser {
    pub fn new(runtime: &Arc<Runtime>) -> Specialiser {
        Specialiser { runtime: runtime.clone(), runs: AtomicU32::new(0), state: Mutex::default() }
    }

    /// Counts a run of a plan, and goes on with the pipelines of plans that are hot.
    pub fn count_run(&self, plan: &Arc<CompiledPlan>) {
        if !plan.gains {
            return;
        }
        let is_hot = plan.heat.count(self.runs.fetch_add(1, Relaxed));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if is_hot || !state.wanted.is_empty() || !state.asked.is_empty() {
            state.go_on(&self.runtime, is_hot.then_some(plan));
        }
    }

    /// There is nothing to keep: browsers do that themselves.
    pub fn keep_pipelines(&self) {}

    /// Nobody waits here.
    pub fn wait(&self) {}
}

impl State {
    /// Takes into use what has arrived, and asks for the next pipeline.
    #[inline(never)] // A page fetches it when a plan is hot.
    fn go_on(&mut self, runtime: &Runtime, hot: Option<&Arc<CompiledPlan>>) {
        if let Some(plan) = hot {
            let gaining = plan.gaining().into_iter().rev();
            self.wanted.extend(gaining.map(|numbers| Kernels { plan: plan.clone(), numbers }));
        }
        self.asked.retain_mut(|(Kernels { plan, numbers }, pipeline, takeover)| {
            let Some(arrived) = pipeline.arrived(runtime) else { return true };
            plan.take_over(numbers, arrived, takeover, runtime);
            false
        });
        let Some(kernels) = self.wanted.pop() else { return };
        let Kernels { plan, numbers } = &kernels;
        let Some((request, takeover)) = plan.specialised(numbers, runtime) else { return };
        match runtime.pipeline_later(request) {
            Ok(pipeline) => self.asked.push((kernels, pipeline, takeover)),
            Err(error) => plan.take_over(numbers, Err(error), &takeover, runtime),
        }
    }
}
