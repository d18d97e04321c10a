"""Writes what PyTorch gives for the cases of crates/flambeau/tests/tensor_api.rs.

Run: /usr/bin/python3 tools/reference/tensor_api.py crates/flambeau/tests/data/tensor_api.safetensors

For every case: `<name>.out`, and where inputs are differentiated, `<name>.grad.<input>` of sum(out * weight) and
`<name>.grad2.<input>` of sum(grad * weight2), in float64. `weight(n)[i] = cos(i)`, `weight2(n)[i] = sin(1 + i)`.
"""

import json
import struct
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
DOUBLE = torch.float64


def weights(like, function, shift=0.0):
    return function(torch.arange(like.numel(), dtype=DOUBLE) + shift).reshape(like.shape)


def draw(*shape):
    return torch.randn(*shape).to(DOUBLE)


INPUTS = {
    "a": draw(3, 4),
    "b": draw(3, 4),
    "c": draw(2, 3, 4),
    "m": draw(4, 5),
    "n": draw(2, 4, 5),
    "s": draw(4, 4),
    "v": draw(4),
    "u": draw(3),
    "p": draw(3, 4).abs() + 0.5,
    "ties": torch.tensor([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 0.0], [0.0, 0.0, -1.0, -1.0]], dtype=DOUBLE),
    "zeros": torch.tensor([[0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 3.0, 4.0]], dtype=DOUBLE),
    "large": torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [3.0, 1e4, 1e4]], dtype=DOUBLE),
    "inf": torch.tensor([[float("inf"), 0.0], [-float("inf"), -float("inf")], [-float("inf"), 1.0]], dtype=DOUBLE),
    "empty": torch.zeros(0, 3, dtype=DOUBLE),
    "index": torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]]),
    "picks": torch.tensor([2, 0, 2]),
    "mask": torch.tensor([[True, False, True, True], [False, False, True, False], [True, True, True, True]]),
}

CASES = []


def case(name, function, *inputs, second=False):
    CASES.append((name, function, inputs, second))


x = INPUTS
# Views.
case("reshape", lambda a: a.reshape(2, -1), "a")
case("flatten", lambda c: c.flatten(0, 1), "c")
case("unflatten", lambda c: c.unflatten(2, (2, -1)) if hasattr(c, "unflatten") else c.reshape(2, 3, 2, 2), "c")
case("movedim", lambda c: c.movedim((0, 1), (2, 0)), "c")
case("transpose", lambda c: c.transpose(0, 2), "c")
case("expand", lambda u: u.unsqueeze(1).expand(-1, 2), "u")
case("slice", lambda a: a[:, 1:-1], "a")
case("slice_step", lambda c: c[:, :, 1::2], "c")
case("flip", lambda c: c.flip(0, 2), "c")
case("roll", lambda c: c.roll((1, -2), (0, 2)), "c")
case("roll_flat", lambda a: a.roll(5), "a")
case("unfold", lambda c: c.unfold(2, 3, 1), "c")
case("unfold_middle", lambda c: c.unfold(1, 2, 1), "c")
case("chunk", lambda a: a.chunk(3, 1)[1], "a")
case("split", lambda a: a.split([1, 3], 1)[1], "a")
case("unbind", lambda c: c.unbind(1)[2], "c")
case("repeat", lambda a: a.repeat(2, 1, 2), "a")
case("repeat_interleave", lambda a: a.repeat_interleave(3, 0), "a")
case("tile", lambda c: c.tile(2), "c")
case("diagonal", lambda c: c.diagonal(1, 2, 0), "c")
case("diagonal_below", lambda a: a.diagonal(-1), "a")
case("diag", lambda v: v.diag(-2), "v", second=True)
case("pad_zero", lambda a: F.pad(a, (1, 2, 0, 1)), "a")
case("pad_value", lambda a: F.pad(a, (1, -2, -1, 2), value=7.5), "a")
case("pad_reflect", lambda c: F.pad(c, (2, 3), mode="reflect"), "c")
case("pad_reflect_crop", lambda c: F.pad(c, (3, -2), mode="reflect"), "c")
case("pad_replicate", lambda c: F.pad(c, (2, 3), mode="replicate"), "c")
case("pad_circular", lambda c: F.pad(c, (3, 1), mode="circular"), "c")
case("tril", lambda c: c.tril(1), "c")
case("triu", lambda a: a.triu(-1), "a")
# Joining.
case("cat", lambda a, b: torch.cat([a, b, a], 1), "a", "b", second=True)
case("cat_many", lambda a, v: torch.cat([a] + [v.unsqueeze(0) * k for k in range(20)], 0), "a", "v")
case("stack", lambda a, b: torch.stack([a, b], 1), "a", "b")
case("cat_empty", lambda u: torch.cat([torch.zeros(0, dtype=DOUBLE), u.unsqueeze(0)], 0), "u")
# Indexing.
case("i", lambda c: c[:, 2, 1:3], "c")
case("i_ellipsis", lambda c: c[..., None, 1], "c")
case("i_picks", lambda c: c[1, x["picks"], ::2], "c")


def assigned(a, u):
    a = a.clone()
    a[:, 1] = u
    a[0, 2:] = 9.0
    return a


def assigned_picks(c, v):
    c = c.clone()
    c[1, torch.tensor([2, 0])] = v
    return c


case("i_assign", assigned, "a", "u")
case("i_assign_picks", assigned_picks, "c", "v")
case("gather", lambda a: a.gather(0, x["index"]), "a", second=True)
case("index_select", lambda c: c.index_select(1, x["picks"]), "c")
# PyTorch reads the part of larger values that the index covers, but has no derivative for it.
case("scatter", lambda a, b: a.scatter(1, x["index"][:, :2], b[:2, :2]), "a", "b")
case("scatter_add", lambda a, b: a.scatter_add(0, x["index"], b[:2]), "a", "b")
case("scatter_value", lambda a: a.scatter(1, x["index"], 2.5), "a")
case("index_add", lambda a, b: a.index_add(0, x["picks"], b), "a", "b")
case("masked_fill", lambda a: a.masked_fill(x["mask"], -2.0), "a")
case("masked_select", lambda a: a.masked_select(x["mask"]), "a")
case("nonzero", lambda: x["zeros"].nonzero())
case("one_hot", lambda: F.one_hot(x["index"], 4))
# Creation.
case("arange", lambda: torch.arange(-3, 11, 4))
case("arange_float", lambda: torch.arange(0.5, -1.0, -0.3, dtype=DOUBLE))
case("linspace", lambda: torch.linspace(-2, 3, 7, dtype=DOUBLE))
case("linspace_one", lambda: torch.linspace(-2, 3, 1, dtype=DOUBLE))
case("eye", lambda: torch.eye(2, 3, dtype=DOUBLE))
# Reductions.
case("prod", lambda zeros: zeros.prod(), "zeros")
case("prod_dim", lambda a: a.prod(1), "a", second=True)
case("amax", lambda ties: ties.amax(1), "ties")
case("amin", lambda ties: ties.amin((0, 1)), "ties")
case("max_all", lambda ties: ties.max(), "ties")
case("max_dim", lambda ties: ties.max(1).values, "ties")
case("min_dim", lambda ties: ties.min(0).values, "ties")
case("max_positions", lambda: x["ties"].max(1).indices)
case("argmax", lambda: x["a"].argmax())
case("argmin", lambda: x["a"].argmin(0))
case("var", lambda c: c.var((0, 2)), "c", second=True)
case("var_biased", lambda a: a.var(1, unbiased=False, keepdim=True), "a")
case("std", lambda c: c.std(1), "c", second=True)
case("std_zero", lambda zeros: zeros.std(1), "zeros")
case("all", lambda: x["zeros"].bool().all(1))
case("any", lambda: x["zeros"].bool().any(1))
case("count_nonzero", lambda: x["zeros"].count_nonzero(1))
case("all_empty", lambda: x["empty"].bool().all(0))
case("sum_empty", lambda: x["empty"].sum(0))
case("mean_empty", lambda: x["empty"].mean(0))
case("logsumexp", lambda c: c.logsumexp((0, 2)), "c", second=True)
case("logsumexp_large", lambda large: large.logsumexp(1), "large")
case("logsumexp_inf", lambda: x["inf"].logsumexp(1))
case("norm_1", lambda zeros: zeros.norm(1, 1), "zeros")
case("norm_2", lambda zeros: zeros.norm(2, 1), "zeros")
case("norm_2_second", lambda c: c.norm(2, (0, 1)), "c", second=True)
case("norm_3", lambda zeros: zeros.norm(3, 1), "zeros")
case("norm_half", lambda zeros: zeros.norm(0.5, 1), "zeros")
case("norm_1_5", lambda zeros: zeros.norm(1.5, 0), "zeros")
case("norm_inf", lambda ties: ties.norm(float("inf"), 1), "ties")
case("norm_neg_inf", lambda ties: ties.norm(-float("inf"), 0), "ties")
case("norm_0", lambda: x["zeros"].norm(0, 1))
case("norm_minus_2", lambda p: p.norm(-2, 1), "p")
# Softmax.
case("softmax", lambda c: c.softmax(1), "c", second=True)
case("softmax_large", lambda large: large.softmax(1), "large")
case("log_softmax", lambda c: c.log_softmax(2), "c", second=True)
case("log_softmax_large", lambda large: large.log_softmax(1), "large")
# Linear algebra.
case("matmul", lambda c, m: c.matmul(m), "c", "m", second=True)
case("bmm", lambda c, n: c.bmm(n), "c", "n")
case("mv", lambda a, v: a.mv(v), "a", "v")
case("dot", lambda v: v.dot(v), "v")
case("outer", lambda u, v: u.outer(v), "u", "v")
case("addmm", lambda a, m: torch.addmm(m[0], a, m, beta=0.5, alpha=2.0), "a", "m")
case("baddbmm", lambda c, n: torch.baddbmm(n[0, 0], c, n), "c", "n")
case("tensordot", lambda c, a: torch.tensordot(c, a, ([1, 2], [0, 1])), "c", "a")
case("tensordot_inner", lambda c, m: torch.tensordot(c, m, 1), "c", "m")
case("trace", lambda s: s.trace(), "s")
case("kron", lambda a, v: a.kron(v), "a", "v")
EINSUMS = {
    "einsum_matmul": ("ij,jk->ik", "a", "m"),
    "einsum_implicit": ("bij,jk", "c", "m"),
    "einsum_permuted": ("ji,kj->ik", "m", "a"),
    "einsum_batch": ("bij,bjk->bik", "c", "n"),
    "einsum_ellipsis": ("...ij,jk->...ik", "c", "m"),
    "einsum_ellipsis_middle": ("i...k,k->k...i", "c", "v"),
    "einsum_trace": ("ii", "s"),
    "einsum_diagonal": ("ii->i", "s"),
    "einsum_diagonal_product": ("ii,i->i", "s", "v"),
    "einsum_sum": ("ij->", "a"),
    "einsum_dot": ("i,i", "v", "v"),
    "einsum_outer": ("i,j->ji", "u", "v"),
    "einsum_three": ("bij,jk,ji->bk", "c", "m", "m3"),
    "einsum_bilinear": ("bn,anm,bm->ba", "q", "n", "r"),
    "einsum_elementwise": ("ij,ij->ij", "a", "b"),
    "einsum_broadcast": ("...j,...j->...", "c", "one"),
    "einsum_spaces": (" i j , j k -> k ", "a", "m"),
}
INPUTS["m3"] = draw(4, 3)
INPUTS["q"] = draw(3, 4)
INPUTS["r"] = draw(3, 5)
INPUTS["one"] = draw(3, 1)
for name, (equation, *operands) in EINSUMS.items():
    unique = list(dict.fromkeys(operands))

    def run(*given, equation=equation, operands=operands, unique=unique):
        named = dict(zip(unique, given))
        return torch.einsum(equation, *[named[operand] for operand in operands])

    case(name, run, *unique)

tensors = {}
for name, value in INPUTS.items():
    tensors["in." + name] = value
for name, function, inputs, second in CASES:
    leaves = [INPUTS[i].clone().requires_grad_() for i in inputs]
    out = function(*leaves)
    tensors[name + ".out"] = out
    if not inputs:
        continue
    grads = torch.autograd.grad((out * weights(out, torch.cos)).sum(), leaves, create_graph=second)
    for i, grad in zip(inputs, grads):
        tensors[f"{name}.grad.{i}"] = grad
    if second:
        loss = sum((grad * weights(grad, torch.sin, 1.0)).sum() for grad in grads)
        seconds = [None] * len(leaves)
        if loss.requires_grad:
            seconds = torch.autograd.grad(loss, leaves, allow_unused=True)
        for i, leaf, grad in zip(inputs, leaves, seconds):
            tensors[f"{name}.grad2.{i}"] = torch.zeros_like(leaf) if grad is None else grad

KINDS = {torch.float64: "F64", torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}
header, blob = {}, b""
for name in sorted(tensors):
    value = tensors[name].detach().contiguous()
    data = value.numpy().tobytes()
    header[name] = {
        "dtype": KINDS[value.dtype],
        "shape": list(value.shape),
        "data_offsets": [len(blob), len(blob) + len(data)],
    }
    blob += data
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + blob)
print(len(CASES), "cases", len(blob), "bytes")
