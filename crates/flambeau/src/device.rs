//! Devices: where tensors live and plans run.
//!
//! A device is chosen once, says what it is, and runs everything it is given; nothing falls back to another device
//! silently. This file also holds the engine: what turns a demand for values into a run of a cached plan.

use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Buffer, ReadRequest, Run};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::plan::graph::{self, Graph};
use crate::tensor::node::{Node, Storage, Value};
use smallvec::SmallVec;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

#[cfg(feature = "gpu")]
use crate::backend::wgpu::{Gpu, runtime::GpuConfig};

/// Pending nodes above which building a graph evaluates what is held, so that a loop that never reads a value
/// cannot grow without bound.
const MAX_PENDING: usize = 50_000;
/// Plans kept; the least recently used go first.
const MAX_PLANS: usize = 256;

/// A CPU or a GPU. Cheap to clone; two handles are equal when they are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    backend: Backend,
    engine: Mutex<Engine>,
    /// Unevaluated nodes, some of them held by tensor handles.
    pending: Mutex<Vec<Weak<Node>>>,
    pending_count: AtomicUsize,
}

#[derive(Default)]
struct Engine {
    plans: HashMap<Graph, Cached>,
    runs: u64,
    stats: PlanStats,
}

struct Cached {
    plan: Arc<Plan>,
    compiled: Arc<dyn Any + Send + Sync>,
    last_run: u64,
}

/// How evaluations went on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanStats {
    /// Evaluations that ran a plan.
    pub runs: u64,
    /// Runs whose plan was in the cache.
    pub hits: u64,
    /// Runs that had to make a plan.
    pub misses: u64,
    /// Kernels of all runs together.
    pub kernels: u64,
    /// Plans in the cache now.
    pub cached: usize,
}

impl Device {
    fn new(backend: Backend) -> Device {
        Device(Arc::new(Inner {
            backend,
            engine: Mutex::default(),
            pending: Mutex::default(),
            pending_count: AtomicUsize::new(0),
        }))
    }

    /// The CPU. There is one per process.
    pub fn cpu() -> Device {
        static CPU: OnceLock<Device> = OnceLock::new();
        CPU.get_or_init(|| Device::new(Backend::Cpu(Cpu::default()))).clone()
    }

    /// A CPU apart from the others, for graphs that only the interpreter looks at: nothing else evaluates them.
    pub(crate) fn for_interpreter() -> Device {
        Device::new(Backend::Cpu(Cpu::default()))
    }

    /// A GPU, as configured.
    #[cfg(feature = "gpu")]
    pub async fn gpu(config: &GpuConfig) -> Result<Device> {
        Ok(Device::new(Backend::Gpu(Gpu::new(config).await?)))
    }

    /// The name of the device, as its driver gives it.
    pub fn name(&self) -> String {
        match &self.0.backend {
            Backend::Cpu(cpu) => cpu.name(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.name(),
        }
    }

    /// Is it the CPU?
    pub fn is_cpu(&self) -> bool {
        matches!(&self.0.backend, Backend::Cpu(_))
    }

    /// Counts of evaluations and of the plan cache.
    pub fn plan_stats(&self) -> PlanStats {
        let engine = self.engine();
        PlanStats { cached: engine.plans.len(), ..engine.stats }
    }

    /// The WGSL of every shader compiled so far, for tests that validate it; none on the CPU.
    #[doc(hidden)]
    pub fn shader_sources(&self) -> Vec<String> {
        match &self.0.backend {
            Backend::Cpu(_) => Vec::new(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().shader_sources(),
        }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn as_gpu(&self) -> Option<&Gpu> {
        match &self.0.backend {
            Backend::Gpu(gpu) => Some(gpu),
            Backend::Cpu(_) => None,
        }
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.0.engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, Vec<Weak<Node>>> {
        self.0.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Notes an unevaluated node; evaluates what is held when too many have gathered.
    pub(crate) fn note(&self, node: &Arc<Node>) {
        self.pending().push(Arc::downgrade(node));
        if self.0.pending_count.fetch_add(1, Relaxed) > MAX_PENDING {
            // A failure shows again, with its message, when a value is read.
            if let Err(error) = self.evaluate_with_held(&[]) {
                log::warn!("evaluating pending work failed: {error}");
            }
        }
    }

    /// Makes memory for values given by the host.
    pub(crate) fn upload(&self, dtype: DType, bytes: &[u8]) -> Result<Storage> {
        let buffer = self.backend().upload(dtype, bytes)?;
        Ok(Storage { buffer, run: 0, guarded: true })
    }

    /// Evaluates these values.
    pub(crate) fn evaluate(&self, wanted: &[Value]) -> Result<()> {
        self.run(wanted, &[])
    }

    /// Evaluates these values and every unevaluated tensor that somebody holds, in one plan: what an optimizer's
    /// step does, so that nothing chains from batch to batch.
    pub(crate) fn evaluate_with_held(&self, updates: &[Value]) -> Result<()> {
        let mut held: Vec<Value> = Vec::new();
        {
            let mut pending = self.pending();
            self.0.pending_count.store(0, Relaxed);
            pending.drain(..).for_each(|node| {
                if let Some(node) = node.upgrade()
                    && node.is_held()
                    && node.is_pending()
                {
                    held.push(Value { node, output: 0 });
                }
            });
        }
        let result = self.run(&held, updates);
        if result.is_err() {
            self.pending().extend(held.iter().map(|value| Arc::downgrade(&value.node)));
        }
        result
    }

    fn run(&self, wanted: &[Value], updates: &[Value]) -> Result<()> {
        let mut engine = self.engine();
        let all: Vec<Value> = updates.iter().chain(wanted).cloned().collect();
        let snapshot = graph::capture(&all);
        if snapshot.targets.is_empty() {
            return Ok(());
        }
        engine.runs += 1;
        let number = engine.runs;
        let (plan, compiled) = self.plan_of(&mut engine, &snapshot.graph, number)?;
        let inputs: Vec<Buffer> = snapshot.inputs.iter().map(|storage| storage.buffer.clone()).collect();
        let run = Run {
            plan: &plan,
            compiled: &*compiled,
            inputs: &inputs,
            data: &snapshot.data,
            number,
            locations: &snapshot.locations,
        };
        let buffers = self.backend().run(&run)?;
        engine.stats.runs += 1;
        engine.stats.kernels += plan.kernels.len() as u64;
        for (node, first) in &snapshot.targets {
            let guarded = updates.iter().any(|update| Arc::ptr_eq(&update.node, node));
            let outputs = buffers[*first..*first + node.outputs.len()].iter();
            let storages =
                outputs.map(|buffer| Arc::new(Storage { buffer: buffer.clone(), run: number, guarded }));
            node.fill(storages.collect::<SmallVec<_>>());
        }
        Ok(())
    }

    fn plan_of(
        &self,
        engine: &mut Engine,
        graph: &Graph,
        run: u64,
    ) -> Result<(Arc<Plan>, Arc<dyn Any + Send + Sync>)> {
        if let Some(cached) = engine.plans.get_mut(graph) {
            cached.last_run = run;
            engine.stats.hits += 1;
            return Ok((cached.plan.clone(), cached.compiled.clone()));
        }
        engine.stats.misses += 1;
        let plan = Arc::new(Plan::new(graph.clone(), self.backend().plan_options()));
        let compiled: Arc<dyn Any + Send + Sync> = Arc::from(self.backend().compile(&plan)?);
        if engine.plans.len() >= MAX_PLANS {
            let mut ages: Vec<u64> = engine.plans.values().map(|cached| cached.last_run).collect();
            ages.sort_unstable();
            let oldest_kept = ages[MAX_PLANS / 2];
            engine.plans.retain(|_, cached| cached.last_run >= oldest_kept);
        }
        let cached = Cached { plan: plan.clone(), compiled: compiled.clone(), last_run: run };
        engine.plans.insert(graph.clone(), cached);
        Ok((plan, compiled))
    }

    /// The values in host layout; evaluates them first. Several are read in one wait.
    pub(crate) async fn read(&self, values: &[Value]) -> Result<Vec<Vec<u8>>> {
        self.evaluate(values)?;
        let mut buffers = Vec::with_capacity(values.len());
        for value in values {
            let storage = value.storage().ok_or_else(|| Error::Gpu("a value was not evaluated".into()))?;
            let (dtype, numel) = (value.meta().dtype, value.meta().numel());
            let Storage { run, guarded, .. } = *storage;
            buffers.push(ReadRequest { buffer: storage.buffer.clone(), dtype, numel, run, guarded });
        }
        self.backend().read(&buffers).await
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cpu() { "cpu" } else { "gpu" })
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self}, {})", self.name())
    }
}
