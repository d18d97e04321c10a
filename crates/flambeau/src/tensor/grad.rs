//! A tensor's part in autograd: marking leaves, running backward, reading gradients, hooks.

use super::Tensor;
use crate::autograd::function::{Edge, Leaf};
use crate::autograd::{self, BackwardOptions};
use crate::error::{Error, Result, expect};
use std::sync::Arc;

impl Tensor {
    /// A leaf with the same value that gathers gradients.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// (&x * &x).sum(..).backward()?;
    /// assert_eq!(x.grad().unwrap().to_string(), "tensor([2., 4.])");
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn requires_grad(&self) -> Tensor {
        expect(self.try_requires_grad())
    }

    /// [`requires_grad`](Tensor::requires_grad), or the error instead of a panic.
    pub fn try_requires_grad(&self) -> Result<Tensor> {
        if !self.dtype().is_float() {
            let message = format!("only floats can require a gradient, not {}", self.dtype());
            return Err(Error::Autograd(message));
        }
        Ok(Tensor::from_parts(self.value.clone(), Some(Edge::Leaf(Arc::new(Leaf::default())))))
    }

    /// The same value without history.
    pub fn detach(&self) -> Tensor {
        Tensor::from_parts(self.value.clone(), None)
    }

    /// Does a gradient flow into it?
    pub fn is_tracked(&self) -> bool {
        self.edge.is_some()
    }

    /// Is it a leaf: made by the user, not by a recorded op?
    pub fn is_leaf(&self) -> bool {
        !matches!(self.edge, Some(Edge::Function(..)))
    }

    /// The gradient gathered so far, for a leaf that requires one.
    pub fn grad(&self) -> Option<Tensor> {
        match &self.edge {
            Some(Edge::Leaf(leaf)) => leaf.grad(),
            _ => None,
        }
    }

    /// Forgets the gradient.
    pub fn zero_grad(&self) {
        if let Some(Edge::Leaf(leaf)) = &self.edge {
            leaf.set_grad(None);
        }
    }

    /// Adds the nodes that compute the gradient of every leaf this single-element tensor came from.
    pub fn backward(&self) -> Result<()> {
        self.backward_options(None, BackwardOptions::default())
    }

    /// [`backward`](Tensor::backward) from a tensor of any shape, given its gradient.
    pub fn backward_with(&self, grad: &Tensor) -> Result<()> {
        self.backward_options(Some(grad), BackwardOptions::default())
    }

    /// [`backward`](Tensor::backward) with all its options.
    pub fn backward_options(&self, grad: Option<&Tensor>, options: BackwardOptions) -> Result<()> {
        autograd::backward(std::slice::from_ref(self), &[grad.cloned()], options)
    }
}
