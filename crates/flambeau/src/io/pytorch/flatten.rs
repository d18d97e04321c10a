//! From nested dictionaries and lists to names with dots.

use super::pickle::{Object, Objects, Ref};
use super::view::View;
use crate::io::limits::Budget;
use std::collections::BTreeMap;

/// Deeper nesting is a cycle, or meant to harm.
const MAX_DEPTH: usize = 64;
/// The number of entries, containers included, that may come of one pickle: objects may be shared between containers, and
/// a small pickle could make very many of them.
const MAX_ENTRIES: usize = 1 << 20;
/// What an entry takes in memory beside its texts.
const ENTRY: usize = 160;
/// The most characters that a float is written with.
const MAX_DIGITS: usize = 400;

/// Tensors by name in the pickle's order; numbers and strings by name.
pub struct Flat<'a> {
    pub tensors: Vec<(String, &'a View)>,
    pub values: BTreeMap<String, String>,
    entries: usize,
    budget: &'a Budget,
}

pub fn flatten<'a>(objects: &'a Objects, budget: &'a Budget) -> Result<Flat<'a>, String> {
    let mut flat = Flat { tensors: Vec::new(), values: BTreeMap::new(), entries: 0, budget };
    flat.add(objects, objects.root, String::new(), 0)?;
    Ok(flat)
}

impl<'a> Flat<'a> {
    fn add(&mut self, objects: &'a Objects, object: Ref, name: String, depth: usize) -> Result<(), String> {
        self.entries += 1;
        if depth > MAX_DEPTH || self.entries > MAX_ENTRIES {
            return Err("the pickle nests or repeats its objects without bounds".into());
        }
        let budget = self.budget;
        let inside = |key: &str| {
            budget.take(ENTRY + name.len() + 1 + key.len())?;
            Ok::<_, String>(if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") })
        };
        match objects.get(object) {
            Object::Dict(entries) => {
                for &(key, value) in entries {
                    let name = match objects.get(key) {
                        Object::Text(key) => inside(key)?,
                        Object::Int(key) => inside(&key.to_string())?,
                        _ => return Err(format!("`{name}` has a key that is neither string nor integer")),
                    };
                    self.add(objects, value, name, depth + 1)?;
                }
            }
            Object::List(items) | Object::Tuple(items) => {
                for (index, &item) in items.iter().enumerate() {
                    self.add(objects, item, inside(&index.to_string())?, depth + 1)?;
                }
            }
            Object::Tensor(view) => {
                let name = if name.is_empty() { "tensor".to_owned() } else { name };
                self.tensors.push((name, view));
            }
            Object::Bool(value) => drop(self.values.insert(name, value.to_string())),
            Object::Int(value) => drop(self.values.insert(name, value.to_string())),
            // In digits a float can be long.
            Object::Float(value) => {
                budget.take(MAX_DIGITS)?;
                self.values.insert(name, value.to_string());
            }
            Object::Text(value) => {
                budget.take(value.len())?;
                self.values.insert(name, value.clone());
            }
            Object::None | Object::Global(_) | Object::Storage(_) => {}
        }
        Ok(())
    }

    /// Only what is under this name, without it; or the names there are.
    pub fn part(mut self, part: &str) -> Result<Flat<'a>, String> {
        let strip = |name: &str| name.strip_prefix(part)?.strip_prefix('.').map(str::to_owned);
        let all: Vec<&str> = self.tensors.iter().map(|(name, _)| name.as_str()).collect();
        if !all
            .iter()
            .copied()
            .chain(self.values.keys().map(String::as_str))
            .any(|name| strip(name).is_some())
        {
            let mut there: Vec<&str> =
                all.iter().map(|name| name.split('.').next().unwrap_or_default()).collect();
            there.dedup();
            there.truncate(10);
            let there = there.join(", ");
            return Err(format!("there is nothing under `{part}`; there are tensors under: {there}"));
        }
        self.tensors =
            self.tensors.into_iter().filter_map(|(name, view)| Some((strip(&name)?, view))).collect();
        self.values =
            self.values.into_iter().filter_map(|(name, value)| Some((strip(&name)?, value))).collect();
        Ok(self)
    }
}
