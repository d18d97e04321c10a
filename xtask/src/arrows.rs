//! Which module of the library may name which: the order below, and the exceptions to it, whose numbers can only shrink.
//!
//! An arrow is a `crate::…` in a module's code that names another module; tests and comments do not count. Modules may
//! name those before them in the order. The layers that users write with (`nn`, `optim`, `data`, `io`, `train`) may
//! moreover not reach past `Tensor` to what lies below it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::runner::{Failure, Report};
use crate::workspace::Workspace;

/// The modules of `crates/flambeau/src`, the lowest first.
const ORDER: &[&str] = &[
    "dtype",
    "shape",
    "error",
    "browser",
    "settings",
    "memory",
    "rng",
    "host",
    "ir",
    "shader",
    "calls",
    "op",
    "tensor",
    "autograd",
    "plan",
    "backend",
    "engine",
    "device",
    "rehearsal",
    "reference",
    "complex",
    "fft",
    "linalg",
    "numeric",
    "random",
    "interop",
    "io",
    "nn",
    "func",
    "optim",
    "data",
    "group",
    "train",
    "selftest",
    "bindings",
];

/// What lies below `Tensor`, as far as the layers that users write with are concerned.
const BELOW_TENSOR: &[&str] = &["host", "ir", "shader", "op", "plan", "backend", "engine"];
const ABOVE_TENSOR: &[&str] = &["io", "nn", "optim", "data", "group", "train"];

/// Arrows against the order: from, to, how many, why. A number that is too large fails as one that is too small does, so
/// that it can only shrink.
const EXCEPTIONS: &[(&str, &str, usize, &str)] = &[
    ("shape", "error", 1, "a shape that does not fit is an error"),
    ("calls", "op", 1, "an operand is a tensor or a number"),
    ("calls", "tensor", 1, "what is handed over are tensors"),
    ("op", "tensor", 8, "derivative rules, samples and methods are written with tensors"),
    ("rng", "autograd", 1, "a checkpointed part draws its numbers again"),
    ("op", "autograd", 4, "rules of rules, and samples of gradients"),
    ("op", "reference", 1, "definitions wrap integers as the interpreter does"),
    ("tensor", "autograd", 10, "ops on tensors are recorded"),
    ("tensor", "plan", 2, "`explain` shows a plan"),
    ("tensor", "backend", 1, "a node holds its memory"),
    ("tensor", "engine", 1, "a read is an evaluation"),
    ("tensor", "device", 7, "a tensor lies on a device, which has a precision"),
    ("autograd", "device", 1, "gradients lie on a device"),
    ("engine", "device", 1, "evaluations are methods of the device"),
    (
        "nn",
        "op",
        3,
        "attention's kernels and whether they apply; recurrent layers; normal numbers for initial values",
    ),
];

pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    let source = workspace.root.join("crates/flambeau/src");
    let arrows = count(&source)?;
    let mut problems = Vec::new();
    for (&(from, to), &found) in &arrows {
        let listed = EXCEPTIONS.iter().find(|(a, b, ..)| (*a, *b) == (from, to));
        match listed {
            Some((.., allowed, why)) if found != *allowed => problems.push(match found > *allowed {
                true => format!("{from} → {to}: {found} times, {allowed} are allowed ({why})"),
                false => {
                    format!("{from} → {to}: {found} times; lower the {allowed} in the list of exceptions")
                }
            }),
            None if !is_allowed(from, to) => {
                problems.push(format!("{from} → {to}: {found} times, not allowed"))
            }
            _ => {}
        }
    }
    for (from, to, ..) in EXCEPTIONS.iter().filter(|(from, to, ..)| !arrows.contains_key(&(*from, *to))) {
        problems.push(format!("{from} → {to}: no longer there; take it out of the list of exceptions"));
    }
    if problems.is_empty() {
        let exceptions: usize = EXCEPTIONS.iter().map(|(_, _, count, _)| count).sum();
        let all: usize = arrows.values().sum();
        return Ok(Report::note(format!(
            "{all} arrows between modules, {exceptions} of them against the order"
        )));
    }
    let next =
        "The order and its exceptions are in xtask/src/arrows.rs; ARCHITECTURE.md says why they are so.";
    Err(Failure::new(problems.join("\n"), next))
}

fn is_allowed(from: &str, to: &str) -> bool {
    let place = |module: &str| ORDER.iter().position(|known| *known == module);
    let past_tensor = ABOVE_TENSOR.contains(&from) && BELOW_TENSOR.contains(&to);
    place(to) < place(from) && !past_tensor
}

/// How often each module names each other one.
fn count(source: &Path) -> Result<BTreeMap<(&'static str, &'static str), usize>, Failure> {
    let mut arrows = BTreeMap::new();
    for &from in ORDER {
        let (file, folder) = (source.join(from).with_extension("rs"), source.join(from));
        let mut files = Vec::new();
        collect(&folder, &mut files);
        files.extend(file.is_file().then_some(file));
        if files.is_empty() {
            let next = "Mend the list of modules in xtask/src/arrows.rs.";
            return Err(Failure::new(format!("there is no module {from} in {}", source.display()), next));
        }
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_default();
            for to in named(&text).into_iter().filter(|to| *to != from) {
                *arrows.entry((from, to)).or_default() += 1;
            }
        }
    }
    Ok(arrows)
}

/// The Rust files of a folder, without those of tests.
fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_test = name.to_str().is_some_and(|name| matches!(name, "tests" | "tests.rs" | "testing.rs"));
        if path.is_dir() && !is_test {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            files.push(path);
        }
    }
}

/// The modules that a file's code names after `crate::`, each as often as it does.
fn named(text: &str) -> Vec<&'static str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut named = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `flambeau_crate::` and the like are somebody else's; `$crate::` is ours.
        let before = code[..at].chars().next_back().unwrap_or(' ');
        if before.is_alphanumeric() || before == '_' {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let paths: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
            None => vec![rest],
        };
        named.extend(paths.iter().filter_map(|path| {
            let word = path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            ORDER.iter().find(|module| **module == word).copied()
        }));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_of_a_file() {
        let text = "use crate::op::Op;\n// use crate::plan::Plan;\nuse crate::{shape::Shape, dtype::DType, Tensor};\n\
                    fn f() { $crate::host::threads() }\n#[cfg(test)]\nmod tests {\n    use crate::nn::Linear;\n}\n";
        assert_eq!(named(text), ["op", "shape", "dtype", "host"]);
    }

    #[test]
    fn what_the_order_allows() {
        assert!(is_allowed("plan", "ir") && is_allowed("nn", "tensor") && is_allowed("train", "optim"));
        assert!(!is_allowed("op", "backend") && !is_allowed("ir", "op") && !is_allowed("nn", "plan"));
    }
}
