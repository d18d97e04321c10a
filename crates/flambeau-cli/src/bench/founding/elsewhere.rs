//! Targets that are not about this device, or that a test decides: where they are held.

use super::{Bench, Row};

/// Requirement, what, target, and where it is held.
const ELSEWHERE: &[(&[u32], &str, &str, &str)] = &[
    (
        &[213],
        "every op measured: time, memory, CPU and GPU",
        "all",
        "`flambeau bench ops --all`, bench/run.py --ops",
    ),
    (
        &[234],
        "against native PyTorch and TensorFlow.js",
        "competitive; faster",
        "bench/run.py, bench/RESULTS.md, bench/web",
    ),
    (&[235], "MNIST in a browser", "under 10 s", "packages/flambeau/tests, web/tests"),
    (
        &[238],
        "samples a second in a browser on an M1",
        "above 100",
        "no such machine; bench/web measures any",
    ),
    (
        &[239, 240],
        "the browser package, gzipped",
        "below 500 KB",
        "`cargo xtask web` prints it and fails above",
    ),
    (&[241], "a page's start, and a GPU's", "below 2 s; 500 ms", "bench/web (`node run.mjs new`)"),
    (
        &[250],
        "GPU and CPU runs of the same training",
        "1e-5 a step, 1e-4 at the end",
        "tests/values, selftest/training.rs",
    ),
    (&[251], "gradients against finite differences", "below 1e-4", "the op suite: gradcheck of every op"),
    (&[255], "linear regression y = 2x + 3", "2.0 and 3.0", "examples/linear_regression.rs, README"),
    (&[256], "limits and retries", "as configured", "GpuConfig; device.rs of the program"),
    (&[257, 258], "GPU or CPU by size", "thresholds", "a device is chosen once, by what the machine has"),
    (&[259], "PyTorch's own training tests", "all ported", "docs/pytorch-parity.md"),
];

pub fn list(bench: &mut Bench) {
    for &(numbers, what, target, place) in ELSEWHERE {
        if bench.wants(numbers) {
            bench.add(Row {
                numbers,
                what: what.into(),
                target: target.into(),
                measured: format!("elsewhere: {place}"),
                value: None,
                met: None,
            });
        }
    }
}
