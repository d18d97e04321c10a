//! A module as text, in the form Python's `print(model)` has.

use super::walks::{Parts, parameters};
use super::{Module, Parameter, Part};
use std::fmt::Write;

/// The text of a module with this name, these settings and these parts.
pub(super) fn summary(name: Option<&str>, settings: String, parts: Parts) -> String {
    let mut text = String::new();
    write_module(name, &settings, parts, 0, &mut text);
    let count: usize = parameters(parts).iter().map(Parameter::numel).sum();
    let _ = write!(text, "\n{} parameters", grouped(count));
    text
}

fn write_module(name: Option<&str>, settings: &str, parts: Parts, depth: usize, text: &mut String) {
    let _ = write!(text, "{}({settings}", name.unwrap_or("Module"));
    let mut layers = 0;
    each_layer(parts, &mut |name, layer| {
        layers += 1;
        let _ = write!(text, "\n{:1$}({name}): ", "", 2 * (depth + 1));
        write_module(layer.type_name(), &layer.describe(), &|visit| layer.parts(visit), depth + 1, text);
    });
    if layers > 0 {
        let _ = write!(text, "\n{:1$}", "", 2 * depth);
    }
    text.push(')');
}

/// Calls `show` with each part that has a name to show. What has no name of its own is taken for its parts.
fn each_layer(parts: Parts, show: &mut dyn FnMut(&str, &dyn Module)) {
    parts(&mut |name, part| match part {
        Part::Module(layer) if name.is_empty() => each_layer(&|visit| layer.parts(visit), show),
        Part::Module(layer) if layer.type_name().is_some() => show(name, layer),
        _ => {}
    });
}

/// 1234567 as 1,234,567.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
