//! Elementwise primitives: one table entry each.
//!
//! An entry gives the docs, the dtypes, the CPU and WGSL expressions, what its derivative reads, the derivative,
//! sample domains and a worked example. The macro turns it into the static the planner works with, the methods
//! `x.name()` and `x.try_name()`, and a line of [`table`], from which the tests of every op are made.

mod activation;
mod arithmetic;
mod compare;
mod exponential;
mod gamma;
mod logic;
mod rare;
mod rounding;
mod sources;
mod special;
mod trigonometric;
mod vectorised;
pub(crate) mod wgsl;

pub(crate) use arithmetic::{POW, RECIPROCAL};
pub(super) use exponential::{RELU, SIGMOID, TANH};
pub(crate) use logic::SELECT;
pub(crate) use sources::{NORMAL, UNIFORM};
pub(super) use special::Real;

use super::{Autocast, cast_all, is_autocast_enabled, set_autocast_enabled};
use super::{Grads, Meta, Op, Saves, Tensor, Vjp};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::Map;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// What a file of table entries needs.
mod entry {
    pub(super) use super::special::{Integer, Real};
    pub(super) use super::{Elementwise, Operand, Signature, apply, elementwise};
    pub(super) use crate::dtype::Lane;
    pub(super) use crate::error::Result;
    pub(super) use crate::host::{BlockFn, Lanes, View, ViewMut};
    pub(super) use crate::ir::Map;
    pub(super) use crate::op::Autocast;
    pub(super) use crate::op::{Grads, Saves, Tensor, Vjp};
}

/// Which dtypes an op takes, and what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signature {
    /// Floats to the same float; integers are taken as F32.
    Float,
    /// Numbers to the same dtype; booleans are taken as I32.
    Number,
    /// Numbers to booleans.
    Test,
    /// Booleans (anything not zero is true) to booleans.
    Logic,
    /// Integers or booleans to the same dtype.
    Bits,
    /// Integers to the same dtype.
    Integers,
    /// (bool, T, T) to T.
    Select,
    /// Random bits (U32) to F32.
    FromBits,
}

/// One elementwise primitive.
pub(crate) struct Elementwise {
    /// What kernels know of it.
    pub map: Map,
    pub signature: Signature,
    /// Which dtypes it takes in mixed precision.
    pub autocast: Autocast,
    pub saves: Saves,
    pub vjp: fn(&Vjp) -> Result<Grads>,
    pub differentiable: bool,
    /// Where sample inputs are drawn from, one range per operand, inside the op's smooth domain.
    pub domain: &'static [(f64, f64)],
    /// Relative tolerance of a backend against the interpreter, with the reason, when the default is too tight.
    pub tolerance: Option<(f64, &'static str)>,
}

impl Elementwise {
    /// The dtypes the operands are cast to, and the result's.
    pub fn dtypes(&self, given: &[DType]) -> Result<(SmallVec<[DType; 3]>, DType)> {
        let common = |given: &[DType]| given.iter().copied().reduce(DType::promote).unwrap_or(DType::F32);
        let same = |dtype: DType, result: DType| Ok((smallvec![dtype; given.len()], result));
        match self.signature {
            Signature::Float => {
                let dtype = common(given).to_float();
                same(dtype, dtype)
            }
            Signature::Number => match common(given) {
                DType::Bool => same(DType::I32, DType::I32),
                dtype => same(dtype, dtype),
            },
            Signature::Test => match common(given) {
                DType::Bool => same(DType::U8, DType::Bool),
                dtype => same(dtype, DType::Bool),
            },
            Signature::Logic => same(DType::Bool, DType::Bool),
            Signature::Bits => match common(given) {
                dtype if dtype.is_float() => {
                    Err(Error::dtype_not_accepted(self.name, dtype, "an integer dtype or bool"))
                }
                dtype => same(dtype, dtype),
            },
            Signature::Integers => match common(given) {
                dtype if !dtype.is_int() => {
                    Err(Error::dtype_not_accepted(self.name, dtype, "an integer dtype"))
                }
                dtype => same(dtype, dtype),
            },
            Signature::Select => {
                let dtype = common(&given[1..]);
                Ok((smallvec![DType::Bool, dtype, dtype], dtype))
            }
            Signature::FromBits => match given[0] {
                DType::U32 => same(DType::U32, DType::F32),
                dtype => Err(Error::dtype_not_accepted(self.name, dtype, "u32")),
            },
        }
    }
}

impl std::ops::Deref for Elementwise {
    type Target = Map;

    fn deref(&self) -> &Map {
        &self.map
    }
}

impl PartialEq for Elementwise {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
impl Eq for Elementwise {}
impl Hash for Elementwise {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}
impl std::fmt::Debug for Elementwise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every elementwise primitive that is not rare.
pub(crate) fn table() -> impl Iterator<Item = &'static Elementwise> {
    [
        activation::TABLE,
        arithmetic::TABLE,
        compare::TABLE,
        exponential::TABLE,
        logic::TABLE,
        rounding::TABLE,
        sources::TABLE,
        trigonometric::TABLE,
    ]
    .into_iter()
    .flatten()
    .copied()
    .chain([&POW, &SELECT])
}

/// Those of [`table`] and those that few programs use, which scripts cannot call.
pub(crate) fn whole_table() -> impl Iterator<Item = &'static Elementwise> {
    table().chain(rare::TABLE.iter().copied()).chain(gamma::TABLE.iter().copied())
}

/// Applies an elementwise primitive: promotes dtypes, broadcasts shapes, makes the node.
#[track_caller]
pub(crate) fn apply(op: &'static Elementwise, args: &[&Tensor]) -> Result<Tensor> {
    if op.autocast == Autocast::Full && is_autocast_enabled() {
        return apply_in_full(op, args);
    }
    let given: SmallVec<[DType; 3]> = args.iter().map(|arg| arg.dtype()).collect();
    let (wanted, result) = op.dtypes(&given)?;
    let mut shape = Cow::Borrowed(args[0].shape());
    for arg in args[1..].iter().filter(|arg| arg.shape() != args[0].shape()) {
        let both = shape.broadcast(arg.shape());
        shape = Cow::Owned(both.ok_or_else(|| Error::broadcast(op.name, &shape, arg.shape()))?);
    }
    // Most operands are as they must be.
    let mut changed: SmallVec<[Option<Tensor>; 3]> = SmallVec::new();
    for (arg, dtype) in args.iter().zip(wanted) {
        let fits = arg.dtype() == dtype && *arg.shape() == *shape;
        changed.push(match fits {
            true => None,
            false => Some(arg.try_to_dtype(dtype)?.broadcast_as(op.name, &shape)?),
        });
    }
    let operands = args.iter().zip(&changed).map(|(arg, changed)| changed.as_ref().unwrap_or(arg));
    let operands: SmallVec<[&Tensor; 3]> = operands.collect();
    Tensor::from_op_on(Op::Map(op), &operands, Meta::new(shape.into_owned(), result), &[])
}

/// Applies a primitive that mixed precision leaves in F32.
#[track_caller]
#[inline(never)] // A page fetches it only when it is asked for (packages/flambeau/parts/later.txt).
fn apply_in_full(op: &'static Elementwise, args: &[&Tensor]) -> Result<Tensor> {
    let mut cast: SmallVec<[Option<Tensor>; 3]> = smallvec![None; args.len()];
    cast_all(Some(DType::F32), args, &mut cast)?;
    let taken = args.iter().zip(&cast).map(|(arg, cast)| cast.as_ref().unwrap_or(arg));
    let _plain = set_autocast_enabled(false);
    apply(op, &taken.collect::<SmallVec<[&Tensor; 3]>>())
}

/// Something that can stand as the second operand: a tensor or a number.
#[derive(Debug, Clone)]
pub enum Operand {
    /// A tensor.
    Tensor(Tensor),
    /// A number; it takes the tensor's dtype where its kind allows.
    Scalar(crate::dtype::Scalar),
}

impl From<&Tensor> for Operand {
    fn from(tensor: &Tensor) -> Self {
        Operand::Tensor(tensor.clone())
    }
}
impl From<Tensor> for Operand {
    fn from(tensor: Tensor) -> Self {
        Operand::Tensor(tensor)
    }
}
impl<T: Into<crate::dtype::Scalar>> From<T> for Operand {
    fn from(value: T) -> Self {
        Operand::Scalar(value.into())
    }
}

impl Operand {
    /// The operand as a tensor beside `other`: a number becomes a constant of that one's shape, and of the dtype
    /// promotion gives it.
    #[track_caller]
    pub(crate) fn beside(self, other: &Tensor) -> Tensor {
        match self {
            Operand::Tensor(tensor) => tensor,
            Operand::Scalar(scalar) => {
                Tensor::constant(scalar, other.shape(), other.dtype().promote_scalar(scalar), other.device())
            }
        }
    }
}

/// Declares elementwise primitives; see the files of this folder for the form.
macro_rules! elementwise {
    ($(
        $(#[$doc:meta])*
        $static:ident = $name:ident / $try_name:ident ($x:ident $(, $arg:ident)*) : $signature:ident {
            cpu: $cpu:expr,
            $(cpu_block: $block:expr,)?
            $(int: $int:expr,)?
            wgsl: $wgsl:literal,
            $(wgsl_int: $wgsl_int:literal,)?
            $(wgsl_uint: $wgsl_uint:literal,)?
            $(wgsl_bool: $wgsl_bool:literal,)?
            $(helpers: [$($helper:expr),*],)?
            $(is_cheap: $is_cheap:literal,)?
            $(autocast: $autocast:ident,)?
            saves: [$($saved:ident),*],
            vjp($g:ident, $y:ident): $vjp:tt,
            domain: [$($domain:expr),*],
            $(tolerance: $tolerance:expr,)?
            example: $example:literal => $printed:literal,
        }
    )*) => {
        $(
            pub(crate) static $static: Elementwise = Elementwise {
                map: Map {
                    name: stringify!($name),
                    args: &[stringify!($x) $(, stringify!($arg))*],
                    cpu: |lane| match lane {
                        $(Lane::F32 => Some($block),)?
                        lane => elementwise!(@lanes $signature, lane, [$x $(, $arg)*], $cpu $(, $int)?),
                    },
                    wgsl: $wgsl,
                    wgsl_int: elementwise!(@or [$($wgsl_int)?] $wgsl),
                    wgsl_uint: elementwise!(@or [$($wgsl_uint)? $($wgsl_int)?] $wgsl),
                    wgsl_bool: elementwise!(@or [$($wgsl_bool)? $($wgsl_int)?] $wgsl),
                    wgsl_helpers: &[$($($helper),*)?],
                    // What calls no function is, unless the entry says otherwise.
                    is_cheap: elementwise!(@or [$($is_cheap)?] <[&str]>::is_empty(&[$($($helper),*)?])),
                },
                signature: Signature::$signature,
                autocast: elementwise!(@autocast $($autocast)?),
                saves: elementwise!(@saves [$x $(, $arg)*] [$($saved),*]),
                vjp: elementwise!(@vjp [$x $(, $arg)*] $g $y $vjp),
                differentiable: elementwise!(@differentiable $vjp),
                domain: &[$($domain),*],
                tolerance: elementwise!(@tolerance $($tolerance)?),
            };
        )*
        /// The entries of this file.
        pub(super) static TABLE: &[&Elementwise] = &[$(&$static),*];

        impl Tensor {
            $(
                $(#[$doc])*
                ///
                /// ```
                /// # use flambeau::prelude::*;
                /// # let device = Device::cpu();
                #[doc = concat!("let y = ", $example, ";")]
                #[doc = concat!("assert_eq!(y.to_string(), \"", $printed, "\");")]
                /// ```
                #[track_caller]
                pub fn $name(&self $(, $arg: impl Into<Operand>)*) -> Tensor {
                    $crate::error::expect(self.$try_name($($arg),*))
                }

                #[doc = concat!("[`", stringify!($name), "`](Tensor::", stringify!($name), "), or the error instead of a panic.")]
                #[track_caller]
                pub fn $try_name(&self $(, $arg: impl Into<Operand>)*) -> Result<Tensor> {
                    $(let $arg = $arg.into().beside(self);)*
                    apply(&$static, &[self $(, &$arg)*])
                }
            )*
        }
    };

    (@or [$first:literal $($other:literal)?] $default:expr) => { $first };
    (@or [] $default:expr) => { $default };
    (@tolerance $given:expr) => { Some($given) };
    (@tolerance) => { None };
    (@autocast $list:ident) => { Autocast::$list };
    (@autocast) => { Autocast::Widest };

    (@vjp $args:tt $g:ident $y:ident none) => { $crate::op::not_differentiable };
    (@vjp [$($arg:ident),*] $g:ident $y:ident [$($grad:expr),*]) => { {
        #[allow(unused_variables)]
        fn rule(v: &Vjp) -> Result<Grads> {
            let $g = v.grad();
            let $y = v.output();
            let [$($arg),*] = v.inputs else { unreachable!("arity is fixed by the table") };
            let mut needs = v.needs.iter().copied();
            Ok(vec![$(if needs.next().unwrap_or(false) { Some($grad) } else { None }),*])
        }
        rule
    } };
    (@differentiable none) => { false };
    (@differentiable $vjp:tt) => { true };

    (@saves $args:tt []) => { Saves::NOTHING };
    (@saves $args:tt [$($saved:ident),+]) => { {
        const SAVED: &[&str] = &[$(stringify!($saved)),+];
        elementwise!(@mask $args SAVED)
    } };
    (@mask [$($arg:ident),*] $saved:ident) => { $crate::op::elementwise::saves_by_name(&[$(stringify!($arg)),*], $saved) };

    (@lanes Float, $lane:ident, $args:tt, $cpu:expr) => {
        match $lane {
            Lane::F32 => Some($crate::host::block_fn!($args f32 => f32, $cpu)),
            Lane::F64 => Some($crate::host::block_fn!($args f64 => f64, $cpu)),
            Lane::Bool | Lane::U32 | Lane::I32 | Lane::I64 => None,
        }
    };
    (@lanes Number, $lane:ident, $args:tt, $cpu:expr) => { elementwise!(@lanes Number, $lane, $args, $cpu, $cpu) };
    (@lanes Number, $lane:ident, $args:tt, $cpu:expr, $int:expr) => {
        match $lane {
            Lane::F32 => Some($crate::host::block_fn!($args f32 => f32, $cpu)),
            Lane::F64 => Some($crate::host::block_fn!($args f64 => f64, $cpu)),
            Lane::I32 => Some($crate::host::block_fn!($args i32 => i32, $int)),
            Lane::I64 => Some($crate::host::block_fn!($args i64 => i64, $int)),
            Lane::U32 => Some($crate::host::block_fn!($args u32 => u32, $int)),
            Lane::Bool => None,
        }
    };
    (@lanes Test, $lane:ident, $args:tt, $cpu:expr) => { elementwise!(@lanes Test, $lane, $args, $cpu, $cpu) };
    (@lanes Test, $lane:ident, $args:tt, $cpu:expr, $int:expr) => {
        match $lane {
            Lane::F32 => Some($crate::host::block_fn!($args f32 => bool, $cpu)),
            Lane::F64 => Some($crate::host::block_fn!($args f64 => bool, $cpu)),
            Lane::I32 => Some($crate::host::block_fn!($args i32 => bool, $int)),
            Lane::I64 => Some($crate::host::block_fn!($args i64 => bool, $int)),
            Lane::U32 => Some($crate::host::block_fn!($args u32 => bool, $int)),
            Lane::Bool => None,
        }
    };
    (@lanes Logic, $lane:ident, $args:tt, $cpu:expr) => {
        match $lane {
            Lane::Bool => Some($crate::host::block_fn!($args bool => bool, $cpu)),
            Lane::U32 | Lane::I32 | Lane::I64 | Lane::F32 | Lane::F64 => None,
        }
    };
    (@lanes Integers, $lane:ident, $args:tt, $cpu:expr) => {
        match $lane {
            Lane::I32 => Some($crate::host::block_fn!($args i32 => i32, $cpu)),
            Lane::I64 => Some($crate::host::block_fn!($args i64 => i64, $cpu)),
            Lane::U32 => Some($crate::host::block_fn!($args u32 => u32, $cpu)),
            Lane::Bool | Lane::F32 | Lane::F64 => None,
        }
    };
    (@lanes Bits, $lane:ident, $args:tt, $cpu:expr) => {
        match $lane {
            Lane::I32 => Some($crate::host::block_fn!($args i32 => i32, $cpu)),
            Lane::I64 => Some($crate::host::block_fn!($args i64 => i64, $cpu)),
            Lane::U32 => Some($crate::host::block_fn!($args u32 => u32, $cpu)),
            Lane::Bool => Some($crate::host::block_fn!($args bool => bool, $cpu)),
            Lane::F32 | Lane::F64 => None,
        }
    };
}
pub(crate) use elementwise;

/// The mask of saved operands, by their names in the table entry; `y` is the output.
const fn saves_by_name(args: &[&str], saved: &[&str]) -> Saves {
    let mut saves = Saves::NOTHING;
    let mut s = 0;
    while s < saved.len() {
        let mut found = false;
        let mut a = 0;
        while a < args.len() {
            if same(args[a], saved[s]) {
                saves.inputs |= 1 << a;
                found = true;
            }
            a += 1;
        }
        if !found {
            saves.outputs = true;
        }
        s += 1;
    }
    saves
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}
