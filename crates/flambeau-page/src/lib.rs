#![doc = include_str!("../README.md")]

#[cfg(feature = "build")]
mod build;
#[cfg(feature = "build")]
mod command;
mod request;
#[cfg(feature = "rooms")]
pub mod rooms;
pub mod server;

#[cfg(feature = "build")]
pub use build::{Build, BuildError, build};
#[cfg(feature = "build")]
pub use command::main;
