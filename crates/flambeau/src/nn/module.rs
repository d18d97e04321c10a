//! `Module`: something made of parameters, buffers and other modules, and what can be done with all of them at once.
//!
//! A module only says which parts it has. Names, counting, saving, moving and switching modes follow from a walk over
//! the parts. What a module computes is [`Forward`](super::Forward), or methods of its own.

use super::summary::summary;
use super::{Buffer, Mode, Parameter, Placing, walks};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::io::{LoadReport, Matching, StateDict};
#[cfg(not(target_arch = "wasm32"))]
use std::{collections::BTreeMap, path::Path};

/// A part of a module.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// A value that training changes.
    Parameter(&'a Parameter),
    /// A value that is saved but not trained.
    Buffer(&'a Buffer),
    /// The switch between training and evaluation.
    Mode(&'a Mode),
    /// Anything with parts of its own.
    Module(&'a dyn Module),
}

/// A model or a piece of one. Derive it: every field is a part, under its own name, so that names are PyTorch's.
///
/// Fields may be layers, parameters, buffers, other modules, `Option`s, lists and maps of them, and plain settings
/// (numbers, text), which have no parts. Anything else wants `#[module(skip)]`.
///
/// ```
/// use flambeau::prelude::*;
/// use flambeau::nn::Parameter;
///
/// #[derive(Module)]
/// struct Affine { weight: Parameter, bias: Option<Parameter> }
///
/// impl Forward for Affine {
///     fn try_forward(&self, x: &Tensor) -> Result<Tensor> {
///         let y = x.try_matmul(&self.weight.get())?;
///         self.bias.iter().try_fold(y, |y, bias| y.try_add(&bias.get()))
///     }
/// }
///
/// #[derive(Module)]
/// struct Net { first: Affine, second: Affine }
///
/// let device = Device::cpu();
/// let layer = |inputs, outputs| Affine {
///     weight: Parameter::new(&Tensor::ones([inputs, outputs], &device)),
///     bias: Some(Parameter::new(&Tensor::zeros([outputs], &device))),
/// };
/// let net = Net { first: layer(3, 4), second: layer(4, 2) };
/// let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["first.weight", "first.bias", "second.weight", "second.bias"]);
/// assert_eq!(net.parameter_count(), 3 * 4 + 4 + 4 * 2 + 2);
/// let y = net.first.forward(&Tensor::ones([1, 3], &device));
/// assert_eq!(y.detach().to_string(), "tensor([[3., 3., 3., 3.]])");
/// ```
pub trait Module: Send + Sync {
    /// Calls `visit` with each part and its name; an empty name stands for the module itself.
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>));

    /// The name the summary shows; none for what is no layer, such as a parameter or a number.
    fn type_name(&self) -> Option<&str> {
        None
    }

    /// What the summary shows between the parentheses.
    fn describe(&self) -> String {
        String::new()
    }

    /// What a trainer asks to fit a run into a device's memory: models in [`OutOfCore`](super::OutOfCore) have it.
    fn placing(&self) -> Option<&dyn Placing> {
        None
    }

    /// Parameters with their names; one held in several places (tied) appears under each name.
    fn named_parameters(&self) -> Vec<(String, Parameter)> {
        walks::named_parameters(&|visit| self.parts(visit))
    }

    /// The parameters, each once: what an optimizer takes.
    fn parameters(&self) -> Vec<Parameter> {
        walks::parameters(&|visit| self.parts(visit))
    }

    /// Buffers with their names.
    fn named_buffers(&self) -> Vec<(String, Buffer)> {
        walks::named_buffers(&|visit| self.parts(visit))
    }

    /// The number of trained numbers, tied ones counted once.
    fn parameter_count(&self) -> usize {
        self.parameters().iter().map(Parameter::numel).sum()
    }

    /// The values of parameters and buffers under PyTorch's names.
    fn state_dict(&self) -> StateDict {
        walks::state_dict(&|visit| self.parts(visit))
    }

    /// Takes up values under PyTorch's names. On error nothing has changed; the report says what was left out, where
    /// that is allowed, and what was converted.
    ///
    /// ```
    /// use flambeau::{io::Matching, nn::Linear, prelude::*};
    /// let (from, to) = (Linear::new(3, 2, &Device::cpu()), Linear::new(3, 2, &Device::cpu()));
    /// let report = to.load_state_dict(&from.state_dict(), Matching::Strict)?;
    /// assert_eq!(report.matched, ["weight", "bias"]);
    /// assert_eq!(to.weight.value().to_string(), from.weight.value().to_string());
    /// # Ok::<(), Error>(())
    /// ```
    fn load_state_dict(&self, state: &StateDict, matching: Matching) -> Result<LoadReport> {
        walks::load_state_dict(&|visit| self.parts(visit), state, matching)
    }

    /// Writes the values to a safetensors file, which PyTorch loads, all at once: a file that was there stays whole
    /// until the new one is.
    #[cfg(not(target_arch = "wasm32"))]
    fn save_safetensors(&self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        crate::io::save_safetensors_blocking(path, &self.state_dict(), &BTreeMap::new())
    }

    /// Takes up the values of a file: safetensors, PyTorch's `.pt`, or `.npz`, by its ending. All names must be there.
    ///
    /// ```
    /// use flambeau::{nn::Linear, prelude::*};
    /// let path = std::env::temp_dir().join("flambeau-load-weights.safetensors");
    /// let (from, to) = (Linear::new(3, 2, &Device::cpu()), Linear::new(3, 2, &Device::cpu()));
    /// from.save_safetensors(&path)?;
    /// to.load_weights(&path)?;
    /// assert_eq!(to.bias.unwrap().value().to_string(), from.bias.unwrap().value().to_string());
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    fn load_weights(&self, path: impl AsRef<Path>) -> Result<LoadReport>
    where
        Self: Sized,
    {
        let device = self.parameters().first().map_or_else(Device::cpu, Parameter::device);
        self.load_state_dict(&crate::io::load(path, &device)?.tensors, Matching::Strict)
    }

    /// Gives every parameter and buffer its name in this module, so that errors can use it.
    fn set_names(&self) {
        walks::set_names(&|visit| self.parts(visit));
    }

    /// Switches every part to training: dropout drops, batch norm uses and tracks the batch's statistics.
    fn train(&self) {
        walks::set_training(&|visit| self.parts(visit), true);
    }

    /// Switches every part to evaluation.
    fn eval(&self) {
        walks::set_training(&|visit| self.parts(visit), false);
    }

    /// Forgets all gradients.
    fn zero_grad(&self) {
        self.parameters().iter().for_each(Parameter::zero_grad);
    }

    /// Freezes all parameters (`false`), or lets them learn again.
    fn set_requires_grad(&self, requires_grad: bool) {
        self.parameters().iter().for_each(|parameter| parameter.set_requires_grad(requires_grad));
    }

    /// The module as text, like Python's `print(model)`, with the number of parameters.
    ///
    /// ```
    /// use flambeau::{nn::Sequential, prelude::*};
    /// let net = Sequential::new().with(|x: &Tensor| x.relu());
    /// assert_eq!(net.summary(), "Sequential(\n  (0): Closure()\n)\n0 parameters");
    /// ```
    fn summary(&self) -> String {
        summary(self.type_name(), self.describe(), &|visit| self.parts(visit))
    }

    /// Moves parameters and buffers to another device, for everyone who shares them. Gradients are forgotten; make
    /// optimizers afterwards.
    ///
    /// ```
    /// # use flambeau::{prelude::*, nn::Parameter};
    /// # flambeau::block_on(async {
    /// let weight = Parameter::new(&Tensor::ones([2], &Device::cpu()));
    /// weight.to(&Device::cpu()).await?;
    /// assert!(weight.device().is_cpu());
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    fn to(&self, device: &Device) -> impl Future<Output = Result<()>>
    where
        Self: Sized,
    {
        let (parameters, buffers) = (self.parameters(), self.named_buffers());
        async move {
            for parameter in parameters {
                parameter.move_to(device).await?;
            }
            for (_, buffer) in buffers {
                buffer.move_to(device).await?;
            }
            Ok(())
        }
    }
}

/// Parts that are not modules themselves.
macro_rules! leaf_modules {
    ($($type:ident)*) => {$(
        impl Module for $type {
            fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
                visit("", Part::$type(self));
            }
        }
    )*};
}

leaf_modules!(Parameter Buffer Mode);

/// Settings: they have no parts.
macro_rules! settings {
    ($($type:ty)*) => {$(
        impl Module for $type {
            fn parts<'a>(&'a self, _: &mut dyn FnMut(&str, Part<'a>)) {}
        }
    )*};
}

settings! { () bool char u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 String &'static str DType Device }
