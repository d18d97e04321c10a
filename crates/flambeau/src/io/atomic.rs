//! Writing files so that a crash at any moment leaves the old file or the new one, never half of one.

use super::limits::ReadLimits;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What stands between a file's name and the number of its temporary file.
const MARK: &str = ".flambeau-tmp-";

/// Writes a file in one step: under a temporary name in the same folder, forced to disk, then renamed over `path`, and
/// the folder forced to disk. Whoever reads `path` meanwhile, or after a crash, sees the old file or the new one whole.
/// If `write` fails, `path` is as it was.
///
/// ```
/// use flambeau::io::write_atomically;
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join(format!("flambeau-atomic-{}.txt", std::process::id()));
/// write_atomically(&path, |file| file.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"whole");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn write_atomically(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    write_and_rename(path, write).map_err(|error| io_error(path, &error))
}

fn write_and_rename(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = Temporary { path: temporary_path(path)? };
    let mut writer = BufWriter::new(File::create_new(&temporary.path)?);
    write(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary.path, path)?;
    sync_folder(folder_of(path))
}

/// A temporary file that goes away unless it has been renamed.
struct Temporary {
    path: PathBuf,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing of this name; after a failure there is nothing better to do.
        let _ = fs::remove_file(&self.path);
    }
}

fn temporary_path(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file name"))?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!("{MARK}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(temporary))
}

/// If this is the name of a temporary file, the name of the file it was to become.
pub(super) fn final_name(name: &str) -> Option<&str> {
    let (name, _) = name.strip_prefix('.')?.split_once(MARK)?;
    Some(name)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes names in a folder last. Only Unix has a way to ask for it.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// A whole file, if it is not larger than the limits allow.
pub(super) fn read_file(path: &Path, limits: ReadLimits) -> Result<Vec<u8>> {
    let open = || File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (size, file) = open().map_err(|error| io_error(path, &error))?;
    let wrong = |message| Error::Io { path: path.display().to_string(), message };
    limits.read_all(file, size).map_err(wrong)
}

pub(super) fn io_error(path: &Path, error: &io::Error) -> Error {
    Error::Io { path: path.display().to_string(), message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::Folder;
    use std::io::Write;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = Folder::new("atomic");
        let path = folder.join("file");
        write_atomically(&path, |file| file.write_all(b"old")).unwrap();
        let error = write_atomically(&path, |file| {
            file.write_all(b"half of the n")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(error.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        write_atomically(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_name_the_path() {
        let error = write_atomically("/no/such/folder/file", |_| Ok(())).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/folder/file: "), "{error}");
        assert!(write_atomically("/", |_| Ok(())).is_err());
    }

    #[test]
    fn temporary_names_are_known_again() {
        let temporary = temporary_path(Path::new("a/b.txt")).unwrap();
        assert_eq!(final_name(temporary.file_name().unwrap().to_str().unwrap()), Some("b.txt"));
        assert_eq!(final_name("b.txt"), None);
        assert_eq!(final_name(".hidden"), None);
    }
}
