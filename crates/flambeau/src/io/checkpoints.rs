//! A folder of checkpoints, of which the newest whole one can always be found again.

use super::atomic::{final_name, io_error, read_file, sync_folder, write_atomically};
use super::limits::ReadLimits;
use super::state::State;
use super::state_file::{StateFile, parse_states};
use crate::device::Device;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The last few checkpoints of a training run, in a folder of its own.
///
/// A new checkpoint is safely on disk before an old one goes: whatever happens, and whenever, at most the work since
/// the last [`save`](Checkpoints::save) is lost. One run writes into a folder at a time; anybody may read.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{Checkpoints, State};
/// # let folder = std::env::temp_dir().join(format!("flambeau-doc-run-{}", std::process::id()));
/// let checkpoints = Checkpoints::new(&folder, 2)?;
/// for step in [100, 200, 300] {
///     let mut trainer = State::default();
///     trainer.set("step", step);
///     checkpoints.save_blocking(step, &[("trainer", &trainer)])?;
/// }
/// let latest = checkpoints.latest(&Device::cpu())?.checkpoint.unwrap();
/// assert_eq!(latest.path.file_name().unwrap(), "step-00000300.safetensors");
/// assert_eq!(latest.states["trainer"].value::<u64>("step")?, 300);
/// assert_eq!(checkpoints.steps()?, [200, 300]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
    keep_last: usize,
}

/// What [`Checkpoints::latest`] found.
#[derive(Debug, Clone)]
pub struct Latest {
    /// The newest checkpoint that is whole, if there is one.
    pub checkpoint: Option<Checkpoint>,
    /// Newer ones that are damaged or cannot be read, newest first, and why.
    pub skipped: Vec<(PathBuf, Error)>,
}

/// A checkpoint that was read.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The step it was saved at.
    pub step: u64,
    /// Its file.
    pub path: PathBuf,
    /// The states by their parts' names.
    pub states: BTreeMap<String, State>,
}

impl Checkpoints {
    /// Checkpoints in this folder, which is made if it does not exist; the last `keep_last` (at least 1) are kept.
    pub fn new(folder: impl Into<PathBuf>, keep_last: usize) -> Result<Checkpoints> {
        let folder = folder.into();
        if keep_last == 0 {
            return Err(Error::argument("Checkpoints::new", "keep_last is 0; at least 1 checkpoint is kept"));
        }
        fs::create_dir_all(&folder).map_err(|error| io_error(&folder, &error))?;
        Ok(Checkpoints { folder, keep_last })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Saves the states of a step, then removes older checkpoints beyond those to keep, and what a crash has left
    /// over. Checkpoints of later steps are not touched: remove them before going on from an earlier one.
    pub async fn save(&self, step: u64, states: &[(&str, &State)]) -> Result<PathBuf> {
        let file = StateFile::new("Checkpoints::save", states).await?;
        let path = self.folder.join(file_name(step));
        write_atomically(&path, |writer| file.write(writer))?;
        self.clean_up(step)?;
        Ok(path)
    }

    /// [`save`](Checkpoints::save), blocking.
    pub fn save_blocking(&self, step: u64, states: &[(&str, &State)]) -> Result<PathBuf> {
        pollster::block_on(self.save(step, states))
    }

    /// The steps there are checkpoints of, damaged ones included, in order.
    pub fn steps(&self) -> Result<Vec<u64>> {
        let mut steps: Vec<u64> = self.names()?.iter().filter_map(|name| step_of(name)).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// The newest checkpoint that is whole, read to a device; damaged ones are passed over, named and logged.
    pub fn latest(&self, device: &Device) -> Result<Latest> {
        let mut skipped = Vec::new();
        for step in self.steps()?.into_iter().rev() {
            let path = self.folder.join(file_name(step));
            let read = read_file(&path, ReadLimits::default())
                .and_then(|bytes| parse_states(&path.display().to_string(), &bytes, device));
            match read {
                Ok(states) => {
                    return Ok(Latest { checkpoint: Some(Checkpoint { step, path, states }), skipped });
                }
                Err(error @ Error::Io { .. }) => {
                    log::warn!("a checkpoint is damaged and passed over: {error}");
                    skipped.push((path, error));
                }
                // The device's trouble, not the file's.
                Err(error) => return Err(error),
            }
        }
        Ok(Latest { checkpoint: None, skipped })
    }

    fn clean_up(&self, saved: u64) -> Result<()> {
        let older = self.steps()?.into_iter().rev().filter(|&step| step <= saved);
        let surplus = older.skip(self.keep_last).map(file_name);
        let left_over = self.names()?.into_iter().filter(|name| final_name(name).and_then(step_of).is_some());
        for name in surplus.chain(left_over) {
            let path = self.folder.join(name);
            fs::remove_file(&path).map_err(|error| io_error(&path, &error))?;
        }
        sync_folder(&self.folder).map_err(|error| io_error(&self.folder, &error))
    }

    fn names(&self) -> Result<Vec<String>> {
        let wrong = |error: std::io::Error| io_error(&self.folder, &error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(wrong)? {
            names.extend(entry.map_err(wrong)?.file_name().into_string());
        }
        Ok(names)
    }
}

fn file_name(step: u64) -> String {
    format!("step-{step:08}.safetensors")
}

fn step_of(name: &str) -> Option<u64> {
    let step = name.strip_prefix("step-")?.strip_suffix(".safetensors")?.parse().ok()?;
    (file_name(step) == name).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::Folder;
    use crate::tensor::Tensor;

    fn save(checkpoints: &Checkpoints, step: u64) -> PathBuf {
        let mut state = State::default();
        state.tensors.insert("w", Tensor::full([4], step as f64, &Device::cpu()));
        checkpoints.save_blocking(step, &[("model", &state)]).unwrap()
    }

    #[track_caller]
    fn assert_latest(checkpoints: &Checkpoints, step: Option<u64>, skipped: &[&str]) {
        let latest = checkpoints.latest(&Device::cpu()).unwrap();
        assert_eq!(latest.checkpoint.as_ref().map(|found| found.step), step);
        let names: Vec<_> =
            latest.skipped.iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, skipped);
        if let Some(found) = latest.checkpoint {
            let w = found.states["model"].tensors.get("w").unwrap().to_vec_blocking::<f32>().unwrap();
            assert_eq!(w, [found.step as f32; 4]);
        }
    }

    #[test]
    fn the_last_few_are_kept() {
        let folder = Folder::new("checkpoints");
        let checkpoints = Checkpoints::new(folder.join("run"), 2).unwrap();
        assert_latest(&checkpoints, None, &[]);
        for step in [1, 20, 300, 123_456_789_012] {
            save(&checkpoints, step);
            assert_latest(&checkpoints, Some(step), &[]);
        }
        assert_eq!(checkpoints.steps().unwrap(), [300, 123_456_789_012]);
        assert!(Checkpoints::new(folder.join("none"), 0).is_err());
    }

    /// A process killed while it writes leaves part of a temporary file, and everything else as it was.
    #[test]
    fn killed_while_writing() {
        let folder = Folder::new("checkpoints");
        let checkpoints = Checkpoints::new(folder.path(), 1).unwrap();
        let whole = fs::read(save(&checkpoints, 10)).unwrap();
        for length in [0, 1, whole.len() / 2, whole.len()] {
            let temporary = folder.join(&format!(".step-00000020.safetensors.flambeau-tmp-77-{length}"));
            fs::write(temporary, &whole[..length]).unwrap();
            assert_latest(&checkpoints, Some(10), &[]);
        }
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        save(&checkpoints, 20);
        assert_latest(&checkpoints, Some(20), &[]);
        let mut names = checkpoints.names().unwrap();
        names.sort();
        assert_eq!(names, ["notes.txt", "step-00000020.safetensors"]);
    }

    /// Killed after the rename, before old ones are removed: one too many, until the next save.
    #[test]
    fn killed_before_cleaning_up() {
        let folder = Folder::new("checkpoints");
        for step in [10, 20, 30] {
            save(&Checkpoints::new(folder.path(), 9).unwrap(), step);
        }
        let checkpoints = Checkpoints::new(folder.path(), 2).unwrap();
        assert_latest(&checkpoints, Some(30), &[]);
        save(&checkpoints, 40);
        assert_eq!(checkpoints.steps().unwrap(), [30, 40]);
    }

    /// A disk that lost the end, the middle or all of the newest file.
    #[test]
    fn the_newest_is_damaged() {
        let folder = Folder::new("checkpoints");
        let checkpoints = Checkpoints::new(folder.path(), 3).unwrap();
        save(&checkpoints, 10);
        let newest = save(&checkpoints, 20);
        let whole = fs::read(&newest).unwrap();
        let mut altered = whole.clone();
        altered[whole.len() - 3] ^= 1;
        for damaged in [&altered[..], &whole[..whole.len() - 1], &whole[..8], &[], &vec![0; whole.len()]] {
            fs::write(&newest, damaged).unwrap();
            assert_latest(&checkpoints, Some(10), &["step-00000020.safetensors"]);
        }
        save(&checkpoints, 15);
        assert_latest(&checkpoints, Some(15), &["step-00000020.safetensors"]);
        save(&checkpoints, 20);
        assert_latest(&checkpoints, Some(20), &[]);
    }
}
