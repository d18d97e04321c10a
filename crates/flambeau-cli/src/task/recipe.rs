//! Recipes: how a model is trained to a known accuracy in a few epochs. A new recipe is a new entry.

use super::{Augmentation, CIFAR_RESNET18, FASHION_RESNET18, Preset, resnet18};
use crate::model::Normalisation;
use flambeau::optim::scheduler::{Annealing, OneCycleLr};

/// All that decides how well a model is trained: SGD with Nesterov's momentum, and a rate that rises and falls in straight lines.
pub struct Recipe {
    /// The model, its epochs, its batch, and the highest rate of SGD.
    pub model: Preset,
    /// How much of a direction SGD keeps.
    pub momentum: f64,
    /// What parameters lose each step: a share of the rate of them.
    pub weight_decay: f64,
    /// How much of the target is spread evenly over all classes. It counts in training, not in the test.
    pub label_smoothing: f64,
    /// The share of the run in which the rate rises.
    pub rising_share: f64,
    /// How pictures are changed in training.
    pub augmentation: Augmentation,
}

impl Recipe {
    /// The rates of a run of so many steps: from a hundredth of the highest up to it, and down to nothing.
    pub fn schedule(&self, highest: f64, steps: u64) -> OneCycleLr {
        OneCycleLr {
            rising_share: self.rising_share,
            annealing: Annealing::Linear,
            momentum: None,
            start_divisor: 100.0,
            ..OneCycleLr::new(highest, steps)
        }
    }
}

/// For CIFAR-10: 94.3 to 94.6 %. Its pictures are normalised by the means and deviations of the training set's channels. With 20 epochs, without that
/// and without decay of biases and norms, it reached 93.3 to 93.4 % (`docs/performance.md`).
pub const CIFAR10: Recipe = Recipe {
    model: Preset {
        architecture: |_| {
            let (mean, deviation) = (vec![0.4914, 0.4822, 0.4465], vec![0.2470, 0.2435, 0.2616]);
            resnet18(3, 64, Some(Normalisation { mean, deviation }))
        },
        epochs: 36,
        rate: 0.1,
        ..CIFAR_RESNET18
    },
    momentum: 0.9,
    weight_decay: 5e-4,
    label_smoothing: 0.1,
    rising_share: 0.25,
    augmentation: Augmentation { shift: 4, flip: true, cutout: 8 },
};

/// For Fashion-MNIST.
pub const FASHION: Recipe = Recipe {
    model: Preset {
        architecture: |_| {
            let (mean, deviation) = (vec![0.2860], vec![0.3530]);
            resnet18(1, 32, Some(Normalisation { mean, deviation }))
        },
        epochs: 15,
        rate: 0.1,
        ..FASHION_RESNET18
    },
    augmentation: Augmentation { shift: 2, flip: true, cutout: 8 },
    ..CIFAR10
};

#[cfg(test)]
mod tests {
    use super::*;
    use flambeau::optim::scheduler::Schedule;

    /// The same formula is in `bench/peers/cifar10.py`.
    #[test]
    fn rates_rise_for_a_quarter_of_the_run_and_fall_to_nothing() {
        let (highest, steps) = (0.1, 400);
        let schedule = CIFAR10.schedule(highest, steps);
        let (first, rise, end) = (highest / 100.0, 0.25 * steps as f64 - 1.0, steps as f64 - 1.0);
        for step in 0..steps {
            let at = step as f64;
            let expected = match at <= rise {
                true => first + (highest - first) * at / rise,
                false => highest + (first / 1e4 - highest) * (at - rise) / (end - rise),
            };
            assert!((schedule.rate(1.0, step) - expected).abs() < 1e-12, "step {step}");
            assert_eq!(schedule.momentum(step), None);
        }
    }
}
