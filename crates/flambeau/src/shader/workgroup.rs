//! A workgroup reduces: the running results of its threads are joined, in an order that never changes on a device.

use super::fold::Fold;
use super::{Code, Shader, line, open};

/// Threads that take in the results of all the others before all threads take in theirs: two barriers in all, because in
/// software each of them takes time for every thread.
pub(super) const PARTIALS: usize = 16;
/// Threads of a subgroup at most, as WebGPU has it.
const MAX_SUBGROUP: usize = 128;

impl Shader {
    /// Joins the results of all threads of a workgroup; afterwards every thread has the joined one.
    pub fn join(&mut self, code: &mut Code, folds: &[Fold], threads: usize) {
        folds.iter().for_each(|fold| fold.memory(threads, self));
        if self.takes_subgroups() {
            return join_subgroups(code, folds, threads);
        }
        folds.iter().for_each(|fold| fold.share("thread", code));
        line!(code, "workgroupBarrier();");
        let partials = if threads > 2 * PARTIALS { PARTIALS } else { threads };
        if partials < threads {
            open!(code, "if (thread < {partials}u) ");
            take_every(code, folds, partials, threads);
            folds.iter().for_each(|fold| fold.share("thread", code));
            code.close();
            line!(code, "workgroupBarrier();");
        }
        folds.iter().for_each(|fold| fold.restart("0u", code));
        open!(code, "for (var k = 1u; k < {partials}u; k++) ");
        folds.iter().for_each(|fold| fold.take_shared("k", code));
        code.close();
    }

    /// The same as text, for shaders that are written as such.
    pub fn joined(&mut self, folds: &[Fold], threads: usize) -> String {
        let mut code = Code::new();
        self.join(&mut code, folds, threads);
        code.text().to_string()
    }

    /// Joins the results of those threads whose numbers are the same modulo `abreast`; afterwards the first of them have
    /// the joined ones.
    pub fn join_abreast(&mut self, code: &mut Code, folds: &[Fold], threads: usize, abreast: usize) {
        folds.iter().for_each(|fold| fold.memory(threads, self));
        folds.iter().for_each(|fold| fold.share("thread", code));
        line!(code, "workgroupBarrier();");
        open!(code, "if (thread < {abreast}u) ");
        take_every(code, folds, abreast, threads);
        code.close();
    }
}

/// The threads of a subgroup join theirs by looking at each other's registers: neighbours, then pairs of them, and so on. Then
/// all threads take in the subgroups' results, after one barrier. The text holds for subgroups of all sizes; threads beyond
/// the workgroup's last are never looked at.
fn join_subgroups(code: &mut Code, folds: &[Fold], threads: usize) {
    let steps = std::iter::successors(Some(1), |step| Some(2 * step));
    for step in steps.take_while(|&step| step < threads.min(MAX_SUBGROUP)) {
        open!(code, "if ({step}u < subgroup_size) ");
        folds.iter().for_each(|fold| fold.take_neighbour(step, code));
        code.close();
    }
    open!(code, "if (lane == 0u) ");
    folds.iter().for_each(|fold| fold.share("subgroup", code));
    code.close();
    line!(code, "workgroupBarrier();");
    folds.iter().for_each(|fold| fold.restart("0u", code));
    open!(code, "for (var k = 1u; k < subgroups; k++) ");
    folds.iter().for_each(|fold| fold.take_shared("k", code));
    code.close();
}

/// Takes in what every so many threads further on have shared.
fn take_every(code: &mut Code, folds: &[Fold], step: usize, threads: usize) {
    open!(code, "for (var k = {step}u; k < {threads}u; k += {step}u) ");
    folds.iter().for_each(|fold| fold.take_shared("thread + k", code));
    code.close();
}
