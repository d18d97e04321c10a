//! The n-th allocation on the GPU fails, for every n of a training step: the error names sizes, parameters are as they were,
//! and training goes on.

use crate::session::Session;
use crate::work::Work;
use flambeau::prelude::*;

pub fn run(session: &mut Session) {
    let device = session.device();
    let (mut work, mut undisturbed) = (Work::new(&device), Work::new(&device));
    let (Ok(work), Ok(undisturbed)) = (&mut work, &mut undisturbed) else { return };
    let (mut step, mut nth, mut refused) = (0, 1, 0);
    while let Some(case) = session.next() {
        let before = work.parameters();
        device.refuse_allocation(nth);
        let outcome = session.guard(case, "a step", || work.step(step).and_then(|loss| loss.item_blocking()));
        device.refuse_allocation(0);
        match outcome {
            None => continue,
            Some(Err(Error::OutOfMemory { requested, .. })) if requested > 0 => {
                refused += 1;
                nth += 1;
                if work.parameters().ok() != before.ok() {
                    // The loss may be what could not be read: then the step itself was made.
                    let Ok(made) = undisturbed.step(step).and_then(|_| undisturbed.parameters()) else {
                        continue;
                    };
                    if work.parameters().ok() != Some(made) {
                        session.fail(case, format!("allocation {nth} of step {step} changed parameters"));
                    }
                    step += 1;
                }
                continue;
            }
            Some(Err(error)) => session.fail(case, format!("allocation {nth} of step {step}: {error}")),
            // The step has fewer allocations: the next one is attacked from its first.
            Some(Ok(_)) => nth = 1,
        }
        step += 1;
        if undisturbed.step(step - 1).is_err() || work.parameters().ok() != undisturbed.parameters().ok() {
            session.fail(case, format!("step {step} does not go on as one that nobody disturbed"));
        }
    }
    session.note(format!("{refused} allocations refused in {step} steps"));
}
