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
        "// {} As written by `cargo test -p flambeau-web`: do not edit by hand.

import type {{ {} }} from \"../types.js\";
import type {{ Tensor }} from \"../tensor.js\";
import {{ {} }} from \"../calls.js\";

{}",
        group.about,
        types.collect::<Vec<_>>().join(", "),
        ["args"].into_iter().chain(callers).collect::<Vec<_>>().join(", "),
        functions.trim_end().to_string() + "\n"
    )
}
