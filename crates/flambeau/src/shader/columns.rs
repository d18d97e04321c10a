//! WGSL for reductions whose neighbours in memory belong to different results, such as the sums of a matrix's columns:
//! a workgroup takes 32 neighbouring results or 32 times four, so that its threads read neighbours, and 8 places of their
//! rows at once.

use super::codegen::{Generator, ROW_THREADS};
use super::fold::Fold;
use super::fours::{Elements, Fours};
use super::{Code, line, open};
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, InstKind};

/// Threads of a workgroup that read neighbours.
const ABREAST: usize = 32;
/// Threads that share a result.
const LINES: usize = ROW_THREADS / ABREAST;
/// Elements from which this pays.
const LARGE: usize = 1 << 15;
/// Workgroups that keep a large GPU busy.
const BUSY: usize = 1024;
/// Values of a thread below which another part would cost more than it saves.
const SHORT: usize = 8;

/// How results are shared out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    pub fours: Fours,
    /// Workgroups for all results.
    pub tiles: usize,
    /// Parts of each row, whose results a second pass joins.
    pub parts: usize,
}

impl Columns {
    /// Where a kernel's only reduction is such a one, and large.
    pub fn of(kernel: &Fused) -> Option<Columns> {
        kernel.reduction()?;
        let (outer, inner) = (kernel.outer_count(), kernel.inner_count());
        let last = kernel.kept.checked_sub(1)?;
        let stride = |access: &Access, axis: usize| access.levels[0].axes[axis].stride;
        let mut loads = kernel.insts.iter().filter(|inst| inst.inner).filter_map(|inst| match &inst.kind {
            InstKind::Load { access, .. } => {
                Some((stride(access, last), stride(access, kernel.space.len() - 1)))
            }
            _ => None,
        });
        let across = kernel.phases.is_empty() && loads.clone().any(|(kept, _)| kept == 1);
        let along = loads.any(|(_, reduced)| reduced == 1);
        if !across || along || kernel.space[last] < ABREAST || outer * inner < LARGE || inner < 4 * LINES {
            return None;
        }
        let in_fours = kernel.space[last].is_multiple_of(4) && outer >= 4 * ABREAST;
        let fours = if in_fours { Fours::of_inputs(kernel, last) } else { Fours::none(kernel) };
        let tiles = outer.div_ceil(ABREAST * fours.lanes());
        let parts = (BUSY / tiles).clamp(1, (inner / (LINES * SHORT)).max(1));
        Some(Columns { fours, tiles, parts })
    }
}

impl Generator<'_> {
    pub fn columns_body(&mut self, code: &mut Code, columns: &Columns) {
        let kernel = self.kernel;
        let Some((position, arg, reduce)) = kernel.reduction() else {
            unreachable!("such kernels have a reduction");
        };
        let lanes = columns.fours.lanes();
        let dtype = kernel.insts[arg].dtype;
        let suffix = |lane: usize| if lanes > 1 { lane.to_string() } else { String::new() };
        let folds: Vec<Fold> =
            (0..lanes).map(|lane| Fold::new(reduce.kind, dtype, &suffix(lane), &mut self.shader)).collect();
        let length = kernel.inner_count().div_ceil(columns.parts);
        let [outer, count, tiles, parts, length] =
            [kernel.outer_count(), kernel.inner_count(), columns.tiles, columns.parts, length]
                .map(|size| self.shader.params.size(size));
        line!(code, "let part = number / {tiles};");
        line!(code, "let index = number % {tiles} * {}u + thread % {ABREAST}u * {lanes}u;", ABREAST * lanes);
        line!(code, "let begin = part * {length};");
        line!(code, "let end = select(begin, min(begin + {length}, {count}), index < {outer});");
        self.coordinates(code, "index", 0..kernel.kept);
        folds.iter().for_each(|fold| fold.declare(code));
        let insts = self.inner_insts();
        let work = Elements {
            fours: &columns.fours,
            axis: Some(kernel.kept - 1),
            insts: &insts,
            known: &[],
            outputs: &[],
        };
        self.strided_loop(code, &format!("begin + thread / {ABREAST}u"), "end", LINES, |generator, code| {
            generator.coordinates(code, "r", kernel.kept..kernel.space.len());
            generator.elements(
                code,
                &work,
                |_, _, _| {},
                |_, code, lane| {
                    folds[lane.number].take(&format!("v{arg}"), "r", code);
                },
            );
        });
        self.shader.join_abreast(code, &folds, ROW_THREADS, ABREAST);
        open!(code, "if (thread < {ABREAST}u && index < {outer}) ");
        for (lane, fold) in folds.iter().enumerate() {
            if columns.parts > 1 {
                fold.store_part(&format!("(index + {lane}u) * {parts} + part"), code);
                continue;
            }
            open!(code, "");
            line!(code, "let first = index;");
            self.finish_row(code, &format!("first + {lane}u"), position, fold);
            code.close();
        }
        code.close();
    }
}
