//! Where a model's parameters lie while it is trained, and which of its activations are kept.

use crate::device::Device;
use serde::Serialize;
use std::fmt;

/// Where the parameters of a model lie, and in how many segments it is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "parameters", rename_all = "kebab-case")]
pub enum Placement {
    /// Parameters, gradients and the optimizer's state lie on the device. With several segments only what passes from one to the
    /// next is kept for the backward pass, which computes each segment again.
    OnDevice {
        /// Segments whose activations are computed again; with 1 all are kept.
        segments: usize,
    },
    /// Parameters lie on the device, and in host memory, where the optimizer's state is and the update is made: what comes back
    /// to the device are the new parameters, once a step. Each segment's gradients leave the device as soon as they are there.
    StateOnHost {
        /// Segments, each computed again in the backward pass.
        segments: usize,
    },
    /// Parameters, too, lie in host memory. A segment's come to the device when it is computed, forward and backward.
    OnHost {
        /// Segments, each computed again in the backward pass.
        segments: usize,
    },
}

impl Placement {
    /// Segments that the model is computed in.
    pub fn segments(self) -> usize {
        match self {
            Placement::OnDevice { segments }
            | Placement::StateOnHost { segments }
            | Placement::OnHost { segments } => segments,
        }
    }

    /// Do parameters and the optimizer's state lie on the device alone?
    pub fn is_on_device(self) -> bool {
        matches!(self, Placement::OnDevice { .. })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::OnDevice { segments: 1 } => f.write_str("all on the device"),
            Placement::OnDevice { segments } => {
                write!(f, "all on the device, activations computed again by {segments} segments")
            }
            Placement::StateOnHost { segments } => {
                write!(f, "optimizer's state in host memory, {segments} segments")
            }
            Placement::OnHost { segments } => {
                write!(f, "parameters and optimizer's state in host memory, {segments} segments")
            }
        }
    }
}

/// A model that can be placed: what a trainer asks to fit a run into a device's memory.
pub trait Placing: Send + Sync {
    /// The device that computes.
    fn device(&self) -> &Device;

    /// Stages, the most segments that there can be.
    fn stage_count(&self) -> usize;

    /// How it is placed.
    fn placement(&self) -> Placement;

    /// Places it from now on. Parameters and buffers themselves are moved by [`Module::to`](super::Module::to).
    fn place(&self, placement: Placement);
}
