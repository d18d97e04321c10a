//! Writes the part of the package's TypeScript that follows from the tables, and checks that it is current.

use crate::methods::{Param, signatures};
use flambeau::bindings::elementwise_ops;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Methods whose Rust name is not what one would call them in JavaScript.
const RENAMED: [(&str, &str); 1] = [("where_cond", "where")];

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

/// The library's sources, to take the docs from.
fn sources(folder: &Path, text: &mut String) {
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
    let lines: Vec<&str> = sources.lines().collect();
    let declares = |line: &str, form: &str| {
        let line = line.trim_start();
        // Table entries begin with the name of their static.
        line.split_once(" = ").map_or(line, |(_, rest)| rest).starts_with(form)
    };
    let documented = |at: usize| at > 0 && lines[at - 1].trim_start().starts_with(['/', '#']);
    let find = |form: &String| (0..lines.len()).find(|&at| documented(at) && declares(lines[at], form));
    let at = forms.iter().find_map(find).unwrap_or_else(|| panic!("{name} has no docs to be found"));
    let before = lines[..at].iter().rev().map(|line| line.trim());
    let mut block: Vec<&str> = before
        .take_while(|line| line.starts_with("///") || line.starts_with("#["))
        .filter(|line| line.starts_with("///"))
        .collect();
    block.reverse();
    let paragraph =
        block.iter().map(|line| line.trim_start_matches('/').trim()).take_while(|line| !line.is_empty());
    let text = paragraph.collect::<Vec<_>>().join(" ");
    // Links to Rust items mean nothing in TypeScript.
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let link = after.split_once(']').and_then(|(inside, after)| {
            let target = after.strip_prefix('(').and_then(|after| after.split_once(')'));
            inside.starts_with('`').then_some((inside, target.map_or(after, |(_, rest)| rest)))
        });
        match link {
            Some((inside, after)) => {
                plain.push_str(inside);
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

/// `name: type = default` of one parameter, and how it is written into the call.
fn parameter(param: &Param) -> (String, String) {
    let name = match camel(param.name).as_str() {
        "end" => "end".to_string(),
        name => name.to_string(),
    };
    let kind = match param.kind {
        // Lists of a single number may be given as the number.
        "readonly number[]" => "Sizes",
        "number | readonly number[]" => "Sizes",
        kind => kind,
    };
    let declared = match param.default {
        None => format!("{name}: {kind}"),
        Some("?") => format!("{name}?: {kind}"),
        Some(default) => format!("{name}: {kind} = {default}"),
    };
    (declared, format!(".{}({name})", param.writer))
}

/// The file's text.
fn generate() -> String {
    let mut library = String::new();
    sources(&root().join("crates/flambeau/src"), &mut library);
    let (mut methods, mut functions) = (String::new(), String::new());
    let mut add = |name: &str,
                   number: usize,
                   params: &[(String, String)],
                   method: bool,
                   output: &str,
                   caller: &str| {
        let declared: Vec<&str> = params.iter().map(|(declared, _)| declared.as_str()).collect();
        let written: String = params.iter().map(|(_, written)| written.as_str()).collect();
        let text = format!("/** {} */\n", docs(&library, name));
        let (name, declared) = (camel(name), declared.join(", "));
        let to = if method { &mut methods } else { &mut functions };
        let result = match method {
            true => writeln!(
                to,
                "  {text}  {name}({declared}): {output} {{\n    return {caller}({number}, args(this){written});\n  }}\n",
            ),
            false => writeln!(
                to,
                "{text}export function {name}({declared}): {output} {{\n  return {caller}({number}, args(){written});\n}}\n"
            ),
        };
        result.expect("text grows");
    };
    let table = elementwise_ops();
    for (number, (name, operands)) in table.iter().enumerate() {
        let operand = |_: &&str| ("other: Tensor | number".to_string(), ".o(other)".to_string());
        let params: Vec<(String, String)> = operands[1..].iter().map(operand).collect();
        add(name, number, &params, true, "Tensor", "one");
    }
    for (number, signature) in signatures().enumerate() {
        let method = signature.params.first().is_some_and(|first| first.name == "x");
        let params: Vec<(String, String)> =
            signature.params[usize::from(method)..].iter().map(parameter).collect();
        add(signature.name, table.len() + number, &params, method, signature.output, signature.caller);
    }
    format!(
        "\
// The ops of the table and their kin, as written by `cargo test -p flambeau-web`: do not edit by hand.

import type {{ Dims, DType, Generator, Sizes }} from \"../types.js\";
import type {{ Tensor }} from \"../tensor.js\";
import {{ args, many, one, two }} from \"../calls.js\";

/** What every tensor can do. */
export abstract class Ops {{
  /** The tensor's number in the module. */
  abstract readonly handle: number;

{}}}

{}",
        methods.trim_end().to_string() + "\n",
        functions.trim_end().to_string() + "\n"
    )
}

#[test]
fn the_typescript_is_what_the_tables_say() {
    let path = root().join("packages/flambeau/src/generated/ops.ts");
    let wanted = generate();
    if fs::read_to_string(&path).ok().as_deref() != Some(&wanted) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        fs::write(&path, wanted).expect("the file can be written");
        panic!("{} was out of date and has been written anew: look at it, and commit it", path.display());
    }
}

#[test]
fn names_become_javascripts() {
    assert_eq!(camel("log_softmax"), "logSoftmax");
    assert_eq!(camel("conv2d"), "conv2d");
    assert_eq!(camel("where_cond"), "where");
    assert_eq!(pascal("triplet_margin_loss"), "TripletMarginLoss");
}
