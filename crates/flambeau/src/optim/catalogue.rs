//! Every optimizer of gradients by its name, with settings by theirs: for bindings and programs that let one choose.

use super::first_order::{FirstOrder, Group};
use super::rule::Rule;
use super::*;
use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::settings::{SettingField, SettingMap, Settings};
use serde_json::Value;

/// An optimizer, described.
#[derive(Debug, Clone)]
pub struct OptimizerEntry {
    /// The name it is chosen by.
    pub name: &'static str,
    /// PyTorch's name, to be read.
    pub title: &'static str,
    /// The library's name.
    pub optimizer: &'static str,
    /// The library's name of its settings.
    pub options: &'static str,
    /// What can be set.
    pub fields: Vec<SettingField>,
}

/// `"name" "PyTorch's name" Optimizer OptimizerOptions;`
macro_rules! optimizers {
    ($($name:literal $title:literal $optimizer:ident $options:ident;)*) => {
        /// The names.
        pub const NAMES: &[&str] = &[$($name),*];

        /// Makes an optimizer of groups of parameters, each with what is set for it.
        pub fn by_name(name: &str, groups: Vec<(Vec<Parameter>, Value)>) -> Result<Box<dyn Optimizer>> {
            match name {
                $($name => build::<$options>(groups),)*
                other => Err(Error::argument("optimizer", format!("there is no optimizer {other}"))),
            }
        }

        /// What can be chosen, and what of it can be set.
        pub fn entries() -> Vec<OptimizerEntry> {
            vec![$(OptimizerEntry {
                name: $name,
                title: $title,
                optimizer: stringify!($optimizer),
                options: stringify!($options),
                fields: $options::default().fields(),
            }),*]
        }
    };
}

optimizers! {
    "sgd" "SGD" Sgd SgdOptions;
    "adam" "Adam" Adam AdamOptions;
    "adamw" "AdamW" AdamW AdamWOptions;
    "adadelta" "Adadelta" Adadelta AdadeltaOptions;
    "adagrad" "Adagrad" Adagrad AdagradOptions;
    "adamax" "Adamax" Adamax AdamaxOptions;
    "lion" "Lion" Lion LionOptions;
    "muon" "Muon" Muon MuonOptions;
    "nadam" "NAdam" NAdam NAdamOptions;
    "radam" "RAdam" RAdam RAdamOptions;
    "rmsprop" "RMSprop" RmsProp RmsPropOptions;
}

fn build<R: Rule + Settings>(groups: Vec<(Vec<Parameter>, Value)>) -> Result<Box<dyn Optimizer>> {
    let group = |(parameters, given)| {
        let (mut options, mut given) = (R::default(), SettingMap::new(R::NAME, given)?);
        options.fill(&mut given);
        given.done()?;
        Ok(Group::new(parameters, options))
    };
    let groups = groups.into_iter().map(group).collect::<Result<Vec<Group<R>>>>()?;
    Ok(Box::new(FirstOrder::try_with_groups(groups)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Tensor};
    use serde_json::json;

    #[test]
    fn every_optimizer_is_made_by_name() {
        for entry in entries() {
            let matrix = Parameter::new(&Tensor::ones([2, 2], &Device::cpu()));
            let optimizer = by_name(entry.name, vec![(vec![matrix], json!({"lr": 0.25}))]).unwrap();
            assert_eq!(optimizer.learning_rate(), 0.25, "{}", entry.name);
            assert!(
                entry.fields.iter().all(|field| !field.about.is_empty()),
                "{} has settings without docs",
                entry.name
            );
        }
        let error = by_name("lbfgs", Vec::new()).err().unwrap().to_string();
        assert!(error.contains("there is no optimizer lbfgs"), "{error}");
    }
}
