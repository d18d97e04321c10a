//! The layers: a function each, and the types of their settings.

use super::settings::{default, interface, kind};
use super::{camel, library, type_docs};
use crate::catalogue::{ArgumentEntry, Entry};
use crate::layers::catalogue::{rare_entries, special_entries, usual_entries};
use std::collections::BTreeSet;

/// Settings that JavaScript has by another name.
const RENAMED: [(&str, &str); 5] = [
    ("ConvLayerOptions", "ConvOptions"),
    ("ConvTransposeLayerOptions", "ConvTransposeOptions"),
    ("EmbeddingBagLayerOptions", "EmbeddingBagOptions"),
    ("MultiheadAttentionOptions", "AttentionOptions"),
    ("BatchNormSettings", "BatchNormOptions"),
];

/// All layers of the catalogue.
pub fn entries() -> Vec<Entry> {
    [usual_entries(), rare_entries(), special_entries()].into_iter().flatten().collect()
}

/// The struct's name without its sizes.
fn plain(of: &str) -> &str {
    of.split_once('<').map_or(of, |(name, _)| name.trim())
}

/// The interface of a struct of settings; a layer that is its own settings has its name before it.
fn interface_name(of: &str) -> String {
    match RENAMED.iter().find(|(from, _)| *from == of) {
        Some((_, to)) => (*to).to_string(),
        None if of.ends_with("Options") => of.to_string(),
        None => format!("{of}Options"),
    }
}

/// An argument as it is declared, and as it is handed on.
fn argument(argument: &ArgumentEntry) -> (String, String) {
    let name = camel(argument.name);
    let declared = match argument.default.as_ref().and_then(default) {
        _ if argument.of == "Spread" => format!("...{name}: number[]"),
        Some(default) => format!("{name} = {default}"),
        None => format!("{name}: {}", kind(&argument.kind)),
    };
    (declared, name)
}

/// The function that makes a layer.
fn function(entry: &Entry, library: &str) -> String {
    let mut parts: Vec<(String, String)> = entry.arguments.iter().map(argument).collect();
    match &entry.options {
        Some(options) if options.name == "options" => {
            parts.push((
                format!("options: {} = {{}}", interface_name(plain(options.of))),
                "...options".to_string(),
            ));
        }
        Some(options) => parts.extend(options.fields.iter().map(|field| {
            let name = camel(field.names[0]);
            let value = default(&field.default).expect("an argument that can be left out has a default");
            (format!("{name} = {value}"), name)
        })),
        None => {}
    }
    let (declared, handed): (Vec<String>, Vec<String>) = parts.into_iter().unzip();
    let given = match handed[..] {
        [] => "{}".to_string(),
        [ref only] if only == "...options" => "options".to_string(),
        _ => format!("{{ {} }}", handed.join(", ")),
    };
    format!(
        "/** {} */\nexport const {} = ({}) => new {}(\"{}\", {given});\n",
        type_docs(library, entry.of),
        camel(entry.name),
        declared.join(", "),
        entry.class,
        entry.name,
    )
}

/// The file's text.
pub fn generate() -> String {
    let (library, entries) = (library(), entries());
    let (mut interfaces, mut functions, mut written) = (String::new(), String::new(), BTreeSet::new());
    for entry in &entries {
        if let Some(options) = entry.options.as_ref().filter(|options| options.name == "options") {
            let of = plain(options.of);
            if written.insert(of) {
                let about = match of == entry.of {
                    true => format!("The settings of `{}`.", camel(entry.name)),
                    false => type_docs(&library, of),
                };
                interfaces += &interface(&interface_name(of), &about, &options.fields);
            }
        }
        functions += &function(entry, &library);
    }
    let classes: BTreeSet<&str> = entries.iter().map(|entry| entry.class).collect();
    format!(
        "\
// The layers of the catalogue, as written by `cargo test -p flambeau-web`: do not edit by hand.

import type {{ Sizes }} from \"../types.js\";
import {{ {} }} from \"../nn/layer.js\";

{interfaces}{functions}",
        classes.into_iter().collect::<Vec<_>>().join(", "),
    )
}
