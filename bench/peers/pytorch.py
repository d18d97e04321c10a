"""PyTorch doing the work of `flambeau bench`: f32 without TF32, pipelined, medians of five.

Usage: pytorch.py cuda|cpu [full|new|fft|linalg|ops]

Prints one JSON object: version, device, and the figures of each way to run (eager; on CUDA also as a graph).
Without `full`, a CPU leaves out the two large models. With `new`: what is new to the process instead (first steps, a new
length each step, and single evaluations). With `fft`: Fourier transforms alone. With `linalg`:
decompositions of matrices alone, on a CPU NumPy's as well; each is said on stderr as soon as it is known.
With `ops`: microseconds of the single ops of `flambeau bench ops --all`.
"""

import json
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.grad import conv2d_input, conv2d_weight

KIND = sys.argv[1]
FULL = KIND == "cuda" or "full" in sys.argv[2:]
NEW = "new" in sys.argv[2:]
FFT = "fft" in sys.argv[2:]
LINALG = "linalg" in sys.argv[2:]
OPS = "ops" in sys.argv[2:]
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


def transforms(numpys=False):
    """GB/s of Fourier transforms, as if the data were read and written once: the work of `flambeau bench fft`, by PyTorch or by NumPy,
    where `stft` is what its users write."""
    import numpy as np

    lines, side, thousands, primes = (64, 512, 10000, 64) if KIND == "cuda" else (4, 128, 1000, 4)
    piece, minute = 512, 60 * 16000
    window = torch.hann_window(piece, device=DEVICE)
    plane = lambda *shape: torch.view_as_complex(torch.rand(*shape, 2, device=DEVICE) * 2 - 1)
    signal = lambda *shape: torch.rand(*shape, device=DEVICE) * 2 - 1

    def pieces(x):
        padded = np.pad(x, ((0, 0), (piece // 2, piece // 2)), mode="reflect")
        parts = np.lib.stride_tricks.sliding_window_view(padded, piece, axis=-1)[:, :: piece // 4]
        return np.fft.rfft(parts * window.numpy()).swapaxes(-1, -2)

    fft = np.fft if numpys else torch.fft
    work = [
        ("fft 2^20", lambda: plane(lines, 1 << 20), fft.fft),
        ("rfft 2^20", lambda: signal(lines, 1 << 20), fft.rfft),
        ("fftn", lambda: plane(side, side, side), fft.fftn),
        ("fft 1000", lambda: plane(thousands, 1000), fft.fft),
        ("fft 100003", lambda: plane(primes, 100003), fft.fft),
        ("stft", lambda: signal(1, minute), pieces if numpys else lambda x: torch.stft(x, piece, window=window, return_complex=True)),
    ]
    figures = {}
    for name, make, transform in work:
        x = make()
        result = torch.as_tensor(transform(x.numpy())) if numpys else transform(x)
        # Bytes as those of f32, also where an older NumPy computes in f64.
        size = x.numel() * x.element_size() + result.numel() * 8
        del result
        x = x.numpy() if numpys else x
        figures[name] = size / seconds(lambda: transform(x)) / 1e9
    return figures


def seconds_within(work, budget=3.0, most=20):
    """The median of single runs with a wait after each, after one that is not counted: as many as `budget` seconds allow."""
    runs = []
    work()
    wait()
    while not runs or (len(runs) < most and sum(runs) < budget):
        start = time.perf_counter()
        work()
        wait()
        runs.append(time.perf_counter() - start)
    return statistics.median(runs)


def decompositions(numpys=False):
    """Microseconds of decompositions: the work of `flambeau bench linalg`, by PyTorch or by NumPy. Where small matrices are
    taken one after the other, and all of them would take more than some seconds, 500 are, and the figure is scaled up."""
    import numpy as np

    linalg = np.linalg if numpys else torch.linalg
    figures = {}

    def work(name, batch, size):
        x = torch.randn(batch, size, size, device=DEVICE)
        a = x @ x.transpose(-2, -1) + size * torch.eye(size, device=DEVICE)
        a = a.numpy() if numpys else a
        extra = {"full_matrices": False} if name == "svd" else {}
        return lambda: getattr(linalg, name)(a, **extra)

    for batch, size in ((1, 1024), (10000, 32)):
        for name in (name for name in ("cholesky", "lu_factor", "qr", "eigh", "svd") if hasattr(linalg, name)):
            few, note = min(batch, 500), ""
            figure = seconds_within(work(name, few, size)) * batch / few
            if few < batch and figure < 4:
                figure = seconds_within(work(name, batch, size))
            elif few < batch:
                note = f" (from {few})"
            figures[f"{name.removesuffix('_factor')} {batch} x {size}"] = figure * 1e6
            whose = "NumPy" if numpys else f"PyTorch on {KIND}"
            print(f"{whose}: {name} {batch} x {size}: {figure * 1e6:.0f} µs{note}", file=sys.stderr, flush=True)
    return figures


def gradients_of(f, wanted=1):
    """A function of inputs and of the gradient of f's result: the gradients of f's first inputs. f itself is computed as well."""

    def op(*given):
        *inputs, grad = given
        leaves = [x.detach().requires_grad_() for x in inputs[:wanted]]
        return torch.autograd.grad(f(*leaves, *inputs[wanted:]), leaves, grad)

    return op


class Sizes:
    """As `flambeau bench ops --all` has them."""

    on_gpu = KIND == "cuda"
    count, side = (1 << 26, 8192) if on_gpu else (1 << 22, 1024)
    square, vector = (4096, 1 << 24) if on_gpu else (1024, 1 << 20)
    symbols, width, tokens = (8192, 512, 16384) if on_gpu else (512, 64, 1024)
    wide, many, small, classes = 4096, 65536, 10000, 1024
    images, few_images, lines, samples, piece = (128, 128, 8192, 960000, 512) if on_gpu else (8, 2, 1024, 960000, 512)
    batch, points = (16, 2048) if on_gpu else (1, 1024)


def uniform(*shape, low=-1.0, high=1.0):
    return torch.rand(*shape, device=DEVICE) * (high - low) + low


def indexes(shape, bound):
    return torch.randint(0, bound, shape, device=DEVICE)


def ops_by_default():
    """The ops of `flambeau bench ops`: names, inputs (the shape of one, or what makes it), functions."""
    s, half = Sizes, Sizes.side // 2
    long, square, of_half = (s.count // 1024, 1024), (s.side, s.side), (half, half)
    table, named = (s.symbols, s.width), lambda: indexes((s.tokens,), s.symbols)
    embedding_gradient = lambda at, g: torch.ops.aten.embedding_dense_backward(g, at, s.symbols, -1, False)
    ops = [
        ("add", [long, long], torch.add),
        ("sigmoid(relu(2x + y))", [long, long], lambda x, y: (x * 2 + y).relu().sigmoid()),
        ("gelu", [long], F.gelu),
        ("sum", [long], torch.sum),
        ("sum of columns", [long], lambda x: x.sum(0)),
        ("softmax", [square], lambda x: x.softmax(-1)),
        ("layer norm", [square, (s.side,), (s.side,)], lambda x, w, b: F.layer_norm(x, (s.side,), w, b)),
        ("softmax gradient", [square, square], gradients_of(lambda x: x.softmax(-1))),
        ("sort of rows", [(s.side // 4, 1024)], lambda x: x.sort(-1)[0]),
        ("sum of a square's rows", [of_half], lambda x: x.sum(1)),
        ("sum of its columns", [of_half], lambda x: x.sum(0)),
        ("argmax of its rows", [of_half], lambda x: x.argmax(1)),
        ("variance of its rows", [of_half], lambda x: x.var(1)),
        ("rows by index", [of_half, lambda: indexes((half,), half)], lambda x, at: x.index_select(0, at)),
        ("embedding", [table, named], lambda x, at: F.embedding(at, x)),
        ("embedding gradient", [named, (s.tokens, s.width)], embedding_gradient),
    ]
    for channels, side, of in ((64, 32, ""), (256, 8, " of 8 × 8")):
        x, w = (s.few_images, channels, side, side), (channels, channels, 3, 3)
        norm = lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)
        ops += [
            (f"conv2d{of}", [x, w], lambda x, w: F.conv2d(x, w, padding=1)),
            (f"conv2d{of} input gradient", [w, x], lambda w, g: conv2d_input(g.shape, w, g, padding=1)),
            (f"conv2d{of} weight gradient", [x, x], lambda x, g: conv2d_weight(x, (x.shape[1],) * 2 + (3, 3), g, padding=1)),
            (f"batch norm{of}", [x, (channels,), (channels,)], norm),
        ]
    heads = (s.batch, 6, 256, 64)
    halves = lambda: uniform(*heads).half()
    for given, of in ((heads, ""), (halves, " of F16")):
        ops += [
            (f"attention{of}", [given] * 3, attention),
            (f"attention gradients{of}", [given] * 4, gradients_of(attention, wanted=3)),
        ]
    return ops


def further_ops():
    """Those that `--all` adds."""
    s = Sizes
    square, vector, table = (s.square, s.square), (s.vector,), (s.symbols, s.width)
    columns, named = lambda: indexes(square, s.square), lambda: indexes((s.tokens,), s.symbols)
    between = lambda low, high: lambda: uniform(*square, low=low, high=high)
    bools = lambda share: lambda: torch.rand(*square, device=DEVICE) < share
    borders = lambda: torch.linspace(-1, 1, 1000, device=DEVICE)
    pictures, channels = (s.images, 64, 32, 32), (64,)
    logits = [(s.tokens, s.classes), lambda: indexes((s.tokens,), s.classes)]
    complex_lines = lambda: torch.view_as_complex(uniform(s.lines, 1024, 2))
    stft = lambda x, w: torch.stft(x, s.piece, window=w, return_complex=True)
    return [
        ("sub", [square, square], torch.sub),
        ("mul", [square, square], torch.mul),
        ("div", [square, between(0.5, 1.5)], torch.div),
        ("greater", [square, square], torch.gt),
        ("exp", [square], torch.exp),
        ("sin", [square], torch.sin),
        ("tanh", [square], torch.tanh),
        ("erf", [square], torch.erf),
        ("sqrt", [between(0.0, 1.0)], torch.sqrt),
        ("log(|x| + 1)", [square], lambda x: (x.abs() + 1).log()),
        ("x³", [square], lambda x: x.pow(3)),
        ("clamp", [square], lambda x: x.clamp(-0.5, 0.5)),
        ("where", [square], lambda x: torch.where(x > 0, x, 0.0)),
        ("masked fill", [square, bools(0.5)], lambda x, mask: x.masked_fill(mask, 0.0)),
        ("to i32", [square], lambda x: (x * 128).int()),
        ("transposed copy", [square], lambda x: x.t().contiguous()),
        ("cat", [square, square], lambda x, y: torch.cat([x, y], -1)),
        ("tile", [(s.square // 2, s.square // 2)], lambda x: x.tile(2, 2)),
        ("flip", [square], lambda x: x.flip(1)),
        ("roll", [square], lambda x: x.roll(5, 1)),
        ("tril", [square], torch.tril),
        ("pad", [square], lambda x: F.pad(x, (1, 1, 1, 1))),
        ("unfold", [square], lambda x: x.unfold(1, 4, 2).contiguous()),
        ("max of rows", [square], lambda x: x.amax(-1)),
        ("min of rows", [square], lambda x: x.amin(-1)),
        ("mean of rows", [square], lambda x: x.mean(-1)),
        ("product of rows", [between(0.9, 1.1)], lambda x: x.prod(-1)),
        ("norm of rows", [square], lambda x: torch.linalg.vector_norm(x, dim=-1)),
        ("standard deviation of rows", [square], lambda x: x.std(-1)),
        ("logsumexp of rows", [square], lambda x: x.logsumexp(-1)),
        ("any of rows", [bools(0.7 / s.square)], lambda x: x.any(-1)),
        ("top 50 of rows", [square], lambda x: x.topk(50)[0]),
        ("median of rows", [square], lambda x: x.median(-1)[0]),
        ("cumsum of rows", [square], lambda x: x.cumsum(-1)),
        ("log softmax", [square], lambda x: x.log_softmax(-1)),
        ("rms norm", [square, (s.square,)], lambda x, w: F.rms_norm(x, (s.square,), w, 1e-5)),
        ("sum over the middle", [(64, s.square, s.square // 64)], lambda x: x.sum(1)),
        ("max of columns", [square], lambda x: x.amax(0)),
        ("argmax of columns", [square], lambda x: x.argmax(0)),
        ("cumsum of columns", [square], lambda x: x.cumsum(0)),
        ("sort of columns", [square], lambda x: x.sort(0)[0]),
        ("sort of a vector", [vector], lambda x: x.sort()[0]),
        ("cumsum of a vector", [vector], lambda x: x.cumsum(0)),
        ("argmax of a vector", [vector], torch.argmax),
        ("mean of a vector", [vector], torch.mean),
        ("norm of a vector", [vector], torch.linalg.vector_norm),
        ("dot", [vector, vector], torch.dot),
        ("histogram", [vector], lambda x: x.histc(128, -1, 1)),
        ("searchsorted", [vector, borders], lambda x, edges: torch.searchsorted(edges, x, out_int32=True)),
        ("bincount", [lambda: indexes(vector, 1000)], lambda x: torch.bincount(x, minlength=1000)),
        ("randn", [], lambda: torch.randn(s.vector, device=DEVICE)),
        ("rand", [], lambda: torch.rand(s.vector, device=DEVICE)),
        ("dropout", [square], F.dropout),
        ("gather", [square, columns], lambda x, at: x.gather(1, at)),
        ("scatter add", [square, columns, square], lambda x, at, y: x.scatter_add(1, at, y)),
        ("index add", [table, named, (s.tokens, s.width)], lambda x, at, y: x.index_add(0, at, y)),
        ("one hot", [lambda: indexes((s.tokens,), 1000)], lambda x: F.one_hot(x, 1000)),
        ("matrix by vector", [(s.wide, s.wide), (s.wide,)], torch.matmul),
        ("32 rows by a square", [(32, s.wide), (s.wide, s.wide)], torch.matmul),
        ("thin by 64 × 64", [(s.many, 64), (64, 64)], torch.matmul),
        ("64 of 256 × 64 × 256", [(64, 256, 64), (64, 64, 256)], torch.matmul),
        ("einsum bhqd,bhkd->bhqk", [(4, 8, 256, 64)] * 2, lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k)),
        ("many of 8 × 8", [(s.small, 8, 8)] * 2, torch.matmul),
        ("outer product", [(s.square,)] * 2, torch.outer),
        ("distances of rows", [(s.points, 64)] * 2, torch.cdist),
        ("cross entropy", logits, F.cross_entropy),
        ("cross entropy gradient", [*logits, lambda: torch.ones((), device=DEVICE)], gradients_of(F.cross_entropy)),
        ("max pool", [pictures], lambda x: F.max_pool2d(x, 2)),
        ("average pool", [pictures], lambda x: F.avg_pool2d(x, 2)),
        ("conv1d", [(s.images, 64, 1024), (64, 64, 3)], lambda x, w: F.conv1d(x, w, padding=1)),
        ("depthwise conv2d", [pictures, (64, 1, 3, 3)], lambda x, w: F.conv2d(x, w, padding=1, groups=64)),
        ("group norm", [pictures, channels, channels], lambda x, w, b: F.group_norm(x, 8, w, b)),
        ("bilinear interpolation", [pictures], lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
        ("fft of rows", [complex_lines], torch.fft.fft),
        ("rfft of rows", [(s.lines, 1024)], torch.fft.rfft),
        ("stft", [(1, s.samples), (s.piece,)], stft),
    ]


def single_ops():
    """Microseconds of single ops, under the names of `flambeau bench ops --all` and of its sizes. What this PyTorch or this device does
    not have is left out, and said on stderr."""
    figures = {}
    for name, given, op in ops_by_default() + further_ops():
        try:
            inputs = [tuple(x() if callable(x) else uniform(*x) for x in given) for _ in range(INPUTS)]
            figures[name] = 1e6 * seconds_of_op(in_turn(op, inputs))
            print(f"{name}: {figures[name]:.0f} µs", file=sys.stderr, flush=True)
        except (RuntimeError, AttributeError) as error:
            print(f"{name}: left out ({error})", file=sys.stderr, flush=True)
    return figures


def seconds_of_op(work, run=0.1, most=100):
    """The median of the seconds of `work`, repeated with one wait at the end of a run, for as long as `flambeau bench ops` does."""
    for _ in range(WARM_UP):
        work()
    wait()
    start = time.perf_counter()
    work()
    wait()
    repetitions = max(1, min(most, int(run / (time.perf_counter() - start))))
    runs = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(repetitions):
            work()
        wait()
        runs.append((time.perf_counter() - start) / repetitions)
    return statistics.median(runs)


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
    elif OPS:
        columns = {"eager": single_ops()}
    elif FFT:
        columns = {"eager": transforms()} | ({"NumPy": transforms(numpys=True)} if KIND == "cpu" else {})
    elif NEW:
        columns = {"eager": {**first_steps(), **ragged(), **single_evaluations()}}
    elif KIND == "cpu":
        columns = {"eager": {**eager_ops(), **transforms(), **training(graph=False)}}
    else:
        eager = {**eager_ops(), **transforms(), **training(graph=False)}
        columns = {"eager": eager, "CUDA graph": training(graph=True)}
    print(json.dumps({"version": torch.__version__, "device": device, "columns": columns}))


main()
