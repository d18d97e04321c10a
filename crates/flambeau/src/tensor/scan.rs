//! Running sums and products.

use super::{Tensor, twins};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::scan::{Scan, ScanKind};
use crate::op::{Op, StructuredOp};

impl Tensor {
    /// The scan of numbers of 16 bits and more.
    #[track_caller]
    pub(crate) fn scanned(&self, dim: usize, kind: ScanKind, reverse: bool) -> Result<Tensor> {
        let op = Op::Structured(StructuredOp::Scan(Scan { dim, kind, reverse }));
        Tensor::from_op(op, std::slice::from_ref(self), self.meta().clone())
    }

    /// A scan along a dimension of any dtype: booleans and bytes are taken as I32, a tensor without dimensions
    /// is its own scan.
    #[track_caller]
    fn accumulated(&self, op: &'static str, kind: ScanKind, dim: isize) -> Result<Tensor> {
        let numbers = match self.dtype() {
            DType::Bool | DType::U8 => self.try_to_dtype(DType::I32)?,
            _ => self.clone(),
        };
        if self.rank() == 0 && (dim == 0 || dim == -1) {
            return Ok(numbers);
        }
        numbers.scanned(self.shape().dim(op, dim)?, kind, false)
    }

    twins! {
        /// The running sum along `dim`: out\[k\] = x\[0\] + … + x\[k\]. Booleans and bytes are summed as I32.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::cpu());
        /// assert_eq!(x.cumsum(1).to_string(), "tensor([[ 1.,  3.,  6.],\n        [ 4.,  9., 15.]])");
        /// ```
        cumsum / try_cumsum(&self, dim: isize) -> Tensor {
            self.accumulated("cumsum", ScanKind::Sum, dim)
        }

        /// The running product along `dim`: out\[k\] = x\[0\] · … · x\[k\]. Booleans and bytes are multiplied as I32.
        ///
        /// The gradient, ∂L/∂x\[i\] = Σ\_{k≥i} g\[k\] · Π\_{j≤k, j≠i} x\[j\], is right also where elements are zero; it takes
        /// N² numbers for a row of N.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0, 3.0, 4.0], &Device::cpu());
        /// assert_eq!(x.cumprod(0).to_string(), "tensor([ 1.,  2.,  6., 24.])");
        /// ```
        cumprod / try_cumprod(&self, dim: isize) -> Tensor {
            self.accumulated("cumprod", ScanKind::Prod, dim)
        }
    }
}
