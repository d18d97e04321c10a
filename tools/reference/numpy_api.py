#!/usr/bin/env python3
"""NumPy's values for tests/values/numpy.rs: `<case>/in/<input>` and `<case>/out/<k>`.

Run with NumPy 1.24 and PyTorch 1.13 (which only writes the file): /usr/bin/python3 tools/reference/numpy_api.py
"""

import warnings

import numpy as np
import torch
from recorder import Recorder

random = np.random.default_rng(0)
record = Recorder()
normal = lambda *shape: random.standard_normal(shape).astype(np.float32).astype(np.float64)
ints = lambda low, high, *shape: random.integers(low, high, shape)
nan, inf = np.nan, np.inf


def put(name, value):
    value = np.asarray(value)
    kind = {"f": np.float64, "b": np.bool_}.get(value.dtype.kind, np.int64)
    record.put(name, torch.from_numpy(value.astype(kind)))


def case(name, function, **inputs):
    """What `function` gives for the inputs: one array or several."""
    # Both sides begin with the same numbers.
    inputs = {key: x.astype(np.float32).astype(x.dtype) if x.dtype.kind == "f" else x for key, x in inputs.items()}
    outputs = function(*inputs.values())
    for key, value in inputs.items():
        put(f"{name}/in/{key}", value)
    for k, output in enumerate(outputs if isinstance(outputs, (tuple, list)) else [outputs]):
        put(f"{name}/out/{k}", output)


# Elements.
edges = np.array([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e20, 3e-5])
case("heaviside", lambda x: np.heaviside(x, 0.25), x=edges)
case("sinc", np.sinc, x=np.array([0.0, 0.5, 1.0, -1.25, 3.7]))
case("cbrt", np.cbrt, x=np.array([0.0, 8.0, -27.0, 0.3, -1e-9, inf]))
case("fmax", np.fmax, x=edges, y=edges[::-1].copy())
case("fmin", np.fmin, x=edges, y=edges[::-1].copy())
case("isposinf", np.isposinf, x=edges)
case("isneginf", np.isneginf, x=edges)
case("signbit", np.signbit, x=edges)
case("copysign", np.copysign, x=np.array([1.0, -2.0, 0.0, 3.0]), y=np.array([-0.0, 1.0, -1.0, 0.0]))
case("logaddexp2", np.logaddexp2, x=normal(6) * 30, y=normal(6) * 30)
case("divmod", np.divmod, x=np.array([7, -7, 9, -9]), y=np.array([3, 3, -4, -4]))
case("modf", np.modf, x=np.array([2.5, -1.25, 3.0, inf, 0.0]))
case("ldexp", lambda x, n: np.ldexp(x, n.astype(int)), x=normal(5), n=np.array([3, -4, 0, 60, -60]))
case("frexp", np.frexp, x=np.array([8.0, -0.75, 0.0, 1.0, 0.99999994, 3e-30, -1e30, inf, 1.0 / 3]).astype(np.float32))
neighbours = np.array([1.0, 1.0, -1.0, -1.0, 3.5, 1e20, 2.0, 1e-20, 5.0], dtype=np.float32)
targets = np.array([2.0, 0.0, 2.0, -2.0, 9.0, -inf, 1.0, 0.0, 5.0], dtype=np.float32)
case("nextafter", np.nextafter, x=neighbours, y=targets)
case("spacing", lambda x: np.spacing(x), x=neighbours)
case("gcd", np.gcd, x=ints(-500, 500, 40), y=ints(-500, 500, 40))
case("lcm", np.lcm, x=ints(-500, 500, 40), y=ints(-500, 500, 40))
# NumPy 2 has `bitwise_count`.
case("bitwise_count", lambda x: np.array([bin(abs(int(v))).count("1") for v in x]), x=ints(-10**6, 10**6, 20))
case("i0", np.i0, x=np.array([0.0, 0.1, -1.0, 2.5, 7.9, 8.1, 30.0, -80.0]))
case("isclose", lambda x, y: [np.isclose(x, y), np.isclose(x, y, equal_nan=True), np.isclose(x, y, 0.1, 0.5)],
     x=np.array([1.0, 1.0, nan, inf, inf, 1e-9]), y=np.array([1.000001, 1.1, nan, inf, -inf, 0.0]))
case("nan_to_num", lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0), x=edges)

# Grids.
case("logspace", lambda: [np.logspace(-1, 2, 7), np.logspace(0, 3, 4, base=2.0), np.logspace(1, 2, 1)])
case("geomspace", lambda: [np.geomspace(1, 1000, 4), np.geomspace(-2, -9, 5), np.geomspace(3, 4, 1)])
case("indices", lambda: np.indices((2, 3)))
case("tri", lambda: [np.tri(3, 4, 1), np.tri(4, 3, -1)])
case("tril_indices", lambda: [*np.tril_indices(4, 1, 3), *np.tril_indices(3, -1, 5)])
case("triu_indices", lambda: [*np.triu_indices(4, 1, 3), *np.triu_indices(3, -1, 5)])
case("unravel_index", lambda x: list(np.unravel_index(x, (3, 4, 5))), x=ints(0, 60, 2, 7))
case("ravel_multi_index", lambda x, y, z: np.ravel_multi_index((x, y, z), (3, 4, 5)),
     x=ints(0, 3, 7), y=ints(0, 4, 7), z=ints(0, 5, 7))
case("meshgrid", lambda x, y: np.meshgrid(x, y) + np.meshgrid(x, y, indexing="ij"), x=normal(3), y=normal(4))

# Differences.
case("diff", lambda x: [np.diff(x), np.diff(x, 2, 0), np.diff(x, 9)], x=normal(4, 5))
case("ediff1d", lambda x, a, b: [np.ediff1d(x), np.ediff1d(x, b, a)], x=normal(2, 3), a=normal(2), b=normal(1))
places = np.cumsum(np.abs(normal(6)) + 0.1).astype(np.float32).astype(np.float64)
case("gradient", lambda x, p: [np.gradient(x, axis=0), np.gradient(x, 0.5, axis=1, edge_order=2),
                               np.gradient(x, p, axis=1), np.gradient(x, p, axis=1, edge_order=2),
                               np.gradient(x[:2], axis=0)], x=normal(4, 6), p=places)
case("trapezoid", lambda x, p: [np.trapz(x), np.trapz(x, dx=0.25, axis=0), np.trapz(x, p)], x=normal(4, 6), p=places)
case("unwrap", lambda x: [np.unwrap(x, axis=0), np.unwrap(x), np.unwrap(x, period=5.0)], x=normal(5, 7) * 5)
case("interp", lambda x, xp, fp: [np.interp(x, xp, fp), np.interp(x, xp, fp, -7.0, 9.0)],
     x=np.concatenate([normal(9) * 4, places, [nan]]).reshape(4, 4), xp=places, fp=normal(6))

# Searching.
table = np.array([-2.0, -1.0, 0.5, 0.5, 0.5, 1.0, 3.0])
case("searchsorted", lambda s, x: [np.searchsorted(s, x), np.searchsorted(s, x, "right")], s=table,
     x=np.array([[-9.0, -2.0, 0.5], [0.6, 3.0, 9.0], [1.0, 0.0, nan]]))
case("searchsorted_ints", lambda s, x: np.searchsorted(s, x, "right"), s=np.arange(0, 60, 3), x=ints(-5, 70, 30))
case("digitize", lambda x, bins: [np.digitize(x, bins), np.digitize(x, bins, right=True)], x=table, bins=np.array([-1.0, 0.5, 2.0]))
case("lexsort", lambda a, b: np.lexsort((a, b)), a=ints(0, 4, 20), b=ints(0, 3, 20))
case("take", lambda x, i: [np.take(x, i), np.take(x, i * 5, mode="wrap"), np.take(x, i * 5, mode="clip"),
                           np.take(x, i, axis=1)], x=normal(3, 4), i=np.array([[0, -1], [2, 3]]))

def written(x, i, v, mode):
    x = x.copy()
    np.put(x, i, v, mode)
    return x


case("put", lambda x, i, v: [written(x, i, v, "raise"), written(x, i * 3, v, "wrap")],
     x=normal(3, 4), i=np.array([0, -2, 5, 4]), v=normal(3))


def put_along(x, i, v, axis):
    x = x.copy()
    np.put_along_axis(x, i, v, axis)
    return x


case("put_along_dim", lambda x, i, v: [put_along(x, i, v, 1), put_along(x, i, 5.0, 1)],
     x=normal(3, 4), i=np.array([[0, 2], [3, 1], [1, 0]]), v=normal(3, 2))


def placed(x, mask, v):
    x = x.copy()
    np.place(x, mask, v)
    return x


case("masked_scatter", placed, x=normal(3, 4), mask=normal(3, 4) > 0, v=normal(3))
case("choose", lambda i, a, b, c: [np.choose(i, [a, b, c]), np.choose(i * 2, [a, b, c], mode="wrap"),
                                   np.choose(i * 2, [a, b, c], mode="clip")],
     i=ints(0, 3, 2, 4), a=normal(2, 4), b=normal(4), c=normal(2, 1))
case("select_by", lambda x: np.select([x < -0.5, x > 0.5], [x * 10, -x], 7.0), x=normal(4, 5))

# Sets and counts.
few = ints(0, 5, 4, 6)
case("unique", lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True), x=few.reshape(-1))
case("unique_floats", lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
     x=np.array([2.0, nan, -1.0, nan, 2.0, 0.5]))
case("unique_rows", lambda x: np.unique(x, axis=0, return_index=True, return_inverse=True, return_counts=True),
     x=ints(0, 2, 9, 3))
case("unique_columns", lambda x: np.unique(x, axis=1, return_index=True, return_inverse=True, return_counts=True),
     x=ints(0, 2, 2, 9))
case("isin", lambda x, y: np.isin(x, y), x=ints(0, 20, 5, 6), y=ints(0, 20, 8))
case("sets", lambda x, y: [np.intersect1d(x, y), np.union1d(x, y), np.setdiff1d(x, y), np.setxor1d(x, y)],
     x=ints(0, 12, 9), y=ints(0, 12, 8))
case("bincount", lambda x, w: [np.bincount(x), np.bincount(x, w), np.bincount(x, minlength=12)], x=ints(0, 8, 30), w=normal(30))
case("histogram", lambda x, e, w: [*np.histogram(x, 7), *np.histogram(x, 5, (-1.0, 1.5)), *np.histogram(x, e),
                                   *np.histogram(x, e, weights=w), *np.histogram(x, e, density=True)],
     x=normal(50), e=np.array([-2.0, -0.5, 0.0, 1.0, 2.5]), w=normal(50))
case("histogram_equal", lambda x: np.histogram(x, 4), x=np.full(6, 3.0))
case("histogram_grid", lambda x: np.histogram(x, 4, (0.0, 1.0)), x=np.array([0.0, 0.25, 0.5, 0.5, 1.0, 1.5, -0.1, 0.75]))
points = normal(40, 2)
case("histogramdd", lambda x, e: [np.histogramdd(x, (4, e))[0], *np.histogramdd(x, (4, e))[1],
                                  np.histogramdd(x, (4, e), density=True)[0]], x=points, e=np.array([-1.0, 0.0, 0.5, 3.0]))

# Statistics.
METHODS = ["linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
           "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"]
QUANTILES = [0.0, 0.1, 0.25, 0.3, 0.5, 0.625, 0.8, 1.0]
holes = np.where(random.random((4, 9)) < 0.3, nan, normal(4, 9))
holes[2] = nan
for method in METHODS:
    case(f"quantile_{method}", lambda x: [np.quantile(x, QUANTILES, axis=1, method=method), np.quantile(x, 0.4, method=method)],
         x=normal(3, 8))
    case(f"nanquantile_{method}", lambda x: np.nanquantile(x, QUANTILES, axis=1, method=method), x=holes)
case("quantile_nan", lambda x: [np.quantile(x, 0.5, axis=1), np.percentile(x, 30.0, axis=0), np.median(x)], x=holes)
case("quantile_dims", lambda x: np.quantile(x, [0.2, 0.7], axis=(0, 2)), x=normal(3, 4, 5))
case("average", lambda x, w: [np.average(x, axis=1, weights=w), np.average(x, weights=np.broadcast_to(w, x.shape))],
     x=normal(3, 5), w=np.abs(normal(5)))
case("ptp", lambda x: [np.ptp(x), np.ptp(x, axis=0)], x=normal(3, 5))
case("cov", lambda x, f, w: [np.cov(x), np.cov(x, ddof=0), np.cov(x, fweights=f), np.cov(x, aweights=w),
                             np.cov(x, fweights=f, aweights=w, ddof=2), np.cov(x[0]), np.corrcoef(x)],
     x=normal(3, 8), f=ints(1, 5, 8), w=np.abs(normal(8)))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    case("nan", lambda x: [np.nansum(x, 1), np.nanprod(x, 0), np.nanmean(x, 1), np.nanvar(x, 1), np.nanstd(x, 1, ddof=1),
                           np.nanmax(x, 1), np.nanmin(x, 0), np.nancumsum(x, 1), np.nancumprod(x, 0), np.nanmean(x)], x=holes)
    case("nanarg", lambda x: [np.nanargmax(x, 1), np.nanargmin(x, 0), np.nanargmax(x)], x=np.delete(holes, 2, 0))

# Polynomials and convolutions.
p, q = normal(5), normal(3)
case("polynomials", lambda p, q, x: [np.polyval(p, x), np.polyadd(p, q), np.polysub(q, p), np.polymul(p, q), *np.polydiv(p, q),
                                     np.polyder(p), np.polyder(p, 2), np.polyint(p), np.polyint(p, 2, [3.0, -1.0]), np.poly(q)],
     p=p, q=q, x=normal(2, 4))
for name, function in (("convolve", np.convolve), ("correlate", np.correlate)):
    for n, k in ((7, 3), (7, 4), (3, 6), (4, 5), (5, 5), (6, 2), (2, 7)):
        case(f"{name}_{n}_{k}", lambda x, w: [function(x, w, mode) for mode in ("full", "same", "valid")], x=normal(n), w=normal(k))
case("convolve_ints", lambda x, w: np.convolve(x, w), x=ints(-9, 9, 7), w=ints(-9, 9, 3))

# Products.
a, b = normal(3, 4), normal(2, 5, 4)
case("products", lambda a, b, v: [np.inner(a, b), np.vdot(a, a * 2), np.outer(a, v), np.kron(a, v), np.tensordot(a, b, ([1], [2])),
                                  np.einsum("bij,j->bi", b, v), np.einsum("j,bij->bi", v, b)], a=a, b=b, v=normal(4))
for k, (equation, shapes) in enumerate([
    ("ij,jk", [(2, 3), (3, 4)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("iij->j", [(3, 3, 2)]), ("ijk->kij", [(2, 3, 4)]),
    ("i,j,k->kji", [(2,), (3,), (4,)]), ("...ij,...jk->...ik", [(2, 1, 2, 3), (5, 3, 2)]), ("i...->...", [(3, 2, 4)]),
    (" i j , j k -> i k ", [(2, 3), (3, 4)]), ("ab,bc,cd,de->ae", [(2, 3), (3, 4), (4, 2), (2, 5)]), ("...i->...", [(2, 3)]),
    ("bi,bi->b", [(3, 4), (3, 4)]), ("ij->", [(2, 3)]), (",ij->ij", [(), (2, 3)]), ("i,i", [(4,), (4,)]), ("ba", [(2, 3)]),
    ("i...,i...->...", [(3, 2), (3, 2)]), ("...,...", [(2, 3), (3,)]), ("iijj->ij", [(2, 2, 3, 3)]), ("aab,b->a", [(3, 3, 2), (2,)]),
    ("Ab,bA->A", [(2, 3), (3, 2)]), ("ij,kl->ijkl", [(2, 3), (2, 2)]), ("...ii->...i", [(2, 3, 3)]), ("ijk,ijk,ijk->k", [(2, 2, 3)] * 3),
]):
    inputs = {f"x{n}": normal(*shape) for n, shape in enumerate(shapes)}
    case(f"einsum_{k}", lambda *x, equation=equation: np.einsum(equation, *x), **inputs)

# Arranging.
x = normal(2, 3, 4)
case("rot90", lambda x: [np.rot90(x, k, (0, 2)) for k in (0, 1, 2, 3)] + [np.rot90(x, -1, (2, 1)), np.rot90(x, 5)], x=x)
case("stacks", lambda a, b: [np.dstack([a, b]), np.column_stack([a, b]), np.block([[a, b], [b, a]]), np.hstack([a, b]), np.vstack([a, b])],
     a=normal(2, 3), b=normal(2, 3))
case("split", lambda x: np.array_split(x, 3, 0) + np.split(x, [1, 4], 0) + np.array_split(x, 2, 1), x=normal(7, 4))
case("insert", lambda x, v: [np.insert(x, 1, v, axis=0), np.insert(x, 2, 9.0, axis=1), np.delete(x, [0, -1], axis=1)],
     x=normal(3, 4), v=normal(2, 4))
case("repeat_each", lambda x: [np.repeat(x, [2, 0, 3], axis=0), np.repeat(x, 2, axis=1)], x=normal(3, 2))
case("resize", lambda x: [np.resize(x, (3, 4)), np.resize(x, (2, 2))], x=normal(2, 3))
case("diagflat", lambda x: [np.diagflat(x, 1), np.diagflat(x, -2)], x=normal(2, 2))


def filled(x, v):
    x = x.copy()
    np.fill_diagonal(x, v)
    return x


case("fill_diagonal", lambda x, v: [filled(x, 5.0), filled(x, v), filled(x.T, v)], x=normal(3, 5), v=normal(3))
case("packbits", lambda x: [np.packbits(x, axis=1), np.packbits(x, axis=0)], x=ints(0, 2, 9, 19))
case("unpackbits", lambda x: [np.unpackbits(x.astype(np.uint8), axis=1), np.unpackbits(x.astype(np.uint8), axis=0)], x=ints(0, 256, 3, 4))
for mode in ("edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "median"):
    case(f"pad_{mode}", lambda x: [np.pad(x, ((1, 2), (0, 3)), mode), np.pad(x, ((7, 0), (5, 9)), mode)], x=normal(3, 4))
case("pad_constant", lambda x: np.pad(x, ((1, 2), (0, 3)), "constant", constant_values=2.5), x=normal(3, 4))
case("pad_linear_ramp", lambda x: np.pad(x, ((1, 2), (0, 3)), "linear_ramp", end_values=-4.0), x=normal(3, 4))
case("roll", lambda x: [np.roll(x, 5), np.roll(x, -1, 1), np.roll(x, (1, 2), (0, 2))], x=x)
case("cumulative", lambda x: [np.cumsum(x, 1), np.cumprod(x, 2)], x=x)
case("windows", lambda: [np.bartlett(1), np.bartlett(8), np.bartlett(9)])

record.write("crates/flambeau/tests/data/numpy.safetensors")
