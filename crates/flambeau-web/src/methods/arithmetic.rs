//! Reductions, statistics, and functions made of the table's primitives.

use flambeau::calls::methods;
use flambeau::{Dims, Generator, Operand, Tensor};

/// A reduction and its form that keeps the dimensions.
macro_rules! keeping {
    ($keepdim:ident, $plain:expr, $kept:expr) => {
        if $keepdim { $kept } else { $plain }
    };
}

pub(super) struct Arithmetic;

methods! { Arithmetic:
    dot(x: Tensor, other: Tensor) -> Tensor { x.try_dot(&other) }
    outer(x: Tensor, other: Tensor) -> Tensor { x.try_outer(&other) }
    trace(x: Tensor) -> Tensor { x.try_trace() }
    kron(x: Tensor, other: Tensor) -> Tensor { x.try_kron(&other) }
    sum(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_sum(dims), x.try_sum_keepdim(dims))
    }
    mean(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_mean(dims), x.try_mean_keepdim(dims))
    }
    prod(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_prod(dims), x.try_prod_keepdim(dims))
    }
    amax(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_amax(dims), x.try_amax_keepdim(dims))
    }
    amin(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_amin(dims), x.try_amin_keepdim(dims))
    }
    max(x: Tensor, dims: Dims = "?") -> Tensor { x.try_max(dims) }
    min(x: Tensor, dims: Dims = "?") -> Tensor { x.try_min(dims) }
    max_dim(x: Tensor, dim: isize, keepdim: bool = "false") -> (Tensor, Tensor) {
        keeping!(keepdim, x.try_max_dim(dim), x.try_max_dim_keepdim(dim))
    }
    min_dim(x: Tensor, dim: isize, keepdim: bool = "false") -> (Tensor, Tensor) {
        keeping!(keepdim, x.try_min_dim(dim), x.try_min_dim_keepdim(dim))
    }
    argmax(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_argmax(dims), x.try_argmax_keepdim(dims))
    }
    argmin(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_argmin(dims), x.try_argmin_keepdim(dims))
    }
    count_nonzero(x: Tensor, dims: Dims = "?") -> Tensor { x.try_count_nonzero(dims) }
    all(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_all(dims), x.try_all_keepdim(dims))
    }
    any(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_any(dims), x.try_any_keepdim(dims))
    }
    var(x: Tensor, dims: Dims = "?", correction: f64 = "1", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_var(dims, correction), x.try_var_keepdim(dims, correction))
    }
    var_mean(x: Tensor, dims: Dims = "?", correction: f64 = "1", keepdim: bool = "false") -> (Tensor, Tensor) {
        keeping!(keepdim, x.try_var_mean(dims, correction), x.try_var_mean_keepdim(dims, correction))
    }
    std(x: Tensor, dims: Dims = "?", correction: f64 = "1", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_std(dims, correction), x.try_std_keepdim(dims, correction))
    }
    norm(x: Tensor, p: f64 = "2", dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_norm(p, dims), x.try_norm_keepdim(p, dims))
    }
    logsumexp(x: Tensor, dims: Dims = "?", keepdim: bool = "false") -> Tensor {
        keeping!(keepdim, x.try_logsumexp(dims), x.try_logsumexp_keepdim(dims))
    }
    softmax(x: Tensor, dim: isize = "-1") -> Tensor { x.try_softmax(dim) }
    log_softmax(x: Tensor, dim: isize = "-1") -> Tensor { x.try_log_softmax(dim) }
    softmin(x: Tensor, dim: isize = "-1") -> Tensor { x.try_softmin(dim) }
    pow(x: Tensor, exponent: Operand) -> Tensor { x.try_pow(exponent) }
    square(x: Tensor) -> Tensor { x.try_square() }
    rsub(x: Tensor, other: Operand) -> Tensor { x.try_rsub(other) }
    lerp(x: Tensor, end: Operand, weight: Operand) -> Tensor { x.try_lerp(end, weight) }
    softplus_with(x: Tensor, beta: f64, threshold: f64 = "20") -> Tensor { x.try_softplus_with(beta, threshold) }
    log_sigmoid(x: Tensor) -> Tensor { x.try_log_sigmoid() }
    logit(x: Tensor, eps: Option<f64> = "?") -> Tensor { x.try_logit(eps) }
    frac(x: Tensor) -> Tensor { x.try_frac() }
    deg2rad(x: Tensor) -> Tensor { x.try_deg2rad() }
    rad2deg(x: Tensor) -> Tensor { x.try_rad2deg() }
    nan_to_num(x: Tensor, nan: f64 = "0", positive: f64 = "3.4028234663852886e38", negative: f64 = "-3.4028234663852886e38") -> Tensor {
        x.try_nan_to_num(nan, positive, negative)
    }
    where_cond(x: Tensor, a: Operand, b: Operand) -> Tensor { x.try_where_cond(a, b) }
    elu(x: Tensor, alpha: f64 = "1") -> Tensor { x.try_elu(alpha) }
    celu(x: Tensor, alpha: f64 = "1") -> Tensor { x.try_celu(alpha) }
    selu(x: Tensor) -> Tensor { x.try_selu() }
    leaky_relu(x: Tensor, slope: f64 = "0.01") -> Tensor { x.try_leaky_relu(slope) }
    prelu(x: Tensor, weight: Tensor) -> Tensor { x.try_prelu(&weight) }
    rrelu(x: Tensor, lower: f64 = "1 / 8", upper: f64 = "1 / 3", generator: Generator = "?") -> Tensor {
        x.try_rrelu(lower, upper, &generator)
    }
    hardtanh(x: Tensor, min: f64 = "-1", max: f64 = "1") -> Tensor { x.try_hardtanh(min, max) }
    hardshrink(x: Tensor, lambda: f64 = "0.5") -> Tensor { x.try_hardshrink(lambda) }
    softshrink(x: Tensor, lambda: f64 = "0.5") -> Tensor { x.try_softshrink(lambda) }
    threshold(x: Tensor, threshold: f64, value: f64) -> Tensor { x.try_threshold(threshold, value) }
    softsign(x: Tensor) -> Tensor { x.try_softsign() }
    tanhshrink(x: Tensor) -> Tensor { x.try_tanhshrink() }
    glu(x: Tensor, dim: isize = "-1") -> Tensor { x.try_glu(dim) }
}
