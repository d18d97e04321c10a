//! Accesses in bounds, proved from sizes, strides and the starts that slices may have.

use super::Verdict;
use crate::dtype::Scalar;
use crate::ir::View;
use crate::ir::access::{Access, Axis, DataOffset, Level};
use crate::plan::graph::{Graph, GraphNode};
use crate::shape::product;
use rustc_hash::FxHashMap;

/// The starts that keep slices inside of what they slice: for numbers of the data, the smallest and the largest. Accesses
/// are proved for all of them, and every run's numbers are held to them.
pub(super) struct Starts(FxHashMap<u32, (i64, i64)>);

impl Starts {
    pub fn of(graph: &Graph) -> Starts {
        let mut starts: FxHashMap<u32, (i64, i64)> = FxHashMap::default();
        for node in &graph.nodes {
            if let Some((low, high)) = starts_of(graph, node) {
                // A number that several slices share suits all of them.
                let known = starts.entry(node.data_start).or_insert((low, high));
                *known = (known.0.max(low), known.1.min(high));
            }
        }
        Starts(starts)
    }

    /// Are these numbers such starts?
    pub fn allow(&self, data: &[Scalar]) -> Verdict {
        for (&number, &(low, high)) in &self.0 {
            let start = data.get(number as usize).map(|start| start.to_i64());
            if !start.is_some_and(|start| (low..=high).contains(&start)) {
                return Err(format!("d{number}, {start:?}, is no start between {low} and {high}"));
            }
        }
        Ok(())
    }

    /// The smallest and the largest value of an offset; None if it depends on other numbers than starts.
    fn range(&self, offset: &DataOffset) -> Option<(i64, i64)> {
        offset.terms.iter().try_fold((offset.constant, offset.constant), |(low, high), (number, factor)| {
            let (from, to) = self.0.get(number)?;
            let (a, b) = (factor * from, factor * to);
            Some((low + a.min(b), high + a.max(b)))
        })
    }
}

fn starts_of(graph: &Graph, node: &GraphNode) -> Option<(i64, i64)> {
    let &View::Slice { dim, step } = node.view()? else { return None };
    let (from, count) = (graph.meta(node.inputs[0]).shape[dim] as i64, node.outputs[0].shape[dim] as i64);
    let reach = (count - 1) * step as i64;
    (node.outputs[0].numel() > 0).then_some((-reach.min(0), from - 1 - reach.max(0)))
}

/// The coordinates that an access takes are those of a space.
pub(super) fn takes_coordinates(access: &Access, space: &[usize]) -> Verdict {
    let sizes = access.levels.first().map(|level| level.axes.iter().map(|axis| axis.size));
    match sizes.is_some_and(|sizes| sizes.eq(space.iter().copied())) {
        true => Ok(()),
        false => Err(format!("it takes other coordinates than {space:?}: {access:?}")),
    }
}

/// All coordinates lead to an element below `numel`, also `further` behind what the access says.
pub(super) fn stays_inside(access: &Access, starts: &Starts, numel: usize, further: i64) -> Verdict {
    for (depth, level) in access.levels.iter().enumerate() {
        if level.axes.iter().any(|axis| elements(axis) == 0) {
            return Ok(());
        }
        let next = access.levels.get(depth + 1);
        let (limit, further) = match next {
            Some(next) => (product(next.axes.iter().map(|axis| axis.size)), 0),
            None => (numel, further),
        };
        let (low, high) = span(level);
        let (low, high) = (low + further.min(0), high + further.max(0));
        let Some((first, last)) = starts.range(&level.offset) else {
            return Err(format!("level {depth} starts anywhere: {access:?}"));
        };
        let (low, high) = (low + first, high + last);
        if low < 0 || high >= limit as i64 {
            return Err(format!("level {depth} reaches from {low} to {high} of {limit}: {access:?}"));
        }
    }
    Ok(())
}

/// Is what an access finds the same along a row, whose coordinates come after the kept ones?
pub(super) fn is_row_invariant(access: &Access, kept: usize) -> bool {
    let still = |axis: &Axis| axis.hole.is_none() && (axis.size == 1 || axis.stride == 0);
    access.levels[0].axes[kept..].iter().all(still)
}

/// How many coordinates of an axis have an element, at most.
fn elements(axis: &Axis) -> usize {
    axis.hole.as_ref().map_or(axis.size, |hole| hole.len.min(axis.size))
}

/// The smallest and the largest number of a level, without its offset.
fn span(level: &Level) -> (i64, i64) {
    let reach = |axis: &Axis| axis.stride * (elements(axis) as i64 - 1).max(0);
    level.axes.iter().map(reach).fold((0, 0), |(low, high), reach| (low + reach.min(0), high + reach.max(0)))
}
