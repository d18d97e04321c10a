//! Optimizers by name.

use crate::output::refused;
use flambeau::Result;
use flambeau::nn::Parameter;
use flambeau::optim::{
    Adadelta, Adagrad, Adam, AdamW, Adamax, Lion, NAdam, Optimizer, RAdam, RmsProp, Sgd, SgdOptions,
};

/// Makes an optimizer of parameters and a learning rate.
type Make = fn(Vec<Parameter>, f64) -> Box<dyn Optimizer>;

/// Name, learning rate as a multiple of Adam's, and maker.
const OPTIMIZERS: &[(&str, f64, Make)] = &[
    ("adam", 1.0, |parameters, rate| Box::new(Adam::new(parameters, rate))),
    ("adamw", 1.0, |parameters, rate| Box::new(AdamW::new(parameters, rate))),
    ("sgd", 20.0, |parameters, rate| {
        let options =
            SgdOptions { learning_rate: rate, momentum: 0.9, nesterov: true, ..SgdOptions::default() };
        Box::new(Sgd::with_options(parameters, options))
    }),
    ("lion", 0.1, |parameters, rate| Box::new(Lion::new(parameters, rate))),
    ("nadam", 1.0, |parameters, rate| Box::new(NAdam::new(parameters, rate))),
    ("radam", 1.0, |parameters, rate| Box::new(RAdam::new(parameters, rate))),
    ("adamax", 2.0, |parameters, rate| Box::new(Adamax::new(parameters, rate))),
    ("rmsprop", 0.25, |parameters, rate| Box::new(RmsProp::new(parameters, rate))),
    ("adagrad", 5.0, |parameters, rate| Box::new(Adagrad::new(parameters, rate))),
    ("adadelta", 250.0, |parameters, rate| Box::new(Adadelta::new(parameters, rate))),
];

/// An optimizer that can be made.
pub struct Choice {
    make: Make,
    /// Its highest learning rate.
    pub rate: f64,
}

impl Choice {
    /// The optimizer of that name, with its learning rate: the given one, or its multiple of Adam's.
    pub fn named(name: &str, given: Option<f64>, adams: f64) -> Result<Choice> {
        if let Some(rate) = given.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
            return Err(refused(
                "--lr",
                format!("{rate} is no learning rate; take one above 0, e.g. {adams}"),
            ));
        }
        let found = OPTIMIZERS.iter().find(|(known, ..)| *known == name);
        let &(_, multiple, make) = found.ok_or_else(|| {
            let names: Vec<&str> = OPTIMIZERS.iter().map(|(name, ..)| *name).collect();
            refused(
                "--optimizer",
                format!("there is no optimizer `{name}`; take one of {}", names.join(", ")),
            )
        })?;
        Ok(Choice { make, rate: given.unwrap_or(adams * multiple) })
    }

    /// The optimizer of these parameters.
    pub fn make(&self, parameters: Vec<Parameter>) -> Box<dyn Optimizer> {
        (self.make)(parameters, self.rate)
    }
}
