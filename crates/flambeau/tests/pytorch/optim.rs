//! `optim.cpp`: networks learn XOR with every optimizer, and parameters move as PyTorch's do over a thousand steps.

use crate::common::{assert_close, values};
use crate::common::{block_on, start_from};
use crate::tools::{each, each_that_takes_long, is, number, ramp};
use flambeau::nn::{Linear, Module, Parameter, Sequential, Sigmoid};
use flambeau::optim::scheduler::*;
use flambeau::optim::*;
use flambeau::prelude::*;
use std::collections::BTreeMap;

/// 2 – 8 – 1 with sigmoids.
pub fn xor_network(device: &Device) -> Sequential {
    let network = Sequential::new()
        .with(Linear::new(2, 8, device))
        .with(Sigmoid)
        .with(Linear::new(8, 1, device))
        .with(Sigmoid);
    start_from(1, &network);
    network
}

/// 200 pairs of bits, and their exclusive or.
pub fn xor_batch(generator: &Generator, device: &Device) -> (Tensor, Tensor) {
    let bits = Tensor::randint(0, 2, [200, 2], generator, (DType::F32, device));
    let labels = bits.select(1, 0).ne(bits.select(1, 1)).to_dtype(DType::F32).unsqueeze(1);
    (bits, labels)
}

/// Until the running mean of the losses is below 0.1; at most 3,000 epochs.
fn learns_xor(device: &Device, parameters: impl FnOnce(Vec<Parameter>) -> Box<dyn Optimizer>) {
    let model = xor_network(device);
    let mut optimizer = parameters(model.parameters());
    let generator = Generator::new(2);
    let mut running = Tensor::scalar(1.0, device);
    for epoch in 0..3000 {
        let (inputs, labels) = xor_batch(&generator, device);
        let loss = model.forward(&inputs).binary_cross_entropy(&labels);
        loss.backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
        running = running * 0.99 + loss.detach() * 0.01;
        if epoch % 25 == 24 && number(&running) < 0.1 {
            return;
        }
    }
    panic!("the loss is {} after 3,000 epochs", number(&running));
}

/// Tests of an optimizer each.
macro_rules! xor {
    ($($test:ident: |$parameters:ident| $optimizer:expr;)*) => {$(
        #[test]
        fn $test() {
            each_that_takes_long(|device| learns_xor(device, |$parameters| Box::new($optimizer)));
        }
    )*};
}

xor! {
    xor_convergence_sgd: |p| Sgd::with_options(p, SgdOptions { learning_rate: 0.1, momentum: 0.9, nesterov: true, weight_decay: 1e-6, ..Default::default() });
    xor_convergence_adagrad: |p| Adagrad::with_options(p, AdagradOptions { learning_rate: 1.0, weight_decay: 1e-6, learning_rate_decay: 1e-3, ..Default::default() });
    xor_convergence_rmsprop: |p| RmsProp::with_options(p, RmsPropOptions { learning_rate: 0.1, centered: true, ..Default::default() });
    xor_convergence_rmsprop_with_momentum: |p| RmsProp::with_options(p, RmsPropOptions { learning_rate: 0.1, momentum: 0.9, weight_decay: 1e-6, ..Default::default() });
    xor_convergence_adam: |p| Adam::with_options(p, AdamOptions { learning_rate: 0.1, weight_decay: 1e-6, ..Default::default() });
    xor_convergence_adam_with_amsgrad: |p| Adam::with_options(p, AdamOptions { learning_rate: 0.1, weight_decay: 1e-6, amsgrad: true, ..Default::default() });
    xor_convergence_adamw: |p| AdamW::new(p, 0.1);
    xor_convergence_adamw_with_amsgrad: |p| AdamW::with_options(p, AdamWOptions { learning_rate: 0.1, amsgrad: true, ..Default::default() });
}

/// Every step looks at one batch several times.
#[test]
fn xor_convergence_lbfgs() {
    each_that_takes_long(|device| {
        let model = xor_network(device);
        let options =
            LbfgsOptions { learning_rate: 1.0, line_search: LineSearch::StrongWolfe, ..Default::default() };
        let mut optimizer = Lbfgs::with_options(model.parameters(), options);
        let generator = Generator::new(2);
        let mut running = 1.0;
        for _ in 0..3000 {
            let (inputs, labels) = xor_batch(&generator, device);
            let closure = || {
                model.zero_grad();
                let loss = model.forward(&inputs).binary_cross_entropy(&labels);
                loss.backward()?;
                Ok(loss)
            };
            running = running * 0.99 + block_on(optimizer.step(closure)).unwrap() * 0.01;
            if running < 0.1 {
                return;
            }
        }
        panic!("the loss is {running} after 3,000 steps");
    });
}

const STEPS: usize = 1001;

/// The network, inputs and loss of `tools/reference/cpp_optim.py`.
struct Problem {
    model: Sequential,
    inputs: Tensor,
    held: f64,
}

impl Problem {
    fn new(name: &str, device: &Device) -> Problem {
        let linear = |inputs, outputs| Linear::new(inputs, outputs, device);
        let model = Sequential::new().with(linear(2, 3)).with(Sigmoid).with(linear(3, 1)).with(Sigmoid);
        let mut count = 0;
        for parameter in model.parameters() {
            let start =
                (0..parameter.numel()).map(|k| (1.0 + (count + k) as f64).sin() as f32).collect::<Vec<_>>();
            parameter.set(&Tensor::from_vec(start, parameter.shape().clone(), device));
            count += parameter.numel();
        }
        let inputs = Tensor::new([[0.1, 0.2], [0.3, -0.4], [-0.5, 0.6]], device);
        Problem { model, inputs, held: if name.starts_with("lbfgs") { 0.05 } else { 0.0 } }
    }

    fn loss(&self) -> Result<Tensor> {
        self.model.zero_grad();
        let mut loss = self.model.forward(&self.inputs).sum(..);
        if self.held > 0.0 {
            for parameter in self.model.parameters() {
                loss += parameter.get().square().sum(..) * self.held;
            }
        }
        loss.backward()?;
        Ok(loss)
    }

    fn values(&self) -> Vec<f64> {
        self.model.parameters().iter().flat_map(|parameter| values(&parameter.value())).collect()
    }
}

fn trajectory(name: &str) -> Vec<Vec<f64>> {
    let mut all: BTreeMap<String, Vec<Vec<f64>>> =
        serde_json::from_str(include_str!("../data/cpp_optim.json")).expect("the reference file is whole");
    all.remove(name).unwrap_or_else(|| panic!("no trajectory of {name}"))
}

/// Compares the parameters every 100 steps.
fn follows(name: &str, make: impl Fn(Vec<Parameter>) -> Box<dyn Optimizer>) {
    let wanted = trajectory(name);
    each_that_takes_long(|device| {
        let problem = Problem::new(name, device);
        let mut optimizer = make(problem.model.parameters());
        for step in 0..STEPS {
            if step % 100 == 0 {
                assert_close(&problem.values(), &wanted[step / 100], 5e-4, 1e-3);
            }
            problem.loss().unwrap();
            optimizer.step().unwrap();
        }
    });
}

macro_rules! trajectories {
    ($($test:ident: $name:literal |$parameters:ident| $optimizer:expr;)*) => {$(
        #[test]
        fn $test() {
            follows($name, |$parameters| Box::new($optimizer));
        }
    )*};
}

fn adam() -> AdamOptions {
    AdamOptions { learning_rate: 1.0, ..Default::default() }
}

fn adamw() -> AdamWOptions {
    AdamWOptions { learning_rate: 1.0, ..Default::default() }
}

fn adagrad() -> AdagradOptions {
    AdagradOptions { learning_rate: 1.0, ..Default::default() }
}

fn rmsprop() -> RmsPropOptions {
    RmsPropOptions { learning_rate: 0.1, ..Default::default() }
}

fn sgd() -> SgdOptions {
    SgdOptions { learning_rate: 0.1, ..Default::default() }
}

trajectories! {
    produces_pytorch_values_adam: "adam" |p| Adam::with_options(p, adam());
    produces_pytorch_values_adam_with_weight_decay: "adam_weight_decay"
        |p| Adam::with_options(p, AdamOptions { learning_rate: 0.01, weight_decay: 1e-2, ..adam() });
    produces_pytorch_values_adam_with_weight_decay_and_amsgrad: "adam_weight_decay_amsgrad"
        |p| Adam::with_options(p, AdamOptions { weight_decay: 1e-6, amsgrad: true, ..adam() });
    produces_pytorch_values_adamw: "adamw" |p| AdamW::with_options(p, adamw());
    produces_pytorch_values_adamw_without_weight_decay: "adamw_without_weight_decay"
        |p| AdamW::with_options(p, AdamWOptions { weight_decay: 0.0, ..adamw() });
    produces_pytorch_values_adamw_with_amsgrad: "adamw_amsgrad" |p| AdamW::with_options(p, AdamWOptions { amsgrad: true, ..adamw() });
    produces_pytorch_values_adagrad: "adagrad" |p| Adagrad::with_options(p, adagrad());
    produces_pytorch_values_adagrad_with_weight_decay: "adagrad_weight_decay"
        |p| Adagrad::with_options(p, AdagradOptions { weight_decay: 1e-2, ..adagrad() });
    produces_pytorch_values_adagrad_with_weight_decay_and_lr_decay: "adagrad_weight_decay_lr_decay"
        |p| Adagrad::with_options(p, AdagradOptions { weight_decay: 1e-6, learning_rate_decay: 1e-3, ..adagrad() });
    produces_pytorch_values_rmsprop: "rmsprop" |p| RmsProp::with_options(p, rmsprop());
    produces_pytorch_values_rmsprop_with_weight_decay: "rmsprop_weight_decay"
        |p| RmsProp::with_options(p, RmsPropOptions { learning_rate: 0.001, weight_decay: 1e-2, ..rmsprop() });
    produces_pytorch_values_rmsprop_with_weight_decay_and_centered: "rmsprop_weight_decay_centered"
        |p| RmsProp::with_options(p, RmsPropOptions { weight_decay: 1e-6, centered: true, ..rmsprop() });
    produces_pytorch_values_rmsprop_with_weight_decay_and_centered_and_momentum: "rmsprop_weight_decay_centered_momentum"
        |p| RmsProp::with_options(p, RmsPropOptions { weight_decay: 1e-6, centered: true, momentum: 0.9, ..rmsprop() });
    produces_pytorch_values_sgd: "sgd" |p| Sgd::with_options(p, sgd());
    produces_pytorch_values_sgd_with_weight_decay: "sgd_weight_decay"
        |p| Sgd::with_options(p, SgdOptions { weight_decay: 1e-2, ..sgd() });
    produces_pytorch_values_sgd_with_weight_decay_and_momentum: "sgd_weight_decay_momentum"
        |p| Sgd::with_options(p, SgdOptions { weight_decay: 1e-2, momentum: 0.9, ..sgd() });
    produces_pytorch_values_sgd_with_weight_decay_and_nesterov_momentum: "sgd_weight_decay_nesterov"
        |p| Sgd::with_options(p, SgdOptions { weight_decay: 1e-6, momentum: 0.9, nesterov: true, ..sgd() });
}

/// Every step is up to 20 iterations; at the minimum one of them is enough to see that it is one.
fn newton_follows(name: &str, line_search: LineSearch) {
    let wanted = trajectory(name);
    each_that_takes_long(|device| {
        let problem = Problem::new(name, device);
        let options = LbfgsOptions { learning_rate: 1.0, line_search, ..Default::default() };
        let mut optimizer = Lbfgs::with_options(problem.model.parameters(), options);
        for step in 0..STEPS {
            if step % 100 == 0 {
                assert_close(&problem.values(), &wanted[step / 100], 5e-4, 1e-3);
            }
            block_on(optimizer.step(|| problem.loss())).unwrap();
        }
    });
}

#[test]
fn produces_pytorch_values_lbfgs() {
    newton_follows("lbfgs", LineSearch::None);
}

#[test]
fn produces_pytorch_values_lbfgs_with_line_search() {
    newton_follows("lbfgs_with_line_search", LineSearch::StrongWolfe);
}

#[test]
fn optimizer_accessors() {
    each(|device| {
        let (a, b) = (Parameter::new(&ramp([2], device)), Parameter::new(&ramp([3], device)));
        let mut optimizer =
            Adam::with_options([a.clone()], AdamOptions { learning_rate: 1.0, ..Default::default() });
        assert_eq!((optimizer.parameters().len(), optimizer.group_count()), (1, 1));
        optimizer
            .add_group(Group::new([b.clone()], AdamOptions { learning_rate: 0.5, ..Default::default() }))
            .unwrap();
        assert_eq!((optimizer.parameters().len(), optimizer.group_count()), (2, 2));
        assert_eq!((optimizer.options(0).learning_rate, optimizer.options(1).learning_rate), (1.0, 0.5));
        optimizer.set_group_learning_rate(1, 0.25);
        assert_eq!(optimizer.group_learning_rate(1), 0.25);
        (a.get().sum(..) + b.get().sum(..)).backward().unwrap();
        optimizer.step().unwrap();
        // Adam's first step is the learning rate.
        is(&a.value(), [2], &[-1.0, 0.0]);
        is(&b.value(), [3], &[-0.25, 0.75, 1.75]);
        let state = flambeau::io::Stateful::state(&optimizer);
        assert!(state.tensors.len() >= 2);
    });
}

#[test]
fn zero_grad() {
    each(|device| {
        let model = Linear::new(2, 8, device);
        let optimizer = Sgd::new(model.parameters(), 0.1);
        model.forward(&ramp([5, 2], device)).sum(..).backward().unwrap();
        assert!(model.parameters().iter().all(|parameter| parameter.grad().is_some()));
        optimizer.zero_grad();
        assert!(model.parameters().iter().all(|parameter| parameter.grad().is_none()));
    });
}

/// Parameters need not be a module's.
#[test]
fn external_vector_of_parameters() {
    each(|device| {
        let parameters = [2, 3, 4].map(|size| Parameter::new(&Tensor::ones([size, size], device)));
        let mut optimizer = Sgd::new(parameters.clone(), 1.0);
        for parameter in &parameters {
            (parameter.get() * 2.0).sum(..).backward().unwrap();
        }
        optimizer.step().unwrap();
        for parameter in &parameters {
            assert!(values(&parameter.value()).iter().all(|&value| value == -1.0));
        }
    });
}

/// Parameters that have no gradient stay.
#[test]
fn add_parameter_lbfgs() {
    each(|device| {
        let parameters: Vec<Parameter> =
            (0..5).map(|_| Parameter::new(&Tensor::ones([5, 5], device))).collect();
        let mut optimizer = Lbfgs::new(parameters.clone(), 1.0);
        let closure = || {
            let loss = (parameters[0].get() * 0.0).sum(..) + 1.0;
            loss.backward()?;
            Ok(loss)
        };
        assert_eq!(block_on(optimizer.step(closure)).unwrap(), 1.0);
        assert!(parameters.iter().all(|parameter| values(&parameter.value()) == vec![1.0; 25]));
    });
}

#[test]
fn check_lr_change_step_lr_adam() {
    each(|device| {
        let parameter = Parameter::new(&ramp([2], device));
        let mut optimizer = Adam::new([parameter], 1e-3);
        let mut scheduler = LrScheduler::new(&mut optimizer, StepLr::new(20, 0.5));
        for epoch in 1..=100u32 {
            scheduler.step(&mut optimizer);
            let wanted = 1e-3 * 0.5f64.powi((epoch / 20) as i32);
            assert!((optimizer.learning_rate() - wanted).abs() < 1e-12, "{epoch}");
        }
    });
}

#[test]
fn check_lr_change_reduce_lr_on_plateau_adam() {
    each(|device| {
        let parameter = Parameter::new(&ramp([2], device));
        let mut optimizer = Adam::new([parameter], 1e-3);
        let options = PlateauOptions { factor: 0.1, patience: 5, ..Default::default() };
        let mut scheduler = ReduceLrOnPlateau::new(options);
        // Better and better: nothing happens.
        for epoch in 0..10 {
            scheduler.observe(10.0 - f64::from(epoch));
            scheduler.step(&mut optimizer);
        }
        assert_eq!(optimizer.learning_rate(), 1e-3);
        // No better for more than five epochs.
        for _ in 0..5 {
            scheduler.observe(1.0);
            scheduler.step(&mut optimizer);
        }
        assert_eq!(optimizer.learning_rate(), 1e-3);
        scheduler.observe(1.0);
        scheduler.step(&mut optimizer);
        assert!((optimizer.learning_rate() - 1e-4).abs() < 1e-12);
    });
}
