//! Pictures with holes, and mixtures of pictures.

use super::{Augment, each, pictures};
use crate::data::random::HostRandom;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// Each picture with zeros in a rectangle of `(height, width)` pixels, whose first row and column are `top` and `left`
/// (I32, shape (N,)). What lies outside the picture does not matter.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::erase;
/// let device = Device::cpu();
/// let x = Tensor::ones([1, 1, 2, 3], &device);
/// let y = erase(&x, &Tensor::new([-1], &device), &Tensor::new([1], &device), (2, 2))?;
/// assert_eq!(y.flatten(0, 2).to_string(), "tensor([[1., 0., 0.],\n        [1., 1., 1.]])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn erase(x: &Tensor, top: &Tensor, left: &Tensor, (height, width): (usize, usize)) -> Result<Tensor> {
    let [count, _, rows, columns] = pictures("erase", x)?;
    let places = Shape::new(&[count, 1, rows, columns]);
    let within = |dim: usize, first: &Tensor, size: usize| {
        let beyond = x.iota_of(&places, dim)?.try_sub(&each("erase", x, first)?)?;
        beyond.try_ge(0)?.try_logical_and(&beyond.try_lt(size.min(i32::MAX as usize))?)
    };
    let hole = within(2, top, height)?.try_logical_and(&within(3, left, width)?)?;
    hole.try_where_cond(x.zeros_like(), x)
}

/// Zeros in a square of each picture whose middle is anywhere in the picture (DeVries and Taylor, 2017).
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::{Augment, Cutout};
/// let x = Tensor::ones([4, 1, 8, 8], &Device::cpu());
/// let y = Cutout { size: 4 }.apply(&x, &Generator::new(1))?;
/// assert!(y.sum(..).item_blocking()? < 4.0 * 64.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cutout {
    /// The side of the square, in pixels.
    pub size: usize,
}

impl Augment for Cutout {
    fn apply(&self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        let [count, _, rows, columns] = pictures("Cutout", x)?;
        let half = (self.size / 2) as i64;
        let first =
            |size: usize| Tensor::try_randint(-half, size as i64 - half, count, generator, x.device());
        let (top, left) = (first(rows)?, first(columns)?);
        erase(x, &top, &left, (self.size, self.size))
    }
}

/// share · x + (1 − share) · x[partner], for inputs and targets alike; `partner` (I32, shape (N,)) names the other
/// item of each.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::mixup;
/// let device = Device::cpu();
/// let x = Tensor::new([[0.0], [1.0]], &device);
/// let mixed = mixup(&x, &Tensor::new([1, 0], &device), 0.75)?;
/// assert_eq!(mixed.flatten(0, -1).to_string(), "tensor([0.2500, 0.7500])");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn mixup(x: &Tensor, partner: &Tensor, share: f64) -> Result<Tensor> {
    if !x.dtype().is_float() {
        return Err(Error::dtype_not_accepted("mixup", x.dtype(), "a float dtype"));
    }
    let other = x.try_index_select(0, partner)?;
    x.try_mul(share)?.try_add(&other.try_mul(1.0 - share)?)
}

/// Mixes each item with another of its batch, by a share that a Beta(α, α) distribution gives for the whole batch
/// (Zhang et al., 2018). Targets become shares of classes, as `cross_entropy` takes them too.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::augment::Mixup;
/// let device = Device::cpu();
/// let x = Tensor::rand([4, 3, 8, 8], &Generator::new(1), &device);
/// let y = Tensor::new([0, 1, 2, 1], &device);
/// let (x, y) = Mixup { alpha: 0.2, classes: 3 }.apply(&x, &y, &Generator::new(2))?;
/// assert_eq!(y.shape().dims(), [4, 3]);
/// assert_eq!(y.sum(1).round().to_string(), "tensor([1., 1., 1., 1.])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Mixup {
    /// α: small numbers mix little. 0 does not mix at all.
    pub alpha: f64,
    /// The number of classes.
    pub classes: usize,
}

impl Mixup {
    /// The mixed inputs (N, …), and targets (N, classes) made of classes (N,) in I32.
    #[track_caller]
    pub fn apply(&self, x: &Tensor, y: &Tensor, generator: &Generator) -> Result<(Tensor, Tensor)> {
        if x.rank() == 0 || y.shape().dims() != [x.shape()[0]] {
            let message = format!(
                "a class for each input of shape {} was expected, not shape {}",
                x.shape(),
                y.shape()
            );
            return Err(Error::shape("Mixup", message));
        }
        let share = beta(self.alpha, &mut HostRandom::new(generator));
        let partner = Tensor::try_randperm(x.shape()[0], generator, x.device())?;
        let targets = y.try_one_hot(self.classes)?.try_to_dtype(DType::F32)?;
        Ok((mixup(x, &partner, share)?, mixup(&targets, &partner, share)?))
    }
}

/// A number from the distribution Beta(α, α): a / (a + b) with a and b from Gamma(α, 1).
fn beta(alpha: f64, random: &mut HostRandom) -> f64 {
    if alpha <= 0.0 {
        return 1.0;
    }
    let (a, b) = (log_gamma_number(alpha, random), log_gamma_number(alpha, random));
    1.0 / (1.0 + libm::exp(b - a))
}

/// The logarithm of a number from Gamma(α, 1), by Marsaglia and Tsang (2000): for small α the number itself may be
/// too small for an f64.
fn log_gamma_number(alpha: f64, random: &mut HostRandom) -> f64 {
    if alpha < 1.0 {
        let boost = libm::log(1.0 - random.uniform()) / alpha;
        return log_gamma_number(alpha + 1.0, random) + boost;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = random.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && libm::log(1.0 - random.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return libm::log(d * v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean 1/2 and variance 1 / (4 (2α + 1)), within five standard errors.
    #[test]
    fn beta_has_its_moments() {
        for alpha in [0.1, 0.4, 1.0, 3.0] {
            let mut random = HostRandom::new(&Generator::new(9));
            let n = 20_000;
            let draws: Vec<f64> = (0..n).map(|_| beta(alpha, &mut random)).collect();
            assert!(draws.iter().all(|draw| (0.0..=1.0).contains(draw)));
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|draw| (draw - 0.5).powi(2)).sum::<f64>() / f64::from(n);
            let expected = 1.0 / (4.0 * (2.0 * alpha + 1.0));
            assert!((mean - 0.5).abs() < 5.0 * (expected / f64::from(n)).sqrt(), "{alpha}: mean {mean}");
            assert!((variance - expected).abs() < 5.0 * 0.25 / f64::from(n).sqrt(), "{alpha}: {variance}");
        }
        assert_eq!(beta(0.0, &mut HostRandom::new(&Generator::new(1))), 1.0);
    }
}
