//! Estimates of a training step's memory against the ledger of a run, on the CPU and on a GPU.

use crate::alone;
use crate::common::new_gpu;
use flambeau::data::{DataLoader, TensorDataset};
use flambeau::nn::models::{
    Cnn, CnnOptions, Gpt, GptConfig, Mlp, ResNet, ResNetDepth, ResNetOptions, ResNetStem,
};
use flambeau::nn::{Linear, Relu, Sequential};
use flambeau::optim::{Adam, Optimizer, Sgd};
use flambeau::prelude::*;
use flambeau::train::{Estimate, Outcome, Trainer};
use flambeau::{CpuConfig, GpuConfig, MemoryStrategy, block_on};

/// What an estimate may be off by: on GPUs fault words and kernels' numbers are in the ledger and in no estimate.
const TOLERANCE: f64 = 0.03;

/// A CPU and a GPU of each strategy, with ledgers of their own.
fn devices() -> Vec<Device> {
    let strategies = [MemoryStrategy::Pooled, MemoryStrategy::Exact];
    let pair = |memory_strategy| {
        let cpu = Device::cpu_with(&CpuConfig { memory_strategy, ..CpuConfig::default() });
        [cpu, new_gpu(GpuConfig { memory_strategy, ..GpuConfig::default() })]
    };
    strategies.into_iter().flat_map(pair).collect()
}

fn classify<M: Forward>(model: &M, (x, y): (Tensor, Tensor)) -> Result<Outcome> {
    Outcome::classify(&model.try_forward(&x)?, &y)
}

fn next_tokens(model: &Gpt, (x, y): (Tensor, Tensor)) -> Result<Outcome> {
    Outcome::classify(&model.try_forward(&x)?.try_flatten(0, 1)?, &y.try_flatten(0, 1)?)
}

/// Batches that do not change, of a data set that lies on the device.
fn batches(x: Tensor, y: Tensor, size: usize) -> DataLoader {
    let device = x.device().clone();
    DataLoader::new(TensorDataset::new([x, y]).unwrap(), &device).with_batch_size(size)
}

/// The estimate and the peak of three steps, of which the first is like all others.
fn compare<M: Module>(
    name: &str,
    model: M,
    optimizer: impl Optimizer + 'static,
    mut batches: DataLoader,
    pieces: usize,
    outcome: impl Fn(&M, (Tensor, Tensor)) -> Result<Outcome> + Copy,
) -> Estimate {
    let device = batches.device().clone();
    batches.set_pieces(pieces).unwrap();
    let mut trainer = Trainer::new(model, optimizer).with_max_steps(3).with_log_every(1);
    let before = device.memory();
    let submissions = device.gpu_stats().map(|stats| stats.submits);
    let estimate = trainer.estimate(&batches, outcome).unwrap();
    assert_eq!(device.memory(), before, "{name}: an estimate allocates nothing");
    assert_eq!(device.gpu_stats().map(|stats| stats.submits), submissions, "{name}: and submits nothing");
    device.reset_peak_memory();
    block_on(trainer.fit(&mut batches, None, outcome)).unwrap();
    let measured = device.memory().peak as f64;
    let off = estimate.peak as f64 / measured - 1.0;
    println!(
        "{name}, {pieces} pieces, {} {}: estimated {:.3} MB, measured {:.3} MB, {:+.2} %",
        if device.is_cpu() { "cpu" } else { "gpu" },
        device.memory_strategy(),
        estimate.peak as f64 / 1e6,
        measured / 1e6,
        off * 100.0
    );
    assert!(off.abs() < TOLERANCE, "{name} on {device}: {off}\n{estimate}");
    let parts: u64 = estimate.parts().iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(parts, estimate.peak, "{name}: {estimate}");
    estimate
}

#[test]
fn of_perceptrons_in_pieces() {
    let _alone = alone();
    for device in devices() {
        let mut last = u64::MAX;
        for pieces in [1, 2, 8] {
            let model = Mlp::new(&[32, 512, 10], &device);
            let optimizer = Adam::new(model.parameters(), 1e-3);
            let (x, y) = (
                Tensor::rand([2048, 32], &Generator::new(1), &device),
                Tensor::zeros([2048], (DType::I32, &device)),
            );
            let estimate = compare("MLP", model, optimizer, batches(x, y, 2048), pieces, classify);
            let numbers: u64 = 32 * 512 + 512 + 512 * 10 + 10;
            assert_eq!(estimate.parameters, 4 * numbers);
            if device.is_cpu() {
                // All parameters' states lie together, in whole fours.
                assert_eq!(estimate.optimizer, 2 * 4 * numbers.next_multiple_of(4));
            }
            assert!(estimate.peak < last, "pieces make it smaller");
            last = estimate.peak;
        }
    }
}

#[test]
fn of_convolutions_and_batch_norm() {
    let _alone = alone();
    for device in devices() {
        let options = CnnOptions {
            inputs: 3,
            size: [16; 2],
            channels: [32, 64],
            hidden: 64,
            dropout: 0.1,
            batch_norm: true,
        };
        let model = Cnn::with_options(10, options, &device);
        let before: Vec<String> =
            model.named_buffers().iter().map(|(_, buffer)| buffer.get().to_string()).collect();
        let optimizer = Sgd::new(model.parameters(), 1e-2);
        let (x, y) = (
            Tensor::rand([64, 3, 16, 16], &Generator::new(1), &device),
            Tensor::zeros([64], (DType::I32, &device)),
        );
        let mut trainer = Trainer::new(model, optimizer);
        trainer.estimate(&batches(x.clone(), y.clone(), 64), classify).unwrap();
        let after = trainer.model().named_buffers();
        let after: Vec<String> = after.iter().map(|(_, buffer)| buffer.get().to_string()).collect();
        assert_eq!(before, after, "statistics stay what they were");
        let model = trainer.into_model();
        let optimizer = Sgd::new(model.parameters(), 1e-2);
        compare("CNN", model, optimizer, batches(x, y, 64), 1, classify);
    }
}

#[test]
fn of_a_residual_network() {
    let _alone = alone();
    for device in devices().into_iter().take(2) {
        let options =
            ResNetOptions { inputs: 3, width: 8, stem: ResNetStem::Cifar, zero_init_residual: false };
        let model = ResNet::with_options(ResNetDepth::Resnet18, 10, options, &device);
        let optimizer = Sgd::new(model.parameters(), 1e-2);
        let (x, y) = (
            Tensor::rand([16, 3, 16, 16], &Generator::new(1), &device),
            Tensor::zeros([16], (DType::I32, &device)),
        );
        compare("ResNet-18", model, optimizer, batches(x, y, 16), 1, classify);
    }
}

#[test]
fn of_a_transformer() {
    let _alone = alone();
    for device in devices() {
        for pieces in [1, 4] {
            let config = GptConfig {
                vocabulary: 64,
                context: 32,
                layers: 2,
                heads: 2,
                width: 64,
                dropout: 0.1,
                ..GptConfig::default()
            };
            let model = Gpt::new(config, &device);
            let optimizer = Adam::new(model.parameters(), 1e-3);
            let tokens = Tensor::zeros([16, 32], (DType::I32, &device));
            let data = batches(tokens.clone(), tokens, 16);
            compare("GPT", model, optimizer, data, pieces, next_tokens);
        }
    }
}

/// What an estimate must leave alone: gradients that are there, random numbers, the place in the data, weights.
#[test]
fn an_estimate_changes_nothing() {
    let _alone = alone();
    for device in devices().into_iter().take(2) {
        let model =
            Sequential::new().with(Linear::new(8, 8, &device)).with(Relu).with(Linear::new(8, 2, &device));
        let (x, y) =
            (Tensor::rand([16, 8], &Generator::new(1), &device), Tensor::zeros([16], (DType::I32, &device)));
        let data = batches(x.clone(), y.clone(), 4);
        let weights = |model: &Sequential| -> Vec<String> {
            model.parameters().iter().map(|parameter| parameter.value().to_string()).collect()
        };
        let optimizer = Adam::new(model.parameters(), 1e-3);
        let before = weights(&model);
        model.forward(&x).sum(..).backward().unwrap();
        let gradient = model.parameters()[0].grad().unwrap();
        let counter = Generator::default_generator().counter();
        let mut trainer = Trainer::new(model, optimizer);
        let drawing = |model: &Sequential, (x, y): (Tensor, Tensor)| {
            let x = x.try_dropout(0.5, &Generator::default_generator())?;
            classify(model, (x, y))
        };
        trainer.estimate(&data, drawing).unwrap();
        assert_eq!(weights(trainer.model()), before);
        assert_eq!(trainer.model().parameters()[0].grad().unwrap().to_string(), gradient.to_string());
        assert_eq!((Generator::default_generator().counter(), data.position()), (counter, 0));
        // What was made in the rehearsal has no numbers, and says so.
        let mut kept = None;
        let keeping = |model: &Sequential, (x, y): (Tensor, Tensor)| {
            let scores = model.try_forward(&x)?;
            scores.eval()?;
            kept = Some(scores.detach());
            Outcome::classify(&scores, &y)
        };
        trainer.estimate(&data, keeping).unwrap();
        let error = block_on((kept.unwrap() + 1.0).item()).unwrap_err();
        assert!(
            error.to_string().contains("rehearsal") || error.to_string().contains("single element"),
            "{error}"
        );
    }
}
