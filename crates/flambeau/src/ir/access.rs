//! How a kernel finds an element: from the coordinates of its iteration space, through any chain of views, to an
//! offset into a buffer.
//!
//! An access is a list of levels. Each level turns coordinates into a number by strides; that number is the offset
//! (last level) or is unravelled into the coordinates of the next level. One level is enough for every chain without
//! a reshape that cuts across strides.

use crate::dtype::Scalar;
use crate::ir::View;
use crate::shape::Shape;
use smallvec::{SmallVec, smallvec};

/// constant + Σ coefficient · data\[index\].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct DataOffset {
    pub constant: i64,
    pub terms: SmallVec<[(u32, i64); 1]>,
}

impl DataOffset {
    pub fn is_zero(&self) -> bool {
        self.constant == 0 && self.terms.is_empty()
    }

    pub fn value(&self, data: &[Scalar]) -> i64 {
        self.constant + self.terms.iter().map(|&(index, c)| c * data[index as usize].to_i64()).sum::<i64>()
    }

    fn add_datum(&mut self, index: u32, coefficient: i64) {
        match self.terms.iter_mut().find(|(known, _)| *known == index) {
            Some((_, known)) => *known += coefficient,
            None => self.terms.push((index, coefficient)),
        }
    }
}

/// Only every `step`-th coordinate from `start` on has an element, `len` of them; the others read as zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Hole {
    pub start: DataOffset,
    pub step: usize,
    pub len: usize,
}

/// One dimension of a level.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    pub size: usize,
    pub stride: i64,
    /// Behind a pointer: few axes have one, and accesses are copied much.
    pub hole: Option<Box<Hole>>,
}

/// A strided map from coordinates to a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Level {
    pub axes: SmallVec<[Axis; 6]>,
    pub offset: DataOffset,
}

impl Level {
    fn contiguous(shape: &[usize]) -> Level {
        let strides = Shape::new(shape).strides();
        let axes = shape.iter().zip(strides).map(|(&size, stride)| Axis { size, stride, hole: None });
        Level { axes: axes.collect(), offset: DataOffset::default() }
    }

    fn shape(&self) -> Shape {
        self.axes.iter().map(|axis| axis.size).collect()
    }

    fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for axis in self.axes.iter().rev() {
            if axis.hole.is_some() || (axis.size != 1 && axis.stride != expected) {
                return false;
            }
            expected *= axis.size as i64;
        }
        self.offset.is_zero()
    }

    /// The same map over another shape of as many elements, if strides can express it.
    fn reshaped(&self, shape: &[usize]) -> Option<Level> {
        let mut old = self.axes.iter().filter(|axis| axis.size != 1 || axis.hole.is_some()).peekable();
        let mut axes: SmallVec<[Axis; 6]> = SmallVec::new();
        let mut d = 0;
        while d < shape.len() || old.peek().is_some() {
            if d < shape.len() && shape[d] == 1 && old.peek().is_none_or(|axis| axis.size != 1) {
                axes.push(Axis { size: 1, stride: 0, hole: None });
                d += 1;
                continue;
            }
            let first = old.next()?;
            let mut group = vec![first];
            let (mut have, mut want) = (first.size, *shape.get(d)?);
            let begin = d;
            d += 1;
            while have != want {
                if have < want {
                    let next = old.next()?;
                    have *= next.size;
                    group.push(next);
                } else {
                    want *= *shape.get(d)?;
                    d += 1;
                }
            }
            if let ([only], 1) = (&group[..], d - begin) {
                axes.push((*only).clone());
                continue;
            }
            let joined = group.windows(2).all(|pair| pair[0].stride == pair[1].stride * pair[1].size as i64);
            if !joined || group.iter().any(|axis| axis.hole.is_some()) {
                return None;
            }
            let mut stride = group[group.len() - 1].stride;
            let split = axes.len();
            for &size in shape[begin..d].iter().rev() {
                axes.insert(split, Axis { size, stride, hole: None });
                stride *= size as i64;
            }
        }
        Some(Level { axes, offset: self.offset.clone() })
    }
}

/// A map from coordinates to an offset, or to nothing where a pad's zeros are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Access {
    /// From the reader's coordinates to the buffer.
    pub levels: SmallVec<[Level; 1]>,
}

impl Access {
    /// Every element of a contiguous buffer, in order.
    pub fn contiguous(shape: &Shape) -> Access {
        Access { levels: smallvec![Level::contiguous(shape)] }
    }

    /// The coordinate along one dimension, as an offset.
    pub fn coordinate(shape: &Shape, dim: usize) -> Access {
        let mut access = Access::contiguous(shape);
        for (d, axis) in access.levels[0].axes.iter_mut().enumerate() {
            axis.stride = (d == dim) as i64;
        }
        access
    }

    /// Reads this access through one more view, whose result has shape `out`. `data_start` is the index of the view's
    /// first number in the plan's data.
    pub fn through(mut self, view: &View, out: &Shape, data_start: u32) -> Access {
        let level = &mut self.levels[0];
        match view {
            View::Reshape => {
                let reshaped =
                    if out.numel() == 0 { Some(Level::contiguous(out)) } else { level.reshaped(out) };
                match reshaped {
                    Some(reshaped) => *level = reshaped,
                    None => self.levels.insert(0, Level::contiguous(out)),
                }
            }
            View::Permute(order) => {
                level.axes = order.iter().map(|&from| level.axes[from].clone()).collect();
            }
            View::Expand => {
                let changed = |axis: &Axis, size: usize| axis.size == 1 && size != 1;
                if level
                    .axes
                    .iter()
                    .zip(out.iter())
                    .any(|(axis, &size)| changed(axis, size) && axis.hole.is_some())
                {
                    return self.fresh_level().through(view, out, data_start);
                }
                for (axis, &size) in level.axes.iter_mut().zip(out.iter()) {
                    if changed(axis, size) {
                        (axis.size, axis.stride) = (size, 0);
                    }
                }
            }
            View::Slice { dim, step } => {
                let axis = &mut level.axes[*dim];
                match &mut axis.hole {
                    None => {
                        level.offset.add_datum(data_start, axis.stride);
                        axis.stride *= *step as i64;
                    }
                    Some(hole) if *step == 1 => hole.start.add_datum(data_start, -1),
                    Some(_) => return self.fresh_level().through(view, out, data_start),
                }
                axis.size = out[*dim];
            }
            View::Embed { dim, step } => {
                let axis = &mut level.axes[*dim];
                if axis.hole.is_some() {
                    return self.fresh_level().through(view, out, data_start);
                }
                let start = DataOffset { constant: 0, terms: smallvec![(data_start, 1)] };
                axis.hole = Some(Box::new(Hole { start, step: *step, len: axis.size }));
                axis.size = out[*dim];
            }
            View::Window { dim, step } => {
                let axis = &mut level.axes[*dim];
                if axis.hole.is_some() {
                    return self.fresh_level().through(view, out, data_start);
                }
                let element = Axis { size: out[out.rank() - 1], stride: axis.stride, hole: None };
                axis.stride *= *step as i64;
                axis.size = out[*dim];
                level.axes.push(element);
            }
        }
        self
    }

    fn fresh_level(mut self) -> Access {
        let shape = self.levels[0].shape();
        self.levels.insert(0, Level::contiguous(&shape));
        self
    }

    /// Does it visit the buffer from its start, in order?
    pub fn is_contiguous(&self) -> bool {
        self.levels.len() == 1 && self.levels[0].is_contiguous()
    }

    /// Can it be said with strides and an offset alone?
    pub fn is_strided(&self) -> bool {
        self.levels.len() == 1 && !self.has_zeros()
    }

    /// Do some coordinates have no element?
    pub fn has_zeros(&self) -> bool {
        self.levels.iter().any(|level| level.axes.iter().any(|axis| axis.hole.is_some()))
    }

    /// The offset of the element at these coordinates, or None in a pad.
    pub fn locate(&self, coordinates: &[usize], data: &[Scalar]) -> Option<usize> {
        let mut coordinates: SmallVec<[usize; 6]> = SmallVec::from_slice(coordinates);
        let mut number = 0i64;
        for (depth, level) in self.levels.iter().enumerate() {
            if depth > 0 {
                coordinates = smallvec![0; level.axes.len()];
                for (d, axis) in level.axes.iter().enumerate().rev() {
                    coordinates[d] = number as usize % axis.size;
                    number /= axis.size as i64;
                }
            }
            number = level.offset.value(data);
            for (axis, &c) in level.axes.iter().zip(&coordinates) {
                let mut c = c as i64;
                if let Some(Hole { start, step, len }) = axis.hole.as_deref() {
                    c -= start.value(data);
                    let step = *step as i64;
                    if c < 0 || c % step != 0 || c / step >= *len as i64 {
                        return None;
                    }
                    c /= step;
                }
                number += c * axis.stride;
            }
        }
        Some(number as usize)
    }
}

/// Joins neighbouring dimensions of an iteration space wherever every access allows it, so that kernels do less
/// index arithmetic. `fixed` is a boundary (kept | reduced) that must stay.
pub(crate) fn collapse(space: &mut Vec<usize>, fixed: usize, accesses: &mut [&mut Access]) -> usize {
    let mut boundary = fixed;
    let mut d = 0;
    while d < space.len() {
        let mergeable = |axes: &[Axis]| {
            let (outer, inner) = (&axes[d], &axes[d + 1]);
            outer.hole.is_none()
                && inner.hole.is_none()
                && (outer.size == 1 || inner.size == 1 || outer.stride == inner.stride * inner.size as i64)
        };
        let removable =
            space[d] == 1 && accesses.iter().all(|access| access.levels[0].axes[d].hole.is_none());
        if removable {
            space.remove(d);
            accesses.iter_mut().for_each(|access| drop(access.levels[0].axes.remove(d)));
            boundary -= (d < boundary) as usize;
        } else if d + 1 < space.len()
            && d + 1 != boundary
            && accesses.iter().all(|access| mergeable(&access.levels[0].axes))
        {
            space[d + 1] *= space[d];
            space.remove(d);
            for access in accesses.iter_mut() {
                let axes = &mut access.levels[0].axes;
                let outer = axes.remove(d);
                if axes[d].size == 1 {
                    axes[d].stride = outer.stride;
                }
                axes[d].size *= outer.size;
            }
            boundary -= (d < boundary) as usize;
        } else {
            d += 1;
        }
    }
    boundary
}
