//! Where data came from, for error messages; checksums, and unpacking.

use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::io::Read;

/// The most that a file may hold: more is an attack or a mistake.
#[cfg(not(target_arch = "wasm32"))]
pub(super) const MAX_BYTES: u64 = 1 << 32;

/// The name of a file, or of data that came without one, and how to get it anew.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub name: String,
    pub hint: Option<String>,
}

impl Origin {
    /// Data that was handed in as bytes.
    pub fn bytes(kind: &str) -> Origin {
        Origin { name: format!("<{kind}>"), hint: None }
    }

    /// An error about this data.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        let how = self.hint.as_ref().map(|hint| format!("\nget it with: {hint}")).unwrap_or_default();
        Error::Io { path: self.name.clone(), message: format!("{message}{how}") }
    }

    /// Checks the bytes against a SHA-256 in hexadecimal digits.
    pub fn check_sha256(&self, bytes: &[u8], expected: &str) -> Result<()> {
        let found = hexadecimal(&Sha256::digest(bytes));
        if found.eq_ignore_ascii_case(expected) {
            return Ok(());
        }
        Err(self.error(format!(
            "the checksum differs: SHA-256 {expected} was expected, {found} was found ({} bytes); the file is \
             damaged or another one",
            bytes.len()
        )))
    }
}

pub(super) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The content of a file that may be packed with gzip, as a stream, and the most bytes it can have.
pub(super) fn unpacked(bytes: &[u8]) -> (Box<dyn Read + '_>, usize) {
    /// Deflate cannot do better than this.
    const MAX_RATIO: usize = 1032;
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => (Box::new(MultiGzDecoder::new(bytes)), bytes.len().saturating_mul(MAX_RATIO)),
        false => (Box::new(bytes), bytes.len()),
    }
}
