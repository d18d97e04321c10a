//! Norms and attention as functions, and layers that are given their parameters.

use super::call::{Call, Op, one};
use flambeau::nn::functional::AttentionOptions;
use flambeau::nn::*;
use flambeau::{Error, Result, Tensor};

pub const TABLE: &[(&str, Op)] = &[
    ("layer_norm", |c| one(c.x().try_layer_norm(&c.sizes("shape"), c.maybe(1), c.maybe(2), c.number("eps")))),
    ("group_norm", |c| one(c.x().try_group_norm(c.size("groups"), c.maybe(1), c.maybe(2), c.number("eps")))),
    ("instance_norm", |c| one(c.x().try_instance_norm(c.maybe(1), c.maybe(2), c.number("eps")))),
    ("local_response_norm", |c| {
        one(c.x().try_local_response_norm(c.size("size"), c.number("alpha"), c.number("beta"), c.number("k")))
    }),
    ("batch_norm_fixed", |c| {
        one(c.x().try_batch_norm(c.y(), &c.operands[2], c.maybe(3), c.maybe(4), c.number("eps")))
    }),
    ("scaled_dot_product_attention", |c| {
        let options = AttentionOptions { causal: c.flag("causal"), ..Default::default() };
        one(c.x().try_scaled_dot_product_attention(c.y(), &c.operands[2], &options))
    }),
    ("layer", |c| match c.word("layer") {
        "linear" => {
            let options = LinearOptions { bias: c.flag("bias") };
            let layer = Linear::try_with_options(c.size("inputs"), c.size("outputs"), options, c.device)?;
            c.give(&layer, 1)?;
            one(layer.try_forward(c.x()))
        }
        "rnn" | "gru" | "lstm" => recurrent(c),
        "attention" => {
            let (bias, batch_first) = (c.flag("bias"), c.flag("batch_first"));
            let options = MultiheadAttentionOptions { bias, batch_first, ..Default::default() };
            let layer =
                MultiheadAttention::try_with_options(c.size("width"), c.size("heads"), options, c.device)?;
            c.give(&layer, 2)?;
            one(layer.try_forward(c.x(), c.y(), c.y(), &AttentionMasks::default()))
        }
        "encoder" => encoder(c),
        "batch_norm" => match c.x().rank() {
            2 | 3 => batch_norm::<1>(c),
            _ => batch_norm::<2>(c),
        },
        other => Err(Error::Autograd(format!("there is no layer {other}"))),
    }),
];

/// Makes a recurrent layer and its results.
macro_rules! run_recurrent {
    ($c:ident, $layer:ident, $options:ident, $outcome:ident => $results:expr) => {{
        let options = $options {
            num_layers: $c.size("num_layers"),
            bias: $c.flag("bias"),
            batch_first: $c.flag("batch_first"),
            bidirectional: $c.flag("bidirectional"),
            ..Default::default()
        };
        let layer = $layer::try_with_options($c.size("inputs"), $c.size("hidden"), options, $c.device)?;
        $c.give(&layer, 1)?;
        let $outcome = layer.try_forward($c.x(), None)?;
        Ok($results)
    }};
}

fn recurrent(c: &Call) -> Result<Vec<Tensor>> {
    match c.word("layer") {
        "rnn" => run_recurrent!(c, Rnn, RnnOptions, y => vec![y.0, y.1]),
        "gru" => run_recurrent!(c, Gru, GruOptions, y => vec![y.0, y.1]),
        _ => run_recurrent!(c, Lstm, LstmOptions, y => vec![y.0, y.1.0, y.1.1]),
    }
}

fn encoder(c: &Call) -> Result<Vec<Tensor>> {
    let activation = match c.word("activation") {
        "gelu" => TransformerActivation::Gelu,
        _ => TransformerActivation::Relu,
    };
    let options = TransformerLayerOptions {
        dim_feedforward: c.size("feed_forward"),
        dropout: 0.0,
        activation,
        layer_norm_eps: c.number("eps"),
        batch_first: true,
        norm_first: c.flag("norm_first"),
    };
    let layer =
        TransformerEncoderLayer::try_with_options(c.size("width"), c.size("heads"), options, c.device)?;
    c.give(&layer, 1)?;
    one(layer.try_forward(c.x(), &AttentionMasks::default()))
}

fn batch_norm<const N: usize>(c: &Call) -> Result<Vec<Tensor>> {
    let options =
        BatchNormOptions { eps: c.number("eps"), momentum: c.maybe_number("momentum"), ..Default::default() };
    let layer = BatchNorm::<N>::try_with_options(c.size("features"), options, c.device)?;
    c.give(&layer, 1)?;
    let y = layer.try_forward(c.x())?;
    let buffers = layer.named_buffers();
    let running = |name: &str| {
        let found = buffers.iter().find(|(known, _)| known == name);
        found
            .map(|(_, buffer)| buffer.get())
            .ok_or_else(|| Error::Autograd(format!("there is no buffer {name}")))
    };
    Ok(vec![y, running("running_mean")?, running("running_var")?])
}
