use crate::common::gpu;
use crate::suite::assert_passed;
use flambeau::selftest::{SuiteReport, batched_suite, cases};
use flambeau::{Device, block_on};

fn run(device: &Device, every: usize) -> SuiteReport {
    let report = block_on(batched_suite(device, cases().into_iter().step_by(every).collect(), |_| ()));
    assert_passed(&report);
    println!("summary: batches on {}: {} cases = {} checks", report.device, report.cases, report.checks);
    report
}

#[test]
fn every_case_on_the_cpu() {
    let report = run(&Device::cpu(), 1);
    assert_eq!(report.skipped, 0, "the CPU takes every dtype");
}

#[test]
fn a_sample_of_the_cases_on_the_gpu() {
    let report = run(&gpu(), 17);
    assert!(report.cases > 50, "{report}");
}
