//! Data sets: items on the host, or rows of tensors that are on a device already.

use super::array::HostArray;
use super::images::BYTE_SCALE;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{Tensor, eval};
use std::sync::Arc;

/// One item: an array for each of its parts (input, target, …).
pub type Item = Vec<HostArray>;

/// Items that can be had by number, from several threads at once.
///
/// ```
/// use flambeau::data::{Dataset, HostArray, Item};
/// use flambeau::{Error, Result};
///
/// struct Squares;
///
/// impl Dataset for Squares {
///     fn len(&self) -> usize {
///         10
///     }
///     fn get(&self, index: usize) -> Result<Item> {
///         let x = index as f32;
///         Ok(vec![HostArray::scalar(x), HostArray::scalar(x * x)])
///     }
/// }
/// assert_eq!(Squares.get(3)?[1].values::<f32>()?, [9.0]);
/// # Ok::<(), Error>(())
/// ```
pub trait Dataset: Send + Sync {
    /// The number of items.
    fn len(&self) -> usize;

    /// The item of that number, which is below `len`.
    fn get(&self, index: usize) -> Result<Item>;

    /// Is there no item?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data set as tensors on a device, if that is what it is: batches are then made there.
    fn resident(&self) -> Option<&TensorDataset> {
        None
    }
}

impl<D: Dataset + ?Sized> Dataset for Arc<D> {
    fn len(&self) -> usize {
        (**self).len()
    }
    fn get(&self, index: usize) -> Result<Item> {
        (**self).get(index)
    }
    fn resident(&self) -> Option<&TensorDataset> {
        (**self).resident()
    }
}

fn check_rows(op: &'static str, sizes: impl Iterator<Item = Option<usize>>) -> Result<usize> {
    let sizes: Vec<_> = sizes.collect();
    match sizes.first() {
        Some(&Some(rows)) if sizes.iter().all(|&size| size == Some(rows)) => Ok(rows),
        _ => {
            let message = format!("parts of one number of rows were expected, not of {sizes:?}");
            Err(Error::shape(op, message))
        }
    }
}

/// Arrays in host memory; an item is a row of each.
///
/// ```
/// use flambeau::data::{ArrayDataset, Dataset, HostArray};
/// let x = HostArray::new(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
/// let y = HostArray::new(&[0, 1], [2])?;
/// let data = ArrayDataset::new([x, y])?;
/// assert_eq!(data.get(1)?[0].values::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ArrayDataset {
    parts: Vec<HostArray>,
    rows: usize,
}

impl ArrayDataset {
    /// A data set of arrays with the same number of rows.
    pub fn new(parts: impl IntoIterator<Item = HostArray>) -> Result<ArrayDataset> {
        let parts: Vec<HostArray> = parts.into_iter().collect();
        let rows = check_rows("ArrayDataset", parts.iter().map(|part| part.shape().first().copied()))?;
        Ok(ArrayDataset { parts, rows })
    }

    /// The arrays.
    pub fn parts(&self) -> &[HostArray] {
        &self.parts
    }

    /// The same data set in the memory of a device.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{Dataset, synthetic};
    /// let points = synthetic::moons(100, 0.1, &Generator::new(1));
    /// assert_eq!(points.to_device(&Device::cpu())?.len(), 100);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_device(&self, device: &Device) -> Result<TensorDataset> {
        let tensors = self.parts.iter().map(|part| part.to_tensor(device)).collect::<Result<Vec<_>>>()?;
        TensorDataset::new(tensors)
    }
}

impl Dataset for ArrayDataset {
    fn len(&self) -> usize {
        self.rows
    }
    fn get(&self, index: usize) -> Result<Item> {
        self.parts.iter().map(|part| part.row(index)).collect()
    }
}

/// Tensors on one device; an item is a row of each. The loader makes batches on that device by gathering rows: a
/// step uploads nothing, and every step has the same plan.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::{Dataset, TensorDataset};
/// let device = Device::cpu();
/// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
/// let data = TensorDataset::new([x, Tensor::new([0, 1], &device)])?;
/// let rows = Tensor::new([1, 1], &device);
/// assert_eq!(data.rows(&rows)?[0].to_string(), "tensor([[3., 4.],\n        [3., 4.]])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TensorDataset {
    parts: Vec<Part>,
    rows: usize,
    device: Device,
}

#[derive(Debug, Clone)]
enum Part {
    Tensor(Tensor),
    /// Bytes, four to a word (I32, little-endian) because devices have no smaller memory: shape (N, words).
    Bytes {
        words: Tensor,
        item: Shape,
    },
}

impl TensorDataset {
    /// A data set of tensors with the same number of rows, on one device. They are evaluated now.
    pub fn new(tensors: impl IntoIterator<Item = Tensor>) -> Result<TensorDataset> {
        let tensors: Vec<Tensor> = tensors.into_iter().map(|tensor| tensor.detach()).collect();
        let rows = check_rows("TensorDataset", tensors.iter().map(|tensor| tensor.shape().first().copied()))?;
        eval(&tensors.iter().collect::<Vec<_>>())?;
        let device = tensors[0].device().clone();
        Ok(TensorDataset { parts: tensors.into_iter().map(Part::Tensor).collect(), rows, device })
    }

    /// A first part of bytes that stand for numbers from 0 to 1, kept as bytes, and further parts.
    pub(super) fn of_bytes(
        bytes: &HostArray,
        others: &[HostArray],
        device: &Device,
    ) -> Result<TensorDataset> {
        let item = Shape::new(&bytes.shape()[1..]);
        let rows = bytes.rows();
        let words = item.numel().div_ceil(4);
        let mut packed = vec![0; rows * words * 4];
        if item.numel() > 0 {
            let rows_of_bytes = bytes.bytes().chunks_exact(item.numel());
            for (row, place) in rows_of_bytes.zip(packed.chunks_exact_mut(words * 4)) {
                place[..row.len()].copy_from_slice(row);
            }
        }
        let words = HostArray::from_bytes(packed, [rows, words], DType::I32)?.to_tensor(device)?;
        let mut parts = vec![Part::Bytes { words, item }];
        for other in others {
            check_rows("TensorDataset", [Some(rows), Some(other.rows())].into_iter())?;
            parts.push(Part::Tensor(other.to_tensor(device)?));
        }
        Ok(TensorDataset { parts, rows, device: device.clone() })
    }

    /// Where it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The rows that a vector of positions (I32) names: a tensor for each part.
    #[track_caller]
    pub fn rows(&self, positions: &Tensor) -> Result<Vec<Tensor>> {
        let rows = |part: &Part| match part {
            Part::Tensor(tensor) => tensor.try_index_select(0, positions),
            Part::Bytes { words, item } => unpack(words, item, positions),
        };
        self.parts.iter().map(rows).collect()
    }
}

/// Rows of packed bytes, as F32 from 0 to 1.
#[track_caller]
fn unpack(words: &Tensor, item: &Shape, positions: &Tensor) -> Result<Tensor> {
    let (count, width) = (positions.numel(), words.shape()[1]);
    let four = words.try_unsqueeze(2)?.try_expand([words.shape()[0], width, 4])?;
    let shifts = words.iota_of(&Shape::new(&[1, 1, 4]), 2)?.try_mul(8)?;
    let bytes = four.try_index_select(0, positions)?.try_shift_right(&shifts)?.try_bitand(255)?;
    let numbers = bytes.try_to_dtype(DType::F32)?.try_mul(f64::from(BYTE_SCALE))?;
    let flat = numbers.try_reshape([count, width * 4])?.try_narrow(1, 0, item.numel())?;
    flat.try_reshape(item.inserted(0, count))
}

impl Dataset for TensorDataset {
    fn len(&self) -> usize {
        self.rows
    }

    /// Reads a row back, which natively waits for the device; in a browser it is an error.
    fn get(&self, index: usize) -> Result<Item> {
        if index >= self.rows {
            return Err(Error::argument(
                "TensorDataset",
                format!("there is no row {index} of {}", self.rows),
            ));
        }
        #[cfg(target_arch = "wasm32")]
        return Err(Error::argument("TensorDataset", "rows on a device cannot be read without waiting"));
        #[cfg(not(target_arch = "wasm32"))]
        {
            let positions = Tensor::try_from_slice(&[index as i32], 1, &self.device)?;
            let item = |row: &Tensor| {
                let bytes = pollster::block_on(row.to_bytes())?;
                HostArray::from_bytes(bytes, &row.shape()[1..], row.dtype())
            };
            self.rows(&positions)?.iter().map(item).collect()
        }
    }

    fn resident(&self) -> Option<&TensorDataset> {
        Some(self)
    }
}
