//! What the integration tests share: the devices a test body runs on.
#![allow(dead_code)]

use flambeau::Device;

/// Every device a test body runs on.
pub fn devices() -> Vec<Device> {
    vec![Device::cpu()]
}

/// Asserts that two lists of numbers agree within an absolute and a relative tolerance.
#[track_caller]
pub fn assert_close(got: &[f64], want: &[f64], absolute: f64, relative: f64) {
    assert_eq!(got.len(), want.len(), "lengths differ");
    for (k, (&got, &want)) in got.iter().zip(want).enumerate() {
        let close = (got - want).abs() <= absolute + relative * want.abs()
            || got == want
            || (got.is_nan() && want.is_nan());
        assert!(close, "element {k}: got {got}, want {want}");
    }
}
