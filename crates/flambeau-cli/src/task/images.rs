//! Pictures with classes: where their files are, and batches of them.

use super::data::Feeding;
use crate::output::advised;
use flambeau::data::augment::{Augment, RandomCrop, RandomHorizontalFlip};
use flambeau::data::{DataLoader, Images, TrainTest};
use flambeau::prelude::*;
use std::path::{Path, PathBuf};

/// Pictures a step of a test.
const TEST_BATCH: usize = 500;
/// How far a picture is shifted in training, in pixels.
const SHIFT: usize = 4;

/// Reads the pictures of a task from `place`, or from the first folder that exists.
pub fn open(
    task: &str,
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
            let mut candidates =
                [here.clone(), repository].into_iter().chain(places.iter().map(PathBuf::from));
            candidates.find(|folder| folder.is_dir()).unwrap_or(here)
        }
    };
    open(&folder).map_err(|error| advised(error, "and name the folder that has the files with --data FOLDER"))
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
    augment: bool,
    feeding: Feeding,
    device: &Device,
) -> Result<(DataLoader, DataLoader)> {
    let mut train = loader(&sets.train, feeding.batch, feeding.workers, device)?;
    if augment {
        let [height, width] = [2, 3].map(|dim| sets.train.pixels().shape()[dim]);
        let crop = RandomCrop::new(height, width).with_padding(SHIFT);
        let flip = RandomHorizontalFlip::default();
        train =
            train.map(move |(x, y), generator| Ok((flip.apply(&crop.apply(&x, generator)?, generator)?, y)));
    }
    Ok((train, loader(&sets.test, TEST_BATCH, feeding.workers, device)?))
}
