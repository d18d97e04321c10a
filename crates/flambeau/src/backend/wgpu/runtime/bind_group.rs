//! The cache of bind groups, found by the numbers of what they bind.
//!
//! Bounded by two generations: when the young one is full it becomes the old one, and what is still used
//! moves back; what was not used for a whole generation is dropped.

use super::GpuBuffer;
use crate::ir::PART_ALIGNMENT;
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use std::ops::Range;

const GENERATION: usize = 4096;

/// What a bind group binds: the pipeline, the uniform buffer with its range, and the buffers.
pub(super) type Key = smallvec::SmallVec<[u64; 16]>;

const UNIFORM: usize = 1;
const FIRST_BUFFER: usize = 4;
/// Bits of a buffer's number in a key; the others say where in the buffer a part starts.
const NUMBER_BITS: u32 = 40;

/// The number that no buffer has: its word says how much of the buffer before it is bound.
const SIZE: u64 = (1 << NUMBER_BITS) - 1;

/// What of a buffer is bound, as one word, or as two for a part. A part that starts where its buffer does is not the whole.
pub(super) fn place(buffer: &GpuBuffer) -> impl Iterator<Item = u64> + use<> {
    let units = |bytes: u64| (bytes / PART_ALIGNMENT) << NUMBER_BITS;
    let size = buffer.whole().map(|_| SIZE | units(buffer.capacity().next_multiple_of(PART_ALIGNMENT)));
    std::iter::once(buffer.id() | units(buffer.start())).chain(size)
}

/// The key of a bind group; `uniform` is the buffer's number and the range of it.
pub(super) fn key(
    pipeline: u64,
    uniform: Option<(u64, Range<u64>)>,
    buffers: impl Iterator<Item = u64>,
) -> Key {
    let (uniform, range) = uniform.unwrap_or((u64::MAX, 0..0));
    let mut key = Key::from_slice(&[pipeline, uniform, range.start, range.end]);
    key.extend(buffers);
    key
}

#[derive(Default)]
pub(super) struct BindGroupCache {
    young: FxHashMap<Key, wgpu::BindGroup>,
    old: FxHashMap<Key, wgpu::BindGroup>,
}

impl BindGroupCache {
    /// The bind group for `key`, if it has been kept.
    pub fn get(&mut self, key: &Key) -> Option<wgpu::BindGroup> {
        if let Some(found) = self.young.get(key) {
            return Some(found.clone());
        }
        let found = self.old.remove(key)?;
        self.insert(key.clone(), found.clone());
        Some(found)
    }

    pub fn insert(&mut self, key: Key, group: wgpu::BindGroup) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, group);
    }

    /// Drops the bind groups that hold one of these buffers.
    pub fn forget(&mut self, buffers: &HashSet<u64>) {
        let keep = |key: &Key| {
            !buffers.contains(&key[UNIFORM])
                && !key[FIRST_BUFFER..].iter().any(|place| buffers.contains(&(place & SIZE)))
        };
        self.young.retain(|key, _| keep(key));
        self.old.retain(|key, _| keep(key));
    }
}
