//! What the runtime counts: calls and creations.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Defines the counters once, as the public snapshot and as the atomics behind it.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// How often the queue was called and what was created, since the runtime was made.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct GpuStats {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Default)]
        pub(super) struct Counters {
            $(pub $name: Counter,)*
        }

        impl Counters {
            pub fn snapshot(&self) -> GpuStats {
                GpuStats { $($name: self.$name.0.load(Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Calls of `queue.submit`, readbacks included.
    submits,
    /// Of these, calls with nothing but copies: readbacks that did not go with the evaluation they read.
    submits_of_copies,
    /// Compute dispatches.
    dispatches,
    /// Pipelines made, those that an earlier process has kept included.
    pipelines_created,
    /// Of these, pipelines that an earlier process has kept: the driver did not compile them again.
    pipelines_kept,
    /// Of these, pipelines made for the sizes of a hot plan, beside the ones for all sizes.
    pipelines_specialised,
    /// Pipelines found in the cache.
    pipeline_hits,
    /// Bind groups created.
    bind_groups_created,
    /// Bind groups found in the cache.
    bind_group_hits,
    /// Buffers created, those for uniforms and readback included.
    buffers_created,
    /// Writes from the host to a buffer, without the uniform blocks of submissions.
    uploads,
    /// Bytes of those writes.
    upload_bytes,
    /// Readbacks, each of any number of buffers.
    readbacks,
}

#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Relaxed);
    }
}
