//! Batches that come in pieces: the gradients of one piece are added to those of the pieces before, and only the sums stay.
//!
//! The sums lie side by side as optimizers hold their parameters: where an optimizer has the same parameters in the same order,
//! its step takes them as they are.

use super::trainer::Trainer;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::nn::{Module, Parameter};
use crate::optim::{Layout, MAX_ELEMENTS};
use crate::tensor::Tensor;

/// Parameters whose gradients are packed into one tensor.
struct Packed {
    parameters: Vec<Parameter>,
    layout: Layout,
    sums: Tensor,
}

/// In the order of the parameters; of each dtype at most [`MAX_ELEMENTS`] together.
fn lists(parameters: Vec<Parameter>) -> Vec<Vec<Parameter>> {
    let mut lists: Vec<(DType, usize, Vec<Parameter>)> = Vec::new();
    for parameter in parameters {
        let (dtype, numel) = (parameter.dtype(), parameter.numel());
        let open = lists.iter_mut().rev().find(|(known, ..)| *known == dtype);
        match open.filter(|(_, elements, _)| *elements + numel <= MAX_ELEMENTS) {
            Some((_, elements, list)) => {
                *elements += numel;
                list.push(parameter);
            }
            None => lists.push((dtype, numel, vec![parameter])),
        }
    }
    lists.into_iter().map(|(.., list)| list).collect()
}

impl<M: Module> Trainer<M> {
    /// Is the model's device another than the optimizer's? The step of the one evaluates nothing of the other.
    pub(super) fn computes_elsewhere(&self) -> bool {
        self.model.placing().is_some_and(|placing| !placing.placement().is_on_device())
    }

    /// Computes the gradients so far, and the sums of losses on the device where they are made: what led to them is not needed
    /// any more.
    pub(super) fn settle_gradients(&self, of_losses: &Device) -> Result<()> {
        // Those of parameters in host memory are there already.
        let is_open = |parameter: &Parameter| {
            parameter.requires_grad() && parameter.grad().is_some_and(|gradient| !gradient.is_evaluated())
        };
        let learning: Vec<Parameter> = self.optimizer.parameters().into_iter().filter(is_open).collect();
        let own = learning.first().map(Parameter::device);
        let mut packed = Vec::new();
        for parameters in lists(learning) {
            let gradients = parameters.iter().filter_map(Parameter::grad).map(|gradient| gradient.detach());
            let gradients: Vec<Tensor> = gradients.collect();
            let layout = Layout::flat(gradients.iter().map(Tensor::shape));
            let sums = layout.gather(&gradients)?;
            packed.push(Packed { parameters, layout, sums });
        }
        // What is held is evaluated, too: only the packed gradients are wanted.
        packed.iter().flat_map(|packed| &packed.parameters).for_each(Parameter::zero_grad);
        if let Some(own) = own {
            own.evaluate_with_held(&[])?;
        }
        of_losses.evaluate_with_held(&[])?;
        for Packed { parameters, layout, sums } in packed {
            for (parameter, gradient) in parameters.iter().zip(layout.windows(&sums)) {
                parameter.set_grad(Some(&gradient))?;
            }
        }
        Ok(())
    }
}
