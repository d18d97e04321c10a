//! Random draws inside checkpoints: the recomputation must see the numbers that the first computation saw.
//!
//! Every draw on a thread passes through [`drawn`]. A checkpoint's forward pass records the draws; its recomputation
//! replays them, whichever generators they came from, and leaves the generators alone.

use crate::rng::Draw;
use std::cell::RefCell;
use std::sync::Arc;

#[derive(Default)]
struct Tape {
    recorded: Option<Vec<Draw>>,
    replayed: Option<(Arc<[Draw]>, usize)>,
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::default();
}

/// A draw: the next one of the tape while one is replayed, else a fresh one.
pub(crate) fn drawn(fresh: impl FnOnce() -> Draw) -> Draw {
    TAPE.with_borrow_mut(|tape| {
        let replayed = tape.replayed.as_mut().and_then(|(draws, next)| {
            *next += 1;
            draws.get(*next - 1).copied()
        });
        let draw = replayed.unwrap_or_else(fresh);
        if let Some(recorded) = &mut tape.recorded {
            recorded.push(draw);
        }
        draw
    })
}

/// Puts back what was on the tape when it is dropped, also when the body panics.
struct Restore<T, F: Fn(&mut Tape) -> &mut Option<T>> {
    before: Option<T>,
    part: F,
}

impl<T, F: Fn(&mut Tape) -> &mut Option<T>> Restore<T, F> {
    fn new(part: F, during: T) -> Self {
        let before = TAPE.with_borrow_mut(|tape| part(tape).replace(during));
        Restore { before, part }
    }
}

impl<T, F: Fn(&mut Tape) -> &mut Option<T>> Drop for Restore<T, F> {
    fn drop(&mut self) {
        TAPE.with_borrow_mut(|tape| *(self.part)(tape) = self.before.take());
    }
}

/// Runs the body and returns the draws it made. An enclosing recording gets them too.
pub(crate) fn record<T>(body: impl FnOnce() -> T) -> (T, Arc<[Draw]>) {
    let mut restore = Restore::new(|tape| &mut tape.recorded, Vec::new());
    let result = body();
    let draws = TAPE.with_borrow_mut(|tape| tape.recorded.take()).unwrap_or_default();
    if let Some(outer) = &mut restore.before {
        outer.extend_from_slice(&draws);
    }
    (result, draws.into())
}

/// Runs the body with these draws instead of fresh ones.
pub(crate) fn replay<T>(draws: &Arc<[Draw]>, body: impl FnOnce() -> T) -> T {
    let _restore = Restore::new(|tape| &mut tape.replayed, (draws.clone(), 0));
    body()
}
