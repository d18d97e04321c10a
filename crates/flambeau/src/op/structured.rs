//! What a structured primitive brings beside its kernels for both backends ([`Kernels`]): its derivative, and its
//! definition for the interpreter, all in one file. The list below is the only place that names them all.

use super::argsort::ArgSort;
use super::attention::Attention;
use super::conv::Conv;
use super::custom::Custom;
use super::matmul::MatMul;
use super::pack::Pack;
use super::pool::Pool;
use super::recurrence::Recurrence;
use super::scan::Scan;
use super::scatter::Scatter;
use super::{Grads, Meta, Saves, Vjp};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::Block;
use crate::ir::call::Kernels;
use crate::ir::program::FiniteCheck;
use crate::shape::Shape;
use std::sync::Arc;

/// A value of the interpreter: f64 for floats, i64 for integers, bool for booleans; contiguous.
#[derive(Debug, Clone)]
pub(crate) struct Exact {
    pub shape: Shape,
    pub dtype: DType,
    pub values: Block,
}

/// A primitive with kernels of its own.
pub(crate) trait Structured: Kernels {
    /// What the derivative rule reads.
    fn saves(&self) -> Saves;

    fn vjp(&self, v: &Vjp) -> Result<Grads>;

    /// The definition, in f64.
    fn exact(&self, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Result<Vec<Exact>>;
}

/// Declares the structured primitives. A line gives the docs, the type, which may be shared, and the names that nodes of it
/// have: the self-test must run each of them.
macro_rules! structured {
    ($($(#[$doc:meta])* $variant:ident($type:ty $(, $shared:ident)?) [$($name:literal),*];)*) => {
        /// Every structured primitive.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub(crate) enum StructuredOp {
            $($(#[$doc])* $variant(structured!(@type $type $(, $shared)?)),)*
        }

        impl std::ops::Deref for StructuredOp {
            type Target = dyn Structured;

            fn deref(&self) -> &(dyn Structured + 'static) {
                match self {
                    $(StructuredOp::$variant(op) => structured!(@deref op $(, $shared)?),)*
                }
            }
        }

        impl StructuredOp {
            /// Its kernels, as a plan keeps them.
            pub fn kernels(&self) -> Arc<dyn Kernels> {
                match self {
                    $(StructuredOp::$variant(op) => structured!(@kernels op $(, $shared)?),)*
                }
            }

            /// The names that its nodes may have, if ops on tensors make them.
            pub fn names(&self) -> &'static [&'static str] {
                match self {
                    $(StructuredOp::$variant(_) => &[$($name),*],)*
                }
            }
        }

        /// The names of all that ops on tensors make.
        pub(crate) const NAMES: &[&[&str]] = &[$(&[$($name),*]),*];
    };
    (@type $type:ty) => { $type };
    (@type $type:ty, shared) => { Arc<$type> };
    (@deref $op:ident) => { $op };
    (@deref $op:ident, shared) => { &**$op };
    (@kernels $op:ident) => { Arc::new($op.clone()) };
    (@kernels $op:ident, shared) => { $op.clone() };
}

structured! {
    /// Batched matrix product.
    MatMul(MatMul) ["matmul"];
    /// Writes or adds values at indexed places along a dimension.
    Scatter(Scatter) ["scatter", "scatter_add"];
    /// The order of the elements of each row.
    ArgSort(ArgSort) ["argsort"];
    /// Running sums and products.
    Scan(Scan) ["cumsum", "cumprod"];
    /// Flat values at fixed places of a larger one.
    Pack(Pack) ["pack"];
    /// Convolution and its adjoints.
    Conv(Conv, shared) ["conv", "conv_transpose", "conv_weight"];
    /// Maxima and means over windows.
    Pool(Pool, shared) ["max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward"];
    /// Scaled dot-product attention and its gradients.
    Attention(Attention) ["attention", "attention_backward"];
    /// A recurrent layer over all steps, and its gradients.
    Recurrence(Recurrence) ["recurrence", "recurrence_backward"];
    /// A fault where numbers are not finite: the optimizer's check, not made by ops on tensors.
    RequireFinite(FiniteCheck) [];
    /// A kernel written by the user, which has a name of its own.
    Custom(Custom, shared) [];
}
