//! What is on its way to the queue, in order.
//!
//! Encoding and submitting a training step takes wgpu about as long as it takes to describe the next one. So work is
//! handed over: natively a thread of the runtime's own encodes and submits it while the caller goes on. Whoever needs
//! the queue at once (a readback, a count, memory to be freed) first does itself what still waits: the order of the
//! work, and with it every result, is the same with and without the thread. A browser has none.
//!
//! A submission costs the host and the GPU more than a small kernel does. What waits together is therefore submitted
//! together, as a *batch*: small evaluations that come faster than they can be submitted one by one, and a readback with the
//! evaluation it reads.

use super::device_error::DeviceError;
use super::stats::Counters;
use super::wait::Completion;
use super::{lock, wait};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

/// How many submissions may be under way when [`Runtime::throttle`](super::Runtime::throttle) returns.
const SUBMISSIONS_AHEAD: usize = 2;

/// wgpu copies what the host writes, and keeps the copy until a submission is done: after this many bytes, what was
/// written is submitted.
pub(super) const UNSUBMITTED_BYTES: usize = 32 << 20;

/// Work that may wait; who hands over more does some of it.
#[cfg(not(target_arch = "wasm32"))]
const MOST_WAITING: usize = 16;

/// Operations and bytes of a batch that nothing is added to: a submission must neither trip a driver's watchdog nor keep
/// waiting who waits for its first kernel.
const FULL_BATCH: u64 = 1 << 30;

/// Something for the queue to do.
pub(super) enum Work {
    /// Kernels, as one encoder and one `queue.submit`.
    Submit(Submission),
    /// Bytes from the host for a buffer, from this offset on.
    Write(wgpu::Buffer, u64, Vec<u8>),
}

/// A buffer that kernels read their numbers from.
pub(super) struct UniformBlock {
    /// Its number in the pool.
    pub id: u64,
    pub buffer: wgpu::Buffer,
    /// What it must hold first, from this offset on, if that is not there yet.
    pub write: Option<(u64, Vec<u8>)>,
}

/// Kernels that run in order.
pub(super) struct Submission {
    pub uniforms: Option<UniformBlock>,
    pub kernels: Vec<BoundKernel>,
    /// Operations and bytes of all of them.
    pub work: u64,
    /// Where the times of the kernels go, if they are traced.
    pub times: Option<Times>,
}

/// One run of a kernel.
pub(super) struct BoundKernel {
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

/// Bytes to be copied from one buffer to another.
pub(super) struct Copy<'a> {
    pub from: (&'a wgpu::Buffer, u64),
    pub to: (&'a wgpu::Buffer, u64),
    pub bytes: u64,
}

/// Commands that will be one submission.
#[derive(Default)]
struct Batch {
    encoder: Option<wgpu::CommandEncoder>,
    /// Kernels that go to the encoder as one pass: a pass each would cost more than they do.
    kernels: Vec<BoundKernel>,
    /// The uniform blocks that its kernels read: to be written again after it is submitted.
    blocks: SmallVec<[u64; 16]>,
    work: u64,
}

/// The right to use the queue: one at a time, after all work that was handed over before.
#[derive(Default)]
pub(super) struct Turn {
    unsubmitted_bytes: usize,
}

#[derive(Default)]
struct Waiting {
    work: VecDeque<Work>,
    /// The thread waits to be woken.
    #[cfg(not(target_arch = "wasm32"))]
    asleep: bool,
    /// The runtime is gone: no more work comes.
    #[cfg(not(target_arch = "wasm32"))]
    closed: bool,
}

pub(super) struct Outbox {
    device: wgpu::Device,
    queue: wgpu::Queue,
    device_error: Arc<DeviceError>,
    counters: Arc<Counters>,
    waiting: Mutex<Waiting>,
    #[cfg(not(target_arch = "wasm32"))]
    arrived: std::sync::Condvar,
    turn: Mutex<Turn>,
    /// The submissions that [`Outbox::far_enough_back`] looks at.
    recent: Mutex<VecDeque<Completion>>,
    /// Has somebody waited for the GPU since work last came? Then the GPU will soon have none, and waking the thread would
    /// take longer than submitting.
    pub hungry: AtomicBool,
}

impl Outbox {
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        device_error: &Arc<DeviceError>,
        counters: &Arc<Counters>,
    ) -> Arc<Outbox> {
        Arc::new(Outbox {
            device: device.clone(),
            queue: queue.clone(),
            device_error: device_error.clone(),
            counters: counters.clone(),
            waiting: Mutex::default(),
            #[cfg(not(target_arch = "wasm32"))]
            arrived: Default::default(),
            turn: Mutex::default(),
            recent: Mutex::default(),
            hungry: AtomicBool::new(false),
        })
    }

    /// Does what waits. Until the caller lets go of the turn, the queue is its own.
    pub fn turn(&self) -> MutexGuard<'_, Turn> {
        let mut turn = lock(&self.turn);
        let batch = self.perform_waiting(&mut turn);
        self.close(&mut turn, batch);
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
        let mut batch = Batch::default();
        self.perform(&mut turn, &mut batch, work);
        self.close(&mut turn, batch);
    }

    /// Copies after what waits, in one submission with the last of it. `None` after a device error.
    pub fn copy_now(&self, copies: &[Copy]) -> Option<wgpu::SubmissionIndex> {
        let mut turn = lock(&self.turn);
        let mut batch = self.perform_waiting(&mut turn);
        if self.device_error.get().is_some() {
            return None;
        }
        let is_alone = batch.encoder.is_none() && batch.kernels.is_empty();
        self.counters.submits_of_copies.add(u64::from(is_alone));
        let encoder = batch.encoded(&self.device);
        for Copy { from, to, bytes } in copies {
            encoder.copy_buffer_to_buffer(from.0, from.1, to.0, to.1, *bytes);
        }
        self.close(&mut turn, batch)
    }

    /// Does what waits, except for submitting the last batch.
    fn perform_waiting(&self, turn: &mut Turn) -> Batch {
        let mut batch = Batch::default();
        loop {
            let work = std::mem::take(&mut lock(&self.waiting).work);
            if work.is_empty() {
                return batch;
            }
            // What came meanwhile is the next batch: the GPU is not kept waiting for it.
            self.close(turn, std::mem::take(&mut batch));
            for work in work {
                self.perform(turn, &mut batch, work);
            }
        }
    }

    fn perform(&self, turn: &mut Turn, batch: &mut Batch, work: Work) {
        if self.device_error.get().is_some() {
            return;
        }
        match work {
            Work::Submit(submission) => {
                let rewrites = submission
                    .uniforms
                    .as_ref()
                    .is_some_and(|block| block.write.is_some() && batch.blocks.contains(&block.id));
                if rewrites || batch.work > FULL_BATCH {
                    self.close(turn, std::mem::take(batch));
                }
                self.add(batch, submission);
            }
            Work::Write(buffer, offset, bytes) => {
                self.close(turn, std::mem::take(batch));
                self.write(turn, &buffer, offset, &bytes);
            }
        }
    }

    /// Submits a batch, unless there is nothing in it.
    fn close(&self, turn: &mut Turn, mut batch: Batch) -> Option<wgpu::SubmissionIndex> {
        if !batch.kernels.is_empty() {
            batch.encoded(&self.device);
        }
        let index = self.submit(turn, Some(batch.encoder?.finish()));
        let completion = wait::completion_of(&self.queue, index.clone());
        let mut recent = lock(&self.recent);
        recent.push_back(completion);
        if recent.len() > SUBMISSIONS_AHEAD + 1 {
            recent.pop_front();
        }
        Some(index)
    }

    /// The submission to wait for until few enough are under way.
    pub fn far_enough_back(&self) -> Option<Completion> {
        let recent = lock(&self.recent);
        recent.front().filter(|_| recent.len() > SUBMISSIONS_AHEAD).cloned()
    }

    /// The submission that was made last.
    pub fn last(&self) -> Option<Completion> {
        lock(&self.recent).back().cloned()
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

    /// Adds a submission's kernels to a batch.
    fn add(&self, batch: &mut Batch, submission: Submission) {
        let Submission { uniforms, mut kernels, work, times } = submission;
        if let Some(UniformBlock { id, buffer, write }) = uniforms {
            if let Some((offset, bytes)) = write {
                write_padded(&self.queue, &buffer, offset, &bytes);
            }
            batch.blocks.push(id);
        }
        batch.work = batch.work.saturating_add(work);
        match times {
            None if batch.kernels.is_empty() => batch.kernels = kernels,
            None => batch.kernels.append(&mut kernels),
            Some(times) => {
                let encoder = batch.encoded(&self.device);
                for (kernel, first) in kernels.chunks(1).zip((0..).step_by(2)) {
                    let writes = wgpu::ComputePassTimestampWrites {
                        query_set: &times.queries,
                        beginning_of_pass_write_index: Some(first),
                        end_of_pass_write_index: Some(first + 1),
                    };
                    pass(encoder, kernel, Some(writes));
                }
                let count = 2 * kernels.len() as u32;
                encoder.resolve_query_set(&times.queries, 0..count, &times.ticks, 0);
            }
        }
    }
}

impl Batch {
    /// The encoder, with all kernels so far.
    fn encoded(&mut self, device: &wgpu::Device) -> &mut wgpu::CommandEncoder {
        let encoder = self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()));
        let kernels = std::mem::take(&mut self.kernels);
        if !kernels.is_empty() {
            pass(encoder, &kernels, None);
        }
        encoder
    }
}

fn pass(
    encoder: &mut wgpu::CommandEncoder,
    kernels: &[BoundKernel],
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
        let asleep = std::mem::take(&mut waiting.asleep);
        drop(waiting);
        if asleep {
            self.outbox.arrived.notify_one();
        }
        if too_many {
            drop(self.outbox.turn());
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Outbox {
    /// Leaves the work to whoever needs the queue next: the caller is about to.
    pub fn leave(&self, work: Work) {
        lock(&self.waiting).work.push_back(work);
    }

    fn perform_until_closed(&self) {
        loop {
            let mut waiting = lock(&self.waiting);
            while waiting.work.is_empty() && !waiting.closed {
                waiting.asleep = true;
                waiting = self.arrived.wait(waiting).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            waiting.asleep = false;
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
