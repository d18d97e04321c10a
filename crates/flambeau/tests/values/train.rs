//! The Trainer: the same run on every device, and a loss that is not finite.

use crate::common::{assert_close, gpu, values};
use flambeau::block_on;
use flambeau::data::{DataLoader, TensorDataset};
use flambeau::io::{Checkpoints, Matching, StateDict};
use flambeau::nn::{Linear, Sequential};
use flambeau::optim::{Adam, Optimizer, Sgd};
use flambeau::prelude::*;
use flambeau::train::{Outcome, Trainer};

const STEPS: usize = 20;

fn network(device: &Device) -> Sequential {
    Sequential::new()
        .with(Linear::new(4, 16, device))
        .with(|x: &Tensor| x.tanh())
        .with(Linear::new(16, 3, device))
}

fn batches(device: &Device) -> DataLoader {
    let x = Tensor::rand([40, 4], &Generator::new(5), device) * 2.0 - 1.0;
    let y = Tensor::randint(0, 3, [40], &Generator::new(6), device);
    let data = TensorDataset::new([x, y]).unwrap();
    DataLoader::new(data, device).with_batch_size(8).with_shuffle(7)
}

/// Losses of every step and the weights afterwards, from these first weights.
fn train(
    device: &Device,
    first: &StateDict,
    optimizer: impl Fn(Vec<Parameter>) -> Box<dyn Optimizer>,
) -> (Vec<f64>, Vec<f64>) {
    let model = network(device);
    let moved = first.iter().map(|(name, value)| (name.to_owned(), block_on(value.to(device)).unwrap()));
    model.load_state_dict(&moved.collect(), Matching::Strict).unwrap();
    let optimizer = optimizer(model.parameters());
    let mut trainer = Trainer::with_boxed(model, optimizer).with_epochs(4).with_log_every(1);
    let loss = |model: &Sequential, (x, y): (Tensor, Tensor)| Outcome::classify(&model.try_forward(&x)?, &y);
    let summary = block_on(trainer.fit(&mut batches(device), None, loss)).unwrap();
    let weights = trainer.model().parameters().iter().flat_map(|weight| values(&weight.value())).collect();
    (summary.losses.iter().map(|(_, loss)| *loss).collect(), weights)
}

#[test]
fn cpu_and_gpu_train_alike() {
    // The same weights in every run, whatever other tests draw from the default generator.
    let random = |(seed, (name, value)): (u64, (&str, &Tensor))| {
        let first = Tensor::randn(value.shape(), &Generator::new(seed), &Device::cpu()) * 0.3;
        (name.to_owned(), first)
    };
    let first: StateDict = (1..).zip(network(&Device::cpu()).state_dict().iter()).map(random).collect();
    let sgd = |parameters| -> Box<dyn Optimizer> { Box::new(Sgd::new(parameters, 0.1)) };
    let adam = |parameters| -> Box<dyn Optimizer> { Box::new(Adam::new(parameters, 1e-2)) };

    let (cpu, gpu_run) = (train(&Device::cpu(), &first, sgd), train(&gpu(), &first, sgd));
    assert_eq!(cpu.0.len(), STEPS);
    assert_close(&gpu_run.0, &cpu.0, 1e-5, 0.0);
    assert_close(&gpu_run.1, &cpu.1, 1e-4, 0.0);

    let (cpu, gpu_run) = (train(&Device::cpu(), &first, adam), train(&gpu(), &first, adam));
    assert_close(&gpu_run.0, &cpu.0, 1e-5, 0.0);
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut gpu_run.1.iter().zip(&cpu.1).map(|(a, b)| a - b));
    assert!(difference <= 1e-4 * norm(&mut cpu.1.iter().copied()), "weights differ by {difference}");
}

/// The bad step lies between two reports, and a checkpoint is due before the next one: it must not be written.
#[test]
fn a_loss_that_is_not_finite_ends_the_run_and_is_not_saved() {
    let device = Device::cpu();
    let folder = std::env::temp_dir().join(format!("flambeau-diverged-{}", std::process::id()));
    let checkpoints = Checkpoints::new(&folder, 3).unwrap();
    let model = network(&device);
    let optimizer = Sgd::new(model.parameters(), 0.1);
    let mut trainer = Trainer::new(model, optimizer)
        .with_epochs(4)
        .with_log_every(50)
        .with_checkpoints(checkpoints.clone(), 2);
    let mut step = 0;
    let loss = |model: &Sequential, (x, y): (Tensor, Tensor)| {
        step += 1;
        let scale = if step == 3 { f64::NAN } else { 1.0 };
        Outcome::classify(&(model.try_forward(&x)? * scale), &y)
    };
    let error = block_on(trainer.fit(&mut batches(&device), None, loss)).unwrap_err().to_string();
    assert!(error.contains("the loss of step 3 is not finite"), "{error}");
    assert!(error.contains("checkpoint of step 2"), "{error}");
    assert_eq!(checkpoints.steps().unwrap(), [2]);
    std::fs::remove_dir_all(folder).unwrap();
}
