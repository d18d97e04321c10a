//! The models against PyTorch 1.13, and generation against itself: `tools/reference/models.py` wrote the expectations.

use crate::common::recorded::{Case, Inputs, Recorded};
use crate::common::{assert_close, devices, values};
use flambeau::nn::models::*;
use flambeau::prelude::*;
use std::sync::OnceLock;

fn case(name: &'static str) -> Case<'static> {
    static FILE: OnceLock<Recorded> = OnceLock::new();
    FILE.get_or_init(|| Recorded::open(include_bytes!("../data/models.safetensors"))).case(name)
}

fn of_image<M: Forward>(module: &M, x: &Inputs) -> Vec<Tensor> {
    vec![module.forward(x.get("x"))]
}

fn evaluating<M: Module>(module: M) -> M {
    module.eval();
    module
}

#[test]
fn mlp() {
    let options = MlpOptions { activation: MlpActivation::Tanh, ..Default::default() };
    case("mlp").check(|device| Mlp::with_options(&[12, 7, 5, 3], options, device), of_image);
}

#[test]
fn cnn() {
    let options = CnnOptions { inputs: 2, size: [14, 14], channels: [3, 4], hidden: 6, ..Default::default() };
    case("cnn").check(|device| Cnn::with_options(5, options, device), of_image);
    let options = CnnOptions { batch_norm: true, ..options };
    case("cnn_norm").check(|device| Cnn::with_options(5, options, device), of_image);
    case("cnn_norm_eval").check(|device| evaluating(Cnn::with_options(5, options, device)), of_image);
}

#[test]
fn resnet() {
    let options = ResNetOptions { width: 1, ..Default::default() };
    let cifar = ResNetOptions { stem: ResNetStem::Cifar, ..options };
    case("resnet18_cifar")
        .check(|device| ResNet::with_options(ResNetDepth::Resnet18, 3, cifar, device), of_image);
    case("resnet50").check(
        |device| evaluating(ResNet::with_options(ResNetDepth::Resnet50, 3, options, device)),
        of_image,
    );
}

/// The numbers of parameters that torchvision documents for a thousand classes.
#[test]
fn resnet_sizes() {
    let device = Device::cpu();
    let counts = [
        (ResNetDepth::Resnet18, 11_689_512),
        (ResNetDepth::Resnet34, 21_797_672),
        (ResNetDepth::Resnet50, 25_557_032),
    ];
    for (depth, count) in counts {
        assert_eq!(ResNet::new(depth, 1000, &device).parameter_count(), count, "{depth:?}");
    }
}

const CONFIG: GptConfig = GptConfig {
    vocabulary: 11,
    context: 8,
    layers: 2,
    heads: 2,
    width: 8,
    dropout: 0.0,
    bias: true,
    tied: true,
};

#[test]
fn gpt() {
    let of_tokens = |gpt: &Gpt, x: &Inputs| vec![gpt.forward(x.get("tokens"))];
    case("gpt").check(|device| Gpt::new(CONFIG, device), of_tokens);
    let untied = GptConfig { layers: 1, heads: 4, bias: false, tied: false, ..CONFIG };
    case("gpt_untied").check(|device| Gpt::new(untied, device), of_tokens);
    let small = Gpt::new(GptConfig::default(), &Device::cpu());
    assert_eq!(small.parameter_count(), 124_439_808, "as GPT-2's");
}

/// Token by token through the cache, the scores are those of the whole text at once; dropout is off.
#[test]
fn cached_scores_are_the_uncached() {
    for device in devices() {
        let gpt = Gpt::new(GptConfig { dropout: 0.5, ..CONFIG }, &device);
        let tokens = Tensor::randint(0, 11, [2, 8], &Generator::new(2), &device);
        gpt.eval();
        let whole = gpt.forward(&tokens);
        gpt.train();
        let mut cache = gpt.cache(2);
        let mut start = 0;
        for count in [3, 1, 1, 2, 1] {
            let scores = gpt.forward_cached(&tokens.narrow(1, start, count), &mut cache);
            let expected = whole.narrow(1, start, count);
            assert!(!scores.is_tracked());
            assert_close(&values(&scores), &values(&expected.detach()), 1e-6, 1e-5);
            start += count;
            assert_eq!(cache.len(), start);
        }
        let refused = gpt.try_forward_cached(&tokens.narrow(1, 0, 1), &mut cache).unwrap_err();
        assert_eq!(refused.to_string(), "KvCache: 1 tokens after 8 do not fit a context of 8");
    }
}

#[test]
fn generation() {
    let mut texts = Vec::new();
    for device in devices() {
        let gpt = Gpt::new(CONFIG, &device);
        // Not from the generator of the process, which other tests draw from meanwhile.
        for (parameter, seed) in gpt.parameters().iter().zip(1..) {
            let random = Tensor::randn(parameter.value().shape(), &Generator::new(seed), &device);
            parameter.set(&(random * 0.2));
        }
        let prompt = Tensor::new([[1, 2], [3, 4]], &device);
        // The likeliest token, found without a cache.
        let greedy = SampleOptions { temperature: 0.0, ..Default::default() };
        let text = gpt.generate(&prompt, 5, &greedy);
        let mut expected = prompt.clone();
        for _ in 0..5 {
            let next = gpt.forward(&expected).detach().select(1, -1).argmax_keepdim(-1);
            expected = Tensor::cat(&[expected, next], 1);
        }
        assert_eq!(values(&text), values(&expected));
        // One considered token is the likeliest.
        let single = SampleOptions { top_k: Some(1), ..Default::default() };
        assert_eq!(values(&gpt.generate(&prompt, 5, &single)), values(&expected));
        let drawn = |seed| {
            let generator = Generator::new(seed);
            let options = SampleOptions { temperature: 2.0, top_k: Some(5), generator };
            values(&gpt.generate(&prompt, 6, &options))
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        texts.push(drawn(3));
    }
    assert_eq!(texts[0], texts[1], "the same seed gives the same text on every device");
}

/// Tokens come with the probabilities of the softmax.
#[test]
fn samples_follow_the_softmax() {
    let device = Device::cpu();
    let gpt = Gpt::new(GptConfig { vocabulary: 3, layers: 0, ..CONFIG }, &device);
    let draws = 4000;
    let prompt = Tensor::zeros([draws, 1], (DType::I32, &device));
    gpt.parameters().iter().for_each(|parameter| parameter.set(&(parameter.value() * 20.0)));
    let expected = values(&gpt.forward(&prompt.narrow(0, 0, 1)).detach().flatten(0, -1).softmax(0));
    let options = SampleOptions { generator: Generator::new(7), ..Default::default() };
    let token = gpt.next_token(&prompt, &mut gpt.cache(draws), &options);
    let shares = values(&token.flatten(0, -1).one_hot(3).to_dtype(DType::F32).mean(0));
    assert_close(&shares, &expected, 0.03, 0.0);
}
