//! Powers and exponentials of matrices, products of several, cross products, powers of numbers.

use super::{in_full, require_square};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::linalg::identity;
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};
use std::borrow::Borrow;

/// Halvings that bring norms up to 2²⁰ below 1/2; e^A of larger ones is beyond all floats, unless A is special.
const SQUARINGS: u32 = 21;

/// e^A as (T(A / 2ˢ))^(2ˢ), where T is a Taylor polynomial and s what each matrix of the batch needs.
#[track_caller]
fn exponential(a: &Tensor) -> Result<Tensor> {
    let degree = if a.dtype() == DType::F64 { 18 } else { 9 };
    let shape = a.shape().clone();
    if a.numel() == 0 {
        return Ok(a.clone());
    }
    let norm = a.detach().try_abs()?.try_sum(-2)?.try_amax(-1)?;
    // 0, 1, … up to the limit: the logarithm of the norm, with 1 more, rounded up.
    let halvings = norm.try_clamp_min(0.25)?.try_log2()?.try_add(1.0)?.try_ceil()?;
    let halvings = halvings.try_clamp(0.0, f64::from(SQUARINGS))?.try_unsqueeze(-1)?.try_unsqueeze(-1)?;
    let halved = a.try_mul(&(&halvings * -1.0).try_exp2()?)?;
    // Horner's scheme: I + A (I + A/2 (I + A/3 (…))).
    let ones = identity(a)?.broadcast_as("matrix_exp", &shape)?;
    let mut result = ones.clone();
    for k in (1..=degree).rev() {
        result = &ones + halved.try_matmul(&result)? * (1.0 / f64::from(k));
    }
    for round in 0..SQUARINGS {
        // Where a matrix is done, the identity takes its place: nothing of it can overflow.
        let goes_on = halvings.try_gt(f64::from(round))?.broadcast_as("matrix_exp", &shape)?;
        let square = goes_on.try_where_cond(&result, &ones)?;
        result = goes_on.try_where_cond(&square.try_matmul(&square)?, &result)?;
    }
    Ok(result)
}

/// Cheapest way to multiply matrices i to j: where the last product is.
fn splits(sizes: &[usize]) -> Vec<Vec<usize>> {
    let n = sizes.len() - 1;
    let (mut costs, mut splits) = (vec![vec![0.0_f64; n]; n], vec![vec![0; n]; n]);
    for length in 1..n {
        for i in 0..n - length {
            let j = i + length;
            costs[i][j] = f64::INFINITY;
            for k in i..j {
                let own = sizes[i] as f64 * sizes[k + 1] as f64 * sizes[j + 1] as f64;
                let cost = costs[i][k] + costs[k + 1][j] + own;
                if cost < costs[i][j] {
                    (costs[i][j], splits[i][j]) = (cost, k);
                }
            }
        }
    }
    splits
}

#[track_caller]
fn multiply(matrices: &[Tensor], splits: &[Vec<usize>], i: usize, j: usize) -> Result<Tensor> {
    if i == j {
        return Ok(matrices[i].clone());
    }
    let k = splits[i][j];
    multiply(matrices, splits, i, k)?.try_matmul(&multiply(matrices, splits, k + 1, j)?)
}

impl Tensor {
    twins! {
        /// Aᵏ of each square matrix, by repeated squaring; of A⁻¹ where k is negative.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[1.0, 1.0], [0.0, 1.0]], &Device::cpu());
        /// assert_eq!(a.matrix_power(5).to_string(), "tensor([[1., 5.],\n        [0., 1.]])");
        /// assert_eq!(a.matrix_power(-1).to_string(), "tensor([[ 1., -1.],\n        [ 0.,  1.]])");
        /// ```
        matrix_power / try_matrix_power(&self, power: i32) -> Tensor {
            in_full!(a = self);
            require_square("matrix_power", a)?;
            let mut square = if power < 0 { a.try_inv()? } else { a.clone() };
            let mut result: Option<Tensor> = None;
            let mut rest = power.unsigned_abs();
            while rest > 0 {
                if rest & 1 == 1 {
                    result = Some(match result {
                        Some(result) => result.try_matmul(&square)?,
                        None => square.clone(),
                    });
                }
                rest >>= 1;
                if rest > 0 {
                    square = square.try_matmul(&square)?;
                }
            }
            match result {
                Some(result) => Ok(result),
                None => identity(a)?.broadcast_as("matrix_power", a.shape()),
            }
        }

        /// e^A = I + A + A²/2 + A³/6 + … of each square matrix: A is halved until its norm is below 1/2, a Taylor polynomial of degree
        /// 9 (F32) or 18 (F64) is taken, and squared as often. How often a matrix is halved is found on the device.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let a = Tensor::new([[0.0, 1.0], [0.0, 0.0]], &Device::cpu());
        /// assert_eq!(a.matrix_exp().to_string(), "tensor([[1., 1.],\n        [0., 1.]])");
        /// ```
        matrix_exp / try_matrix_exp(&self) -> Tensor {
            in_full!(a = self);
            require_square("matrix_exp", a)?;
            exponential(a)
        }

        /// The cross product of vectors of three along the last dimension; the others are broadcast.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, y) = (Tensor::new([1.0, 0.0, 0.0], &Device::cpu()), Tensor::new([0.0, 1.0, 0.0], &Device::cpu()));
        /// assert_eq!(x.cross(&y, -1).to_string(), "tensor([0., 0., 1.])");
        /// ```
        cross / try_cross(&self, other: &Tensor, dim: isize) -> Tensor {
            const OP: &str = "cross";
            let shape = self.shape().broadcast(other.shape());
            let shape = shape.ok_or_else(|| Error::broadcast(OP, self.shape(), other.shape()))?;
            let along = shape.dim(OP, dim)?;
            if shape[along] != 3 {
                return Err(Error::shape(OP, format!("dimension {along} of shape {shape} has not three numbers")));
            }
            let (x, y) = (self.broadcast_as(OP, &shape)?, other.broadcast_as(OP, &shape)?);
            // x × y = (x₂ y₃ − x₃ y₂, …): each as the numbers after it and those before it.
            let turned = |x: &Tensor, by: isize| x.try_roll(&[by], &[along as isize]);
            let forth = turned(&x, -1)?.try_mul(&turned(&y, 1)?)?;
            forth.try_sub(&turned(&x, 1)?.try_mul(&turned(&y, -1)?)?)
        }

        /// The product of two matrices or more, multiplied in the order that takes the fewest multiplications. The first may be a
        /// vector, taken as a row, and the last one, taken as a column.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (a, b, c) = (Tensor::ones([2, 50], &device), Tensor::ones([50, 3], &device), Tensor::ones([3], &device));
        /// assert_eq!(Tensor::multi_dot(&[a, b, c]).to_string(), "tensor([150., 150.])");
        /// ```
        multi_dot / try_multi_dot[T: Borrow<Tensor>](matrices: &[T]) -> Tensor {
            const OP: &str = "multi_dot";
            let mut matrices: Vec<Tensor> = matrices.iter().map(|matrix| matrix.borrow().clone()).collect();
            let count = matrices.len();
            if count < 2 {
                return Err(Error::argument(OP, format!("{count} matrices; it takes two at least")));
            }
            let is_vector = [matrices[0].rank() == 1, matrices[count - 1].rank() == 1];
            if is_vector[0] {
                matrices[0] = matrices[0].try_unsqueeze(0)?;
            }
            if is_vector[1] {
                matrices[count - 1] = matrices[count - 1].try_unsqueeze(1)?;
            }
            for pair in matrices.windows(2) {
                if pair.iter().any(|matrix| matrix.rank() != 2) || pair[0].size(1) != pair[1].size(0) {
                    let message = format!("shapes {} and {} cannot be multiplied", pair[0].shape(), pair[1].shape());
                    return Err(Error::shape(OP, message));
                }
            }
            let sizes: Vec<usize> =
                matrices.iter().map(|matrix| matrix.size(0)).chain([matrices[count - 1].size(1)]).collect();
            let mut product = multiply(&matrices, &splits(&sizes), 0, count - 1)?;
            if is_vector[1] {
                product = product.try_squeeze(-1)?;
            }
            if is_vector[0] { product.try_squeeze(0) } else { Ok(product) }
        }

        /// The powers 0 to n − 1 of each number, (…, k) → (…, k, n); n is k unless it is given.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.vander(3).to_string(), "tensor([[1., 2., 4.],\n        [1., 3., 9.]])");
        /// ```
        vander / try_vander(&self, n: impl Into<Option<usize>>) -> Tensor {
            let Some(&last) = self.shape().dims().last() else {
                return Err(Error::shape("vander", "a number has no dimension of numbers".to_owned()));
            };
            let n = n.into().unwrap_or(last);
            let shape: Shape = self.shape().iter().copied().chain([n.saturating_sub(1)]).collect();
            let ones = self.try_unsqueeze(-1)?.ones_like();
            if n == 0 {
                return ones.try_narrow(-1, 0, 0);
            }
            let powers = self.try_unsqueeze(-1)?.broadcast_as("vander", &shape)?.try_cumprod(-1)?;
            Tensor::try_cat(&[ones, powers], -1)
        }
    }
}
