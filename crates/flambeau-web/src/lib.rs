//! Flambeau for JavaScript: what the npm package `flambeau` is built on.
//!
//! The package's TypeScript is what people read and call; here are only the calls below it. Tensors, layers,
//! parameters and optimizers cross the boundary as numbers, ops as a number with their tensors and one list of
//! numbers. Nothing here panics on bad input: every call returns the library's error, which becomes an exception.
//!
//! - `handles`: the tensors JavaScript holds, and what a training step does with them;
//! - `args`, `methods`: what ops are called with, and the methods that structured primitives do not bring along, from which the
//!   TypeScript is generated;
//! - `arrays`: functions that few pages need, and transforms of functions;
//! - `peers`: training together with other tabs;
//! - `federated`: taking part in the runs of a Flower server;
//! - `catalogue`, `layers::catalogue`, `schedules`: what scripts make by name, from which the TypeScript is generated;
//! - `tensor`, `layers`, `optim`, `amp`, `precision`, `files`, `kernel`, `device`: the calls.

mod amp;
mod args;
mod arrays;
mod catalogue;
mod device;
#[cfg(any(target_arch = "wasm32", test))]
mod federated;
mod files;
mod handles;
mod kernel;
mod layers;
mod methods;
mod optim;
mod peers;
mod precision;
mod schedules;
#[cfg(feature = "selftest")]
mod selftest;
mod slab;
mod tensor;
mod trace;
#[cfg(test)]
mod typescript;

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(message: &str);
}

thread_local! {
    /// Told of a panic, before WebAssembly traps.
    static ON_PANIC: std::cell::RefCell<Option<js_sys::Function>> = const { std::cell::RefCell::new(None) };
}

/// Runs once, when the module is loaded: a panic tells where it was before WebAssembly traps.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.to_string();
        console_error(&format!("flambeau: {message}"));
        if let Some(told) = ON_PANIC.take() {
            // What it throws has nowhere to go: the module is about to end.
            let _ = told.call1(&JsValue::NULL, &message.into());
        }
    }));
}

/// Calls a function with the message when the module panics. A panic in something asynchronous would otherwise leave its
/// promise open for ever.
#[wasm_bindgen]
pub fn on_panic(told: js_sys::Function) {
    ON_PANIC.set(Some(told));
}

/// Panics where a value is waited for, to try what happens then.
#[wasm_bindgen]
pub async fn module_panic() {
    panic!("asked for");
}

/// The bytes of the module's own memory.
#[wasm_bindgen]
pub fn memory_bytes() -> f64 {
    #[cfg(target_arch = "wasm32")]
    return (core::arch::wasm32::memory_size(0) * 65_536) as f64;
    #[cfg(not(target_arch = "wasm32"))]
    return 0.0;
}
