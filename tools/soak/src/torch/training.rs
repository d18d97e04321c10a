//! Optimizers, given their gradients, and schedules.

use super::Verdict;
use super::case::{Found, Optimizer as Given, Schedule, of_values};
use flambeau::nn::Parameter;
use flambeau::optim::scheduler::*;
use flambeau::optim::*;
use flambeau::{Device, Error, Result, Tensor, block_on};
use serde_json::Value;

/// Options by PyTorch's names, with its defaults.
struct Options<'a>(&'a Value);

impl Options<'_> {
    fn number(&self, name: &str, default: f64) -> f64 {
        self.0[name].as_f64().unwrap_or(default)
    }

    fn count(&self, name: &str) -> u64 {
        self.0[name].as_u64().unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.0[name].as_bool().unwrap_or(false)
    }

    fn betas(&self) -> (f64, f64) {
        let beta = |k: usize| self.0["betas"][k].as_f64();
        (beta(0).unwrap_or(0.9), beta(1).unwrap_or(0.999))
    }
}

fn optimizer(name: &str, options: &Options, parameters: Vec<Parameter>) -> Result<Box<dyn Optimizer>> {
    let learning_rate = options.number("lr", 1e-3);
    let (betas, maximize) = (options.betas(), options.flag("maximize"));
    let eps = |default: f64| options.number("eps", default);
    let weight_decay = options.number("weight_decay", if name == "adamw" { 0.01 } else { 0.0 });
    Ok(match name {
        "sgd" => {
            let (momentum, dampening) = (options.number("momentum", 0.0), options.number("dampening", 0.0));
            let nesterov = options.flag("nesterov");
            let rule = SgdOptions { learning_rate, momentum, dampening, nesterov, weight_decay, maximize };
            Box::new(Sgd::try_with_options(parameters, rule)?)
        }
        "adam" => {
            let amsgrad = options.flag("amsgrad");
            let rule = AdamOptions { learning_rate, betas, eps: eps(1e-8), weight_decay, amsgrad, maximize };
            Box::new(Adam::try_with_options(parameters, rule)?)
        }
        "adamw" => {
            let amsgrad = options.flag("amsgrad");
            let rule = AdamWOptions { learning_rate, betas, eps: eps(1e-8), weight_decay, amsgrad, maximize };
            Box::new(AdamW::try_with_options(parameters, rule)?)
        }
        "adagrad" => {
            let learning_rate_decay = options.number("lr_decay", 0.0);
            let initial_accumulator = options.number("initial_accumulator_value", 0.0);
            let eps = eps(1e-10);
            let rule = AdagradOptions {
                learning_rate,
                learning_rate_decay,
                weight_decay,
                initial_accumulator,
                eps,
                maximize,
            };
            Box::new(Adagrad::try_with_options(parameters, rule)?)
        }
        "adadelta" => {
            let rho = options.number("rho", 0.9);
            let rule = AdadeltaOptions { learning_rate, rho, eps: eps(1e-6), weight_decay, maximize };
            Box::new(Adadelta::try_with_options(parameters, rule)?)
        }
        "adamax" => {
            let rule = AdamaxOptions { learning_rate, betas, eps: eps(1e-8), weight_decay, maximize };
            Box::new(Adamax::try_with_options(parameters, rule)?)
        }
        "nadam" => {
            let momentum_decay = options.number("momentum_decay", 4e-3);
            let rule = NAdamOptions { learning_rate, betas, eps: eps(1e-8), weight_decay, momentum_decay };
            Box::new(NAdam::try_with_options(parameters, rule)?)
        }
        "radam" => {
            let rule = RAdamOptions { learning_rate, betas, eps: eps(1e-8), weight_decay };
            Box::new(RAdam::try_with_options(parameters, rule)?)
        }
        "rmsprop" => {
            let (alpha, momentum) = (options.number("alpha", 0.99), options.number("momentum", 0.0));
            let (eps, centered) = (eps(1e-8), options.flag("centered"));
            let rule =
                RmsPropOptions { learning_rate, alpha, eps, weight_decay, momentum, centered, maximize };
            Box::new(RmsProp::try_with_options(parameters, rule)?)
        }
        other => return Err(Error::Autograd(format!("there is no optimizer {other}"))),
    })
}

pub fn judge_optimizer(given: &Given, device: &Device) -> Verdict {
    let start: Vec<Tensor> = given.leaves.iter().map(|leaf| leaf.tensor(device)).collect::<Result<_>>()?;
    let parameters: Vec<Parameter> = start.iter().map(Parameter::try_new).collect::<Result<_>>()?;
    let mut rule = optimizer(&given.name, &Options(&given.options), parameters.clone())?;
    for step in &given.gradients {
        for (parameter, values) in parameters.iter().zip(step) {
            let grad = of_values(values, parameter.shape().dims(), parameter.dtype(), device)?;
            parameter.set_grad(Some(&grad))?;
        }
        rule.step()?;
        rule.zero_grad();
    }
    let mut failures = Vec::new();
    for (k, (parameter, want)) in parameters.iter().zip(&given.want).enumerate() {
        let value = parameter.value();
        let got = Found::new(&value, block_on(value.to_f64_vec())?);
        failures.extend(want.compare(&format!("parameter {k}"), &got));
    }
    Ok(failures)
}

fn schedule(name: &str, options: &Options) -> Result<Box<dyn flambeau::optim::scheduler::Schedule>> {
    let number = |name: &str| options.number(name, f64::NAN);
    Ok(match name {
        "step" => Box::new(StepLr::new(options.count("size"), number("gamma"))),
        "multi_step" => {
            let milestones = options.0["milestones"].as_array().map(Vec::as_slice).unwrap_or_default();
            Box::new(MultiStepLr::new(milestones.iter().filter_map(Value::as_u64).collect(), number("gamma")))
        }
        "exponential" => Box::new(ExponentialLr::new(number("gamma"))),
        "cosine_restarts" => {
            let (period, factor) = (options.count("period"), options.count("factor"));
            Box::new(CosineAnnealingWarmRestarts::new(period, factor, number("lowest")))
        }
        "linear" => Box::new(LinearLr::new(number("start"), number("end"), options.count("steps"))),
        "constant" => Box::new(ConstantLr::new(number("factor"), options.count("steps"))),
        "one_cycle" => {
            let cycle = OneCycleLr::new(number("highest"), options.count("steps"));
            let momentum = if options.flag("cycle") { cycle.momentum } else { None };
            let annealing = if options.flag("linear") { Annealing::Linear } else { Annealing::Cosine };
            let (rising_share, three_phases) = (number("share"), options.flag("three"));
            Box::new(OneCycleLr { rising_share, annealing, momentum, three_phases, ..cycle })
        }
        other => return Err(Error::Autograd(format!("there is no schedule {other}"))),
    })
}

pub fn judge_schedule(given: &Schedule, device: &Device) -> Verdict {
    let parameter = Parameter::try_new(&Tensor::zeros([1], device))?;
    let rule = SgdOptions { learning_rate: 0.5, momentum: 0.9, ..Default::default() };
    let mut sgd = Sgd::try_with_options([parameter], rule)?;
    let mut scheduler = LrScheduler::new(&mut sgd, schedule(&given.name, &Options(&given.options))?);
    let mut failures = Vec::new();
    for (step, (&rate, &momentum)) in given.rates.iter().zip(&given.momenta).enumerate() {
        let got = (sgd.learning_rate(), sgd.group_momentum(0).unwrap_or(f64::NAN));
        // PyTorch multiplies from step to step; roundings add up.
        let close = |got: f64, want: f64| (got - want).abs() <= 1e-12 + 1e-10 * want.abs();
        if !close(got.0, rate) || !close(got.1, momentum) {
            failures.push(format!(
                "after {step} steps rate and momentum are {got:?}, not {:?}",
                (rate, momentum)
            ));
            break;
        }
        scheduler.step(&mut sgd);
    }
    Ok(failures)
}
