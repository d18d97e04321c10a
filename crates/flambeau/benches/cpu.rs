//! Regressions on the CPU: the pieces that a training step is made of, and whole steps.
//! `cargo bench -p flambeau` runs them all, `cargo bench -p flambeau -- step` those with `step` in their names.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flambeau::nn::models::{Cnn, Mlp};
use flambeau::optim::Adam;
use flambeau::prelude::*;

fn main() {
    divan::main();
}

fn random(shape: &[usize]) -> Tensor {
    let x = Tensor::rand(shape, &Generator::new(1), &Device::cpu());
    x.eval().expect("there is memory");
    x
}

/// Times the evaluation of what `build` makes; the building is not counted.
fn evaluation(bencher: Bencher, build: impl Fn() -> Tensor + Sync) {
    bencher.with_inputs(build).bench_values(|result: Tensor| result.eval());
}

#[divan::bench(args = [64, 256, 625])]
fn matmul(bencher: Bencher, size: usize) {
    let (a, b) = (random(&[size, size]), random(&[size, size]));
    let bencher = bencher.counter(ItemsCount::new(2 * size.pow(3)));
    bencher.with_inputs(|| a.matmul(&b)).bench_values(|result: Tensor| result.eval());
}

#[divan::bench(args = [1 << 12, 1 << 20])]
fn elementwise_chain(bencher: Bencher, count: usize) {
    let (x, y) = (random(&[count]), random(&[count]));
    let bencher = bencher.counter(BytesCount::new(3 * 4 * count));
    bencher.with_inputs(|| (&x * 2.0 + &y).relu().sigmoid()).bench_values(|result: Tensor| result.eval());
}

#[divan::bench]
fn softmax_of_rows(bencher: Bencher) {
    let x = random(&[512, 512]);
    evaluation(bencher, || x.softmax(-1));
}

#[divan::bench]
fn sum_of_columns(bencher: Bencher) {
    let x = random(&[1024, 512]);
    evaluation(bencher, || x.sum(0));
}

#[divan::bench]
fn convolution(bencher: Bencher) {
    let (x, w) = (random(&[4, 32, 13, 13]), random(&[64, 32, 3, 3]));
    evaluation(bencher, || x.conv2d(&w, None, &Conv2dOptions::default()));
}

#[divan::bench]
fn sort_of_rows(bencher: Bencher) {
    let x = random(&[64, 1024]);
    evaluation(bencher, || x.sort(-1, false).0);
}

/// Making the nodes of a chain, and dropping them.
#[divan::bench]
fn building_a_hundred_nodes(bencher: Bencher) {
    let x = random(&[64]);
    bencher.bench(|| (0..50).fold(x.clone(), |x, k| (x + k as f64).tanh()));
}

/// Finding the plan of a hundred nodes, and running it.
#[divan::bench]
fn cached_plan_of_a_hundred_nodes(bencher: Bencher) {
    let x = random(&[64]);
    evaluation(bencher, || (0..50).fold(x.clone(), |x, k| (x + k as f64).tanh()));
}

/// A training step with Adam.
fn step(bencher: Bencher, model: &dyn Forward, input: &[usize]) {
    let mut optimizer = Adam::new(model.parameters(), 1e-3);
    let (x, y) = (random(input), Tensor::randint(0, 10, [input[0]], &Generator::new(2), &Device::cpu()));
    bencher.bench_local(|| -> Result<()> {
        model.try_forward(&x)?.cross_entropy(&y).backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        Ok(())
    });
}

#[divan::bench]
fn step_of_the_mlp(bencher: Bencher) {
    step(bencher, &Mlp::new(&[784, 128, 10], &Device::cpu()), &[32, 784]);
}

#[divan::bench(sample_count = 20)]
fn step_of_the_cnn(bencher: Bencher) {
    step(bencher, &Cnn::new(10, &Device::cpu()), &[32, 1, 28, 28]);
}
