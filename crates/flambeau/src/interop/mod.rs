//! Tensors to and from what other crates have; each part is a feature of its own.
//!
//! - `ndarray`: `Tensor::from_ndarray` and `Tensor::to_ndarray`;
//! - `image`: `Tensor::from_image`, `Tensor::to_rgb_image` and `Tensor::to_grey_image`, natively;
//! - `serde`: `Serialize` and `Deserialize` for tensors, natively; meant for small ones, since numbers become text in most formats.
//!   Weights belong into safetensors ([`io`](crate::io)).
//!
//! There is no DLPack. It hands over pointers to memory together with a function that frees it. Values here are immutable, and lie in
//! memory that the engine lends and takes back, on most devices none that a pointer reaches; and the crates for it are bindings to C
//! structures that leave lifetimes to the caller. Between processes NumPy's files ([`io::write_npy`](crate::io::write_npy)) do the
//! same work.

#[cfg(all(feature = "image", not(target_arch = "wasm32")))]
mod image;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(all(feature = "serde", not(target_arch = "wasm32")))]
mod serde;
