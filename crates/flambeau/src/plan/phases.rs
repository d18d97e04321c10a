//! The pass that finds phases: kernels that hold several reductions over the same coordinates, such as softmax and layer
//! norm, go over their rows more than once.

use super::space::Space;
use crate::ir::kernel::{Fused, Inst, InstKind, Output, Phase};

impl Fused {
    /// Makes the kernel one of phases unless its two stages are enough: it has one reduction, nothing but the
    /// reduction takes values from the one stage to the other, and its results are per row.
    pub(super) fn find_phases(&mut self, space: &Space) {
        let Some(rows) = &space.rows else { return };
        let reductions =
            self.insts.iter().filter(|inst| matches!(inst.kind, InstKind::Reduce { .. })).count();
        let crosses = |inst: &Inst| {
            let reads_inner = inst.inner || matches!(inst.kind, InstKind::Reduce { .. });
            inst.args().iter().any(|&arg| self.insts[arg].inner != reads_inner)
        };
        // In rows of one element all values are per row, but not all results lie in the order of the rows.
        let is_full = |output: &Output| self.insts[output.inst].inner || !space.is_per_row(&output.access);
        let full = self.outputs.iter().any(is_full);
        if !rows.broadcast && reductions <= 1 && !full && !self.insts.iter().any(crosses) {
            return;
        }
        for position in 0..self.insts.len() {
            let inst = &self.insts[position];
            let still = match &inst.kind {
                InstKind::Constant { access, .. } if !access.has_zeros() => true,
                kind => kind.access().is_none_or(|access| space.is_row_invariant(access)),
            };
            let inner = !still || inst.args().iter().any(|&arg| self.insts[arg].inner);
            self.insts[position].inner = inner && !matches!(inst.kind, InstKind::Reduce { .. });
        }
        for output in &mut self.outputs {
            output.per_element = self.insts[output.inst].inner || !space.is_per_row(&output.access);
        }
        self.phases = self.in_phases();
    }

    fn in_phases(&self) -> Vec<Phase> {
        let mut levels = Vec::with_capacity(self.insts.len());
        for inst in &self.insts {
            let above = inst.args().iter().map(|&arg| levels[arg]).max().unwrap_or(0);
            levels.push(above + matches!(inst.kind, InstKind::Reduce { .. }) as usize);
        }
        let last = levels.iter().copied().max().unwrap_or(0);
        let phase = |level: usize| {
            let mut phase = Phase::default();
            for (position, inst) in self.insts.iter().enumerate() {
                match inst.kind {
                    InstKind::Reduce { .. } if levels[position] == level + 1 => {
                        phase.reductions.push(position)
                    }
                    InstKind::Reduce { .. } => {}
                    _ if !inst.inner && levels[position] == level => phase.before.push(position),
                    _ => {}
                }
            }
            let stored = self.outputs.iter().enumerate();
            let stored = stored.filter(|(_, output)| output.per_element && levels[output.inst] == level);
            phase.outputs = stored.map(|(number, _)| number).collect();
            let results = phase.outputs.iter().map(|&number| self.outputs[number].inst);
            let fed =
                phase.reductions.iter().flat_map(|&reduction| self.insts[reduction].args().iter().copied());
            phase.insts = self.inner_slice(results.chain(fed), &[]);
            phase
        };
        (0..=last).map(phase).collect()
    }

    /// The instructions per element that these need, themselves among them, except what is known and what only that
    /// needs; in order.
    pub fn inner_slice(&self, wanted: impl Iterator<Item = usize>, known: &[usize]) -> Vec<usize> {
        let mut needed = vec![false; self.insts.len()];
        let mut stack: Vec<usize> = wanted.collect();
        while let Some(position) = stack.pop() {
            let inst = &self.insts[position];
            if inst.inner && !needed[position] && !known.contains(&position) {
                needed[position] = true;
                stack.extend(inst.args());
            }
        }
        (0..self.insts.len()).filter(|&position| needed[position]).collect()
    }
}
