//! The tasks: each is a data set, the models for it, and the settings that train them well. A new task is a new entry.

mod data;
mod images;
mod recipe;
mod spirals;
mod text;

pub use data::{Feeding, HostData};
pub use images::Augmentation;
pub use recipe::Recipe;
pub use spirals::{SIDE, points};

use crate::model::{Architecture, Normalisation};
use crate::output::refused;
use flambeau::Result;
use flambeau::data::{Cifar10, FashionMnist, Mnist, TrainTest};
use std::path::Path;

/// Something to learn.
pub struct Task {
    /// Its name on the command line.
    pub name: &'static str,
    /// Another name that is understood.
    pub alias: Option<&'static str>,
    /// Where its data comes from.
    pub source: Source,
    /// The models for it, the default first.
    pub models: &'static [Preset],
    /// Ways to train one of them to a known accuracy.
    pub recipes: &'static [Recipe],
    /// The names of the classes, where they are known before the data is read.
    pub classes: &'static [&'static str],
}

/// Where data comes from.
pub enum Source {
    /// Pictures in files.
    Images {
        /// The data set's name for `flambeau data fetch`.
        data_set: &'static str,
        /// Reads them from a folder.
        open: fn(&Path) -> Result<TrainTest>,
        /// Where the folder may be, beside `data/<task>`.
        places: &'static [&'static str],
        /// How other pictures become such pictures.
        picture: Picture,
        /// How they are changed in training.
        augmentation: Augmentation,
    },
    /// Points of two spirals, computed.
    Spirals,
    /// A text file.
    Text,
}

/// The kind of pictures a model has learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// White on black, 28 × 28 pixels, in a box of 20 × 20 pixels, the centre of mass in the middle.
    Digit,
    /// Light on black, 28 × 28 pixels.
    Grey,
    /// 32 × 32 pixels in colour.
    Colour,
}

/// A model for a task, and how it is trained unless told otherwise.
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// The model, given the number of different inputs (characters of a text; 0 elsewhere).
    pub architecture: fn(usize) -> Architecture,
    /// Does the model depend on that number?
    pub open_ended: bool,
    /// Passes over the training data.
    pub epochs: u64,
    /// Items a step.
    pub batch: usize,
    /// The highest learning rate of Adam; other optimizers have their own share of it.
    pub rate: f64,
    /// The largest norm of the gradients, if they are clipped.
    pub clip: Option<f64>,
}

impl Preset {
    /// The model, if it does not depend on the data.
    pub fn fixed(&self) -> Option<Architecture> {
        (!self.open_ended).then(|| (self.architecture)(0))
    }
}

fn cnn(inputs: usize, side: usize, channels: [usize; 2], hidden: usize, batch_norm: bool) -> Architecture {
    Architecture::Cnn { inputs, size: [side; 2], channels, hidden, dropout: 0.0, batch_norm, classes: 10 }
}

fn resnet18(inputs: usize, width: usize, normalise: Option<Normalisation>) -> Architecture {
    Architecture::Resnet18 { inputs, width, classes: 10, normalise }
}

fn gpt(vocabulary: usize, context: usize, layers: usize, width: usize) -> Architecture {
    Architecture::Gpt { vocabulary, context, layers, heads: 4, width, dropout: 0.1 }
}

const CNN: Preset = Preset {
    name: "cnn",
    architecture: |_| cnn(1, 28, [16, 32], 64, false),
    open_ended: false,
    epochs: 3,
    batch: 64,
    rate: 4e-3,
    clip: None,
};

const MLP: Preset = Preset {
    name: "mlp",
    architecture: |_| Architecture::Mlp { sizes: vec![784, 128, 10], tanh: false },
    open_ended: false,
    epochs: 5,
    batch: 100,
    rate: 4e-3,
    clip: None,
};

const CIFAR_RESNET18: Preset = Preset {
    name: "resnet18",
    architecture: |_| resnet18(3, 64, None),
    open_ended: false,
    epochs: 30,
    batch: 128,
    rate: 3e-3,
    clip: None,
};

const FASHION_RESNET18: Preset =
    Preset { architecture: |_| resnet18(1, 32, None), epochs: 15, ..CIFAR_RESNET18 };

/// All tasks.
pub const TASKS: &[Task] = &[
    Task {
        name: "mnist",
        alias: None,
        source: Source::Images {
            data_set: "mnist",
            open: |folder| Mnist::open(folder),
            places: &[],
            picture: Picture::Digit,
            augmentation: Augmentation::NONE,
        },
        models: &[CNN, MLP],
        recipes: &[],
        classes: &Mnist::CLASSES,
    },
    Task {
        name: "fashion",
        alias: Some("fashion-mnist"),
        source: Source::Images {
            data_set: "fashion-mnist",
            open: |folder| FashionMnist::open(folder),
            places: &["/usr/share/datasets/fashion-mnist"],
            picture: Picture::Grey,
            augmentation: Augmentation::NONE,
        },
        models: &[Preset { epochs: 6, ..CNN }, Preset { epochs: 10, ..MLP }, FASHION_RESNET18],
        recipes: &[recipe::FASHION],
        classes: &FashionMnist::CLASSES,
    },
    Task {
        name: "cifar10",
        alias: None,
        source: Source::Images {
            data_set: "cifar10",
            open: |folder| Cifar10::open(folder),
            places: &["cifar-10-batches-bin", "data/cifar-10-batches-bin"],
            picture: Picture::Colour,
            augmentation: Augmentation { shift: 4, flip: true, cutout: 0 },
        },
        models: &[
            Preset {
                name: "cnn",
                architecture: |_| cnn(3, 32, [64, 128], 256, true),
                epochs: 15,
                batch: 128,
                ..CNN
            },
            CIFAR_RESNET18,
        ],
        recipes: &[recipe::CIFAR10],
        classes: &Cifar10::CLASSES,
    },
    Task {
        name: "spirals",
        alias: None,
        source: Source::Spirals,
        models: &[Preset {
            name: "mlp",
            architecture: |_| Architecture::Mlp { sizes: vec![2, 64, 64, 2], tanh: true },
            open_ended: false,
            epochs: 200,
            batch: 100,
            rate: 1e-2,
            clip: None,
        }],
        recipes: &[],
        classes: &["blue", "orange"],
    },
    Task {
        name: "char-gpt",
        alias: None,
        source: Source::Text,
        models: &[
            Preset {
                name: "gpt",
                architecture: |vocabulary| gpt(vocabulary, 128, 4, 128),
                open_ended: true,
                epochs: 5,
                batch: 32,
                rate: 2e-3,
                clip: Some(1.0),
            },
            Preset {
                name: "gpt-tiny",
                architecture: |vocabulary| gpt(vocabulary, 64, 2, 64),
                open_ended: true,
                epochs: 5,
                batch: 32,
                rate: 4e-3,
                clip: Some(1.0),
            },
        ],
        recipes: &[],
        classes: &[],
    },
];

impl Task {
    /// The task of that name.
    pub fn named(name: &str) -> Result<&'static Task> {
        TASKS.iter().find(|task| task.name == name || task.alias == Some(name)).ok_or_else(|| {
            let names: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
            refused("task", format!("there is no task `{name}`; take one of {}", names.join(", ")))
        })
    }

    /// The model of that name, or the default.
    pub fn preset(&self, name: Option<&str>) -> Result<&'static Preset>
    where
        Self: 'static,
    {
        let Some(name) = name else { return Ok(&self.models[0]) };
        self.models.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.models.iter().map(|preset| preset.name).collect();
            let message =
                format!("the task {} has no model `{name}`; take one of {}", self.name, names.join(", "));
            refused("--model", message)
        })
    }

    /// The recipe of that name.
    pub fn recipe(&self, name: &str) -> Result<&'static Recipe>
    where
        Self: 'static,
    {
        self.recipes.iter().find(|recipe| recipe.model.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.recipes.iter().map(|recipe| recipe.model.name).collect();
            let known =
                if names.is_empty() { "it has none".into() } else { format!("take {}", names.join(", ")) };
            refused("--recipe", format!("the task {} has no recipe `{name}`; {known}", self.name))
        })
    }

    /// The names of the classes.
    pub fn class_names(&self) -> Vec<String> {
        self.classes.iter().map(ToString::to_string).collect()
    }
}
