#![doc = include_str!("../README.md")]

mod app;
mod client;
mod error;
#[cfg(not(target_arch = "wasm32"))]
mod heartbeat;
#[cfg(not(target_arch = "wasm32"))]
mod http;
mod json;
mod message;
mod node;
mod objects;
pub mod privacy;
mod records;
mod round;
#[cfg(feature = "secure")]
pub mod secure;
mod sign;
#[cfg(target_arch = "wasm32")]
mod tab;
mod transport;
mod wire;

pub use app::{App, Evaluated, Task, Trained};
pub use client::{FLOWER_VERSION, Fleet, Limits};
pub use error::{FlowerError, Result};
#[cfg(not(target_arch = "wasm32"))]
pub use heartbeat::Heartbeat;
#[cfg(not(target_arch = "wasm32"))]
pub use http::Http;
pub use message::{Message, Metadata, Problem};
pub use node::{ServeOptions, Served, serve};
pub use records::{Array, Named, Record, RecordDict, Value};
pub use round::{Outcome, Received};
pub use sign::NodeKey;
#[cfg(target_arch = "wasm32")]
pub use tab::{Fetch, Heartbeat};
pub use transport::{Reply, Request, Transport};

#[cfg(test)]
mod testing;
