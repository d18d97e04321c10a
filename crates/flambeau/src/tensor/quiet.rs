//! A handle that nobody counts: for languages whose garbage collector decides when a handle ends.

use super::Tensor;
use super::node::Value;
use crate::autograd::function::Edge;

/// A tensor that does not count as held: an optimizer's step does not evaluate it for its own sake.
///
/// A binding keeps what scripts have passed on to other ops in this form. Whether the collector has freed such a
/// handle or not then makes no difference to a step's plan.
#[doc(hidden)]
pub struct QuietTensor {
    value: Value,
    edge: Option<Edge>,
}

impl QuietTensor {
    /// The same tensor, not counted.
    pub fn new(tensor: &Tensor) -> QuietTensor {
        QuietTensor { value: tensor.value.clone(), edge: tensor.edge.clone() }
    }

    /// The tensor again, counted while the result lives.
    pub fn tensor(&self) -> Tensor {
        Tensor::from_parts(self.value.clone(), self.edge.clone())
    }

    /// Is it still to be computed?
    pub fn is_pending(&self) -> bool {
        self.value.node.is_pending()
    }
}
