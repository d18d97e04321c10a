//! The iteration space of a kernel in the making, and which reductions it can hold.
//!
//! A kernel's space is the coordinates it runs over. A reduction splits them into kept ones, which say the row, and
//! reduced ones, which say the place in the row. Another reduction may join where its result is needed once per row:
//! the kernel then goes over its rows in phases. Nothing here knows an op by name; what decides is which coordinates
//! a value depends on.

use super::fuse::{Paths, Step};
use super::graph::Graph;
use crate::host::{decreasing, sorted_by};
use crate::ir::access::{Access, Axis};
use crate::op::{Op, View};
use crate::shape::{Shape, product};
use smallvec::SmallVec;

/// The longest row that is worth a kernel of several phases whatever the number of rows: a workgroup keeps it in
/// registers.
const SHORT_ROW: usize = 8192;
/// Rows enough to fill a device with a workgroup each.
const MANY_ROWS: usize = 1024;
/// Rows enough to fill a device with a thread each.
const ROWS_FOR_THREADS: usize = 4096;
/// Elements up to which launching a kernel costs more than what it reads in a bad order.
const FEW_ELEMENTS: usize = 1 << 16;

/// The coordinates of a kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Space {
    pub sizes: Vec<usize>,
    /// How many of the first axes the kernel's results span.
    pub outer: usize,
    pub rows: Option<Rows>,
}

/// How a space falls into rows.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// The reduced axes, in order.
    pub reduced: Vec<usize>,
    /// Do the kernel's results have the reduced axes too? (They come from a reduction's users, not from itself.)
    pub broadcast: bool,
    /// Are neighbours in a row neighbours in memory?
    along: bool,
}

impl Space {
    pub fn new(shape: &Shape) -> Space {
        Space { sizes: shape.to_vec(), outer: shape.rank(), rows: None }
    }

    fn reduced(&self) -> &[usize] {
        self.rows.as_ref().map_or(&[], |rows| &rows.reduced)
    }

    /// All axes: the kept ones, then the reduced ones; and how many are kept.
    pub fn order(&self) -> (SmallVec<[usize; 6]>, usize) {
        let mut order: SmallVec<[usize; 6]> =
            (0..self.sizes.len()).filter(|axis| !self.reduced().contains(axis)).collect();
        let kept = order.len();
        order.extend_from_slice(self.reduced());
        (order, kept)
    }

    pub fn numel(&self) -> usize {
        product(&self.sizes)
    }

    fn row_length(&self) -> usize {
        product(self.reduced().iter().map(|&axis| self.sizes[axis]))
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        let (order, kept) = self.order();
        product(order[..kept].iter().map(|&axis| self.sizes[axis]))
    }

    /// May the kernel have several phases, or results per element of its rows? Not if its rows are so few and long
    /// that they must be shared among workgroups.
    pub fn takes_phases(&self) -> bool {
        let Some(rows) = &self.rows else { return false };
        let (length, count) = (self.row_length(), self.numel());
        let number = count / length.max(1);
        let fills = match rows.along {
            true => length <= SHORT_ROW || number >= MANY_ROWS,
            false => length <= SHORT_ROW && (number >= ROWS_FOR_THREADS || count <= FEW_ELEMENTS),
        };
        count > 0 && fills
    }

    /// The space with a reduction whose result is used at the kernel's own coordinates: its reduced coordinates
    /// become new axes.
    pub fn reducing(&self, graph: &Graph, reduction: u32) -> Space {
        let (shape, dims) = reduction_of(graph, reduction);
        let mut sizes = self.sizes.clone();
        sizes.extend(dims.iter().map(|&dim| shape[dim]));
        let reduced = (self.sizes.len()..sizes.len()).collect();
        let along = last_axis(shape).is_none_or(|last| dims.contains(&last));
        Space { sizes, outer: self.outer, rows: Some(Rows { reduced, broadcast: false, along }) }
    }

    /// The space with a reduction as one more phase over the rows, where its result, in this shape, is used at a
    /// path; None if the path does not need one result per row, or rows do not pay.
    pub fn with_phase(
        &self,
        graph: &Graph,
        paths: &Paths,
        reduction: u32,
        path: u32,
        result: &Shape,
    ) -> Option<Space> {
        let (shape, dims) = reduction_of(graph, reduction);
        let length = product(dims.iter().map(|&dim| shape[dim]));
        let count = shape.numel();
        if count == 0 {
            return None;
        }
        let space = match &self.rows {
            Some(_) if self.row_length() == length && self.numel() == count => {
                let access = self.climb(graph, paths, Access::contiguous(result), path);
                self.is_per_row(&access).then(|| self.clone())
            }
            Some(_) => None,
            None if self.numel() == count => {
                let refined = refine(&self.sizes, shape);
                [Some(self.sizes.clone()), refined].into_iter().flatten().find_map(|sizes| {
                    let mut space = Space { outer: sizes.len(), sizes, rows: None };
                    let access = space.climb(graph, paths, Access::contiguous(result), path);
                    let [level] = &access.levels[..] else { return None };
                    let repeated = |&axis: &usize| level.axes[axis].stride == 0 && level.axes[axis].size > 1;
                    let reduced: Vec<usize> = (0..space.sizes.len()).filter(repeated).collect();
                    let along = last_axis(&space.sizes).is_none_or(|last| reduced.contains(&last));
                    space.rows = Some(Rows { reduced, broadcast: true, along });
                    (space.row_length() == length && space.is_per_row(&access)).then_some(space)
                })
            }
            None => None,
        };
        space.filter(Space::takes_phases)
    }

    /// Does the access find the rows' elements in order, one for each row?
    pub fn is_per_row(&self, access: &Access) -> bool {
        let [level] = &access.levels[..] else { return false };
        let (order, kept) = self.order();
        let axes: Vec<&Axis> = order.iter().map(|&axis| &level.axes[axis]).collect();
        let still = |axis: &&Axis| axis.hole.is_none() && (axis.size == 1 || axis.stride == 0);
        level.offset.is_zero() && axes[kept..].iter().all(still) && is_dense(axes[..kept].iter().copied())
    }

    /// Does the access find every element of a buffer of this size exactly once?
    pub fn is_per_element(&self, access: &Access) -> bool {
        let [level] = &access.levels[..] else { return false };
        let axes: Vec<&Axis> = level.axes.iter().filter(|axis| axis.size != 1).collect();
        let axes = sorted_by(axes, |axis| decreasing(axis.stride));
        level.offset.is_zero()
            && level.axes.iter().all(|axis| axis.hole.is_none())
            && is_dense(axes.into_iter())
    }

    /// Does the value stay the same along a row?
    pub fn is_row_invariant(&self, access: &Access) -> bool {
        self.reduced().iter().all(|&axis| {
            let axis = &access.levels[0].axes[axis];
            axis.hole.is_none() && (axis.size == 1 || axis.stride == 0)
        })
    }

    /// Extends an access from a node's own coordinates up to those of the kernel.
    pub fn climb(&self, graph: &Graph, paths: &Paths, mut access: Access, mut path: u32) -> Access {
        loop {
            match paths.step(path) {
                Step::View { parent, view } => {
                    access = super::reads::through(graph, access, view);
                    path = parent;
                }
                Step::Memory => unreachable!("only a gather's source has this path"),
                Step::Outer => {
                    access = access.through(&View::Reshape, &Shape::new(&self.sizes[..self.outer]), 0);
                    let unused =
                        self.sizes[self.outer..].iter().map(|&size| Axis { size, stride: 0, hole: None });
                    access.levels[0].axes.extend(unused);
                    return access;
                }
                Step::Inner(reduction) => {
                    let (shape, dims) = reduction_of(graph, reduction);
                    let kept = (0..shape.rank()).filter(|dim| !dims.contains(dim));
                    let order: SmallVec<[usize; 6]> = kept.chain(dims.iter().copied()).collect();
                    let permuted: Shape = order.iter().map(|&dim| shape[dim]).collect();
                    let (axes, _) = self.order();
                    let full: Shape = axes.iter().map(|&axis| self.sizes[axis]).collect();
                    let mut back: SmallVec<[usize; 6]> = SmallVec::from_elem(0, axes.len());
                    axes.iter().enumerate().for_each(|(from, &to)| back[to] = from);
                    let access = access.through(&View::Permute(order), &permuted, 0);
                    let access = access.through(&View::Reshape, &full, 0);
                    return access.through(&View::Permute(back), &Shape::new(&self.sizes), 0);
                }
            }
        }
    }
}

/// Is each axis as long a step as all after it together?
pub(super) fn is_dense<'a>(axes: impl DoubleEndedIterator<Item = &'a Axis>) -> bool {
    let mut expected = 1;
    axes.rev().all(|axis| {
        let fits = axis.hole.is_none() && (axis.size == 1 || axis.stride == expected);
        expected *= axis.size as i64;
        fits
    })
}

/// Do two accesses find the same elements? (May say no where they do.)
pub(crate) fn same_elements(a: &Access, b: &Access) -> bool {
    let same_axis = |(a, b): (&Axis, &Axis)| {
        let still = a.size == 1 && a.hole.is_none();
        a.size == b.size && a.hole == b.hole && (a.stride == b.stride || still)
    };
    a.levels.len() == b.levels.len()
        && a.levels.iter().zip(&b.levels).all(|(a, b)| {
            a.offset == b.offset && a.axes.len() == b.axes.len() && a.axes.iter().zip(&b.axes).all(same_axis)
        })
}

fn last_axis(sizes: &[usize]) -> Option<usize> {
    sizes.iter().rposition(|&size| size > 1)
}

/// The shape that a reduction reduces, and its dimensions.
fn reduction_of(graph: &Graph, reduction: u32) -> (&Shape, &[usize]) {
    let node = &graph.nodes[reduction as usize];
    let dims: &[usize] = match &node.op {
        Some(Op::Reduce(reduce)) => &reduce.dims,
        _ => &[],
    };
    (&graph.meta(node.inputs[0]).shape, dims)
}

/// The coarsest shape of which both are made by joining neighbours.
fn refine(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let bounds = |sizes: &[usize]| (0..sizes.len()).map(|d| product(&sizes[d + 1..])).collect::<Vec<_>>();
    let total = product(a);
    let mut bounds: Vec<usize> = bounds(a).into_iter().chain(bounds(b)).collect();
    bounds.push(total);
    bounds.sort_unstable();
    bounds.dedup();
    let sizes =
        bounds.windows(2).rev().map(|pair| pair[1].is_multiple_of(pair[0]).then(|| pair[1] / pair[0]));
    sizes.collect()
}
