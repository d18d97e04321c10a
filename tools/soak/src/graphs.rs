//! Random graphs on a device, against the f64 interpreter. The seeds follow those of the test suite, so that every run
//! sees new graphs.

use crate::session::Session;
use flambeau::selftest;

/// Seeds below this are the test suite's own.
const FIRST: u64 = 1 << 32;

pub fn run(session: &mut Session) {
    let device = session.device();
    while let Some(case) = session.next() {
        let seed = FIRST + (session.seed() << 32) + case;
        let judge = || flambeau::block_on(selftest::random_graphs(&device, seed..seed + 1, |_| ()));
        let Some(report) = session.guard(case, "a random graph", judge) else { continue };
        for failure in &report.failures {
            session.fail(case, failure);
        }
    }
}
