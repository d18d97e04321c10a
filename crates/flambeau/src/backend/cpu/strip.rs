//! Strips: runs of neighbouring points of a kernel's iteration space, and loading values along them.

use super::host::HostBuffer;
use crate::dtype::Scalar;
use crate::op::elementwise::Block;
use crate::plan::access::Access;

/// `len` points from `start` on (row-major) over the dimensions `varying`, the other coordinates fixed.
pub(super) struct Strip<'a> {
    pub space: &'a [usize],
    pub varying: std::ops::Range<usize>,
    pub start: usize,
    pub len: usize,
    /// Coordinates of the dimensions that do not vary.
    pub fixed: &'a [usize],
    pub data: &'a [Scalar],
}

/// Points that lie `stride` apart in a buffer.
pub(super) struct Piece {
    /// Position of the first point in the strip.
    pub at: usize,
    pub len: usize,
    pub offset: i64,
    pub stride: i64,
}

/// The offset of a point that has no element.
pub(super) const NOWHERE: i64 = -1;

impl Strip<'_> {
    /// Calls `visit` with pieces that cover the strip, in order. Points without an element come as pieces of one
    /// with the offset [`NOWHERE`].
    pub fn pieces(&self, access: &Access, mut visit: impl FnMut(Piece)) {
        let mut coordinates = self.fixed.to_vec();
        let mut rest = self.start;
        for d in self.varying.clone().rev() {
            coordinates[d] = rest % self.space[d];
            rest /= self.space[d];
        }
        let Some(last) = self.varying.clone().last() else {
            for at in 0..self.len {
                visit(self.single(access, &coordinates, at));
            }
            return;
        };
        let strided = access.is_strided();
        let mut at = 0;
        while at < self.len {
            let run = (self.space[last] - coordinates[last]).min(self.len - at);
            if strided {
                let level = &access.levels[0];
                let offset =
                    level.axes.iter().zip(&coordinates).map(|(axis, &c)| axis.stride * c as i64).sum::<i64>();
                let offset = offset + level.offset.value(self.data);
                visit(Piece { at, len: run, offset, stride: level.axes[last].stride });
            } else {
                for k in 0..run {
                    visit(self.single(access, &coordinates, at + k));
                    coordinates[last] += 1;
                }
                coordinates[last] -= run;
            }
            at += run;
            coordinates[last] += run;
            let mut d = last;
            while coordinates[d] == self.space[d] && d > self.varying.start {
                coordinates[d] = 0;
                d -= 1;
                coordinates[d] += 1;
            }
        }
    }

    fn single(&self, access: &Access, coordinates: &[usize], at: usize) -> Piece {
        let offset = access.locate(coordinates, self.data).map_or(NOWHERE, |offset| offset as i64);
        Piece { at, len: 1, offset, stride: 0 }
    }

    /// Fills a block with the elements an access finds along the strip.
    pub fn load(&self, access: &Access, buffer: &HostBuffer, block: &mut Block) {
        match (buffer, block) {
            (HostBuffer::Bool(from), Block::Bool(to)) => self.copy(access, from, to, |x| x),
            (HostBuffer::U8(from), Block::U32(to)) => self.copy(access, from, to, u32::from),
            (HostBuffer::U32(from), Block::U32(to)) => self.copy(access, from, to, |x| x),
            (HostBuffer::I32(from), Block::I32(to)) => self.copy(access, from, to, |x| x),
            (HostBuffer::I64(from), Block::I64(to)) => self.copy(access, from, to, |x| x),
            (HostBuffer::F16(from), Block::F32(to)) => self.copy(access, from, to, f32::from),
            (HostBuffer::F32(from), Block::F32(to)) => self.copy(access, from, to, |x| x),
            (HostBuffer::F64(from), Block::F64(to)) => self.copy(access, from, to, |x| x),
            (_, block) => unreachable!("a buffer does not load into {block:?}"),
        }
    }

    fn copy<S: Copy, T: Copy + Default>(
        &self,
        access: &Access,
        from: &[S],
        to: &mut [T],
        convert: impl Fn(S) -> T,
    ) {
        self.pieces(access, |Piece { at, len, offset, stride }| {
            let to = &mut to[at..at + len];
            match stride {
                _ if offset == NOWHERE => to[0] = T::default(),
                0 => to.fill(convert(from[offset as usize])),
                1 => {
                    let from = &from[offset as usize..offset as usize + len];
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = convert(from));
                }
                _ => to.iter_mut().enumerate().for_each(|(k, to)| {
                    *to = convert(from[(offset + k as i64 * stride) as usize]);
                }),
            }
        });
    }
}
