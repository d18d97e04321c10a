//! `flambeau selftest`: what is asked for is checked, and what does not exist is said.

use crate::support::*;

#[test]
fn named_cases_on_both_devices() {
    let folder = Folder::new("selftest");
    for device in ["cpu", "software"] {
        let result = json(folder.path(), &["selftest", "searchsorted", "--graphs", "2", "--device", device]);
        assert_eq!(result["failures"].as_array().map(Vec::len), Some(0), "{result}");
        // Ten of its own dtypes and sizes at least, the refusals, and two graphs.
        assert!(
            result["cases"].as_u64().unwrap() > 12 && result["checks"].as_u64().unwrap() > 30,
            "{result}"
        );
    }
}

#[test]
fn names_of_no_case() {
    let folder = Folder::new("selftest-nothing");
    let message = error(folder.path(), &["selftest", "teleport"]);
    assert!(message.contains("teleport") && message.contains("matmul"), "{message}");
}
