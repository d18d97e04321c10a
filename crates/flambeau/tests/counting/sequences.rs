//! What text generation and recurrent layers cost.

use crate::alone;
use crate::common::{devices, new_gpu};
use flambeau::GpuConfig;
use flambeau::nn::models::{Gpt, GptConfig, SampleOptions};
use flambeau::nn::{Gru, Lstm, LstmOptions};
use flambeau::prelude::*;

const CONFIG: GptConfig = GptConfig {
    vocabulary: 11,
    context: 16,
    layers: 2,
    heads: 2,
    width: 8,
    dropout: 0.0,
    bias: true,
    tied: true,
};

/// The place of a token is data: every token after the prompt runs the same plan, once.
#[test]
fn every_token_is_one_run_of_one_plan() {
    let _alone = alone();
    for device in devices() {
        let gpt = Gpt::new(CONFIG, &device);
        let options = SampleOptions { top_k: Some(4), generator: Generator::new(1), ..Default::default() };
        let mut cache = gpt.cache(1);
        let prompt = Tensor::new([[1, 2, 3]], &device);
        let mut token = gpt.next_token(&prompt, &mut cache, &options);
        for number in 1..10 {
            let before = device.plan_stats();
            token = gpt.next_token(&token, &mut cache, &options);
            let after = device.plan_stats();
            assert_eq!(after.runs - before.runs, 1, "token {number}");
            assert_eq!(after.misses - before.misses, u64::from(number == 1), "token {number}");
        }
        token.item_blocking().unwrap();
    }
}

/// Lengths are data too: batches with other lengths find their plan.
#[test]
fn lengths_make_no_new_plans() {
    let _alone = alone();
    for device in devices() {
        let lstm =
            Lstm::with_options(3, 4, LstmOptions { bidirectional: true, ..Default::default() }, &device);
        let x = Tensor::randn([5, 2, 3], &Generator::new(1), &device);
        eval(
            &lstm
                .parameters()
                .iter()
                .map(|p| p.value())
                .collect::<Vec<_>>()
                .iter()
                .chain([&x])
                .collect::<Vec<_>>(),
        )
        .unwrap();
        let mut misses = Vec::new();
        for lengths in [[5, 2], [1, 4], [3, 3]] {
            let before = device.plan_stats();
            let (output, _) = lstm.forward_padded(&x, &Tensor::new(lengths, &device), None);
            output.square().sum(..).backward().unwrap();
            let grads: Vec<Tensor> = lstm.parameters().iter().filter_map(|p| p.grad()).collect();
            eval(&grads.iter().collect::<Vec<_>>()).unwrap();
            lstm.zero_grad();
            misses.push(device.plan_stats().misses - before.misses);
        }
        assert_eq!(misses, [1, 0, 0]);
    }
}

/// The gradients of a layer's parameters, evaluated: the kernels of the plan, and those and the nodes of one gradient's.
fn cost(device: &Device, layer: &impl Module, output: &Tensor) -> (u64, String) {
    let before = device.plan_stats();
    output.square().sum(..).backward().unwrap();
    let grads: Vec<Tensor> = layer.parameters().iter().filter_map(|p| p.grad()).collect();
    let nodes = grads[1].explain().lines().next().unwrap().to_string();
    eval(&grads.iter().collect::<Vec<_>>()).unwrap();
    layer.zero_grad();
    let after = device.plan_stats();
    assert_eq!(after.runs - before.runs, 1);
    (after.kernels - before.kernels, nodes)
}

/// A sequence is one structure: a longer one has as many nodes and kernels, and one dispatch more each way for each step. Neither a
/// new length nor a new batch compiles anything.
#[test]
fn a_sequence_is_one_structure_whatever_its_length() {
    let _alone = alone();
    let gpu = new_gpu(GpuConfig::default());
    for device in [Device::cpu(), gpu] {
        let (lstm, gru) = (Lstm::new(8, 16, &device), Gru::new(8, 16, &device));
        let mut counts = Vec::new();
        for (steps, batch) in [(20, 6), (21, 6), (21, 5)] {
            let x = Tensor::randn([steps, batch, 8], &Generator::new(1), &device);
            eval(&[&x]).unwrap();
            let before = device.gpu_stats();
            let costs = [
                cost(&device, &lstm, &lstm.forward(&x, None).0),
                cost(&device, &gru, &gru.forward(&x, None).0),
            ];
            let gpu = before.zip(device.gpu_stats()).map(|(before, after)| {
                (after.pipelines_created - before.pipelines_created, after.dispatches - before.dispatches)
            });
            counts.push((costs, gpu));
        }
        let [(first, on_gpu), (longer, longer_on_gpu), (wider, wider_on_gpu)] = &counts[..] else {
            unreachable!()
        };
        assert_eq!((first, first), (longer, wider), "nodes and kernels on {device}");
        assert!(first.iter().all(|(kernels, _)| *kernels < 20), "{first:?} on {device}");
        if let (&Some((_, some)), &Some((compiled, more)), &Some(wider)) =
            (on_gpu, longer_on_gpu, wider_on_gpu)
        {
            assert_eq!((compiled, more - some), (0, 4), "pipelines, and dispatches of both layers both ways");
            assert_eq!(wider, (0, more), "pipelines and dispatches of another batch");
            println!("summary: LSTM and GRU forward and backward, whatever their length: {first:?}");
        }
    }
}
