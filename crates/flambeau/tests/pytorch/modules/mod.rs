//! `modules.cpp`, layers: what they compute is compared with PyTorch's values, and their parameters learn.

use crate::common::reference::Inputs;
use crate::common::{block_on, values};
use crate::recorded::recorded;
use crate::tools::{each, is, message, normal, number, ramp, same};
use flambeau::nn::functional::*;
use flambeau::nn::*;
use flambeau::prelude::*;
use flambeau::{AvgPool3dOptions, MaxPool3dOptions};

mod behaviour;
mod shapes;

/// The output of a layer whose parameters are inputs of the file; every parameter gets a gradient of its shape.
fn layer(inputs: &Inputs, module: impl Forward, parameters: &[(&str, &str)], input: &str) -> Tensor {
    let own = module.named_parameters();
    assert_eq!(own.len(), parameters.len(), "parameters");
    for (name, given) in parameters {
        let (_, parameter) = own.iter().find(|(own, _)| own == name).expect("a parameter of that name");
        parameter.set(&inputs.get(given).narrow(0, 0, parameter.shape()[0]));
    }
    let y = module.forward(&inputs.get(input));
    y.square().sum(..).backward().unwrap();
    for (name, parameter) in own {
        assert_eq!(
            parameter.grad().unwrap_or_else(|| panic!("{name} has no gradient")).shape(),
            parameter.shape()
        );
    }
    y.detach()
}

const WEIGHT1: &[(&str, &str)] = &[("weight", "w1"), ("bias", "b2")];
const WEIGHT_BIAS3: &[(&str, &str)] = &[("weight", "w3c"), ("bias", "b3c")];

recorded! {
    conv1d: "conv1d" [] |_, i| {
        let conv = Conv1d::with_options(3, 2, 3, Conv1dOptions::default().with_stride(2), i.device);
        layer(i, conv, WEIGHT1, "line")
    };
    conv2d_even: "conv2d_even" [] |_, i| {
        let conv = Conv2d::with_options(3, 2, 3, Conv2dOptions::default().with_stride(2), i.device);
        layer(i, conv, &[("weight", "w2"), ("bias", "b2")], "image")
    };
    conv2d_uneven: "conv2d_uneven" [] |_, i| {
        let conv = Conv2d::with_options(3, 2, [3, 2], Conv2dOptions::default().with_stride(2), i.device);
        layer(i, conv, &[("weight", "w2u"), ("bias", "b2")], "image")
    };
    conv3d: "conv3d" [] |_, i| {
        let conv = Conv3d::with_options(2, 3, [2, 3, 2], Conv3dOptions::default().with_stride(2), i.device);
        layer(i, conv, &[("weight", "w3"), ("bias", "b3")], "box")
    };
    conv_transpose1d: "conv_transpose1d" [] |_, i| {
        let conv = ConvTranspose1d::with_options(3, 2, 3, ConvTranspose1dOptions::default().with_stride(2), i.device);
        layer(i, conv, &[("weight", "t1"), ("bias", "b2")], "line")
    };
    conv_transpose2d_even: "conv_transpose2d_even" [] |_, i| {
        let conv = ConvTranspose2d::with_options(3, 2, 3, ConvTranspose2dOptions::default().with_stride(2), i.device);
        layer(i, conv, &[("weight", "t2"), ("bias", "b2")], "image")
    };
    conv_transpose2d_uneven: "conv_transpose2d_uneven" [] |_, i| {
        let conv = ConvTranspose2d::with_options(3, 2, [3, 2], ConvTranspose2dOptions::default().with_stride(2), i.device);
        layer(i, conv, &[("weight", "t2u"), ("bias", "b2")], "image")
    };
    conv_transpose3d: "conv_transpose3d" [] |_, i| {
        let options = ConvTranspose3dOptions::default().with_stride(2);
        let conv = ConvTranspose3d::with_options(2, 3, [2, 3, 2], options, i.device);
        layer(i, conv, &[("weight", "t3"), ("bias", "b3")], "box")
    };

    max_pool1d: "max_pool1d" ["line"]
        |x, _| MaxPool1d::with_options(3, MaxPool1dOptions::default().with_stride(2)).forward(&x[0]);
    max_pool1d_return_indices: "max_pool1d_indices" []
        |_, i| MaxPool1d::with_options(3, MaxPool1dOptions::default().with_stride(2)).forward_with_indices(&i.get("line")).1;
    max_pool2d_even: "max_pool2d" ["image"]
        |x, _| MaxPool2d::with_options(3, MaxPool2dOptions::default().with_stride(2)).forward(&x[0]);
    max_pool2d_uneven: "max_pool2d_uneven" ["image"]
        |x, _| MaxPool2d::with_options([3, 2], MaxPool2dOptions::default().with_stride(2)).forward(&x[0]);
    max_pool2d_return_indices: "max_pool2d_indices" []
        |_, i| MaxPool2d::with_options(3, MaxPool2dOptions::default().with_stride(2)).forward_with_indices(&i.get("image")).1;
    max_pool3d: "max_pool3d" ["box"]
        |x, _| MaxPool3d::with_options(3, MaxPool3dOptions::default().with_stride(2)).forward(&x[0]);
    max_pool3d_return_indices: "max_pool3d_indices" []
        |_, i| MaxPool3d::with_options(3, MaxPool3dOptions::default().with_stride(2)).forward_with_indices(&i.get("box")).1;
    avg_pool1d: "avg_pool1d" ["line"]
        |x, _| AvgPool1d::with_options(3, AvgPool1dOptions::default().with_stride(2)).forward(&x[0]);
    avg_pool2d_even: "avg_pool2d" ["image"]
        |x, _| AvgPool2d::with_options(3, AvgPool2dOptions::default().with_stride(2)).forward(&x[0]);
    avg_pool2d_uneven: "avg_pool2d_uneven" ["image"]
        |x, _| AvgPool2d::with_options([3, 2], AvgPool2dOptions::default().with_stride(2)).forward(&x[0]);
    avg_pool3d: "avg_pool3d" ["box"]
        |x, _| AvgPool3d::with_options(3, AvgPool3dOptions::default().with_stride(2)).forward(&x[0]);
    fractional_max_pool2d: "fractional_max_pool2d" ["image"] |x, i| {
        let pool = FractionalMaxPool2d::new(2, FractionalOutput::Sizes([3, 2]));
        pool.try_forward_with_samples(&x[0], &i.get("samples2")).unwrap().0
    };
    fractional_max_pool2d_return_indices: "fractional_max_pool2d_indices" [] |_, i| {
        let pool = FractionalMaxPool2d::new(2, FractionalOutput::Ratios([0.5, 0.4]));
        pool.try_forward_with_samples(&i.get("image"), &i.get("samples2")).unwrap().1
    };
    fractional_max_pool3d: "fractional_max_pool3d" ["box"] |x, i| {
        let pool = FractionalMaxPool3d::new(2, FractionalOutput::Sizes([3, 2, 4]));
        pool.try_forward_with_samples(&x[0], &i.get("samples3")).unwrap().0
    };
    fractional_max_pool3d_return_indices: "fractional_max_pool3d_indices" [] |_, i| {
        let pool = FractionalMaxPool3d::new(2, FractionalOutput::Sizes([3, 2, 4]));
        pool.try_forward_with_samples(&i.get("box"), &i.get("samples3")).unwrap().1
    };
    lp_pool1d: "lp_pool1d" ["line"] |x, _| LpPool1d::new(2.0, 3).with_stride(2).forward(&x[0]);
    lp_pool2d: "lp_pool2d" ["image"] |x, _| LpPool2d::new(2.0, 3).with_stride(2).forward(&x[0]);
    lp_pool3d: "lp_pool3d" ["box"] |x, _| LpPool3d::new(2.0, 3).with_stride(2).forward(&x[0]);
    adaptive_max_pool1d: "adaptive_max_pool1d" ["line"] |x, _| AdaptiveMaxPool1d::new(3).forward(&x[0]);
    adaptive_max_pool1d_return_indices: "adaptive_max_pool1d_indices" []
        |_, i| AdaptiveMaxPool1d::new(3).forward_with_indices(&i.get("line")).1;
    adaptive_max_pool2d_even: "adaptive_max_pool2d_even" ["image"] |x, _| AdaptiveMaxPool2d::new(3).forward(&x[0]);
    adaptive_max_pool2d_uneven: "adaptive_max_pool2d" ["image"] |x, _| AdaptiveMaxPool2d::new([3, 2]).forward(&x[0]);
    adaptive_max_pool2d_return_indices_even: "adaptive_max_pool2d_even_indices" []
        |_, i| AdaptiveMaxPool2d::new(3).forward_with_indices(&i.get("image")).1;
    adaptive_max_pool2d_return_indices_uneven: "adaptive_max_pool2d_indices" []
        |_, i| AdaptiveMaxPool2d::new([3, 2]).forward_with_indices(&i.get("image")).1;
    adaptive_max_pool3d: "adaptive_max_pool3d" ["box"] |x, _| AdaptiveMaxPool3d::new([2, 3, 2]).forward(&x[0]);
    adaptive_max_pool3d_return_indices: "adaptive_max_pool3d_indices" []
        |_, i| AdaptiveMaxPool3d::new([2, 3, 2]).forward_with_indices(&i.get("box")).1;
    adaptive_avg_pool1d: "adaptive_avg_pool1d" ["line"] |x, _| AdaptiveAvgPool1d::new(3).forward(&x[0]);
    adaptive_avg_pool2d_even: "adaptive_avg_pool2d_even" ["image"] |x, _| AdaptiveAvgPool2d::new(3).forward(&x[0]);
    adaptive_avg_pool2d_uneven: "adaptive_avg_pool2d" ["image"] |x, _| AdaptiveAvgPool2d::new([3, 2]).forward(&x[0]);
    adaptive_avg_pool3d: "adaptive_avg_pool3d" ["box"] |x, _| AdaptiveAvgPool3d::new([2, 3, 2]).forward(&x[0]);
    max_pool1d_max_unpool1d: "max_unpool1d" ["line"] |x, _| {
        let (largest, places) = MaxPool1d::new(2).forward_with_indices(&x[0]);
        MaxUnpool1d::new(2).forward(&largest, &places)
    };
    max_pool2d_max_unpool2d: "max_unpool2d" ["even"] |x, _| {
        let (largest, places) = MaxPool2d::new(2).forward_with_indices(&x[0]);
        MaxUnpool2d::new(2).forward(&largest, &places)
    };
    max_pool3d_max_unpool3d: "max_unpool3d" ["box"] |x, _| {
        let (largest, places) = MaxPool3d::new(2).forward_with_indices(&x[0]);
        MaxUnpool3d::new(2).forward(&largest, &places)
    };

    linear: "linear" [] |_, i| layer(i, Linear::new(5, 3, i.device), &[("weight", "w_linear"), ("bias", "b3c")], "a");
    local_response_norm: "local_response_norm" ["image"] |x, _| LocalResponseNorm::new(2).forward(&x[0]);
    cross_map_lrn2d: "cross_map_lrn" ["image"]
        |x, _| CrossMapLrn2d { alpha: 0.5, beta: 0.6, k: 1.5, ..CrossMapLrn2d::new(3) }.forward(&x[0]);
    layer_norm: "layer_norm" [] |_, i| {
        let norm = LayerNorm::with_options([5], LayerNormOptions { eps: 2e-5, ..Default::default() }, i.device);
        layer(i, norm, &[("weight", "w5"), ("bias", "b5")], "a")
    };
    group_norm: "group_norm" []
        |_, i| layer(i, GroupNorm::with_options(3, 3, GroupNormOptions { eps: 2e-5, affine: true }, i.device), WEIGHT_BIAS3, "image");
    bilinear: "bilinear" [] |_, i| {
        let map = Bilinear::new(2, 3, 5, i.device);
        map.weight.set(&i.get("w_bi"));
        map.bias.as_ref().unwrap().set(&i.get("b5"));
        map.forward(&i.get("left"), &i.get("right")).detach()
    };
    fold: "fold" ["columns"] |x, _| Fold::new([5, 6], Patches::new(2)).forward(&x[0]);
    unfold: "unfold" ["image"] |x, _| Unfold::new(Patches::new([3, 2]).with_padding(1).with_stride(2)).forward(&x[0]);
    prelu: "prelu" []
        |_, i| layer(i, PRelu::with_options(PReluOptions { num_parameters: 3, ..Default::default() }, i.device), &[("weight", "slope")], "image");
    elu: "elu" ["a"] |x, _| Elu { alpha: 1.5 }.forward(&x[0]);
    selu: "selu" ["a"] |x, _| Selu.forward(&x[0]);
    hardshrink: "hardshrink" ["a"] |x, _| Hardshrink { lambda: 0.42 }.forward(&x[0]);
    hardtanh: "hardtanh" ["a"] |x, _| Hardtanh { min_val: -0.42, max_val: 0.84 }.forward(&x[0]);
    leaky_relu: "leaky_relu" ["a"] |x, _| LeakyRelu { negative_slope: 0.42 }.forward(&x[0]);
    log_sigmoid: "logsigmoid" ["a"] |x, _| LogSigmoid.forward(&x[0]);
    softmax: "softmax" ["a"] |x, _| Softmax { dim: 1 }.forward(&x[0]);
    softmin: "softmin" ["a"] |x, _| Softmin { dim: 1 }.forward(&x[0]);
    log_softmax: "log_softmax" ["a"] |x, _| LogSoftmax { dim: 1 }.forward(&x[0]);
    softmax2d: "softmax2d" ["image"] |x, _| Softmax2d.forward(&x[0]);
    relu: "relu" ["a"] |x, _| Relu.forward(&x[0]);
    relu6: "relu6" ["a"] |x, _| Relu6.forward(&x[0]);
    rrelu: "rrelu" ["a"] |x, _| {
        let layer = RRelu::new(0.24, 0.42);
        layer.eval();
        layer.forward(&x[0])
    };
    celu: "celu" ["a"] |x, _| Celu { alpha: 1.5 }.forward(&x[0]);
    glu: "glu" ["a"] |x, _| Glu { dim: 1 }.forward(&x[0].narrow(1, 0, 4));
    gelu: "gelu" ["a"] |x, _| Gelu::default().forward(&x[0]);
    tanh_gelu: "gelu_tanh" ["a"] |x, _| Gelu { approximate: GeluApproximation::Tanh }.forward(&x[0]);
    mish: "mish" ["a"] |x, _| Mish.forward(&x[0]);
    sigmoid: "sigmoid" ["a"] |x, _| Sigmoid.forward(&x[0]);
    pixel_shuffle: "pixel_shuffle" ["pixels"] |x, _| PixelShuffle { upscale_factor: 2 }.forward(&x[0]);
    pixel_unshuffle: "pixel_unshuffle" ["packed"] |x, _| PixelUnshuffle { downscale_factor: 2 }.forward(&x[0]);
    softplus: "softplus" ["a"] |x, _| Softplus { beta: 2.0, threshold: 1.5 }.forward(&x[0]);
    softshrink: "softshrink" ["a"] |x, _| Softshrink { lambda: 0.42 }.forward(&x[0]);
    softsign: "softsign" ["a"] |x, _| Softsign.forward(&x[0]);
    tanh: "tanh" ["a"] |x, _| Tanh.forward(&x[0]);
    tanhshrink: "tanhshrink" ["a"] |x, _| Tanhshrink.forward(&x[0]);
    threshold: "threshold" ["a"] |x, _| Threshold { threshold: 0.42, value: 24.0 }.forward(&x[0]);
    cosine_similarity: "cosine_similarity" ["a", "b"] |x, _| CosineSimilarity::default().forward(&x[0], &x[1]);
    pairwise_distance: "pairwise_distance" ["a", "b"]
        |x, _| PairwiseDistance { p: 1.0, ..Default::default() }.forward(&x[0], &x[1]);
    upsampling1_d: "interpolate_linear" ["line"]
        |x, _| Upsample::with_options(InterpolateOptions::factor(&[2.0]).with_mode(InterpolateMode::Linear)).forward(&x[0]);
    upsampling2_d:
        "interpolate_nearest" ["image"] |x, _| Upsample::with_options(InterpolateOptions::size(&[3, 7])).forward(&x[0]),
        "interpolate_bilinear" ["image"] |x, _| Upsample::with_options(
            InterpolateOptions::size(&[4, 9]).with_mode(InterpolateMode::Linear).with_align_corners()).forward(&x[0]),
        "interpolate_bicubic" ["image"]
            |x, _| Upsample::with_options(InterpolateOptions::size(&[4, 9]).with_mode(InterpolateMode::Cubic)).forward(&x[0]);
    upsampling3_d: "interpolate_trilinear" ["box"] |x, _| Upsample::with_options(
        InterpolateOptions::factor(&[2.0]).with_mode(InterpolateMode::Linear).with_align_corners()).forward(&x[0]);
    reflection_pad1d: "pad_reflect1" ["line"] |x, _| ReflectionPad1d::new([1, 2]).forward(&x[0]);
    reflection_pad2d: "pad_reflect2" ["image"] |x, _| ReflectionPad2d::new([1, 2, 2, 1]).forward(&x[0]);
    reflection_pad3d: "pad_reflect3" ["box"] |x, _| ReflectionPad3d::new([1, 2, 2, 1, 1, 2]).forward(&x[0]);
    replication_pad1d: "pad_replicate1" ["line"] |x, _| ReplicationPad1d::new([1, 2]).forward(&x[0]);
    replication_pad2d: "pad_replicate2" ["image"] |x, _| ReplicationPad2d::new([1, 2, 2, 1]).forward(&x[0]);
    replication_pad3d: "pad_replicate3" ["box"] |x, _| ReplicationPad3d::new([1, 2, 2, 1, 1, 2]).forward(&x[0]);
    constant_pad1d: "pad_constant1" ["line"] |x, _| ConstantPad1d::new([1, 2], 3.5).forward(&x[0]);
    constant_pad2d: "pad_constant2" ["image"] |x, _| ConstantPad2d::new([1, 2, 2, 1], 3.5).forward(&x[0]);
    constant_pad3d: "pad_constant3" ["box"] |x, _| ConstantPad3d::new([1, 2, 2, 1, 1, 2], 3.5).forward(&x[0]);
    batch_norm1d: "batch_norm1d_training" ["line"] |x, i| BatchNorm1d::new(3, i.device).forward(&x[0]);
    batch_norm2d: "batch_norm2d_training" ["image"] |x, i| BatchNorm2d::new(3, i.device).forward(&x[0]);
    batch_norm3d: "batch_norm3d_training" ["box"] |x, i| BatchNorm3d::new(2, i.device).forward(&x[0]);
    instance_norm1d: "instance_norm1d_default" ["line"] |x, i| InstanceNorm1d::new(3, i.device).forward(&x[0]);
    instance_norm2d: "instance_norm2d_default" ["image"] |x, i| InstanceNorm2d::new(3, i.device).forward(&x[0]);
    instance_norm3d: "instance_norm3d_default" ["box"] |x, i| InstanceNorm3d::new(2, i.device).forward(&x[0]);
}
