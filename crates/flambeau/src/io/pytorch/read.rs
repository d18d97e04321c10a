//! Reading `.pt` files.

use super::flatten::flatten;
use super::pickle::unpickle;
use crate::device::Device;
use crate::error::Result;
use crate::io::convert::{Collector, Loaded, broken, swap_bytes};
use crate::io::limits::{Budget, ReadLimits};
use crate::io::zip::{Archive, is_zip};
use std::borrow::Cow;
use std::collections::HashMap;

/// What to read of a PyTorch file.
///
/// ```
/// use flambeau::io::PytorchOptions;
/// let options = PytorchOptions::default().with_part("state_dict");
/// assert_eq!(options.part.as_deref(), Some("state_dict"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PytorchOptions {
    /// Only the dictionary of this name, in names without it; everything if none.
    pub part: Option<String>,
    /// The memory that reading may take.
    pub limits: ReadLimits,
}

impl PytorchOptions {
    /// Only the dictionary of this name: `"state_dict"`, `"ema.model"`.
    pub fn with_part(mut self, part: impl Into<String>) -> PytorchOptions {
        self.part = Some(part.into());
        self
    }

    /// With a limit of your own for the memory that reading takes.
    pub fn with_limits(mut self, limits: ReadLimits) -> PytorchOptions {
        self.limits = limits;
        self
    }
}

/// Reads what `torch.save` wrote (PyTorch 1.6 or later). Dictionaries and lists in one another give names with dots
/// (`state_dict.fc.weight`); numbers and strings among the tensors become metadata. No code is run: a file that
/// needs anything but tensors, containers, numbers and strings is refused.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{PytorchOptions, StateDict, read_pytorch, write_pytorch_blocking};
/// let state = StateDict::from_iter([("fc.bias".to_string(), Tensor::ones([2], &Device::cpu()))]);
/// let bytes = write_pytorch_blocking(&state)?;
/// let loaded = read_pytorch(&bytes, &PytorchOptions::default(), &Device::cpu())?;
/// assert_eq!(loaded.tensors.get("fc.bias").unwrap().to_string(), "tensor([1., 1.])");
/// # Ok::<(), Error>(())
/// ```
pub fn read_pytorch(bytes: &[u8], options: &PytorchOptions, device: &Device) -> Result<Loaded> {
    parse("PyTorch bytes", bytes, options, device)
}

/// [`read_pytorch`] of a file.
#[cfg(not(target_arch = "wasm32"))]
pub fn load_pytorch(
    path: impl AsRef<std::path::Path>,
    options: &PytorchOptions,
    device: &Device,
) -> Result<Loaded> {
    let path = path.as_ref();
    let bytes = crate::io::atomic::read_file(path, options.limits)?;
    parse(&path.display().to_string(), &bytes, options, device)
}

/// The tensors of a PyTorch file; `source` names it in errors.
pub fn parse(source: &str, bytes: &[u8], options: &PytorchOptions, device: &Device) -> Result<Loaded> {
    let wrong = |message: String| broken(source, message);
    if !is_zip(bytes) {
        return Err(wrong(if is_old_format(bytes) {
            "PyTorch's format from before 1.6 is not read; load the file with PyTorch and save it again: \
             torch.save(torch.load(old), new)"
                .into()
        } else {
            "not a PyTorch file: it is not a zip archive".into()
        }));
    }
    let budget = Budget::new(options.limits, bytes.len());
    let archive = Archive::open(source, bytes, &budget)?;
    let root = archive
        .names()
        .find_map(|name| name.strip_suffix("data.pkl").filter(|root| root.is_empty() || root.ends_with('/')))
        .ok_or_else(|| wrong("not a PyTorch file: the archive has no data.pkl".into()))?
        .to_owned();
    let big_endian = match archive.size(&format!("{root}byteorder")) {
        Some(_) => &*archive.read(&format!("{root}byteorder"))? == b"big",
        None => false,
    };
    let objects = unpickle(&archive.read(&format!("{root}data.pkl"))?, &budget).map_err(wrong)?;
    let mut flat = flatten(&objects, &budget).map_err(wrong)?;
    if let Some(part) = &options.part {
        flat = flat.part(part).map_err(wrong)?;
    }

    let mut storages: HashMap<&str, Cow<[u8]>> = HashMap::new();
    let mut collector = Collector::new(source, device, &budget);
    for (name, view) in &flat.tensors {
        let storage = &view.storage;
        let member = format!("{root}data/{}", storage.key);
        let expected = storage.numel.checked_mul(storage.stored.size());
        let found = archive.size(&member);
        if found.is_none() || found != expected.map(|size| size as u64) {
            return Err(wrong(match found {
                Some(found) => format!(
                    "tensor `{name}`: its storage has {found} bytes, not {} elements of {}",
                    storage.numel,
                    storage.stored.name()
                ),
                None => format!("tensor `{name}`: its storage `{member}` is missing"),
            }));
        }
        if !storages.contains_key(storage.key.as_str()) {
            storages.insert(&storage.key, archive.read(&member)?);
        }
        let within = |message| wrong(format!("tensor `{name}`: {message}"));
        let mut content = view.gather(&storages[storage.key.as_str()], &budget).map_err(within)?;
        if big_endian {
            swap_bytes(&mut content, storage.stored.size(), &budget).map_err(within)?;
        }
        collector.add(name, storage.stored, &view.dims, &content)?;
        if let Cow::Owned(content) = content {
            budget.give_back(content.len());
        }
    }
    Ok(collector.finish(flat.values))
}

/// A pickle of the number that began files before 1.6, or their predecessor's tar archive.
fn is_old_format(bytes: &[u8]) -> bool {
    const MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    bytes.get(2..).is_some_and(|rest| rest.starts_with(MAGIC))
        || bytes.get(257..262).is_some_and(|mark| mark == b"ustar")
}
