//! What the integration tests share.

use flambeau::prelude::*;

/// The devices a test body runs on.
pub fn devices() -> Vec<Device> {
    vec![Device::cpu()]
}

/// The values of a tensor as f64.
#[allow(dead_code)]
pub fn values(tensor: &Tensor) -> Vec<f64> {
    pollster::block_on(tensor.to_f64_vec()).unwrap()
}

/// Panics unless the values are those expected, to a relative 1e-5.
#[allow(dead_code)]
#[track_caller]
pub fn assert_close(tensor: &Tensor, expected: &[f64]) {
    let got = values(tensor);
    assert_eq!(got.len(), expected.len(), "{got:?} is not {expected:?}");
    for (x, y) in got.iter().zip(expected) {
        assert!((x - y).abs() <= 1e-6 + 1e-5 * y.abs(), "{got:?} is not {expected:?}");
    }
}
