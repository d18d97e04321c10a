//! Optimizers by name.

use crate::output::refused;
use crate::task::Recipe;
use flambeau::Result;
use flambeau::bindings::optimizers::by_name;
use flambeau::nn::Parameter;
use flambeau::optim::Optimizer;
use serde_json::{Value, json};

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
    settings: Value,
    /// Its highest learning rate.
    pub rate: f64,
}

impl Choice {
    /// The optimizer of that name, with its learning rate: the given one, or its multiple of Adam's.
    pub fn named(name: &str, given: Option<f64>, adams: f64) -> Result<Choice> {
        check_rate(given, adams)?;
        let found = OPTIMIZERS.iter().find(|(known, ..)| *known == name);
        let &(name, multiple, settings) = found.ok_or_else(|| {
            let names: Vec<&str> = OPTIMIZERS.iter().map(|(name, ..)| *name).collect();
            refused(
                "--optimizer",
                format!("there is no optimizer `{name}`; take one of {}", names.join(", ")),
            )
        })?;
        let settings = serde_json::from_str(settings).expect("the list has JSON");
        Ok(Choice { name, settings, rate: given.unwrap_or(adams * multiple) })
    }

    /// The optimizer of a recipe, with the given learning rate or the recipe's.
    pub fn of_recipe(recipe: &Recipe, given: Option<f64>) -> Result<Choice> {
        check_rate(given, recipe.model.rate)?;
        Ok(Choice {
            name: "sgd",
            settings: json!({
                "momentum": recipe.momentum,
                "nesterov": true,
                "weight_decay": recipe.weight_decay,
            }),
            rate: given.unwrap_or(recipe.model.rate),
        })
    }

    /// The optimizer of these parameters.
    pub fn make(&self, parameters: Vec<Parameter>) -> Result<Box<dyn Optimizer>> {
        let mut settings = self.settings.clone();
        settings["lr"] = self.rate.into();
        by_name(self.name, vec![(parameters, settings)])
    }
}

fn check_rate(given: Option<f64>, example: f64) -> Result<()> {
    match given.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        None => Ok(()),
        Some(rate) => {
            Err(refused("--lr", format!("{rate} is no learning rate; take one above 0, e.g. {example}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flambeau::bindings::optimizers::NAMES;

    /// Without a gradient a parameter loses 1.9 times rate and decay (Nesterov's first step adds the momentum's share).
    #[test]
    fn a_recipe_lets_all_parameters_decay() {
        use flambeau::prelude::*;
        let parameter = Parameter::new(&Tensor::ones([2], &Device::cpu()));
        let recipe = crate::task::Task::named("cifar10").unwrap().recipe("resnet18").unwrap();
        let choice = Choice::of_recipe(recipe, None).unwrap();
        let mut optimizer = choice.make(vec![parameter.clone()]).unwrap();
        (parameter.get() * 0.0).sum(..).backward().unwrap();
        optimizer.step().unwrap();
        let left = parameter.value().to_vec_blocking::<f32>().unwrap();
        assert!(left.iter().all(|x| (x - (1.0 - 1.9 * 0.1 * 5e-4)).abs() < 2e-7), "{left:?}");
        assert!(Choice::of_recipe(recipe, Some(-1.0)).is_err());
    }

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
