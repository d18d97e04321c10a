//! Making tensors: from data, filled, counted, random.

use super::Tensor;
use crate::device::Device;
use crate::dtype::{DType, Element, Scalar};
use crate::error::{Error, Result, expect};
use crate::op::elementwise::{NORMAL, UNIFORM, apply};
use crate::op::{Meta, Op};
use crate::rng::Generator;
use crate::shape::Shape;

/// Dtype and device of a new tensor: `&device` for F32, or `(dtype, &device)`.
pub struct TensorOptions {
    dtype: DType,
    device: Device,
}

impl From<&Device> for TensorOptions {
    fn from(device: &Device) -> Self {
        TensorOptions { dtype: DType::F32, device: device.clone() }
    }
}
impl From<(DType, &Device)> for TensorOptions {
    fn from((dtype, device): (DType, &Device)) -> Self {
        TensorOptions { dtype, device: device.clone() }
    }
}

/// Rust data a tensor can be made of: numbers, arrays and nested arrays, slices and vectors. Float literals (f64)
/// become F32 tensors; use [`Tensor::from_slice`] to keep F64.
pub trait IntoTensorData {
    /// The shape of the data.
    fn shape(&self) -> Shape;
    /// The dtype it becomes.
    fn dtype(&self) -> DType;
    /// Appends the values' bytes in host layout.
    fn write(&self, bytes: &mut Vec<u8>);
}

macro_rules! leaf_data {
    ($($t:ty => $dtype:ident as $stored:ty),*) => { $(
        impl IntoTensorData for $t {
            fn shape(&self) -> Shape {
                Shape::default()
            }
            fn dtype(&self) -> DType {
                DType::$dtype
            }
            fn write(&self, bytes: &mut Vec<u8>) {
                bytes.extend(<$stored as Element>::to_bytes(&[*self as $stored]));
            }
        }
    )* };
}
leaf_data!(f32 => F32 as f32, f64 => F32 as f32, i32 => I32 as i32, u32 => U32 as u32, u8 => U8 as u8,
    i64 => I64 as i64, bool => Bool as bool);

impl IntoTensorData for half::f16 {
    fn shape(&self) -> Shape {
        Shape::default()
    }
    fn dtype(&self) -> DType {
        DType::F16
    }
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(Element::to_bytes(&[*self]));
    }
}

macro_rules! nested_data {
    ($([$($generics:tt)*] $t:ty),*) => { $(
        impl<T: IntoTensorData, $($generics)*> IntoTensorData for $t {
            fn shape(&self) -> Shape {
                self.first().map_or_else(Shape::default, T::shape).inserted(0, self.len())
            }
            fn dtype(&self) -> DType {
                self.first().map_or(DType::F32, T::dtype)
            }
            fn write(&self, bytes: &mut Vec<u8>) {
                self.iter().for_each(|item| item.write(bytes));
            }
        }
    )* };
}
nested_data!([const N: usize] [T; N], [] Vec<T>, [] &[T]);

impl Tensor {
    /// A tensor with these values; the dtype follows the data, float literals giving F32.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
    /// assert_eq!(x.shape().dims(), [2, 2]);
    /// ```
    #[track_caller]
    pub fn new(data: impl IntoTensorData, device: &Device) -> Tensor {
        expect(Tensor::try_new(data, device))
    }

    /// [`new`](Tensor::new), or the error instead of a panic.
    #[track_caller]
    pub fn try_new(data: impl IntoTensorData, device: &Device) -> Result<Tensor> {
        let mut bytes = Vec::new();
        data.write(&mut bytes);
        let meta = Meta::new(data.shape(), data.dtype());
        if bytes.len() != meta.numel() * meta.dtype.size() {
            return Err(Error::shape("new", "the rows of a nested list differ in length"));
        }
        Tensor::from_bytes(&bytes, meta, device)
    }

    /// A tensor of a given shape with the values of a slice, in row-major order; the dtype is the slice's.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::from_slice(&[1.0f64, 2.0, 3.0, 4.0], [2, 2], &Device::cpu());
    /// assert_eq!(x.dtype(), DType::F64);
    /// ```
    #[track_caller]
    pub fn from_slice<T: Element>(values: &[T], shape: impl Into<Shape>, device: &Device) -> Tensor {
        expect(Tensor::try_from_slice(values, shape, device))
    }

    /// [`from_slice`](Tensor::from_slice), or the error instead of a panic.
    #[track_caller]
    pub fn try_from_slice<T: Element>(
        values: &[T],
        shape: impl Into<Shape>,
        device: &Device,
    ) -> Result<Tensor> {
        let meta = Meta::new(shape, T::DTYPE);
        if values.len() != meta.numel() {
            let message = format!("{} values do not fill shape {}", values.len(), meta.shape);
            return Err(Error::shape("from_slice", message));
        }
        Tensor::from_bytes(&T::to_bytes(values), meta, device)
    }

    #[track_caller]
    pub(crate) fn from_bytes(bytes: &[u8], meta: Meta, device: &Device) -> Result<Tensor> {
        device.backend().accepts(meta.dtype)?;
        let storage = device.upload(meta.dtype, bytes)?;
        Ok(Tensor::from_storage(storage, meta, device))
    }

    /// One number at every element.
    #[track_caller]
    pub(crate) fn constant(value: Scalar, shape: impl Into<Shape>, dtype: DType, device: &Device) -> Tensor {
        expect(Tensor::source(Op::Constant, Meta::new(shape, dtype), device, &[value]))
    }

    /// A tensor filled with a number.
    #[track_caller]
    pub fn full(
        shape: impl Into<Shape>,
        value: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Tensor {
        let TensorOptions { dtype, device } = options.into();
        Tensor::constant(value.into(), shape, dtype, &device)
    }

    /// Zeros.
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Tensor {
        Tensor::full(shape, 0, options)
    }

    /// Ones.
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Tensor {
        Tensor::full(shape, 1, options)
    }

    /// Zeros with this tensor's shape, dtype and device.
    #[track_caller]
    pub fn zeros_like(&self) -> Tensor {
        self.full_like(0)
    }

    /// Ones with this tensor's shape, dtype and device.
    #[track_caller]
    pub fn ones_like(&self) -> Tensor {
        self.full_like(1)
    }

    /// One number everywhere, with this tensor's shape, dtype and device.
    #[track_caller]
    pub fn full_like(&self, value: impl Into<Scalar>) -> Tensor {
        Tensor::constant(value.into(), self.shape(), self.dtype(), self.device())
    }

    /// One number everywhere, with this tensor's dtype and device.
    #[track_caller]
    pub(crate) fn full_of(&self, shape: &Shape, value: impl Into<Scalar>) -> Tensor {
        Tensor::constant(value.into(), shape, self.dtype(), self.device())
    }

    /// The coordinate along `dim` in a tensor of this shape, as I32, on this tensor's device.
    #[track_caller]
    pub(crate) fn iota_of(&self, shape: &Shape, dim: usize) -> Tensor {
        expect(Tensor::source(Op::Iota { dim }, Meta::new(shape, DType::I32), self.device(), &[]))
    }

    /// Random bits (U32).
    #[track_caller]
    pub(crate) fn bits(shape: impl Into<Shape>, generator: &Generator, device: &Device) -> Tensor {
        let shape = shape.into();
        let (key, counter) = generator.reserve(shape.numel() as u64);
        let data = [key[0], key[1], counter[0], counter[1]].map(Scalar::from);
        expect(Tensor::source(Op::Bits, Meta::new(shape, DType::U32), device, &data))
    }

    /// Uniform random numbers in [0, 1). The same generator state gives the same bits on every device.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::rand([2, 3], &Generator::new(1), &Device::cpu());
    /// assert_eq!(x.shape().dims(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn rand(shape: impl Into<Shape>, generator: &Generator, options: impl Into<TensorOptions>) -> Tensor {
        Tensor::random(&UNIFORM, shape.into(), generator, options.into())
    }

    /// Standard normal random numbers. The same generator state gives the same numbers on every device, within 4 ulp.
    #[track_caller]
    pub fn randn(
        shape: impl Into<Shape>,
        generator: &Generator,
        options: impl Into<TensorOptions>,
    ) -> Tensor {
        Tensor::random(&NORMAL, shape.into(), generator, options.into())
    }

    #[track_caller]
    fn random(
        op: &'static crate::op::Elementwise,
        shape: Shape,
        generator: &Generator,
        options: TensorOptions,
    ) -> Tensor {
        let bits = Tensor::bits(shape, generator, &options.device);
        expect(apply(op, &[&bits]).and_then(|values| values.try_to_dtype(options.dtype)))
    }
}
