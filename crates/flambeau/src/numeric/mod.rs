//! What NumPy has beyond the ops that networks are made of, on every device, with derivatives where there are any. `docs/numpy.md` has every
//! function of NumPy with its name here.
//!
//! They are methods of [`Tensor`], with NumPy's names as far as those are free (PyTorch's meaning has precedence):
//!
//! - elements: [`sinc`](Tensor::sinc), [`heaviside`](Tensor::heaviside), [`copysign`](Tensor::copysign), [`frexp`](Tensor::frexp),
//!   [`gcd`](Tensor::gcd), [`i0`](Tensor::i0), [`isclose`](Tensor::isclose) and others;
//! - grids and indexes: [`logspace`](Tensor::logspace), [`geomspace`](Tensor::geomspace), [`indices`](Tensor::indices), [`tri`](Tensor::tri),
//!   [`tril_indices`](Tensor::tril_indices), [`unravel_index`](Tensor::unravel_index);
//! - samples: [`diff`](Tensor::diff), [`gradient`](Tensor::gradient), [`trapezoid`](Tensor::trapezoid), [`interp`](Tensor::interp),
//!   [`unwrap`](Tensor::unwrap);
//! - searching and choosing: [`searchsorted`](Tensor::searchsorted), [`digitize`](Tensor::digitize), [`take`](Tensor::take),
//!   [`put`](Tensor::put), [`choose`](Tensor::choose), [`select_by`](Tensor::select_by);
//! - sets: [`unique_all`](Tensor::unique_all), [`isin`](Tensor::isin), [`intersect1d`](Tensor::intersect1d);
//! - counting: [`bincount`](Tensor::bincount), [`histogram`](Tensor::histogram), [`histogramdd`](Tensor::histogramdd);
//! - statistics: [`quantile`](Tensor::quantile), [`cov`](Tensor::cov), [`corrcoef`](Tensor::corrcoef), [`nanmean`](Tensor::nanmean) and its
//!   kin;
//! - polynomials and convolutions: [`polyval`](Tensor::polyval), [`polymul`](Tensor::polymul), [`convolve`](Tensor::convolve);
//! - products: [`inner`](Tensor::inner), [`vdot`](Tensor::vdot), [`matvec`](Tensor::matvec);
//! - arranging: [`rot90`](Tensor::rot90), [`insert`](Tensor::insert), [`block`](Tensor::block), [`packbits`](Tensor::packbits),
//!   [`pad_dims`](Tensor::pad_dims).
//!
//! Where the size of a result depends on values (`unique_all`, `flatnonzero`, `bincount`), the values are read, and only then: those are
//! async, with blocking forms natively.

mod arranging;
mod differences;
mod elementwise;
mod grids;
mod histograms;
mod padding;
mod polynomials;
mod products;
mod quantiles;
mod searching;
mod sets;
mod statistics;

pub use differences::Spacing;
pub use histograms::{Bins, HistogramOptions};
pub use padding::PadWith;
pub use quantiles::QuantileMethod;
pub use searching::IndexMode;
pub use sets::UniqueAll;
pub use statistics::CovOptions;

use crate::dtype::DType;
use crate::error::Result;
use crate::shape::{Dims, Shape, product};
use crate::tensor::{Tensor, TensorOptions};

/// A tensor of numbers of the host; F32 unless the options say otherwise.
#[track_caller]
fn of_host(values: &[f64], shape: impl Into<Shape>, options: &TensorOptions) -> Result<Tensor> {
    match options.dtype_or(DType::F32) {
        DType::F64 => Tensor::try_from_slice(values, shape, options.device()),
        dtype => {
            let single: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            Tensor::try_from_slice(&single, shape, options.device())?.try_to_dtype(dtype)
        }
    }
}

/// The dimensions that are reduced as one last dimension, as floats: (kept…, n).
#[track_caller]
fn rows_over(op: &'static str, x: &Tensor, dims: &Dims) -> Result<Tensor> {
    let reduced = dims.resolve(op, x.shape())?;
    let kept: Vec<usize> = (0..x.rank()).filter(|dim| !reduced.contains(dim)).collect();
    let shape: Shape = kept.iter().map(|&dim| x.shape()[dim]).collect();
    let order: Vec<isize> = kept.iter().chain(&reduced).map(|&dim| dim as isize).collect();
    let n = product(reduced.iter().map(|&dim| x.shape()[dim]));
    let rows = x.try_to_dtype(x.dtype().to_float())?.try_permute(&order)?;
    rows.try_reshape(shape.inserted(shape.rank(), n))
}
