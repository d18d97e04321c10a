//! What the integration tests share: the devices a test body runs on.
#![allow(dead_code)]

pub mod listing;
pub mod recorded;
pub mod reference;
#[cfg(target_arch = "wasm32")]
pub mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub use flambeau::block_on;
#[cfg(target_arch = "wasm32")]
pub use wasm::block_on;

use flambeau::nn::Module;
use flambeau::{Device, Generator, GpuConfig, Tensor};
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

/// Gives a module parameters of its own seed, as PyTorch draws those of linear, recurrent and convolutional layers: uniform to
/// 1/√fan-in. New layers draw from the generator of the whole process, and so do tests that run at the same time.
pub fn start_from(seed: u64, module: &dyn Module) {
    let generator = Generator::new(seed);
    let mut bound = None;
    for (name, parameter) in module.named_parameters() {
        let shape = parameter.shape().clone();
        match shape.dims() {
            [outputs, _, ..] => bound = Some(1.0 / (shape.numel() as f64 / *outputs as f64).sqrt()),
            // A norm's weights are 1, and its bias is 0.
            _ if name.ends_with("weight") => bound = None,
            _ => {}
        }
        if let Some(bound) = bound {
            let uniform = Tensor::rand(&shape, &generator, &parameter.device());
            parameter.set(&((uniform * 2.0 - 1.0) * bound));
        }
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
