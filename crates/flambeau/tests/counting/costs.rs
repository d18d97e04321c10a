//! What is counted at the dispatch: arithmetic, bytes, and each kernel's time.

use crate::alone;
use crate::common::{devices, new_gpu};
use flambeau::prelude::*;
use flambeau::{GpuConfig, KernelWork};

/// Arithmetic and bytes of what evaluating the tensor costs.
fn spent(result: &Tensor) -> (u64, u64) {
    let before = result.device().plan_stats();
    result.eval().unwrap();
    let after = result.device().plan_stats();
    (after.flops - before.flops, after.bytes - before.bytes)
}

fn random(shape: &[usize], device: &Device) -> Tensor {
    let x = Tensor::rand(shape, &Generator::new(1), device);
    x.eval().unwrap();
    x
}

#[test]
fn arithmetic_and_bytes_of_kernels() {
    let _alone = alone();
    for device in devices() {
        let (a, b) = (random(&[7, 5], &device), random(&[5, 3], &device));
        assert_eq!(spent(&a.matmul(&b)), (2 * 7 * 5 * 3, 4 * (35 + 15 + 21)), "{device}");
        // Two ops an element, and an addition for each of them.
        assert_eq!(spent(&(a.exp() * 2.0).sum(..)), (3 * 35, 4 * (35 + 1)), "{device}");
    }
}

#[test]
fn a_convolution_costs_the_same_in_every_direction() {
    let _alone = alone();
    for device in devices() {
        let (x, w) = (random(&[2, 3, 8, 8], &device), random(&[4, 3, 3, 3], &device));
        let g = random(&[2, 4, 6, 6], &device);
        let expected = 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3);
        let conv = |x: &Tensor, w: &Tensor| x.conv2d(w, None, &Conv2dOptions::default());
        assert_eq!(spent(&conv(&x, &w)).0, expected, "{device}");
        let input = x.detach().requires_grad();
        conv(&input, &w).backward_with(&g).unwrap();
        assert_eq!(spent(&input.grad().unwrap()).0, expected, "{device}");
        let weight = w.detach().requires_grad();
        conv(&x, &weight).backward_with(&g).unwrap();
        assert_eq!(spent(&weight.grad().unwrap()).0, expected, "{device}");
    }
}

#[test]
fn a_trace_has_every_kernel_and_ends() {
    let _alone = alone();
    let device = new_gpu(GpuConfig::default());
    let (a, b) = (random(&[64, 32], &device), random(&[32, 16], &device));
    let work = || (a.matmul(&b).exp().sum(1), (&a * 3.0).tanh());
    let (first, second) = work();
    eval(&[&first, &second]).unwrap();

    device.start_trace().unwrap();
    let before = device.gpu_stats().unwrap();
    for _ in 0..2 {
        let (first, second) = work();
        eval(&[&first, &second]).unwrap();
    }
    let after = device.gpu_stats().unwrap();
    let trace = flambeau::block_on(device.take_trace()).unwrap();
    assert_eq!(trace.len() as u64, after.dispatches - before.dispatches);
    assert_eq!(trace.iter().filter(|kernel| kernel.submission == 1).count(), trace.len() / 2);
    assert!(trace.iter().all(|kernel| kernel.start >= 0.0 && kernel.duration >= 0.0));
    let named = |name: &str| trace.iter().find(|kernel| kernel.name.contains(name)).unwrap();
    let elements = 64 * 32;
    let expected = KernelWork { elements, flops: 2 * elements, bytes: 8 * elements };
    assert_eq!(named("tanh").work, expected);
    assert!(named("matmul").work.flops >= 2 * 64 * 32 * 16);

    work().1.eval().unwrap();
    assert!(flambeau::block_on(device.take_trace()).unwrap().is_empty(), "it has ended");
    assert!(Device::cpu().start_trace().is_err());
}
