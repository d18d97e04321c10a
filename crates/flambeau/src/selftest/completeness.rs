//! No op without a case, a rule or a marker, a sample domain, and docs.

use super::{cases, essential_cases, primitives};
use crate::device::Device;
use crate::dtype::DType;
use crate::op::elementwise::{Signature, whole_table};
use crate::selftest::check;
use std::collections::BTreeSet;

#[test]
fn every_op_has_a_rule_or_says_that_it_has_none() {
    for op in whole_table() {
        // Floats in and floats out: a gradient can reach it.
        let smooth = matches!(op.signature, Signature::Float | Signature::Number | Signature::Select);
        assert_eq!(op.differentiable, smooth, "{}: a gradient rule is missing or has no place", op.name);
    }
}

#[test]
fn every_op_has_samples_and_tolerances_within_reason() {
    let mut names = BTreeSet::new();
    for op in whole_table() {
        assert!(names.insert(op.name), "{} is in the table twice", op.name);
        assert_eq!(op.domain.len(), op.args.len(), "{}: one sample range per operand", op.name);
        assert!(op.domain.iter().all(|(low, high)| low < high), "{}: empty sample range", op.name);
        if let Some((rtol, reason)) = op.tolerance {
            assert!(rtol <= 1e-3 && !reason.is_empty(), "{}: tolerance {rtol} ({reason})", op.name);
        }
    }
    for case in cases() {
        // A rounding to F16 is half of 1e-3.
        let is_coarse = case.inputs.iter().any(|input| input.dtype == DType::F16);
        let most = if is_coarse { 4e-3 } else { 1e-3 };
        if let Some((rtol, reason)) = case.tolerance {
            assert!(rtol <= most && !reason.is_empty(), "{}: tolerance {rtol} ({reason})", case.name);
        }
    }
}

#[test]
fn cases_have_names_of_their_own() {
    let mut names = BTreeSet::new();
    for case in cases() {
        assert!(names.insert(case.name.clone()), "two cases are called {}", case.name);
    }
}

#[test]
fn every_op_has_a_case() {
    let truth = Device::for_interpreter();
    let mut covered = BTreeSet::new();
    for case in essential_cases() {
        let built = check::Built::new(&case, &truth);
        let built = built.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        super::primitives::collect(&built.result, &mut covered);
    }
    let missing: Vec<_> = primitives().difference(&covered).copied().collect();
    assert!(missing.is_empty(), "ops without a case: {missing:?}");
    let unlisted: Vec<_> = covered.difference(&primitives()).copied().collect();
    assert!(unlisted.is_empty(), "ops that primitives() does not list: {unlisted:?}");
}

#[test]
fn the_essential_cases_have_every_dtype_and_layout() {
    let described = |cases: Vec<super::Case>| -> BTreeSet<String> {
        let inputs = cases.iter().flat_map(|case| case.inputs.iter().map(move |input| (case, input)));
        inputs
            .flat_map(|(case, input)| {
                let op = case.name.split(' ').next().unwrap_or_default();
                [format!("{op} in {}", input.dtype), format!("{} {:?}", case.group, input.layout)]
            })
            .collect()
    };
    assert_eq!(described(essential_cases()), described(cases()));
}

/// The table's macro writes the example; the meaning above it is the author's.
#[test]
fn every_op_has_docs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/op/elementwise");
    let mut sources = String::new();
    for file in std::fs::read_dir(folder).expect("the op table's folder") {
        sources += &std::fs::read_to_string(file.expect("a file").path()).expect("a source file");
    }
    let lines: Vec<&str> = sources.lines().map(str::trim).collect();
    for op in whole_table() {
        let declares = |line: &&str| {
            let upper = format!("{} = {} / try_{} (", op.name.to_uppercase(), op.name, op.name);
            line.starts_with(&upper)
        };
        let documented = |&at: &usize| at > 0 && lines[at - 1].starts_with("///");
        match lines.iter().position(declares) {
            Some(at) => assert!(documented(&at), "{} has no docs", op.name),
            None => {
                let literal = format!("\"{}\"", op.name);
                assert!(sources.contains(&literal), "{} is declared nowhere", op.name);
            }
        }
    }
}
