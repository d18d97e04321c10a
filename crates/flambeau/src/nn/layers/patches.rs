//! Blocks as columns and back.

use super::text::{one_or_tuple, tuple};
use crate::error::Result;
use crate::nn::functional::Patches;
use crate::nn::{Forward, Module};
use crate::tensor::{Spatial, Tensor};

/// Sliding blocks as columns: (N, C, H, W) to (N, C · kh · kw, L); see [`Tensor::im2col`].
///
/// ```
/// use flambeau::{nn::{Unfold, functional::Patches}, prelude::*};
/// let x = Tensor::ones([2, 5, 3, 4], &Device::cpu());
/// assert_eq!(Unfold::new(Patches::new([2, 3])).forward(&x).shape().dims(), [2, 30, 4]);
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
#[module(describe = Unfold::describe)]
pub struct Unfold {
    /// How the blocks lie.
    #[module(skip)]
    pub patches: Patches,
}

fn describe(patches: &Patches) -> String {
    let Patches { kernel, dilation, padding, stride } = patches;
    let [kernel, dilation, padding, stride] =
        [kernel, dilation, padding, stride].map(|sizes| one_or_tuple(sizes));
    format!("kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}")
}

impl Unfold {
    /// Blocks that lie so.
    pub fn new(patches: Patches) -> Unfold {
        Unfold { patches }
    }

    fn describe(&self) -> String {
        describe(&self.patches)
    }
}

impl Forward for Unfold {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_im2col(&self.patches)
    }
}

/// The sum of blocks given as columns: (N, C · kh · kw, L) to (N, C, H, W); see [`Tensor::col2im`].
///
/// ```
/// use flambeau::{nn::{Fold, functional::Patches}, prelude::*};
/// let columns = Tensor::ones([1, 3 * 2 * 2, 12], &Device::cpu());
/// assert_eq!(Fold::new([4, 5], Patches::new(2)).forward(&columns).shape().dims(), [1, 3, 4, 5]);
/// ```
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
#[module(describe = Fold::describe)]
pub struct Fold {
    /// (H, W).
    #[module(skip)]
    pub output_size: [usize; 2],
    /// How the blocks lie.
    #[module(skip)]
    pub patches: Patches,
}

impl Fold {
    /// An image of this size, of blocks that lie so.
    pub fn new(output_size: impl Into<Spatial<2>>, patches: Patches) -> Fold {
        Fold { output_size: output_size.into().0, patches }
    }

    fn describe(&self) -> String {
        format!("output_size={}, {}", tuple(&self.output_size), describe(&self.patches))
    }
}

impl Forward for Fold {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.try_col2im(self.output_size, &self.patches)
    }
}
