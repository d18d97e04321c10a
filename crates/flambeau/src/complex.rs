//! Complex numbers: pairs (real part, imaginary part) in a last dimension of 2, as `torch.view_as_real` lays them out.
//!
//! A tensor of complex numbers with the shape (…) is a tensor of floats with the shape (…, 2). There is no dtype of its own:
//! everything else works on them as on any numbers, with derivatives for both parts (adding, scaling, summing, joining are the
//! same for pairs), and here is what is not. Where the functions of [`fft`](crate::fft) and of this module name dimensions of
//! complex numbers, the pairs' own does not count: of (B, N, 2), −1 is the one of N.
//!
//! ```
//! # use flambeau::prelude::*;
//! let z = Tensor::new([[3.0, 4.0], [0.0, -2.0]], &Device::cpu()); // 3 + 4i and −2i
//! assert_eq!(z.complex_abs().to_string(), "tensor([5., 2.])");
//! assert_eq!(z.complex_mul(&z.conj()).to_string(), "tensor([[25.,  0.],\n        [ 4.,  0.]])");
//! ```

use crate::error::{Error, Result};
use crate::tensor::{Tensor, twins};

impl Tensor {
    /// Refuses what is not made of pairs of floats.
    #[track_caller]
    pub(crate) fn require_pairs(&self, op: &'static str) -> Result<()> {
        let shape = self.shape();
        if shape.rank() == 0 || shape[shape.rank() - 1] != 2 {
            let message = format!("complex numbers are pairs in a last dimension of 2; the shape is {shape}");
            return Err(Error::shape(op, message));
        }
        if !self.dtype().is_float() {
            return Err(Error::dtype_not_accepted(op, self.dtype(), "a float dtype"));
        }
        Ok(())
    }

    /// The real and the imaginary parts.
    #[track_caller]
    fn parts(&self, op: &'static str) -> Result<(Tensor, Tensor)> {
        self.require_pairs(op)?;
        Ok((self.try_select(-1, 0)?, self.try_select(-1, 1)?))
    }

    twins! {
        /// Complex numbers of their real and imaginary parts, which are broadcast to one shape: (…) and (…) → (…, 2).
        /// See [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let z = Tensor::new([1.0, 2.0], &Device::cpu()).complex(&Tensor::new([3.0, 4.0], &Device::cpu()));
        /// assert_eq!(z.to_string(), "tensor([[1., 3.],\n        [2., 4.]])");
        /// ```
        complex / try_complex(&self, imag: &Tensor) -> Tensor {
            for part in [self, imag] {
                if !part.dtype().is_float() {
                    return Err(Error::dtype_not_accepted("complex", part.dtype(), "a float dtype"));
                }
            }
            let shape = self.shape().broadcast(imag.shape());
            let shape = shape.ok_or_else(|| Error::broadcast("complex", self.shape(), imag.shape()))?;
            Tensor::try_stack(&[self.try_expand(&shape)?, imag.try_expand(&shape)?], -1)
        }

        /// The real parts of complex numbers: (…, 2) → (…). See [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let z = Tensor::new([[1.0, 3.0], [2.0, 4.0]], &Device::cpu());
        /// assert_eq!(z.real().to_string(), "tensor([1., 2.])");
        /// ```
        real / try_real(&self) -> Tensor {
            Ok(self.parts("real")?.0)
        }

        /// The imaginary parts of complex numbers: (…, 2) → (…). See [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let z = Tensor::new([[1.0, 3.0], [2.0, 4.0]], &Device::cpu());
        /// assert_eq!(z.imag().to_string(), "tensor([3., 4.])");
        /// ```
        imag / try_imag(&self) -> Tensor {
            Ok(self.parts("imag")?.1)
        }

        /// Products of complex numbers, (a + bi)(c + di) = ac − bd + (ad + bc)i; what comes before the pairs is broadcast. See
        /// [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (i, z) = (Tensor::new([0.0, 1.0], &Device::cpu()), Tensor::new([[1.0, 2.0], [3.0, 0.0]], &Device::cpu()));
        /// assert_eq!(z.complex_mul(&i).to_string(), "tensor([[-2.,  1.],\n        [ 0.,  3.]])");
        /// ```
        complex_mul / try_complex_mul(&self, other: &Tensor) -> Tensor {
            let ((a, b), (c, d)) = (self.parts("complex_mul")?, other.parts("complex_mul")?);
            if a.shape().broadcast(c.shape()).is_none() {
                return Err(Error::broadcast("complex_mul", self.shape(), other.shape()));
            }
            let real = a.try_mul(&c)?.try_sub(&b.try_mul(&d)?)?;
            let imag = a.try_mul(&d)?.try_add(&b.try_mul(&c)?)?;
            Tensor::try_stack(&[real, imag], -1)
        }

        /// The absolute values |a + bi| = √(a² + b²) of complex numbers: (…, 2) → (…). The derivative is 0 at 0, as PyTorch's. See
        /// [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([[3.0, 4.0]], &Device::cpu()).complex_abs().to_string(), "tensor([5.])");
        /// ```
        complex_abs / try_complex_abs(&self) -> Tensor {
            let (a, b) = self.parts("complex_abs")?;
            let zero = a.try_eq(0.0)?.try_logical_and(&b.try_eq(0.0)?)?;
            let away = zero.try_where_cond(1.0, &a)?.try_hypot(&b)?;
            zero.try_where_cond(0.0, &away)
        }

        /// The angles of complex numbers in the plane, in [−π, π]: (…, 2) → (…). The derivative is 0 at 0. See
        /// [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([[0.0, 2.0], [-1.0, 0.0]], &Device::cpu()).angle().to_string(), "tensor([1.5708, 3.1416])");
        /// ```
        angle / try_angle(&self) -> Tensor {
            let (a, b) = self.parts("angle")?;
            b.try_atan2(&a)
        }

        /// The conjugates a − bi of complex numbers. See [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([[3.0, 4.0]], &Device::cpu()).conj().to_string(), "tensor([[ 3., -4.]])");
        /// ```
        conj / try_conj(&self) -> Tensor {
            let (a, b) = self.parts("conj")?;
            Tensor::try_stack(&[a, b.try_neg()?], -1)
        }

        /// Complex numbers r (cos φ + i sin φ) of absolute values (self) and angles: (…) and (…) → (…, 2). See
        /// [`complex`](crate::complex).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let z = Tensor::new([2.0], &Device::cpu()).polar(&Tensor::new([0.0], &Device::cpu()));
        /// assert_eq!(z.to_string(), "tensor([[2., 0.]])");
        /// ```
        polar / try_polar(&self, angle: &Tensor) -> Tensor {
            if self.shape().broadcast(angle.shape()).is_none() {
                return Err(Error::broadcast("polar", self.shape(), angle.shape()));
            }
            let (cos, sin) = (angle.try_cos()?, angle.try_sin()?);
            self.try_mul(&cos)?.try_complex(&self.try_mul(&sin)?)
        }
    }
}
