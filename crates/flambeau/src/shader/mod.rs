//! Shaders: the WGSL of fused kernels, and the pieces that structured kernels are written with.
//!
//! `codegen` decides how a fused kernel runs and writes it down: element by element or by fours (`wide`), a reduction in
//! parts (`fold`), down columns (`columns`), or rows in phases (`rows`); `locate` finds elements through accesses. A
//! structured kernel hands its results to memory or to an epilogue (`results`, `epilogue`). `pieces` is what all share:
//! types, conversions, numbers in the uniform block, faults. Nothing here knows an op or the device that runs it.

#[cfg(feature = "gpu")]
pub(crate) mod codegen;
#[cfg(feature = "gpu")]
mod columns;
#[cfg(feature = "gpu")]
mod epilogue;
#[cfg(feature = "gpu")]
mod fold;
#[cfg(feature = "gpu")]
mod locate;
mod pieces;
pub(crate) mod results;
#[cfg(feature = "gpu")]
mod rows;
#[cfg(feature = "gpu")]
mod wide;

pub(crate) use pieces::*;
