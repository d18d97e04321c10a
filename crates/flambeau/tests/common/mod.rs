//! What the integration tests share: the devices a test body runs on.
#![allow(dead_code)]

pub mod recorded;

use flambeau::{Device, GpuConfig, Tensor, block_on};
use std::sync::OnceLock;

/// A GPU device of its own; a software adapter is fine. A machine without any adapter fails the test.
pub fn new_gpu(config: GpuConfig) -> Device {
    let config = GpuConfig { allow_software: true, ..config };
    block_on(Device::gpu(&config)).expect("these tests need a Vulkan adapter; Mesa's llvmpipe will do")
}

/// The GPU that tests share.
pub fn gpu() -> Device {
    static GPU: OnceLock<Device> = OnceLock::new();
    GPU.get_or_init(|| new_gpu(GpuConfig::default())).clone()
}

/// Every device a test body runs on.
pub fn devices() -> Vec<Device> {
    vec![Device::cpu(), gpu()]
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

/// The values of a tensor as f64.
pub fn values(tensor: &Tensor) -> Vec<f64> {
    block_on(tensor.to_f64_vec()).unwrap()
}

/// Panics unless the values are those expected, to a relative 1e-5.
#[track_caller]
pub fn assert_values(tensor: &Tensor, expected: &[f64]) {
    assert_close(&values(tensor), expected, 1e-6, 1e-5);
}
