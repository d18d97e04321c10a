//! The formats by their names, for programs that take any of them.

use super::convert::Loaded;
use super::limits::{Budget, ReadLimits};
use super::npy::{parse_npy, parse_npz, write_npy, write_npz};
use super::pytorch::{self, PytorchOptions};
use super::safetensors::{parse, write_safetensors};
use super::state::StateDict;
use crate::device::Device;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// A kind of file that tensors are kept in.
///
/// ```
/// use flambeau::io::Format;
/// assert_eq!(Format::of("weights.PTH")?, Format::Pytorch);
/// assert!(Format::of("weights.txt").is_err());
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `.safetensors`
    Safetensors,
    /// `.pt`, `.pth`, `.bin`, `.ckpt`: PyTorch's zip archives.
    Pytorch,
    /// `.npz`: NumPy's archives.
    Npz,
    /// `.npy`: a single array, which is named `array`.
    Npy,
}

impl Format {
    /// The format that a path's ending stands for.
    pub fn of(path: impl AsRef<Path>) -> Result<Format> {
        let path = path.as_ref();
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("safetensors") => Ok(Format::Safetensors),
            Some("pt" | "pth" | "bin" | "ckpt") => Ok(Format::Pytorch),
            Some("npz") => Ok(Format::Npz),
            Some("npy") => Ok(Format::Npy),
            _ => Err(Error::Io {
                path: path.display().to_string(),
                message: "the ending is none of .safetensors, .pt, .pth, .bin, .ckpt, .npz, .npy".into(),
            }),
        }
    }

    /// The tensors in a file that is in memory.
    pub fn read(self, bytes: &[u8], device: &Device) -> Result<Loaded> {
        self.read_with(bytes, ReadLimits::default(), device)
    }

    /// [`read`](Format::read) with a limit of your own.
    pub fn read_with(self, bytes: &[u8], limits: ReadLimits, device: &Device) -> Result<Loaded> {
        self.parse("bytes", bytes, limits, device)
    }

    pub(super) fn parse(
        self,
        source: &str,
        bytes: &[u8],
        limits: ReadLimits,
        device: &Device,
    ) -> Result<Loaded> {
        match self {
            Format::Safetensors => parse(source, bytes, &Budget::new(limits, bytes.len()), device),
            Format::Pytorch => {
                pytorch::parse(source, bytes, &PytorchOptions::default().with_limits(limits), device)
            }
            Format::Npz => parse_npz(source, bytes, limits, device),
            Format::Npy => {
                let (tensor, notes) = parse_npy(source, bytes, limits, device)?;
                let tensors = StateDict::from_iter([("array".to_owned(), tensor)]);
                Ok(Loaded { tensors, metadata: BTreeMap::new(), notes })
            }
        }
    }

    /// A file of these tensors, as bytes. An `.npy` file holds exactly one.
    pub async fn write(self, tensors: &StateDict) -> Result<Vec<u8>> {
        match self {
            Format::Safetensors => write_safetensors(tensors, &BTreeMap::new()).await,
            Format::Pytorch => pytorch::write_pytorch(tensors).await,
            Format::Npz => write_npz(tensors).await,
            Format::Npy => {
                let mut all = tensors.iter();
                match (all.next(), all.next()) {
                    (Some((_, tensor)), None) => write_npy(tensor).await,
                    _ => Err(Error::State(format!("an .npy file holds one tensor, not {}", tensors.len()))),
                }
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub use native::{load, load_with, save, save_blocking};

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use super::*;
    use crate::io::atomic::{read_file, write_atomically};
    use std::io::Write;

    /// Reads a file in the format of its ending.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::io::{self, StateDict};
    /// let path = std::env::temp_dir().join(format!("flambeau-doc-{}.npz", std::process::id()));
    /// io::save_blocking(&path, &StateDict::from_iter([("w".to_string(), Tensor::ones([2], &Device::cpu()))]))?;
    /// assert_eq!(io::load(&path, &Device::cpu())?.tensors.get("w").unwrap().to_string(), "tensor([1., 1.])");
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<Loaded> {
        load_with(path, ReadLimits::default(), device)
    }

    /// [`load`] with a limit of your own.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::io::{self, ReadLimits};
    /// let error = io::load_with("none.npz", ReadLimits::memory(1 << 30), &Device::cpu()).unwrap_err();
    /// assert!(error.to_string().starts_with("none.npz: "));
    /// ```
    pub fn load_with(path: impl AsRef<Path>, limits: ReadLimits, device: &Device) -> Result<Loaded> {
        let path = path.as_ref();
        Format::of(path)?.parse(&path.display().to_string(), &read_file(path, limits)?, limits, device)
    }

    /// Writes a file in the format of its ending, in one step (see [`write_atomically`]).
    pub async fn save(path: impl AsRef<Path>, tensors: &StateDict) -> Result<()> {
        let path = path.as_ref();
        let bytes = Format::of(path)?.write(tensors).await?;
        write_atomically(path, |file| file.write_all(&bytes))
    }

    /// [`save`], blocking.
    pub fn save_blocking(path: impl AsRef<Path>, tensors: &StateDict) -> Result<()> {
        pollster::block_on(save(path, tensors))
    }
}
