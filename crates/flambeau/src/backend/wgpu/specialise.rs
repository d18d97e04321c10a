//! The second tier of kernels: when a plan has proved hot, those of its kernels that gain from it are compiled again with
//! their sizes in the text, on other threads, and take over between two runs. No run waits for them.
//!
//! The same threads keep compiled pipelines on disk, when there is nothing else to do.

use super::compile::CompiledPlan;
use super::runtime::Runtime;
use super::runtime::ending::{self, AtWork};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads at most; one core is left to the thread that trains.
const MAX_THREADS: usize = 8;
/// How long nothing must have been compiled before pipelines are kept on disk.
const QUIET: Duration = Duration::from_millis(300);

/// Compiles for hot plans, and keeps what was compiled.
pub(super) struct Specialiser {
    queue: Arc<Queue>,
    /// Runs of all plans so far.
    runs: AtomicU32,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Queue {
    runtime: Arc<Runtime>,
    state: Mutex<State>,
    /// There is work, or it is time to stop.
    work: Condvar,
    /// A job has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Jobs that are being done.
    running: usize,
    /// Are there pipelines to be kept on disk?
    keep: bool,
    stopped: bool,
}

/// Something to compile, which may lead to more. (Behind a pointer without a type: whoever asks whether a device is `Send`
/// would else have to look through all of a plan and of wgpu.)
struct Job(Box<Work>);

type Work = dyn FnOnce(&Runtime) -> Vec<Job> + Send;

impl Job {
    /// Finds out which pipelines a plan gains from.
    fn for_plan(plan: Arc<CompiledPlan>) -> Job {
        Job(Box::new(move |_| {
            let wanted = plan.gaining();
            wanted.into_iter().map(|kernels| Job::for_kernels(plan.clone(), kernels)).collect()
        }))
    }

    /// Makes a pipeline for kernels of a plan that share it.
    fn for_kernels(plan: Arc<CompiledPlan>, kernels: Vec<usize>) -> Job {
        Job(Box::new(move |runtime| {
            plan.specialise(&kernels, runtime);
            Vec::new()
        }))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Specialiser {
    pub fn new(runtime: &Arc<Runtime>) -> Specialiser {
        let queue = Queue {
            runtime: runtime.clone(),
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
        };
        let queue = Arc::new(queue);
        ending::wait_for(&queue);
        Specialiser { queue, runs: AtomicU32::new(0), threads: Mutex::default() }
    }

    /// Counts a run of a plan; a plan that has become hot is handed over.
    pub fn count_run(&self, plan: &Arc<CompiledPlan>) {
        if !plan.gains {
            return;
        }
        let now = self.runs.fetch_add(1, Relaxed);
        if plan.heat.count(now) {
            lock(&self.queue.state).jobs.push_back(Job::for_plan(plan.clone()));
            self.wake();
        }
    }

    /// Has pipelines that were compiled since kept on disk, soon.
    pub fn keep_pipelines(&self) {
        if self.queue.runtime.has_unkept_pipelines() {
            lock(&self.queue.state).keep = true;
            self.wake();
        }
    }

    /// Waits until nothing is being compiled.
    pub fn wait(&self) {
        self.queue.wait();
    }

    /// Starts the threads if they do not run yet.
    fn wake(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.is_empty() {
            let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
            for number in 0..cores.saturating_sub(1).clamp(1, MAX_THREADS) {
                let queue = self.queue.clone();
                let thread = std::thread::Builder::new().name(format!("flambeau compiler {number}"));
                match thread.spawn(move || queue.work()) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => log::warn!("no thread to compile on: {error}"),
                }
            }
        }
        self.queue.work.notify_one();
    }
}

impl Drop for Specialiser {
    /// Waits for what is being compiled: a driver must not be left while it works.
    fn drop(&mut self) {
        self.queue.stop();
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        self.queue.runtime.keep_pipelines();
    }
}

impl Queue {
    /// Has threads begin nothing more.
    fn stop(&self) {
        let mut state = lock(&self.state);
        state.stopped = true;
        state.jobs.clear();
        drop(state);
        self.work.notify_all();
    }

    fn wait(&self) {
        let mut state = lock(&self.state);
        while !state.jobs.is_empty() || state.running > 0 {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What each thread does until it is stopped.
    fn work(&self) {
        let mut state = lock(&self.state);
        while !state.stopped {
            if let Some(job) = state.jobs.pop_front() {
                state.running += 1;
                drop(state);
                let more = job.0(&self.runtime);
                state = lock(&self.state);
                state.running -= 1;
                state.keep = true;
                if !state.stopped {
                    state.jobs.extend(more);
                }
                self.work.notify_all();
                self.ended.notify_all();
                continue;
            }
            if !state.keep || state.running > 0 {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.work.wait_timeout(state, QUIET).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() && state.keep && state.jobs.is_empty() && state.running == 0 {
                state.keep = false;
                drop(state);
                self.runtime.keep_pipelines();
                state = lock(&self.state);
            }
        }
    }
}

impl AtWork for Queue {
    fn finish(&self) {
        self.stop();
        self.wait();
        self.runtime.finish();
    }
}
