//! What the suites share: their verdict, and the validation of every shader they made.

use flambeau::Device;
use flambeau::selftest::SuiteReport;
use naga::valid::{Capabilities, ValidationFlags, Validator};

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
        let capabilities = Capabilities::SHADER_FLOAT16
            | Capabilities::SHADER_FLOAT16_IN_FLOAT32
            | Capabilities::SUBGROUP
            | Capabilities::COOPERATIVE_MATRIX;
        Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .unwrap_or_else(|error| panic!("{}\n{source}", error.emit_to_string(source)));
    }
    assert!(!sources.is_empty(), "no shader was compiled");
    sources.len()
}
