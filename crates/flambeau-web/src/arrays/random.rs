//! Distributions: what they are called with, the shape, then whose random numbers they take, and the dtype.

use super::options;
use flambeau::calls::{Call, Methods, methods};
use flambeau::{DType, Generator, Operand, Tensor};

pub(super) struct Random;

/// The function with this number.
#[inline(never)]
pub(super) fn call(number: usize) -> Option<Call> {
    Random::CALLS.get(number).copied()
}

methods! { Random:
    uniform(low: Operand, high: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_uniform(low, high, shape, options(dtype)?)
    }
    normal(mean: Operand, deviation: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_normal(mean, deviation, shape, options(dtype)?)
    }
    multivariate_normal(mean: Tensor, covariance: Tensor, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_multivariate_normal(&mean, &covariance, shape, options(dtype)?)
    }
    lognormal(mean: Operand, deviation: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_lognormal(mean, deviation, shape, options(dtype)?)
    }
    truncated_normal(mean: f64, deviation: f64, low: f64, high: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_truncated_normal(mean, deviation, low, high, shape, options(dtype)?)
    }
    exponential(scale: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_exponential(scale, shape, options(dtype)?)
    }
    laplace(location: Operand, scale: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_laplace(location, scale, shape, options(dtype)?)
    }
    logistic(location: Operand, scale: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_logistic(location, scale, shape, options(dtype)?)
    }
    gumbel(location: Operand, scale: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_gumbel(location, scale, shape, options(dtype)?)
    }
    cauchy(location: Operand, scale: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_cauchy(location, scale, shape, options(dtype)?)
    }
    rayleigh(scale: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_rayleigh(scale, shape, options(dtype)?)
    }
    weibull(a: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_weibull(a, shape, options(dtype)?)
    }
    pareto(a: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_pareto(a, shape, options(dtype)?)
    }
    power(a: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_power(a, shape, options(dtype)?)
    }
    triangular(left: f64, mode: f64, right: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_triangular(left, mode, right, shape, options(dtype)?)
    }
    gamma(a: f64, scale: Operand, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_gamma(a, scale, shape, options(dtype)?)
    }
    chisquare(freedom: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_chisquare(freedom, shape, options(dtype)?)
    }
    noncentral_chisquare(freedom: f64, noncentrality: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_noncentral_chisquare(freedom, noncentrality, shape, options(dtype)?)
    }
    beta(a: f64, b: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_beta(a, b, shape, options(dtype)?)
    }
    standard_t(freedom: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_standard_t(freedom, shape, options(dtype)?)
    }
    f(freedom: f64, other_freedom: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_f(freedom, other_freedom, shape, options(dtype)?)
    }
    noncentral_f(freedom: f64, other_freedom: f64, noncentrality: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_noncentral_f(freedom, other_freedom, noncentrality, shape, options(dtype)?)
    }
    dirichlet(parameters: Vec<f64>, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_dirichlet(&parameters, shape, options(dtype)?)
    }
    wald(mean: f64, scale: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_wald(mean, scale, shape, options(dtype)?)
    }
    vonmises(mean: f64, kappa: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_vonmises(mean, kappa, shape, options(dtype)?)
    }
    poisson(rate: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_poisson(rate, shape, options(dtype)?)
    }
    binomial(n: usize, p: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_binomial(n, p, shape, options(dtype)?)
    }
    negative_binomial(n: f64, p: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_negative_binomial(n, p, shape, options(dtype)?)
    }
    geometric(p: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_geometric(p, shape, options(dtype)?)
    }
    hypergeometric(good: usize, bad: usize, sample: usize, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_hypergeometric(good, bad, sample, shape, options(dtype)?)
    }
    logseries(p: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_logseries(p, shape, options(dtype)?)
    }
    zipf(a: f64, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_zipf(a, shape, options(dtype)?)
    }
    permutation(x: Tensor, dim: isize = "0", generator: Generator = "?") -> Tensor { generator.try_permutation(&x, dim) }
    permuted(x: Tensor, dim: isize = "0", generator: Generator = "?") -> Tensor { generator.try_permuted(&x, dim) }
    choice(n: usize, shape: Vec<usize>, replace: bool = "true", generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_choice(n, shape, replace, options(dtype)?)
    }
    choice_with(probabilities: Vec<f64>, shape: Vec<usize>, replace: bool = "true", generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_choice_with(&probabilities, shape, replace, options(dtype)?)
    }
    multinomial(n: usize, probabilities: Vec<f64>, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_multinomial(n, &probabilities, shape, options(dtype)?)
    }
    multivariate_hypergeometric(kinds: Vec<usize>, sample: usize, shape: Vec<usize>, generator: Generator = "?", dtype: Option<DType> = "?") -> Tensor {
        generator.try_multivariate_hypergeometric(&kinds, sample, shape, options(dtype)?)
    }
}
