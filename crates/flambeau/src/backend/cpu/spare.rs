//! The memory of a CPU device: every buffer is in its ledger, and what nobody holds any more is kept for the next ones, because
//! fetching memory from the system and clearing it takes longer than most kernels that fill it.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::host::HostBuffer;
use crate::memory::{Ledger, MemoryStats, MemoryStrategy};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes under which the allocator is quick enough.
const SMALL: u64 = 1 << 16;
/// Bytes from which it is asked beforehand whether there is as much: a failing allocation would end the program.
const LARGE: u64 = 1 << 24;
/// Bytes of free buffers that are kept at most.
const MOST_KEPT: u64 = 1 << 28;

/// Where a CPU device's buffers come from and go to.
#[derive(Debug, Default)]
pub(super) struct Spare {
    ledger: Ledger,
    strategy: MemoryStrategy,
    /// The most bytes that all buffers together may take, those kept included.
    limit: Option<u64>,
    /// Buffers to be used again, the oldest first.
    free: Mutex<Vec<HostBuffer>>,
}

/// A value's memory on the CPU. Dropped, it goes back to where it came from.
#[derive(Debug)]
pub(crate) struct CpuBuffer {
    values: HostBuffer,
    home: Arc<Spare>,
}

impl Deref for CpuBuffer {
    type Target = HostBuffer;

    fn deref(&self) -> &HostBuffer {
        &self.values
    }
}

impl CpuBuffer {
    /// A copy of `count` values from `start` on.
    pub fn part(&self, start: usize, count: usize) -> CpuBuffer {
        self.home.entered(self.values.part(start, count))
    }
}

impl Drop for CpuBuffer {
    fn drop(&mut self) {
        self.home.take_back(std::mem::replace(&mut self.values, HostBuffer::zeros(DType::Bool, 0)));
    }
}

/// Buffers that a kernel fills. Dropped before it has, they go back as well.
pub(super) struct Filling<'a> {
    pub buffers: Vec<HostBuffer>,
    home: &'a Arc<Spare>,
}

impl<'a> Filling<'a> {
    pub fn new(home: &'a Arc<Spare>) -> Filling<'a> {
        Filling { buffers: Vec::new(), home }
    }

    /// One more buffer of `len` values: zeros, or anything if `zeroed` does not ask for them.
    pub fn add(&mut self, dtype: DType, len: usize, zeroed: bool) -> Result<()> {
        self.buffers.push(self.home.take(dtype, len, zeroed)?);
        Ok(())
    }

    /// The buffers, filled.
    pub fn finish(mut self) -> impl Iterator<Item = CpuBuffer> {
        let (filled, home) = (std::mem::take(&mut self.buffers), self.home.clone());
        filled.into_iter().map(move |values| CpuBuffer { values, home: home.clone() })
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        self.buffers.drain(..).for_each(|values| self.home.take_back(values));
    }
}

/// Bytes that a buffer was lent for: what is in use of it.
fn lent(buffer: &HostBuffer) -> u64 {
    (buffer.len() * buffer.dtype().size()) as u64
}

/// Bytes of a buffer's memory.
fn size(buffer: &HostBuffer) -> u64 {
    (buffer.capacity() * buffer.dtype().size()) as u64
}

impl Spare {
    pub fn new(strategy: MemoryStrategy, limit: Option<u64>) -> Spare {
        Spare { strategy: strategy.resolved(), limit, ..Spare::default() }
    }

    pub fn strategy(&self) -> MemoryStrategy {
        self.strategy
    }

    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    pub fn stats(&self) -> MemoryStats {
        self.ledger.snapshot()
    }

    pub fn reset_peak(&self) {
        self.ledger.reset_peak();
    }

    /// Lets go of what is kept.
    pub fn trim(&self) {
        let free = std::mem::take(&mut *self.free());
        free.iter().for_each(|buffer| self.ledger.destroyed_pooled(size(buffer)));
    }

    fn free(&self) -> MutexGuard<'_, Vec<HostBuffer>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, dtype: DType, len: usize, zeroed: bool) -> Result<HostBuffer> {
        let bytes = len as u64 * dtype.size() as u64;
        if bytes >= SMALL
            && let Some(buffer) = self.fitting(dtype, len)
        {
            // What is beyond remains kept.
            self.ledger.reused(bytes);
            return Ok(buffer.reused(len, zeroed));
        }
        self.check(bytes)?;
        if bytes >= LARGE && !self.has_room(bytes) {
            return Err(Error::OutOfMemory { requested: bytes, in_use: self.ledger.in_use(), limit: None });
        }
        self.ledger.created(bytes);
        Ok(HostBuffer::zeros(dtype, len))
    }

    /// A buffer with values that come from elsewhere.
    pub fn filled(self: &Arc<Self>, dtype: DType, bytes: &[u8]) -> Result<CpuBuffer> {
        self.check(bytes.len() as u64)?;
        Ok(self.entered(HostBuffer::from_bytes(dtype, bytes)))
    }

    fn entered(self: &Arc<Self>, values: HostBuffer) -> CpuBuffer {
        self.ledger.created(size(&values));
        CpuBuffer { values, home: self.clone() }
    }

    /// Makes room by letting go of what is kept; an error where that does not suffice.
    fn check(&self, bytes: u64) -> Result<()> {
        let Some(limit) = self.limit else { return Ok(()) };
        if self.ledger.total() + bytes <= limit {
            return Ok(());
        }
        self.trim();
        match self.ledger.total() + bytes <= limit {
            true => Ok(()),
            false => {
                Err(Error::OutOfMemory { requested: bytes, in_use: self.ledger.in_use(), limit: Some(limit) })
            }
        }
    }

    /// The smallest free buffer for so many values; of several the newest, which may still be in the cache.
    fn fitting(&self, dtype: DType, len: usize) -> Option<HostBuffer> {
        let mut free = self.free();
        // Under a limit nothing is lent larger than was asked for.
        let largest = if self.limit.is_some() { len } else { 2 * len };
        let fits =
            |buffer: &HostBuffer| buffer.dtype() == dtype && (len..=largest).contains(&buffer.capacity());
        let fitting = (0..free.len()).rev().filter(|&at| fits(&free[at]));
        let best = fitting.min_by_key(|&at| free[at].capacity())?;
        Some(free.remove(best))
    }

    /// Is there that much memory, at the latest when nothing is kept any more?
    fn has_room(&self, bytes: u64) -> bool {
        let Ok(bytes) = usize::try_from(bytes) else { return false };
        let can_be_had = || Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
        can_be_had() || {
            self.trim();
            can_be_had()
        }
    }

    /// Keeps a buffer that nobody holds any more, if it is worth it; the oldest go where there are too many.
    fn take_back(&self, buffer: HostBuffer) {
        let bytes = size(&buffer);
        self.ledger.pooled(lent(&buffer));
        if !(SMALL..=MOST_KEPT).contains(&bytes) || self.strategy == MemoryStrategy::Exact {
            return self.ledger.destroyed_pooled(bytes);
        }
        let mut free = self.free();
        free.push(buffer);
        let mut kept: u64 = free.iter().map(size).sum();
        let mut oldest = 0;
        while kept > MOST_KEPT {
            kept -= size(&free[oldest]);
            self.ledger.destroyed_pooled(size(&free[oldest]));
            oldest += 1;
        }
        let gone: Vec<HostBuffer> = free.drain(..oldest).collect();
        drop(free);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = SMALL as usize;

    fn borrowed(spare: &Arc<Spare>, len: usize) -> CpuBuffer {
        let mut filling = Filling::new(spare);
        filling.add(DType::F32, len, false).unwrap();
        filling.finish().next().unwrap()
    }

    fn address(buffer: &HostBuffer) -> *const f32 {
        buffer.slice::<f32>().unwrap().as_ptr()
    }

    #[test]
    fn memory_is_used_again_when_nobody_holds_it() {
        let spare = Arc::new(Spare::default());
        let held = Arc::new(borrowed(&spare, LEN));
        let first = address(&held);
        let also = held.clone();
        drop(held);
        assert_ne!(address(&borrowed(&spare, LEN)), first);
        drop(also);
        assert!(spare.fitting(DType::I32, LEN).is_none(), "of another dtype");
        assert!(spare.fitting(DType::F32, LEN / 4).is_none(), "far too large");
        assert_eq!(address(&borrowed(&spare, LEN - 1)), first);
    }

    #[test]
    fn what_is_kept_is_limited_and_the_newest_stays() {
        let spare = Arc::new(Spare::default());
        let len = MOST_KEPT as usize / 4 / 4;
        let buffers: Vec<CpuBuffer> = (0..6).map(|_| borrowed(&spare, len)).collect();
        let newest = address(&buffers[5]);
        drop(buffers);
        assert_eq!(spare.free().len(), 4);
        assert_eq!(spare.stats().pooled, MOST_KEPT);
        drop(borrowed(&spare, 3 * len));
        assert_eq!(spare.free().len(), 2);
        assert_eq!(address(&borrowed(&spare, len)), newest);
    }

    #[test]
    fn the_ledger_knows_what_is_in_use_and_what_is_kept() {
        let spare = Arc::new(Spare::default());
        let bytes = 4 * LEN as u64;
        let (a, b) = (borrowed(&spare, LEN), borrowed(&spare, LEN));
        drop(a);
        let expected = MemoryStats { in_use: bytes, peak: 2 * bytes, pooled: bytes, allocations: 2 };
        assert_eq!(spare.stats(), expected);
        drop((borrowed(&spare, LEN), b));
        assert_eq!(spare.stats(), MemoryStats { in_use: 0, pooled: 2 * bytes, ..expected });
        // A kernel that fails gives back what it should have filled.
        let mut filling = Filling::new(&spare);
        filling.add(DType::F32, 8, true).unwrap();
        assert_eq!(spare.stats().in_use, 32);
        drop(filling);
        assert_eq!(spare.stats().in_use, 0);
        spare.trim();
        assert_eq!(spare.stats(), MemoryStats { peak: 2 * bytes, ..MemoryStats::default() });
    }

    #[test]
    fn exact_memory_keeps_nothing_and_a_limit_makes_room_first() {
        let exact = Arc::new(Spare::new(MemoryStrategy::Exact, None));
        drop(borrowed(&exact, LEN));
        assert_eq!((exact.stats().in_use, exact.stats().pooled, exact.stats().allocations), (0, 0, 0));
        let bytes = 4 * LEN as u64;
        let limited = Arc::new(Spare::new(MemoryStrategy::Pooled, Some(2 * bytes)));
        drop(borrowed(&limited, LEN));
        // Too large to take the other's place, and too large beside it.
        let held = borrowed(&limited, 2 * LEN);
        assert_eq!(limited.stats().pooled, 0);
        let error = limited.take(DType::F32, 1, false).unwrap_err();
        let expected = (4, 2 * bytes, Some(2 * bytes));
        assert!(
            matches!(&error, Error::OutOfMemory { requested, in_use, limit } if (*requested, *in_use, *limit) == expected),
            "{error}"
        );
        drop(held);
    }
}
