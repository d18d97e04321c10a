//! Reading values back. Waiting is async; natively there are blocking forms, which do not exist on wasm32.

use super::Tensor;
use super::display::{Values, format_tensor};
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::engine::Reading;
use crate::error::{Error, Result};
use crate::host::HostBuffer;

impl Tensor {
    /// The values in row-major order. `T` must be the tensor's element type.
    pub async fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            let message =
                format!("the tensor is {}, not {}; convert it with to_dtype first", self.dtype(), T::DTYPE);
            return Err(Error::dtype("to_vec", message));
        }
        Ok(T::from_bytes(&self.to_bytes().await?))
    }

    /// The values' bytes, little-endian, in row-major order.
    pub async fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut read = self.device().read(std::slice::from_ref(&self.value)).await?;
        read.pop().ok_or_else(|| Error::argument("to_bytes", "nothing was read"))
    }

    /// The only value, as f64.
    pub async fn item(&self) -> Result<f64> {
        if self.numel() != 1 {
            return Err(Error::shape(
                "item",
                format!("shape {} does not have a single element", self.shape()),
            ));
        }
        Ok(widen(self.dtype(), &self.to_bytes().await?)[0])
    }

    /// All values as f64, whatever the dtype.
    pub async fn to_f64_vec(&self) -> Result<Vec<f64>> {
        Ok(widen(self.dtype(), &self.to_bytes().await?))
    }

    /// The tensor as PyTorch prints it; natively `to_string` gives the same.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([0.5, 2.0], &Device::cpu());
    /// assert_eq!(x.to_text().await?, "tensor([0.5000, 2.0000])");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn to_text(&self) -> Result<String> {
        let bytes = self.to_bytes().await?;
        let mut suffix = String::new();
        if !matches!(self.dtype(), DType::F32 | DType::Bool) {
            suffix += &format!(", dtype={}", self.dtype());
        }
        if !self.device().is_cpu() {
            suffix += &format!(", device='{}'", self.device());
        }
        if self.is_tracked() {
            suffix += ", requires_grad=true";
        }
        let floats = widen(self.dtype(), &bytes);
        let text = |values| format_tensor(values, self.shape(), &suffix);
        Ok(match self.dtype() {
            DType::Bool => text(Values::Bool(&floats.iter().map(|&x| x != 0.0).collect::<Vec<_>>())),
            DType::I64 => text(Values::Int(&i64::from_bytes(&bytes))),
            dtype if dtype.is_float() => text(Values::Float(&floats)),
            _ => text(Values::Int(&floats.iter().map(|&x| x as i64).collect::<Vec<_>>())),
        })
    }
}

impl Tensor {
    /// The same values on another device. This evaluates the tensor and carries no history across.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// let there = x.to(&Device::best().await).await?;
    /// assert_eq!(there.to_vec::<f32>().await?, [1.0, 2.0]);
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn to(&self, device: &Device) -> Result<Tensor> {
        if self.device() == device {
            return Ok(self.clone());
        }
        Tensor::from_bytes(&self.to_bytes().await?, self.meta().clone(), device)
    }
}

/// The values of several tensors of one device as f64, evaluated in one plan and read in one wait.
///
/// ```
/// # use flambeau::prelude::*;
/// # flambeau::block_on(async {
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let read = flambeau::read_many(&[&x.sum(..), &(&x * 2.0)]).await?;
/// assert_eq!(read, [vec![3.0], vec![2.0, 4.0]]);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub async fn read_many(tensors: &[&Tensor]) -> Result<Vec<Vec<f64>>> {
    let read = read_bytes("read_many", tensors).await?;
    Ok(read.iter().zip(tensors).map(|(bytes, tensor)| widen(tensor.dtype(), bytes)).collect())
}

/// Evaluates tensors of one device and starts to bring their values to the host, without waiting: what a training
/// loop does with losses, so that the GPU never stands still.
///
/// ```
/// # use flambeau::prelude::*;
/// # flambeau::block_on(async {
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// let reading = flambeau::read_later(&[&x.sum(..)])?;
/// // … more steps …
/// assert_eq!(reading.values().await?, [vec![3.0]]);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub fn read_later(tensors: &[&Tensor]) -> Result<Reading> {
    let first =
        tensors.first().ok_or_else(|| Error::argument("read_later", "at least one tensor is needed"))?;
    super::same_device("read_later", tensors)?;
    let values: Vec<_> = tensors.iter().map(|tensor| tensor.value.clone()).collect();
    first.device().begin_read(&values)
}

/// The bytes of several tensors of one device, in host layout, evaluated in one plan and read in one wait.
pub(crate) async fn read_bytes(op: &'static str, tensors: &[&Tensor]) -> Result<Vec<Vec<u8>>> {
    let Some(first) = tensors.first() else { return Ok(Vec::new()) };
    super::same_device(op, tensors)?;
    let values: Vec<_> = tensors.iter().map(|tensor| tensor.value.clone()).collect();
    first.device().read(&values).await
}

/// Values in host layout as f64.
pub(crate) fn widen(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match HostBuffer::from_bytes(dtype, bytes) {
        HostBuffer::Bool(values) => values.iter().map(|&x| f64::from(u8::from(x))).collect(),
        HostBuffer::U8(values) => values.iter().map(|&x| f64::from(x)).collect(),
        HostBuffer::I32(values) => values.iter().map(|&x| f64::from(x)).collect(),
        HostBuffer::U32(values) => values.iter().map(|&x| f64::from(x)).collect(),
        HostBuffer::I64(values) => values.iter().map(|&x| x as f64).collect(),
        HostBuffer::F16(values) => values.iter().map(|&x| x.to_f64()).collect(),
        HostBuffer::F32(values) => values.iter().map(|&x| f64::from(x)).collect(),
        HostBuffer::F64(values) => values.to_vec(),
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Tensor {
    /// [`to_vec`](Tensor::to_vec), blocking.
    pub fn to_vec_blocking<T: Element>(&self) -> Result<Vec<T>> {
        pollster::block_on(self.to_vec())
    }

    /// [`item`](Tensor::item), blocking.
    pub fn item_blocking(&self) -> Result<f64> {
        pollster::block_on(self.item())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl std::fmt::Display for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match pollster::block_on(self.to_text()) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "tensor(<{error}>)"),
        }
    }
}
