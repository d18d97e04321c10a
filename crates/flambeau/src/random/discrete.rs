//! Whole numbers, found by 32 random bits in a table of the distribution function: integers compared with integers, so that every device
//! gives the same.

use super::{Draw, draws};
use crate::dtype::DType;
use crate::error::Result;
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorOptions};
use libm::lgamma;

/// The most entries of a table.
const MOST: usize = 1 << 20;
/// What less than 2⁻³³ is left of counts as nothing.
const NOTHING: f64 = 1.0 / (1u64 << 33) as f64;

/// A distribution of whole numbers: the first that a table has, and the probabilities of it and of those that follow.
pub(super) struct Table {
    first: i64,
    /// Entry k is how many of 2³² bits give first + k or less.
    thresholds: Vec<u32>,
}

impl Table {
    /// Probabilities of whole numbers between two bounds, of which `mode` is the likeliest; `log_mass` is their logarithm.
    fn new(draw: &Draw, bounds: (i64, i64), mode: i64, log_mass: impl Fn(f64) -> f64) -> Result<Table> {
        let mass = |k: i64| log_mass(k as f64).exp();
        // Both ways from the mode, until what is left cannot count: masses fall at least as fast as between the last two.
        let reach = |step: i64, end: i64| {
            let (mut masses, mut k, mut last) = (Vec::new(), mode, f64::INFINITY);
            while k != end {
                k += step;
                let next = mass(k);
                masses.push(next);
                let ratio = next / last;
                last = next;
                if next < NOTHING && (next == 0.0 || next * ratio < NOTHING * (1.0 - ratio)) {
                    break;
                }
                if masses.len() > MOST {
                    return Err(());
                }
            }
            Ok(masses)
        };
        let (below, above) = match (reach(-1, bounds.0), reach(1, bounds.1)) {
            (Ok(below), Ok(above)) => (below, above),
            _ => return draw.refuse(format!("more than {MOST} numbers have a probability that counts")),
        };
        let first = mode - below.len() as i64;
        let masses: Vec<f64> = below.into_iter().rev().chain([mass(mode)]).chain(above).collect();
        Ok(Table { first, thresholds: thresholds(&masses) })
    }

    /// The numbers that random bits stand for.
    #[track_caller]
    pub(super) fn draw(&self, draw: &Draw) -> Result<Tensor> {
        let device = draw.options.device();
        let table = Tensor::try_from_slice(&self.thresholds, self.thresholds.len(), device)?;
        let place = table.try_searchsorted(&draw.bits(), true)?;
        let dtype = draw.options.dtype_or(DType::I32);
        match i32::try_from(self.first + self.thresholds.len() as i64).is_ok() {
            true => place.try_add(self.first)?.try_to_dtype(dtype),
            false => draw.refuse(format!("numbers beyond {} do not fit into i32", self.first)),
        }
    }
}

/// Running sums of probabilities, as multiples of 2⁻³². There is none for the last number: it has what is left.
pub(super) fn thresholds(masses: &[f64]) -> Vec<u32> {
    let total: f64 = masses.iter().sum();
    let mut sum = 0.0;
    let mut sums: Vec<u32> = masses
        .iter()
        .map(|mass| {
            sum += mass / total;
            // A threshold of 2³² does not fit; the last bits belong to the one before the last number then.
            (sum * 4_294_967_296.0).round().min(4_294_967_295.0) as u32
        })
        .collect();
    sums.pop();
    sums
}

/// ln C(n, k).
fn ln_choose(n: f64, k: f64) -> f64 {
    lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
}

/// k · ln p, and 0 for nothing of anything.
fn k_ln(k: f64, p: f64) -> f64 {
    if k == 0.0 { 0.0 } else { k * p.ln() }
}

fn probability(draw: &Draw, p: f64) -> Result<f64> {
    match (0.0..=1.0).contains(&p) {
        true => Ok(p),
        false => draw.refuse(format!("{p} is not a probability")),
    }
}

draws! {
    /// How many events happen where `rate` are expected (I32): λᵏ e^−λ / k!.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).poisson(4.0, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 4.0).abs() < 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    poisson / try_poisson(&self, rate: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("poisson", self, shape, options)?;
        if !(0.0..=1e9).contains(&rate) {
            return draw.refuse(format!("a rate of {rate} is not from 0 to 10⁹"));
        }
        let mass = |k: f64| k_ln(k, rate) - rate - lgamma(k + 1.0);
        Table::new(&draw, (0, i64::MAX), rate as i64, mass)?.draw(&draw)
    }

    /// How many of n trials succeed, each with probability p (I32).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).binomial(10, 0.3, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 3.0).abs() < 0.1 && x.amax(..).item_blocking()? <= 10.0);
    /// # Ok::<(), Error>(())
    /// ```
    binomial / try_binomial(&self, n: usize, p: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("binomial", self, shape, options)?;
        let (p, count) = (probability(&draw, p)?, n as f64);
        let mass = |k: f64| ln_choose(count, k) + k_ln(k, p) + k_ln(count - k, 1.0 - p);
        let mode = (((count + 1.0) * p) as i64).clamp(0, n as i64);
        Table::new(&draw, (0, n as i64), mode, mass)?.draw(&draw)
    }

    /// How many failures come before n successes, each with probability p (I32); n need not be whole.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).negative_binomial(2.0, 0.5, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 2.0).abs() < 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    negative_binomial / try_negative_binomial(&self, n: f64, p: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("negative_binomial", self, shape, options)?;
        let (n, p) = (draw.positive("n", n)?, draw.positive("p", probability(&draw, p)?)?);
        let mass = |k: f64| lgamma(k + n) - lgamma(k + 1.0) - lgamma(n) + n * p.ln() + k_ln(k, 1.0 - p);
        let mode = if n > 1.0 { ((n - 1.0) * (1.0 - p) / p) as i64 } else { 0 };
        Table::new(&draw, (0, i64::MAX), mode, mass)?.draw(&draw)
    }

    /// Which trial is the first to succeed (I32, from 1), each with probability p.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).geometric(0.25, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 4.0).abs() < 0.2 && x.amin(..).item_blocking()? == 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    geometric / try_geometric(&self, p: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("geometric", self, shape, options)?;
        let p = draw.positive("p", probability(&draw, p)?)?;
        Table::new(&draw, (1, i64::MAX), 1, |k| p.ln() + k_ln(k - 1.0, 1.0 - p))?.draw(&draw)
    }

    /// How many of `sample` things, drawn from `good` and `bad` ones without being put back, are good (I32).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).hypergeometric(15, 5, 4, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 3.0).abs() < 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    hypergeometric / try_hypergeometric(&self,
        good: usize, bad: usize, sample: usize, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("hypergeometric", self, shape, options)?;
        if sample > good.saturating_add(bad) {
            return draw.refuse(format!("{sample} of {good} and {bad} things"));
        }
        let (good, bad, sample) = (good as f64, bad as f64, sample as f64);
        let (low, high) = ((sample - bad).max(0.0), sample.min(good));
        let mass = |k: f64| ln_choose(good, k) + ln_choose(bad, sample - k) - ln_choose(good + bad, sample);
        let mode = ((sample + 1.0) * (good + 1.0) / (good + bad + 2.0)).floor().clamp(low, high);
        Table::new(&draw, (low as i64, high as i64), mode as i64, mass)?.draw(&draw)
    }

    /// Whole numbers k ≥ 1 (I32) with the probability −pᵏ / (k ln(1 − p)).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).logseries(0.6, [3], &Device::cpu()).numel(), 3);
    /// ```
    logseries / try_logseries(&self, p: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("logseries", self, shape, options)?;
        let p = draw.positive("p", probability(&draw, p)?)?;
        if p == 1.0 {
            return draw.refuse("p = 1 has no distribution");
        }
        let scale = (-(-p).ln_1p()).ln();
        Table::new(&draw, (1, i64::MAX), 1, |k| k * p.ln() - k.ln() - scale)?.draw(&draw)
    }

    /// Whole numbers k ≥ 1 (I32) with probabilities in proportion to k^−a: Zipf's law. From about a = 2.6 on; with less, more numbers count
    /// than a table has.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).zipf(4.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    zipf / try_zipf(&self, a: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("zipf", self, shape, options)?;
        // What is beyond k is about k^(1 − a) / (a − 1).
        let count = (NOTHING * (a - 1.0)).powf(1.0 / (1.0 - a)).ceil();
        if a.is_nan() || a <= 1.0 || count > MOST as f64 {
            return draw.refuse(format!("with a = {a} more than {MOST} numbers have a probability that counts"));
        }
        let masses: Vec<f64> = (1..=count as usize).map(|k| (k as f64).powf(-a)).collect();
        Table { first: 1, thresholds: thresholds(&masses) }.draw(&draw)
    }
}
