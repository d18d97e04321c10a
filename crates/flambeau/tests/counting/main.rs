//! What evaluations cost, counted: plans, kernels, pending nodes, graphs of 100,000 nodes.
//!
//! The counters belong to devices that all tests of a binary share, so these have a binary of their own and run one
//! at a time.

mod amp;
mod attention;
#[path = "../common/mod.rs"]
mod common;
mod costs;
mod data;
mod deep_graph;
mod engine;
mod epilogues;
mod estimates;
mod layers;
mod new_shapes;
mod nn_plans;
mod out_of_core;
mod precision;
mod rows;
mod sequences;
mod tensor_plans;

use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

/// Held by a test while it counts.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
