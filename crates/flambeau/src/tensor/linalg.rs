//! Products of matrices and vectors, under all of PyTorch's names.

use super::einsum::{Labelled, contract};
use super::{Autocast, Tensor, twins};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::op::matmul::MatMul;
use crate::op::structured::Listed;
use crate::op::{Meta, Op, StructuredOp};
use crate::shape::{Shape, product};

/// The dimensions [`tensordot`](Tensor::tensordot) sums over: the last n of the left with the first n of the right,
/// or those listed for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractedDims {
    /// The last n of the left operand with the first n of the right.
    Inner(usize),
    /// These of the left with these of the right.
    Listed(Vec<isize>, Vec<isize>),
}

impl From<usize> for ContractedDims {
    fn from(count: usize) -> Self {
        ContractedDims::Inner(count)
    }
}
impl<const N: usize> From<([isize; N], [isize; N])> for ContractedDims {
    fn from((left, right): ([isize; N], [isize; N])) -> Self {
        ContractedDims::Listed(left.to_vec(), right.to_vec())
    }
}
impl From<(&[isize], &[isize])> for ContractedDims {
    fn from((left, right): (&[isize], &[isize])) -> Self {
        ContractedDims::Listed(left.to_vec(), right.to_vec())
    }
}

/// Checks the ranks an op insists on.
fn check_ranks(op: &'static str, operands: [(&Tensor, usize); 2]) -> Result<()> {
    let [(left, left_rank), (right, right_rank)] = operands;
    if left.rank() != left_rank || right.rank() != right_rank {
        let message = format!(
            "shapes {} and {} must have {left_rank} and {right_rank} dimensions",
            left.shape(),
            right.shape()
        );
        return Err(Error::shape(op, message));
    }
    Ok(())
}

impl Tensor {
    /// The batched matrix product of operands whose batch dimensions are equal already.
    #[track_caller]
    pub(crate) fn product(&self, other: &Tensor) -> Result<Tensor> {
        let rank = self.rank();
        let shape = self.shape().with(rank - 1, other.shape()[rank - 1]);
        let operands = [self.clone(), other.clone()];
        Tensor::from_op(
            Op::Structured(StructuredOp::MatMul(MatMul)),
            &operands,
            Meta::new(shape, self.dtype()),
        )
    }

    twins! {
        /// The matrix product. Vectors count as a row (left) or a column (right), which is taken out again; leading
        /// dimensions are batches and are broadcast.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// let b = Tensor::new([1.0, 1.0], &Device::cpu());
        /// assert_eq!(a.matmul(&b).to_string(), "tensor([3., 7.])");
        /// ```
        matmul / try_matmul(&self, other: &Tensor) -> Tensor {
            let entered = MatMul::AUTOCAST.enter([self, other])?;
            let [this, other] = entered.inputs([self, other]);
            let mismatch = || {
                let message = format!("shapes {} and {} cannot be multiplied", this.shape(), other.shape());
                Error::shape("matmul", message)
            };
            if this.rank() == 0 || other.rank() == 0 {
                return Err(mismatch());
            }
            let dtype = match this.dtype().promote(other.dtype()) {
                DType::Bool => return Err(Error::dtype_not_accepted("matmul", DType::Bool, "a number dtype")),
                dtype => dtype,
            };
            // Batches of rows times one matrix are more rows: one product, and one for each gradient.
            if this.rank() > 2 && other.rank() == 2 && this.size(-1) == other.size(0) {
                let shape = this.shape().with(this.rank() - 1, other.size(1));
                return this.try_flatten(0, -2)?.try_matmul(other)?.try_reshape(shape);
            }
            let a = if this.rank() == 1 { this.try_unsqueeze(0)? } else { this.clone() };
            let b = if other.rank() == 1 { other.try_unsqueeze(1)? } else { other.clone() };
            let (m, k) = (a.size(-2), a.size(-1));
            let n = b.size(-1);
            if b.size(-2) != k {
                return Err(mismatch());
            }
            let batch = |shape: &Shape| Shape::new(&shape[..shape.rank() - 2]);
            let batches = batch(a.shape()).broadcast(&batch(b.shape())).ok_or_else(mismatch)?;
            let full = |rows: usize, columns: usize| batches.iter().copied().chain([rows, columns]).collect::<Shape>();
            let a = a.try_to_dtype(dtype)?.broadcast_as("matmul", &full(m, k))?;
            let b = b.try_to_dtype(dtype)?.broadcast_as("matmul", &full(k, n))?;
            let mut product = a.product(&b)?;
            if other.rank() == 1 {
                product = product.try_squeeze(-1)?;
            }
            if this.rank() == 1 {
                product = product.try_squeeze(if other.rank() == 1 { -1 } else { -2 })?;
            }
            Ok(product)
        }

        /// The product of two matrices, without broadcasting.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 2.0]], &Device::cpu());
        /// assert_eq!(a.mm(&a.t()).to_string(), "tensor([[5.]])");
        /// ```
        mm / try_mm(&self, other: &Tensor) -> Tensor {
            check_ranks("mm", [(self, 2), (other, 2)])?;
            self.try_matmul(other)
        }

        /// The products of as many matrices, without broadcasting: (B, N, K) and (B, K, M) give (B, N, M).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (a, b) = (Tensor::ones([2, 3, 4], &Device::cpu()), Tensor::ones([2, 4, 5], &Device::cpu()));
        /// assert_eq!(a.bmm(&b).shape().dims(), [2, 3, 5]);
        /// ```
        bmm / try_bmm(&self, other: &Tensor) -> Tensor {
            check_ranks("bmm", [(self, 3), (other, 3)])?;
            if self.size(0) != other.size(0) {
                let message = format!("shapes {} and {} differ in their batches", self.shape(), other.shape());
                return Err(Error::shape("bmm", message));
            }
            self.try_matmul(other)
        }

        /// The product of a matrix and a vector.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let a = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        /// assert_eq!(a.mv(&Tensor::new([1.0, 0.0], &device)).to_string(), "tensor([1., 3.])");
        /// ```
        mv / try_mv(&self, vector: &Tensor) -> Tensor {
            check_ranks("mv", [(self, 2), (vector, 1)])?;
            self.try_matmul(vector)
        }

        /// Σ x·y of two vectors of one length.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.dot(&x).to_string(), "tensor(5.)");
        /// ```
        dot / try_dot(&self, other: &Tensor) -> Tensor {
            check_ranks("dot", [(self, 1), (other, 1)])?;
            if self.numel() != other.numel() {
                let message = format!("shapes {} and {} differ", self.shape(), other.shape());
                return Err(Error::shape("dot", message));
            }
            let entered = Autocast::Widest.enter([self, other])?;
            let [x, y] = entered.inputs([self, other]);
            x.try_mul(y)?.try_sum(..)
        }

        /// All products of the elements of two vectors: out[i, j] = x[i]·y[j].
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.outer(&x).to_string(), "tensor([[1., 2.],\n        [2., 4.]])");
        /// ```
        outer / try_outer(&self, other: &Tensor) -> Tensor {
            check_ranks("outer", [(self, 1), (other, 1)])?;
            self.try_unsqueeze(1)?.try_mul(other)
        }

        /// beta · self + alpha · (a @ b), for matrices a and b; self is repeated to the product's shape. With beta 0,
        /// self is left out, NaN and all.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (bias, a) = (Tensor::new([1.0], &device), Tensor::new([[2.0]], &device));
        /// assert_eq!(bias.addmm(&a, &a, 1.0, 0.5).to_string(), "tensor([[3.]])");
        /// ```
        addmm / try_addmm(&self, a: &Tensor, b: &Tensor, beta: impl Into<Scalar>, alpha: impl Into<Scalar>) -> Tensor {
            let entered = MatMul::AUTOCAST.enter([self, a, b])?;
            let [added, a, b] = entered.inputs([self, a, b]);
            added.added("addmm", a.try_mm(b)?, beta.into(), alpha.into())
        }

        /// beta · self + alpha · (a @ b), for batches of matrices; self is repeated to the product's shape.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (bias, a) = (Tensor::new([1.0], &device), Tensor::new([[[2.0]]], &device));
        /// assert_eq!(bias.baddbmm(&a, &a, 1.0, 1.0).to_string(), "tensor([[[5.]]])");
        /// ```
        baddbmm / try_baddbmm(&self, a: &Tensor, b: &Tensor, beta: impl Into<Scalar>, alpha: impl Into<Scalar>) -> Tensor {
            let entered = MatMul::AUTOCAST.enter([self, a, b])?;
            let [added, a, b] = entered.inputs([self, a, b]);
            added.added("baddbmm", a.try_bmm(b)?, beta.into(), alpha.into())
        }

        /// The sum of products over some dimensions of both tensors; the others stay, the left's first.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (a, b) = (Tensor::ones([2, 3, 4], &Device::cpu()), Tensor::ones([4, 3, 5], &Device::cpu()));
        /// assert_eq!(a.tensordot(&b, ([1, 2], [1, 0])).shape().dims(), [2, 5]);
        /// ```
        tensordot / try_tensordot(&self, other: &Tensor, dims: impl Into<ContractedDims>) -> Tensor {
            let (left, right) = match dims.into() {
                ContractedDims::Inner(n) if n > self.rank() || n > other.rank() => {
                    let message = format!("shapes {} and {} do not both have {n} dimensions", self.shape(), other.shape());
                    return Err(Error::shape("tensordot", message));
                }
                ContractedDims::Inner(n) => (((self.rank() - n)..self.rank()).collect::<Vec<_>>(), (0..n).collect()),
                ContractedDims::Listed(left, right) => {
                    let resolve = |dims: &[isize], shape: &Shape| {
                        crate::shape::Dims::from(dims).resolve("tensordot", shape)?;
                        dims.iter().map(|&dim| shape.dim("tensordot", dim)).collect::<Result<Vec<_>>>()
                    };
                    (resolve(&left, self.shape())?, resolve(&right, other.shape())?)
                }
            };
            let sizes = |shape: &Shape, dims: &[usize]| dims.iter().map(|&dim| shape[dim]).collect::<Vec<_>>();
            if sizes(self.shape(), &left) != sizes(other.shape(), &right) {
                let message = format!(
                    "dimensions {left:?} of {} and {right:?} of {} differ", self.shape(), other.shape());
                return Err(Error::shape("tensordot", message));
            }
            let own: Vec<u32> = (0..self.rank() as u32).collect();
            let others: Vec<u32> = (0..other.rank())
                .map(|dim| right.iter().position(|&known| known == dim).map_or((self.rank() + dim) as u32, |at| left[at] as u32))
                .collect();
            let kept: Vec<u32> = own.iter().filter(|label| !left.contains(&(**label as usize))).copied()
                .chain(others.iter().filter(|label| !own.contains(label)).copied()).collect();
            let entered = Autocast::Widest.enter([self, other])?;
            let [x, y] = entered.inputs([self, other]);
            let product = contract("tensordot", Labelled::new(x, own), Labelled::new(y, others), &kept)?;
            product.arranged(&kept)
        }

        /// The sum of a matrix's diagonal.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::eye(3, &Device::cpu()).trace().to_string(), "tensor(3.)");
        /// ```
        trace / try_trace(&self) -> Tensor {
            if self.rank() != 2 {
                return Err(Error::shape("trace", format!("shape {} is not a matrix's", self.shape())));
            }
            self.try_diagonal(0, 0, 1)?.try_sum(..)
        }

        /// The Kronecker product: every element of the left times the whole right.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (a, b) = (Tensor::new([1.0, 2.0], &Device::cpu()), Tensor::new([1.0, 1.0], &Device::cpu()));
        /// assert_eq!(a.kron(&b).to_string(), "tensor([1., 1., 2., 2.])");
        /// ```
        kron / try_kron(&self, other: &Tensor) -> Tensor {
            let rank = self.rank().max(other.rank());
            let size = |tensor: &Tensor, d: usize| {
                (d + tensor.rank()).checked_sub(rank).map_or(1, |own| tensor.shape()[own])
            };
            let spread = |tensor: &Tensor, left: bool| {
                let pair = |d| if left { [size(tensor, d), 1] } else { [1, size(tensor, d)] };
                tensor.try_reshape((0..rank).flat_map(pair).collect::<Shape>())
            };
            let shape: Shape = (0..rank).map(|d| product([size(self, d), size(other, d)])).collect();
            spread(self, true)?.try_mul(&spread(other, false)?)?.try_reshape(shape)
        }
    }

    /// beta · self + alpha · product.
    #[track_caller]
    fn added(&self, op: &'static str, product: Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
        let repeated = self.broadcast_as(op, product.shape())?;
        let product = if alpha.to_f64() == 1.0 { product } else { product.try_mul(alpha)? };
        match beta.to_f64() {
            0.0 => Ok(product),
            1.0 => repeated.try_add(&product),
            _ => repeated.try_mul(beta)?.try_add(&product),
        }
    }
}
