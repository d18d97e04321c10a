//! How items become a batch.

use crate::data::array::HostArray;
use crate::data::dataset::Item;
use crate::error::{Error, Result};
use crate::memory::reserved;
use crate::tensor::{Meta, Tensor};

/// What the tensors of a batch are handed out as: a tensor, a pair, a triple, or a vector of any length.
pub trait Batch: Sized + 'static {
    /// The batch of these tensors, or an error that says how many were expected.
    fn from_tensors(tensors: Vec<Tensor>) -> Result<Self>;
}

fn exactly<const N: usize>(tensors: Vec<Tensor>) -> Result<[Tensor; N]> {
    tensors.try_into().map_err(|tensors: Vec<Tensor>| {
        let message = format!(
            "the batches have {N} tensors, the items {} parts; DataLoader::<Vec<Tensor>>::of takes any number",
            tensors.len()
        );
        Error::argument("DataLoader", message)
    })
}

impl Batch for Vec<Tensor> {
    fn from_tensors(tensors: Vec<Tensor>) -> Result<Self> {
        Ok(tensors)
    }
}
impl Batch for Tensor {
    fn from_tensors(tensors: Vec<Tensor>) -> Result<Self> {
        exactly(tensors).map(|[x]| x)
    }
}
impl Batch for (Tensor, Tensor) {
    fn from_tensors(tensors: Vec<Tensor>) -> Result<Self> {
        exactly(tensors).map(|[x, y]| (x, y))
    }
}
impl Batch for (Tensor, Tensor, Tensor) {
    fn from_tensors(tensors: Vec<Tensor>) -> Result<Self> {
        exactly(tensors).map(|[x, y, z]| (x, y, z))
    }
}

/// Stacks items part by part: what a loader does unless told otherwise.
///
/// ```
/// use flambeau::data::{HostArray, stack_items};
/// let batch = stack_items(vec![vec![HostArray::scalar(1)], vec![HostArray::scalar(2)]])?;
/// assert_eq!(batch[0].values::<i32>()?, [1, 2]);
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn stack_items(items: Vec<Item>) -> Result<Item> {
    let parts = items.first().map_or(0, Vec::len);
    if let Some(other) = items.iter().find(|item| item.len() != parts) {
        let message = format!("items of {parts} and of {} parts cannot be one batch", other.len());
        return Err(Error::shape("DataLoader", message));
    }
    let part = |part: usize| HostArray::stack(&items.iter().map(|item| &item[part]).collect::<Vec<_>>());
    (0..parts).map(part).collect()
}

/// A collate function for sequences: parts with dimensions are filled up with zeros along the first one to the length
/// of the longest in the batch, rounded up to a multiple of `multiple` (batches of few different lengths have few
/// plans), then stacked.
///
/// ```
/// use flambeau::data::{HostArray, pad_sequences};
/// let collate = pad_sequences(4);
/// let item = |tokens: &[i32]| vec![HostArray::new(tokens, [tokens.len()]).unwrap()];
/// let batch = collate(vec![item(&[7]), item(&[1, 2, 3])])?;
/// assert_eq!(batch[0].values::<i32>()?, [7, 0, 0, 0, 1, 2, 3, 0]);
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn pad_sequences(multiple: usize) -> impl Fn(Vec<Item>) -> Result<Item> + Send + Sync + 'static {
    move |mut items| {
        let parts = items.iter().map(Vec::len).max().unwrap_or(0);
        for part in 0..parts {
            let lengths = items.iter().filter_map(|item| item.get(part)?.shape().first().copied());
            let length = lengths.max().unwrap_or(0);
            let length = length.checked_next_multiple_of(multiple.max(1)).unwrap_or(usize::MAX);
            for array in items.iter_mut().filter_map(|item| item.get_mut(part)) {
                if array.shape().rank() > 0 {
                    *array = padded(array, length)?;
                }
            }
        }
        stack_items(items)
    }
}

fn padded(array: &HostArray, length: usize) -> Result<HostArray> {
    let meta = Meta::new(array.shape().with(0, length), array.dtype());
    meta.shape.check("pad_sequences")?;
    let needed = usize::try_from(meta.bytes()).unwrap_or(usize::MAX);
    let mut bytes = reserved(needed)?;
    bytes.extend_from_slice(array.bytes());
    bytes.resize(needed, 0);
    HostArray::from_bytes(bytes, meta.shape, meta.dtype)
}
