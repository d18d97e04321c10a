//! Model files: weights under PyTorch's names, with a description from which the model is built again.

use crate::model::Architecture;
use crate::output::{advised, bad_file};
use crate::task::Task;
use flambeau::io::{self, Matching, StateDict};
use flambeau::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The name of the description among the file's metadata.
const DESCRIPTION: &str = "flambeau";

/// What a model file says about its model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Description {
    /// The task it was trained for.
    pub task: String,
    /// The model's name among the task's models.
    pub model: String,
    /// The model with its settings.
    pub architecture: Architecture,
    /// The names of the classes, where there are classes.
    pub classes: Vec<String>,
    /// The characters a text model knows, in order.
    pub vocabulary: Vec<char>,
}

/// Writes a model, in one step.
pub async fn save(path: &Path, model: &dyn Forward, description: &Description) -> Result<()> {
    let json = serde_json::to_string(description).map_err(|error| bad_file(path, error))?;
    // `format` is what PyTorch's own loaders look for.
    let metadata = BTreeMap::from([("format".into(), "pt".into()), (DESCRIPTION.into(), json)]);
    io::save_safetensors(path, &model.state_dict(), &metadata).await
}

/// Reads a model of any format. A file without a description, as PyTorch writes, needs the task: the model is the
/// first of the task's that fits.
pub fn open(path: &Path, task: Option<&Task>, device: &Device) -> Result<(Description, Box<dyn Forward>)> {
    let again = "train a model with `flambeau train`, or convert one with `flambeau convert`";
    let loaded = io::load(path, device).map_err(|error| advised(error, again))?;
    let description = match loaded.metadata.get(DESCRIPTION) {
        Some(json) => serde_json::from_str::<Description>(json)
            .map_err(|error| bad_file(path, format!("the description is damaged: {error}; {again}")))?,
        None => guess(path, task, &loaded.tensors, device)?,
    };
    check(&description, &loaded.tensors).map_err(|message| bad_file(path, format!("{message}; {again}")))?;
    let model = description.architecture.build(device)?;
    let filled = model.load_state_dict(&loaded.tensors, Matching::Strict);
    filled.map_err(|error| bad_file(path, format!("{error}\n{again}")))?;
    model.eval();
    Ok((description, model))
}

/// Refuses a description that is not of these tensors, before anything is built from it: a line of text can ask for a
/// model of any size.
fn check(description: &Description, tensors: &StateDict) -> std::result::Result<(), String> {
    let Description { architecture, classes, vocabulary, .. } = description;
    let held: usize = tensors.iter().map(|(_, tensor)| tensor.numel()).sum();
    let described = architecture.least_parameters();
    if described > held {
        return Err(format!(
            "the description is of a model with {described} numbers or more, and the file has {held}"
        ));
    }
    let names = if architecture.gpt_config().is_some() { vocabulary.len() } else { classes.len() };
    match architecture.outputs() {
        outputs if outputs == names => Ok(()),
        outputs => Err(format!("the description names {names} classes or characters of {outputs}")),
    }
}

/// The first of the task's models that these tensors fit.
fn guess(path: &Path, task: Option<&Task>, tensors: &StateDict, device: &Device) -> Result<Description> {
    let task = task.ok_or_else(|| {
        bad_file(
            path,
            "the file does not say what model it holds; name what it is for with --task, e.g. --task mnist",
        )
    })?;
    let mut closest = String::new();
    for preset in task.models {
        let Some(architecture) = preset.fixed() else { continue };
        let model = architecture.build(device)?;
        match model.load_state_dict(tensors, Matching::Strict) {
            Ok(_) => {
                let (task_name, classes) = (task.name.to_owned(), task.class_names());
                let model = preset.name.to_owned();
                return Ok(Description {
                    task: task_name,
                    model,
                    architecture,
                    classes,
                    vocabulary: Vec::new(),
                });
            }
            Err(error) => closest += &format!("\nas {}: {error}", preset.name),
        }
    }
    Err(bad_file(path, format!("the weights fit no model of the task {}:{closest}", task.name)))
}
