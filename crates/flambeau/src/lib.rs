//! Flambeau: deep learning in pure Rust, on any GPU through WebGPU, natively and in the browser, and on the CPU with
//! the same answers.
//!
//! A [`Tensor`] is a node in a lazy graph: methods check shapes and dtypes and add nodes, [`Tensor::backward`] adds
//! the nodes of the gradients, and reading a value or an optimizer's step evaluates what is needed as one plan. Plans
//! are cached by structure, so that every step of a training loop is one submission that makes nothing new.
//!
//! ```
//! use flambeau::prelude::*;
//!
//! let device = Device::cpu(); // or Device::best().await
//! let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device).requires_grad();
//! let y = x.matmul(&x.t()).relu().sum(..);
//! y.backward()?;
//! assert_eq!(y.item_blocking()?, 52.0);
//! assert_eq!(x.grad().unwrap().to_string(), "tensor([[ 8., 12.],\n        [ 8., 12.]])");
//! # Ok::<(), flambeau::Error>(())
//! ```
//!
//! Where to start: [`Tensor`] for ops, [`Device`] for where they run, [`autograd`] for derivatives, [`nn`] and
//! [`optim`] for training, [`fft`] and [`complex`] for spectra, [`linalg`] for matrices, [`func`] for transforms of functions,
//! [`numeric`] and [`random`] for what NumPy has beyond, [`interop`] for other crates' arrays and pictures,
//! [`Tensor::explain`] for what a plan does, [`CustomKernel`] for kernels of one's own.

// The derive writes `::flambeau::nn::Module`, here too.
extern crate self as flambeau;

pub mod autograd;
mod backend;
#[doc(hidden)]
pub mod bindings;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod browser;
#[doc(hidden)]
pub mod calls;
pub mod complex;
pub mod data;
mod device;
mod dtype;
mod engine;
mod error;
pub mod fft;
pub mod func;
pub mod group;
mod host;
pub mod interop;
pub mod io;
mod ir;
pub mod linalg;
mod memory;
pub mod nn;
pub mod numeric;
mod op;
pub mod optim;
mod plan;
pub mod random;
pub mod reference;
mod rehearsal;
mod rng;
pub mod selftest;
#[doc(hidden)]
pub mod settings;
mod shader;
mod shape;
mod tensor;
pub mod train;

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub use backend::wgpu::runtime::PipelineStore;
#[cfg(feature = "gpu")]
pub use backend::wgpu::runtime::{
    AdapterDescription, AdapterKind, GpuConfig, GpuStats, KernelTiming, KernelWork, MatrixUnits,
    PowerPreference, Specialise, Subgroups, enumerate_adapters,
};
pub use device::{CpuConfig, Device};
pub use dtype::{DType, Element, Scalar};
pub use engine::{PlanStats, Reading};
pub use error::{Error, Result};
#[cfg(not(target_arch = "wasm32"))]
pub use host::user_cache;
#[cfg(feature = "gpu")]
pub use ir::GpuSize;
pub use ir::Precision;
pub use memory::{MemoryStats, MemoryStrategy};
pub use op::custom::{KernelInput, KernelOutput};
pub use op::elementwise::Operand;
pub use rng::{Generator, manual_seed};
pub use shape::{Dims, Shape};
pub use tensor::{
    AvgPool1dOptions, AvgPool2dOptions, AvgPool3dOptions, AvgPoolOptions, ContractedDims, Conv1dOptions,
    Conv2dOptions, Conv3dOptions, ConvOptions, ConvTranspose1dOptions, ConvTranspose2dOptions,
    ConvTranspose3dOptions, ConvTransposeOptions, CustomKernel, Ellipsis, Index, IndexSpec, IntoTensorData,
    MatmulPrecisionGuard, MaxPool1dOptions, MaxPool2dOptions, MaxPool3dOptions, MaxPoolOptions, NewAxis,
    PadMode, Padding, PrintOptions, ScatterReduction, Size, Sizes, Span, Spatial, SplitSizes, Tensor,
    TensorOptions, Unique, enter_matmul_precision, eval, float32_matmul_precision, matmul_precision,
    print_options, read_later, read_many, set_float32_matmul_precision, set_print_options,
    with_print_options,
};

#[cfg(not(target_arch = "wasm32"))]
pub use pollster::block_on;

/// What most programs use.
pub mod prelude {
    pub use crate::autograd::{BackwardOptions, autocast, grad, no_grad, set_grad_enabled};
    pub use crate::nn::{Forward, Module, Parameter};
    pub use crate::optim::Optimizer;
    pub use crate::{
        AvgPool1dOptions, AvgPool2dOptions, Conv1dOptions, Conv2dOptions, Conv3dOptions,
        ConvTranspose1dOptions, ConvTranspose2dOptions, ConvTranspose3dOptions, DType, Device, Dims,
        Ellipsis, Error, Generator, Index, MaxPool1dOptions, MaxPool2dOptions, NewAxis, PadMode, Padding,
        Result, Scalar, Shape, Tensor, eval,
    };
}

/// The code blocks of the README, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
