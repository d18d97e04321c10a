//! `flambeau new`: a project of one's own, which trains on this machine and in a browser from the same code.
//!
//! The project is `examples/in-the-page` under another name. A crate is packed without what lies outside of its folder, and without
//! folders that are crates themselves; so the example's files come from `new/template.txt`, which the test below writes.

use crate::output::{Output, bad_file, refused};
use flambeau::Result;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The example's files, each after a line with its name.
const TEMPLATE: &str = include_str!("new/template.txt");

/// What is before and after a name in the template.
const MARK: (&str, &str) = ("=====> ", " <=====\n");

/// The example's name, as a crate and as a module.
const EXAMPLE: [&str; 2] = ["in-the-page", "in_the_page"];

/// Names that cargo refuses, that other crates of the project have, or that would hide what every crate sees.
const TAKEN: [&str; 13] = [
    "alloc",
    "build",
    "core",
    "deps",
    "examples",
    "flambeau",
    "flambeau-page",
    "incremental",
    "page",
    "proc-macro",
    "proc_macro",
    "std",
    "test",
];

/// Rust's keywords that could be names of crates.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// Settings of `flambeau new`.
#[derive(clap::Args)]
pub struct Options {
    /// The project's name, and that of the folder it is written to.
    name: String,
    /// Use Flambeau from this clone of its repository instead of the published crate.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

/// Writes the project.
pub fn run(options: &Options, output: Output) -> Result<ExitCode> {
    let Options { name, path } = options;
    check_name(name)?;
    let source = path.as_deref().map(clone).transpose()?;
    let folder = Path::new(name);
    let is_free = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(bad_file(folder, format!("{error}; choose another name"))),
    };
    if !is_free {
        return Err(bad_file(folder, "the folder is there and not empty; choose another name, or empty it"));
    }
    for (file, text) in files() {
        let to = folder.join(file);
        let inner = to.parent().unwrap_or(folder);
        fs::create_dir_all(inner).map_err(|error| bad_file(inner, error))?;
        fs::write(&to, fill(text, name, source.as_deref())).map_err(|error| bad_file(&to, error))?;
    }
    let lines = [
        format!("{name} is ready. In that folder:"),
        "  cargo run --release   trains on this machine".into(),
        "  cargo page            trains in the browser".into(),
    ];
    output.result(&json!({ "name": name, "folder": folder }), &lines);
    Ok(ExitCode::SUCCESS)
}

/// The names of the files and what is in them.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    TEMPLATE.split(MARK.0).skip(1).filter_map(|file| file.split_once(MARK.1))
}

/// The text of a file in a project of this name. The published crates are depended on by version, those of a clone by path, too.
fn fill(text: &str, name: &str, source: Option<&str>) -> String {
    let text = text.replace(EXAMPLE[0], name).replace(EXAMPLE[1], &name.replace('-', "_"));
    let crates = ["flambeau", "flambeau-page"];
    crates.iter().fold(text, |text, dependency| {
        let version = env!("CARGO_PKG_VERSION");
        let wanted = match source {
            None => format!("{dependency} = \"{version}\""),
            Some(source) => {
                let folder = format!("{source}/crates/{dependency}");
                format!("{dependency} = {{ version = \"{version}\", path = {folder:?} }}")
            }
        };
        dependency_lines(dependency).iter().fold(text, |text, line| text.replace(line, &wanted))
    })
}

/// How the example depends on a crate of ours, from its own folder and from the one within.
fn dependency_lines(dependency: &str) -> [String; 2] {
    ["../../", "../../../"].map(|up| {
        let version = env!("CARGO_PKG_VERSION");
        format!("{dependency} = {{ version = \"{version}\", path = \"{up}crates/{dependency}\" }}")
    })
}

/// A name that a crate can have.
fn check_name(name: &str) -> Result<()> {
    let because = |why: &str| {
        let message = format!("`{name}` {why}; try a name such as my-model: letters, digits, - and _");
        Err(refused("new", message))
    };
    let mut characters = name.chars();
    match characters.next() {
        None => return because("is no name"),
        Some(first) if !first.is_ascii_alphabetic() => return because("does not begin with a letter"),
        Some(_) => {}
    }
    if !characters.all(|each| each.is_ascii_alphanumeric() || matches!(each, '-' | '_')) {
        return because("has a character that names of crates cannot have");
    }
    if KEYWORDS.contains(&name) || TAKEN.contains(&name) {
        return because("is taken by Rust, by cargo or by a crate of the project");
    }
    Ok(())
}

/// The whole name of a clone, as a manifest writes it.
fn clone(path: &Path) -> Result<String> {
    let manifest = path.join("crates/flambeau/Cargo.toml");
    if !manifest.is_file() {
        let message = "there is no crates/flambeau in it: is it a clone of Flambeau's repository?";
        return Err(bad_file(path, message));
    }
    let whole = std::path::absolute(path).map_err(|error| bad_file(path, error))?;
    Ok(whole.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example's files that are in the clone, by name.
    fn example() -> Vec<(String, String)> {
        fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root).unwrap();
                let name: Vec<_> = name.iter().map(|part| part.to_str().unwrap()).collect();
                let name = name.join("/");
                match name.as_str() {
                    // What building leaves, and how the repository formats.
                    "target" | "dist" | "Cargo.lock" | "rustfmt.toml" => {}
                    _ if path.is_dir() => collect(root, &path, files),
                    _ => files.push((name, fs::read_to_string(&path).unwrap().replace("\r\n", "\n"))),
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/in-the-page");
        let mut files = Vec::new();
        collect(&root, &root, &mut files);
        files.sort();
        files
    }

    #[test]
    fn the_template_is_the_example() {
        let wanted: String =
            example().iter().map(|(name, text)| format!("{}{name}{}{text}", MARK.0, MARK.1)).collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/new/template.txt");
        if TEMPLATE.replace("\r\n", "\n") != wanted {
            fs::write(&path, wanted).unwrap();
            panic!("out of date, and written anew: look at {}, and commit", path.display());
        }
    }

    #[test]
    fn every_file_gets_the_name_and_the_dependencies() {
        let filled = |source| -> Vec<(&str, String)> {
            files().map(|(name, text)| (name, fill(text, "my-model", source))).collect()
        };
        let of = |files: &[(&str, String)], name: &str| {
            files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.clone()).unwrap()
        };
        let published = filled(None);
        for (name, text) in &published {
            assert!(!EXAMPLE.iter().any(|word| text.contains(word)), "{name}");
            assert!(!text.contains("../"), "{name}: nothing outside of the project\n{text}");
        }
        let version = env!("CARGO_PKG_VERSION");
        assert!(of(&published, "Cargo.toml").contains(&format!("\nflambeau = \"{version}\"\n")));
        assert!(of(&published, "page/Cargo.toml").contains(&format!("\nflambeau-page = \"{version}\"\n")));
        assert!(of(&published, "src/main.rs").contains("use my_model::train::train;"));
        let local = filled(Some("/clone"));
        assert!(of(&local, "Cargo.toml").contains("path = \"/clone/crates/flambeau\""));
        assert!(of(&local, "page/Cargo.toml").contains("path = \"/clone/crates/flambeau-page\""));
    }

    #[test]
    fn names_that_crates_cannot_have_are_refused() {
        for name in ["spirals", "my-model", "net_2", "X"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "2net", "-x", "a b", "a/b", "..", "é", "fn", "test", "page", "flambeau"] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.contains("try a name such as"), "{error}");
        }
    }
}
