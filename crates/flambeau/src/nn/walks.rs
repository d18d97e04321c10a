//! What a walk over a module's parts can do: names, counting, saving, switching modes.
//!
//! Every module type has these as methods. Here each exists once, for the closure that names the parts: a program with a
//! hundred kinds of layers, or a page that fetches it, does not carry a hundred copies.

use super::{Buffer, Module, Parameter, Part};
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

/// The modules that a module is made of, one level down, with their names. What is no layer (parameters, numbers) is left out.
///
/// ```
/// use flambeau::{nn::{Linear, Relu, Sequential, named_children}, prelude::*};
/// let net = Sequential::new().with(Linear::new(2, 3, &Device::cpu())).with_named("act", Relu);
/// let names: Vec<String> = named_children(&net).into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["0", "act"]);
/// ```
pub fn named_children(module: &dyn Module) -> Vec<(String, &dyn Module)> {
    let mut found = Vec::new();
    children(module, &mut |name, child| found.push((name.to_owned(), child)));
    found
}

fn children<'a>(module: &'a dyn Module, visit: &mut dyn FnMut(&str, &'a dyn Module)) {
    module.parts(&mut |name, part| match part {
        // The parts of what has no name of its own are this module's.
        Part::Module(inner) if name.is_empty() => children(inner, visit),
        Part::Module(inner) if inner.type_name().is_some() => visit(name, inner),
        _ => {}
    });
}

/// A module, under an empty name, and all modules inside with their paths, each before those that it is made of.
///
/// ```
/// use flambeau::{nn::{Relu, Sequential, named_modules}, prelude::*};
/// let net = Sequential::new().with(Sequential::new().with(Relu));
/// let names: Vec<String> = named_modules(&net).into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["", "0", "0.0"]);
/// ```
pub fn named_modules(module: &dyn Module) -> Vec<(String, &dyn Module)> {
    let mut found = vec![(String::new(), module)];
    for (name, child) in named_children(module) {
        found.extend(named_modules(child).into_iter().map(|(inner, module)| match inner.is_empty() {
            true => (name.clone(), module),
            false => (format!("{name}.{inner}"), module),
        }));
    }
    found
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
