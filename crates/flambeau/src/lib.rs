//! Flambeau: deep learning in pure Rust.

pub mod autograd;
mod backend;
mod device;
mod dtype;
mod error;
mod op;
mod plan;
pub mod reference;
mod rng;
mod shape;
mod tensor;

pub use device::{Device, PlanStats};
pub use dtype::{DType, Element, Scalar};
pub use error::{Error, Result};
pub use op::elementwise::Operand;
pub use rng::{Generator, manual_seed};
pub use shape::{Dims, Shape};
pub use tensor::{
    ContractedDims, Ellipsis, Index, IndexSpec, IntoTensorData, NewAxis, PadMode, Size, Sizes, Span, SplitSizes,
    Tensor, TensorOptions, eval,
};

/// What most programs use.
pub mod prelude {
    pub use crate::autograd::{BackwardOptions, grad, no_grad, set_grad_enabled};
    pub use crate::{
        DType, Device, Dims, Ellipsis, Error, Generator, Index, NewAxis, PadMode, Result, Scalar, Shape, Tensor, eval,
    };
}
