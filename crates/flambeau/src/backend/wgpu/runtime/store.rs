//! Pipelines kept on disk, so that the next process does not compile them again: one file for an adapter and its driver.
//!
//! What the file holds is the driver's own cache (`wgpu::PipelineCache`), behind a header of ours: which adapter and driver
//! it belongs to, which pipelines are in it, and a checksum. A file that is cut off, damaged, or from another adapter, driver
//! or version is ignored and replaced. It is written beside its place and renamed.

use super::pipeline::PipelineKey;
use super::{AdapterDescription, lock};
use crate::host::user_cache;
use rustc_hash::FxHashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a file starts with: its kind and the version of this layout.
const MAGIC: &[u8; 8] = b"FLAMPIP1";
/// The largest file: above it, the next process starts anew.
const MAX_BYTES: usize = 128 << 20;

/// Where compiled pipelines are kept from one process to the next. Only Vulkan's can be; other drivers keep their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PipelineStore {
    /// In the user's cache folder (`flambeau/pipelines` in `$XDG_CACHE_HOME`, `~/.cache`, `~/Library/Caches` or
    /// `%LOCALAPPDATA%`), unless the adapter is a software one. The environment variable `FLAMBEAU_PIPELINES` names another
    /// folder, or says `off`.
    #[default]
    UserCache,
    /// In this folder, for any adapter.
    Folder(PathBuf),
    /// Nowhere.
    Off,
}

impl PipelineStore {
    /// The folder for an adapter, if there is to be one.
    fn folder(&self, adapter: &AdapterDescription) -> Option<PathBuf> {
        match self {
            PipelineStore::Folder(folder) => Some(folder.clone()),
            PipelineStore::Off => None,
            PipelineStore::UserCache => match std::env::var_os("FLAMBEAU_PIPELINES") {
                Some(off) if off == "off" => None,
                Some(folder) => Some(folder.into()),
                None if adapter.software => None,
                None => Some(user_cache()?.join("flambeau").join("pipelines")),
            },
        }
    }
}

/// The file of one adapter, and the driver's cache that it is read into and written from.
pub(super) struct Store {
    raw: wgpu::PipelineCache,
    path: PathBuf,
    adapter: String,
    /// What the file held when it was read, and what has been made since.
    kept: FxHashSet<u64>,
    made: Mutex<FxHashSet<u64>>,
    changed: AtomicBool,
}

impl Store {
    /// The store of a device, if it can keep pipelines and is to do so.
    pub fn open(device: &wgpu::Device, adapter: &AdapterDescription, place: &PipelineStore) -> Option<Store> {
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let folder = place.folder(adapter)?;
        let name = format!("{:04x}-{:04x}.bin", adapter.vendor, adapter.device);
        let described =
            format!("{adapter} {:x} {:x} {}", adapter.vendor, adapter.device, env!("CARGO_PKG_VERSION"));
        let path = folder.join(name);
        let (kept, data) = match fs::read(&path) {
            Ok(bytes) => decode(&bytes, &described).unwrap_or_else(|| {
                log::info!("{} is damaged or of another driver: it will be replaced", path.display());
                Default::default()
            }),
            Err(_) => Default::default(),
        };
        let descriptor = wgpu::PipelineCacheDescriptor {
            label: Some("flambeau"),
            data: (!data.is_empty()).then_some(&data[..]),
            fallback: true,
        };
        // SAFETY: the bytes were written by `save` from `get_data`, for this adapter and driver, and their checksum holds;
        // wgpu and the driver check their own headers besides.
        let raw = unsafe { device.create_pipeline_cache(&descriptor) };
        Some(Store {
            raw,
            path,
            adapter: described,
            kept,
            made: Mutex::default(),
            changed: AtomicBool::new(false),
        })
    }

    pub fn raw(&self) -> &wgpu::PipelineCache {
        &self.raw
    }

    /// Notes that a pipeline was made; true if an earlier process has kept it.
    pub fn note(&self, key: &PipelineKey) -> bool {
        let hash = hash_of(key);
        let kept = self.kept.contains(&hash);
        if !kept && lock(&self.made).insert(hash) {
            self.changed.store(true, Ordering::Relaxed);
        }
        kept
    }

    /// Has something been made that is not in the file?
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Writes the file, if something new is there.
    pub fn save(&self) {
        if !self.changed.swap(false, Ordering::Relaxed) {
            return;
        }
        let hashes: Vec<u64> = self.kept.iter().chain(lock(&self.made).iter()).copied().collect();
        let Some(data) = self.raw.get_data() else { return };
        let written = match data.len() <= MAX_BYTES {
            true => write(&self.path, &encode(&self.adapter, &hashes, &data)),
            false => fs::remove_file(&self.path),
        };
        if let Err(error) = written {
            log::warn!("compiled pipelines could not be kept in {}: {error}", self.path.display());
        }
    }
}

fn hash_of(key: &PipelineKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The file: magic, checksum of all that follows, length of the adapter's name, number of pipelines, these, the data.
fn encode(adapter: &str, hashes: &[u64], data: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(data.len() + hashes.len() * 8 + adapter.len() + 8);
    body.extend((adapter.len() as u32).to_le_bytes());
    body.extend((hashes.len() as u32).to_le_bytes());
    body.extend(adapter.as_bytes());
    body.extend(hashes.iter().flat_map(|hash| hash.to_le_bytes()));
    body.extend(data);
    [MAGIC, &crc32fast::hash(&body).to_le_bytes()[..], &body].concat()
}

/// The pipelines and the data of a file that is whole and belongs to this adapter.
fn decode(bytes: &[u8], adapter: &str) -> Option<(FxHashSet<u64>, Vec<u8>)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (checksum, body) = rest.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*checksum) != crc32fast::hash(body) {
        return None;
    }
    let (name_length, rest) = body.split_first_chunk::<4>()?;
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*name_length) as usize)?;
    if name != adapter.as_bytes() {
        return None;
    }
    let (hashes, data) = rest.split_at_checked((u32::from_le_bytes(*count) as usize).checked_mul(8)?)?;
    let hashes = hashes.as_chunks::<8>().0.iter().map(|hash| u64::from_le_bytes(*hash)).collect();
    Some((hashes, data.to_vec()))
}

/// Writes beside and renames, so that other processes see the old file or the new one. A crash of the machine may leave a
/// damaged one, which the checksum tells.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = path.with_extension(format!("tmp-{}", std::process::id()));
    let written = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let bytes = encode("adapter", &[3, 5], b"data");
        let (hashes, data) = decode(&bytes, "adapter").unwrap();
        assert_eq!((hashes.len(), hashes.contains(&5), &data[..]), (2, true, &b"data"[..]));
    }

    #[test]
    fn cut_off_damaged_and_foreign_files_are_refused() {
        let bytes = encode("adapter", &[3, 5], b"data");
        assert!((0..bytes.len()).all(|length| decode(&bytes[..length], "adapter").is_none()));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(decode(&damaged, "adapter").is_none(), "byte {at}");
        }
        assert!(decode(&bytes, "another adapter").is_none());
        assert!(decode(&encode("adapter", &[], b""), "adapter").is_some());
    }
}
