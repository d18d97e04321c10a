//! Shaders: how they are put together, and the WGSL of fused kernels.
//!
//! `builder` is what every shader is written with: buffers, numbers, functions, the entry point, lines of code. `pieces` has
//! types, conversions, numbers in the uniform block, faults; `results` how a structured kernel hands on what it computes;
//! `fold` and `workgroup` how a workgroup reduces. Structured ops write the rest of their kernels themselves.
//!
//! Of fused kernels, `codegen` decides how one runs and writes it down: element by element or by fours (`wide`), down columns
//! (`columns`), or row by row (`rows`); `values` writes instructions, `fours` what is done with one element or with four
//! neighbours, `locate` finds elements through accesses, and an epilogue is one of them behind another kernel (`epilogue`).
//! Nothing here knows an op or the device that runs it.

mod builder;
#[cfg(feature = "gpu")]
pub(crate) mod codegen;
#[cfg(feature = "gpu")]
mod columns;
#[cfg(feature = "gpu")]
mod epilogue;
mod fold;
#[cfg(feature = "gpu")]
mod fours;
#[cfg(feature = "gpu")]
mod locate;
#[cfg(feature = "gpu")]
mod packed;
mod pieces;
mod results;
#[cfg(feature = "gpu")]
mod rows;
#[cfg(all(test, feature = "gpu"))]
mod tests;
#[cfg(feature = "gpu")]
mod values;
#[cfg(feature = "gpu")]
mod wide;
mod workgroup;

pub(crate) use builder::{Code, Entry, GROUP_NUMBER, Shader};
use builder::{line, open};
pub(crate) use fold::Fold;
pub(crate) use pieces::*;
