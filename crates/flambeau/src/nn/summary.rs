//! A module as text, in the form Python's `print(model)` has.

use super::{Module, Part};
use std::fmt::Write;

pub(super) fn summary(module: &(impl Module + ?Sized)) -> String {
    let mut text = String::new();
    write_module(module, 0, &mut text);
    let count = module.parameter_count();
    let _ = write!(text, "\n{} parameters", grouped(count));
    text
}

fn write_module(module: &(impl Module + ?Sized), depth: usize, text: &mut String) {
    let _ = write!(text, "{}({}", module.type_name().unwrap_or("Module"), module.describe());
    let mut layers = 0;
    module.parts(&mut |name, part| {
        if let Part::Module(layer) = part
            && layer.type_name().is_some()
        {
            layers += 1;
            let _ = write!(text, "\n{:1$}({name}): ", "", 2 * (depth + 1));
            write_module(layer, depth + 1, text);
        }
    });
    if layers > 0 {
        let _ = write!(text, "\n{:1$}", "", 2 * depth);
    }
    text.push(')');
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
