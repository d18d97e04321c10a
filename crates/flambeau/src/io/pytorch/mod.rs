//! PyTorch's own files (`.pt`, `.pth`): zip archives with a pickle that describes, and a member per storage.
//!
//! Reading runs no code: the pickle interpreter knows dictionaries, lists, numbers, strings and tensors, and refuses
//! everything else by name. What is written is what `torch.save(OrderedDict(…))` writes.

mod flatten;
mod pickle;
mod read;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub(super) use read::parse;
pub use read::{PytorchOptions, read_pytorch};
pub use write::write_pytorch;

#[cfg(not(target_arch = "wasm32"))]
pub use read::load_pytorch;
#[cfg(not(target_arch = "wasm32"))]
pub use write::{save_pytorch, save_pytorch_blocking, write_pytorch_blocking};
