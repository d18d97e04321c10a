//! WGSL for reductions whose neighbours in memory belong to different results, such as the sums of a matrix's columns:
//! a workgroup takes 32 neighbouring results, so that its threads read neighbours, and 8 places of their rows at once.

use super::codegen::{Generator, ROW_THREADS};
use super::fold::Fold;
use crate::ir::kernel::{Fused, InstKind};
use std::fmt::Write;

/// Results of a workgroup.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
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
        let stride = |access: &crate::ir::access::Access, axis: usize| access.levels[0].axes[axis].stride;
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
        let tiles = outer.div_ceil(ABREAST);
        let parts = (BUSY / tiles).clamp(1, (inner / (LINES * SHORT)).max(1));
        Some(Columns { tiles, parts })
    }
}

impl Generator<'_> {
    pub fn columns_body(&mut self, columns: Columns) -> String {
        let kernel = self.kernel;
        let Some((position, arg, reduce)) = kernel.reduction() else {
            unreachable!("such kernels have a reduction");
        };
        let fold = Fold::new(reduce.kind, kernel.insts[arg].dtype, position, "", self);
        let length = kernel.inner_count().div_ceil(columns.parts);
        let [outer, count, tiles, parts, length] =
            [kernel.outer_count(), kernel.inner_count(), columns.tiles, columns.parts, length]
                .map(|size| self.params.size(size));
        let mut body = format!(
            "    let part = number / {tiles};
    let index = number % {tiles} * {ABREAST}u + thread % {ABREAST}u;
    let begin = part * {length};
    let end = select(begin, min(begin + {length}, {count}), index < {outer});
"
        );
        body += &self.coordinates("index", 0..kernel.kept, 1);
        body += &fold.declare(1);
        _ = writeln!(body, "    for (var r = begin + thread / {ABREAST}u; r < end; r += {LINES}u) {{");
        body += &self.coordinates("r", kernel.kept..kernel.space.len(), 2);
        body += &self.stage(true, 2);
        body += &fold.take(&format!("v{arg}"), "r", 2);
        body += "    }\n";
        body += &fold.share("thread", 1);
        _ = writeln!(body, "    workgroupBarrier();");
        _ = writeln!(body, "    for (var half = {}u; half > 0u; half /= 2u) {{", LINES / 2);
        _ = writeln!(body, "        if (thread < half * {ABREAST}u) {{");
        body += &fold.take_shared(&format!("thread + half * {ABREAST}u"), 3);
        body += &fold.share("thread", 3);
        _ = writeln!(body, "        }}\n        workgroupBarrier();\n    }}");
        _ = writeln!(body, "    if (thread < {ABREAST}u && index < {outer}) {{");
        if columns.parts > 1 {
            _ = writeln!(body, "        let number = index * {parts} + part;");
            body += &fold.store_part(2);
        } else {
            _ = writeln!(body, "    let v{position} = {};", fold.result());
            body += &self.stage(false, 1);
            body += &self.stores(1);
        }
        body + "    }\n"
    }
}
