//! The engine of a device: turns a demand for values into a run of a cached plan.

use crate::autograd::is_batching;
use crate::backend::{Buffer, Demand, ReadRequest, Results, Run, Transfer, Witness};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::memory::{Ledger, Rehearsed};
use crate::op::Op;
use crate::op::elementwise::SELECT;
use crate::plan::Plan;
use crate::plan::expand::{Expanded, KeyMap, is_expanding};
use crate::plan::graph::{self, Graph, Recorded, Ref, Snapshot};
use crate::tensor::node::{Node, Storage, Value};
use crate::tensor::read::widen;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Borrow;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Pending nodes above which building a graph evaluates what is held, so that a loop that never reads a value
/// cannot grow without bound.
const MAX_PENDING: usize = 50_000;
/// Plans kept; the least recently used go first.
const MAX_PLANS: usize = 256;
/// Plans that a new graph is compared with before it is looked up: steps of training come again and again.
const RECENT_PLANS: usize = 4;

/// What a device keeps between evaluations.
pub(crate) struct Engine {
    id: u64,
    plans: Mutex<Plans>,
}

impl Default for Engine {
    fn default() -> Self {
        static ENGINES: AtomicU64 = AtomicU64::new(0);
        Engine { id: ENGINES.fetch_add(1, Relaxed), plans: Mutex::default() }
    }
}

thread_local! {
    /// Unevaluated nodes that this thread has made, by engine; some of them are held by tensor handles. They belong
    /// to the thread so that one thread's step neither computes another's work nor fails with it.
    static PENDING: RefCell<FxHashMap<u64, Vec<Weak<Node>>>> = RefCell::default();
}

#[derive(Default)]
struct Plans {
    cached: FxHashMap<Key, Arc<Cached>>,
    /// The plans that ran last, the latest first.
    recent: Vec<(Arc<Recorded>, Arc<Cached>)>,
    runs: u64,
    stats: PlanStats,
}

/// A plan's graph before composites are expanded, found by a graph that is equal.
struct Key(Arc<Recorded>);

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0.graph == other.0.graph
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.graph.hash(state);
    }
}

impl Borrow<Graph> for Key {
    fn borrow(&self) -> &Graph {
        &self.0.graph
    }
}

struct Cached {
    plan: Plan,
    /// What leads from a snapshot to the plan's graph, if that was written out.
    key: Option<KeyMap>,
    compiled: Box<dyn Any + Send + Sync>,
    last_run: AtomicU64,
}

impl Plans {
    /// What is to run, and its plan, if there is one.
    fn capture(&mut self, wanted: &[Value]) -> (Snapshot, Option<Arc<Cached>>) {
        for place in 0..self.recent.len() {
            let (recorded, cached) = &self.recent[place];
            if let Some(snapshot) = graph::replay(wanted, recorded) {
                let cached = cached.clone();
                self.recent[..=place].rotate_right(1);
                self.stats.hits += 1;
                return (snapshot, Some(cached));
            }
        }
        let mut known = None;
        let snapshot = graph::capture(wanted, |graph| {
            known = self.cached.get(graph).cloned();
            known.is_some()
        });
        if snapshot.targets.is_empty() {
            return (snapshot, None);
        }
        match &known {
            Some(cached) => {
                self.stats.hits += 1;
                self.remember(&snapshot.recorded, cached);
            }
            None => self.stats.misses += 1,
        }
        (snapshot, known)
    }

    /// Puts in a plan; returns the one that is kept.
    fn insert(&mut self, recorded: &Arc<Recorded>, made: Arc<Cached>) -> Arc<Cached> {
        if self.cached.len() >= MAX_PLANS {
            let age = |cached: &Arc<Cached>| cached.last_run.load(Relaxed);
            let mut ages: Vec<u64> = self.cached.values().map(age).collect();
            ages.sort_unstable();
            let oldest_kept = ages[MAX_PLANS / 2];
            self.cached.retain(|_, cached| age(cached) >= oldest_kept);
        }
        let kept = self.cached.entry(Key(recorded.clone())).or_insert(made).clone();
        self.remember(recorded, &kept);
        kept
    }

    fn remember(&mut self, recorded: &Arc<Recorded>, cached: &Arc<Cached>) {
        self.recent.truncate(RECENT_PLANS - 1);
        self.recent.insert(0, (recorded.clone(), cached.clone()));
    }
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
    /// Arithmetic of all runs together, counted from their kernels: multiplications and additions of products and
    /// convolutions, and one for every other op and element.
    pub flops: u64,
    /// Bytes that the kernels of all runs read and wrote, each operand counted once a kernel.
    pub bytes: u64,
    /// Bytes that the temporaries of all runs would have taken, together, if no two of a run had shared memory.
    pub temporary_bytes: u64,
    /// Bytes that they took: temporaries whose lives do not overlap take turns.
    pub slot_bytes: u64,
    /// Plans in the cache now.
    pub cached: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `FLAMBEAU_DUMP` asks for: `plan`, or `wgsl` for the shaders too.
#[cfg(not(target_arch = "wasm32"))]
fn dump_wanted() -> Option<&'static str> {
    static WANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    WANTED.get_or_init(|| std::env::var("FLAMBEAU_DUMP").ok()).as_deref()
}

/// Is the value a copy, or an update that only a healthy device makes, of one that a fault leaves as it was?
fn is_guarded(snapshot: &Snapshot, root: Ref) -> bool {
    let graph = snapshot.graph();
    let mut value = graph.base(root);
    loop {
        let node = graph.node(value);
        match &node.op {
            None => {
                let before = graph.nodes[..value.node as usize].iter().filter(|node| node.op.is_none());
                let first: usize = before.map(|node| node.outputs.len()).sum();
                return snapshot.inputs[first + value.output as usize].guarded;
            }
            Some(Op::Map(op))
                if **op == SELECT && matches!(graph.node(node.inputs[0]).op, Some(Op::Healthy)) =>
            {
                value = graph.base(node.inputs[2]);
            }
            Some(_) => return false,
        }
    }
}

/// The witnesses of a snapshot's inputs, each with whether all its inputs are valid even after a fault.
fn witnesses(snapshot: &Snapshot) -> Vec<(Arc<Witness>, bool)> {
    let mut witnesses: Vec<(Arc<Witness>, bool)> = Vec::new();
    for storage in &snapshot.inputs {
        let Some(witness) = &storage.witness else { continue };
        match witnesses.iter_mut().find(|(known, _)| Arc::ptr_eq(known, witness)) {
            Some((_, guarded)) => *guarded &= storage.guarded,
            None => witnesses.push((witness.clone(), storage.guarded)),
        }
    }
    witnesses
}

/// Sets this thread's unevaluated nodes apart: nothing evaluates them with others until they are put back.
pub(crate) fn take_pending() -> Pending {
    Pending(PENDING.take())
}

/// Unevaluated nodes, by engine.
pub(crate) struct Pending(FxHashMap<u64, Vec<Weak<Node>>>);

impl Pending {
    /// Puts them back; what has gathered meanwhile is forgotten.
    pub fn put_back(self) {
        PENDING.set(self.0);
    }
}

impl Device {
    /// Counts of evaluations and of the plan cache.
    pub fn plan_stats(&self) -> PlanStats {
        let plans = lock(&self.engine().plans);
        PlanStats { cached: plans.cached.len(), ..plans.stats }
    }

    /// Notes an unevaluated node; evaluates what is held when too many have gathered.
    pub(crate) fn note(&self, node: &Arc<Node>) {
        if is_expanding() || is_batching() {
            return;
        }
        let note = |pending: &mut Vec<Weak<Node>>| {
            if pending.len() == pending.capacity() {
                // What nobody holds any more keeps its memory as long as it is listed.
                pending.retain(|node| node.strong_count() > 0);
            }
            let fits = pending.len() < MAX_PENDING;
            if fits {
                pending.push(Arc::downgrade(node));
            }
            fits
        };
        if self.with_pending(note) {
            return;
        }
        // A failure shows again, with its message, when a value is read.
        if let Err(error) = self.evaluate_with_held(&[]) {
            log::warn!("evaluating pending work failed: {error}");
        }
        // After the evaluation, which would forget it: nobody holds it yet.
        self.with_pending(|pending| pending.push(Arc::downgrade(node)));
    }

    fn with_pending<T>(&self, body: impl FnOnce(&mut Vec<Weak<Node>>) -> T) -> T {
        PENDING.with_borrow_mut(|pending| body(pending.entry(self.engine().id).or_default()))
    }

    /// Makes memory for values given by the host.
    pub(crate) fn upload(&self, dtype: DType, bytes: &[u8]) -> Result<Storage> {
        let buffer = match self.rehearsed_ledger() {
            None => self.backend().upload(dtype, bytes)?,
            Some(ledger) => {
                let elements = (bytes.len() / dtype.size()) as u64;
                let bytes = elements * self.backend().element_bytes(dtype);
                Buffer::Phantom(self.backend().phantom(bytes, &ledger))
            }
        };
        Ok(Storage { buffer, witness: None, guarded: true })
    }

    /// Evaluates these values.
    pub(crate) fn evaluate(&self, wanted: &[Value]) -> Result<()> {
        self.run(wanted, &[], Demand::Values).map(|_| ())
    }

    /// Evaluates values that are as good as what they are made of: later updates of them survive a fault.
    pub(crate) fn evaluate_guarded(&self, values: &[Value]) -> Result<()> {
        self.run(&[], values, Demand::Values).map(|_| ())
    }

    /// Evaluates these values and every unevaluated tensor of this thread that somebody holds, in one plan: what an optimizer's
    /// step does, so that nothing chains from batch to batch. Returns the run's number.
    pub(crate) fn evaluate_with_held(&self, updates: &[Value]) -> Result<u64> {
        let pending = self.with_pending(std::mem::take);
        let mut held: Vec<Value> = Vec::new();
        for node in pending.iter().filter_map(Weak::upgrade) {
            if node.is_held() && node.is_pending() {
                held.push(Value { node, output: 0 });
            }
        }
        let result = self.run(&held, updates, Demand::Step);
        if result.is_err() {
            let kept = held.iter().map(|value| Arc::downgrade(&value.node));
            self.with_pending(|pending| pending.extend(kept));
        }
        result
    }

    /// Runs the plan of these values; returns the run's number, or 0 if there was nothing to do. The plan cache is locked
    /// while the graph is looked up and while a new plan is put in; making a plan and running it is nobody else's wait.
    fn run(&self, wanted: &[Value], updates: &[Value], demand: Demand) -> Result<u64> {
        let all: Vec<Value> = updates.iter().chain(wanted).cloned().collect();
        let (mut snapshot, known, number) = {
            let mut plans = lock(&self.engine().plans);
            let before = plans.stats;
            let (snapshot, known) = plans.capture(&all);
            if Rehearsed::is_under_way() {
                plans.stats = before;
            }
            if snapshot.targets.is_empty() {
                return Ok(0);
            }
            plans.runs += 1;
            (snapshot, known, plans.runs)
        };
        if let Some(ledger) = self.rehearsed_ledger() {
            self.rehearse(snapshot, known, &ledger)?;
            return match updates.is_empty() || demand != Demand::Step {
                true => Ok(number),
                false => {
                    Rehearsed::note_update();
                    Err(Error::argument("step", "a rehearsed step moves nothing"))
                }
            };
        }
        if snapshot.inputs.iter().any(|input| input.buffer.is_phantom()) {
            return Err(Error::argument("eval", "a value that was made in a rehearsal has no numbers"));
        }
        let witnesses = witnesses(&snapshot);
        let cached = match known {
            Some(cached) => cached,
            None => self.new_plan(&mut snapshot)?,
        };
        cached.last_run.store(number, Relaxed);
        let Cached { plan, compiled, key, .. } = &*cached;
        let inputs = inputs_of(&snapshot, key.as_ref());
        snapshot.data.extend(key.iter().flat_map(|key| &key.literals));
        let run = Run {
            plan,
            compiled: &**compiled,
            inputs: &inputs,
            witnesses: &witnesses,
            data: &snapshot.data,
            number,
            locations: &snapshot.locations,
            origins: key.as_ref().map(|key| &key.origins[..]),
            demand,
        };
        let Results { buffers, witness } = self.backend().run(&run)?;
        let cost = plan.cost();
        {
            let stats = &mut lock(&self.engine().plans).stats;
            stats.runs += 1;
            stats.kernels += plan.kernels.len() as u64;
            stats.flops += cost.flops;
            stats.bytes += cost.bytes;
            stats.temporary_bytes += plan.temporary_bytes;
            stats.slot_bytes += plan.slots.iter().sum::<u64>();
        }
        for (node, first) in &snapshot.targets {
            let guarded = updates.iter().any(|update| Arc::ptr_eq(&update.node, node))
                || is_guarded(&snapshot, snapshot.graph().roots[*first]);
            let outputs = buffers[*first..*first + node.outputs.len()].iter();
            let storages = outputs.map(|buffer| {
                Arc::new(Storage { buffer: buffer.clone(), witness: witness.clone(), guarded })
            });
            node.fill(storages.collect::<SmallVec<_>>());
        }
        Ok(number)
    }

    /// The ledger of this device in the rehearsal of this thread, if there is one.
    pub(crate) fn rehearsed_ledger(&self) -> Option<Arc<Ledger>> {
        Rehearsed::ledger(self.engine().id, || self.memory())
    }

    /// Makes the plan, enters what its run would allocate and free, and gives the nodes buffers without memory.
    #[inline(never)] // A page fetches it when it estimates.
    fn rehearse(
        &self,
        mut snapshot: Snapshot,
        known: Option<Arc<Cached>>,
        ledger: &Arc<Ledger>,
    ) -> Result<()> {
        let made = match &known {
            Some(_) => None,
            None => Some(self.planned(&mut snapshot)?),
        };
        let (plan, key) = match (&known, &made) {
            (Some(cached), _) => (&cached.plan, cached.key.as_ref()),
            (None, Some((plan, key))) => (plan, key.as_ref()),
            (None, None) => return Ok(()),
        };
        let buffers = self.backend().rehearse(plan, &inputs_of(&snapshot, key), ledger)?;
        for (node, first) in &snapshot.targets {
            let outputs = buffers[*first..*first + node.outputs.len()].iter();
            let storage =
                |buffer: &Buffer| Arc::new(Storage { buffer: buffer.clone(), witness: None, guarded: true });
            node.fill(outputs.map(storage).collect::<SmallVec<_>>());
        }
        Ok(())
    }

    /// The plan of a graph that was not in the cache, and what leads to it.
    fn planned(&self, snapshot: &mut Snapshot) -> Result<(Plan, Option<KeyMap>)> {
        if snapshot.graph().has_placeholder() {
            return Err(Error::read_in_vmap());
        }
        let (graph, key) = match snapshot.expanded.take() {
            Some(Expanded { graph, key }) => (graph, Some(key)),
            None => (snapshot.recorded.graph.clone(), None),
        };
        #[cfg(not(target_arch = "wasm32"))]
        let for_dump = dump_wanted().map(|wanted| (graph.clone(), wanted));
        let plan = Plan::new(graph, self.backend().plan_options());
        #[cfg(not(target_arch = "wasm32"))]
        if let Some((graph, wanted)) = for_dump {
            eprintln!("plan for {self:?}\n{}", crate::plan::dump(&plan, &graph));
            if wanted == "wgsl" {
                eprintln!("{}", self.backend().shaders(&plan)?);
            }
        }
        Ok((plan, key))
    }

    /// Makes the plan of a graph that was not in the cache, and puts it in. Of two threads that make the same plan, the
    /// first to be done is remembered.
    fn new_plan(&self, snapshot: &mut Snapshot) -> Result<Arc<Cached>> {
        let (plan, key) = self.planned(snapshot)?;
        let compiled = self.backend().compile(&plan)?;
        let made = Arc::new(Cached { plan, key, compiled, last_run: AtomicU64::new(0) });
        Ok(lock(&self.engine().plans).insert(&snapshot.recorded, made))
    }

    /// Zeros in the place of values, by way of the memory through which a GPU's values are read.
    fn rehearsed_read(&self, requests: &[ReadRequest], ledger: &Arc<Ledger>) -> Transfer {
        if !self.is_cpu() {
            let bytes =
                |request: &ReadRequest| request.numel as u64 * self.backend().element_bytes(request.dtype);
            drop(self.backend().phantom(requests.iter().map(bytes).sum(), ledger));
        }
        Transfer::Done(requests.iter().map(|request| vec![0; request.numel * request.dtype.size()]).collect())
    }

    /// The values in host layout; evaluates them first. Several are read in one wait.
    pub(crate) async fn read(&self, values: &[Value]) -> Result<Vec<Vec<u8>>> {
        self.begin_read(values)?.bytes().await
    }

    /// Evaluates values and starts to bring them to the host.
    pub(crate) fn begin_read(&self, values: &[Value]) -> Result<Reading> {
        self.run(values, &[], Demand::Read)?;
        let mut requests = Vec::with_capacity(values.len());
        for value in values {
            let storage = value.storage().ok_or_else(|| Error::Gpu("a value was not evaluated".into()))?;
            let (dtype, numel) = (value.meta().dtype, value.meta().numel());
            let Storage { buffer, witness, guarded } = (*storage).clone();
            requests.push(ReadRequest { buffer, dtype, numel, witness, guarded });
        }
        let transfer = match self.rehearsed_ledger() {
            None => self.backend().begin_read(&requests),
            Some(ledger) => self.rehearsed_read(&requests, &ledger),
        };
        Ok(Reading { device: self.clone(), requests, transfer })
    }
}

/// The memory that a plan reads, in its order.
fn inputs_of(snapshot: &Snapshot, key: Option<&KeyMap>) -> Vec<Buffer> {
    let input = |index: usize| snapshot.inputs[index].buffer.clone();
    match key {
        Some(key) => key.inputs.iter().map(|&index| input(index as usize)).collect(),
        None => (0..snapshot.inputs.len()).map(input).collect(),
    }
}

/// Values on their way to the host: training goes on meanwhile. See [`read_later`](crate::read_later).
pub struct Reading {
    device: Device,
    requests: Vec<ReadRequest>,
    transfer: Transfer,
}

impl Reading {
    /// Waits for the values of each tensor, in row-major order.
    pub async fn values(self) -> Result<Vec<Vec<f64>>> {
        let dtypes: Vec<DType> = self.requests.iter().map(|request| request.dtype).collect();
        let read = self.bytes().await?;
        Ok(read.iter().zip(dtypes).map(|(bytes, dtype)| widen(dtype, bytes)).collect())
    }

    pub(crate) async fn bytes(self) -> Result<Vec<Vec<u8>>> {
        self.device.backend().finish_read(&self.requests, self.transfer).await
    }
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reading({} tensors on {})", self.requests.len(), self.device)
    }
}
