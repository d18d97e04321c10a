//! `tensor_options.cpp`: dtype and device of new tensors.

use crate::common::block_on;
use crate::tools::{each, message};
use flambeau::TensorOptions;
use flambeau::prelude::*;

#[test]
fn defaults_to_the_right_values() {
    each(|device| {
        let options = TensorOptions::from(device);
        assert_eq!(options.device(), device);
        let x = Tensor::zeros([2], &options);
        assert_eq!((x.dtype(), x.is_tracked()), (DType::F32, false));
    });
}

#[test]
fn constructs_well_from_tensors() {
    each(|device| {
        let like = Tensor::new([1, 2], device);
        let x = Tensor::zeros([3], (like.dtype(), like.device()));
        assert_eq!((x.dtype(), x.device()), (DType::I32, device));
        assert_eq!((like.ones_like().dtype(), like.ones_like().shape()), (DType::I32, like.shape()));
    });
}

#[test]
fn parses_correctly_from_string() {
    assert_eq!(block_on(Device::named("cpu")).unwrap(), Device::cpu());
    assert!(!block_on(Device::named("software")).unwrap().is_cpu());
    for wrong in ["", "cp", "cpu:", "gpu:", "gpu:a", "gpu:-1", "gpu:1:2", "GPU"] {
        assert!(message(block_on(Device::named(wrong))).contains("gpu:<index>"), "{wrong}");
    }
}
