//! Which plans are hot: worth kernels that are compiled for their sizes.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// A plan is hot when it has run so often within so many runs of the device: a training step that fills an epoch is, one for a
/// sequence length that comes now and then is not, however long the training takes.
const HOT: u32 = 8;
const WINDOW: u32 = 256;

/// How often a plan runs.
#[derive(Default)]
pub(super) struct Heat {
    /// Runs within the window that began with the device's run of that number.
    runs: AtomicU32,
    began: AtomicU32,
}

impl Heat {
    /// Counts a run of the plan, the device's of number `now`; true once: when the plan has become hot.
    pub fn count(&self, now: u32) -> bool {
        let runs = self.runs.load(Relaxed);
        if runs >= HOT {
            return false;
        }
        if runs == 0 || now.wrapping_sub(self.began.load(Relaxed)) >= WINDOW {
            self.began.store(now, Relaxed);
            self.runs.store(1, Relaxed);
            return false;
        }
        self.runs.fetch_add(1, Relaxed) + 1 == HOT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_fills_an_epoch_is_hot_once() {
        let heat = Heat::default();
        let hot: Vec<u32> = (0..100).filter(|&run| heat.count(run)).collect();
        assert_eq!(hot, [HOT - 1]);
    }

    #[test]
    fn one_that_comes_now_and_then_never_is() {
        let heat = Heat::default();
        assert!((0..10_000).step_by(64).all(|run| !heat.count(run)));
    }
}
