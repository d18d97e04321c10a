//! The layers, one topic per file: parameters with PyTorch's names, defaults and first values, and what they compute.

mod linear;

pub use linear::{Linear, LinearOptions};
