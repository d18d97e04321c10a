//! Files that hold the states of a whole training run: one safetensors file, with the tensors under
//! `<part>.<name>`, and in its metadata a format version, each part's values as JSON, and a checksum of the whole file.
//!
//! The checksum (CRC-32) is computed with its own eight digits as zeros. It is there to notice torn and altered files,
//! not to resist anybody who wants to forge one.

use super::convert::broken;
use super::host::{HostTensor, read_back};
use super::limits::{Budget, ReadLimits};
use super::safetensors::{Layout, parse};
use super::state::{State, StateDict};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const FORMAT: &str = "flambeau.format";
const FORMAT_VERSION: &str = "1";
const CHECKSUM: &str = "flambeau.checksum";
const NO_CHECKSUM: &str = "00000000";
/// What stands before the name of a part whose values follow.
const VALUES: &str = "flambeau.values.";

/// A file of several states, as bytes. Parts have names without dots: `model`, `optimizer`, …
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{State, read_states, write_states};
/// # flambeau::block_on(async {
/// let mut model = State::default();
/// model.tensors.insert("w", Tensor::ones([2], &Device::cpu()));
/// model.set("epoch", 3);
/// let bytes = write_states(&[("model", &model)]).await?;
/// let back = read_states(&bytes, &Device::cpu())?;
/// assert_eq!(back["model"].value::<u64>("epoch")?, 3);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub async fn write_states(states: &[(&str, &State)]) -> Result<Vec<u8>> {
    let file = StateFile::new("write_states", states).await?;
    Ok(file.0.parts().collect::<Vec<_>>().concat())
}

/// The states in a file that is in memory, which must be whole and unaltered.
pub fn read_states(bytes: &[u8], device: &Device) -> Result<BTreeMap<String, State>> {
    parse_states("state file bytes", bytes, device)
}

/// A state file about to be written.
pub(super) struct StateFile(Layout);

impl StateFile {
    pub async fn new(op: &'static str, states: &[(&str, &State)]) -> Result<StateFile> {
        let mut metadata = BTreeMap::from([
            (FORMAT.to_owned(), FORMAT_VERSION.to_owned()),
            (CHECKSUM.to_owned(), NO_CHECKSUM.to_owned()),
        ]);
        let mut all = StateDict::new();
        for (part, state) in states {
            if part.is_empty() || part.contains('.') {
                return Err(Error::State(format!("{op}: `{part}` is not a part's name: no dots, not empty")));
            }
            let values = serde_json::to_string(&state.values)
                .map_err(|error| Error::State(format!("{op}: the values of `{part}`: {error}")))?;
            if metadata.insert(format!("{VALUES}{part}"), values).is_some() {
                return Err(Error::State(format!("{op}: two parts are named `{part}`")));
            }
            all.extend_with_prefix(&format!("{part}."), &state.tensors);
        }
        let tensors: Vec<HostTensor> = read_back(op, &all).await?;
        let mut layout = Layout::new(tensors, &metadata)?;
        let checksum = checksum(layout.parts());
        let place = checksum_place(&layout.header)
            .ok_or_else(|| Error::State(format!("{op}: the checksum has no place in the header")))?;
        layout.header[place].copy_from_slice(checksum.as_bytes());
        Ok(StateFile(layout))
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub fn write(&self, to: &mut impl std::io::Write) -> std::io::Result<()> {
        self.0.write(to)
    }
}

fn checksum<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hasher = crc32fast::Hasher::new();
    parts.for_each(|part| hasher.update(part));
    format!("{:08x}", hasher.finalize())
}

/// Where the checksum's digits are. Quotation marks inside JSON strings have a backslash before them, so that nothing
/// but the metadata's own entry looks like this.
fn checksum_place(file: &[u8]) -> Option<std::ops::Range<usize>> {
    let key = format!("\"{CHECKSUM}\":\"");
    let start = file.windows(key.len()).position(|window| window == key.as_bytes())? + key.len();
    let place = start..start + NO_CHECKSUM.len();
    (file.len() > place.end).then_some(place)
}

fn verify(source: &str, bytes: &[u8]) -> Result<()> {
    let none = || broken(source, "this is not a state file: it has no checksum");
    let place = checksum_place(bytes).ok_or_else(none)?;
    let parts = [&bytes[..place.start], NO_CHECKSUM.as_bytes(), &bytes[place.end..]];
    let computed = checksum(parts.into_iter());
    if computed.as_bytes() != &bytes[place.clone()] {
        let stored = String::from_utf8_lossy(&bytes[place]);
        let message =
            format!("the file is damaged: its checksum is {computed}, not {stored} as when it was written");
        return Err(broken(source, message));
    }
    Ok(())
}

/// The states in a file; `source` names it in errors.
pub(super) fn parse_states(source: &str, bytes: &[u8], device: &Device) -> Result<BTreeMap<String, State>> {
    verify(source, bytes)?;
    let budget = Budget::new(ReadLimits::default(), bytes.len());
    let loaded = parse(source, bytes, &budget, device)?;
    match loaded.metadata.get(FORMAT).map(String::as_str) {
        Some(FORMAT_VERSION) => {}
        Some(other) => {
            let message = format!("the file has format {other}; this version reads {FORMAT_VERSION}");
            return Err(broken(source, message));
        }
        None => return Err(broken(source, "this is not a state file: it has no format version")),
    }
    for note in &loaded.notes {
        log::warn!("{source}: {note}, which {device} lacks");
    }
    let mut tensors: BTreeMap<String, Vec<(String, Tensor)>> = BTreeMap::new();
    for (name, tensor) in loaded.tensors {
        if let Some((part, name)) = name.split_once('.') {
            tensors.entry(part.to_owned()).or_default().push((name.to_owned(), tensor));
        }
    }
    let mut states = BTreeMap::new();
    for (key, text) in &loaded.metadata {
        let Some(part) = key.strip_prefix(VALUES) else { continue };
        budget.take(size_of_values(text)).map_err(|message| broken(source, message))?;
        let values: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| broken(source, format!("the values of `{part}`: {error}")))?;
        let tensors = tensors.remove(part).unwrap_or_default().into_iter().collect();
        states.insert(part.to_owned(), State { tensors, values });
    }
    Ok(states)
}

/// What the values of a JSON text take at most: every one but the first follows a comma or an opening bracket.
fn size_of_values(text: &str) -> usize {
    const VALUE: usize = 128;
    let values = text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    text.len() + VALUE * (values + 1)
}

#[cfg(not(target_arch = "wasm32"))]
pub use native::{load_states, save_states, save_states_blocking};

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use super::*;
    use crate::io::atomic::{read_file, write_atomically};
    use std::path::Path;

    /// Writes several states into one file, in one step (see [`write_atomically`]).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::io::{State, load_states, save_states_blocking};
    /// let path = std::env::temp_dir().join(format!("flambeau-doc-states-{}", std::process::id()));
    /// let mut loader = State::default();
    /// loader.set("batch", 12);
    /// save_states_blocking(&path, &[("loader", &loader)])?;
    /// assert_eq!(load_states(&path, &Device::cpu())?["loader"].value::<u64>("batch")?, 12);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    pub async fn save_states(path: impl AsRef<Path>, states: &[(&str, &State)]) -> Result<()> {
        let file = StateFile::new("save_states", states).await?;
        write_atomically(path, |writer| file.write(writer))
    }

    /// [`save_states`], blocking.
    pub fn save_states_blocking(path: impl AsRef<Path>, states: &[(&str, &State)]) -> Result<()> {
        pollster::block_on(save_states(path, states))
    }

    /// The states that [`save_states`] wrote, bit for bit. A damaged file is an error.
    pub fn load_states(path: impl AsRef<Path>, device: &Device) -> Result<BTreeMap<String, State>> {
        let path = path.as_ref();
        let bytes = read_file(path, ReadLimits::default())?;
        parse_states(&path.display().to_string(), &bytes, device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::torture;
    use pollster::block_on;

    fn example() -> (State, State) {
        let device = Device::cpu();
        let mut model = State::default();
        model.tensors.insert("fc.weight", Tensor::from_slice(&[f32::NAN, -0.0, 1e-40], [3], &device));
        model.tensors.insert("steps", Tensor::from_slice(&[i64::MIN], [1], &device));
        let mut loader = State::default();
        loader.set("key", u64::MAX.to_string());
        loader.set("tricky \"flambeau.checksum\":\"", 0.1);
        (model, loader)
    }

    #[test]
    fn states_come_back_bit_for_bit() {
        let (model, loader) = example();
        let states = [("model", &model), ("loader", &loader), ("empty", &State::default())];
        let bytes = block_on(write_states(&states)).unwrap();
        assert_eq!(bytes, block_on(write_states(&states)).unwrap());
        let back = read_states(&bytes, &Device::cpu()).unwrap();
        assert_eq!(back.keys().collect::<Vec<_>>(), ["empty", "loader", "model"]);
        for (part, state) in states {
            assert_eq!(back[part].values, state.values);
            assert!(back[part].tensors.names().eq(state.tensors.names()));
            for ((_, given), (_, got)) in state.tensors.iter().zip(back[part].tensors.iter()) {
                assert_eq!(block_on(given.to_bytes()).unwrap(), block_on(got.to_bytes()).unwrap());
            }
        }
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let (model, loader) = example();
        let bytes = block_on(write_states(&[("model", &model), ("loader", &loader)])).unwrap();
        torture(&bytes, |bytes| read_states(bytes, &Device::cpu()));
        for place in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[place] ^= 0x10;
            assert!(read_states(&altered, &Device::cpu()).is_err(), "byte {place} was altered");
        }
    }

    #[test]
    fn other_files_and_names_are_refused() {
        let plain = crate::io::write_safetensors_blocking(&StateDict::new(), &BTreeMap::new()).unwrap();
        let error = read_states(&plain, &Device::cpu()).unwrap_err().to_string();
        assert!(error.contains("this is not a state file"), "{error}");
        let state = State::default();
        for (states, expect) in [
            (&[("a.b", &state)][..], "`a.b` is not a part's name"),
            (&[("a", &state), ("a", &state)], "two parts are named `a`"),
        ] {
            let error = block_on(write_states(states)).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
    }
}
