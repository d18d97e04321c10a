//! Taking part in the runs of a Flower server: JavaScript trains and tests the model, everything else is `flambeau-flower`'s.
//!
//! `values` is what crosses the boundary as JSON, `tab` the client itself. All of this is a part of the module by itself.

#[cfg(target_arch = "wasm32")]
mod tab;
mod values;
