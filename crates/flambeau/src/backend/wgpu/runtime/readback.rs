//! Reading buffers back: any number of them with one submission, one staging buffer and one wait.

use super::buffer_pool::Kind;
use super::outbox::Copy;
use super::wait::Signal;
use super::{GpuBuffer, Runtime};
use crate::error::{Error, Result};
use crate::memory::MemoryStrategy;
use std::ops::Range;
use std::sync::Arc;

/// Larger staging buffers are not kept for the next readback.
const LARGEST_KEPT_STAGING: u64 = 16 << 20;

type Mapped = std::result::Result<(), wgpu::BufferAsyncError>;

/// A readback under way. Dropped before its end, it destroys its staging buffer, which may be mapped.
struct Readback {
    staging: GpuBuffer,
    parts: Vec<Range<usize>>,
    submission: wgpu::SubmissionIndex,
    mapped: Arc<Signal<Mapped>>,
}

impl Runtime {
    /// Copies the first bytes of each buffer to the host, as they are after all work submitted so far.
    ///
    /// The copy is submitted by the call itself; the future waits for it (natively by blocking when it is
    /// polled). A device error at any time before the end is an error.
    pub fn read(
        self: &Arc<Self>,
        what: &[(Arc<GpuBuffer>, u64)],
    ) -> impl Future<Output = Result<Vec<Vec<u8>>>> + use<> {
        let readback = self.start_readback(what);
        let buffers = what.len();
        async move {
            match readback? {
                Some(readback) => readback.finish().await,
                None => Ok(vec![Vec::new(); buffers]),
            }
        }
    }

    /// Submits the copies; `None` when there is nothing to copy.
    fn start_readback(self: &Arc<Self>, what: &[(Arc<GpuBuffer>, u64)]) -> Result<Option<Readback>> {
        self.check()?;
        let mut parts = Vec::with_capacity(what.len());
        let mut total = 0;
        for (buffer, bytes) in what {
            if *bytes > buffer.capacity() {
                return Err(Error::Gpu(format!("{bytes} bytes cannot be read from {buffer:?}")));
            }
            parts.push(total as usize..(total + bytes) as usize);
            total += padded(*bytes);
        }
        if total == 0 {
            return Ok(None);
        }
        let mut staging = self.allocate(total, Kind::Staging)?;
        staging.set_reusable(false);
        let copies: Vec<Copy> = what
            .iter()
            .zip(&parts)
            .filter(|((_, bytes), _)| *bytes > 0)
            .map(|((buffer, bytes), part)| Copy {
                from: (buffer.raw(), buffer.start()),
                to: (staging.raw(), part.start as u64),
                bytes: padded(*bytes),
            })
            .collect();
        let submission = self.outbox.copy_now(&copies);
        self.check()?;
        let submission = submission.ok_or_else(|| Error::Gpu("a readback was not submitted".into()))?;
        self.counters.readbacks.add(1);
        let mapped = Signal::new();
        let callback = mapped.clone();
        staging.raw().map_async(wgpu::MapMode::Read, 0..total, move |result| callback.set(result));
        Ok(Some(Readback { staging, parts, submission, mapped }))
    }
}

impl Readback {
    async fn finish(mut self) -> Result<Vec<Vec<u8>>> {
        let runtime = self.staging.runtime().clone();
        let mapped = runtime.wait_for_signal(self.submission, &self.mapped).await?;
        mapped.map_err(|error| Error::Gpu(error.to_string()))?;
        let view = self
            .staging
            .raw()
            .get_mapped_range(..self.staging.bytes())
            .map_err(|error| Error::Gpu(error.to_string()))?;
        let values = self.parts.into_iter().map(|part| view[part].to_vec()).collect();
        drop(view);
        self.staging.raw().unmap();
        let keeps = runtime.config().memory_strategy != MemoryStrategy::Exact;
        self.staging.set_reusable(keeps && self.staging.capacity() <= LARGEST_KEPT_STAGING);
        runtime.check()?;
        Ok(values)
    }
}

/// Copies between buffers are of whole words.
fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
}
