//! Transforms along several dimensions: one after the other, the last one first, as NumPy's.

use super::{FFT, FftNorm, IFFT, IRFFT, Named, RFFT, computed};
use crate::error::{Error, Result};
use crate::shape::{Dims, Shape};
use crate::tensor::{Tensor, twins};

/// The dimensions in the order in which they are named, and their lengths. Lengths alone are those of the last dimensions.
#[track_caller]
fn resolved(
    op: &'static str,
    shape: &Shape,
    s: Option<&[usize]>,
    dims: &Dims,
) -> Result<Vec<(usize, Option<usize>)>> {
    let dims = match (dims, s) {
        (Dims::Some(dims), _) => {
            Dims::Some(dims.clone()).resolve(op, shape)?;
            dims.iter().map(|&dim| shape.dim(op, dim)).collect::<Result<Vec<_>>>()?
        }
        (Dims::All, Some(s)) if s.len() <= shape.rank() => (shape.rank() - s.len()..shape.rank()).collect(),
        (Dims::All, _) => (0..shape.rank()).collect(),
    };
    if s.is_some_and(|s| s.len() != dims.len()) {
        let message = format!(
            "{} lengths {:?} for {} dimensions of {shape}",
            s.map_or(0, <[usize]>::len),
            s,
            dims.len()
        );
        return Err(Error::argument(op, message));
    }
    if dims.is_empty() {
        return Err(Error::argument(op, format!("shape {shape} has no dimension to transform")));
    }
    Ok(dims.into_iter().enumerate().map(|(k, dim)| (dim, s.map(|s| s[k]))).collect())
}

/// `last` along the last of the dimensions, `others` along the rest: before it where `others` take what it takes.
#[track_caller]
fn transform(
    op: &'static str,
    x: &Tensor,
    (last, others): (Named, Named),
    (s, dims): (Option<&[usize]>, &Dims),
    norm: FftNorm,
) -> Result<Tensor> {
    let (last, others) = (Named { name: op, ..last }, Named { name: op, ..others });
    let mut dims = resolved(op, &last.dims(x)?, s, dims)?;
    let (dim, n) = dims.pop().expect("one dimension at least");
    computed(x, |x| {
        let rest = |x: Tensor| dims.iter().rev().try_fold(x, |x, &(dim, n)| others.along(&x, n, dim, norm));
        match last.takes_pairs() {
            true => last.along(&rest(x.clone())?, n, dim, norm),
            false => rest(last.along(x, n, dim, norm)?),
        }
    })
}

/// Two dimensions.
fn two(dims: [isize; 2]) -> Dims {
    Dims::from(dims)
}

impl Tensor {
    twins! {
        /// [`fft`](Tensor::fft) along all of `dims`, of complex numbers; `s` are their lengths, or with all dimensions (`..`) those of
        /// the last ones. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let x = Tensor::ones([2, 3, 2], &Device::cpu());
        /// let y = x.fftn(None, .., FftNorm::Backward);
        /// assert_eq!(y.select(0, 0).select(0, 0).to_string(), "tensor([6., 6.])");
        /// ```
        fftn / try_fftn(&self, s: Option<&[usize]>, dims: impl Into<Dims>, norm: FftNorm) -> Tensor {
            transform("fftn", self, (FFT, FFT), (s, &dims.into()), norm)
        }

        /// [`fftn`](Tensor::fftn) back. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let x = Tensor::new([[[1.0, 2.0]], [[3.0, 4.0]]], &Device::cpu());
        /// let back = x.fftn(None, .., FftNorm::Ortho).ifftn(None, .., FftNorm::Ortho);
        /// assert_eq!(back.round().to_string(), "tensor([[[1., 2.]],\n\n        [[3., 4.]]])");
        /// ```
        ifftn / try_ifftn(&self, s: Option<&[usize]>, dims: impl Into<Dims>, norm: FftNorm) -> Tensor {
            transform("ifftn", self, (IFFT, IFFT), (s, &dims.into()), norm)
        }

        /// [`fftn`](Tensor::fftn) of real numbers: [`rfft`](Tensor::rfft) along the last of `dims`, which has half the result, then
        /// [`fft`](Tensor::fft) along the others. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let y = Tensor::ones([4, 6], &Device::cpu()).rfftn(None, .., FftNorm::Backward);
        /// assert_eq!(y.shape().dims(), [4, 4, 2]);
        /// ```
        rfftn / try_rfftn(&self, s: Option<&[usize]>, dims: impl Into<Dims>, norm: FftNorm) -> Tensor {
            transform("rfftn", self, (RFFT, FFT), (s, &dims.into()), norm)
        }

        /// [`rfftn`](Tensor::rfftn) back; an odd length of the last of `dims` must be given in `s`. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let x = Tensor::new([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::cpu());
        /// let y = x.rfftn(None, .., FftNorm::Backward);
        /// let back = y.irfftn(Some(&[2, 3]), .., FftNorm::Backward);
        /// assert_eq!(back.round().to_string(), "tensor([[1., 2., 3.],\n        [4., 5., 6.]])");
        /// ```
        irfftn / try_irfftn(&self, s: Option<&[usize]>, dims: impl Into<Dims>, norm: FftNorm) -> Tensor {
            transform("irfftn", self, (IRFFT, IFFT), (s, &dims.into()), norm)
        }

        /// [`fftn`](Tensor::fftn) along two dimensions, usually −2 and −1. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let y = Tensor::ones([5, 3, 4, 2], &Device::cpu()).fft2(Some([8, 8]), [-2, -1], FftNorm::Backward);
        /// assert_eq!(y.shape().dims(), [5, 8, 8, 2]);
        /// ```
        fft2 / try_fft2(&self, s: Option<[usize; 2]>, dims: [isize; 2], norm: FftNorm) -> Tensor {
            transform("fft2", self, (FFT, FFT), (s.as_ref().map(|s| &s[..]), &two(dims)), norm)
        }

        /// [`fft2`](Tensor::fft2) back. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let y = Tensor::ones([3, 4, 2], &Device::cpu()).ifft2(None, [-2, -1], FftNorm::Backward);
        /// assert_eq!(y.select(0, 0).select(0, 0).to_string(), "tensor([1., 1.])");
        /// ```
        ifft2 / try_ifft2(&self, s: Option<[usize; 2]>, dims: [isize; 2], norm: FftNorm) -> Tensor {
            transform("ifft2", self, (IFFT, IFFT), (s.as_ref().map(|s| &s[..]), &two(dims)), norm)
        }

        /// [`rfftn`](Tensor::rfftn) along two dimensions, usually −2 and −1. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let y = Tensor::ones([5, 8, 8], &Device::cpu()).rfft2(None, [-2, -1], FftNorm::Backward);
        /// assert_eq!(y.shape().dims(), [5, 8, 5, 2]);
        /// ```
        rfft2 / try_rfft2(&self, s: Option<[usize; 2]>, dims: [isize; 2], norm: FftNorm) -> Tensor {
            transform("rfft2", self, (RFFT, FFT), (s.as_ref().map(|s| &s[..]), &two(dims)), norm)
        }

        /// [`rfft2`](Tensor::rfft2) back; an odd length of the second dimension must be given in `s`. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::FftNorm;
        /// let y = Tensor::ones([8, 5, 2], &Device::cpu()).irfft2(None, [-2, -1], FftNorm::Backward);
        /// assert_eq!(y.shape().dims(), [8, 8]);
        /// ```
        irfft2 / try_irfft2(&self, s: Option<[usize; 2]>, dims: [isize; 2], norm: FftNorm) -> Tensor {
            transform("irfft2", self, (IRFFT, IFFT), (s.as_ref().map(|s| &s[..]), &two(dims)), norm)
        }
    }
}
