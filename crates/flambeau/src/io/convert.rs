//! From what files hold to what a device has: element types, checks of sizes, and notes of what was converted.

use super::StateDict;
use super::limits::Budget;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{Meta, Tensor};
use half::{bf16, f16};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// What was in a file.
///
/// ```
/// use flambeau::io::{StateDict, read_safetensors, write_safetensors_blocking};
/// # use flambeau::prelude::*;
/// let state = StateDict::from_iter([("w".to_string(), Tensor::ones([2], &Device::cpu()))]);
/// let bytes = write_safetensors_blocking(&state, &[("by".to_string(), "me".to_string())].into())?;
/// let loaded = read_safetensors(&bytes, &Device::cpu())?;
/// assert_eq!(loaded.tensors.get("w").unwrap().to_string(), "tensor([1., 1.])");
/// assert_eq!(loaded.metadata["by"], "me");
/// assert!(loaded.notes.is_empty());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The tensors, in the file's order.
    pub tensors: StateDict,
    /// Strings that the file has beside the tensors.
    pub metadata: BTreeMap<String, String>,
    /// What is not in this form in the file.
    pub notes: Vec<Note>,
}

/// One tensor that was converted when it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The tensor's name.
    pub name: String,
    /// The element type in the file.
    pub from: &'static str,
    /// The dtype it has now.
    pub to: DType,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was converted from {} to {}", self.name, self.from, self.to)
    }
}

/// The element types that files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Bool,
    U8,
    I8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

impl Stored {
    pub fn size(self) -> usize {
        match self {
            Stored::Bool | Stored::U8 | Stored::I8 => 1,
            Stored::I16 | Stored::U16 | Stored::F16 | Stored::BF16 => 2,
            Stored::I32 | Stored::U32 | Stored::F32 => 4,
            Stored::I64 | Stored::U64 | Stored::F64 => 8,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Stored::Bool => "bool",
            Stored::U8 => "u8",
            Stored::I8 => "i8",
            Stored::I16 => "i16",
            Stored::U16 => "u16",
            Stored::I32 => "i32",
            Stored::U32 => "u32",
            Stored::I64 => "i64",
            Stored::U64 => "u64",
            Stored::F16 => "f16",
            Stored::BF16 => "bf16",
            Stored::F32 => "f32",
            Stored::F64 => "f64",
        }
    }

    /// The dtype of the same elements, where there is one.
    fn same(self) -> Option<DType> {
        Some(match self {
            Stored::Bool => DType::Bool,
            Stored::U8 => DType::U8,
            Stored::I32 => DType::I32,
            Stored::U32 => DType::U32,
            Stored::I64 => DType::I64,
            Stored::F16 => DType::F16,
            Stored::F32 => DType::F32,
            Stored::F64 => DType::F64,
            Stored::I8 | Stored::I16 | Stored::U16 | Stored::U64 | Stored::BF16 => return None,
        })
    }

    /// The dtype these elements get on a device.
    fn on(self, device: &Device) -> DType {
        let has = |dtype: &DType| device.backend().accepts(*dtype).is_ok();
        let (wanted, otherwise) = match self {
            Stored::I8 | Stored::I16 | Stored::U16 => (DType::I32, DType::I32),
            Stored::U64 => (DType::I64, DType::I32),
            Stored::BF16 => (DType::F32, DType::F32),
            other => {
                let same = other.same().unwrap_or(DType::F32);
                (same, if same.is_float() { DType::F32 } else { DType::I32 })
            }
        };
        Some(wanted).filter(has).unwrap_or(otherwise)
    }

    /// An element as an integer; none if it is a float.
    fn integer(self, word: &[u8]) -> Option<i128> {
        macro_rules! number {
            ($t:ty) => {
                i128::from(<$t>::from_le_bytes(word.try_into().ok()?))
            };
        }
        Some(match self {
            Stored::Bool | Stored::U8 => number!(u8),
            Stored::I8 => number!(i8),
            Stored::I16 => number!(i16),
            Stored::U16 => number!(u16),
            Stored::I32 => number!(i32),
            Stored::U32 => number!(u32),
            Stored::I64 => number!(i64),
            Stored::U64 => number!(u64),
            Stored::F16 | Stored::BF16 | Stored::F32 | Stored::F64 => return None,
        })
    }

    /// A float element in single precision, rounded where it is wider.
    fn single(self, word: &[u8]) -> Option<f32> {
        Some(match self {
            Stored::F16 => f16::from_le_bytes(word.try_into().ok()?).to_f32(),
            Stored::BF16 => bf16::from_le_bytes(word.try_into().ok()?).to_f32(),
            Stored::F64 => f64::from_le_bytes(word.try_into().ok()?) as f32,
            _ => f32::from_le_bytes(word.try_into().ok()?),
        })
    }
}

/// The most dimensions a tensor in a file may have: PyTorch's limit.
pub(super) const MAX_RANK: usize = 64;

/// The number of bytes of a tensor, unless it has too many dimensions or no memory could hold it. Sizes of zero elsewhere in the shape excuse
/// nothing: strides are products too.
pub(super) fn byte_count(stored: Stored, dims: &[usize]) -> Option<usize> {
    let product =
        |zero: usize| dims.iter().map(|&size| size.max(zero)).try_fold(stored.size(), usize::checked_mul);
    let bound = product(1)?;
    if dims.len() > MAX_RANK || bound > isize::MAX as usize { None } else { product(0) }
}

/// Turns big-endian elements into little-endian ones; a copy is taken from the budget.
pub(super) fn swap_bytes(
    bytes: &mut Cow<[u8]>,
    size: usize,
    budget: &Budget,
) -> std::result::Result<(), String> {
    if let Cow::Borrowed(given) = *bytes {
        let mut copy = budget.buffer(given.len())?;
        copy.extend_from_slice(given);
        *bytes = Cow::Owned(copy);
    }
    bytes.to_mut().chunks_exact_mut(size).for_each(<[u8]>::reverse);
    Ok(())
}

/// Puts together what a reader finds in a file.
pub(super) struct Collector<'a> {
    source: &'a str,
    device: &'a Device,
    pub budget: &'a Budget,
    names: HashSet<String>,
    tensors: Vec<(String, Tensor)>,
    notes: Vec<Note>,
}

impl<'a> Collector<'a> {
    /// `source` is the file's name, for errors.
    pub fn new(source: &'a str, device: &'a Device, budget: &'a Budget) -> Collector<'a> {
        Collector { source, device, budget, names: HashSet::new(), tensors: Vec::new(), notes: Vec::new() }
    }

    /// Adds a tensor whose elements are given little-endian in row-major order.
    pub fn add(&mut self, name: &str, stored: Stored, dims: &[usize], bytes: &[u8]) -> Result<()> {
        if !self.names.insert(name.to_owned()) {
            return Err(broken(self.source, format!("two tensors are named `{name}`")));
        }
        if byte_count(stored, dims) != Some(bytes.len()) {
            let (stored, found) = (stored.name(), bytes.len());
            let message = format!("tensor `{name}`: {found} bytes do not hold {stored} of shape {dims:?}");
            return Err(broken(self.source, message));
        }
        let dtype = stored.on(self.device);
        let count = bytes.len() / stored.size();
        let wrong = |message| broken(self.source, format!("tensor `{name}`: {message}"));
        self.budget.take(TENSOR + 4 * name.len() + count * dtype.size()).map_err(wrong)?;
        let bytes = match stored.same() == Some(dtype) {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned(converted(stored, dtype, bytes, self.budget).map_err(wrong)?),
        };
        let tensor = Tensor::from_bytes(&bytes, Meta::new(Shape::new(dims), dtype), self.device)?;
        if let Cow::Owned(bytes) = bytes {
            self.budget.give_back(bytes.len());
        }
        self.tensors.push((name.to_owned(), tensor));
        if stored.same() != Some(dtype) {
            self.notes.push(Note { name: name.to_owned(), from: stored.name(), to: dtype });
        }
        Ok(())
    }

    pub fn finish(self, metadata: BTreeMap<String, String>) -> Loaded {
        Loaded { tensors: self.tensors.into_iter().collect(), metadata, notes: self.notes }
    }
}

/// What a tensor takes beside its elements and its name: its node, its places in lists and tables.
const TENSOR: usize = 1024;

/// Elements of one type as elements of another: I32, I64 or F32.
fn converted(
    stored: Stored,
    to: DType,
    bytes: &[u8],
    budget: &Budget,
) -> std::result::Result<Vec<u8>, String> {
    let words = bytes.chunks_exact(stored.size());
    let mut result = budget.buffer(words.len() * to.size())?;
    for word in words {
        let Some(value) = stored.integer(word) else {
            result.extend(stored.single(word).unwrap_or(f32::NAN).to_le_bytes());
            continue;
        };
        let outside = || format!("{value} ({}) does not fit into {to}", stored.name());
        match to {
            DType::I64 => result.extend(i64::try_from(value).map_err(|_| outside())?.to_le_bytes()),
            _ => result.extend(i32::try_from(value).map_err(|_| outside())?.to_le_bytes()),
        }
    }
    Ok(result)
}

/// The error of a file that is not what it should be.
pub(super) fn broken(source: &str, message: impl Into<String>) -> Error {
    Error::Io { path: source.to_owned(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ReadLimits;

    #[track_caller]
    fn load(stored: Stored, dims: &[usize], bytes: &[u8]) -> Result<(Tensor, Vec<Note>)> {
        let (device, budget) = (Device::cpu(), Budget::new(ReadLimits::default(), bytes.len()));
        let mut collector = Collector::new("file", &device, &budget);
        collector.add("t", stored, dims, bytes)?;
        let loaded = collector.finish(BTreeMap::new());
        Ok((loaded.tensors.get("t").unwrap().clone(), loaded.notes))
    }

    #[test]
    fn every_type_keeps_its_values() {
        let bf16s: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect();
        for (stored, bytes, dtype, text) in [
            (Stored::Bool, vec![0, 1], DType::Bool, "tensor([False,  True])"),
            (Stored::U8, vec![0, 255], DType::U8, "tensor([  0, 255], dtype=u8)"),
            (Stored::I8, vec![127, 128], DType::I32, "tensor([ 127, -128], dtype=i32)"),
            (Stored::I16, vec![0xff, 0xff, 1, 2], DType::I32, "tensor([ -1, 513], dtype=i32)"),
            (Stored::U16, vec![0xff, 0xff, 1, 2], DType::I32, "tensor([65535,   513], dtype=i32)"),
            (
                Stored::U64,
                [3u64.to_le_bytes(), 4u64.to_le_bytes()].concat(),
                DType::I64,
                "tensor([3, 4], dtype=i64)",
            ),
            (Stored::BF16, bf16s, DType::F32, "tensor([ 1.5000, -2.0000])"),
        ] {
            let (tensor, notes) = load(stored, &[2], &bytes).unwrap();
            assert_eq!((tensor.dtype(), tensor.to_string().as_str()), (dtype, text));
            assert_eq!(notes.is_empty(), stored.name() == dtype.to_string(), "{stored:?}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_named() {
        let error = load(Stored::U64, &[1], &u64::MAX.to_le_bytes()).unwrap_err().to_string();
        assert_eq!(error, "file: tensor `t`: 18446744073709551615 (u64) does not fit into i64");
    }

    #[test]
    fn impossible_shapes_are_refused() {
        for dims in [&[usize::MAX][..], &[1 << 40, 1 << 40], &[0, 1 << 40, 1 << 40], &[1 << 62], &[3]] {
            let error = load(Stored::F32, dims, &[]).unwrap_err().to_string();
            assert!(error.starts_with("file: tensor `t`: 0 bytes do not hold f32 of shape"), "{error}");
        }
        assert!(load(Stored::F32, &[0, 7], &[]).is_ok());
    }
}
