//! Pictures in a folder for each class: `train/cat/*.jpg`, `train/dog/*.png`.

use super::array::HostArray;
use super::dataset::{Dataset, Item};
use super::images::BYTE_SCALE;
use super::origin::Origin;
use crate::error::{Error, Result};
use image::imageops::FilterType;
use image::{DynamicImage, ImageReader, Limits};
use std::fs;
use std::path::{Path, PathBuf};

/// The most memory that decoding one picture may take.
const MAX_PICTURE: u64 = 1 << 29;

/// A file and the class that its folder is.
#[derive(Debug, Clone)]
pub(super) struct ClassFile {
    pub path: PathBuf,
    pub class: i32,
}

/// The files with one of these endings in folders of a folder, by class and name, and the names of the classes: those
/// given, or all folders in alphabetical order.
pub(super) fn class_files(
    folder: &Path,
    classes: &[&str],
    endings: &[&str],
) -> Result<(Vec<ClassFile>, Vec<String>)> {
    let entries = |folder: &Path| -> Result<Vec<PathBuf>> {
        let failed = |error: std::io::Error| {
            let message = format!("{error}; a folder with a folder for each class was expected");
            Error::Io { path: folder.display().to_string(), message }
        };
        let entries = fs::read_dir(folder).map_err(failed)?;
        let mut paths =
            entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<PathBuf>>>()?;
        paths.sort_unstable();
        Ok(paths)
    };
    let classes: Vec<String> = if classes.is_empty() {
        let folders = entries(folder)?.into_iter().filter(|path| path.is_dir());
        folders.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
    } else {
        classes.iter().map(|&class| class.to_owned()).collect()
    };
    let mut files = Vec::new();
    for (class, name) in classes.iter().enumerate() {
        for path in entries(&folder.join(name))? {
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
            if ending.is_some_and(|ending| endings.contains(&ending.as_str())) {
                files.push(ClassFile { path, class: class as i32 });
            }
        }
    }
    if files.is_empty() {
        let message = format!("no file in a folder of a class ends in {}", endings.join(", "));
        return Err(Error::Io { path: folder.display().to_string(), message });
    }
    Ok((files, classes))
}

/// Pictures (PNG and JPEG) in folders, one for each class, in alphabetical order. An item is `(pixels, class)`: F32
/// from 0 to 1 in shape (3, H, W), and I32. Files are read when they are asked for.
///
/// ```no_run
/// # use flambeau::prelude::*;
/// use flambeau::data::{DataLoader, ImageFolder};
/// let pictures = ImageFolder::open("pets/train")?.with_size(64, 64);
/// let batches = DataLoader::new(pictures, &Device::cpu()).with_batch_size(32).with_workers(4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ImageFolder {
    files: Vec<ClassFile>,
    classes: Vec<String>,
    size: Option<(u32, u32)>,
    grey: bool,
}

impl ImageFolder {
    /// The pictures in the folders of a folder.
    pub fn open(folder: impl AsRef<Path>) -> Result<ImageFolder> {
        let (files, classes) = class_files(folder.as_ref(), &[], &["png", "jpg", "jpeg"])?;
        Ok(ImageFolder { files, classes, size: None, grey: false })
    }

    /// Gives every picture this height and width: scaled until it covers them, then cut around its middle. Without
    /// it pictures keep their own sizes, and batches need equal ones.
    pub fn with_size(self, height: u32, width: u32) -> ImageFolder {
        ImageFolder { size: Some((height, width)), ..self }
    }

    /// One channel of grey instead of three of colour.
    pub fn in_grey(self) -> ImageFolder {
        ImageFolder { grey: true, ..self }
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The file of an item.
    pub fn path(&self, index: usize) -> Option<&PathBuf> {
        self.files.get(index).map(|file| &file.path)
    }

    fn decode(path: &Path) -> Result<DynamicImage> {
        let origin = Origin { name: path.display().to_string(), hint: None };
        let reader = ImageReader::open(path).and_then(|reader| reader.with_guessed_format());
        let mut reader = reader.map_err(|error| origin.error(error))?;
        let mut limits = Limits::default();
        limits.max_alloc = Some(MAX_PICTURE);
        reader.limits(limits);
        reader.decode().map_err(|error| origin.error(error))
    }
}

/// The picture scaled until it covers this height and width, then cut.
fn filled(picture: &DynamicImage, (height, width): (u32, u32)) -> Result<DynamicImage> {
    let of = (f64::from(picture.height()), f64::from(picture.width()));
    let scale = (f64::from(height) / of.0).max(f64::from(width) / of.1);
    // Scaling reckons in f32, four channels of them.
    let bytes = (of.0 * scale).ceil() * (of.1 * scale).ceil() * 16.0;
    if height == 0 || width == 0 || bytes > MAX_PICTURE as f64 {
        let message = format!(
            "a picture of {} × {} pixels cannot be scaled to cover {height} × {width}",
            picture.height(),
            picture.width()
        );
        return Err(Error::argument("ImageFolder", message));
    }
    Ok(picture.resize_to_fill(width, height, FilterType::Triangle))
}

impl Dataset for ImageFolder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn get(&self, index: usize) -> Result<Item> {
        let file = self.files.get(index).ok_or_else(|| {
            Error::argument("ImageFolder", format!("there is no picture {index} of {}", self.files.len()))
        })?;
        let mut picture = ImageFolder::decode(&file.path)?;
        if let Some(size) = self.size {
            picture = filled(&picture, size)?;
        }
        let (height, width) = (picture.height() as usize, picture.width() as usize);
        let (channels, bytes) = match self.grey {
            true => (1, picture.into_luma8().into_raw()),
            false => (3, picture.into_rgb8().into_raw()),
        };
        let channel = |channel: usize| bytes.iter().skip(channel).step_by(channels);
        let pixels: Vec<f32> =
            (0..channels).flat_map(channel).map(|&byte| f32::from(byte) * BYTE_SCALE).collect();
        Ok(vec![HostArray::new(&pixels, [channels, height, width])?, HostArray::scalar(file.class)])
    }
}
