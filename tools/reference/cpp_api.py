"""Writes what PyTorch gives for the cases of crates/flambeau/tests/pytorch/{functional,modules}.rs.

Run with PyTorch 2.2: python tools/reference/cpp_api.py crates/flambeau/tests/data/cpp_api.safetensors
"""

import sys

import torch
import torch.nn.functional as F
from cases import DOUBLE, Cases

torch.manual_seed(5)


def draw(*shape):
    return torch.randn(*shape).float().to(DOUBLE)


x = {
    "line": draw(2, 3, 7),
    "image": draw(2, 3, 6, 5),
    "even": draw(1, 2, 6, 6),
    "box": draw(1, 2, 5, 4, 6),
    "w1": draw(2, 3, 3),
    "w2": draw(2, 3, 3, 3),
    "w2u": draw(2, 3, 3, 2),
    "w3": draw(3, 2, 2, 3, 2),
    "b2": draw(2),
    "b3": draw(3),
    "t1": draw(3, 2, 3),
    "t2": draw(3, 2, 3, 3),
    "t2u": draw(3, 2, 3, 2),
    "t3": draw(2, 3, 2, 3, 2),
    "a": draw(4, 5),
    "b": draw(4, 5),
    "c": draw(4, 5),
    "positive": (draw(4, 5).abs() + 0.1).float().to(DOUBLE),
    "unit": torch.rand(4, 5).float().to(DOUBLE) * 0.8 + 0.1,
    "targets01": torch.rand(4, 5).float().to(DOUBLE),
    "signs": torch.where(draw(4, 5) > 0, 1.0, -1.0).to(DOUBLE),
    "sign4": torch.tensor([1.0, -1.0, -1.0, 1.0], dtype=DOUBLE),
    "flags": (draw(4, 5) > 0).to(DOUBLE),
    "classes": torch.tensor([1, 0, 4, 2]),
    "many": torch.tensor([[3, 0, -1, 1, 2], [0, -1, 1, 2, 3], [4, 1, 0, -1, 2], [-1, 1, 2, 3, 4]]),
    "weight5": (draw(5).abs() + 0.1).float().to(DOUBLE),
    "w5": draw(5),
    "b5": draw(5),
    "w_linear": draw(3, 5),
    "slope": draw(3),
    "w3c": draw(3),
    "b3c": draw(3),
    "mean3": draw(3),
    "var3": draw(3).abs() + 0.5,
    "left": draw(4, 2),
    "right": draw(4, 3),
    "w_bi": draw(5, 2, 3),
    "table": draw(6, 3),
    "indices": torch.tensor([[1, 4, 1], [0, 5, 2]]),
    "columns": draw(1, 12, 20),
    "theta": draw(2, 2, 3) * 0.5,
    "theta3": draw(1, 3, 4) * 0.4,
    "grid": draw(2, 4, 3, 2) * 0.8,
    "grid3": draw(1, 2, 3, 2, 3) * 0.8,
    "logits": draw(6, 2, 5),
    "ctc_targets": torch.tensor([[1, 2, 2], [3, 1, 4]]),
    "pixels": draw(1, 8, 2, 3),
    "packed": draw(1, 2, 4, 6),
    "samples2": torch.rand(2, 3, 2).float().to(DOUBLE),
    "samples3": torch.rand(1, 2, 3).float().to(DOUBLE),
}
for name, value in x.items():
    if value.dtype == DOUBLE:
        x[name] = value.float().to(DOUBLE)
cases = Cases(x)
add = cases.add

# Convolutions.
add("conv1d", lambda v, w, b: F.conv1d(v, w, b, stride=2), "line", "w1", "b2")
add("conv1d_same", lambda v, w, b: F.conv1d(v, w, b, padding="same"), "line", "w1", "b2")
add("conv2d_even", lambda v, w, b: F.conv2d(v, w, b, stride=2), "image", "w2", "b2")
add("conv2d_uneven", lambda v, w, b: F.conv2d(v, w, b, stride=2), "image", "w2u", "b2")
add("conv3d", lambda v, w, b: F.conv3d(v, w, b, stride=2), "box", "w3", "b3")
add("conv_transpose1d", lambda v, w, b: F.conv_transpose1d(v, w, b, stride=2), "line", "t1", "b2")
add("conv_transpose2d_even", lambda v, w, b: F.conv_transpose2d(v, w, b, stride=2), "image", "t2", "b2")
add("conv_transpose2d_uneven", lambda v, w, b: F.conv_transpose2d(v, w, b, stride=2), "image", "t2u", "b2")
add("conv_transpose3d", lambda v, w, b: F.conv_transpose3d(v, w, b, stride=2), "box", "t3", "b3")

# Pooling.
for kind, function in {"max": [F.max_pool1d, F.max_pool2d, F.max_pool3d], "avg": [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d]}.items():
    for n, (call, given) in enumerate(zip(function, ["line", "image", "box"])):
        add(f"{kind}_pool{n + 1}d", lambda v, call=call: call(v, 3, stride=2), given)
add("max_pool2d_uneven", lambda v: F.max_pool2d(v, (3, 2), stride=(2, 2)), "image")
add("avg_pool2d_uneven", lambda v: F.avg_pool2d(v, (3, 2), stride=(2, 2)), "image")
add("avg_pool2d_divisor", lambda v: F.avg_pool2d(v, 3, stride=2, padding=1, divisor_override=5), "image")
for n, given in enumerate(["line", "image", "box"]):
    call = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n]
    add(f"max_pool{n + 1}d_indices", lambda call=call, given=given: call(x[given], 3, stride=2, return_indices=True)[1])
    size = [(3,), (3, 2), (2, 3, 2)][n]
    adaptive = [F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d][n]
    add(f"adaptive_max_pool{n + 1}d", lambda v, c=adaptive, s=size: c(v, s), given)
    add(f"adaptive_max_pool{n + 1}d_indices", lambda c=adaptive, s=size, g=given: c(x[g], s, return_indices=True)[1])
    adaptive = [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d][n]
    add(f"adaptive_avg_pool{n + 1}d", lambda v, c=adaptive, s=size: c(v, s), given)
add("adaptive_max_pool2d_even", lambda v: F.adaptive_max_pool2d(v, 3), "image")
add("adaptive_max_pool2d_even_indices", lambda: F.adaptive_max_pool2d(x["image"], 3, return_indices=True)[1])
add("adaptive_avg_pool2d_even", lambda v: F.adaptive_avg_pool2d(v, 3), "image")
add("lp_pool1d", lambda v: F.lp_pool1d(v, 2, 3, stride=2), "line")
add("lp_pool2d", lambda v: F.lp_pool2d(v, 2, 3, stride=2), "image")
add("lp_pool3d", lambda v: (F.avg_pool3d(v.pow(2), 3, stride=2) * 27).sqrt(), "box")


def fractional(v, samples, sizes, indices=False):
    call = F.fractional_max_pool2d if v.dim() == 4 else F.fractional_max_pool3d
    return call(v, 2, output_size=sizes, return_indices=True, _random_samples=samples)[1 if indices else 0]


add("fractional_max_pool2d", lambda v: fractional(v, x["samples2"], (3, 2)), "image")
add("fractional_max_pool2d_indices", lambda: fractional(x["image"], x["samples2"], (3, 2), True))
add("fractional_max_pool3d", lambda v: fractional(v, x["samples3"], (3, 2, 4)), "box")
add("fractional_max_pool3d_indices", lambda: fractional(x["box"], x["samples3"], (3, 2, 4), True))


def unpooled(v, n, stride):
    pool = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
    back = [F.max_unpool1d, F.max_unpool2d, F.max_unpool3d][n - 1]
    values, indices = pool(v, 2, stride=stride, return_indices=True)
    return back(values, indices, 2, stride=stride)


add("max_unpool1d", lambda v: unpooled(v, 1, 2), "line")
add("max_unpool2d", lambda v: unpooled(v, 2, 2), "even")
add("max_unpool3d", lambda v: unpooled(v, 3, 2), "box")

# Distances.
add("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, dim=1), "a", "b")
add("pairwise_distance", lambda a, b: F.pairwise_distance(a, b, p=1), "a", "b")
add("pdist", lambda v: F.pdist(v), "a")
add("pdist_1", lambda v: F.pdist(v, p=1), "a")
add("pdist_inf", lambda v: F.pdist(v, p=float("inf")), "a")
add("normalize", lambda v: F.normalize(v, p=1, dim=-1), "a")

# Losses.
add("smooth_l1_loss", lambda a, b: F.smooth_l1_loss(a, b), "a", "b")
add("smooth_l1_loss_beta", lambda a, b: F.smooth_l1_loss(a, b, beta=0.5), "a", "b")
add("smooth_l1_loss_none", lambda a, b: F.smooth_l1_loss(a, b, reduction="none"), "a", "b")
add("huber_loss", lambda a, b: F.huber_loss(a, b), "a", "b")
add("huber_loss_delta", lambda a, b: F.huber_loss(a, b, delta=0.5), "a", "b")
add("huber_loss_none", lambda a, b: F.huber_loss(a, b, reduction="none"), "a", "b")
add("soft_margin_loss", lambda a: F.soft_margin_loss(a, x["signs"]), "a")
add("soft_margin_loss_none", lambda a: F.soft_margin_loss(a, x["signs"], reduction="none"), "a")
add("multilabel_soft_margin_loss", lambda a: F.multilabel_soft_margin_loss(a, x["flags"]), "a")
add("multilabel_soft_margin_loss_weighted",
    lambda a: F.multilabel_soft_margin_loss(a, x["flags"], x["weight5"], reduction="none"), "a")
add("l1_loss", lambda a, b: F.l1_loss(a, b), "a", "b")
add("mse_loss", lambda a, b: F.mse_loss(a, b), "a", "b")
add("bce_loss", lambda a: F.binary_cross_entropy(a, x["targets01"]), "unit")
add("kl_div_loss", lambda a: F.kl_div(a, x["targets01"], reduction="none"), "a")
add("kl_div_loss_batchmean", lambda a: F.kl_div(a, x["targets01"], reduction="batchmean"), "a")
add("hinge_embedding_loss", lambda a: F.hinge_embedding_loss(a, x["signs"], margin=2.0), "a")
add("multi_margin_loss", lambda a: F.multi_margin_loss(a, x["classes"], margin=2.0, weight=x["weight5"]), "a")
add("cosine_embedding_loss", lambda a, b: F.cosine_embedding_loss(a, b, x["sign4"], margin=0.5), "a", "b")
add("multilabel_margin_loss", lambda a: F.multilabel_margin_loss(a, x["many"]), "a")
add("multilabel_margin_loss_none", lambda a: F.multilabel_margin_loss(a, x["many"], reduction="none"), "a")
add("triplet_margin_loss", lambda a, b, c: F.triplet_margin_loss(a, b, c, margin=1.5), "a", "b", "c")
add("triplet_margin_loss_swap", lambda a, b, c: F.triplet_margin_loss(a, b, c, margin=2.5, swap=True), "a", "b", "c")
add("triplet_margin_with_distance_loss",
    lambda a, b, c: F.triplet_margin_with_distance_loss(a, b, c, distance_function=lambda p, q: 1 - F.cosine_similarity(p, q)),
    "a", "b", "c")
add("nll_loss", lambda a: F.nll_loss(a, x["classes"], weight=x["weight5"], ignore_index=4), "a")
add("cross_entropy", lambda a: F.cross_entropy(a, x["classes"], ignore_index=2), "a")
add("cross_entropy_smoothed", lambda a: F.cross_entropy(a, x["classes"], label_smoothing=0.15, reduction="mean"), "a")
add("cross_entropy_probabilities", lambda a: F.cross_entropy(a, x["targets01"]), "a")
add("ctc_loss",
    lambda a: F.ctc_loss(a.log_softmax(2), x["ctc_targets"], torch.tensor([6, 5]), torch.tensor([3, 2]), reduction="none"),
    "logits")
add("poisson_nll_loss", lambda a: F.poisson_nll_loss(a, x["positive"]), "a")
add("poisson_nll_loss_full", lambda a: F.poisson_nll_loss(a, x["positive"], full=True, log_input=False, eps=1e-6), "unit")
add("margin_ranking_loss", lambda a, b: F.margin_ranking_loss(a, b, x["signs"], margin=0.5), "a", "b")
add("bce_with_logits_loss",
    lambda a: F.binary_cross_entropy_with_logits(a, x["targets01"], weight=x["weight5"], pos_weight=x["weight5"] * 2), "a")

# Activations.
for name, call in {
    "elu": lambda v: F.elu(v, 1.5), "selu": F.selu, "glu": lambda v: F.glu(v[:, :4], 1), "gelu": F.gelu,
    "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"), "hardshrink": lambda v: F.hardshrink(v, 0.42),
    "hardtanh": lambda v: F.hardtanh(v, -0.42, 0.84), "leaky_relu": lambda v: F.leaky_relu(v, 0.42), "logsigmoid": F.logsigmoid,
    "softmax": lambda v: F.softmax(v, 1), "softmin": lambda v: F.softmin(v, 1), "log_softmax": lambda v: F.log_softmax(v, 1),
    "relu": F.relu, "relu6": F.relu6, "rrelu": lambda v: F.rrelu(v, 0.24, 0.42, training=False), "celu": lambda v: F.celu(v, 1.5),
    "softplus": lambda v: F.softplus(v, 2.0, 1.5), "softshrink": lambda v: F.softshrink(v, 0.42), "softsign": F.softsign,
    "mish": F.mish, "tanhshrink": F.tanhshrink, "threshold": lambda v: F.threshold(v, 0.42, 24.0), "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}.items():
    add(name, call, "a")
add("prelu", lambda v, w: F.prelu(v, w), "image", "slope")
add("softmax2d", lambda v: F.softmax(v, 1), "image")

# Norms.
add("layer_norm", lambda v, w, b: F.layer_norm(v, (5,), w, b, 2e-5), "a", "w5", "b5")
add("group_norm", lambda v, w, b: F.group_norm(v, 3, w, b, 2e-5), "image", "w3c", "b3c")
add("local_response_norm", lambda v: F.local_response_norm(v, 2), "image")
add("cross_map_lrn", lambda v: F.local_response_norm(v, 3, alpha=0.5, beta=0.6, k=1.5), "image")
for n, given in enumerate(["line", "image", "box"]):
    c = 2 if n == 2 else 3
    add(f"batch_norm{n + 1}d", lambda v, w, b, c=c: F.batch_norm(
        v, x["mean3"][:c], x["var3"][:c], w[:c], b[:c], eps=1e-3), given, "w3c", "b3c")
    add(f"batch_norm{n + 1}d_default", lambda v, c=c: F.batch_norm(v, x["mean3"][:c], x["var3"][:c]), given)
    add(f"batch_norm{n + 1}d_training", lambda v: F.batch_norm(v, None, None, training=True), given)
    add(f"instance_norm{n + 1}d", lambda v, w, b, c=c: F.instance_norm(v, weight=w[:c], bias=b[:c], eps=1e-3), given, "w3c", "b3c")
    add(f"instance_norm{n + 1}d_default", lambda v: F.instance_norm(v), given)

# Linear maps and embeddings.
add("linear", lambda v, w, b: F.linear(v, w, b), "a", "w_linear", "b3c")
add("bilinear", lambda a, b, w, c: F.bilinear(a, b, w, c), "left", "right", "w_bi", "b5")
add("embedding", lambda t: F.embedding(x["indices"], t), "table")
add("embedding_padding", lambda t: F.embedding(x["indices"], t, padding_idx=1), "table")
add("embedding_by_frequency", lambda t: F.embedding(x["indices"], t, scale_grad_by_freq=True), "table")
add("embedding_max_norm", lambda: F.embedding(x["indices"], x["table"].clone(), max_norm=1.0))
for mode in ["sum", "mean", "max"]:
    add(f"embedding_bag_{mode}", lambda t, mode=mode: F.embedding_bag(x["indices"], t, mode=mode), "table")

# Places.
add("pixel_shuffle", lambda v: F.pixel_shuffle(v, 2), "pixels")
add("pixel_unshuffle", lambda v: F.pixel_unshuffle(v, 2), "packed")
add("fold", lambda v: F.fold(v, (5, 6), 2), "columns")
add("unfold", lambda v: F.unfold(v, (3, 2), padding=1, stride=2), "image")
add("affine_grid", lambda t: F.affine_grid(t, (2, 1, 3, 4), align_corners=False), "theta")
add("affine_grid_corners", lambda t: F.affine_grid(t, (2, 1, 3, 4), align_corners=True), "theta")
add("affine_grid3", lambda t: F.affine_grid(t, (1, 1, 2, 3, 4), align_corners=False), "theta3")
for mode in ["bilinear", "nearest", "bicubic"]:
    for padding in ["zeros", "border", "reflection"]:
        for corners in [False, True]:
            add(f"grid_sample_{mode}_{padding}_{corners}", lambda v, g, m=mode, p=padding, c=corners: F.grid_sample(
                v, g, mode=m, padding_mode=p, align_corners=c), "image", "grid")
add("grid_sample3", lambda v, g: F.grid_sample(v, g, align_corners=False), "box", "grid3")
add("interpolate_nearest", lambda v: F.interpolate(v, size=(3, 7), mode="nearest"), "image")
add("interpolate_linear", lambda v: F.interpolate(v, scale_factor=2, mode="linear", align_corners=False), "line")
add("interpolate_bilinear", lambda v: F.interpolate(v, size=(4, 9), mode="bilinear", align_corners=True), "image")
add("interpolate_bicubic", lambda v: F.interpolate(v, size=(4, 9), mode="bicubic", align_corners=False), "image")
add("interpolate_trilinear", lambda v: F.interpolate(v, scale_factor=2, mode="trilinear", align_corners=True), "box")
add("interpolate_area", lambda v: F.interpolate(v, size=(3, 2), mode="area"), "image")
for n, (given, pads) in enumerate([("line", (1, 2)), ("image", (1, 2, 2, 1)), ("box", (1, 2, 2, 1, 1, 2))]):
    for mode in ["reflect", "replicate", "circular"]:
        add(f"pad_{mode}{n + 1}", lambda v, p=pads, m=mode: F.pad(v, p, mode=m), given)
    add(f"pad_constant{n + 1}", lambda v, p=pads: F.pad(v, p, value=3.5), given)
add("pad_negative", lambda v: F.pad(v, (-1, 2, 1, -2)), "image")

cases.write(sys.argv[1])
