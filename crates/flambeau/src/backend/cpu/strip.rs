//! Strips: runs of neighbouring points of a kernel's iteration space, and loading values along them.

use crate::dtype::Scalar;
use crate::host::{Block, HostBuffer};
use crate::ir::access::{Access, Axis, Hole};
use std::ops::Range;

/// `len` points from `start` on (row-major) over the dimensions `varying`, the other coordinates fixed.
pub(super) struct Strip<'a> {
    pub space: &'a [usize],
    pub varying: Range<usize>,
    pub start: usize,
    pub len: usize,
    /// Coordinates of the dimensions that do not vary.
    pub fixed: &'a [usize],
    pub data: &'a [Scalar],
    /// All of that again at each of these points of the dimensions after `varying`, one after the other.
    pub repeated: Option<Range<usize>>,
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
    /// Calls `visit` with pieces that cover the strip, in order. Points without an element come as pieces with the
    /// offset [`NOWHERE`] and stride 0.
    pub fn pieces(&self, access: &Access, mut visit: impl FnMut(Piece)) {
        // A piece that goes on where the one before ended is joined to it.
        let mut open: Option<Piece> = None;
        let join = |piece: Piece| match &mut open {
            Some(open)
                if open.stride == piece.stride
                    && open.offset + open.len as i64 * open.stride == piece.offset =>
            {
                open.len += piece.len;
            }
            open => {
                if let Some(whole) = open.replace(piece) {
                    visit(whole);
                }
            }
        };
        self.separate_pieces(access, join);
        if let Some(last) = open {
            visit(last);
        }
    }

    fn separate_pieces(&self, access: &Access, mut visit: impl FnMut(Piece)) {
        let mut coordinates = self.fixed.to_vec();
        let Some(places) = &self.repeated else {
            return self.pieces_at(access, &mut coordinates, 0, self.len, &mut visit);
        };
        let len = self.len / places.len();
        for (number, place) in places.clone().enumerate() {
            let mut rest = place;
            for d in (self.varying.end..self.space.len()).rev() {
                coordinates[d] = rest % self.space[d];
                rest /= self.space[d];
            }
            self.pieces_at(access, &mut coordinates, number * len, len, &mut visit);
        }
    }

    /// The pieces of `len` points from `at` on; the coordinates that do not vary are given.
    fn pieces_at(
        &self,
        access: &Access,
        coordinates: &mut [usize],
        at: usize,
        len: usize,
        visit: &mut impl FnMut(Piece),
    ) {
        let mut rest = self.start;
        for d in self.varying.clone().rev() {
            coordinates[d] = rest % self.space[d];
            rest /= self.space[d];
        }
        let Some(last) = self.varying.clone().last() else {
            let offset = access.locate(coordinates, self.data).map_or(NOWHERE, |offset| offset as i64);
            return visit(Piece { at, len, offset, stride: 0 });
        };
        let (mut at, end) = (at, at + len);
        // Of strided accesses the offset goes along with the coordinates.
        let axes = access.is_strided().then(|| &access.levels[0].axes[..]);
        let mut offset = axes.map_or(0, |axes| {
            let steps = axes.iter().zip(&*coordinates).map(|(axis, &c)| axis.stride * c as i64);
            steps.sum::<i64>() + access.levels[0].offset.value(self.data)
        });
        while at < end {
            let run = (self.space[last] - coordinates[last]).min(end - at);
            if let Some(axes) = axes {
                visit(Piece { at, len: run, offset, stride: axes[last].stride });
                offset += run as i64 * axes[last].stride;
            } else {
                let mut done = 0;
                while done < run {
                    let (len, offset, stride) = self.stretch(access, coordinates, last, run - done);
                    visit(Piece { at: at + done, len, offset, stride });
                    done += len;
                    coordinates[last] += len;
                }
                coordinates[last] -= run;
            }
            at += run;
            coordinates[last] += run;
            let mut d = last;
            while coordinates[d] == self.space[d] && d > self.varying.start {
                if let Some(axes) = axes {
                    offset += axes[d - 1].stride - self.space[d] as i64 * axes[d].stride;
                }
                coordinates[d] = 0;
                d -= 1;
                coordinates[d] += 1;
            }
        }
    }

    /// Where the first point lies, if all of them lie one after the other.
    pub fn together(&self, access: &Access) -> Option<usize> {
        if self.len == 0 || !access.is_strided() {
            return None;
        }
        let level = &access.levels[0];
        if let Some(places) = &self.repeated {
            // Each place's points lie together, and those of the next place behind them.
            let (len, after) = (self.len / places.len(), self.varying.end);
            if after + 1 != self.space.len() || level.axes[after].stride != len as i64 {
                return None;
            }
            let first = Strip { varying: self.varying.clone(), len, repeated: None, ..*self };
            return first.together(access).map(|start| start + places.start * len);
        }
        // Points before the strip's end differ in dimensions that are one behind the other in memory.
        let mut block = 1;
        for d in self.varying.clone().rev() {
            if self.space[d] > 1 && level.axes[d].stride != block as i64 {
                return None;
            }
            block *= self.space[d];
            if self.start % block + self.len <= block {
                break;
            }
        }
        let mut offset = level.offset.value(self.data);
        let mut rest = self.start;
        for d in (0..self.space.len()).rev() {
            let coordinate = match self.varying.contains(&d) {
                true => {
                    let coordinate = rest % self.space[d];
                    rest /= self.space[d];
                    coordinate
                }
                false => self.fixed[d],
            };
            offset += level.axes[d].stride * coordinate as i64;
        }
        Some(offset as usize)
    }

    /// Is it the same element at all points?
    pub fn is_one(&self, access: &Access) -> bool {
        if self.len == 0 || !access.is_strided() {
            return false;
        }
        let axes = &access.levels[0].axes;
        let stays = |d: usize| self.space[d] <= 1 || axes[d].stride == 0;
        if self.repeated.is_some() && !(self.varying.end..self.space.len()).all(stays) {
            return false;
        }
        let len = self.repeated.as_ref().map_or(self.len, |places| self.len / places.len());
        let mut block = 1;
        for d in self.varying.clone().rev() {
            if !stays(d) {
                return false;
            }
            block *= self.space[d];
            if self.start % block + len <= block {
                break;
            }
        }
        true
    }

    /// How many of the next `run` points along dimension `last` lie at equal distances, or all nowhere: their number,
    /// the first one's offset, and the distance.
    fn stretch(&self, access: &Access, coordinates: &[usize], last: usize, run: usize) -> (usize, i64, i64) {
        let offset = access.locate(coordinates, self.data).map_or(NOWHERE, |offset| offset as i64);
        let (len, stride) = match &access.levels[..] {
            [level] => self.along(&level.axes[last], coordinates[last], run),
            [outer, inner] if outer.axes.iter().all(|axis| axis.hole.is_none()) => {
                let terms = outer.axes.iter().zip(coordinates);
                let number = terms.map(|(axis, &c)| axis.stride * c as i64).sum::<i64>()
                    + outer.offset.value(self.data);
                // The innermost dimension that has more than one coordinate.
                let moving = inner.axes.iter().rev().find(|axis| axis.size != 1 || axis.hole.is_some());
                match (outer.axes[last].stride, moving) {
                    (0, _) => (run, 0),
                    (1, Some(axis)) => {
                        let c = number as usize % axis.size;
                        self.along(axis, c, run.min(axis.size - c))
                    }
                    _ => (1, 0),
                }
            }
            _ => (1, 0),
        };
        (len, offset, if offset == NOWHERE { 0 } else { stride })
    }

    /// How many of the next `run` points along an axis are all in its pad or all outside it, and their distance.
    fn along(&self, axis: &Axis, c: usize, run: usize) -> (usize, i64) {
        let Some(Hole { start, step, len }) = axis.hole.as_deref() else { return (run, axis.stride) };
        if *step != 1 {
            return (1, 0);
        }
        let (c, first) = (c as i64, start.value(self.data));
        let next_edge = [first, first + *len as i64].into_iter().find(|&edge| c < edge);
        (next_edge.map_or(run, |edge| run.min((edge - c) as usize)), axis.stride)
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
                _ if offset == NOWHERE => to.fill(T::default()),
                0 => to.fill(convert(from[offset as usize])),
                1 => {
                    let from = &from[offset as usize..offset as usize + len];
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = convert(from));
                }
                #[cfg(not(target_arch = "wasm32"))]
                -1 => {
                    let from = &from[offset as usize + 1 - len..=offset as usize];
                    to.iter_mut().zip(from.iter().rev()).for_each(|(to, &from)| *to = convert(from));
                }
                _ => to.iter_mut().enumerate().for_each(|(k, to)| {
                    *to = convert(from[(offset + k as i64 * stride) as usize]);
                }),
            }
        });
    }
}
