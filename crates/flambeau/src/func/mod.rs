//! Transforms of functions: derivatives and batches of whole functions, as `torch.func` and JAX have them.
//!
//! | | |
//! |---|---|
//! | [`grad`], [`grad_and_value`] | the gradient of a function that returns a number |
//! | [`vjp`], [`jvp`], [`linearize`] | products with its Jacobian, from the left and from the right |
//! | [`jacrev`], [`jacfwd`], [`hessian`] | the Jacobian, the second derivatives |
//! | [`vmap`], [`vmap_with`], [`apply_along_axis`] | a function of one sample, for a batch of them, or for every line |
//! | [`functional_call`], [`parameters`], [`stack_states`] | a module as a function of its parameters, ensembles |
//!
//! A transform takes a function and gives one, so they compose in any order: `vmap(grad(f))` are the gradients of every sample,
//! `jacfwd(jacrev(f))` is a Hessian, `grad` of a function that uses `vmap` is as good as any. Functions take tensors in
//! any structure ([`Tensors`]) and return them, or a `Result` of them. Each transform has a `try_` form.
//!
//! ```
//! # use flambeau::prelude::*;
//! use flambeau::func::{grad, hessian, vmap};
//! let device = Device::cpu();
//! let energy = |x: &Tensor| (x.sin() * x).sum(..);
//! let points = Tensor::new([[0.0, 1.0], [2.0, 3.0]], &device);
//! let forces = vmap(grad(energy))(&points);
//! let stiffness = vmap(hessian(energy))(&points);
//! assert_eq!((forces.shape().dims(), stiffness.shape().dims()), (&[2, 2][..], &[2, 2, 2][..]));
//! ```
//!
//! - `tensors`: what functions take and give;
//! - `marks`: what a derivative is taken with respect to;
//! - `derivatives`, `jacobian`: written with autograd's backward pass, and `vmap`;
//! - `vmap`: its interface; `trace`: recording a function for one sample, and the derivative of a batch; `interpret`: from the
//!   nodes of one sample to those of the batch, op by op (how, each op says: `op::batch`); `summed`: the
//!   sum over the samples, for the gradients of what was captured;
//! - `module`: modules as functions.

mod derivatives;
mod interpret;
mod jacobian;
mod marks;
mod module;
mod summed;
mod tensors;
mod trace;
mod vmap;

pub use derivatives::{
    grad, grad_and_value, jvp, linearize, try_grad, try_grad_and_value, try_jvp, try_linearize, try_vjp, vjp,
};
pub use jacobian::{hessian, jacfwd, jacrev, try_hessian, try_jacfwd, try_jacrev};
pub use module::{functional_call, parameters, stack_states, try_functional_call, try_stack_states};
pub use tensors::{Outcome, Tensors};
pub use vmap::{
    Randomness, VmapOptions, apply_along_axis, try_apply_along_axis, try_vmap, try_vmap_with, vmap, vmap_with,
};
