//! Pages of `docs/` that list what another library has, and where it is here: rows of a committed table, and the page
//! made of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a row says of a name.
pub enum Here {
    Path(&'static str),
    Nothing,
    Open,
}

/// `name | path here, "-" where it has no meaning, "?" where it is open | a note`.
pub struct Row {
    pub here: Here,
    pub note: &'static str,
}

impl Row {
    /// What the page shows after the name.
    pub fn cells(&self) -> String {
        let here = match self.here {
            Here::Path(path) => format!("`{path}`"),
            Here::Nothing => "–".into(),
            Here::Open => "open".into(),
        };
        let note = if self.note.is_empty() { String::new() } else { format!(" {}", self.note) };
        format!("| {here} |{note} |")
    }
}

/// The rows of a table, by name.
pub fn rows(table: &'static str) -> BTreeMap<&'static str, Row> {
    let mut rows = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split(" | ");
        let name = cells.next().expect("a name");
        let here = match cells.next().unwrap_or_else(|| panic!("{name}: what it is here")) {
            "-" => Here::Nothing,
            "?" => Here::Open,
            path => Here::Path(path),
        };
        let note = cells.next().unwrap_or_default();
        assert!(rows.insert(name, Row { here, note }).is_none(), "{name} has two rows");
    }
    rows
}

/// Panics unless every name has a row, every row a name, and every row without a path a reason.
#[track_caller]
pub fn check_rows(rows: &BTreeMap<&'static str, Row>, names: &'static str) {
    for name in names.lines() {
        let row = rows.get(name).unwrap_or_else(|| panic!("{name} has no row"));
        let explained = !matches!(row.here, Here::Nothing) || !row.note.is_empty();
        assert!(explained, "{name}: why is there no such thing?");
    }
    assert_eq!(rows.len(), names.lines().count(), "a row has a name that is not listed");
}

/// Writes a page of `docs/` anew where it is out of date, and then panics.
#[track_caller]
pub fn check_page(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let is_current = fs::read_to_string(&path).is_ok_and(|text| text == wanted);
    if !is_current {
        fs::write(&path, wanted).expect("the page can be written");
    }
    assert!(is_current, "docs/{name} was out of date, and is written anew: look at it, and commit");
}
