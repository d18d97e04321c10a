//! One step of a program, as the tables of ops see it: operands and options.

use flambeau::nn::{Module, Parameter};
use flambeau::{Device, Dims, Error, Result, Tensor};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;

/// What an entry of a table does: a step's results.
pub type Op = fn(&Call) -> Result<Vec<Tensor>>;

pub struct Call<'a> {
    pub operands: Vec<Tensor>,
    pub options: &'a Value,
    pub device: &'a Device,
    /// The leaves' numbers of the operands.
    pub numbers: &'a [usize],
    /// Leaves that became the parameters of a layer.
    pub parameters: &'a RefCell<HashMap<usize, Parameter>>,
}

impl Call<'_> {
    pub fn x(&self) -> &Tensor {
        &self.operands[0]
    }

    pub fn y(&self) -> &Tensor {
        &self.operands[1]
    }

    /// An operand that may be missing.
    pub fn maybe(&self, number: usize) -> Option<&Tensor> {
        self.operands.get(number)
    }

    /// An option as a number; infinities are words.
    pub fn number(&self, name: &str) -> f64 {
        number(&self.options[name]).unwrap_or(f64::NAN)
    }

    /// An option that may be null or missing.
    pub fn maybe_number(&self, name: &str) -> Option<f64> {
        number(&self.options[name])
    }

    pub fn integer(&self, name: &str) -> i64 {
        self.options[name].as_i64().unwrap_or_default()
    }

    pub fn size(&self, name: &str) -> usize {
        self.integer(name) as usize
    }

    pub fn dim(&self) -> isize {
        self.integer("dim") as isize
    }

    pub fn flag(&self, name: &str) -> bool {
        self.options[name].as_bool().unwrap_or(false)
    }

    pub fn word(&self, name: &str) -> &str {
        self.options[name].as_str().unwrap_or_default()
    }

    pub fn list(&self, name: &str) -> Vec<i64> {
        let items = self.options[name].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_i64).collect()
    }

    pub fn sizes(&self, name: &str) -> Vec<usize> {
        self.list(name).into_iter().map(|size| size as usize).collect()
    }

    /// A number for each of N dimensions.
    pub fn each<const N: usize>(&self, name: &str) -> [usize; N] {
        let sizes = self.sizes(name);
        std::array::from_fn(|d| sizes[d])
    }

    /// The dimensions of a reduction; all where none are given.
    pub fn dims(&self) -> Dims {
        match self.options["dims"].is_array() {
            true => Dims::from(self.list("dims").into_iter().map(|dim| dim as isize).collect::<Vec<_>>()),
            false => Dims::from(..),
        }
    }

    /// Gives a layer the parameters that the operands from `first` on are.
    pub fn give(&self, module: &impl Module, first: usize) -> Result<()> {
        let own: HashMap<String, Parameter> = module.named_parameters().into_iter().collect();
        let names = self.options["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (k, name) in names.iter().filter_map(Value::as_str).enumerate() {
            let missing =
                || Error::Autograd(format!("the layer has no parameter {name}; it has {:?}", own.keys()));
            let parameter = own.get(name).ok_or_else(missing)?;
            parameter.try_set(&self.operands[first + k].detach())?;
            self.parameters.borrow_mut().insert(self.numbers[first + k], parameter.clone());
        }
        Ok(())
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str().and_then(|word| word.parse().ok()))
}

/// A single result.
pub fn one(result: Result<Tensor>) -> Result<Vec<Tensor>> {
    Ok(vec![result?])
}

/// Two results.
pub fn two(result: Result<(Tensor, Tensor)>) -> Result<Vec<Tensor>> {
    let (first, second) = result?;
    Ok(vec![first, second])
}
