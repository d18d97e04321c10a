//! What the tensor API's graphs cost: plans made and kernels run. A file of its own: the counters are the device's.

use flambeau::prelude::*;

#[test]
fn plans_and_kernels() {
    changing_numbers_make_no_new_plans();
    many_inputs_are_joined_in_groups();
}

/// Thirty-six inputs take a kernel for every few, not one each.
fn many_inputs_are_joined_in_groups() {
    let device = Device::cpu();
    let parts: Vec<Tensor> = (0..36).map(|k| Tensor::new([f64::from(k); 3], &device)).collect();
    let before = device.plan_stats().kernels;
    Tensor::cat(&parts, 0).eval().unwrap();
    assert!(device.plan_stats().kernels - before <= 12);
}

/// Numbers that change from step to step are data: the same plan serves other starts, pads, offsets and values.
fn changing_numbers_make_no_new_plans() {
    let device = Device::cpu();
    let x = Tensor::arange(0.0, 40.0, 1.0, &device).reshape([4, 10]);
    x.eval().unwrap();
    let run = |k: usize| {
        let k_signed = k as isize;
        let part = x.i((.., k..k + 4));
        let mut written = part.pad(&[1 + k_signed, 5 - k_signed], 1.0 + k as f64).tril(k as i64);
        written.i_assign((k % 4, ..), k as f64);
        written.sum(..).item_blocking().unwrap()
    };
    let expected = run(0);
    let misses = device.plan_stats().misses;
    assert!((1..4).map(run).all(|sum| sum != expected));
    assert_eq!(device.plan_stats().misses, misses);
}
