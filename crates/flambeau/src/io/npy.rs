//! NumPy's files: `.npy` (one array: a header that is a Python dictionary, then the elements) and `.npz` (a zip archive
//! of them).

use super::convert::{Collector, Loaded, MAX_RANK, Note, Stored, broken, byte_count, swap_bytes};
use super::host::{HostTensor, read_back};
use super::limits::{Budget, ReadLimits};
use super::state::StateDict;
use super::zip::{Archive, Builder};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use std::borrow::Cow;
use std::collections::BTreeMap;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an `.npy` file that is in memory, and what was converted ([the table](super)).
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{read_npy, write_npy};
/// # flambeau::block_on(async {
/// let bytes = write_npy(&Tensor::new([[1, 2], [3, 4]], &Device::cpu())).await?;
/// let (tensor, notes) = read_npy(&bytes, &Device::cpu())?;
/// assert_eq!(tensor.to_string(), "tensor([[1, 2],\n        [3, 4]], dtype=i32)");
/// assert!(notes.is_empty());
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub fn read_npy(bytes: &[u8], device: &Device) -> Result<(Tensor, Vec<Note>)> {
    parse_npy("npy bytes", bytes, ReadLimits::default(), device)
}

/// A tensor as an `.npy` file.
pub async fn write_npy(tensor: &Tensor) -> Result<Vec<u8>> {
    let state = StateDict::from_iter([(String::new(), tensor.clone())]);
    let host = read_back("write_npy", &state).await?;
    Ok(host.first().map(encode_npy).unwrap_or_default())
}

/// Reads an `.npz` file (`np.savez`, `np.savez_compressed`) that is in memory.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{StateDict, read_npz, write_npz};
/// # flambeau::block_on(async {
/// let state = StateDict::from_iter([("x".to_string(), Tensor::ones([2], &Device::cpu()))]);
/// let loaded = read_npz(&write_npz(&state).await?, &Device::cpu())?;
/// assert_eq!(loaded.tensors.get("x").unwrap().to_string(), "tensor([1., 1.])");
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub fn read_npz(bytes: &[u8], device: &Device) -> Result<Loaded> {
    parse_npz("npz bytes", bytes, ReadLimits::default(), device)
}

/// Tensors as an `.npz` file, as `np.savez` would write it.
pub async fn write_npz(tensors: &StateDict) -> Result<Vec<u8>> {
    let mut archive = Builder::new();
    for tensor in read_back("write_npz", tensors).await? {
        archive.add(&format!("{}.npy", tensor.name), &encode_npy(&tensor))?;
    }
    Ok(archive.finish())
}

pub(super) fn parse_npy(
    source: &str,
    bytes: &[u8],
    limits: ReadLimits,
    device: &Device,
) -> Result<(Tensor, Vec<Note>)> {
    let budget = Budget::new(limits, bytes.len());
    let mut collector = Collector::new(source, device, &budget);
    add_array(&mut collector, "array", bytes).map_err(|error| error.or_broken(source, None))?;
    let loaded = collector.finish(BTreeMap::new());
    let tensor = loaded.tensors.into_iter().next().map(|(_, tensor)| tensor);
    Ok((tensor.ok_or_else(|| broken(source, "no array"))?, loaded.notes))
}

pub(super) fn parse_npz(source: &str, bytes: &[u8], limits: ReadLimits, device: &Device) -> Result<Loaded> {
    let budget = Budget::new(limits, bytes.len());
    let archive = Archive::open(source, bytes, &budget)?;
    let mut collector = Collector::new(source, device, &budget);
    for member in archive.names() {
        let name = member.strip_suffix(".npy").unwrap_or(member);
        let content = archive.read(member)?;
        add_array(&mut collector, name, &content).map_err(|error| error.or_broken(source, Some(name)))?;
        if let Cow::Owned(unpacked) = content {
            budget.give_back(unpacked.len());
        }
    }
    Ok(collector.finish(BTreeMap::new()))
}

/// What is wrong: with the array's bytes, or with taking it up.
enum Wrong {
    Bytes(String),
    Other(Error),
}

impl Wrong {
    fn or_broken(self, source: &str, array: Option<&str>) -> Error {
        match (self, array) {
            (Wrong::Other(error), _) => error,
            (Wrong::Bytes(message), None) => broken(source, message),
            (Wrong::Bytes(message), Some(name)) => broken(source, format!("array `{name}`: {message}")),
        }
    }
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong::Bytes(message)
    }
}

fn add_array(collector: &mut Collector, name: &str, bytes: &[u8]) -> std::result::Result<(), Wrong> {
    let (header, data) = split(bytes).ok_or_else(|| "not a whole .npy file".to_owned())?;
    let Header { stored, big_endian, fortran, dims } = Header::parse(header)?;
    if byte_count(stored, &dims) != Some(data.len()) {
        let message = format!("{} bytes do not hold {} of shape {dims:?}", data.len(), stored.name());
        return Err(Wrong::Bytes(message));
    }
    let mut content = Cow::Borrowed(data);
    if fortran && dims.len() > 1 {
        content = Cow::Owned(rows_first(data, &dims, stored.size(), collector.budget)?);
    }
    if big_endian {
        swap_bytes(&mut content, stored.size(), collector.budget)?;
    }
    collector.add(name, stored, &dims, &content).map_err(Wrong::Other)?;
    if let Cow::Owned(content) = content {
        collector.budget.give_back(content.len());
    }
    Ok(())
}

/// The header's text and the data.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from_le_bytes(*length), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length as usize)
}

/// Elements in the order of rows, from the order of columns: the first coordinate changes fastest.
fn rows_first(
    data: &[u8],
    dims: &[usize],
    size: usize,
    budget: &Budget,
) -> std::result::Result<Vec<u8>, String> {
    let mut rows = budget.buffer(data.len())?;
    let mut coordinates = vec![0; dims.len()];
    for _ in 0..data.len() / size {
        let element = coordinates.iter().zip(dims).rev().fold(0, |place, (&at, &dim)| place * dim + at);
        rows.extend_from_slice(&data[element * size..][..size]);
        for d in (0..dims.len()).rev() {
            coordinates[d] += 1;
            if coordinates[d] < dims[d] {
                break;
            }
            coordinates[d] = 0;
        }
    }
    Ok(rows)
}

/// What the header says: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
struct Header {
    stored: Stored,
    big_endian: bool,
    fortran: bool,
    dims: Vec<usize>,
}

impl Header {
    fn parse(text: &[u8]) -> std::result::Result<Header, String> {
        let text = std::str::from_utf8(text).map_err(|_| "the header is not UTF-8")?;
        let unclear =
            || format!("the header {:?} is not understood", text.chars().take(200).collect::<String>());
        let value = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let descr = value("descr").ok_or_else(unclear)?;
        if descr.starts_with('[') {
            return Err("arrays with fields are not tensors".into());
        }
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).ok_or_else(unclear)?.0;
        let fortran = match value("fortran_order").ok_or_else(unclear)? {
            yes if yes.starts_with("True") => true,
            no if no.starts_with("False") => false,
            _ => return Err(unclear()),
        };
        let shape = value("shape").and_then(|shape| shape.strip_prefix('(')).ok_or_else(unclear)?;
        let (shape, _) = shape.split_once(')').ok_or_else(unclear)?;
        // One more than there may be: that is refused when sizes are checked.
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).take(MAX_RANK + 1);
        let dims = sizes
            .map(|size| size.trim_end_matches('L').parse())
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| unclear())?;
        let (order, kind) = descr.split_at_checked(1).ok_or_else(unclear)?;
        let stored = stored_type(kind).ok_or_else(|| format!("arrays of type '{descr}' are not tensors"))?;
        Ok(Header { stored, big_endian: order == ">", fortran, dims })
    }
}

fn stored_type(kind: &str) -> Option<Stored> {
    Some(match kind {
        "b1" => Stored::Bool,
        "u1" => Stored::U8,
        "i1" => Stored::I8,
        "i2" => Stored::I16,
        "u2" => Stored::U16,
        "i4" => Stored::I32,
        "u4" => Stored::U32,
        "i8" => Stored::I64,
        "u8" => Stored::U64,
        "f2" => Stored::F16,
        "f4" => Stored::F32,
        "f8" => Stored::F64,
        _ => return None,
    })
}

fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "|b1",
        DType::U8 => "|u1",
        DType::I32 => "<i4",
        DType::U32 => "<u4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
    }
}

fn encode_npy(tensor: &HostTensor) -> Vec<u8> {
    let sizes: Vec<String> = tensor.dims.iter().map(usize::to_string).collect();
    let shape = if sizes.len() == 1 { format!("({},)", sizes[0]) } else { format!("({})", sizes.join(", ")) };
    let descr = descr(tensor.dtype);
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version and length are ten bytes; the data begins at a multiple of 64, after a line break.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', length - header.len() - 1));
    header.push('\n');
    [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), header.as_bytes(), &tensor.bytes].concat()
}

#[cfg(not(target_arch = "wasm32"))]
pub use native::{load_npy, load_npz, save_npy, save_npy_blocking, save_npz, save_npz_blocking};

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use super::*;
    use crate::io::atomic::{read_file, write_atomically};
    use std::io::Write;
    use std::path::Path;

    /// [`read_npy`] of a file.
    pub fn load_npy(path: impl AsRef<Path>, device: &Device) -> Result<(Tensor, Vec<Note>)> {
        let path = path.as_ref();
        let limits = ReadLimits::default();
        parse_npy(&path.display().to_string(), &read_file(path, limits)?, limits, device)
    }

    /// [`read_npz`] of a file.
    pub fn load_npz(path: impl AsRef<Path>, device: &Device) -> Result<Loaded> {
        let path = path.as_ref();
        let limits = ReadLimits::default();
        parse_npz(&path.display().to_string(), &read_file(path, limits)?, limits, device)
    }

    /// [`write_npy`] to a file, in one step (see [`write_atomically`]).
    pub async fn save_npy(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
        let bytes = write_npy(tensor).await?;
        write_atomically(path, |file| file.write_all(&bytes))
    }

    /// [`save_npy`], blocking.
    pub fn save_npy_blocking(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
        pollster::block_on(save_npy(path, tensor))
    }

    /// [`write_npz`] to a file, in one step (see [`write_atomically`]).
    pub async fn save_npz(path: impl AsRef<Path>, tensors: &StateDict) -> Result<()> {
        let bytes = write_npz(tensors).await?;
        write_atomically(path, |file| file.write_all(&bytes))
    }

    /// [`save_npz`], blocking.
    pub fn save_npz_blocking(path: impl AsRef<Path>, tensors: &StateDict) -> Result<()> {
        pollster::block_on(save_npz(path, tensors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::torture;
    use pollster::block_on;

    fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let length = header.len();
        let length = if version == 1 {
            (length as u16).to_le_bytes().to_vec()
        } else {
            (length as u32).to_le_bytes().to_vec()
        };
        [MAGIC, &[version, 0], &length, header.as_bytes(), data].concat()
    }

    fn read(bytes: &[u8]) -> Result<Tensor> {
        parse_npy("file", bytes, ReadLimits::default(), &Device::cpu()).map(|(tensor, _)| tensor)
    }

    #[test]
    fn truncated_and_altered_files() {
        let device = Device::cpu();
        let state = StateDict::from_iter([("x".to_string(), Tensor::new([[1, 2], [3, 4]], &device))]);
        torture(&block_on(write_npy(state.get("x").unwrap())).unwrap(), read);
        torture(&block_on(write_npz(&state)).unwrap(), |bytes| read_npz(bytes, &device));
        torture(include_bytes!("../../tests/data/io/version3.npy"), read);
    }

    #[test]
    fn hostile_headers() {
        let header = |descr: &str, order: &str, shape: &str| {
            format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}")
        };
        for (bytes, expect) in [
            (npy(1, &header("'<f4'", "False", "(2,)"), &[0; 7]), "7 bytes do not hold f32 of shape [2]"),
            (npy(1, &header("'<f4'", "False", "(274877906944,)"), &[0; 8]), "8 bytes do not hold f32"),
            (npy(1, &header("'<f4'", "True", "(0, 4611686018427387904, 64)"), &[]), "0 bytes do not hold"),
            (npy(1, &header("'<f4'", "False", &format!("({})", "1,".repeat(100))), &[0; 4]), "do not hold"),
            (npy(1, &header("'<f4'", "False", "(-2,)"), &[0; 8]), "is not understood"),
            (npy(1, &header("'<f4'", "Maybe", "(2,)"), &[0; 8]), "is not understood"),
            (npy(1, &header("'|O'", "False", "(2,)"), &[0; 8]), "arrays of type '|O' are not tensors"),
            (npy(1, &header("'<c8'", "False", "(1,)"), &[0; 8]), "arrays of type '<c8' are not tensors"),
            (
                npy(1, &header("[('a', '<f4')]", "False", "(2,)"), &[0; 8]),
                "arrays with fields are not tensors",
            ),
            (npy(1, &header("''", "False", "()"), &[]), "is not understood"),
            (npy(1, &header("'é4'", "False", "()"), &[]), "is not understood"),
            (npy(2, "", &[]), "is not understood"),
            (npy(9, "", &[]), "not a whole .npy file"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "not a whole .npy file"),
        ] {
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.starts_with("file: ") && error.contains(expect), "{error} (expected: {expect})");
        }
    }

    #[test]
    fn orders_and_versions() {
        let data = [0, 1, 2, 3, 4, 5];
        for (order, expect) in [("False", [0, 1, 2, 3, 4, 5]), ("True", [0, 2, 4, 1, 3, 5])] {
            for version in 1..=3 {
                let header = format!("{{'shape': (2, 3), 'fortran_order': {order}, 'descr': '|u1'}}");
                assert_eq!(
                    read(&npy(version, &header, &data)).unwrap().to_vec_blocking::<u8>().unwrap(),
                    expect
                );
            }
        }
    }
}
