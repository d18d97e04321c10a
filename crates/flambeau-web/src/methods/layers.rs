//! What layers compute, as functions: convolution, pooling, normalisation, dropout, embedding, attention.

use super::methods;
use crate::args::Around;
use flambeau::nn::functional::{
    AttentionOptions, BagMode, EmbeddingBagOptions, InterpolateMode, InterpolateOptions,
};
use flambeau::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, Generator, MaxPoolOptions, Result, Tensor,
};

fn conv<const N: usize>(
    stride: &Around,
    padding: &Around,
    dilation: &Around,
    groups: usize,
) -> Result<ConvOptions<N>> {
    Ok(ConvOptions::default()
        .with_stride(stride.sizes::<N>()?)
        .with_padding(padding.padding::<N>()?)
        .with_dilation(dilation.sizes::<N>()?)
        .with_groups(groups))
}

fn transposed<const N: usize>(
    stride: &Around,
    padding: &Around,
    output_padding: &Around,
    groups: usize,
    dilation: &Around,
) -> Result<ConvTransposeOptions<N>> {
    Ok(ConvTransposeOptions::default()
        .with_stride(stride.sizes::<N>()?)
        .with_padding(padding.sizes::<N>()?)
        .with_output_padding(output_padding.sizes::<N>()?)
        .with_dilation(dilation.sizes::<N>()?)
        .with_groups(groups))
}

fn max_pool<const N: usize>(
    stride: &Around,
    padding: &Around,
    dilation: &Around,
    ceil_mode: bool,
) -> Result<MaxPoolOptions<N>> {
    let options = MaxPoolOptions::default()
        .with_padding(padding.sizes::<N>()?)
        .with_dilation(dilation.sizes::<N>()?)
        .with_ceil_mode(ceil_mode);
    Ok(if stride.0.is_empty() { options } else { options.with_stride(stride.sizes::<N>()?) })
}

fn avg_pool<const N: usize>(
    stride: &Around,
    padding: &Around,
    ceil_mode: bool,
    count_include_pad: bool,
) -> Result<AvgPoolOptions<N>> {
    let options = AvgPoolOptions::default()
        .with_padding(padding.sizes::<N>()?)
        .with_ceil_mode(ceil_mode)
        .with_count_include_pad(count_include_pad);
    Ok(if stride.0.is_empty() { options } else { options.with_stride(stride.sizes::<N>()?) })
}

methods! {
    conv1d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", dilation: Around = "1", groups: usize = "1") -> Tensor {
        x.try_conv1d(&weight, bias.as_ref(), &conv(&stride, &padding, &dilation, groups)?)
    }
    conv2d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", dilation: Around = "1", groups: usize = "1") -> Tensor {
        x.try_conv2d(&weight, bias.as_ref(), &conv(&stride, &padding, &dilation, groups)?)
    }
    conv3d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", dilation: Around = "1", groups: usize = "1") -> Tensor {
        x.try_conv3d(&weight, bias.as_ref(), &conv(&stride, &padding, &dilation, groups)?)
    }
    conv_transpose1d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", output_padding: Around = "0", groups: usize = "1", dilation: Around = "1") -> Tensor {
        x.try_conv_transpose1d(&weight, bias.as_ref(), &transposed(&stride, &padding, &output_padding, groups, &dilation)?)
    }
    conv_transpose2d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", output_padding: Around = "0", groups: usize = "1", dilation: Around = "1") -> Tensor {
        x.try_conv_transpose2d(&weight, bias.as_ref(), &transposed(&stride, &padding, &output_padding, groups, &dilation)?)
    }
    conv_transpose3d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", output_padding: Around = "0", groups: usize = "1", dilation: Around = "1") -> Tensor {
        x.try_conv_transpose3d(&weight, bias.as_ref(), &transposed(&stride, &padding, &output_padding, groups, &dilation)?)
    }
    max_pool1d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> Tensor {
        x.try_max_pool1d(kernel.sizes()?, &max_pool(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool2d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> Tensor {
        x.try_max_pool2d(kernel.sizes()?, &max_pool(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool3d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> Tensor {
        x.try_max_pool3d(kernel.sizes()?, &max_pool(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool1d_with_indices(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> (Tensor, Tensor) {
        x.try_max_pool1d_with_indices(kernel.sizes()?, &max_pool(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool2d_with_indices(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> (Tensor, Tensor) {
        x.try_max_pool2d_with_indices(kernel.sizes()?, &max_pool(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool3d_with_indices(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> (Tensor, Tensor) {
        x.try_max_pool3d_with_indices(kernel.sizes()?, &max_pool(&stride, &padding, &dilation, ceil_mode)?)
    }
    avg_pool1d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", ceil_mode: bool = "false", count_include_pad: bool = "true") -> Tensor {
        x.try_avg_pool1d(kernel.sizes()?, &avg_pool(&stride, &padding, ceil_mode, count_include_pad)?)
    }
    avg_pool2d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", ceil_mode: bool = "false", count_include_pad: bool = "true") -> Tensor {
        x.try_avg_pool2d(kernel.sizes()?, &avg_pool(&stride, &padding, ceil_mode, count_include_pad)?)
    }
    avg_pool3d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", ceil_mode: bool = "false", count_include_pad: bool = "true") -> Tensor {
        x.try_avg_pool3d(kernel.sizes()?, &avg_pool(&stride, &padding, ceil_mode, count_include_pad)?)
    }
    adaptive_avg_pool1d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_avg_pool1d(output.sizes()?) }
    adaptive_avg_pool2d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_avg_pool2d(output.sizes()?) }
    adaptive_max_pool1d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_max_pool1d(output.sizes()?) }
    adaptive_max_pool2d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_max_pool2d(output.sizes()?) }
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
    scaled_dot_product_attention(x: Tensor, key: Tensor, value: Tensor, mask: Option<Tensor> = "?", causal: bool = "false", dropout: f64 = "0", scale: Option<f64> = "?", generator: Generator = "?") -> Tensor {
        let dropout = (dropout > 0.0).then_some((dropout, generator));
        x.try_scaled_dot_product_attention(&key, &value, &AttentionOptions { mask, causal, dropout, scale })
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
