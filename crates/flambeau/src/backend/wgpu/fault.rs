//! Faults on the device: an index out of range, in debug mode a NaN. A fault belongs to the run that made it and to what
//! is computed from its results; nothing of that is handed out, and nobody else hears of it.
//!
//! A run that may have a fault has a [`Witness`], which every result of it holds, and a slot of four words on the device:
//! the run's number if it had a fault, the node, the run in which the fault began, and a value. Slots are lent again
//! without being cleared, because run numbers tell their users apart. Updates of parameters are *guarded*: they look at
//! their run's slot and at those of the runs whose results they are made from, take their faults over, and change nothing
//! if there is one. So parameters stay good, and a fault that nobody has read of yet reaches who trains on.

use super::compile::Check;
use super::runtime::{GpuBuffer, Runtime};
use crate::backend::{ReadRequest, Run};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::program::{Bound, Checked, Param, Program, Tier};
use crate::shader::{self, Entry, Shader, widen};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a slot.
pub(super) const SLOT_BYTES: u64 = 16;
/// Slots at first; there are twice as many whenever they do not suffice.
const SLOTS: u32 = 1024;
/// Set in the node's number when the fault is a NaN.
pub(super) const NAN_FLAG: u32 = 1 << 31;
/// Runs whose nodes can still be named when a fault is seen, and faults whose runs optimizers can still ask for.
const REMEMBERED: usize = 64;
/// Runs whose faults a guarded kernel takes over by itself; if there are more, a kernel of their own does it first.
const TAKEN_OVER: usize = 2;
/// Runs whose faults one such kernel takes over.
const MERGED: usize = 16;

/// What is known of a run that may have had a fault.
pub(crate) struct Witness {
    run: u64,
    slot: u32,
    verdict: Mutex<Verdict>,
    /// Runs it is made from whose faults its slot does not show.
    beside: Vec<Arc<Witness>>,
    /// Faults that began up to this run have been told to whoever goes on from this run; shared with the runs after it.
    told: Arc<AtomicU64>,
    slots: Arc<Mutex<Slots>>,
}

#[derive(Debug, Clone)]
enum Verdict {
    /// The device has not been asked.
    Open,
    Sound,
    Faulty {
        /// The run in which the fault began.
        began: u64,
        error: Error,
    },
}

impl Witness {
    fn verdict(&self) -> Verdict {
        lock(&self.verdict).clone()
    }
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "run {}: {:?}", self.run, self.verdict())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        lock(&self.slots).free.push(self.slot);
    }
}

/// Which slots can be lent. Slot 0 is nobody's and never shows a fault.
struct Slots {
    free: Vec<u32>,
    count: u32,
}

/// What a run's kernels are told about faults.
pub(super) struct Watch {
    pub witness: Option<Arc<Witness>>,
    /// What `Param::Status` stands for: the run's slot, then (slot, run, after) of those it takes over itself.
    pub words: [u32; 1 + 3 * TAKEN_OVER],
    /// What [`merge`]'s kernels are given, one list each.
    pub merged: Vec<Vec<u32>>,
}

pub(super) struct Faults {
    slots: Arc<Mutex<Slots>>,
    state: Mutex<State>,
}

struct State {
    status: Arc<GpuBuffer>,
    /// The latest run.
    latest: u64,
    /// Faults that began up to this run have been cleared.
    cleared: u64,
    /// Runs from the first of which on guarded updates changed nothing, up to the second.
    void: VecDeque<(u64, u64)>,
    recent: VecDeque<(u64, Vec<(Check, &'static Location<'static>)>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faults {
    pub fn new(runtime: &Arc<Runtime>) -> Result<Faults> {
        let status = new_status(runtime, SLOTS)?;
        let (void, recent) = (VecDeque::new(), VecDeque::new());
        Ok(Faults {
            slots: Arc::new(Mutex::new(Slots { free: (1..SLOTS).rev().collect(), count: SLOTS })),
            state: Mutex::new(State { status, latest: 0, cleared: 0, void, recent }),
        })
    }

    pub fn status(&self) -> Arc<GpuBuffer> {
        lock(&self.state).status.clone()
    }

    /// Finds out whether a run can go on, and what its kernels have to look at.
    pub fn begin(&self, runtime: &Arc<Runtime>, run: &Run, may_fault: bool, is_guard: bool) -> Result<Watch> {
        let mut open: Vec<(Arc<Witness>, bool)> = Vec::new();
        for (witness, guarded) in run.witnesses {
            for witness in witness.beside.iter().chain([witness]) {
                match witness.verdict() {
                    Verdict::Sound => {}
                    Verdict::Faulty { began, error } => self.may_use(witness, began, error, *guarded)?,
                    Verdict::Open => match open.iter_mut().find(|(known, _)| Arc::ptr_eq(known, witness)) {
                        Some((_, known)) => *known &= guarded,
                        None => open.push((witness.clone(), *guarded)),
                    },
                }
            }
        }
        {
            let mut state = lock(&self.state);
            state.latest = state.latest.max(run.number);
        }
        let mut watch = Watch { witness: None, words: Default::default(), merged: Vec::new() };
        if open.is_empty() && !may_fault {
            return Ok(watch);
        }
        let slot = self.lend(runtime)?;
        watch.words[0] = 4 * slot;
        let cleared = lock(&self.state).cleared;
        let words = open.iter().flat_map(|(witness, guarded)| {
            let told = witness.told.load(Relaxed).max(cleared) as u32;
            [4 * witness.slot, witness.run as u32, if *guarded { told } else { 0 }]
        });
        let words: Vec<u32> = words.collect();
        let mut beside = Vec::new();
        if open.len() > TAKEN_OVER {
            watch.merged =
                words.chunks(3 * MERGED).map(|words| merge_params(slot, run.number, words)).collect();
        } else if is_guard {
            watch.words[1..1 + words.len()].copy_from_slice(&words);
        } else {
            beside = open.into_iter().map(|(witness, _)| witness).collect();
        }
        let told = run.witnesses.first().map(|(witness, _)| witness.told.clone()).unwrap_or_default();
        let (verdict, slots) = (Mutex::new(Verdict::Open), self.slots.clone());
        watch.witness = Some(Arc::new(Witness { run: run.number, slot, verdict, beside, told, slots }));
        Ok(watch)
    }

    /// A slot; makes more if all are lent.
    fn lend(&self, runtime: &Arc<Runtime>) -> Result<u32> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.free.pop() {
            return Ok(slot);
        }
        let (old, new) = (slots.count, 2 * slots.count);
        let mut state = lock(&self.state);
        let status = new_status(runtime, new)?;
        runtime.copy(&state.status, &status, u64::from(old) * SLOT_BYTES)?;
        state.status = status;
        slots.free.extend((old + 1..new).rev());
        slots.count = new;
        Ok(old)
    }

    /// Remembers which lines a run's checks belong to.
    pub fn note(&self, run: &Run, checks: &[Check]) {
        if checks.is_empty() {
            return;
        }
        let line = |check: &Check| run.location(check.node & !NAN_FLAG);
        let lines = checks.iter().map(|check| (check.clone(), line(check))).collect();
        let mut state = lock(&self.state);
        state.recent.push_back((run.number, lines));
        if state.recent.len() > REMEMBERED {
            state.recent.pop_front();
        }
    }

    /// The witnesses that a read has to hear, those of earlier runs first.
    pub fn witnesses(requests: &[ReadRequest]) -> Vec<Arc<Witness>> {
        let mut open: Vec<Arc<Witness>> = Vec::new();
        for witness in requests.iter().filter_map(|request| request.witness.as_ref()) {
            for witness in witness.beside.iter().chain([witness]) {
                let is_open = matches!(witness.verdict(), Verdict::Open);
                if is_open && !open.iter().any(|known| Arc::ptr_eq(known, witness)) {
                    open.push(witness.clone());
                }
            }
        }
        open
    }

    /// Where a witness's words are read.
    pub fn slot_of(&self, witness: &Witness) -> Arc<GpuBuffer> {
        GpuBuffer::part(&self.status(), u64::from(witness.slot) * SLOT_BYTES, SLOT_BYTES)
    }

    /// Takes in a witness's words as read from the device.
    pub fn observe(&self, witness: &Witness, words: &[u8]) {
        let word = |k: usize| {
            words.get(4 * k..4 * k + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        let found = match word(0) == witness.run as u32 {
            true => self.describe(witness.run, word(1), word(2), word(3)),
            false => {
                let mut beside = witness.beside.iter().map(|other| other.verdict());
                let faulty = beside.find(|verdict| matches!(verdict, Verdict::Faulty { .. }));
                faulty.unwrap_or(Verdict::Sound)
            }
        };
        let mut verdict = lock(&witness.verdict);
        if let (Verdict::Open, Verdict::Faulty { began, .. }) = (&*verdict, &found) {
            let mut state = lock(&self.state);
            let until = state.latest;
            for start in [*began, witness.run] {
                state.void.push_back((start, until));
            }
            while state.void.len() > 2 * REMEMBERED {
                state.void.pop_front();
            }
        }
        if matches!(*verdict, Verdict::Open) {
            *verdict = found;
        }
    }

    fn describe(&self, run: u64, node: u32, began: u32, value: u32) -> Verdict {
        // The words hold the lower half of run numbers.
        let began = run - u64::from((run as u32).wrapping_sub(began));
        let state = lock(&self.state);
        let remembered = state.recent.iter().find(|(number, _)| *number == began);
        let found = remembered.and_then(|(_, checks)| checks.iter().find(|(check, _)| check.node == node));
        let location = found.map_or("an earlier step".to_string(), |(_, line)| line.to_string());
        // Of a run that is no longer remembered, only the kind of fault is known.
        let unknown = match node & NAN_FLAG {
            0 => Checked::Index { op: "gather", size: 0 },
            _ => Checked::Nan,
        };
        let checked = found.map_or(&unknown, |(check, _)| &check.checked);
        let error = checked.error(value, location);
        Verdict::Faulty { began, error }
    }

    /// Can this value be handed out?
    pub fn trust(&self, request: &ReadRequest) -> Result<()> {
        match request.witness.as_ref().map(|witness| (witness, witness.verdict())) {
            Some((witness, Verdict::Faulty { began, error })) if !request.guarded => {
                self.may_use(witness, began, error, false)
            }
            _ => Ok(()),
        }
    }

    /// May a result be used whose run had a fault? The first who asks is told of it; after that, guarded results may.
    fn may_use(&self, witness: &Witness, began: u64, error: Error, guarded: bool) -> Result<()> {
        let known = witness.told.fetch_max(began, Relaxed).max(lock(&self.state).cleared);
        let is_news = began > known;
        match (is_news, guarded) {
            (true, _) => Err(error),
            (false, true) => Ok(()),
            (false, false) => Err(Error::Poisoned(Box::new(error))),
        }
    }

    /// Stretches of runs in which the guarded updates of who began with the first of them changed nothing.
    pub fn void_runs(&self) -> Vec<(u64, u64)> {
        lock(&self.state).void.iter().copied().collect()
    }

    /// Lets guarded updates go on, whether or not somebody has been told of the faults seen so far.
    pub fn clear(&self) {
        let mut state = lock(&self.state);
        state.cleared = state.void.iter().map(|&(start, _)| start).fold(state.cleared, u64::max);
    }
}

fn new_status(runtime: &Arc<Runtime>, slots: u32) -> Result<Arc<GpuBuffer>> {
    runtime.upload(&vec![0; slots as usize * SLOT_BYTES as usize])
}

fn merge_params(slot: u32, run: u64, words: &[u32]) -> Vec<u32> {
    let mut params = vec![4 * slot, run as u32];
    params.extend(words);
    params.resize(MERGE_WORDS, 0);
    params
}

/// Numbers that the kernel of [`merge`] is given: slot, run, and three for each run it looks at.
const MERGE_WORDS: usize = (2 + 3 * MERGED).next_multiple_of(4);

/// The kernel that takes over the faults of many runs.
pub(super) fn merge() -> Arc<str> {
    let mut shader = Shader::new("merge", Tier::General);
    (0..MERGE_WORDS).for_each(|_| _ = shader.params.push(Param::Opaque(0)));
    shader.bind_status();
    shader.add("fn word(k: u32) -> u32 { return params[k / 4u][k % 4u]; }\n");
    let body = "    let k = 2u + 3u * thread;
    _ = fl_take_over(word(0u), word(1u), word(k), word(k + 1u), word(k + 2u));
";
    shader.finish(&Entry::grid([1, 1, 1], MERGED), body).source
}

/// A kernel that reports the first NaN of a buffer.
pub(super) fn nan_check(dtype: DType, numel: usize) -> Program {
    let mut shader = Shader::new("NaN check", Tier::General);
    let count = shader.params.size(numel);
    let fault = shader::fault(&mut shader.params, 0, "index");
    shader.bind_elements(Bound::Input(0), "values", dtype, false);
    shader.bind_status();
    shader.checks = Some(Checked::Nan);
    let value = widen(dtype, "values[index]");
    let body = format!("    if ((bitcast<u32>({value}) & 0x7fffffffu) > 0x7f800000u) {{ {fault} }}\n");
    shader.finish(&Entry::threads("index", numel, &count, 256), &body)
}
