//! The ops of tensors, from the elementwise table, `methods/` and the methods of structured primitives.

use super::{camel, docs, library};
use crate::methods::signatures;
use flambeau::bindings::elementwise_ops;
use flambeau::calls::Param;
use std::fmt::Write;

/// `name: type = default` of one parameter, and how it is written into the call.
pub fn parameter(param: &Param) -> (String, String) {
    let name = match camel(param.name).as_str() {
        "end" => "end".to_string(),
        name => name.to_string(),
    };
    let kind = match param.kind.as_str() {
        // Lists of a single number may be given as the number.
        "readonly number[]" => "Sizes",
        "number | readonly number[]" => "Sizes",
        kind => kind,
    };
    let declared = match param.default.as_deref() {
        None => format!("{name}: {kind}"),
        Some("?") => format!("{name}?: {kind}"),
        Some(default) => format!("{name}: {kind} = {default}"),
    };
    (declared, format!(".{}({name})", param.writer))
}

/// The file's text.
pub fn generate() -> String {
    let library = library();
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
        // A letter of a formula says nothing to a caller.
        let operand = |name: &&str| {
            let name = if name.len() > 1 { name } else { "other" };
            (format!("{name}: Tensor | number"), format!(".o({name})"))
        };
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
