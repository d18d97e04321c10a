//! Pictures in a folder for each class: `train/cat/*.jpg`, `train/dog/*.png`.

use super::array::HostArray;
use super::dataset::{Dataset, Item};
use super::picture::Wanted;
use crate::error::{Error, Result};
use crate::io::ReadLimits;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

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
    wanted: Wanted,
}

impl ImageFolder {
    /// The pictures in the folders of a folder.
    pub fn open(folder: impl AsRef<Path>) -> Result<ImageFolder> {
        let (files, classes) = class_files(folder.as_ref(), &[], &["png", "jpg", "jpeg"])?;
        Ok(ImageFolder { files, classes, wanted: Wanted::default() })
    }

    /// Gives every picture this height and width: scaled until it covers them, then cut around its middle. Without
    /// it pictures keep their own sizes, and batches need equal ones.
    pub fn with_size(self, height: u32, width: u32) -> ImageFolder {
        ImageFolder { wanted: Wanted { size: Some((height, width)), ..self.wanted }, ..self }
    }

    /// One channel of grey instead of three of colour.
    pub fn in_grey(self) -> ImageFolder {
        ImageFolder { wanted: Wanted { grey: true, ..self.wanted }, ..self }
    }

    /// The memory that one picture may take, as pixels and on the way to them: 512 MiB if not set. A larger one is an
    /// error when it is asked for.
    pub fn with_limits(self, limits: ReadLimits) -> ImageFolder {
        ImageFolder { wanted: Wanted { limits, ..self.wanted }, ..self }
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The file of an item.
    pub fn path(&self, index: usize) -> Option<&PathBuf> {
        self.files.get(index).map(|file| &file.path)
    }
}

impl Dataset for ImageFolder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn get(&self, index: usize) -> Result<Item> {
        let file = self.files.get(index).ok_or_else(|| {
            Error::argument("ImageFolder", format!("there is no picture {index} of {}", self.files.len()))
        })?;
        let wrong = |message| Error::Io { path: file.path.display().to_string(), message };
        let stream = File::open(&file.path).map_err(|error| wrong(error.to_string()))?;
        let pixels = self.wanted.read(BufReader::new(stream)).map_err(wrong)?;
        Ok(vec![pixels, HostArray::scalar(file.class)])
    }
}
