//! Recurrent and attention layers against PyTorch 1.13: `tools/reference/sequence.py` wrote the expectations.

use crate::common::recorded::{Case, Inputs, Recorded};
use crate::common::{assert_close, devices, values};
use flambeau::autograd::gradgradcheck_blocking;
use flambeau::nn::utils::{PackedSequence, SequenceLayout, pack_padded_sequence, pad_packed_sequence};
use flambeau::nn::*;
use flambeau::prelude::*;
use std::sync::OnceLock;

fn case(name: &'static str) -> Case<'static> {
    static FILE: OnceLock<Recorded> = OnceLock::new();
    FILE.get_or_init(|| Recorded::open(include_bytes!("../data/sequence.safetensors"))).case(name)
}

const T: usize = 4;
const B: usize = 2;
const I: usize = 3;
const H: usize = 4;

fn pair((output, last): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![output, last]
}

fn run_lstm(lstm: &Lstm, x: &Inputs) -> Vec<Tensor> {
    let states = x.find("h").zip(x.find("c"));
    let (output, (hidden, cell)) = lstm.forward(x.get("x"), states);
    vec![output, hidden, cell]
}

#[test]
fn rnn() {
    let run = |rnn: &Rnn, x: &Inputs| pair(rnn.forward(x.get("x"), x.find("h")));
    case("rnn").check(|device| Rnn::new(I, H, device), run);
    case("rnn_one").check(|device| Rnn::new(I, H, device), run);
    let nonlinearity = RnnNonlinearity::Relu;
    let relu =
        RnnOptions { num_layers: 2, nonlinearity, bias: false, bidirectional: true, ..Default::default() };
    case("rnn_relu").check(|device| Rnn::with_options(I, H, relu, device), run);
}

#[test]
fn gru() {
    let run = |gru: &Gru, x: &Inputs| pair(gru.forward(x.get("x"), x.find("h")));
    let deep = GruOptions { num_layers: 2, bidirectional: true, ..Default::default() };
    case("gru").check(|device| Gru::with_options(I, H, deep, device), run);
    let batch_first = GruOptions { bias: false, batch_first: true, ..Default::default() };
    case("gru_batch_first").check(|device| Gru::with_options(I, H, batch_first, device), run);
}

#[test]
fn lstm() {
    case("lstm").check(|device| Lstm::new(I, H, device), run_lstm);
    let both = LstmOptions { num_layers: 2, bidirectional: true, ..Default::default() };
    let deep = LstmOptions { batch_first: true, ..both };
    case("lstm_deep").check(|device| Lstm::with_options(I, H, deep, device), run_lstm);
    let projected = LstmOptions { bias: false, proj_size: Some(2), ..both };
    case("lstm_proj").check(|device| Lstm::with_options(I, H, projected, device), run_lstm);
}

#[test]
fn cells() {
    let relu = RnnCellOptions { nonlinearity: RnnNonlinearity::Relu, ..Default::default() };
    case("rnn_cell").check(
        |device| RnnCell::with_options(I, H, relu, device),
        |cell, x| vec![cell.forward(x.get("x"), x.find("h"))],
    );
    case("gru_cell")
        .check(|device| GruCell::new(I, H, device), |cell, x| vec![cell.forward(x.get("x"), x.find("h"))]);
    case("lstm_cell").check(
        |device| LstmCell::with_options(I, H, CellOptions { bias: false }, device),
        |cell, x| pair(cell.forward(x.get("x"), x.find("h").zip(x.find("c")))),
    );
}

/// The derivative of the recurrence is written by hand, with ops: it must have the right derivatives itself.
#[test]
fn second_derivatives_of_recurrences() {
    let device = Device::cpu();
    let options = (DType::F64, &device);
    let x = Tensor::randn([3, 2, 2], &Generator::new(3), options).requires_grad();
    let rnn = Rnn::new(2, 2, options);
    let gru = Gru::with_options(2, 2, GruOptions { bidirectional: true, ..Default::default() }, options);
    let lstm = Lstm::with_options(2, 3, LstmOptions { proj_size: Some(2), ..Default::default() }, options);
    gradgradcheck_blocking(
        |x| rnn.try_forward(&x[0], None).map(|(y, _)| y),
        std::slice::from_ref(&x),
        Default::default(),
    )
    .unwrap();
    gradgradcheck_blocking(
        |x| gru.try_forward(&x[0], None).map(|(y, _)| y),
        std::slice::from_ref(&x),
        Default::default(),
    )
    .unwrap();
    gradgradcheck_blocking(
        |x| lstm.try_forward(&x[0], None).map(|(y, _)| y),
        std::slice::from_ref(&x),
        Default::default(),
    )
    .unwrap();
    // Without a projection the first derivative has kernels of its own, and the second one is that of tensor ops.
    let lstm = Lstm::new(2, 2, options);
    let both =
        |x: &[Tensor]| lstm.try_forward(&x[0], None).map(|(y, (_, cell))| y.square().sum(..) + cell.sum(..));
    gradgradcheck_blocking(both, &[x], Default::default()).unwrap();
}

/// What a layer gives for all steps, and the gradients of its parameters and its input.
fn results<L: Module>(layer: &L, x: &Tensor, run: impl Fn(&L, &Tensor) -> Vec<Tensor>) -> Vec<Vec<f64>> {
    let x = x.detach().requires_grad();
    let results = run(layer, &x);
    let loss = results.iter().map(|y| y.square().sum(..)).reduce(|a, b| a + b).unwrap();
    loss.backward().unwrap();
    let grads: Vec<Tensor> = layer.parameters().iter().filter_map(|p| p.grad()).chain(x.grad()).collect();
    layer.zero_grad();
    results.iter().chain(&grads).map(values).collect()
}

fn assert_all_close(got: &[Vec<f64>], want: &[Vec<f64>]) {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).for_each(|(got, want)| assert_close(got, want, 1e-5, 1e-4));
}

/// Layers with kernels of their own, and the same from tensor ops, which lengths take.
#[test]
fn kernels_of_recurrences_compute_what_tensor_ops_do() {
    let (device, steps, batch, hidden) = (&Device::cpu(), 5, 19, 7);
    let x = Tensor::randn([steps, batch, I], &Generator::new(2), device);
    let lengths = Tensor::full([batch], steps as i32, device);
    let both = LstmOptions { bidirectional: true, ..Default::default() };
    let lstm = Lstm::with_options(I, hidden, both, device);
    let flat = |(y, (h, c)): (Tensor, (Tensor, Tensor))| vec![y, h, c];
    let kernels = results(&lstm, &x, |lstm, x| flat(lstm.forward(x, None)));
    assert_all_close(&kernels, &results(&lstm, &x, |lstm, x| flat(lstm.forward_padded(x, &lengths, None))));
    let both = GruOptions { bidirectional: true, ..Default::default() };
    let gru = Gru::with_options(I, hidden, both, device);
    let kernels = results(&gru, &x, |gru, x| pair(gru.forward(x, None)));
    assert_all_close(&kernels, &results(&gru, &x, |gru, x| pair(gru.forward_padded(x, &lengths, None))));
    for nonlinearity in [RnnNonlinearity::Tanh, RnnNonlinearity::Relu] {
        let options = RnnOptions { nonlinearity, bidirectional: true, ..Default::default() };
        let rnn = Rnn::with_options(I, hidden, options, device);
        let kernels = results(&rnn, &x, |rnn, x| pair(rnn.forward(x, None)));
        assert_all_close(&kernels, &results(&rnn, &x, |rnn, x| pair(rnn.forward_padded(x, &lengths, None))));
    }
}

#[test]
fn refusals_name_layer_and_shapes() {
    let device = Device::cpu();
    let lstm = Lstm::new(I, H, &device);
    let x = Tensor::zeros([T, B, I + 1], &device);
    assert_eq!(
        lstm.try_forward(&x, None).unwrap_err().to_string(),
        "Lstm: input of 4 steps of 4 features; 3 are expected, and a step"
    );
    let (x, state) = (Tensor::zeros([T, B, I], &device), Tensor::zeros([1, B, 1], &device));
    assert_eq!(
        lstm.try_forward(&x, Some((&state, &state))).unwrap_err().to_string(),
        "Lstm: first state [1, 2, 1] must be [1, 2, 4]"
    );
    let options = LstmOptions { proj_size: Some(H), ..Default::default() };
    let refused = Lstm::try_with_options(I, H, options, &device).err().unwrap();
    assert_eq!(refused.to_string(), "Lstm: proj_size 4 must be above 0 and below hidden_size 4");
}

#[test]
fn dropout_between_layers() {
    for device in devices() {
        let options = GruOptions { num_layers: 2, dropout: 0.5, ..Default::default() };
        let gru = Gru::with_options(I, H, options, &device);
        let x = Tensor::ones([T, B, I], &device);
        let differ = || gru.forward(&x, None).0.ne(&gru.forward(&x, None).0).any(..).item_blocking().unwrap();
        assert_eq!(differ(), 1.0);
        gru.eval();
        assert_eq!(differ(), 0.0);
    }
}

/// Lengths of different kinds: packed, and padded with the lengths as a tensor.
const LENGTHS: [usize; 3] = [3, T, 1];

fn pack(x: &Inputs, layout: SequenceLayout) -> PackedSequence {
    pack_padded_sequence(x.get("x"), &LENGTHS, layout).unwrap()
}

fn unpacked(output: &PackedSequence, layout: SequenceLayout) -> Tensor {
    let (padded, lengths) = pad_packed_sequence(output, layout, 0.0).unwrap();
    assert_eq!(lengths, LENGTHS);
    padded
}

fn lengths(device: &Device) -> Tensor {
    Tensor::new(LENGTHS.map(|length| length as i32), device)
}

#[test]
fn packed_sequences() {
    let both = RnnOptions { bidirectional: true, ..Default::default() };
    case("rnn_packed").check(
        |device| Rnn::with_options(I, H, both, device),
        |rnn, x| {
            let (output, last) = rnn.forward_packed(&pack(x, SequenceLayout::StepsFirst), None);
            vec![unpacked(&output, SequenceLayout::StepsFirst), last]
        },
    );
    let deep = GruOptions { num_layers: 2, bidirectional: true, batch_first: true, ..Default::default() };
    case("gru_packed").check(
        |device| Gru::with_options(I, H, deep, device),
        |gru, x| {
            let (output, last) = gru.forward_packed(&pack(x, SequenceLayout::BatchFirst), None);
            vec![unpacked(&output, SequenceLayout::BatchFirst), last]
        },
    );
    let options =
        LstmOptions { num_layers: 2, bidirectional: true, proj_size: Some(2), ..Default::default() };
    case("lstm_packed").check(
        |device| Lstm::with_options(I, H, options, device),
        |lstm, x| {
            let (output, (hidden, cell)) = lstm.forward_packed(&pack(x, SequenceLayout::StepsFirst), None);
            vec![unpacked(&output, SequenceLayout::StepsFirst), hidden, cell]
        },
    );
    case("lstm_packed_plain").check(
        |device| Lstm::new(I, H, device),
        |lstm, x| {
            let (output, (hidden, cell)) =
                lstm.forward_padded(x.get("x"), &lengths(x.get("x").device()), None);
            vec![output, hidden, cell]
        },
    );
}

const E: usize = 8;
const HEADS: usize = 2;

fn masks(x: &Inputs) -> AttentionMasks {
    let (attn_mask, key_padding_mask) = (x.find("attn_mask").cloned(), x.find("key_padding_mask").cloned());
    AttentionMasks { attn_mask, key_padding_mask, causal: false }
}

#[test]
fn attention() {
    let weighted = |form| {
        move |attention: &MultiheadAttention, x: &Inputs| {
            let query = x.get("q");
            let key = x.find("k").unwrap_or(query);
            let value = x.find("v").unwrap_or(key);
            pair(attention.forward_with_weights(query, key, value, &masks(x), form))
        }
    };
    let averaged = weighted(AttentionWeights::Averaged);
    case("attention").check(|device| MultiheadAttention::new(E, HEADS, device), averaged);
    case("attention_one").check(|device| MultiheadAttention::new(E, HEADS, device), averaged);
    case("attention_additive").check(|device| MultiheadAttention::new(E, HEADS, device), averaged);
    let cross =
        MultiheadAttentionOptions { kdim: Some(3), vdim: Some(5), batch_first: true, ..Default::default() };
    case("attention_cross").check(
        |device| MultiheadAttention::with_options(E, HEADS, cross, device),
        weighted(AttentionWeights::PerHead),
    );
    let plain = MultiheadAttentionOptions { bias: false, batch_first: true, ..Default::default() };
    for causal in [false, true] {
        case("attention_no_weights").check(
            |device| MultiheadAttention::with_options(E, HEADS, plain, device),
            |attention, x| {
                let (query, masks) = (x.get("q"), if causal { AttentionMasks::causal() } else { masks(x) });
                vec![attention.forward(query, query, query, &masks)]
            },
        );
    }
}

/// Without weights asked for, the same comes out another way; padding and causality join.
#[test]
fn attention_with_and_without_weights() {
    for device in devices() {
        let attention = MultiheadAttention::new(E, HEADS, &device);
        let x = Tensor::randn([5, B, E], &Generator::new(4), &device);
        let padding = Tensor::new([[false; 5], [false, false, false, true, true]], &device);
        let masks = AttentionMasks { causal: true, ..AttentionMasks::padding(&padding) };
        let output = attention.forward(&x, &x, &x, &masks);
        let form = AttentionWeights::PerHead;
        let (same, weights) = attention.forward_with_weights(&x, &x, &x, &masks, form);
        assert!((output - same).abs().amax(..).item_blocking().unwrap() < 1e-6);
        let above = weights.triu(1).abs().sum(..) + weights.i((1, .., .., 3..)).abs().sum(..);
        assert_eq!(above.item_blocking().unwrap(), 0.0);
        assert!((weights.sum(-1) - 1.0).abs().amax(..).item_blocking().unwrap() < 1e-6);
        let wrong = AttentionMasks::padding(&Tensor::new([[false; 4]; B], &device));
        assert_eq!(
            attention.try_forward(&x, &x, &x, &wrong).unwrap_err().to_string(),
            "MultiheadAttention: key_padding_mask [2, 4] must be [2, 5]"
        );
    }
}

const LAYER: TransformerLayerOptions = TransformerLayerOptions {
    dim_feedforward: 6,
    dropout: 0.0,
    activation: TransformerActivation::Relu,
    layer_norm_eps: 1e-5,
    batch_first: false,
    norm_first: false,
};

const NORM_FIRST: TransformerLayerOptions = TransformerLayerOptions {
    activation: TransformerActivation::Gelu,
    batch_first: true,
    norm_first: true,
    ..LAYER
};

fn attn_mask(x: &Inputs) -> AttentionMasks {
    AttentionMasks { attn_mask: x.find("mask").cloned(), ..Default::default() }
}

fn padding_mask(x: &Inputs) -> AttentionMasks {
    AttentionMasks::padding(x.get("padding"))
}

#[test]
fn transformer_layers() {
    case("encoder_layer").check(
        |device| TransformerEncoderLayer::with_options(E, HEADS, LAYER, device),
        |layer, x| vec![layer.forward(x.get("x"), &attn_mask(x))],
    );
    case("encoder_layer_norm_first").check(
        |device| TransformerEncoderLayer::with_options(E, HEADS, NORM_FIRST, device),
        |layer, x| vec![layer.forward(x.get("x"), &padding_mask(x))],
    );
    case("decoder_layer").check(
        |device| TransformerDecoderLayer::with_options(E, HEADS, LAYER, device),
        |layer, x| vec![layer.forward(x.get("x"), x.get("memory"), &attn_mask(x), &padding_mask(x))],
    );
    case("decoder_layer_norm_first").check(
        |device| TransformerDecoderLayer::with_options(E, HEADS, NORM_FIRST, device),
        |layer, x| {
            let none = AttentionMasks::default();
            vec![layer.forward(x.get("x"), x.get("memory"), &none, &none)]
        },
    );
}

#[test]
fn transformers() {
    case("encoder").check(
        |device| {
            let layer = |_| TransformerEncoderLayer::with_options(E, HEADS, LAYER, device);
            TransformerEncoder::new((0..2).map(layer).collect(), Some(LayerNorm::new(E, device)))
        },
        |encoder, x| vec![encoder.forward(x.get("x"), &padding_mask(x))],
    );
    let layer = TransformerLayerOptions { batch_first: true, ..LAYER };
    let options = TransformerOptions { num_encoder_layers: 1, num_decoder_layers: 1, layer };
    case("transformer").check(
        |device| Transformer::with_options(E, HEADS, options, device),
        |transformer, x| {
            let (src, memory) = (padding_mask(x), padding_mask(x));
            let masks = TransformerMasks { src, tgt: AttentionMasks::causal(), memory };
            vec![transformer.forward(x.get("src"), x.get("tgt"), &masks)]
        },
    );
}
