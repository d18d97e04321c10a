//! Why one takes Adam: where gradients are noisy and of very different sizes, it comes far nearer than SGD with whatever rate.

use crate::common::{devices, values};
use flambeau::optim::{Adam, Optimizer, Sgd};
use flambeau::prelude::*;

const SIZE: usize = 16;
const STEPS: usize = 300;

/// Σ cᵢ xᵢ² / 2 with curvatures cᵢ from 10 down to 0.001, whose gradients are cᵢ (xᵢ + nᵢ / 2) with normal noise nᵢ: the root mean square of
/// what is left of x, which was 1.
fn distance_left(device: &Device, optimizer: impl FnOnce(Vec<Parameter>) -> Box<dyn Optimizer>) -> f64 {
    let curvatures: Vec<f32> = (0..SIZE).map(|i| 10_f32.powf(1.0 - 4.0 * i as f32 / 15.0)).collect();
    let curvatures = Tensor::from_slice(&curvatures, [SIZE], device);
    let x = Parameter::new(&Tensor::ones([SIZE], device));
    let (mut optimizer, noise) = (optimizer(vec![x.clone()]), Generator::new(11));
    for _ in 0..STEPS {
        let noise = Tensor::randn([SIZE], &noise, device);
        let loss = (&curvatures * (x.get().square() + &noise * x.get()) * 0.5).sum(..);
        loss.backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
    }
    let squares: f64 = values(&x.value()).iter().map(|left| left * left).sum();
    (squares / SIZE as f64).sqrt()
}

#[test]
fn adam_beats_sgd_on_noisy_gradients() {
    for device in devices() {
        let adam = distance_left(&device, |parameters| Box::new(Adam::new(parameters, 0.01)));
        assert!(adam < 0.1, "{adam} on {device}");
        // Above 2 / 10, the largest curvature's bound, SGD diverges.
        for rate in [0.003, 0.01, 0.03, 0.1, 0.15] {
            let sgd = distance_left(&device, |parameters| Box::new(Sgd::new(parameters, rate)));
            assert!(sgd > 4.0 * adam, "SGD with rate {rate}: {sgd}, Adam: {adam}, on {device}");
        }
    }
}
