//! Polynomials as vectors of coefficients, the highest power first, and convolutions, which are their products.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::fft::ConvolveMode;
use crate::tensor::{ConvOptions, Tensor, twins};

impl Tensor {
    /// Checks a vector of coefficients.
    fn coefficients(&self, op: &'static str) -> Result<usize> {
        match self.rank() {
            1 if self.numel() > 0 => Ok(self.numel()),
            _ => Err(Error::shape(op, format!("shape {} is not that of coefficients", self.shape()))),
        }
    }

    /// Both with as many coefficients as the longer one.
    #[track_caller]
    fn aligned(&self, other: &Tensor, op: &'static str) -> Result<(Tensor, Tensor)> {
        let length = self.coefficients(op)?.max(other.coefficients(op)?);
        let whole = |x: &Tensor| x.try_pad(&[(length - x.numel()) as isize, 0], 0);
        Ok((whole(self)?, whole(other)?))
    }

    /// Σₖ x\[n + k\] w\[k\] of two vectors where both overlap wholly; x is the longer one.
    #[track_caller]
    fn slid_over(&self, window: &Tensor) -> Result<Tensor> {
        let dtype = self.dtype().promote(window.dtype());
        let (x, window) = (self.try_to_dtype(dtype)?, window.try_to_dtype(dtype)?);
        if dtype.is_float() {
            let row = |x: &Tensor| x.try_reshape([1, 1, x.numel()]);
            let result = row(&x)?.try_conv1d(&row(&window)?, None, &ConvOptions::default())?;
            return result.try_reshape(x.numel() + 1 - window.numel());
        }
        x.try_unfold(0, window.numel(), 1)?.try_matmul(&window)
    }

    /// The part of a correlation with a window that is not the longer one.
    #[track_caller]
    fn correlated(&self, window: &Tensor, mode: ConvolveMode) -> Result<Tensor> {
        let (n, k) = (self.numel(), window.numel());
        let padded = self.try_pad(&[k as isize - 1, k as isize - 1], 0)?;
        match mode {
            ConvolveMode::Full => padded.slid_over(window),
            ConvolveMode::Same => padded.try_narrow(0, (k - 1) / 2, n + k - 1)?.slid_over(window),
            ConvolveMode::Valid => self.slid_over(window),
        }
    }

    twins! {
        /// y\[n\] = Σₖ x\[k\] w\[n − k\] of two vectors, all of it or a part: `Same` is as long as the longer one. For long ones
        /// [`fft_convolve`](Tensor::fft_convolve) is faster.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::ConvolveMode;
        /// let (x, w) = (Tensor::new([1.0, 2.0, 3.0], &Device::cpu()), Tensor::new([0.0, 1.0, 0.5], &Device::cpu()));
        /// assert_eq!(x.convolve(&w, ConvolveMode::Full).to_string(), "tensor([0.0000, 1.0000, 2.5000, 4.0000, 1.5000])");
        /// ```
        convolve / try_convolve(&self, other: &Tensor, mode: ConvolveMode) -> Tensor {
            let (n, k) = (self.coefficients("convolve")?, other.coefficients("convolve")?);
            match n < k {
                true => other.correlated(&self.try_flip(0)?, mode),
                false => self.correlated(&other.try_flip(0)?, mode),
            }
        }

        /// The coefficients of the polynomial of a degree that is nearest to values `y` at the points x (n), by least squares; `y` is (n), or
        /// (n, k) for k polynomials, (degree + 1, k). There must be as many different points as coefficients.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 1.0, 2.0, 3.0], &Device::cpu());
        /// let fitted = x.polyfit(&(&x * &x * 2.0 + 1.0), 2).to_vec_blocking::<f32>()?;
        /// assert!(fitted.iter().zip([2.0, 0.0, 1.0]).all(|(got, want)| (got - want).abs() < 1e-5));
        /// # Ok::<(), Error>(())
        /// ```
        polyfit / try_polyfit(&self, y: &Tensor, degree: usize) -> Tensor {
            let count = self.coefficients("polyfit")?;
            if !(1..=2).contains(&y.rank()) || y.shape()[0] != count {
                let message = format!("values {} are not those of {count} points", y.shape());
                return Err(Error::shape("polyfit", message));
            }
            let float = |x: &Tensor| match x.dtype().is_float() {
                true => Ok(x.clone()),
                false => x.try_to_dtype(DType::F32),
            };
            let (points, values) = (float(self)?, float(y)?);
            let powers = points.try_vander(degree + 1)?.try_flip(1)?;
            // Columns of one length: the powers of large numbers would hide the others.
            let lengths = powers.try_square()?.try_sum(0)?.try_sqrt()?;
            let columns = if y.rank() == 1 { values.try_unsqueeze(1)? } else { values };
            let fitted = powers.try_div(&lengths)?.try_lstsq(&columns)?.try_div(&lengths.try_unsqueeze(1)?)?;
            if y.rank() == 1 { fitted.try_squeeze(1) } else { Ok(fitted) }
        }

        /// y\[n\] = Σₖ x\[n + k\] w\[k\] of two vectors, all of it or a part, as NumPy's: the first number has the first of x alone.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::ConvolveMode;
        /// let (x, w) = (Tensor::new([1.0, 2.0, 3.0], &Device::cpu()), Tensor::new([0.0, 1.0, 0.5], &Device::cpu()));
        /// assert_eq!(x.correlate(&w, ConvolveMode::Valid).to_string(), "tensor([3.5000])");
        /// ```
        correlate / try_correlate(&self, other: &Tensor, mode: ConvolveMode) -> Tensor {
            let (n, k) = (self.coefficients("correlate")?, other.coefficients("correlate")?);
            match n < k {
                true => other.correlated(self, mode)?.try_flip(0),
                false => {
                    // Of an even window the middle lies half a place further on than a convolution's.
                    let same = mode == ConvolveMode::Same && k.is_multiple_of(2);
                    match same {
                        false => self.correlated(other, mode),
                        true => self.correlated(other, ConvolveMode::Full)?.try_narrow(0, k / 2 - 1, n),
                    }
                }
            }
        }

        /// The polynomial's values at x, by Horner's scheme.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (p, x) = (Tensor::new([3.0, 0.0, 1.0], &Device::cpu()), Tensor::new([5.0, 0.0], &Device::cpu()));
        /// assert_eq!(p.polyval(&x).to_string(), "tensor([76.,  1.])");
        /// ```
        polyval / try_polyval(&self, x: &Tensor) -> Tensor {
            let n = self.coefficients("polyval")?;
            let mut value = x.zeros_like();
            for k in 0..n {
                value = value.try_mul(x)?.try_add(self.try_select(0, k as isize)?)?;
            }
            Ok(value)
        }

        /// The sum of two polynomials.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (p, q) = (Tensor::new([1, 2], &Device::cpu()), Tensor::new([9, 5, 4], &Device::cpu()));
        /// assert_eq!(p.polyadd(&q).to_string(), "tensor([9, 6, 6], dtype=i32)");
        /// ```
        polyadd / try_polyadd(&self, other: &Tensor) -> Tensor {
            let (p, q) = self.aligned(other, "polyadd")?;
            p.try_add(&q)
        }

        /// The difference of two polynomials.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (p, q) = (Tensor::new([2, 10, -2], &Device::cpu()), Tensor::new([3, 10, -4], &Device::cpu()));
        /// assert_eq!(p.polysub(&q).to_string(), "tensor([-1,  0,  2], dtype=i32)");
        /// ```
        polysub / try_polysub(&self, other: &Tensor) -> Tensor {
            let (p, q) = self.aligned(other, "polysub")?;
            p.try_sub(&q)
        }

        /// The product of two polynomials. Zeros in front stay.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (p, q) = (Tensor::new([1, 2, 3], &Device::cpu()), Tensor::new([9, 5, 1], &Device::cpu()));
        /// assert_eq!(p.polymul(&q).to_string(), "tensor([ 9, 23, 38, 17,  3], dtype=i32)");
        /// ```
        polymul / try_polymul(&self, other: &Tensor) -> Tensor {
            self.coefficients("polymul")?;
            other.coefficients("polymul")?;
            self.try_convolve(other, ConvolveMode::Full)
        }

        /// The quotient and the remainder of two polynomials. The divisor's first coefficient must not be 0; zeros in front of the remainder
        /// stay.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (p, q) = (Tensor::new([3.0, 5.0, 2.0], &Device::cpu()), Tensor::new([2.0, 1.0], &Device::cpu()));
        /// let (quotient, remainder) = p.polydiv(&q);
        /// assert_eq!(quotient.to_string(), "tensor([1.5000, 1.7500])");
        /// assert_eq!(remainder.to_string(), "tensor([0.2500])");
        /// ```
        polydiv / try_polydiv(&self, divisor: &Tensor) -> (Tensor, Tensor) {
            let (n, k) = (self.coefficients("polydiv")?, divisor.coefficients("polydiv")?);
            let dtype = self.dtype().promote(divisor.dtype()).to_float();
            let (mut rest, divisor) = (self.try_to_dtype(dtype)?, divisor.try_to_dtype(dtype)?);
            if n < k {
                return Ok((Tensor::try_full([1], 0, (dtype, self.device()))?, rest));
            }
            let first = divisor.try_narrow(0, 0, 1)?;
            let others = divisor.try_narrow(0, 1, k - 1)?;
            let mut quotient = Vec::new();
            for left in (0..=n - k).rev() {
                let digit = rest.try_narrow(0, 0, 1)?.try_div(&first)?;
                let taken = others.try_mul(&digit)?.try_pad(&[0, left as isize], 0.0)?;
                rest = rest.try_narrow(0, 1, k - 1 + left)?.try_sub(taken)?;
                quotient.push(digit);
            }
            Ok((Tensor::try_cat(&quotient, 0)?, rest))
        }

        /// The polynomial's derivative, taken `times` times.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let p = Tensor::new([1.0, 1.0, 1.0, 1.0], &Device::cpu());
        /// assert_eq!(p.polyder(1).to_string(), "tensor([3., 2., 1.])");
        /// assert_eq!(p.polyder(4).numel(), 0);
        /// ```
        polyder / try_polyder(&self, times: usize) -> Tensor {
            let n = self.coefficients("polyder")?;
            let mut result = self.clone();
            for left in (0..n).rev().take(times) {
                let powers = Tensor::try_arange(left as i64, 0, -1, self.device())?;
                result = result.try_narrow(0, 0, left)?.try_mul(powers.try_to_dtype(self.dtype())?)?;
            }
            Ok(result)
        }

        /// The polynomial's integral, taken `times` times, with these constants; those that are not given are 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let p = Tensor::new([3.0, 2.0, 1.0], &Device::cpu());
        /// assert_eq!(p.polyint(1, &[6.0]).to_string(), "tensor([1., 1., 1., 6.])");
        /// ```
        polyint / try_polyint(&self, times: usize, constants: &[f64]) -> Tensor {
            self.coefficients("polyint")?;
            let mut result = self.try_to_dtype(self.dtype().to_float())?;
            for k in 0..times {
                let n = result.numel() as i64;
                let powers = Tensor::try_arange(n, 0, -1, self.device())?.try_to_dtype(result.dtype())?;
                let constant = constants.get(k).copied().unwrap_or(0.0);
                result = result.try_div(powers)?.try_pad(&[0, 1], constant)?;
            }
            Ok(result)
        }

        /// The polynomial with these roots, whose first coefficient is 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let p = Tensor::new([1.0, -2.0, 3.0], &Device::cpu()).poly();
        /// assert_eq!(p.to_string(), "tensor([ 1., -2., -5.,  6.])");
        /// ```
        poly / try_poly(&self) -> Tensor {
            let n = self.coefficients("poly")?;
            let mut result = Tensor::try_full([1], 1, (self.dtype().to_float(), self.device()))?;
            for k in 0..n {
                let moved = result.try_mul(self.try_select(0, k as isize)?)?;
                result = result.try_pad(&[0, 1], 0.0)?.try_sub(moved.try_pad(&[1, 0], 0.0)?)?;
            }
            Ok(result)
        }
    }
}
