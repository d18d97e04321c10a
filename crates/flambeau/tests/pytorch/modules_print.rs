//! `modules.cpp`, the cases named PrettyPrint: modules as text, as Python's `print(module)` writes them, and losses with their
//! settings.

use crate::tools::printed;
use flambeau::nn::functional::{BagMode, InterpolateMode, InterpolateOptions, Patches};
use flambeau::nn::loss::*;
use flambeau::nn::*;
use flambeau::prelude::*;

fn cpu() -> Device {
    Device::cpu()
}

/// Tests of pairs: module, its text.
macro_rules! prints {
    ($($test:ident: $($module:expr => $text:expr),+;)*) => {$(
        #[test]
        fn $test() {
            $(assert_eq!(printed(&$module), $text);)+
        }
    )*};
}

/// Tests of pairs: loss, how `{:?}` shows it.
macro_rules! debugs {
    ($($test:ident: $($loss:expr => $text:expr),+;)*) => {$(
        #[test]
        fn $test() {
            $(assert_eq!(format!("{:?}", $loss), $text);)+
        }
    )*};
}

prints! {
    pretty_print_identity: Identity => "Identity()";
    pretty_print_flatten:
        Flatten::default() => "Flatten(start_dim=1, end_dim=-1)",
        Flatten { start_dim: 2, end_dim: 4 } => "Flatten(start_dim=2, end_dim=4)";
    pretty_print_unflatten: Unflatten::new(0, vec![2, 2]) => "Unflatten(dim=0, unflattened_size=(2, 2))";
    pretty_print_linear: Linear::new(3, 4, &cpu()) => "Linear(in_features=3, out_features=4, bias=True)";
    pretty_print_bilinear:
        Bilinear::new(2, 3, 4, &cpu()) => "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)",
        Bilinear::with_options(2, 3, 4, LinearOptions { bias: false }, &cpu())
            => "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=False)";
    pretty_print_conv:
        Conv1d::new(3, 4, 5, &cpu()) => "Conv1d(3, 4, kernel_size=(5,), stride=(1,))",
        Conv2d::new(3, 4, 5, &cpu()) => "Conv2d(3, 4, kernel_size=(5, 5), stride=(1, 1))",
        Conv2d::with_options(3, 4, [5, 6], Conv2dOptions::default().with_stride([1, 2]), &cpu())
            => "Conv2d(3, 4, kernel_size=(5, 6), stride=(1, 2))",
        Conv2d::with_options(
            4, 8, [5, 6],
            ConvLayerOptions {
                conv: Conv2dOptions::default().with_stride([1, 2]).with_padding(2).with_dilation(3).with_groups(2),
                bias: false,
                ..Default::default()
            },
            &cpu(),
        ) => "Conv2d(4, 8, kernel_size=(5, 6), stride=(1, 2), padding=(2, 2), dilation=(3, 3), groups=2, bias=False)",
        Conv3d::with_options(
            4, 4, [5, 6, 7],
            ConvLayerOptions {
                conv: Conv3dOptions::default().with_stride([1, 2, 3]).with_padding(1).with_groups(2),
                bias: false,
                padding_mode: PaddingMode::Circular,
            },
            &cpu(),
        ) => "Conv3d(4, 4, kernel_size=(5, 6, 7), stride=(1, 2, 3), padding=(1, 1, 1), groups=2, bias=False, padding_mode=circular)";
    pretty_print_conv_transpose:
        ConvTranspose1d::new(3, 4, 5, &cpu()) => "ConvTranspose1d(3, 4, kernel_size=(5,), stride=(1,))",
        ConvTranspose2d::with_options(3, 4, [5, 6], ConvTranspose2dOptions::default().with_stride([1, 2]), &cpu())
            => "ConvTranspose2d(3, 4, kernel_size=(5, 6), stride=(1, 2))",
        ConvTranspose2d::with_options(
            3, 4, 5,
            ConvTransposeLayerOptions {
                conv: ConvTranspose2dOptions::default().with_stride(2).with_output_padding(1).with_dilation(2),
                bias: false,
            },
            &cpu(),
        ) => "ConvTranspose2d(3, 4, kernel_size=(5, 5), stride=(2, 2), dilation=(2, 2), output_padding=(1, 1), bias=False)";
    pretty_print_upsample:
        Upsample::with_options(InterpolateOptions::size(&[2, 3])) => "Upsample(size=(2, 3), mode='nearest')",
        Upsample::with_options(InterpolateOptions::factor(&[0.5, 1.5]).with_mode(InterpolateMode::Linear).with_align_corners())
            => "Upsample(scale_factor=(0.5, 1.5), mode='bilinear')";
    pretty_print_fold:
        Fold::new(2, Patches::new(3)) => "Fold(output_size=(2, 2), kernel_size=3, dilation=1, padding=0, stride=1)",
        Fold::new(8, Patches::new([3, 2]).with_dilation(2).with_padding([1, 0]).with_stride(2))
            => "Fold(output_size=(8, 8), kernel_size=(3, 2), dilation=2, padding=(1, 0), stride=2)";
    pretty_print_unfold:
        Unfold::new(Patches::new([2, 4])) => "Unfold(kernel_size=(2, 4), dilation=1, padding=0, stride=1)",
        Unfold::new(Patches::new(3).with_dilation(2).with_padding(1).with_stride(2))
            => "Unfold(kernel_size=3, dilation=2, padding=1, stride=2)";
    pretty_print_max_pool:
        MaxPool1d::new(5) => "MaxPool1d(kernel_size=5, stride=5, padding=0, dilation=1, ceil_mode=False)",
        MaxPool2d::with_options([5, 6], MaxPool2dOptions::default().with_stride([1, 2]))
            => "MaxPool2d(kernel_size=(5, 6), stride=(1, 2), padding=0, dilation=1, ceil_mode=False)",
        MaxPool3d::new(5) => "MaxPool3d(kernel_size=5, stride=5, padding=0, dilation=1, ceil_mode=False)";
    pretty_print_avg_pool:
        AvgPool1d::new(5) => "AvgPool1d(kernel_size=(5,), stride=(5,), padding=(0,))",
        AvgPool2d::with_options([5, 6], AvgPool2dOptions::default().with_stride([1, 2]))
            => "AvgPool2d(kernel_size=(5, 6), stride=(1, 2), padding=0)",
        AvgPool3d::new(5) => "AvgPool3d(kernel_size=5, stride=5, padding=0)";
    pretty_print_fractional_max_pool:
        FractionalMaxPool2d::new(5, FractionalOutput::Sizes([1, 1])) => "FractionalMaxPool2d()",
        FractionalMaxPool3d::new(5, FractionalOutput::Sizes([1, 1, 1])) => "FractionalMaxPool3d()";
    pretty_print_lp_pool:
        LpPool1d::new(2.0, 5) => "LPPool1d(norm_type=2, kernel_size=5, stride=None, ceil_mode=False)",
        LpPool2d::new(2.0, [1, 2]).with_stride([5, 6]).with_ceil_mode()
            => "LPPool2d(norm_type=2, kernel_size=(1, 2), stride=(5, 6), ceil_mode=True)",
        LpPool3d::new(2.0, [1, 2, 3]) => "LPPool3d(norm_type=2, kernel_size=(1, 2, 3), stride=None, ceil_mode=False)";
    pretty_print_adaptive_max_pool:
        AdaptiveMaxPool1d::new(5) => "AdaptiveMaxPool1d(output_size=5)",
        AdaptiveMaxPool2d::new([5, 6]) => "AdaptiveMaxPool2d(output_size=(5, 6))",
        AdaptiveMaxPool2d::new([Some(5), None]) => "AdaptiveMaxPool2d(output_size=(5, None))",
        AdaptiveMaxPool3d::new([5, 6, 7]) => "AdaptiveMaxPool3d(output_size=(5, 6, 7))";
    pretty_print_adaptive_avg_pool:
        AdaptiveAvgPool1d::new(5) => "AdaptiveAvgPool1d(output_size=5)",
        AdaptiveAvgPool2d::new([5, 6]) => "AdaptiveAvgPool2d(output_size=(5, 6))",
        AdaptiveAvgPool3d::new([5, 6, 7]) => "AdaptiveAvgPool3d(output_size=(5, 6, 7))";
    pretty_print_max_unpool:
        MaxUnpool1d::new(5) => "MaxUnpool1d(kernel_size=(5,), stride=(5,), padding=(0,))",
        MaxUnpool2d::with_options([5, 6], &MaxPool2dOptions::default().with_stride([3, 4]).with_padding([1, 2]))
            => "MaxUnpool2d(kernel_size=(5, 6), stride=(3, 4), padding=(1, 2))",
        MaxUnpool3d::new([5, 6, 7]) => "MaxUnpool3d(kernel_size=(5, 6, 7), stride=(5, 6, 7), padding=(0, 0, 0))";
    pretty_print_dropout:
        Dropout::default() => "Dropout(p=0.5, inplace=False)",
        Dropout::new(0.42) => "Dropout(p=0.42, inplace=False)";
    pretty_print_dropout2d: Dropout2d::new(0.42) => "Dropout2d(p=0.42, inplace=False)";
    pretty_print_dropout3d: Dropout3d::new(0.42) => "Dropout3d(p=0.42, inplace=False)";
    pretty_print_functional: Sequential::new().with(|x: &Tensor| x.relu()) => "Sequential(\n  (0): Closure()\n)";
    pretty_print_layer_norm:
        LayerNorm::new([2, 2], &cpu()) => "LayerNorm((2, 2), eps=1e-05, elementwise_affine=True)",
        LayerNorm::with_options(
            [2, 2], LayerNormOptions { eps: 2e-5, elementwise_affine: false, ..Default::default() }, &cpu(),
        ) => "LayerNorm((2, 2), eps=2e-05, elementwise_affine=False)";
    pretty_print_group_norm:
        GroupNorm::new(2, 2, &cpu()) => "GroupNorm(2, 2, eps=1e-05, affine=True)",
        GroupNorm::with_options(2, 2, GroupNormOptions { eps: 2e-5, affine: false }, &cpu())
            => "GroupNorm(2, 2, eps=2e-05, affine=False)";
    pretty_print_local_response_norm:
        LocalResponseNorm::new(2) => "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)",
        LocalResponseNorm { alpha: 2e-4, beta: 0.85, k: 2.0, ..LocalResponseNorm::new(2) }
            => "LocalResponseNorm(2, alpha=0.0002, beta=0.85, k=2.0)";
    pretty_print_embedding:
        Embedding::new(10, 2, &cpu()) => "Embedding(10, 2)",
        Embedding::with_options(10, 2, embedding_options(), &cpu())
            => "Embedding(10, 2, padding_idx=3, max_norm=2, norm_type=2.5, scale_grad_by_freq=True)";
    pretty_print_embedding_bag:
        EmbeddingBag::new(10, 2, &cpu()) => "EmbeddingBag(10, 2, mode='mean')",
        EmbeddingBag::with_options(
            10, 2,
            EmbeddingBagLayerOptions { mode: BagMode::Sum, padding_idx: None, rows: embedding_options().rows },
            &cpu(),
        ) => "EmbeddingBag(10, 2, max_norm=2, norm_type=2.5, scale_grad_by_freq=True, mode='sum')";
    pretty_print_cosine_similarity: CosineSimilarity::default() => "CosineSimilarity()";
    pretty_print_pairwise_distance: PairwiseDistance::default() => "PairwiseDistance()";
    pretty_print_reflection_pad:
        ReflectionPad1d::new(2) => "ReflectionPad1d((2, 2))",
        ReflectionPad2d::new([2, 1, 2, 1]) => "ReflectionPad2d((2, 1, 2, 1))";
    pretty_print_replication_pad:
        ReplicationPad1d::new(2) => "ReplicationPad1d((2, 2))",
        ReplicationPad3d::new([1, 2, 1, 2, 1, 2]) => "ReplicationPad3d((1, 2, 1, 2, 1, 2))";
    pretty_print_zero_pad:
        ZeroPad1d::new([1, 2]) => "ZeroPad1d((1, 2))",
        ZeroPad2d::new(2) => "ZeroPad2d((2, 2, 2, 2))",
        ZeroPad3d::new(1) => "ZeroPad3d((1, 1, 1, 1, 1, 1))";
    pretty_print_constant_pad:
        ConstantPad1d::new(2, 3.5) => "ConstantPad1d(padding=(2, 2), value=3.5)",
        ConstantPad2d::new([2, 1, 2, 1], 3.5) => "ConstantPad2d(padding=(2, 1, 2, 1), value=3.5)";
    pretty_print_elu: Elu::default() => "ELU(alpha=1.0)", Elu { alpha: 42.42 } => "ELU(alpha=42.42)";
    pretty_print_selu: Selu => "SELU()";
    pretty_print_glu: Glu::default() => "GLU(dim=-1)", Glu { dim: 1 } => "GLU(dim=1)";
    pretty_print_hardshrink: Hardshrink { lambda: 42.42 } => "Hardshrink(42.42)";
    pretty_print_hardtanh:
        Hardtanh::default() => "Hardtanh(min_val=-1.0, max_val=1.0)",
        Hardtanh { min_val: -42.42, max_val: 0.42 } => "Hardtanh(min_val=-42.42, max_val=0.42)";
    pretty_print_leaky_relu:
        LeakyRelu::default() => "LeakyReLU(negative_slope=0.01)",
        LeakyRelu { negative_slope: 42.42 } => "LeakyReLU(negative_slope=42.42)";
    pretty_print_log_sigmoid: LogSigmoid => "LogSigmoid()";
    pretty_print_softmax: Softmax { dim: 1 } => "Softmax(dim=1)";
    pretty_print_softmin: Softmin { dim: 1 } => "Softmin(dim=1)";
    pretty_print_log_softmax: LogSoftmax { dim: 1 } => "LogSoftmax(dim=1)";
    pretty_print_softmax2d: Softmax2d => "Softmax2d()";
    pretty_print_prelu:
        PRelu::new(&cpu()) => "PReLU(num_parameters=1)",
        PRelu::with_options(PReluOptions { num_parameters: 42, ..Default::default() }, &cpu()) => "PReLU(num_parameters=42)";
    pretty_print_relu: Relu => "ReLU()";
    pretty_print_relu6: Relu6 => "ReLU6()";
    pretty_print_rrelu: RRelu::new(0.24, 0.42) => "RReLU(lower=0.24, upper=0.42)";
    pretty_print_celu: Celu::default() => "CELU(alpha=1.0)", Celu { alpha: 42.42 } => "CELU(alpha=42.42)";
    pretty_print_sigmoid: Sigmoid => "Sigmoid()";
    pretty_print_pixel_shuffle: PixelShuffle { upscale_factor: 5 } => "PixelShuffle(upscale_factor=5)";
    pretty_print_pixel_unshuffle: PixelUnshuffle { downscale_factor: 5 } => "PixelUnshuffle(downscale_factor=5)";
    pretty_print_softplus:
        Softplus::default() => "Softplus(beta=1, threshold=20)",
        Softplus { beta: 0.24, threshold: 42.42 } => "Softplus(beta=0.24, threshold=42.42)";
    pretty_print_softshrink: Softshrink::default() => "Softshrink(0.5)", Softshrink { lambda: 42.42 } => "Softshrink(42.42)";
    pretty_print_softsign: Softsign => "Softsign()";
    pretty_print_tanh: Tanh => "Tanh()";
    pretty_print_tanhshrink: Tanhshrink => "Tanhshrink()";
    pretty_print_threshold: Threshold { threshold: 24.24, value: 42.42 } => "Threshold(threshold=24.24, value=42.42)";
    pretty_print_cross_map_lrn2d:
        CrossMapLrn2d { alpha: 1e-5, beta: 0.1, k: 10.0, ..CrossMapLrn2d::new(4) }
            => "CrossMapLRN2d(4, alpha=1e-05, beta=0.1, k=10)";
    pretty_print_alpha_dropout: AlphaDropout::new(0.42) => "AlphaDropout(p=0.42, inplace=False)";
    pretty_print_feature_alpha_dropout: FeatureAlphaDropout::default() => "FeatureAlphaDropout(p=0.5, inplace=False)";
    pretty_print_multihead_attention:
        MultiheadAttention::new(20, 10, &cpu())
            => "MultiheadAttention(\n  (out_proj): Linear(in_features=20, out_features=20, bias=True)\n)";
    pretty_print_rnn_cell:
        RnnCell::new(20, 10, &cpu()) => "RNNCell(20, 10)",
        RnnCell::with_options(20, 10, RnnCellOptions { bias: false, nonlinearity: RnnNonlinearity::Relu }, &cpu())
            => "RNNCell(20, 10, bias=False, nonlinearity=relu)";
    pretty_print_lstm_cell:
        LstmCell::new(20, 10, &cpu()) => "LSTMCell(20, 10)",
        LstmCell::with_options(20, 10, CellOptions { bias: false }, &cpu()) => "LSTMCell(20, 10, bias=False)";
    pretty_print_gru_cell:
        GruCell::new(20, 10, &cpu()) => "GRUCell(20, 10)",
        GruCell::with_options(20, 10, CellOptions { bias: false }, &cpu()) => "GRUCell(20, 10, bias=False)";
    pretty_print_nested_model:
        Sequential::new().with(Linear::new(2, 3, &cpu())).with_named("inner", Sequential::new().with(Relu))
            => "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (inner): Sequential(\n    (0): ReLU()\n  )\n)";
    pretty_print_adaptive_log_softmax_with_loss:
        AdaptiveLogSoftmaxWithLoss::with_options(
            8, 10, &[4, 8], AdaptiveSoftmaxOptions { div_value: 2.0, head_bias: true }, &cpu(),
        ) => concat!(
            "AdaptiveLogSoftmaxWithLoss(\n",
            "  (head): Linear(in_features=8, out_features=6, bias=True)\n",
            "  (tail): ModuleList(\n",
            "    (0): Sequential(\n",
            "      (0): Linear(in_features=8, out_features=4, bias=False)\n",
            "      (1): Linear(in_features=4, out_features=4, bias=False)\n",
            "    )\n",
            "    (1): Sequential(\n",
            "      (0): Linear(in_features=8, out_features=2, bias=False)\n",
            "      (1): Linear(in_features=2, out_features=2, bias=False)\n",
            "    )\n",
            "  )\n",
            ")",
        );
    pretty_print_batch_norm1d: BatchNorm1d::with_options(4, batch_norm_options(), &cpu()) => batch_norm_text("BatchNorm1d");
    pretty_print_batch_norm2d: BatchNorm2d::with_options(4, batch_norm_options(), &cpu()) => batch_norm_text("BatchNorm2d");
    pretty_print_batch_norm3d: BatchNorm3d::with_options(4, batch_norm_options(), &cpu()) => batch_norm_text("BatchNorm3d");
    pretty_print_instance_norm1d: InstanceNorm1d::with_options(4, instance_options(), &cpu()) => batch_norm_text("InstanceNorm1d");
    pretty_print_instance_norm2d: InstanceNorm2d::with_options(4, instance_options(), &cpu()) => batch_norm_text("InstanceNorm2d");
    pretty_print_instance_norm3d: InstanceNorm3d::with_options(4, instance_options(), &cpu()) => batch_norm_text("InstanceNorm3d");
}

fn embedding_options() -> EmbeddingOptions {
    let rows = RowOptions { max_norm: Some(2.0), norm_type: 2.5, scale_grad_by_freq: true };
    EmbeddingOptions { padding_idx: Some(3), rows }
}

fn batch_norm_options() -> BatchNormOptions {
    BatchNormOptions { eps: 0.5, momentum: Some(0.1), affine: false, track_running_stats: true }
}

fn instance_options() -> InstanceNormOptions {
    InstanceNormOptions { eps: 0.5, momentum: 0.1, affine: false, track_running_stats: true }
}

fn batch_norm_text(name: &str) -> String {
    format!("{name}(4, eps=0.5, momentum=0.1, affine=False, track_running_stats=True)")
}

debugs! {
    pretty_print_l1_loss: L1Loss::default() => "L1Loss { reduction: Mean }";
    pretty_print_kl_div_loss:
        KlDivLoss::default() => "KlDivLoss { reduction: Mean, log_target: false }";
    pretty_print_mse_loss: MseLoss { reduction: Reduction::Sum } => "MseLoss { reduction: Sum }";
    pretty_print_bce_loss: BceLoss::default() => "BceLoss { weight: None, reduction: Mean }";
    pretty_print_hinge_embedding_loss:
        HingeEmbeddingLoss { margin: 4.0, ..Default::default() } => "HingeEmbeddingLoss { margin: 4.0, reduction: Mean }";
    pretty_print_cosine_embedding_loss:
        CosineEmbeddingLoss { margin: 0.25, ..Default::default() } => "CosineEmbeddingLoss { margin: 0.25, reduction: Mean }";
    pretty_print_triplet_margin_loss:
        TripletMarginLoss { margin: 3.0, p: 2.0, eps: 1e-6, swap: false, ..Default::default() }
            => "TripletMarginLoss { margin: 3.0, p: 2.0, eps: 1e-6, swap: false, reduction: Mean }";
    pretty_print_triplet_margin_with_distance_loss:
        TripletMarginWithDistanceLoss { margin: 2.0, swap: true, ..Default::default() }
            => "TripletMarginWithDistanceLoss { margin: 2.0, swap: true, reduction: Mean }";
    pretty_print_nll_loss:
        NllLoss::default() => "NllLoss { weight: None, ignore_index: -100, reduction: Mean }";
    pretty_print_cross_entropy_loss:
        CrossEntropyLoss::default()
            => "CrossEntropyLoss { weight: None, ignore_index: -100, reduction: Mean, label_smoothing: 0.0 }";
    pretty_print_multi_label_margin_loss: MultiLabelMarginLoss::default() => "MultiLabelMarginLoss { reduction: Mean }";
    pretty_print_multi_label_soft_margin_loss:
        MultiLabelSoftMarginLoss::default() => "MultiLabelSoftMarginLoss { weight: None, reduction: Mean }";
    pretty_print_soft_margin_loss: SoftMarginLoss::default() => "SoftMarginLoss { reduction: Mean }";
    pretty_print_ctc_loss: CtcLoss::default() => "CtcLoss { blank: 0, reduction: Mean, zero_infinity: false }";
    pretty_print_poisson_nll_loss:
        PoissonNllLoss::default() => "PoissonNllLoss { log_input: true, full: false, eps: 1e-8, reduction: Mean }";
    pretty_print_margin_ranking_loss: MarginRankingLoss::default() => "MarginRankingLoss { margin: 0.0, reduction: Mean }";
    pretty_print_bce_with_logits_loss:
        BceWithLogitsLoss::default() => "BceWithLogitsLoss { weight: None, pos_weight: None, reduction: Mean }";
}
