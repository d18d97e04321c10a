//! Losses by name.

use super::call::{Call, Op, one};
use flambeau::nn::loss::*;

pub const TABLE: &[(&str, Op)] = &[
    ("cross_entropy", |c| {
        let weight = c.maybe(2).cloned();
        let (ignore_index, label_smoothing) = (c.integer("ignore_index"), c.number("label_smoothing"));
        let loss = CrossEntropyLoss { weight, ignore_index, reduction: reduction(c), label_smoothing };
        one(loss.try_forward(c.x(), c.y()))
    }),
    ("nll_loss", |c| {
        let (weight, ignore_index) = (c.maybe(2).cloned(), c.integer("ignore_index"));
        one(NllLoss { weight, ignore_index, reduction: reduction(c) }.try_forward(c.x(), c.y()))
    }),
    ("mse_loss", |c| one(MseLoss { reduction: reduction(c) }.try_forward(c.x(), c.y()))),
    ("l1_loss", |c| one(L1Loss { reduction: reduction(c) }.try_forward(c.x(), c.y()))),
    ("smooth_l1_loss", |c| {
        one(SmoothL1Loss { reduction: reduction(c), beta: c.number("beta") }.try_forward(c.x(), c.y()))
    }),
    ("huber_loss", |c| {
        one(HuberLoss { reduction: reduction(c), delta: c.number("delta") }.try_forward(c.x(), c.y()))
    }),
    ("binary_cross_entropy", |c| {
        one(BceLoss { weight: c.maybe(2).cloned(), reduction: reduction(c) }.try_forward(c.x(), c.y()))
    }),
    ("binary_cross_entropy_with_logits", |c| {
        let (weight, pos_weight) = (c.maybe(2).cloned(), None);
        one(BceWithLogitsLoss { weight, pos_weight, reduction: reduction(c) }.try_forward(c.x(), c.y()))
    }),
    ("hinge_embedding_loss", |c| {
        one(HingeEmbeddingLoss { margin: c.number("margin"), reduction: reduction(c) }
            .try_forward(c.x(), c.y()))
    }),
    ("margin_ranking_loss", |c| {
        let loss = MarginRankingLoss { margin: c.number("margin"), reduction: reduction(c) };
        one(loss.try_forward(c.x(), c.y(), &c.operands[2]))
    }),
    ("soft_margin_loss", |c| one(SoftMarginLoss { reduction: reduction(c) }.try_forward(c.x(), c.y()))),
    ("triplet_margin_loss", |c| {
        let (margin, p, swap) = (c.number("margin"), c.number("p"), c.flag("swap"));
        let loss = TripletMarginLoss { margin, p, eps: 1e-6, swap, reduction: reduction(c) };
        one(loss.try_forward(c.x(), c.y(), &c.operands[2]))
    }),
    ("cosine_embedding_loss", |c| {
        let loss = CosineEmbeddingLoss { margin: c.number("margin"), reduction: reduction(c) };
        one(loss.try_forward(c.x(), c.y(), &c.operands[2]))
    }),
    ("multi_margin_loss", |c| {
        let (p, margin, weight) = (c.integer("p") as u32, c.number("margin"), c.maybe(2).cloned());
        one(MultiMarginLoss { p, margin, weight, reduction: reduction(c) }.try_forward(c.x(), c.y()))
    }),
    ("multilabel_soft_margin_loss", |c| {
        let loss = MultiLabelSoftMarginLoss { weight: c.maybe(2).cloned(), reduction: reduction(c) };
        one(loss.try_forward(c.x(), c.y()))
    }),
    ("kl_div", |c| {
        let reduction = match c.word("reduction") {
            "mean" => KlDivReduction::Mean,
            "sum" => KlDivReduction::Sum,
            "none" => KlDivReduction::None,
            _ => KlDivReduction::BatchMean,
        };
        one(KlDivLoss { reduction, log_target: c.flag("log_target") }.try_forward(c.x(), c.y()))
    }),
    ("poisson_nll_loss", |c| {
        let (log_input, full) = (c.flag("log_input"), c.flag("full"));
        one(PoissonNllLoss { log_input, full, eps: 1e-8, reduction: reduction(c) }.try_forward(c.x(), c.y()))
    }),
    ("gaussian_nll_loss", |c| {
        let loss = GaussianNllLoss { full: c.flag("full"), eps: 1e-6, reduction: reduction(c) };
        one(loss.try_forward(c.x(), c.y(), &c.operands[2]))
    }),
    ("ctc_loss", |c| {
        let loss = CtcLoss { blank: 0, reduction: reduction(c), zero_infinity: c.flag("zero_infinity") };
        one(loss.try_forward(c.x(), c.y(), &c.sizes("input_lengths"), &c.sizes("target_lengths")))
    }),
];

fn reduction(c: &Call) -> Reduction {
    match c.word("reduction") {
        "sum" => Reduction::Sum,
        "none" => Reduction::None,
        _ => Reduction::Mean,
    }
}
