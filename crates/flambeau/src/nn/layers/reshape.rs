//! Layers that only rearrange: flattening, unflattening, and the one that does nothing.

use super::text::tuple;
use crate::error::Result;
use crate::nn::{Forward, Module};
use crate::settings::Settings;
use crate::tensor::Tensor;

/// Passes its input on.
///
/// ```
/// use flambeau::{nn::Identity, prelude::*};
/// let x = Tensor::new([1.0, 2.0], &Device::cpu());
/// assert_eq!(Identity.forward(&x).to_string(), "tensor([1., 2.])");
/// ```
#[derive(Module, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identity;

impl Forward for Identity {
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(input.clone())
    }
}

/// The dimensions from `start_dim` to `end_dim`, both included, as one; all but the batch's by default.
///
/// ```
/// use flambeau::{nn::Flatten, prelude::*};
/// let x = Tensor::zeros([2, 3, 4], &Device::cpu());
/// assert_eq!(Flatten::default().forward(&x).shape().dims(), [2, 12]);
/// assert_eq!(Flatten { start_dim: 0, end_dim: 1 }.forward(&x).shape().dims(), [6, 4]);
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq, Settings)]
#[module(describe = Flatten::describe)]
pub struct Flatten {
    /// The first dimension joined.
    #[setting(name = "start")]
    pub start_dim: isize,
    /// The last dimension joined.
    #[setting(name = "end")]
    pub end_dim: isize,
}

impl Default for Flatten {
    fn default() -> Self {
        Flatten { start_dim: 1, end_dim: -1 }
    }
}

impl Flatten {
    fn describe(&self) -> String {
        format!("start_dim={}, end_dim={}", self.start_dim, self.end_dim)
    }
}

impl Forward for Flatten {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_flatten(self.start_dim, self.end_dim)
    }
}

/// One dimension as several.
///
/// ```
/// use flambeau::{nn::Unflatten, prelude::*};
/// let x = Tensor::zeros([2, 12], &Device::cpu());
/// assert_eq!(Unflatten::new(1, [3, -1]).forward(&x).shape().dims(), [2, 3, 4]);
/// ```
#[derive(Module, Debug, Clone, PartialEq, Eq)]
#[module(describe = Unflatten::describe)]
pub struct Unflatten {
    /// The dimension that is split.
    pub dim: isize,
    /// Its new sizes; one may be -1.
    #[module(skip)]
    pub unflattened_size: Vec<isize>,
}

impl Unflatten {
    /// Splits dimension `dim` into these sizes, of which one may be -1.
    pub fn new(dim: isize, unflattened_size: impl Into<Vec<isize>>) -> Unflatten {
        Unflatten { dim, unflattened_size: unflattened_size.into() }
    }

    fn describe(&self) -> String {
        format!("dim={}, unflattened_size={}", self.dim, tuple(&self.unflattened_size))
    }
}

impl Forward for Unflatten {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_unflatten(self.dim, &self.unflattened_size)
    }
}
