"""Writes what PyTorch gives for the cases of crates/flambeau/tests/values/functional.rs.

Run: /usr/bin/python3 tools/reference/functional.py crates/flambeau/tests/data/functional.safetensors
"""

import sys

import torch
import torch.nn.functional as F
from cases import DOUBLE, Cases

torch.manual_seed(2)


def draw(*shape):
    return torch.randn(*shape).to(DOUBLE)


x = {
    "x": draw(3, 4, 5),
    "w5": draw(5),
    "b5": draw(5),
    "w45": draw(4, 5),
    "b45": draw(4, 5),
    "w4": draw(4),
    "b4": draw(4),
    "mean4": draw(4),
    "var4": draw(4).abs() + 0.5,
    "x2": draw(6, 4),
    "image": draw(2, 4, 3, 5),
    # Numbers at and around every kink of the activations.
    "kinks": torch.tensor([-20.0, -4.0, -3.0, -2.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 7.0,
                           25.0], dtype=DOUBLE),
    # PyTorch's derivative of hardswish at 3 is 1 or 1.5, depending on the number of elements.
    "around_three": torch.tensor([-20.0, -4.0, -3.0, -2.5, 0.0, 2.0, 2.75, 3.25, 25.0], dtype=DOUBLE),
    "table": draw(6, 3),
    "indices": torch.tensor([[1, 4, 1], [0, 5, 2]]),
    "flat": torch.tensor([1, 4, 1, 0, 5, 2, 2]),
    "bag_weights": draw(2, 3),
    "q": draw(2, 3, 4),
    "k": draw(2, 5, 4),
    "v": draw(2, 5, 3),
    "mask": torch.tensor([[True, False, True, True, False], [True, True, True, True, True],
                          [False, False, False, True, False]]),
    "bias": draw(3, 5),
    "line": draw(1, 2, 5),
    "box": draw(1, 2, 2, 3, 4),
    "pixels": draw(2, 8, 2, 3),
    "a": draw(4, 5),
    "b": draw(4, 5),
    "left": draw(4, 2),
    "right": draw(4, 3),
    "w_bi": draw(5, 2, 3),
    "b_bi": draw(5),
    "zeros": torch.tensor([[0.0, 0.0, 0.0], [3.0, 0.0, 4.0]], dtype=DOUBLE),
    "ones": torch.tensor([[1.0, 2.0, 3.0], [4.0, 0.0, 1.0]], dtype=DOUBLE),
    "slope4": draw(4),
    "slope1": draw(1),
    "long": draw(4, 2),
    "middle": draw(3, 2),
    "short": draw(1, 2),
}
for name, value in x.items():
    if value.dtype == DOUBLE:
        x[name] = value.float().to(DOUBLE)
cases = Cases(x)
add = cases.add

# Activations.
add("elu", lambda v: F.elu(v), "kinks")
add("elu_second", lambda v: F.elu(v), "x", second=True)
add("elu_alpha", lambda v: F.elu(v, 0.7), "kinks")
add("celu", lambda v: F.celu(v, 1.7), "kinks")
add("selu", lambda v: F.selu(v), "kinks")
add("selu_second", lambda v: F.selu(v), "x", second=True)
add("hardshrink", lambda v: F.hardshrink(v), "kinks")
add("hardsigmoid", lambda v: F.hardsigmoid(v), "kinks")
add("hardtanh", lambda v: F.hardtanh(v), "kinks")
add("hardtanh_bounds", lambda v: F.hardtanh(v, -2.5, 3.0), "kinks")
add("hardswish", lambda v: F.hardswish(v), "around_three")
add("leaky_relu", lambda v: F.leaky_relu(v), "kinks")
add("leaky_relu_slope", lambda v: F.leaky_relu(v, 0.3), "kinks")
add("logsigmoid", lambda v: F.logsigmoid(v), "kinks")
add("prelu", lambda v, w: F.prelu(v, w), "x", "slope4", second=True)
add("prelu_one", lambda v, w: F.prelu(v, w), "kinks", "slope1")
add("relu", lambda v: F.relu(v), "kinks")
add("relu6", lambda v: F.relu6(v), "kinks")
add("rrelu_eval", lambda v: F.rrelu(v, 0.1, 0.3, training=False), "kinks")
add("gelu", lambda v: F.gelu(v), "kinks", second=True)
add("gelu_tanh", lambda v: F.gelu(v, approximate="tanh"), "kinks", second=True)
add("sigmoid", lambda v: torch.sigmoid(v), "kinks")
add("silu", lambda v: F.silu(v), "kinks", second=True)
add("mish", lambda v: F.mish(v), "kinks", second=True)
add("softplus", lambda v: F.softplus(v), "kinks")
add("softplus_beta", lambda v: F.softplus(v, 2.0, 3.0), "kinks")
add("softshrink", lambda v: F.softshrink(v), "kinks")
add("softsign", lambda v: F.softsign(v), "kinks")
add("tanh", lambda v: torch.tanh(v), "kinks")
add("tanhshrink", lambda v: F.tanhshrink(v), "kinks")
add("threshold", lambda v: F.threshold(v, 0.5, 20.0), "kinks")
add("glu", lambda v: F.glu(v, 1), "x", second=True)
add("softmin", lambda v: F.softmin(v, 1), "x")

# Normalisation.
add("layer_norm", lambda v, w, b: F.layer_norm(v, (5,), w, b), "x", "w5", "b5", second=True)
add("layer_norm_2", lambda v, w, b: F.layer_norm(v, (4, 5), w, b, 0.1), "x", "w45", "b45", second=True)
add("layer_norm_plain", lambda v: F.layer_norm(v, (5,)), "x", second=True)
add("layer_norm_weight", lambda v, w: F.layer_norm(v, (5,), w), "x", "w5")


def rms(v, w, eps=1e-5):
    return v / (v.square().mean(-1, keepdim=True) + eps).sqrt() * w


add("rms_norm", rms, "x", "w5", second=True)
add("rms_norm_plain", lambda v: rms(v, 1.0, 0.1), "x")
add("group_norm", lambda v, w, b: F.group_norm(v, 2, w, b), "image", "w4", "b4", second=True)
add("group_norm_plain", lambda v: F.group_norm(v, 4), "image")
add("instance_norm", lambda v, w, b: F.instance_norm(v, weight=w, bias=b), "image", "w4", "b4", second=True)
add("instance_norm_plain", lambda v: F.instance_norm(v), "image")
add("batch_norm_training", lambda v, w, b: F.batch_norm(v, None, None, w, b, training=True), "image", "w4", "b4", second=True)
add("batch_norm_training_2", lambda v: F.batch_norm(v, None, None, training=True, eps=0.01), "x2")
add("batch_norm_mean", lambda: x["image"].mean((0, 2, 3)))
add("batch_norm_var", lambda: x["image"].var((0, 2, 3), unbiased=False))
add("batch_norm_unbiased_var", lambda: x["image"].var((0, 2, 3)))
add("batch_norm", lambda v, w, b: F.batch_norm(v, x["mean4"], x["var4"], w, b), "image", "w4", "b4", second=True)
add("batch_norm_plain", lambda v: F.batch_norm(v, x["mean4"], x["var4"]), "x2")
add("local_response_norm", lambda v: F.local_response_norm(v, 3, alpha=0.5, beta=0.75, k=2.0), "image")
add("local_response_norm_even", lambda v: F.local_response_norm(v, 2), "x")

# Embeddings.
add("embedding", lambda t: F.embedding(x["indices"], t), "table")
add("embedding_padding", lambda t: F.embedding(x["indices"], t, padding_idx=1), "table")
for mode in ("sum", "mean", "max"):
    add(f"bag_{mode}", lambda t, m=mode: F.embedding_bag(x["indices"], t, mode=m), "table")
    add(f"bag_offsets_{mode}",
        lambda t, m=mode: F.embedding_bag(x["flat"], t, torch.tensor([0, 3, 3, 6]), mode=m), "table")
    add(f"bag_padding_{mode}", lambda t, m=mode: F.embedding_bag(x["indices"], t, mode=m, padding_idx=1), "table")
    add(f"bag_offsets_padding_{mode}",
        lambda t, m=mode: F.embedding_bag(x["flat"], t, torch.tensor([0, 3, 3, 6]), mode=m, padding_idx=2), "table")
add("bag_weighted", lambda t, w: F.embedding_bag(x["indices"], t, mode="sum", per_sample_weights=w), "table", "bag_weights")


# Attention, written out: PyTorch 1.13 has no public one.
def attention(q, k, v, mask=None, scale=None):
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    return scores.softmax(-1) @ v


add("attention", attention, "q", "k", "v", second=True)
add("attention_mask", lambda q, k, v: attention(q, k, v, x["mask"]), "q", "k", "v")
add("attention_bias", lambda q, k, v, b: attention(q, k, v, b, 0.5), "q", "k", "v", "bias")
add("attention_causal", lambda q, k, v: attention(q, k, v, torch.ones(3, 5).tril().bool()), "q", "k", "v", second=True)

# Resizing.
for name, kw in (("up", dict(scale_factor=2.0)), ("down", dict(scale_factor=0.6)), ("odd", dict(scale_factor=1.7)),
                 ("size", dict(size=(7, 4)))):
    for mode in ("nearest", "nearest-exact", "area"):
        if mode == "area" and name == "odd":
            continue
        add(f"{mode.replace('-', '_')}_{name}", lambda v, kw=kw, mode=mode: F.interpolate(v, mode=mode, **kw), "image")
    for mode in ("bilinear", "bicubic"):
        for corners in (False, True):
            add(f"{mode}_{name}" + ("_corners" if corners else ""),
                lambda v, kw=kw, mode=mode, c=corners: F.interpolate(v, mode=mode, align_corners=c, **kw), "image")
add("linear", lambda v: F.interpolate(v, size=8, mode="linear"), "line", second=True)
add("linear_corners", lambda v: F.interpolate(v, size=8, mode="linear", align_corners=True), "line")
add("linear_one", lambda v: F.interpolate(v, size=1, mode="linear", align_corners=True), "line")
add("trilinear", lambda v: F.interpolate(v, scale_factor=(2.0, 1.5, 0.5), mode="trilinear"), "box")
add("nearest_box", lambda v: F.interpolate(v, size=(4, 2, 3)), "box")

# The rest.
add("pixel_shuffle", lambda v: F.pixel_shuffle(v, 2), "pixels")
add("pixel_unshuffle", lambda v: F.pixel_unshuffle(v.reshape(2, 2, 4, 6), 2), "pixels")
add("cosine_similarity", lambda a, b: F.cosine_similarity(a, b), "a", "b", second=True)
add("cosine_similarity_0", lambda a, b: F.cosine_similarity(a, b, dim=0), "a", "b")
add("pairwise_distance", lambda a, b: F.pairwise_distance(a, b), "a", "b", second=True)
add("pairwise_distance_p", lambda a, b: F.pairwise_distance(a, b, p=3.0, eps=0.01), "a", "b")
add("bilinear_form", lambda a, b, w, c: F.bilinear(a, b, w, c), "left", "right", "w_bi", "b_bi", second=True)
add("normalize", lambda v: F.normalize(v), "x", second=True)
add("normalize_p", lambda v: F.normalize(v, p=1.0, dim=0), "a")
add("normalize_zero", lambda v: F.normalize(v, eps=0.5), "ones")

# Sequences.
rnn = torch.nn.utils.rnn
add("pad_sequence", lambda a, b, c: rnn.pad_sequence([a, b, c], padding_value=-1.0), "middle", "long", "short")
add("pad_sequence_batch", lambda a, b, c: rnn.pad_sequence([a, b, c], batch_first=True), "middle", "long", "short")
add("pack_sequence", lambda a, b, c: rnn.pack_sequence([a, b, c], enforce_sorted=False).data, "middle", "long", "short")


def repadded(a, b, c):
    packed = rnn.pack_sequence([a, b, c], enforce_sorted=False)
    return rnn.pad_packed_sequence(packed, batch_first=True, padding_value=2.0)[0]


add("pad_packed_sequence", repadded, "middle", "long", "short")


# Clipping: the clipped gradients of sum(a²) and sum(b³), one after the other.
def clipped(clip):
    a, b = x["a"].clone().requires_grad_(), x["b"].clone().requires_grad_()
    (a.square().sum() + b.pow(3).sum()).backward()
    norm = clip([a, b])
    grads = torch.cat([a.grad.flatten(), b.grad.flatten()])
    return grads if norm is None else torch.cat([grads, norm.reshape(1)])


for name, p in (("1", 1.0), ("2", 2.0), ("3", 3.0), ("inf", float("inf"))):
    add(f"clip_norm_{name}", lambda p=p: clipped(lambda ps: torch.nn.utils.clip_grad_norm_(ps, 1.5, p)))
add("clip_norm_large", lambda: clipped(lambda ps: torch.nn.utils.clip_grad_norm_(ps, 1000.0)))
add("clip_value", lambda: clipped(lambda ps: torch.nn.utils.clip_grad_value_(ps, 0.8)))

cases.write(sys.argv[1])
