//! Memory of temporaries and results that nothing reads any more, kept for the next ones: fetching it from the system
//! and clearing it takes longer than most kernels that fill it.
//!
//! Buffers come here when they are computed or read for the last time. Those that others still hold are free as soon as
//! they are not held any more; nobody has to say so.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::host::HostBuffer;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes under which the allocator is quick enough.
const SMALL: usize = 1 << 16;
/// Bytes from which it is asked beforehand whether there is as much: a failing allocation would end the program.
const LARGE: u64 = 1 << 24;
/// Bytes that are kept at most: of free buffers, and of those others hold.
const LIMIT: usize = 1 << 28;

/// Buffers to be used again, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Spare {
    buffers: Mutex<Vec<Arc<HostBuffer>>>,
}

fn is_free(buffer: &Arc<HostBuffer>) -> bool {
    Arc::strong_count(buffer) == 1
}

impl Spare {
    /// A buffer of `len` values: zeros, or anything if `zeroed` does not ask for them.
    pub fn take(&self, dtype: DType, len: usize, zeroed: bool) -> Result<HostBuffer> {
        let bytes = len as u64 * dtype.size() as u64;
        if bytes >= SMALL as u64
            && let Some(buffer) = self.fitting(dtype, len)
        {
            return Ok(buffer.reused(len, zeroed));
        }
        if bytes >= LARGE && !self.has_room(bytes) {
            return Err(Error::OutOfMemory { requested: bytes, in_use: 0, limit: None });
        }
        Ok(HostBuffer::zeros(dtype, len))
    }

    /// The smallest free buffer for so many values; of several the newest, which may still be in the cache.
    fn fitting(&self, dtype: DType, len: usize) -> Option<HostBuffer> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |buffer: &Arc<HostBuffer>| {
            buffer.dtype() == dtype && (len..=2 * len).contains(&buffer.capacity()) && is_free(buffer)
        };
        let fitting = (0..buffers.len()).rev().filter(|&at| fits(&buffers[at]));
        let best = fitting.min_by_key(|&at| buffers[at].capacity())?;
        Arc::into_inner(buffers.remove(best))
    }

    /// Is there that much memory, at the latest when nothing is kept any more?
    fn has_room(&self, bytes: u64) -> bool {
        let Ok(bytes) = usize::try_from(bytes) else { return false };
        let can_be_had = || Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
        can_be_had() || {
            self.buffers.lock().unwrap_or_else(PoisonError::into_inner).clear();
            can_be_had()
        }
    }

    /// Keeps a buffer; the oldest go where there are too many.
    pub fn keep(&self, buffer: Arc<HostBuffer>) {
        let bytes = |buffer: &HostBuffer| buffer.capacity() * buffer.dtype().size();
        if bytes(&buffer) < SMALL {
            return;
        }
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.push(buffer);
        let (mut free, mut held) = (0, 0);
        for at in (0..buffers.len()).rev() {
            let total = if is_free(&buffers[at]) { &mut free } else { &mut held };
            *total += bytes(&buffers[at]);
            if *total > LIMIT {
                buffers.remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(buffer: &HostBuffer) -> *const f32 {
        buffer.slice::<f32>().unwrap().as_ptr()
    }

    #[test]
    fn memory_is_used_again_when_nobody_holds_it() {
        let spare = Spare::default();
        let len = SMALL;
        let held = Arc::new(spare.take(DType::F32, len, true).unwrap());
        let first = address(&held);
        spare.keep(held.clone());
        assert_ne!(address(&spare.take(DType::F32, len, false).unwrap()), first);
        drop(held);
        assert!(spare.fitting(DType::I32, len).is_none(), "of another dtype");
        assert!(spare.fitting(DType::F32, len / 4).is_none(), "far too large");
        assert_eq!(address(&spare.take(DType::F32, len - 1, false).unwrap()), first);
    }

    #[test]
    fn what_is_kept_is_limited_and_the_newest_stays() {
        let spare = Spare::default();
        let len = LIMIT / 4 / 4;
        let buffers: Vec<_> = (0..6).map(|_| Arc::new(HostBuffer::zeros(DType::F32, len))).collect();
        let newest = address(&buffers[5]);
        buffers.iter().for_each(|buffer| spare.keep(buffer.clone()));
        assert_eq!(spare.buffers.lock().unwrap().len(), 4);
        drop(buffers);
        spare.keep(Arc::new(HostBuffer::zeros(DType::F32, 2 * len)));
        assert_eq!(spare.buffers.lock().unwrap().len(), 3);
        assert_eq!(address(&spare.take(DType::F32, len, false).unwrap()), newest);
    }
}
