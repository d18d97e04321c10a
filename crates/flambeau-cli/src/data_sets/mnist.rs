//! The MNIST family: packages have the idx files as they are.

use super::Write;
use super::package::Members;
use crate::output::bad_file;
use flambeau::Result;
use std::path::Path;

/// The four files, packed or not.
pub const WANTED: &[&str] = &[
    "train-images-idx3-ubyte",
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte",
    "t10k-labels-idx1-ubyte.gz",
];

/// Hands on each of the four files, the packed one where there are both. The library's reader has the sums of what they hold.
pub fn convert(members: &Members, write: &mut Write) -> Result<()> {
    for pair in WANTED.chunks_exact(2) {
        let name = pair.iter().rev().find(|name| members.contains_key(**name));
        let name = name.ok_or_else(|| bad_file(Path::new(pair[1]), "this file is missing"))?;
        write(name, &members[*name])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(names: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
        let members = names.iter().map(|name| ((*name).to_owned(), name.as_bytes().to_vec())).collect();
        let mut written = Vec::new();
        convert(&members, &mut |name, bytes| {
            written.push((name.to_owned(), bytes.to_vec()));
            Ok(())
        })?;
        Ok(written)
    }

    #[test]
    fn each_file_is_handed_on_once() {
        let written = converted(WANTED).unwrap();
        let names: Vec<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [WANTED[1], WANTED[3], WANTED[5], WANTED[7]]);
        assert!(written.iter().all(|(name, bytes)| bytes == name.as_bytes()));
        assert_eq!(converted(&[WANTED[0], WANTED[3], WANTED[4], WANTED[6]]).unwrap()[0].0, WANTED[0]);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = converted(&[WANTED[0], WANTED[2], WANTED[4]]).unwrap_err().to_string();
        assert!(error.contains("t10k-labels-idx1-ubyte.gz: this file is missing"), "{error}");
    }
}
