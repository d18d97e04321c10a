//! Runs the program and looks at what it says and writes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that goes away with its owner.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("flambeau-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program with these arguments, in a folder, on the CPU unless another device is named.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flambeau"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    // What the user has fetched is not the test's.
    for cache in ["XDG_CACHE_HOME", "LOCALAPPDATA"] {
        command.env(cache, folder.join("cache"));
    }
    if !arguments.contains(&"--device") {
        command.env("FLAMBEAU_DEVICE", "cpu");
    }
    command
}

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The object on stdout of a run with `--json` that must succeed; it is all that is there.
#[track_caller]
pub fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = run(folder, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    parsed(&output)
}

/// The one object on stdout.
#[track_caller]
pub fn parsed(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}{}", stderr(output));
    serde_json::from_str(&text).unwrap()
}

/// The error of a run that must fail with exit code 1.
#[track_caller]
pub fn error(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
    let start = message.find("error: ").unwrap_or_else(|| panic!("{message}"));
    message[start..].to_owned()
}

/// Everything a finished run leaves is there and not empty.
#[track_caller]
pub fn assert_files(folder: &Path, result: &Value) {
    let files = result["files"].as_array().unwrap();
    assert!(files.len() >= 3, "{result}");
    for file in files {
        let path = folder.join(file.as_str().unwrap());
        assert!(std::fs::metadata(&path).unwrap().len() > 0, "{}", path.display());
    }
}

/// MNIST, in the repository.
pub fn mnist_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist")
}
