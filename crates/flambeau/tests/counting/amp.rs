//! What mixed precision costs: runs, submissions, casts and bytes.

use crate::alone;
use crate::common::{devices, new_gpu};
use flambeau::GpuConfig;
use flambeau::autograd::autocast;
use flambeau::nn::models::Mlp;
use flambeau::nn::*;
use flambeau::optim::*;
use flambeau::prelude::*;

/// A network with a convolution and batch norm, trained by Adam.
struct Training {
    net: Sequential,
    adam: Adam,
    scaler: GradScaler,
    ema: Ema,
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
            .with(Flatten::default())
            .with(Linear::new(4 * 8 * 8, 10, device));
        let images = Tensor::randn([6, 1, 8, 8], &generator, device);
        let labels = Tensor::randint(0, 10, [6], &generator, device);
        eval(&[&images, &labels]).unwrap();
        let adam = Adam::new(net.parameters(), 1e-2);
        let ema = Ema::new(net.parameters(), 0.9);
        Training { adam, scaler: GradScaler::new(device), ema, net, images, labels }
    }

    fn step(&mut self) -> Tensor {
        let loss = autocast(true, || self.net.forward(&self.images).cross_entropy(&self.labels));
        self.scaler.scale(&loss).backward().unwrap();
        self.scaler.step(&mut self.adam).unwrap();
        self.scaler.update().unwrap();
        self.adam.zero_grad();
        self.ema.update().unwrap();
        loss
    }
}

#[test]
fn a_scaled_step_is_one_run_of_one_cached_plan() {
    let _alone = alone();
    for device in devices() {
        let mut training = Training::new(&device);
        let first = training.step().item_blocking().unwrap();
        // The second is the first that takes up an average, and f16 copies of the parameters.
        training.step();
        let mut last = first;
        for step in 3..12 {
            let before = device.plan_stats();
            let loss = training.step();
            let after = device.plan_stats();
            let cost = (after.runs - before.runs, after.hits - before.hits, after.misses - before.misses);
            assert_eq!(cost, (1, 1, 0), "runs, hits and misses of step {step} on {device}");
            last = loss.item_blocking().unwrap();
            assert_eq!(device.plan_stats(), after, "the step has evaluated the loss");
        }
        assert!(last < first, "{first} to {last} on {device}");
    }
}

#[test]
fn a_scaled_step_is_one_submission_and_waits_for_nothing() {
    let _alone = alone();
    let device = new_gpu(GpuConfig::default());
    let mut training = Training::new(&device);
    training.step();
    training.step();
    let before = device.gpu_stats().unwrap();
    training.step();
    let after = device.gpu_stats().unwrap();
    assert_eq!(after.submits - before.submits, 1);
    assert_eq!(after.pipelines_created, before.pipelines_created, "no new pipeline");
    assert_eq!(after.readbacks - before.readbacks, 0, "nothing was read back");
}

/// Kernels of one evaluation.
fn kernels(tensors: &[&Tensor]) -> u64 {
    let device = tensors[0].device();
    let before = device.plan_stats().kernels;
    eval(tensors).unwrap();
    device.plan_stats().kernels - before
}

#[test]
fn a_parameter_is_cast_once_in_a_scope() {
    let _alone = alone();
    for device in devices() {
        let w = Parameter::new(&Tensor::rand([8, 8], &Generator::new(1), &device));
        let x = Tensor::rand([4, 8], &Generator::new(2), &device).to_dtype(DType::F16);
        let y = Tensor::rand([5, 8], &Generator::new(3), &device).to_dtype(DType::F16);
        w.value().eval().unwrap();
        eval(&[&x, &y]).unwrap();
        let (a, b) = autocast(true, || (x.matmul(&w.get()), y.matmul(&w.get())));
        assert_eq!(kernels(&[&a, &b]), 3, "one cast and two products on {device}");
    }
}

/// The first step casts every weight by a kernel; its update writes f16 copies, and later steps cast none.
#[test]
fn the_update_writes_what_the_next_forward_pass_takes() {
    let _alone = alone();
    let device = new_gpu(GpuConfig::default());
    let net = Mlp::new(&WIDE, &device);
    let mut adam = Adam::new(net.parameters(), 0.01);
    let mut scaler = GradScaler::new(&device);
    let x = Tensor::randn([16, 64], &Generator::new(1), &device);
    let y = Tensor::randint(0, 8, [16], &Generator::new(2), &device);
    eval(&[&x, &y]).unwrap();
    let mut step = || {
        let before = device.plan_stats();
        let loss = autocast(true, || net.forward(&x).cross_entropy(&y));
        scaler.scale(&loss).backward().unwrap();
        scaler.step(&mut adam).unwrap();
        scaler.update().unwrap();
        adam.zero_grad();
        let after = device.plan_stats();
        (after.kernels - before.kernels, after.bytes - before.bytes)
    };
    let (first, _, third) = (step(), step(), step());
    println!(
        "summary: mixed precision: {first:?} kernels and bytes in the first step, {third:?} in the third"
    );
    let weights = WIDE.len() as u64 - 1;
    assert!(third.0 + weights <= first.0, "{} kernels at first, {} later", first.0, third.0);
    // Somebody else's value is cast again, and the copy of the old one is not taken for it.
    let parameter = &net.parameters()[0];
    let other = parameter.value() * 2.0;
    other.eval().unwrap();
    parameter.set(&other);
    let scores = autocast(true, || net.forward(&x));
    let by_hand = Mlp::new(&WIDE, &device);
    for (to, from) in by_hand.parameters().iter().zip(net.parameters()) {
        to.set(&from.value());
    }
    let expected = autocast(true, || by_hand.forward(&x));
    assert_eq!(crate::common::values(&scores), crate::common::values(&expected));
}

/// Sizes of layers.
const WIDE: [usize; 8] = [64, 64, 64, 64, 64, 64, 64, 8];

/// The most that a step of a wide network has in use.
fn peak(mixed: bool) -> u64 {
    let device = new_gpu(GpuConfig::default());
    let net = Mlp::new(&WIDE, &device);
    let mut sgd = Sgd::new(net.parameters(), 0.01);
    let options = GradScalerOptions { enabled: mixed, ..Default::default() };
    let mut scaler = GradScaler::with_options(options, &device);
    let x = Tensor::randn([4096, 64], &Generator::new(1), &device);
    let y = Tensor::randint(0, 8, [4096], &Generator::new(2), &device);
    eval(&[&x, &y]).unwrap();
    let mut step = || {
        let loss = autocast(mixed, || net.forward(&x).cross_entropy(&y));
        scaler.scale(&loss).backward().unwrap();
        scaler.step(&mut sgd).unwrap();
        scaler.update().unwrap();
        sgd.zero_grad();
        loss.item_blocking().unwrap()
    };
    step();
    device.reset_peak_memory();
    let before = device.memory().in_use;
    step();
    device.memory().peak - before
}

#[test]
fn a_step_takes_two_thirds_of_the_memory() {
    let _alone = alone();
    let (full, mixed) = (peak(false), peak(true));
    println!("summary: a step of eight wide layers takes {full} bytes in f32, {mixed} in mixed precision");
    assert!(10 * mixed < 7 * full, "{mixed} bytes in mixed precision, {full} in f32");
}
