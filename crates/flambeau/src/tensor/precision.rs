//! How precise products of f32 are to be: the user's word for the process, for a device or for a scope.
//!
//! A scope's word counts before the device's, and the device's before the process's. It acts when a node is built: the node keeps
//! what was in force then, so that neither a later evaluation nor the plan it becomes part of changes it. Each derivative rule is
//! run under the scope in force when `backward` is called; where there is none, under the scope of the op that it is the
//! derivative of.

use crate::device::Device;
use crate::ir::Precision;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

thread_local! {
    static SCOPE: Cell<Option<Precision>> = const { Cell::new(None) };
}

/// Is the process's word `high`?
fn is_high() -> &'static AtomicBool {
    static IS_HIGH: OnceLock<AtomicBool> = OnceLock::new();
    IS_HIGH.get_or_init(|| AtomicBool::new(said_by_environment() == Precision::High))
}

fn said_by_environment() -> Precision {
    let Ok(word) = std::env::var("FLAMBEAU_PRECISION") else { return Precision::default() };
    word.parse().unwrap_or_else(|error| {
        log::warn!("FLAMBEAU_PRECISION: {error}");
        Precision::default()
    })
}

/// Says how precise products and convolutions of f32 must be, for the whole process: PyTorch's
/// `torch.set_float32_matmul_precision`. It holds for what is recorded from now on, by any thread, unless the device was opened
/// with a word of its own ([`GpuConfig::precision`](crate::GpuConfig)) or a scope ([`matmul_precision`]) says otherwise.
///
/// At first it is what the environment variable `FLAMBEAU_PRECISION` says, and without it the highest.
///
/// ```standalone_crate
/// use flambeau::{Precision, float32_matmul_precision, set_float32_matmul_precision};
///
/// assert_eq!(float32_matmul_precision(), Precision::Highest);
/// set_float32_matmul_precision(Precision::High);
/// assert_eq!(float32_matmul_precision(), Precision::High);
/// assert_eq!(flambeau::Device::cpu().matmul_precision(), Precision::High);
/// ```
pub fn set_float32_matmul_precision(precision: Precision) {
    is_high().store(precision == Precision::High, Relaxed);
}

/// The process's word: see [`set_float32_matmul_precision`].
pub fn float32_matmul_precision() -> Precision {
    if is_high().load(Relaxed) { Precision::High } else { Precision::Highest }
}

/// Restores the scope it replaced when it is dropped. It belongs to its thread and cannot be held across an await.
#[must_use = "the scope ends when the guard is dropped"]
#[derive(Debug)]
pub struct MatmulPrecisionGuard {
    before: Option<Precision>,
    _not_send: PhantomData<*const ()>,
}

impl Drop for MatmulPrecisionGuard {
    fn drop(&mut self) {
        SCOPE.set(self.before);
    }
}

/// Says how precise products of f32 are to be until the guard is dropped. See [`matmul_precision`].
pub fn enter_matmul_precision(precision: Precision) -> MatmulPrecisionGuard {
    restore(Some(precision))
}

/// Runs a closure in which products and convolutions of f32 are recorded with this precision, whatever the process and the device
/// say. Scopes nest; the innermost counts.
///
/// What is recorded in it keeps its precision, wherever it is evaluated. So do its derivatives: `backward` outside of any scope runs
/// each rule as its op was recorded, and `backward` in a scope runs all of them as that scope says. (PyTorch, which has no such
/// scope, runs them as the process says when `backward` is called; so does Flambeau for ops that were recorded in none.)
///
/// The scope belongs to its thread, as that of [`autocast`](crate::autograd::autocast) does, and ends before anything is awaited.
/// On the CPU, in browsers and on GPUs whose matrix units are not used, products of f32 are computed by f32 arithmetic at either
/// precision.
///
/// ```
/// use flambeau::prelude::*;
/// use flambeau::{Precision, matmul_precision};
///
/// let device = Device::cpu();
/// let x = Tensor::ones([64, 64], &device).requires_grad();
/// let (inside, y) = matmul_precision(Precision::High, || (device.matmul_precision(), x.matmul(&x)));
/// assert_eq!((inside, device.matmul_precision()), (Precision::High, Precision::Highest));
/// y.sum(..).backward()?; // with the precision of the forward pass
/// assert_eq!(x.grad().unwrap().sum(..).item_blocking()?, 2.0 * 64.0 * 64.0 * 64.0);
/// # Ok::<(), Error>(())
/// ```
pub fn matmul_precision<T>(precision: Precision, body: impl FnOnce() -> T) -> T {
    let _guard = enter_matmul_precision(precision);
    body()
}

/// What the scope says that this thread is in, if it is in one.
pub(crate) fn scope() -> Option<Precision> {
    SCOPE.get()
}

/// Goes back to a scope, or to none, until the guard is dropped.
pub(crate) fn restore(scope: Option<Precision>) -> MatmulPrecisionGuard {
    MatmulPrecisionGuard { before: SCOPE.replace(scope), _not_send: PhantomData }
}

/// Goes back to a scope, unless the thread is in one.
pub(crate) fn inherit(of_op: Option<Precision>) -> MatmulPrecisionGuard {
    restore(scope().or(of_op))
}

/// The word that holds on a device for what is recorded now.
pub(crate) fn said(device: &Device) -> Precision {
    scope().or_else(|| device.own_precision()).unwrap_or_else(float32_matmul_precision)
}

/// The same as far as the device heeds it: where all products of f32 are computed alike, it is the highest.
pub(crate) fn in_force(device: &Device) -> Precision {
    // Browsers have no matrix units, and a page fetches no more than it needs.
    if cfg!(target_arch = "wasm32") || said(device) == Precision::Highest {
        return Precision::Highest;
    }
    if device.backend().heeds_precision() { Precision::High } else { Precision::Highest }
}
