//! `transformer.cpp`: encoders and decoders against PyTorch's values, with all gradients.

use crate::common::recorded::Recorded;
use crate::tools::{each, message, normal, printed};
use flambeau::nn::*;
use flambeau::prelude::*;

fn recorded() -> Recorded {
    Recorded::open(include_bytes!("../data/cpp_modules.safetensors"))
}

fn options(activation: TransformerActivation) -> TransformerLayerOptions {
    TransformerLayerOptions { dim_feedforward: 8, dropout: 0.0, activation, ..Default::default() }
}

fn encoder_layer(device: &Device) -> TransformerEncoderLayer {
    TransformerEncoderLayer::with_options(4, 2, options(TransformerActivation::Relu), device)
}

fn decoder_layer(device: &Device) -> TransformerDecoderLayer {
    TransformerDecoderLayer::with_options(4, 2, options(TransformerActivation::Relu), device)
}

/// Padding at the end of both sequences.
fn padding(device: &Device) -> AttentionMasks {
    let (t, f) = (true, false);
    AttentionMasks::padding(&Tensor::new([[f, f, f, t], [f, f, t, t]], device))
}

#[test]
fn transformer_encoder_layer() {
    let recorded = recorded();
    for (name, activation) in [
        ("encoder_layer_relu", TransformerActivation::Relu),
        ("encoder_layer_gelu", TransformerActivation::Gelu),
    ] {
        recorded.case(name).check(
            |device| TransformerEncoderLayer::with_options(4, 2, options(activation), device),
            |layer, inputs| vec![layer.forward(inputs.get("src"), &AttentionMasks::default())],
        );
    }
    recorded.case("encoder_layer_masks").check(encoder_layer, |layer, inputs| {
        let src = inputs.get("src");
        vec![layer.forward(src, &padding(src.device()))]
    });
}

fn decodes(name: &str, activation: TransformerActivation) {
    recorded().case(name).check(
        |device| TransformerDecoderLayer::with_options(4, 2, options(activation), device),
        |layer, inputs| {
            let none = AttentionMasks::default();
            vec![layer.forward(inputs.get("tgt"), inputs.get("memory"), &none, &none)]
        },
    );
}

#[test]
fn transformer_decoder_layer() {
    decodes("decoder_layer_relu", TransformerActivation::Relu);
    recorded().case("decoder_layer_masks").check(decoder_layer, |layer, inputs| {
        let tgt = inputs.get("tgt");
        vec![layer.forward(tgt, inputs.get("memory"), &AttentionMasks::causal(), &padding(tgt.device()))]
    });
}

#[test]
fn transformer_decoder_layer_gelu() {
    decodes("decoder_layer_gelu", TransformerActivation::Gelu);
}

#[test]
fn transformer_encoder() {
    recorded().case("encoder").check(
        |device| {
            TransformerEncoder::new(
                vec![encoder_layer(device), encoder_layer(device)],
                Some(LayerNorm::new([4], device)),
            )
        },
        |encoder, inputs| vec![encoder.forward(inputs.get("src"), &AttentionMasks::default())],
    );
}

#[test]
fn transformer_decoder() {
    recorded().case("decoder").check(
        |device| {
            TransformerDecoder::new(
                vec![decoder_layer(device), decoder_layer(device)],
                Some(LayerNorm::new([4], device)),
            )
        },
        |decoder, inputs| {
            let none = AttentionMasks::default();
            vec![decoder.forward(inputs.get("tgt"), inputs.get("memory"), &none, &none)]
        },
    );
}

fn small(device: &Device) -> Transformer {
    let options = TransformerOptions {
        num_encoder_layers: 2,
        num_decoder_layers: 1,
        layer: options(TransformerActivation::Relu),
    };
    Transformer::with_options(4, 2, options, device)
}

#[test]
fn transformer() {
    recorded().case("transformer").check(small, |model, inputs| {
        let (src, tgt) = (inputs.get("src"), inputs.get("tgt"));
        let pad = padding(src.device());
        let masks = TransformerMasks { src: pad.clone(), tgt: AttentionMasks::causal(), memory: pad };
        vec![model.forward(src, tgt, &masks)]
    });
}

#[test]
fn transformer_args_correctness() {
    each(|device| {
        let model = small(device);
        let none = TransformerMasks::default();
        let run = |src: [usize; 3], tgt: [usize; 3]| {
            model.try_forward(&normal(src, device), &normal(tgt, device), &none)
        };
        run([4, 2, 4], [3, 2, 4]).unwrap();
        // Another batch, other features.
        assert!(run([4, 2, 4], [3, 1, 4]).is_err());
        assert!(message(run([4, 2, 5], [3, 2, 4])).contains('5'));
        assert!(run([4, 2, 4], [3, 2, 3]).is_err());
        assert!(Transformer::try_with_options(5, 2, TransformerOptions::default(), device).is_err());
    });
}

#[test]
fn pretty_print_transformer_encoder_layer() {
    let text = printed(&TransformerEncoderLayer::new(4, 2, &Device::cpu()));
    for line in [
        "TransformerEncoderLayer(\n",
        "  (self_attn): MultiheadAttention(\n    (out_proj): Linear(in_features=4, out_features=4, bias=True)\n  )\n",
        "  (linear1): Linear(in_features=4, out_features=2048, bias=True)\n",
        "  (linear2): Linear(in_features=2048, out_features=4, bias=True)\n",
        "  (norm1): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn pretty_print_transformer_encoder() {
    let device = Device::cpu();
    let text = printed(&TransformerEncoder::new(vec![encoder_layer(&device)], None));
    assert!(
        text.starts_with("TransformerEncoder(\n  (layers): ModuleList(\n    (0): TransformerEncoderLayer("),
        "{text}"
    );
}

#[test]
fn pretty_print_transformer_decoder_layer() {
    let text = printed(&TransformerDecoderLayer::new(4, 2, &Device::cpu()));
    for part in [
        "(self_attn): MultiheadAttention(",
        "(multihead_attn): MultiheadAttention(",
        "(norm3): LayerNorm((4,)",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn pretty_print_transformer_decoder() {
    let device = Device::cpu();
    let text =
        printed(&TransformerDecoder::new(vec![decoder_layer(&device)], Some(LayerNorm::new([4], &device))));
    assert!(
        text.starts_with("TransformerDecoder(\n  (layers): ModuleList(\n    (0): TransformerDecoderLayer("),
        "{text}"
    );
    assert!(text.contains("\n  (norm): LayerNorm((4,), "), "{text}");
}
