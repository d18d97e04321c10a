//! Every op of the table on every device, against the interpreter; see `flambeau::selftest`.

use flambeau::selftest::{self, SuiteReport};
use flambeau::{Device, GpuConfig};

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

/// Products, convolutions and recurrences have kernels of their own for adapters that pay dearly for barriers.
#[test]
fn without_barriers() {
    let device = crate::common::new_gpu(GpuConfig { avoid_barriers: true, ..Default::default() });
    let mut cases = selftest::cases();
    cases.retain(|case| {
        case.group.starts_with("recurrence")
            || case.name.starts_with("matmul")
            || case.name.starts_with("conv")
    });
    let report = flambeau::block_on(selftest::op_suite(&device, cases, |_| ()));
    crate::suite::assert_passed(&report);
    let has = |op: &str| report.ops.contains(op);
    assert!(has("recurrence_backward") && has("conv_weight") && report.cases > 140, "{report}");
    let sources = device.shader_sources();
    let of_product = |text: &&String| text.contains("fn left_row") || text.contains("at_a");
    let products: Vec<&String> = sources.iter().filter(of_product).collect();
    assert!(products.len() > 4 && products.iter().all(|text| !text.contains("workgroupBarrier")));
}

/// Products and convolutions have a short first text for browsers.
#[test]
fn products_by_compact_kernels() {
    let config = GpuConfig { compact: true, specialise: flambeau::Specialise::WhenHot, ..Default::default() };
    let device = crate::common::new_gpu(config);
    let mut cases = selftest::cases();
    cases.retain(|case| case.name.starts_with("matmul") || case.name.starts_with("conv"));
    let report = flambeau::block_on(selftest::op_suite(&device, cases, |_| ()));
    crate::suite::assert_passed(&report);
    assert!(report.ops.contains("conv_weight") && report.cases > 100, "{report}");
}
