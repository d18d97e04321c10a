//! The idx format of the MNIST family: arrays with a header of type and sizes, all big-endian, often packed.
//!
//! ```text
//! 0 0 type rank | size (u32) × rank | values, row-major
//! ```

use super::array::HostArray;
use super::origin::{Origin, unpacked};
use crate::dtype::DType;
use crate::error::Result;
use crate::io::ReadLimits;
use crate::io::limits::Budget;
use crate::shape::Shape;
use std::io::Read;

/// What the header says.
struct Header {
    kind: u8,
    shape: Shape,
    /// Bytes of the values.
    size: usize,
}

/// An array from the bytes of an idx file, plain or packed with gzip. Bytes (type 8) become U8, i8, i16 and i32 become
/// I32, floats stay F32 or F64.
///
/// ```
/// use flambeau::data::parse_idx;
/// let file = [0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]; // u8, one dimension of size 3
/// assert_eq!(parse_idx(&file)?.values::<u8>()?, [5, 0, 4]);
/// assert!(parse_idx(&file[..9]).unwrap_err().to_string().contains("truncated"));
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn parse_idx(bytes: &[u8]) -> Result<HostArray> {
    parse_idx_with(bytes, ReadLimits::default())
}

/// [`parse_idx`] with a limit of your own for the memory it takes.
///
/// ```
/// use flambeau::{data::parse_idx_with, io::ReadLimits};
/// let file = [0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4];
/// let error = parse_idx_with(&file, ReadLimits::memory(10)).unwrap_err();
/// assert!(error.to_string().contains("the limit of 10 bytes"));
/// ```
pub fn parse_idx_with(bytes: &[u8], limits: ReadLimits) -> Result<HostArray> {
    parse(bytes, &Origin::bytes("idx data"), limits, None)
}

/// An array from an idx file, plain or packed with gzip: see [`parse_idx`].
///
/// ```no_run
/// use flambeau::data::{Source, read_idx};
/// let labels = read_idx(&Source::file("data/mnist/t10k-labels-idx1-ubyte.gz"))?;
/// assert_eq!(labels.shape().dims(), [10000]);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[cfg(not(target_arch = "wasm32"))]
pub fn read_idx(source: &super::Source) -> Result<HostArray> {
    parse(&source.read()?, &source.origin(), source.limits, None)
}

/// Parses, checking the unpacked content against a checksum if one is given.
pub(super) fn parse(
    bytes: &[u8],
    origin: &Origin,
    limits: ReadLimits,
    sha256: Option<&str>,
) -> Result<HostArray> {
    let budget = Budget::new(limits, bytes.len());
    let within = |message| origin.error(message);
    let (mut stream, longest) = unpacked(bytes);
    let mut read = |content: &mut Vec<u8>, count: usize| {
        let result = stream.by_ref().take(count as u64).read_to_end(content);
        result.map_err(|error| origin.error(format!("the gzip data is damaged: {error}")))
    };
    let mut start = Vec::new();
    read(&mut start, 4)?;
    let rank = match start[..] {
        [0, 0, _, rank] => usize::from(rank),
        _ => {
            let message = format!(
                "not an idx file: it should begin with 0, 0, type and rank, but begins with {start:02x?}"
            );
            return Err(origin.error(message));
        }
    };
    read(&mut start, 4 * rank)?;
    let header = header(&start, origin)?;
    let promise = || format!("the header promises {} bytes of values, shape {}", header.size, header.shape);
    if header.size > longest {
        return Err(origin.error(format!("truncated: {}, but the file has {}", promise(), bytes.len())));
    }
    // One more than promised, to see whether the stream goes on; a bomb is not unpacked further.
    let mut content = budget.buffer(start.len() + header.size + 1).map_err(within)?;
    content.extend(&start);
    read(&mut content, header.size + 1)?;
    let found = content.len() - start.len();
    if found != header.size {
        return Err(origin.error(if found < header.size {
            format!("truncated: {}, but there are {found}", promise())
        } else {
            format!("{}, but there are more", promise())
        }));
    }
    if let Some(expected) = sha256 {
        origin.check_sha256(&content, expected)?;
    }
    content.drain(..start.len());
    let (bytes, dtype) = values(header.kind, content, &budget).map_err(within)?;
    HostArray::from_bytes(bytes, header.shape, dtype)
}

fn header(content: &[u8], origin: &Origin) -> Result<Header> {
    let (kind, rank) = (content[2], usize::from(content[3]));
    let element: usize = match kind {
        0x08 | 0x09 => 1,
        0x0b => 2,
        0x0c | 0x0d => 4,
        0x0e => 8,
        _ => {
            let message =
                format!("idx type {kind:#04x} is none of 0x08 (u8), 0x09, 0x0b, 0x0c, 0x0d, 0x0e (f64)");
            return Err(origin.error(message));
        }
    };
    if content.len() < 4 + 4 * rank {
        return Err(origin.error(format!("truncated: the header of {rank} sizes ends early")));
    }
    let sizes = content[4..].chunks_exact(4);
    let shape: Shape =
        sizes.map(|size| u32::from_be_bytes([size[0], size[1], size[2], size[3]]) as usize).collect();
    // Sizes of zero elsewhere in the shape excuse nothing: strides are products too.
    let product =
        |least: usize| shape.iter().try_fold(element, |bytes, &size| bytes.checked_mul(size.max(least)));
    match product(1).filter(|&size| size <= isize::MAX as usize) {
        Some(_) => Ok(Header { kind, size: product(0).unwrap_or(0), shape }),
        None => Err(origin.error(format!("shape {shape} is larger than any memory"))),
    }
}

/// The values in host layout, and their dtype.
fn values(kind: u8, bytes: Vec<u8>, budget: &Budget) -> std::result::Result<(Vec<u8>, DType), String> {
    /// Values of N bytes each, converted to M.
    fn each<const N: usize, const M: usize>(
        bytes: &[u8],
        budget: &Budget,
        convert: impl Fn([u8; N]) -> [u8; M],
    ) -> std::result::Result<Vec<u8>, String> {
        let (chunks, _) = bytes.as_chunks::<N>();
        let mut converted = budget.buffer(chunks.len() * M)?;
        chunks.iter().for_each(|chunk| converted.extend(convert(*chunk)));
        Ok(converted)
    }
    fn swapped<const N: usize>(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.as_chunks_mut::<N>().0.iter_mut().for_each(|word| word.reverse());
        bytes
    }
    Ok(match kind {
        0x08 => (bytes, DType::U8),
        0x09 => (each(&bytes, budget, |byte| i32::from(i8::from_be_bytes(byte)).to_le_bytes())?, DType::I32),
        0x0b => (each(&bytes, budget, |word| i32::from(i16::from_be_bytes(word)).to_le_bytes())?, DType::I32),
        0x0c => (swapped::<4>(bytes), DType::I32),
        0x0d => (swapped::<4>(bytes), DType::F32),
        _ => (swapped::<8>(bytes), DType::F64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn file(kind: u8, sizes: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, kind, sizes.len() as u8];
        sizes.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn refused(bytes: &[u8], because: &str) {
        let error = parse_idx(bytes).unwrap_err().to_string();
        assert!(error.contains(because), "{error}");
    }

    #[test]
    fn every_type_plain_and_packed() {
        let cases: [(u8, &[u8], HostArray); 6] = [
            (0x08, &[1, 255], HostArray::new(&[1u8, 255], [2]).unwrap()),
            (0x09, &[1, 255], HostArray::new(&[1, -1], [2]).unwrap()),
            (0x0b, &[1, 0, 255, 255], HostArray::new(&[256, -1], [2]).unwrap()),
            (0x0c, &[0, 1, 0, 0, 255, 255, 255, 254], HostArray::new(&[65536, -2], [2]).unwrap()),
            (0x0d, &[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0], HostArray::new(&[1.0f32, -2.0], [2]).unwrap()),
            (
                0x0e,
                &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0],
                HostArray::new(&[1.0f64, -2.0], [2]).unwrap(),
            ),
        ];
        for (kind, values, expected) in cases {
            let bytes = file(kind, &[2], values);
            assert_eq!(parse_idx(&bytes).unwrap(), expected);
            assert_eq!(parse_idx(&packed(&bytes)).unwrap(), expected);
        }
    }

    #[test]
    fn hostile_files_are_errors() {
        let good = file(8, &[2, 3], &[1, 2, 3, 4, 5, 6]);
        assert!(parse_idx(&good).is_ok());
        for length in 0..good.len() {
            assert!(parse_idx(&good[..length]).is_err(), "{length} bytes");
            assert!(parse_idx(&packed(&good[..length])).is_err(), "{length} bytes, packed");
        }
        let whole = packed(&good);
        for length in 0..whole.len() - 8 {
            assert!(parse_idx(&whole[..length]).is_err(), "{length} packed bytes");
        }
        refused(b"\x89PNG\r\n\x1a\n", "not an idx file");
        refused(&file(7, &[1], &[1]), "idx type 0x07");
        refused(&file(8, &[u32::MAX; 4], &[]), "larger than");
        refused(&file(8, &[0, u32::MAX, u32::MAX, u32::MAX], &[]), "larger than");
        refused(&file(8, &[u32::MAX], &[]), "truncated");
        refused(&packed(&file(8, &[1 << 30], &[])), "truncated");
        refused(&file(8, &[2], &[1, 2, 3]), "but there are more");
        // Sixty-four megabytes of zeros in as many kilobytes, behind a header that promises two bytes.
        let mut bomb = file(8, &[2], &[]);
        bomb.resize(1 << 26, 0);
        refused(&packed(&bomb), "but there are more");
        let mut damaged = packed(&good);
        let end = damaged.len() - 6;
        damaged[end] ^= 0xff;
        refused(&damaged, "damaged");
    }

    #[test]
    fn checksums_are_of_the_unpacked_content() {
        let bytes = file(8, &[1], &[9]);
        let origin = Origin { name: "numbers.gz".into(), hint: Some("make numbers".into()) };
        let sha256 = crate::data::origin::hexadecimal(&<sha2::Sha256 as sha2::Digest>::digest(&bytes));
        let parse = |bytes: &[u8], sha256| parse(bytes, &origin, ReadLimits::default(), Some(sha256));
        assert!(parse(&packed(&bytes), &sha256).is_ok());
        let error = parse(&bytes, "00").unwrap_err().to_string();
        assert!(error.starts_with("numbers.gz: the checksum differs: SHA-256 00 was expected"), "{error}");
        assert!(error.ends_with("get it with: make numbers"), "{error}");
    }
}
