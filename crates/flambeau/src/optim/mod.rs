//! Optimizers, learning rate schedules and averages of weights: PyTorch's rules, defaults and order of operations,
//! written with tensor ops.
//!
//! A step is one plan: it evaluates the new values of all parameters that have a gradient, the optimizer's state, and
//! everything else that is held and not yet computed. Learning rate, bias corrections and step counts are numbers of
//! the nodes, not of the plan: every step of a training loop runs the same one. Parameters of one group live in one
//! flat tensor, so that the update itself is one kernel or two, however many parameters there are.
//!
//! Gradients add up until [`zero_grad`](Optimizer::zero_grad): several backward passes before a step train with a
//! batch that would not fit into memory at once. Divide each loss by their number for the mean:
//!
//! ```
//! # use flambeau::prelude::*;
//! use flambeau::{nn::Parameter, optim::{Optimizer, Sgd}};
//! let w = Parameter::new(&Tensor::new([1.0], &Device::cpu()));
//! let mut sgd = Sgd::new([w.clone()], 0.5);
//! let small_batches = [1.0, 3.0];
//! for x in small_batches {
//!     let loss = (w.get() * x).sum(..) / small_batches.len() as f64;
//!     loss.backward()?;
//! }
//! sgd.step()?;
//! sgd.zero_grad();
//! assert_eq!(w.value().to_string(), "tensor([0.])");
//! # Ok::<(), Error>(())
//! ```

mod adadelta;
mod adagrad;
mod adam;
mod adamax;
mod asgd;
#[doc(hidden)]
pub mod catalogue;
mod ema;
mod first_order;
mod flat;
mod grad_scaler;
mod lbfgs;
mod line_search;
mod lion;
mod muon;
mod nadam;
mod radam;
mod rmsprop;
mod rprop;
mod rule;
pub mod scheduler;
mod sgd;
mod slots;
mod sparse_adam;

pub use adadelta::{Adadelta, AdadeltaOptions};
pub use adagrad::{Adagrad, AdagradOptions};
pub use adam::{Adam, AdamOptions, AdamW, AdamWOptions};
pub use adamax::{Adamax, AdamaxOptions};
pub use asgd::{Asgd, AsgdOptions};
pub use ema::Ema;
pub use first_order::{FirstOrder, Group};
pub(crate) use flat::{Layout, MAX_ELEMENTS};
pub use grad_scaler::{GradScaler, GradScalerOptions, ScaledStep};
pub use lbfgs::{Lbfgs, LbfgsOptions, LineSearch};
pub use lion::{Lion, LionOptions};
pub use muon::{Muon, MuonOptions};
pub use nadam::{NAdam, NAdamOptions};
pub use radam::{RAdam, RAdamOptions};
pub use rmsprop::{RmsProp, RmsPropOptions};
pub use rprop::{Rprop, RpropOptions};
pub use rule::{Given, Rule, Update};
pub use scheduler::{LrScheduler, Scheduler};
pub use sgd::{Sgd, SgdOptions};
pub use sparse_adam::{SparseAdam, SparseAdamOptions};

use crate::error::{Error, Result};
use crate::io::Stateful;
use crate::nn::Parameter;
use crate::tensor::Tensor;

/// What every optimizer can do. Its state ([`Stateful`]) holds settings, step counts and what it remembers: training
/// goes on from it bit for bit.
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
pub trait Optimizer: Stateful {
    /// Moves every parameter that has a gradient. When it fails, parameters and state are as they were.
    fn step(&mut self) -> Result<()>;

    /// A step with gradients of a scaled loss, which is skipped if one is not finite: what [`GradScaler::step`] calls. An error
    /// for optimizers that cannot do without knowing whether it was, such as [`Lbfgs`].
    fn step_scaled(&mut self, scaled: &mut ScaledStep) -> Result<()> {
        let _ = scaled;
        Err(Error::argument("GradScaler::step", "this optimizer does not take scaled gradients"))
    }

    /// Bytes that what it remembers takes on the device.
    fn state_bytes(&self) -> u64 {
        let bytes = |tensor: &Tensor| tensor.numel() as u64 * tensor.device().element_bytes(tensor.dtype());
        self.state().tensors.iter().map(|(_, tensor)| bytes(tensor)).sum()
    }

    /// One with the same settings for the same parameters, wherever these are now, which has taken no step yet: what a trainer
    /// takes when it moves a model. An error for optimizers that do not know how.
    fn anew(&self) -> Result<Box<dyn Optimizer>> {
        Err(Error::argument(
            "Optimizer::anew",
            "this optimizer cannot follow its parameters to another device",
        ))
    }

    /// Forgets the gradients.
    fn zero_grad(&self);

    /// The parameters it trains, each once.
    fn parameters(&self) -> Vec<Parameter>;

    /// The number of groups of parameters.
    fn group_count(&self) -> usize;

    /// The learning rate of a group in the next step. Panics if there is no such group.
    fn group_learning_rate(&self, group: usize) -> f64;

    /// Changes the learning rate of a group; it makes no new plan. A step with one that is not finite is refused. Panics
    /// if there is no such group.
    fn set_group_learning_rate(&mut self, group: usize, learning_rate: f64);

    /// The momentum of a group, or its β₁, where one is in use. Panics if there is no such group.
    fn group_momentum(&self, group: usize) -> Option<f64>;

    /// Changes the momentum of a group, or its β₁. Panics if there is no such group.
    fn set_group_momentum(&mut self, group: usize, momentum: f64);

    /// With `true`, a step looks at every gradient and every new value. If one is NaN or infinite, no parameter moves and
    /// no state changes, and [`Error::NotFinite`](crate::Error::NotFinite) names the parameter and the element: on the CPU
    /// the step returns it, on the GPU, which is not waited for, whoever reads a value of that step is told, the loss for
    /// one. After that training can go on. It costs two passes over the parameters.
    ///
    /// Running statistics and other buffers are not parameters: a forward pass has changed them before the step.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::{nn::Parameter, optim::{Optimizer, Sgd}};
    /// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
    /// let mut sgd = Sgd::new([w.clone()], 0.5);
    /// sgd.require_finite(true);
    /// (w.get() * Tensor::new([1.0, f32::NAN], &w.device())).sum(..).backward()?;
    /// let error = sgd.step().unwrap_err();
    /// assert!(matches!(error, Error::NotFinite { parameter: 0, element: 1, .. }), "{error}");
    /// assert_eq!(w.value().to_string(), "tensor([1., 2.])");
    /// # Ok::<(), Error>(())
    /// ```
    fn require_finite(&mut self, required: bool);

    /// The learning rate of the first group in the next step.
    fn learning_rate(&self) -> f64 {
        self.group_learning_rate(0)
    }

    /// Changes the learning rate of all groups.
    fn set_learning_rate(&mut self, learning_rate: f64) {
        (0..self.group_count()).for_each(|group| self.set_group_learning_rate(group, learning_rate));
    }
}
