//! Optimizers against PyTorch, and what a step does with tied, frozen and unused parameters.

use crate::common::{assert_values, devices, values};
use flambeau::nn::Parameter;
use flambeau::optim::{
    Adam, AdamOptions, AdamW, AdamWOptions, Lbfgs, LbfgsOptions, Optimizer, Sgd, SgdOptions,
};
use flambeau::prelude::*;

/// Printed by tools/reference/optim.py with PyTorch 1.13: the loss of the tenth step and the parameters after it.
#[rustfmt::skip]
#[allow(clippy::excessive_precision)]
const EXPECTED: &[(&str, f64, [f64; 24])] = &[
    ("sgd", 0.170613, [0.2125136, -0.2996819, 0.3928236, 0.4634556, 0.4749923, 0.4119289, -0.4481341, -0.2692632, -0.3039297, 0.788286, 0.4455023, 0.1349386, -0.01574151, -0.02383897, 0.1528388, 0.1070083, 0.713194, -0.01482627, -0.5236442, 0.5784303, 0.3037411, 0.8211072, 0.1238878, -0.6546177]),
    ("sgd momentum", 0.03224136, [0.2504855, -0.1805211, 0.8578949, 0.2608216, 0.4443621, 0.6138918, 0.01750173, -0.5855104, -0.2779494, 0.792539, 0.6189136, -0.03277957, -0.1880698, 0.066338, 0.3378253, -0.02016961, 0.7533426, 0.3214363, -0.5687125, 0.6050338, 0.335564, 0.6076483, 0.1809697, -0.4012036]),
    ("sgd dampening", 0.05426478, [0.2246032, -0.172868, 0.7058778, 0.2584414, 0.3963182, 0.5266598, -0.05141158, -0.4873744, -0.2755282, 0.718556, 0.52711, -0.01162016, -0.1242936, 0.05714069, 0.3004765, -0.01393524, 0.677371, 0.2452701, -0.5224973, 0.537761, 0.2915607, 0.576439, 0.1604599, -0.3853714]),
    ("sgd nesterov", 0.02052491, [0.2594236, -0.2141509, 0.6865635, 0.3133512, 0.452548, 0.5538649, -0.117678, -0.4883583, -0.2773637, 0.7716954, 0.5697913, 0.01213824, -0.144028, 0.0295445, 0.2232292, 0.03527319, 0.7313137, 0.2119669, -0.5524586, 0.6239685, 0.3295496, 0.7154893, 0.1690962, -0.5115958]),
    ("adam", 0.03258222, [0.3384665, -0.1213223, 0.4443783, 0.281887, 0.4248183, 0.6353552, -0.3516668, -0.4429369, -0.1928366, 0.5436039, 0.7568857, -0.131498, -0.1992699, 0.1320893, 0.2989555, -0.05064311, 1.054324, 0.1316745, -0.5659857, 0.5517901, 0.4744493, 0.6078142, 0.4627261, -0.5367051]),
    ("adam decay", 0.09009091, [0.3439856, -0.1569278, 0.4137297, 0.29897, 0.2838219, 0.5485623, -0.3565837, -0.4150326, -0.1526423, 0.4710877, 0.6307703, -0.1457805, -0.1142753, 0.06882644, 0.2508268, -0.01593499, 0.5603705, 0.1086505, -0.4077704, 0.5012428, 0.100185, 0.5902714, 0.4088601, -0.5245193]),
    ("adam amsgrad", 0.001314966, [0.5207804, -0.2569647, 0.635575, 0.2146927, 0.6339833, 0.6298668, -0.1357724, -0.5616593, -0.2723314, 0.4240838, 1.069282, -0.2755984, -0.3041753, -0.03556686, 0.3442352, -0.03205194, 0.9174473, 0.2235276, -0.4094614, 0.5127953, 0.3631489, 0.5420777, 0.7153651, -0.4252788]),
    ("adamw", 0.03283381, [0.3387697, -0.1211732, 0.4432491, 0.2806539, 0.4232426, 0.6335298, -0.3496867, -0.4419104, -0.1925013, 0.5431065, 0.7552357, -0.1324945, -0.1985627, 0.1313222, 0.298176, -0.05064932, 1.051505, 0.1316155, -0.5654458, 0.55123, 0.4729064, 0.6055169, 0.4617226, -0.5346878]),
    ("adamw amsgrad", 0.002349334, [0.4939111, -0.2017, 0.531172, 0.2064687, 0.5339665, 0.5597934, -0.0293056, -0.4866892, -0.1772612, 0.4787861, 0.883902, -0.3851899, -0.2687609, -0.001699971, 0.2825265, -0.04626193, 0.8556262, 0.2383654, -0.3836908, 0.5386373, 0.38806, 0.4956681, 0.7306188, -0.3645053]),
];

fn optimizer(case: &str, parameters: &[Parameter]) -> Box<dyn Optimizer> {
    let parameters = parameters.to_vec();
    let sgd = |options| Box::new(Sgd::with_options(parameters.clone(), options));
    let sgd_options = SgdOptions { learning_rate: 0.1, ..Default::default() };
    let adam_options = AdamOptions { learning_rate: 0.05, ..Default::default() };
    let jumpy = AdamOptions { learning_rate: 0.2, betas: (0.5, 0.6), amsgrad: true, ..adam_options };
    match case {
        "sgd" => Box::new(Sgd::new(parameters, 0.1)),
        "sgd momentum" => sgd(SgdOptions { momentum: 0.9, ..sgd_options }),
        "sgd dampening" => {
            sgd(SgdOptions { momentum: 0.9, dampening: 0.3, weight_decay: 0.05, ..sgd_options })
        }
        "sgd nesterov" => {
            sgd(SgdOptions { momentum: 0.8, nesterov: true, weight_decay: 0.01, ..sgd_options })
        }
        "adam" => Box::new(Adam::new(parameters, 0.05)),
        "adam decay" => {
            let options = AdamOptions { betas: (0.8, 0.95), eps: 1e-6, weight_decay: 0.1, ..adam_options };
            Box::new(Adam::with_options(parameters, options))
        }
        "adam amsgrad" => Box::new(Adam::with_options(parameters, jumpy)),
        "adamw" => Box::new(AdamW::new(parameters, 0.05)),
        "adamw amsgrad" => {
            let AdamOptions { learning_rate, betas, amsgrad, .. } = jumpy;
            let options =
                AdamWOptions { learning_rate, betas, amsgrad, weight_decay: 0.2, ..Default::default() };
            Box::new(AdamW::with_options(parameters, options))
        }
        other => panic!("no optimizer for {other}"),
    }
}

#[test]
fn ten_steps_as_pytorch() {
    for device in devices() {
        let x = Tensor::new(
            [[0.5, -1.0, 0.25], [1.5, 0.75, -0.5], [-0.25, 0.5, 1.0], [0.1, -0.6, -1.2]],
            &device,
        );
        let y = Tensor::new([[0.3, -0.2], [1.0, 0.4], [-0.7, 0.9], [0.2, -1.1]], &device);
        for (case, expected_loss, expected) in EXPECTED {
            let w1 = [[0.2, -0.4, 0.1, 0.6], [0.5, 0.3, -0.7, -0.1], [-0.3, 0.8, 0.4, 0.2]];
            let w1 = Parameter::new(&Tensor::new(w1, &device));
            let b1 = Parameter::new(&Tensor::new([0.05, -0.1, 0.0, 0.2], &device));
            let w2 =
                Parameter::new(&Tensor::new([[0.7, -0.2], [-0.5, 0.6], [0.3, 0.9], [0.1, -0.8]], &device));
            let mut opt = optimizer(case, &[w1.clone(), b1.clone(), w2.clone()]);
            let mut loss = Tensor::zeros((), &device);
            for step in 0..10 {
                if step == 5 {
                    opt.set_learning_rate(opt.learning_rate() / 2.0);
                }
                let error = (x.matmul(&w1.get()) + b1.get()).tanh().matmul(&w2.get()) - &y;
                loss = (&error * &error).mean(..);
                loss.backward().unwrap();
                opt.step().unwrap();
                opt.zero_grad();
            }
            println!("{case}");
            assert_values(&loss, &[*expected_loss]);
            let got = [w1, b1, w2].map(|parameter| values(&parameter.value())).concat();
            for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
                let is_close = (got - expected).abs() <= 2e-6 + 2e-5 * expected.abs();
                assert!(is_close, "{case}, element {index}: {got} is not PyTorch's {expected}");
            }
        }
    }
}

fn parameter(values: &[f32], device: &Device) -> Parameter {
    Parameter::new(&Tensor::from_slice(values, [values.len()], device))
}

#[test]
fn tied_parameters_move_once() {
    for device in devices() {
        let w = parameter(&[1.0, 2.0], &device);
        let options = SgdOptions { learning_rate: 0.25, momentum: 0.5, ..Default::default() };
        let mut sgd = Sgd::with_options([w.clone()], options);
        for expected in [[0.5, 1.0], [0.0, 0.0]] {
            // Two uses, one slot: the gradient is 2w.
            (w.get() * w.clone().get()).sum(..).backward().unwrap();
            sgd.step().unwrap();
            sgd.zero_grad();
            assert_values(&w.value(), &expected);
        }
    }
}

/// As in a list put together by hand; `Module::parameters` gives tied ones once.
#[test]
fn a_parameter_twice_is_refused() {
    let w = parameter(&[1.0], &Device::cpu());
    let twice = || [w.clone(), w.clone()];
    let error = Sgd::try_with_options(twice(), SgdOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("Sgd: ") && error.contains("is in the list twice"), "{error}");
    let error = Lbfgs::try_with_options(twice(), LbfgsOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("Lbfgs: ") && error.contains("is in the list twice"), "{error}");
}

#[test]
fn rates_that_are_not_finite_are_refused() {
    let w = parameter(&[1.0], &Device::cpu());
    for (rate, must) in
        [(f64::INFINITY, "must be finite"), (f64::NAN, "must be finite"), (-1.0, "must not be negative")]
    {
        let options = AdamOptions { learning_rate: rate, ..Default::default() };
        let error = Adam::try_with_options([w.clone()], options).unwrap_err().to_string();
        assert!(error.contains("learning rate") && error.ends_with(must), "{error}");
        let options = LbfgsOptions { learning_rate: rate, ..Default::default() };
        assert!(Lbfgs::try_with_options([w.clone()], options).is_err());
    }
    let mut adam = Adam::new([w.clone()], 0.5);
    w.get().sum(..).backward().unwrap();
    for rate in [f64::NAN, f64::INFINITY] {
        adam.set_learning_rate(rate);
        let error = adam.step().unwrap_err().to_string();
        assert!(
            error.contains("the learning rate was set to") && error.contains("nothing has moved"),
            "{error}"
        );
        assert_values(&w.value(), &[1.0]);
    }
    adam.set_learning_rate(0.5);
    adam.set_group_momentum(0, f64::NAN);
    assert!(adam.step().unwrap_err().to_string().contains("the momentum was set to NaN"));
    adam.set_group_momentum(0, 0.9);
    adam.step().unwrap();
    assert_values(&w.value(), &[0.5]);
}

/// Gaps between the windows of a flat tensor hold anything on the GPU: a step with finite numbers must not stumble over
/// them, whatever was in that memory before.
#[test]
fn numbers_that_are_not_finite_are_refused_where_asked_for() {
    for device in devices() {
        let (a, b) = (parameter(&[1.0, 2.0, 3.0], &device), parameter(&[4.0], &device));
        let other = parameter(&[5.0, 6.0], &device);
        let mut adam = Adam::with_groups(
            [vec![a.clone(), b.clone()], vec![other.clone()]]
                .map(|parameters| flambeau::optim::Group::new(parameters, AdamOptions::default())),
        );
        adam.set_learning_rate(0.5);
        adam.require_finite(true);
        Tensor::full([256], f64::NAN, &device).eval().unwrap();
        let step = |adam: &mut Adam, factor: [f32; 2]| {
            adam.zero_grad();
            let products = other.get() * Tensor::new(factor, &device);
            let loss = a.get().sum(..) + b.get().sum(..) + products.sum(..);
            loss.backward()?;
            adam.step()?;
            loss.item_blocking()
        };
        assert_eq!(step(&mut adam, [1.0, 1.0]).unwrap(), 21.0);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = step(&mut adam, [1.0, bad]).unwrap_err();
            let is_named =
                matches!(error, Error::NotFinite { what: "gradient", parameter: 2, element: 1, .. });
            assert!(is_named, "{device:?}: {error}");
            assert_values(&a.value(), &[0.5, 1.5, 2.5]);
            assert_values(&b.value(), &[3.5]);
            assert_values(&other.value(), &[4.5, 5.5]);
        }
        step(&mut adam, [1.0, 1.0]).unwrap();
        assert_values(&other.value(), &[4.0, 5.0]);
        // The gradient is finite, where it leads to is not.
        b.set(&Tensor::new([f32::MAX], &device));
        adam.set_learning_rate(-5e37);
        let error = step(&mut adam, [1.0, 1.0]).unwrap_err();
        assert!(
            matches!(error, Error::NotFinite { what: "new value", parameter: 1, element: 0, .. }),
            "{error}"
        );
        assert_values(&a.value(), &[0.0, 1.0, 2.0]);
    }
}

#[test]
fn frozen_and_unused_parameters_stay() {
    for device in devices() {
        let (used, frozen, unused) =
            (parameter(&[1.0], &device), parameter(&[2.0], &device), parameter(&[3.0], &device));
        // Weight decay would move parameters without a gradient if they were not skipped.
        let mut adam = AdamW::new([used.clone(), frozen.clone(), unused.clone()], 0.5);
        (used.get() * frozen.get()).sum(..).backward().unwrap();
        assert!(unused.grad().is_none());
        frozen.set_requires_grad(false);
        adam.step().unwrap();
        assert_values(&used.value(), &[0.495]);
        assert_values(&frozen.value(), &[2.0]);
        assert_values(&unused.value(), &[3.0]);
        // A parameter that joins later starts with its own first step.
        adam.zero_grad();
        unused.get().sum(..).backward().unwrap();
        adam.step().unwrap();
        assert_values(&used.value(), &[0.495]);
        assert_values(&unused.value(), &[3.0 * 0.995 - 0.5]);
    }
}

#[test]
fn a_step_without_gradients_changes_nothing() {
    for device in devices() {
        let w = parameter(&[1.0, 2.0], &device);
        let mut adam = Adam::new([w.clone()], 0.5);
        adam.step().unwrap();
        assert_values(&w.value(), &[1.0, 2.0]);
    }
}

#[test]
fn gradients_accumulate_over_small_batches() {
    for device in devices() {
        let w = parameter(&[1.0, 2.0], &device);
        let mut sgd = Sgd::new([w.clone()], 0.5);
        (w.get() * 1.0).sum(..).backward().unwrap();
        (w.get() * 3.0).sum(..).backward().unwrap();
        sgd.step().unwrap();
        assert_values(&w.value(), &[-1.0, 0.0]);
    }
}

#[test]
fn half_precision_parameters_stay_half() {
    for device in devices() {
        let w = Parameter::new(&Tensor::full([3], 1.0, (DType::F16, &device)));
        let mut sgd = Sgd::new([w.clone()], 0.25);
        (w.get() * w.get()).sum(..).backward().unwrap();
        sgd.step().unwrap();
        assert_eq!(w.value().dtype(), DType::F16);
        assert_values(&w.value(), &[0.5, 0.5, 0.5]);
    }
}

#[test]
fn bad_settings_are_refused() {
    let device = Device::cpu();
    let w = || [parameter(&[1.0], &device)];
    let sgd = |options| Sgd::try_with_options(w(), options).err().map(|error| error.to_string());
    let adam = |options| Adam::try_with_options(w(), options).err().map(|error| error.to_string());
    let contains = |error: Option<String>, part: &str| {
        let error = error.expect("an error was expected");
        assert!(error.contains(part), "{error}");
    };
    contains(sgd(SgdOptions { learning_rate: -1.0, ..Default::default() }), "learning rate -1 must not");
    contains(sgd(SgdOptions { nesterov: true, ..Default::default() }), "needs a momentum");
    contains(adam(AdamOptions { betas: (0.9, 1.0), ..Default::default() }), "beta 1 must be in [0, 1)");
    contains(adam(AdamOptions { eps: f64::NAN, ..Default::default() }), "eps");
    let empty = Sgd::try_with_options([], SgdOptions::default()).err().map(|error| error.to_string());
    contains(empty, "the list of parameters is empty");
}

/// Eight steps of a moving loss: what PyTorch 2.2 gives for `Rprop(p, 0.1)` and `ASGD(p, 0.1, lambd=0.01, t0=2, weight_decay=0.05)`.
#[test]
fn rprop_and_averaged_sgd() {
    use flambeau::optim::{Asgd, AsgdOptions, Rprop};
    let asgd = AsgdOptions {
        learning_rate: 0.1,
        lambda: 0.01,
        start: 2.0,
        weight_decay: 0.05,
        ..Default::default()
    };
    type Make = Box<dyn Fn(Parameter) -> Box<dyn Optimizer>>;
    let cases: [(Make, [f64; 4], &str, [f64; 4]); 2] = [
        (
            Box::new(|w| Box::new(Rprop::new([w], 0.1))),
            [-0.291_590_4, -0.350_091_52, -0.368_576, 2.359_52],
            "step_size",
            [0.149_299_2, 0.358_318_08, 0.124_416, 0.051_84],
        ),
        (
            Box::new(move |w| Box::new(Asgd::with_options([w], asgd))),
            [0.150_011_33, -0.965_499_46, 0.002_031_77, 2.417_381_66],
            "ax",
            [0.229_677_16, -1.091_786_91, -0.009_657_53, 2.461_177_08],
        ),
    ];
    for device in devices() {
        for (make, wanted, name, state) in &cases {
            let w = Parameter::new(&Tensor::new([1.0, -2.0, 0.5, 3.0], &device));
            let curvature = Tensor::new([1.0, 0.5, 2.0, 0.1], &device);
            let mut optimizer = make(w.clone());
            for step in 0..8 {
                optimizer.zero_grad();
                let loss = (w.get().square() * &curvature + (w.get() + f64::from(step)).cos()).sum(..);
                loss.backward().unwrap();
                optimizer.step().unwrap();
            }
            assert_values(&w.value(), wanted);
            let saved = optimizer.state();
            let (_, remembered) =
                saved.tensors.iter().find(|(own, _)| own.ends_with(name)).expect("the state");
            assert_values(remembered, state);
        }
    }
}

/// Eight steps that each use some rows of a table: what PyTorch 1.13 gives for `SparseAdam([w], 0.1, (0.8, 0.95))` and sparse gradients of those
/// rows. In the seventh one element of a row that is used has no gradient; the last row is never used.
#[test]
fn adam_of_used_rows() {
    use flambeau::io::Stateful;
    use flambeau::optim::{SparseAdam, SparseAdamOptions};
    let options = SparseAdamOptions { learning_rate: 0.1, betas: (0.8, 0.95), ..Default::default() };
    for device in devices() {
        let w = Parameter::new(&Tensor::new([[1.0, -2.0], [0.5, 3.0], [2.0, 0.25]], &device));
        let curvature = Tensor::new([1.0, 0.5], &device);
        let mut optimizer = SparseAdam::with_options([w.clone()], options);
        for step in 0..8 {
            let used = match step {
                5 => [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
                6 => [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]],
                0 | 2 | 4 => [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]],
                _ => [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]],
            };
            optimizer.zero_grad();
            let loss = w.get().square() * &curvature + (w.get() + f64::from(step)).cos();
            (loss * Tensor::new(used, &device)).sum(..).backward().unwrap();
            optimizer.step().unwrap();
        }
        assert_values(&w.value(), &[0.534_147_02, -1.541_834_59, 0.087_029_36, 2.320_141_08, 2.0, 0.25]);
        let saved = optimizer.state();
        for (name, wanted) in [
            ("exp_avg", [1.088_406_68, -1.021_212_22, 0.192_065_57, 2.074_266_2, 0.0, 0.0]),
            ("exp_avg_sq", [0.694_921_61, 0.674_320_28, 0.150_674_02, 2.500_200_75, 0.0, 0.0]),
        ] {
            let (_, state) = saved.tensors.iter().find(|(own, _)| own.ends_with(name)).expect("the state");
            assert_values(state, &wanted);
        }
    }
}

/// Two cycles and more, with the momentum: what PyTorch 2.2's `CyclicLR` gives.
#[test]
fn cyclic_rates() {
    use flambeau::optim::scheduler::{Cycles, CyclicLr, Schedule};
    let halving = CyclicLr {
        steps_down: 4,
        cycles: Cycles::Halving,
        momentum: Some((0.95, 0.8)),
        ..CyclicLr::new(0.1, 0.7, 3)
    };
    let wanted = [
        (0.1, 0.95),
        (0.3, 0.9),
        (0.5, 0.85),
        (0.7, 0.8),
        (0.55, 0.8375),
        (0.4, 0.875),
        (0.25, 0.9125),
        (0.1, 0.95),
        (0.2, 0.925),
        (0.3, 0.9),
        (0.4, 0.875),
        (0.325, 0.89375),
        (0.25, 0.9125),
        (0.175, 0.93125),
    ];
    for (step, (rate, momentum)) in wanted.into_iter().enumerate() {
        assert!((halving.rate(0.1, step as u64) - rate).abs() < 1e-9, "{step}");
        assert!((halving.momentum(step as u64).unwrap() - momentum).abs() < 1e-9, "{step}");
    }
    let decaying = CyclicLr { cycles: Cycles::Decaying(0.9), ..CyclicLr::new(0.1, 0.7, 4) };
    let wanted = [
        0.1,
        0.235,
        0.343,
        0.428_05,
        0.493_66,
        0.365_720_5,
        0.259_432_3,
        0.171_744_535,
        0.1,
        0.158_113_073,
        0.204_603_532,
        0.241_214_768,
        0.269_457_722,
        0.214_383_962,
    ];
    for (step, rate) in wanted.into_iter().enumerate() {
        assert!((decaying.rate(0.1, step as u64) - rate).abs() < 1e-8, "{step}");
    }
    assert!(decaying.momentum(3).is_none());
}
