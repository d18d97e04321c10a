//! What is on its way to the queue, in order.
//!
//! Encoding and submitting a training step takes wgpu about as long as it takes to describe the next one. So a step is
//! handed over: natively a thread of the runtime's own encodes and submits it while the caller goes on. Whoever needs
//! the queue at once (a readback, a count, memory to be freed) first does itself what still waits: the order of the
//! work, and with it every result and every count, is the same with and without the thread. A browser has none.

use super::fault::Faults;
use super::stats::Counters;
use super::wait::Completion;
use super::{lock, wait};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// How many submissions may be under way when [`Runtime::throttle`](super::Runtime::throttle) returns.
const SUBMISSIONS_AHEAD: usize = 2;

/// wgpu copies what the host writes, and keeps the copy until a submission is done: after this many bytes, what was
/// written is submitted.
pub(super) const UNSUBMITTED_BYTES: usize = 32 << 20;

/// Work that may wait; who hands over more does some of it.
#[cfg(not(target_arch = "wasm32"))]
const MOST_WAITING: usize = 2;

/// Something for the queue to do.
pub(super) enum Work {
    /// Kernels, as one encoder and one `queue.submit`.
    Submit(Submission),
    /// Bytes from the host for a buffer, from this offset on.
    Write(wgpu::Buffer, u64, Vec<u8>),
}

/// Kernels that run in order.
pub(super) struct Submission {
    /// The buffer of the uniform block, and what it holds.
    pub uniforms: Option<(wgpu::Buffer, Vec<u8>)>,
    pub kernels: Vec<Kernel>,
    /// Where the times of the kernels go, if they are traced.
    pub times: Option<Times>,
}

/// One run of a kernel.
pub(super) struct Kernel {
    pub pipeline: wgpu::ComputePipeline,
    pub bindings: wgpu::BindGroup,
    pub groups: [u32; 3],
    /// Its name in graphics debuggers, in debug mode.
    pub label: Option<String>,
}

/// Two timestamps a kernel.
pub(super) struct Times {
    pub queries: wgpu::QuerySet,
    pub ticks: wgpu::Buffer,
}

/// The right to use the queue: one at a time, after all work that was handed over before.
#[derive(Default)]
pub(super) struct Turn {
    unsubmitted_bytes: usize,
}

#[derive(Default)]
struct Waiting {
    work: VecDeque<Work>,
    /// The runtime is gone: no more work comes.
    #[cfg(not(target_arch = "wasm32"))]
    closed: bool,
}

pub(super) struct Outbox {
    device: wgpu::Device,
    queue: wgpu::Queue,
    faults: Arc<Faults>,
    counters: Arc<Counters>,
    waiting: Mutex<Waiting>,
    #[cfg(not(target_arch = "wasm32"))]
    arrived: std::sync::Condvar,
    turn: Mutex<Turn>,
    /// The submissions that [`Outbox::far_enough_back`] looks at.
    recent: Mutex<VecDeque<Completion>>,
}

impl Outbox {
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        faults: &Arc<Faults>,
        counters: &Arc<Counters>,
    ) -> Arc<Outbox> {
        Arc::new(Outbox {
            device: device.clone(),
            queue: queue.clone(),
            faults: faults.clone(),
            counters: counters.clone(),
            waiting: Mutex::default(),
            #[cfg(not(target_arch = "wasm32"))]
            arrived: Default::default(),
            turn: Mutex::default(),
            recent: Mutex::default(),
        })
    }

    /// Does what waits. Until the caller lets go of the turn, the queue is its own.
    pub fn turn(&self) -> MutexGuard<'_, Turn> {
        let mut turn = lock(&self.turn);
        while let Some(work) = self.next() {
            self.perform(&mut turn, work);
        }
        turn
    }

    /// The turn, if there is nothing to wait for.
    pub fn free_turn(&self) -> Option<MutexGuard<'_, Turn>> {
        let turn = self.turn.try_lock().ok()?;
        lock(&self.waiting).work.is_empty().then_some(turn)
    }

    /// Does the work after what waits.
    pub fn perform_now(&self, work: Work) {
        let mut turn = self.turn();
        self.perform(&mut turn, work);
    }

    fn next(&self) -> Option<Work> {
        lock(&self.waiting).work.pop_front()
    }

    fn perform(&self, turn: &mut Turn, work: Work) {
        if self.faults.get().is_some() {
            return;
        }
        match work {
            Work::Submit(submission) => {
                let commands = self.encode(&submission);
                let index = self.submit(turn, Some(commands));
                let completion = wait::completion_of(&self.queue, index);
                let mut recent = lock(&self.recent);
                recent.push_back(completion);
                if recent.len() > SUBMISSIONS_AHEAD + 1 {
                    recent.pop_front();
                }
            }
            Work::Write(buffer, offset, bytes) => self.write(turn, &buffer, offset, &bytes),
        }
    }

    /// The submission to wait for until few enough are under way.
    pub fn far_enough_back(&self) -> Option<Completion> {
        let recent = lock(&self.recent);
        recent.front().filter(|_| recent.len() > SUBMISSIONS_AHEAD).cloned()
    }

    /// The only place that submits work.
    pub fn submit(&self, turn: &mut Turn, commands: Option<wgpu::CommandBuffer>) -> wgpu::SubmissionIndex {
        self.counters.submits.add(1);
        turn.unsubmitted_bytes = 0;
        self.queue.submit(commands)
    }

    /// Writes bytes of any number at an offset that is a multiple of 4.
    pub fn write(&self, turn: &mut Turn, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
        write_padded(&self.queue, buffer, offset, bytes);
        turn.unsubmitted_bytes += bytes.len();
        if turn.unsubmitted_bytes >= UNSUBMITTED_BYTES {
            self.submit(turn, None);
        }
    }

    fn encode(&self, submission: &Submission) -> wgpu::CommandBuffer {
        if let Some((block, bytes)) = &submission.uniforms {
            write_padded(&self.queue, block, 0, bytes);
        }
        let mut encoder = self.device.create_command_encoder(&Default::default());
        match &submission.times {
            None => pass(&mut encoder, &submission.kernels, None),
            Some(times) => {
                for (kernel, first) in submission.kernels.chunks(1).zip((0..).step_by(2)) {
                    let writes = wgpu::ComputePassTimestampWrites {
                        query_set: &times.queries,
                        beginning_of_pass_write_index: Some(first),
                        end_of_pass_write_index: Some(first + 1),
                    };
                    pass(&mut encoder, kernel, Some(writes));
                }
                let count = 2 * submission.kernels.len() as u32;
                encoder.resolve_query_set(&times.queries, 0..count, &times.ticks, 0);
            }
        }
        encoder.finish()
    }
}

fn pass(
    encoder: &mut wgpu::CommandEncoder,
    kernels: &[Kernel],
    timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
) {
    let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
    let mut pass = encoder.begin_compute_pass(&descriptor);
    let mut current = None;
    for kernel in kernels {
        if let Some(label) = &kernel.label {
            pass.push_debug_group(label);
        }
        if current != Some(&kernel.pipeline) {
            pass.set_pipeline(&kernel.pipeline);
            current = Some(&kernel.pipeline);
        }
        pass.set_bind_group(0, &kernel.bindings, &[]);
        let [x, y, z] = kernel.groups;
        pass.dispatch_workgroups(x, y, z);
        if kernel.label.is_some() {
            pass.pop_debug_group();
        }
    }
}

/// Writes bytes of any number: wgpu takes multiples of 4 only.
fn write_padded(queue: &wgpu::Queue, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
    let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % 4);
    if !whole.is_empty() {
        queue.write_buffer(buffer, offset, whole);
    }
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        queue.write_buffer(buffer, offset + whole.len() as u64, &word);
    }
}

/// The thread that does the work handed over to it. Dropped, it finishes what waits.
#[cfg(not(target_arch = "wasm32"))]
pub(super) struct Submitter {
    outbox: Arc<Outbox>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[cfg(not(target_arch = "wasm32"))]
impl Submitter {
    /// None where the system has no thread to give.
    pub fn start(outbox: &Arc<Outbox>) -> Option<Submitter> {
        let own = outbox.clone();
        let thread = std::thread::Builder::new().name("flambeau-submit".into());
        let thread = thread.spawn(move || own.perform_until_closed()).ok();
        thread.map(|thread| Submitter { outbox: outbox.clone(), thread: Some(thread) })
    }

    /// Leaves the work to the thread.
    pub fn hand_over(&self, work: Work) {
        let mut waiting = lock(&self.outbox.waiting);
        waiting.work.push_back(work);
        let too_many = waiting.work.len() > MOST_WAITING;
        drop(waiting);
        self.outbox.arrived.notify_one();
        if too_many {
            drop(self.outbox.turn());
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Outbox {
    fn perform_until_closed(&self) {
        loop {
            let waiting = self
                .arrived
                .wait_while(lock(&self.waiting), |waiting| waiting.work.is_empty() && !waiting.closed)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let closed = waiting.closed;
            drop(waiting);
            drop(self.turn());
            if closed {
                return;
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Submitter {
    fn drop(&mut self) {
        lock(&self.outbox.waiting).closed = true;
        self.outbox.arrived.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            log::error!("the thread that submits work panicked");
        }
    }
}
