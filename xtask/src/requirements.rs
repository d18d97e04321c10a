//! Holds `docs/requirements.md` to what it says: every requirement has one row, and every proof that it names exists.

use std::path::Path;

/// The requirements, numbered from 1.
const COUNT: usize = 265;
const STATUSES: [&str; 6] = ["done", "partly", "missing", "not met", "not here", "not applicable"];
/// What a file's name ends with.
const ENDINGS: [&str; 9] = ["rs", "md", "mjs", "ts", "tsx", "toml", "json", "lock", "py"];

/// What is wrong with the page, given what the files of the repository hold.
fn faults(page: &str, file: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut expected = 1;
    for line in page.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let Some(number) = cells.first().and_then(|cell| cell.parse::<usize>().ok()) else { continue };
        if number != expected {
            faults.push(format!("row {number} is where {expected} should be"));
        }
        expected = number + 1;
        let [_, what, status, proof] = cells[..] else {
            faults.push(format!("row {number} has {} cells instead of 4", cells.len()));
            continue;
        };
        if what.is_empty() || !STATUSES.contains(&status) {
            faults.push(format!("row {number} has no text, or the status `{status}`"));
        }
        let named = proof.split('`').skip(1).step_by(2).filter(|name| is_proof(name));
        let named: Vec<&str> = named.collect();
        if matches!(status, "done" | "partly" | "not met") && named.is_empty() {
            faults.push(format!("row {number} is {status}, and names no file that shows it"));
        }
        if status != "done" && !proof.chars().any(char::is_alphabetic) {
            faults.push(format!("row {number} is {status}, and does not say why"));
        }
        for name in named {
            let (path, test) = name.split_once("::").map_or((name, None), |(path, test)| (path, Some(test)));
            match (file(path), test) {
                (None, _) => faults.push(format!("row {number}: there is no {path}")),
                (Some(text), Some(test)) if !has_function(&text, test) => {
                    faults.push(format!("row {number}: there is no function {test} in {path}"));
                }
                _ => {}
            }
        }
    }
    if expected != COUNT + 1 {
        faults.push(format!("the last row is {}, not {COUNT}", expected - 1));
    }
    faults
}

/// Is it a path, or a path with a test's name?
fn is_proof(name: &str) -> bool {
    let path = name.split("::").next().unwrap_or(name);
    path.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

fn has_function(text: &str, name: &str) -> bool {
    text.match_indices(&format!("fn {name}")).any(|(at, found)| {
        let next = text[at + found.len()..].chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn every_requirement_has_a_row_and_every_proof_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let page = read("docs/requirements.md").expect("docs/requirements.md");
    let faults = faults(&page, read);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_wrong_with_a_page_is_found() {
    let files = |path: &str| (path == "a/b.rs").then(|| "#[test]\nfn holds_well() {}".to_owned());
    let row = |number: usize| format!("| {number} | text | done | `a/b.rs::holds_well` |\n");
    let whole: String = (1..=COUNT).map(row).collect();
    assert_eq!(faults(&whole, files), Vec::<String>::new());
    let found = |old: &str, new: &str| faults(&whole.replacen(old, new, 1), files).join("; ");
    assert!(found(&row(9), "").contains("row 10 is where 9 should be"));
    assert!(found(&row(265), "").contains("the last row is 264"));
    assert!(found(&row(4), &row(4).repeat(2)).contains("row 4 is where 5 should be"));
    assert!(found("a/b.rs::holds_well", "a/c.rs").contains("row 1: there is no a/c.rs"));
    assert!(found("holds_well", "holds").contains("no function holds in a/b.rs"));
    assert!(
        found("| done | `a/b.rs::holds_well`", "| done | surely")
            .contains("row 1 is done, and names no file")
    );
    assert!(found("| done | `a/b.rs::holds_well`", "| missing | –").contains("does not say why"));
    assert!(found("done", "finished").contains("the status `finished`"));
    assert!(found("| text ", "").contains("row 1 has 3 cells"));
}
