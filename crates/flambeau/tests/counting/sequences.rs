//! What text generation and recurrent layers cost.

use crate::alone;
use crate::common::devices;
use flambeau::nn::models::{Gpt, GptConfig, SampleOptions};
use flambeau::nn::{Lstm, LstmOptions};
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
