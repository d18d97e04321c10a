//! Training within a limit of memory: that the limit holds, by the ledger, and that the run is the one without it.

use crate::alone;
use crate::common::{assert_close, new_gpu};
use flambeau::data::{DataLoader, TensorDataset};
use flambeau::io::Matching;
use flambeau::nn::models::{Gpt, GptConfig};
use flambeau::nn::{BatchNorm1d, Dropout, Linear, OutOfCore, Placement, Placing, Relu, Sequential};
use flambeau::optim::{Adam, Optimizer, Sgd};
use flambeau::prelude::*;
use flambeau::train::{Event, Fitting, Flow, Outcome, Trainer};
use flambeau::{CpuConfig, GpuConfig, block_on};
use std::sync::{Arc, Mutex};

const STEPS: u64 = 6;

/// A device of each kind that refuses what goes beyond a limit.
fn limited(limit: Option<u64>) -> [Device; 2] {
    let cpu = Device::cpu_with(&CpuConfig { memory_limit: limit, ..CpuConfig::default() });
    [cpu, new_gpu(GpuConfig { memory_limit: limit, ..GpuConfig::default() })]
}

/// Ten layers of 256 × 256, 2.6 MB of parameters, from the same weights each time.
fn deep(device: &Device) -> Sequential {
    let layer = |all: Sequential, seed: u64| {
        let layer = Linear::new(256, 256, device);
        let random = Tensor::randn([256, 256], &Generator::new(seed), device) * (2.0_f64 / 256.0).sqrt();
        layer.weight.set(&random);
        layer.bias.as_ref().unwrap().set(&Tensor::zeros([256], device));
        all.with(layer).with(Relu)
    };
    (0..10).fold(Sequential::new(), layer)
}

fn batches(device: &Device, size: usize) -> DataLoader {
    let x = Tensor::rand([64, 256], &Generator::new(50), device) * 2.0 - 1.0;
    let y = Tensor::randint(0, 8, [64], &Generator::new(60), device);
    let data = TensorDataset::new([x, y]).unwrap();
    DataLoader::new(data, device).with_batch_size(size).with_shuffle(7)
}

fn classify<M: Forward>(model: &M, (x, y): (Tensor, Tensor)) -> Result<Outcome> {
    Outcome::classify(&model.try_forward(&x)?, &y)
}

fn adam(model: &impl Module) -> Adam {
    Adam::new(model.parameters(), 1e-3)
}

/// The losses of all steps.
fn losses<M: Forward>(trainer: Trainer<M>, batches: &mut DataLoader) -> (Vec<f64>, Trainer<M>) {
    let mut trainer = trainer.with_epochs(100).with_max_steps(STEPS).with_log_every(1);
    let summary = block_on(trainer.fit(batches, None, classify)).unwrap();
    assert_eq!(summary.steps, STEPS, "steps are those of whole batches");
    (summary.losses.iter().map(|(_, loss)| *loss).collect(), trainer)
}

fn weights(model: &impl Module) -> Vec<Vec<f64>> {
    model.parameters().iter().map(|weight| block_on(weight.value().to_f64_vec()).unwrap()).collect()
}

/// However a model is placed, it takes the steps of the model that lies on the device.
#[test]
fn every_placement_trains_as_on_the_device() {
    let _alone = alone();
    for device in limited(None) {
        let mut plain = batches(&device, 32);
        let model = deep(&device);
        let optimizer = adam(&model);
        let (expected, plain) = losses(Trainer::new(model, optimizer), &mut plain);
        assert!(expected[STEPS as usize - 1] < 0.9 * expected[0], "it learns: {expected:?}");
        let host = Device::cpu();
        for placement in [
            Placement::OnDevice { segments: 4 },
            Placement::StateOnHost { segments: 3 },
            Placement::OnHost { segments: 5 },
            Placement::OnHost { segments: 1 },
        ] {
            let home = if placement.is_on_device() { &device } else { &host };
            let model = OutOfCore::new(deep(home), &device).with_placement(placement);
            let optimizer = adam(&model);
            let (found, trainer) = losses(Trainer::new(model, optimizer), &mut batches(&device, 32));
            assert_close(&found, &expected, 0.0, 1e-5);
            for (own, other) in weights(trainer.model()).iter().zip(weights(plain.model())) {
                assert_close(own, &other, 2e-4, 0.0);
            }
            // On the CPU both do the very same arithmetic.
            if device.is_cpu() {
                assert_eq!(found, expected, "{placement}");
                assert_eq!(weights(trainer.model()), weights(plain.model()), "{placement}");
            }
        }
    }
}

/// Parameters of 2.6 MB, with their state 7.9 MB, trained within 1.3 MB; the device refuses every byte beyond.
#[test]
fn a_model_of_more_than_twice_the_limit_trains() {
    let _alone = alone();
    const LIMIT: u64 = 1_300_000;
    let [free_cpu, free_gpu] = limited(None);
    for (device, free) in limited(Some(LIMIT)).into_iter().zip([free_cpu, free_gpu]) {
        let model = deep(&free);
        let parameters = 4 * model.parameter_count() as u64;
        assert!(parameters > 2 * LIMIT, "{parameters}");
        let optimizer = adam(&model);
        let (expected, _) = losses(Trainer::new(model, optimizer), &mut batches(&free, 32));
        assert!(free.memory().peak > 6 * parameters, "without a limit it takes all that");

        let model = OutOfCore::new(deep(&Device::cpu()), &device);
        let optimizer = adam(&model);
        let told: Arc<Mutex<Option<Fitting>>> = Arc::default();
        let listener = told.clone();
        let trainer = Trainer::new(model, optimizer).with_memory_limit(LIMIT).with_callback(move |event| {
            if let Event::Fitted(fitting) = event {
                *listener.lock().unwrap() = Some((*fitting).clone());
            }
            Flow::Continue
        });
        device.reset_peak_memory();
        let (found, trainer) = losses(trainer, &mut batches(&device, 32));
        assert_close(&found, &expected, 0.0, 1e-5);
        let memory = device.memory();
        assert!(memory.peak <= LIMIT && memory.in_use + memory.pooled <= LIMIT, "{memory:?}");
        let fitting = trainer.fitting().unwrap();
        assert_eq!(told.lock().unwrap().as_ref(), Some(fitting));
        assert!(!fitting.placement.unwrap().is_on_device(), "{fitting}");
        assert!(fitting.too_large.iter().any(|(what, _)| what.starts_with("all on the device")), "{fitting}");
        let off = fitting.estimate.peak as f64 / memory.peak as f64 - 1.0;
        println!("{device}: {fitting}\nmeasured {} of {LIMIT}, {off:+.4}", memory.peak);
        assert!(off.abs() < 0.05, "estimated {}, measured {}", fitting.estimate.peak, memory.peak);
    }
}

/// 1,200 items of eight numbers: small models whose activations are much larger than they are.
fn many(device: &Device, size: usize) -> DataLoader {
    let x = Tensor::rand([1200, 8], &Generator::new(50), device) * 2.0 - 1.0;
    let y = Tensor::randint(0, 8, [1200], &Generator::new(60), device);
    DataLoader::new(TensorDataset::new([x, y]).unwrap(), device).with_batch_size(size).with_shuffle(7)
}

/// A batch that does not fit comes in pieces; the mean gradient is that of the whole. Batches of 500, 500 and 200 are cut
/// unevenly.
#[test]
fn a_batch_too_large_comes_in_pieces() {
    let _alone = alone();
    for device in limited(None) {
        let narrow = || {
            let layer = |seed: u64, from: usize, to: usize| {
                let layer = Linear::new(from, to, &device);
                layer.weight.set(&(Tensor::randn([to, from], &Generator::new(seed), &device) * 0.3));
                layer.bias.as_ref().unwrap().set(&Tensor::zeros([to], &device));
                layer
            };
            Sequential::new().with(layer(1, 8, 64)).with(Relu).with(layer(2, 64, 8))
        };
        let trainer = || {
            let model = narrow();
            let optimizer = Sgd::new(model.parameters(), 0.1);
            Trainer::new(model, optimizer)
        };
        let mut whole = trainer();
        let needed = whole.estimate(&many(&device, 500), classify).unwrap().peak;
        let (expected, whole) = losses(whole, &mut many(&device, 500));
        for part in [2, 5] {
            let held = device.memory().in_use;
            let limit = held + (needed - held) / part + 100_000;
            let mut loader = many(&device, 500);
            let (found, trainer) = losses(trainer().with_memory_limit(limit), &mut loader);
            let fitting = trainer.fitting().unwrap();
            assert!(fitting.estimate.pieces > 1, "{fitting}");
            assert_eq!(loader.pieces(), fitting.estimate.pieces);
            assert_close(&found, &expected, 0.0, 1e-5);
            for (own, other) in weights(trainer.model()).iter().zip(weights(whole.model())) {
                assert_close(own, &other, 1e-6, 1e-4);
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error_with_the_numbers() {
    let _alone = alone();
    for device in limited(None) {
        let model = OutOfCore::new(deep(&Device::cpu()), &device);
        let optimizer = adam(&model);
        let mut trainer = Trainer::new(model, optimizer).with_memory_limit(300_000);
        let before = device.memory().in_use;
        let error = block_on(trainer.fit(&mut batches(&device, 32), None, classify)).unwrap_err();
        let Error::DoesNotFit { needed, limit, advice } = &error else { panic!("{error}") };
        assert!(*needed > 300_000 && *limit == 300_000, "{error}");
        assert!(advice.contains("the largest parameter, 0.weight, takes 262.1 kB"), "{error}");
        assert!(device.memory().in_use <= before + 200_000, "nothing was left there");

        let model = deep(&device);
        let optimizer = adam(&model);
        let mut trainer = Trainer::new(model, optimizer).with_memory_limit(1_000_000);
        let error = block_on(trainer.fit(&mut batches(&device, 32), None, classify)).unwrap_err();
        assert!(error.to_string().contains("wrap the model in nn::OutOfCore"), "{error}");
    }
}

/// Batch norm would normalise each piece by itself: batches are not cut unless that is allowed.
#[test]
fn batch_norm_refuses_pieces() {
    let _alone = alone();
    let [device, _] = limited(None);
    let model = Sequential::new()
        .with(Linear::new(8, 64, &device))
        .with(BatchNorm1d::new(64, &device))
        .with(Relu)
        .with(Linear::new(64, 8, &device));
    let optimizer = adam(&model);
    let mut trainer = Trainer::new(model, optimizer);
    let batches = many(&device, 600);
    let whole = trainer.estimate(&batches, classify).unwrap();
    let mut refused = trainer.with_memory_limit(whole.peak * 3 / 4);
    let error = block_on(refused.plan_memory(&batches, classify)).unwrap_err();
    assert!(error.to_string().contains("batch norm would normalise each by itself"), "{error}");
    let mut allowed = refused.with_statistics_by_piece();
    let fitting = block_on(allowed.plan_memory(&batches, classify)).unwrap();
    assert!(fitting.estimate.pieces > 1, "{fitting}");
    assert!(fitting.to_string().contains("batch norm normalises each piece"), "{fitting}");
}

/// Dropout draws what it drew without segments, running statistics move once a step, and frozen parameters stay.
#[test]
fn segments_draw_and_count_as_the_whole_does() {
    let _alone = alone();
    for device in limited(None) {
        let make = |home: &Device| {
            let model = Sequential::new()
                .with(Linear::new(256, 64, home))
                .with(BatchNorm1d::new(64, home))
                .with(Dropout::new(0.5))
                .with(Linear::new(64, 8, home));
            for (seed, parameter) in (1..).zip(model.parameters()) {
                parameter.set(&(Tensor::randn(parameter.shape(), &Generator::new(seed), home) * 0.1));
            }
            model.parameters()[1].set_requires_grad(false);
            model
        };
        let run = |model: &dyn Forward| {
            let before = Generator::set_default_of_thread(Some(Generator::new(3)));
            let mut sgd = Sgd::new(model.parameters(), 0.1);
            for _ in 0..3 {
                let x = Tensor::rand([16, 256], &Generator::new(9), &device);
                model.forward(&x).square().mean(..).backward().unwrap();
                sgd.step().unwrap();
                sgd.zero_grad();
            }
            Generator::set_default_of_thread(before);
            let state = model.state_dict();
            state.iter().map(|(_, value)| block_on(value.to_f64_vec()).unwrap()).collect::<Vec<_>>()
        };
        let plain = make(&device);
        let expected = run(&plain);
        let placed =
            OutOfCore::new(make(&Device::cpu()), &device).with_placement(Placement::OnHost { segments: 3 });
        for (own, other) in run(&placed).iter().zip(&expected) {
            assert_close(own, other, 1e-5, 1e-5);
        }
        // What was learned there loads here, and the other way round.
        let state = placed.state_dict();
        make(&Device::cpu()).load_state_dict(&state, Matching::Strict).unwrap();
        // Without gradients it only computes.
        placed.eval();
        plain.eval();
        let x = Tensor::rand([4, 256], &Generator::new(9), &device);
        let [a, b] = no_grad(|| [placed.forward(&x), plain.forward(&x)]);
        let [a, b] = [a, b].map(|y| block_on(y.to_f64_vec()).unwrap());
        assert_close(&a, &b, 1e-4, 1e-4);
    }
}

/// Tokens have no gradient, and the tied table of embeddings gets that of both ends.
#[test]
fn a_tied_transformer_by_segments() {
    let _alone = alone();
    for device in limited(None) {
        let config =
            GptConfig { vocabulary: 16, context: 8, layers: 2, heads: 2, width: 16, ..GptConfig::default() };
        let make = |home: &Device| {
            let model = Gpt::new(config, home);
            for (seed, parameter) in (1..).zip(model.parameters()) {
                parameter.set(&(Tensor::randn(parameter.shape(), &Generator::new(seed), home) * 0.1));
            }
            model
        };
        let tokens = Tensor::randint(0, 16, [4, 8], &Generator::new(2), &device);
        let gradients = |model: &dyn Forward| -> Vec<Vec<f64>> {
            model.forward(&tokens).square().mean(..).backward().unwrap();
            let of = |parameter: &Parameter| block_on(parameter.grad().unwrap().to_f64_vec()).unwrap();
            model.parameters().iter().map(of).collect()
        };
        let expected = gradients(&make(&device));
        let placed = OutOfCore::new(make(&Device::cpu()), &device);
        assert_eq!(placed.stage_count(), 4);
        for (own, other) in gradients(&placed).iter().zip(&expected) {
            assert_close(own, other, 1e-6, 1e-4);
        }
        let error = placed.forward(&tokens.to_dtype(DType::I32)).square().mean(..);
        error.backward().unwrap();
        let twice = error.backward().unwrap_err();
        assert!(matches!(twice, Error::Autograd(_)), "{twice}");
    }
}
