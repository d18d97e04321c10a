//! The intermediate representation: what plans are made of. It lies below the ops, which say in its terms what they
//! compute; plans are lists of its kernels, and backends run them. It knows no op, no tensor and no backend.
//!
//! - A kernel is fused elementwise work with its reductions (`kernel`), or a call of a primitive that has kernels of its
//!   own (`call`).
//! - Operands are found through accesses (`access`), which any chain of views (`view`) becomes.
//! - An elementwise function (`map`) says how each backend computes one element; `reduce` names the reductions.
//! - On the GPU a kernel is one shader or a few (`program`).

pub(crate) mod access;
pub(crate) mod call;
mod gpu_size;
pub(crate) mod kernel;
mod map;
mod matrix_units;
pub(crate) mod program;
mod reduce;
mod view;

pub use gpu_size::GpuSize;
pub(crate) use map::Map;
pub use matrix_units::Precision;
pub(crate) use matrix_units::{UnitKind, WhyNot};
pub(crate) use program::Program;
pub(crate) use reduce::{Reduce, ReduceKind};
pub(crate) use view::View;

use crate::dtype::DType;
use crate::shape::Shape;

/// Where a part of a buffer may start, in bytes: WebGPU's default.
pub(crate) const PART_ALIGNMENT: u64 = 256;
/// Bytes at whose multiples the numbers of a kernel begin in the uniform block: WebGPU's default limit.
pub(crate) const UNIFORM_ALIGNMENT: usize = 256;

/// Shape and dtype of one output of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Meta {
    pub shape: Shape,
    pub dtype: DType,
}

impl Meta {
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Meta {
        Meta { shape: shape.into(), dtype }
    }

    pub fn numel(&self) -> usize {
        self.shape.numel()
    }

    /// The bytes of the elements in host memory; `u64::MAX` where there are more.
    pub fn bytes(&self) -> u64 {
        (self.numel() as u64).saturating_mul(self.dtype.size() as u64)
    }
}
