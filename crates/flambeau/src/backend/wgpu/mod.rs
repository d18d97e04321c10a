//! The GPU backend: generates WGSL for fused kernels, compiles plans into pipelines, and runs them as one submission.
//!
//! `runtime` is the layer below (device, memory, queue) and knows nothing of plans; `codegen` writes shaders;
//! `compile` prepares a plan; `fault` tells which values can be trusted after an error on the device.

mod compile;
mod fault;
mod forms;
mod heat;
pub(crate) mod runtime;
#[cfg(not(target_arch = "wasm32"))]
mod specialise;
#[cfg(target_arch = "wasm32")]
#[path = "specialise_here.rs"]
mod specialise;
#[cfg(not(target_arch = "wasm32"))]
mod written;
#[cfg(target_arch = "wasm32")]
#[path = "written_here.rs"]
mod written;

use super::{Buffer, Demand, ReadRequest, Results, Run, Transfer};
use crate::dtype::{DType, Lane};
use crate::error::{Error, Result};
use crate::ir::WhyNot;
use crate::ir::call::StructuredCall;
use crate::ir::kernel::{Place, PlanBuffer};
use crate::ir::program::{Param, Trust};
use crate::memory::{Ledger, Phantom};
use crate::plan::{Plan, PlanOptions};
use crate::shader::storage_bytes;
use compile::{CompiledPlan, Source};
pub(crate) use fault::Witness;
use runtime::{
    Binding, Dispatch, GpuBuffer, GpuConfig, KernelWork, PipelineKey, Request, Runtime, Uniforms, When,
};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// Kernels per submission: above this a plan is cut, so that no submission trips a driver's watchdog.
const MAX_DISPATCHES: usize = 512;

/// Kernels of the first submission when a plan first runs; each further one has twice as many.
const FIRST_PART: usize = 32;

/// What the kernel that takes over faults binds.
const MERGE_BINDINGS: [Binding; 2] = [Binding::ReadWrite, Binding::Uniform];

/// A GPU, through wgpu.
pub(crate) struct Gpu {
    runtime: Arc<Runtime>,
    faults: fault::Faults,
    /// Held while a run is recorded: the device takes one after the other anyway, and a run's fault words stay where its
    /// kernels were told they are.
    recording: Mutex<()>,
    written: written::Written,
    specialiser: specialise::Specialiser,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

impl Gpu {
    pub async fn new(config: &GpuConfig) -> Result<Gpu> {
        Gpu::on(Runtime::new(config).await?)
    }

    /// Runs on a device that already exists.
    pub fn adopt(device: wgpu::Device, queue: wgpu::Queue, config: &GpuConfig) -> Result<Gpu> {
        Gpu::on(Runtime::adopt(device, queue, None, config)?)
    }

    fn on(runtime: Arc<Runtime>) -> Result<Gpu> {
        let faults = fault::Faults::new(&runtime)?;
        Ok(Gpu {
            specialiser: specialise::Specialiser::new(&runtime),
            runtime,
            faults,
            recording: Mutex::default(),
            written: Default::default(),
        })
    }

    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    pub fn name(&self) -> String {
        let adapter = self.runtime.description();
        format!("{} ({})", adapter.name, adapter.backend)
    }

    pub fn plan_options(&self) -> PlanOptions {
        let debug = self.runtime.config().debug;
        PlanOptions { element_bytes: storage_bytes, fuse: !debug, pack_in_place: !debug }
    }

    pub fn accepts(&self, dtype: DType) -> Result<()> {
        let refuse = |message: &str| Err(Error::Unsupported { device: self.name(), message: message.into() });
        match dtype {
            DType::F64 | DType::I64 => {
                refuse(&format!("dtype {dtype} does not exist on GPUs; use f32 or i32, or the CPU"))
            }
            DType::F16 if !self.runtime.has_f16() => {
                refuse("dtype f16 needs the feature shader-f16, which this adapter does not have; use f32")
            }
            _ => Ok(()),
        }
    }

    pub fn compile(&self, plan: &Plan) -> Result<Box<dyn Any + Send + Sync>> {
        let compiled = CompiledPlan::new(plan, &self.written, &self.runtime)?;
        self.specialiser.keep_pipelines();
        Ok(Box::new(Arc::new(compiled)))
    }

    /// Waits until no kernel is being compiled for the sizes of a hot plan.
    pub fn wait_for_compilation(&self) {
        self.specialiser.wait();
    }

    /// How the products of a call are made, if it makes some of floats, for people.
    pub fn multiplies(&self, call: &StructuredCall) -> Option<String> {
        let call = forms::on_device(call, forms::first_tier(&self.runtime), None, &self.runtime);
        Some(match call.op.on_units(&call)? {
            Ok(()) => call.by_units().into(),
            Err(WhyNot::None) => call.by_arithmetic(&self.runtime.matrix_units_described()),
            Err(why) => call.by_arithmetic(&format!("not used: {why}")),
        })
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub fn shaders(&self, plan: &Plan) -> Result<String> {
        compile::shaders(plan, &self.runtime)
    }

    /// What [`run`](Gpu::run) would allocate and free. Shaders are written, for they say what memory kernels need beside their
    /// results; none is compiled.
    pub fn rehearse(&self, plan: &Plan, inputs: &[Buffer], ledger: &Arc<Ledger>) -> Result<Vec<Buffer>> {
        let scratch = CompiledPlan::scratch_of(plan, &self.written, &self.runtime)?;
        let new = |bytes: u64| Phantom::new(ledger, bytes, self.runtime.capacity_for(bytes));
        let slots: Vec<Arc<Phantom>> = plan.slots.iter().map(|&bytes| new(bytes)).collect();
        let _scratch: Vec<Arc<Phantom>> = scratch.into_iter().map(new).collect();
        let bytes = |buffer: &PlanBuffer| buffer.numel as u64 * storage_bytes(buffer.dtype);
        let whole = plan.buffers.iter().map(|buffer| match buffer {
            PlanBuffer { within: Some(_), .. } => None,
            PlanBuffer { root: true, .. } => Some(new(bytes(buffer))),
            PlanBuffer { slot, .. } => slots.get(*slot).cloned(),
        });
        let whole: Vec<Option<Arc<Phantom>>> = whole.collect();
        let root = |place: &Place| match *place {
            Place::Input(input) => inputs[input as usize].clone(),
            Place::Buffer(index) => {
                let buffer = &plan.buffers[index as usize];
                let home = buffer.within.map_or(index, |(home, _)| home);
                let memory = whole[home as usize].clone().expect("a root has memory");
                Buffer::Phantom(match buffer.within {
                    None => memory,
                    Some((_, start)) => {
                        Phantom::part(&memory, start as u64 * storage_bytes(buffer.dtype), bytes(buffer))
                    }
                })
            }
        };
        Ok(plan.roots.iter().map(root).collect())
    }

    pub fn run(&self, run: &Run) -> Result<Results> {
        let compiled =
            run.compiled.downcast_ref::<Arc<CompiledPlan>>().expect("this backend compiled the plan");
        self.specialiser.count_run(compiled);
        let _recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let watch = self.faults.begin(&self.runtime, run, !compiled.checks.is_empty(), compiled.is_guard)?;
        let status = self.faults.status();
        let plan = run.plan;
        let alloc = |bytes: u64| self.runtime.alloc(bytes);
        let slots = plan.slots.iter().map(|&bytes| alloc(bytes)).collect::<Result<Vec<_>>>()?;
        let scratch = compiled.scratch.iter().map(|&bytes| alloc(bytes)).collect::<Result<Vec<_>>>()?;
        let bytes = |buffer: &PlanBuffer| buffer.numel as u64 * storage_bytes(buffer.dtype);
        let whole = plan.buffers.iter().map(|buffer| match buffer {
            PlanBuffer { within: Some(_), .. } => Ok(None),
            PlanBuffer { root: true, .. } => alloc(bytes(buffer)).map(Some),
            PlanBuffer { slot, .. } => Ok(Some(slots[*slot].clone())),
        });
        let whole = whole.collect::<Result<Vec<Option<Arc<GpuBuffer>>>>>()?;
        let buffer = |(index, buffer): (usize, &PlanBuffer)| match buffer.within {
            None => whole[index].clone().expect("what is no part has memory of its own"),
            Some((home, start)) => {
                let home = whole[home as usize].as_ref().expect("a part lies in a whole");
                GpuBuffer::part(home, start as u64 * storage_bytes(buffer.dtype), bytes(buffer))
            }
        };
        let buffers: Vec<Arc<GpuBuffer>> = plan.buffers.iter().enumerate().map(buffer).collect();
        let at = |source: &Source| match *source {
            Source::Place(Place::Input(input)) => run.inputs[input as usize].gpu(),
            Source::Place(Place::Buffer(buffer)) => &buffers[buffer as usize],
            Source::Scratch(number) => &scratch[number],
            Source::Status => &status,
        };
        let ready = compiled.dispatches();
        let bound: Vec<SmallVec<[&Arc<GpuBuffer>; 8]>> =
            ready.iter().map(|(_, ready)| ready.sources.iter().map(at).collect()).collect();
        let kernels = ready.iter().zip(&bound).map(|((kernel, ready), buffers)| Dispatch {
            pipeline: &ready.pipeline,
            buffers,
            uniform: ready.uniform.clone(),
            groups: ready.groups,
            label: &kernel.label,
            work: kernel.work,
        });
        let dispatches: Vec<Dispatch> = kernels.collect();
        let mut numbers = compiled.uniforms.lock().unwrap_or_else(PoisonError::into_inner);
        // A plan that is new binds everything anew: the GPU begins with the first kernels meanwhile.
        let mut part = if numbers.is_new() { FIRST_PART } else { MAX_DISPATCHES };
        let when = match run.demand {
            Demand::Read if dispatches.len() <= part => When::WithNext,
            Demand::Values if self.runtime.is_hungry() => When::Now,
            _ => When::Soon,
        };
        for words in &watch.merged {
            self.take_over_faults(&status, words, when)?;
        }
        let words =
            compiled.patches.iter().map(|(offset, param)| (*offset, resolve(param, run, &watch.words)));
        let (block, mut write) = numbers.with(words, &self.runtime)?;
        let mut submitted = Ok(());
        let mut rest = &dispatches[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(part.min(rest.len()));
            (rest, part) = (later, (2 * part).min(MAX_DISPATCHES));
            // What is new is written before the first part.
            let uniforms = match block {
                Some(block) => Uniforms::Kept(block, write.take()),
                None => Uniforms::Once(Vec::new()),
            };
            submitted = submitted.and_then(|()| self.runtime.submit(uniforms, now, when));
        }
        if submitted.is_err() {
            numbers.forget();
        }
        submitted?;
        self.faults.note(run, &compiled.checks);
        let root = |place: &Place| match *place {
            Place::Input(input) => run.inputs[input as usize].clone(),
            Place::Buffer(buffer) => Buffer::Gpu(buffers[buffer as usize].clone()),
        };
        Ok(Results { buffers: plan.roots.iter().map(root).collect(), witness: watch.witness })
    }

    /// Has a kernel bring the faults of earlier runs into a run's slot.
    #[inline(never)] // A page fetches it when a run is made from many.
    fn take_over_faults(&self, status: &Arc<GpuBuffer>, words: &[u32], when: When) -> Result<()> {
        let pipeline = self.runtime.pipeline(Request {
            label: "take over faults".into(),
            key: PipelineKey {
                source: fault::merge().into(),
                entry: "main".into(),
                bindings: MERGE_BINDINGS.into(),
                trust: Trust::OURS,
            },
        })?;
        let numbers: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let dispatch = Dispatch {
            pipeline: &pipeline,
            buffers: &[status],
            uniform: 0..numbers.len() as u64,
            groups: [1, 1, 1],
            label: "take over faults",
            work: KernelWork::default(),
        };
        self.runtime.submit(Uniforms::Once(numbers), &[dispatch], when)
    }

    /// Uploads values given in host layout; bytes and booleans are widened to 32 bits.
    pub fn upload(&self, dtype: DType, bytes: &[u8]) -> Result<Buffer> {
        let buffer = match dtype {
            DType::Bool | DType::U8 => {
                let wide: Vec<u32> = bytes.iter().map(|&byte| u32::from(byte)).collect();
                self.runtime.upload(bytemuck::cast_slice(&wide))
            }
            _ => self.runtime.upload(bytes),
        };
        Ok(Buffer::Gpu(buffer?))
    }

    /// Submits the copies of values, and with them of the words that say whether they can be trusted.
    pub fn begin_read(&self, requests: &[ReadRequest]) -> Transfer {
        let mut wanted: Vec<(Arc<GpuBuffer>, u64)> = requests
            .iter()
            .map(|request| {
                (request.buffer.gpu().clone(), request.numel as u64 * storage_bytes(request.dtype))
            })
            .collect();
        let witnesses = fault::Faults::witnesses(requests);
        wanted.extend(witnesses.iter().map(|witness| (self.faults.slot_of(witness), fault::SLOT_BYTES)));
        Transfer::UnderWay { arriving: Box::pin(self.runtime.read(&wanted)), witnesses }
    }

    /// The values in host layout, if they can be trusted.
    pub fn finish_read(
        &self,
        requests: &[ReadRequest],
        witnesses: &[Arc<Witness>],
        mut read: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>> {
        let words = read.split_off(requests.len());
        witnesses.iter().zip(&words).for_each(|(witness, words)| self.faults.observe(witness, words));
        for request in requests {
            self.faults.trust(request)?;
        }
        let to_host = |(bytes, request): (Vec<u8>, &ReadRequest)| match request.dtype {
            DType::Bool | DType::U8 => bytes.chunks_exact(4).map(|word| word[0]).collect(),
            _ => bytes,
        };
        Ok(read.into_iter().zip(requests).map(to_host).collect())
    }

    pub fn void_runs(&self) -> Vec<(u64, u64)> {
        self.faults.void_runs()
    }

    /// Lets updates go on that a fault has stopped. Values computed from those of the faulty run stay untrusted.
    pub fn clear_fault(&self) {
        self.faults.clear();
    }
}

/// A uniform word for one run.
fn resolve(param: &Param, run: &Run, status: &[u32]) -> u32 {
    match param {
        Param::Fixed(word) | Param::Opaque(word) | Param::Node(word) => *word,
        Param::Offset(linear) => linear.value(run.data) as u32,
        Param::Run => run.number as u32,
        Param::Status(word) => status[usize::from(*word)],
        Param::Data(index, lane) => {
            let value = run.data[*index as usize];
            match lane {
                Lane::F32 | Lane::F64 => (value.to_f64() as f32).to_bits(),
                Lane::Bool => (value.to_f64() != 0.0) as u32,
                Lane::U32 | Lane::I32 | Lane::I64 => value.to_i64() as u32,
            }
        }
    }
}
