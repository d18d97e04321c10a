//! Automatic differentiation. It only adds nodes to the lazy graph: gradients are tensors like any other, and
//! gradients of gradients need nothing extra.

mod backward;
mod checkpoint;
mod custom;
mod draws;
pub(crate) mod function;
mod gradcheck;
mod hook;
mod mode;

pub(crate) use crate::op::{Saves, Vjp};
pub(crate) use crate::tensor::{Autocast, refuse};
pub use crate::tensor::{AutocastGuard, autocast, is_autocast_enabled, set_autocast_enabled};
pub use backward::{BackwardOptions, grad, grad_with};
pub(crate) use backward::{backward, grad_since};
pub use checkpoint::checkpoint;
pub use custom::{Context, CustomFunction};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use draws::replay as replay_draws;
pub(crate) use draws::{drawn, record as record_draws};
pub use gradcheck::{GradcheckOptions, Outputs, gradcheck, gradgradcheck};
#[cfg(not(target_arch = "wasm32"))]
pub use gradcheck::{gradcheck_blocking, gradgradcheck_blocking};
pub use hook::HookHandle;
pub(crate) use mode::{Batching, OnBehalfOf, Region, current_line, current_region, is_batching};
pub use mode::{
    GradModeGuard, InferenceGuard, inference_mode, is_grad_enabled, is_inference_mode, no_grad,
    no_grad_guard, set_grad_enabled, set_inference_mode,
};
