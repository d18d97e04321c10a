//! What layers compute, as functions: normalisation, dropout, embedding, attention.

use flambeau::calls::methods;
use flambeau::nn::functional::{
    AttentionOptions, BagMode, EmbeddingBagOptions, InterpolateMode, InterpolateOptions,
};
use flambeau::{Generator, Tensor};

pub(super) struct Layers;

methods! { Layers:
    layer_norm(x: Tensor, normalized_shape: Vec<usize>, weight: Option<Tensor> = "?", bias: Option<Tensor> = "?", eps: f64 = "1e-5") -> Tensor {
        x.try_layer_norm(&normalized_shape, weight.as_ref(), bias.as_ref(), eps)
    }
    rms_norm(x: Tensor, normalized_shape: Vec<usize>, weight: Option<Tensor> = "?", eps: f64 = "1.1920929e-7") -> Tensor {
        x.try_rms_norm(&normalized_shape, weight.as_ref(), eps)
    }
    group_norm(x: Tensor, groups: usize, weight: Option<Tensor> = "?", bias: Option<Tensor> = "?", eps: f64 = "1e-5") -> Tensor {
        x.try_group_norm(groups, weight.as_ref(), bias.as_ref(), eps)
    }
    instance_norm(x: Tensor, weight: Option<Tensor> = "?", bias: Option<Tensor> = "?", eps: f64 = "1e-5") -> Tensor {
        x.try_instance_norm(weight.as_ref(), bias.as_ref(), eps)
    }
    batch_norm(x: Tensor, mean: Tensor, variance: Tensor, weight: Option<Tensor> = "?", bias: Option<Tensor> = "?", eps: f64 = "1e-5") -> Tensor {
        x.try_batch_norm(&mean, &variance, weight.as_ref(), bias.as_ref(), eps)
    }
    local_response_norm(x: Tensor, size: usize, alpha: f64 = "1e-4", beta: f64 = "0.75", k: f64 = "1") -> Tensor {
        x.try_local_response_norm(size, alpha, beta, k)
    }
    dropout(x: Tensor, p: f64 = "0.5", generator: Generator = "?") -> Tensor { x.try_dropout(p, &generator) }
    feature_dropout(x: Tensor, p: f64 = "0.5", generator: Generator = "?") -> Tensor { x.try_feature_dropout(p, &generator) }
    alpha_dropout(x: Tensor, p: f64 = "0.5", generator: Generator = "?") -> Tensor { x.try_alpha_dropout(p, &generator) }
    feature_alpha_dropout(x: Tensor, p: f64 = "0.5", generator: Generator = "?") -> Tensor {
        x.try_feature_alpha_dropout(p, &generator)
    }
    embedding(x: Tensor, indices: Tensor, padding_index: Option<usize> = "?") -> Tensor {
        x.try_embedding(&indices, padding_index)
    }
    embedding_bag(x: Tensor, indices: Tensor, mode: BagMode = "\"mean\"", offsets: Vec<usize> = "[]", weights: Option<Tensor> = "?", padding_index: Option<usize> = "?") -> Tensor {
        let options = EmbeddingBagOptions {
            mode,
            offsets: (!offsets.is_empty()).then_some(offsets),
            per_sample_weights: weights,
            padding_index,
        };
        x.try_embedding_bag(&indices, &options)
    }
    scaled_dot_product_attention(x: Tensor, key: Tensor, value: Tensor, mask: Option<Tensor> = "?", causal: bool = "false", dropout: f64 = "0", scale: Option<f64> = "?", generator: Generator = "?", enable_gqa: bool = "false") -> Tensor {
        let dropout = (dropout > 0.0).then_some((dropout, generator));
        let options = AttentionOptions { mask, causal, dropout, scale, enable_gqa };
        x.try_scaled_dot_product_attention(&key, &value, &options)
    }
    interpolate(x: Tensor, size: Vec<usize>, mode: InterpolateMode = "\"nearest\"", align_corners: bool = "false") -> Tensor {
        let options = InterpolateOptions::size(&size).with_mode(mode);
        x.try_interpolate(&if align_corners { options.with_align_corners() } else { options })
    }
    interpolate_by(x: Tensor, factors: Vec<f64>, mode: InterpolateMode = "\"nearest\"", align_corners: bool = "false") -> Tensor {
        let options = InterpolateOptions::factor(&factors).with_mode(mode);
        x.try_interpolate(&if align_corners { options.with_align_corners() } else { options })
    }
    pixel_shuffle(x: Tensor, factor: usize) -> Tensor { x.try_pixel_shuffle(factor) }
    pixel_unshuffle(x: Tensor, factor: usize) -> Tensor { x.try_pixel_unshuffle(factor) }
    pairwise_distance(x: Tensor, other: Tensor, p: f64 = "2", eps: f64 = "1e-6") -> Tensor {
        x.try_pairwise_distance(&other, p, eps)
    }
    cosine_similarity(x: Tensor, other: Tensor, dim: isize = "1", eps: f64 = "1e-8") -> Tensor {
        x.try_cosine_similarity(&other, dim, eps)
    }
    normalize(x: Tensor, p: f64 = "2", dim: isize = "1", eps: f64 = "1e-12") -> Tensor { x.try_normalize(p, dim, eps) }
    bilinear(x: Tensor, other: Tensor, weight: Tensor, bias: Option<Tensor> = "?") -> Tensor {
        x.try_bilinear(&other, &weight, bias.as_ref())
    }
}
