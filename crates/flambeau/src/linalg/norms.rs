//! Norms of vectors and matrices, and condition numbers.

use super::orthogonal::thin_svd;
use super::{in_full, require_matrices, require_square};
use crate::calls::{Arg, Args};
use crate::error::{Error, Result};
use crate::shape::Dims;
use crate::tensor::{Tensor, twins};

/// A norm of matrices.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum MatrixNorm {
    /// The root of the sum of all squares.
    #[default]
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
    /// 1 and −1: the largest and the least sum of a column's absolute values; ∞ and −∞: of a row's; 2 and −2: the largest and the
    /// least singular value.
    Order(f64),
}

/// `"fro"`, `"nuc"` or a number.
impl Arg for MatrixNorm {
    const WRITER: &'static str = "w";

    fn typescript() -> String {
        "\"fro\" | \"nuc\" | number".to_string()
    }

    fn take(args: &mut Args) -> Result<Self> {
        match args.take::<String>()?.as_str() {
            "" => args.take().map(MatrixNorm::Order),
            "fro" => Ok(MatrixNorm::Frobenius),
            "nuc" => Ok(MatrixNorm::Nuclear),
            other => Err(Error::argument("norm", format!("{other} is none of fro, nuc and a number"))),
        }
    }
}

impl From<f64> for MatrixNorm {
    fn from(order: f64) -> MatrixNorm {
        MatrixNorm::Order(order)
    }
}

impl Tensor {
    twins! {
        /// The norm (Σ |x|ᵖ)^(1/p) of vectors along `dims`, which are one where there are several. `ord` may be 0 (how many are not
        /// zero), ∞ and −∞ (the largest and the least absolute value).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[3.0, 4.0], [0.0, -2.0]], &Device::cpu());
        /// assert_eq!(x.vector_norm(2.0, -1).to_string(), "tensor([5., 2.])");
        /// assert_eq!(x.vector_norm(f64::INFINITY, ..).to_string(), "tensor(4.)");
        /// ```
        vector_norm / try_vector_norm(&self, ord: f64, dims: impl Into<Dims>) -> Tensor {
            let dims = dims.into();
            in_full!(x = self);
            if !x.dtype().is_float() {
                return Err(Error::dtype_not_accepted("vector_norm", x.dtype(), "a float dtype"));
            }
            match ord {
                f64::INFINITY => x.try_abs()?.try_amax(dims),
                f64::NEG_INFINITY => x.try_abs()?.try_amin(dims),
                ord => x.try_norm(ord, dims),
            }
        }

        /// A norm of each matrix: (…, m, n) → (…).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::linalg::MatrixNorm;
        /// let a = Tensor::new([[3.0, 0.0], [4.0, 0.0]], &Device::cpu());
        /// assert_eq!(a.matrix_norm(MatrixNorm::Frobenius).to_string(), "tensor(5.)");
        /// assert_eq!(a.matrix_norm(1.0).to_string(), "tensor(7.)");
        /// assert_eq!(a.matrix_norm(f64::INFINITY).to_string(), "tensor(4.)");
        /// ```
        matrix_norm / try_matrix_norm(&self, norm: impl Into<MatrixNorm>) -> Tensor {
            const OP: &str = "matrix_norm";
            let norm = norm.into();
            in_full!(a = self);
            require_matrices(OP, a)?;
            let sums = |dim: isize| a.try_abs()?.try_sum(dim);
            let order = match norm {
                MatrixNorm::Frobenius => return a.try_norm(2.0, [-2, -1]),
                MatrixNorm::Nuclear => return thin_svd(a)?.1.try_sum(-1),
                MatrixNorm::Order(order) => order,
            };
            let rows = order.is_infinite();
            match order.abs() {
                1.0 | f64::INFINITY => {
                    let sums = sums(if rows { -1 } else { -2 })?;
                    if order > 0.0 { sums.try_amax(-1) } else { sums.try_amin(-1) }
                }
                2.0 => {
                    let s = thin_svd(a)?.1;
                    let last = s.size(-1).checked_sub(1);
                    let last = last.ok_or_else(|| Error::shape(OP, format!("shape {} has no singular values", a.shape())))?;
                    s.try_select(-1, if order > 0.0 { 0 } else { last as isize })
                }
                _ => Err(Error::argument(OP, format!("the order {order} is none of 1, −1, 2, −2, ∞, −∞"))),
            }
        }

        /// How much solving equations with A may enlarge errors: ‖A‖ ‖A⁻¹‖ of square matrices; of the order 2 and −2 the largest
        /// singular value over the least, or the reverse, of matrices of any shape.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[4.0, 0.0], [0.0, 0.5]], &Device::cpu());
        /// assert_eq!(a.cond(2.0).to_string(), "tensor(8.)");
        /// ```
        cond / try_cond(&self, norm: impl Into<MatrixNorm>) -> Tensor {
            let norm = norm.into();
            in_full!(a = self);
            match norm {
                MatrixNorm::Order(2.0 | -2.0) => {
                    let [most, least] = [2.0, -2.0].map(|order| a.try_matrix_norm(order));
                    if norm == MatrixNorm::Order(2.0) { most?.try_div(&least?) } else { least?.try_div(&most?) }
                }
                norm => {
                    require_square("cond", a)?;
                    a.try_matrix_norm(norm)?.try_mul(&a.try_inv()?.try_matrix_norm(norm)?)
                }
            }
        }
    }
}
