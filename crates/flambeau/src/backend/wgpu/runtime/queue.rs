//! Work for the GPU: submissions of kernels, and writes from the host.

#[cfg(not(target_arch = "wasm32"))]
use super::outbox::Submitter;
use super::outbox::{Kernel, Submission, UNSUBMITTED_BYTES, Work};
use super::pool::Kind;
use super::trace::KernelWork;
use super::{GpuBuffer, Pipeline, Runtime, bind_group, lock};
use crate::error::{Error, Result};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

/// Larger writes from the host wait for the queue instead of being copied.
const LARGEST_WAITING_WRITE: usize = 1 << 20;

/// One run of a kernel.
pub(crate) struct Dispatch<'a> {
    /// The kernel.
    pub pipeline: &'a Arc<Pipeline>,
    /// Its buffers in the order of its bindings, without the uniform one.
    pub buffers: &'a [&'a Arc<GpuBuffer>],
    /// Its part of the submission's uniform block, with the start aligned to 256 bytes; not looked at
    /// when the kernel has no uniform binding.
    pub uniform: Range<u64>,
    /// The number of workgroups.
    pub groups: [u32; 3],
    /// Its name in graphics debuggers and errors.
    pub label: &'a str,
    /// What a trace says of it.
    pub work: KernelWork,
}

impl Runtime {
    /// Runs kernels in order, as one encoder, one pass and one `queue.submit`. `uniforms` is the block that the
    /// dispatches' uniform ranges point into. With `later`, the call may return before the queue is called; what
    /// is asked of the runtime afterwards comes after it all the same.
    pub fn submit(
        self: &Arc<Self>,
        uniforms: Vec<u8>,
        dispatches: &[Dispatch<'_>],
        later: bool,
    ) -> Result<()> {
        self.check()?;
        for dispatch in dispatches {
            self.check_dispatch(dispatch, uniforms.len() as u64)?;
        }
        let uniform_block = match uniforms.len() {
            0 => None,
            length => Some(self.allocate(length as u64, Kind::Uniform)?),
        };
        let kernels = self.kernels(uniform_block.as_ref(), dispatches);
        let times = self.trace(dispatches);
        let uniforms = uniform_block.as_ref().map(|block| (block.raw().clone(), uniforms));
        self.perform(Work::Submit(Submission { uniforms, kernels, times }), later && !self.config.debug);
        self.counters.dispatches.add(dispatches.len() as u64);
        self.check()
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn perform(&self, work: Work, later: bool) {
        let submitter = || self.submitter.get_or_init(|| Submitter::start(&self.outbox)).as_ref();
        match later.then(submitter).flatten() {
            Some(submitter) => submitter.hand_over(work),
            None => self.outbox.perform_now(work),
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn perform(&self, work: Work, _later: bool) {
        self.outbox.perform_now(work);
    }

    /// Returns when at most two submissions are under way.
    pub async fn throttle(&self) -> Result<()> {
        match self.outbox.far_enough_back() {
            Some(completion) => self.wait_for(&completion).await,
            None => self.check(),
        }
    }

    /// Has the driver look for work that is done, by submitting nothing.
    pub fn nudge(&self) {
        let _turn = self.outbox.turn();
        if self.error().is_none() {
            self.queue.submit([]);
        }
    }

    /// A buffer that holds `bytes`, padded with zeros to a multiple of 4.
    pub fn upload(self: &Arc<Self>, bytes: &[u8]) -> Result<Arc<GpuBuffer>> {
        let buffer = self.alloc(bytes.len() as u64)?;
        self.write(&buffer, 0, bytes)?;
        Ok(buffer)
    }

    /// Writes `bytes`, padded with zeros to a multiple of 4, at an `offset` that is one.
    pub fn write(&self, buffer: &GpuBuffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.check()?;
        let end =
            offset.saturating_add(bytes.len() as u64).checked_next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
        if !offset.is_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
            || end.is_none_or(|end| end > buffer.capacity())
        {
            return Err(Error::Gpu(format!(
                "{} bytes do not fit at offset {offset} of {buffer:?}",
                bytes.len()
            )));
        }
        let offset = buffer.start() + offset;
        match self.outbox.free_turn() {
            None if bytes.len() <= LARGEST_WAITING_WRITE => {
                self.perform(Work::Write(buffer.raw().clone(), offset, bytes.to_vec()), true);
            }
            free => {
                let mut turn = free.unwrap_or_else(|| self.outbox.turn());
                let starts = (offset..).step_by(UNSUBMITTED_BYTES);
                for (piece, start) in bytes.chunks(UNSUBMITTED_BYTES).zip(starts) {
                    self.outbox.write(&mut turn, buffer.raw(), start, piece);
                }
            }
        }
        self.counters.uploads.add(1);
        self.counters.upload_bytes.add(bytes.len() as u64);
        self.check()
    }

    /// Copies the first bytes of a buffer to another, after all work so far.
    pub fn copy(&self, from: &GpuBuffer, to: &GpuBuffer, bytes: u64) -> Result<()> {
        self.check()?;
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from.raw(), from.start(), to.raw(), to.start(), bytes);
        let commands = encoder.finish();
        self.outbox.submit(&mut self.outbox.turn(), Some(commands));
        self.check()
    }

    fn check_dispatch(&self, dispatch: &Dispatch<'_>, uniform_bytes: u64) -> Result<()> {
        let Dispatch { pipeline, buffers, uniform, groups, label, .. } = dispatch;
        let limit = self.limits.max_compute_workgroups_per_dimension;
        if let Some(excess) = groups.iter().find(|count| **count > limit) {
            return Err(Error::Limit {
                what: format!("a number of workgroups of kernel {label}"),
                requested: (*excess).into(),
                limit_name: "maxComputeWorkgroupsPerDimension",
                limit: limit.into(),
            });
        }
        if buffers.len() != pipeline.buffers() {
            let (given, bound) = (buffers.len(), pipeline.buffers());
            return Err(Error::Gpu(format!("{label}: {given} buffers given to a kernel that binds {bound}")));
        }
        if !pipeline.has_uniform() {
            return Ok(());
        }
        let alignment = u64::from(self.limits.min_uniform_buffer_offset_alignment);
        if uniform.is_empty() || uniform.end > uniform_bytes || !uniform.start.is_multiple_of(alignment) {
            return Err(Error::Gpu(format!(
                "{label}: the uniform range {uniform:?} is empty, not aligned to {alignment}, or outside its \
                 block of {uniform_bytes} bytes"
            )));
        }
        let limit = self.limits.max_uniform_buffer_binding_size;
        if uniform.end - uniform.start > limit {
            return Err(Error::Limit {
                what: format!("the size of the uniforms of kernel {label}"),
                requested: uniform.end - uniform.start,
                limit_name: "maxUniformBufferBindingSize",
                limit,
            });
        }
        Ok(())
    }

    /// The kernels with their bind groups, from the cache where they have been bound so before.
    fn kernels(&self, uniform_block: Option<&GpuBuffer>, dispatches: &[Dispatch<'_>]) -> Vec<Kernel> {
        let mut bind_groups = lock(&self.bind_groups);
        let mut created_groups = 0;
        let mut kernels = Vec::with_capacity(dispatches.len());
        for dispatch in dispatches {
            let pipeline = dispatch.pipeline;
            let uniform_block = uniform_block.filter(|_| pipeline.has_uniform());
            let uniform_key = uniform_block.map(|block| (block.id(), dispatch.uniform.clone()));
            let key = bind_group::key(
                pipeline.id(),
                uniform_key,
                dispatch.buffers.iter().flat_map(|buffer| bind_group::place(buffer)),
            );
            let (bindings, created) =
                bind_groups.get(key, || self.create_bind_group(dispatch, uniform_block));
            created_groups += u64::from(created);
            let label = self.config.debug.then(|| dispatch.label.to_owned());
            kernels.push(Kernel {
                pipeline: pipeline.raw().clone(),
                bindings,
                groups: dispatch.groups,
                label,
            });
        }
        self.counters.bind_groups_created.add(created_groups);
        self.counters.bind_group_hits.add(dispatches.len() as u64 - created_groups);
        kernels
    }

    fn create_bind_group(
        &self,
        dispatch: &Dispatch<'_>,
        uniform_block: Option<&GpuBuffer>,
    ) -> wgpu::BindGroup {
        let storage = dispatch.buffers.iter().map(|buffer| buffer.binding());
        let uniform = uniform_block.map(|block| {
            wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: block.raw(),
                offset: dispatch.uniform.start,
                size: NonZeroU64::new(dispatch.uniform.end - dispatch.uniform.start),
            })
        });
        let entries: Vec<_> = storage
            .chain(uniform)
            .zip(0..)
            .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(dispatch.label),
            layout: dispatch.pipeline.layout(),
            entries: &entries,
        })
    }
}
