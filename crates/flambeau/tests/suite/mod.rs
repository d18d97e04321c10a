//! What the suites share: the GPU they run on, and the validation of every shader they made.

use flambeau::selftest::SuiteReport;
use flambeau::{Device, GpuConfig};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// The GPU of this machine, a software one included. There must be one: nothing is skipped.
pub fn gpu() -> Device {
    let config = GpuConfig { allow_software: true, ..Default::default() };
    pollster::block_on(Device::gpu(&config)).expect("GPU tests need an adapter; a software one is enough")
}

/// Fails with every failure of a report.
pub fn assert_passed(report: &SuiteReport) {
    let count = report.failures.len();
    assert!(count == 0, "{count} failures on {}:\n{}", report.device, report.failures.join("\n"));
    assert!(report.checks > 0, "nothing was checked");
}

/// Parses and validates the WGSL of every shader a device has compiled; returns how many there are.
pub fn validate_shaders(device: &Device) -> usize {
    let sources = device.shader_sources();
    for source in &sources {
        let module = naga::front::wgsl::parse_str(source)
            .unwrap_or_else(|error| panic!("{}\n{source}", error.emit_to_string(source)));
        Validator::new(ValidationFlags::all(), Capabilities::SHADER_FLOAT16)
            .validate(&module)
            .unwrap_or_else(|error| panic!("{}\n{source}", error.emit_to_string(source)));
    }
    assert!(!sources.is_empty(), "no shader was compiled");
    sources.len()
}
