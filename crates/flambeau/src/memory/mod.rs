//! Memory: what a device's buffers take, how they are kept, and memory of the host that there may not be.

mod phantom;

use crate::error::{Error, Result};
pub(crate) use phantom::{Phantom, Rehearsed};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a device's buffers take. Bytes are those of the buffers themselves, rounding included.
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

/// What becomes of a device's buffers that nothing needs any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryStrategy {
    /// `Pooled`, unless the environment variable `FLAMBEAU_MEMORY` says `exact`.
    #[default]
    Auto,
    /// They are kept and lent again: a steady loop allocates nothing. Sizes are rounded up (on GPUs by an eighth at most; on the
    /// CPU a buffer may be lent for half of its size, unless there is a limit), so that buffers of about one size serve each other.
    Pooled,
    /// They are given back to the system at once, and are as large as was asked for (on GPUs in steps of 256 bytes): the least
    /// memory, and an allocation for every buffer of every step.
    Exact,
}

impl MemoryStrategy {
    /// What `Auto` means here.
    pub(crate) fn resolved(self) -> MemoryStrategy {
        match (self, std::env::var("FLAMBEAU_MEMORY").as_deref()) {
            (MemoryStrategy::Auto, Ok("exact")) => MemoryStrategy::Exact,
            (MemoryStrategy::Auto, _) => MemoryStrategy::Pooled,
            (asked, _) => asked,
        }
    }
}

impl std::fmt::Display for MemoryStrategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.resolved() {
            MemoryStrategy::Exact => "exact",
            _ => "pooled",
        })
    }
}

/// The numbers behind [`MemoryStats`]: every byte of a device's buffers is entered here.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    in_use: AtomicU64,
    peak: AtomicU64,
    pooled: AtomicU64,
    allocations: AtomicU64,
    last_request: AtomicU64,
}

impl Ledger {
    /// One in which so many bytes are in use already.
    pub fn of(in_use: u64) -> Ledger {
        Ledger { in_use: in_use.into(), peak: in_use.into(), ..Ledger::default() }
    }

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

    /// Bytes of all buffers, those kept for reuse included.
    pub fn total(&self) -> u64 {
        self.in_use() + self.pooled.load(Relaxed)
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
/// Room for this many elements.
pub(crate) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    let requested = (count as u64).saturating_mul(size_of::<T>() as u64);
    let reserved = elements.try_reserve_exact(count);
    reserved.map_err(|_| Error::OutOfMemory { requested, in_use: 0, limit: None })?;
    Ok(elements)
}

/// The same element this many times.
pub(crate) fn filled<T: Clone>(element: T, count: usize) -> Result<Vec<T>> {
    let mut elements = reserved(count)?;
    elements.resize(count, element);
    Ok(elements)
}
