//! Making tensors from data, and tensors filled with one number.

use super::Tensor;
use crate::device::Device;
use crate::dtype::{DType, Element, Scalar};
use crate::error::{Error, Result, expect};
use crate::op::{Meta, Op};
use crate::shape::Shape;
use std::sync::Arc;

/// Dtype and device of a new tensor: `(dtype, &device)`, or `&device` for the dtype PyTorch would give: that of the
/// numbers where numbers are given (`full`, `arange`), I32 for `randint`, else F32.
#[derive(Debug, Clone)]
pub struct TensorOptions {
    pub(super) dtype: Option<DType>,
    pub(super) device: Device,
}

impl TensorOptions {
    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The dtype asked for, or this one.
    pub(crate) fn dtype_or(&self, default: DType) -> DType {
        self.dtype.unwrap_or(default)
    }
}

impl From<&Device> for TensorOptions {
    fn from(device: &Device) -> Self {
        TensorOptions { dtype: None, device: device.clone() }
    }
}

impl From<&TensorOptions> for TensorOptions {
    fn from(options: &TensorOptions) -> Self {
        options.clone()
    }
}

impl From<(DType, &Device)> for TensorOptions {
    fn from((dtype, device): (DType, &Device)) -> Self {
        TensorOptions { dtype: Some(dtype), device: device.clone() }
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
        if bytes.len() as u64 != meta.bytes() {
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
        Tensor::from_storage(Arc::new(storage), meta, device)
    }

    /// One number at every element of a shape that a tensor has already.
    #[track_caller]
    pub(crate) fn constant(value: Scalar, shape: impl Into<Shape>, dtype: DType, device: &Device) -> Tensor {
        expect(Tensor::source(Op::Constant, Meta::new(shape, dtype), device, &[value]))
    }

    /// A tensor of a given shape that takes over a vector's values, in row-major order.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::from_vec(vec![1, 2, 3, 4], [2, 2], &Device::cpu());
    /// assert_eq!(x.to_string(), "tensor([[1, 2],\n        [3, 4]], dtype=i32)");
    /// ```
    #[track_caller]
    pub fn from_vec<T: Element>(values: Vec<T>, shape: impl Into<Shape>, device: &Device) -> Tensor {
        expect(Tensor::try_from_vec(values, shape, device))
    }

    /// [`from_vec`](Tensor::from_vec), or the error instead of a panic.
    #[track_caller]
    pub fn try_from_vec<T: Element>(
        values: Vec<T>,
        shape: impl Into<Shape>,
        device: &Device,
    ) -> Result<Tensor> {
        Tensor::try_from_slice(&values, shape, device)
    }

    /// A tensor without dimensions that holds one number. It is data of the graph, not memory: another number next
    /// time makes no new plan.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Tensor::scalar(2.5, &Device::cpu()).to_string(), "tensor(2.5000)");
    /// ```
    #[track_caller]
    pub fn scalar(value: impl Into<Scalar>, options: impl Into<TensorOptions>) -> Tensor {
        Tensor::full((), value, options)
    }

    /// A tensor filled with a number; without a dtype in the options, the number's kind gives it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Tensor::full([2], 7, &Device::cpu()).to_string(), "tensor([7, 7], dtype=i32)");
    /// assert_eq!(Tensor::full([2], 0.5, &Device::cpu()).to_string(), "tensor([0.5000, 0.5000])");
    /// ```
    #[track_caller]
    pub fn full(
        shape: impl Into<Shape>,
        value: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Tensor {
        expect(Tensor::try_full(shape, value, options))
    }

    /// [`full`](Tensor::full), or the error instead of a panic.
    #[track_caller]
    pub fn try_full(
        shape: impl Into<Shape>,
        value: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let (options, value) = (options.into(), value.into());
        let meta = Meta::new(shape, options.dtype_or(value.default_dtype()));
        Tensor::source(Op::Constant, meta, &options.device, &[value])
    }

    /// Zeros.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Tensor::zeros([2], &Device::cpu()).to_string(), "tensor([0., 0.])");
    /// ```
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Tensor {
        Tensor::full(shape, 0.0, options)
    }

    /// Ones.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Tensor::ones([2], (DType::Bool, &Device::cpu())).to_string(), "tensor([True, True])");
    /// ```
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Tensor {
        Tensor::full(shape, 1.0, options)
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
    pub(crate) fn full_of(&self, shape: &Shape, value: impl Into<Scalar>) -> Result<Tensor> {
        Tensor::source(Op::Constant, Meta::new(shape, self.dtype()), self.device(), &[value.into()])
    }

    /// The coordinate along `dim` in a tensor of this shape, as I32, on this tensor's device.
    #[track_caller]
    pub(crate) fn iota_of(&self, shape: &Shape, dim: usize) -> Result<Tensor> {
        Tensor::source(Op::Iota { dim }, Meta::new(shape, DType::I32), self.device(), &[])
    }
}
