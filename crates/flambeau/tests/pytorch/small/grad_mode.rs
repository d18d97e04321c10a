//! `grad_mode.cpp`: results, views and what is written in place, with and without recording.

use crate::tools::{each, message};
use flambeau::prelude::*;

/// A leaf that requires a gradient.
fn leaf(device: &Device) -> Tensor {
    Tensor::ones([2, 2], device).requires_grad()
}

#[test]
fn requires_grad_functional_op() {
    each(|device| {
        let x = leaf(device);
        for recording in [true, false] {
            let _mode = set_grad_enabled(recording);
            assert_eq!((&x * 2.0).is_tracked(), recording);
        }
        assert!(!(Tensor::ones([2], device) * 2.0).is_tracked());
    });
}

/// A leaf may be changed only where nothing is recorded; a result anywhere.
#[test]
fn requires_grad_inplace_op() {
    each(|device| {
        let mut x = leaf(device);
        assert!(message(x.try_mul_(2.0)).contains("no_grad"));
        no_grad(|| x.mul_(2.0));
        assert!(x.is_tracked() && x.is_leaf());
        let mut y = &x * 1.0;
        no_grad(|| y.mul_(2.0));
        assert!(y.is_tracked());
    });
}

#[test]
fn requires_grad_view_op() {
    each(|device| {
        let x = leaf(device);
        assert!(x.reshape([4]).is_tracked());
        assert!(!no_grad(|| x.reshape([4])).is_tracked());
    });
}
