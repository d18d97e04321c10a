//! Settings that arrive as JSON: taken one by one, with defaults, and an error for a name that nobody takes.

use crate::handles::argument;
use flambeau::Result;
use serde_json::{Map, Value};

/// The settings of one layer, schedule or optimizer.
pub struct Options {
    of: &'static str,
    values: Map<String, Value>,
}

impl Options {
    /// Parses an object.
    pub fn parse(of: &'static str, json: &str) -> Result<Options> {
        let value =
            serde_json::from_str(json).map_err(|error| argument(of, format!("bad options: {error}")))?;
        Options::from_value(of, value)
    }

    /// Takes an object that has been parsed.
    pub fn from_value(of: &'static str, value: Value) -> Result<Options> {
        match value {
            Value::Object(values) => Ok(Options { of, values }),
            other => Err(argument(of, format!("options must be an object, not {other}"))),
        }
    }

    /// A value, if it is given.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name).filter(|value| !value.is_null())
    }

    fn wrong<T>(&self, name: &str, value: &Value, wanted: &str) -> Result<T> {
        Err(argument(self.of, format!("{name} must be {wanted}, not {value}")))
    }

    /// A number.
    pub fn number(&mut self, name: &str, default: f64) -> Result<f64> {
        Ok(self.maybe_number(name)?.unwrap_or(default))
    }

    /// A number, if it is given.
    pub fn maybe_number(&mut self, name: &str) -> Result<Option<f64>> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) => Ok(Some(number)),
                None => self.wrong(name, &value, "a number"),
            },
        }
    }

    /// A size, if it is given.
    pub fn maybe_size(&mut self, name: &str) -> Result<Option<usize>> {
        match self.maybe_number(name)? {
            Some(number) if number.fract() != 0.0 || number < 0.0 => {
                self.wrong(name, &Value::from(number), "a whole number, not negative")
            }
            number => Ok(number.map(|number| number as usize)),
        }
    }

    /// A size that must be given.
    pub fn size(&mut self, name: &str) -> Result<usize> {
        self.maybe_size(name)?.ok_or_else(|| argument(self.of, format!("{name} is missing")))
    }

    /// A size.
    pub fn size_or(&mut self, name: &str, default: usize) -> Result<usize> {
        Ok(self.maybe_size(name)?.unwrap_or(default))
    }

    /// A dimension.
    pub fn dim(&mut self, name: &str, default: isize) -> Result<isize> {
        Ok(self.number(name, default as f64)? as isize)
    }

    /// A switch.
    pub fn flag(&mut self, name: &str, default: bool) -> Result<bool> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(value) => self.wrong(name, &value, "true or false"),
        }
    }

    /// A word.
    pub fn word(&mut self, name: &str, default: &str) -> Result<String> {
        match self.take(name) {
            None => Ok(default.to_string()),
            Some(Value::String(word)) => Ok(word),
            Some(value) => self.wrong(name, &value, "a string"),
        }
    }

    /// A number or a list of numbers, as a list; empty when it is not given.
    pub fn numbers(&mut self, name: &str) -> Result<Vec<f64>> {
        let Some(value) = self.take(name) else { return Ok(Vec::new()) };
        let numbers = match &value {
            Value::Array(list) => list.iter().map(Value::as_f64).collect(),
            number => number.as_f64().map(|number| vec![number]),
        };
        match numbers {
            Some(numbers) => Ok(numbers),
            None => self.wrong(name, &value, "a number or a list of numbers"),
        }
    }

    /// N sizes, or one for all.
    pub fn around<const N: usize>(&mut self, name: &str, default: usize) -> Result<[usize; N]> {
        let numbers = self.numbers(name)?;
        match numbers[..] {
            [] => Ok([default; N]),
            [each] => Ok([each as usize; N]),
            _ => {
                let sizes: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
                let wrong = || argument(self.of, format!("{name} must be 1 or {N} numbers, not {sizes:?}"));
                <[usize; N]>::try_from(&sizes[..]).map_err(|_| wrong())
            }
        }
    }

    /// Everything that has not been taken.
    pub fn rest(self) -> Map<String, Value> {
        self.values
    }

    /// Complains about what has not been taken.
    pub fn done(self) -> Result<()> {
        match self.values.keys().next() {
            Some(name) => Err(argument(self.of, format!("there is no option {name}"))),
            None => Ok(()),
        }
    }
}
