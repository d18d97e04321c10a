//! Distances, angles and products between vectors.

use crate::autograd::Autocast;
use crate::error::{Error, Result};
use crate::shape::product;
use crate::tensor::{Tensor, twins};

impl Tensor {
    twins! {
        /// The p-norm of x − y + ε over the last dimension, which is taken out. PyTorch's p is 2, its ε 1e-6.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, y) = (Tensor::new([[3.0, 0.0]], &Device::cpu()), Tensor::new([[0.0, 4.0]], &Device::cpu()));
        /// assert_eq!(x.pairwise_distance(&y, 2.0, 0.0).to_string(), "tensor([5.])");
        /// ```
        pairwise_distance / try_pairwise_distance(&self, other: &Tensor, p: f64, eps: f64) -> Tensor {
            let difference = self.try_sub(other)?;
            let difference = if eps == 0.0 { difference } else { difference.try_add(eps)? };
            difference.try_norm(p, -1)
        }

        /// x · y / (|x| |y|) along `dim` of both, broadcast to one shape; the dimension is taken out, and lengths
        /// count as at least ε. PyTorch's ε is 1e-8.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, y) = (Tensor::new([[1.0, 0.0]], &Device::cpu()), Tensor::new([[3.0, 4.0]], &Device::cpu()));
        /// assert_eq!(x.cosine_similarity(&y, 1, 1e-8).to_string(), "tensor([0.6000])");
        /// ```
        cosine_similarity / try_cosine_similarity(&self, other: &Tensor, dim: isize, eps: f64) -> Tensor {
            const OP: &str = "cosine_similarity";
            let shape = self.shape().broadcast(other.shape());
            let shape = shape.ok_or_else(|| Error::broadcast(OP, self.shape(), other.shape()))?;
            let least = eps * eps;
            let unit = |x: &Tensor| {
                let square = x.try_square()?.try_sum_keepdim(dim)?;
                x.try_div(&square.try_clamp_min(least)?.try_sqrt()?)
            };
            let entered = Autocast::Full.enter([self, other])?;
            let [x, y] = entered.inputs([self, other]);
            let (x, y) = (x.broadcast_as(OP, &shape)?, y.broadcast_as(OP, &shape)?);
            unit(&x)?.try_mul(&unit(&y)?)?.try_sum(dim)
        }

        /// x divided by its p-norm along `dim`, which counts as at least ε. PyTorch's p is 2, its ε 1e-12.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.normalize(2.0, 1, 1e-12).to_string(), "tensor([[0.6000, 0.8000]])");
        /// ```
        normalize / try_normalize(&self, p: f64, dim: isize, eps: f64) -> Tensor {
            self.try_div(&self.try_norm_keepdim(p, dim)?.try_clamp_min(eps)?)
        }

        /// The distances ‖a − b‖ₚ between all rows of two matrices (…, P, D) and (…, R, D): (…, P, R). Between equal rows
        /// the derivative is 0.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (a, b) = (Tensor::new([[0.0, 0.0]], &device), Tensor::new([[3.0, 4.0], [0.0, 0.0]], &device));
        /// assert_eq!(a.cdist(&b, 2.0).to_string(), "tensor([[5., 0.]])");
        /// ```
        cdist / try_cdist(&self, other: &Tensor, p: f64) -> Tensor {
            if self.rank() < 2 || other.rank() < 2 || self.size(-1) != other.size(-1) {
                let message = format!("rows of {} and {} cannot be compared", self.shape(), other.shape());
                return Err(Error::shape("cdist", message));
            }
            self.try_unsqueeze(-2)?.try_sub(&other.try_unsqueeze(-3)?)?.try_norm(p, -1)
        }

        /// The distances ‖xᵢ − xⱼ‖ₚ between the rows of a matrix (N, D), for i < j: (N (N − 1) / 2).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[0.0], [1.0], [3.0]], &Device::cpu());
        /// assert_eq!(x.pdist(2.0).to_string(), "tensor([1., 3., 2.])");
        /// ```
        pdist / try_pdist(&self, p: f64) -> Tensor {
            if self.rank() != 2 {
                return Err(Error::shape("pdist", format!("{} is not a matrix of rows", self.shape())));
            }
            let n = self.shape()[0];
            let (first, second): (Vec<i32>, Vec<i32>) =
                (0..n as i32).flat_map(|i| (i + 1..n as i32).map(move |j| (i, j))).unzip();
            let rows = |places: &[i32]| self.try_index_select(0, &Tensor::try_from_slice(places, places.len(), self.device())?);
            rows(&first)?.try_sub(&rows(&second)?)?.try_norm(p, -1)
        }

        /// yₖ = x₁ᵀ Wₖ x₂ + bₖ for x₁ (…, I), x₂ (…, J), weight (K, I, J) and bias (K).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (x, y) = (Tensor::new([[1.0, 2.0]], &device), Tensor::new([[3.0, 4.0]], &device));
        /// let weight = Tensor::new([[[1.0, 0.0], [0.0, 1.0]]], &device);
        /// assert_eq!(x.bilinear(&y, &weight, None).to_string(), "tensor([[11.]])");
        /// ```
        bilinear / try_bilinear(&self, other: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
            let leading = self.rank().saturating_sub(1);
            let fits = self.rank() > 0
                && self.rank() == other.rank()
                && weight.rank() == 3
                && self.shape()[..leading] == other.shape()[..leading]
                && weight.shape()[1..] == [self.shape()[leading], other.shape()[leading]]
                && bias.is_none_or(|bias| bias.shape().dims() == [weight.shape()[0]]);
            if !fits {
                let message = format!(
                    "inputs of shapes {} and {} with a weight of shape {}; (…, I), (…, J) and (K, I, J) are expected",
                    self.shape(), other.shape(), weight.shape());
                return Err(Error::shape("bilinear", message));
            }
            let entered = Autocast::Widest.enter([self, other, weight])?;
            let [x, y, weight] = entered.inputs([self, other, weight]);
            let [k, i, j] = [0, 1, 2].map(|d| weight.shape()[d]);
            let rows = product(&self.shape()[..leading]);
            let left = x.try_reshape([rows, i])?.try_matmul(&weight.try_permute(&[1, 0, 2])?.try_reshape([i, k * j])?)?;
            let right = y.try_reshape([rows, 1, j])?;
            let product = left.try_reshape([rows, k, j])?.try_mul(&right)?.try_sum(-1)?;
            let product = product.try_reshape(self.shape().with(leading, k))?;
            if let Some(bias) = bias { product.try_add(bias) } else { Ok(product) }
        }
    }
}
