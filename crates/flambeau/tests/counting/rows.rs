//! Kernels of several reductions over the same rows: how few of them softmax, normalisation and losses take.

use crate::alone;
use flambeau::prelude::*;

fn random(shape: &[usize], device: &Device) -> Tensor {
    let x = Tensor::randn(shape, &Generator::new(1), device);
    x.eval().unwrap();
    x
}

/// The kernels it takes to evaluate these together.
#[track_caller]
fn assert_kernels(most: u64, tensors: &[&Tensor]) {
    let device = tensors[0].device().clone();
    let plans: Vec<String> = tensors.iter().map(|tensor| tensor.explain()).collect();
    let before = device.plan_stats().kernels;
    eval(tensors).unwrap();
    let count = device.plan_stats().kernels - before;
    assert!(count <= most, "{count} kernels, not {most}:\n{}", plans.join("\n"));
}

#[test]
fn forward_in_one_kernel() {
    let _alone = alone();
    let device = Device::cpu();
    let (w, b) = (random(&[10], &device), random(&[10], &device));
    for shape in [vec![8, 10], vec![2, 3, 10], vec![10]] {
        let x = random(&shape, &device);
        assert_kernels(1, &[&x.softmax(-1)]);
        assert_kernels(1, &[&x.log_softmax(-1)]);
        assert_kernels(1, &[&x.layer_norm(&[10], Some(&w), Some(&b), 1e-5)]);
        assert_kernels(1, &[&x.rms_norm(&[10], Some(&w), 1e-5)]);
        let centred = &x - x.mean_keepdim(-1);
        assert_kernels(1, &[&(&centred / (centred.square().mean_keepdim(-1) + 1e-5).sqrt())]);
        assert_kernels(1, &[&x.logsumexp(-1)]);
    }
    let images = random(&[4, 6, 5, 5], &device);
    assert_kernels(1, &[&images.softmax(1)]);
    assert_kernels(1, &[&images.group_norm(3, None, None, 1e-5)]);
}

/// Forward and the gradient of the input, in one plan.
#[test]
fn forward_and_backward() {
    let _alone = alone();
    let device = Device::cpu();
    let (x, g) = (random(&[8, 10], &device), random(&[8, 10], &device));
    let both = |most: u64, f: &dyn Fn(&Tensor) -> Tensor| {
        let leaf = x.requires_grad();
        let y = f(&leaf);
        (&y * &g).sum(..).backward().unwrap();
        assert_kernels(most, &[&y, &leaf.grad().unwrap()]);
    };
    both(2, &|x| x.softmax(-1));
    both(2, &|x| x.log_softmax(-1));
    both(2, &|x| x.layer_norm(&[10], None, None, 1e-5));
    both(2, &|x| x.rms_norm(&[10], None, 1e-5));
}

/// The derivative alone, of a forward pass that was evaluated before.
#[test]
fn backward_in_one_kernel() {
    let _alone = alone();
    let device = Device::cpu();
    let (x, g, w) = (random(&[8, 10], &device), random(&[8, 10], &device), random(&[10], &device));
    let check = |f: &dyn Fn(&Tensor) -> Tensor| {
        let leaf = x.requires_grad();
        let y = f(&leaf);
        y.eval().unwrap();
        (&y * &g).sum(..).backward().unwrap();
        assert_kernels(1, &[&leaf.grad().unwrap()]);
    };
    check(&|x| x.softmax(-1));
    check(&|x| x.log_softmax(-1));
    check(&|x| x.layer_norm(&[10], Some(&w), Some(&w), 1e-5));
    check(&|x| x.rms_norm(&[10], Some(&w), 1e-5));
}

/// Which rows count, and their number; log softmax; the rows with their gradients; the mean.
#[test]
fn cross_entropy_in_four_kernels() {
    let _alone = alone();
    let device = Device::cpu();
    let x = random(&[8, 10], &device).requires_grad();
    let labels = Tensor::new([0, 1, 2, 3, 4, 5, 6, 7], &device);
    let loss = x.cross_entropy(&labels);
    loss.backward().unwrap();
    assert_kernels(4, &[&loss, &x.grad().unwrap()]);
}

/// A few rows that are long are shared among workgroups, each reduction in a kernel of its own.
#[test]
fn few_long_rows_stay_apart() {
    let _alone = alone();
    let device = Device::cpu();
    let x = random(&[2, 50_000], &device);
    let before = device.plan_stats().kernels;
    x.softmax(-1).eval().unwrap();
    assert!(device.plan_stats().kernels - before > 1);
}

/// A sum that two kernels use is a cheap thing to compute twice: it is never written.
#[test]
fn cheap_values_are_computed_again() {
    let _alone = alone();
    let device = Device::cpu();
    let (x, bias) = (random(&[64, 32], &device), random(&[32], &device));
    let sum = &x + &bias;
    // Rows and columns cannot share a kernel.
    let (rows, columns) = (sum.exp().sum(1), sum.sin().sum(0));
    assert_kernels(2, &[&rows, &columns]);
}

/// Products that read a value through different views, of which one cannot be read where it lies, share the copy.
#[test]
fn a_matrix_and_its_transpose_share_memory() {
    let _alone = alone();
    let device = Device::cpu();
    let x = random(&[2, 3, 4, 5], &device);
    let matrix = (x.exp() + 1.0).permute(&[0, 2, 1, 3]).reshape([8, 15]);
    let (right, left) = (random(&[15, 6], &device), random(&[8, 6], &device));
    let (product, gradient) = (matrix.matmul(&right), matrix.transpose(0, 1).matmul(&left));
    assert_kernels(3, &[&product, &gradient]);
}

/// Reductions down columns and over all but the channels, large ones with their sizes in the shader, in few long columns
/// and in many short ones: one kernel, with the CPU's values.
#[test]
fn columns_are_reduced_together() {
    let _alone = alone();
    let (cpu, gpu) = (Device::cpu(), crate::common::gpu());
    let reductions: [&dyn Fn(&Tensor) -> Tensor; 4] =
        [&|x| (x * 2.0).sum(0), &|x| x.amax(0), &|x| x.argmax(0), &|x| x.square().mean(0).sqrt()];
    for shape in [vec![700, 96], vec![33, 1030], vec![9000, 40], vec![40, 3, 333], vec![1100, 1000]] {
        let x = random(&shape, &cpu);
        let y = flambeau::block_on(x.to(&gpu)).unwrap();
        for reduce in reductions {
            let result = reduce(&y);
            assert_kernels(1, &[&result]);
            let (got, expected) = (crate::common::values(&result), crate::common::values(&reduce(&x)));
            crate::common::assert_close(&got, &expected, 1e-4, 1e-5);
        }
    }
    let x = random(&[9, 16, 90, 90], &cpu);
    let y = flambeau::block_on(x.to(&gpu)).unwrap();
    for dims in [[0, 2, 3], [1, 2, 3]] {
        let (got, expected) = (y.square().mean(dims), x.square().mean(dims));
        crate::common::assert_close(
            &crate::common::values(&got),
            &crate::common::values(&expected),
            1e-5,
            1e-5,
        );
    }
}
