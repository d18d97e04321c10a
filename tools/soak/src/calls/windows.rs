//! Convolutions, pooling, resizing, shuffling pixels, attention and norms.

use super::{Arguments, Call, calls};
use flambeau::nn::functional::{
    AttentionOptions, BagMode, EmbeddingBagOptions, InterpolateMode, InterpolateOptions, OutputSize,
};
use flambeau::{AvgPoolOptions, ConvOptions, ConvTransposeOptions, MaxPoolOptions, Padding, Spatial, Tensor};

fn conv<const N: usize>(a: &mut Arguments) -> ConvOptions<N> {
    let padding = match a.random.below(3) {
        0 => Padding::Valid,
        1 => Padding::Same,
        _ => Padding::Explicit(std::array::from_fn(|_| (a.size(), a.size()))),
    };
    let groups = a.positive::<1>()[0];
    ConvOptions { stride: a.positive(), padding, dilation: a.positive(), groups }
}

fn conv_transpose<const N: usize>(a: &mut Arguments) -> ConvTransposeOptions<N> {
    ConvTransposeOptions {
        stride: a.positive(),
        padding: a.spatial(),
        output_padding: a.spatial(),
        dilation: a.positive(),
        groups: a.positive::<1>()[0],
    }
}

fn max_pool<const N: usize>(a: &mut Arguments) -> MaxPoolOptions<N> {
    let stride = a.maybe(|a| a.positive());
    let padding = std::array::from_fn(|_| a.size() / 2);
    MaxPoolOptions { stride, padding, dilation: a.positive(), ceil_mode: a.flag() }
}

fn avg_pool<const N: usize>(a: &mut Arguments) -> AvgPoolOptions<N> {
    AvgPoolOptions {
        stride: a.maybe(|a| a.positive()),
        padding: std::array::from_fn(|_| a.size() / 2),
        ceil_mode: a.flag(),
        count_include_pad: a.flag(),
        divisor_override: a.maybe(|a| a.size()),
    }
}

fn interpolate(a: &mut Arguments) -> InterpolateOptions {
    const MODES: [InterpolateMode; 5] = [
        InterpolateMode::Nearest,
        InterpolateMode::NearestExact,
        InterpolateMode::Linear,
        InterpolateMode::Cubic,
        InterpolateMode::Area,
    ];
    let count = a.random.below(4);
    let size = match a.flag() {
        true => OutputSize::Sizes((0..count).map(|_| a.width()).collect()),
        false => OutputSize::Factors((0..count).map(|_| 2.0 * a.number()).collect()),
    };
    InterpolateOptions { size, mode: *a.random.pick(&MODES), align_corners: a.random.chance(20) }
}

fn bag(a: &mut Arguments) -> EmbeddingBagOptions {
    EmbeddingBagOptions {
        mode: *a.random.pick(&[BagMode::Sum, BagMode::Mean, BagMode::Max]),
        offsets: a.maybe(|a| a.size_list()),
        per_sample_weights: a.maybe(|a| a.float()),
        padding_index: a.maybe(|a| a.size()),
    }
}

fn attention(a: &mut Arguments) -> AttentionOptions {
    let mask = if a.random.chance(20) { Some(a.x()) } else { None };
    let dropout = if a.random.chance(20) { Some((a.number(), a.generator())) } else { None };
    let (causal, scale) = (a.flag(), a.maybe(|a| a.number()));
    AttentionOptions { mask, causal, dropout, scale, enable_gqa: a.random.chance(20) }
}

pub const CALLS: &[Call] = calls! {
    "conv1d": a => a.ranked(3).try_conv1d(&a.ranked(3), a.maybe(|a| a.float()).as_ref(), &conv(a));
    "conv2d": a => a.ranked(4).try_conv2d(&a.ranked(4), a.maybe(|a| a.float()).as_ref(), &conv(a));
    "conv2d of channels": a => {
        let (x, options) = (a.ranked(4), conv(a));
        x.try_conv2d(&x.try_narrow(0, 0, 1)?, None, &ConvOptions { groups: 1, ..options })
    };
    "conv3d": a => a.ranked(5).try_conv3d(&a.ranked(5), a.maybe(|a| a.float()).as_ref(), &conv(a));
    "conv3d of channels": a => {
        let (x, options) = (a.ranked(5), conv(a));
        x.try_conv3d(&x, None, &ConvOptions { groups: 1, ..options })
    };
    "conv_transpose1d": a => a.ranked(3).try_conv_transpose1d(&a.ranked(3), None, &conv_transpose(a));
    "conv_transpose2d": a => a.ranked(4).try_conv_transpose2d(&a.ranked(4), None, &conv_transpose(a));
    "conv_transpose2d of channels": a => {
        let (x, options) = (a.ranked(4), conv_transpose(a));
        x.try_conv_transpose2d(&x.try_transpose(0, 1)?, None, &ConvTransposeOptions { groups: 1, ..options })
    };
    "conv_transpose3d": a => a.ranked(5).try_conv_transpose3d(&a.ranked(5), None, &conv_transpose(a));

    "max_pool1d": a => a.ranked(3).try_max_pool1d(a.positive(), &max_pool(a));
    "max_pool1d_with_indices": a => a.ranked(2).try_max_pool1d_with_indices(a.positive(), &max_pool(a));
    "max_pool2d": a => a.ranked(4).try_max_pool2d(a.positive(), &max_pool(a));
    "max_pool2d_with_indices": a => a.ranked(3).try_max_pool2d_with_indices(a.positive(), &max_pool(a));
    "max_pool3d": a => a.ranked(5).try_max_pool3d(a.positive(), &max_pool(a));
    "max_pool3d_with_indices": a => a.ranked(4).try_max_pool3d_with_indices(a.positive(), &max_pool(a));
    "max_pool1d of the endless": a => {
        let endless = a.ranked(2).try_narrow(1, 0, 1)?.try_expand([-1, a.width() as isize])?;
        endless.try_max_pool1d(a.positive(), &max_pool(a))
    };
    "avg_pool1d": a => a.ranked(3).try_avg_pool1d(a.positive(), &avg_pool(a));
    "avg_pool2d": a => a.ranked(4).try_avg_pool2d(a.positive(), &avg_pool(a));
    "avg_pool3d": a => a.ranked(5).try_avg_pool3d(a.positive(), &avg_pool(a));
    "adaptive_avg_pool1d": a => a.ranked(3).try_adaptive_avg_pool1d(a.spatial());
    "adaptive_avg_pool2d": a => a.ranked(4).try_adaptive_avg_pool2d(a.spatial());
    "adaptive_max_pool1d": a => a.ranked(3).try_adaptive_max_pool1d(a.spatial());
    "adaptive_max_pool1d_with_indices": a => a.ranked(2).try_adaptive_max_pool1d_with_indices(a.spatial());
    "adaptive_max_pool2d": a => a.ranked(4).try_adaptive_max_pool2d(Spatial(a.spatial()));
    "adaptive_max_pool2d_with_indices": a => a.ranked(3).try_adaptive_max_pool2d_with_indices(a.spatial());

    "interpolate": a => { let rank = 3 + a.random.below(3); a.ranked(rank).try_interpolate(&interpolate(a)) };
    "pixel_shuffle": a => a.x().try_pixel_shuffle(a.size());
    "pixel_unshuffle": a => a.x().try_pixel_unshuffle(a.size());

    "layer_norm": a => a.float().try_layer_norm(&a.size_list(), a.maybe(|a| a.float()).as_ref(), None, a.number());
    "layer_norm of the last": a => {
        let x = a.float();
        let last = x.shape().last().copied().unwrap_or(1);
        x.try_layer_norm(&[last], None, None, a.number())
    };
    "rms_norm": a => a.float().try_rms_norm(&a.size_list(), a.maybe(|a| a.float()).as_ref(), a.number());
    "group_norm": a => a.float().try_group_norm(a.size(), None, a.maybe(|a| a.float()).as_ref(), a.number());
    "instance_norm": a => a.float().try_instance_norm(a.maybe(|a| a.float()).as_ref(), None, a.number());
    "batch_norm_training": a => {
        let normed = a.float().try_batch_norm_training(a.maybe(|a| a.float()).as_ref(), None, a.number());
        normed.map(|normed| normed.output)
    };
    "batch_norm": a => a.float().try_batch_norm(&a.float(), &a.float(), None, None, a.number());
    "batch_norm of channels": a => {
        let x = a.float();
        let channels = x.shape().get(1).copied().unwrap_or(1);
        let (mean, var) = (Tensor::try_full([channels], 0.5, a.device)?, Tensor::try_full([channels], 1.0, a.device)?);
        x.try_batch_norm(&mean, &var, Some(&mean), None, a.number())
    };
    "local_response_norm": a => a.float().try_local_response_norm(a.width(), a.number(), a.number(), a.number());

    "dropout": a => a.float().try_dropout(a.number(), &a.generator());
    "alpha_dropout": a => a.float().try_alpha_dropout(a.number(), &a.generator());
    "feature_dropout": a => a.float().try_feature_dropout(a.number(), &a.generator());
    "feature_alpha_dropout": a => a.float().try_feature_alpha_dropout(a.number(), &a.generator());
    "embedding": a => a.ranked(2).try_embedding(&a.index(), a.maybe(|a| a.size()));
    "embedding_bag": a => a.ranked(2).try_embedding_bag(&a.index(), &bag(a));
    "scaled_dot_product_attention": a => {
        let q = a.float();
        let (key, value) = (a.like(&q), a.like(&q));
        q.try_scaled_dot_product_attention(&key, &value, &attention(a))
    };
};
