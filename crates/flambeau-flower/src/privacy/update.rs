//! Clipping and noise: what becomes of an update before it leaves.

use super::Accountant;
use crate::error::{FlowerError, Result};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use std::f64::consts::TAU;

/// Normal numbers from a cryptographic generator (ChaCha20): nobody who has seen some of them can tell the others.
pub struct Noise {
    random: ChaCha20Rng,
}

impl Noise {
    /// Noise from the system's randomness.
    pub fn new() -> Result<Noise> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| FlowerError::Randomness(error.to_string()))?;
        Ok(Noise::of_seed(seed))
    }

    /// The same noise every time: for tests and simulations alone, because it protects nothing.
    pub fn of_seed(seed: [u8; 32]) -> Noise {
        Noise { random: ChaCha20Rng::from_seed(seed) }
    }

    /// A number from 0 to below 1, one of 2⁵³.
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Two independent standard normal numbers (Box and Muller 1958).
    fn pair(&mut self) -> [f64; 2] {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let angle = TAU * self.uniform();
        [radius * angle.cos(), radius * angle.sin()]
    }
}

/// How a client protects its updates, and what it has spent.
///
/// An update, new parameters minus those received, is shortened to the length `clip` if it is longer, and every number in it gets noise
/// with standard deviation `multiplier · clip`. The server sees only that. What is protected is all of the client's data at once: the
/// accountant's neighbours are the client with its data and the client without any, whose update is zero. (Between two clients whose
/// data differ altogether, updates are up to 2 `clip` apart: that is the guarantee of half the multiplier.) The server sees when a
/// client takes part, so every update counts in full.
///
/// ```
/// use flambeau_flower::privacy::{Noise, Privacy};
/// let mut privacy = Privacy::new(1.0, 2.0, 1e-5)?;
/// let mut update = [vec![3.0f32, 0.0], vec![4.0]];
/// let done = privacy.protect(&mut update, &mut Noise::new()?)?;
/// assert_eq!(done.norm, 5.0);
/// assert!(done.epsilon > 2.0 && done.epsilon < 3.0);
/// # Ok::<(), flambeau_flower::FlowerError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Privacy {
    clip: f64,
    multiplier: f64,
    delta: f64,
    spent: Accountant,
}

/// What was done with an update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protected {
    /// Its length before.
    pub norm: f64,
    /// What it was multiplied with: below 1 if it was too long.
    pub factor: f64,
    /// The standard deviation of the noise.
    pub deviation: f64,
    /// ε of all updates so far; infinite without noise.
    pub epsilon: f64,
}

impl Privacy {
    /// Updates of length `clip` at most, noise of `multiplier` times that, and ε told for this `delta`.
    pub fn new(clip: f64, multiplier: f64, delta: f64) -> Result<Privacy> {
        if !(clip > 0.0 && clip.is_finite()) {
            let message = format!("{clip} is no length; take one above 0");
            return Err(FlowerError::Argument { what: "clip", message });
        }
        // The accountant judges the others.
        let mut judge = Accountant::new();
        judge.compose(1.0, multiplier, 1)?;
        judge.epsilon(delta)?;
        Ok(Privacy { clip, multiplier, delta, spent: Accountant::new() })
    }

    /// ε of all updates so far.
    pub fn epsilon(&self) -> Result<f64> {
        self.spent.epsilon(self.delta)
    }

    /// The δ for which ε is told.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// Clips an update, which may be in parts, and adds noise. One that is not finite has no length to clip, and does not leave.
    pub fn protect(&mut self, update: &mut [Vec<f32>], noise: &mut Noise) -> Result<Protected> {
        let squares = update.iter().flatten().map(|&x| f64::from(x) * f64::from(x));
        let norm = squares.sum::<f64>().sqrt();
        if !norm.is_finite() {
            let message = "it has numbers that are not finite; train with a lower learning rate".into();
            return Err(FlowerError::Argument { what: "update", message });
        }
        let factor = if norm > self.clip { self.clip / norm } else { 1.0 };
        let deviation = self.multiplier * self.clip;
        for pair in update.iter_mut().flat_map(|part| part.chunks_mut(2)) {
            for (number, normal) in pair.iter_mut().zip(noise.pair()) {
                *number = (f64::from(*number) * factor + deviation * normal) as f32;
            }
        }
        self.spent.compose(1.0, self.multiplier, 1)?;
        Ok(Protected { norm, factor, deviation, epsilon: self.epsilon()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norm(update: &[Vec<f32>]) -> f64 {
        update.iter().flatten().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
    }

    #[test]
    fn long_updates_are_shortened_and_short_ones_stay() {
        let mut privacy = Privacy::new(2.0, 0.0, 1e-5).unwrap();
        let mut noise = Noise::of_seed([1; 32]);
        let mut long = [vec![3.0, 0.0], vec![], vec![-4.0]];
        let done = privacy.protect(&mut long, &mut noise).unwrap();
        assert_eq!((done.norm, done.factor, done.deviation), (5.0, 0.4, 0.0));
        assert_eq!(done.epsilon, f64::INFINITY);
        assert!((norm(&long) - 2.0).abs() < 1e-6, "{long:?}");
        let mut short = [vec![0.5, -0.25]];
        privacy.protect(&mut short, &mut noise).unwrap();
        assert_eq!(short, [vec![0.5, -0.25]]);
    }

    /// Mean, deviation and fourth moment of 200,001 numbers with a fixed seed; four standard errors are allowed.
    #[test]
    fn noise_is_normal() {
        let count = 200_001;
        let mut update = [vec![0.0; count]];
        let mut privacy = Privacy::new(0.5, 3.0, 1e-5).unwrap();
        privacy.protect(&mut update, &mut Noise::of_seed([7; 32])).unwrap();
        let moment = |power: i32| {
            update[0].iter().map(|&x| (f64::from(x) / 1.5).powi(power)).sum::<f64>() / count as f64
        };
        let error = 1.0 / (count as f64).sqrt();
        assert!(moment(1).abs() < 4.0 * error, "{}", moment(1));
        assert!((moment(2) - 1.0).abs() < 4.0 * 2f64.sqrt() * error, "{}", moment(2));
        assert!((moment(4) - 3.0).abs() < 4.0 * 96f64.sqrt() * error, "{}", moment(4));
    }

    #[test]
    fn noise_is_another_each_time() {
        let draw = |noise: &mut Noise| noise.pair();
        let [mut one, mut two] = [Noise::new().unwrap(), Noise::new().unwrap()];
        assert_ne!(draw(&mut one), draw(&mut two));
        assert_ne!(draw(&mut one), draw(&mut one));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (clip, multiplier, delta) in [
            (0.0, 1.0, 1e-5),
            (f64::NAN, 1.0, 1e-5),
            (1.0, -1.0, 1e-5),
            (1.0, f64::NAN, 1e-5),
            (1.0, 1.0, 0.0),
        ] {
            assert!(Privacy::new(clip, multiplier, delta).is_err(), "{clip} {multiplier} {delta}");
        }
        let mut privacy = Privacy::new(1.0, 1.0, 1e-5).unwrap();
        let error = privacy.protect(&mut [vec![f32::NAN]], &mut Noise::of_seed([0; 32])).unwrap_err();
        assert!(error.to_string().contains("not finite"), "{error}");
        assert_eq!(privacy.epsilon(), Ok(0.0));
    }
}
