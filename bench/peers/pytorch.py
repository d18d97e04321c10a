"""PyTorch doing the work of `flambeau bench`: f32 without TF32, pipelined, medians of five.

Usage: pytorch.py cuda|cpu [full|new|fft|linalg]

Prints one JSON object: version, device, and the figures of each way to run (eager; on CUDA also as a graph).
Without `full`, a CPU leaves out the two large models. With `new`: what is new to the process instead (first steps, a new
length each step, and single evaluations). With `fft`: Fourier transforms alone. With `linalg`:
decompositions of matrices alone, on a CPU NumPy's as well.
"""

import json
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

KIND = sys.argv[1]
FULL = KIND == "cuda" or "full" in sys.argv[2:]
NEW = "new" in sys.argv[2:]
FFT = "fft" in sys.argv[2:]
LINALG = "linalg" in sys.argv[2:]
DEVICE = torch.device(KIND)
CLASSES = 10
SYMBOLS, TOKENS = 65, 256
# The runs that are counted, and those before them.
RUNS, WARM_UP = 5, 3
# Different inputs of an op, taken in turn.
INPUTS = 2
# Seconds of a run, and the fewest repetitions in it.
SECONDS = 1.0 if KIND == "cpu" else 0.3


def wait():
    if KIND == "cuda":
        torch.cuda.synchronize()


def seconds(work):
    """The median of the seconds of `work`, repeated with one wait at the end."""
    for _ in range(WARM_UP):
        work()
    wait()
    start = time.perf_counter()
    work()
    wait()
    once = time.perf_counter() - start
    fewest = 100 if KIND == "cuda" and once < 1 else 3
    repetitions = max(fewest, min(200, int(SECONDS / once)))
    runs = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(repetitions):
            work()
        wait()
        runs.append((time.perf_counter() - start) / repetitions)
    return statistics.median(runs)


def in_turn(op, inputs):
    """`op` of different inputs in turn, the last result being held until the next is there: as `flambeau bench ops` does it,
    so that both find as much in the caches."""
    count, last = 0, None

    def work():
        nonlocal count, last
        last = op(*inputs[count % len(inputs)])
        count += 1

    return work


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(784, 128), nn.Linear(128, CLASSES)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.fc1, self.fc2 = nn.Linear(1600, 128), nn.Linear(128, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1:
            conv = nn.Conv2d(before, after, 1, stride, bias=False)
            self.downsample = nn.Sequential(conv, nn.BatchNorm2d(after))

    def forward(self, x):
        straight = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)) + straight)


class ResNet18(nn.Module):
    """torchvision's resnet18 with a 3 × 3 stem and no pool, as for CIFAR."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())
        stages = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        blocks = [block for a, b, s in stages for block in (Residual(a, b, s), Residual(b, b, 1))]
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(512, CLASSES)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    count = q.shape[-2]
    ahead = torch.ones(count, count, dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, count, width = x.shape
        parts = self.c_attn(self.ln_1(x)).split(width, 2)
        q, k, v = (part.view(batch, count, self.heads, -1).transpose(1, 2) for part in parts)
        x = x + self.c_proj(attention(q, k, v).transpose(1, 2).reshape(batch, count, width))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, width=384, heads=6, layers=6, tokens=TOKENS):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(SYMBOLS, width), nn.Embedding(tokens, width)
        self.h = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, SYMBOLS, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.lm_head(self.ln_f(self.h(self.wte(tokens) + self.wpe(places)))).flatten(0, 1)


def images(*shape):
    return lambda batch: (
        torch.rand(batch, *shape, device=DEVICE),
        torch.randint(0, CLASSES, (batch,), device=DEVICE),
    )


def text(batch):
    tokens = torch.randint(0, SYMBOLS, (batch, TOKENS), device=DEVICE)
    return tokens, tokens.flatten()


def training_step(model, data, batch, graph):
    model = model().to(DEVICE)
    x, y = data(batch)
    if isinstance(model, ResNet18):
        optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    else:
        extra = {"capturable": True} if graph else {}
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, foreach=True, **extra)

    def step():
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=not graph)

    if not graph:
        return step
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    captured = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=False)
    with torch.cuda.graph(captured):
        step()
    return captured.replay


def eager_ops():
    """Figures of matmul in TFLOP/s and of ops in GB/s."""
    figures = {}
    sizes = (256, 512, 1000, 1023, 1024, 2048) + ((4096,) if KIND == "cuda" else ())
    for size in sizes:
        a, b = torch.rand(2, size, size, device=DEVICE)
        figures[f"matmul {size}"] = 2 * size**3 / seconds(lambda: a @ b) / 1e12
    count, side = (1 << 26, 8192) if KIND == "cuda" else (1 << 22, 1024)
    pairs = [tuple(torch.rand(2, count, device=DEVICE)) for _ in range(INPUTS)]
    singles = [(x,) for x, _ in pairs]
    squares = [(torch.rand(side, side, device=DEVICE),) for _ in range(INPUTS)]
    weight, bias = torch.rand(2, side, device=DEVICE)

    def rate(arrays, numbers, op, inputs):
        return 4 * arrays * numbers / seconds(in_turn(op, inputs)) / 1e9

    figures["add"] = rate(3, count, lambda x, y: x + y, pairs)
    figures["sigmoid(relu(2x + y))"] = rate(3, count, lambda x, y: (x * 2 + y).relu().sigmoid(), pairs)
    figures["gelu"] = rate(2, count, F.gelu, singles)
    figures["sum"] = rate(1, count, torch.sum, singles)
    figures["softmax"] = rate(2, side**2, lambda x: x.softmax(-1), squares)
    figures["layer norm"] = rate(2, side**2, lambda x: F.layer_norm(x, (side,), weight, bias), squares)
    return figures


def transforms():
    """GB/s of Fourier transforms, as if the data were read and written once: the work of `flambeau bench fft`."""
    lines, side, thousands, primes = (64, 512, 10000, 64) if KIND == "cuda" else (4, 128, 1000, 4)
    piece, minute = 512, 60 * 16000
    window = torch.hann_window(piece, device=DEVICE)
    plane = lambda *shape: torch.view_as_complex(torch.rand(*shape, 2, device=DEVICE) * 2 - 1)
    signal = lambda *shape: torch.rand(*shape, device=DEVICE) * 2 - 1
    stft = lambda x: torch.stft(x, piece, window=window, return_complex=True)
    work = [
        ("fft 2^20", lambda: plane(lines, 1 << 20), torch.fft.fft),
        ("rfft 2^20", lambda: signal(lines, 1 << 20), torch.fft.rfft),
        ("fftn", lambda: plane(side, side, side), torch.fft.fftn),
        ("fft 1000", lambda: plane(thousands, 1000), torch.fft.fft),
        ("fft 100003", lambda: plane(primes, 100003), torch.fft.fft),
        ("stft", lambda: signal(1, minute), stft),
    ]
    figures = {}
    for name, make, transform in work:
        x = make()
        result = transform(x)
        size = x.numel() * x.element_size() + result.numel() * result.element_size()
        del result
        figures[name] = size / seconds(lambda: transform(x)) / 1e9
    return figures


def decompositions(numpys=False):
    """Microseconds of decompositions: the work of `flambeau bench linalg`, by PyTorch or by NumPy."""
    import numpy as np

    linalg = np.linalg if numpys else torch.linalg
    figures = {}
    for shape in ((1, 1024, 1024), (10000, 32, 32)):
        x = torch.randn(*shape, device=DEVICE)
        a = x @ x.transpose(-2, -1) + shape[-1] * torch.eye(shape[-1], device=DEVICE)
        a = a.numpy() if numpys else a
        for name in ("cholesky", "lu_factor", "qr", "eigh", "svd"):
            if not hasattr(linalg, name):
                continue
            function = getattr(linalg, name)
            call = (lambda: function(a, full_matrices=False)) if name == "svd" else (lambda: function(a))
            figures[f"{name.removesuffix('_factor')} {shape[0]} x {shape[1]}"] = seconds(call) * 1e6
    return figures


def training(graph):
    """Microseconds of training steps."""
    steps = [("mlp", Mlp, images(784), b) for b in (32, 128)]
    steps += [("cnn", Cnn, images(1, 28, 28), b) for b in (32, 128)]
    if FULL:
        steps += [("resnet18-cifar", ResNet18, images(3, 32, 32), 128), ("gpt-10m", Gpt, text, 16)]
    figures = {}
    for name, model, data, batch in steps:
        figures[f"{name} b{batch}"] = 1e6 * seconds(training_step(model, data, batch, graph))
    return figures


def first_steps():
    """Milliseconds of the first training step of models that this process has not run yet."""
    figures = {}
    for name, model, data, batch in [("mlp", Mlp, images(784), 32), ("gpt-10m", Gpt, text, 16)]:
        step = training_step(model, data, batch, graph=False)
        wait()
        start = time.perf_counter()
        step()
        wait()
        figures[f"first step of {name} b{batch}, ms"] = 1e3 * (time.perf_counter() - start)
    return figures


def ragged(lengths=60, batch=16):
    """Milliseconds of training steps with a new length each time, as `flambeau bench ragged` does them."""
    model = Gpt(width=128, heads=4, layers=4, tokens=512).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, foreach=True)
    times = []
    for number in range(lengths):
        x = torch.randint(0, SYMBOLS, (batch, 32 + number * 289 % 467), device=DEVICE)
        wait()
        start = time.perf_counter()
        loss = F.cross_entropy(model(x), x.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        times.append(1e3 * (time.perf_counter() - start))
    return {"ragged median, ms": statistics.median(times), "ragged worst, ms": max(times)}


def single_evaluations():
    """Microseconds of single ops, one after the other, and of the calls alone."""
    x, few = torch.rand(4096, 4096, device=DEVICE), torch.rand(1000, device=DEVICE)
    indexes = torch.randint(0, 4096, (4096,), device=DEVICE)
    ops = {
        "sum of rows 4096": lambda: x.sum(1),
        "sum of columns 4096": lambda: x.sum(0),
        "argmax 4096": lambda: x.argmax(1),
        "var 4096": lambda: x.var(1),
        "index_select 4096": lambda: x.index_select(0, indexes),
        "a + b of 1000": lambda: few + few,
        "item of a sum of 1000": lambda: few.sum().item(),
    }
    return {f"{name}, µs": 1e6 * seconds(op) for name, op in ops.items()}


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(1)
    if KIND == "cpu":
        import os

        torch.set_num_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
        device = f"CPU with {torch.get_num_threads()} threads"
    else:
        device = torch.cuda.get_device_name()
    if LINALG:
        columns = {"eager": decompositions()} | ({"NumPy": decompositions(numpys=True)} if KIND == "cpu" else {})
    elif FFT:
        columns = {"eager": transforms()}
    elif NEW:
        columns = {"eager": {**first_steps(), **ragged(), **single_evaluations()}}
    elif KIND == "cpu":
        columns = {"eager": {**eager_ops(), **transforms(), **training(graph=False)}}
    else:
        eager = {**eager_ops(), **transforms(), **training(graph=False)}
        columns = {"eager": eager, "CUDA graph": training(graph=True)}
    print(json.dumps({"version": torch.__version__, "device": device, "columns": columns}))


main()
