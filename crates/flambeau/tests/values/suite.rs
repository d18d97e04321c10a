//! What the suites share: their verdict, and the validation of every shader they made.

use flambeau::Device;
use flambeau::selftest::SuiteReport;
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Fails with every failure of a report.
pub fn assert_passed(report: &SuiteReport) {
    let count = report.failures.len();
    assert!(count == 0, "{count} failures on {}:\n{}", report.device, report.failures.join("\n"));
    assert!(report.checks > 0, "nothing was checked");
}

/// An expression that mixes `&&`, `||` and the operators of bits without parentheses: naga takes it, and browsers with Tint do
/// not. Returns the text up to the operator that is one too many.
fn mixed_operators(source: &str) -> Option<&str> {
    // The operators met so far, one entry for each bracket that is open.
    let mut met: Vec<Option<&str>> = vec![None];
    let mut at = 0;
    while let Some(next) = source[at..].chars().next() {
        let rest = &source[at..];
        let operator = ["&&", "||", "|", "&", "^"].into_iter().find(|operator| rest.starts_with(operator));
        let before = source[..at].trim_end().chars().next_back();
        // Elsewhere `&` takes an address.
        let is_binary = before.is_some_and(|c| c.is_alphanumeric() || "_)]".contains(c));
        match (operator, next) {
            (Some(operator), _) if is_binary => {
                let level = met.last_mut().expect("brackets are balanced");
                if level.replace(operator).is_some_and(|known| known != operator) {
                    return Some(&source[..at]);
                }
            }
            (_, '(' | '[') => met.push(None),
            (_, ')' | ']') => drop(met.pop()),
            (_, ',' | ';' | '{' | '}' | '=') if !is_comparison(source, at) => {
                *met.last_mut().expect("brackets are balanced") = None;
            }
            _ => {}
        }
        at += operator.map_or(next.len_utf8(), str::len);
    }
    None
}

/// Whether what is found at a place is part of `==`, `!=`, `<=` or `>=`.
fn is_comparison(source: &str, at: usize) -> bool {
    source[at..].starts_with('=')
        && (source[at..].starts_with("==") || source[..at].ends_with(['=', '!', '<', '>']))
}

#[test]
fn operators_that_browsers_do_not_mix_are_found() {
    for mixed in
        ["x = a && b || c;", "if (a == b || c && (d || e)) {}", "x = a & b | c;", "f(1, a || b && c)"]
    {
        assert!(mixed_operators(mixed).is_some(), "{mixed}");
    }
    for plain in
        ["x = (a && b) || c;", "f(&a, b & c, d | e);", "x = a || b; y = c && d;", "a[i & 1u] |= b ^ c;"]
    {
        assert_eq!(mixed_operators(plain), None, "{plain}");
    }
}

/// Parses and validates the WGSL of every shader a device has compiled; returns how many there are.
pub fn validate_shaders(device: &Device) -> usize {
    let sources = device.shader_sources();
    for source in &sources {
        if let Some(text) = mixed_operators(source) {
            panic!("the last line needs parentheses before its next operator:\n{text}");
        }
        let module = naga::front::wgsl::parse_str(source)
            .unwrap_or_else(|error| panic!("{}\n{source}", error.emit_to_string(source)));
        let capabilities = Capabilities::SHADER_FLOAT16
            | Capabilities::SHADER_FLOAT16_IN_FLOAT32
            | Capabilities::SUBGROUP
            | Capabilities::COOPERATIVE_MATRIX;
        Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .unwrap_or_else(|error| panic!("{}\n{source}", error.emit_to_string(source)));
    }
    assert!(!sources.is_empty(), "no shader was compiled");
    sources.len()
}
