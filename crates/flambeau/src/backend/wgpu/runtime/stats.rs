//! What the runtime counts: calls, creations, and every byte of its buffers.

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

/// What the runtime's buffers take. Bytes are those of the buffers themselves, rounding included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryStats {
    /// Bytes of the buffers handed out.
    pub in_use: u64,
    /// The most that `in_use` has been.
    pub peak: u64,
    /// Bytes of the buffers kept for reuse.
    pub pooled: u64,
    /// Buffers that exist, in use or pooled.
    pub allocations: u64,
}

/// The atomics behind [`MemoryStats`].
#[derive(Default)]
pub(super) struct Ledger {
    in_use: AtomicU64,
    peak: AtomicU64,
    pooled: AtomicU64,
    allocations: AtomicU64,
    last_request: AtomicU64,
}

impl Ledger {
    pub fn created(&self, bytes: u64) {
        self.allocations.fetch_add(1, Relaxed);
        self.use_more(bytes);
    }

    pub fn reused(&self, bytes: u64) {
        self.pooled.fetch_sub(bytes, Relaxed);
        self.use_more(bytes);
    }

    pub fn pooled(&self, bytes: u64) {
        self.in_use.fetch_sub(bytes, Relaxed);
        self.pooled.fetch_add(bytes, Relaxed);
    }

    pub fn destroyed_in_use(&self, bytes: u64) {
        self.in_use.fetch_sub(bytes, Relaxed);
        self.allocations.fetch_sub(1, Relaxed);
    }

    pub fn destroyed_pooled(&self, bytes: u64) {
        self.pooled.fetch_sub(bytes, Relaxed);
        self.allocations.fetch_sub(1, Relaxed);
    }

    pub fn requested(&self, bytes: u64) {
        self.last_request.store(bytes, Relaxed);
    }

    pub fn last_request(&self) -> u64 {
        self.last_request.load(Relaxed)
    }

    pub fn in_use(&self) -> u64 {
        self.in_use.load(Relaxed)
    }

    pub fn snapshot(&self) -> MemoryStats {
        MemoryStats {
            in_use: self.in_use(),
            peak: self.peak.load(Relaxed),
            pooled: self.pooled.load(Relaxed),
            allocations: self.allocations.load(Relaxed),
        }
    }

    /// Forgets the peak so far.
    pub fn reset_peak(&self) {
        self.peak.store(self.in_use(), Relaxed);
    }

    fn use_more(&self, bytes: u64) {
        let in_use = self.in_use.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(in_use, Relaxed);
    }
}
