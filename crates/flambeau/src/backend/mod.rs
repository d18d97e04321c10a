//! The two ways to run a plan. Each is complete: whatever the op table holds, both run.

pub(crate) mod cpu;
#[cfg(feature = "gpu")]
pub(crate) mod wgpu;

use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::call::StructuredCall;
use crate::memory::{Ledger, Phantom};
use crate::plan::{Plan, PlanOptions};
#[cfg(feature = "gpu")]
use crate::shader::storage_bytes;
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

/// Memory on a device that holds one value.
#[derive(Debug, Clone)]
pub(crate) enum Buffer {
    Cpu(Arc<cpu::CpuBuffer>),
    #[cfg(feature = "gpu")]
    Gpu(Arc<wgpu::runtime::GpuBuffer>),
    /// None, in a rehearsal.
    Phantom(Arc<Phantom>),
}

impl Buffer {
    /// Was it made in a rehearsal? Then it has no numbers.
    pub fn is_phantom(&self) -> bool {
        matches!(self, Buffer::Phantom(_))
    }

    /// The memory, on the CPU backend.
    pub fn host(&self) -> &Arc<cpu::CpuBuffer> {
        match self {
            Buffer::Cpu(buffer) => buffer,
            #[cfg(feature = "gpu")]
            Buffer::Gpu(_) => unreachable!("a GPU buffer reached the CPU backend"),
            Buffer::Phantom(_) => unreachable!("a rehearsal's buffer reached the CPU backend"),
        }
    }

    /// `count` elements from `start` on: shared memory on the GPU, a copy on the CPU.
    pub fn part(&self, on: &Backend, dtype: DType, start: usize, count: usize) -> Buffer {
        match self {
            Buffer::Phantom(buffer) => {
                let bytes = on.element_bytes(dtype);
                let (start, length) = (start as u64 * bytes, count as u64 * bytes);
                Buffer::Phantom(match on {
                    Backend::Cpu(_) => buffer.copied(length),
                    #[cfg(feature = "gpu")]
                    Backend::Gpu(_) => Phantom::part(buffer, start, length),
                })
            }
            Buffer::Cpu(buffer) => {
                debug_assert_eq!(buffer.dtype(), dtype);
                Buffer::Cpu(Arc::new(buffer.part(start, count)))
            }
            #[cfg(feature = "gpu")]
            Buffer::Gpu(buffer) => {
                let bytes = storage_bytes(dtype);
                Buffer::Gpu(wgpu::runtime::GpuBuffer::part(
                    buffer,
                    start as u64 * bytes,
                    count as u64 * bytes,
                ))
            }
        }
    }

    /// The memory of `len` elements that this is the part of from `start` on, if it is one.
    pub fn whole(&self, dtype: DType, start: usize, len: usize) -> Option<Buffer> {
        match self {
            Buffer::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Buffer::Phantom(buffer) => {
                let bytes = storage_bytes(dtype);
                let (whole, first) = buffer.within()?;
                let is_it = whole.bytes() == len as u64 * bytes && *first == start as u64 * bytes;
                is_it.then(|| Buffer::Phantom(whole.clone()))
            }
            #[cfg(not(feature = "gpu"))]
            Buffer::Phantom(_) => None,
            #[cfg(feature = "gpu")]
            Buffer::Gpu(buffer) => {
                let bytes = storage_bytes(dtype);
                let whole = buffer.whole().filter(|whole| whole.bytes() == len as u64 * bytes)?;
                (buffer.start() == start as u64 * bytes).then(|| Buffer::Gpu(whole.clone()))
            }
        }
    }

    /// Is it the same memory?
    pub fn is(&self, other: &Buffer) -> bool {
        match (self, other) {
            (Buffer::Cpu(a), Buffer::Cpu(b)) => Arc::ptr_eq(a, b),
            #[cfg(feature = "gpu")]
            (Buffer::Gpu(a), Buffer::Gpu(b)) => Arc::ptr_eq(a, b),
            (Buffer::Phantom(a), Buffer::Phantom(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The memory, on the GPU backend.
    #[cfg(feature = "gpu")]
    pub fn gpu(&self) -> &Arc<wgpu::runtime::GpuBuffer> {
        match self {
            Buffer::Gpu(buffer) => buffer,
            Buffer::Cpu(_) => unreachable!("a CPU buffer reached the GPU backend"),
            Buffer::Phantom(_) => unreachable!("a rehearsal's buffer reached the GPU backend"),
        }
    }
}

/// A value to be read back.
pub(crate) struct ReadRequest {
    pub buffer: Buffer,
    pub dtype: DType,
    pub numel: usize,
    /// Knows whether the run that computed it had a fault.
    pub witness: Option<Arc<Witness>>,
    /// Valid even if that run had a fault.
    pub guarded: bool,
}

/// Waits for bytes from the GPU.
#[cfg(feature = "gpu")]
pub(crate) type Arriving = std::pin::Pin<Box<dyn Future<Output = Result<Vec<Vec<u8>>>> + Send>>;

/// Values on their way to the host.
pub(crate) enum Transfer {
    /// At hand.
    Done(Vec<Vec<u8>>),
    /// Submitted; the future waits.
    #[cfg(feature = "gpu")]
    UnderWay { arriving: Arriving, witnesses: Vec<Arc<Witness>> },
}

/// Nobody: on the CPU a fault fails its run at once.
#[cfg(not(feature = "gpu"))]
#[derive(Debug)]
pub(crate) enum Witness {}
#[cfg(feature = "gpu")]
pub(crate) use wgpu::Witness;

/// What a run gives.
pub(crate) struct Results {
    /// Those of the plan's roots, in order.
    pub buffers: Vec<Buffer>,
    /// Knows whether the run has a fault, if it may have one.
    pub witness: Option<Arc<Witness>>,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Values that somebody wants computed.
    Values,
    /// Values that are read next, which calls the device's queue.
    Read,
    /// An optimizer's step: the caller goes on to describe the next one.
    Step,
}

/// What one run of a plan is given.
pub(crate) struct Run<'a> {
    pub plan: &'a Plan,
    pub compiled: &'a (dyn Any + Send + Sync),
    pub inputs: &'a [Buffer],
    /// The witnesses of the runs that computed the inputs, and whether these are valid even after a fault.
    pub witnesses: &'a [(Arc<Witness>, bool)],
    pub data: &'a [Scalar],
    /// The run's number on its device.
    pub number: u64,
    /// The line that created each node of the snapshot.
    pub locations: &'a [&'static Location<'static>],
    /// For each node of the plan's graph, the one of the snapshot, where they differ.
    pub origins: Option<&'a [u32]>,
    pub demand: Demand,
}

impl Run<'_> {
    /// The line that created a node of the plan's graph.
    pub fn location(&self, node: u32) -> &'static Location<'static> {
        let node = self.origins.map_or(node, |origins| origins[node as usize]);
        self.locations[node as usize]
    }
}

/// A backend of the library.
#[derive(Debug)]
pub(crate) enum Backend {
    Cpu(cpu::Cpu),
    #[cfg(feature = "gpu")]
    Gpu(Box<wgpu::Gpu>),
}

impl Backend {
    pub fn plan_options(&self) -> PlanOptions {
        match self {
            Backend::Cpu(cpu) => cpu.plan_options(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.plan_options(),
        }
    }

    /// Prepares a plan for running: shaders, pipelines, block programs.
    pub fn compile(&self, plan: &Plan) -> Result<Box<dyn Any + Send + Sync>> {
        match self {
            Backend::Cpu(cpu) => cpu.compile(plan),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.compile(plan),
        }
    }

    /// The shaders of a plan, for people; the CPU has none.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn shaders(&self, plan: &Plan) -> Result<String> {
        match self {
            Backend::Cpu(_) => Ok(String::new()),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.shaders(plan),
        }
    }

    /// Runs a plan.
    pub fn run(&self, run: &Run) -> Result<Results> {
        match self {
            Backend::Cpu(cpu) => Ok(Results { buffers: cpu.run(run)?, witness: None }),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.run(run),
        }
    }

    /// Bytes of an element in the device's memory.
    pub fn element_bytes(&self, dtype: DType) -> u64 {
        (self.plan_options().element_bytes)(dtype)
    }

    /// Enters what a run of a plan would allocate and free; gives buffers without memory for its roots.
    pub fn rehearse(&self, plan: &Plan, inputs: &[Buffer], ledger: &Arc<Ledger>) -> Result<Vec<Buffer>> {
        match self {
            Backend::Cpu(cpu) => Ok(cpu.rehearse(plan, inputs, ledger)),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.rehearse(plan, inputs, ledger),
        }
    }

    /// A buffer without memory, entered as one of so many bytes would be.
    pub fn phantom(&self, bytes: u64, ledger: &Arc<Ledger>) -> Arc<Phantom> {
        let capacity = match self {
            Backend::Cpu(_) => bytes,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().capacity_for(bytes),
        };
        Phantom::new(ledger, bytes, capacity)
    }

    /// Memory with these values, given in host layout.
    pub fn upload(&self, dtype: DType, bytes: &[u8]) -> Result<Buffer> {
        match self {
            Backend::Cpu(cpu) => cpu.upload(dtype, bytes),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.upload(dtype, bytes),
        }
    }

    /// Starts to bring the values of several buffers to the host, as they are now.
    pub fn begin_read(&self, requests: &[ReadRequest]) -> Transfer {
        match self {
            Backend::Cpu(_) => {
                Transfer::Done(requests.iter().map(|request| request.buffer.host().to_bytes()).collect())
            }
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.begin_read(requests),
        }
    }

    /// Waits for the values, in host layout.
    pub async fn finish_read(&self, requests: &[ReadRequest], transfer: Transfer) -> Result<Vec<Vec<u8>>> {
        match (self, transfer) {
            (_, Transfer::Done(values)) => Ok(values),
            #[cfg(feature = "gpu")]
            (Backend::Gpu(gpu), Transfer::UnderWay { arriving, witnesses }) => {
                gpu.finish_read(requests, &witnesses, arriving.await?)
            }
            #[cfg(feature = "gpu")]
            (Backend::Cpu(_), Transfer::UnderWay { .. }) => unreachable!("the CPU has its values at hand"),
        }
    }

    /// Stretches of runs: the updates of who made the first of one changed nothing in all of it, because of a fault. (On the
    /// CPU a fault fails its run at once, which then does not count.)
    pub fn void_runs(&self) -> Vec<(u64, u64)> {
        match self {
            Backend::Cpu(_) => Vec::new(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.void_runs(),
        }
    }

    /// Are products of f32 made otherwise where they need not be as precise?
    pub fn heeds_precision(&self) -> bool {
        match self {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().matrix_units().is_some(),
        }
    }

    /// How the products of a call are made, if it makes some of floats, for people.
    pub fn multiplies(&self, call: &StructuredCall) -> Option<String> {
        match self {
            Backend::Cpu(_) => {
                call.op.on_units(call).map(|_| call.by_arithmetic("not used: the CPU has none"))
            }
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.multiplies(call),
        }
    }

    /// Does the device take this dtype? If not, why?
    pub fn accepts(&self, dtype: DType) -> Result<()> {
        match self {
            Backend::Cpu(cpu) => cpu.accepts(dtype),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.accepts(dtype),
        }
    }
}
