"""Writes what PyTorch gives for the cases of crates/flambeau/tests/values/conv.rs.

Run from the repository's root: python3 tools/reference/conv.py  (PyTorch 1.13, no other packages)

For a case: `<name>.in0`, … the inputs (for convolutions x, w and bias), `<name>.out`, `<name>.grad0`, … of
sum(out · cos(i)), and `<name>.second0`, … the gradients of Σ over the inputs of sum(grad · sin(1 + i)); computed in
double precision and stored as F32. `<name>.indices` are the positions of maxima, as I32.
"""

import json
import struct

import torch
import torch.nn.functional as F

PATH = "crates/flambeau/tests/data/conv.safetensors"
DOUBLE = torch.float64
torch.manual_seed(0)
tensors = {}


def draw(*shape):
    return torch.randn(*shape).to(DOUBLE)


def weights(like, function, shift=0.0):
    return function(torch.arange(like.numel(), dtype=DOUBLE) + shift).reshape(like.shape)


def case(name, function, *inputs):
    leaves = [value.clone().requires_grad_() for value in inputs]
    out = function(*leaves)
    if isinstance(out, tuple):
        out, indices = out
        tensors[f"{name}.indices"] = indices.to(torch.int32)
    grads = torch.autograd.grad((out * weights(out, torch.cos)).sum(), leaves, create_graph=True)
    loss = sum((grad * weights(grad, torch.sin, 1.0)).sum() for grad in grads)
    seconds = [None] * len(leaves)
    if len(leaves) > 1:
        seconds = torch.autograd.grad(loss, leaves, allow_unused=True)
    tensors[f"{name}.out"] = out
    for i, (leaf, grad, second) in enumerate(zip(leaves, grads, seconds)):
        tensors[f"{name}.in{i}"] = leaf
        tensors[f"{name}.grad{i}"] = grad
        if len(leaves) > 1:
            tensors[f"{name}.second{i}"] = torch.zeros_like(leaf) if second is None else second


def conv(name, x, w, **options):
    n = len(w) - 2
    function = getattr(F, f"conv{n}d")
    case(name, lambda x, w, b: function(x, w, b, **options), draw(*x), draw(*w), draw(w[0]))


def transposed(name, x, w, groups=1, **options):
    function = getattr(F, f"conv_transpose{len(w) - 2}d")
    run = lambda x, w, b: function(x, w, b, groups=groups, **options)
    case(name, run, draw(*x), draw(*w), draw(w[1] * groups))


conv("conv1d", (2, 3, 9), (4, 3, 3))
conv("conv1d_single", (3, 9), (4, 3, 3), stride=2, padding=1)
conv("conv1d_same", (2, 3, 9), (4, 3, 4), padding="same", dilation=2)
conv("conv1d_valid", (2, 4, 9), (4, 2, 4), padding="valid", groups=2)
conv("conv2d", (2, 3, 6, 7), (4, 3, 3, 2))
conv("conv2d_single", (3, 6, 7), (4, 3, 3, 3), padding=1)
conv("conv2d_stride", (2, 3, 7, 8), (4, 3, 3, 3), stride=(2, 3), padding=(1, 2))
conv("conv2d_dilation", (2, 2, 8, 9), (3, 2, 3, 2), dilation=(2, 3), padding=(2, 1), stride=(1, 2))
conv("conv2d_same", (2, 2, 5, 6), (3, 2, 4, 2), padding="same", dilation=(1, 3))
conv("conv2d_groups", (2, 6, 5, 5), (9, 2, 3, 3), groups=3, padding=1)
conv("conv2d_depthwise", (2, 5, 6, 6), (5, 1, 3, 3), groups=5, padding=1, stride=2)
conv("conv2d_multiplier", (2, 3, 6, 6), (6, 1, 3, 3), groups=3, dilation=2)
conv("conv2d_pointwise", (2, 8, 5, 5), (7, 8, 1, 1))
conv("conv2d_wide", (2, 10, 6, 6), (36, 10, 3, 3), padding=1)
conv("conv3d", (1, 2, 4, 5, 6), (3, 2, 2, 3, 2), stride=(1, 2, 1), padding=(1, 0, 1))
conv("conv3d_groups", (1, 4, 4, 4, 4), (4, 2, 2, 2, 3), groups=2, dilation=(1, 2, 1))
transposed("conv_transpose1d", (2, 3, 5), (3, 4, 3), stride=2, padding=1, output_padding=1)
transposed("conv_transpose1d_single", (3, 5), (3, 2, 3))
transposed("conv_transpose2d", (2, 3, 4, 5), (3, 4, 3, 3), stride=(2, 3), padding=(1, 0), output_padding=(1, 2))
transposed("conv_transpose2d_groups", (2, 4, 4, 3), (4, 3, 3, 2), groups=2, dilation=(1, 2))
transposed("conv_transpose2d_depthwise", (2, 3, 4, 4), (3, 1, 4, 4), groups=3, stride=2, padding=1)
transposed("conv_transpose2d_wide", (1, 12, 4, 4), (12, 34, 3, 3), stride=2)
transposed("conv_transpose3d", (1, 2, 3, 3, 3), (2, 3, 2, 3, 2), stride=2, output_padding=1, padding=(0, 1, 0))

MAX = {
    "max_pool1d": ((2, 3, 9), 2, {}),
    "max_pool1d_options": ((3, 10), 3, dict(stride=2, padding=1, dilation=2, ceil_mode=True)),
    "max_pool2d": ((2, 3, 6, 7), 2, {}),
    "max_pool2d_overlap": ((2, 3, 7, 8), 3, dict(stride=(2, 1), padding=1)),
    "max_pool2d_dilation": ((1, 2, 8, 9), (2, 3), dict(stride=2, dilation=(3, 2), padding=(0, 1))),
    "max_pool2d_ceil": ((1, 2, 7, 8), (3, 2), dict(stride=(2, 3), padding=(1, 0), ceil_mode=True)),
    "max_pool3d": ((1, 2, 4, 5, 6), (2, 3, 2), dict(stride=(1, 2, 2), padding=(0, 1, 1))),
}
for name, (shape, kernel, options) in MAX.items():
    function = getattr(F, name.split("_")[0] + "_" + name.split("_")[1])
    case(name, lambda x: function(x, kernel, return_indices=True, **options), draw(*shape))

AVG = {
    "avg_pool1d": ((2, 3, 9), 2, {}),
    "avg_pool1d_options": ((3, 10), 3, dict(stride=2, padding=1, ceil_mode=True, count_include_pad=False)),
    "avg_pool2d": ((2, 3, 6, 7), 2, {}),
    "avg_pool2d_pad": ((2, 3, 7, 8), 3, dict(stride=(2, 1), padding=1)),
    "avg_pool2d_exclude": ((2, 3, 7, 8), 3, dict(stride=2, padding=1, count_include_pad=False)),
    "avg_pool2d_ceil": ((1, 2, 7, 8), (3, 2), dict(stride=(2, 3), padding=(1, 0), ceil_mode=True)),
    "avg_pool2d_divisor": ((1, 2, 7, 8), (3, 2), dict(stride=2, padding=1, ceil_mode=True, divisor_override=5)),
    "avg_pool3d": ((1, 2, 4, 5, 6), (2, 3, 2), dict(stride=(1, 2, 2), padding=(0, 1, 1), ceil_mode=True)),
}
for name, (shape, kernel, options) in AVG.items():
    function = getattr(F, name.split("_")[0] + "_" + name.split("_")[1])
    case(name, lambda x: function(x, kernel, **options), draw(*shape))

ADAPTIVE = {
    "adaptive_avg_pool1d": ((2, 3, 7), 3),
    "adaptive_avg_pool2d": ((2, 3, 7, 5), (3, 2)),
    "adaptive_avg_pool2d_more": ((2, 3, 4, 5), (6, 7)),
    "adaptive_avg_pool2d_global": ((2, 3, 4, 5), 1),
    "adaptive_avg_pool2d_uniform": ((2, 3, 6, 4), (3, 2)),
    "adaptive_max_pool1d": ((2, 3, 7), 3),
    "adaptive_max_pool2d": ((2, 3, 7, 5), (3, 2)),
    "adaptive_max_pool2d_global": ((2, 3, 4, 5), 1),
}
for name, (shape, output) in ADAPTIVE.items():
    function = getattr(F, "_".join(name.split("_")[:3]))
    options = dict(return_indices=True) if "max" in name else {}
    case(name, lambda x: function(x, output, **options), draw(*shape))

# Where several elements are equal, and where some are no numbers: values and positions, forward alone.
nan, inf = float("nan"), float("inf")
special = torch.tensor([[[1.0, 1.0, nan, 2.0], [1.0, 0.0, 3.0, nan], [-inf, -inf, inf, 5.0], [-inf, -inf, inf, inf]]])
out, indices = F.max_pool2d(special, 2, return_indices=True)
tensors.update({"special.in0": special, "special.out": out, "special.indices": indices.to(torch.int32)})
out, indices = F.max_pool2d(special, 3, stride=1, padding=1, return_indices=True)
tensors.update({"special_padded.out": out, "special_padded.indices": indices.to(torch.int32)})

header, blob = {}, b""
for name in sorted(tensors):
    value = tensors[name].detach().contiguous()
    kind = "I32" if value.dtype == torch.int32 else "F32"
    data = (value if kind == "I32" else value.to(torch.float32)).numpy().tobytes()
    header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(blob), len(blob) + len(data)]}
    blob += data
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(PATH, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + blob)
print(len(tensors), "tensors", len(blob), "bytes")
