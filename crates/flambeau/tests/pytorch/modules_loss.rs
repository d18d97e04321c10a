//! `modules.cpp`, losses and attention.

use crate::common::recorded::Recorded;
use crate::recorded::recorded;
use crate::tools::{each, same};
use flambeau::nn::loss::*;
use flambeau::nn::{AttentionMasks, AttentionWeights, MultiheadAttention, MultiheadAttentionOptions};
use flambeau::prelude::*;

recorded! {
    l1_loss: "l1_loss" ["a", "b"] |x, _| L1Loss::default().forward(&x[0], &x[1]);
    mse_loss: "mse_loss" ["a", "b"] |x, _| MseLoss::default().forward(&x[0], &x[1]);
    bce_loss: "bce_loss" ["unit"] |x, i| BceLoss::default().forward(&x[0], &i.get("targets01"));
    kl_div_loss: "kl_div_loss_batchmean" ["a"]
        |x, i| KlDivLoss { reduction: KlDivReduction::BatchMean, log_target: false }.forward(&x[0], &i.get("targets01"));
    hinge_embedding_loss: "hinge_embedding_loss" ["a"]
        |x, i| HingeEmbeddingLoss { margin: 2.0, ..Default::default() }.forward(&x[0], &i.get("signs"));
    multi_margin_loss: "multi_margin_loss" ["a"] |x, i| {
        let loss = MultiMarginLoss { margin: 2.0, weight: Some(i.get("weight5")), ..Default::default() };
        loss.forward(&x[0], &i.get("classes"))
    };
    cosine_embedding_loss: "cosine_embedding_loss" ["a", "b"]
        |x, i| CosineEmbeddingLoss { margin: 0.5, ..Default::default() }.forward(&x[0], &x[1], &i.get("sign4"));
    smooth_l1_loss_default_options: "smooth_l1_loss" ["a", "b"] |x, _| SmoothL1Loss::default().forward(&x[0], &x[1]);
    smooth_l1_loss_no_reduction: "smooth_l1_loss_none" ["a", "b"]
        |x, _| SmoothL1Loss { reduction: Reduction::None, ..Default::default() }.forward(&x[0], &x[1]);
    smooth_l1_loss_beta: "smooth_l1_loss_beta" ["a", "b"]
        |x, _| SmoothL1Loss { beta: 0.5, ..Default::default() }.forward(&x[0], &x[1]);
    huber_loss_default_options: "huber_loss" ["a", "b"] |x, _| HuberLoss::default().forward(&x[0], &x[1]);
    huber_loss_no_reduction: "huber_loss_none" ["a", "b"]
        |x, _| HuberLoss { reduction: Reduction::None, ..Default::default() }.forward(&x[0], &x[1]);
    huber_loss_delta: "huber_loss_delta" ["a", "b"] |x, _| HuberLoss { delta: 0.5, ..Default::default() }.forward(&x[0], &x[1]);
    multi_label_margin_loss_default_options: "multilabel_margin_loss" ["a"]
        |x, i| MultiLabelMarginLoss::default().forward(&x[0], &i.get("many"));
    multi_label_margin_loss_no_reduction: "multilabel_margin_loss_none" ["a"]
        |x, i| MultiLabelMarginLoss { reduction: Reduction::None }.forward(&x[0], &i.get("many"));
    triplet_margin_loss:
        "triplet_margin_loss" ["a", "b", "c"]
            |x, _| TripletMarginLoss { margin: 1.5, ..Default::default() }.forward(&x[0], &x[1], &x[2]),
        "triplet_margin_loss_swap" ["a", "b", "c"]
            |x, _| TripletMarginLoss { margin: 2.5, swap: true, ..Default::default() }.forward(&x[0], &x[1], &x[2]);
    /// Without a distance of one's own it is the Euclidean.
    triplet_margin_with_distance_loss_default_parity: "triplet_margin_loss_swap" ["a", "b", "c"] |x, _| {
        TripletMarginWithDistanceLoss { margin: 2.5, swap: true, ..Default::default() }.forward(&x[0], &x[1], &x[2])
    };
    triplet_margin_with_distance_loss_functional_parity: "triplet_margin_with_distance_loss" ["a", "b", "c"] |x, _| {
        let cosine = |a: &Tensor, b: &Tensor| a.try_cosine_similarity(b, 1, 1e-8)?.try_rsub(1.0);
        TripletMarginWithDistanceLoss::new(cosine).forward(&x[0], &x[1], &x[2])
    };
    nll_loss: "nll_loss" ["a"] |x, i| {
        let loss = NllLoss { weight: Some(i.get("weight5")), ignore_index: 4, ..Default::default() };
        loss.forward(&x[0], &i.get("classes"))
    };
    cross_entropy_loss:
        "cross_entropy" ["a"] |x, i| CrossEntropyLoss { ignore_index: 2, ..Default::default() }.forward(&x[0], &i.get("classes")),
        "cross_entropy_smoothed" ["a"]
            |x, i| CrossEntropyLoss { label_smoothing: 0.15, ..Default::default() }.forward(&x[0], &i.get("classes")),
        "cross_entropy_probabilities" ["a"] |x, i| CrossEntropyLoss::default().forward(&x[0], &i.get("targets01"));
    soft_margin_loss_default_options: "soft_margin_loss" ["a"] |x, i| SoftMarginLoss::default().forward(&x[0], &i.get("signs"));
    soft_margin_loss_no_reduction: "soft_margin_loss_none" ["a"]
        |x, i| SoftMarginLoss { reduction: Reduction::None }.forward(&x[0], &i.get("signs"));
    multi_label_soft_margin_loss_default_options: "multilabel_soft_margin_loss" ["a"]
        |x, i| MultiLabelSoftMarginLoss::default().forward(&x[0], &i.get("flags"));
    multi_label_soft_margin_loss_weighted_no_reduction: "multilabel_soft_margin_loss_weighted" ["a"] |x, i| {
        let loss = MultiLabelSoftMarginLoss { weight: Some(i.get("weight5")), reduction: Reduction::None };
        loss.forward(&x[0], &i.get("flags"))
    };
    ctc_loss: "ctc_loss" ["logits"] |x, i| {
        let loss = CtcLoss { reduction: Reduction::None, ..Default::default() };
        loss.forward(&x[0].log_softmax(2), &i.get("ctc_targets"), &[6, 5], &[3, 2])
    };
    poisson_nll_loss: "poisson_nll_loss" ["a"] |x, i| PoissonNllLoss::default().forward(&x[0], &i.get("positive"));
    margin_ranking_loss: "margin_ranking_loss" ["a", "b"]
        |x, i| MarginRankingLoss { margin: 0.5, ..Default::default() }.forward(&x[0], &x[1], &i.get("signs"));
    bce_with_logits_loss: "bce_with_logits_loss" ["a"] |x, i| {
        let weight = i.get("weight5");
        let pos_weight = Some(&weight * 2.0);
        BceWithLogitsLoss { weight: Some(weight), pos_weight, ..Default::default() }.forward(&x[0], &i.get("targets01"))
    };
}

/// Masks, keys and values of other widths, learned and zero keys put behind: outputs, weights and all gradients.
#[test]
fn multihead_attention() {
    let recorded = Recorded::open(include_bytes!("../data/cpp_modules.safetensors"));
    let plain = MultiheadAttentionOptions::default();
    let both = MultiheadAttentionOptions { add_bias_kv: true, add_zero_attn: true, ..plain };
    let widths = MultiheadAttentionOptions { kdim: Some(3), vdim: Some(6), ..plain };
    let cases = [
        ("mha", plain, false, false),
        ("mha_masks", plain, true, true),
        ("mha_bias_kv", MultiheadAttentionOptions { add_bias_kv: true, ..plain }, false, false),
        ("mha_bias_kv_masks", MultiheadAttentionOptions { add_bias_kv: true, ..plain }, true, true),
        ("mha_zero", MultiheadAttentionOptions { add_zero_attn: true, ..plain }, false, false),
        ("mha_both", both, true, false),
        ("mha_widths", widths, false, false),
        ("mha_widths_both", MultiheadAttentionOptions { kdim: Some(3), vdim: Some(6), ..both }, false, false),
        ("mha_no_bias", MultiheadAttentionOptions { bias: false, ..plain }, false, false),
    ];
    for (name, options, masked, padded) in cases {
        recorded.case(name).check(
            |device| MultiheadAttention::with_options(4, 2, options, device),
            |attention, inputs| {
                let [q, k, v] = ["q", "k", "v"].map(|name| inputs.get(name));
                let masks = masks(masked, padded, q.device());
                let (y, weights) =
                    attention.forward_with_weights(q, k, v, &masks, AttentionWeights::Averaged);
                vec![y, weights]
            },
        );
    }
    // Query i sees key 0 to i, and what is put behind.
    each(|device| {
        let attention = MultiheadAttention::with_options(4, 2, both, device);
        let x = crate::tools::normal([3, 1, 4], device);
        let hidden = Tensor::ones([3, 3], device).triu(1).to_dtype(DType::Bool);
        let explicit = AttentionMasks { attn_mask: Some(hidden), ..Default::default() };
        let run = |masks: &AttentionMasks| attention.forward(&x, &x, &x, masks).detach();
        same(&run(&AttentionMasks::causal()), &run(&explicit));
    });
}

fn masks(masked: bool, padded: bool, device: &Device) -> AttentionMasks {
    let (t, f) = (true, false);
    let hidden = Tensor::new([[f, t, f, f, t], [t, f, f, t, f], [f; 5]], device);
    let padding = Tensor::new([[f, f, t, f, t], [f; 5]], device);
    AttentionMasks {
        attn_mask: masked.then_some(hidden),
        key_padding_mask: padded.then_some(padding),
        causal: false,
    }
}
