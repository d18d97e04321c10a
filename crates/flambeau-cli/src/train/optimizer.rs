//! Optimizers by name.

use crate::output::refused;
use flambeau::Result;
use flambeau::bindings::optimizers::by_name;
use flambeau::nn::Parameter;
use flambeau::optim::Optimizer;
use serde_json::Value;

/// Of the library's optimizers those for any model: name, learning rate as a multiple of Adam's, and what is set unlike the
/// library's defaults, as JSON.
const OPTIMIZERS: &[(&str, f64, &str)] = &[
    ("adam", 1.0, "{}"),
    ("adamw", 1.0, "{}"),
    ("sgd", 20.0, r#"{"momentum": 0.9, "nesterov": true}"#),
    ("lion", 0.1, "{}"),
    ("nadam", 1.0, "{}"),
    ("radam", 1.0, "{}"),
    ("adamax", 2.0, "{}"),
    ("rmsprop", 0.25, "{}"),
    ("adagrad", 5.0, "{}"),
    ("adadelta", 250.0, "{}"),
];

/// An optimizer that can be made.
pub struct Choice {
    name: &'static str,
    settings: &'static str,
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
        let &(name, multiple, settings) = found.ok_or_else(|| {
            let names: Vec<&str> = OPTIMIZERS.iter().map(|(name, ..)| *name).collect();
            refused(
                "--optimizer",
                format!("there is no optimizer `{name}`; take one of {}", names.join(", ")),
            )
        })?;
        Ok(Choice { name, settings, rate: given.unwrap_or(adams * multiple) })
    }

    /// The optimizer of these parameters.
    pub fn make(&self, parameters: Vec<Parameter>) -> Result<Box<dyn Optimizer>> {
        let mut settings: Value = serde_json::from_str(self.settings).expect("the list has JSON");
        settings["lr"] = self.rate.into();
        by_name(self.name, vec![(parameters, settings)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flambeau::bindings::optimizers::NAMES;

    #[test]
    fn every_optimizer_can_be_chosen() {
        let mut names: Vec<&str> = OPTIMIZERS.iter().map(|(name, ..)| *name).collect();
        // Muon takes matrices only: the library's models have biases too.
        names.push("muon");
        names.sort_unstable();
        let mut library = NAMES.to_vec();
        library.sort_unstable();
        assert_eq!(names, library);
    }
}
