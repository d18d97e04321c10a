//! Work for the GPU: submissions of kernels, and writes from the host.

use super::buffer_pool::Kind;
#[cfg(not(target_arch = "wasm32"))]
use super::outbox::Submitter;
use super::outbox::{BoundKernel, Copy, Submission, UNSUBMITTED_BYTES, UniformBlock, Work};
use super::trace::KernelWork;
use super::{GpuBuffer, Pipeline, Runtime, bind_group, lock};
use crate::error::{Error, Result};
use crate::host::mapped_with;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Larger writes from the host wait for the queue instead of being copied.
const LARGEST_WAITING_WRITE: usize = 1 << 20;

/// Bind groups that a thread makes, at least: waking another takes as long as making some.
const FEWEST_BIND_GROUPS: usize = 24;

/// When the queue is called for some work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the call returns.
    Now,
    /// By the runtime's own thread, while the caller goes on.
    Soon,
    /// With what is asked of the queue next, which the caller is about to do.
    WithNext,
}

/// Numbers for kernels.
pub(crate) enum Uniforms<'a> {
    /// Those of one submission.
    Once(Vec<u8>),
    /// Those in a block of the caller's, and what is new in it: bytes from this offset on.
    Kept(&'a GpuBuffer, Option<(u64, Vec<u8>)>),
}

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
    /// Runs kernels in order, in one compute pass; `uniforms` are what the dispatches' uniform ranges point into. What is
    /// asked of the runtime afterwards comes after it, whenever the queue is called.
    pub fn submit(
        self: &Arc<Self>,
        uniforms: Uniforms<'_>,
        dispatches: &[Dispatch<'_>],
        when: When,
    ) -> Result<()> {
        self.check()?;
        let new_block;
        let (block, write) = match uniforms {
            Uniforms::Once(bytes) if bytes.is_empty() => (None, None),
            Uniforms::Once(bytes) => {
                new_block = self.uniform_block(bytes.len())?;
                (Some(&new_block), Some((0, bytes)))
            }
            Uniforms::Kept(block, write) => (Some(block), write),
        };
        let uniform_bytes = block.map_or(0, GpuBuffer::bytes);
        for dispatch in dispatches {
            self.check_dispatch(dispatch, uniform_bytes)?;
        }
        let kernels = self.kernels(block, dispatches);
        let times = self.trace(dispatches);
        let uniforms = block.map(|block| UniformBlock { id: block.id(), buffer: block.raw().clone(), write });
        let work = dispatches.iter().map(|dispatch| dispatch.work.flops.saturating_add(dispatch.work.bytes));
        let work = work.fold(0, u64::saturating_add);
        let when = if self.config.debug { When::Now } else { when };
        self.perform(Work::Submit(Submission { uniforms, kernels, work, times }), when);
        self.counters.dispatches.add(dispatches.len() as u64);
        self.check()
    }

    /// A block for the numbers of kernels.
    pub fn uniform_block(self: &Arc<Self>, bytes: usize) -> Result<GpuBuffer> {
        self.allocate(bytes as u64, Kind::Uniform)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn perform(&self, work: Work, when: When) {
        let submitter = || self.submitter.get_or_init(|| Submitter::start(&self.outbox)).as_ref();
        match when {
            When::WithNext => self.outbox.leave(work),
            When::Soon => match submitter() {
                Some(submitter) => submitter.hand_over(work),
                None => self.outbox.perform_now(work),
            },
            When::Now => self.outbox.perform_now(work),
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn perform(&self, work: Work, _: When) {
        self.outbox.perform_now(work);
    }

    /// Returns when at most two submissions are under way.
    pub async fn throttle(&self) -> Result<()> {
        match self.outbox.far_enough_back() {
            Some(completion) => self.wait_for(&completion).await,
            None => self.check(),
        }
    }

    /// Returns when all work is done, also that which waited to be submitted.
    pub async fn synchronize(&self) -> Result<()> {
        drop(self.outbox.turn());
        match self.outbox.last() {
            Some(completion) => self.wait_for(&completion).await,
            None => self.check(),
        }
    }

    /// Has the caller waited for the GPU since it was last asked?
    pub fn is_hungry(&self) -> bool {
        self.outbox.hungry.swap(false, Relaxed)
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
                self.perform(Work::Write(buffer.raw().clone(), offset, bytes.to_vec()), When::Soon);
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
        let (from, to) = ((from.raw(), from.start()), (to.raw(), to.start()));
        self.outbox.copy_now(&[Copy { from, to, bytes }]);
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
    fn kernels(&self, uniform_block: Option<&GpuBuffer>, dispatches: &[Dispatch<'_>]) -> Vec<BoundKernel> {
        let block_of = |dispatch: &Dispatch<'_>| uniform_block.filter(|_| dispatch.pipeline.has_uniform());
        let mut bind_groups = lock(&self.bind_groups);
        let mut missing: Vec<(usize, bind_group::Key)> = Vec::new();
        let mut bound = Vec::with_capacity(dispatches.len());
        for (number, dispatch) in dispatches.iter().enumerate() {
            let uniform_key = block_of(dispatch).map(|block| (block.id(), dispatch.uniform.clone()));
            let places = dispatch.buffers.iter().flat_map(|buffer| bind_group::place(buffer));
            let key = bind_group::key(dispatch.pipeline.id(), uniform_key, places);
            bound.push(bind_groups.get(&key));
            if bound[number].is_none() {
                missing.push((number, key));
            }
        }
        let create = |(number, _): &(usize, bind_group::Key)| {
            self.create_bind_group(&dispatches[*number], block_of(&dispatches[*number]))
        };
        let created = mapped_with(&missing, FEWEST_BIND_GROUPS, || (), |(), wanted| create(wanted));
        self.counters.bind_groups_created.add(missing.len() as u64);
        self.counters.bind_group_hits.add((dispatches.len() - missing.len()) as u64);
        for ((number, key), group) in missing.into_iter().zip(created) {
            bound[number] = Some(group.clone());
            bind_groups.insert(key, group);
        }
        let kernel = |(dispatch, bindings): (&Dispatch<'_>, Option<wgpu::BindGroup>)| BoundKernel {
            pipeline: dispatch.pipeline.raw().clone(),
            bindings: bindings.expect("what was not kept was created"),
            groups: dispatch.groups,
            label: self.config.debug.then(|| dispatch.label.to_owned()),
        };
        dispatches.iter().zip(bound).map(kernel).collect()
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
