//! A hundred steps of every optimizer, what L-BFGS finds, and sixty rates of every schedule, against PyTorch 1.13:
//! `tools/reference/optim.py` wrote the expectations.

use crate::common::{assert_close, devices, values};
use flambeau::block_on;
use flambeau::nn::Parameter;
use flambeau::optim::scheduler::*;
use flambeau::optim::*;
use flambeau::prelude::*;
use safetensors::SafeTensors;

fn expected(name: &str) -> Vec<f64> {
    let bytes = include_bytes!("../data/optim.safetensors");
    let file = SafeTensors::deserialize(bytes).expect("the reference file is whole");
    let view = file.tensor(name).unwrap_or_else(|_| panic!("`{name}` is in the file"));
    let words = view.data().chunks_exact(8).map(|word| <[u8; 8]>::try_from(word).expect("eight bytes"));
    words.map(f64::from_le_bytes).collect()
}

fn shapes(case: &str) -> Vec<Vec<usize>> {
    match case.contains("muon") {
        true => vec![vec![3, 4], vec![6, 2], vec![2, 3, 2]],
        false => vec![vec![3, 4], vec![5], vec![2, 3, 2], vec![], vec![70]],
    }
}

/// Parameters whose gradient at a step is 0.1 θ and a push that moves with the step.
struct Problem {
    parameters: Vec<Parameter>,
}

impl Problem {
    fn new(case: &str, device: &Device) -> Problem {
        let parameter = |(number, shape): (usize, &Vec<usize>)| {
            let start = |index: usize| (1.0 + (index + 10 * number) as f64).sin() as f32;
            let start: Vec<f32> = (0..Shape::from(shape).numel()).map(start).collect();
            Parameter::new(&Tensor::from_vec(start, shape, device))
        };
        Problem { parameters: shapes(case).iter().enumerate().map(parameter).collect() }
    }

    fn set_gradients(&self, step: usize) {
        for (number, parameter) in self.parameters.iter().enumerate() {
            let push = |index: usize| (0.7 * index as f64 + number as f64 + 0.3 * step as f64).cos() as f32;
            let push: Vec<f32> = (0..parameter.numel()).map(push).collect();
            let push = Tensor::from_vec(push, parameter.shape().clone(), &parameter.device());
            parameter.set_grad(Some(&(parameter.value() * 0.1 + push))).unwrap();
        }
    }

    fn values(&self) -> Vec<f64> {
        self.parameters.iter().flat_map(|parameter| values(&parameter.value())).collect()
    }
}

fn optimizer(case: &str, parameters: Vec<Parameter>) -> Box<dyn Optimizer> {
    let (decay, amsgrad, maximize) = (0.1, true, true);
    match case {
        "sgd" => Box::new(Sgd::new(parameters, 0.05)),
        "sgd all" => Box::new(Sgd::with_options(
            parameters,
            SgdOptions {
                learning_rate: 0.05,
                momentum: 0.8,
                dampening: 0.2,
                weight_decay: decay,
                ..Default::default()
            },
        )),
        "sgd nesterov" => Box::new(Sgd::with_options(
            parameters,
            SgdOptions {
                learning_rate: 0.05,
                momentum: 0.8,
                nesterov: true,
                weight_decay: decay,
                ..Default::default()
            },
        )),
        "sgd maximize" => Box::new(Sgd::with_options(
            parameters,
            SgdOptions { learning_rate: 0.05, momentum: 0.5, maximize, ..Default::default() },
        )),
        "adam" => Box::new(Adam::new(parameters, 0.02)),
        "adam all" => Box::new(Adam::with_options(
            parameters,
            AdamOptions {
                learning_rate: 0.02,
                betas: (0.8, 0.95),
                eps: 1e-4,
                weight_decay: decay,
                amsgrad,
                maximize,
            },
        )),
        "adamw" => Box::new(AdamW::new(parameters, 0.02)),
        "adamw all" => Box::new(AdamW::with_options(
            parameters,
            AdamWOptions {
                learning_rate: 0.02,
                betas: (0.8, 0.95),
                weight_decay: 0.2,
                amsgrad,
                maximize,
                ..Default::default()
            },
        )),
        "adagrad" => Box::new(Adagrad::new(parameters, 0.1)),
        "adagrad all" => Box::new(Adagrad::with_options(
            parameters,
            AdagradOptions {
                learning_rate: 0.1,
                learning_rate_decay: 0.01,
                weight_decay: decay,
                initial_accumulator: 0.5,
                eps: 1e-3,
                ..Default::default()
            },
        )),
        "adadelta" => Box::new(Adadelta::new(parameters, 1.0)),
        "adadelta all" => Box::new(Adadelta::with_options(
            parameters,
            AdadeltaOptions { learning_rate: 2.0, rho: 0.8, eps: 1e-3, weight_decay: decay, maximize },
        )),
        "adamax" => Box::new(Adamax::new(parameters, 0.02)),
        "adamax all" => Box::new(Adamax::with_options(
            parameters,
            AdamaxOptions {
                learning_rate: 0.02,
                betas: (0.8, 0.9),
                eps: 1e-4,
                weight_decay: decay,
                maximize,
            },
        )),
        "nadam" => Box::new(NAdam::new(parameters, 0.02)),
        "nadam all" => Box::new(NAdam::with_options(
            parameters,
            NAdamOptions {
                learning_rate: 0.02,
                betas: (0.8, 0.95),
                eps: 1e-4,
                weight_decay: decay,
                momentum_decay: 0.1,
            },
        )),
        "radam" => Box::new(RAdam::new(parameters, 0.02)),
        "radam all" => Box::new(RAdam::with_options(
            parameters,
            RAdamOptions { learning_rate: 0.02, betas: (0.8, 0.7), eps: 1e-4, weight_decay: decay },
        )),
        "rmsprop" => Box::new(RmsProp::new(parameters, 0.01)),
        "rmsprop all" => Box::new(RmsProp::with_options(
            parameters,
            RmsPropOptions {
                learning_rate: 0.01,
                alpha: 0.9,
                eps: 1e-3,
                weight_decay: decay,
                momentum: 0.5,
                centered: true,
                ..Default::default()
            },
        )),
        "lion" => Box::new(Lion::new(parameters, 0.01)),
        "lion all" => Box::new(Lion::with_options(
            parameters,
            LionOptions { learning_rate: 0.01, betas: (0.8, 0.9), weight_decay: decay },
        )),
        "muon" => Box::new(Muon::new(parameters, 0.02)),
        "muon plain" => Box::new(Muon::with_options(
            parameters,
            MuonOptions {
                learning_rate: 0.02,
                momentum: 0.8,
                nesterov: false,
                weight_decay: 0.0,
                ..Default::default()
            },
        )),
        "groups" => {
            let body = AdamOptions { learning_rate: 0.01, weight_decay: decay, ..Default::default() };
            let head = AdamOptions { learning_rate: 0.05, betas: (0.5, 0.9), ..Default::default() };
            let (first, second) = (parameters[..3].to_vec(), parameters[3..].to_vec());
            Box::new(Adam::with_groups([Group::new(first, body), Group::new(second, head)]))
        }
        other => panic!("no optimizer for {other}"),
    }
}

fn hundred_steps(cases: &[&str]) {
    for device in devices() {
        for case in cases {
            let problem = Problem::new(case, &device);
            let mut optimizer = optimizer(case, problem.parameters.clone());
            for step in 0..100 {
                if step == 50 {
                    for group in 0..optimizer.group_count() {
                        let rate = optimizer.group_learning_rate(group);
                        optimizer.set_group_learning_rate(group, rate / 2.0);
                    }
                }
                problem.set_gradients(step);
                optimizer.step().unwrap();
                if [1, 10, 100].contains(&(step + 1)) {
                    println!("{case}, {} steps on {device}", step + 1);
                    // Parameters are of the order of 1; roundings of a hundred steps add up.
                    assert_close(&problem.values(), &expected(&format!("{case}.{}", step + 1)), 5e-6, 1e-5);
                }
            }
        }
    }
}

#[test]
fn descent_with_momentum() {
    hundred_steps(&["sgd", "sgd all", "sgd nesterov", "sgd maximize", "lion", "lion all"]);
}

#[test]
fn adam_and_its_kin() {
    hundred_steps(&["adam", "adam all", "adamw", "adamw all", "adamax", "adamax all", "groups"]);
    hundred_steps(&["nadam", "nadam all", "radam", "radam all"]);
}

#[test]
fn scaled_by_squares() {
    hundred_steps(&["adagrad", "adagrad all", "adadelta", "adadelta all", "rmsprop", "rmsprop all"]);
}

#[test]
fn orthogonal_momentum() {
    hundred_steps(&["muon", "muon plain"]);
}

#[test]
fn lbfgs() {
    let wolfe = LbfgsOptions { line_search: LineSearch::StrongWolfe, ..Default::default() };
    let cases = [
        ("fixed", LbfgsOptions { learning_rate: 0.5, max_iterations: 4, ..Default::default() }),
        ("short", LbfgsOptions { max_iterations: 6, history: 2, ..wolfe }),
        ("wolfe", LbfgsOptions { max_iterations: 5, ..wolfe }),
    ];
    for device in devices() {
        // The reference is computed in 64 bits; so is the CPU's result. In 32 bits a line search that compares losses
        // near the lowest stops at another point.
        let (dtype, tolerance) = if device.is_cpu() { (DType::F64, 1e-9) } else { (DType::F32, 2e-3) };
        let tensor = |values: &[f64], shape: &[usize]| {
            let values: Vec<f64> = values.to_vec();
            match dtype {
                DType::F64 => Tensor::from_vec(values, shape, &device),
                _ => Tensor::from_vec(values.iter().map(|&x| x as f32).collect(), shape, &device),
            }
        };
        let matrix: Vec<f64> = (0..24).map(|k| (f64::from(k) * 1.3).sin()).collect();
        let target: Vec<f64> = (0..6).map(|k| f64::from(k).cos()).collect();
        let (matrix, target) = (tensor(&matrix, &[6, 4]), tensor(&target, &[6, 1]));
        for (name, options) in cases {
            let w = Parameter::new(&tensor(&[1.0, -2.0, 0.5, 3.0], &[4, 1]));
            let b = Parameter::new(&tensor(&[0.5], &[1, 1]));
            let mut lbfgs = Lbfgs::with_options([w.clone(), b.clone()], options);
            for call in 0..5 {
                let loss = block_on(lbfgs.step(|| {
                    [&w, &b].iter().for_each(|parameter| parameter.zero_grad());
                    let error = matrix.matmul(&w.get()) + b.get() - &target;
                    let square = w.get() * w.get();
                    let loss = (&error * &error).sum(..) + (&square * &square).sum(..) * 0.1;
                    loss.backward()?;
                    Ok(loss)
                }));
                let found = [vec![loss.unwrap()], values(&w.value()), values(&b.value())].concat();
                println!("{name}, call {call} on {device}");
                assert_close(&found, &expected(&format!("lbfgs {name}.{call}")), tolerance, tolerance);
            }
        }
    }
}

/// Rates and momenta of two groups, before each of sixty steps.
fn assert_schedule(name: &str, make: impl FnOnce(&mut dyn Optimizer) -> Box<dyn Scheduler>) {
    let parameter = || [Parameter::new(&Tensor::zeros([1], &Device::cpu()))];
    let options = SgdOptions { learning_rate: 0.1, momentum: 0.9, ..Default::default() };
    let second = SgdOptions { learning_rate: 0.02, ..options };
    let mut sgd = Sgd::with_groups([Group::new(parameter(), options), Group::new(parameter(), second)]);
    let mut scheduler = make(&mut sgd);
    let mut rates = Vec::new();
    for step in 0..60 {
        for group in 0..2 {
            rates.extend([sgd.group_learning_rate(group), sgd.group_momentum(group).unwrap()]);
        }
        let step = f64::from(step);
        scheduler.observe(2.0 + (0.4 * step).cos() + 1.0 / (1.0 + step));
        scheduler.step(&mut sgd);
    }
    println!("{name}");
    assert_close(&rates, &expected(&format!("schedule {name}")), 1e-15, 1e-9);
}

fn assert_curve(name: &str, schedule: impl Schedule + 'static) {
    assert_schedule(name, |optimizer| Box::new(LrScheduler::new(optimizer, schedule)));
}

#[test]
fn schedules() {
    assert_curve("step", StepLr::new(7, 0.5));
    assert_curve("multi_step", MultiStepLr::new(vec![5, 20, 20, 41], 0.3));
    assert_curve("exponential", ExponentialLr::new(0.93));
    assert_curve("cosine", CosineAnnealingLr::new(25, 0.002));
    assert_curve("restarts", CosineAnnealingWarmRestarts::new(6, 2, 0.001));
    assert_curve("restarts_even", CosineAnnealingWarmRestarts::new(9, 1, 0.0));
    assert_curve("linear", LinearLr::new(0.2, 0.9, 12));
    assert_curve("constant", ConstantLr::new(0.25, 8));
    assert_curve("polynomial", PolynomialLr::new(30, 2.0));
    assert_curve("lambda", LambdaLr::new(|step| 1.0 / (1 + step) as f64));
    assert_curve("one_cycle", OneCycleLr::new(0.4, 61));
    let three = OneCycleLr {
        rising_share: 0.25,
        annealing: Annealing::Linear,
        start_divisor: 10.0,
        end_divisor: 100.0,
        three_phases: true,
        ..OneCycleLr::new(0.4, 61)
    };
    assert_curve("one_cycle_three", three);
    let parts: Vec<Box<dyn Schedule>> = vec![
        Box::new(ConstantLr::new(0.1, 20)),
        Box::new(ExponentialLr::new(0.9)),
        Box::new(CosineAnnealingLr::new(20, 0.0)),
    ];
    assert_curve("sequential", SequentialLr::new(parts, vec![4, 30]));
    assert_curve("warm_up", WarmUp::new(10, 0.1, CosineAnnealingLr::new(50, 0.0)));
}

#[test]
fn plateaus() {
    let options = PlateauOptions {
        factor: 0.5,
        patience: 2,
        threshold: Threshold::Relative(0.05),
        cool_down: 3,
        lowest: 0.004,
        ..Default::default()
    };
    assert_schedule("plateau", |_| Box::new(ReduceLrOnPlateau::new(options)));
    let options = PlateauOptions {
        goal: Goal::Highest,
        factor: 0.3,
        patience: 1,
        threshold: Threshold::Absolute(0.1),
        ..Default::default()
    };
    assert_schedule("plateau_max", |_| Box::new(ReduceLrOnPlateau::new(options)));
}
