//! Gradient scaling: losses in mixed precision beside those of f32, and the scaler's trajectories, which follow from its rule.

use crate::common::{assert_close, devices, start_from, values};
use flambeau::block_on;
use flambeau::io::{Matching, State, Stateful};
use flambeau::nn::models::*;
use flambeau::nn::utils::{clip_grad_norm, clip_grad_value};
use flambeau::optim::*;
use flambeau::prelude::*;

/// What training is given: a model, its optimizer, batches and a loss.
pub struct Run<M> {
    pub model: M,
    pub optimizer: Box<dyn Optimizer>,
    pub loss: fn(&M, &Tensor, &Tensor) -> Tensor,
    pub inputs: Tensor,
    pub targets: Tensor,
}

impl<M: Module> Run<M> {
    pub fn losses(mut self, steps: usize, mixed: bool) -> Vec<f64> {
        let options = GradScalerOptions { enabled: mixed, ..Default::default() };
        let mut scaler = GradScaler::with_options(options, self.inputs.device());
        let mut losses = Vec::new();
        for step in 0..steps {
            let batch = (step % self.inputs.shape()[0]) as isize;
            let (x, y) = (self.inputs.select(0, batch), self.targets.select(0, batch));
            let loss = autocast(mixed, || (self.loss)(&self.model, &x, &y));
            scaler.scale(&loss).backward().unwrap();
            scaler.step(&mut *self.optimizer).unwrap();
            scaler.update().unwrap();
            self.optimizer.zero_grad();
            losses.push(loss.item_blocking().unwrap());
        }
        losses
    }
}

/// Losses of 50 steps in mixed precision beside those of f32, from the same weights.
fn beside_f32<M: Module>(make: impl Fn(&Device) -> Run<M>) {
    for device in devices() {
        let (full, mixed) = (make(&device), make(&device));
        start_from(7, &full.model);
        mixed.model.load_state_dict(&full.model.state_dict(), Matching::Strict).unwrap();
        let (full, mixed) = (full.losses(50, false), mixed.losses(50, true));
        println!("summary: on {device}: {full:?} in f32, {mixed:?} in mixed precision");
        assert!(full[45] < full[0], "the loss of the first batch falls: {full:?}");
        assert_close(&mixed, &full, 0.0, 0.02);
        assert_ne!(mixed, full, "f16 was in use on {device}");
    }
}

#[test]
fn an_mlp_learns_as_in_f32() {
    beside_f32(|device| {
        let model = Mlp::new(&[12, 32, 5], device);
        let generator = Generator::new(1);
        Run {
            optimizer: Box::new(Adam::new(model.parameters(), 0.01)),
            model,
            loss: |mlp, x, y| mlp.forward(x).cross_entropy(y),
            inputs: Tensor::randn([5, 16, 12], &generator, device),
            targets: Tensor::randint(0, 5, [5, 16], &generator, device),
        }
    });
}

#[test]
fn a_cnn_learns_as_in_f32() {
    beside_f32(|device| {
        let options = CnnOptions {
            size: [12, 12],
            channels: [4, 6],
            hidden: 8,
            batch_norm: true,
            ..Default::default()
        };
        let model = Cnn::with_options(4, options, device);
        let momentum = SgdOptions { learning_rate: 0.005, momentum: 0.9, ..Default::default() };
        let generator = Generator::new(2);
        Run {
            optimizer: Box::new(Sgd::with_options(model.parameters(), momentum)),
            model,
            loss: |cnn, x, y| cnn.forward(x).cross_entropy(y),
            inputs: Tensor::randn([5, 16, 1, 12, 12], &generator, device),
            targets: Tensor::randint(0, 4, [5, 16], &generator, device),
        }
    });
}

#[test]
fn a_gpt_learns_as_in_f32() {
    beside_f32(|device| {
        let config =
            GptConfig { vocabulary: 13, context: 8, layers: 2, heads: 2, width: 32, ..Default::default() };
        let model = Gpt::new(config, device);
        let options = AdamWOptions { learning_rate: 0.003, eps: 1e-4, ..Default::default() };
        let tokens = Tensor::randint(0, 13, [5, 4, 9], &Generator::new(3), device);
        Run {
            optimizer: Box::new(AdamW::with_options(model.parameters(), options)),
            model,
            loss: |gpt, x, y| gpt.forward(x).flatten(0, 1).cross_entropy(&y.flatten(0, 1)),
            inputs: tokens.narrow(2, 0, 8),
            targets: tokens.narrow(2, 1, 8),
        }
    });
}

/// The gradient of step `step`, and at some steps one that is not finite.
fn gradient(step: usize) -> Vec<f32> {
    let mut gradient: Vec<f32> = (0..3).map(|k| ((step + k) as f32).cos()).collect();
    let bad = [(2, f32::INFINITY), (3, f32::NAN), (8, f32::NEG_INFINITY), (14, f32::INFINITY)];
    if let Some((_, number)) = bad.iter().find(|(at, _)| *at == step) {
        gradient[step % 3] = *number;
    }
    gradient
}

fn is_good(step: usize) -> bool {
    gradient(step).iter().all(|number| number.is_finite())
}

/// Steps with infinities among the gradients, with a scaler, end where steps without the bad ones end that need none.
fn skips_what_is_not_finite<O: Optimizer>(make: impl Fn(Vec<Parameter>) -> O, tolerance: f64) {
    for device in devices() {
        let weights = || Parameter::new(&Tensor::new([1.0, -2.0, 3.0], &device));
        let (scaled, plain) = (weights(), weights());
        let (mut scaled_optimizer, mut plain_optimizer) =
            (make(vec![scaled.clone()]), make(vec![plain.clone()]));
        let options = GradScalerOptions { init_scale: 1024.0, growth_interval: 3, ..Default::default() };
        let mut scaler = GradScaler::with_options(options, &device);
        let (mut scale, mut streak) = (1024.0, 0);
        for step in 0..20 {
            let c = Tensor::from_vec(gradient(step), [3], &device);
            scaler.scale(&(scaled.get() * &c).sum(..)).backward().unwrap();
            scaler.step(&mut scaled_optimizer).unwrap();
            scaler.update().unwrap();
            scaled_optimizer.zero_grad();
            if is_good(step) {
                (plain.get() * &c).sum(..).backward().unwrap();
                plain_optimizer.step().unwrap();
                plain_optimizer.zero_grad();
                streak += 1;
                if streak == 3 {
                    (scale, streak) = (2.0 * scale, 0);
                }
            } else {
                (scale, streak) = (0.5 * scale, 0);
            }
            assert_eq!(block_on(scaler.get_scale()).unwrap(), scale, "step {step} on {device}");
            assert_eq!(block_on(scaler.get_growth_tracker()).unwrap(), streak, "step {step} on {device}");
            assert_close(&values(&scaled.value()), &values(&plain.value()), 0.0, tolerance);
        }
    }
}

/// Scales are powers of two, so most rules take exactly the same steps; where the step's number counts, the device's f32 does.
#[test]
fn a_step_with_an_infinity_is_as_if_it_had_not_been() {
    skips_what_is_not_finite(|w| Sgd::new(w, 0.1), 0.0);
    let momentum = SgdOptions { learning_rate: 0.1, momentum: 0.9, dampening: 0.5, ..Default::default() };
    skips_what_is_not_finite(|w| Sgd::with_options(w, momentum), 1e-6);
    skips_what_is_not_finite(|w| RmsProp::new(w, 0.1), 1e-6);
    skips_what_is_not_finite(|w| Lion::new(w, 0.1), 1e-6);
    skips_what_is_not_finite(|w| Adam::new(w, 0.1), 2e-6);
    let amsgrad = AdamWOptions { learning_rate: 0.1, amsgrad: true, ..Default::default() };
    skips_what_is_not_finite(|w| AdamW::with_options(w, amsgrad), 2e-6);
    skips_what_is_not_finite(|w| Adamax::new(w, 0.1), 2e-6);
    let slower = AdagradOptions { learning_rate: 0.1, learning_rate_decay: 0.1, ..Default::default() };
    skips_what_is_not_finite(|w| Adagrad::with_options(w, slower), 2e-6);
}

#[test]
fn what_needs_the_number_of_steps_on_the_host_is_refused() {
    let w = Parameter::new(&Tensor::ones([2], &Device::cpu()));
    let mut scaler = GradScaler::new(&w.device());
    let mut nadam = NAdam::new([w.clone()], 0.1);
    scaler.scale(&w.get().sum(..)).backward().unwrap();
    let error = scaler.step(&mut nadam).unwrap_err().to_string();
    assert!(error.contains("NAdam") && error.contains("AdamW"), "{error}");
    assert_eq!(values(&w.value()), [1.0, 1.0]);
}

#[test]
fn gradients_are_clipped_after_they_are_unscaled() {
    for device in devices() {
        for by_value in [false, true] {
            let w = Parameter::new(&Tensor::new([3.0, 4.0], &device));
            let mut sgd = Sgd::new([w.clone()], 1.0);
            let mut scaler = GradScaler::new(&device);
            for factor in [1.0, f64::INFINITY] {
                scaler.scale(&((w.get() * w.get()).sum(..) * factor)).backward().unwrap();
                scaler.unscale(&sgd).unwrap();
                match by_value {
                    // An infinity is a number after this, and the step is skipped nevertheless.
                    true => clip_grad_value(std::slice::from_ref(&w), 0.7).unwrap(),
                    false => drop(clip_grad_norm(std::slice::from_ref(&w), 1.0, 2.0).unwrap()),
                }
                scaler.step(&mut sgd).unwrap();
                scaler.update().unwrap();
                sgd.zero_grad();
            }
            let expected = if by_value { [2.3, 3.3] } else { [2.4, 3.2] };
            assert_close(&values(&w.value()), &expected, 1e-5, 0.0);
            assert_eq!(block_on(scaler.get_scale()).unwrap(), 32_768.0);
        }
    }
}

#[test]
fn gradients_of_several_batches_add_up() {
    for device in devices() {
        let w = Parameter::new(&Tensor::new([1.0], &device));
        let (mut sgd, mut scaler) = (Sgd::new([w.clone()], 0.5), GradScaler::new(&device));
        for batches in [[1.0, 3.0], [f64::NAN, 1.0]] {
            for x in batches {
                scaler.scale(&((w.get() * x).sum(..) / 2.0)).backward().unwrap();
            }
            scaler.step(&mut sgd).unwrap();
            scaler.update().unwrap();
            sgd.zero_grad();
        }
        assert_eq!(values(&w.value()), [0.0]);
    }
}

#[test]
fn one_scale_serves_two_optimizers() {
    for device in devices() {
        let [a, b] = [1.0, 2.0].map(|x| Parameter::new(&Tensor::full([2], x, &device)));
        let (mut first, mut second) = (Sgd::new([a.clone()], 0.5), Sgd::new([b.clone()], 0.5));
        let mut scaler = GradScaler::new(&device);
        // The first optimizer's gradients are good, the second's are not: one moves, and the scale is halved.
        let loss = a.get().sum(..) + (b.get() * f64::INFINITY).sum(..);
        scaler.scale(&loss).backward().unwrap();
        scaler.step(&mut first).unwrap();
        scaler.step(&mut second).unwrap();
        scaler.update().unwrap();
        assert_eq!((values(&a.value()), values(&b.value())), (vec![0.5; 2], vec![2.0; 2]));
        assert_eq!(block_on(scaler.get_scale()).unwrap(), 32_768.0);
    }
}

#[test]
fn calls_out_of_order_are_errors() {
    let w = Parameter::new(&Tensor::ones([2], &Device::cpu()));
    let (mut sgd, mut scaler) = (Sgd::new([w.clone()], 0.5), GradScaler::new(&w.device()));
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    says(scaler.update().unwrap_err(), "no step");
    says(scaler.step(&mut sgd).unwrap_err(), "no parameter has a gradient");
    says(scaler.unscale(&sgd).unwrap_err(), "no parameter has a gradient");
    scaler.scale(&w.get().sum(..)).backward().unwrap();
    scaler.unscale(&sgd).unwrap();
    says(scaler.unscale(&sgd).unwrap_err(), "twice");
    scaler.step(&mut sgd).unwrap();
    says(scaler.step(&mut sgd).unwrap_err(), "call update");
    says(scaler.unscale(&sgd).unwrap_err(), "after its step");
    scaler.update().unwrap();
    let bad = [
        GradScalerOptions { init_scale: f64::INFINITY, ..Default::default() },
        GradScalerOptions { growth_factor: 1.0, ..Default::default() },
        GradScalerOptions { backoff_factor: 1.0, ..Default::default() },
        GradScalerOptions { growth_interval: 0, ..Default::default() },
    ];
    assert!(bad.iter().all(|&options| GradScaler::try_with_options(options, &w.device()).is_err()));
    let half = Parameter::new(&Tensor::ones([2], &w.device()).to_dtype(DType::F16));
    let mut of_half = Sgd::new([half.clone()], 0.5);
    scaler.scale(&half.get().sum(..)).backward().unwrap();
    says(scaler.step(&mut of_half).unwrap_err(), "keep parameters in f32");
}

/// An index out of range makes a step void: parameters, states, scale and streak are as before, and training goes on.
#[test]
fn a_fault_leaves_the_scaler_as_it_was() {
    for device in devices() {
        let w = Parameter::new(&Tensor::ones([3, 2], &device));
        let (mut adam, mut scaler) = (Adam::new([w.clone()], 0.1), GradScaler::new(&device));
        let mut step = |row: i32| {
            let rows = w.get().index_select(0, &Tensor::new([row], &device));
            let loss = (&rows * &rows).sum(..);
            scaler.scale(&loss).backward().unwrap();
            let stepped = scaler.step(&mut adam);
            let updated = stepped.and_then(|()| scaler.update());
            adam.zero_grad();
            let read = loss.item_blocking().map(|_| ());
            updated.and(read)
        };
        step(0).unwrap();
        let before = values(&w.value());
        assert!(step(7).is_err(), "on {device}");
        assert_eq!(values(&w.value()), before);
        step(1).unwrap();
        assert_ne!(values(&w.value()), before);
        assert_eq!(block_on(scaler.get_scale()).unwrap(), 65_536.0, "on {device}");
        assert_eq!(block_on(scaler.get_growth_tracker()).unwrap(), 2, "on {device}");
    }
}

/// Optimizer and scaler, saved in the middle of skipped steps, go on bit for bit.
#[test]
fn training_goes_on_from_saved_states_bit_for_bit() {
    for device in devices() {
        let make = || {
            let w = Parameter::new(&Tensor::new([1.0, -2.0, 3.0], &device));
            let options = GradScalerOptions { growth_interval: 3, ..Default::default() };
            (w.clone(), Adam::new([w], 0.1), GradScaler::with_options(options, &device))
        };
        let run = |(w, adam, scaler): &mut (Parameter, Adam, GradScaler), steps: std::ops::Range<usize>| {
            for step in steps {
                let c = Tensor::from_vec(gradient(step), [3], &device);
                scaler.scale(&(w.get() * &c).sum(..)).backward().unwrap();
                scaler.step(adam).unwrap();
                scaler.update().unwrap();
                adam.zero_grad();
            }
        };
        let mut whole = make();
        run(&mut whole, 0..4);
        let states: [State; 2] = [whole.1.state(), whole.2.state()];
        let value = whole.0.value();
        let mut resumed = make();
        resumed.0.set(&value);
        resumed.1.load_state(&states[0]).unwrap();
        resumed.2.load_state(&states[1]).unwrap();
        run(&mut whole, 4..20);
        run(&mut resumed, 4..20);
        assert_eq!(values(&whole.0.value()), values(&resumed.0.value()));
        let scale = |run: &(Parameter, Adam, GradScaler)| block_on(run.2.get_scale()).unwrap();
        assert_eq!(scale(&whole), scale(&resumed));
    }
}
