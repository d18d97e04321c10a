//! Memory over many steps, and over many shapes: after warming up it must not grow.

use crate::memory;
use crate::random::Random;
use crate::session::Session;
use crate::work::Work;
use flambeau::prelude::*;

/// Cases between two looks at the memory.
const WINDOW: u64 = 100;
/// By how much resident memory may grow after the first half of a run, in parts of it; and what any program may take.
const ALLOWED: f64 = 0.01;
const SLACK: usize = 256 << 10;

/// One step of training after the other.
pub fn steps(session: &mut Session) {
    let device = session.device();
    let Ok(mut work) = Work::new(&device) else { return session.fail(0, "no training") };
    watch(session, |case| work.step(case)?.item_blocking().map(|_| ()));
}

/// A shape that was not there before, every time.
pub fn shapes(session: &mut Session) {
    let device = session.device();
    let seed = session.seed();
    watch(session, move |case| {
        let mut random = Random::new(seed, case);
        let (rows, columns) = (1 + random.below(100), 1 + (case % 100) as usize);
        let x = Tensor::try_full([rows, columns], 0.5, &device)?;
        ((&x * 2.0).try_sum(1)? + x.try_softmax(-1)?.try_sum(1)?).eval()
    });
}

/// Runs cases and judges how the memory grows: the peak of the last quarter against that of the second.
fn watch(session: &mut Session, mut case_of: impl FnMut(u64) -> Result<()>) {
    let mut resident: Vec<usize> = Vec::new();
    let mut last = 0;
    while let Some(case) = session.next() {
        last = case;
        match session.guard(case, "a step", || case_of(case)) {
            Some(Ok(())) | None => {}
            Some(Err(error)) => session.fail(case, error),
        }
        if case % WINDOW == 0 {
            resident.push(memory::resident());
        }
    }
    if resident.len() < 8 {
        return session.fail(last, format!("{} cases are too few to judge", last + 1));
    }
    let peak = |part: &[usize]| part.iter().copied().max().unwrap_or(0);
    let quarter = resident.len() / 4;
    let (early, late) = (peak(&resident[quarter..2 * quarter]), peak(&resident[3 * quarter..]));
    let mib = |bytes: usize| bytes as f64 / (1 << 20) as f64;
    session.note(format!("{:.1} MiB in the second quarter, {:.1} in the last", mib(early), mib(late)));
    if late > early + SLACK + (early as f64 * ALLOWED) as usize {
        session.fail(last, format!("memory grew from {:.1} to {:.1} MiB", mib(early), mib(late)));
    }
}
