//! Faults on the device: kernels report them in a status word, updates of parameters are predicated on it, and no
//! value that may be wrong is handed out.
//!
//! A fault (an index out of range; in debug mode a NaN) stays until it is cleared. While it stays, guarded updates
//! change nothing, so parameters keep the values they had before the faulty step.

use super::compile::Check;
use super::runtime::{GpuBuffer, Runtime};
use crate::backend::wgsl::{self, Params, storage_type, widen};
use crate::backend::{ReadRequest, Run};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::structured::{Bound, Param, Program};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Count of faults, then node, run and value of the first.
pub(super) const STATUS_BYTES: u64 = 16;
/// Set in the node's number when the fault is a NaN.
pub(super) const NAN_FLAG: u32 = 1 << 31;
/// Runs whose nodes can still be named when a fault is seen.
const REMEMBERED_RUNS: usize = 64;

pub(super) struct Faults {
    status: Arc<GpuBuffer>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The fault in force: the run it happened in, and what it was.
    current: Option<(u64, Error)>,
    /// Stretches of runs whose results are not to be trusted, from cleared faults.
    poisoned: Vec<(u64, u64, Error)>,
    recent: VecDeque<(u64, Vec<(Check, &'static Location<'static>)>)>,
}

impl Faults {
    pub fn new(runtime: &Arc<Runtime>) -> Result<Faults> {
        Ok(Faults { status: runtime.upload(&[0; STATUS_BYTES as usize])?, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn status(&self) -> &Arc<GpuBuffer> {
        &self.status
    }

    /// The fault in force, if one has been seen.
    pub fn check(&self) -> Result<()> {
        match &self.state().current {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Remembers which lines a run's checks belong to.
    pub fn note(&self, run: &Run, checks: &[Check]) {
        if checks.is_empty() {
            return;
        }
        let line = |check: &Check| run.location(check.node & !NAN_FLAG);
        let lines = checks.iter().map(|check| (check.clone(), line(check))).collect();
        let mut state = self.state();
        state.recent.push_back((run.number, lines));
        if state.recent.len() > REMEMBERED_RUNS {
            state.recent.pop_front();
        }
    }

    /// Takes in the status words as read from the device.
    pub fn observe(&self, status: &[u8]) {
        let word = |k: usize| {
            status.get(4 * k..4 * k + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        let mut state = self.state();
        if word(0) == 0 || state.current.is_some() {
            return;
        }
        let (node, run, value) = (word(1), word(2), word(3));
        let remembered = state.recent.iter().find(|(number, _)| *number as u32 == run);
        let number = remembered.map_or(u64::from(run), |(number, _)| *number);
        let found = remembered.and_then(|(_, checks)| checks.iter().find(|(check, _)| check.node == node));
        let location = found.map_or("an earlier step".to_string(), |(_, line)| line.to_string());
        let (op, size) = found.map_or(("gather", 0), |(check, _)| (check.op, check.size));
        let error = if node & NAN_FLAG != 0 {
            Error::NotANumber { op: "debug check", location }
        } else {
            Error::IndexOutOfRange { op, index: i64::from(value as i32), size, location }
        };
        state.current = Some((number, error));
    }

    /// Can this value be handed out?
    pub fn trust(&self, request: &ReadRequest) -> Result<()> {
        if request.guarded {
            return Ok(());
        }
        if let Some((run, error)) = &self.state().current
            && request.run >= *run
        {
            return Err(error.clone());
        }
        self.void_because(request.run).map_or(Ok(()), |error| Err(Error::Poisoned(Box::new(error))))
    }

    /// The fault, cleared since, in whose stretch of runs this one lies: its guarded updates changed nothing, and its
    /// other results are not to be trusted.
    pub fn void_because(&self, run: u64) -> Option<Error> {
        let state = self.state();
        let fault = state.poisoned.iter().find(|(from, to, _)| (*from..=*to).contains(&run));
        fault.map(|(_, _, error)| error.clone())
    }

    /// Forgets the fault; what was computed since it stays untrusted.
    pub fn clear(&self, runtime: &Arc<Runtime>, runs: u64) -> Result<()> {
        let mut state = self.state();
        if let Some((run, error)) = state.current.take() {
            state.poisoned.push((run, runs, error));
        }
        runtime.clear(&self.status)
    }
}

/// A kernel that reports the first NaN of a buffer.
pub(super) fn nan_check(dtype: DType, numel: usize, node: u32) -> Program {
    let mut params = Params::default();
    let (count, node, run) =
        (params.size(numel), params.push(Param::Fixed(node | NAN_FLAG)), params.push(Param::Run));
    let source = format!(
        "{enable}@group(0) @binding(0) var<storage, read> values: array<{stored}>;
{status}@group(0) @binding(2) var<uniform> params: array<vec4<u32>, {vectors}>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
    let index = (group.x + group.y * groups.x) * 256u + thread;
    if (index >= {count}) {{ return; }}
    if ((bitcast<u32>({value}) & 0x7fffffffu) > 0x7f800000u) {{ fl_fault({node}, {run}, index); }}
}}
",
        enable = if dtype == DType::F16 { "enable f16;\n" } else { "" },
        stored = storage_type(dtype),
        status = wgsl::status_declaration(1),
        vectors = params.vectors(),
        value = widen(dtype, "values[index]"),
    );
    Program {
        label: "NaN check",
        source,
        entry: "main".into(),
        bindings: vec![Bound::Input(0), Bound::Status],
        params: params.list,
        groups: wgsl::groups_for(numel, 256),
        scratch: Vec::new(),
        trusted: true,
        checks: None,
    }
}
