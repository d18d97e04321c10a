//! Graphs of 100,000 nodes: building, backward, evaluating and dropping them takes neither stack nor much time.

mod common;

use common::{assert_values, devices};
use flambeau::prelude::*;
use std::time::Instant;

const DEPTH: usize = 100_000;
/// Seconds one of these tests may take, generously: quadratic work would take far longer.
const LIMIT: f64 = 60.0;

struct Stopwatch(&'static str, Instant);

impl Stopwatch {
    fn new(what: &'static str) -> Stopwatch {
        Stopwatch(what, Instant::now())
    }

    fn lap(&self, part: &str) {
        println!("{}: {part} after {:.3} s", self.0, self.1.elapsed().as_secs_f64());
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.lap("end");
        assert!(std::thread::panicking() || self.1.elapsed().as_secs_f64() < LIMIT, "{} is too slow", self.0);
    }
}

#[test]
fn an_untracked_chain() {
    for device in devices() {
        let watch = Stopwatch::new("untracked");
        let mut x = Tensor::zeros([4], &device);
        let step = Tensor::ones([4], &device);
        for _ in 0..DEPTH {
            x = &x + &step;
        }
        watch.lap("built");
        assert_values(&x, &[DEPTH as f64; 4]);
        watch.lap("read");
    }
}

#[test]
fn a_chain_that_is_never_evaluated() {
    for device in devices() {
        let watch = Stopwatch::new("dropped");
        let step = Tensor::ones([4], &device);
        // Below the number of nodes at which the engine evaluates by itself, twice.
        for _ in 0..2 {
            let mut x = Tensor::zeros([4], &device).requires_grad();
            for _ in 0..DEPTH / 4 {
                x = &x * &step;
            }
            assert!(x.is_tracked());
            watch.lap("built");
        }
        watch.lap("dropped");
    }
}

#[test]
fn a_tracked_chain_backwards() {
    for device in devices() {
        let watch = Stopwatch::new("tracked");
        let x = Tensor::ones([4], &device).requires_grad();
        let mut y = &x * 1.0;
        for _ in 0..DEPTH {
            y = &y + &x;
        }
        watch.lap("built");
        y.sum(..).backward().unwrap();
        watch.lap("backward");
        assert_values(&x.grad().unwrap(), &[DEPTH as f64 + 1.0; 4]);
        watch.lap("gradient read");
        assert_values(&y.detach(), &[DEPTH as f64 + 1.0; 4]);
        drop(y);
        watch.lap("dropped");
    }
}

#[test]
fn a_tracked_chain_that_saves_every_value() {
    for device in devices() {
        let watch = Stopwatch::new("saving");
        let x = Tensor::full([4], 1.0, &device).requires_grad();
        let mut y = x.clone();
        for _ in 0..DEPTH / 2 {
            y = &y * &x;
        }
        watch.lap("built");
        y.sum(..).backward().unwrap();
        watch.lap("backward");
        assert_values(&x.grad().unwrap(), &[DEPTH as f64 / 2.0 + 1.0; 4]);
        watch.lap("gradient read");
    }
}

#[test]
fn a_chain_of_which_every_value_is_held() {
    for device in devices() {
        let watch = Stopwatch::new("held");
        let one = Tensor::ones([1], &device);
        let mut held = vec![Tensor::zeros([1], &device)];
        for step in 0..DEPTH {
            held.push(&held[step] + &one);
        }
        watch.lap("built");
        for at in [0, 1, DEPTH / 2, DEPTH] {
            assert_values(&held[at], &[at as f64]);
        }
        watch.lap("read");
        drop(held);
        watch.lap("dropped");
    }
}

#[test]
fn a_loop_that_evaluates_every_value() {
    for device in devices() {
        let watch = Stopwatch::new("evaluated");
        let one = Tensor::ones([1], &device);
        let mut x = Tensor::zeros([1], &device);
        let before = device.plan_stats();
        for _ in 0..DEPTH {
            x = &x + &one;
            x.eval().unwrap();
        }
        assert_values(&x, &[DEPTH as f64]);
        let stats = device.plan_stats();
        assert!(stats.runs - before.runs >= DEPTH as u64);
    }
}
