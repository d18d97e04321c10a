#!/usr/bin/env python3
"""PyTorch's linear algebra: values and gradients for tests/values/linalg.rs.

Decompositions that are unique only up to signs are written as what does not depend on them. Values that NumPy has, too, are held
against its own before they are written.
Run with PyTorch 1.13: /usr/bin/python3 tools/reference/linalg.py
"""

import numpy as np
import torch
from torch import linalg, nn
from recorder import Recorder

torch.manual_seed(0)
record = Recorder()
randn = lambda *shape: torch.randn(*shape, dtype=torch.float64)
t = lambda x: x.transpose(-2, -1)


def positive(x):
    return x @ t(x) + torch.eye(x.shape[-1], dtype=x.dtype)


def case(name, inputs, call, numpys=None):
    """`numpys` are NumPy's results for the same inputs."""
    def checked(_, x):
        results = call(*x.values())
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        if numpys:
            given = [value.detach().numpy() for value in x.values()]
            for result, own in zip(results, [numpys(*given)]):
                assert np.allclose(result.detach().numpy(), own, rtol=1e-9, atol=1e-9), name
        return results

    names = "xyzw"
    record.case(name, nn.Identity(), dict(zip(names, inputs)), checked)


def spread(*shape):
    """Matrices with singular values 1, 2, 3, …: their vectors are well defined."""
    u, _, v = linalg.svd(randn(*shape), full_matrices=False)
    return u @ torch.diag_embed(torch.arange(1.0, u.shape[-1] + 1, dtype=torch.float64).expand(*u.shape[:-2], -1)) @ v


case("cholesky", [randn(2, 4, 4)], lambda x: linalg.cholesky(positive(x)),
     lambda x: np.linalg.cholesky(x @ x.swapaxes(-1, -2) + np.eye(4)))
case("cholesky_upper", [randn(3, 3)], lambda x: linalg.cholesky(positive(x), upper=True))
for name, shape in (("square", (2, 4, 4)), ("tall", (5, 3)), ("wide", (2, 3, 5))):
    case(f"lu_{name}", [randn(*shape)], linalg.lu)
case("solve", [randn(2, 4, 4), randn(2, 4, 3)], linalg.solve, np.linalg.solve)
case("solve_vector", [randn(4, 4), randn(4)], linalg.solve, np.linalg.solve)
case("solve_vectors", [randn(3, 4, 4), randn(3, 4)], linalg.solve)
case("solve_broadcast", [randn(4, 4), randn(3, 4, 2)], linalg.solve)
case("lu_solve", [randn(2, 4, 4), randn(2, 4, 3)], lambda a, b: linalg.solve(a, b))
for upper in (False, True):
    for unit in (False, True):
        case(f"solve_triangular_{int(upper)}{int(unit)}", [randn(2, 4, 4) + 3 * torch.eye(4), randn(2, 4, 3)],
             lambda a, b: linalg.solve_triangular(a.triu() if upper else a.tril(), b, upper=upper, unitriangular=unit))
case("solve_triangular_right", [randn(2, 4, 4) + 3 * torch.eye(4), randn(3, 4)],
     lambda a, b: linalg.solve_triangular(a.triu(), b, upper=True, left=False))
case("inv", [randn(2, 4, 4)], linalg.inv, np.linalg.inv)
case("det", [randn(2, 3, 4, 4)], linalg.det, np.linalg.det)
case("slogdet", [randn(2, 4, 4)], lambda x: linalg.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1])
record.put("slogdet_sign/in", torch.stack([torch.eye(3), -torch.eye(3), torch.eye(3).roll(1, 0), torch.eye(3)[[1, 0, 2]]]))
record.put("slogdet_sign/out", linalg.slogdet(record.tensors["slogdet_sign/in"])[0])

# Q and R with a positive diagonal of R, which makes them unique.
def unique_qr(x):
    q, r = linalg.qr(x)
    signs = r.diagonal(dim1=-2, dim2=-1).sign().detach()
    return q * signs.unsqueeze(-2), r * signs.unsqueeze(-1)


for name, shape in (("square", (2, 4, 4)), ("tall", (5, 3)), ("wide", (2, 3, 5))):
    case(f"qr_{name}", [randn(*shape)], unique_qr)
case("lstsq", [randn(2, 6, 3), randn(2, 6, 2)], lambda a, b: linalg.pinv(a) @ b,
     lambda a, b: np.stack([np.linalg.lstsq(x, y, rcond=None)[0] for x, y in zip(a, b)]))

symmetric = lambda x: (x + t(x)) / 2
case("eigvalsh", [randn(2, 4, 4)], lambda x: linalg.eigvalsh(symmetric(x)), lambda x: np.linalg.eigvalsh((x + x.swapaxes(-1, -2)) / 2))


def of_eigenvectors(x):
    w, v = linalg.eigh(symmetric(x))
    return w, v * v, v @ torch.diag_embed(w.sin()) @ t(v)


case("eigh", [randn(2, 4, 4)], of_eigenvectors)


def of_singular_vectors(x):
    u, s, v = linalg.svd(x, full_matrices=False)
    return s, u * u, v * v, u @ torch.diag_embed(s.sin()) @ v


for name, shape in (("square", (2, 4, 4)), ("tall", (5, 3)), ("wide", (2, 3, 5))):
    case(f"svd_{name}", [spread(*shape)], of_singular_vectors)
case("svdvals", [spread(2, 5, 3)], linalg.svdvals, lambda x: np.linalg.svd(x, compute_uv=False))
for name, shape in (("tall", (2, 5, 3)), ("wide", (3, 4))):
    case(f"pinv_{name}", [spread(*shape)], linalg.pinv, np.linalg.pinv)

for name, order in (("fro", "fro"), ("nuc", "nuc"), ("inf", torch.inf), ("-inf", -torch.inf), ("1", 1), ("-1", -1),
                    ("2", 2), ("-2", -2)):
    case(f"matrix_norm_{name}", [spread(2, 4, 3)], lambda x: linalg.matrix_norm(x, order))
for order in (0.0, 1.0, 2.0, 3.0, torch.inf, -torch.inf):
    record.put(f"vector_norm_{order}/in", record.tensors["matrix_norm_2/in/x"])
    record.put(f"vector_norm_{order}/out", linalg.vector_norm(record.tensors["matrix_norm_2/in/x"], order, dim=-1))
for name, order in (("none", None), ("2", 2), ("-2", -2), ("fro", "fro"), ("1", 1), ("inf", torch.inf)):
    # (`cond` of PyTorch 1.13 has no gradient for the norms of inverses.)
    call = lambda x: linalg.matrix_norm(x, order) * linalg.matrix_norm(linalg.inv(x), order)
    case(f"cond_{name}", [spread(2, 3, 3)], call if order not in (None, 2, -2) else lambda x: linalg.cond(x, order))
for power in (-2, 0, 1, 3, 6):
    inputs = [randn(2, 3, 3)]
    if power:
        case(f"matrix_power_{power}", inputs, lambda x: linalg.matrix_power(x, power),
             lambda x: np.linalg.matrix_power(x, power))
for name, scale in (("small", 0.01), ("middle", 1.0), ("large", 6.0)):
    case(f"matrix_exp_{name}", [randn(2, 4, 4) * scale], torch.matrix_exp)
case("cross", [randn(1, 4, 3), randn(2, 1, 3)], lambda x, y: linalg.cross(x, y), np.cross)
case("multi_dot", [randn(2, 5), randn(5, 3), randn(3, 4)], lambda *x: linalg.multi_dot(x), lambda *x: np.linalg.multi_dot(x))
case("vander", [randn(2, 4)], lambda x: torch.stack([x ** k for k in range(4)], -1))
ranks = torch.stack([torch.diag(torch.tensor(d)) for d in ([3.0, 2.0, 1.0], [3.0, 1e-9, 1.0], [0.0, 0.0, 0.0])])
ranks = linalg.qr(torch.randn(3, 3))[0] @ ranks
record.put("matrix_rank/in", ranks)
record.put("matrix_rank/out", linalg.matrix_rank(ranks))
record.write("crates/flambeau/tests/data/linalg.safetensors")
