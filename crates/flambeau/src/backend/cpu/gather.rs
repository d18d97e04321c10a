//! Loads at places that are numbers of another tensor.

use super::strip::{NOWHERE, Piece, Strip};
#[cfg(not(target_arch = "wasm32"))]
use crate::host::widest;
use crate::host::{Block, HostBuffer, View};
use crate::ir::access::Access;

/// The elements at access + index · stride along a strip.
pub(super) struct Gather<'a> {
    pub strip: &'a Strip<'a>,
    pub access: &'a Access,
    /// An index for every point, below `size`.
    pub index: View<'a>,
    pub stride: i64,
    pub size: usize,
}

impl Gather<'_> {
    /// Fills a block, or returns an index that is out of range.
    pub fn load(&self, buffer: &HostBuffer, out: &mut Block) -> Option<i64> {
        match (buffer, out) {
            (HostBuffer::Bool(from), Block::Bool(to)) => self.copy(from, to, |x| x),
            (HostBuffer::U8(from), Block::U32(to)) => self.copy(from, to, u32::from),
            (HostBuffer::U32(from), Block::U32(to)) => self.copy(from, to, |x| x),
            (HostBuffer::I32(from), Block::I32(to)) => self.copy(from, to, |x| x),
            (HostBuffer::I64(from), Block::I64(to)) => self.copy(from, to, |x| x),
            (HostBuffer::F16(from), Block::F32(to)) => self.copy(from, to, f32::from),
            (HostBuffer::F32(from), Block::F32(to)) => self.copy(from, to, |x| x),
            (HostBuffer::F64(from), Block::F64(to)) => self.copy(from, to, |x| x),
            (_, out) => unreachable!("a buffer does not load into {out:?}"),
        }
    }

    fn copy<S: Copy, T: Default + Clone>(
        &self,
        from: &[S],
        to: &mut [T],
        convert: impl Fn(S) -> T,
    ) -> Option<i64> {
        let len = self.strip.len;
        // All are looked at, without branches.
        let inside =
            |index: &[i64]| index.iter().fold(true, |inside, &at| inside & ((at as u64) < self.size as u64));
        match self.index {
            // What indexes nearly always are, read as they lie.
            #[cfg(not(target_arch = "wasm32"))]
            View::I32(index) => {
                let all_inside = |index: &[i32]| all_below(index, self.size);
                self.copy_at(&index[..len], from, to, convert, all_inside)
            }
            #[cfg(target_arch = "wasm32")]
            View::I32(index) => self.copy_at(&wide(&index[..len]), from, to, convert, inside),
            View::U32(index) => self.copy_at(&wide(&index[..len]), from, to, convert, inside),
            View::I64(index) => self.copy_at(&index[..len], from, to, convert, inside),
            other => unreachable!("indexes are integers, not {other:?}"),
        }
    }

    fn copy_at<I: Copy + PartialEq + Into<i64>, S: Copy, T: Default + Clone>(
        &self,
        index: &[I],
        from: &[S],
        to: &mut [T],
        convert: impl Fn(S) -> T,
        all_inside: impl Fn(&[I]) -> bool,
    ) -> Option<i64> {
        let mut outside = None;
        self.strip.pieces(self.access, |Piece { at, len, offset, stride }| {
            let (to, index) = (&mut to[at..at + len], &index[at..at + len]);
            if offset == NOWHERE {
                return to.fill(T::default());
            }
            let Some(&first) = index.first() else { return };
            if !all_inside(index) {
                let is_outside = |index: &i64| *index as u64 >= self.size as u64;
                outside = outside.or(index.iter().map(|&index| index.into()).find(is_outside));
                return;
            }
            let start = offset + first.into() * self.stride;
            if stride == 1 && index.iter().fold(true, |same, &index| same & (index == first)) {
                // A stretch of one row.
                let from = &from[start as usize..start as usize + len];
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = convert(from));
                return;
            }
            if !cfg!(target_arch = "wasm32") && stride >= 0 && self.stride >= 0 {
                let farthest = (len as i64 - 1) * stride + (self.size as i64 - 1) * self.stride;
                let from = &from[offset as usize..=(offset + farthest) as usize];
                for (k, (to, &index)) in to.iter_mut().zip(index).enumerate() {
                    let place = k as i64 * stride + index.into() * self.stride;
                    // Safety: the index is inside, so it is not beyond the farthest place.
                    *to = convert(unsafe { *from.get_unchecked(place as usize) });
                }
                return;
            }
            for (k, (to, &index)) in to.iter_mut().zip(index).enumerate() {
                *to = convert(from[(offset + k as i64 * stride + index.into() * self.stride) as usize]);
            }
        });
        outside
    }
}

#[cfg(not(target_arch = "wasm32"))]
widest! {
    /// Are all of some numbers below a size, and none below 0? All are looked at, without branches.
    pub(super) fn all_below(numbers: &[i32], size: usize) -> bool {
        let bound = size.min(1 << 31) as u32;
        numbers.iter().fold(true, |inside, &number| inside & ((number as u32) < bound))
    }
}

fn wide<I: Copy + Into<i64>>(index: &[I]) -> Vec<i64> {
    index.iter().map(|&index| index.into()).collect()
}
