//! Pictures with classes: where their files are, how they are changed in training, and batches of them.

use super::data::Feeding;
use crate::data_sets;
use crate::output::advised;
use flambeau::data::augment::{Augment, Compose, Cutout, RandomCrop, RandomHorizontalFlip};
use flambeau::data::{DataLoader, Images, TrainTest};
use flambeau::prelude::*;
use std::path::{Path, PathBuf};

/// Pictures a step of a test.
const TEST_BATCH: usize = 500;

/// How pictures are changed in training, each by numbers of its own.
#[derive(Debug, Clone, Copy)]
pub struct Augmentation {
    /// How far one is shifted at most, in pixels; what comes in is black.
    pub shift: usize,
    /// Is one mirrored as often as not, left for right?
    pub flip: bool,
    /// The side of a black square in each, in pixels.
    pub cutout: usize,
}

impl Augmentation {
    /// Pictures stay as they are.
    pub const NONE: Augmentation = Augmentation { shift: 0, flip: false, cutout: 0 };

    /// The changes of pictures of this size; none if they stay as they are.
    fn of(self, [height, width]: [usize; 2]) -> Option<Compose> {
        let mut changes = Compose::new();
        if self.shift > 0 {
            changes = changes.then(RandomCrop::new(height, width).with_padding(self.shift));
        }
        if self.flip {
            changes = changes.then(RandomHorizontalFlip::default());
        }
        if self.cutout > 0 {
            changes = changes.then(Cutout { size: self.cutout });
        }
        (self.shift > 0 || self.flip || self.cutout > 0).then_some(changes)
    }
}

/// Reads the pictures of a task from `place`, or from the first folder that exists: one that is called after the task, or
/// the one that `flambeau data fetch` puts the data set into.
pub fn open(
    task: &str,
    data_set: &str,
    open: fn(&Path) -> Result<TrainTest>,
    places: &[&str],
    place: Option<&Path>,
) -> Result<TrainTest> {
    let here = PathBuf::from("data").join(task);
    // The repository this was built from.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(task);
    let folder = match place {
        Some(place) => place.to_owned(),
        None => {
            let candidates = [here.clone(), repository].into_iter().chain(places.iter().map(PathBuf::from));
            let mut candidates = candidates.chain(data_sets::fetched(data_set));
            candidates.find(|folder| folder.is_dir()).unwrap_or(here)
        }
    };
    let advice = format!(
        "and name the folder that has the files with --data FOLDER; or get them with: flambeau data fetch {data_set}"
    );
    open(&folder).map_err(|error| advised(error, &advice))
}

fn loader(images: &Images, batch: usize, workers: usize, device: &Device) -> Result<DataLoader> {
    let loader = match workers {
        0 => DataLoader::new(images.to_device(device)?, device),
        _ => DataLoader::new(images.clone(), device).with_workers(workers),
    };
    Ok(loader.with_batch_size(batch))
}

/// Batches to train and to test with.
pub fn loaders(
    sets: &TrainTest,
    augmentation: Augmentation,
    feeding: Feeding,
    device: &Device,
) -> Result<(DataLoader, DataLoader)> {
    let mut train = loader(&sets.train, feeding.batch, feeding.workers, device)?;
    if let Some(changes) = augmentation.of([2, 3].map(|dim| sets.train.pixels().shape()[dim])) {
        train = train.map(move |(x, y), generator| Ok((changes.apply(&x, generator)?, y)));
    }
    Ok((train, loader(&sets.test, TEST_BATCH, feeding.workers, device)?))
}
