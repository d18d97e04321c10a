//! Settings as Python prints them, for summaries that read as `print(model)`.

use std::fmt::Display;

/// A float: `1.0`, `0.1`, `1e-05`.
pub(super) fn float(number: f64) -> String {
    let text = format!("{number:?}");
    match text.split_once("e-") {
        Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
        None => text,
    }
}

/// `True` or `False`.
pub(super) fn flag(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// `None`, or the float.
pub(super) fn optional_float(number: Option<f64>) -> String {
    number.map_or_else(|| "None".into(), float)
}

/// `(3, 4)`, and `(3,)` for one.
pub(super) fn tuple(items: &[impl Display]) -> String {
    match items {
        [item] => format!("({item},)"),
        _ => format!("({})", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// One number where all are equal, as PyTorch shows what was given as one; else a tuple.
pub(super) fn one_or_tuple(items: &[impl Display + PartialEq]) -> String {
    match items {
        [first, rest @ ..] if rest.iter().all(|item| item == first) => first.to_string(),
        _ => tuple(items),
    }
}
