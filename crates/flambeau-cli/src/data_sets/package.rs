//! Files out of packages: of folders, of tar archives packed with gzip, of Debian packages.

use crate::output::{Output, bad_file, megabytes};
use flambeau::Result;
use flate2::read::GzDecoder;
use indicatif::ProgressBar;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// Folders in folders that are looked into.
const DEPTH: usize = 3;
/// The largest file of a data set: more is an attack or a mistake.
const LARGEST: u64 = 256 << 20;

/// The bytes of a package's files by their names, without folders.
pub type Members = BTreeMap<String, Vec<u8>>;

/// The files of a package that have one of these names, in whichever folder they lie.
pub fn read(package: &Path, wanted: &[&str], output: Output) -> Result<Members> {
    let failed = |error: std::io::Error| bad_file(package, error);
    let mut members = Members::new();
    if fs::metadata(package).map_err(failed)?.is_dir() {
        from_folder(package, wanted, DEPTH, &mut members)?;
    } else {
        let mut start = [0; 7];
        let read = File::open(package).and_then(|mut file| file.read(&mut start)).map_err(failed)?;
        match &start[..read] {
            [0x1f, 0x8b, ..] => {
                let file = File::open(package).map_err(failed)?;
                let length = file.metadata().map_err(failed)?.len();
                output.say(format!("reading {} ({})", package.display(), megabytes(length)));
                let bar = match std::io::stderr().is_terminal() {
                    true => ProgressBar::new(length),
                    false => ProgressBar::hidden(),
                };
                let archive = GzDecoder::new(bar.wrap_read(file));
                from_archive(archive, wanted, &mut members).map_err(failed)?;
                bar.finish_and_clear();
            }
            b"!<arch>" => from_debian(package, wanted, &mut members)?,
            _ => return Err(bad_file(package, "this is neither a folder, a .tgz or .tar.gz, nor a .deb")),
        }
    }
    if members.is_empty() {
        return Err(bad_file(package, format!("there is none of the files {}", wanted.join(", "))));
    }
    Ok(members)
}

fn from_folder(folder: &Path, wanted: &[&str], depth: usize, members: &mut Members) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| bad_file(folder, error))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && depth > 1 {
            from_folder(&path, wanted, depth - 1, members)?;
        } else if path.is_file() && wanted.contains(&name.as_str()) && !members.contains_key(&name) {
            let read = File::open(&path).and_then(|file| limited(file, &name));
            members.insert(name, read.map_err(|error| bad_file(&path, error))?);
        }
    }
    Ok(())
}

fn from_archive(stream: impl Read, wanted: &[&str], members: &mut Members) -> std::io::Result<()> {
    for entry in tar::Archive::new(stream).entries()? {
        let entry = entry?;
        let path = entry.path()?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if entry.header().entry_type().is_file() && wanted.contains(&name.as_str()) {
            let bytes = limited(entry, &name)?;
            members.insert(name, bytes);
        }
    }
    Ok(())
}

/// Debian's own program unpacks the outer archive, whose compression is another one from release to release.
fn from_debian(package: &Path, wanted: &[&str], members: &mut Members) -> Result<()> {
    let started = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let mut child = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => bad_file(
            package,
            "`dpkg-deb` is needed to unpack it; unpack it elsewhere and name the folder with --from",
        ),
        _ => bad_file(package, format!("dpkg-deb: {error}")),
    })?;
    let read = from_archive(child.stdout.take().expect("it is piped"), wanted, members);
    let status = child.wait().map_err(|error| bad_file(package, error))?;
    if !status.success() {
        return Err(bad_file(package, format!("dpkg-deb could not unpack it ({status})")));
    }
    read.map_err(|error| bad_file(package, error))
}

fn limited(stream: impl Read, name: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(std::io::Error::other(format!("{name} has more than {}", megabytes(LARGEST))));
    }
    Ok(bytes)
}

/// The file of that name, if its SHA-256 is the right one.
pub fn checked<'a>(members: &'a Members, name: &str, sum: &str) -> Result<&'a [u8]> {
    let bytes = members.get(name).ok_or_else(|| bad_file(Path::new(name), "this file is missing"))?;
    check_sum(Path::new(name), bytes, sum)?;
    Ok(bytes)
}

/// Refuses bytes whose SHA-256 is not the right one.
pub fn check_sum(path: &Path, bytes: &[u8], sum: &str) -> Result<()> {
    let found: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if found == sum {
        return Ok(());
    }
    let message = format!(
        "SHA-256 {sum} was expected, {found} was found ({} bytes): the file is damaged or another one",
        bytes.len()
    );
    Err(bad_file(path, message))
}
