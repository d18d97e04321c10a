//! Models as chains of stages: what can be computed, kept and brought to a device one after the other.

use super::{Buffer, Forward, Module, Parameter};
use crate::error::Result;
use crate::tensor::Tensor;

type Run<'a> = Box<dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a>;

/// A stage of a model: one tensor in, one out, and the parameters and buffers that it reads. See [`Forward::stages`].
///
/// ```
/// # use flambeau::{nn::{Linear, Relu, Sequential}, prelude::*};
/// let device = Device::cpu();
/// let model = Sequential::new().with(Linear::new(4, 8, &device)).with(Relu).with(Linear::new(8, 2, &device));
/// let stages = model.stages();
/// let sizes: Vec<usize> = stages.iter().map(|stage| stage.parameters().iter().map(Parameter::numel).sum()).collect();
/// assert_eq!(sizes, [40, 0, 18]);
/// let x = Tensor::ones([1, 4], &device);
/// let y = stages.iter().try_fold(x.clone(), |x, stage| stage.run(&x))?;
/// assert_eq!(y.to_string(), model.try_forward(&x)?.to_string());
/// # Ok::<(), Error>(())
/// ```
pub struct Stage<'a> {
    parameters: Vec<Parameter>,
    buffers: Vec<Buffer>,
    run: Run<'a>,
}

impl<'a> Stage<'a> {
    /// What these modules are used for.
    pub fn new(
        modules: &[&dyn Module],
        run: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a,
    ) -> Stage<'a> {
        let mut parameters: Vec<Parameter> = Vec::new();
        for parameter in modules.iter().flat_map(|module| module.parameters()) {
            if !parameters.iter().any(|known| known.id() == parameter.id()) {
                parameters.push(parameter);
            }
        }
        let buffers = modules.iter().flat_map(|module| module.named_buffers());
        Stage { parameters, buffers: buffers.map(|(_, buffer)| buffer).collect(), run: Box::new(run) }
    }

    /// A whole module.
    pub fn of(module: &'a (impl Forward + ?Sized)) -> Stage<'a> {
        let buffers = module.named_buffers().into_iter().map(|(_, buffer)| buffer).collect();
        Stage { parameters: module.parameters(), buffers, run: Box::new(move |x| module.try_forward(x)) }
    }

    /// The parameters it reads, each once.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The buffers it reads and may change.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// What it makes of a tensor.
    pub fn run(&self, input: &Tensor) -> Result<Tensor> {
        (self.run)(input)
    }
}
