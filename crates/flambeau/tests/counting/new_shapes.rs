//! What is new costs little: lengths that have not been seen share pipelines with those that have, and a second process finds
//! the pipelines that the first has kept.

use crate::alone;
use crate::common::new_gpu;
use flambeau::nn::models::{Gpt, GptConfig};
use flambeau::nn::{BatchNorm2d, Conv2d, ConvLayerOptions, Linear, Sequential};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flambeau::{GpuConfig, GpuStats, PipelineStore, Specialise, Subgroups, block_on};
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

/// The networks that `bench/web/new.js` begins with; the convolutions of the third are fewer and narrower.
fn networks(device: &Device) -> [(&'static str, Sequential, &'static [usize]); 3] {
    let padded = ConvLayerOptions { bias: false, ..Conv2dOptions::default().with_padding(1).into() };
    let relu = |x: &Tensor| x.relu();
    let pool = |x: &Tensor| x.max_pool2d(2, &Default::default());
    let flat = |x: &Tensor| x.flatten(1, -1);
    let mut six = Sequential::new();
    for (place, channels) in [3, 16, 16, 32, 32, 64, 64].windows(2).enumerate() {
        let conv = Conv2d::with_options(channels[0], channels[1], 3, padded, device);
        six = six.with(conv).with(BatchNorm2d::new(channels[1], device)).with(relu);
        if place % 2 == 1 {
            six = six.with(pool);
        }
    }
    let six = six.with(flat).with(Linear::new(64 * 16, 10, device));
    let cnn = Sequential::new().with(Conv2d::new(1, 32, 3, device)).with(relu).with(pool);
    let cnn = cnn.with(Conv2d::new(32, 64, 3, device)).with(relu).with(pool).with(flat);
    let cnn = cnn.with(Linear::new(1600, 128, device)).with(relu).with(Linear::new(128, 10, device));
    let mlp = Sequential::new().with(Linear::new(784, 128, device)).with(relu);
    let mlp = mlp.with(Linear::new(128, 10, device));
    [("MLP", mlp, &[784]), ("CNN", cnn, &[1, 28, 28]), ("six convolutions", six, &[3, 32, 32])]
}

/// As in browsers, where every new kernel is waited for: a batch of another size needs hardly any.
#[test]
fn a_batch_of_another_size_needs_hardly_a_new_kernel() {
    let _alone = alone();
    let device = new_gpu(GpuConfig {
        compact: true,
        specialise: Specialise::WhenHot,
        subgroups: Subgroups::Never,
        ..GpuConfig::default()
    });
    for (name, net, input) in networks(&device) {
        let mut optimizer = Adam::new(net.parameters(), 1e-3);
        let mut made = Vec::new();
        for batch in [32, 29, 16, 41, 25] {
            let known = device.shader_sources().len();
            let shape: Vec<usize> = std::iter::once(batch).chain(input.iter().copied()).collect();
            let x = Tensor::randn(shape, &Generator::new(1), &device);
            let y = Tensor::zeros([batch], (DType::I32, &device));
            net.forward(&x).cross_entropy(&y).backward().unwrap();
            optimizer.step().unwrap();
            optimizer.zero_grad();
            let all = device.shader_sources().len();
            made.push(all - known);
        }
        // Sums over larger batches of pictures are shared out in another way.
        let most = if name == "six convolutions" { 2 } else { 0 };
        assert!(made[1..].iter().sum::<usize>() <= most, "{name}: {made:?}");
        println!("summary: {name}, kernels made for batches of 32, 29, 16, 41, 25: {made:?}");
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
