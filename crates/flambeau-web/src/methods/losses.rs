//! Losses with all their options, in PyTorch's order: one entry each. Types and defaults are the library's.

use flambeau::calls::{Args, Call, Methods, Param, Signature};
use flambeau::nn::loss::*;
use flambeau::{Result, Tensor};

pub(super) struct Losses;

/// `name = Loss(what it takes besides the input; its settings, in JavaScript's order)`.
macro_rules! losses {
    ($($name:ident = $loss:ident($($arg:ident: $type:ty),+; $($setting:ident),+);)*) => {
        impl Methods for Losses {
            const CALLS: &'static [Call] = &[$({
                fn call(args: &mut Args, to: &mut Vec<Tensor>) -> Result<()> {
                    let x: Tensor = args.take()?;
                    $(let $arg: $type = args.take()?;)+
                    let loss = $loss { $($setting: args.take()?),+ };
                    to.push(loss.try_forward(&x, $(&$arg),+)?);
                    Ok(())
                }
                call
            }),*];

            fn signatures() -> Vec<Signature> {
                vec![$({
                    let $loss { $($setting),+ } = $loss::default();
                    let params = vec![
                        Param::new::<Tensor>("x", None),
                        $(Param::new::<$type>(stringify!($arg), None),)+
                        $(Param::setting(stringify!($setting), &$setting),)+
                    ];
                    Signature { name: stringify!($name), params, output: "Tensor", caller: "one" }
                }),*]
            }
        }

        /// The library's names of the losses that have an entry.
        #[cfg(test)]
        pub const LOSSES: &[&str] = &[$(stringify!($loss)),*];
    };
}

losses! {
    cross_entropy = CrossEntropyLoss(target: Tensor; weight, ignore_index, reduction, label_smoothing);
    nll_loss = NllLoss(target: Tensor; weight, ignore_index, reduction);
    binary_cross_entropy = BceLoss(target: Tensor; weight, reduction);
    binary_cross_entropy_with_logits = BceWithLogitsLoss(target: Tensor; weight, reduction, pos_weight);
    mse_loss = MseLoss(target: Tensor; reduction);
    l1_loss = L1Loss(target: Tensor; reduction);
    smooth_l1_loss = SmoothL1Loss(target: Tensor; reduction, beta);
    huber_loss = HuberLoss(target: Tensor; reduction, delta);
    kl_div = KlDivLoss(target: Tensor; reduction, log_target);
    poisson_nll_loss = PoissonNllLoss(target: Tensor; log_input, full, eps, reduction);
    gaussian_nll_loss = GaussianNllLoss(target: Tensor, variance: Tensor; full, eps, reduction);
    hinge_embedding_loss = HingeEmbeddingLoss(target: Tensor; margin, reduction);
    margin_ranking_loss = MarginRankingLoss(other: Tensor, target: Tensor; margin, reduction);
    triplet_margin_loss = TripletMarginLoss(positive: Tensor, negative: Tensor; margin, p, eps, swap, reduction);
    cosine_embedding_loss = CosineEmbeddingLoss(other: Tensor, target: Tensor; margin, reduction);
    multi_margin_loss = MultiMarginLoss(target: Tensor; p, margin, weight, reduction);
    multi_label_margin_loss = MultiLabelMarginLoss(target: Tensor; reduction);
    soft_margin_loss = SoftMarginLoss(target: Tensor; reduction);
    multi_label_soft_margin_loss = MultiLabelSoftMarginLoss(target: Tensor; weight, reduction);
    ctc_loss = CtcLoss(targets: Tensor, input_lengths: Vec<usize>, target_lengths: Vec<usize>; blank, reduction, zero_infinity);
}
