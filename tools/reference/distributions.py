#!/usr/bin/env python3
"""SciPy's means, variances and distribution functions for tests/values/random.rs, as JSON.

Run with SciPy 1.x: python3 tools/reference/distributions.py > crates/flambeau/tests/data/random.json
For every distribution: its name there with its parameters, its mean and variance (null where there is none), and pairs of a
number and the probability of that number or less.
"""

import json
import math

from scipy import stats

DISTRIBUTIONS = {
    "uniform": stats.uniform(-2, 5),
    "normal": stats.norm(3, 2),
    "lognormal": stats.lognorm(0.5, scale=math.exp(0.25)),
    "truncated_normal": stats.truncnorm(-0.5, 2.0, loc=1, scale=3),
    "exponential": stats.expon(scale=2.5),
    "laplace": stats.laplace(1, 2),
    "logistic": stats.logistic(1, 2),
    "gumbel": stats.gumbel_r(1, 2),
    "cauchy": stats.cauchy(1, 2),
    "rayleigh": stats.rayleigh(scale=2),
    "weibull": stats.weibull_min(1.7),
    "pareto": stats.lomax(4.5),
    "power": stats.powerlaw(2.5),
    "triangular": stats.triang(0.3, loc=-3, scale=10),
    "gamma_small": stats.gamma(0.15, scale=2),
    "gamma_one": stats.gamma(1.0),
    "gamma": stats.gamma(3.7, scale=0.5),
    "gamma_large": stats.gamma(900.0),
    "chisquare": stats.chi2(5),
    "noncentral_chisquare": stats.ncx2(3, 2.5),
    "beta": stats.beta(2, 6),
    "beta_small": stats.beta(0.3, 0.4),
    "standard_t": stats.t(7),
    "f": stats.f(4, 14),
    "noncentral_f": stats.ncf(4, 14, 2.5),
    "wald": stats.invgauss(2 / 3, scale=3),
    "vonmises": stats.vonmises(2.0),
    "poisson_small": stats.poisson(0.7),
    "poisson": stats.poisson(37.5),
    "poisson_large": stats.poisson(20000.0),
    "binomial": stats.binom(20, 0.3),
    "binomial_large": stats.binom(100000, 0.8),
    "negative_binomial": stats.nbinom(2.5, 0.2),
    "geometric": stats.geom(0.15),
    "hypergeometric": stats.hypergeom(20, 15, 7),
    "logseries": stats.logser(0.8),
    "zipf": stats.zipf(4.5),
}
number = lambda x: float(x) if math.isfinite(x) else None
table = {}
for name, distribution in DISTRIBUTIONS.items():
    places = [float(distribution.ppf(p)) for p in (0.001, 0.05, 0.3, 0.5, 0.8, 0.99)]
    table[name] = {
        "mean": number(distribution.mean()) if name != "cauchy" else None,
        "variance": number(distribution.var()) if name != "cauchy" else None,
        "below": [[x, float(distribution.cdf(x))] for x in places],
    }
print("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items()) + "\n}")
