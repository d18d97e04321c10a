//! The engine of a device: turns a demand for values into a run of a cached plan.

use crate::backend::{Buffer, ReadRequest, Run};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::plan::graph::{self, Graph};
use crate::tensor::node::{Node, Storage, Value};
use smallvec::SmallVec;
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Pending nodes above which building a graph evaluates what is held, so that a loop that never reads a value
/// cannot grow without bound.
const MAX_PENDING: usize = 50_000;
/// Plans kept; the least recently used go first.
const MAX_PLANS: usize = 256;

/// What a device keeps between evaluations.
#[derive(Default)]
pub(crate) struct Engine {
    plans: Mutex<Plans>,
    /// Unevaluated nodes, some of them held by tensor handles.
    pending: Mutex<Vec<Weak<Node>>>,
    pending_count: AtomicUsize,
}

#[derive(Default)]
struct Plans {
    cached: HashMap<Graph, Cached>,
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Counts of evaluations and of the plan cache.
    pub fn plan_stats(&self) -> PlanStats {
        let plans = lock(&self.engine().plans);
        PlanStats { cached: plans.cached.len(), ..plans.stats }
    }

    /// The number of the latest run.
    pub(crate) fn runs(&self) -> u64 {
        lock(&self.engine().plans).runs
    }

    /// Notes an unevaluated node; evaluates what is held when too many have gathered.
    pub(crate) fn note(&self, node: &Arc<Node>) {
        if self.engine().pending_count.fetch_add(1, Relaxed) > MAX_PENDING {
            // A failure shows again, with its message, when a value is read.
            if let Err(error) = self.evaluate_with_held(&[]) {
                log::warn!("evaluating pending work failed: {error}");
            }
        }
        // After the evaluation, which would forget it: nobody holds it yet.
        lock(&self.engine().pending).push(Arc::downgrade(node));
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
            let mut pending = lock(&self.engine().pending);
            self.engine().pending_count.store(0, Relaxed);
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
            lock(&self.engine().pending).extend(held.iter().map(|value| Arc::downgrade(&value.node)));
        }
        result
    }

    fn run(&self, wanted: &[Value], updates: &[Value]) -> Result<()> {
        let mut plans = lock(&self.engine().plans);
        let all: Vec<Value> = updates.iter().chain(wanted).cloned().collect();
        let snapshot = graph::capture(&all);
        if snapshot.targets.is_empty() {
            return Ok(());
        }
        plans.runs += 1;
        let number = plans.runs;
        let (plan, compiled) = self.plan_of(&mut plans, &snapshot.graph, number)?;
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
        plans.stats.runs += 1;
        plans.stats.kernels += plan.kernels.len() as u64;
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
        plans: &mut Plans,
        graph: &Graph,
        run: u64,
    ) -> Result<(Arc<Plan>, Arc<dyn Any + Send + Sync>)> {
        if let Some(cached) = plans.cached.get_mut(graph) {
            cached.last_run = run;
            plans.stats.hits += 1;
            return Ok((cached.plan.clone(), cached.compiled.clone()));
        }
        plans.stats.misses += 1;
        let plan = Arc::new(Plan::new(graph.clone(), self.backend().plan_options()));
        let compiled: Arc<dyn Any + Send + Sync> = Arc::from(self.backend().compile(&plan)?);
        if plans.cached.len() >= MAX_PLANS {
            let mut ages: Vec<u64> = plans.cached.values().map(|cached| cached.last_run).collect();
            ages.sort_unstable();
            let oldest_kept = ages[MAX_PLANS / 2];
            plans.cached.retain(|_, cached| cached.last_run >= oldest_kept);
        }
        let cached = Cached { plan: plan.clone(), compiled: compiled.clone(), last_run: run };
        plans.cached.insert(graph.clone(), cached);
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
