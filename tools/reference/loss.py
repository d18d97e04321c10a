"""Writes what PyTorch gives for the cases of crates/flambeau/tests/values/loss.rs.

Run: /usr/bin/python3 tools/reference/loss.py crates/flambeau/tests/data/loss.safetensors
"""

import sys

import torch
import torch.nn.functional as F
from cases import DOUBLE, Cases

torch.manual_seed(1)


def draw(*shape):
    return torch.randn(*shape).to(DOUBLE)


def kinks(*shape):
    """Numbers that lie on a grid of halves, so that some differences are exactly at a kink."""
    return (draw(*shape) * 2).round() / 2


x = {
    "x": draw(4, 5),
    "x3": draw(2, 3, 4),
    "x1": draw(5),
    "huge": torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, 3.0], [2.0, 1e4, 1e4]], dtype=DOUBLE),
    "huge_labels": torch.tensor([1, 0, 2]),
    "labels": torch.tensor([1, 4, 0, 4]),
    "ignored": torch.tensor([1, -100, 0, 4]),
    "labels3": torch.tensor([[0, 2, 1, -100], [2, 2, 0, 1]]),
    "label1": torch.tensor(3),
    "probabilities": torch.softmax(draw(4, 5), 1).float().to(DOUBLE),
    "probabilities3": torch.softmax(draw(2, 3, 4), 1).float().to(DOUBLE),
    "weight": (draw(5).abs() + 0.1).float().to(DOUBLE),
    "weight3": (draw(3).abs() + 0.1).float().to(DOUBLE),
    "y": draw(4, 5),
    "kx": kinks(4, 5),
    "ky": kinks(4, 5),
    "unit": torch.rand(4, 5).to(DOUBLE) * 0.9 + 0.05,
    "edges": torch.tensor([0.0, 1.0, 0.0, 1.0, 0.25], dtype=DOUBLE),
    "edge_targets": torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0], dtype=DOUBLE),
    "target01": torch.rand(4, 5).to(DOUBLE),
    "bits": (torch.rand(4, 5) > 0.5).to(DOUBLE),
    "signs": torch.sign(draw(4, 5)),
    "signs1": torch.tensor([1.0, -1.0, -1.0, 1.0], dtype=DOUBLE),
    "huge1": torch.tensor([1e4, -1e4, 1e4, -1e4, 30.0, -30.0], dtype=DOUBLE),
    "huge_bits": torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 0.0], dtype=DOUBLE),
    "sparse": torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], dtype=DOUBLE),
    "logs": torch.log_softmax(draw(2, 3), 1).float().to(DOUBLE),
    "a": draw(4, 5),
    "p": draw(4, 5),
    "n": draw(4, 5),
    "lists": torch.tensor([[3, 0, -1, 1, 2], [4, 4, 1, 0, -1], [-1, 0, 1, 2, 3], [0, 1, 2, 3, 4]]),
    "list1": torch.tensor([2, 1, -1, 0, 0]),
    "counts": torch.tensor([[0.0, 1.0, 2.0, 5.0, 1.5], [3.0, 0.0, 0.5, 1.0, 9.0], [1.0, 1.0, 4.0, 2.0, 0.0],
                            [0.0, 7.0, 1.0, 1.0, 2.0]], dtype=DOUBLE),
    "rates": (draw(4, 5).abs() + 0.1).float().to(DOUBLE),
    "var": (draw(4, 5).abs() + 0.1).float().to(DOUBLE),
    "var_tiny": torch.tensor([[0.5], [1e-7], [2.0], [0.25]], dtype=DOUBLE),
    "var_row": (draw(4).abs() + 0.1).float().to(DOUBLE),
    "near": draw(4, 5) * 1e-4,
    "ctc": draw(12, 3, 5),
    "ctc_targets": torch.tensor([[1, 2, 2, 4], [3, 1, 0, 0], [4, 4, 4, 0]]),
    "ctc_joined": torch.tensor([1, 2, 2, 4, 3, 1, 4, 4, 4]),
    "ctc1": draw(6, 4),
    "ctc1_targets": torch.tensor([1, 3]),
    "ctc_blank": torch.tensor([[1, 2, 0], [3, 1, 1], [2, 2, 3]]),
}
x["near"] = x["near"].float().to(DOUBLE)
x["unit"] = x["unit"].float().to(DOUBLE)
cases = Cases(x)
add = cases.add

REDUCTIONS = ("mean", "sum", "none")

# Cross entropy and negative log likelihood.
for reduction in REDUCTIONS:
    for name, target in (("labels", "labels"), ("ignored", "ignored")):
        for weighted, weight in (("", None), ("_weighted", x["weight"])):
            case = f"{name}{weighted}_{reduction}"
            kw = dict(weight=weight, reduction=reduction)
            add(f"ce_{case}", lambda v, t=target, kw=kw: F.cross_entropy(v, x[t], **kw), "x", second=True)
            add(f"nll_{case}", lambda v, t=target, kw=kw: F.nll_loss(v, x[t], **kw), "x")
            add(f"ce_smooth_{case}", lambda v, t=target, kw=kw: F.cross_entropy(v, x[t], label_smoothing=0.2, **kw), "x")
    kw = dict(reduction=reduction)
    add(f"ce_3_{reduction}", lambda v, kw=kw: F.cross_entropy(v, x["labels3"], weight=x["weight3"], **kw), "x3")
    add(f"nll_3_{reduction}", lambda v, kw=kw: F.nll_loss(v, x["labels3"], weight=x["weight3"], **kw), "x3")
    add(f"ce_smooth_3_{reduction}",
        lambda v, kw=kw: F.cross_entropy(v, x["labels3"], weight=x["weight3"], label_smoothing=0.3, **kw), "x3")
    add(f"ce_soft_{reduction}", lambda v, t, kw=kw: F.cross_entropy(v, t, **kw), "x", "probabilities", second=True)
    add(f"ce_soft_weighted_{reduction}",
        lambda v, t, kw=kw: F.cross_entropy(v, t, weight=x["weight"], label_smoothing=0.1, **kw), "x", "probabilities")
    add(f"ce_soft_3_{reduction}",
        lambda v, t, kw=kw: F.cross_entropy(v, t, weight=x["weight3"], label_smoothing=0.1, **kw), "x3", "probabilities3")
    add(f"ce_huge_{reduction}", lambda v, kw=kw: F.cross_entropy(v, x["huge_labels"], **kw), "huge")
add("ce_1", lambda v: F.cross_entropy(v, x["label1"]), "x1")
add("nll_1", lambda v: F.nll_loss(v, x["label1"]), "x1")
add("ce_ignore_4", lambda v: F.cross_entropy(v, x["labels"], ignore_index=4), "x")
add("ce_huge_soft", lambda v: F.cross_entropy(v, torch.full((3, 3), 1 / 3, dtype=DOUBLE)), "huge")

# Binary.
for reduction in REDUCTIONS:
    kw = dict(reduction=reduction)
    add(f"bce_{reduction}", lambda v, t, kw=kw: F.binary_cross_entropy(v, t, **kw), "unit", "target01")
    add(f"bce_weighted_{reduction}",
        lambda v, kw=kw: F.binary_cross_entropy(v, x["bits"], weight=x["weight"], **kw), "unit", second=True)
    add(f"bce_logits_{reduction}",
        lambda v, t, kw=kw: F.binary_cross_entropy_with_logits(v, t, **kw), "x", "target01", second=True)
    add(f"bce_logits_weighted_{reduction}",
        lambda v, t, kw=kw: F.binary_cross_entropy_with_logits(v, t, weight=x["weight"], pos_weight=x["weight"], **kw),
        "x", "target01")
add("bce_edges", lambda v: F.binary_cross_entropy(v, x["edge_targets"], reduction="none"), "edges")
add("bce_logits_huge", lambda v: F.binary_cross_entropy_with_logits(v, x["huge_bits"], reduction="none"), "huge1")

# Numbers.
for reduction in REDUCTIONS:
    kw = dict(reduction=reduction)
    add(f"mse_{reduction}", lambda v, t, kw=kw: F.mse_loss(v, t, **kw), "x", "y", second=True)
    add(f"l1_{reduction}", lambda v, t, kw=kw: F.l1_loss(v, t, **kw), "kx", "ky")
    add(f"smooth_l1_{reduction}", lambda v, t, kw=kw: F.smooth_l1_loss(v, t, **kw), "kx", "ky")
    add(f"smooth_l1_beta_{reduction}", lambda v, t, kw=kw: F.smooth_l1_loss(v, t, beta=0.5, **kw), "x", "y", second=True)
    add(f"smooth_l1_zero_{reduction}", lambda v, t, kw=kw: F.smooth_l1_loss(v, t, beta=0.0, **kw), "x", "y")
    add(f"huber_{reduction}", lambda v, t, kw=kw: F.huber_loss(v, t, **kw), "kx", "ky")
    add(f"huber_delta_{reduction}", lambda v, t, kw=kw: F.huber_loss(v, t, delta=1.5, **kw), "x", "y", second=True)

# Distributions.
for reduction in REDUCTIONS + ("batchmean",):
    kw = dict(reduction=reduction)
    add(f"kl_{reduction}", lambda v, t, kw=kw: F.kl_div(v, t, **kw), "x", "probabilities", second=True)
    add(f"kl_sparse_{reduction}", lambda v, kw=kw: F.kl_div(v, x["sparse"], **kw), "logs")
    add(f"kl_log_{reduction}", lambda v, t, kw=kw: F.kl_div(v, t, log_target=True, **kw), "x", "y", second=True)
for reduction in REDUCTIONS:
    kw = dict(reduction=reduction)
    add(f"poisson_{reduction}", lambda v, kw=kw: F.poisson_nll_loss(v, x["counts"], **kw), "x")
    add(f"poisson_rates_{reduction}", lambda v, kw=kw: F.poisson_nll_loss(v, x["counts"], log_input=False, **kw), "rates")
    add(f"poisson_full_{reduction}", lambda v, kw=kw: F.poisson_nll_loss(v, x["counts"], full=True, **kw), "x")
    add(f"gaussian_{reduction}", lambda v, t, s, kw=kw: F.gaussian_nll_loss(v, t, s, **kw), "x", "y", "var", second=True)
    add(f"gaussian_full_{reduction}",
        lambda v, t, s, kw=kw: F.gaussian_nll_loss(v, t, s, full=True, **kw), "x", "y", "var_row")
    add(f"gaussian_tiny_{reduction}",
        lambda v, s, kw=kw: F.gaussian_nll_loss(v, torch.zeros_like(v), s, eps=1e-4, **kw), "near", "var_tiny")

# Distances and margins.
for reduction in REDUCTIONS:
    kw = dict(reduction=reduction)
    add(f"hinge_{reduction}", lambda v, kw=kw: F.hinge_embedding_loss(v, x["signs"], **kw), "kx")
    add(f"hinge_margin_{reduction}", lambda v, kw=kw: F.hinge_embedding_loss(v, x["signs"], margin=0.7, **kw), "x")
    add(f"ranking_{reduction}", lambda a, b, kw=kw: F.margin_ranking_loss(a, b, x["signs"], **kw), "kx", "ky")
    add(f"ranking_margin_{reduction}",
        lambda a, b, kw=kw: F.margin_ranking_loss(a, b, x["signs"], margin=0.5, **kw), "a", "p")
    add(f"triplet_{reduction}", lambda a, p, n, kw=kw: F.triplet_margin_loss(a, p, n, **kw), "a", "p", "n")
    add(f"triplet_swap_{reduction}",
        lambda a, p, n, kw=kw: F.triplet_margin_loss(a, p, n, swap=True, margin=2.0, **kw), "a", "p", "n")
    add(f"triplet_p_{reduction}", lambda a, p, n, kw=kw: F.triplet_margin_loss(a, p, n, p=3, margin=3.0, **kw), "a", "p", "n")
    add(f"triplet_p1_{reduction}", lambda a, p, n, kw=kw: F.triplet_margin_loss(a, p, n, p=1, **kw), "a", "p", "n")
    add(f"cosine_{reduction}",
        lambda a, b, kw=kw: F.cosine_embedding_loss(a, b, x["signs1"], **kw), "a", "p")
    add(f"cosine_margin_{reduction}",
        lambda a, b, kw=kw: F.cosine_embedding_loss(a, b, x["signs1"], margin=-0.5, **kw), "a", "n")
    add(f"multi_margin_{reduction}", lambda v, kw=kw: F.multi_margin_loss(v, x["labels"], **kw), "kx")
    add(f"multi_margin_p2_{reduction}",
        lambda v, kw=kw: F.multi_margin_loss(v, x["labels"], p=2, margin=0.5, weight=x["weight"], **kw), "x")
    add(f"multilabel_margin_{reduction}", lambda v, kw=kw: F.multilabel_margin_loss(v, x["lists"], **kw), "x")
    add(f"multilabel_soft_margin_{reduction}",
        lambda v, kw=kw: F.multilabel_soft_margin_loss(v, x["bits"], **kw), "x")
    add(f"multilabel_soft_margin_weighted_{reduction}",
        lambda v, kw=kw: F.multilabel_soft_margin_loss(v, x["bits"], weight=x["weight"], **kw), "x")
    add(f"soft_margin_{reduction}", lambda v, kw=kw: F.soft_margin_loss(v, x["signs"], **kw), "x", second=True)
add("multi_margin_1", lambda v: F.multi_margin_loss(v, x["label1"]), "x1")
add("multilabel_margin_1", lambda v: F.multilabel_margin_loss(v, x["list1"]), "x1")

# CTC: through log_softmax, since PyTorch's gradient takes it for granted.
LENGTHS = dict(all=([12, 12, 12], [4, 2, 3]), some=([12, 7, 9], [3, 0, 3]), short=([12, 1, 2], [4, 2, 3]))


def ctc(v, targets, lengths, **kw):
    steps, labels = lengths
    return F.ctc_loss(torch.log_softmax(v, -1), targets, torch.tensor(steps), torch.tensor(labels), **kw)


for reduction in REDUCTIONS:
    kw = dict(reduction=reduction)
    add(f"ctc_all_{reduction}", lambda v, kw=kw: ctc(v, x["ctc_targets"], LENGTHS["all"], **kw), "ctc")
    add(f"ctc_some_{reduction}", lambda v, kw=kw: ctc(v, x["ctc_targets"], LENGTHS["some"], **kw), "ctc")
    add(f"ctc_joined_{reduction}", lambda v, kw=kw: ctc(v, x["ctc_joined"], LENGTHS["all"], **kw), "ctc")
    add(f"ctc_zero_infinity_{reduction}",
        lambda v, kw=kw: ctc(v, x["ctc_targets"], LENGTHS["short"], zero_infinity=True, **kw), "ctc")
    add(f"ctc_blank_{reduction}",
        lambda v, kw=kw: ctc(v, x["ctc_blank"], ([12, 10, 8], [3, 3, 2]), blank=4, **kw), "ctc")
    add(f"ctc_1_{reduction}",
        lambda v, kw=kw: F.ctc_loss(torch.log_softmax(v, -1), x["ctc1_targets"], torch.tensor(6), torch.tensor(2), **kw), "ctc1")
add("ctc_infinite", lambda: ctc(x["ctc"], x["ctc_targets"], LENGTHS["short"], reduction="none"))

cases.write(sys.argv[1])
