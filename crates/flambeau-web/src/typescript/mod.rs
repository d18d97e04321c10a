//! Writes the part of the package's and the app's TypeScript that follows from the library's tables, and checks that it
//! is current: ops, functions of arrays, layers, optimizers and schedules. `completeness` checks that the tables have everything.

mod app;
mod arrays;
mod completeness;
mod layers;
mod ops;
mod optimizers;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};

/// What has another name in JavaScript than the rules of names give it.
const RENAMED: [(&str, &str); 3] = [("where_cond", "where"), ("adamw", "adamW"), ("delete", "deleteAt")];

/// Methods that the library does not have by that name.
const DESCRIBED: [(&str, &str); 2] = [
    ("add", "`x + y`. Derivatives: 1 and 1."),
    ("interpolate_by", "Resizes the last dimensions by a factor each; `interpolate` takes the sizes."),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn camel(name: &str) -> String {
    if let Some((_, renamed)) = RENAMED.iter().find(|(from, _)| *from == name) {
        return (*renamed).to_string();
    }
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_string();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let head: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        name + &head + letters.as_str()
    })
}

/// The sources of the library and of the catalogues, to take the docs from.
fn library() -> String {
    let mut text = String::new();
    sources(&root().join("crates/flambeau/src"), &mut text);
    sources(&root().join("crates/flambeau-web/src/layers"), &mut text);
    text
}

/// The sources of a folder, or of a file.
fn sources(folder: &Path, text: &mut String) {
    if folder.is_file() {
        return text.push_str(&fs::read_to_string(folder).expect("a source"));
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("the sources").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            sources(&entry, text);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(entry).expect("a source"));
        }
    }
}

/// `TripletMarginLoss` of `triplet_margin_loss`.
fn pascal(name: &str) -> String {
    let (head, rest) = name.split_at(1);
    head.to_uppercase() + &camel(rest)
}

/// The first paragraph of the docs before a line that declares a method, or a loss of that name.
fn docs(sources: &str, name: &str) -> String {
    if let Some((_, text)) = DESCRIBED.iter().find(|(described, _)| *described == name) {
        return (*text).to_string();
    }
    let forms = [
        format!("{name} / try_{name}"),
        format!("pub fn {name}("),
        format!("pub struct {} {{", pascal(name)),
    ];
    let declares = |line: &str, form: &str| {
        // Table entries begin with the name of their static.
        line.split_once(" = ").map_or(line, |(_, rest)| rest).starts_with(form)
    };
    let found = forms.iter().find_map(|form| paragraph(sources, |line| declares(line, form)));
    found.unwrap_or_else(|| panic!("{name} has no docs to be found"))
}

/// The first paragraph of the docs of a type, which may be an entry of a table of types.
fn type_docs(sources: &str, name: &str) -> String {
    let forms = ["pub struct ", "pub type ", "struct ", ""].map(|keyword| format!("{keyword}{name}"));
    let declares = |line: &str, form: &str| {
        let is_entry = |rest: &str| rest.starts_with([' ', ',']) && rest != ",";
        line.strip_prefix(form).is_some_and(|rest| match form == name {
            true => is_entry(rest),
            false => !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'),
        })
    };
    let found = forms.iter().find_map(|form| paragraph(sources, |line| declares(line, form)));
    let alone = || paragraph(sources, |line| line.strip_suffix(',') == Some(name));
    found.or_else(alone).unwrap_or_else(|| panic!("{name} has no docs to be found"))
}

/// The first paragraph of the docs before the first documented line that is the one.
fn paragraph(sources: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let lines: Vec<&str> = sources.lines().map(str::trim).collect();
    let documented = |at: usize| at > 0 && lines[at - 1].starts_with(['/', '#']);
    let at = (0..lines.len()).find(|&at| documented(at) && is_it(lines[at]))?;
    let mut block: Vec<&str> = lines[..at]
        .iter()
        .rev()
        .take_while(|line| line.starts_with("///") || line.starts_with("#["))
        .filter(|line| line.starts_with("///"))
        .copied()
        .collect();
    block.reverse();
    let paragraph = block.iter().map(|line| line.trim_start_matches('/').trim());
    Some(in_javascript(&paragraph.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")))
}

/// Docs of Rust as TypeScript has them: links are plain, and methods are JavaScript's.
fn in_javascript(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let link = after.split_once(']').and_then(|(inside, after)| {
            let target = after.strip_prefix('(').and_then(|after| after.split_once(')'));
            let (target, after) = target.unwrap_or(("", after));
            inside.starts_with('`').then_some((inside.trim_matches('`'), target, after))
        });
        match link {
            // What is said of a whole module, the package's file says at its head.
            Some((_, target, after)) if target.starts_with("crate::") && plain.ends_with("See ") => {
                plain.truncate(plain.trim_end_matches("See ").trim_end().len());
                rest = after.strip_prefix('.').unwrap_or(after);
            }
            Some((inside, target, after)) => {
                let is_method = ["Tensor::", "Generator::"].iter().any(|of| target.starts_with(of));
                let method =
                    inside.strip_prefix("Tensor::").map(|method| format!("Tensor.{}", camel(method)));
                let own = if is_method { camel(inside) } else { inside.to_string() };
                plain += &format!("`{}`", method.unwrap_or(own));
                rest = after;
            }
            None => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain + rest
}

/// What is generated: the files, and their texts.
fn generated() -> Vec<(PathBuf, String)> {
    let package = root().join("packages/flambeau/src/generated");
    let mut files = vec![
        (package.join("ops.ts"), ops::generate()),
        (package.join("layers.ts"), layers::generate()),
        (package.join("optimizers.ts"), optimizers::generate()),
        (root().join("web/src/work/generated/catalogue.ts"), app::generate()),
    ];
    files.extend(arrays::generate());
    files
}

#[test]
fn the_typescript_is_what_the_tables_say() {
    let mut old = Vec::new();
    for (path, wanted) in generated() {
        if fs::read_to_string(&path).ok().as_deref() != Some(&wanted) {
            fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
            fs::write(&path, wanted).expect("the file can be written");
            old.push(path);
        }
    }
    assert!(old.is_empty(), "out of date, and written anew: look at {old:?}, and commit");
}

#[test]
fn names_become_javascripts() {
    assert_eq!(camel("log_softmax"), "logSoftmax");
    assert_eq!(camel("conv2d"), "conv2d");
    assert_eq!(camel("where_cond"), "where");
    assert_eq!(pascal("triplet_margin_loss"), "TripletMarginLoss");
}

#[test]
fn docs_become_javascripts() {
    let text = "As [`Tensor::max_pool2d`], or [`Conv`](crate::Conv), in [0, 1).";
    assert_eq!(in_javascript(text), "As `Tensor.maxPool2d`, or `Conv`, in [0, 1).");
    let text = "What [`lu_solve`](Tensor::lu_solve) takes. See [`linalg`](crate::linalg).";
    assert_eq!(in_javascript(text), "What `luSolve` takes.");
}
