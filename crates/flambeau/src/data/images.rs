//! Pictures with a class each, as bytes in host memory: what the readers of MNIST and CIFAR give.

use super::array::HostArray;
use super::dataset::{Dataset, Item, TensorDataset};
use super::idx;
use super::origin::Origin;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::io::ReadLimits;

/// What a byte is multiplied with to become a number from 0 to 1: the same product on every device.
pub(super) const BYTE_SCALE: f32 = 1.0 / 255.0;

/// Pictures of one size with their classes. An item is `(pixels, class)`: F32 from 0 to 1 in shape (C, H, W), and I32.
///
/// ```
/// use flambeau::data::{Dataset, Images};
/// let pictures = [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255]; // idx: one picture of 1 × 2 pixels
/// let labels = [0, 0, 8, 1, 0, 0, 0, 1, 7];
/// let images = Images::from_idx(&pictures, &labels)?;
/// assert_eq!(images.get(0)?[0].values::<f32>()?, [0.0, 1.0]);
/// assert_eq!(images.get(0)?[1].values::<i32>()?, [7]);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Images {
    pixels: HostArray,
    labels: Vec<i32>,
    classes: Vec<String>,
}

/// Pictures to train with and pictures to test with.
#[derive(Debug, Clone)]
pub struct TrainTest {
    /// To train with.
    pub train: Images,
    /// To test with.
    pub test: Images,
}

impl Images {
    /// Pictures from bytes (U8) of shape (N, C, H, W), and N classes.
    pub fn new(pixels: HostArray, labels: Vec<i32>) -> Result<Images> {
        if pixels.dtype() != DType::U8 || pixels.shape().rank() != 4 || pixels.rows() != labels.len() {
            let message = format!(
                "{} of shape {} with {} labels; U8 of shape (N, C, H, W) with N labels was expected",
                pixels.dtype(),
                pixels.shape(),
                labels.len()
            );
            return Err(Error::shape("Images", message));
        }
        Ok(Images { pixels, labels, classes: Vec::new() })
    }

    /// Pictures from the bytes of two idx files, plain or packed: (N, H, W) bytes, and N labels.
    pub fn from_idx(pictures: &[u8], labels: &[u8]) -> Result<Images> {
        let (pictures_origin, labels_origin) = (Origin::bytes("idx pictures"), Origin::bytes("idx labels"));
        let limits = ReadLimits::default();
        let pictures = idx::parse(pictures, &pictures_origin, limits, None)?;
        Images::from_arrays(
            pictures,
            &pictures_origin,
            idx::parse(labels, &labels_origin, limits, None)?,
            &labels_origin,
        )
    }

    /// The same from two idx files.
    ///
    /// ```no_run
    /// use flambeau::data::{Images, Source};
    /// let images = Images::open_idx(&Source::file("images.idx.gz"), &Source::file("labels.idx.gz"))?;
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_idx(pictures: &super::Source, labels: &super::Source) -> Result<Images> {
        let (read_pictures, read_labels) = (super::read_idx(pictures)?, super::read_idx(labels)?);
        Images::from_arrays(read_pictures, &pictures.origin(), read_labels, &labels.origin())
    }

    pub(super) fn from_arrays(
        pictures: HostArray,
        pictures_origin: &Origin,
        labels: HostArray,
        labels_origin: &Origin,
    ) -> Result<Images> {
        let [count, height, width] = pictures.shape()[..] else {
            let message = format!("pictures of shape (N, H, W) were expected, not {}", pictures.shape());
            return Err(pictures_origin.error(message));
        };
        if pictures.dtype() != DType::U8 {
            let message = format!("pixels are {}, bytes were expected", pictures.dtype());
            return Err(pictures_origin.error(message));
        }
        if labels.dtype() != DType::U8 || labels.shape()[..] != [count] {
            let message = format!(
                "{count} bytes were expected, one label a picture, not {} of shape {}",
                labels.dtype(),
                labels.shape()
            );
            return Err(labels_origin.error(message));
        }
        let pixels = pictures.into_shape([count, 1, height, width])?;
        Images::new(pixels, labels.bytes().iter().map(|&label| i32::from(label)).collect())
    }

    /// The same pictures with names for the classes.
    pub fn with_classes<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Images {
        Images { classes: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// The names of the classes, where they are known.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The class of every picture.
    pub fn labels(&self) -> &[i32] {
        &self.labels
    }

    /// All pixels: bytes of shape (N, C, H, W).
    pub fn pixels(&self) -> &HostArray {
        &self.pixels
    }

    /// The first `count` pictures, or all if there are fewer.
    pub fn first(&self, count: usize) -> Images {
        let labels = self.labels[..count.min(self.labels.len())].to_vec();
        Images { pixels: self.pixels.first_rows(count), labels, classes: self.classes.clone() }
    }

    /// The data set in the memory of a device, a byte a pixel: batches are then made there. Items are the same.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{DataLoader, HostArray, Images};
    /// # flambeau::block_on(async {
    /// let device = Device::cpu();
    /// let images = Images::new(HostArray::new(&[0u8, 51, 102, 255], [2, 1, 1, 2])?, vec![3, 8])?;
    /// let mut batches = DataLoader::new(images.to_device(&device)?, &device).with_batch_size(2);
    /// let (x, y) = batches.next().await?.unwrap();
    /// assert_eq!(x.flatten(1, -1).to_string(), "tensor([[0.0000, 0.2000],\n        [0.4000, 1.0000]])");
    /// assert_eq!(y.to_string(), "tensor([3, 8], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub fn to_device(&self, device: &Device) -> Result<TensorDataset> {
        let labels = HostArray::new(&self.labels, [self.labels.len()])?;
        TensorDataset::of_bytes(&self.pixels, &[labels], device)
    }
}

impl Dataset for Images {
    fn len(&self) -> usize {
        self.labels.len()
    }

    fn get(&self, index: usize) -> Result<Item> {
        let bytes = self.pixels.row_bytes(index)?;
        let pixels: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) * BYTE_SCALE).collect();
        let pixels = HostArray::new(&pixels, &self.pixels.shape()[1..])?;
        Ok(vec![pixels, HostArray::scalar(self.labels[index])])
    }
}
