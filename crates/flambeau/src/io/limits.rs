//! How much memory reading a file may take.
//!
//! A file of a few kilobytes can ask for gigabytes: deflate packs a thousand to one, a view with stride 0 repeats one
//! element for ever, an opcode of one byte makes an object of fifty. So every reader keeps a [`Budget`]: what it is
//! about to allocate because a file says so, it takes from the budget first, and allocates fallibly.

use std::cell::Cell;

/// What any file may take, however small.
const ALLOWANCE: u64 = 64 << 20;
/// What a file may take for each of its bytes.
const EXPANSION: u64 = 32;
/// What no file may exceed that is not large itself.
const CEILING: u64 = 8 << 30;
/// What any file may take for each of its bytes, beyond the ceiling: a conversion and its result.
const CONVERTED: u64 = 8;

/// The memory that reading one file may take, beside the file's own bytes. A file that asks for more is refused before
/// the memory is allocated.
///
/// The default goes by the file's size: 64 MiB, and 32 bytes for each byte of the file, up to 8 GiB or eight times the
/// file's size, whichever is more. Honest files stay far below; raise it for one that does not, lower it for files from
/// strangers.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{Format, ReadLimits, StateDict};
/// # flambeau::block_on(async {
/// let state = StateDict::from_iter([("w".to_string(), Tensor::zeros([1000], &Device::cpu()))]);
/// let file = Format::Npz.write(&state).await?;
/// assert!(Format::Npz.read(&file, &Device::cpu()).is_ok());
/// let error = Format::Npz.read_with(&file, ReadLimits::memory(2000), &Device::cpu()).unwrap_err();
/// assert!(error.to_string().contains("the limit of 2000 bytes"), "{error}");
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadLimits {
    memory: Option<u64>,
}

impl ReadLimits {
    /// This many bytes, whatever the file's size. What is read from a path must not be larger itself.
    pub const fn memory(bytes: u64) -> ReadLimits {
        ReadLimits { memory: Some(bytes) }
    }

    /// The bytes that reading a file of this size may take.
    ///
    /// ```
    /// use flambeau::io::ReadLimits;
    /// assert_eq!(ReadLimits::default().for_file(0), 64 << 20);
    /// assert_eq!(ReadLimits::memory(1000).for_file(5), 1000);
    /// ```
    pub fn for_file(self, size: u64) -> u64 {
        let by_size = size.saturating_mul(EXPANSION).saturating_add(ALLOWANCE);
        self.memory.unwrap_or(by_size.min(size.saturating_mul(CONVERTED).max(CEILING)))
    }

    /// The limit that was set, or another.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn or(self, default: u64) -> u64 {
        self.memory.unwrap_or(default)
    }

    /// All bytes of a stream that should have `size`, which is no more than a hint.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn read_all(self, stream: impl std::io::Read, size: u64) -> Result<Vec<u8>, String> {
        let limit = self.or(size.max(CEILING));
        let mut bytes = Vec::new();
        if size <= limit {
            // One more, so that the end is seen without growing.
            reserve(&mut bytes, usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1))?;
            let mut stream = stream.take(limit.saturating_add(1));
            std::io::Read::read_to_end(&mut stream, &mut bytes).map_err(|error| error.to_string())?;
        }
        match size > limit || bytes.len() as u64 > limit {
            true => Err(format!("the file is larger than the limit of {limit} bytes")),
            false => Ok(bytes),
        }
    }
}

/// The memory that a reader has left. What is wrong is said without the file's name, which the reader knows.
pub(crate) struct Budget {
    limit: u64,
    used: Cell<u64>,
}

impl Budget {
    /// For a file of this size.
    pub fn new(limits: ReadLimits, size: usize) -> Budget {
        Budget { limit: limits.for_file(size as u64), used: Cell::new(0) }
    }

    /// Takes this many bytes, which are allocated next.
    pub fn take(&self, bytes: usize) -> Result<(), String> {
        let used = self.used.get().saturating_add(bytes as u64);
        if used > self.limit {
            return Err(format!(
                "reading it would take more than the limit of {} bytes of memory; if you trust the file, raise the \
                 limit with ReadLimits::memory",
                self.limit
            ));
        }
        self.used.set(used);
        Ok(())
    }

    /// Gives back what was taken and is freed.
    pub fn give_back(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes as u64));
    }

    /// An empty list with room for so many items, whose bytes are taken.
    pub fn buffer<T>(&self, items: usize) -> Result<Vec<T>, String> {
        self.take(items.saturating_mul(size_of::<T>()))?;
        let mut buffer = Vec::new();
        reserve(&mut buffer, items)?;
        Ok(buffer)
    }

    /// Adds to a list; what it grows by is taken.
    pub fn push<T>(&self, list: &mut Vec<T>, item: T) -> Result<(), String> {
        if list.len() == list.capacity() {
            let (old, more) = (list.capacity(), list.capacity().max(4));
            // The old one and the new one are both there while elements move.
            self.take((old + more) * size_of::<T>())?;
            reserve(list, more)?;
            self.give_back(old * size_of::<T>());
        }
        list.push(item);
        Ok(())
    }
}

/// Room for so many more, or the error.
fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), String> {
    let error = |_| format!("there is no memory for {} bytes", more.saturating_mul(size_of::<T>()));
    list.try_reserve_exact(more).map_err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_by_size() {
        let default = ReadLimits::default();
        assert_eq!(default.for_file(1 << 20), (64 << 20) + (32 << 20));
        assert_eq!(default.for_file(1 << 30), 8 << 30);
        assert_eq!(default.for_file(4 << 30), 32 << 30);
        assert_eq!(default.for_file(u64::MAX), u64::MAX);
    }

    #[test]
    fn budgets_are_kept() {
        let budget = Budget::new(ReadLimits::memory(100), 1);
        let mut list = Vec::new();
        for item in 0..8u32 {
            budget.push(&mut list, item).unwrap();
        }
        // 8 of 4 bytes; to have 16, old and new would be there at once: 96 bytes.
        assert!(budget.take(69).is_err());
        budget.take(8).unwrap();
        let error = budget.push(&mut list, 8).unwrap_err();
        assert!(error.contains("the limit of 100 bytes"), "{error}");
        budget.give_back(8);
        budget.push(&mut list, 8).unwrap();
        assert_eq!((list.len(), list.capacity()), (9, 16));
        assert!(budget.buffer::<u8>(40).is_err());
    }

    #[test]
    fn streams_are_read_up_to_the_limit() {
        let read = |bytes: &[u8], size| ReadLimits::memory(3).read_all(bytes, size);
        for hint in [0, 3] {
            assert_eq!(read(b"abc", hint).unwrap(), b"abc");
            assert!(read(b"abcd", hint).unwrap_err().contains("the limit of 3 bytes"));
        }
        assert!(read(b"", 4).is_err());
        let endless = std::io::repeat(0);
        assert!(ReadLimits::memory(1 << 16).read_all(endless, 0).is_err());
    }
}
