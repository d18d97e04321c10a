//! Every op of the table on every device, against the interpreter; see `flambeau::selftest`.

use flambeau::Device;
use flambeau::selftest::{self, SuiteReport};

fn run(device: &Device) -> SuiteReport {
    let report = flambeau::block_on(selftest::op_suite(device, selftest::cases(), |_| ()));
    crate::suite::assert_passed(&report);
    let missing: Vec<_> = selftest::primitives().difference(&report.ops).copied().collect();
    assert!(missing.is_empty(), "ops that did not run on {}: {missing:?}", report.device);
    println!("summary: op suite on {report}");
    report
}

#[test]
fn cpu() {
    let report = run(&Device::cpu());
    assert_eq!(report.skipped, 0, "the CPU takes every dtype");
}

#[test]
fn gpu() {
    let device = crate::common::gpu();
    run(&device);
    let count = crate::suite::validate_shaders(&device);
    println!("summary: op suite: naga accepts all {count} shaders");
}
