//! Modules made of modules: sequences, lists, maps, options and pointers.

use super::{Forward, Module, Part, Placing, Stage};
use crate::error::Result;
use crate::tensor::Tensor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A list of modules; its parts are named 0, 1, 2, …
pub type ModuleList<M> = Vec<M>;

/// Calls one module after the other. Parts are named 0, 1, 2, … unless a name is given.
///
/// ```
/// use flambeau::{nn::Sequential, prelude::*};
/// let net = Sequential::new().with(|x: &Tensor| x + 1.0).with_named("act", |x: &Tensor| x.relu());
/// let y = net.forward(&Tensor::new([-3.0, 3.0], &Device::cpu()));
/// assert_eq!(y.to_string(), "tensor([0., 4.])");
/// ```
#[derive(Default)]
pub struct Sequential(Vec<(String, Box<dyn Forward>)>);

impl Sequential {
    /// No modules yet: passes its input on.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// Adds a module at the end, named by its place.
    #[must_use]
    pub fn with(self, module: impl Forward + 'static) -> Sequential {
        let name = self.0.len().to_string();
        self.with_named(name, module)
    }

    /// Adds a module at the end under a name.
    #[must_use]
    pub fn with_named(mut self, name: impl Into<String>, module: impl Forward + 'static) -> Sequential {
        self.0.push((name.into(), Box::new(module)));
        self
    }

    /// Adds a module at the end, named by its place.
    pub fn push(&mut self, module: impl Forward + 'static) {
        self.0.push((self.0.len().to_string(), Box::new(module)));
    }

    /// Adds the modules of another at the end, named by their places.
    pub fn extend(&mut self, other: Sequential) {
        other.0.into_iter().for_each(|(_, module)| self.push(module));
    }

    /// The module at a place.
    pub fn get(&self, place: usize) -> Option<&dyn Forward> {
        self.0.get(place).map(|(_, module)| &**module)
    }

    /// The number of modules.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The modules, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Forward> {
        self.0.iter().map(|(_, module)| &**module)
    }
}

impl Module for Sequential {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        self.0.iter().for_each(|(name, module)| visit(name, Part::Module(module)));
    }

    fn type_name(&self) -> Option<&str> {
        Some("Sequential")
    }
}

impl Forward for Sequential {
    fn stages(&self) -> Vec<Stage<'_>> {
        self.0.iter().flat_map(|(_, module)| module.stages()).collect()
    }

    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        self.0.iter().try_fold(input.clone(), |x, (_, module)| module.try_forward(&x))
    }
}

impl<M: Module> Module for Vec<M> {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        self.as_slice()
            .iter()
            .enumerate()
            .for_each(|(k, module)| visit(&k.to_string(), Part::Module(module)));
    }

    fn type_name(&self) -> Option<&str> {
        Some("ModuleList")
    }
}

impl<M: Module, const N: usize> Module for [M; N] {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        self.iter().enumerate().for_each(|(k, module)| visit(&k.to_string(), Part::Module(module)));
    }

    fn type_name(&self) -> Option<&str> {
        Some("ModuleList")
    }
}

impl<M: Module> Module for BTreeMap<String, M> {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        self.iter().for_each(|(name, module)| visit(name, Part::Module(module)));
    }

    fn type_name(&self) -> Option<&str> {
        Some("ModuleDict")
    }
}

impl<M: Module> Module for Option<M> {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
        if let Some(module) = self {
            module.parts(visit);
        }
    }

    fn type_name(&self) -> Option<&str> {
        self.as_ref().and_then(Module::type_name)
    }

    fn describe(&self) -> String {
        self.as_ref().map(Module::describe).unwrap_or_default()
    }
}

/// Pointers are what they point to.
macro_rules! pointers {
    ($([$($generics:tt)*] $type:ty)*) => {$(
        impl<$($generics)*> Module for $type {
            fn parts<'a>(&'a self, visit: &mut dyn FnMut(&str, Part<'a>)) {
                (**self).parts(visit);
            }

            fn type_name(&self) -> Option<&str> {
                (**self).type_name()
            }

            fn describe(&self) -> String {
                (**self).describe()
            }

            fn placing(&self) -> Option<&dyn Placing> {
                (**self).placing()
            }
        }
    )*};
}

pointers! {
    [] Box<dyn Forward>
    [] Box<dyn Module>
    [M: Module + ?Sized] Arc<M>
}

impl Forward for Box<dyn Forward> {
    fn stages(&self) -> Vec<Stage<'_>> {
        (**self).stages()
    }

    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        (**self).try_forward(input)
    }
}

impl<M: Forward + ?Sized> Forward for Arc<M> {
    fn stages(&self) -> Vec<Stage<'_>> {
        (**self).stages()
    }

    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        (**self).try_forward(input)
    }
}
