//! Optimizers: PyTorch's rules, defaults and order of operations, written with tensor ops.
//!
//! A step is one plan: it evaluates the new values of all parameters that have a gradient, the optimizer's state, and
//! everything else that is held and not yet computed. Learning rate, bias corrections and step counts are numbers of
//! the nodes, not of the plan: every step of a training loop runs the same one.

mod adam;
mod sgd;
mod slots;

pub use adam::{Adam, AdamOptions, AdamW};
pub use sgd::{Sgd, SgdOptions};

use crate::error::Result;

/// What every optimizer can do.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{nn::Parameter, optim::{Optimizer, Sgd}};
/// let w = Parameter::new(&Tensor::new([4.0], &Device::cpu()));
/// let mut optimizer: Box<dyn Optimizer> = Box::new(Sgd::new([w.clone()], 0.25));
/// for _ in 0..2 {
///     (w.get() * w.get()).sum(..).backward()?;
///     optimizer.step()?;
///     optimizer.zero_grad();
/// }
/// assert_eq!(w.value().to_string(), "tensor([1.])");
/// # Ok::<(), Error>(())
/// ```
pub trait Optimizer {
    /// Moves every parameter that has a gradient. When it fails, parameters and state are as they were.
    fn step(&mut self) -> Result<()>;

    /// Forgets the gradients.
    fn zero_grad(&self);

    /// The learning rate of the next step.
    fn learning_rate(&self) -> f64;

    /// Changes the learning rate; it makes no new plan.
    fn set_learning_rate(&mut self, learning_rate: f64);
}
