//! Transforms of functions.
//!
//! - `reference`: PyTorch's values, and gradients through them (`tools/reference/func.py`);
//! - `suite`: every case of the op suite for a batch against a loop over the samples;
//! - `compositions`: what has no reference: rules of one's own, checkpoints, what is captured, random numbers, costs;
//! - `modules`: modules as functions, ensembles;
//! - `refused`: errors.

mod compositions;
mod modules;
mod reference;
mod refused;
mod suite;
