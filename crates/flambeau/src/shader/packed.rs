//! WGSL for kernels of rows in compact texts: one text for rows of every length.
//!
//! How many threads share a row is a number of the block, `team`; the rows of as many teams as 256 threads make share a
//! workgroup. Each thread takes so many neighbours at a time as the text that takes over reads in vectors, and teams join their
//! results in the order of [`Shader::join`], so that sums have the same order:
//!
//! ```text
//! member q of a team, lanes neighbours at a time:  r = (q + i · team) · lanes + l,   i = 0, 1, …,   l < lanes
//! ```

use super::codegen::Generator;
use super::fold::Fold;
use super::rows::RowShape;
use super::workgroup::PARTIALS;
use super::{Code, Shader, ZERO, line, open};

/// Threads of a workgroup.
pub(super) const THREADS: usize = 256;

impl Generator<'_> {
    /// All phases, one after the other.
    pub fn packed_body(&mut self, code: &mut Code, shape: &RowShape, lanes: usize) {
        let kernel = self.kernel;
        let [team, lanes, units, rows] =
            [shape.threads, lanes, kernel.inner_count() / lanes, kernel.outer_count()]
                .map(|size| self.shader.params.size(size));
        line!(code, "let member = thread % {team};");
        line!(code, "let first = thread - member;");
        line!(code, "let partials = select({team}, {PARTIALS}u, {team} > {}u);", 2 * PARTIALS);
        line!(code, "let row = number * ({THREADS}u / {team}) + thread / {team};");
        // All threads meet at barriers, those without a row too.
        line!(code, "let index = min(row, {rows} - 1u);");
        line!(code, "let end = select(0u, {units}, row < {rows});");
        self.coordinates(code, "index", 0..kernel.kept);
        let last =
            kernel.phases.iter().rposition(|phase| !phase.reductions.is_empty() || !phase.outputs.is_empty());
        let after = last.map_or(0, |last| last + 1);
        for (number, phase) in kernel.phases[..after].iter().enumerate() {
            phase.before.iter().for_each(|&position| self.statement(position, code));
            let folds: Vec<Fold> =
                phase.reductions.iter().map(|&reduction| self.fold_of(reduction)).collect();
            folds.iter().for_each(|fold| fold.declare(code));
            open!(code, "for (var q = member; q < end; q += {team}) ");
            open!(code, "for (var l = {ZERO}; l < {lanes}; l++) ");
            line!(code, "let r = q * {lanes} + l;");
            self.piece(code, shape, number, 0, &folds);
            code.close();
            code.close();
            if !folds.is_empty() {
                self.shader.join_teams(code, &folds, &team);
            }
            for (fold, &reduction) in folds.iter().zip(&phase.reductions) {
                line!(code, "let v{reduction} = {};", fold.result(kernel.insts[reduction].dtype));
            }
        }
        open!(code, "if (member == 0u && row < {rows}) ");
        kernel.phases[after..]
            .iter()
            .flat_map(|phase| &phase.before)
            .for_each(|&inst| self.statement(inst, code));
        for (number, _) in kernel.outputs.iter().enumerate().filter(|(_, output)| !output.per_element) {
            self.store_one(number, code);
        }
        code.close();
    }
}

impl Shader {
    /// Joins the results of each team's threads; afterwards all of them have the joined one.
    fn join_teams(&mut self, code: &mut Code, folds: &[Fold], team: &str) {
        folds.iter().for_each(|fold| fold.memory(THREADS, self));
        folds.iter().for_each(|fold| fold.share("thread", code));
        line!(code, "workgroupBarrier();");
        open!(code, "if (member < partials) ");
        open!(code, "for (var k = partials; k < {team}; k += partials) ");
        folds.iter().for_each(|fold| fold.take_shared("thread + k", code));
        code.close();
        folds.iter().for_each(|fold| fold.share("thread", code));
        code.close();
        line!(code, "workgroupBarrier();");
        folds.iter().for_each(|fold| fold.restart("first", code));
        open!(code, "for (var k = 1u + {ZERO}; k < partials; k++) ");
        folds.iter().for_each(|fold| fold.take_shared("first + k", code));
        code.close();
    }
}
