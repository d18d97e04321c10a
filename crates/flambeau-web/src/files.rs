//! Files and tables: weights, checkpoints, idx and CSV, all as bytes.

use crate::device::current;
use crate::handles::{self, argument};
use crate::optim::with_optimizer;
use flambeau::calls::dtype_code;
use flambeau::data::{HostArray, Table, TableOptions, parse_idx};
use flambeau::io::{State, StateDict, read_safetensors, read_states, write_safetensors, write_states};
use flambeau::{Result as Fallible, Tensor};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use wasm_bindgen::prelude::*;

fn named(names: Vec<String>, handles: &[u32]) -> Fallible<StateDict> {
    let tensors = handles.iter().map(|&handle| handles::get(handle));
    names.into_iter().zip(tensors).map(|(name, tensor)| Ok((name, tensor?))).collect::<Fallible<StateDict>>()
}

/// Named tensors as a safetensors file; `metadata` is a JSON object of strings.
#[wasm_bindgen]
pub async fn safetensors_write(
    names: Vec<String>,
    handles: Vec<u32>,
    metadata: String,
) -> Result<Vec<u8>, JsError> {
    let metadata: BTreeMap<String, String> = serde_json::from_str(&metadata)?;
    let tensors = named(names, &handles)?;
    Ok(write_safetensors(&tensors, &metadata).await?)
}

/// Named tensors, as they come out of a file.
#[wasm_bindgen]
pub struct NamedTensors {
    names: Vec<String>,
    handles: Vec<u32>,
    text: String,
}

#[wasm_bindgen]
impl NamedTensors {
    /// The names.
    #[wasm_bindgen(getter)]
    pub fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The tensors' handles, which are the caller's from now on.
    #[wasm_bindgen(getter)]
    pub fn handles(&self) -> Vec<u32> {
        self.handles.clone()
    }

    /// What the file holds beside the tensors, as JSON.
    #[wasm_bindgen(getter)]
    pub fn text(&self) -> String {
        self.text.clone()
    }
}

impl NamedTensors {
    fn new(tensors: impl IntoIterator<Item = (String, Tensor)>, text: String) -> NamedTensors {
        let (names, handles) =
            tensors.into_iter().map(|(name, tensor)| (name, handles::hold(tensor))).unzip();
        NamedTensors { names, handles, text }
    }
}

/// The tensors of a safetensors file.
#[wasm_bindgen]
pub fn safetensors_read(bytes: &[u8]) -> Result<NamedTensors, JsError> {
    let loaded = read_safetensors(bytes, &current()?)?;
    let text = serde_json::to_string(&loaded.metadata)?;
    Ok(NamedTensors::new(loaded.tensors, text))
}

/// A checkpoint: the model's tensors, an optimizer's state (0 for none), and the caller's own values (a JSON object).
#[wasm_bindgen]
pub async fn checkpoint_write(
    names: Vec<String>,
    handles: Vec<u32>,
    optimizer: u32,
    values: String,
) -> Result<Vec<u8>, JsError> {
    let values: Map<String, Value> = serde_json::from_str(&values)?;
    let model = State { tensors: named(names, &handles)?, values };
    let optimizer = match optimizer {
        0 => None,
        number => Some(with_optimizer(number, |optimizer| Ok(optimizer.state()))?),
    };
    let mut parts = vec![("model", &model)];
    parts.extend(optimizer.as_ref().map(|state| ("optimizer", state)));
    Ok(write_states(&parts).await?)
}

/// Takes a checkpoint up: the optimizer's state goes where it belongs, the model's tensors and the values come back.
#[wasm_bindgen]
pub fn checkpoint_read(bytes: &[u8], optimizer: u32) -> Result<NamedTensors, JsError> {
    let mut parts = read_states(bytes, &current()?)?;
    let model = parts.remove("model").ok_or_else(|| argument("checkpoint", "it holds no model"))?;
    if optimizer != 0 {
        let state =
            parts.remove("optimizer").ok_or_else(|| argument("checkpoint", "it holds no optimizer"))?;
        with_optimizer(optimizer, |optimizer| optimizer.load_state(&state))?;
    }
    let text = serde_json::to_string(&model.values)?;
    Ok(NamedTensors::new(model.tensors, text))
}

/// An array in the host's memory.
#[wasm_bindgen]
pub struct HostData(HostArray);

#[wasm_bindgen]
impl HostData {
    /// The sizes of its dimensions.
    #[wasm_bindgen(getter)]
    pub fn shape(&self) -> Vec<u32> {
        self.0.shape().dims().iter().map(|&size| size as u32).collect()
    }

    /// The number of its dtype.
    #[wasm_bindgen(getter)]
    pub fn dtype(&self) -> u8 {
        dtype_code(self.0.dtype())
    }

    /// Its bytes.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> Vec<u8> {
        self.0.bytes().to_vec()
    }
}

/// An idx file (MNIST's format), plain or gzipped.
#[wasm_bindgen]
pub fn idx_read(bytes: &[u8]) -> Result<HostData, JsError> {
    Ok(HostData(parse_idx(bytes)?))
}

/// A table of text and numbers.
#[wasm_bindgen]
pub struct CsvTable(Table);

#[wasm_bindgen]
impl CsvTable {
    /// Parses CSV.
    #[wasm_bindgen(constructor)]
    pub fn new(bytes: &[u8], delimiter: u8, header: bool) -> Result<CsvTable, JsError> {
        let options = TableOptions { delimiter, header, ..Default::default() };
        Ok(CsvTable(Table::parse(bytes, options)?))
    }

    /// The columns' names.
    #[wasm_bindgen(getter)]
    pub fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// The number of rows.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// The text of a column.
    pub fn text(&self, name: &str) -> Result<Vec<String>, JsError> {
        Ok(self.0.text(name)?.into_iter().map(str::to_string).collect())
    }

    /// Columns of numbers, as (rows, columns).
    pub fn numbers(&self, names: Vec<String>) -> Result<HostData, JsError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(HostData(self.0.numbers(&names)?))
    }

    /// A column of words, as class numbers.
    pub fn classes(&self, name: &str) -> Result<HostData, JsError> {
        Ok(HostData(self.0.classes(name)?.0))
    }

    /// The words of these class numbers.
    pub fn class_names(&self, name: &str) -> Result<Vec<String>, JsError> {
        Ok(self.0.classes(name)?.1)
    }
}
