//! `operations.cpp`: lerp and cross.

use crate::common::assert_close;
use crate::common::values;
use crate::tools::{each, normal, ramp};
use flambeau::prelude::*;

/// start + weight · (end − start), with a number and with a tensor as weight.
#[test]
fn lerp() {
    each(|device| {
        let (a, b, w) = (ramp([5], device), ramp([5], device) * 3.0 + 1.0, ramp([5], device) / 5.0);
        let wanted = |w: &Tensor| values(&(&a + (&b - &a) * w));
        assert_close(&values(&a.lerp(&b, 0.3)), &wanted(&Tensor::full([5], 0.3, device)), 1e-5, 1e-5);
        assert_close(&values(&a.lerp(&b, &w)), &wanted(&w), 1e-5, 1e-5);
        // Gradients with respect to all three.
        let (a, b, w) = (a.requires_grad(), b.requires_grad(), w.requires_grad());
        a.lerp(&b, &w).sum(..).backward().unwrap();
        assert_close(&values(&a.grad().unwrap()), &values(&(1.0 - w.detach())), 1e-5, 1e-5);
        assert_close(&values(&w.grad().unwrap()), &values(&(b.detach() - a.detach())), 1e-5, 1e-5);
    });
}

#[test]
fn cross() {
    each(|device| {
        let (a, b) = (normal([4, 3], device), ramp([4, 3], device));
        let c = a.cross(&b, -1);
        // Perpendicular to both, and of the right orientation.
        for other in [&a, &b] {
            assert_close(&values(&(&c * other).sum(-1)), &[0.0; 4], 1e-4, 0.0);
        }
        let axes = Tensor::eye(3, device);
        assert_eq!(values(&axes.i(0).cross(&axes.i(1), 0)), [0.0, 0.0, 1.0]);
    });
}
