//! `functional.cpp`: functions against PyTorch's values, with their gradients.

use crate::common::{block_on, values};
use crate::recorded::recorded;
use crate::tools::{differentiable, each, is, message, normal, number, ramp, same};
use flambeau::nn::functional::*;
use flambeau::nn::loss::*;
use flambeau::prelude::*;
use flambeau::{AvgPool3dOptions, MaxPool3dOptions};

recorded! {
    conv1d: "conv1d" ["line", "w1", "b2"] |x, _| x[0].conv1d(&x[1], Some(&x[2]), &Conv1dOptions::default().with_stride(2));
    conv2d_even: "conv2d_even" ["image", "w2", "b2"] |x, _| x[0].conv2d(&x[1], Some(&x[2]), &stride2());
    conv2d_uneven: "conv2d_uneven" ["image", "w2u", "b2"] |x, _| x[0].conv2d(&x[1], Some(&x[2]), &stride2());
    conv3d: "conv3d" ["box", "w3", "b3"] |x, _| x[0].conv3d(&x[1], Some(&x[2]), &Conv3dOptions::default().with_stride(2));
    conv_transpose1d: "conv_transpose1d" ["line", "t1", "b2"]
        |x, _| x[0].conv_transpose1d(&x[1], Some(&x[2]), &ConvTranspose1dOptions::default().with_stride(2));
    conv_transpose2d_even: "conv_transpose2d_even" ["image", "t2", "b2"]
        |x, _| x[0].conv_transpose2d(&x[1], Some(&x[2]), &ConvTranspose2dOptions::default().with_stride(2));
    conv_transpose2d_uneven: "conv_transpose2d_uneven" ["image", "t2u", "b2"]
        |x, _| x[0].conv_transpose2d(&x[1], Some(&x[2]), &ConvTranspose2dOptions::default().with_stride(2));
    conv_transpose3d: "conv_transpose3d" ["box", "t3", "b3"]
        |x, _| x[0].conv_transpose3d(&x[1], Some(&x[2]), &ConvTranspose3dOptions::default().with_stride(2));

    max_pool1d: "max_pool1d" ["line"] |x, _| x[0].max_pool1d(3, &MaxPool1dOptions::default().with_stride(2));
    max_pool2d: "max_pool2d" ["image"] |x, _| x[0].max_pool2d(3, &MaxPool2dOptions::default().with_stride(2));
    max_pool3d: "max_pool3d" ["box"] |x, _| x[0].max_pool3d(3, &MaxPool3dOptions::default().with_stride(2));
    avg_pool1d: "avg_pool1d" ["line"] |x, _| x[0].avg_pool1d(3, &AvgPool1dOptions::default().with_stride(2));
    avg_pool2d:
        "avg_pool2d" ["image"] |x, _| x[0].avg_pool2d(3, &AvgPool2dOptions::default().with_stride(2)),
        "avg_pool2d_divisor" ["image"]
            |x, _| x[0].avg_pool2d(3, &AvgPool2dOptions::default().with_stride(2).with_padding(1).with_divisor_override(5));
    avg_pool3d: "avg_pool3d" ["box"] |x, _| x[0].avg_pool3d(3, &AvgPool3dOptions::default().with_stride(2));
    fractional_max_pool2d:
        "fractional_max_pool2d" ["image"] |x, i| x[0].fractional_max_pool2d_with_indices(2, [3, 2], &i.get("samples2")).0,
        "fractional_max_pool2d_indices" []
            |_, i| i.get("image").fractional_max_pool2d_with_indices(2, [3, 2], &i.get("samples2")).1;
    fractional_max_pool3d:
        "fractional_max_pool3d" ["box"] |x, i| x[0].fractional_max_pool3d_with_indices(2, [3, 2, 4], &i.get("samples3")).0,
        "fractional_max_pool3d_indices" []
            |_, i| i.get("box").fractional_max_pool3d_with_indices(2, [3, 2, 4], &i.get("samples3")).1;
    lp_pool1d: "lp_pool1d" ["line"] |x, _| x[0].lp_pool1d(2.0, 3, &AvgPool1dOptions::default().with_stride(2));
    lp_pool2d: "lp_pool2d" ["image"] |x, _| x[0].lp_pool2d(2.0, 3, &AvgPool2dOptions::default().with_stride(2));
    lp_pool3d: "lp_pool3d" ["box"] |x, _| x[0].lp_pool3d(2.0, 3, &AvgPool3dOptions::default().with_stride(2));
    adaptive_max_pool1d: "adaptive_max_pool1d" ["line"] |x, _| x[0].adaptive_max_pool1d(3);
    adaptive_max_pool2d: "adaptive_max_pool2d" ["image"] |x, _| x[0].adaptive_max_pool2d([3, 2]);
    adaptive_max_pool3d: "adaptive_max_pool3d" ["box"] |x, _| x[0].adaptive_max_pool3d([2, 3, 2]);
    adaptive_avg_pool1d: "adaptive_avg_pool1d" ["line"] |x, _| x[0].adaptive_avg_pool1d(3);
    adaptive_avg_pool2d: "adaptive_avg_pool2d" ["image"] |x, _| x[0].adaptive_avg_pool2d([3, 2]);
    adaptive_avg_pool3d: "adaptive_avg_pool3d" ["box"] |x, _| x[0].adaptive_avg_pool3d([2, 3, 2]);
    max_unpool1d: "max_unpool1d" ["line"] |x, _| {
        let (largest, places) = x[0].max_pool1d_with_indices(2, &MaxPool1dOptions::default());
        largest.max_unpool1d(&places, 6)
    };
    max_unpool2d: "max_unpool2d" ["even"] |x, _| {
        let (largest, places) = x[0].max_pool2d_with_indices(2, &MaxPool2dOptions::default());
        largest.max_unpool2d(&places, 6)
    };
    max_unpool3d: "max_unpool3d" ["box"] |x, _| {
        let (largest, places) = x[0].max_pool3d_with_indices(2, &MaxPool3dOptions::default());
        largest.max_unpool3d(&places, [4, 4, 6])
    };

    cosine_similarity: "cosine_similarity" ["a", "b"] |x, _| x[0].cosine_similarity(&x[1], 1, 1e-8);
    pairwise_distance: "pairwise_distance" ["a", "b"] |x, _| x[0].pairwise_distance(&x[1], 1.0, 1e-6);
    pdist:
        "pdist" ["a"] |x, _| x[0].pdist(2.0),
        "pdist_1" ["a"] |x, _| x[0].pdist(1.0),
        "pdist_inf" ["a"] |x, _| x[0].pdist(f64::INFINITY);
    normalize: "normalize" ["a"] |x, _| x[0].normalize(1.0, -1, 1e-12);

    smooth_l1_loss_default_options: "smooth_l1_loss" ["a", "b"] |x, _| x[0].smooth_l1_loss(&x[1]);
    smooth_l1_loss_beta: "smooth_l1_loss_beta" ["a", "b"]
        |x, _| SmoothL1Loss { beta: 0.5, ..Default::default() }.forward(&x[0], &x[1]);
    smooth_l1_loss_beta_options: "smooth_l1_loss_beta" ["a", "b"]
        |x, _| SmoothL1Loss { beta: 0.5, reduction: Reduction::Mean }.forward(&x[0], &x[1]);
    smooth_l1_loss_no_reduction: "smooth_l1_loss_none" ["a", "b"]
        |x, _| SmoothL1Loss { reduction: Reduction::None, ..Default::default() }.forward(&x[0], &x[1]);
    huber_loss_default_options: "huber_loss" ["a", "b"] |x, _| x[0].huber_loss(&x[1]);
    huber_loss_delta: "huber_loss_delta" ["a", "b"] |x, _| HuberLoss { delta: 0.5, ..Default::default() }.forward(&x[0], &x[1]);
    huber_loss_no_reduction: "huber_loss_none" ["a", "b"]
        |x, _| HuberLoss { reduction: Reduction::None, ..Default::default() }.forward(&x[0], &x[1]);
    soft_margin_loss_default_options: "soft_margin_loss" ["a"]
        |x, i| SoftMarginLoss::default().forward(&x[0], &i.get("signs"));
    soft_margin_loss_no_reduction: "soft_margin_loss_none" ["a"]
        |x, i| SoftMarginLoss { reduction: Reduction::None }.forward(&x[0], &i.get("signs"));
    multi_label_soft_margin_loss_default_options: "multilabel_soft_margin_loss" ["a"]
        |x, i| MultiLabelSoftMarginLoss::default().forward(&x[0], &i.get("flags"));
    multi_label_soft_margin_loss_weighted_no_reduction: "multilabel_soft_margin_loss_weighted" ["a"] |x, i| {
        MultiLabelSoftMarginLoss { weight: Some(i.get("weight5")), reduction: Reduction::None }.forward(&x[0], &i.get("flags"))
    };
    l1_loss: "l1_loss" ["a", "b"] |x, _| x[0].l1_loss(&x[1]);
    mse_loss: "mse_loss" ["a", "b"] |x, _| x[0].mse_loss(&x[1]);
    bce_loss: "bce_loss" ["unit"] |x, i| x[0].binary_cross_entropy(&i.get("targets01"));
    kl_div_loss: "kl_div_loss" ["a"]
        |x, i| KlDivLoss { reduction: KlDivReduction::None, log_target: false }.forward(&x[0], &i.get("targets01"));
    hinge_embedding_loss: "hinge_embedding_loss" ["a"]
        |x, i| HingeEmbeddingLoss { margin: 2.0, ..Default::default() }.forward(&x[0], &i.get("signs"));
    multi_margin_loss: "multi_margin_loss" ["a"] |x, i| {
        let weight = Some(i.get("weight5"));
        MultiMarginLoss { margin: 2.0, weight, ..Default::default() }.forward(&x[0], &i.get("classes"))
    };
    cosine_embedding_loss: "cosine_embedding_loss" ["a", "b"]
        |x, i| CosineEmbeddingLoss { margin: 0.5, ..Default::default() }.forward(&x[0], &x[1], &i.get("sign4"));
    multi_label_margin_loss_default_options: "multilabel_margin_loss" ["a"]
        |x, i| MultiLabelMarginLoss::default().forward(&x[0], &i.get("many"));
    multi_label_margin_loss_no_reduction: "multilabel_margin_loss_none" ["a"]
        |x, i| MultiLabelMarginLoss { reduction: Reduction::None }.forward(&x[0], &i.get("many"));
    triplet_margin_loss: "triplet_margin_loss" ["a", "b", "c"]
        |x, _| TripletMarginLoss { margin: 1.5, ..Default::default() }.forward(&x[0], &x[1], &x[2]);
    nll_loss: "nll_loss" ["a"] |x, i| {
        let loss = NllLoss { weight: Some(i.get("weight5")), ignore_index: 4, ..Default::default() };
        loss.forward(&x[0], &i.get("classes"))
    };
    cross_entropy:
        "cross_entropy" ["a"] |x, i| CrossEntropyLoss { ignore_index: 2, ..Default::default() }.forward(&x[0], &i.get("classes")),
        "cross_entropy_smoothed" ["a"]
            |x, i| CrossEntropyLoss { label_smoothing: 0.15, ..Default::default() }.forward(&x[0], &i.get("classes")),
        "cross_entropy_probabilities" ["a"] |x, i| x[0].cross_entropy(&i.get("targets01"));
    ctc_loss: "ctc_loss" ["logits"] |x, i| {
        let loss = CtcLoss { reduction: Reduction::None, ..Default::default() };
        loss.forward(&x[0].log_softmax(2), &i.get("ctc_targets"), &[6, 5], &[3, 2])
    };
    poisson_nll_loss:
        "poisson_nll_loss" ["a"] |x, i| PoissonNllLoss::default().forward(&x[0], &i.get("positive")),
        "poisson_nll_loss_full" ["unit"] |x, i| {
            let loss = PoissonNllLoss { full: true, log_input: false, eps: 1e-6, ..Default::default() };
            loss.forward(&x[0], &i.get("positive"))
        };
    margin_ranking_loss: "margin_ranking_loss" ["a", "b"]
        |x, i| MarginRankingLoss { margin: 0.5, ..Default::default() }.forward(&x[0], &x[1], &i.get("signs"));
    bce_with_logits_loss: "bce_with_logits_loss" ["a"] |x, i| {
        let weight = i.get("weight5");
        let pos_weight = Some(&weight * 2.0);
        BceWithLogitsLoss { weight: Some(weight), pos_weight, ..Default::default() }.forward(&x[0], &i.get("targets01"))
    };

    elu: "elu" ["a"] |x, _| x[0].elu(1.5);
    selu: "selu" ["a"] |x, _| x[0].selu();
    glu: "glu" ["a"] |x, _| x[0].narrow(1, 0, 4).glu(1);
    gelu: "gelu" ["a"] |x, _| x[0].gelu();
    tanh_gelu: "gelu_tanh" ["a"] |x, _| x[0].gelu_tanh();
    hardshrink: "hardshrink" ["a"] |x, _| x[0].hardshrink(0.42);
    hardtanh: "hardtanh" ["a"] |x, _| x[0].hardtanh(-0.42, 0.84);
    leaky_relu: "leaky_relu" ["a"] |x, _| x[0].leaky_relu(0.42);
    log_sigmoid: "logsigmoid" ["a"] |x, _| x[0].log_sigmoid();
    softmax: "softmax" ["a"] |x, _| x[0].softmax(1);
    softmin: "softmin" ["a"] |x, _| x[0].softmin(1);
    log_softmax: "log_softmax" ["a"] |x, _| x[0].log_softmax(1);
    relu: "relu" ["a"] |x, _| x[0].relu();
    relu6: "relu6" ["a"] |x, _| x[0].relu6();
    celu: "celu" ["a"] |x, _| x[0].celu(1.5);
    softplus: "softplus" ["a"] |x, _| x[0].softplus_with(2.0, 1.5);
    softshrink: "softshrink" ["a"] |x, _| x[0].softshrink(0.42);
    softsign: "softsign" ["a"] |x, _| x[0].softsign();
    mish: "mish" ["a"] |x, _| x[0].mish();
    tanhshrink: "tanhshrink" ["a"] |x, _| x[0].tanhshrink();
    threshold: "threshold" ["a"] |x, _| x[0].threshold(0.42, 24.0);
    prelu: "prelu" ["image", "slope"] |x, _| x[0].prelu(&x[1]);

    layer_norm: "layer_norm" ["a", "w5", "b5"] |x, _| x[0].layer_norm(&[5], Some(&x[1]), Some(&x[2]), 2e-5);
    group_norm: "group_norm" ["image", "w3c", "b3c"] |x, _| x[0].group_norm(3, Some(&x[1]), Some(&x[2]), 2e-5);
    local_response_norm: "local_response_norm" ["image"] |x, _| x[0].local_response_norm(2, 1e-4, 0.75, 1.0);
    batch_norm1d: "batch_norm1d" ["line", "w3c", "b3c"] |x, i| batch_norm(x, i, 3, 1e-3);
    batch_norm1d_default_options: "batch_norm1d_default" ["line"] |x, i| batch_norm(x, i, 3, 1e-5);
    batch_norm2d: "batch_norm2d" ["image", "w3c", "b3c"] |x, i| batch_norm(x, i, 3, 1e-3);
    batch_norm2d_default_options: "batch_norm2d_default" ["image"] |x, i| batch_norm(x, i, 3, 1e-5);
    batch_norm3d: "batch_norm3d" ["box", "w3c", "b3c"] |x, i| batch_norm(x, i, 2, 1e-3);
    batch_norm3d_default_options: "batch_norm3d_default" ["box"] |x, i| batch_norm(x, i, 2, 1e-5);
    instance_norm1d: "instance_norm1d" ["line", "w3c", "b3c"] |x, _| x[0].instance_norm(Some(&x[1]), Some(&x[2]), 1e-3);
    instance_norm1d_default_options: "instance_norm1d_default" ["line"] |x, _| x[0].instance_norm(None, None, 1e-5);
    instance_norm2d: "instance_norm2d" ["image", "w3c", "b3c"] |x, _| x[0].instance_norm(Some(&x[1]), Some(&x[2]), 1e-3);
    instance_norm2d_default_options: "instance_norm2d_default" ["image"] |x, _| x[0].instance_norm(None, None, 1e-5);
    instance_norm3d: "instance_norm3d" ["box", "w3c", "b3c"]
        |x, _| x[0].instance_norm(Some(&x[1].narrow(0, 0, 2)), Some(&x[2].narrow(0, 0, 2)), 1e-3);
    instance_norm3d_default_options: "instance_norm3d_default" ["box"] |x, _| x[0].instance_norm(None, None, 1e-5);

    linear: "linear" ["a", "w_linear", "b3c"] |x, _| x[0].matmul(&x[1].t()) + &x[2];
    bilinear: "bilinear" ["left", "right", "w_bi", "b5"] |x, _| x[0].bilinear(&x[1], &x[2], Some(&x[3]));
    embedding:
        "embedding" ["table"] |x, i| x[0].embedding(&i.get("indices"), None),
        "embedding_padding" ["table"] |x, i| x[0].embedding(&i.get("indices"), Some(1)),
        "embedding_max_norm" []
            |_, i| i.get("table").embedding_renorm(&i.get("indices"), 1.0, 2.0).embedding(&i.get("indices"), None);
    embedding_bag:
        "embedding_bag_sum" ["table"] |x, i| bag(&x[0], i, BagMode::Sum),
        "embedding_bag_mean" ["table"] |x, i| bag(&x[0], i, BagMode::Mean),
        "embedding_bag_max" ["table"] |x, i| bag(&x[0], i, BagMode::Max);

    pixel_shuffle: "pixel_shuffle" ["pixels"] |x, _| x[0].pixel_shuffle(2);
    pixel_unshuffle: "pixel_unshuffle" ["packed"] |x, _| x[0].pixel_unshuffle(2);
    fold: "fold" ["columns"] |x, _| x[0].col2im([5, 6], &Patches::new(2));
    unfold: "unfold" ["image"] |x, _| x[0].im2col(&Patches::new([3, 2]).with_padding(1).with_stride(2));
    affine_grid:
        "affine_grid" ["theta"] |x, _| x[0].affine_grid(&[2, 1, 3, 4], false),
        "affine_grid_corners" ["theta"] |x, _| x[0].affine_grid(&[2, 1, 3, 4], true),
        "affine_grid3" ["theta3"] |x, _| x[0].affine_grid(&[1, 1, 2, 3, 4], false);
    interpolate:
        "interpolate_nearest" ["image"] |x, _| x[0].interpolate(&InterpolateOptions::size(&[3, 7])),
        "interpolate_linear" ["line"] |x, _| x[0].interpolate(&InterpolateOptions::factor(&[2.0]).with_mode(InterpolateMode::Linear)),
        "interpolate_bilinear" ["image"] |x, _| x[0].interpolate(
            &InterpolateOptions::size(&[4, 9]).with_mode(InterpolateMode::Linear).with_align_corners()),
        "interpolate_bicubic" ["image"]
            |x, _| x[0].interpolate(&InterpolateOptions::size(&[4, 9]).with_mode(InterpolateMode::Cubic)),
        "interpolate_trilinear" ["box"] |x, _| x[0].interpolate(
            &InterpolateOptions::factor(&[2.0]).with_mode(InterpolateMode::Linear).with_align_corners()),
        "interpolate_area" ["image"] |x, _| x[0].interpolate(&InterpolateOptions::size(&[3, 2]).with_mode(InterpolateMode::Area));
    pad1: "pad_constant1" ["line"] |x, _| x[0].pad(&[1, 2], 3.5);
    pad2: "pad_constant2" ["image"] |x, _| x[0].pad(&[1, 2, 2, 1], 3.5), "pad_negative" ["image"] |x, _| x[0].pad(&[-1, 2, 1, -2], 0.0);
    pad3: "pad_constant3" ["box"] |x, _| x[0].pad(&[1, 2, 2, 1, 1, 2], 3.5);
    pad4: "pad_circular1" ["line"] |x, _| x[0].pad(&[1, 2], PadMode::Circular);
    pad5:
        "pad_circular2" ["image"] |x, _| x[0].pad(&[1, 2, 2, 1], PadMode::Circular),
        "pad_circular3" ["box"] |x, _| x[0].pad(&[1, 2, 2, 1, 1, 2], PadMode::Circular);
    pad6:
        "pad_reflect1" ["line"] |x, _| x[0].pad(&[1, 2], PadMode::Reflect),
        "pad_reflect2" ["image"] |x, _| x[0].pad(&[1, 2, 2, 1], PadMode::Reflect);
    pad7:
        "pad_replicate1" ["line"] |x, _| x[0].pad(&[1, 2], PadMode::Replicate),
        "pad_replicate2" ["image"] |x, _| x[0].pad(&[1, 2, 2, 1], PadMode::Replicate);
    pad8:
        "pad_replicate3" ["box"] |x, _| x[0].pad(&[1, 2, 2, 1, 1, 2], PadMode::Replicate),
        "pad_reflect3" ["box"] |x, _| x[0].pad(&[1, 2, 2, 1, 1, 2], PadMode::Reflect);
}

fn stride2() -> Conv2dOptions {
    Conv2dOptions::default().with_stride(2)
}

fn bag(table: &Tensor, inputs: &crate::common::reference::Inputs, mode: BagMode) -> Tensor {
    table.embedding_bag(&inputs.get("indices"), &EmbeddingBagOptions { mode, ..Default::default() })
}

/// With the running statistics of the file; weight and bias where there are three inputs.
fn batch_norm(x: &[Tensor], inputs: &crate::common::reference::Inputs, channels: usize, eps: f64) -> Tensor {
    let of = |tensor: &Tensor| tensor.narrow(0, 0, channels);
    let (mean, var) = (of(&inputs.get("mean3")), of(&inputs.get("var3")));
    let (weight, bias) = (x.get(1).map(of), x.get(2).map(of));
    x[0].batch_norm(&mean, &var, weight.as_ref(), bias.as_ref(), eps)
}

/// Modes, paddings and conventions in all combinations.
#[test]
fn grid_sample() {
    let reference = crate::recorded::reference();
    for (mode, mode_name) in
        [(GridMode::Linear, "bilinear"), (GridMode::Nearest, "nearest"), (GridMode::Cubic, "bicubic")]
    {
        let paddings = [
            (GridPadding::Zeros, "zeros"),
            (GridPadding::Border, "border"),
            (GridPadding::Reflection, "reflection"),
        ];
        for (padding, padding_name) in paddings {
            for (align_corners, corners) in [(false, "False"), (true, "True")] {
                let options = GridSampleOptions { mode, padding, align_corners };
                let case = format!("grid_sample_{mode_name}_{padding_name}_{corners}");
                // The nearest pixel does not depend on the grid.
                match mode {
                    GridMode::Nearest => reference
                        .case(&case, &[], |_, i| i.get("image").grid_sample(&i.get("grid"), &options)),
                    _ => reference.case(&case, &["image", "grid"], |x, _| x[0].grid_sample(&x[1], &options)),
                }
            }
        }
    }
    reference.case("grid_sample3", &["box", "grid3"], |x, _| {
        x[0].grid_sample(&x[1], &GridSampleOptions::default())
    });
    differentiable(&[&[1, 2, 4, 3], &[1, 2, 2, 2]], |x| {
        x[0].grid_sample(&x[1], &GridSampleOptions::default())
    });
}

/// The gradient of a maximum goes to its place alone.
#[test]
fn max_pool2d_backward() {
    each(|device| {
        let x = ramp([1, 4, 4], device).requires_grad();
        x.max_pool2d(2, &MaxPool2dOptions::default()).sum(..).backward().unwrap();
        let wanted: Vec<f64> = (0..16).map(|k| if [5, 7, 13, 15].contains(&k) { 1.0 } else { 0.0 }).collect();
        is(&x.grad().unwrap(), [1, 4, 4], &wanted);
    });
}

/// A distance of one's own; without one it is the Euclidean.
#[test]
fn triplet_margin_with_distance_loss_default_parity() {
    let r = crate::recorded::reference();
    r.case("triplet_margin_with_distance_loss", &["a", "b", "c"], |x, _| {
        let cosine = |a: &Tensor, b: &Tensor| a.try_cosine_similarity(b, 1, 1e-8)?.try_rsub(1.0);
        TripletMarginWithDistanceLoss::new(cosine).forward(&x[0], &x[1], &x[2])
    });
    for swap in [false, true] {
        each(|device| {
            let [a, b, c] = [1, 2, 3].map(|seed| Tensor::randn([4, 5], &Generator::new(seed), device));
            for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
                let any =
                    TripletMarginWithDistanceLoss { margin: 1.5, swap, reduction, ..Default::default() };
                let plain = TripletMarginLoss { margin: 1.5, swap, reduction, ..Default::default() };
                same(&any.forward(&a, &b, &c), &plain.forward(&a, &b, &c));
            }
        });
    }
}

#[test]
fn one_hot() {
    each(|device| {
        let classes = Tensor::new([0, 2, 1, 4], device);
        let hot = classes.one_hot(6);
        assert_eq!(hot.shape().dims(), [4, 6]);
        assert_eq!(values(&hot.argmax(1)), [0.0, 2.0, 1.0, 4.0]);
        assert_eq!(values(&hot.sum(1)), [1.0; 4]);
        assert_eq!(Tensor::new([[1], [0]], device).one_hot(2).shape().dims(), [2, 1, 2]);
    });
}

/// Soft samples are distributions; hard ones choose, with the soft one's gradient; and choices are as likely as softmax says.
#[test]
fn gumbel_softmax() {
    each(|device| {
        let generator = Generator::new(3);
        let logits = normal([4, 5], device).requires_grad();
        let soft = logits.gumbel_softmax(0.7, false, -1, &generator);
        is(&soft.detach().sum(-1), [4], &[1.0; 4]);
        let hard = logits.gumbel_softmax(0.7, true, -1, &generator);
        for row in values(&hard.detach()).chunks(5) {
            assert_eq!(row.iter().filter(|&&value| (value - 1.0).abs() < 1e-6).count(), 1, "{row:?}");
            assert_eq!(row.iter().filter(|value| value.abs() < 1e-6).count(), 4, "{row:?}");
        }
        (hard * ramp([4, 5], device)).sum(..).backward().unwrap();
        assert!(number(&logits.grad().unwrap().abs().sum(..)) > 0.0);
        let three = Tensor::new([0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()], device).expand([4000, 3]);
        let shares = three.gumbel_softmax(1.0, true, -1, &generator).mean(0);
        let off = (shares - Tensor::new([0.5, 0.3, 0.2], device)).abs().amax(..);
        assert!(number(&off) < 0.04, "{}", number(&off));
    });
}

#[test]
fn relu_default_options() {
    each(|device| is(&Tensor::new([-2.0, 0.0, 3.0], device).relu(), [3], &[0.0, 0.0, 3.0]));
}

#[test]
fn relu6_default_options() {
    each(|device| is(&Tensor::new([-2.0, 3.0, 7.0], device).relu6(), [3], &[0.0, 3.0, 6.0]));
}

#[test]
fn celu_default_options() {
    each(|device| is(&Tensor::new([-1.0, 2.0], device).celu(1.0), [2], &[(-1f64).exp() - 1.0, 2.0]));
}

#[test]
fn softplus_default_options() {
    each(|device| {
        is(&Tensor::new([-1.0, 30.0], device).softplus_with(1.0, 20.0), [2], &[(-1f64).exp().ln_1p(), 30.0])
    });
}

#[test]
fn softshrink_default_options() {
    each(|device| is(&Tensor::new([-1.0, 0.3, 2.0], device).softshrink(0.5), [3], &[-0.5, 0.0, 1.5]));
}

/// In training slopes are drawn between the bounds; the gradient is the slope.
#[test]
fn rrelu() {
    each(|device| slopes_lie_between(0.24, 0.42, device));
}

#[test]
fn rrelu_default_options() {
    each(|device| slopes_lie_between(1.0 / 8.0, 1.0 / 3.0, device));
}

fn slopes_lie_between(lower: f64, upper: f64, device: &Device) {
    let x = Tensor::full([100], -2.0, device).requires_grad();
    let y = x.rrelu(lower, upper, &Generator::new(1));
    y.sum(..).backward().unwrap();
    let slopes = values(&x.grad().unwrap());
    assert!(slopes.iter().all(|slope| (lower - 1e-6..upper + 1e-6).contains(slope)), "{slopes:?}");
    assert!(slopes.iter().any(|slope| (slope - slopes[0]).abs() > 1e-3));
    same(&(y.detach() * -0.5), &x.grad().unwrap());
    assert_eq!(values(&Tensor::new([3.0], device).rrelu(lower, upper, &Generator::new(1))), [3.0]);
}

/// The mean and the variance of what is normal stay.
#[test]
fn alpha_dropout() {
    each(|device| keeps_moments(device, |x, p| x.alpha_dropout(p, &Generator::new(4))));
}

#[test]
fn feature_alpha_dropout() {
    each(|device| keeps_moments(device, |x, p| x.feature_alpha_dropout(p, &Generator::new(4))));
}

fn keeps_moments(device: &Device, drop: impl Fn(&Tensor, f64) -> Tensor) {
    let x = normal([100, 100, 2, 2], device);
    for p in [0.2, 0.5] {
        let y = drop(&x, p);
        let (mean, std) = (number(&y.mean(..)), number(&y.std(.., 1)));
        assert!(mean.abs() < 0.1 && (std - 1.0).abs() < 0.1, "{p}: {mean} {std}");
    }
    same(&drop(&x, 0.0), &x);
}

/// As many are dropped as asked for, and the sum stays what it was, on average.
#[test]
fn dropout() {
    each(|device| drops(device, |x, p| x.dropout(p, &Generator::new(4)), 1));
}

#[test]
fn dropout2d() {
    each(|device| drops(device, |x, p| x.feature_dropout(p, &Generator::new(4)), 4));
}

#[test]
fn dropout3d() {
    each(|device| {
        let drop = |x: &Tensor, p| x.unsqueeze(-1).feature_dropout(p, &Generator::new(4)).squeeze(-1);
        drops(device, drop, 4);
    });
}

/// `together` neighbours share their fate.
fn drops(device: &Device, drop: impl Fn(&Tensor, f64) -> Tensor, together: usize) {
    let x = Tensor::ones([40, 50, 2, 2], device);
    for p in [0.2, 0.5] {
        let y = values(&drop(&x, p));
        let dropped = y.iter().filter(|&&value| value == 0.0).count() as f64 / y.len() as f64;
        assert!((dropped - p).abs() < 0.05, "{dropped} of {p}");
        assert!(y.iter().all(|&value| value == 0.0 || (value - 1.0 / (1.0 - p)).abs() < 1e-5));
        assert!(y.chunks(together).all(|group| group.iter().all(|&value| value == group[0])));
    }
    assert!(message(x.try_dropout(1.5, &Generator::new(1))).contains("1.5"));
}

const SPECIAL: [f32; 5] = [1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -2.5];

#[test]
fn isfinite() {
    each(|device| assert_eq!(values(&Tensor::new(SPECIAL, device).isfinite()), [1.0, 0.0, 0.0, 0.0, 1.0]));
}

#[test]
fn isinf() {
    each(|device| assert_eq!(values(&Tensor::new(SPECIAL, device).isinf()), [0.0, 1.0, 1.0, 0.0, 0.0]));
}

#[test]
fn all_close() {
    each(|device| {
        let close = |a: [f32; 2], b: [f32; 2], rtol, atol, nan| {
            block_on(Tensor::new(a, device).allclose(&Tensor::new(b, device), rtol, atol, nan)).unwrap()
        };
        assert!(
            close([10.0, 1e-7], [10.0, 1e-8], 1e-5, 1e-8, false) == ((1e-7f64 - 1e-8).abs() <= 1e-8 + 1e-13)
        );
        assert!(close([1.0, 2.0], [1.0, 2.01], 0.0, 0.02, false));
        assert!(!close([1.0, 2.0], [1.0, 2.01], 0.0, 0.005, false));
        assert!(close([1.0, f32::INFINITY], [1.0, f32::INFINITY], 1e-5, 1e-8, false));
        assert!(!close([1.0, f32::INFINITY], [1.0, f32::NEG_INFINITY], 1e-5, 1e-8, false));
        assert!(!close([1.0, f32::NAN], [1.0, f32::NAN], 1e-5, 1e-8, false));
        assert!(close([1.0, f32::NAN], [1.0, f32::NAN], 1e-5, 1e-8, true));
    });
}
