//! A two-layer network's training step, on every device, against the interpreter.

use flambeau::prelude::*;
use flambeau::reference;

fn check(device: &Device) {
    let generator = Generator::new(7);
    let x = Tensor::randn([5, 4], &generator, device);
    let w1 = (Tensor::randn([4, 6], &generator, device) * 0.5).requires_grad();
    let b1 = Tensor::zeros([6], device).requires_grad();
    let w2 = Tensor::randn([6, 3], &generator, device).requires_grad();
    let y = Tensor::new([[0], [2], [1], [1], [0]], device);
    let hidden = (x.matmul(&w1) + &b1).relu();
    let logits = hidden.matmul(&w2);
    let shifted = &logits - logits.amax(1).unsqueeze(1).detach();
    let log_probabilities = &shifted - shifted.exp().sum_keepdim(1).log();
    let loss = -(log_probabilities.gather(1, &y).mean(..));
    loss.backward().unwrap();
    let grads = [w1.grad().unwrap(), b1.grad().unwrap(), w2.grad().unwrap()];
    let all = [&loss, &grads[0], &grads[1], &grads[2], &logits];
    let expected = pollster::block_on(reference::evaluate(&all)).unwrap();
    eval(&all).unwrap();
    for (tensor, expected) in all.iter().zip(expected) {
        let got = tensor.to_vec_blocking::<f32>().unwrap();
        for (got, expected) in got.iter().zip(&expected) {
            assert!((f64::from(*got) - expected).abs() < 1e-5 + 1.3e-6 * expected.abs(), "{got} {expected}");
        }
    }
    println!("{} {:?}", all[0], device.plan_stats());
}

#[test]
fn cpu() {
    check(&Device::cpu());
}

#[test]
fn gpu() {
    let config = flambeau::GpuConfig { allow_software: true, ..Default::default() };
    check(&pollster::block_on(Device::gpu(&config)).unwrap());
}
