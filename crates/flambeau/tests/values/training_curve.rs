//! One training run, the same losses everywhere: here on every native device; the browser package's tests run the same
//! function in browsers and compare with the same file.

use crate::common::{assert_close, devices};
use flambeau::{block_on, selftest};
use std::path::Path;

/// How far two losses of one step may be apart.
const TOLERANCE: f64 = 1e-4;

#[test]
fn losses_are_those_of_the_file_on_every_device() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = |path: &str| std::fs::read(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let pictures = file("../../data/mnist/t10k-images-idx3-ubyte.gz");
    let labels = file("../../data/mnist/t10k-labels-idx1-ubyte.gz");
    let expected: Vec<f64> = serde_json::from_slice(&file("tests/data/training_curve.json")).unwrap();
    for device in devices() {
        let losses = block_on(selftest::training_curve(&device, &pictures, &labels)).unwrap();
        println!("on {}: {losses:?}", device.name());
        assert!(losses[49] < 0.6 * losses[0], "the loss falls");
        assert_close(&losses, &expected, TOLERANCE, 0.0);
    }
}
