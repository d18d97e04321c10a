//! Losses, with PyTorch's names, options and defaults. Each is a struct of plain options with a `forward`; the common
//! ones are methods of tensors too (`logits.cross_entropy(&labels)`).
//!
//! They are composites: nothing here knows of devices. What runs in every training step (cross entropy, picking a
//! class) brings a derivative rule that needs no scatter.

mod classification;
mod ctc;
mod divergence;
mod embedding;
mod margin;
mod pick;
mod regression;
mod short;

pub use classification::{BceLoss, BceWithLogitsLoss, CrossEntropyLoss, NllLoss};
pub use ctc::CtcLoss;
pub use divergence::{GaussianNllLoss, KlDivLoss, KlDivReduction, PoissonNllLoss};
pub use embedding::{
    CosineEmbeddingLoss, Distance, HingeEmbeddingLoss, MarginRankingLoss, TripletMarginLoss,
    TripletMarginWithDistanceLoss,
};
pub use margin::{MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, SoftMarginLoss};
pub use regression::{HuberLoss, L1Loss, MseLoss, SmoothL1Loss};

use crate::error::{Error, Result};
use crate::settings::words;
use crate::tensor::Tensor;

/// What becomes of the losses of a batch's elements.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::loss::{L1Loss, Reduction};
/// let (x, y) = (Tensor::new([1.0, 5.0], &Device::cpu()), Tensor::new([0.0, 2.0], &Device::cpu()));
/// assert_eq!(L1Loss { reduction: Reduction::Mean }.forward(&x, &y).to_string(), "tensor(2.)");
/// assert_eq!(L1Loss { reduction: Reduction::Sum }.forward(&x, &y).to_string(), "tensor(4.)");
/// assert_eq!(L1Loss { reduction: Reduction::None }.forward(&x, &y).to_string(), "tensor([1., 3.])");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reduction {
    /// Their mean; weighted where classes have weights.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// They stay as they are.
    None,
}

words!(Reduction { "mean" => Mean, "sum" => Sum, "none" => None });

impl Reduction {
    /// The one with this number, as the setting of a composite.
    fn from_setting(setting: i64) -> Reduction {
        let all = [Reduction::Mean, Reduction::Sum, Reduction::None];
        all.into_iter().find(|&kind| kind as i64 == setting).expect("the number of a reduction")
    }

    /// Reduces the losses of elements that all count the same.
    #[track_caller]
    fn apply(self, losses: &Tensor) -> Result<Tensor> {
        match self {
            Reduction::Mean => losses.try_mean(..),
            Reduction::Sum => losses.try_sum(..),
            Reduction::None => Ok(losses.clone()),
        }
    }
}

/// The losses times a weight, where there is one.
#[track_caller]
fn weighted(losses: Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    match weight {
        Some(weight) => losses.try_mul(weight),
        None => Ok(losses),
    }
}

/// Refuses operands that differ in shape.
fn same_shape(op: &'static str, input: &Tensor, target: &Tensor) -> Result<()> {
    if input.shape() == target.shape() {
        return Ok(());
    }
    let message = format!("a target of shape {} for an input of shape {}", target.shape(), input.shape());
    Err(Error::shape(op, message))
}

/// Refuses an input that is not of floats.
fn floats(op: &'static str, input: &Tensor) -> Result<()> {
    match input.dtype().is_float() {
        true => Ok(()),
        false => Err(Error::dtype_not_accepted(op, input.dtype(), "a float dtype for the input")),
    }
}

/// Makes `forward` of a loss from its `try_forward`. Mixed precision takes all tensors in full precision, or refuses the loss.
macro_rules! forward {
    (
        $(#[$doc:meta])*
        (&$self:ident $(, $arg:ident : &$type:tt)* $(,)?) $(unsafe in f16, use $instead:literal:)? $body:block
    ) => {
        $(#[$doc])*
        #[track_caller]
        pub fn forward(&$self $(, $arg: &$type)*) -> Tensor {
            $crate::error::expect($self.try_forward($($arg),*))
        }

        /// [`forward`](Self::forward), or the error instead of a panic.
        #[track_caller]
        pub fn try_forward(&$self $(, $arg: &$type)*) -> Result<Tensor> {
            $($crate::autograd::refuse("binary_cross_entropy", $instead)?;)?
            let entered = $crate::autograd::Autocast::Full.enter([])?;
            $(crate::nn::loss::forward!(@taken entered $arg $type);)*
            $body
        }
    };
    (@taken $entered:ident $arg:ident Tensor) => { let $arg = &$entered.input($arg.clone())?; };
    (@taken $entered:ident $arg:ident $type:tt) => {};
}
use forward;
