//! A task's data in host memory, and the loaders over it. It outlives a device: a lost one is replaced, and the data
//! goes to the new one.

use super::{Augmentation, Source, Task, images, spirals, text};
use crate::model::Architecture;
use flambeau::data::{CharTokenizer, DataLoader, TrainTest};
use flambeau::prelude::*;
use std::path::Path;

/// What a task learns from.
pub enum HostData {
    Images { sets: TrainTest, augmentation: Augmentation },
    Spirals,
    Text(text::Text),
}

/// How loaders make batches.
#[derive(Clone, Copy)]
pub struct Feeding {
    /// Items a training step.
    pub batch: usize,
    /// Threads that make batches on the host; with none, the data lies on the device.
    pub workers: usize,
    /// The seed of order and augmentation.
    pub seed: u64,
}

impl HostData {
    /// Reads a task's data, from `place` if it is given.
    pub fn open(task: &Task, place: Option<&Path>) -> Result<HostData> {
        match &task.source {
            Source::Images { data_set, open, places, augmentation, .. } => {
                let sets = images::open(task.name, data_set, *open, places, place)?;
                Ok(HostData::Images { sets, augmentation: *augmentation })
            }
            Source::Spirals => Ok(HostData::Spirals),
            Source::Text => text::Text::open(place).map(HostData::Text),
        }
    }

    /// The same pictures, changed in this way in training.
    pub fn augmented(self, augmentation: Augmentation) -> HostData {
        match self {
            HostData::Images { sets, .. } => HostData::Images { sets, augmentation },
            other => other,
        }
    }

    /// The same with the first `count` pictures to train with alone; other data stays as it is.
    pub fn first(&self, count: usize) -> HostData {
        match self {
            HostData::Images { sets, augmentation } => {
                let sets = TrainTest { train: sets.train.first(count), test: sets.test.clone() };
                HostData::Images { sets, augmentation: *augmentation }
            }
            HostData::Spirals => HostData::Spirals,
            HostData::Text(text) => HostData::Text(text.clone()),
        }
    }

    /// How many different characters there are; 0 where there is no text.
    pub fn vocabulary_size(&self) -> usize {
        self.tokenizer().map_or(0, |tokenizer| tokenizer.vocabulary().len())
    }

    /// What turns text into numbers, where there is text.
    pub fn tokenizer(&self) -> Option<&CharTokenizer> {
        match self {
            HostData::Text(text) => Some(&text.tokenizer),
            _ => None,
        }
    }

    /// Batches to train with and to test with, for a model.
    pub fn loaders(
        &self,
        model: &Architecture,
        feeding: Feeding,
        device: &Device,
    ) -> Result<(DataLoader, DataLoader)> {
        let (train, test) = match self {
            HostData::Images { sets, augmentation } => images::loaders(sets, *augmentation, feeding, device)?,
            HostData::Spirals => spirals::loaders(feeding, device)?,
            HostData::Text(text) => text.loaders(model, feeding, device)?,
        };
        Ok((train.with_shuffle(feeding.seed), test))
    }
}
