//! Cases as the generator writes them.

use flambeau::{DType, Device, Result, Tensor};
use serde::Deserialize;
use serde_json::Value;

/// A number; infinities and NaN are words.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(f64),
    Word(String),
}

impl Number {
    fn value(&self) -> f64 {
        match self {
            Number::Plain(value) => *value,
            Number::Word(word) => word.parse().unwrap_or(f64::NAN),
        }
    }
}

/// A tensor, and where it is an answer how close one has to come.
#[derive(Deserialize)]
pub struct Given {
    #[serde(rename = "s")]
    pub shape: Vec<usize>,
    #[serde(rename = "d")]
    pub dtype: String,
    #[serde(rename = "v")]
    numbers: Vec<Number>,
    /// Does it get a gradient?
    #[serde(rename = "g", default)]
    pub gradient: bool,
    /// An absolute tolerance of all elements, beside the relative one.
    #[serde(rename = "a", default)]
    absolute: f64,
    /// An absolute tolerance for each element instead.
    #[serde(rename = "t")]
    tolerances: Option<Vec<f64>>,
}

/// A tensor as it is compared.
pub struct Found {
    shape: Vec<usize>,
    dtype: DType,
    values: Vec<f64>,
}

impl Found {
    pub fn new(tensor: &Tensor, values: Vec<f64>) -> Found {
        Found { shape: tensor.shape().dims().to_vec(), dtype: tensor.dtype(), values }
    }
}

/// The relative tolerance of elements that have no own.
const RELATIVE: f64 = 4e-6;

impl Given {
    pub fn values(&self) -> Vec<f64> {
        self.numbers.iter().map(Number::value).collect()
    }

    pub fn dtype(&self) -> DType {
        match self.dtype.as_str() {
            "f64" => DType::F64,
            "i32" => DType::I32,
            // Indexes and class numbers are I64 in PyTorch and I32 here.
            "i64" => DType::I32,
            "u8" => DType::U8,
            "bool" => DType::Bool,
            _ => DType::F32,
        }
    }

    pub fn tensor(&self, device: &Device) -> Result<Tensor> {
        of_values(&self.values(), &self.shape, self.dtype(), device)
    }

    /// What is wrong with a tensor that should be this one.
    pub fn compare(&self, what: &str, got: &Found) -> Option<String> {
        if got.shape != self.shape || got.dtype != self.dtype() {
            let (shape, dtype) = (&self.shape, self.dtype());
            return Some(format!("{what} is {} {:?}, not {dtype} {shape:?}", got.dtype, got.shape));
        }
        let got = &got.values;
        let want = self.values();
        let rough = if self.dtype == "f64" { 1e-3 } else { 1.0 };
        let close = |k: usize| {
            let tolerance = match &self.tolerances {
                Some(tolerances) => tolerances[k],
                None => RELATIVE * rough * want[k].abs() + self.absolute,
            };
            // The smallest normal number: below, devices may round to zero.
            let least = f64::from(f32::MIN_POSITIVE);
            got[k] == want[k]
                || (got[k].is_nan() && want[k].is_nan())
                || (want[k].is_finite() && (got[k] - want[k]).abs() <= tolerance + least)
        };
        let bad = (0..want.len()).find(|&k| !close(k))?;
        let count = (0..want.len()).filter(|&k| !close(k)).count();
        Some(format!(
            "{what}: element {bad} is {:?}, not {:?} ({count} of {})",
            got[bad],
            want[bad],
            want.len()
        ))
    }
}

/// A tensor of a dtype from numbers.
pub fn of_values(values: &[f64], shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    match dtype {
        DType::F64 => Tensor::try_from_slice(values, shape, device),
        DType::F32 => {
            let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            Tensor::try_from_slice(&values, shape, device)
        }
        dtype => {
            let values: Vec<i32> = values.iter().map(|&x| x as i32).collect();
            Tensor::try_from_slice(&values, shape, device)?.try_to_dtype(dtype)
        }
    }
}

/// One step of a program: an op, the numbers of its operands, its options.
#[derive(Deserialize)]
pub struct Step(pub String, pub Vec<usize>, pub Value);

#[derive(Deserialize)]
pub struct Program {
    pub leaves: Vec<Given>,
    pub steps: Vec<Step>,
    #[serde(rename = "out")]
    pub outputs: Vec<usize>,
    pub want: Vec<Given>,
    #[serde(rename = "grad")]
    pub gradients: Vec<(usize, Given)>,
}

#[derive(Deserialize)]
pub struct Optimizer {
    #[serde(rename = "optim")]
    pub name: String,
    #[serde(rename = "opt")]
    pub options: Value,
    pub leaves: Vec<Given>,
    #[serde(rename = "steps_grads")]
    pub gradients: Vec<Vec<Vec<f64>>>,
    pub want: Vec<Given>,
}

#[derive(Deserialize)]
pub struct Schedule {
    #[serde(rename = "schedule")]
    pub name: String,
    #[serde(rename = "opt")]
    pub options: Value,
    pub rates: Vec<f64>,
    pub momenta: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Case {
    Program(Program),
    Optimizer(Optimizer),
    Schedule(Schedule),
}

impl Case {
    /// The case of a line, and its number.
    pub fn read(line: &str) -> (u64, Case) {
        let value: Value = serde_json::from_str(line).expect("a line of the generator is JSON");
        let number = value["n"].as_u64().expect("a case has a number");
        (number, serde_json::from_value(value).expect("a line of the generator is a case"))
    }

    pub fn is_program(&self) -> bool {
        matches!(self, Case::Program(_))
    }

    /// Does it need what no GPU has?
    pub fn needs_cpu(&self) -> bool {
        let wide = |given: &Given| given.dtype == "f64";
        matches!(self, Case::Program(program) if program.leaves.iter().chain(&program.want).any(wide))
    }

    pub fn title(&self) -> String {
        match self {
            Case::Program(program) => {
                let step = |Step(name, operands, options): &Step| match options.as_object() {
                    Some(options) if options.is_empty() => format!("{name}{operands:?}"),
                    _ => format!("{name}{operands:?} {options}"),
                };
                program.steps.iter().map(step).collect::<Vec<_>>().join(", ")
            }
            Case::Optimizer(optimizer) => format!("{} {}", optimizer.name, optimizer.options),
            Case::Schedule(schedule) => format!("{} {}", schedule.name, schedule.options),
        }
    }
}
