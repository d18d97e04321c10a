//! From nested dictionaries and lists to names with dots.

use super::pickle::{Object, Objects, Ref};
use super::view::View;
use std::collections::BTreeMap;

/// Deeper nesting is a cycle, or meant to harm.
const MAX_DEPTH: usize = 64;
/// The number of entries, containers included, and the bytes of text that may come of one pickle: objects may be shared
/// between containers, and a small pickle could make very many of them.
const MAX_ENTRIES: usize = 1 << 20;
const MAX_TEXT: usize = 1 << 28;

/// Tensors by name in the pickle's order; numbers and strings by name.
#[derive(Default)]
pub struct Flat {
    pub tensors: Vec<(String, View)>,
    pub values: BTreeMap<String, String>,
    entries: usize,
    text: usize,
}

pub fn flatten(objects: &Objects) -> Result<Flat, String> {
    let mut flat = Flat::default();
    flat.add(objects, objects.root, String::new(), 0)?;
    Ok(flat)
}

impl Flat {
    fn add(&mut self, objects: &Objects, object: Ref, name: String, depth: usize) -> Result<(), String> {
        self.entries += 1;
        self.text += name.len();
        if depth > MAX_DEPTH || self.entries > MAX_ENTRIES || self.text > MAX_TEXT {
            return Err("the pickle nests or repeats its objects without bounds".into());
        }
        let inside = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        match objects.get(object) {
            Object::Dict(entries) => {
                for &(key, value) in entries {
                    let name = match objects.get(key) {
                        Object::Text(key) => inside(key),
                        Object::Int(key) => inside(&key.to_string()),
                        _ => return Err(format!("`{name}` has a key that is neither string nor integer")),
                    };
                    self.add(objects, value, name, depth + 1)?;
                }
            }
            Object::List(items) | Object::Tuple(items) => {
                for (index, &item) in items.iter().enumerate() {
                    self.add(objects, item, inside(&index.to_string()), depth + 1)?;
                }
            }
            Object::Tensor(view) => {
                let name = if name.is_empty() { "tensor".to_owned() } else { name };
                self.tensors.push((name, view.clone()));
            }
            Object::Bool(value) => self.value(name, value.to_string()),
            Object::Int(value) => self.value(name, value.to_string()),
            Object::Float(value) => self.value(name, value.to_string()),
            Object::Text(value) => self.value(name, value.clone()),
            Object::None | Object::Global(_) | Object::Storage(_) => {}
        }
        Ok(())
    }

    fn value(&mut self, name: String, value: String) {
        self.text += value.len();
        self.values.insert(name, value);
    }

    /// Only what is under this name, without it; or the names there are.
    pub fn part(mut self, part: &str) -> Result<Flat, String> {
        let strip = |name: &str| name.strip_prefix(part)?.strip_prefix('.').map(str::to_owned);
        let first_word = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
        let mut there: Vec<String> = self.tensors.iter().map(|(name, _)| first_word(name)).collect();
        there.dedup();
        self.tensors =
            self.tensors.into_iter().filter_map(|(name, view)| Some((strip(&name)?, view))).collect();
        self.values =
            self.values.into_iter().filter_map(|(name, value)| Some((strip(&name)?, value))).collect();
        if self.tensors.is_empty() && self.values.is_empty() {
            there.truncate(10);
            return Err(format!(
                "there is nothing under `{part}`; there are tensors under: {}",
                there.join(", ")
            ));
        }
        Ok(self)
    }
}
