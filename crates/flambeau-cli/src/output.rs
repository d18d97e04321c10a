//! Where words go: to stdout for people, to stderr when a machine reads the JSON on stdout.

use flambeau::Error;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

/// Who reads stdout.
#[derive(Clone, Copy)]
pub struct Output {
    pub json: bool,
    /// Nobody: another member of the group speaks.
    pub quiet: bool,
}

impl Output {
    /// A line for people. A reader that has gone away is no error.
    pub fn say(self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if self.quiet {
            return;
        }
        _ = match self.json {
            true => writeln!(std::io::stderr(), "{line}"),
            false => writeln!(std::io::stdout(), "{line}"),
        };
    }

    /// The result: for machines the JSON object, for people the lines.
    pub fn result(self, json: &Value, lines: &[String]) {
        if self.json && !self.quiet {
            _ = writeln!(std::io::stdout(), "{json}");
        } else {
            lines.iter().for_each(|line| self.say(line));
        }
    }
}

/// A request that cannot be met: what is wrong, and what to do.
pub fn refused(what: &'static str, message: impl Into<String>) -> Error {
    Error::Argument { op: what, message: message.into() }
}

/// A file that cannot be used: why, and what to do.
pub fn bad_file(path: &Path, message: impl std::fmt::Display) -> Error {
    Error::Io { path: path.display().to_string(), message: message.to_string() }
}

/// Adds advice to an error about a file.
pub fn advised(error: Error, advice: &str) -> Error {
    match error {
        Error::Io { path, message } => Error::Io { path, message: format!("{message}\n{advice}") },
        Error::State(message) => Error::State(format!("{message}\n{advice}")),
        other => other,
    }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Bytes in megabytes.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// Seconds as `42 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// How this program was called, for commands to try next.
pub fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "flambeau".into())
}
