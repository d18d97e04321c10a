//! `special.cpp`: gamma functions and the inverse error function.

use crate::common::{assert_close, values};
use crate::tools::{differentiable, each};
use flambeau::prelude::*;
use std::f64::consts::PI;

/// Values that are known, derivatives of all orders, and inverses.
#[test]
fn special_functions() {
    each(|device| {
        let close = |x: Tensor, wanted: &[f64]| assert_close(&values(&x), wanted, 1e-5, 1e-5);
        let x = Tensor::new([0.5, 1.0, 5.0, -0.5], device);
        close(x.lgamma(), &[PI.sqrt().ln(), 0.0, 24f64.ln(), (2.0 * PI.sqrt()).ln()]);
        const EULER: f64 = 0.577_215_664_901_532_9;
        let half = -EULER - 2.0 * 2f64.ln();
        close(x.digamma(), &[half, -EULER, 25.0 / 12.0 - EULER, half + 2.0]);
        let orders = Tensor::new([0.0, 1.0, 2.0, 3.0], device);
        close(orders.polygamma(1.0), &[-EULER, PI * PI / 6.0, -2.404_113_806, PI.powi(4) / 15.0]);
        let y = Tensor::new([-2.0, -0.3, 0.0, 0.7, 1.5], device);
        assert_close(&values(&y.erf().erfinv()), &values(&y), 1e-4, 1e-4);
        close(
            Tensor::new([0.0, 1.0, 2.0], device).xlogy(Tensor::new([0.0, 3.0, 5.0], device)),
            &[0.0, 3f64.ln(), 2.0 * 5f64.ln()],
        );
        let edges = values(&Tensor::new([0.0, -1.0, f32::INFINITY, f32::NAN], device).lgamma());
        assert!(edges[..3].iter().all(|edge| *edge == f64::INFINITY) && edges[3].is_nan(), "{edges:?}");
        assert_eq!(values(&Tensor::new([-1.0, 1.0], device).erfinv()), [f64::NEG_INFINITY, f64::INFINITY]);
    });
    differentiable(&[&[6]], |x| (&x[0] * &x[0] + 0.5).lgamma());
    differentiable(&[&[6]], |x| (&x[0] * &x[0] + 0.5).digamma());
    differentiable(&[&[6]], |x| (&x[0] * &x[0] + 0.5).full_like(2.0).polygamma(&x[0] * &x[0] + 0.5));
    differentiable(&[&[6]], |x| x[0].tanh().erfinv());
    differentiable(&[&[6], &[6]], |x| x[0].xlogy(&x[1] * &x[1] + 0.1));
}
