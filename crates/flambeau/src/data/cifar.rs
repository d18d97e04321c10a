//! CIFAR-10 and CIFAR-100 in their binary form: records of one or two label bytes and 3 × 32 × 32 pixels.

use super::array::HostArray;
use super::images::Images;
#[cfg(not(target_arch = "wasm32"))]
use super::images::TrainTest;
use super::origin::Origin;
#[cfg(not(target_arch = "wasm32"))]
use super::source::Source;
use crate::dtype::DType;
use crate::error::Result;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;

const PIXELS: usize = 3 * 32 * 32;

/// CIFAR-10: 50,000 and 10,000 colour pictures of 32 × 32 pixels in ten classes.
///
/// ```no_run
/// use flambeau::data::{Cifar10, Dataset};
/// let cifar = Cifar10::open("cifar-10-batches-bin")?;
/// assert_eq!(cifar.train.len(), 50_000);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cifar10;

/// CIFAR-100: the same in a hundred classes.
///
/// ```no_run
/// use flambeau::data::{Cifar100, Dataset};
/// let cifar = Cifar100::open("cifar-100-binary")?;
/// assert_eq!(cifar.test.len(), 10_000);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cifar100;

impl Cifar10 {
    /// The names of the classes.
    pub const CLASSES: [&str; 10] =
        ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

    /// Pictures from the bytes of one `*.bin` file.
    ///
    /// ```
    /// use flambeau::data::Cifar10;
    /// let file = [[3].as_slice(), &[255; 3072]].concat();
    /// assert_eq!(Cifar10::parse(&file)?.labels(), [3]);
    /// assert!(Cifar10::parse(&file[1..]).is_err());
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Images> {
        let images = parse(&[(bytes.to_vec(), Origin::bytes("CIFAR-10 data"))], 1, 10)?;
        Ok(images.with_classes(Cifar10::CLASSES))
    }

    /// Reads `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin` from a folder.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(folder: impl AsRef<Path>) -> Result<TrainTest> {
        let hint = "curl -LO https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz && tar xzf cifar-10-binary.tar.gz";
        let names: Vec<String> = (1..=5).map(|batch| format!("data_batch_{batch}.bin")).collect();
        let train = parse(&files(folder.as_ref(), &names, hint)?, 1, 10)?;
        let test = parse(&files(folder.as_ref(), &["test_batch.bin".into()], hint)?, 1, 10)?;
        let named = |images: Images| images.with_classes(Cifar10::CLASSES);
        Ok(TrainTest { train: named(train), test: named(test) })
    }
}

impl Cifar100 {
    /// Pictures from the bytes of one `*.bin` file, with the fine labels (0 to 99).
    ///
    /// ```
    /// use flambeau::data::Cifar100;
    /// let file = [[19, 99].as_slice(), &[0; 3072]].concat();
    /// assert_eq!(Cifar100::parse(&file)?.labels(), [99]);
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Images> {
        parse(&[(bytes.to_vec(), Origin::bytes("CIFAR-100 data"))], 2, 100)
    }

    /// Reads `train.bin` and `test.bin` from a folder, with the fine labels; their names come from
    /// `fine_label_names.txt` if it is there.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(folder: impl AsRef<Path>) -> Result<TrainTest> {
        let hint = "curl -LO https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz && tar xzf cifar-100-binary.tar.gz";
        let folder = folder.as_ref();
        let names = std::fs::read_to_string(folder.join("fine_label_names.txt")).unwrap_or_default();
        let read = |name: &str| {
            let images = parse(&files(folder, &[name.into()], hint)?, 2, 100)?;
            Ok(images.with_classes(names.lines().filter(|line| !line.is_empty())))
        };
        Ok(TrainTest { train: read("train.bin")?, test: read("test.bin")? })
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn files(folder: &Path, names: &[String], hint: &str) -> Result<Vec<(Vec<u8>, Origin)>> {
    let read = |name: &String| {
        let source = Source::file(folder.join(name)).with_hint(hint);
        Ok((source.read()?, source.origin()))
    };
    names.iter().map(read).collect()
}

/// Records of `labels` label bytes, of which the last counts, and the pixels.
fn parse(files: &[(Vec<u8>, Origin)], labels: usize, classes: u8) -> Result<Images> {
    let record = labels + PIXELS;
    let mut found = Vec::new();
    let mut pixels = Vec::with_capacity(files.iter().map(|(bytes, _)| bytes.len()).sum());
    for (bytes, origin) in files {
        if bytes.is_empty() || bytes.len() % record != 0 {
            let message = format!("{} bytes are not a number of records of {record} bytes", bytes.len());
            return Err(origin.error(message));
        }
        for (position, record) in bytes.chunks_exact(record).enumerate() {
            let label = record[labels - 1];
            if label >= classes {
                return Err(origin.error(format!("record {position} has class {label} of {classes}")));
            }
            found.push(i32::from(label));
            pixels.extend_from_slice(&record[labels..]);
        }
    }
    Images::new(HostArray::from_bytes(pixels, [found.len(), 3, 32, 32], DType::U8)?, found)
}
