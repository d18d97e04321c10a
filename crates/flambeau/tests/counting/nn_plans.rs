//! What losses and the functions under layers cost: kernels run, and plans made when only numbers change.

use crate::alone;
use flambeau::nn::Parameter;
use flambeau::nn::loss::{CrossEntropyLoss, CtcLoss, HuberLoss};
use flambeau::nn::utils::clip_grad_norm;
use flambeau::prelude::*;

#[test]
fn losses_and_functions() {
    let _alone = alone();
    let device = Device::cpu();
    cross_entropy_is_few_kernels(&device);
    normalization_is_few_kernels(&device);
    changing_numbers_make_no_new_plans(&device);
}

fn random(shape: &[usize], device: &Device) -> Tensor {
    let x = Tensor::randn(shape, &Generator::new(1), device);
    x.eval().unwrap();
    x
}

/// The kernels of a loss and the gradient of its input, evaluated in one plan.
fn kernels(x: &Tensor, loss: impl Fn(&Tensor) -> Tensor) -> (u64, String) {
    let leaf = x.requires_grad();
    let loss = loss(&leaf);
    loss.backward().unwrap();
    let plan = leaf.grad().unwrap().explain();
    let before = x.device().plan_stats().kernels;
    eval(&[&loss, &leaf.grad().unwrap()]).unwrap();
    (x.device().plan_stats().kernels - before, plan)
}

/// Three for log softmax and one for the log probabilities with the gradient, over all logits; over rows which ones
/// count, their number, the loss, and how much of the gradient each gets.
fn cross_entropy_is_few_kernels(device: &Device) {
    let x = random(&[8, 10], device);
    let labels = Tensor::new([0, 1, 2, 3, 4, 5, 6, 7], device);
    let (count, plan) = kernels(&x, |x| x.cross_entropy(&labels));
    assert!(count <= 8, "{count} kernels:\n{plan}");
}

/// Mean, deviations, variance, scale, result; two means, the normalised values and the gradient; the sum.
fn normalization_is_few_kernels(device: &Device) {
    let x = random(&[8, 10], device);
    let g = random(&[8, 10], device);
    let (count, plan) = kernels(&x, |x| (x.layer_norm(&[10], None, None, 1e-5) * &g).sum(..));
    assert!(count <= 10, "{count} kernels:\n{plan}");
}

/// Masks, lengths, class numbers, smoothing, thresholds and limits are data.
fn changing_numbers_make_no_new_plans(device: &Device) {
    let generator = Generator::new(9);
    let x = random(&[6, 2, 5], device);
    let w = Parameter::new(&x);
    let step = |k: usize| {
        let number = k as f64;
        let y = w.get().dropout(0.1 + 0.1 * number, &generator);
        let labels = Tensor::new([[k as i32, 1, 2, 3, 4], [0, 0, 1, 1, 5]], device);
        let smooth = CrossEntropyLoss { label_smoothing: 0.1 + 0.1 * number, ..Default::default() };
        let rows = smooth.forward(&y.permute(&[1, 0, 2]), &labels);
        let numbers = HuberLoss { delta: 1.0 + number, ..Default::default() }.forward(&y, &x);
        let targets = Tensor::new([[1, 2], [3, 4]], device);
        let ctc = CtcLoss::default().forward(&y.log_softmax(2), &targets, &[6, 4 + k], &[2, 1]);
        (rows + numbers + ctc).backward().unwrap();
        let norm = clip_grad_norm(std::slice::from_ref(&w), 0.1 + number, 2.0).unwrap();
        eval(&[&w.grad().unwrap(), &norm]).unwrap();
        w.zero_grad();
    };
    step(0);
    let misses = device.plan_stats().misses;
    (1..3).for_each(step);
    assert_eq!(device.plan_stats().misses, misses);
}

/// A weight is multiplied transposed; its gradient is made as the weight lies: the gradient of the product, and a product.
#[test]
fn the_gradient_of_a_transposed_matrix_is_not_copied() {
    let _alone = alone();
    let device = Device::cpu();
    let generator = Generator::new(1);
    let x = Tensor::randn([6, 5], &generator, &device);
    let weight = Tensor::randn([4, 5], &generator, &device).requires_grad();
    let slope = Tensor::randn([6, 4], &generator, &device);
    eval(&[&x, &weight, &slope]).unwrap();
    (x.matmul(&weight.transpose(0, 1)) * &slope).sum(..).backward().unwrap();
    let plan = weight.grad().unwrap().explain();
    assert!(plan.starts_with("2 kernels") && plan.contains("matmul"), "{plan}");
}
