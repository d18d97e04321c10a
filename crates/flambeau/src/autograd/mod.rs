//! Automatic differentiation. It only adds nodes to the lazy graph: gradients are tensors like any other, and
//! gradients of gradients need nothing extra.

mod engine;
pub(crate) mod function;
mod mode;

pub(crate) use engine::backward;
pub use engine::{BackwardOptions, grad, grad_with};
pub(crate) use mode::current_region;
pub use mode::{GradModeGuard, is_grad_enabled, no_grad, no_grad_guard, set_grad_enabled};
