//! The Trainer: the same run on every device, and a loss that is not finite.

use crate::common::{assert_close, devices, gpu, new_gpu, values};
use flambeau::block_on;
use flambeau::data::{DataLoader, TensorDataset};
use flambeau::io::{Checkpoints, Matching, StateDict};
use flambeau::nn::{Linear, Sequential};
use flambeau::optim::scheduler::OneCycleLr;
use flambeau::optim::{Adam, Ema, GradScaler, GradScalerOptions, LrScheduler, Optimizer, Sgd};
use flambeau::prelude::*;
use flambeau::train::{Outcome, SchedulePer, Trainer, recovering};
use std::cell::Cell;

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

/// The same weights in every run, whatever other tests draw from the default generator.
fn first_weights(device: &Device) -> StateDict {
    let random = |(seed, (name, value)): (u64, (&str, &Tensor))| {
        let first = Tensor::randn(value.shape(), &Generator::new(seed), device) * 0.3;
        (name.to_owned(), first)
    };
    (1..).zip(network(device).state_dict().iter()).map(random).collect()
}

#[test]
fn cpu_and_gpu_train_alike() {
    let first = first_weights(&Device::cpu());
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

/// Mixed precision with everything that goes with it. The scale is too large at first, so that steps are skipped before and
/// after the run is stopped.
#[test]
fn a_run_in_mixed_precision_goes_on_bit_for_bit() {
    for device in devices() {
        let folder = |name: &str| {
            let kind = if device.is_cpu() { "cpu" } else { "gpu" };
            std::env::temp_dir().join(format!("flambeau-amp-{name}-{kind}-{}", std::process::id()))
        };
        let trainer = |name: &str, steps: u64| {
            let model = network(&device);
            model.load_state_dict(&first_weights(&device), Matching::Strict).unwrap();
            let mut adam = Adam::new(model.parameters(), 1e-2);
            let scheduler = LrScheduler::new(&mut adam, OneCycleLr::new(0.02, 20));
            let options =
                GradScalerOptions { init_scale: 2_f64.powi(24), growth_interval: 2, ..Default::default() };
            let ema = Ema::new(model.parameters(), 0.9);
            Trainer::new(model, adam)
                .with_epochs(8)
                .with_max_steps(steps)
                .with_accumulation(2)
                .with_clip_grad_norm(0.5)
                .with_ema(ema)
                .with_amp(GradScaler::with_options(options, &device))
                .with_scheduler(scheduler, SchedulePer::Step)
                .with_checkpoints(Checkpoints::new(folder(name), 3).unwrap(), 10)
        };
        let loss =
            |model: &Sequential, (x, y): (Tensor, Tensor)| Outcome::classify(&model.try_forward(&x)?, &y);
        let weights = |trainer: &Trainer<Sequential>| -> Vec<f64> {
            trainer.model().parameters().iter().flat_map(|weight| values(&weight.value())).collect()
        };
        let mut whole = trainer("whole", 40);
        let summary = block_on(whole.fit(&mut batches(&device), None, loss)).unwrap();
        assert!(summary.last("loss").unwrap() < summary.history[0].get("loss").unwrap(), "on {device}");
        block_on(trainer("parts", 10).fit(&mut batches(&device), None, loss)).unwrap();
        let (mut resumed, mut data) = (trainer("parts", 40), batches(&device));
        assert_eq!(block_on(resumed.resume(&mut data)).unwrap(), Some(10));
        block_on(resumed.fit(&mut data, None, loss)).unwrap();
        assert_eq!(weights(&resumed), weights(&whole), "on {device}");
        ["whole", "parts"].iter().for_each(|name| std::fs::remove_dir_all(folder(name)).unwrap());
    }
}

/// A GPU that is lost again and again is replaced three times; then the CPU takes over. What fails for another reason is not tried again.
#[test]
fn lost_devices_are_replaced_three_times() {
    let (opened, seen) = (Cell::new(0), Cell::new(Vec::new()));
    let open = async || {
        opened.set(opened.get() + 1);
        Ok(new_gpu(Default::default()))
    };
    let attempt = async |device: &Device, losses: usize| {
        let mut so_far = seen.take();
        so_far.push((losses, device.is_cpu()));
        seen.set(so_far);
        if !device.is_cpu() {
            device.destroy();
        }
        Tensor::ones([4], device).exp().sum(..).item().await
    };
    let sum = block_on(recovering(open, attempt)).unwrap();
    assert!((sum - 4.0 * 1_f64.exp()).abs() < 1e-5, "{sum}");
    assert_eq!(seen.take(), [(0, false), (1, false), (2, false), (3, false), (4, true)]);
    assert_eq!(opened.get(), 4);

    let tries = Cell::new(0);
    let refuse = async |_: &Device, _: usize| -> Result<()> {
        tries.set(tries.get() + 1);
        Err(Error::Diverged("on purpose".into()))
    };
    let open = async || Ok(gpu());
    assert_eq!(block_on(recovering(open, refuse)), Err(Error::Diverged("on purpose".into())));
    assert_eq!(tries.get(), 1);
}

/// A device that cannot be had again counts as lost, too.
#[test]
fn devices_that_cannot_be_opened_again_count_as_lost() {
    let opened = Cell::new(0);
    let open = async || {
        opened.set(opened.get() + 1);
        match opened.get() {
            1 => Ok(new_gpu(Default::default())),
            _ => Err(Error::NoAdapter("unplugged".into())),
        }
    };
    let attempt = async |device: &Device, losses: usize| match device.is_cpu() {
        true => Ok(losses),
        false => Err(Error::DeviceLost("unplugged".into())),
    };
    assert_eq!(block_on(recovering(open, attempt)), Ok(4));
    assert_eq!(opened.get(), 4);
}

/// The run of a lost device goes on from its checkpoint, bit for bit.
#[test]
fn a_run_whose_device_is_lost_ends_as_if_it_had_not_been() {
    let folder = std::env::temp_dir().join(format!("flambeau-lost-{}", std::process::id()));
    let weights = |loses: bool| {
        let folder = folder.join(if loses { "lost" } else { "whole" });
        let attempt = async |device: &Device, losses: usize| {
            let model = network(device);
            model.load_state_dict(&first_weights(device), Matching::Strict)?;
            let optimizer = Adam::new(model.parameters(), 1e-2);
            let mut trainer = Trainer::new(model, optimizer)
                .with_epochs(4)
                .with_checkpoints(Checkpoints::new(&folder, 3)?, 5);
            let mut data = batches(device);
            let resumed = if losses > 0 { trainer.resume(&mut data).await? } else { None };
            assert_eq!(resumed, (losses > 0).then_some(10));
            let mut step = resumed.unwrap_or(0);
            let loss = |model: &Sequential, (x, y): (Tensor, Tensor)| {
                step += 1;
                if loses && losses == 0 && step == 13 {
                    device.destroy();
                }
                Outcome::classify(&model.try_forward(&x)?, &y)
            };
            trainer.fit(&mut data, None, loss).await?;
            Ok(trainer
                .model()
                .parameters()
                .iter()
                .flat_map(|weight| values(&weight.value()))
                .collect::<Vec<f64>>())
        };
        block_on(recovering(async || Ok(new_gpu(Default::default())), attempt)).unwrap()
    };
    assert_eq!(weights(true), weights(false));
    std::fs::remove_dir_all(folder).unwrap();
}
