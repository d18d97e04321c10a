//! What batches cost that are made on the device: plans, uploads.

use crate::alone;
use crate::common::devices;
use flambeau::block_on;
use flambeau::data::augment::{Augment, ColorJitter, Compose, Cutout, RandomAffine, RandomCrop};
use flambeau::data::{DataLoader, HostArray, Images};
use flambeau::nn::Parameter;
use flambeau::optim::{Optimizer, Sgd};
use flambeau::prelude::*;

/// An epoch of resident pictures, augmented: one upload when it begins (the order), and one cached plan a step.
#[test]
fn steps_on_resident_data_upload_nothing_and_make_no_plans() {
    let _alone = alone();
    for device in devices() {
        let bytes: Vec<u8> = (0..40 * 36u32).map(|k| (k * 29) as u8).collect();
        let pixels = HostArray::new(&bytes, [40, 1, 6, 6]).unwrap();
        let images = Images::new(pixels, (0..40).map(|k| k % 2).collect()).unwrap();
        let pipeline = Compose::new()
            .then(RandomCrop::new(6, 6).with_padding(1))
            .then(RandomAffine::new(10.0))
            .then(ColorJitter { brightness: 0.2, contrast: 0.2, saturation: 0.0 })
            .then(Cutout { size: 2 });
        let batches = DataLoader::new(images.to_device(&device).unwrap(), &device).with_batch_size(8);
        let mut batches = batches
            .with_shuffle(3)
            .map(move |(x, y), generator| Ok((pipeline.apply(&x, generator)?.flatten(1, -1), y)));
        let weight = Parameter::new(&Tensor::zeros([36, 1], &device));
        let mut optimizer = Sgd::new(vec![weight.clone()], 0.01);
        let uploads = || device.gpu_stats().map_or(0, |stats| stats.uploads);
        for epoch in 0..2 {
            let mut step = 0;
            let mut before = (device.plan_stats(), uploads());
            while let Some((x, y)) = block_on(batches.next()).unwrap() {
                let error = x.matmul(&weight.get()).flatten(0, 1) - y.to_dtype(DType::F32);
                (&error * &error).mean(..).backward().unwrap();
                optimizer.step().unwrap();
                optimizer.zero_grad();
                let after = (device.plan_stats(), uploads());
                assert_eq!(after.0.runs - before.0.runs, 1, "epoch {epoch}, step {step}");
                if (epoch, step) != (0, 0) {
                    assert_eq!(after.0.misses, before.0.misses, "epoch {epoch}, step {step}");
                }
                let expected = u64::from(step == 0 && !device.is_cpu());
                assert_eq!(after.1 - before.1, expected, "uploads of epoch {epoch}, step {step}");
                before = after;
                step += 1;
            }
            assert_eq!(step, 5);
        }
    }
}
