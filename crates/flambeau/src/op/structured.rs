//! What a structured primitive brings beside its kernels for both backends ([`Kernels`]): its derivative and its definition for
//! the interpreter ([`Structured`]), its names and its samples for the self-test ([`Listed`]), and its methods in other
//! languages ([`Methods`]), all in its own file or folder. The list in `op/mod.rs` is the only place that names them all.

use super::batch::{BatchCall, Batched};
use super::case::Case;
use super::{Grads, Meta, Saves, Vjp};
use crate::calls::Methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::Block;
use crate::ir::call::Kernels;
use crate::op::Autocast;
use crate::shape::Shape;
use std::hash::{Hash, Hasher};
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

/// What the list takes from a primitive as a type. None of it is in a vtable: a program that does not ask for samples, as a page
/// that trains, does not have them.
pub(crate) trait Listed: Structured + Methods {
    /// The names that its nodes may have, if ops on tensors make them: the self-test must run each of them.
    const NAMES: &'static [&'static str];

    /// Which dtypes the ops that make it take in mixed precision: they ask for it before they look at their inputs.
    const AUTOCAST: Autocast = Autocast::Widest;

    /// Are there kernels that multiply f32 as precisely as it is asked for?
    const HEEDS_PRECISION: bool = false;

    /// What the self-test runs.
    fn samples() -> Vec<Case>;

    /// The results for all samples of a batch, where some inputs have a value for each of them. Unless it says otherwise, it
    /// is computed once for each sample.
    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.one_by_one()
    }
}

/// A primitive of which the list knows only what all of them have: a program that never makes one, as a page that transforms nothing,
/// has none of its code.
#[derive(Clone)]
pub(crate) struct Apart(Arc<dyn Structured>);

impl Apart {
    pub fn new(op: impl Structured) -> Apart {
        Apart(Arc::new(op))
    }

    pub fn kernels(&self) -> Arc<dyn Kernels> {
        self.0.clone()
    }
}

impl std::ops::Deref for Apart {
    type Target = dyn Structured;

    fn deref(&self) -> &(dyn Structured + 'static) {
        &*self.0
    }
}

impl std::fmt::Debug for Apart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

impl PartialEq for Apart {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(other.0.as_any())
    }
}

impl Eq for Apart {}

impl Hash for Apart {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash_into(state);
    }
}

/// Declares the structured primitives. An entry gives the docs, and the type, which may be shared or stand apart ([`Apart`]).
macro_rules! structured {
    ($($(#[$doc:meta])* $variant:ident($type:ty $(, $shared:ident)?);)*) => {
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

            /// The results for all samples of a batch.
            pub fn batch(&self, call: &batch::BatchCall) -> Result<batch::Batched> {
                match self {
                    $(StructuredOp::$variant(op) => {
                        let op = structured!(@typed $type, op $(, $shared)?);
                        <$type as Listed>::batch(op, call)
                    })*
                }
            }

            /// Are there kernels that multiply f32 as precisely as it is asked for?
            pub fn heeds_precision(&self) -> bool {
                match self {
                    $(StructuredOp::$variant(_) => <$type as Listed>::HEEDS_PRECISION,)*
                }
            }

            /// The names that its nodes may have, if ops on tensors make them.
            pub fn names(&self) -> &'static [&'static str] {
                match self {
                    $(StructuredOp::$variant(_) => <$type as Listed>::NAMES,)*
                }
            }
        }

        /// The names of all that ops on tensors make.
        pub(crate) static NAMES: &[&[&str]] = &[$(<$type as Listed>::NAMES),*];

        /// Their samples.
        pub(crate) static SAMPLES: &[fn() -> Vec<Case>] = &[$(<$type as Listed>::samples),*];

        /// Their methods in other languages.
        pub static METHODS: &[&[Call]] = &[$(<$type as Methods>::CALLS),*];

        /// What TypeScript is told of the methods, in the same order.
        pub static SIGNATURES: &[fn() -> Vec<Signature>] = &[$(<$type as Methods>::signatures),*];
    };
    (@type $type:ty) => { $type };
    (@type $type:ty, shared) => { Arc<$type> };
    (@type $type:ty, apart) => { Apart };
    (@deref $op:ident) => { $op };
    (@deref $op:ident, shared) => { &**$op };
    (@deref $op:ident, apart) => { &**$op };
    (@typed $type:ty, $op:ident) => { $op };
    (@typed $type:ty, $op:ident, shared) => { &**$op };
    (@typed $type:ty, $op:ident, apart) => {{
        $op.as_any().downcast_ref::<$type>().expect("an entry of the list has the type it names")
    }};
    (@kernels $op:ident) => { Arc::new($op.clone()) };
    (@kernels $op:ident, shared) => { $op.clone() };
    (@kernels $op:ident, apart) => { $op.kernels() };
}
pub(super) use structured;
