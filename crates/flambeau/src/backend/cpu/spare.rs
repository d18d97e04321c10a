//! Memory of temporaries that nothing reads any more, kept for the next ones: fetching it from the system and clearing
//! it would cost a training step more than some of its kernels.

use super::HostBuffer;
use crate::dtype::DType;
use crate::error::{Error, Result};
use std::sync::{Mutex, PoisonError};

/// Bytes under which the allocator is quick enough.
const SMALL: usize = 1 << 16;
/// Bytes from which it is asked beforehand whether there is as much: a failing allocation would end the program.
const LARGE: u64 = 1 << 24;
/// Bytes that are kept at most.
const LIMIT: usize = 1 << 28;

/// Buffers to be used again, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Spare {
    buffers: Mutex<Vec<HostBuffer>>,
}

impl Spare {
    /// A buffer of `len` values: zeros, or anything if `zeroed` does not ask for them.
    pub fn take(&self, dtype: DType, len: usize, zeroed: bool) -> Result<HostBuffer> {
        let bytes = len as u64 * dtype.size() as u64;
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |buffer: &HostBuffer| buffer.dtype() == dtype && (len..=2 * len).contains(&buffer.capacity());
        let best =
            (0..buffers.len()).filter(|&at| fits(&buffers[at])).min_by_key(|&at| buffers[at].capacity());
        let found = best.filter(|_| bytes >= SMALL as u64).map(|at| buffers.remove(at));
        drop(buffers);
        if let Some(buffer) = found {
            return Ok(buffer.reused(len, zeroed));
        }
        if bytes >= LARGE && !self.has_room(bytes) {
            return Err(Error::OutOfMemory { requested: bytes, in_use: 0, limit: None });
        }
        Ok(HostBuffer::zeros(dtype, len))
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
    pub fn give(&self, buffer: HostBuffer) {
        let bytes = |buffer: &HostBuffer| buffer.capacity() * buffer.dtype().size();
        if bytes(&buffer) < SMALL {
            return;
        }
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.push(buffer);
        let mut total: usize = buffers.iter().map(bytes).sum();
        while total > LIMIT {
            total -= bytes(&buffers.remove(0));
        }
    }
}
