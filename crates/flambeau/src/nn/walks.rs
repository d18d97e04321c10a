//! What a walk over a module's parts can do: names, counting, saving, switching modes.
//!
//! Every module type has these as methods. Here each exists once, for the closure that names the parts: a program with a
//! hundred kinds of layers, or a page that fetches it, does not carry a hundred copies.

use super::{Buffer, Parameter, Part};
use crate::error::Result;
use crate::io::{Expected, LoadReport, Matching, StateDict, match_names};
use crate::tensor::Tensor;
use std::collections::HashSet;

/// Calls what it is given with each part of a module.
pub(super) type Parts<'a, 'f> = &'f dyn Fn(&mut dyn FnMut(&str, Part<'a>));

/// Calls `visit` with every parameter, buffer and mode inside, and its path.
fn walk<'a>(parts: Parts<'a, '_>, visit: &mut dyn FnMut(&str, Part<'a>)) {
    walk_from(parts, &mut String::new(), visit);
}

fn walk_from<'a>(parts: Parts<'a, '_>, path: &mut String, visit: &mut dyn FnMut(&str, Part<'a>)) {
    parts(&mut |name, part| {
        let length = path.len();
        if !path.is_empty() && !name.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        match part {
            Part::Module(inner) => walk_from(&|visit| inner.parts(visit), path, visit),
            leaf => visit(path, leaf),
        }
        path.truncate(length);
    });
}

pub(super) fn named_parameters(parts: Parts) -> Vec<(String, Parameter)> {
    let mut found = Vec::new();
    walk(parts, &mut |path, part| {
        if let Part::Parameter(parameter) = part {
            found.push((path.to_owned(), parameter.clone()));
        }
    });
    found
}

pub(super) fn parameters(parts: Parts) -> Vec<Parameter> {
    let mut seen = HashSet::new();
    let named = named_parameters(parts).into_iter();
    named.map(|(_, parameter)| parameter).filter(|parameter| seen.insert(parameter.id())).collect()
}

pub(super) fn named_buffers(parts: Parts) -> Vec<(String, Buffer)> {
    let mut found = Vec::new();
    walk(parts, &mut |path, part| {
        if let Part::Buffer(buffer) = part {
            found.push((path.to_owned(), buffer.clone()));
        }
    });
    found
}

pub(super) fn state_dict(parts: Parts) -> StateDict {
    let mut state = StateDict::new();
    walk(parts, &mut |path, part| match part {
        Part::Parameter(parameter) => state.insert(path, parameter.value()),
        Part::Buffer(buffer) => state.insert(path, buffer.get()),
        Part::Mode(_) | Part::Module(_) => {}
    });
    state
}

pub(super) fn load_state_dict(parts: Parts, state: &StateDict, matching: Matching) -> Result<LoadReport> {
    let mut slots = Vec::new();
    walk(parts, &mut |path, part| {
        if matches!(part, Part::Parameter(_) | Part::Buffer(_)) {
            slots.push((path.to_owned(), part));
        }
    });
    let expected = slots.iter().filter_map(|(path, part)| match part {
        Part::Parameter(slot) => Some(Expected::new(path, slot.shape(), slot.dtype())),
        Part::Buffer(slot) => Some(Expected::new(path, slot.shape(), slot.dtype())),
        Part::Mode(_) | Part::Module(_) => None,
    });
    let report = match_names(&expected.collect::<Vec<_>>(), state, matching)?;
    let found = slots.iter().filter_map(|(path, part)| Some((part, state.get(path)?)));
    let converted = found.map(|(part, value)| match part {
        Part::Parameter(slot) => Ok((part, value.try_to_dtype(slot.dtype())?)),
        Part::Buffer(slot) => Ok((part, value.try_to_dtype(slot.dtype())?)),
        Part::Mode(_) | Part::Module(_) => Ok((part, value.clone())),
    });
    let converted = converted.collect::<Result<Vec<_>>>()?;
    let values: Vec<&Tensor> = converted.iter().map(|(_, value)| value).collect();
    crate::eval(&values)?;
    for (part, value) in &converted {
        match part {
            Part::Parameter(slot) => slot.try_set(value)?,
            Part::Buffer(slot) => slot.try_set(value)?,
            Part::Mode(_) | Part::Module(_) => {}
        }
    }
    Ok(report)
}

pub(super) fn set_names(parts: Parts) {
    walk(parts, &mut |path, part| match part {
        Part::Parameter(parameter) => parameter.set_name(path),
        Part::Buffer(buffer) => buffer.set_name(path),
        Part::Mode(_) | Part::Module(_) => {}
    });
}

pub(super) fn set_training(parts: Parts, training: bool) {
    walk(parts, &mut |_, part| {
        if let Part::Mode(mode) = part {
            mode.set_training(training);
        }
    });
}
