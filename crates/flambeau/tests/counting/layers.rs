//! What a training step of a small convolutional network costs.

use crate::alone;
use crate::common::{devices, gpu, new_gpu};
use flambeau::GpuConfig;
use flambeau::nn::{BatchNorm2d, Conv2d, Dropout, Flatten, Linear, MaxPool2d, Relu, Sequential};
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;
use std::process::Command;

/// Convolution, batch norm, pooling, dropout and a linear layer, with their data.
struct Training {
    net: Sequential,
    adam: Adam,
    images: Tensor,
    labels: Tensor,
}

impl Training {
    fn new(device: &Device) -> Training {
        let generator = Generator::new(9);
        let net = Sequential::new()
            .with(Conv2d::with_options(1, 4, 3, Conv2dOptions::default().with_padding(1), device))
            .with(BatchNorm2d::new(4, device))
            .with(Relu)
            .with(MaxPool2d::new(2))
            .with(Flatten::default())
            .with(Dropout::new(0.1))
            .with(Linear::new(4 * 4 * 4, 10, device));
        let images = Tensor::randn([6, 1, 8, 8], &generator, device);
        let labels = Tensor::randint(0, 10, [6], &generator, device);
        eval(&[&images, &labels]).unwrap();
        Training { adam: Adam::new(net.parameters(), 1e-2), net, images, labels }
    }

    fn step(&mut self) -> Tensor {
        let loss = self.net.forward(&self.images).cross_entropy(&self.labels);
        loss.backward().unwrap();
        self.adam.step().unwrap();
        self.adam.zero_grad();
        loss
    }
}

#[test]
fn a_step_of_a_convolutional_network_is_one_run_of_one_cached_plan() {
    let _alone = alone();
    for device in devices() {
        let mut training = Training::new(&device);
        let first = training.step().item_blocking().unwrap();
        let mut last = first;
        for step in 2..12 {
            let before = device.plan_stats();
            let loss = training.step();
            let after = device.plan_stats();
            let cost = (after.runs - before.runs, after.hits - before.hits, after.misses - before.misses);
            assert_eq!(cost, (1, 1, 0), "runs, hits and misses of step {step} on {device}");
            last = loss.item_blocking().unwrap();
            assert_eq!(device.plan_stats(), after, "the step has evaluated the loss");
        }
        assert!(last < first, "{first} to {last} on {device}");
        let tracked = training.net.state_dict();
        let count = tracked.get("1.num_batches_tracked").unwrap();
        assert_eq!(count.item_blocking().unwrap(), 11.0);
    }
}

#[test]
fn a_step_of_a_convolutional_network_is_one_submission() {
    let _alone = alone();
    let device = new_gpu(GpuConfig::default());
    let mut training = Training::new(&device);
    training.step();
    let before = device.gpu_stats().unwrap();
    training.step();
    let after = device.gpu_stats().unwrap();
    assert_eq!(after.submits - before.submits, 1);
    assert_eq!(after.pipelines_created, before.pipelines_created, "no new pipeline");
    let kernels = after.dispatches - before.dispatches;
    println!(
        "summary: a training step of a small convolutional network with Adam: 1 submission, {kernels} kernels"
    );
}

/// The device lies in a static, and is never dropped: what it has begun must not outlive the driver's library.
#[test]
fn a_process_ends_well_while_kernels_are_compiled_and_run() {
    const CHILD: &str = "FLAMBEAU_TEST_ENDING";
    if std::env::var_os(CHILD).is_some() {
        let mut training = Training::new(&gpu());
        training.step().item_blocking().unwrap();
        // A plan that has run eight times is hot.
        (0..16).for_each(|_| drop(training.step()));
        return;
    }
    let _alone = alone();
    let name = "layers::a_process_ends_well_while_kernels_are_compiled_and_run";
    for _ in 0..4 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let ended = child.args(["--exact", name]).env(CHILD, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && printed.contains("1 passed"), "{}: {printed}", ended.status);
    }
}
