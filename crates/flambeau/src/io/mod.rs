//! Tensors in files, and what can be saved and brought back.

mod state;

pub use state::{State, StateDict, Stateful};
