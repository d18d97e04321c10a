//! Convolution by Fourier transforms: for kernels of hundreds of numbers and more.

use super::{FftNorm, IRFFT, Named, RFFT, computed};
use crate::error::{Error, Result};
use crate::settings::words;
use crate::tensor::{Tensor, twins};

/// Which part of a convolution is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConvolveMode {
    /// All of it: N + K − 1 numbers.
    #[default]
    Full,
    /// The middle of it, as long as the first operand.
    Same,
    /// Where both overlap wholly: |N − K| + 1 numbers.
    Valid,
}

words!(ConvolveMode { "full" => Full, "same" => Same, "valid" => Valid });

/// The next length that has factors 2, 3 and 5 only, and is even.
fn quick_length(least: usize) -> usize {
    let is_quick = |length: &usize| {
        let mut rest = *length;
        for factor in [2, 3, 5] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        rest == 1
    };
    (least.max(2).next_multiple_of(2)..).step_by(2).find(is_quick).unwrap_or(least)
}

impl Tensor {
    twins! {
        /// y\[n\] = Σₖ x\[k\] w\[n − k\] along the last dimension, by Fourier transforms: (…, N) and (…, K) → (…, N + K − 1) or
        /// part of it; the dimensions before are broadcast. (Layers call convolution what is correlation: there w is not
        /// reversed.) The work grows with N log N instead of N K. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::ConvolveMode;
        /// let (x, w) = (Tensor::new([1.0, 2.0, 3.0], &Device::cpu()), Tensor::new([1.0, 1.0], &Device::cpu()));
        /// assert_eq!(x.fft_convolve(&w, ConvolveMode::Full).round().to_string(), "tensor([1., 3., 5., 3.])");
        /// assert_eq!(x.fft_convolve(&w, ConvolveMode::Valid).round().to_string(), "tensor([3., 5.])");
        /// ```
        fft_convolve / try_fft_convolve(&self, other: &Tensor, mode: ConvolveMode) -> Tensor {
            const OP: &str = "fft_convolve";
            let sizes = [self, other].map(|x| x.shape().dims().last().copied().unwrap_or(0));
            let [n, k] = sizes;
            if n == 0 || k == 0 {
                let message = format!("shapes {} and {} have nothing to convolve", self.shape(), other.shape());
                return Err(Error::shape(OP, message));
            }
            let whole = n + k - 1;
            let length = quick_length(whole);
            let (from, size) = match mode {
                ConvolveMode::Full => (0, whole),
                ConvolveMode::Same => ((k - 1) / 2, n),
                ConvolveMode::Valid => (n.min(k) - 1, n.abs_diff(k) + 1),
            };
            let (rfft, irfft) = (Named { name: OP, ..RFFT }, Named { name: OP, ..IRFFT });
            computed(self, |x| {
                let spectrum = |x: &Tensor| rfft.along(x, Some(length), x.rank() - 1, FftNorm::Backward);
                let other = other.try_to_dtype(x.dtype())?;
                let product = spectrum(x)?.try_complex_mul(&spectrum(&other)?)?;
                let signal = irfft.along(&product, Some(length), product.rank() - 2, FftNorm::Backward)?;
                signal.try_narrow(-1, from, size)
            })
        }
    }
}
