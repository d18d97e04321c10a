//! What is new costs little: lengths that have not been seen share pipelines with those that have, and a second process finds
//! the pipelines that the first has kept.

use crate::alone;
use crate::common::new_gpu;
use flambeau::nn::models::{Gpt, GptConfig};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flambeau::{GpuConfig, GpuStats, PipelineStore, Specialise, block_on};
use std::path::{Path, PathBuf};

fn stats(device: &Device) -> GpuStats {
    device.gpu_stats().unwrap()
}

/// Training steps of a small GPT, one for each length; the pipelines that each needed.
fn pipelines_by_length(device: &Device, batch: usize, lengths: impl Iterator<Item = usize>) -> Vec<u64> {
    let config =
        GptConfig { vocabulary: 17, context: 128, layers: 1, heads: 2, width: 16, ..Default::default() };
    let model = Gpt::new(config, device);
    let mut optimizer = Adam::new(model.parameters(), 1e-3);
    let generator = Generator::new(1);
    let step = |length: usize| {
        let before = stats(device).pipelines_created;
        let x = Tensor::randint(0, 17, [batch, length], &generator, device);
        model.forward(&x).flatten(0, 1).cross_entropy(&x.flatten(0, 1)).backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
        stats(device).pipelines_created - before
    };
    lengths.map(step).collect()
}

#[test]
fn sixty_lengths_make_no_pipeline_after_the_first_twenty() {
    let _alone = alone();
    for batch in [3, 8] {
        let device = new_gpu(GpuConfig::default());
        let made = pipelines_by_length(&device, batch, (0..60).map(|number| 8 + number * 47 % 113));
        assert!(made[0] > 0);
        assert_eq!(made[20..].iter().sum::<u64>(), 0, "batch {batch}: {made:?}");
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("flambeau-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    /// The one file in it.
    fn file(&self) -> PathBuf {
        let mut files =
            std::fs::read_dir(&self.0).expect("pipelines were kept").map(|entry| entry.unwrap().path());
        let file = files.next().expect("pipelines were kept");
        assert!(files.next().is_none(), "nothing is left beside it");
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a process that keeps its pipelines in a folder counts.
fn process(folder: &Path) -> GpuStats {
    let pipeline_store = PipelineStore::Folder(folder.into());
    let device = new_gpu(GpuConfig { pipeline_store, specialise: Specialise::Never, ..GpuConfig::default() });
    let x = Tensor::randn([33, 20], &Generator::new(1), &device);
    let y = (x.matmul(&x.t()).softmax(-1) + 1.0).sum(..);
    assert!((block_on(y.item()).unwrap() - (33.0 + 33.0 * 33.0)).abs() < 1e-2);
    stats(&device)
}

#[test]
fn a_second_process_compiles_nothing_that_the_first_has_kept() {
    let _alone = alone();
    let folder = Folder::new("kept");
    let first = process(&folder.0);
    assert!(first.pipelines_created > 0);
    assert_eq!(first.pipelines_kept, 0);
    let second = process(&folder.0);
    assert_eq!(
        (second.pipelines_created, second.pipelines_kept),
        (first.pipelines_created, first.pipelines_created)
    );
}

#[test]
fn damaged_and_foreign_files_are_replaced() {
    let _alone = alone();
    let folder = Folder::new("damaged");
    let all = process(&folder.0).pipelines_created;
    let good = std::fs::read(folder.file()).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [&good[..good.len() / 2], &flipped, b"something else", b""] {
        std::fs::write(folder.file(), bad).unwrap();
        assert_eq!(process(&folder.0).pipelines_kept, 0);
        assert_eq!(process(&folder.0).pipelines_kept, all, "it was written anew");
    }
}
