//! `docs/numpy.md`: every function of NumPy with its name here, or why it has none. This test writes it anew when it is out of date, and
//! fails when a row names what does not exist.
//!
//! The names are NumPy's own (`tools/reference/numpy_names.py`); the rows are `tests/data/numpy_rows.txt`.

use crate::common::listing::{Here, Row, check_page, check_rows, rows};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const NAMES: &str = include_str!("../data/numpy_names.txt");
const ROWS: &str = include_str!("../data/numpy_rows.txt");

/// All sources below a folder, joined.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            found.push((path, text));
        }
    }
    found
}

/// Is there a public function of this path? Methods are declared by `pub fn`, `pub async fn`, or as twins (`name / try_name`) in a file
/// with an `impl` of their type; functions by `pub fn` below their module.
fn exists(path: &str, sources: &[(PathBuf, String)]) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let [.., owner, name] = parts[..] else { return false };
    let declared = |text: &str| {
        let twins = format!("{name} / try_{name}");
        let functions = [format!("pub fn {name}"), format!("pub async fn {name}")];
        let ends = |rest: &str| rest.starts_with(['(', '<', ' ', '[']);
        let has = |needle: &str| text.match_indices(needle).any(|(at, _)| ends(&text[at + needle.len()..]));
        let cloned = name == "clone" && text.contains("impl Clone for Tensor");
        has(&twins) || functions.iter().any(|function| has(function)) || cloned
    };
    let is_type = owner.starts_with(char::is_uppercase);
    let holds = |(file, text): &(PathBuf, String)| match is_type {
        true => {
            let implements =
                text.contains(&format!("impl {owner} {{")) || text.contains(&format!(" for {owner} {{"));
            let tables = [("Tensor", "elementwise! {"), ("Generator", "draws! {")];
            let table = tables.iter().any(|(of, table)| owner == *of && text.contains(table));
            (implements || table) && declared(text)
        }
        false if owner == "flambeau" => declared(text),
        false => {
            file.components().any(|part| part.as_os_str().to_string_lossy().trim_end_matches(".rs") == owner)
                && declared(text)
        }
    };
    sources.iter().any(holds)
}

fn page(rows: &BTreeMap<&'static str, Row>) -> String {
    let open = rows.values().filter(|row| matches!(row.here, Here::Open)).count();
    let mut page = format!(
        "# NumPy's functions, and their names here\n\n\
         Written by `cargo test --test values numpy_names` from `crates/flambeau/tests/data/numpy_rows.txt`; every path is checked.\n\
         `Tensor::x` are methods of `flambeau::Tensor`, most of them documented in `flambeau::numeric`; almost all have a `try_` form that\n\
         gives an error instead of a panic. {} functions of NumPy 2.4 are listed, {open} of them are open.\n",
        rows.len(),
    );
    let mut namespace = "";
    for name in NAMES.lines() {
        let (space, function) = name.rsplit_once('.').expect("a namespace");
        if space != namespace {
            namespace = space;
            let _ = write!(page, "\n## {space}\n\n| there | here | |\n|---|---|---|\n");
        }
        let _ = writeln!(page, "| `{function}` {}", rows[name].cells());
    }
    page
}

#[test]
fn every_function_of_numpy_has_a_row_and_the_page_is_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (rows, sources) = (rows(ROWS), sources(&root.join("src")));
    check_rows(&rows, NAMES);
    for (name, row) in &rows {
        if let Here::Path(path) = row.here {
            assert!(exists(path, &sources), "{name}: there is no public {path}");
        }
    }
    assert!(!exists("Tensor::no_such_method", &sources) && !exists("flambeau::io::gamma", &sources));
    check_page("numpy.md", &page(&rows));
}
