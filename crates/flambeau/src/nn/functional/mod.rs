//! The functions that layers are built on, as methods of tensors: normalisation, dropout, embeddings, attention,
//! resizing, sampling, distances. Layers add parameters to them; nothing here keeps state.

mod attention;
mod distance;
mod dropout;
mod embedding;
mod grid;
mod gumbel;
mod interpolate;
mod norm;
mod patches;
mod pixel;
mod pooling;

pub use attention::AttentionOptions;
pub(in crate::nn) use attention::attention_weights;
pub use embedding::{BagMode, EmbeddingBagOptions};
pub use grid::{GridMode, GridPadding, GridSampleOptions};
pub use interpolate::{InterpolateMode, InterpolateOptions, OutputSize};
pub use norm::BatchNormed;
pub use patches::Patches;
