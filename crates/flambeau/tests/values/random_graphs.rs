//! A thousand random graphs on every device, forward and backward, against the interpreter.
//!
//! `FLAMBEAU_SEED=17 cargo test --test random_graphs` runs the graph of one seed.

use flambeau::Device;
use flambeau::selftest::{self, SuiteReport};
use std::ops::Range;

const GRAPHS: u64 = 1000;

fn seeds() -> Range<u64> {
    match std::env::var("FLAMBEAU_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("FLAMBEAU_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..GRAPHS,
    }
}

fn run(device: &Device) -> SuiteReport {
    let report = flambeau::block_on(selftest::random_graphs(device, seeds(), |_| ()));
    crate::suite::assert_passed(&report);
    println!("summary: random graphs on {report}");
    report
}

#[test]
fn cpu() {
    run(&Device::cpu());
}

#[test]
fn gpu() {
    let device = crate::common::gpu();
    run(&device);
    let count = crate::suite::validate_shaders(&device);
    println!("summary: random graphs: naga accepts all {count} shaders");
}
