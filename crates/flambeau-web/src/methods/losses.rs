//! Losses with all their options, in PyTorch's order.

use super::methods;
use crate::args::Mean;
use crate::handles::argument;
use flambeau::Tensor;
use flambeau::nn::loss::*;

methods! {
    cross_entropy(x: Tensor, target: Tensor, weight: Option<Tensor> = "?", ignore_index: i64 = "-100", reduction: Mean = "\"mean\"", label_smoothing: f64 = "0") -> Tensor {
        CrossEntropyLoss { weight, ignore_index, reduction: reduction.0, label_smoothing }.try_forward(&x, &target)
    }
    nll_loss(x: Tensor, target: Tensor, weight: Option<Tensor> = "?", ignore_index: i64 = "-100", reduction: Mean = "\"mean\"") -> Tensor {
        NllLoss { weight, ignore_index, reduction: reduction.0 }.try_forward(&x, &target)
    }
    binary_cross_entropy(x: Tensor, target: Tensor, weight: Option<Tensor> = "?", reduction: Mean = "\"mean\"") -> Tensor {
        BceLoss { weight, reduction: reduction.0 }.try_forward(&x, &target)
    }
    binary_cross_entropy_with_logits(x: Tensor, target: Tensor, weight: Option<Tensor> = "?", reduction: Mean = "\"mean\"", pos_weight: Option<Tensor> = "?") -> Tensor {
        BceWithLogitsLoss { weight, pos_weight, reduction: reduction.0 }.try_forward(&x, &target)
    }
    mse_loss(x: Tensor, target: Tensor, reduction: Mean = "\"mean\"") -> Tensor {
        MseLoss { reduction: reduction.0 }.try_forward(&x, &target)
    }
    l1_loss(x: Tensor, target: Tensor, reduction: Mean = "\"mean\"") -> Tensor {
        L1Loss { reduction: reduction.0 }.try_forward(&x, &target)
    }
    smooth_l1_loss(x: Tensor, target: Tensor, reduction: Mean = "\"mean\"", beta: f64 = "1") -> Tensor {
        SmoothL1Loss { reduction: reduction.0, beta }.try_forward(&x, &target)
    }
    huber_loss(x: Tensor, target: Tensor, reduction: Mean = "\"mean\"", delta: f64 = "1") -> Tensor {
        HuberLoss { reduction: reduction.0, delta }.try_forward(&x, &target)
    }
    kl_div(x: Tensor, target: Tensor, reduction: String = "\"mean\"", log_target: bool = "false") -> Tensor {
        let reduction = match reduction.as_str() {
            "mean" => KlDivReduction::Mean,
            "batchmean" => KlDivReduction::BatchMean,
            "sum" => KlDivReduction::Sum,
            "none" => KlDivReduction::None,
            other => return Err(argument("kl_div", format!("{other} is none of mean, batchmean, sum, none"))),
        };
        KlDivLoss { reduction, log_target }.try_forward(&x, &target)
    }
    poisson_nll_loss(x: Tensor, target: Tensor, log_input: bool = "true", full: bool = "false", eps: f64 = "1e-8", reduction: Mean = "\"mean\"") -> Tensor {
        PoissonNllLoss { log_input, full, eps, reduction: reduction.0 }.try_forward(&x, &target)
    }
    gaussian_nll_loss(x: Tensor, target: Tensor, variance: Tensor, full: bool = "false", eps: f64 = "1e-6", reduction: Mean = "\"mean\"") -> Tensor {
        GaussianNllLoss { full, eps, reduction: reduction.0 }.try_forward(&x, &target, &variance)
    }
    hinge_embedding_loss(x: Tensor, target: Tensor, margin: f64 = "1", reduction: Mean = "\"mean\"") -> Tensor {
        HingeEmbeddingLoss { margin, reduction: reduction.0 }.try_forward(&x, &target)
    }
    margin_ranking_loss(x: Tensor, other: Tensor, target: Tensor, margin: f64 = "0", reduction: Mean = "\"mean\"") -> Tensor {
        MarginRankingLoss { margin, reduction: reduction.0 }.try_forward(&x, &other, &target)
    }
    triplet_margin_loss(x: Tensor, positive: Tensor, negative: Tensor, margin: f64 = "1", p: f64 = "2", eps: f64 = "1e-6", swap: bool = "false", reduction: Mean = "\"mean\"") -> Tensor {
        TripletMarginLoss { margin, p, eps, swap, reduction: reduction.0 }.try_forward(&x, &positive, &negative)
    }
    cosine_embedding_loss(x: Tensor, other: Tensor, target: Tensor, margin: f64 = "0", reduction: Mean = "\"mean\"") -> Tensor {
        CosineEmbeddingLoss { margin, reduction: reduction.0 }.try_forward(&x, &other, &target)
    }
    multi_margin_loss(x: Tensor, target: Tensor, p: usize = "1", margin: f64 = "1", weight: Option<Tensor> = "?", reduction: Mean = "\"mean\"") -> Tensor {
        MultiMarginLoss { p: p as u32, margin, weight, reduction: reduction.0 }.try_forward(&x, &target)
    }
    multi_label_margin_loss(x: Tensor, target: Tensor, reduction: Mean = "\"mean\"") -> Tensor {
        MultiLabelMarginLoss { reduction: reduction.0 }.try_forward(&x, &target)
    }
    soft_margin_loss(x: Tensor, target: Tensor, reduction: Mean = "\"mean\"") -> Tensor {
        SoftMarginLoss { reduction: reduction.0 }.try_forward(&x, &target)
    }
    multi_label_soft_margin_loss(x: Tensor, target: Tensor, weight: Option<Tensor> = "?", reduction: Mean = "\"mean\"") -> Tensor {
        MultiLabelSoftMarginLoss { weight, reduction: reduction.0 }.try_forward(&x, &target)
    }
    ctc_loss(x: Tensor, targets: Tensor, input_lengths: Vec<usize>, target_lengths: Vec<usize>, blank: usize = "0", reduction: Mean = "\"mean\"", zero_infinity: bool = "false") -> Tensor {
        CtcLoss { blank, reduction: reduction.0, zero_infinity }.try_forward(&x, &targets, &input_lengths, &target_lengths)
    }
}
