//! The frequencies of a transform's numbers, and their order.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Dims;
use crate::tensor::{Tensor, TensorOptions, twins};

/// A tensor of one dimension, from numbers of the host.
#[track_caller]
pub(super) fn of_host(op: &'static str, values: &[f64], options: &TensorOptions) -> Result<Tensor> {
    let single = || -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
    match options.dtype_or(DType::F32) {
        DType::F64 => Tensor::try_from_slice(values, [values.len()], options.device()),
        DType::F32 => Tensor::try_from_slice(&single(), [values.len()], options.device()),
        DType::F16 => {
            Tensor::try_from_slice(&single(), [values.len()], options.device())?.try_to_dtype(DType::F16)
        }
        dtype => Err(Error::dtype_not_accepted(op, dtype, "a float dtype")),
    }
}

/// The steps of a number of points `d` apart.
fn step(op: &'static str, n: usize, d: f64) -> Result<f64> {
    match n {
        0 => Err(Error::argument(op, "a transform has a length of at least 1")),
        _ => Ok(1.0 / (n as f64 * d)),
    }
}

impl Tensor {
    twins! {
        /// The frequencies of the numbers that [`fft`](Tensor::fft) gives for n samples, d apart:
        /// 0, 1, …, (n − 1)/2, −(n/2), …, −1, each divided by n d. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let f = Tensor::fftfreq(5, 0.1, &Device::cpu());
        /// assert_eq!(f.to_string(), "tensor([ 0.,  2.,  4., -4., -2.])");
        /// ```
        fftfreq / try_fftfreq(n: usize, d: f64, options: impl Into<TensorOptions>) -> Tensor {
            let step = step("fftfreq", n, d)?;
            let signed = |k: usize| if 2 * k < n { k as f64 } else { k as f64 - n as f64 };
            let values: Vec<f64> = (0..n).map(|k| signed(k) * step).collect();
            of_host("fftfreq", &values, &options.into())
        }

        /// The frequencies of the numbers that [`rfft`](Tensor::rfft) gives for n samples, d apart: 0, 1, …, n/2, each
        /// divided by n d. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::rfftfreq(4, 0.25, &Device::cpu()).to_string(), "tensor([0., 1., 2.])");
        /// ```
        rfftfreq / try_rfftfreq(n: usize, d: f64, options: impl Into<TensorOptions>) -> Tensor {
            let step = step("rfftfreq", n, d)?;
            let values: Vec<f64> = (0..=n / 2).map(|k| k as f64 * step).collect();
            of_host("rfftfreq", &values, &options.into())
        }

        /// Frequency 0 in the middle: what [`fft`](Tensor::fft) gives, with the negative frequencies first, along `dims`. The
        /// dimension of pairs is one like others here: name those to be shifted. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let f = Tensor::fftfreq(4, 0.25, &Device::cpu());
        /// assert_eq!(f.fftshift(0).to_string(), "tensor([-2., -1.,  0.,  1.])");
        /// ```
        fftshift / try_fftshift(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into().resolve("fftshift", self.shape())?;
            let shifts: Vec<isize> = dims.iter().map(|&dim| self.shape()[dim] as isize / 2).collect();
            self.try_roll(&shifts, &dims.iter().map(|&dim| dim as isize).collect::<Vec<_>>())
        }

        /// [`fftshift`](Tensor::fftshift) back. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let f = Tensor::fftfreq(5, 0.2, &Device::cpu());
        /// assert_eq!(f.fftshift(..).ifftshift(..).to_string(), "tensor([ 0.,  1.,  2., -2., -1.])");
        /// ```
        ifftshift / try_ifftshift(&self, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into().resolve("ifftshift", self.shape())?;
            let shifts: Vec<isize> = dims.iter().map(|&dim| -(self.shape()[dim] as isize / 2)).collect();
            self.try_roll(&shifts, &dims.iter().map(|&dim| dim as isize).collect::<Vec<_>>())
        }
    }
}
