//! Elementwise work after a product, a convolution or a pooling is done by its kernel: how many kernels that takes, and
//! that the values are those of the ops one by one.

use crate::alone;
use crate::common::{assert_close, devices, gpu, new_gpu, values};
use flambeau::GpuConfig;
use flambeau::nn::{Conv2d, Flatten, Linear, MaxPool2d, Relu, Sequential};
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;

fn random(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    let x = Tensor::randn(shape, &Generator::new(seed), device);
    x.eval().unwrap();
    x
}

/// The kernels that evaluating these together takes.
fn kernels(tensors: &[&Tensor]) -> u64 {
    let device = tensors[0].device().clone();
    let before = device.plan_stats().kernels;
    eval(tensors).unwrap();
    device.plan_stats().kernels - before
}

/// Asserts that `after(product())` is one kernel, with the values that the ops have one by one.
#[track_caller]
fn assert_one_kernel(what: &str, product: &dyn Fn() -> Tensor, after: &dyn Fn(&Tensor) -> Tensor) {
    let apart = product();
    apart.eval().unwrap();
    let expected = values(&after(&apart));
    let together = after(&product());
    let plan = together.explain();
    assert_eq!(kernels(&[&together]), 1, "{what} on {}:\n{plan}", together.device());
    assert_close(&values(&together), &expected, 1e-5, 1e-5);
}

/// Elementwise work, and what it is called.
type FollowUp = (&'static str, Box<dyn Fn(&Tensor) -> Tensor>);

/// What may follow a product of results (…, N).
fn follow_ups(result: &Tensor) -> Vec<FollowUp> {
    let (shape, device) = (result.shape().to_vec(), result.device().clone());
    let last = shape[shape.len() - 1];
    let (bias, column) = (random(&[last], 2, &device), random(&[shape[shape.len() - 2], 1], 3, &device));
    let mut swapped = shape.clone();
    swapped.swap(shape.len() - 1, shape.len() - 2);
    let (same, turned) = (random(&shape, 4, &device), random(&swapped, 5, &device));
    let (b, s) = (bias.clone(), same.clone());
    vec![
        ("bias and relu", Box::new(move |y| (y + &bias).relu())),
        ("a column and a transposed residual", Box::new(move |y| (y * &column) - turned.transpose(-1, -2))),
        ("scale, tanh and a residual", Box::new(move |y| (y * 0.5).tanh() + &same)),
        ("a mask", Box::new(move |y| y * s.gt(0.0))),
        ("a comparison", Box::new(move |y| (y + &b).gt(0.0))),
        ("a change of shape", Box::new(|y| y.reshape([-1]).sigmoid())),
        ("a change of dtype", Box::new(|y| (y * 8.0).to_dtype(DType::I32))),
    ]
}

/// Sizes for every kernel of the product: simple, tiled by fours and by ones, in parts, large, and batches.
const PRODUCTS: [(&[usize], &[usize]); 9] = [
    (&[5, 7], &[7, 6]),
    (&[40, 64], &[64, 36]),
    (&[33, 70], &[70, 35]),
    (&[20, 4096], &[4096, 12]),
    (&[512, 24], &[24, 512]),
    (&[390, 64], &[64, 389]),
    (&[128, 2048], &[2048, 64]),
    (&[3, 20, 24], &[3, 24, 28]),
    (&[2, 2, 9, 16], &[2, 2, 16, 10]),
];

#[test]
fn products() {
    let _alone = alone();
    for device in devices() {
        for (a, b) in PRODUCTS {
            let (a, b) = (random(a, 6, &device), random(b, 7, &device));
            let product = || a.matmul(&b);
            // Large shaders take long to compile in software.
            let most = if a.numel() * b.numel() > 1 << 16 { 3 } else { usize::MAX };
            for (name, after) in follow_ups(&product()).into_iter().take(most) {
                let what = format!("{:?} × {:?}, {name}", a.shape(), b.shape());
                assert_one_kernel(&what, &product, &*after);
            }
        }
    }
}

#[test]
fn products_without_barriers() {
    let _alone = alone();
    let device = new_gpu(GpuConfig { avoid_barriers: true, ..GpuConfig::default() });
    let (a, b) = (random(&[13, 30], 6, &device), random(&[30, 18], 7, &device));
    for (name, after) in follow_ups(&a.matmul(&b)) {
        assert_one_kernel(name, &|| a.matmul(&b), &*after);
    }
}

#[test]
fn convolutions_and_pools() {
    let _alone = alone();
    for device in devices() {
        // Tiles, tiles in parts, a thread per result; a workgroup per weight.
        for (channels, features, groups, size) in
            [(16, 40, 1, 12), (3, 8, 1, 9), (6, 6, 6, 8), (64, 64, 1, 6)]
        {
            let x = random(&[2, channels, size, size], 1, &device);
            let w = random(&[features, channels / groups, 3, 3], 2, &device);
            let bias = random(&[features, 1, 1], 3, &device);
            let options = Conv2dOptions { groups, ..Conv2dOptions::default().with_padding(1) };
            let conv = || x.conv2d(&w, None, &options);
            let residual = random(conv().shape(), 4, &device);
            let what = format!("{channels} channels, {features} features, {groups} groups");
            assert_one_kernel(&what, &conv, &|y| (y + &bias).relu() + &residual);
            let gradients = || {
                let (input, weight) = (x.detach().requires_grad(), w.detach().requires_grad());
                input.conv2d(&weight, None, &options).backward_with(&residual).unwrap();
                (input.grad().unwrap(), weight.grad().unwrap())
            };
            let (mask, decay) = (x.gt(0.0), &w * 0.1);
            eval(&[&mask, &decay]).unwrap();
            assert_one_kernel(&what, &|| gradients().0, &|dx| dx * &mask);
            assert_one_kernel(&what, &|| gradients().1, &|dw| dw * 2.0 + &decay);
        }
        let x = random(&[2, 3, 8, 8], 1, &device);
        assert_one_kernel("means", &|| x.avg_pool2d([2, 2], &Default::default()), &|y| y.exp() * 2.0);
    }
}

/// A result that is needed for itself too is stored beside what the epilogue makes of it.
#[test]
fn results_that_others_read() {
    let _alone = alone();
    for device in devices() {
        let (a, b) = (random(&[24, 32], 1, &device), random(&[32, 20], 2, &device));
        let apart = a.matmul(&b);
        apart.eval().unwrap();
        let product = a.matmul(&b);
        let (square, columns) = (product.square(), product.exp().sum(0));
        // The product with its squares, and the columns' sums.
        assert_eq!(kernels(&[&product, &square, &columns]), 2);
        assert_close(&values(&product), &values(&apart), 0.0, 0.0);
        assert_close(&values(&square), &values(&apart.square()), 1e-5, 1e-5);
        assert_close(&values(&columns), &values(&apart.exp().sum(0)), 1e-5, 1e-5);
    }
}

/// What follows a product but also needs something that only the whole product gives stays a kernel of its own.
#[test]
fn results_that_wait_for_themselves() {
    let _alone = alone();
    for device in devices() {
        let (a, b) = (random(&[600, 8], 1, &device), random(&[8, 600], 2, &device));
        let apart = a.matmul(&b);
        apart.eval().unwrap();
        let centred = |y: &Tensor| y - y.mean_keepdim(0);
        let together = centred(&a.matmul(&b));
        assert!(kernels(&[&together]) >= 2);
        assert_close(&values(&together), &values(&centred(&apart)), 1e-5, 1e-5);
    }
}

/// A layer is one kernel; so is the gradient of its input behind an activation.
#[test]
fn a_layer_is_one_kernel() {
    let _alone = alone();
    for device in devices() {
        let (layer, x) = (Linear::new(48, 36, &device), random(&[10, 48], 1, &device));
        layer.parameters().iter().for_each(|parameter| parameter.value().eval().unwrap());
        assert_eq!(kernels(&[&layer.forward(&x).relu()]), 1, "{}", layer.forward(&x).relu().explain());
        let hidden = x.requires_grad();
        let y = layer.forward(&hidden.relu());
        y.eval().unwrap();
        let slope = random(&[10, 36], 2, &device);
        y.backward_with(&slope).unwrap();
        let gradient = hidden.grad().unwrap();
        assert_eq!(kernels(&[&gradient]), 1, "{}", gradient.explain());
    }
}

/// The kernels of a training step after the first, with the plan as text where there are more.
fn step_kernels(net: &Sequential, x: &Tensor, labels: &Tensor) -> u64 {
    let mut adam = Adam::new(net.parameters(), 1e-3);
    let mut step = || {
        net.forward(x).cross_entropy(labels).backward().unwrap();
        adam.step().unwrap();
        adam.zero_grad();
    };
    step();
    let device = x.device().clone();
    let (before, stats) = (device.plan_stats(), device.gpu_stats().unwrap());
    step();
    let (after, later) = (device.plan_stats(), device.gpu_stats().unwrap());
    assert_eq!((after.hits - before.hits, later.submits - stats.submits), (1, 1));
    after.kernels - before.kernels
}

#[test]
fn training_steps() {
    let _alone = alone();
    let device = gpu();
    let labels = Tensor::new([0, 1, 2, 3, 4, 5, 6, 7], &device);
    let mlp =
        Sequential::new().with(Linear::new(20, 16, &device)).with(Relu).with(Linear::new(16, 10, &device));
    assert_eq!(step_kernels(&mlp, &random(&[8, 20], 1, &device), &labels), 10);
    let cnn = Sequential::new()
        .with(Conv2d::new(1, 4, 3, &device))
        .with(Relu)
        .with(MaxPool2d::new(2))
        .with(Conv2d::new(4, 8, 3, &device))
        .with(Relu)
        .with(MaxPool2d::new(2))
        .with(Flatten::default())
        .with(Linear::new(8 * 2 * 2, 10, &device));
    assert_eq!(step_kernels(&cnn, &random(&[8, 1, 14, 14], 1, &device), &labels), 18);
}
