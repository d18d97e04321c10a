//! Typed memory of the CPU backend.

use super::{Aligned, View};
use crate::dtype::{DType, Element};
use half::f16;
use std::any::Any;
use std::ops::Range;

/// Contiguous values in host memory.
#[derive(Debug, Clone)]
pub(crate) enum HostBuffer {
    Bool(Aligned<bool>),
    U8(Aligned<u8>),
    I32(Aligned<i32>),
    U32(Aligned<u32>),
    I64(Aligned<i64>),
    F16(Aligned<f16>),
    F32(Aligned<f32>),
    F64(Aligned<f64>),
}

/// Runs `$body` with every dtype's vector bound to `$values`.
macro_rules! each_dtype {
    ($buffer:expr, $values:ident => $body:expr) => {
        match $buffer {
            HostBuffer::Bool($values) => $body,
            HostBuffer::U8($values) => $body,
            HostBuffer::I32($values) => $body,
            HostBuffer::U32($values) => $body,
            HostBuffer::I64($values) => $body,
            HostBuffer::F16($values) => $body,
            HostBuffer::F32($values) => $body,
            HostBuffer::F64($values) => $body,
        }
    };
}

impl HostBuffer {
    pub fn zeros(dtype: DType, len: usize) -> HostBuffer {
        match dtype {
            DType::Bool => HostBuffer::Bool(Aligned::zeroed(len)),
            DType::U8 => HostBuffer::U8(Aligned::zeroed(len)),
            DType::I32 => HostBuffer::I32(Aligned::zeroed(len)),
            DType::U32 => HostBuffer::U32(Aligned::zeroed(len)),
            DType::I64 => HostBuffer::I64(Aligned::zeroed(len)),
            DType::F16 => HostBuffer::F16(Aligned::zeroed(len)),
            DType::F32 => HostBuffer::F32(Aligned::zeroed(len)),
            DType::F64 => HostBuffer::F64(Aligned::zeroed(len)),
        }
    }

    /// The same memory for `len` values: zeros, or whatever was there.
    pub fn reused(mut self, len: usize, zeroed: bool) -> HostBuffer {
        each_dtype!(&mut self, values => {
            values.resize(len);
            if zeroed {
                values.fill(Default::default());
            }
        });
        self
    }

    /// How many values it has.
    pub fn len(&self) -> usize {
        each_dtype!(self, values => values.len())
    }

    /// Values it has memory for.
    pub fn capacity(&self) -> usize {
        each_dtype!(self, values => values.capacity())
    }

    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> HostBuffer {
        match dtype {
            DType::Bool => HostBuffer::Bool(bool::from_bytes(bytes).into()),
            DType::U8 => HostBuffer::U8(u8::from_bytes(bytes).into()),
            DType::I32 => HostBuffer::I32(i32::from_bytes(bytes).into()),
            DType::U32 => HostBuffer::U32(u32::from_bytes(bytes).into()),
            DType::I64 => HostBuffer::I64(i64::from_bytes(bytes).into()),
            DType::F16 => HostBuffer::F16(f16::from_bytes(bytes).into()),
            DType::F32 => HostBuffer::F32(f32::from_bytes(bytes).into()),
            DType::F64 => HostBuffer::F64(f64::from_bytes(bytes).into()),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        each_dtype!(self, values => Element::to_bytes(values))
    }

    /// Copies another buffer of the same dtype to `start` and after.
    pub fn copy_from(&mut self, start: usize, other: &HostBuffer) {
        fn copy<T: Element>(to: &mut [T], start: usize, other: &HostBuffer) {
            let from = other.slice::<T>().expect("one dtype");
            to[start..start + from.len()].copy_from_slice(from);
        }
        each_dtype!(self, values => copy(values, start, other))
    }

    /// A copy of `count` values from `start` on.
    pub fn part(&self, start: usize, count: usize) -> HostBuffer {
        let mut part = HostBuffer::zeros(self.dtype(), count);
        fn copy<T: Element>(to: &mut [T], start: usize, from: &HostBuffer) {
            to.copy_from_slice(&from.slice::<T>().expect("one dtype")[start..start + to.len()]);
        }
        each_dtype!(&mut part, values => copy(values, start, self));
        part
    }

    pub fn dtype(&self) -> DType {
        fn of<T: Element>(_: &[T]) -> DType {
            T::DTYPE
        }
        each_dtype!(self, values => of(values))
    }

    /// Some of the values, where kernels compute with them as they are stored.
    pub fn view(&self, values: Range<usize>) -> Option<View<'_>> {
        Some(match self {
            HostBuffer::Bool(all) => View::Bool(&all[values]),
            HostBuffer::I32(all) => View::I32(&all[values]),
            HostBuffer::U32(all) => View::U32(&all[values]),
            HostBuffer::I64(all) => View::I64(&all[values]),
            HostBuffer::F32(all) => View::F32(&all[values]),
            HostBuffer::F64(all) => View::F64(&all[values]),
            HostBuffer::U8(_) | HostBuffer::F16(_) => return None,
        })
    }

    /// The values, if `T` is their type.
    pub fn slice<T: Element>(&self) -> Option<&[T]> {
        each_dtype!(self, values => (values as &dyn Any).downcast_ref::<Aligned<T>>().map(|values| &values[..]))
    }

    /// The values, to be changed, if `T` is their type.
    pub fn slice_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        each_dtype!(self, values => (values as &mut dyn Any).downcast_mut::<Aligned<T>>().map(|values| &mut values[..]))
    }
}
