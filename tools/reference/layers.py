"""Every layer, from PyTorch: outputs, gradients, running statistics, and the printed form.

Writes crates/flambeau/tests/data/layers.safetensors, which tests/values/layers.rs reads. For a case `name`:

  name/repr             the layer as Python prints it, in bytes
  name/state/…          parameters and buffers under PyTorch's names, before the first forward
  name/in0, in1, …      the inputs
  name/out              the output, in training mode unless the case says otherwise
  name/grad/in0, …      the gradients of Σ cos(k) out[k] of inputs that are floats, then of parameters by name
  name/more0, more1     further inputs given to layers that keep statistics
  name/after/…          buffers after those
  name/eval             the output for in0 in evaluation mode after that, and name/eval_grad/in0

Computed in double precision, stored in single. Run from the repository's root:
python3 tools/reference/layers.py  (PyTorch 1.13, no other packages)
"""

import json
import struct

import torch
import torch.nn as nn
import torch.nn.functional as F

PATH = "crates/flambeau/tests/data/layers.safetensors"


class RMSNorm(nn.Module):
    """As PyTorch's since 2.4."""

    def __init__(self, shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.shape, self.eps, self.affine = tuple(shape), eps, elementwise_affine
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(shape))

    def extra_repr(self):
        return f"{self.shape}, eps={self.eps}, elementwise_affine={self.affine}"

    def forward(self, x):
        dims = tuple(range(-len(self.shape), 0))
        # Without an ε: that of single precision, in which the values are used.
        eps = torch.finfo(torch.float32).eps if self.eps is None else self.eps
        y = x * torch.rsqrt((x * x).mean(dims, keepdim=True) + eps)
        return y * self.weight if self.affine else y


class Padded(nn.Module):
    """Padding layers that PyTorch has since 2.1."""

    def __init__(self, padding, mode):
        super().__init__()
        self.padding, self.mode = padding, mode

    def extra_repr(self):
        return str(self.padding)

    def forward(self, x):
        return F.pad(x, self.padding, mode=self.mode)


class CircularPad1d(Padded):
    def __init__(self, padding):
        super().__init__(padding, "circular")


class CircularPad2d(CircularPad1d):
    pass


class CircularPad3d(CircularPad1d):
    pass


class ZeroPad1d(Padded):
    def __init__(self, padding):
        super().__init__(padding, "constant")


class ZeroPad3d(ZeroPad1d):
    pass


SEQUENCE = (2, 4, 7)
IMAGE = (2, 4, 6, 5)
VOLUME = (1, 2, 4, 5, 3)
ROWS = (4, 6)


def cases():
    yield "linear", nn.Linear(6, 3), [ROWS]
    yield "linear_no_bias", nn.Linear(6, 3, bias=False), [(2, 3, 6)]
    yield "bilinear", nn.Bilinear(6, 5, 3), [ROWS, (4, 5)]
    yield "bilinear_no_bias", nn.Bilinear(6, 5, 3, bias=False), [ROWS, (4, 5)]

    yield "conv1d", nn.Conv1d(4, 3, 3), [SEQUENCE]
    yield "conv1d_options", nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, bias=False), [SEQUENCE]
    yield "conv1d_single", nn.Conv1d(4, 3, 2, padding=1), [SEQUENCE[1:]]
    yield "conv2d", nn.Conv2d(4, 3, 3), [IMAGE]
    yield "conv2d_options", nn.Conv2d(4, 2, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2), [IMAGE]
    yield "conv2d_same", nn.Conv2d(4, 2, (4, 3), padding="same"), [IMAGE]
    yield "conv2d_depthwise", nn.Conv2d(4, 4, 3, padding=1, groups=4), [IMAGE]
    for mode in "reflect replicate circular".split():
        yield f"conv2d_{mode}", nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode=mode), [IMAGE]
    yield "conv1d_same_circular", nn.Conv1d(4, 2, 4, padding="same", padding_mode="circular"), [SEQUENCE]
    yield "conv3d", nn.Conv3d(2, 3, (2, 3, 1), stride=(1, 2, 1), padding=(0, 1, 0)), [VOLUME]
    yield "conv_transpose1d", nn.ConvTranspose1d(4, 3, 3, stride=2, padding=1, output_padding=1), [SEQUENCE]
    yield "conv_transpose2d", nn.ConvTranspose2d(4, 3, 3), [IMAGE]
    yield "conv_transpose2d_options", nn.ConvTranspose2d(
        4, 6, (3, 2), stride=(2, 1), padding=(1, 0), output_padding=(1, 0), dilation=(1, 2), groups=2, bias=False
    ), [IMAGE]
    yield "conv_transpose3d", nn.ConvTranspose3d(2, 2, 2, stride=2), [VOLUME]

    yield "max_pool1d", nn.MaxPool1d(2), [SEQUENCE]
    yield "max_pool2d", nn.MaxPool2d(2), [IMAGE]
    yield "max_pool2d_options", nn.MaxPool2d((3, 2), (2, 1), 1, (1, 2), ceil_mode=True), [IMAGE]
    yield "max_pool3d", nn.MaxPool3d(2), [VOLUME]
    yield "avg_pool1d", nn.AvgPool1d(3, 2, 1), [SEQUENCE]
    yield "avg_pool2d", nn.AvgPool2d(2), [IMAGE]
    yield "avg_pool2d_options", nn.AvgPool2d((3, 2), (2, 1), 1, ceil_mode=True, count_include_pad=False), [IMAGE]
    yield "avg_pool2d_divisor", nn.AvgPool2d(2, divisor_override=3), [IMAGE]
    yield "avg_pool3d", nn.AvgPool3d(2), [VOLUME]
    yield "adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(3), [SEQUENCE]
    yield "adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((3, 2)), [IMAGE]
    yield "adaptive_avg_pool2d_one", nn.AdaptiveAvgPool2d(1), [IMAGE]
    yield "adaptive_avg_pool2d_none", nn.AdaptiveAvgPool2d((4, None)), [IMAGE]
    yield "adaptive_max_pool1d", nn.AdaptiveMaxPool1d(3), [SEQUENCE]
    yield "adaptive_max_pool2d", nn.AdaptiveMaxPool2d((3, 2)), [IMAGE]

    yield "batch_norm1d", nn.BatchNorm1d(6), [ROWS]
    yield "batch_norm1d_sequence", nn.BatchNorm1d(4, momentum=0.3), [SEQUENCE]
    yield "batch_norm2d", nn.BatchNorm2d(4), [IMAGE]
    yield "batch_norm2d_cumulative", nn.BatchNorm2d(4, eps=1e-3, momentum=None, affine=False), [IMAGE]
    yield "batch_norm2d_untracked", nn.BatchNorm2d(4, track_running_stats=False), [IMAGE]
    yield "batch_norm3d", nn.BatchNorm3d(2), [VOLUME]
    yield "instance_norm1d", nn.InstanceNorm1d(4), [SEQUENCE]
    yield "instance_norm1d_single", nn.InstanceNorm1d(4, affine=True), [SEQUENCE[1:]]
    yield "instance_norm2d", nn.InstanceNorm2d(4, affine=True, track_running_stats=True), [IMAGE]
    yield "layer_norm", nn.LayerNorm(6), [ROWS]
    yield "layer_norm_plain", nn.LayerNorm((6, 5), eps=1e-3, elementwise_affine=False), [IMAGE]
    yield "group_norm", nn.GroupNorm(2, 4), [IMAGE]
    yield "group_norm_plain", nn.GroupNorm(4, 4, affine=False), [SEQUENCE]
    yield "rms_norm", RMSNorm((6,)), [ROWS]
    yield "rms_norm_plain", RMSNorm((6, 5), eps=1e-3, elementwise_affine=False), [IMAGE]
    yield "local_response_norm", nn.LocalResponseNorm(3, alpha=0.5, beta=0.6, k=1.5), [IMAGE]

    yield "embedding", nn.Embedding(5, 3), [[[0, 4, 1], [1, 1, 2]]]
    yield "embedding_padding", nn.Embedding(5, 3, padding_idx=1), [[[0, 4, 1], [1, 1, 2]]]
    for mode in "mean sum max".split():
        yield f"embedding_bag_{mode}", nn.EmbeddingBag(5, 3, mode=mode), [[[0, 4, 1], [1, 3, 2]]]
    yield "embedding_bag_padding", nn.EmbeddingBag(5, 3, padding_idx=1), [[[0, 4, 1], [1, 1, 2]]]

    plain = "ReLU ReLU6 SELU SiLU Mish Sigmoid LogSigmoid Tanh Tanhshrink Softsign Hardsigmoid Hardswish GELU LeakyReLU "
    plain += "ELU CELU Softplus Hardtanh Hardshrink Softshrink PReLU GLU Identity"
    for name in plain.split():
        yield name, getattr(nn, name)(), [ROWS]
    yield "GELU_tanh", nn.GELU("tanh"), [ROWS]
    yield "LeakyReLU_slope", nn.LeakyReLU(0.2), [ROWS]
    yield "ELU_alpha", nn.ELU(0.5), [ROWS]
    yield "CELU_alpha", nn.CELU(2.0), [ROWS]
    yield "Softplus_options", nn.Softplus(2, 1.5), [ROWS]
    yield "Hardtanh_options", nn.Hardtanh(-0.5, 2.0), [ROWS]
    yield "Hardshrink_lambda", nn.Hardshrink(0.25), [ROWS]
    yield "Softshrink_lambda", nn.Softshrink(0.25), [ROWS]
    yield "Threshold", nn.Threshold(0.1, 20), [ROWS]
    yield "Softmax", nn.Softmax(dim=1), [ROWS]
    yield "LogSoftmax", nn.LogSoftmax(dim=-1), [ROWS]
    yield "Softmin", nn.Softmin(dim=0), [ROWS]
    yield "Softmax2d", nn.Softmax2d(), [IMAGE]
    yield "GLU_dim", nn.GLU(1), [IMAGE]
    yield "PReLU_channels", nn.PReLU(4), [IMAGE]
    yield "RReLU", nn.RReLU().eval(), [ROWS]

    yield "Flatten", nn.Flatten(), [IMAGE]
    yield "Flatten_dims", nn.Flatten(0, 2), [IMAGE]
    yield "Unflatten", nn.Unflatten(1, (2, -1)), [IMAGE]
    yield "ConstantPad1d", nn.ConstantPad1d((1, 2), 3.5), [SEQUENCE]
    yield "ConstantPad2d", nn.ConstantPad2d((1, -2, 0, 3), -0.5), [IMAGE]
    yield "ConstantPad3d", nn.ConstantPad3d(1, 0.5), [VOLUME]
    yield "ZeroPad1d", ZeroPad1d((1, 2)), [SEQUENCE]
    yield "ZeroPad2d", nn.ZeroPad2d((1, 2, 0, 1)), [IMAGE]
    yield "ZeroPad3d", ZeroPad3d((1, 2, 0, 1, 1, 0)), [VOLUME]
    yield "ReflectionPad1d", nn.ReflectionPad1d((1, 2)), [SEQUENCE]
    yield "ReflectionPad2d", nn.ReflectionPad2d((1, 2, 0, 3)), [IMAGE]
    yield "ReflectionPad3d", nn.ReflectionPad3d(1), [VOLUME]
    yield "ReplicationPad1d", nn.ReplicationPad1d((1, 2)), [SEQUENCE]
    yield "ReplicationPad2d", nn.ReplicationPad2d((1, 2, 0, 3)), [IMAGE]
    yield "ReplicationPad3d", nn.ReplicationPad3d(1), [VOLUME]
    yield "CircularPad1d", CircularPad1d((1, 2)), [SEQUENCE]
    yield "CircularPad2d", CircularPad2d((1, 2, 0, 3)), [IMAGE]
    yield "CircularPad3d", CircularPad3d((1, 1, 1, 1, 1, 1)), [VOLUME]

    yield "Upsample", nn.Upsample(scale_factor=2), [IMAGE]
    yield "Upsample_linear", nn.Upsample(scale_factor=1.5, mode="linear"), [SEQUENCE]
    yield "Upsample_bilinear", nn.Upsample(size=(8, 4), mode="bilinear", align_corners=True), [IMAGE]
    yield "Upsample_bicubic", nn.Upsample(size=(8, 4), mode="bicubic"), [IMAGE]
    yield "PixelShuffle", nn.PixelShuffle(2), [IMAGE]
    yield "PixelUnshuffle", nn.PixelUnshuffle(2), [(1, 2, 4, 6)]
    yield "CosineSimilarity", nn.CosineSimilarity(), [ROWS, ROWS]
    yield "CosineSimilarity_dim", nn.CosineSimilarity(dim=0, eps=1e-6), [ROWS, ROWS]
    yield "PairwiseDistance", nn.PairwiseDistance(), [ROWS, ROWS]
    yield "PairwiseDistance_options", nn.PairwiseDistance(p=3.0, eps=1e-3, keepdim=True), [ROWS, ROWS]


class Net(nn.Module):
    """A small net for the printed form alone."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.25)
        )
        self.blocks = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10), nn.LogSoftmax(dim=1))


def double(tensor):
    """A copy in double precision of what single precision can hold."""
    return tensor.detach().float().double() if tensor.is_floating_point() else tensor.detach().clone()


def make(given):
    if isinstance(given, tuple):
        return double(torch.randn(given)).requires_grad_()
    return torch.tensor(given)


def gradients(out, wanted):
    weights = torch.arange(out.numel(), dtype=torch.float64).cos().reshape(out.shape)
    return torch.autograd.grad((weights * out).sum(), wanted)


def text(module):
    return torch.tensor(list(repr(module).encode()), dtype=torch.uint8)


def collect():
    tensors = {"net/repr": text(Net())}
    for name, layer, inputs in cases():
        torch.manual_seed(sum(name.encode()))

        def put(path, tensor):
            tensors[f"{name}/{path}"] = tensor.detach().clone()

        layer = layer.double()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(double(torch.randn(parameter.shape) * 0.5))
        put("repr", text(layer))
        for key, value in layer.state_dict().items():
            put(f"state/{key}", value)
        inputs = [make(given) for given in inputs]
        out = layer(*inputs)
        put("out", out)
        wanted = {f"in{k}": x for k, x in enumerate(inputs) if x.requires_grad}
        wanted.update(layer.named_parameters())
        for key, grad in zip(wanted, gradients(out, list(wanted.values()))):
            put(f"grad/{key}", grad)
        for k, x in enumerate(inputs):
            put(f"in{k}", x)
        if getattr(layer, "track_running_stats", None) is None:
            continue
        for k in range(2):
            more = double(torch.randn(inputs[0].shape) * (k + 1) + 0.5)
            put(f"more{k}", more)
            layer(more)
        for key, value in layer.named_buffers():
            put(f"after/{key}", value)
        layer.eval()
        out = layer(*inputs)
        put("eval", out)
        put("eval_grad/in0", gradients(out, inputs)[0])
    return tensors


def write(tensors):
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        if tensor.dtype == torch.uint8:
            dtype, code = "U8", "B"
        elif tensor.is_floating_point():
            dtype, code = "F32", "f"
        else:
            dtype, code = "I32", "i"
        start = len(data)
        data += struct.pack(f"<{tensor.numel()}{code}", *tensor.flatten().tolist())
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [start, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(PATH, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    write(collect())
