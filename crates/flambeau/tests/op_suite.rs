//! Every op of the table on every device, against the interpreter; see `flambeau::selftest`.

mod common;
mod suite;

use flambeau::Device;
use flambeau::selftest::{self, SuiteReport};

fn run(device: &Device) -> SuiteReport {
    let start = std::time::Instant::now();
    let mut last = start;
    let mut slow = std::collections::BTreeMap::<String, f64>::new();
    let report = flambeau::block_on(selftest::op_suite(device, |case| {
        let now = std::time::Instant::now();
        let group = case.name.split(' ').next().unwrap_or("").to_string();
        *slow.entry(group).or_default() += (now - last).as_secs_f64();
        last = now;
        case.failures.iter().for_each(|failure| eprintln!("FAIL {}: {failure}", case.name));
    }));
    let mut slow: Vec<_> = slow.into_iter().collect();
    slow.sort_by(|a, b| b.1.total_cmp(&a.1));
    eprintln!("{:?} {} shaders; {:?}", start.elapsed(), device.shader_sources().len(), &slow[..20.min(slow.len())]);
    suite::assert_passed(&report);
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
    let device = common::gpu();
    run(&device);
    let count = suite::validate_shaders(&device);
    println!("summary: op suite: naga accepts all {count} shaders");
}
