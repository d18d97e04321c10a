//! Whether ops are recorded on this thread, and in which checkpoint region and on whose behalf nodes are made.

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(true) };
    static INFERENCE: Cell<bool> = const { Cell::new(false) };
    static REGION: Cell<u32> = const { Cell::new(0) };
    static BATCHING: Cell<bool> = const { Cell::new(false) };
    static LINE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}
static NEXT_REGION: AtomicU32 = AtomicU32::new(1);

/// Are ops recorded on this thread?
pub fn is_grad_enabled() -> bool {
    RECORDING.get() && !INFERENCE.get()
}

/// Restores the mode it replaced when it is dropped. It belongs to its thread and cannot be held across an await.
#[must_use = "the mode ends when the guard is dropped"]
pub struct GradModeGuard {
    before: bool,
    _not_send: PhantomData<*const ()>,
}

impl Drop for GradModeGuard {
    fn drop(&mut self) {
        RECORDING.set(self.before);
    }
}

/// Turns recording on or off until the guard is dropped.
///
/// ```
/// # use flambeau::prelude::*;
/// let x = Tensor::new([2.0], &Device::cpu()).requires_grad();
/// let guard = set_grad_enabled(false);
/// assert!(!(&x * 3.0).is_tracked());
/// drop(guard);
/// assert!((&x * 3.0).is_tracked());
/// ```
pub fn set_grad_enabled(enabled: bool) -> GradModeGuard {
    GradModeGuard { before: RECORDING.replace(enabled), _not_send: PhantomData }
}

/// A guard under which nothing is recorded.
pub fn no_grad_guard() -> GradModeGuard {
    set_grad_enabled(false)
}

/// Runs a closure without recording.
///
/// ```
/// # use flambeau::prelude::*;
/// let x = Tensor::new([2.0], &Device::cpu()).requires_grad();
/// let y = no_grad(|| &x * 3.0);
/// assert!(!y.is_tracked());
/// ```
pub fn no_grad<T>(body: impl FnOnce() -> T) -> T {
    let _guard = set_grad_enabled(false);
    body()
}

/// Is this thread in [`inference_mode`]?
pub fn is_inference_mode() -> bool {
    INFERENCE.get()
}

/// Ends [`inference_mode`] when dropped.
#[must_use = "the mode ends when the guard is dropped"]
pub struct InferenceGuard {
    before: bool,
    _not_send: PhantomData<*const ()>,
}

impl Drop for InferenceGuard {
    fn drop(&mut self) {
        INFERENCE.set(self.before);
    }
}

/// Switches [`inference_mode`] on or off on this thread, until the guard is dropped.
pub fn set_inference_mode(enabled: bool) -> InferenceGuard {
    InferenceGuard { before: INFERENCE.replace(enabled), _not_send: PhantomData }
}

/// Runs a function without recording, whatever it asks for: within, [`set_grad_enabled`] has no effect. Values are immutable,
/// so that what it computes may be used anywhere afterwards, as constants.
///
/// ```
/// use flambeau::{autograd::inference_mode, prelude::*};
/// let x = Tensor::new([1.0], &Device::cpu()).requires_grad();
/// let y = inference_mode(|| {
///     let _recording = set_grad_enabled(true);
///     &x * 2.0
/// });
/// assert!(!y.is_tracked() && (y * &x).is_tracked());
/// ```
pub fn inference_mode<T>(body: impl FnOnce() -> T) -> T {
    let _guard = set_inference_mode(true);
    body()
}

/// The checkpoint region nodes are made in; 0 outside of any.
pub(crate) fn current_region() -> u32 {
    REGION.get()
}

/// A region of its own until dropped: its nodes are not merged with equal ones made before.
pub(crate) struct Region {
    before: u32,
}

impl Region {
    pub fn enter() -> Region {
        Region::reenter(NEXT_REGION.fetch_add(1, Relaxed))
    }

    /// One that was entered before.
    pub fn reenter(region: u32) -> Region {
        Region { before: REGION.replace(region) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        REGION.set(self.before);
    }
}

/// Does this thread record a function for one sample of a batch? What it makes then is nobody's pending work.
pub(crate) fn is_batching() -> bool {
    BATCHING.get()
}

/// Until dropped, this thread records a function for one sample of a batch.
pub(crate) struct Batching {
    before: bool,
}

impl Batching {
    pub fn enter() -> Batching {
        Batching { before: BATCHING.replace(true) }
    }
}

impl Drop for Batching {
    fn drop(&mut self) {
        BATCHING.set(self.before);
    }
}

/// The line on whose behalf nodes are made, when it is not the one that makes them.
pub(crate) fn current_line() -> Option<&'static Location<'static>> {
    LINE.get()
}

/// Until dropped, nodes carry the line of the op whose derivative they compute: a fault in them then names the
/// user's line, not the rule's.
pub(crate) struct OnBehalfOf {
    before: Option<&'static Location<'static>>,
}

impl OnBehalfOf {
    pub fn enter(line: &'static Location<'static>) -> OnBehalfOf {
        OnBehalfOf { before: LINE.replace(Some(line)) }
    }
}

impl Drop for OnBehalfOf {
    fn drop(&mut self) {
        LINE.set(self.before);
    }
}
