//! The sticky error of a runtime, and catching the errors that need not be sticky.
//!
//! An error that nobody caught means that something on the device is not what its user believes, so the
//! first one stops the runtime for good. Natively the errors of creating a buffer or a pipeline are
//! caught where they arise; a browser reports them too late for that, and there they are sticky as well.

use super::lock;
use crate::error::{Error, Result};
use crate::memory::Ledger;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub(super) struct DeviceError {
    raised: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl DeviceError {
    /// Hears of every error on `device` from now on.
    pub fn watch(device: &wgpu::Device, ledger: Arc<Ledger>) -> Arc<DeviceError> {
        let device_error = Arc::new(DeviceError::default());
        let uncaptured = device_error.clone();
        device.on_uncaptured_error(Arc::new(move |error| uncaptured.set(describe(error, &ledger))));
        let lost = device_error.clone();
        device.set_device_lost_callback(move |reason, message| {
            let message = if message.is_empty() { format!("{reason:?}") } else { message };
            lost.set(Error::DeviceLost(message));
        });
        device_error
    }

    /// Stops the runtime; the first error is kept, because later ones follow from it.
    pub fn set(&self, error: Error) {
        let mut first = lock(&self.first);
        if first.is_none() {
            log::error!("the device stops: {error}");
            *first = Some(error);
            self.raised.store(true, Ordering::Release);
        }
    }

    pub fn get(&self) -> Option<Error> {
        if self.raised.load(Ordering::Acquire) { lock(&self.first).clone() } else { None }
    }

    pub fn check(&self) -> Result<()> {
        self.get().map_or(Ok(()), Err)
    }
}

fn describe(error: wgpu::Error, ledger: &Ledger) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => {
            Error::OutOfMemory { requested: ledger.last_request(), in_use: ledger.in_use(), limit: None }
        }
        other => Error::Gpu(other.to_string()),
    }
}

/// Runs `create`, and gives the error it caused on this thread, of one of the two kinds.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn catch<T>(
    device: &wgpu::Device,
    kinds: [wgpu::ErrorFilter; 2],
    create: impl FnOnce() -> T,
) -> std::result::Result<T, wgpu::Error> {
    let outer = device.push_error_scope(kinds[0]);
    let inner = device.push_error_scope(kinds[1]);
    let created = create();
    let inner = pollster::block_on(inner.pop());
    let outer = pollster::block_on(outer.pop());
    inner.or(outer).map_or(Ok(created), Err)
}

/// Runs `create`; its errors arrive later, and stop the runtime.
#[cfg(target_arch = "wasm32")]
pub(super) fn catch<T>(
    _: &wgpu::Device,
    _: [wgpu::ErrorFilter; 2],
    create: impl FnOnce() -> T,
) -> std::result::Result<T, wgpu::Error> {
    Ok(create())
}
