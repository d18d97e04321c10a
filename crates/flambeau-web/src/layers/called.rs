//! How layers are called that take or give more than one tensor: each as the matching class of the package writes it.

use flambeau::calls::Args;
use flambeau::nn::models::{Gpt, SampleOptions};
use flambeau::nn::*;
use flambeau::{Result, Tensor};

/// A layer with a call of its own.
pub trait Called: Module {
    /// The outputs for these arguments.
    fn call(&self, args: &mut Args) -> Result<Vec<Tensor>>;
}

/// `Layers |layer, args| outputs`.
macro_rules! called {
    ($($($layer:ident)+ |$this:ident, $args:ident| $body:expr;)*) => {$($(
        impl Called for $layer {
            fn call(&self, $args: &mut Args) -> Result<Vec<Tensor>> {
                let $this = self;
                $body
            }
        }
    )+)*};
}

called! {
    Bilinear CosineSimilarity PairwiseDistance
        |layer, args| Ok(vec![layer.try_forward(&args.take()?, &args.take()?)?]);

    EmbeddingBag |layer, args| {
        let indices: Tensor = args.take()?;
        let weights: Option<Tensor> = args.take()?;
        let offsets: Vec<usize> = args.take()?;
        match offsets.is_empty() && weights.is_none() {
            true => Ok(vec![layer.try_forward(&indices)?]),
            false => Ok(vec![layer.try_forward_with_offsets(&indices, &offsets, weights.as_ref())?]),
        }
    };

    MultiheadAttention |layer, args| {
        let (query, key, value): (Tensor, Tensor, Tensor) = (args.take()?, args.take()?, args.take()?);
        let masks = masks(args)?;
        match args.take::<bool>()? {
            true => {
                let form = AttentionWeights::Averaged;
                let (output, weights) = layer.try_forward_with_weights(&query, &key, &value, &masks, form)?;
                Ok(vec![output, weights])
            }
            false => Ok(vec![layer.try_forward(&query, &key, &value, &masks)?]),
        }
    };

    Rnn Gru |layer, args| {
        let (input, hidden): (Tensor, Option<Tensor>) = (args.take()?, args.take()?);
        layer.try_forward(&input, hidden.as_ref()).map(|(output, hidden)| vec![output, hidden])
    };

    Lstm |layer, args| {
        let (input, states) = (args.take()?, states(args)?);
        let (output, (hidden, cell)) = layer.try_forward(&input, states.as_ref().map(|(h, c)| (h, c)))?;
        Ok(vec![output, hidden, cell])
    };

    RnnCell GruCell |layer, args| {
        let (input, hidden): (Tensor, Option<Tensor>) = (args.take()?, args.take()?);
        Ok(vec![layer.try_forward(&input, hidden.as_ref())?])
    };

    LstmCell |layer, args| {
        let (input, states) = (args.take()?, states(args)?);
        let (hidden, cell) = layer.try_forward(&input, states.as_ref().map(|(h, c)| (h, c)))?;
        Ok(vec![hidden, cell])
    };

    TransformerEncoderLayer TransformerEncoder
        |layer, args| Ok(vec![layer.try_forward(&args.take()?, &masks(args)?)?]);

    TransformerDecoderLayer TransformerDecoder |layer, args| {
        let (target, memory): (Tensor, Tensor) = (args.take()?, args.take()?);
        Ok(vec![layer.try_forward(&target, &memory, &masks(args)?, &masks(args)?)?])
    };

    // With a number of tokens above 0, those that follow; else the scores.
    Gpt |layer, args| {
        let (tokens, count): (Tensor, usize) = (args.take()?, args.take()?);
        if count == 0 {
            return Ok(vec![layer.try_forward(&tokens)?]);
        }
        let (temperature, top_k): (f64, usize) = (args.take()?, args.take()?);
        let options = SampleOptions { temperature, top_k: (top_k > 0).then_some(top_k), ..Default::default() };
        Ok(vec![layer.try_generate(&tokens, count, &options)?])
    };

    Transformer |layer, args| {
        let (source, target): (Tensor, Tensor) = (args.take()?, args.take()?);
        let masks = TransformerMasks { src: masks(args)?, tgt: masks(args)?, memory: masks(args)? };
        Ok(vec![layer.try_forward(&source, &target, &masks)?])
    };
}

fn masks(args: &mut Args) -> Result<AttentionMasks> {
    Ok(AttentionMasks { attn_mask: args.take()?, key_padding_mask: args.take()?, causal: args.take()? })
}

/// Hidden and cell state, if both are given.
fn states(args: &mut Args) -> Result<Option<(Tensor, Tensor)>> {
    let (hidden, cell): (Option<Tensor>, Option<Tensor>) = (args.take()?, args.take()?);
    Ok(hidden.zip(cell))
}
