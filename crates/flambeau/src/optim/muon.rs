//! Muon: momentum made orthogonal, for matrices.

use super::FirstOrder;
use super::rule::{Given, Rule, Update, check_not_negative, running_mean};
use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::settings::Settings;
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The odd polynomial whose iteration pulls singular values to about 1 in a few rounds.
const NEWTON_SCHULZ: (f64, f64, f64) = (3.4445, -4.775, 2.0315);

/// The settings of [`Muon`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct MuonOptions {
    /// The learning rate.
    #[setting(name = "lr")]
    pub learning_rate: f64,
    /// How much of the running mean of gradients is kept.
    pub momentum: f64,
    /// Looks ahead along the momentum.
    pub nesterov: bool,
    /// λ: see the optimizer.
    pub weight_decay: f64,
    /// Newton–Schulz iterations.
    pub iterations: usize,
    /// The smallest norm a direction is divided by.
    pub eps: f64,
}

impl Default for MuonOptions {
    fn default() -> Self {
        MuonOptions {
            learning_rate: 1e-3,
            momentum: 0.95,
            nesterov: true,
            weight_decay: 0.1,
            iterations: 5,
            eps: 1e-7,
        }
    }
}

/// Muon, for parameters of two and more dimensions, which count as matrices of their first dimension by all others:
/// m ← μ m + (1 − μ) g, d = m, or μ m + (1 − μ) g once more with Nesterov's momentum;
/// θ ← (1 − lr · λ) θ − lr · √max(1, rows / columns) · O(d), where O(d) is near the closest matrix to d with orthogonal
/// rows or columns: X ← d / ‖d‖, then five times X ← a X + (b A + c A²) X with A = X Xᵀ and
/// (a, b, c) = (3.4445, −4.775, 2.0315).
///
/// Vectors (biases, norms) and embeddings belong to another optimizer, such as [`AdamW`](super::AdamW).
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Muon, Optimizer}};
/// let w = Parameter::new(&Tensor::new([[3.0, 0.0], [0.0, 1.0]], &Device::cpu()));
/// let mut muon = Muon::new([w.clone()], 0.1);
/// (w.get() * w.get()).sum(..).backward()?;
/// muon.step()?;
/// // Both directions move by about 0.1, although their gradients differ.
/// let moved = w.value().diagonal(0, 0, 1).to_vec_blocking::<f32>()?;
/// assert!((0.05..0.17).contains(&(3.0 - moved[0])) && (0.05..0.17).contains(&(1.0 - moved[1])));
/// let bias = Parameter::new(&Tensor::ones([2], &Device::cpu()));
/// assert!(Muon::try_with_options([bias], Default::default()).is_err());
/// # Ok::<(), Error>(())
/// ```
pub type Muon = FirstOrder<MuonOptions>;

/// Five are enough; each is a few nodes for every parameter.
const MAX_ITERATIONS: usize = 1000;

impl Rule for MuonOptions {
    const NAME: &'static str = "Muon";
    const ELEMENTWISE: bool = false;

    fn check(&self) -> Result<()> {
        let settings = [
            ("learning rate", self.learning_rate),
            ("momentum", self.momentum),
            ("weight decay", self.weight_decay),
            ("eps", self.eps),
        ];
        check_not_negative(Self::NAME, &settings)?;
        if self.iterations <= MAX_ITERATIONS {
            return Ok(());
        }
        let message = format!("{} iterations are more than {MAX_ITERATIONS}", self.iterations);
        Err(Error::argument(Self::NAME, message))
    }

    fn accepts(&self, parameter: &Parameter) -> Result<()> {
        match parameter.shape().rank() {
            0 | 1 => {
                let message =
                    format!("{parameter:?} is no matrix; vectors need another optimizer, such as AdamW");
                Err(Error::shape(Self::NAME, message))
            }
            _ => Ok(()),
        }
    }

    fn states(&self) -> Vec<(&'static str, f64)> {
        vec![("momentum_buffer", 0.0)]
    }

    fn update(&self, given: &Given) -> Result<Update> {
        let buffer = given.remember_mean(0, given.grad, self.momentum)?;
        let direction = match self.nesterov {
            true => running_mean(&buffer, given.grad, self.momentum)?,
            false => buffer.clone(),
        };
        let rows = given.value.shape()[0];
        let matrix = direction.try_reshape((rows, -1))?;
        let shape_factor = (rows as f64 / matrix.shape()[1].max(1) as f64).max(1.0).sqrt();
        let orthogonal = self.orthogonal(&matrix)?.try_reshape(given.value.shape())?;
        let kept = given.value.try_mul(1.0 - self.learning_rate * self.weight_decay)?;
        let value = kept.try_add(orthogonal.try_mul(-self.learning_rate * shape_factor)?)?;
        Ok(Update { value, states: vec![buffer] })
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    fn momentum(&self) -> Option<f64> {
        (self.momentum != 0.0).then_some(self.momentum)
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.momentum = momentum;
    }
}

impl MuonOptions {
    /// Near the closest matrix with orthogonal rows or columns: singular values become about 1.
    fn orthogonal(&self, matrix: &Tensor) -> Result<Tensor> {
        let is_tall = matrix.shape()[0] > matrix.shape()[1];
        let mut x = if is_tall { matrix.try_t()? } else { matrix.clone() };
        let norm = x.try_mul(&x)?.try_sum(..)?.try_sqrt()?.try_maximum(self.eps)?;
        x = x.try_div(&norm)?;
        let (a, b, c) = NEWTON_SCHULZ;
        for _ in 0..self.iterations {
            let gram = x.try_matmul(&x.try_t()?)?;
            let polynomial = gram.try_mul(b)?.try_add(gram.try_matmul(&gram)?.try_mul(c)?)?;
            x = x.try_mul(a)?.try_add(polynomial.try_matmul(&x)?)?;
        }
        if is_tall { x.try_t() } else { Ok(x) }
    }
}
