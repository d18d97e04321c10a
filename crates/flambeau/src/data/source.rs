//! Files that data comes from: read whole, with a limit, a checksum and a word on how to get them. A URL is kept as a
//! file; fetching it takes the feature `download`.

use super::origin::{MAX_BYTES, Origin};
use crate::error::Result;
use crate::io::ReadLimits;
use std::fs::File;
use std::path::{Path, PathBuf};

#[cfg(feature = "download")]
mod download;

/// Told of a download: bytes so far, and bytes in all where the server says.
#[cfg(feature = "download")]
type Progress = Box<dyn Fn(u64, Option<u64>) + Send + Sync>;

/// A file to read data from, with what is known of it.
///
/// ```
/// use flambeau::data::Source;
/// let error = Source::file("no/such/file.gz").with_hint("make data").read().unwrap_err();
/// assert!(error.to_string().starts_with("no/such/file.gz: "));
/// assert!(error.to_string().ends_with("get it with: make data"));
/// ```
pub struct Source {
    path: PathBuf,
    url: Option<String>,
    sha256: Option<String>,
    hint: Option<String>,
    limit: u64,
    pub(super) limits: ReadLimits,
    #[cfg(feature = "download")]
    progress: Option<Progress>,
}

impl Source {
    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Source {
        Source {
            path: path.into(),
            url: None,
            sha256: None,
            hint: None,
            limit: MAX_BYTES,
            limits: ReadLimits::default(),
            #[cfg(feature = "download")]
            progress: None,
        }
    }

    /// A URL that is kept at `path`: fetched when there is no such file. That takes the cargo feature `download`;
    /// without it a missing file is an error that says how to fetch it.
    ///
    /// ```
    /// use flambeau::data::Source;
    /// let source = Source::url("https://example.org/data.csv", "/tmp/data.csv").sha256("e3b0c442");
    /// ```
    pub fn url(url: impl Into<String>, path: impl Into<PathBuf>) -> Source {
        let (url, path) = (url.into(), path.into());
        let hint = format!("curl -L -o {} {url}", path.display());
        Source { url: Some(url), ..Source::file(path) }.with_hint(hint)
    }

    /// The SHA-256 that the file must have, in hexadecimal digits.
    pub fn sha256(self, digits: impl Into<String>) -> Source {
        Source { sha256: Some(digits.into()), ..self }
    }

    /// The command that gets the file, for error messages.
    pub fn with_hint(self, command: impl Into<String>) -> Source {
        Source { hint: Some(command.into()), ..self }
    }

    /// The most bytes the file may have; 4 GiB if not set.
    pub fn with_limit(self, bytes: u64) -> Source {
        Source { limit: bytes, ..self }
    }

    /// The memory that making arrays or a table of the file may take.
    pub fn with_limits(self, limits: ReadLimits) -> Source {
        Source { limits, ..self }
    }

    /// Called during a download with the bytes so far, and the bytes in all where the server says.
    #[cfg(feature = "download")]
    pub fn with_progress(self, report: impl Fn(u64, Option<u64>) + Send + Sync + 'static) -> Source {
        Source { progress: Some(Box::new(report)), ..self }
    }

    /// Where the file is, or will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn origin(&self) -> Origin {
        Origin { name: self.path.display().to_string(), hint: self.hint.clone() }
    }

    /// The file's bytes, checked.
    pub fn read(&self) -> Result<Vec<u8>> {
        let origin = self.origin();
        if let Some(url) = self.url.as_deref().filter(|_| !self.path.exists()) {
            self.fetch(url)?;
        }
        let open = || File::open(&self.path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (size, file) = open().map_err(|error| origin.error(error))?;
        let bytes =
            ReadLimits::memory(self.limit).read_all(file, size).map_err(|error| origin.error(error))?;
        if let Some(expected) = &self.sha256 {
            origin.check_sha256(&bytes, expected)?;
        }
        Ok(bytes)
    }

    #[cfg(not(feature = "download"))]
    fn fetch(&self, url: &str) -> Result<()> {
        let message = format!("there is no such file, and fetching {url} takes the cargo feature `download`");
        Err(self.origin().error(message))
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("path", &self.path).field("url", &self.url).finish_non_exhaustive()
    }
}
