"""Elementwise functions: of numbers from their domain, at the edges, and of integers."""

import torch
import torch.nn.functional as F

import draw as random


def gelu(x):
    """PyTorch 2.11's kernel for AVX-512 gives NaN at infinity, where 1.13 and the formula give infinity."""
    y = F.gelu(x)
    y.data[x.data == float("inf")] = float("inf")
    return y


# name: (function, domain of each operand, does it jump?)
UNARY = {
    "neg": (torch.neg, (-9, 9)),
    "reciprocal": (torch.reciprocal, (-3, 3)),
    "abs": (torch.abs, (-3, 3)),
    "sign": (torch.sign, (-3, 3)),
    "exp": (torch.exp, (-20, 20)),
    "exp2": (torch.exp2, (-20, 20)),
    "expm1": (torch.expm1, (-4, 4)),
    "log": (torch.log, (1e-3, 30)),
    "log2": (torch.log2, (1e-3, 30)),
    "log10": (torch.log10, (1e-3, 30)),
    "log1p": (torch.log1p, (-0.9, 9)),
    "sqrt": (torch.sqrt, (0, 30)),
    "rsqrt": (torch.rsqrt, (1e-2, 30)),
    "sin": (torch.sin, (-30, 30)),
    "cos": (torch.cos, (-30, 30)),
    "tan": (torch.tan, (-3, 3)),
    "asin": (torch.asin, (-1, 1)),
    "acos": (torch.acos, (-1, 1)),
    "atan": (torch.atan, (-9, 9)),
    "sinh": (torch.sinh, (-9, 9)),
    "cosh": (torch.cosh, (-9, 9)),
    "tanh": (torch.tanh, (-9, 9)),
    "asinh": (torch.asinh, (-30, 30)),
    "acosh": (torch.acosh, (1, 30)),
    "atanh": (torch.atanh, (-1, 1)),
    "erf": (torch.erf, (-5, 5)),
    "erfc": (torch.erfc, (-5, 9)),
    "sigmoid": (torch.sigmoid, (-30, 30)),
    "softplus": (lambda x: F.softplus(x, threshold=100.0), (-30, 30)),
    "relu": (torch.relu, (-3, 3)),
    "relu6": (F.relu6, (-3, 9)),
    "silu": (F.silu, (-20, 20)),
    "gelu": (gelu, (-5, 5)),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), (-5, 5)),
    "mish": (F.mish, (-20, 20)),
    "hardsigmoid": (F.hardsigmoid, (-5, 5)),
    "hardswish": (F.hardswish, (-5, 5)),
    "selu": (F.selu, (-9, 9)),
    "softsign": (F.softsign, (-9, 9)),
    "tanhshrink": (F.tanhshrink, (-9, 9)),
    "log_sigmoid": (F.logsigmoid, (-30, 30)),
    "square": (torch.square, (-9, 9)),
    "floor": (torch.floor, (-9, 9)),
    "ceil": (torch.ceil, (-9, 9)),
    "round": (torch.round, (-9, 9)),
    "trunc": (torch.trunc, (-9, 9)),
    "frac": (torch.frac, (-9, 9)),
    "deg2rad": (torch.deg2rad, (-400, 400)),
    "rad2deg": (torch.rad2deg, (-9, 9)),
    "isnan": (torch.isnan, (-9, 9)),
    "isinf": (torch.isinf, (-9, 9)),
    "isfinite": (torch.isfinite, (-9, 9)),
    "logical_not": (torch.logical_not, (-2, 2)),
}

BINARY = {
    "add": (torch.add, (-9, 9), (-9, 9)),
    "sub": (torch.sub, (-9, 9), (-9, 9)),
    "mul": (torch.mul, (-9, 9), (-9, 9)),
    "div": (torch.div, (-9, 9), (-9, 9)),
    "rsub": (lambda x, y: torch.rsub(x, y), (-9, 9), (-9, 9)),
    "pow": (torch.pow, (0.01, 9), (-4, 4)),
    "maximum": (torch.maximum, (-3, 3), (-3, 3)),
    "minimum": (torch.minimum, (-3, 3), (-3, 3)),
    "remainder": (torch.remainder, (-9, 9), (-4, 4)),
    "fmod": (torch.fmod, (-9, 9), (-4, 4)),
    "floor_divide": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (-9, 9), (-4, 4)),
    "hypot": (torch.hypot, (-9, 9), (-9, 9)),
    "atan2": (torch.atan2, (-9, 9), (-9, 9)),
    "logaddexp": (torch.logaddexp, (-30, 30), (-30, 30)),
    "gt": (torch.gt, (-3, 3), (-3, 3)),
    "ge": (torch.ge, (-3, 3), (-3, 3)),
    "lt": (torch.lt, (-3, 3), (-3, 3)),
    "le": (torch.le, (-3, 3), (-3, 3)),
    "eq": (torch.eq, (-3, 3), (-3, 3)),
    "ne": (torch.ne, (-3, 3), (-3, 3)),
    "logical_and": (torch.logical_and, (-2, 2), (-2, 2)),
    "logical_or": (torch.logical_or, (-2, 2), (-2, 2)),
    "logical_xor": (torch.logical_xor, (-2, 2), (-2, 2)),
}

JUMPS = {
    "sign", "floor", "ceil", "round", "trunc", "frac", "isnan", "isinf", "isfinite", "logical_not", "remainder", "fmod",
    "floor_divide", "gt", "ge", "lt", "le", "eq", "ne", "logical_and", "logical_or", "logical_xor",
}

INTEGERS = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum, "remainder": torch.remainder, "fmod": torch.fmod, "gt": torch.gt, "ge": torch.ge,
    "lt": torch.lt, "le": torch.le, "eq": torch.eq, "ne": torch.ne, "bitand": torch.bitwise_and,
    "bitor": torch.bitwise_or, "bitxor": torch.bitwise_xor, "neg": torch.neg, "abs": torch.abs, "sign": torch.sign,
    "bitnot": torch.bitwise_not, "relu": torch.relu, "exp": torch.exp, "sqrt": torch.sqrt, "sigmoid": torch.sigmoid,
    "logical_and": torch.logical_and, "logical_not": torch.logical_not, "square": torch.square,
    "floor_divide": lambda x, y: torch.div(x, y, rounding_mode="floor"),
}


def with_options(draw):
    """A function with random options: name, options, function, domain."""
    u = draw.uniform
    kind = draw.randrange(16)
    if kind == 0:
        a = u(0.2, 2)
        return "elu", {"alpha": a}, lambda x: F.elu(x, a), (-30, 9)
    if kind == 1:
        a = u(0.2, 2)
        return "celu", {"alpha": a}, lambda x: F.celu(x, a), (-30, 9)
    if kind == 2:
        s = u(-0.5, 0.5)
        return "leaky_relu", {"slope": s}, lambda x: F.leaky_relu(x, s), (-3, 3)
    if kind == 3:
        low, high = sorted([u(-2, 2), u(-2, 2)])
        return "hardtanh", {"min": low, "max": high}, lambda x: F.hardtanh(x, low, high), (-3, 3)
    if kind == 4:
        l = u(0, 1)
        return "hardshrink", {"lambda": l}, lambda x: F.hardshrink(x, l), (-3, 3)
    if kind == 5:
        l = u(0, 1)
        return "softshrink", {"lambda": l}, lambda x: F.softshrink(x, l), (-3, 3)
    if kind == 6:
        t, v = u(-1, 1), u(-1, 1)
        return "threshold", {"threshold": t, "value": v}, lambda x: F.threshold(x, t, v), (-3, 3)
    if kind == 7:
        b, t = u(0.3, 3), draw.choice([2.0, 20.0])
        return "softplus_with", {"beta": b, "threshold": t}, lambda x: F.softplus(x, b, t), (-9, 9)
    if kind == 8:
        eps = draw.choice([None, 1e-3, 0.1])
        return "logit", {"eps": eps}, lambda x: torch.logit(x, eps), (0, 1)
    if kind == 9:
        low, high = sorted([u(-2, 2), u(-2, 2)])
        return "clamp", {"min": low, "max": high}, lambda x: torch.clamp(x, low, high), (-3, 3)
    if kind == 10:
        low = u(-2, 2)
        return "clamp_min", {"min": low}, lambda x: torch.clamp(x, min=low), (-3, 3)
    if kind == 11:
        high = u(-2, 2)
        return "clamp_max", {"max": high}, lambda x: torch.clamp(x, max=high), (-3, 3)
    if kind == 12:
        e = draw.choice([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 4, 5, 7.5, -1.3, 0.3])
        return "pow_number", {"exponent": e}, lambda x: torch.pow(x, e), (0.05, 4) if e != int(e) else (-3, 3)
    if kind == 13:
        number, name = u(-3, 3), draw.choice(["add", "sub", "mul", "div"])
        return name + "_number", {"number": number}, lambda x: getattr(torch, name)(x, number), (-9, 9)
    if kind == 14:
        values = [u(-9, 9) for _ in range(3)]
        return "nan_to_num", {"values": values}, lambda x: torch.nan_to_num(x, *values), (-9, 9)
    name = draw.choice(["gt", "le", "eq"])
    number = draw.choice([0.0, 1.0, 0.5])
    return name + "_number", {"number": number}, lambda x: getattr(torch, name)(x, number), (-3, 3)


def tensor(draw, dims, domain, dtype=torch.float32):
    if draw.random() < 0.15 and domain[0] < -1:
        return random.ties(draw, dims).to(dtype)
    return random.floats(dims, *domain).to(dtype)


def case(draw, program):
    """One function of numbers from its domain."""
    dims = random.shape(draw)
    dtype = torch.float64 if draw.random() < 0.1 else torch.float32
    program.sums = False
    kind = draw.random()
    if kind < 0.45:
        name = draw.choice(sorted(UNARY))
        function, domain = UNARY[name]
        if name in ("hardsigmoid", "hardswish"):
            dtype = torch.float32  # PyTorch has 1/6 in single precision
        x = program.leaf(tensor(draw, dims, domain, dtype))
        program.step(name, [x], {}, function)
    elif kind < 0.75:
        name = draw.choice(sorted(BINARY))
        function, first, second = BINARY[name]
        shapes = [dims, random.broadcast(draw, dims)]
        draw.shuffle(shapes)
        x = program.leaf(tensor(draw, shapes[0], first, dtype))
        y = program.leaf(tensor(draw, shapes[1], second, dtype))
        if name == "atan2" and (program.leaves[x][0].abs() + program.leaves[y][0].abs() == 0).any():
            raise ValueError  # "atan2 at the origin"
        program.step(name, [x, y], {}, function)
    elif kind < 0.95:
        name, options, function, domain = with_options(draw)
        if name == "celu":
            dtype = torch.float32  # PyTorch's derivative has 1/α in single precision
        x = program.leaf(tensor(draw, dims, domain, dtype))
        program.step(name, [x], options, function)
    else:
        name = "lerp" if draw.random() < 0.5 else "where"
        shapes = [dims, random.broadcast(draw, dims), random.broadcast(draw, dims)]
        if name == "lerp":
            # torch.lerp wants start and end of one shape
            x, y = [program.leaf(tensor(draw, dims, (-9, 9), dtype)) for _ in range(2)]
            w = program.leaf(random.floats(shapes[2], -0.5, 1.5).to(dtype))
            program.step(name, [x, y, w], {}, torch.lerp)
        else:
            c = program.leaf(random.integers(draw, shapes[0], torch.bool))
            a, b = [program.leaf(tensor(draw, s, (-9, 9), dtype)) for s in shapes[1:]]
            program.step(name, [c, a, b], {}, torch.where)
    program.sums = name in ("logaddexp", "lerp")  # near zero they are differences of large numbers
    program.exact = name in JUMPS or name.split("_")[0] in JUMPS or dtype == torch.float64
    return program


def edges(draw, program):
    """One function of numbers at the edges: infinities, NaN, zeros, large and small numbers. Values only
    ("gradients of results at NaN and infinities")."""
    dims = [draw.randint(4, 24)]
    name = draw.choice(sorted(UNARY) + sorted(BINARY))
    operands = 1 if name in UNARY else 2
    function = (UNARY if operands == 1 else BINARY)[name][0]
    leaves = [program.leaf(random.special(draw, dims), gradient=False) for _ in range(operands)]
    program.step(name, leaves, {}, function)
    program.exact, program.sums = True, False
    skipped(name, [tensor for tensor, _ in program.leaves])
    return program


def skipped(name, operands):
    """Replaces what docs/departures.md lists."""
    x = operands[0]
    if name == "hardswish":
        x[x == float("-inf")] = 0.0  # "hardswish(−∞)"
    if name == "sign":
        x[x.isnan()] = 0.0  # PyTorch 1.13 has sign(NaN) = 0 too, but −0.0 for −0.0
    if name in ("sin", "cos", "tan"):
        x[x.abs() > 1e20] = 7.0  # PyTorch's vectorised sine of huge numbers is its own
    if name in ("floor_divide", "remainder", "fmod"):
        operands[1][operands[1].abs() < 1e-20] = 2.0  # "x mod 0"
        operands[1][operands[1].isinf()] = 2.0
        x[x.abs() > 1e20] = 5.0


def integers(draw, program):
    """Arithmetic of integers and booleans, and what dtype comes out."""
    name = draw.choice(sorted(INTEGERS))
    function = INTEGERS[name]
    unary = name in ("neg", "abs", "sign", "bitnot", "relu", "exp", "sqrt", "sigmoid", "logical_not", "square")
    dims = random.shape(draw, least=1)  # "rank-0 tensors promote like others"
    dtypes = [draw.choice([torch.int32, torch.int64, torch.uint8, torch.bool, torch.float32]) for _ in range(2)]
    if all(d == torch.bool for d in (dtypes[:1] if unary else dtypes)) and not name.startswith(("bit", "logical")):
        dtypes[0] = torch.int32  # "booleans in arithmetic are I32"
    operands = []
    for dtype in dtypes[:1] if unary else dtypes:
        x = random.floats(dims, -9, 9).round() if dtype == torch.float32 else random.integers(draw, dims, dtype)
        if operands and name in ("remainder", "fmod", "floor_divide"):
            x = x if dtype == torch.bool else torch.where(x == 0, torch.ones_like(x), x)  # "x mod 0"
        if dtype == torch.bool and operands and name in ("remainder", "fmod", "floor_divide"):
            x = torch.ones_like(x)
        operands.append(program.leaf(x, gradient=False))
    program.step(name, operands, {}, function)
    program.exact, program.sums = True, False
    return program
