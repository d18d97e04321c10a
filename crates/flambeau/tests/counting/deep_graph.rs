//! Graphs of 100,000 nodes: building, backward, evaluating and dropping them overflows no stack.

use crate::alone;
use crate::common::{assert_values, devices};
use flambeau::prelude::*;

const DEPTH: usize = 100_000;

#[test]
fn an_untracked_chain() {
    let _alone = alone();
    for device in devices() {
        let mut x = Tensor::zeros([4], &device);
        let step = Tensor::ones([4], &device);
        for _ in 0..DEPTH {
            x = &x + &step;
        }
        assert_values(&x, &[DEPTH as f64; 4]);
    }
}

#[test]
fn a_chain_that_is_never_evaluated() {
    let _alone = alone();
    for device in devices() {
        let step = Tensor::ones([4], &device);
        // Below the number of nodes at which the engine evaluates by itself, twice.
        for _ in 0..2 {
            let mut x = Tensor::zeros([4], &device).requires_grad();
            for _ in 0..DEPTH / 4 {
                x = &x * &step;
            }
            assert!(x.is_tracked());
        }
    }
}

#[test]
fn a_tracked_chain_backwards() {
    let _alone = alone();
    for device in devices() {
        let x = Tensor::ones([4], &device).requires_grad();
        let mut y = &x * 1.0;
        for _ in 0..DEPTH {
            y = &y + &x;
        }
        y.sum(..).backward().unwrap();
        assert_values(&x.grad().unwrap(), &[DEPTH as f64 + 1.0; 4]);
        assert_values(&y.detach(), &[DEPTH as f64 + 1.0; 4]);
        drop(y);
    }
}

#[test]
fn a_tracked_chain_that_saves_every_value() {
    let _alone = alone();
    for device in devices() {
        let x = Tensor::full([4], 1.0, &device).requires_grad();
        let mut y = x.clone();
        for _ in 0..DEPTH / 2 {
            y = &y * &x;
        }
        y.sum(..).backward().unwrap();
        assert_values(&x.grad().unwrap(), &[DEPTH as f64 / 2.0 + 1.0; 4]);
    }
}

#[test]
fn a_chain_of_which_every_value_is_held() {
    let _alone = alone();
    for device in devices() {
        let one = Tensor::ones([1], &device);
        let mut held = vec![Tensor::zeros([1], &device)];
        for step in 0..DEPTH {
            held.push(&held[step] + &one);
        }
        for at in [0, 1, DEPTH / 2, DEPTH] {
            assert_values(&held[at], &[at as f64]);
        }
        drop(held);
    }
}

#[test]
fn a_loop_that_evaluates_every_value() {
    let _alone = alone();
    for device in devices() {
        // A software adapter takes about a millisecond a submission.
        let steps = if device.is_cpu() { DEPTH } else { 1000 };
        let one = Tensor::ones([1], &device);
        let mut x = Tensor::zeros([1], &device);
        let before = device.plan_stats();
        for _ in 0..steps {
            x = &x + &one;
            x.eval().unwrap();
        }
        assert_values(&x, &[steps as f64]);
        let stats = device.plan_stats();
        assert!(stats.runs - before.runs >= steps as u64);
    }
}
