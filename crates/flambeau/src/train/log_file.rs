//! The log of a run: one JSON object a line.

use crate::error::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::Io { path: path.display().to_string(), message: error.to_string() }
}

/// Adds a line.
pub(super) fn append(path: &Path, kind: &str, line: &impl Serialize) -> Result<()> {
    let mut value = serde_json::to_value(line).map_err(|error| Error::State(error.to_string()))?;
    if let Value::Object(fields) = &mut value {
        fields.insert("event".into(), kind.into());
    }
    let open = fs::OpenOptions::new().create(true).append(true).open(path);
    open.and_then(|mut file| writeln!(file, "{value}")).map_err(|error| failed(path, &error))
}

/// Drops the lines of steps after this one: they will be taken again.
pub(super) fn cut_after(path: &Path, step: u64) -> Result<()> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(()) };
    let kept = text.lines().filter(|line| {
        let value: Option<Value> = serde_json::from_str(line).ok();
        value.and_then(|value| value["step"].as_u64()).is_some_and(|at| at <= step)
    });
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    crate::io::write_atomically(path, |file| file.write_all(kept.as_bytes()))
}
