//! What noise is worth: Rényi differential privacy of the sampled Gaussian mechanism (Mironov, Talwar and Zhang 2019), and its
//! conversion to (ε, δ) (Canonne, Kamath and Steinke 2020, Proposition 12).
//!
//! A mechanism that adds N(0, z²) to a sum of vectors of length 1 at most, each of which is taken with probability q, has at order α
//! the divergence
//!
//! ε(α) = ln A(α) / (α − 1),  A(α) = E ((1 − q) + q exp((2x − 1) / 2z²))^α  over x ~ N(0, z²)
//!
//! for neighbours that differ by one vector more or less. Divergences of mechanisms one after the other add up.

use crate::error::{FlowerError, Result};
use std::f64::consts::PI;

/// The orders at which divergences are kept: those of `dp-accounting`.
pub const ORDERS: usize = 99 + 53 + 4;

/// Deviations from the mean after which a normal density is taken for zero (e⁻⁷²).
const TAIL: f64 = 12.0;
/// Points to a standard deviation. The trapezoidal rule's error is below exp(−2π · distance of the nearest singularity / step).
const POINTS: f64 = 16.0;

/// Adds up what has been spent.
///
/// ```
/// use flambeau_flower::privacy::Accountant;
/// let mut spent = Accountant::new();
/// // A hundred rounds with noise of four times the clipping length, taking part in all of them.
/// spent.compose(1.0, 4.0, 100)?;
/// assert!((spent.epsilon(1e-5)? - 14.1).abs() < 0.1);
/// # Ok::<(), flambeau_flower::FlowerError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Accountant {
    divergences: Vec<f64>,
}

impl Default for Accountant {
    fn default() -> Accountant {
        Accountant::new()
    }
}

/// α = 1.1, 1.2, …, 10.9, 11, 12, …, 63, 128, 256, 512, 1024.
fn orders() -> impl Iterator<Item = f64> {
    let fractional = (1..100).map(|tenths| 1.0 + f64::from(tenths) / 10.0);
    let whole = (11..64).chain([128, 256, 512, 1024]).map(f64::from);
    fractional.chain(whole)
}

impl Accountant {
    /// Nothing has been spent.
    pub fn new() -> Accountant {
        Accountant { divergences: vec![0.0; ORDERS] }
    }

    /// Takes note of so many more mechanisms with this probability `sampling` (q) of taking part and this noise `multiplier` (z):
    /// its standard deviation over the sensitivity.
    pub fn compose(&mut self, sampling: f64, multiplier: f64, count: u64) -> Result<()> {
        let wrong = |what, message: String| Err(FlowerError::Argument { what, message });
        if !(0.0..=1.0).contains(&sampling) {
            return wrong("sampling", format!("{sampling} is no probability; take one from 0 to 1"));
        }
        if !(multiplier >= 0.0 && multiplier.is_finite()) {
            return wrong("multiplier", format!("{multiplier} is no noise multiplier; take 0 or more"));
        }
        for (spent, order) in self.divergences.iter_mut().zip(orders()) {
            *spent += count as f64 * divergence(sampling, multiplier, order);
        }
        Ok(())
    }

    /// The smallest ε with which all of it together is (ε, δ)-differentially private; infinity if there was no noise.
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        self.epsilon_at(delta, |_| true)
    }

    /// The same with some of the orders alone.
    fn epsilon_at(&self, delta: f64, takes: impl Fn(f64) -> bool) -> Result<f64> {
        if !(delta > 0.0 && delta < 1.0) {
            let message =
                format!("{delta} is no δ; take one between 0 and 1, far below 1 / number of records");
            return Err(FlowerError::Argument { what: "delta", message });
        }
        let at = |(order, &divergence): (f64, &f64)| {
            // δ ≤ sqrt(1 − exp(−KL)), and the divergence is at least the relative entropy.
            if delta * delta + (-divergence).exp_m1() > 0.0 {
                return 0.0;
            }
            divergence + (-1.0 / order).ln_1p() - (delta * order).ln() / (order - 1.0)
        };
        let taken = orders().zip(&self.divergences).filter(|(order, _)| takes(*order));
        Ok(taken.map(at).fold(f64::INFINITY, f64::min).max(0.0))
    }
}

/// The divergence ε(α) of one mechanism.
fn divergence(q: f64, z: f64, order: f64) -> f64 {
    if q == 0.0 {
        0.0
    } else if z == 0.0 {
        f64::INFINITY
    } else if q == 1.0 {
        order / (2.0 * z * z)
    } else if order.fract() == 0.0 {
        (binomial(q, z, order) / (order - 1.0)).max(0.0)
    } else {
        (quadrature(q, z, order) / (order - 1.0)).max(0.0)
    }
}

/// ln A(α) of a whole order: Σ C(α, k) (1 − q)^(α − k) q^k exp((k² − k) / 2z²).
fn binomial(q: f64, z: f64, order: f64) -> f64 {
    let log_factorial = |n: f64| libm::lgamma(n + 1.0);
    let terms = (0..=order as u32).map(|k| {
        let k = f64::from(k);
        let choices = log_factorial(order) - log_factorial(k) - log_factorial(order - k);
        choices + (order - k) * (-q).ln_1p() + k * q.ln() + (k * k - k) / (2.0 * z * z)
    });
    log_sum(terms.collect())
}

/// ln A(α) of any order, by the trapezoidal rule. The integrand is a normal density around 0 and, for large x, one around α.
fn quadrature(q: f64, z: f64, order: f64) -> f64 {
    let (first, last) = (-TAIL * z, order + TAIL * z);
    let step = z / POINTS;
    let points = ((last - first) / step).ceil() as u64;
    let terms = (0..=points).map(|point| {
        let x = first + point as f64 * step;
        let exponent = (2.0 * x - 1.0) / (2.0 * z * z);
        let mixture = log_add((-q).ln_1p(), q.ln() + exponent);
        order * mixture - x * x / (2.0 * z * z)
    });
    log_sum(terms.collect()) + (step / (z * (2.0 * PI).sqrt())).ln()
}

/// ln(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (less, more) = (a.min(b), a.max(b));
    more + (less - more).exp().ln_1p()
}

/// The logarithm of the sum of exponentials.
fn log_sum(terms: Vec<f64>) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Row {
        sampling: f64,
        multiplier: f64,
        count: u64,
        delta: f64,
        epsilon: f64,
        whole: f64,
        exact: f64,
        left_out: u64,
    }

    /// ε of `dp-accounting` 0.6 at equal orders, and of divergences by SciPy's quadrature at all, to six digits (tools/reference/flower.py). At whole
    /// orders, and wherever everybody takes part, both count the same. For the others `dp-accounting` has a series of which it adds up the amounts of terms
    /// whose signs alternate, and leaves orders out for which that does not converge: there its ε is above the exact one.
    #[test]
    fn epsilons_are_those_of_dp_accounting() {
        let rows: Vec<Row> =
            serde_json::from_str(include_str!("../../tests/data/dp_accounting.json")).unwrap();
        assert_eq!(rows.len(), 100);
        for Row { sampling, multiplier, count, delta, epsilon, whole, exact, left_out } in rows {
            let mut spent = Accountant::new();
            spent.compose(sampling, multiplier, count).unwrap();
            let ours = spent.epsilon(delta).unwrap();
            let case = format!(
                "q {sampling}, z {multiplier}, {count} times, δ {delta}: {ours}, not {epsilon} or {exact}"
            );
            assert!((ours - exact).abs() <= 1e-6 * exact, "{case}");
            let at_whole = spent.epsilon_at(delta, |order| order.fract() == 0.0).unwrap();
            assert!(
                (at_whole - whole).abs() <= 1e-6 * whole,
                "{case}; at whole orders {at_whole}, not {whole}"
            );
            assert!(sampling < 1.0 || (ours - epsilon).abs() <= 1e-6 * epsilon, "{case}");
            assert!(ours <= epsilon * (1.0 + 1e-6), "{case}");
            assert!(left_out > 0 || epsilon - ours <= 2e-3 * epsilon, "{case}");
        }
    }

    /// At whole orders the sum is exact; the integral is another way to it.
    #[test]
    fn both_ways_to_a_divergence_agree() {
        for (q, z, order) in [(0.01, 1.0, 2.0), (0.3, 0.7, 8.0), (0.001, 4.0, 32.0), (0.9, 0.3, 5.0)] {
            let (sum, integral) = (binomial(q, z, order), quadrature(q, z, order));
            assert!(
                (sum - integral).abs() <= 1e-12 * sum.abs().max(1.0),
                "{q} {z} {order}: {sum} {integral}"
            );
        }
    }

    #[test]
    fn mechanisms_add_up_and_no_noise_is_no_privacy() {
        let (mut one_by_one, mut at_once) = (Accountant::new(), Accountant::new());
        (0..10).for_each(|_| one_by_one.compose(0.1, 1.5, 1).unwrap());
        at_once.compose(0.1, 1.5, 10).unwrap();
        let difference = one_by_one.epsilon(1e-5).unwrap() - at_once.epsilon(1e-5).unwrap();
        assert!(difference.abs() < 1e-9);
        at_once.compose(0.1, 0.0, 1).unwrap();
        assert_eq!(at_once.epsilon(1e-5), Ok(f64::INFINITY));
        assert_eq!(Accountant::new().epsilon(1e-5), Ok(0.0));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut spent = Accountant::new();
        for (q, z) in [(-0.1, 1.0), (1.1, 1.0), (f64::NAN, 1.0), (0.5, -1.0), (0.5, f64::NAN)] {
            assert!(spent.compose(q, z, 1).is_err(), "{q} {z}");
        }
        for delta in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(spent.epsilon(delta).is_err(), "{delta}");
        }
        assert_eq!(spent, Accountant::new());
    }
}
