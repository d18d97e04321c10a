//! The optimizers and the learning rate schedules: functions, and the types of their settings.

use super::settings::{default, interface, kind, members};
use super::{camel, library, type_docs};
use crate::catalogue::Entry;
use crate::schedules;
use flambeau::bindings::optimizers::entries;
use flambeau::optim::scheduler::PlateauOptions;
use flambeau::optim::{GradScalerOptions, LbfgsOptions};
use flambeau::settings::Settings;

/// One form of a schedule. Its names are not JavaScript's: schedules are data, which other programs read too.
fn schedule(entry: &Entry, library: &str) -> String {
    let mut text =
        format!("  /** {} */\n  | {{\n      kind: \"{}\";\n", type_docs(library, entry.of), entry.name);
    for argument in &entry.arguments {
        let kind = kind(&argument.kind);
        text += &match argument.default.as_ref().and_then(default) {
            Some(default) => format!("      /** Default: {default}. */\n      {}?: {kind};\n", argument.name),
            None => format!("      {}: {kind};\n", argument.name),
        };
    }
    let fields = entry.options.iter().flat_map(|options| &options.fields);
    text += &fields.map(|field| members(field, str::to_string, "      ")).collect::<String>();
    text + "    }\n"
}

/// The file's text.
pub fn generate() -> String {
    let library = library();
    let (mut interfaces, mut functions) = (String::new(), String::new());
    for entry in entries() {
        interfaces += &interface(entry.options, &type_docs(&library, entry.options), &entry.fields);
        functions += &format!(
            "/** {} */\nexport const {} = rule<{}>(\"{}\");\n",
            type_docs(&library, entry.optimizer),
            camel(entry.name),
            entry.options,
            entry.name,
        );
    }
    let others = [
        ("GradScalerOptions", GradScalerOptions::default().fields()),
        ("LbfgsOptions", LbfgsOptions::default().fields()),
        ("PlateauOptions", PlateauOptions::default().fields()),
    ];
    for (name, fields) in others {
        interfaces += &interface(name, &type_docs(&library, name), &fields);
    }
    let schedules: String = schedules::entries().iter().map(|entry| schedule(entry, &library)).collect();
    format!(
        "\
// The optimizers and schedules of the catalogue, as written by `cargo test -p flambeau-web`: do not edit by hand.

import type {{ Sizes }} from \"../types.js\";
import {{ Optimizer, type Trained }} from \"../optimizer.js\";

{interfaces}const rule =
  <O extends object>(kind: string) =>
  (trained: Trained<O>, options: O = {{}} as O) =>
    new Optimizer(kind, trained, options);

{functions}
/** A learning rate as a function of the number of steps. */
export type Schedule =
{};
",
        schedules.trim_end(),
    )
}
