//! Values by name, in the order in which they were put in: dictionaries of modules and of parameters.

use super::{Module, Parameter, Part};
use crate::error::{Error, Result, expect};

/// Values by name, in the order in which they were put in.
///
/// ```
/// use flambeau::nn::OrderedDict;
/// let mut sizes = OrderedDict::new();
/// sizes.insert("width", 3)?;
/// sizes.insert("height", 2)?;
/// assert_eq!(sizes.keys().collect::<Vec<_>>(), ["width", "height"]);
/// assert_eq!((sizes.get("height"), sizes.at(0)), (Some(&2), Some(("width", &3))));
/// assert!(sizes.insert("width", 4).is_err());
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedDict<V> {
    entries: Vec<(String, V)>,
    description: &'static str,
}

/// Modules by name, in order.
pub type ModuleDict<M> = OrderedDict<M>;

/// Parameters by name, in order.
pub type ParameterDict = OrderedDict<Parameter>;

/// A list of parameters; they are named 0, 1, 2, …
pub type ParameterList = Vec<Parameter>;

impl<V> Default for OrderedDict<V> {
    fn default() -> Self {
        OrderedDict::new()
    }
}

impl<V> OrderedDict<V> {
    /// Empty.
    pub fn new() -> OrderedDict<V> {
        OrderedDict::described("key")
    }

    /// Empty; errors call the names so.
    pub fn described(description: &'static str) -> OrderedDict<V> {
        OrderedDict { entries: Vec::new(), description }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Is there a value of this name?
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.entries.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// The value of this name, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.entries.iter_mut().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// The value of this name, or an error that names it.
    pub fn try_get(&self, name: &str) -> Result<&V> {
        self.get(name).ok_or_else(|| self.error(format!("{} '{name}' is not defined", self.description)))
    }

    /// Name and value at a place.
    pub fn at(&self, place: usize) -> Option<(&str, &V)> {
        self.entries.get(place).map(|(name, value)| (name.as_str(), value))
    }

    /// The first, in order.
    pub fn front(&self) -> Option<(&str, &V)> {
        self.at(0)
    }

    /// The last, in order.
    pub fn back(&self) -> Option<(&str, &V)> {
        self.len().checked_sub(1).and_then(|last| self.at(last))
    }

    /// Puts a value at the end; an error if there is one of that name.
    pub fn insert(&mut self, name: impl Into<String>, value: V) -> Result<()> {
        let name = name.into();
        if self.contains(&name) {
            return Err(self.error(format!("{} '{name}' is already defined", self.description)));
        }
        self.entries.push((name, value));
        Ok(())
    }

    /// Puts a value in, in the place of the one of that name if there is one, which is given back.
    pub fn replace(&mut self, name: impl Into<String>, value: V) -> Option<V> {
        let name = name.into();
        match self.get_mut(&name) {
            Some(own) => Some(std::mem::replace(own, value)),
            None => {
                self.entries.push((name, value));
                None
            }
        }
    }

    /// Puts another's values at the end; an error, and nothing is changed, if a name is there already.
    pub fn update(&mut self, other: OrderedDict<V>) -> Result<()> {
        if let Some((name, _)) = other.entries.iter().find(|(name, _)| self.contains(name)) {
            return Err(self.error(format!("{} '{name}' is already defined", self.description)));
        }
        self.entries.extend(other.entries);
        Ok(())
    }

    /// Takes a value out.
    pub fn remove(&mut self, name: &str) -> Result<V> {
        let place = self.entries.iter().position(|(own, _)| own == name);
        let place =
            place.ok_or_else(|| self.error(format!("{} '{name}' is not defined", self.description)))?;
        Ok(self.entries.remove(place).1)
    }

    /// Takes all values out.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// The values, in order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    fn error(&self, message: String) -> Error {
        Error::argument("OrderedDict", message)
    }
}

/// Of pairs whose names differ. Panics if two are the same.
impl<V, const N: usize> From<[(&str, V); N]> for OrderedDict<V> {
    #[track_caller]
    fn from(pairs: [(&str, V); N]) -> Self {
        let mut dict = OrderedDict::new();
        for (name, value) in pairs {
            expect(dict.insert(name, value));
        }
        dict
    }
}

/// The value of that name. Panics if there is none.
impl<V> std::ops::Index<&str> for OrderedDict<V> {
    type Output = V;

    fn index(&self, name: &str) -> &V {
        expect(self.try_get(name))
    }
}

impl<V> IntoIterator for OrderedDict<V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<M: Module> Module for OrderedDict<M> {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        self.iter().for_each(|(name, module)| visit(name, Part::Module(module)));
    }

    fn type_name(&self) -> Option<&str> {
        Some("ModuleDict")
    }
}
