//! What messages consist of: arrays, numbers and settings, each by name. The order of names is kept, because an object's name
//! depends on it.

use crate::error::{FlowerError, Result};
use crate::wire::{self, ProtoItem, ProtoKind, ProtoRecord, ProtoValue};
use flambeau::io::{read_npy, write_npy};
use flambeau::{DType, Device, Tensor};
use std::collections::HashMap;

/// How arrays are stored: in NumPy's format, the only one that Flower has.
const NUMPY: &str = "numpy.ndarray";

/// Values by name, in the order in which they were put in.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Vec::new())
    }
}

impl<T> Named<T> {
    /// Puts a value under a name; one that was there before keeps its place and gets the new value.
    pub fn insert(&mut self, name: impl Into<String>, value: T) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// The same with one more value.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: T) -> Self {
        self.insert(name, value);
        self
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T, S: Into<String>> FromIterator<(S, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (S, T)>>(items: I) -> Self {
        let (mut values, mut places) = (Vec::new(), HashMap::new());
        for (name, value) in items {
            let name = name.into();
            match places.get(&name) {
                Some(&place) => values[place] = (name, value),
                None => {
                    places.insert(name.clone(), values.len());
                    values.push((name, value));
                }
            }
        }
        Named(values)
    }
}

impl<T> IntoIterator for Named<T> {
    type Item = (String, T);
    type IntoIter = std::vec::IntoIter<(String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A number, a text, bytes, or a list of one of these.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Double(f64),
    Int(i64),
    /// A whole number above the largest `i64`.
    UInt(u64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
    Doubles(Vec<f64>),
    Ints(Vec<i64>),
    UInts(Vec<u64>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
    ByteStrings(Vec<Vec<u8>>),
}

impl Value {
    /// The number, whole or not.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Double(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            Value::UInt(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// Can it be a metric: a number, or a list of numbers?
    pub fn is_metric(&self) -> bool {
        use Value::{Double, Doubles, Int, Ints, UInt, UInts};
        matches!(self, Double(_) | Int(_) | UInt(_) | Doubles(_) | Ints(_) | UInts(_))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Double(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

/// An array as it travels: what it is, and its bytes in NumPy's format.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// NumPy's name of the type, such as `float32`; Flower's older strategies leave it empty.
    pub dtype: String,
    /// The sizes; Flower's older strategies leave them out.
    pub shape: Vec<u64>,
    /// How `data` is written: `numpy.ndarray`.
    pub stype: String,
    /// An `.npy` file.
    pub data: Vec<u8>,
}

impl Array {
    /// A tensor as an array.
    pub async fn of(tensor: &Tensor) -> Result<Array> {
        let dtype = match tensor.dtype() {
            DType::Bool => "bool",
            DType::U8 => "uint8",
            DType::I32 => "int32",
            DType::U32 => "uint32",
            DType::I64 => "int64",
            DType::F16 => "float16",
            DType::F32 => "float32",
            DType::F64 => "float64",
        };
        let shape = tensor.shape().dims().iter().map(|&size| size as u64).collect();
        Ok(Array { dtype: dtype.into(), shape, stype: NUMPY.into(), data: write_npy(tensor).await? })
    }

    /// The array as a tensor on a device.
    pub fn to_tensor(&self, device: &Device) -> Result<Tensor> {
        if self.stype != NUMPY {
            let message = format!("an array is written as `{}`, not as {NUMPY}", self.stype);
            return Err(FlowerError::Argument { what: "array", message });
        }
        Ok(read_npy(&self.data, device)?.0)
    }
}

/// A part of a message's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Arrays: the parameters of a model.
    Arrays(Named<Array>),
    /// Numbers.
    Metrics(Named<Value>),
    /// Settings.
    Config(Named<Value>),
}

/// A message's content.
pub type RecordDict = Named<Record>;

impl Named<Record> {
    /// The records of arrays.
    pub fn arrays(&self) -> impl Iterator<Item = (&str, &Named<Array>)> {
        self.iter().filter_map(|(name, record)| match record {
            Record::Arrays(arrays) => Some((name, arrays)),
            _ => None,
        })
    }

    /// The records of metrics.
    pub fn metrics(&self) -> impl Iterator<Item = (&str, &Named<Value>)> {
        self.iter().filter_map(|(name, record)| match record {
            Record::Metrics(metrics) => Some((name, metrics)),
            _ => None,
        })
    }

    /// The records of settings.
    pub fn configs(&self) -> impl Iterator<Item = (&str, &Named<Value>)> {
        self.iter().filter_map(|(name, record)| match record {
            Record::Config(config) => Some((name, config)),
            _ => None,
        })
    }
}

/// Values as protobuf has them.
pub(crate) fn to_proto(values: &Named<Value>) -> ProtoRecord {
    let kind = |value: &Value| match value.clone() {
        Value::Double(value) => ProtoKind::Double(value),
        Value::Int(value) => ProtoKind::Int(value),
        Value::UInt(value) => ProtoKind::UInt(value),
        Value::Bool(value) => ProtoKind::Bool(value),
        Value::Text(value) => ProtoKind::Text(value),
        Value::Bytes(value) => ProtoKind::Bytes(value),
        Value::Doubles(values) => ProtoKind::Doubles(wire::DoubleList { values }),
        Value::Ints(values) => ProtoKind::Ints(wire::IntList { values }),
        Value::UInts(values) => ProtoKind::UInts(wire::UIntList { values }),
        Value::Bools(values) => ProtoKind::Bools(wire::BoolList { values }),
        Value::Texts(values) => ProtoKind::Texts(wire::TextList { values }),
        Value::ByteStrings(values) => ProtoKind::ByteStrings(wire::BytesList { values }),
    };
    let item = |(key, value): (&str, &Value)| ProtoItem {
        key: key.to_owned(),
        value: Some(ProtoValue { kind: Some(kind(value)) }),
    };
    ProtoRecord { items: values.iter().map(item).collect() }
}

/// Values from protobuf; one without a value has no meaning.
pub(crate) fn from_proto(record: ProtoRecord) -> std::result::Result<Named<Value>, String> {
    let value = |item: ProtoItem| {
        let kind = item.value.and_then(|value| value.kind);
        let kind = kind.ok_or_else(|| format!("`{}` has no value", item.key))?;
        let value = match kind {
            ProtoKind::Double(value) => Value::Double(value),
            ProtoKind::Int(value) => Value::Int(value),
            ProtoKind::UInt(value) => Value::UInt(value),
            ProtoKind::Bool(value) => Value::Bool(value),
            ProtoKind::Text(value) => Value::Text(value),
            ProtoKind::Bytes(value) => Value::Bytes(value),
            ProtoKind::Doubles(list) => Value::Doubles(list.values),
            ProtoKind::Ints(list) => Value::Ints(list.values),
            ProtoKind::UInts(list) => Value::UInts(list.values),
            ProtoKind::Bools(list) => Value::Bools(list.values),
            ProtoKind::Texts(list) => Value::Texts(list.values),
            ProtoKind::ByteStrings(list) => Value::ByteStrings(list.values),
        };
        Ok((item.key, value))
    };
    record.items.into_iter().map(value).collect()
}
