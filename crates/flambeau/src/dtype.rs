//! Element types, their promotion, and scalars.
//!
//! Promotion follows PyTorch, with one departure: the default integer is `I32`, because WebGPU has no
//! 64-bit integers. Where PyTorch would give int64 (index results, sums of booleans) Flambeau gives `I32`.

use half::f16;
use std::fmt;

/// The element type of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// Booleans.
    Bool,
    /// Unsigned bytes.
    U8,
    /// 32-bit signed integers: the default integer.
    I32,
    /// 32-bit unsigned integers.
    U32,
    /// 64-bit signed integers; CPU only.
    I64,
    /// Half precision: stored in 16 bits, computed in 32.
    F16,
    /// Single precision: the default.
    F32,
    /// Double precision; CPU only.
    F64,
}

use DType::*;

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 8] = [Bool, U8, I32, U32, I64, F16, F32, F64];

    /// Bytes of one element in host memory and in files.
    pub fn size(self) -> usize {
        match self {
            Bool | U8 => 1,
            F16 => 2,
            I32 | U32 | F32 => 4,
            I64 | F64 => 8,
        }
    }

    /// Is it F16, F32 or F64?
    pub fn is_float(self) -> bool {
        matches!(self, F16 | F32 | F64)
    }

    /// Is it an integer type (booleans are not)?
    pub fn is_int(self) -> bool {
        matches!(self, U8 | I32 | U32 | I64)
    }

    /// The type kernels compute in: small types are widened.
    pub(crate) fn lane(self) -> Lane {
        match self {
            Bool => Lane::Bool,
            U8 | U32 => Lane::U32,
            I32 => Lane::I32,
            I64 => Lane::I64,
            F16 | F32 => Lane::F32,
            F64 => Lane::F64,
        }
    }

    /// The dtype of an op between tensors of these two dtypes, as in PyTorch.
    pub fn promote(self, other: DType) -> DType {
        if self == other {
            return self;
        }
        match (self.min(other), self.max(other)) {
            (Bool, other) => other,
            (U8, other) => other,
            // PyTorch has no promotion for u32 with signed types; the next type that holds both is I64.
            (I32, U32) => I64,
            (_, I64) => I64,
            (_, float) => float,
        }
    }

    /// The dtype of an op between a tensor of this dtype and a scalar: the scalar changes the dtype only
    /// when it is of a higher kind (boolean < integer < float).
    pub fn promote_scalar(self, scalar: Scalar) -> DType {
        match scalar {
            Scalar::Bool(_) => self,
            Scalar::Int(_) if self == Bool => I32,
            Scalar::Int(_) => self,
            Scalar::Float(_) if self.is_float() => self,
            Scalar::Float(_) => F32,
        }
    }

    /// The dtype that an op defined on floats computes in: integers become F32.
    pub fn to_float(self) -> DType {
        if self.is_float() { self } else { F32 }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bool => "bool",
            U8 => "u8",
            I32 => "i32",
            U32 => "u32",
            I64 => "i64",
            F16 => "f16",
            F32 => "f32",
            F64 => "f64",
        })
    }
}

/// The type a kernel computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    Bool,
    U32,
    I32,
    I64,
    F32,
    F64,
}

/// A number given where a tensor could stand. Like a Python number it has a kind, not a dtype.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl Scalar {
    /// The value as f64.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(value) => value as u8 as f64,
            Scalar::Int(value) => value as f64,
            Scalar::Float(value) => value,
        }
    }

    /// The value as i64; floats are truncated.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(value) => value as i64,
            Scalar::Int(value) => value,
            Scalar::Float(value) => value as i64,
        }
    }

    /// The dtype a tensor made of this scalar alone has.
    pub fn default_dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => Bool,
            Scalar::Int(_) => I32,
            Scalar::Float(_) => F32,
        }
    }
}

macro_rules! scalar_from {
    ($($t:ty => $kind:ident as $wide:ty),*) => { $(
        impl From<$t> for Scalar {
            fn from(value: $t) -> Self {
                Scalar::$kind(value as $wide)
            }
        }
    )* };
}
scalar_from!(bool => Bool as bool, u8 => Int as i64, i32 => Int as i64, u32 => Int as i64, i64 => Int as i64,
    usize => Int as i64, f32 => Float as f64, f64 => Float as f64);

/// A Rust type that is the element type of some dtype.
pub trait Element: Copy + Send + Sync + fmt::Debug + PartialEq + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// The elements' bytes, little-endian, in host layout.
    fn to_bytes(values: &[Self]) -> Vec<u8>;
    /// Elements from bytes in host layout.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! element {
    ($($t:ty => $d:ident),*) => { $(
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            fn to_bytes(values: &[Self]) -> Vec<u8> {
                bytemuck::cast_slice(values).to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                bytemuck::pod_collect_to_vec(bytes)
            }
        }
    )* };
}
element!(u8 => U8, i32 => I32, u32 => U32, i64 => I64, f16 => F16, f32 => F32, f64 => F64);

impl Element for bool {
    const DTYPE: DType = Bool;
    fn to_bytes(values: &[Self]) -> Vec<u8> {
        values.iter().map(|&value| value as u8).collect()
    }
    fn from_bytes(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&byte| byte != 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of torch.promote_types, with int64 read as our default integer where PyTorch's default rules.
    #[test]
    fn promotion_as_pytorch() {
        for (a, b, expect) in [
            (Bool, U8, U8),
            (U8, I32, I32),
            (I32, I64, I64),
            (U8, F16, F16),
            (I64, F16, F16),
            (I64, F32, F32),
            (F16, F32, F32),
            (F32, F64, F64),
            (Bool, F64, F64),
        ] {
            assert_eq!(a.promote(b), expect, "{a} with {b}");
            assert_eq!(b.promote(a), expect, "{b} with {a}");
        }
        assert_eq!(I32.promote_scalar(Scalar::Float(1.5)), F32);
        assert_eq!(F16.promote_scalar(Scalar::Int(3)), F16);
        assert_eq!(Bool.promote_scalar(Scalar::Int(3)), I32);
        assert_eq!(F64.promote_scalar(Scalar::Float(1.0)), F64);
    }
}
