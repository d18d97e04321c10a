//! Ten training steps against PyTorch: every loss, and the weights at the end. `tools/reference/golden.py` wrote them.

use crate::common::recorded::Recorded;
use crate::common::{devices, values};
use flambeau::nn::models::*;
use flambeau::optim::{Adam, AdamW, AdamWOptions, Optimizer, Sgd, SgdOptions};
use flambeau::prelude::*;

/// PyTorch computed in float64. Losses agree to a few roundings; weights drift apart by more, since an optimizer that
/// divides by the size of the gradient makes much of the rounding of a small one.
const LOSSES: f64 = 1e-5;
const WEIGHTS: f64 = 1e-4;

fn train<M: Module>(
    name: &str,
    make: impl Fn(&Device) -> M,
    optimizer: impl Fn(Vec<Parameter>) -> Box<dyn Optimizer>,
    loss: impl Fn(&M, &Tensor, &Tensor) -> Tensor,
) {
    let recorded = Recorded::open(include_bytes!("../data/golden.safetensors"));
    let case = recorded.case(name);
    for device in devices() {
        let model = make(&device);
        case.load(&model, &device);
        let mut optimizer = optimizer(model.parameters());
        let tensor = |what: &str| recorded.tensor(&format!("{name}/{what}"), &device);
        let (x, y, expected) = (tensor("in/x"), tensor("in/y"), values(&tensor("losses")));
        for (step, expected) in expected.into_iter().enumerate() {
            let step = step as isize;
            let loss = loss(&model, &x.select(0, step), &y.select(0, step));
            loss.backward().unwrap();
            optimizer.step().unwrap();
            optimizer.zero_grad();
            let got = loss.item_blocking().unwrap();
            let close = (got - expected).abs() <= LOSSES * (1.0 + expected.abs());
            assert!(close, "{name} on {device}, loss of step {step}: got {got}, want {expected}");
        }
        for (key, tensor) in model.state_dict().iter() {
            recorded.case(name).within(WEIGHTS).compare(&format!("last/{key}"), tensor, &device);
        }
    }
}

#[test]
fn mlp_with_adam() {
    train(
        "mlp",
        |device| Mlp::new(&[12, 16, 5], device),
        |parameters| Box::new(Adam::new(parameters, 0.01)),
        |mlp, x, y| mlp.forward(x).cross_entropy(y),
    );
}

#[test]
fn cnn_with_momentum() {
    let options =
        CnnOptions { size: [12, 12], channels: [4, 6], hidden: 8, batch_norm: true, ..Default::default() };
    let momentum = SgdOptions { learning_rate: 0.05, momentum: 0.9, ..Default::default() };
    train(
        "cnn",
        |device| Cnn::with_options(4, options, device),
        |parameters| Box::new(Sgd::with_options(parameters, momentum)),
        |cnn, x, y| cnn.forward(x).cross_entropy(y),
    );
}

#[test]
fn gpt_with_adamw() {
    let config =
        GptConfig { vocabulary: 13, context: 8, layers: 2, heads: 2, width: 32, ..Default::default() };
    let options = AdamWOptions { learning_rate: 0.003, weight_decay: 0.1, eps: 1e-4, ..Default::default() };
    train(
        "gpt",
        |device| Gpt::new(config, device),
        |parameters| Box::new(AdamW::with_options(parameters, options)),
        |gpt, x, y| gpt.forward(x).flatten(0, 1).cross_entropy(&y.flatten(0, 1)),
    );
}
