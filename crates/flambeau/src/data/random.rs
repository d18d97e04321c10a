//! Random numbers on the host: for orders, synthetic data, and what is drawn once a batch.

use crate::rng::{Generator, normal, random_bits};

/// Draws numbers on the host from a generator's stream: the same on every machine.
///
/// ```
/// use flambeau::{Generator, data::HostRandom};
/// let mut random = HostRandom::new(&Generator::new(3));
/// assert!(random.below(10) < 10);
/// assert!((0.0..1.0).contains(&random.uniform()));
/// let mut order = random.permutation(5);
/// order.sort_unstable();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
#[derive(Debug)]
pub struct HostRandom {
    generator: Generator,
}

impl HostRandom {
    /// Draws from this generator, whose counter advances.
    pub fn new(generator: &Generator) -> HostRandom {
        HostRandom { generator: generator.clone() }
    }

    fn bits(&mut self) -> u32 {
        let (key, counter) = self.generator.reserve(1);
        random_bits(key, counter)
    }

    fn bits64(&mut self) -> u64 {
        u64::from(self.bits()) << 32 | u64::from(self.bits())
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits64()) * bound as u128) >> 64) as usize
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        f64::from(normal(self.bits()))
    }

    /// The numbers from 0 to `count` − 1 in random order, every order as likely as any other.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        self.shuffle(&mut order);
        order
    }

    /// Puts the elements in random order.
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        for place in (1..elements.len()).rev() {
            elements.swap(place, self.below(place + 1));
        }
    }
}
