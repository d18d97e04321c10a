//! Losses with all their options, their gradients and second derivatives, against PyTorch 1.13:
//! `tools/reference/loss.py` wrote the expectations.

use crate::common::reference::{Inputs, Reference};
use crate::common::{assert_close, devices, values};
use flambeau::nn::loss::*;
use flambeau::prelude::*;

fn reference() -> Reference {
    Reference::open(include_bytes!("../data/loss.safetensors"))
}

const REDUCTIONS: [(&str, Reduction); 3] =
    [("mean", Reduction::Mean), ("sum", Reduction::Sum), ("none", Reduction::None)];

/// A case for each reduction.
fn reduced(
    reference: &Reference,
    name: &str,
    inputs: &[&str],
    run: impl Fn(&[Tensor], &Inputs, Reduction) -> Tensor,
) {
    for (ending, reduction) in REDUCTIONS {
        reference.case(&format!("{name}_{ending}"), inputs, |x, i| run(x, i, reduction));
    }
}

#[test]
fn cross_entropies() {
    let r = reference();
    for ([sharp, smooth, nll], target, weighted) in [
        (["ce_labels", "ce_smooth_labels", "nll_labels"], "labels", false),
        (["ce_labels_weighted", "ce_smooth_labels_weighted", "nll_labels_weighted"], "labels", true),
        (["ce_ignored", "ce_smooth_ignored", "nll_ignored"], "ignored", false),
        (["ce_ignored_weighted", "ce_smooth_ignored_weighted", "nll_ignored_weighted"], "ignored", true),
    ] {
        let weight = |i: &Inputs| weighted.then(|| i.get("weight"));
        reduced(&r, sharp, &["x"], |x, i, reduction| {
            let loss = CrossEntropyLoss { weight: weight(i), reduction, ..Default::default() };
            loss.forward(&x[0], &i.get(target))
        });
        reduced(&r, smooth, &["x"], |x, i, reduction| {
            let loss =
                CrossEntropyLoss { weight: weight(i), reduction, label_smoothing: 0.2, ..Default::default() };
            loss.forward(&x[0], &i.get(target))
        });
        reduced(&r, nll, &["x"], |x, i, reduction| {
            let loss = NllLoss { weight: weight(i), reduction, ..Default::default() };
            loss.forward(&x[0], &i.get(target))
        });
    }
    r.case("ce_1", &["x1"], |x, i| x[0].cross_entropy(&i.get("label1")));
    r.case("nll_1", &["x1"], |x, i| x[0].nll_loss(&i.get("label1")));
    r.case("ce_ignore_4", &["x"], |x, i| {
        CrossEntropyLoss { ignore_index: 4, ..Default::default() }.forward(&x[0], &i.get("labels"))
    });
}

#[test]
fn cross_entropies_of_grids_and_of_probabilities() {
    let r = reference();
    let grid = |i: &Inputs, reduction, label_smoothing| CrossEntropyLoss {
        weight: Some(i.get("weight3")),
        reduction,
        label_smoothing,
        ..Default::default()
    };
    reduced(&r, "ce_3", &["x3"], |x, i, reduction| grid(i, reduction, 0.0).forward(&x[0], &i.get("labels3")));
    reduced(&r, "ce_smooth_3", &["x3"], |x, i, reduction| {
        grid(i, reduction, 0.3).forward(&x[0], &i.get("labels3"))
    });
    reduced(&r, "nll_3", &["x3"], |x, i, reduction| {
        let loss = NllLoss { weight: Some(i.get("weight3")), reduction, ..Default::default() };
        loss.forward(&x[0], &i.get("labels3"))
    });
    reduced(&r, "ce_soft", &["x", "probabilities"], |x, _, reduction| {
        CrossEntropyLoss { reduction, ..Default::default() }.forward(&x[0], &x[1])
    });
    reduced(&r, "ce_soft_weighted", &["x", "probabilities"], |x, i, reduction| {
        let weight = Some(i.get("weight"));
        let loss = CrossEntropyLoss { weight, reduction, label_smoothing: 0.1, ..Default::default() };
        loss.forward(&x[0], &x[1])
    });
    reduced(&r, "ce_soft_3", &["x3", "probabilities3"], |x, i, reduction| {
        grid(i, reduction, 0.1).forward(&x[0], &x[1])
    });
}

/// Logits of ±1e4: PyTorch's values and gradients in f64, all of them finite.
#[test]
fn huge_logits() {
    let r = reference();
    reduced(&r, "ce_huge", &["huge"], |x, i, reduction| {
        CrossEntropyLoss { reduction, ..Default::default() }.forward(&x[0], &i.get("huge_labels"))
    });
    r.case("ce_huge_soft", &["huge"], |x, i| x[0].cross_entropy(&Tensor::full([3, 3], 1.0 / 3.0, i.device)));
    r.case("bce_logits_huge", &["huge1"], |x, i| {
        BceWithLogitsLoss { reduction: Reduction::None, ..Default::default() }
            .forward(&x[0], &i.get("huge_bits"))
    });
}

#[test]
fn binary_cross_entropies() {
    let r = reference();
    reduced(&r, "bce", &["unit", "target01"], |x, _, reduction| {
        BceLoss { reduction, ..Default::default() }.forward(&x[0], &x[1])
    });
    reduced(&r, "bce_weighted", &["unit"], |x, i, reduction| {
        BceLoss { weight: Some(i.get("weight")), reduction }.forward(&x[0], &i.get("bits"))
    });
    reduced(&r, "bce_logits", &["x", "target01"], |x, _, reduction| {
        BceWithLogitsLoss { reduction, ..Default::default() }.forward(&x[0], &x[1])
    });
    reduced(&r, "bce_logits_weighted", &["x", "target01"], |x, i, reduction| {
        let (weight, pos_weight) = (Some(i.get("weight")), Some(i.get("weight")));
        BceWithLogitsLoss { weight, pos_weight, reduction }.forward(&x[0], &x[1])
    });
    r.case("bce_edges", &["edges"], |x, i| {
        BceLoss { reduction: Reduction::None, ..Default::default() }.forward(&x[0], &i.get("edge_targets"))
    });
}

#[test]
fn regressions() {
    let r = reference();
    reduced(&r, "mse", &["x", "y"], |x, _, reduction| MseLoss { reduction }.forward(&x[0], &x[1]));
    let kinks = &["kx", "ky"];
    reduced(&r, "l1", kinks, |x, _, reduction| L1Loss { reduction }.forward(&x[0], &x[1]));
    reduced(&r, "smooth_l1", kinks, |x, _, reduction| {
        SmoothL1Loss { reduction, ..Default::default() }.forward(&x[0], &x[1])
    });
    reduced(&r, "smooth_l1_beta", &["x", "y"], |x, _, reduction| {
        SmoothL1Loss { reduction, beta: 0.5 }.forward(&x[0], &x[1])
    });
    reduced(&r, "smooth_l1_zero", &["x", "y"], |x, _, reduction| {
        SmoothL1Loss { reduction, beta: 0.0 }.forward(&x[0], &x[1])
    });
    reduced(&r, "huber", kinks, |x, _, reduction| {
        HuberLoss { reduction, ..Default::default() }.forward(&x[0], &x[1])
    });
    reduced(&r, "huber_delta", &["x", "y"], |x, _, reduction| {
        HuberLoss { reduction, delta: 1.5 }.forward(&x[0], &x[1])
    });
}

#[test]
fn divergences() {
    let r = reference();
    for (ending, reduction) in [
        ("mean", KlDivReduction::Mean),
        ("batchmean", KlDivReduction::BatchMean),
        ("sum", KlDivReduction::Sum),
        ("none", KlDivReduction::None),
    ] {
        let kl = |log_target| KlDivLoss { reduction, log_target };
        r.case(&format!("{}_{ending}", "kl"), &["x", "probabilities"], |x, _| {
            kl(false).forward(&x[0], &x[1])
        });
        r.case(&format!("{}_{ending}", "kl_sparse"), &["logs"], |x, i| {
            kl(false).forward(&x[0], &i.get("sparse"))
        });
        r.case(&format!("{}_{ending}", "kl_log"), &["x", "y"], |x, _| kl(true).forward(&x[0], &x[1]));
    }
    reduced(&r, "poisson", &["x"], |x, i, reduction| {
        PoissonNllLoss { reduction, ..Default::default() }.forward(&x[0], &i.get("counts"))
    });
    reduced(&r, "poisson_rates", &["rates"], |x, i, reduction| {
        PoissonNllLoss { reduction, log_input: false, ..Default::default() }.forward(&x[0], &i.get("counts"))
    });
    reduced(&r, "poisson_full", &["x"], |x, i, reduction| {
        PoissonNllLoss { reduction, full: true, ..Default::default() }.forward(&x[0], &i.get("counts"))
    });
    reduced(&r, "gaussian", &["x", "y", "var"], |x, _, reduction| {
        GaussianNllLoss { reduction, ..Default::default() }.forward(&x[0], &x[1], &x[2])
    });
    reduced(&r, "gaussian_full", &["x", "y", "var_row"], |x, _, reduction| {
        GaussianNllLoss { reduction, full: true, ..Default::default() }.forward(&x[0], &x[1], &x[2])
    });
    reduced(&r, "gaussian_tiny", &["near", "var_tiny"], |x, _, reduction| {
        let loss = GaussianNllLoss { reduction, eps: 1e-4, ..Default::default() };
        loss.forward(&x[0], &x[0].detach().zeros_like(), &x[1])
    });
}

#[test]
fn distances() {
    let r = reference();
    reduced(&r, "hinge", &["kx"], |x, i, reduction| {
        HingeEmbeddingLoss { reduction, ..Default::default() }.forward(&x[0], &i.get("signs"))
    });
    reduced(&r, "hinge_margin", &["x"], |x, i, reduction| {
        HingeEmbeddingLoss { reduction, margin: 0.7 }.forward(&x[0], &i.get("signs"))
    });
    reduced(&r, "ranking", &["kx", "ky"], |x, i, reduction| {
        MarginRankingLoss { reduction, ..Default::default() }.forward(&x[0], &x[1], &i.get("signs"))
    });
    reduced(&r, "ranking_margin", &["a", "p"], |x, i, reduction| {
        MarginRankingLoss { reduction, margin: 0.5 }.forward(&x[0], &x[1], &i.get("signs"))
    });
    let triplet = |options: TripletMarginLoss| {
        move |x: &[Tensor], _: &Inputs, reduction| {
            TripletMarginLoss { reduction, ..options.clone() }.forward(&x[0], &x[1], &x[2])
        }
    };
    let inputs = &["a", "p", "n"];
    let defaults = TripletMarginLoss::default;
    reduced(&r, "triplet", inputs, triplet(defaults()));
    reduced(&r, "triplet_swap", inputs, triplet(TripletMarginLoss { swap: true, margin: 2.0, ..defaults() }));
    reduced(&r, "triplet_p", inputs, triplet(TripletMarginLoss { p: 3.0, margin: 3.0, ..defaults() }));
    reduced(&r, "triplet_p1", inputs, triplet(TripletMarginLoss { p: 1.0, ..defaults() }));
    reduced(&r, "cosine", &["a", "p"], |x, i, reduction| {
        CosineEmbeddingLoss { reduction, ..Default::default() }.forward(&x[0], &x[1], &i.get("signs1"))
    });
    reduced(&r, "cosine_margin", &["a", "n"], |x, i, reduction| {
        CosineEmbeddingLoss { reduction, margin: -0.5 }.forward(&x[0], &x[1], &i.get("signs1"))
    });
}

#[test]
fn margins() {
    let r = reference();
    reduced(&r, "multi_margin", &["kx"], |x, i, reduction| {
        MultiMarginLoss { reduction, ..Default::default() }.forward(&x[0], &i.get("labels"))
    });
    reduced(&r, "multi_margin_p2", &["x"], |x, i, reduction| {
        let loss = MultiMarginLoss { p: 2, margin: 0.5, weight: Some(i.get("weight")), reduction };
        loss.forward(&x[0], &i.get("labels"))
    });
    r.case("multi_margin_1", &["x1"], |x, i| MultiMarginLoss::default().forward(&x[0], &i.get("label1")));
    reduced(&r, "multilabel_margin", &["x"], |x, i, reduction| {
        MultiLabelMarginLoss { reduction }.forward(&x[0], &i.get("lists"))
    });
    r.case("multilabel_margin_1", &["x1"], |x, i| {
        MultiLabelMarginLoss::default().forward(&x[0], &i.get("list1"))
    });
    reduced(&r, "multilabel_soft_margin", &["x"], |x, i, reduction| {
        MultiLabelSoftMarginLoss { reduction, weight: None }.forward(&x[0], &i.get("bits"))
    });
    reduced(&r, "multilabel_soft_margin_weighted", &["x"], |x, i, reduction| {
        let loss = MultiLabelSoftMarginLoss { reduction, weight: Some(i.get("weight")) };
        loss.forward(&x[0], &i.get("bits"))
    });
    reduced(&r, "soft_margin", &["x"], |x, i, reduction| {
        SoftMarginLoss { reduction }.forward(&x[0], &i.get("signs"))
    });
}

#[test]
fn ctc() {
    let r = reference();
    let loss = |x: &Tensor, targets: &Tensor, lengths: (&[usize], &[usize]), options: CtcLoss| {
        options.forward(&x.log_softmax(-1), targets, lengths.0, lengths.1)
    };
    let with = |reduction| CtcLoss { reduction, ..Default::default() };
    let all: (&[usize], &[usize]) = (&[12, 12, 12], &[4, 2, 3]);
    let short: (&[usize], &[usize]) = (&[12, 1, 2], &[4, 2, 3]);
    reduced(&r, "ctc_all", &["ctc"], |x, i, reduction| {
        loss(&x[0], &i.get("ctc_targets"), all, with(reduction))
    });
    reduced(&r, "ctc_joined", &["ctc"], |x, i, reduction| {
        loss(&x[0], &i.get("ctc_joined"), all, with(reduction))
    });
    reduced(&r, "ctc_some", &["ctc"], |x, i, reduction| {
        loss(&x[0], &i.get("ctc_targets"), (&[12, 7, 9], &[3, 0, 3]), with(reduction))
    });
    reduced(&r, "ctc_zero_infinity", &["ctc"], |x, i, reduction| {
        loss(&x[0], &i.get("ctc_targets"), short, CtcLoss { zero_infinity: true, ..with(reduction) })
    });
    reduced(&r, "ctc_blank", &["ctc"], |x, i, reduction| {
        loss(&x[0], &i.get("ctc_blank"), (&[12, 10, 8], &[3, 3, 2]), CtcLoss { blank: 4, ..with(reduction) })
    });
    reduced(&r, "ctc_1", &["ctc1"], |x, i, reduction| {
        loss(&x[0], &i.get("ctc1_targets"), (&[6], &[2]), with(reduction))
    });
    r.case("ctc_infinite", &[], |_, i| {
        loss(&i.get("ctc"), &i.get("ctc_targets"), short, with(Reduction::None))
    });
}

/// PyTorch has no second derivative of CTC; finite differences do.
#[test]
fn ctc_has_second_derivatives() {
    use flambeau::autograd::{GradcheckOptions, gradcheck_blocking, gradgradcheck_blocking};
    let device = Device::cpu();
    let x = Tensor::randn([4, 2, 3], &Generator::new(3), (DType::F64, &device)).requires_grad();
    let targets = Tensor::new([[1, 2], [2, 0]], &device);
    let loss =
        move |x: &[Tensor]| CtcLoss::default().forward(&x[0].log_softmax(2), &targets, &[4, 3], &[2, 1]);
    let options = GradcheckOptions::default();
    gradcheck_blocking(&loss, std::slice::from_ref(&x), options).unwrap();
    gradgradcheck_blocking(&loss, &[x], options).unwrap();
}

/// A class that does not exist is the device's index fault, unless it is the one to ignore.
#[test]
fn bad_classes_are_errors() {
    for device in [Device::cpu(), crate::common::new_gpu(flambeau::GpuConfig::default())] {
        let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        for bad in [2, -1, 100] {
            let loss = x.cross_entropy(&Tensor::new([0, bad], &device));
            let error = flambeau::block_on(loss.item()).unwrap_err();
            assert!(matches!(error, Error::IndexOutOfRange { .. }), "{error}");
            device.clear_fault().unwrap();
        }
        let loss = x.cross_entropy(&Tensor::new([0, -100], &device));
        assert_close(&values(&loss), &[1.0 + (-1f64).exp().ln_1p()], 1e-6, 1e-6);
    }
}

#[test]
fn wrong_shapes_and_dtypes_are_errors() {
    for device in devices() {
        let x = Tensor::zeros([4, 3], &device);
        let message = |result: Result<Tensor>| result.unwrap_err().to_string();
        let shapes = message(x.try_cross_entropy(&Tensor::zeros([3], (DType::I32, &device))));
        assert!(shapes.contains("[3]") && shapes.contains("[4, 3]"), "{shapes}");
        let dtype = message(x.try_nll_loss(&Tensor::zeros([4], &device)));
        assert!(dtype.contains("nll_loss") && dtype.contains("f32"), "{dtype}");
        assert!(message(x.try_mse_loss(&Tensor::zeros([5], &device))).contains("mse_loss"));
        assert!(message(x.try_binary_cross_entropy(&Tensor::zeros([4], &device))).contains("[4]"));
        let integers = Tensor::zeros([4, 3], (DType::I32, &device));
        assert!(message(integers.try_l1_loss(&x)).contains("i32"));
    }
}

#[test]
fn every_case_is_checked() {
    reference().all_named_in(include_str!("loss.rs"), &["_batchmean", "_mean", "_sum", "_none"]);
}
