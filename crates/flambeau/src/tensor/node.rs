//! Nodes of the lazy graph: what a tensor handle points at.
//!
//! A node is pending (an op and its inputs) until an evaluation makes it ready (storage). The compute edges are cut
//! at that moment; autograd's edges live elsewhere (`autograd::function`) and are not affected.

use crate::backend::{Buffer, Witness};
use crate::device::Device;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::ir::Precision;
use crate::op::{Meta, Op};
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// Contiguous memory on a device that holds one value.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    pub buffer: Buffer,
    /// Knows whether the run that wrote it had a fault, if it may have had one.
    pub witness: Option<Arc<Witness>>,
    /// Written by a guarded update: valid even when its run had a fault.
    pub guarded: bool,
}

/// One output of a node.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub node: Arc<Node>,
    pub output: u32,
}

impl Value {
    /// All outputs of a node.
    pub fn all(node: &Arc<Node>) -> impl Iterator<Item = Value> {
        (0..node.outputs.len() as u32).map(|output| Value { node: node.clone(), output })
    }

    pub fn meta(&self) -> &Meta {
        &self.node.outputs[self.output as usize]
    }

    /// The memory, if it has been computed.
    pub fn storage(&self) -> Option<Arc<Storage>> {
        match &*self.node.state() {
            State::Ready(storages) => Some(storages[self.output as usize].clone()),
            State::Pending { .. } => None,
        }
    }
}

/// What a node is at the moment.
#[derive(Debug)]
pub(crate) enum State {
    Pending { op: Op, inputs: SmallVec<[Value; 3]>, data: SmallVec<[Scalar; 1]> },
    Ready(SmallVec<[Arc<Storage>; 1]>),
}

impl State {
    /// What makes the values, for errors.
    fn name(&self) -> &'static str {
        match self {
            State::Pending { op, .. } => op.name(),
            State::Ready(_) => "tensor",
        }
    }
}

/// A value, or several of one op, computed or still to be computed.
#[derive(Debug)]
pub(crate) struct Node {
    pub device: Device,
    pub outputs: SmallVec<[Meta; 1]>,
    /// Nodes of different regions are never merged: a checkpoint's recomputation has a region of its own.
    pub region: u32,
    /// How precise products of f32 are to be, in an op that is or may be made of such; else the highest.
    pub precision: Precision,
    /// The line that created it.
    pub location: &'static Location<'static>,
    state: Mutex<State>,
    /// Tensor handles outside the graph.
    handles: AtomicUsize,
    /// Derivative rules that will read it.
    saved: AtomicU32,
    /// Where the latest snapshot of a graph has put it.
    mark: AtomicU64,
}

impl Node {
    /// The node; a shape that no tensor may have is an error here, and nowhere else.
    pub fn new(
        device: Device,
        outputs: SmallVec<[Meta; 1]>,
        location: &'static Location<'static>,
        state: State,
    ) -> Result<Arc<Node>> {
        for meta in &outputs {
            meta.shape.check(state.name())?;
        }
        let region = crate::autograd::current_region();
        let location = crate::autograd::current_line().unwrap_or(location);
        let precision = match &state {
            State::Pending { op, .. } if op.multiplies_f32(&outputs) => super::precision::in_force(&device),
            State::Pending { .. } | State::Ready(_) => Precision::Highest,
        };
        let (handles, saved, mark) = (AtomicUsize::new(0), AtomicU32::new(0), AtomicU64::new(0));
        let state = Mutex::new(state);
        Ok(Arc::new(Node { device, outputs, region, precision, location, state, handles, saved, mark }))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn is_pending(&self) -> bool {
        matches!(&*self.state(), State::Pending { .. })
    }

    /// Makes the node ready and cuts its compute edges. If two threads have evaluated it, the first to be done counts.
    pub fn fill(&self, storages: SmallVec<[Arc<Storage>; 1]>) {
        let before = {
            let mut state = self.state();
            match &*state {
                State::Ready(_) => return,
                State::Pending { .. } => std::mem::replace(&mut *state, State::Ready(storages)),
            }
        };
        drop_iteratively(before);
    }

    pub fn is_held(&self) -> bool {
        self.handles.load(Relaxed) > 0
    }

    pub fn hold(&self) {
        self.handles.fetch_add(1, Relaxed);
    }

    pub fn release(&self) {
        self.handles.fetch_sub(1, Relaxed);
    }

    pub fn mark(&self) -> u64 {
        self.mark.load(Relaxed)
    }

    pub fn set_mark(&self, mark: u64) {
        self.mark.store(mark, Relaxed);
    }

    pub fn is_saved(&self) -> bool {
        self.saved.load(Relaxed) > 0
    }

    pub fn save(&self) {
        self.saved.fetch_add(1, Relaxed);
    }

    pub fn unsave(&self) {
        self.saved.fetch_sub(1, Relaxed);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let nothing = State::Ready(SmallVec::new());
        drop_iteratively(std::mem::replace(state, nothing));
    }
}

/// Drops a node's inputs without recursion: a chain of 100,000 nodes must not overflow the stack.
fn drop_iteratively(state: State) {
    let State::Pending { inputs: mut stack, .. } = state else { return };
    while let Some(value) = stack.pop() {
        if let Some(mut node) = Arc::into_inner(value.node) {
            let state = node.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let State::Pending { inputs, .. } = state {
                stack.extend(std::mem::take(inputs));
            }
        }
    }
}
