//! The functions that layers are built on, as methods of tensors: normalisation, dropout, embeddings, attention,
//! resizing, distances. Layers add parameters to them; nothing here keeps state.

mod attention;
mod distance;
mod dropout;
mod embedding;
mod interpolate;
mod norm;
mod pixel;

pub use attention::AttentionOptions;
pub(in crate::nn) use attention::attention_weights;
pub use embedding::{BagMode, EmbeddingBagOptions};
pub use interpolate::{InterpolateMode, InterpolateOptions, OutputSize};
pub use norm::BatchNormed;
