//! A tensor's part in autograd: marking leaves, running backward, reading gradients, hooks.

use super::Tensor;
use crate::autograd::function::{Edge, Leaf};
use crate::autograd::{self, BackwardOptions, HookHandle};
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
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// assert!(!x.detach().is_tracked());
    /// ```
    pub fn detach(&self) -> Tensor {
        Tensor::from_parts(self.value.clone(), None)
    }

    /// Does a gradient flow into it?
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// assert!((&x * 2.0).is_tracked());
    /// ```
    pub fn is_tracked(&self) -> bool {
        self.edge.is_some()
    }

    /// Is it a leaf: made by the user, not by a recorded op?
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// assert!(x.is_leaf() && !(&x * 2.0).is_leaf());
    /// ```
    pub fn is_leaf(&self) -> bool {
        !matches!(self.edge, Some(Edge::Function(..)))
    }

    /// Makes this handle a leaf that gathers gradients, or one that does not. Other handles stay as they are. An
    /// error for the result of a recorded op when turned off: use [`detach`](Tensor::detach).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let mut x = Tensor::new([1.0, 2.0], &Device::cpu());
    /// x.set_requires_grad(true);
    /// assert!(x.is_tracked() && x.is_leaf());
    /// ```
    #[track_caller]
    pub fn set_requires_grad(&mut self, requires_grad: bool) {
        expect(self.try_set_requires_grad(requires_grad))
    }

    /// [`set_requires_grad`](Tensor::set_requires_grad), or the error instead of a panic.
    pub fn try_set_requires_grad(&mut self, requires_grad: bool) -> Result<()> {
        match (&self.edge, requires_grad) {
            (None, true) => *self = self.try_requires_grad()?,
            (Some(Edge::Leaf(_)), false) => *self = self.detach(),
            (Some(Edge::Function(function, _)), false) => {
                return Err(Error::Autograd(format!(
                    "only a leaf can stop requiring a gradient; this is the result of {}: use detach()",
                    function.name
                )));
            }
            (None, false) | (Some(_), true) => {}
        }
        Ok(())
    }

    /// The gradient gathered so far: of a leaf that requires one, or of a result marked with
    /// [`retain_grad`](Tensor::retain_grad).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// x.sum(..).backward()?;
    /// assert_eq!(x.grad().unwrap().to_string(), "tensor([1., 1.])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn grad(&self) -> Option<Tensor> {
        self.edge.as_ref()?.kept()?.grad()
    }

    /// Forgets the gradient.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// x.sum(..).backward()?;
    /// x.zero_grad();
    /// assert!(x.grad().is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn zero_grad(&self) {
        if let Some(leaf) = self.edge.as_ref().and_then(Edge::kept) {
            leaf.set_grad(None);
        }
    }

    /// Keeps the gradient of the result of an op, so that [`grad`](Tensor::grad) can read it after backward. Leaves
    /// keep theirs anyway.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// let y = &x * 3.0;
    /// y.retain_grad();
    /// (&y * &y).sum(..).backward()?;
    /// assert_eq!(y.grad().unwrap().to_string(), "tensor([ 6., 12.])");
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn retain_grad(&self) {
        expect(self.try_retain_grad())
    }

    /// [`retain_grad`](Tensor::retain_grad), or the error instead of a panic.
    pub fn try_retain_grad(&self) -> Result<()> {
        if let Edge::Function(function, output) = self.tracked_edge("retain_grad")? {
            function.retain(*output);
        }
        Ok(())
    }

    /// Calls `hook` with the gradient of this tensor whenever a backward pass has it; what it returns replaces the
    /// gradient. Hooks run while backward builds: they can change a gradient, not read its values.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// let handle = x.register_hook(|grad| Some(grad * 10.0));
    /// (&x * 3.0).sum(..).backward()?;
    /// assert_eq!(x.grad().unwrap().to_string(), "tensor([30., 30.])");
    /// handle.remove();
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn register_hook(
        &self,
        hook: impl Fn(&Tensor) -> Option<Tensor> + Send + Sync + 'static,
    ) -> HookHandle {
        expect(self.try_register_hook(hook))
    }

    /// [`register_hook`](Tensor::register_hook), or the error instead of a panic.
    pub fn try_register_hook(
        &self,
        hook: impl Fn(&Tensor) -> Option<Tensor> + Send + Sync + 'static,
    ) -> Result<HookHandle> {
        let edge = self.tracked_edge("register_hook")?;
        Ok(HookHandle { id: edge.add_hook(Arc::new(hook)), edge: edge.downgrade() })
    }

    fn tracked_edge(&self, method: &str) -> Result<&Edge> {
        self.edge.as_ref().ok_or_else(|| {
            let shape = self.shape();
            Error::Autograd(format!("{method}: this tensor of shape {shape} does not require a gradient"))
        })
    }

    /// Adds the nodes that compute the gradient of every leaf this single-element tensor came from. Gradients add to
    /// those of earlier passes. What the ops saved is let go of: a second pass through the same graph is an error
    /// unless the first one retained it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// (&x * &x).sum(..).backward()?;
    /// assert_eq!(x.grad().unwrap().to_string(), "tensor([2., 4.])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn backward(&self) -> Result<()> {
        self.backward_options(None, BackwardOptions::default())
    }

    /// [`backward`](Tensor::backward) from a tensor of any shape, given its gradient.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
    /// (&x * 3.0).backward_with(&Tensor::new([1.0, 10.0], &Device::cpu()))?;
    /// assert_eq!(x.grad().unwrap().to_string(), "tensor([ 3., 30.])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn backward_with(&self, grad: &Tensor) -> Result<()> {
        self.backward_options(Some(grad), BackwardOptions::default())
    }

    /// [`backward`](Tensor::backward) with all its options.
    pub fn backward_options(&self, grad: Option<&Tensor>, options: BackwardOptions) -> Result<()> {
        autograd::backward(std::slice::from_ref(self), &[grad.cloned()], options)
    }
}
