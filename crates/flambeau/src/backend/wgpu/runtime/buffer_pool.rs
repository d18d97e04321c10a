//! Buffers and the pool they come from.
//!
//! A buffer whose last handle is dropped goes back to the pool at once: work that uses it has been
//! submitted or handed over, and the queue runs what reuses it after that work. Contents are not cleared. Where memory is to
//! be exact ([`MemoryStrategy::Exact`]), the last handle's end is the buffer's.

use super::{MemoryStats, MemoryStrategy, Runtime, device_error, lock};
use crate::error::{Error, Result};
use crate::ir::PART_ALIGNMENT;
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a buffer is for; buffers of one kind replace each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// What kernels read and write.
    Storage,
    /// The uniform block of a submission.
    Uniform,
    /// What the host reads through.
    Staging,
    /// Somebody else's storage buffer, never pooled.
    Adopted,
}

pub(super) const STORAGE_USAGES: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

impl Kind {
    fn usages(self) -> wgpu::BufferUsages {
        match self {
            Kind::Storage | Kind::Adopted => STORAGE_USAGES,
            Kind::Uniform => wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            Kind::Staging => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Kind::Storage => "flambeau storage",
            Kind::Uniform => "flambeau uniforms",
            Kind::Staging => "flambeau readback",
            Kind::Adopted => "adopted",
        }
    }
}

/// A buffer on the device. Dropping the last handle returns it to the pool.
///
/// Kernels see its whole capacity, not only the bytes asked for.
pub(crate) struct GpuBuffer {
    id: u64,
    raw: wgpu::Buffer,
    bytes: u64,
    kind: Kind,
    reusable: bool,
    runtime: Arc<Runtime>,
    /// The buffer this one is a part of, and the byte it starts at there.
    within: Option<(Arc<GpuBuffer>, u64)>,
}

super::shared_by_threads!(GpuBuffer { id, raw, bytes, kind, reusable, runtime, within });

impl GpuBuffer {
    /// A part of a buffer, which keeps the whole alive. The start must be aligned as bindings are.
    pub fn part(whole: &Arc<GpuBuffer>, start: u64, bytes: u64) -> Arc<GpuBuffer> {
        let (home, start) = match &whole.within {
            Some((home, before)) => (home, before + start),
            None => (whole, start),
        };
        Arc::new(GpuBuffer {
            id: home.id,
            raw: home.raw.clone(),
            bytes,
            kind: home.kind,
            reusable: false,
            runtime: home.runtime.clone(),
            within: Some((home.clone(), start)),
        })
    }

    /// The buffer it is a part of, if it is one.
    pub fn whole(&self) -> Option<&Arc<GpuBuffer>> {
        self.within.as_ref().map(|(home, _)| home)
    }

    /// The byte it starts at in the wgpu buffer.
    pub fn start(&self) -> u64 {
        self.within.as_ref().map_or(0, |(_, start)| *start)
    }

    /// What kernels see of the wgpu buffer.
    pub(super) fn binding(&self) -> wgpu::BindingResource<'_> {
        let size = self.within.as_ref().and_then(|_| std::num::NonZeroU64::new(self.capacity()));
        wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: &self.raw, offset: self.start(), size })
    }

    /// The number of the wgpu buffer: handles of one pooled buffer, one after the other, share it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The wgpu buffer.
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.raw
    }

    /// The bytes asked for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes there are; a part may be bound up to the next aligned start.
    pub fn capacity(&self) -> u64 {
        match &self.within {
            Some((_, start)) => self.bytes.next_multiple_of(PART_ALIGNMENT).min(self.raw.size() - start),
            None => self.raw.size(),
        }
    }

    /// The runtime it belongs to.
    pub(super) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// May the pool lend it again once it is dropped? A mapped buffer must not be.
    pub(super) fn set_reusable(&mut self, reusable: bool) {
        self.reusable = reusable;
    }
}

impl fmt::Debug for GpuBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "GpuBuffer {} ({:?}, {} of {} bytes)",
            self.id,
            self.kind,
            self.bytes,
            self.capacity()
        )
    }
}

impl Drop for GpuBuffer {
    fn drop(&mut self) {
        let runtime = &self.runtime;
        if self.within.is_some() {
            return;
        }
        if self.reusable {
            let mut free = lock(&runtime.pool.free);
            let waiting = free.entry((self.kind, self.capacity())).or_default();
            let place = waiting.partition_point(|(id, _)| *id > self.id);
            waiting.insert(place, (self.id, self.raw.clone()));
            drop(free);
            runtime.ledger.pooled(self.capacity());
        } else {
            lock(&runtime.bind_groups).forget(&HashSet::from([self.id]));
            // Work that waits for the queue may use a storage buffer: wgpu frees its memory when that is done.
            if self.kind == Kind::Staging {
                self.raw.destroy();
            }
            runtime.ledger.destroyed_in_use(self.capacity());
        }
    }
}

/// Buffers with their numbers.
type Waiting = Vec<(u64, wgpu::Buffer)>;

#[derive(Default)]
pub(super) struct BufferPool {
    /// The buffers that wait for reuse, by kind and capacity, with their numbers from the highest to the lowest. The lowest
    /// goes first: then it does not matter in which order a step gave its buffers back, and the next step binds the same ones.
    free: Mutex<FxHashMap<(Kind, u64), Waiting>>,
    buffers_numbered: AtomicU64,
    /// Which allocation from now on is refused, for tests; 0: none.
    refused: AtomicU64,
}

impl BufferPool {
    fn new_id(&self) -> u64 {
        self.buffers_numbered.fetch_add(1, Ordering::Relaxed)
    }

    fn take(&self, kind: Kind, capacity: u64) -> Option<(u64, wgpu::Buffer)> {
        lock(&self.free).get_mut(&(kind, capacity))?.pop()
    }
}

impl Runtime {
    /// A storage buffer of at least `bytes` bytes and at least 4, with contents that are not defined.
    pub fn alloc(self: &Arc<Self>, bytes: u64) -> Result<Arc<GpuBuffer>> {
        self.allocate(bytes, Kind::Storage).map(Arc::new)
    }

    /// Takes a buffer that somebody else made on this device. It is not pooled when dropped.
    pub fn adopt_buffer(self: &Arc<Self>, buffer: wgpu::Buffer) -> Result<Arc<GpuBuffer>> {
        self.check()?;
        let bytes = buffer.size();
        if !buffer.usage().contains(STORAGE_USAGES) {
            let missing = STORAGE_USAGES - buffer.usage();
            return Err(Error::Gpu(format!("the adopted buffer lacks the usages {missing:?}")));
        }
        if bytes == 0 || !bytes.is_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT) {
            return Err(Error::Gpu(format!(
                "the adopted buffer has {bytes} bytes, not a multiple of 4 above 0"
            )));
        }
        self.check_size(bytes, Kind::Adopted)?;
        self.ledger.created(bytes);
        let id = self.pool.new_id();
        let runtime = self.clone();
        Ok(Arc::new(GpuBuffer {
            id,
            raw: buffer,
            bytes,
            kind: Kind::Adopted,
            reusable: false,
            runtime,
            within: None,
        }))
    }

    /// Destroys the buffers that wait for reuse.
    pub fn trim(&self) {
        // Work that waits may use them.
        let _turn = self.outbox.turn();
        let free = std::mem::take(&mut *lock(&self.pool.free));
        let free: Vec<(u64, wgpu::Buffer)> = free.into_values().flatten().collect();
        lock(&self.bind_groups).forget(&free.iter().map(|(id, _)| *id).collect());
        for (_, buffer) in free {
            buffer.destroy();
            self.ledger.destroyed_pooled(buffer.size());
        }
        self.run_callbacks();
    }

    pub(super) fn allocate(self: &Arc<Self>, bytes: u64, kind: Kind) -> Result<GpuBuffer> {
        self.check()?;
        if self.is_refused() {
            return Err(Error::OutOfMemory { requested: bytes, in_use: self.ledger.in_use(), limit: None });
        }
        let largest = self.check_size(bytes, kind)?;
        let exact = self.config.memory_strategy == MemoryStrategy::Exact;
        let capacity = self.capacity_for(bytes).min(largest);
        let (id, raw) = match self.pool.take(kind, capacity) {
            Some(free) => {
                self.ledger.reused(capacity);
                free
            }
            None => {
                let raw = self.create(capacity, kind)?;
                self.counters.buffers_created.add(1);
                self.ledger.created(capacity);
                (self.pool.new_id(), raw)
            }
        };
        Ok(GpuBuffer { id, raw, bytes, kind, reusable: !exact, runtime: self.clone(), within: None })
    }

    /// Bytes that a buffer for so many takes.
    pub fn capacity_for(&self, bytes: u64) -> u64 {
        match self.config.memory_strategy {
            MemoryStrategy::Exact => bytes.max(1).next_multiple_of(PART_ALIGNMENT),
            _ => size_class(bytes),
        }
    }

    /// Lets the `nth` allocation from now on fail, as if there were no memory; 0: none.
    pub fn refuse_allocation(&self, nth: u64) {
        self.pool.refused.store(nth, Ordering::Relaxed);
    }

    fn is_refused(&self) -> bool {
        let refused = &self.pool.refused;
        refused.load(Ordering::Relaxed) > 0 && refused.fetch_sub(1, Ordering::Relaxed) == 1
    }

    /// The largest size for this kind, or the limit that `bytes` exceeds.
    fn check_size(&self, bytes: u64, kind: Kind) -> Result<u64> {
        let mut limit = (self.limits.max_buffer_size, "maxBufferSize");
        if matches!(kind, Kind::Storage | Kind::Adopted) {
            let binding = (self.limits.max_storage_buffer_binding_size, "maxStorageBufferBindingSize");
            let configured = (self.config.max_buffer_size.unwrap_or(u64::MAX), "GpuConfig::max_buffer_size");
            limit = limit.min(binding).min(configured);
        }
        let (limit, limit_name) = limit;
        if bytes > limit {
            return Err(Error::Limit {
                what: "a buffer's size in bytes".into(),
                requested: bytes,
                limit_name,
                limit,
            });
        }
        Ok(limit - limit % wgpu::COPY_BUFFER_ALIGNMENT)
    }

    fn create(&self, capacity: u64, kind: Kind) -> Result<wgpu::Buffer> {
        self.ledger.requested(capacity);
        self.check_total(capacity)?;
        match self.try_create(capacity, kind) {
            Err(Error::OutOfMemory { .. }) => {
                self.trim();
                self.wait_until_idle()?;
                self.try_create(capacity, kind)
            }
            created => created,
        }
    }

    /// Makes room by letting go of what is kept for reuse; an error where that does not suffice.
    fn check_total(&self, capacity: u64) -> Result<()> {
        let Some(limit) = self.config.memory_limit else { return Ok(()) };
        let fits = |memory: MemoryStats| memory.in_use + memory.pooled + capacity <= limit;
        if fits(self.memory()) {
            return Ok(());
        }
        self.trim();
        if fits(self.memory()) {
            return Ok(());
        }
        Err(Error::OutOfMemory { requested: capacity, in_use: self.ledger.in_use(), limit: Some(limit) })
    }

    fn try_create(&self, capacity: u64, kind: Kind) -> Result<wgpu::Buffer> {
        let descriptor = wgpu::BufferDescriptor {
            label: Some(kind.label()),
            size: capacity,
            usage: kind.usages(),
            mapped_at_creation: false,
        };
        let kinds = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation];
        let created = device_error::catch(&self.device, kinds, || self.device.create_buffer(&descriptor));
        self.check()?;
        created.map_err(|error| match error {
            wgpu::Error::OutOfMemory { .. } => {
                Error::OutOfMemory { requested: capacity, in_use: self.ledger.in_use(), limit: None }
            }
            other => Error::Gpu(other.to_string()),
        })
    }
}

/// The capacity for a request: multiples of 256 bytes up to 4 KiB, then eight sizes per power of two, so
/// that at most an eighth is wasted and requests of about one size share buffers.
fn size_class(bytes: u64) -> u64 {
    const SMALL: u64 = 4096;
    let step = if bytes <= SMALL { 256 } else { 1 << ((bytes - 1).ilog2() - 3) };
    bytes.max(1).next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::size_class;

    #[test]
    fn size_classes_waste_at_most_an_eighth() {
        assert_eq!(size_class(0), 256);
        assert_eq!(size_class(257), 512);
        assert_eq!(size_class(4096), 4096);
        assert_eq!(size_class(4097), 4096 + 512);
        assert_eq!(size_class(8192), 8192);
        assert_eq!(size_class(8193), 8192 + 1024);
        for bytes in (4097..1 << 20).step_by(997) {
            let class = size_class(bytes);
            assert!(class >= bytes && class - bytes <= bytes / 8, "{bytes} became {class}");
            assert_eq!(size_class(class), class);
        }
    }
}
