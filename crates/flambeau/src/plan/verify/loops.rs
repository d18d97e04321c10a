//! A value is used only inside the loop that defines it: the stages of a kernel with one reduction, and the phases of one
//! that goes over its rows more than once.

use super::Verdict;
use super::access::is_row_invariant;
use crate::ir::kernel::{Fused, Inst, InstKind, Phase};

pub(super) fn are_legal(fused: &Fused) -> Verdict {
    what_is_outside_depends_on_the_row_only(fused)?;
    match fused.phases.is_empty() {
        true => stages(fused),
        false => {
            phases(fused)?;
            each_has_one_phase(fused)
        }
    }
}

fn is_reduction(inst: &Inst) -> bool {
    matches!(inst.kind, InstKind::Reduce { .. })
}

/// What does not run for every element of a row finds the same along it.
fn what_is_outside_depends_on_the_row_only(fused: &Fused) -> Verdict {
    let depends = |inst: &Inst| match &inst.kind {
        InstKind::Constant { access, .. } if !access.has_zeros() => false,
        kind => kind.access().is_some_and(|access| !is_row_invariant(access, fused.kept)),
    };
    match fused.insts.iter().position(|inst| !inst.inner && depends(inst)) {
        Some(position) => {
            Err(format!("instruction {position} runs once per row and depends on the place in it"))
        }
        None => Ok(()),
    }
}

/// Two stages: only the reduction takes a value from inside its loop to outside, and nothing takes one in.
fn stages(fused: &Fused) -> Verdict {
    let insts = &fused.insts;
    if insts.iter().filter(|inst| is_reduction(inst)).count() > 1 {
        return Err("several reductions without phases".into());
    }
    for (position, inst) in insts.iter().enumerate() {
        let reads_inside = inst.inner || is_reduction(inst);
        if let Some(&arg) = inst.args().iter().find(|&&arg| insts[arg].inner != reads_inside) {
            return Err(format!("instruction {position} uses {arg} outside of the loop that defines it"));
        }
    }
    match fused.outputs.iter().find(|output| insts[output.inst].inner) {
        Some(output) => Err(format!("{:?} is stored from inside the reduction's loop", output.place)),
        None => Ok(()),
    }
}

/// Phases in order: what one needs is there once per row, or is computed in it for every element.
fn phases(fused: &Fused) -> Verdict {
    let insts = &fused.insts;
    let mut per_row = vec![false; insts.len()];
    for (number, phase) in fused.phases.iter().enumerate() {
        let say = |what: &str, position: usize| format!("phase {number}: {what} {position} is not there");
        for &position in &phase.before {
            if insts[position].inner {
                return Err(format!("phase {number}: instruction {position} runs before it, not in it"));
            }
            if let Some(&arg) = insts[position].args().iter().find(|&&arg| !per_row[arg]) {
                return Err(say("per row, instruction", arg));
            }
            per_row[position] = true;
        }
        let known = per_element(fused, phase, &per_row, number)?;
        for &reduction in &phase.reductions {
            if let Some(&arg) = insts[reduction].args().iter().find(|&&arg| !known[arg]) {
                return Err(say("the reduced instruction", arg));
            }
        }
        let mut stored = phase.outputs.iter().map(|&output| fused.outputs[output].inst);
        if let Some(missing) = stored.find(|&inst| !known[inst]) {
            return Err(say("the stored instruction", missing));
        }
        phase.reductions.iter().for_each(|&reduction| per_row[reduction] = true);
    }
    match fused.outputs.iter().find(|output| !output.per_element && !per_row[output.inst]) {
        Some(output) => Err(format!("{:?} is stored once per row, but not computed so", output.place)),
        None => Ok(()),
    }
}

/// What is known for every element of a row in a phase.
fn per_element(fused: &Fused, phase: &Phase, per_row: &[bool], number: usize) -> Result<Vec<bool>, String> {
    let mut known = per_row.to_vec();
    for &position in &phase.insts {
        if let Some(&arg) = fused.insts[position].args().iter().find(|&&arg| !known[arg]) {
            return Err(format!("phase {number}: instruction {position} needs {arg}, which is not there"));
        }
        known[position] = true;
    }
    Ok(known)
}

/// Every reduction is fed by one phase, and every result per element is stored by one.
fn each_has_one_phase(fused: &Fused) -> Verdict {
    let mut fed = vec![0; fused.insts.len()];
    let mut stored = vec![0; fused.outputs.len()];
    for phase in &fused.phases {
        phase.reductions.iter().for_each(|&reduction| fed[reduction] += 1);
        phase.outputs.iter().for_each(|&output| stored[output] += 1);
    }
    let wrongly_fed = |&position: &usize| fed[position] != usize::from(is_reduction(&fused.insts[position]));
    if let Some(position) = (0..fed.len()).find(wrongly_fed) {
        return Err(format!("{} phases feed instruction {position}", fed[position]));
    }
    let wrongly_stored = |&output: &usize| stored[output] != usize::from(fused.outputs[output].per_element);
    match (0..stored.len()).find(wrongly_stored) {
        Some(output) => {
            let place = fused.outputs[output].place;
            Err(format!("{} phases store {place:?}", stored[output]))
        }
        None => Ok(()),
    }
}
