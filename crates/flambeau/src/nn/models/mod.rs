//! Models that are used often, with the names that PyTorch's versions of them have, so that their weights can be loaded.

mod cache;
mod cnn;
mod generate;
mod gpt;
mod mlp;
mod resnet;

pub use cache::KvCache;
pub use cnn::{Cnn, CnnOptions};
pub use generate::SampleOptions;
pub use gpt::{Gpt, GptConfig};
pub use mlp::{Mlp, MlpActivation, MlpOptions};
pub use resnet::{ResNet, ResNetDepth, ResNetOptions, ResNetStem};
