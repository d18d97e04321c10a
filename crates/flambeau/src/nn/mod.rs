//! Neural networks: what layers are made of.

mod parameter;

pub use parameter::{Buffer, Parameter};
