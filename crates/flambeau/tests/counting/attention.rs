//! What attention takes: memory linear in the length of the sequences, whatever is masked, dropped and shared, and one plan for
//! all steps.

use crate::alone;
use crate::common::{devices, new_gpu};
use flambeau::nn::functional::AttentionOptions;
use flambeau::nn::models::{Gpt, GptConfig};
use flambeau::nn::{AttentionMasks, TransformerEncoderLayer, TransformerLayerOptions};
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;
use flambeau::{GpuConfig, Specialise};

fn random(shape: &[usize], device: &Device) -> Tensor {
    let x = Tensor::randn(shape, &Generator::new(1), device);
    x.eval().unwrap();
    x
}

/// The last quarter of the keys (B, 1, 1, S) is padding: true where one is not.
fn keys(batch: usize, length: usize, device: &Device) -> Tensor {
    let flags: Vec<bool> = (0..batch * length).map(|k| k % length < length - length / 4).collect();
    Tensor::from_vec(flags, [batch, 1, 1, length], device)
}

/// The most bytes in use while attention and the gradients of its operands (1, heads, length, 8) are computed.
fn peak(length: usize, heads: [usize; 2], options: impl Fn(&Device) -> AttentionOptions) -> u64 {
    let device = new_gpu(GpuConfig::default());
    let operand = |heads: usize| random(&[1, heads, length, 8], &device).requires_grad();
    let (q, k, v) = (operand(heads[0]), operand(heads[1]), operand(heads[1]));
    let y = q.scaled_dot_product_attention(&k, &v, &options(&device));
    y.sum(..).backward().unwrap();
    let gradients = [&q, &k, &v].map(|x| x.grad().unwrap());
    let plan = gradients[0].explain();
    assert!(plan.contains("attention_backward"), "{plan}");
    eval(&gradients.each_ref()).unwrap();
    device.memory().peak
}

/// Attention never holds all scores: no buffer has an element, not even a byte, for each of them.
#[test]
fn attention_takes_linear_memory() {
    let _alone = alone();
    let plain = |_: &Device| AttentionOptions { causal: true, ..Default::default() };
    let all = |length: usize, shared: bool| {
        move |device: &Device| AttentionOptions {
            mask: Some(keys(1, length, device)),
            causal: true,
            dropout: Some((0.1, Generator::new(2))),
            enable_gqa: shared,
            ..Default::default()
        }
    };
    for (name, short, long) in [
        ("causal", peak(512, [2, 2], plain), peak(1024, [2, 2], plain)),
        ("with all options", peak(512, [2, 2], all(512, false)), peak(1024, [2, 2], all(1024, false))),
        ("of shared heads", peak(512, [2, 1], all(512, true)), peak(1024, [2, 1], all(1024, true))),
    ] {
        assert!(long < 3 * short, "{name}: {short} bytes, then {long}");
        assert!(long < 1024 * 1024, "{name}: {long} bytes, scores of a head are {}", 4 * 1024 * 1024);
    }
}

/// A step of training, in the terms of what it runs.
fn step(adam: &mut Adam, loss: impl Fn() -> Tensor) {
    loss().backward().unwrap();
    adam.step().unwrap();
    adam.zero_grad();
}

/// Padding, causality and dropout in an encoder's layer, dropout in a GPT: new numbers at every step, but no new plan, no
/// new pipeline, and kernels of attention.
#[test]
fn steps_with_dropout_and_masks_share_a_plan() {
    let _alone = alone();
    let gpu = new_gpu(GpuConfig { specialise: Specialise::Never, ..GpuConfig::default() });
    for device in devices().into_iter().take(1).chain([gpu]) {
        let (batch, length) = (2, 40);
        let layer = TransformerLayerOptions { dim_feedforward: 16, batch_first: true, ..Default::default() };
        let encoder = TransformerEncoderLayer::with_options(8, 2, layer, &device);
        let padding = keys(batch, length, &device).logical_not().reshape([batch, length]);
        let masks = AttentionMasks { causal: true, ..AttentionMasks::padding(&padding) };
        let config = GptConfig {
            vocabulary: 11,
            context: length,
            layers: 1,
            heads: 2,
            width: 8,
            dropout: 0.1,
            ..Default::default()
        };
        let gpt = Gpt::new(config, &device);
        let tokens = Tensor::randint(0, 11, [batch, length], &Generator::new(3), &device);
        eval(&[&padding, &tokens]).unwrap();
        let x = random(&[batch, length, 8], &device);
        let losses: [&dyn Fn() -> Tensor; 2] =
            [&|| encoder.forward(&x, &masks).square().mean(..), &|| gpt.forward(&tokens).square().mean(..)];
        for (parameters, loss) in [encoder.parameters(), gpt.parameters()].into_iter().zip(losses) {
            let mut adam = Adam::new(parameters.clone(), 1e-3);
            loss().backward().unwrap();
            let plan = parameters[0].grad().unwrap().explain();
            assert!(plan.contains("attention_backward"), "{plan}");
            adam.zero_grad();
            // The first step also computes what the other model begins with.
            (0..2).for_each(|_| step(&mut adam, loss));
            let pipelines = || device.gpu_stats().map_or(0, |stats| stats.pipelines_created);
            let before = (device.plan_stats().misses, pipelines());
            (0..3).for_each(|_| step(&mut adam, loss));
            assert_eq!((device.plan_stats().misses, pipelines()), before, "plans and pipelines on {device}");
        }
    }
}

/// Probabilities, seeds and counters are numbers of the graph, not its structure; so are masks of other contents.
#[test]
fn probabilities_are_data() {
    let _alone = alone();
    let device = Device::cpu();
    let x = random(&[1, 2, 40, 8], &device).requires_grad();
    let run = |p: f64, seed: u64| {
        let options = AttentionOptions {
            mask: Some(random(&[40], &device)),
            dropout: Some((p, Generator::new(seed))),
            scale: Some(p),
            ..Default::default()
        };
        x.scaled_dot_product_attention(&x, &x, &options).sum(..).backward().unwrap();
        let gradient = x.grad().unwrap();
        gradient.eval().unwrap();
        x.zero_grad();
    };
    run(0.1, 1);
    let misses = device.plan_stats().misses;
    [(0.2, 1), (0.3, 7), (0.4, u64::MAX)].into_iter().for_each(|(p, seed)| run(p, seed));
    assert_eq!(device.plan_stats().misses, misses);
}
