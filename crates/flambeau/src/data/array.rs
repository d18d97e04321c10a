//! Arrays in host memory: what files are parsed into and items are made of, before a device is involved.

use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{Meta, Tensor, widen};

/// An n-dimensional array in host memory, row-major.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::HostArray;
/// let array = HostArray::new(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
/// assert_eq!(array.row(1)?.values::<f32>()?, [3.0, 4.0]);
/// assert_eq!(array.to_tensor(&Device::cpu())?.to_string(), "tensor([[1., 2.],\n        [3., 4.]])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HostArray {
    meta: Meta,
    bytes: Vec<u8>,
}

impl HostArray {
    /// An array of this shape with these values.
    pub fn new<T: Element>(values: &[T], shape: impl Into<Shape>) -> Result<HostArray> {
        HostArray::from_bytes(T::to_bytes(values), shape, T::DTYPE)
    }

    /// A single number, without dimensions.
    ///
    /// ```
    /// use flambeau::data::HostArray;
    /// assert_eq!(HostArray::scalar(3).values::<i32>().unwrap(), [3]);
    /// ```
    pub fn scalar<T: Element>(value: T) -> HostArray {
        HostArray { meta: Meta::new((), T::DTYPE), bytes: T::to_bytes(&[value]) }
    }

    /// An array over bytes in host layout.
    pub(crate) fn from_bytes(bytes: Vec<u8>, shape: impl Into<Shape>, dtype: DType) -> Result<HostArray> {
        let meta = Meta::new(shape, dtype);
        meta.shape.check("HostArray")?;
        if bytes.len() as u64 != meta.bytes() {
            let message = format!("{} values do not fill shape {}", bytes.len() / dtype.size(), meta.shape);
            return Err(Error::shape("HostArray", message));
        }
        Ok(HostArray { meta, bytes })
    }

    /// The same values in another shape.
    pub(crate) fn into_shape(self, shape: impl Into<Shape>) -> Result<HostArray> {
        HostArray::from_bytes(self.bytes, shape, self.meta.dtype)
    }

    /// The sizes of the dimensions.
    pub fn shape(&self) -> &Shape {
        &self.meta.shape
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.meta.dtype
    }

    /// The values' bytes, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The values. `T` must be the array's element type.
    pub fn values<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            let message = format!("the array is {}, not {}", self.dtype(), T::DTYPE);
            return Err(Error::dtype("HostArray", message));
        }
        Ok(T::from_bytes(&self.bytes))
    }

    /// The size of the first dimension; an array without dimensions has one row.
    pub fn rows(&self) -> usize {
        self.shape().first().copied().unwrap_or(1)
    }

    /// One row: the array at one position of the first dimension.
    pub fn row(&self, index: usize) -> Result<HostArray> {
        let row = self.row_bytes(index)?;
        Ok(HostArray { meta: Meta::new(&self.shape()[1..], self.dtype()), bytes: row.to_vec() })
    }

    pub(crate) fn row_bytes(&self, index: usize) -> Result<&[u8]> {
        if self.shape().rank() == 0 || index >= self.rows() {
            let message = format!("shape {} has no row {index}", self.shape());
            return Err(Error::shape("HostArray", message));
        }
        let size = self.bytes.len() / self.rows();
        Ok(&self.bytes[index * size..(index + 1) * size])
    }

    /// The first `count` rows, or all if there are fewer.
    pub(crate) fn first_rows(&self, count: usize) -> HostArray {
        let count = count.min(self.rows());
        let size = self.bytes.len() / self.rows().max(1);
        let meta = Meta::new(self.shape().with(0, count), self.dtype());
        HostArray { meta, bytes: self.bytes[..count * size].to_vec() }
    }

    /// The same values as F32.
    ///
    /// ```
    /// use flambeau::data::HostArray;
    /// assert_eq!(HostArray::new(&[7u8], [1])?.to_f32().values::<f32>()?, [7.0]);
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    pub fn to_f32(&self) -> HostArray {
        let values: Vec<f32> = widen(self.dtype(), &self.bytes).iter().map(|&value| value as f32).collect();
        HostArray { meta: Meta::new(self.shape(), DType::F32), bytes: f32::to_bytes(&values) }
    }

    /// A tensor with these values.
    #[track_caller]
    pub fn to_tensor(&self, device: &Device) -> Result<Tensor> {
        Tensor::from_bytes(&self.bytes, self.meta.clone(), device)
    }

    /// Arrays of one shape and dtype, as the rows of one array.
    ///
    /// ```
    /// use flambeau::data::HostArray;
    /// let rows = [HostArray::scalar(1), HostArray::scalar(2)];
    /// assert_eq!(HostArray::stack(&rows)?.shape().dims(), [2]);
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    pub fn stack<A: std::borrow::Borrow<HostArray>>(arrays: &[A]) -> Result<HostArray> {
        let first: &HostArray =
            arrays.first().ok_or_else(|| Error::argument("stack", "there is nothing to stack"))?.borrow();
        let mut bytes = Vec::with_capacity(first.bytes.len() * arrays.len());
        for (position, array) in arrays.iter().map(|array| array.borrow()).enumerate() {
            if array.meta != first.meta {
                let message = format!(
                    "array {position} is {} of shape {}, the first is {} of shape {}",
                    array.dtype(),
                    array.shape(),
                    first.dtype(),
                    first.shape()
                );
                return Err(Error::shape("stack", message));
            }
            bytes.extend_from_slice(&array.bytes);
        }
        HostArray::from_bytes(bytes, first.shape().inserted(0, arrays.len()), first.dtype())
    }
}
