//! What is saved: named tensors, and the numbers that go with them.

use crate::error::{Error, Result};
use crate::tensor::Tensor;
use serde_json::{Map, Value};

/// Named tensors in a fixed order, as PyTorch's `state_dict`.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::StateDict;
/// let mut state = StateDict::new();
/// state.insert("fc.weight", Tensor::ones([2, 2], &Device::cpu()));
/// assert_eq!(state.get("fc.weight").unwrap().shape().dims(), [2, 2]);
/// assert_eq!(state.names().collect::<Vec<_>>(), ["fc.weight"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct StateDict(Vec<(String, Tensor)>);

impl StateDict {
    /// Nothing yet.
    pub fn new() -> StateDict {
        StateDict::default()
    }

    /// Adds a tensor, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        let name = name.into();
        match self.0.iter_mut().find(|(present, _)| *present == name) {
            Some((_, place)) => *place = tensor,
            None => self.0.push((name, tensor)),
        }
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.iter().find(|(present, _)| present == name).map(|(_, tensor)| tensor)
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Names and tensors, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The tensors whose names begin with `prefix`, without it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::io::StateDict;
    /// let state = StateDict::from_iter([("model.w".to_string(), Tensor::ones([1], &Device::cpu()))]);
    /// assert!(state.strip_prefix("model.").get("w").is_some());
    /// ```
    pub fn strip_prefix(&self, prefix: &str) -> StateDict {
        let inside =
            |(name, tensor): (&str, &Tensor)| Some((name.strip_prefix(prefix)?.to_owned(), tensor.clone()));
        self.iter().filter_map(inside).collect()
    }

    /// Adds all tensors of `other` with `prefix` before their names.
    pub fn extend_with_prefix(&mut self, prefix: &str, other: &StateDict) {
        self.0.extend(other.iter().map(|(name, tensor)| (format!("{prefix}{name}"), tensor.clone())));
    }
}

impl FromIterator<(String, Tensor)> for StateDict {
    fn from_iter<I: IntoIterator<Item = (String, Tensor)>>(tensors: I) -> StateDict {
        StateDict(tensors.into_iter().collect())
    }
}

impl IntoIterator for StateDict {
    type Item = (String, Tensor);
    type IntoIter = std::vec::IntoIter<(String, Tensor)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Everything that one part of a training run (model, optimizer, scheduler, loader, generator) needs to go on later
/// as if it had never stopped: tensors, and values that JSON can hold.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// Tensors by name.
    pub tensors: StateDict,
    /// Everything else by name. 64-bit counters and keys are stored as strings: JSON numbers have 53 exact bits
    /// elsewhere.
    pub values: Map<String, Value>,
}

impl State {
    /// A value by name, in the type asked for; an error that names it if it is missing or of another kind.
    ///
    /// ```
    /// use flambeau::io::State;
    /// let mut state = State::default();
    /// state.set("epoch", 3);
    /// assert_eq!(state.value::<u64>("epoch")?, 3);
    /// assert!(state.value::<u64>("step").unwrap_err().to_string().contains("`step` is missing"));
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    pub fn value<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        let value = self.values.get(name).ok_or_else(|| Error::State(format!("`{name}` is missing")))?;
        serde_json::from_value(value.clone()).map_err(|error| Error::State(format!("`{name}`: {error}")))
    }

    /// Stores a value. Floats must be finite to come back.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.values.insert(name.into(), value.into());
    }
}

/// A part of a training run that can be saved and brought back.
pub trait Stateful {
    /// What it needs to go on later.
    fn state(&self) -> State;

    /// Takes up a state that [`state`](Stateful::state) gave. On error nothing has changed.
    fn load_state(&mut self, state: &State) -> Result<()>;
}
