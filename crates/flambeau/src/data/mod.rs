//! Data sets, their files, and the loader that makes batches of them.
//!
//! A [`Dataset`] has items; a [`DataLoader`] draws them in some order, stacks them into batches and puts those on a
//! device, with threads that work ahead where there are threads. A data set that is on the device already
//! ([`TensorDataset`]) is batched there: a step then uploads nothing. [`augment`] changes batches on the device.
//!
//! Readers take paths natively and bytes everywhere, so that a browser can parse what it has fetched. A file that is
//! missing or damaged is an error that says which file, what was expected, and how to get it.
//!
//! ```
//! # use flambeau::prelude::*;
//! use flambeau::data::{DataLoader, synthetic};
//! # flambeau::block_on(async {
//! let device = Device::cpu();
//! let points = synthetic::moons(100, 0.1, &Generator::new(1));
//! let mut batches = DataLoader::new(points, &device).with_batch_size(32).with_shuffle(7);
//! let mut sizes = Vec::new();
//! while let Some((x, y)) = batches.next().await? {
//!     assert_eq!(x.size(0), y.size(0));
//!     sizes.push(x.size(0));
//! }
//! assert_eq!(sizes, [32, 32, 32, 4]);
//! # Ok::<(), Error>(()) }).unwrap();
//! ```

mod array;
pub mod augment;
mod chunks;
mod cifar;
mod dataset;
mod idx;
#[cfg(not(target_arch = "wasm32"))]
mod image_folder;
mod images;
mod loader;
mod mnist;
mod origin;
#[cfg(not(target_arch = "wasm32"))]
mod picture;
mod random;
mod sampler;
#[cfg(not(target_arch = "wasm32"))]
mod source;
pub mod synthetic;
mod table;
#[cfg(not(target_arch = "wasm32"))]
mod text_folder;
mod tokenizer;

pub use array::HostArray;
pub use chunks::{ChunkOptions, ChunkReader, ChunkedItems};
pub use cifar::{Cifar10, Cifar100};
pub use dataset::{ArrayDataset, Dataset, Item, TensorDataset};
#[cfg(not(target_arch = "wasm32"))]
pub use idx::read_idx;
pub use idx::{parse_idx, parse_idx_with};
#[cfg(not(target_arch = "wasm32"))]
pub use image_folder::ImageFolder;
pub use images::{Images, TrainTest};
pub use loader::{Batch, DataLoader, pad_sequences, stack_items};
pub use mnist::{FashionMnist, Mnist};
#[cfg(not(target_arch = "wasm32"))]
pub use picture::parse_picture;
pub use random::HostRandom;
pub use sampler::{Sampler, random_split};
#[cfg(not(target_arch = "wasm32"))]
pub use source::Source;
pub use table::{Table, TableOptions};
#[cfg(not(target_arch = "wasm32"))]
pub use text_folder::TextFolder;
pub use tokenizer::{ByteTokenizer, CharTokenizer, Tokenizer};
