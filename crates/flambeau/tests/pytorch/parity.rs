//! `docs/pytorch-parity.md`: every case of PyTorch's C++ API tests with the test that has its meaning here, or why it has
//! none. This test writes the page anew when it is out of date.
//!
//! The names are those of `test/cpp/api`; the rows are `tests/data/pytorch_rows.txt`. That table and tests agree is found from
//! the test binary itself, which is asked for its own list.

use crate::common::listing::{Here, Row, check_page, check_rows, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

const NAMES: &str = include_str!("../data/pytorch_names.txt");
const ROWS: &str = include_str!("../data/pytorch_rows.txt");

/// The tests of this binary, as its harness lists them; those of this file left out.
fn tests(further: &[&str]) -> BTreeSet<String> {
    let own = std::env::current_exe().expect("this binary");
    let output = Command::new(own).args(["--list", "--format=terse"]).args(further).output();
    let text = String::from_utf8(output.expect("this binary runs").stdout).expect("names are text");
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    names.filter(|name| !name.starts_with("parity::")).map(str::to_owned).collect()
}

fn page(rows: &BTreeMap<&'static str, Row>) -> String {
    let count = |wanted: fn(&Here) -> bool| rows.values().filter(|row| wanted(&row.here)).count();
    let ported = count(|here| matches!(here, Here::Path(_)));
    let without_meaning = count(|here| matches!(here, Here::Nothing));
    let open = count(|here| matches!(here, Here::Open));
    let mut page = format!(
        "# PyTorch's C++ API tests, and the tests here\n\n\
         Written by `cargo test -p flambeau --test pytorch parity` from `crates/flambeau/tests/data/pytorch_rows.txt`; every test that\n\
         is named exists, and every test of `crates/flambeau/tests/pytorch` is named. Each runs on the CPU and on the GPU, so that it\n\
         stands for the cases ending in `_CUDA` as well.\n\n\
         {} cases: {ported} ported, {without_meaning} not applicable (–), {open} open.\n",
        rows.len(),
    );
    let mut file = "";
    for name in NAMES.lines() {
        let (of, case) = name.split_once("::").expect("file::Suite.Name");
        if of != file {
            file = of;
            let _ = write!(page, "\n## {of}\n\n| case | here | |\n|---|---|---|\n");
        }
        let _ = writeln!(page, "| `{case}` {}", rows[name].cells());
    }
    page
}

#[test]
fn every_case_of_pytorch_has_a_row_and_the_page_is_what_they_say() {
    let (rows, tests) = (rows(ROWS), tests(&[]));
    check_rows(&rows, NAMES);
    let mut named = BTreeSet::new();
    for (case, row) in &rows {
        if let Here::Path(path) = row.here {
            assert!(tests.contains(path), "{case}: there is no test {path}");
            named.insert(path.to_owned());
        }
    }
    let unnamed: Vec<&String> = tests.difference(&named).collect();
    assert!(unnamed.is_empty(), "tests that no row names: {unnamed:?}");
    check_page("pytorch-parity.md", &page(&rows));
}

/// What is listed also runs.
#[test]
fn no_test_is_ignored() {
    let ignored: Vec<String> = tests(&["--ignored"]).into_iter().collect();
    assert!(ignored.is_empty(), "{ignored:?}");
}
