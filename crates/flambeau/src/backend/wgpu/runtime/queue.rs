//! Work for the GPU: submissions of kernels, and writes from the host.

use super::pool::Kind;
use super::trace::KernelWork;
use super::wait::Completion;
use super::{GpuBuffer, Pipeline, Runtime, bind_group, lock};
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

/// How many submissions may be under way when [`Runtime::throttle`] returns.
const SUBMISSIONS_AHEAD: usize = 2;

/// wgpu copies what the host writes, and keeps the copy until a submission is done: larger writes are cut
/// into pieces, and after this many bytes the pieces are submitted.
const UNSUBMITTED_BYTES: usize = 32 << 20;

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

#[derive(Default)]
pub(super) struct Submissions {
    number: u64,
    recent: VecDeque<Completion>,
    unsubmitted_bytes: usize,
}

impl Runtime {
    /// Runs kernels in order, as one encoder, one pass and one `queue.submit`; gives the submission's
    /// number. `uniforms` is the block that the dispatches' uniform ranges point into.
    pub fn submit(self: &Arc<Self>, uniforms: &[u8], dispatches: &[Dispatch<'_>]) -> Result<u64> {
        self.check()?;
        for dispatch in dispatches {
            self.check_dispatch(dispatch, uniforms.len() as u64)?;
        }
        let uniform_block = match uniforms.len() {
            0 => None,
            length => Some(self.allocate(length as u64, Kind::Uniform)?),
        };
        if let Some(block) = &uniform_block {
            write_padded(&self.queue, block.raw(), 0, uniforms);
        }
        let mut encoder = self.device.create_command_encoder(&Default::default());
        match self.trace(dispatches) {
            None => self.encode(&mut encoder, uniform_block.as_ref(), dispatches, None),
            Some(traced) => {
                for (number, dispatch) in dispatches.chunks(1).enumerate() {
                    let timestamps = Some(traced.timestamps(number));
                    self.encode(&mut encoder, uniform_block.as_ref(), dispatch, timestamps);
                }
                self.keep_trace(traced, &mut encoder);
            }
        }
        let commands = encoder.finish();

        let mut submissions = lock(&self.submissions);
        let index = self.submit_commands(&mut submissions, Some(commands));
        submissions.number += 1;
        let number = submissions.number;
        submissions.recent.push_back(self.completion_of(index));
        if submissions.recent.len() > SUBMISSIONS_AHEAD + 1 {
            submissions.recent.pop_front();
        }
        drop(submissions);
        self.counters.dispatches.add(dispatches.len() as u64);
        self.check()?;
        Ok(number)
    }

    /// Returns when at most two submissions are under way.
    pub async fn throttle(&self) -> Result<()> {
        let far_enough_back = {
            let submissions = lock(&self.submissions);
            submissions.recent.front().filter(|_| submissions.recent.len() > SUBMISSIONS_AHEAD).cloned()
        };
        match far_enough_back {
            Some(completion) => self.wait_for(&completion).await,
            None => self.check(),
        }
    }

    /// Has the driver look for work that is done, by submitting nothing.
    pub fn nudge(&self) {
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
        for (piece, start) in bytes.chunks(UNSUBMITTED_BYTES).zip((offset..).step_by(UNSUBMITTED_BYTES)) {
            let mut submissions = lock(&self.submissions);
            write_padded(&self.queue, buffer.raw(), buffer.start() + start, piece);
            submissions.unsubmitted_bytes += piece.len();
            if submissions.unsubmitted_bytes >= UNSUBMITTED_BYTES {
                self.submit_commands(&mut submissions, None);
            }
        }
        self.counters.uploads.add(1);
        self.counters.upload_bytes.add(bytes.len() as u64);
        self.check()
    }

    /// Sets every byte of the buffer to zero.
    pub fn clear(&self, buffer: &GpuBuffer) -> Result<()> {
        self.check()?;
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(buffer.raw(), 0, None);
        let commands = encoder.finish();
        self.submit_commands(&mut lock(&self.submissions), Some(commands));
        self.check()
    }

    /// The only place that submits work.
    pub(super) fn submit_commands(
        &self,
        submissions: &mut Submissions,
        commands: Option<wgpu::CommandBuffer>,
    ) -> wgpu::SubmissionIndex {
        self.counters.submits.add(1);
        submissions.unsubmitted_bytes = 0;
        self.queue.submit(commands)
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

    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        uniform_block: Option<&GpuBuffer>,
        dispatches: &[Dispatch<'_>],
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        let mut bind_groups = lock(&self.bind_groups);
        let mut created_groups = 0;
        let mut current_pipeline = None;
        for dispatch in dispatches {
            let pipeline = dispatch.pipeline;
            let uniform_block = uniform_block.filter(|_| pipeline.has_uniform());
            let uniform_key = uniform_block.map(|block| (block.id(), dispatch.uniform.clone()));
            let key = bind_group::key(
                pipeline.id(),
                uniform_key,
                dispatch.buffers.iter().map(|buffer| bind_group::place(buffer.id(), buffer.start())),
            );
            let (group, created) = bind_groups.get(key, || self.create_bind_group(dispatch, uniform_block));
            created_groups += u64::from(created);
            if self.config.debug {
                pass.push_debug_group(dispatch.label);
            }
            if current_pipeline != Some(pipeline.id()) {
                pass.set_pipeline(pipeline.raw());
                current_pipeline = Some(pipeline.id());
            }
            pass.set_bind_group(0, &group, &[]);
            let [x, y, z] = dispatch.groups;
            pass.dispatch_workgroups(x, y, z);
            if self.config.debug {
                pass.pop_debug_group();
            }
        }
        self.counters.bind_groups_created.add(created_groups);
        self.counters.bind_group_hits.add(dispatches.len() as u64 - created_groups);
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
