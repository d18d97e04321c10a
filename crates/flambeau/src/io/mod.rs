//! Tensors in files, and what can be saved and brought back.
//!
//! - safetensors, PyTorch's `.pt`, NumPy's `.npy` and `.npz`: [`load_safetensors`], [`save_safetensors`] and so on; in
//!   the browser, where there are no paths, their `read_…` and `write_…` forms work on bytes; [`load`] and [`save`] go by
//!   the path's ending, and [`load_url`] fetches, in browsers too;
//! - [`State`], [`save_states`], [`Checkpoints`]: a whole training run, to go on with later;
//! - [`match_names`]: what fits between a file and a model.
//!
//! Files may come from anywhere: every reader takes any bytes, and either gives the tensors or says what is wrong. It
//! takes no more memory than [`ReadLimits`] allow.
//! What a device does not have is converted, and every conversion is noted ([`Note`]):
//!
//! | in the file | on the CPU | on a GPU |
//! |---|---|---|
//! | bool, u8, i32, u32, f32 | the same | the same |
//! | f16 | f16 | f16, or f32 where the adapter has none |
//! | bf16 | f32 | f32 |
//! | f64 | f64 | f32 |
//! | i8, i16, u16 | i32 | i32 |
//! | i64 | i64 | i32; a number that does not fit is an error |
//! | u64 | i64; a number that does not fit is an error | i32, likewise |

mod address;
#[cfg(not(target_arch = "wasm32"))]
mod atomic;
#[cfg(not(target_arch = "wasm32"))]
mod checkpoints;
mod convert;
mod format;
mod host;
pub(crate) mod limits;
mod npy;
mod pytorch;
mod report;
mod safetensors;
mod state;
mod state_file;
#[cfg(test)]
mod testing;
mod zip;

pub use address::{fetch, load_url};
#[cfg(not(target_arch = "wasm32"))]
pub use atomic::write_atomically;
#[cfg(not(target_arch = "wasm32"))]
pub use checkpoints::{Checkpoint, Checkpoints, Latest};
pub use convert::{Loaded, Note};
pub use format::Format;
#[cfg(not(target_arch = "wasm32"))]
pub use format::{load, load_with, save, save_blocking};
pub use limits::ReadLimits;
#[cfg(not(target_arch = "wasm32"))]
pub use npy::{load_npy, load_npz, save_npy, save_npy_blocking, save_npz, save_npz_blocking};
pub use npy::{read_npy, read_npz, write_npy, write_npz};
pub use pytorch::{PytorchOptions, read_pytorch, write_pytorch};
#[cfg(not(target_arch = "wasm32"))]
pub use pytorch::{load_pytorch, save_pytorch, save_pytorch_blocking, write_pytorch_blocking};
pub use report::{Conversion, Expected, LoadReport, Matching, ShapeMismatch, match_names};
#[cfg(not(target_arch = "wasm32"))]
pub use safetensors::{
    load_safetensors, save_safetensors, save_safetensors_blocking, write_safetensors_blocking,
};
pub use safetensors::{read_safetensors, write_safetensors};
pub use state::{State, StateDict, Stateful};
#[cfg(not(target_arch = "wasm32"))]
pub use state_file::{load_states, save_states, save_states_blocking};
pub use state_file::{read_states, write_states};
