//! The safetensors format: a JSON header (names, types, shapes, places), then the tensors' bytes.
//!
//! Files are written with the tensors' order in the header, and the bytes of wide types before those of narrow ones, so
//! that every tensor is aligned. The same tensors always give the same file.

use super::convert::{Collector, Loaded, Stored, broken, byte_count};
use super::host::{HostTensor, read_back};
use super::limits::{Budget, ReadLimits};
use super::state::StateDict;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use ::safetensors::tensor::TensorInfo;
use ::safetensors::{Dtype, SafeTensors};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

const METADATA: &str = "__metadata__";
/// The largest header that the format allows.
const MAX_HEADER: u64 = 100_000_000;
/// What parsing a header takes for each of its bytes, at most: numbers of shapes and short entries of the metadata, in
/// lists and tables that double when they grow; and what stays of it.
const PARSING: usize = 40;
const PARSED: usize = 12;

/// Reads a safetensors file that is in memory; types the device lacks are converted (see [the table](super)).
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::read_safetensors;
/// let error = read_safetensors(b"short", &Device::cpu()).unwrap_err();
/// assert_eq!(error.to_string(), "safetensors bytes: not a safetensors file: 5 bytes cannot hold a header");
/// ```
pub fn read_safetensors(bytes: &[u8], device: &Device) -> Result<Loaded> {
    parse("safetensors bytes", bytes, &Budget::new(ReadLimits::default(), bytes.len()), device)
}

/// A safetensors file of these tensors and strings, as bytes. Values are read back in one wait per device.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{StateDict, read_safetensors, write_safetensors};
/// # flambeau::block_on(async {
/// let state = StateDict::from_iter([("w".to_string(), Tensor::ones([2], &Device::cpu()))]);
/// let bytes = write_safetensors(&state, &Default::default()).await?;
/// assert_eq!(read_safetensors(&bytes, &Device::cpu())?.tensors.get("w").unwrap().to_string(), "tensor([1., 1.])");
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub async fn write_safetensors(tensors: &StateDict, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let layout = Layout::new(read_back("write_safetensors", tensors).await?, metadata)?;
    layout.write(&mut file).map_err(|error| broken("safetensors bytes", error.to_string()))?;
    Ok(file)
}

/// The tensors of a safetensors file; `source` names it in errors.
pub(super) fn parse(source: &str, bytes: &[u8], budget: &Budget, device: &Device) -> Result<Loaded> {
    let wrong = |message: String| broken(source, message);
    let invalid = |message: String| wrong(format!("not a safetensors file: {message}"));
    let length = bytes
        .first_chunk()
        .map(|word| u64::from_le_bytes(*word))
        .ok_or_else(|| invalid(format!("{} bytes cannot hold a header", bytes.len())))?;
    let room = bytes.len() as u64 - 8;
    if length > room || length > MAX_HEADER {
        return Err(invalid(format!("a header of {length} bytes in a file of {}", bytes.len())));
    }
    let (header, data) = bytes[8..].split_at(length as usize);
    let size = header.len();
    budget.take(PARSING * size).map_err(wrong)?;
    let header: Header =
        serde_json::from_slice(header).map_err(|error| invalid(format!("header: {error}")))?;
    for (name, info) in &header.tensors {
        check_claim(info, data.len()).map_err(|message| wrong(format!("tensor `{name}` {message}")))?;
    }
    // What remains to be checked: no overlaps, no gaps, nothing after the last tensor.
    SafeTensors::read_metadata(bytes).map_err(|error| invalid(error.to_string()))?;

    budget.give_back((PARSING - PARSED) * size);
    let mut collector = Collector::new(source, device, budget);
    for (name, info) in &header.tensors {
        let stored = stored_type(info.dtype)
            .ok_or_else(|| wrong(format!("tensor `{name}` is {:?}, which is not supported", info.dtype)))?;
        let (start, end) = info.data_offsets;
        collector.add(name, stored, &info.shape, &data[start..end])?;
    }
    Ok(collector.finish(header.metadata))
}

/// A tensor's place must lie in the file and have its shape's size.
fn check_claim(info: &TensorInfo, room: usize) -> std::result::Result<(), String> {
    let TensorInfo { dtype, shape, data_offsets: (start, end) } = info;
    if start > end || *end > room {
        return Err(format!("claims bytes {start} to {end} of {room}"));
    }
    match stored_type(*dtype) {
        Some(stored) if byte_count(stored, shape) != Some(end - start) => {
            Err(format!("has {} bytes, which do not hold {} of shape {shape:?}", end - start, stored.name()))
        }
        _ => Ok(()),
    }
}

/// The header as it stands in the file: in order, and with names that occur twice.
struct Header {
    metadata: BTreeMap<String, String>,
    tensors: Vec<(String, TensorInfo)>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Header, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Header, A::Error> {
                let mut header = Header { metadata: BTreeMap::new(), tensors: Vec::new() };
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        header.metadata = map.next_value::<Option<_>>()?.unwrap_or_default();
                    } else {
                        header.tensors.push((name, map.next_value()?));
                    }
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

fn stored_type(dtype: Dtype) -> Option<Stored> {
    Some(match dtype {
        Dtype::BOOL => Stored::Bool,
        Dtype::U8 => Stored::U8,
        Dtype::I8 => Stored::I8,
        Dtype::I16 => Stored::I16,
        Dtype::U16 => Stored::U16,
        Dtype::I32 => Stored::I32,
        Dtype::U32 => Stored::U32,
        Dtype::I64 => Stored::I64,
        Dtype::U64 => Stored::U64,
        Dtype::F16 => Stored::F16,
        Dtype::BF16 => Stored::BF16,
        Dtype::F32 => Stored::F32,
        Dtype::F64 => Stored::F64,
        _ => return None,
    })
}

fn format_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "BOOL",
        DType::U8 => "U8",
        DType::I32 => "I32",
        DType::U32 => "U32",
        DType::I64 => "I64",
        DType::F16 => "F16",
        DType::F32 => "F32",
        DType::F64 => "F64",
    }
}

/// A file about to be written.
pub(super) struct Layout {
    /// The length of what follows, the header and blanks up to a multiple of eight bytes.
    pub header: Vec<u8>,
    tensors: Vec<HostTensor>,
    /// The tensors in the order of their bytes.
    order: Vec<usize>,
}

impl Layout {
    pub fn new(tensors: Vec<HostTensor>, metadata: &BTreeMap<String, String>) -> Result<Layout> {
        if tensors.iter().any(|tensor| tensor.name == METADATA) {
            return Err(Error::State(format!("safetensors: no tensor can be named `{METADATA}`")));
        }
        let mut order: Vec<usize> = (0..tensors.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(tensors[index].dtype.size()));
        let mut places = vec![(0, 0); tensors.len()];
        let mut end = 0;
        for &index in &order {
            let start = end;
            end += tensors[index].bytes.len();
            places[index] = (start, end);
        }
        let mut entries = Vec::new();
        if !metadata.is_empty() {
            entries.push(format!("{}:{}", json(METADATA), serde_json::json!(metadata)));
        }
        for (tensor, (start, end)) in tensors.iter().zip(&places) {
            let (name, dtype, dims) =
                (json(&tensor.name), format_name(tensor.dtype), json_list(&tensor.dims));
            entries.push(format!(
                r#"{name}:{{"dtype":"{dtype}","shape":{dims},"data_offsets":[{start},{end}]}}"#
            ));
        }
        let mut text = format!("{{{}}}", entries.join(",")).into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        if text.len() as u64 > MAX_HEADER {
            return Err(Error::State(format!("safetensors: a header of {} bytes is too large", text.len())));
        }
        let mut header = (text.len() as u64).to_le_bytes().to_vec();
        header.append(&mut text);
        Ok(Layout { header, tensors, order })
    }

    /// The file's parts, one after the other.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let data = self.order.iter().map(|&index| self.tensors[index].bytes.as_slice());
        std::iter::once(self.header.as_slice()).chain(data)
    }

    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        self.parts().try_for_each(|part| to.write_all(part))
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn json_list(dims: &[usize]) -> String {
    serde_json::Value::from(dims).to_string()
}

#[cfg(not(target_arch = "wasm32"))]
pub use native::{load_safetensors, save_safetensors, save_safetensors_blocking, write_safetensors_blocking};

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use super::*;
    use crate::io::atomic::{read_file, write_atomically};
    use std::path::Path;

    /// Reads a safetensors file; types the device lacks are converted (see [the table](crate::io)).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::io::{StateDict, load_safetensors, save_safetensors_blocking};
    /// let path = std::env::temp_dir().join(format!("flambeau-doc-{}.safetensors", std::process::id()));
    /// let state = StateDict::from_iter([("w".to_string(), Tensor::ones([2], &Device::cpu()))]);
    /// save_safetensors_blocking(&path, &state, &Default::default())?;
    /// let loaded = load_safetensors(&path, &Device::cpu())?;
    /// assert_eq!(loaded.tensors.get("w").unwrap().to_string(), "tensor([1., 1.])");
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    pub fn load_safetensors(path: impl AsRef<Path>, device: &Device) -> Result<Loaded> {
        let path = path.as_ref();
        let bytes = read_file(path, ReadLimits::default())?;
        let budget = Budget::new(ReadLimits::default(), bytes.len());
        parse(&path.display().to_string(), &bytes, &budget, device)
    }

    /// Writes a safetensors file in one step (see [`write_atomically`]).
    pub async fn save_safetensors(
        path: impl AsRef<Path>,
        tensors: &StateDict,
        metadata: &BTreeMap<String, String>,
    ) -> Result<()> {
        let layout = Layout::new(read_back("save_safetensors", tensors).await?, metadata)?;
        write_atomically(path, |file| layout.write(file))
    }

    /// [`save_safetensors`], blocking.
    pub fn save_safetensors_blocking(
        path: impl AsRef<Path>,
        tensors: &StateDict,
        metadata: &BTreeMap<String, String>,
    ) -> Result<()> {
        pollster::block_on(save_safetensors(path, tensors, metadata))
    }

    /// [`write_safetensors`], blocking.
    pub fn write_safetensors_blocking(
        tensors: &StateDict,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Vec<u8>> {
        pollster::block_on(write_safetensors(tensors, metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::torture;
    use crate::tensor::Tensor;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    }

    fn read(bytes: &[u8]) -> Result<Loaded> {
        parse("file", bytes, &Budget::new(ReadLimits::default(), bytes.len()), &Device::cpu())
    }

    #[test]
    fn every_dtype_in_order_and_bit_for_bit() {
        let device = Device::cpu();
        let mut state = StateDict::new();
        for dtype in DType::ALL {
            state.insert(
                format!("z.{dtype}"),
                Tensor::arange(0, 6, 1, &device).reshape([2, 3]).to_dtype(dtype),
            );
        }
        state.insert("a \"quoted\" é", Tensor::from_slice(&[f32::NAN, -0.0, f32::INFINITY], [3], &device));
        state.insert("empty", Tensor::zeros([0, 4], &device));
        state.insert("scalar", Tensor::scalar(2.5, &device));
        let metadata = BTreeMap::from([("k".to_string(), "v \n\"".to_string())]);
        let bytes = write_safetensors_blocking(&state, &metadata).unwrap();
        let back = read(&bytes).unwrap();
        assert_eq!(back.metadata, metadata);
        assert_eq!(back.notes, []);
        assert!(back.tensors.names().eq(state.names()));
        for ((_, given), (_, got)) in state.iter().zip(back.tensors.iter()) {
            assert_eq!((given.shape(), given.dtype()), (got.shape(), got.dtype()));
            let bytes = |tensor: &Tensor| pollster::block_on(tensor.to_bytes()).unwrap();
            assert_eq!(bytes(given), bytes(got));
        }
        assert_eq!(write_safetensors_blocking(&back.tensors, &metadata).unwrap(), bytes);
        let crates_own = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(
            crates_own.tensor("z.f64").unwrap().data().as_ptr() as usize % 8,
            bytes.as_ptr() as usize % 8
        );
    }

    #[test]
    fn hostile_files_are_named_errors() {
        let entry = |dtype: &str, shape: &str, offsets: &str| {
            format!(r#""t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}"#)
        };
        let one =
            |dtype, shape, offsets, data: &[u8]| file(&format!("{{{}}}", entry(dtype, shape, offsets)), data);
        let twice = format!("{{{},{}}}", entry("U8", "[0]", "[0,0]"), entry("U8", "[0]", "[0,0]"));
        let overlap = format!(
            r#"{{{},"u":{{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}}}"#,
            entry("U8", "[2]", "[0,2]")
        );
        let huge =
            r#"{"a":{"dtype":"U8","shape":[18446744073709551608],"data_offsets":[0,18446744073709551608]}}"#;
        for (bytes, expect) in [
            (vec![], "0 bytes cannot hold a header"),
            (u64::MAX.to_le_bytes().to_vec(), "a header of 18446744073709551615 bytes in a file of 8"),
            ((1u64 << 40).to_le_bytes().to_vec(), "a header of 1099511627776 bytes"),
            (file("{\"t\": \u{0}", &[]), "header: "),
            ([&2u64.to_le_bytes()[..], &[0xff, 0xfe]].concat(), "header: "),
            (file("[]", &[]), "a map of tensors"),
            (one("F32", "[2]", "[0,8]", &[0; 7]), "tensor `t` claims bytes 0 to 8 of 7"),
            (one("F32", "[2]", "[0,8]", &[0; 9]), "not fully covered"),
            (
                one("F32", "[3]", "[0,8]", &[0; 8]),
                "tensor `t` has 8 bytes, which do not hold f32 of shape [3]",
            ),
            (one("F32", "[2]", "[8,0]", &[0; 8]), "tensor `t` claims bytes 8 to 0 of 8"),
            (one("F32", "[274877906944]", "[0,1099511627776]", &[0; 8]), "of 8"),
            (one("F32", "[0,4611686018427387904,8]", "[0,0]", &[]), "tensor `t` has 0 bytes"),
            (one("F8_E4M3", "[2]", "[0,2]", &[0; 2]), "tensor `t` is F8_E4M3, which is not supported"),
            (one("F99", "[2]", "[0,2]", &[0; 2]), "unknown variant `F99`"),
            (one("U8", "[-1]", "[0,2]", &[0; 2]), "invalid value: integer `-1`"),
            (file(&twice, &[]), "two tensors are named `t`"),
            (file(&overlap, &[0; 3]), "invalid offset for tensor `u`"),
            (file(huge, &[]), "tensor `a` claims"),
        ] {
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.starts_with("file: ") && error.contains(expect), "{error} (expected: {expect})");
        }
    }

    #[test]
    fn truncated_and_altered_files() {
        let mut state = StateDict::new();
        state.insert("w", Tensor::arange(0, 4, 1, &Device::cpu()));
        state.insert("flag", Tensor::new([true, false], &Device::cpu()));
        let metadata = BTreeMap::from([("k".to_string(), "v".to_string())]);
        torture(&write_safetensors_blocking(&state, &metadata).unwrap(), read);
    }

    #[test]
    fn names_that_cannot_be_written() {
        let tensor = Tensor::ones([1], &Device::cpu());
        let write = |names: &[&str]| {
            let state = names.iter().map(|name| (name.to_string(), tensor.clone())).collect();
            write_safetensors_blocking(&state, &BTreeMap::new()).unwrap_err().to_string()
        };
        assert!(write(&["a", "a"]).contains("two tensors are named `a`"));
        assert!(write(&["__metadata__"]).contains("`__metadata__`"));
    }
}
