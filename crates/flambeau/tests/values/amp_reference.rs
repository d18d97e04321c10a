//! Mixed precision against PyTorch's: `tools/reference/amp.py` wrote the file.

use super::autocast::{FULL, Function, LOWER, WIDEST, matrix};
use super::grad_scaler::Run;
use crate::common::recorded::Recorded;
use crate::common::{assert_close, devices, values};
use flambeau::block_on;
use flambeau::nn::models::*;
use flambeau::nn::utils::{clip_grad_norm, clip_grad_value};
use flambeau::optim::*;
use flambeau::prelude::*;
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("../data/amp.json")).unwrap()
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Steps with the weights and batches of `golden.rs`: every loss within 1 % of PyTorch's.
fn curve<M: Module>(
    name: &str,
    steps: usize,
    make: impl Fn(&Device) -> M,
    optimizer: impl Fn(Vec<Parameter>) -> Box<dyn Optimizer>,
    loss: fn(&M, &Tensor, &Tensor) -> Tensor,
) {
    let recorded = Recorded::open(include_bytes!("../data/golden.safetensors"));
    let expected = numbers(&reference()["curves"][name]["mixed"]["losses"]);
    let expected = &expected[..steps];
    for device in devices() {
        let model = make(&device);
        recorded.case(name).load(&model, &device);
        let tensor = |what: &str| recorded.tensor(&format!("{name}/{what}"), &device);
        let optimizer = optimizer(model.parameters());
        let run = Run { model, optimizer, loss, inputs: tensor("in/x"), targets: tensor("in/y") };
        let losses = run.losses(steps, true);
        println!("summary: {name} on {device}: {losses:?}");
        assert_close(&losses, expected, 0.0, 0.01);
    }
}

#[test]
fn an_mlp_learns_as_pytorchs() {
    curve(
        "mlp",
        50,
        |device| Mlp::new(&[12, 16, 5], device),
        |parameters| Box::new(Adam::new(parameters, 0.01)),
        |mlp, x, y| mlp.forward(x).cross_entropy(y),
    );
}

/// Ten steps: later ones are chaotic at this rate, and PyTorch's own losses in f16 and f32 differ by up to 44 %.
#[test]
fn a_cnn_learns_as_pytorchs() {
    let options =
        CnnOptions { size: [12, 12], channels: [4, 6], hidden: 8, batch_norm: true, ..Default::default() };
    let momentum = SgdOptions { learning_rate: 0.05, momentum: 0.9, ..Default::default() };
    curve(
        "cnn",
        10,
        |device| Cnn::with_options(4, options, device),
        |parameters| Box::new(Sgd::with_options(parameters, momentum)),
        |cnn, x, y| cnn.forward(x).cross_entropy(y),
    );
}

#[test]
fn a_gpt_learns_as_pytorchs() {
    let config =
        GptConfig { vocabulary: 13, context: 8, layers: 2, heads: 2, width: 32, ..Default::default() };
    let options = AdamWOptions { learning_rate: 0.003, weight_decay: 0.1, eps: 1e-4, ..Default::default() };
    curve(
        "gpt",
        50,
        |device| Gpt::new(config, device),
        |parameters| Box::new(AdamW::with_options(parameters, options)),
        |gpt, x, y| gpt.forward(x).flatten(0, 1).cross_entropy(&y.flatten(0, 1)),
    );
}

/// What happens to gradients between the backward pass and the step.
enum Between {
    Nothing,
    ClippedNorm(f64),
    ClippedValue(f64),
}

fn trajectory<O: Optimizer>(
    name: &str,
    make: impl Fn(Vec<Parameter>) -> O,
    between: Between,
    batches: usize,
) {
    let expected = &reference()["trajectories"][name];
    let (scales, trackers) = (numbers(&expected["scales"]), numbers(&expected["trackers"]));
    let bad = [(2, f32::INFINITY), (3, f32::NAN), (8, f32::NEG_INFINITY), (14, f32::INFINITY)];
    for device in devices() {
        let w = Parameter::new(&Tensor::new([1.0, -2.0, 3.0], &device));
        let mut optimizer = make(vec![w.clone()]);
        let options = GradScalerOptions { init_scale: 1024.0, growth_interval: 3, ..Default::default() };
        let mut scaler = GradScaler::with_options(options, &device);
        for step in 0..scales.len() {
            for part in 0..batches {
                let number = |k: usize| ((step + k) as f64 + 0.5 * part as f64).cos() as f32;
                let mut c: Vec<f32> = (0..3).map(number).collect();
                if let Some((_, number)) = bad.iter().find(|(at, _)| *at == step && part == 0) {
                    c[step % 3] = *number;
                }
                let c = Tensor::from_vec(c, [3], &device);
                scaler.scale(&(w.get() * &c).sum(..)).backward().unwrap();
            }
            match between {
                Between::Nothing => {}
                Between::ClippedNorm(norm) => {
                    scaler.unscale(&optimizer).unwrap();
                    clip_grad_norm(std::slice::from_ref(&w), norm, 2.0).unwrap();
                }
                Between::ClippedValue(value) => {
                    scaler.unscale(&optimizer).unwrap();
                    clip_grad_value(std::slice::from_ref(&w), value).unwrap();
                }
            }
            scaler.step(&mut optimizer).unwrap();
            scaler.update().unwrap();
            optimizer.zero_grad();
            let got = (block_on(scaler.get_scale()).unwrap(), block_on(scaler.get_growth_tracker()).unwrap());
            assert_eq!(got, (scales[step], trackers[step] as u64), "{name}, step {step} on {device}");
            assert_close(&values(&w.value()), &numbers(&expected["weights"][step]), 1e-5, 1e-5);
        }
    }
}

#[test]
fn the_scaler_takes_pytorchs_steps() {
    use Between::*;
    let momentum = SgdOptions { learning_rate: 0.1, momentum: 0.9, dampening: 0.5, ..Default::default() };
    trajectory("sgd", |w| Sgd::with_options(w, momentum), Nothing, 1);
    trajectory("adam", |w| Adam::new(w, 0.1), Nothing, 1);
    let amsgrad = AdamWOptions { learning_rate: 0.1, amsgrad: true, ..Default::default() };
    trajectory("adamw", |w| AdamW::with_options(w, amsgrad), Nothing, 1);
    trajectory("adamax", |w| Adamax::new(w, 0.1), Nothing, 1);
    let slower = AdagradOptions { learning_rate: 0.1, learning_rate_decay: 0.1, ..Default::default() };
    trajectory("adagrad", |w| Adagrad::with_options(w, slower), Nothing, 1);
    trajectory("rmsprop", |w| RmsProp::new(w, 0.1), Nothing, 1);
    trajectory("adam, clipped", |w| Adam::new(w, 0.1), ClippedNorm(0.5), 1);
    trajectory("adam, clipped by value", |w| Adam::new(w, 0.1), ClippedValue(0.3), 1);
    trajectory("adam, accumulated", |w| Adam::new(w, 0.1), Nothing, 2);
}

/// Every op of PyTorch's that the file has gives the dtype here that it gives there.
#[test]
fn ops_give_pytorchs_dtypes() {
    let reference = reference();
    let all = || [LOWER, FULL, WIDEST].into_iter().flatten();
    let names =
        [("pow", "pow of a number"), ("rdiv", "__rdiv__"), ("attention", "scaled_dot_product_attention")];
    let alias = |name: &str| {
        names.iter().find(|(theirs, _)| *theirs == name).map_or(name.to_owned(), |(_, ours)| (*ours).into())
    };
    let other: &[(&str, Function)] = &[
        ("ceil", |x| x.ceil()),
        ("cos", |x| x.cos()),
        ("atan", |x| x.atan()),
        ("floor", |x| x.floor()),
        ("sub", |x| x - x),
        ("maximum", |x| x.maximum(x)),
        ("linear", |x| {
            let layer = flambeau::nn::Linear::new(4, 4, x.device());
            layer.forward(x)
        }),
    ];
    let dtypes = reference["dtypes"].as_object().expect("written with CUDA");
    for (name, expected) in dtypes {
        let ours = alias(name);
        let op = all().chain(other).find(|(known, _)| *known == ours);
        let (_, op) = op.unwrap_or_else(|| panic!("{name} has no twin here"));
        for (dtype, expected) in [DType::F16, DType::F32].into_iter().zip(expected.as_array().unwrap()) {
            let x = matrix(dtype, &Device::cpu());
            let got = autocast(true, || op(&x)).dtype();
            let got = if got == DType::F16 { "float16" } else { "float32" };
            assert_eq!(got, expected.as_str().unwrap(), "{name} of {dtype}");
        }
    }
}
