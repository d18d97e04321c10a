"""Reductions, views, indexing, products, convolutions, pooling; and programs of several steps."""

import math

import torch
import torch.nn.functional as F

import draw as random
import elementwise


def reduction(draw, size):
    """A reduction with random dimensions: returns its name, options and function."""
    rank = len(size)
    dims, keep = random.dims(draw, rank), draw.random() < 0.5
    options = {"dims": dims, "keepdim": keep}
    over = list(range(rank)) if dims is None else dims
    name = draw.choice(["sum", "mean", "amax", "amin", "logsumexp", "var", "std", "norm"])
    if name in ("var", "std"):
        options["correction"] = correction = draw.choice([0, 1, 1])
        if math.prod(size[d] for d in over) <= correction:
            raise ValueError  # "variances without freedom"
        function = lambda x: getattr(torch, name)(x, dim=over, correction=correction, keepdim=keep)
    elif name == "norm":
        options["p"] = p = draw.choice([0.5, 1, 1.5, 2, 2, 3, -1, -2, "inf", "-inf"])
        function = lambda x: torch.linalg.vector_norm(x, float(p), dim=over, keepdim=keep)
    elif name == "logsumexp" and rank == 0:
        raise IndexError
    elif rank == 0:
        function = lambda x: getattr(torch, name)(x)
    else:
        function = lambda x: getattr(torch, name)(x, dim=over, keepdim=keep)
    return name, options, function


def along(draw, rank, size):
    """A function along one dimension."""
    d = random.dim(draw, rank)
    name = draw.choice(["softmax", "log_softmax", "softmin", "cumsum", "cumprod", "normalize", "flip", "argmax", "prod",
                        "argmin", "sort", "max_dim", "topk", "roll", "select", "narrow", "unsqueeze", "glu", "median"])
    options = {"dim": d}
    if name in ("softmax", "log_softmax", "softmin"):
        return name, options, lambda x: getattr(F, name)(x, dim=d)
    if name in ("cumsum", "cumprod", "flip", "argmax", "argmin", "prod"):
        return name, options, lambda x: getattr(torch, name)(x, dim=d) if name != "flip" else torch.flip(x, [d])
    if name == "normalize":
        options["p"] = p = draw.choice([1.0, 2.0, 3.0])
        if size[d] == 1:
            raise ValueError  # a slope that cancels to nothing
        return name, options, lambda x: F.normalize(x, p, d, 1e-12)
    if name in ("sort", "max_dim", "median"):
        options["descending"] = down = draw.random() < 0.5
        of = {"sort": lambda x: torch.sort(x, dim=d, descending=down, stable=True), "max_dim": lambda x: torch.max(x, d),
              # of a copy: 1.13's median of an expanded tensor reads memory that nothing was written to
              "median": lambda x: torch.median(x.contiguous(), d)}
        return name, options, lambda x: list(of[name](x))
    if name == "topk":
        options.update(k=draw.randint(1, size[d]), largest=draw.random() < 0.5)
        return name, options, lambda x: list(torch.topk(x, options["k"], d, options["largest"], True))
    if name == "roll":
        options["shift"] = shift = draw.randint(-3, 3)
        return name, options, lambda x: torch.roll(x, shift, d)
    if name == "select":
        options["index"] = k = draw.randrange(-size[d], size[d])
        return name, options, lambda x: torch.select(x, d, k)
    if name == "narrow":
        options["start"] = start = draw.randrange(size[d])
        options["length"] = length = draw.randint(1, size[d] - start)
        return name, options, lambda x: torch.narrow(x, d, start, length)
    if name == "unsqueeze":
        return name, options, lambda x: torch.unsqueeze(x, d)
    return name, options, lambda x: F.glu(x, d)


def view(draw, size):
    """Another look at the same elements."""
    rank = len(size)
    name = draw.choice(["permute", "reshape", "expand", "repeat", "tril", "triu", "diagonal", "pad", "flatten", "tile"])
    if name == "permute":
        order = draw.sample(range(rank), rank)
        return name, {"order": order}, lambda x: x.permute(order)
    if name == "reshape":
        to = list(size)
        draw.shuffle(to)
        return name, {"shape": to}, lambda x: x.reshape(to)
    if name == "expand":
        to = [draw.randint(1, 2)] + [draw.randint(2, 3) if n == 1 else n for n in size]
        return name, {"shape": to}, lambda x: x.expand(to)
    if name in ("repeat", "tile"):
        times = [draw.randint(1, 2) for _ in size]
        return name, {"times": times}, lambda x: x.repeat(times)
    if name in ("tril", "triu"):
        k = draw.randint(-2, 2)
        return name, {"diagonal": k}, lambda x: getattr(torch, name)(x, k)
    if name == "diagonal":
        k = draw.randint(-1, 1)
        return name, {"offset": k}, lambda x: torch.diagonal(x, k, -2, -1)
    if name == "pad":
        mode = draw.choice(["constant", "constant", "reflect", "replicate", "circular"])
        count = draw.randint(1, min(rank, 3)) if mode == "constant" else max(rank - 2, 1)
        pads = [draw.randint(-1 if mode == "constant" else 0, 2) for _ in range(2 * count)]
        value = draw.uniform(-1, 1)
        options = {"pads": pads, "mode": mode, "value": value}
        return name, options, lambda x: F.pad(x, pads, mode, value if mode == "constant" else 0.0)
    first = draw.randrange(rank)
    last = draw.randint(first, rank - 1)
    return name, {"start": first, "end": last}, lambda x: torch.flatten(x, first, last)


def pooling(draw, program):
    n = draw.randint(1, 2)
    size = [draw.randint(1, 2), draw.randint(1, 2)] + [draw.randint(2, 7) for _ in range(n)]
    x = program.leaf(random.normal(size) if draw.random() < 0.8 else random.ties(draw, size))
    kind = draw.choice(["max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"])
    if kind.startswith("adaptive"):
        to = [draw.randint(1, 4) for _ in range(n)]
        program.step(kind, [x], {"n": n, "size": to}, lambda x: getattr(F, "%s%dd" % (kind, n))(x, to))
        return program
    options = {"n": n, "kernel": [draw.randint(1, 4) for _ in range(n)], "stride": [draw.randint(1, 3) for _ in range(n)],
               "ceil": draw.random() < 0.5}
    options["padding"] = [draw.randint(0, k // 2) for k in options["kernel"]]
    if kind == "max_pool":
        options["dilation"] = [draw.choice([1, 1, 2]) for _ in range(n)]
        program.step(kind, [x], options, lambda x: getattr(F, "max_pool%dd" % n)(
            x, options["kernel"], options["stride"], options["padding"], options["dilation"], options["ceil"]))
    else:
        options["include_pad"] = draw.random() < 0.5
        program.step(kind, [x], options, lambda x: getattr(F, "avg_pool%dd" % n)(
            x, options["kernel"], options["stride"], options["padding"], options["ceil"], options["include_pad"]))
    return program


def convolution(draw, program):
    n, groups = draw.randint(1, 2), draw.choice([1, 1, 2])
    into, out = groups * draw.randint(1, 2), groups * draw.randint(1, 2)
    size = [draw.randint(1, 2), into] + [draw.randint(1, 6) for _ in range(n)]
    kernel = [draw.randint(1, 3) for _ in range(n)]
    options = {"n": n, "stride": [draw.randint(1, 3) for _ in range(n)], "padding": [draw.randint(0, 2) for _ in range(n)],
               "dilation": [draw.choice([1, 1, 2]) for _ in range(n)], "groups": groups}
    transposed = draw.random() < 0.4
    x = program.leaf(random.normal(size))
    shape = [into, out // groups] if transposed else [out, into // groups]
    w = program.leaf(random.normal(shape + kernel))
    operands = [x, w]
    if draw.random() < 0.5:
        operands.append(program.leaf(random.normal([out])))
    o = options
    if transposed:
        o["output_padding"] = [draw.randint(0, max(s, d) - 1) for s, d in zip(o["stride"], o["dilation"])]
        program.step("conv_transpose", operands, o, lambda x, w, b=None: getattr(F, "conv_transpose%dd" % n)(
            x, w, b, o["stride"], o["padding"], o["output_padding"], groups, o["dilation"]))
    else:
        program.step("conv", operands, o, lambda x, w, b=None: getattr(F, "conv%dd" % n)(
            x, w, b, o["stride"], o["padding"], o["dilation"], groups))
    return program


def product(draw, program):
    m, k, n = [draw.randint(1, 5) for _ in range(3)]
    batch = random.shape(draw, most=2, elements=6)
    left = random.broadcast(draw, batch) + [m, k]
    right = random.broadcast(draw, batch) + [k, n]
    kind = draw.choice(["matmul", "matmul", "mv", "dot", "outer", "addmm", "kron", "bilinear", "tensordot"])
    if kind == "matmul":
        if draw.random() < 0.2:
            left = [k]
        elif draw.random() < 0.2:
            right = [k]
        operands = [program.leaf(random.normal(left)), program.leaf(random.normal(right))]
        program.step(kind, operands, {}, torch.matmul)
    elif kind == "addmm":
        beta, alpha = draw.uniform(-2, 2), draw.uniform(-2, 2)
        operands = [program.leaf(random.normal(s)) for s in ([m, n], [m, k], [k, n])]
        program.step(kind, operands, {"beta": beta, "alpha": alpha},
                     lambda c, a, b: torch.addmm(c, a, b, beta=beta, alpha=alpha))
    elif kind == "bilinear":
        operands = [program.leaf(random.normal(s)) for s in ([m, k], [m, n], [2, k, n])]
        program.step(kind, operands, {}, lambda x, y, w: F.bilinear(x, y, w))
    else:
        shapes = {"mv": ([m, k], [k]), "dot": ([k], [k]), "outer": ([m], [n]), "kron": ([m, 2], [2, n]),
                  "tensordot": ([m, k, 2], [k, 2, n])}[kind]
        of = torch.tensordot if kind == "tensordot" else getattr(torch, kind)
        operands = [program.leaf(random.normal(s)) for s in shapes]
        program.step(kind, operands, {}, of)
    return program


def indexing(draw, program):
    size = random.shape(draw, least=1, most=3)
    d = random.dim(draw, len(size))
    x = program.leaf(random.normal(size))
    kind = draw.choice(["gather", "index_select", "scatter_add", "index_add", "masked_fill", "embedding", "take_along"])
    if kind in ("gather", "take_along", "scatter_add"):
        to = list(size)
        to[d] = draw.randint(1, 4)
        index = torch.randint(0, size[d], to)
        at = program.leaf(index, gradient=False)
        if kind == "scatter_add":
            program.step(kind, [x, at, program.leaf(random.normal(to))], {"dim": d},
                         lambda x, i, y: torch.scatter_add(x, d, i, y))
        else:
            program.step(kind, [x, at], {"dim": d}, lambda x, i: torch.gather(x, d, i))
    elif kind in ("index_select", "index_add"):
        at = program.leaf(torch.randint(0, size[d], [draw.randint(1, 4)]), gradient=False)
        if kind == "index_select":
            program.step(kind, [x, at], {"dim": d}, lambda x, i: torch.index_select(x, d, i))
        else:
            to = list(size)
            to[d] = program.leaves[at][0].numel()
            program.step(kind, [x, at, program.leaf(random.normal(to))], {"dim": d},
                         lambda x, i, y: torch.index_add(x, d, i, y))
    elif kind == "masked_fill":
        mask = program.leaf(random.integers(draw, random.broadcast(draw, size), torch.bool))
        value = draw.choice([0.0, -1.5, "-inf"])
        program.step(kind, [x, mask], {"value": value}, lambda x, m: torch.masked_fill(x, m, float(value)))
    else:
        rows, width = draw.randint(1, 5), draw.randint(1, 4)
        program.leaves[x] = (random.normal([rows, width]), True)
        at = program.leaf(torch.randint(0, rows, random.shape(draw, most=2, elements=8)), gradient=False)
        padding = draw.choice([None, None, draw.randrange(rows)])
        program.step(kind, [x, at], {"padding": padding}, lambda w, i: F.embedding(i, w, padding))
    return program


def resizing(draw, program):
    mode = draw.choice(["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "area"])
    n = {"linear": 1, "bilinear": 2, "bicubic": 2}.get(mode, draw.randint(1, 2))
    size = [1, draw.randint(1, 2)] + [draw.randint(1, 5) for _ in range(n)]
    to = [draw.randint(1, 7) for _ in range(n)]
    corners = mode in ("linear", "bilinear", "bicubic") and draw.random() < 0.5
    x = program.leaf(random.normal(size))
    program.step("interpolate", [x], {"mode": mode, "size": to, "align_corners": corners}, lambda x: F.interpolate(
        x, to, mode=mode, align_corners=corners if mode in ("linear", "bilinear", "bicubic") else None))
    return program


def joining(draw, program):
    size = random.shape(draw, least=1, most=3, elements=24)
    d = random.dim(draw, len(size))
    kind = draw.choice(["cat", "stack", "split", "chunk", "unbind", "cosine_similarity", "pairwise_distance"])
    if kind in ("cosine_similarity", "pairwise_distance"):
        x, y = program.leaf(random.normal(size)), program.leaf(random.normal(random.broadcast(draw, size)))
        if kind == "cosine_similarity":
            program.noise = 10.0  # along a single element it is ±1, without slope
            program.step(kind, [x, y], {"dim": d}, lambda x, y: F.cosine_similarity(x, y, d))
        else:
            program.step(kind, [x, y], {}, lambda x, y: F.pairwise_distance(x, y))
    elif kind in ("cat", "stack"):
        parts = []
        for _ in range(draw.randint(1, 3)):
            part = list(size)
            part[d] = draw.randint(1, 3) if kind == "cat" else part[d]
            parts.append(program.leaf(random.normal(part)))
        program.step(kind, parts, {"dim": d}, lambda *xs: getattr(torch, kind)(xs, d))
    else:
        x = program.leaf(random.normal(size))
        count = draw.randint(1, 3)
        of = {"split": lambda x: list(torch.split(x, count, d)), "chunk": lambda x: list(torch.chunk(x, count, d)),
              "unbind": lambda x: list(torch.unbind(x, d))}
        program.step(kind, [x], {"dim": d, "count": count}, of[kind])
    return program


def case(draw, program):
    kind = draw.randrange(10)
    if kind == 4:
        return pooling(draw, program)
    if kind == 5:
        return convolution(draw, program)
    if kind == 6:
        return product(draw, program)
    if kind == 7:
        return indexing(draw, program)
    if kind == 8:
        return joining(draw, program) if draw.random() < 0.7 else resizing(draw, program)
    size = random.shape(draw, least=0 if kind < 2 else 1)
    tied = draw.random() < 0.2
    x = program.leaf(random.ties(draw, size) if tied else random.normal(size, draw.choice([0.1, 1.0, 10.0])))
    if kind < 2:
        name, options, function = reduction(draw, size)
    elif kind in (2, 3):
        name, options, function = along(draw, len(size), size)
        # "positions of equal elements": any of them may be given by PyTorch.
        if tied and name in ("topk", "median", "max_dim", "argmax", "argmin"):
            raise ValueError
    else:
        name, options, function = view(draw, size)
    program.exact = tied
    program.step(name, [x], options, function)
    return program


SMOOTH = ["exp", "tanh", "sigmoid", "sin", "cos", "softplus", "silu", "gelu", "square", "atan", "relu", "abs", "neg", "erf"]


def program(draw, program):
    """A few steps, each of an earlier value; some of the values are asked for."""
    sizes = {}

    def add(tensor):
        number = program.leaf(tensor)
        sizes[number] = list(tensor.shape)
        return number

    rows, columns = draw.randint(1, 4), draw.randint(1, 5)
    for _ in range(draw.randint(1, 3)):
        add(random.normal(draw.choice([[rows, columns], [rows, columns], [columns], [rows, 1], []])))
    count = len(program.leaves)
    values = [tensor for tensor, _ in program.leaves]

    def step(name, operands, options, function):
        # "positions of equal elements"
        if name in ("topk", "median", "max_dim", "argmax", "argmin"):
            if values[operands[0]].unique().numel() < values[operands[0]].numel():
                raise ValueError
        result = function(*[values[k] for k in operands])
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        if any(y.numel() > 200 or y.numel() == 0 for y in result):
            raise ValueError
        if any(y.is_floating_point() and not (y.isfinite().all() and y.abs().max() < 1e3) for y in result):
            raise ValueError
        program.step(name, operands, options, function)
        values.extend(result)

    for _ in range(draw.randint(2, 9)):
        usable = [k for k, y in enumerate(values) if y.is_floating_point()]
        x = draw.choice(usable[-4:] if draw.random() < 0.7 else usable)
        rank = values[x].dim()
        kind = draw.random()
        try:
            if kind < 0.3:
                name = draw.choice(SMOOTH)
                step(name, [x], {}, elementwise.UNARY[name][0])
            elif kind < 0.55:
                y = draw.choice(usable)
                name = draw.choice(["add", "sub", "mul", "maximum", "div"])
                if name == "div" and values[x].div(values[y]).sub(1).abs().min() < 1e-6:
                    continue  # x / x: its slope cancels to nothing, there is nothing to compare
                step(name, [x, y], {}, elementwise.BINARY[name][0])
            elif kind < 0.7:
                step(*[(n, [x], o, f) for n, o, f in [reduction(draw, list(values[x].shape))]][0])
            elif kind < 0.8 and rank > 0:
                step(*[(n, [x], o, f) for n, o, f in [along(draw, rank, list(values[x].shape))]][0])
            elif kind < 0.9 and rank > 0:
                step(*[(n, [x], o, f) for n, o, f in [view(draw, list(values[x].shape))]][0])
            elif rank == 2:
                y = draw.choice([k for k in usable if values[k].dim() == 2])
                step("matmul_t", [x, y], {}, lambda x, y: torch.matmul(x, y.t()))
        except (RuntimeError, ValueError, IndexError):
            continue
    made = range(count, len(values))
    if not made:
        return None
    chosen = [k for k in made if k == len(values) - 1 or draw.random() < 0.4]
    program.outputs = chosen
    return program
