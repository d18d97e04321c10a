//! Neural networks: what models are made of.

mod containers;
mod forward;
pub mod functional;
pub mod init;
mod layers;
pub mod loss;
mod mode;
pub mod models;
mod module;
mod parameter;
mod summary;
pub mod utils;
mod walks;

pub use containers::{ModuleDict, ModuleList, Sequential};
pub use flambeau_derive::Module;
pub use forward::{Forward, ForwardOutput};
pub use layers::*;
pub use mode::Mode;
pub use module::{Module, Part};
pub(crate) use parameter::Substitute;
pub use parameter::{Buffer, Parameter};
