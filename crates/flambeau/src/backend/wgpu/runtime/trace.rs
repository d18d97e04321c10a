//! Tracing: when each kernel began and ended on the GPU, from its own timestamps.
//!
//! While it is on, every kernel is a pass of its own, because a pass is what WebGPU can time. The kernels are the
//! same, the gaps between kernels are a little longer. While it is off, a submission looks at one flag.

use super::buffer_pool::STORAGE_USAGES;
use super::outbox::Times;
use super::queue::Dispatch;
use super::{Runtime, lock};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The work of a kernel, counted when its plan was made. Where one op is several kernels, the first has it all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelWork {
    /// Coordinates it runs over: those of its results, times those that are reduced.
    pub elements: u64,
    /// Multiplications and additions of products and convolutions; one for every other op and element.
    pub flops: u64,
    /// Bytes of its operands and results, each counted once.
    pub bytes: u64,
}

/// One kernel's run on a GPU; see [`Device::take_trace`](crate::Device::take_trace).
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTiming {
    /// The ops it runs, joined by `+`.
    pub name: String,
    /// The run of a plan that it was part of, counted from the beginning of the trace. (Small ones may share a submission.)
    pub submission: usize,
    /// Nanoseconds from the first kernel's beginning to this one's.
    pub start: f64,
    /// Nanoseconds that it took.
    pub duration: f64,
    /// Workgroups in each direction.
    pub groups: [u32; 3],
    /// What it was made to do.
    pub work: KernelWork,
}

/// What a trace has gathered.
#[derive(Default)]
pub(super) struct Tracer {
    on: AtomicBool,
    submissions: Mutex<Vec<Traced>>,
}

/// A submission with two timestamps a kernel.
struct Traced {
    ticks: wgpu::Buffer,
    kernels: Vec<(String, [u32; 3], KernelWork)>,
}

impl Runtime {
    /// Times every kernel from now on; what an earlier trace has gathered is forgotten.
    pub fn start_trace(&self) -> Result<()> {
        self.check()?;
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Err(Error::Unsupported {
                device: self.description.to_string(),
                message: "a trace needs the feature timestamp-query, which this adapter does not have".into(),
            });
        }
        lock(&self.tracer.submissions).clear();
        self.tracer.on.store(true, Relaxed);
        Ok(())
    }

    /// Prepares to time the kernels of a submission, if a trace is on.
    pub(super) fn trace(&self, dispatches: &[Dispatch<'_>]) -> Option<Times> {
        if !self.tracer.on.load(Relaxed) || dispatches.is_empty() {
            return None;
        }
        let count = 2 * dispatches.len() as u32;
        let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("kernel times"),
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        let ticks = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("kernel times"),
            size: u64::from(count) * 8,
            usage: STORAGE_USAGES | wgpu::BufferUsages::QUERY_RESOLVE,
            mapped_at_creation: false,
        });
        let kernel = |dispatch: &Dispatch<'_>| (dispatch.label.to_owned(), dispatch.groups, dispatch.work);
        let kernels = dispatches.iter().map(kernel).collect();
        lock(&self.tracer.submissions).push(Traced { ticks: ticks.clone(), kernels });
        Some(Times { queries, ticks })
    }

    /// Ends the trace: waits for the kernels, and gives their times in the order they were submitted.
    pub async fn take_trace(self: &Arc<Self>) -> Result<Vec<KernelTiming>> {
        self.tracer.on.store(false, Relaxed);
        let submissions = std::mem::take(&mut *lock(&self.tracer.submissions));
        let mut buffers = Vec::with_capacity(submissions.len());
        for traced in &submissions {
            let buffer = self.adopt_buffer(traced.ticks.clone())?;
            let bytes = buffer.bytes();
            buffers.push((buffer, bytes));
        }
        let read = self.read(&buffers).await?;
        let nanoseconds = f64::from(self.queue.get_timestamp_period());
        let ticks = |bytes: &[u8]| -> Vec<u64> { bytemuck::pod_collect_to_vec(bytes) };
        let ticks: Vec<Vec<u64>> = read.iter().map(|bytes| ticks(bytes)).collect();
        let first = ticks.iter().flatten().copied().min().unwrap_or(0);
        let mut timings = Vec::new();
        for (submission, (traced, ticks)) in submissions.into_iter().zip(&ticks).enumerate() {
            for ((name, groups, work), times) in traced.kernels.into_iter().zip(ticks.chunks_exact(2)) {
                timings.push(KernelTiming {
                    name,
                    submission,
                    start: (times[0] - first) as f64 * nanoseconds,
                    duration: times[1].saturating_sub(times[0]) as f64 * nanoseconds,
                    groups,
                    work,
                });
            }
        }
        Ok(timings)
    }
}
