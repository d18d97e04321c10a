//! The functions of `arrays/`: one file of the package for each group.

use super::ops::parameter;
use super::{camel, docs, root, sources};
use crate::arrays::{GROUP, GROUPS, Group};
use std::fmt::Write;
use std::path::PathBuf;

/// The files and their texts.
pub fn generate() -> Vec<(PathBuf, String)> {
    let package = root().join("packages/flambeau/src/generated");
    let file =
        |(at, group): (usize, &Group)| (package.join(format!("{}.ts", group.name)), text(at + 1, group));
    GROUPS.iter().enumerate().map(file).collect()
}

/// A group's file.
fn text(number: usize, group: &Group) -> String {
    let library = root().join("crates/flambeau/src");
    let mut documented = String::new();
    group.sources.iter().for_each(|source| sources(&library.join(source), &mut documented));
    let mut functions = String::new();
    for (place, signature) in (group.signatures)().iter().enumerate() {
        let params: Vec<(String, String)> = signature.params.iter().map(parameter).collect();
        let declared: Vec<&str> = params.iter().map(|(declared, _)| declared.as_str()).collect();
        let written: String = params.iter().map(|(_, written)| written.as_str()).collect();
        writeln!(
            functions,
            "/** {} */\nexport function {}({}): {} {{\n  return {}({}, args(){written});\n}}\n",
            docs(&documented, signature.name),
            camel(signature.name),
            declared.join(", "),
            signature.output,
            signature.caller,
            number * GROUP + place,
        )
        .expect("text grows");
    }
    let callers = ["many", "one", "three", "two"];
    let callers = callers.into_iter().filter(|caller| functions.contains(&format!("return {caller}(")));
    let types = ["Dims", "DType", "Generator", "Sizes"];
    let types = types.into_iter().filter(|name| functions.contains(&format!(": {name}")));
    format!(
        "\
// As written by `cargo test -p flambeau-web`: do not edit by hand.

/**
 * {}
 *
 * @packageDocumentation
 */

import type {{ {} }} from \"../types.js\";
import type {{ Tensor }} from \"../tensor.js\";
import {{ {} }} from \"../calls.js\";
import {{ loadPart }} from \"../wasm.js\";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {{
  return loadPart(\"{}\");
}}

{}",
        group.about,
        types.collect::<Vec<_>>().join(", "),
        ["args"].into_iter().chain(callers).collect::<Vec<_>>().join(", "),
        group.part,
        functions.trim_end().to_string() + "\n"
    )
}

/// What is not in the package, and why.
const EXCUSED: [(&str, &str); 3] = [
    ("block", "it takes lists of lists"),
    ("histogramdd", "it gives a tensor and a list, and takes bins of two kinds"),
    ("pad_dims", "it takes pairs, and ways that have numbers of their own"),
];

/// Functions that wait, because values decide the size of their result, are no part of the tables.
#[test]
fn every_function_of_a_group_has_an_entry() {
    for group in &GROUPS {
        let mut library = String::new();
        let folder = root().join("crates/flambeau/src");
        group.sources.iter().for_each(|source| sources(&folder.join(source), &mut library));
        let listed: Vec<&str> = (group.signatures)().iter().map(|signature| signature.name).collect();
        let lines = library.lines().filter_map(|line| line.trim().split_once(" / try_"));
        let names: Vec<&str> =
            lines.filter(|(name, rest)| rest.starts_with(name)).map(|(name, _)| name).collect();
        assert!(names.len() >= listed.len(), "{}: the sources could not be read", group.name);
        for name in names {
            let is_excused = EXCUSED.iter().any(|(known, _)| *known == name);
            assert!(
                is_excused != listed.contains(&name),
                "{}: {name} must have an entry, or be excused, and not both",
                group.name
            );
        }
    }
}
