//! What NumPy has beyond networks. Functions whose result's size depends on values are not here: they must be waited for.

use super::options;
use flambeau::calls::{Call, Methods, methods};
use flambeau::fft::ConvolveMode;
use flambeau::numeric::{Bins, CovOptions, HistogramOptions, IndexMode, QuantileMethod, Spacing};
use flambeau::{DType, Dims, Operand, Result, Tensor};

use crate::handles::argument;

pub(super) struct Numeric;

/// The function with this number.
#[inline(never)]
pub(super) fn call(number: usize) -> Option<Call> {
    Numeric::CALLS.get(number).copied()
}

/// A number is a distance, a vector coordinates.
fn spacing(given: Operand) -> Spacing {
    match given {
        Operand::Tensor(coordinates) => Spacing::Coordinates(coordinates),
        Operand::Scalar(distance) => Spacing::Uniform(distance.to_f64()),
    }
}

/// A number is how many there are, a vector their edges.
fn bins(op: &'static str, given: Operand) -> Result<Bins> {
    match given {
        Operand::Tensor(edges) => Ok(Bins::Edges(edges)),
        Operand::Scalar(count) => match count.to_f64() {
            count if count >= 0.0 && count.fract() == 0.0 => Ok(Bins::Count(count as usize)),
            count => Err(argument(op, format!("there cannot be {count} bins"))),
        },
    }
}

/// The first and the last edge, or none where the list is empty.
fn range(op: &'static str, list: &[f64]) -> Result<Option<(f64, f64)>> {
    match *list {
        [] => Ok(None),
        [first, last] => Ok(Some((first, last))),
        _ => Err(argument(op, format!("the range must be two numbers, not {}", list.len()))),
    }
}

fn two_dims(op: &'static str, list: &[isize]) -> Result<[isize; 2]> {
    <[isize; 2]>::try_from(list).map_err(|_| argument(op, format!("dims must be two, not {}", list.len())))
}

methods! { Numeric:
    average(x: Tensor, weights: Tensor, dims: Dims = "?") -> Tensor { x.try_average(&weights, dims) }
    ptp(x: Tensor, dims: Dims = "?") -> Tensor { x.try_ptp(dims) }
    cov(x: Tensor, correction: Option<f64> = "?", frequencies: Option<Tensor> = "?", weights: Option<Tensor> = "?") -> Tensor {
        x.try_cov(&CovOptions { correction, frequencies, weights })
    }
    corrcoef(x: Tensor) -> Tensor { x.try_corrcoef() }
    nansum(x: Tensor, dims: Dims = "?") -> Tensor { x.try_nansum(dims) }
    nanprod(x: Tensor, dims: Dims = "?") -> Tensor { x.try_nanprod(dims) }
    nanmean(x: Tensor, dims: Dims = "?") -> Tensor { x.try_nanmean(dims) }
    nanvar(x: Tensor, dims: Dims = "?", correction: f64 = "1") -> Tensor { x.try_nanvar(dims, correction) }
    nanstd(x: Tensor, dims: Dims = "?", correction: f64 = "1") -> Tensor { x.try_nanstd(dims, correction) }
    nanmax(x: Tensor, dims: Dims = "?") -> Tensor { x.try_nanmax(dims) }
    nanmin(x: Tensor, dims: Dims = "?") -> Tensor { x.try_nanmin(dims) }
    nanargmax(x: Tensor, dims: Dims = "?") -> Tensor { x.try_nanargmax(dims) }
    nanargmin(x: Tensor, dims: Dims = "?") -> Tensor { x.try_nanargmin(dims) }
    nancumsum(x: Tensor, dim: isize) -> Tensor { x.try_nancumsum(dim) }
    nancumprod(x: Tensor, dim: isize) -> Tensor { x.try_nancumprod(dim) }
    quantiles(x: Tensor, q: Vec<f64>, dims: Dims = "?", method: QuantileMethod = "\"linear\"") -> Tensor { x.try_quantiles(&q, dims, method) }
    quantile(x: Tensor, q: f64, dims: Dims = "?", method: QuantileMethod = "\"linear\"") -> Tensor { x.try_quantile(q, dims, method) }
    percentile(x: Tensor, percentage: f64, dims: Dims = "?", method: QuantileMethod = "\"linear\"") -> Tensor { x.try_percentile(percentage, dims, method) }
    nanquantiles(x: Tensor, q: Vec<f64>, dims: Dims = "?", method: QuantileMethod = "\"linear\"") -> Tensor { x.try_nanquantiles(&q, dims, method) }
    nanquantile(x: Tensor, q: f64, dims: Dims = "?", method: QuantileMethod = "\"linear\"") -> Tensor { x.try_nanquantile(q, dims, method) }
    bincount_of(x: Tensor, length: usize, weights: Option<Tensor> = "?") -> Tensor { x.try_bincount_of(length, weights.as_ref()) }
    histogram_bin_edges(x: Tensor, count: Operand = "10", between: Vec<f64> = "[]") -> Tensor {
        x.try_histogram_bin_edges(bins("histogram_bin_edges", count)?, range("histogram_bin_edges", &between)?)
    }
    histogram(x: Tensor, count: Operand = "10", between: Vec<f64> = "[]", weights: Option<Tensor> = "?", density: bool = "false") -> (Tensor, Tensor) {
        let options = HistogramOptions { range: range("histogram", &between)?, weights, density };
        x.try_histogram(bins("histogram", count)?, &options)
    }
    searchsorted(x: Tensor, values: Tensor, right: bool = "false") -> Tensor { x.try_searchsorted(&values, right) }
    digitize(x: Tensor, edges: Tensor, right: bool = "false") -> Tensor { x.try_digitize(&edges, right) }
    lexsort(keys: Vec<Tensor>) -> Tensor { Tensor::try_lexsort(&keys) }
    take(x: Tensor, index: Tensor, mode: IndexMode = "\"raise\"") -> Tensor { x.try_take(&index, mode) }
    take_slices(x: Tensor, index: Tensor, dim: isize, mode: IndexMode = "\"raise\"") -> Tensor { x.try_take_slices(&index, dim, mode) }
    put(x: Tensor, index: Tensor, values: Tensor, mode: IndexMode = "\"raise\"") -> Tensor { x.try_put(&index, &values, mode) }
    put_along_dim(x: Tensor, index: Tensor, values: Operand, dim: isize) -> Tensor { x.try_put_along_dim(&index, values, dim) }
    masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor { x.try_masked_scatter(&mask, &source) }
    choose(x: Tensor, choices: Vec<Tensor>, mode: IndexMode = "\"raise\"") -> Tensor { x.try_choose(&choices, mode) }
    select_by(conditions: Vec<Tensor>, choices: Vec<Tensor>, otherwise: Operand = "0") -> Tensor { Tensor::try_select_by(&conditions, &choices, otherwise) }
    isin(x: Tensor, others: Tensor) -> Tensor { x.try_isin(&others) }
    diff(x: Tensor, n: usize = "1", dim: isize = "-1") -> Tensor { x.try_diff(n, dim) }
    ediff1d(x: Tensor, before: Option<Tensor> = "?", after: Option<Tensor> = "?") -> Tensor { x.try_ediff1d(before.as_ref(), after.as_ref()) }
    gradient(x: Tensor, distance: Operand = "1", dim: isize = "-1", edge_order: usize = "1") -> Tensor { x.try_gradient(spacing(distance), dim, edge_order) }
    trapezoid(x: Tensor, distance: Operand = "1", dim: isize = "-1") -> Tensor { x.try_trapezoid(spacing(distance), dim) }
    unwrap(x: Tensor, period: Option<f64> = "?", dim: isize = "-1") -> Tensor { x.try_unwrap(period, dim) }
    interp(x: Tensor, places: Tensor, values: Tensor, left: Option<f64> = "?", right: Option<f64> = "?") -> Tensor {
        x.try_interp(&places, &values, left, right)
    }
    heaviside(x: Tensor, at_zero: Operand) -> Tensor { x.try_heaviside(at_zero) }
    sinc(x: Tensor) -> Tensor { x.try_sinc() }
    cbrt(x: Tensor) -> Tensor { x.try_cbrt() }
    fmax(x: Tensor, other: Operand) -> Tensor { x.try_fmax(other) }
    fmin(x: Tensor, other: Operand) -> Tensor { x.try_fmin(other) }
    isposinf(x: Tensor) -> Tensor { x.try_isposinf() }
    isneginf(x: Tensor) -> Tensor { x.try_isneginf() }
    logaddexp2(x: Tensor, other: Operand) -> Tensor { x.try_logaddexp2(other) }
    divmod(x: Tensor, other: Operand) -> (Tensor, Tensor) { x.try_divmod(other) }
    modf(x: Tensor) -> (Tensor, Tensor) { x.try_modf() }
    ldexp(x: Tensor, exponents: Operand) -> Tensor { x.try_ldexp(exponents) }
    frexp(x: Tensor) -> (Tensor, Tensor) { x.try_frexp() }
    nextafter(x: Tensor, towards: Operand) -> Tensor { x.try_nextafter(towards) }
    spacing(x: Tensor) -> Tensor { x.try_spacing() }
    lcm(x: Tensor, other: Operand) -> Tensor { x.try_lcm(other) }
    isclose(x: Tensor, other: Operand, rtol: f64 = "1e-5", atol: f64 = "1e-8", equal_nan: bool = "false") -> Tensor {
        x.try_isclose(other, rtol, atol, equal_nan)
    }
    rot90(x: Tensor, k: isize = "1", dims: Vec<isize> = "[0, 1]") -> Tensor { x.try_rot90(k, two_dims("rot90", &dims)?) }
    fliplr(x: Tensor) -> Tensor { x.try_fliplr() }
    flipud(x: Tensor) -> Tensor { x.try_flipud() }
    at_least(x: Tensor, rank: usize) -> Tensor { x.try_at_least(rank) }
    dstack(tensors: Vec<Tensor>) -> Tensor { Tensor::try_dstack(&tensors) }
    column_stack(tensors: Vec<Tensor>) -> Tensor { Tensor::try_column_stack(&tensors) }
    array_split(x: Tensor, count: usize, dim: isize = "0") -> Vec<Tensor> { x.try_array_split(count, dim) }
    split_at(x: Tensor, places: Vec<usize>, dim: isize = "0") -> Vec<Tensor> { x.try_split_at(&places, dim) }
    insert(x: Tensor, index: usize, values: Operand, dim: isize) -> Tensor { x.try_insert(index, values, dim) }
    delete(x: Tensor, positions: Vec<isize>, dim: isize) -> Tensor { x.try_delete(&positions, dim) }
    repeat_each(x: Tensor, counts: Vec<usize>, dim: isize) -> Tensor { x.try_repeat_each(&counts, dim) }
    resize(x: Tensor, shape: Vec<usize>) -> Tensor { x.try_resize(shape) }
    broadcast_tensors(tensors: Vec<Tensor>) -> Vec<Tensor> { Tensor::try_broadcast_tensors(&tensors) }
    diagflat(x: Tensor, offset: isize = "0") -> Tensor { x.try_diagflat(offset) }
    fill_diagonal(x: Tensor, values: Operand) -> Tensor { x.try_fill_diagonal(values) }
    matrix_transpose(x: Tensor) -> Tensor { x.try_matrix_transpose() }
    packbits(x: Tensor, dim: isize = "-1") -> Tensor { x.try_packbits(dim) }
    unpackbits(x: Tensor, dim: isize = "-1") -> Tensor { x.try_unpackbits(dim) }
    logspace(start: f64, end: f64, steps: usize, base: f64 = "10", dtype: Option<DType> = "?") -> Tensor {
        Tensor::try_logspace(start, end, steps, base, options(dtype)?)
    }
    geomspace(start: f64, end: f64, steps: usize, dtype: Option<DType> = "?") -> Tensor { Tensor::try_geomspace(start, end, steps, options(dtype)?) }
    indices(shape: Vec<usize>, dtype: Option<DType> = "?") -> Tensor { Tensor::try_indices(shape, options(dtype)?) }
    tri(rows: usize, columns: usize, diagonal: i64 = "0", dtype: Option<DType> = "?") -> Tensor { Tensor::try_tri(rows, columns, diagonal, options(dtype)?) }
    tril_indices(rows: usize, columns: usize, diagonal: i64 = "0") -> (Tensor, Tensor) { Tensor::try_tril_indices(rows, columns, diagonal, options(None)?) }
    triu_indices(rows: usize, columns: usize, diagonal: i64 = "0") -> (Tensor, Tensor) { Tensor::try_triu_indices(rows, columns, diagonal, options(None)?) }
    unravel_index(x: Tensor, shape: Vec<usize>) -> Vec<Tensor> { x.try_unravel_index(shape) }
    ravel_multi_index(coordinates: Vec<Tensor>, shape: Vec<usize>) -> Tensor { Tensor::try_ravel_multi_index(&coordinates, shape) }
    inner(x: Tensor, other: Tensor) -> Tensor { x.try_inner(&other) }
    vdot(x: Tensor, other: Tensor) -> Tensor { x.try_vdot(&other) }
    vecdot(x: Tensor, other: Tensor, dim: isize = "-1") -> Tensor { x.try_vecdot(&other, dim) }
    matvec(x: Tensor, vectors: Tensor) -> Tensor { x.try_matvec(&vectors) }
    vecmat(x: Tensor, matrices: Tensor) -> Tensor { x.try_vecmat(&matrices) }
    convolve(x: Tensor, other: Tensor, mode: ConvolveMode = "\"full\"") -> Tensor { x.try_convolve(&other, mode) }
    correlate(x: Tensor, other: Tensor, mode: ConvolveMode = "\"valid\"") -> Tensor { x.try_correlate(&other, mode) }
    polyfit(x: Tensor, y: Tensor, degree: usize) -> Tensor { x.try_polyfit(&y, degree) }
    polyval(coefficients: Tensor, x: Tensor) -> Tensor { coefficients.try_polyval(&x) }
    polyadd(x: Tensor, other: Tensor) -> Tensor { x.try_polyadd(&other) }
    polysub(x: Tensor, other: Tensor) -> Tensor { x.try_polysub(&other) }
    polymul(x: Tensor, other: Tensor) -> Tensor { x.try_polymul(&other) }
    polydiv(x: Tensor, divisor: Tensor) -> (Tensor, Tensor) { x.try_polydiv(&divisor) }
    polyder(x: Tensor, times: usize = "1") -> Tensor { x.try_polyder(times) }
    polyint(x: Tensor, times: usize = "1", constants: Vec<f64> = "[]") -> Tensor { x.try_polyint(times, &constants) }
    poly(x: Tensor) -> Tensor { x.try_poly() }
}
