"""Values and derivatives of every elementwise op, from PyTorch in double precision.

Writes crates/flambeau/tests/data/elementwise.safetensors, which tests/elementwise_values.rs reads. For an op `f`:

  f/in0, f/in1      samples inside the domain, ties and zeros included where the derivative is defined there
  f/out             f of them
  f/grad0, grad1    the gradient of sum(w f), with w = 1 + i/8 at element i
  f/second0, …      the gradient of sum over the inputs of sum(w grad), for the second derivative
  f/special_in0, …  zeros, infinities, NaN, large and small numbers; f/special_out
  f/int_in0, …      for ops on integers, int32; f/int_out

Run from the repository's root: python3 tools/reference/elementwise.py  (PyTorch 1.13, no other packages)
"""

import itertools
import json
import struct

import torch

PATH = "crates/flambeau/tests/data/elementwise.safetensors"
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -3.0, float("inf"), float("-inf"), float("nan"), 1e-30, 1e4, -1e4]
INTEGERS = [0, 1, 2, 3, 7, -1, -2, -7, 30, 100, -100]

ANY = [-2.0, -1.3, -0.7, -0.2, 0.1, 0.45, 0.9, 1.6, 2.2]
ZERO = ANY + [0.0]
POSITIVE = [0.05, 0.3, 0.7, 1.0, 1.4, 2.0, 3.1]
UNIT = [-0.9, -0.6, -0.5, -0.1, 0.0, 0.2, 0.5, 0.8]
PAIRS = ([-2.0, -1.3, 0.4, 1.7, 0.6, 0.6, 2.5], [0.7, -1.6, 1.1, 0.3, 0.6, -0.8, 2.5])
ORDERED = ([-2.0, -1.3, 0.4, 1.7, 0.6, 0.6, 2.5], [0.7, -1.6, 1.1, 0.3, 0.7, -0.8, 2.4])


def floor_divide(x, y):
    return torch.div(x, y, rounding_mode="floor")


def unary(samples, names):
    return {name: (getattr(torch, name), [samples]) for name in names.split()}


FLOATS = {
    **unary(ZERO, "neg exp exp2 expm1 sin cos tanh sinh cosh asinh atan sigmoid erf square relu abs sign deg2rad rad2deg erfc"),
    **unary(POSITIVE, "log log2 log10 sqrt rsqrt reciprocal"),
    **unary(UNIT, "asin acos atanh tan log1p"),
    **unary([1.1, 1.5, 2.0, 4.0], "acosh"),
    **unary([-1.7, -1.2, 0.3, 0.8, 2.4], "floor ceil round trunc frac"),
    "softplus": (lambda x: torch.logaddexp(x, torch.zeros_like(x)), [ZERO]),
    "softplus_with": (lambda x: torch.nn.functional.softplus(x, 2.0, 1.5), [ZERO]),
    "log_sigmoid": (torch.nn.functional.logsigmoid, [ZERO]),
    "logit": (torch.logit, [[0.05, 0.3, 0.5, 0.9]]),
    "logit_eps": (lambda x: torch.logit(x, 0.1), [[0.05, 0.3, 0.5, 0.95]]),
    "clamp": (lambda x: torch.clamp(x, -0.7, 0.9), [ZERO]),
    "nan_to_num": (lambda x: torch.nan_to_num(x, 0.5, 2.0, -2.0), [ZERO]),
    "pow_2": (lambda x: x**2, [ZERO]),
    "pow_3": (lambda x: x**3, [ZERO]),
    "pow_4": (lambda x: x**4, [ZERO]),
    "pow_half": (lambda x: x**0.5, [POSITIVE]),
    "pow_minus_half": (lambda x: x**-0.5, [POSITIVE]),
    "pow_minus_1": (lambda x: x**-1, [POSITIVE]),
    "pow_minus_2": (lambda x: x**-2, [POSITIVE]),
    "pow_1": (lambda x: x**1, [ZERO]),
    "pow_0": (lambda x: x**0, [ANY]),
    **{name: (getattr(torch, name), PAIRS) for name in "add sub mul div maximum minimum atan2 hypot logaddexp rsub".split()},
    **{name: (getattr(torch, name), ORDERED) for name in "remainder fmod".split()},
    "floor_divide": (floor_divide, ORDERED),
    "pow": (torch.pow, ([0.3, 1.0, 1.7, 2.0, 0.6, 3.0, 0.4], [-1.5, 0.7, 2.0, 3.0, -0.4, 1.0, 2.5])),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), PAIRS),
    "clamp_tensors": (lambda x, y: torch.clamp(x, y, y + 1.0), ORDERED),
}
# PyTorch gives these no second derivative, or a softer threshold than ours: values and gradients only.
FIRST_ONLY = {"logit_eps"}
# Beside infinities these are not PyTorch's alone to say, or are exact only within a bounded range.
NO_SPECIAL = {"lerp", "clamp_tensors", "logaddexp", "logit_eps", "deg2rad", "rad2deg"}

TESTS = {name: getattr(torch, name) for name in "gt ge lt le eq ne isnan isinf isfinite logical_and logical_or logical_xor logical_not".split()}
INTS = {
    **{name: getattr(torch, name) for name in "add sub mul maximum minimum neg abs sign square gt ge lt le eq ne remainder fmod".split()},
    "floor_divide": floor_divide,
    "bitand": torch.bitwise_and,
    "bitor": torch.bitwise_or,
    "bitxor": torch.bitwise_xor,
    "bitnot": torch.bitwise_not,
    "shift_left": torch.bitwise_left_shift,
    "shift_right": torch.bitwise_right_shift,
    "pow": torch.pow,
}
UNARY_TESTS = {"isnan", "isinf", "isfinite", "logical_not"}
UNARY_INTS = {"neg", "abs", "sign", "square", "bitnot"}


def weights(tensor):
    return 1.0 + torch.arange(tensor.numel(), dtype=torch.float64) / 8.0


def derivatives(function, samples):
    inputs = [torch.tensor(column, dtype=torch.float64, requires_grad=True) for column in samples]
    out = function(*inputs)
    first = torch.autograd.grad((weights(out) * out).sum(), inputs, create_graph=True, allow_unused=True)
    first = [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, first)]
    total = sum((weights(g) * g).sum() for g in first)
    if total.requires_grad:
        second = torch.autograd.grad(total, inputs, allow_unused=True)
    else:
        second = [None for _ in inputs]
    second = [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, second)]
    return inputs, out, first, second


def special(arity):
    columns = list(zip(*itertools.product(SPECIAL, repeat=arity)))
    return [torch.tensor(column, dtype=torch.float64) for column in columns]


def integers(name):
    if name in UNARY_INTS:
        return [torch.tensor(INTEGERS, dtype=torch.int32)]
    second = [n for n in INTEGERS if n != 0] if name in ("remainder", "fmod", "floor_divide") else INTEGERS
    if name.startswith("shift"):
        second = [0, 1, 5, 31]
    if name == "pow":
        second = [0, 1, 2, 3, 5]
    columns = zip(*itertools.product(INTEGERS, second))
    return [torch.tensor(column, dtype=torch.int32) for column in columns]


def collect():
    tensors = {}

    def put(name, kind, columns):
        for index, column in enumerate(columns):
            # Autograd's symbolic zeros have no storage.
            zeros = column._is_zerotensor()
            tensors[f"{name}/{kind}{index}"] = torch.zeros(column.shape, dtype=column.dtype) if zeros else column.detach()

    for name, (function, samples) in FLOATS.items():
        inputs, out, first, second = derivatives(function, samples)
        put(name, "in", inputs)
        put(name, "grad", first)
        if name not in FIRST_ONLY:
            put(name, "second", second)
        tensors[f"{name}/out"] = out.detach()
        if name not in NO_SPECIAL:
            inputs = special(len(samples))
            put(name, "special_in", inputs)
            tensors[f"{name}/special_out"] = function(*inputs)
    for name, function in TESTS.items():
        inputs = special(1 if name in UNARY_TESTS else 2)
        put(name, "special_in", inputs)
        tensors[f"{name}/special_out"] = function(*inputs).to(torch.float64)
    for name, function in INTS.items():
        inputs = integers(name)
        put(name, "int_in", inputs)
        tensors[f"{name}/int_out"] = function(*inputs).to(torch.int32)
    return tensors


def write(tensors):
    header, data = {}, b""
    codes = {torch.float64: ("F64", "d"), torch.int32: ("I32", "i")}
    for name, tensor in sorted(tensors.items()):
        dtype, code = codes[tensor.dtype]
        start = len(data)
        data += struct.pack(f"<{tensor.numel()}{code}", *tensor.flatten().tolist())
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [start, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(PATH, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    write(collect())
