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
mod ordered;
#[cfg(not(target_arch = "wasm32"))]
mod out_of_core;
mod parameter;
mod placing;
mod stages;
mod summary;
pub mod utils;
mod walks;

pub use containers::{ModuleList, Sequential};
pub use flambeau_derive::Module;
pub use forward::{Forward, ForwardOutput};
pub use layers::*;
pub use mode::Mode;
pub use module::{Module, Part};
pub use ordered::{ModuleDict, OrderedDict, ParameterDict, ParameterList};
#[cfg(not(target_arch = "wasm32"))]
pub use out_of_core::OutOfCore;
pub(crate) use parameter::Substitute;
pub use parameter::{Buffer, Parameter};
pub use placing::{Placement, Placing};
pub use stages::Stage;
pub use walks::{named_children, named_modules};
