//! Flambeau: deep learning in pure Rust.

pub mod autograd;
mod backend;
mod device;
mod dtype;
mod engine;
mod error;
pub mod nn;
mod op;
pub mod optim;
mod plan;
pub mod reference;
mod rng;
pub mod selftest;
mod shape;
mod tensor;

#[cfg(feature = "gpu")]
pub use backend::wgpu::runtime::{
    AdapterDescription, AdapterKind, GpuConfig, GpuStats, MemoryStats, PowerPreference, enumerate_adapters,
};
pub use device::Device;
pub use dtype::{DType, Element, Scalar};
pub use engine::PlanStats;
pub use error::{Error, Result};
pub use op::custom::{KernelInput, KernelOutput};
pub use op::elementwise::Operand;
pub use rng::{Generator, manual_seed};
pub use shape::{Dims, Shape};
pub use tensor::{
    ContractedDims, CustomKernel, Ellipsis, Index, IndexSpec, IntoTensorData, NewAxis, PadMode, Size, Sizes,
    Span, SplitSizes, Tensor, TensorOptions, Unique, eval, read_many,
};

#[cfg(not(target_arch = "wasm32"))]
pub use pollster::block_on;

/// What most programs use.
pub mod prelude {
    pub use crate::autograd::{BackwardOptions, grad, no_grad, set_grad_enabled};
    pub use crate::{
        DType, Device, Dims, Ellipsis, Error, Generator, Index, NewAxis, PadMode, Result, Scalar, Shape,
        Tensor, eval,
    };
}
