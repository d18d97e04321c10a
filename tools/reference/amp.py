#!/usr/bin/env python3
"""Mixed precision, for tests/values/amp_reference.rs: losses of 50 steps, the scaler's trajectory, and dtypes of ops.

The models, weights and batches are those of golden.py, its ten batches five times over.
Run with PyTorch 2.3 or later, from the root of the repository: python3 tools/reference/amp.py
With CUDA everything runs there, in float16; `--cpu` keeps to the CPU, whose lists are other ones: then no dtypes are written.
"""

import json
import math
import struct
import sys

import torch
import torch.nn.functional as F
from networks import Cnn, Gpt, Mlp

DEVICE = "cuda" if torch.cuda.is_available() and "--cpu" not in sys.argv else "cpu"
STEPS = 50
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


def read_safetensors(path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    (size,) = struct.unpack("<Q", data[:8])
    kinds = {"F32": torch.float32, "I32": torch.int32, "BOOL": torch.bool}
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(data[begin:end], dtype=kinds[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


golden = read_safetensors("crates/flambeau/tests/data/golden.safetensors")


def train(name, model, make_optimizer, loss_of, mixed):
    name = name.split(",")[0]
    state = {key[len(name) + 7 :]: tensor for key, tensor in golden.items() if key.startswith(f"{name}/state/")}
    model.load_state_dict(state)
    model = model.to(DEVICE)
    inputs, targets = golden[f"{name}/in/x"].to(DEVICE), golden[f"{name}/in/y"].to(DEVICE)
    inputs = inputs if inputs.is_floating_point() else inputs.long()
    optimizer = make_optimizer(model.parameters())
    scaler = torch.amp.GradScaler(DEVICE, enabled=mixed)
    losses, scales = [], []
    for step in range(STEPS):
        x, y = inputs[step % len(inputs)], targets[step % len(inputs)].long()
        with torch.autocast(DEVICE, dtype=torch.float16, enabled=mixed):
            loss = loss_of(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
    return {"losses": losses, "scales": scales}


MODELS = {
    "mlp": (lambda: Mlp([12, 16, 5]), lambda p: torch.optim.Adam(p, lr=0.01), F.cross_entropy),
    # After some twenty steps at this rate rounding decides: PyTorch's own losses in f16 and f32 are 44 % apart then.
    "cnn": (lambda: Cnn(4, 1, 12, [4, 6], 8, True), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), F.cross_entropy),
    "cnn, slowly": (lambda: Cnn(4, 1, 12, [4, 6], 8, True), lambda p: torch.optim.SGD(p, lr=0.005, momentum=0.9), F.cross_entropy),
    "gpt": (
        lambda: Gpt(13, 8, 2, 2, 32),
        lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.1, eps=1e-4),
        lambda scores, y: F.cross_entropy(scores.flatten(0, 1), y.flatten()),
    ),
}

# The scaler: weights w and a loss (w · c_t).sum(), whose gradient is c_t, with infinities and NaNs at some steps.
BAD = {2: math.inf, 3: math.nan, 8: -math.inf, 14: math.inf}
TRAJECTORY = 20


def trajectory(make_optimizer, clip=None, clip_value=None, accumulate=1):
    w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0], device=DEVICE))
    optimizer = make_optimizer([w])
    scaler = torch.amp.GradScaler(DEVICE, init_scale=1024.0, growth_interval=3)
    weights, scales, trackers = [], [], []
    for step in range(TRAJECTORY):
        for part in range(accumulate):
            c = torch.tensor([math.cos(step + k + 0.5 * part) for k in range(3)], device=DEVICE)
            if step in BAD and part == 0:
                c[step % 3] = BAD[step]
            scaler.scale((w * c).sum()).backward()
        if clip is not None or clip_value is not None:
            scaler.unscale_(optimizer)
        if clip is not None:
            torch.nn.utils.clip_grad_norm_([w], clip)
        if clip_value is not None:
            torch.nn.utils.clip_grad_value_([w], clip_value)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        weights.append(w.detach().tolist())
        scales.append(scaler.get_scale())
        trackers.append(scaler.state_dict()["_growth_tracker"])
    return {"weights": weights, "scales": scales, "trackers": trackers}


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, amsgrad=True),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1),
}


def dtypes():
    """Of an op's result for inputs of float16 and of float32, in a scope."""
    x = torch.rand(4, 4, device=DEVICE) * 0.5 + 0.25
    image, kernel = torch.rand(1, 2, 5, 5, device=DEVICE), torch.rand(2, 2, 3, 3, device=DEVICE)
    labels = torch.tensor([0, 1, 2, 3], device=DEVICE)
    unary = {
        name: (lambda name: lambda x: getattr(torch, name)(x))(name)
        for name in "abs acos asin atan ceil cos cosh erf exp exp2 expm1 floor log log10 log1p log2 neg reciprocal rsqrt "
        "sigmoid sin sinh sqrt square tan tanh trace".split()
    }
    of = {
        **unary,
        **{name: (lambda name: lambda x: getattr(torch, name)(x, x))(name) for name in "add atan2 div mul sub matmul mm maximum".split()},
        "pow": lambda x: x**3,
        "rdiv": lambda x: 1.0 / x,
        "addmm": lambda x: torch.addmm(x, x, x),
        "mv": lambda x: torch.mv(x, x[0]),
        "dot": lambda x: torch.dot(x[0], x[1]),
        "outer": lambda x: torch.outer(x[0], x[1]),
        "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
        "tensordot": lambda x: torch.tensordot(x, x, 1),
        "bmm": lambda x: torch.bmm(x[None], x[None]),
        "linear": lambda x: F.linear(x, x, x[0]),
        "bilinear": lambda x: F.bilinear(x, x, x[None]),
        "prelu": lambda x: F.prelu(x, x[0]),
        "attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
        "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "prod": lambda x: x.prod(1), "amax": lambda x: x.amax(1),
        "var": lambda x: x.var(), "std": lambda x: x.std(), "norm": lambda x: x.norm(),
        "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(0), "logsumexp": lambda x: x.logsumexp(0),
        "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(1), "softmin": lambda x: F.softmin(x, 1),
        "layer_norm": lambda x: F.layer_norm(x, [4]), "group_norm": lambda x: F.group_norm(x, 2),
        "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
        "cosine_similarity": lambda x: F.cosine_similarity(x, x), "pairwise_distance": lambda x: F.pairwise_distance(x, x),
        "normalize": lambda x: F.normalize(x),
        "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "elu": F.elu, "mish": F.mish, "softplus": F.softplus,
        "log_sigmoid": F.logsigmoid, "hardswish": F.hardswish,
        "cat": lambda x: torch.cat([x, x]), "where": lambda x: torch.where(x > 0.5, x, x),
        "max_pool2d": lambda x: F.max_pool2d(x[None], 2), "avg_pool2d": lambda x: F.avg_pool2d(x[None], 2),
        "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
        "cross_entropy": lambda x: F.cross_entropy(x, labels), "nll_loss": lambda x: F.nll_loss(x, labels),
        "mse_loss": lambda x: F.mse_loss(x, x), "l1_loss": lambda x: F.l1_loss(x, x),
        "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x), "huber_loss": lambda x: F.huber_loss(x, x),
        "kl_div": lambda x: F.kl_div(x, x),
        "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    }
    of_image = {"conv2d": lambda x, w: F.conv2d(x, w), "conv_transpose2d": lambda x, w: F.conv_transpose2d(x, w)}
    found = {}
    with torch.autocast(DEVICE, dtype=torch.float16):
        for name, op in of.items():
            found[name] = [str(op(x.to(dtype)).dtype)[6:] for dtype in (torch.float16, torch.float32)]
        for name, op in of_image.items():
            cast = lambda dtype: str(op(image.to(dtype), kernel.to(dtype)).dtype)[6:]
            found[name] = [cast(dtype) for dtype in (torch.float16, torch.float32)]
    return found


result = {
    "torch": torch.__version__,
    "device": DEVICE,
    "curves": {
        name: {"mixed": train(name, make(), optimizer, loss, True), "full": train(name, make(), optimizer, loss, False)}
        for name, (make, optimizer, loss) in MODELS.items()
    },
    "trajectories": {name: trajectory(make) for name, make in OPTIMIZERS.items()},
    "dtypes": dtypes() if DEVICE == "cuda" else None,
}
adam = OPTIMIZERS["adam"]
result["trajectories"]["adam, clipped"] = trajectory(adam, clip=0.5)
result["trajectories"]["adam, clipped by value"] = trajectory(adam, clip_value=0.3)
result["trajectories"]["adam, accumulated"] = trajectory(adam, accumulate=2)
# JSON has no infinities; none should be left.
text = json.dumps(result, allow_nan=False)
with open("crates/flambeau/tests/data/amp.json", "w") as file:
    file.write(text + "\n")
print("crates/flambeau/tests/data/amp.json", len(text), "bytes,", torch.__version__, "on", DEVICE)
