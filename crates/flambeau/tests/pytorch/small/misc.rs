//! `misc.cpp`: recording, and derivatives.

use crate::common::values;
use crate::tools::{each, is, ramp};
use flambeau::autograd::is_grad_enabled;
use flambeau::nn::Linear;
use flambeau::prelude::*;

#[test]
fn sets_grad_mode_correctly() {
    each(|device| {
        let model = Linear::new(5, 2, device);
        let x = ramp([10, 5], device).requires_grad();
        let (y, s) = no_grad(|| (model.forward(&x), model.forward(&x).sum(..)));
        assert!(!y.is_tracked() && s.backward().is_err());
        assert!(is_grad_enabled());
        model.forward(&x).sum(..).backward().unwrap();
        assert!(model.weight.grad().is_some());
    });
}

#[test]
fn can_take_derivatives() {
    each(|device| {
        let (x, y) = (ramp([3, 3], device).requires_grad(), (ramp([3, 3], device) + 1.0).requires_grad());
        (&x * &y).sum(..).backward().unwrap();
        assert_eq!(values(&x.grad().unwrap()), values(&y.detach()));
        assert_eq!(values(&y.grad().unwrap()), values(&x.detach()));
    });
}

#[test]
fn can_take_derivatives_of_zero_dim_tensors() {
    each(|device| {
        let x = Tensor::new(3.0, device).requires_grad();
        (&x * &x).backward().unwrap();
        is(&x.grad().unwrap(), [], &[6.0]);
    });
}

#[test]
fn can_pass_custom_gradient_inputs() {
    each(|device| {
        let x = ramp([2, 2], device).requires_grad();
        let given = Tensor::full([2, 2], 3.0, device);
        (&x * 2.0).backward_with(&given).unwrap();
        is(&x.grad().unwrap(), [2, 2], &[6.0; 4]);
    });
}
