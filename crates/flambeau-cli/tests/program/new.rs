//! `flambeau new`: what it writes, and what it refuses. `cargo xtask builds project` builds and trains what it writes.

use crate::support::*;
use std::fs;
use std::path::Path;

#[test]
fn a_project_is_written() {
    let folder = Folder::new("new");
    let said = json(folder.path(), &["new", "my-model"]);
    assert_eq!(said["folder"], "my-model");
    let read = |file: &str| fs::read_to_string(folder.join("my-model").join(file)).unwrap();
    assert!(read("Cargo.toml").contains("name = \"my-model\""));
    assert!(read("README.md").starts_with("# my-model\n"));
    assert!(read("src/main.rs").contains("my_model::train"));
    assert!(read("page/public/index.html").contains("<title>my-model</title>"));
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    json(folder.path(), &["new", "local", "--path", clone.to_str().unwrap()]);
    let manifest = fs::read_to_string(folder.join("local/page/Cargo.toml")).unwrap();
    assert!(manifest.contains("/crates/flambeau-page"), "{manifest}");
}

#[test]
fn nothing_is_written_over() {
    let folder = Folder::new("new-taken");
    fs::create_dir(folder.join("mine")).unwrap();
    fs::write(folder.join("mine/README.md"), "mine").unwrap();
    let taken = error(folder.path(), &["new", "mine"]);
    assert!(taken.contains("mine: ") && taken.contains("choose another name"), "{taken}");
    assert_eq!(fs::read_to_string(folder.join("mine/README.md")).unwrap(), "mine");
    assert_eq!(fs::read_dir(folder.join("mine")).unwrap().count(), 1);
    // An empty folder does.
    fs::create_dir(folder.join("empty")).unwrap();
    json(folder.path(), &["new", "empty"]);
}

#[test]
fn names_and_clones_that_cannot_be_are_refused() {
    let folder = Folder::new("new-refused");
    let name = error(folder.path(), &["new", "2 nets"]);
    assert!(name.contains("`2 nets`") && name.contains("my-model"), "{name}");
    let clone = error(folder.path(), &["new", "net", "--path", "nowhere"]);
    assert!(clone.contains("nowhere") && clone.contains("a clone of Flambeau's repository"), "{clone}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
