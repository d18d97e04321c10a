//! Fourier transforms of any length, along any dimensions, on every device, with derivatives of any order.
//!
//! They are methods of [`Tensor`], with NumPy's and PyTorch's names and arguments: [`fft`](Tensor::fft), [`ifft`](Tensor::ifft),
//! [`rfft`](Tensor::rfft), [`irfft`](Tensor::irfft), [`hfft`](Tensor::hfft) and [`ihfft`](Tensor::ihfft) along one dimension;
//! [`fft2`](Tensor::fft2), [`ifft2`](Tensor::ifft2), [`rfft2`](Tensor::rfft2), [`irfft2`](Tensor::irfft2),
//! [`fftn`](Tensor::fftn), [`ifftn`](Tensor::ifftn), [`rfftn`](Tensor::rfftn), [`irfftn`](Tensor::irfftn) along several;
//! [`fftfreq`](Tensor::fftfreq), [`rfftfreq`](Tensor::rfftfreq), [`fftshift`](Tensor::fftshift) and
//! [`ifftshift`](Tensor::ifftshift) for what their results mean; [`stft`](Tensor::stft) and [`istft`](Tensor::istft), with windows
//! ([`hann_window`](Tensor::hann_window) and others), for signals; [`fft_convolve`](Tensor::fft_convolve) for long convolutions.
//!
//! Complex numbers are pairs in a last dimension of 2 ([`complex`](crate::complex)), which does not count where dimensions are
//! named: of (B, N, 2), `fft` along −1 is along N. `fft` takes complex numbers; what is real goes to `rfft`, which costs half as
//! much and has half the result, or through [`complex`](Tensor::complex).
//!
//! - `n` and `s` are lengths: what is longer is cut off, what is shorter gets zeros; `None` leaves it as it is.
//! - `norm` says where the factor 1/n is: see [`FftNorm`].
//! - Integers and booleans are taken as F32; F16 is computed in F32 and is F16 again.
//!
//! ```
//! # use flambeau::prelude::*;
//! use flambeau::fft::FftNorm;
//! let x = Tensor::new([1.0, 0.0, -1.0, 0.0], &Device::cpu()); // a cosine
//! let spectrum = x.rfft(None, -1, FftNorm::Backward);
//! assert_eq!(spectrum.complex_abs().to_string(), "tensor([0., 2., 0.])");
//! assert_eq!(spectrum.irfft(4, -1, FftNorm::Backward).to_string(), "tensor([ 1.,  0., -1.,  0.])");
//! ```

mod convolve;
mod frequencies;
mod several;
mod stft;
mod windows;

pub use convolve::ConvolveMode;
pub use stft::{IstftOptions, StftOptions};

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::dft::{Dft, Kind};
use crate::op::structured::Listed;
use crate::settings::words;
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};

/// Which transform has the factor: forth is `fft`, `rfft` and `hfft`, back is `ifft`, `irfft` and `ihfft`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FftNorm {
    /// Back has 1/n.
    #[default]
    Backward,
    /// Both have 1/√n: neither changes the sum of squares.
    Ortho,
    /// Forth has 1/n.
    Forward,
}

words!(FftNorm { "backward" => Backward, "ortho" => Ortho, "forward" => Forward });

impl FftNorm {
    fn scale(self, n: usize, back: bool) -> f64 {
        match (self, back) {
            (FftNorm::Ortho, _) => 1.0 / (n as f64).sqrt(),
            (FftNorm::Backward, true) | (FftNorm::Forward, false) => 1.0 / n as f64,
            (FftNorm::Backward, false) | (FftNorm::Forward, true) => 1.0,
        }
    }
}

/// A transform by its name: what it takes and gives, and its direction.
#[derive(Debug, Clone, Copy)]
struct Named {
    name: &'static str,
    kind: Kind,
    back: bool,
}

const FFT: Named = Named { name: "fft", kind: Kind::Complex, back: false };
const IFFT: Named = Named { name: "ifft", kind: Kind::Complex, back: true };
const RFFT: Named = Named { name: "rfft", kind: Kind::ToSpectrum { doubled: false }, back: false };
const IRFFT: Named = Named { name: "irfft", kind: Kind::ToReal { doubled: true }, back: true };
const HFFT: Named = Named { name: "hfft", kind: Kind::ToReal { doubled: true }, back: false };
const IHFFT: Named = Named { name: "ihfft", kind: Kind::ToSpectrum { doubled: false }, back: true };

impl Named {
    fn takes_pairs(&self) -> bool {
        !matches!(self.kind, Kind::ToSpectrum { .. })
    }

    /// The dimensions that count.
    #[track_caller]
    fn dims(&self, x: &Tensor) -> Result<Shape> {
        if !self.takes_pairs() {
            return Ok(x.shape().clone());
        }
        x.require_pairs(self.name)?;
        Ok(Shape::new(&x.shape()[..x.rank() - 1]))
    }

    /// The transform of F32 or F64 along a dimension that is counted from the front.
    #[track_caller]
    fn along(&self, x: &Tensor, n: Option<usize>, dim: usize, norm: FftNorm) -> Result<Tensor> {
        let Named { name, kind, back } = *self;
        let size = x.shape()[dim];
        let to_real = matches!(kind, Kind::ToReal { .. });
        let length = n.unwrap_or(if to_real { 2 * size.saturating_sub(1) } else { size });
        if length == 0 {
            let message = format!("dimension {dim} of shape {} gives a transform of length 0", x.shape());
            return Err(Error::argument(name, message));
        }
        let x = fitted(x, dim, if to_real { length / 2 + 1 } else { length })?;
        x.dft(Dft { kind, inverse: back, dim, length }, norm.scale(length, back))
    }

    #[track_caller]
    fn apply(&self, x: &Tensor, n: Option<usize>, dim: isize, norm: FftNorm) -> Result<Tensor> {
        let dim = self.dims(x)?.dim(self.name, dim)?;
        computed(x, |x| self.along(x, n, dim, norm))
    }
}

/// What a function of F32 or F64 gives for any dtype: F16 stays F16, what is no float becomes F32. In mixed precision it is
/// computed in F32.
#[track_caller]
fn computed(x: &Tensor, function: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let entered = Dft::AUTOCAST.enter([x])?;
    let [x] = entered.inputs([x]);
    match x.dtype() {
        DType::F32 | DType::F64 => function(x),
        DType::F16 => function(&x.try_to_dtype(DType::F32)?)?.try_to_dtype(DType::F16),
        _ => function(&x.try_to_dtype(DType::F32)?),
    }
}

/// The first `length` along a dimension, with zeros after what there is.
#[track_caller]
fn fitted(x: &Tensor, dim: usize, length: usize) -> Result<Tensor> {
    let size = x.shape()[dim];
    if size == length {
        return Ok(x.clone());
    }
    if size > length {
        return x.try_narrow(dim as isize, 0, length);
    }
    let mut pads = vec![0; 2 * (x.rank() - dim)];
    *pads.last_mut().expect("a dimension") = (length - size) as isize;
    x.try_pad(&pads, 0.0)
}

impl Tensor {
    twins! {
        /// y\[k\] = Σₙ x\[n\] e^(−2πi nk/N): the discrete Fourier transform of complex numbers along `dim`, (…, N, …, 2) →
        /// (…, n, …, 2). See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let impulse = Tensor::new([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]], &Device::cpu());
        /// let turns = impulse.fft(None, -1, FftNorm::Backward);
        /// assert_eq!(turns.round().to_string(), "tensor([[ 1.,  0.],\n        [ 0., -1.],\n        [-1.,  0.],\n        [ 0.,  1.]])");
        /// ```
        fft / try_fft(&self, n: impl Into<Option<usize>>, dim: isize, norm: FftNorm) -> Tensor {
            FFT.apply(self, n.into(), dim, norm)
        }

        /// x\[n\] = 1/N Σₖ y\[k\] e^(2πi nk/N): [`fft`](Tensor::fft) back, (…, N, …, 2) → (…, n, …, 2). See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// let back = x.fft(None, -1, FftNorm::Backward).ifft(None, -1, FftNorm::Backward);
        /// assert_eq!(back.to_string(), "tensor([[1., 2.],\n        [3., 4.]])");
        /// ```
        ifft / try_ifft(&self, n: impl Into<Option<usize>>, dim: isize, norm: FftNorm) -> Tensor {
            IFFT.apply(self, n.into(), dim, norm)
        }

        /// [`fft`](Tensor::fft) of real numbers, (…, N, …) → (…, n/2 + 1, …, 2): the first half of the result, of whose numbers the
        /// others are the conjugates. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let x = Tensor::new([1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.rfft(2, 0, FftNorm::Backward).to_string(), "tensor([[ 3.,  0.],\n        [-1.,  0.]])");
        /// ```
        rfft / try_rfft(&self, n: impl Into<Option<usize>>, dim: isize, norm: FftNorm) -> Tensor {
            RFFT.apply(self, n.into(), dim, norm)
        }

        /// [`rfft`](Tensor::rfft) back, (…, N/2 + 1, …, 2) → (…, n, …). `n` is 2 (N/2 + 1 − 1) unless it is given: an odd
        /// length must be. Imaginary parts of the first number, and of the last of an even length, count as zero. See
        /// [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let y = Tensor::new([[6.0, 0.0], [0.0, 0.0]], &Device::cpu());
        /// assert_eq!(y.irfft(3, -1, FftNorm::Backward).to_string(), "tensor([2., 2., 2.])");
        /// ```
        irfft / try_irfft(&self, n: impl Into<Option<usize>>, dim: isize, norm: FftNorm) -> Tensor {
            IRFFT.apply(self, n.into(), dim, norm)
        }

        /// [`fft`](Tensor::fft) of complex numbers of which the other half are conjugates, so that the result is real:
        /// (…, N/2 + 1, …, 2) → (…, n, …), with n as in [`irfft`](Tensor::irfft). See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let x = Tensor::new([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]], &Device::cpu());
        /// assert_eq!(x.hfft(None, -1, FftNorm::Backward).to_string(), "tensor([ 3.,  1.,  3., -3.])");
        /// ```
        hfft / try_hfft(&self, n: impl Into<Option<usize>>, dim: isize, norm: FftNorm) -> Tensor {
            HFFT.apply(self, n.into(), dim, norm)
        }

        /// [`hfft`](Tensor::hfft) back, (…, N, …) → (…, n/2 + 1, …, 2). See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let y = Tensor::new([3.0, 1.0, 3.0, -3.0], &Device::cpu());
        /// assert_eq!(y.ihfft(None, -1, FftNorm::Backward).real().to_string(), "tensor([1., 0., 2.])");
        /// ```
        ihfft / try_ihfft(&self, n: impl Into<Option<usize>>, dim: isize, norm: FftNorm) -> Tensor {
            IHFFT.apply(self, n.into(), dim, norm)
        }
    }
}
