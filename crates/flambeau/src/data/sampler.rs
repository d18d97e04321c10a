//! The order in which items are drawn.

use super::random::HostRandom;
use crate::error::{Error, Result};
use crate::memory::reserved;
use std::sync::Arc;

type Draw = dyn Fn(&mut HostRandom) -> Vec<usize> + Send + Sync;

/// The items of an epoch and their order: a function of the loader's seed and of the epoch's number.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::{DataLoader, Sampler, synthetic};
/// let points = synthetic::xor(100, 0.1, &Generator::new(1));
/// // The last ten first; the other class never.
/// let batches = DataLoader::new(points, &Device::cpu()).with_sampler(Sampler::Subset((90..100).collect()));
/// assert_eq!(batches.items_per_epoch(), 10);
/// ```
#[derive(Clone)]
pub enum Sampler {
    /// Every item, in order.
    Sequential,
    /// Every item once, in another order in every epoch.
    Random,
    /// `count` items, drawn with replacement with probabilities in proportion to the weights, one for each item.
    Weighted {
        /// The weight of each item: finite and not negative.
        weights: Vec<f64>,
        /// How many items make an epoch.
        count: usize,
    },
    /// These items, in this order.
    Subset(Vec<usize>),
    /// These items, in another order in every epoch.
    SubsetRandom(Vec<usize>),
    /// A share of the items: see [`Sampler::distributed`].
    Distributed {
        /// How many share the items.
        replicas: usize,
        /// Which of them this is, from 0.
        rank: usize,
        /// In another order in every epoch, the same for all?
        shuffled: bool,
        /// Are items given out twice where shares would not be equal? Otherwise the last ones are left out.
        repeated: bool,
    },
    /// What a function draws: see [`Sampler::custom`].
    Custom {
        /// How many items make an epoch.
        count: usize,
        /// Draws them.
        draw: Arc<Draw>,
    },
}

impl Sampler {
    /// Items drawn by a function, `count` of them an epoch. It must not depend on anything but the numbers it draws,
    /// or a run that is taken up again sees other batches.
    ///
    /// ```
    /// use flambeau::data::Sampler;
    /// // Pairs of neighbours, the pairs in random order.
    /// let pairs = Sampler::custom(100, |random| {
    ///     random.permutation(50).into_iter().flat_map(|pair| [2 * pair, 2 * pair + 1]).collect()
    /// });
    /// ```
    pub fn custom(
        count: usize,
        draw: impl Fn(&mut HostRandom) -> Vec<usize> + Send + Sync + 'static,
    ) -> Sampler {
        Sampler::Custom { count, draw: Arc::new(draw) }
    }

    /// The items number `rank`, `rank + replicas`, … of an order that all replicas have in common, because their loaders have
    /// the same seed. All get the same number; the first items come twice where that is necessary.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{DataLoader, Sampler, synthetic};
    /// let points = synthetic::xor(10, 0.1, &Generator::new(1));
    /// let second_of_four = DataLoader::new(points, &Device::cpu()).with_sampler(Sampler::distributed(4, 1));
    /// assert_eq!(second_of_four.items_per_epoch(), 3);
    /// ```
    pub fn distributed(replicas: usize, rank: usize) -> Sampler {
        Sampler::Distributed { replicas, rank, shuffled: false, repeated: true }
    }

    /// How many items make an epoch of a data set with `length` items.
    pub(super) fn count(&self, length: usize) -> usize {
        match self {
            Sampler::Sequential | Sampler::Random => length,
            Sampler::Subset(indices) | Sampler::SubsetRandom(indices) => indices.len(),
            Sampler::Weighted { count, .. } | Sampler::Custom { count, .. } => *count,
            Sampler::Distributed { replicas, repeated: true, .. } => length.div_ceil(*replicas.max(&1)),
            Sampler::Distributed { replicas, .. } => length / replicas.max(&1),
        }
    }

    /// The items of an epoch of a data set with `length` items.
    pub(super) fn draw(&self, length: usize, random: &mut HostRandom) -> Result<Vec<usize>> {
        let indices = match self {
            Sampler::Sequential => (0..length).collect(),
            Sampler::Random => random.permutation(length),
            Sampler::Weighted { weights, count } => weighted(weights, *count, length, random)?,
            Sampler::Subset(indices) => indices.clone(),
            Sampler::SubsetRandom(indices) => {
                let mut indices = indices.clone();
                random.shuffle(&mut indices);
                indices
            }
            Sampler::Distributed { replicas, rank, shuffled, .. } => {
                if rank >= replicas {
                    let message = format!("replica {rank} of {replicas}");
                    return Err(Error::argument("Sampler::Distributed", message));
                }
                let order = if *shuffled { random.permutation(length) } else { (0..length).collect() };
                (0..self.count(length)).map(|k| order[(k * replicas + rank) % length]).collect()
            }
            Sampler::Custom { draw, .. } => draw(random),
        };
        if indices.len() != self.count(length) {
            let message = format!("{} items were drawn, {} were promised", indices.len(), self.count(length));
            return Err(Error::argument("Sampler", message));
        }
        match indices.iter().find(|&&index| index >= length) {
            Some(index) => {
                let message = format!("item {index} was drawn from a data set of {length} items");
                Err(Error::argument("Sampler", message))
            }
            None => Ok(indices),
        }
    }
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sampler::Sequential => "Sequential",
            Sampler::Random => "Random",
            Sampler::Weighted { .. } => "Weighted",
            Sampler::Subset(_) => "Subset",
            Sampler::SubsetRandom(_) => "SubsetRandom",
            Sampler::Distributed { .. } => "Distributed",
            Sampler::Custom { .. } => "Custom",
        })
    }
}

fn weighted(weights: &[f64], count: usize, length: usize, random: &mut HostRandom) -> Result<Vec<usize>> {
    let mut total = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|weight| {
            total += weight;
            total
        })
        .collect();
    let valid = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) && total.is_finite();
    if weights.len() != length || !valid || (count > 0 && total <= 0.0) {
        let message = format!(
            "{} weights with sum {total} for {length} items; one finite weight an item was expected, not negative, \
             and not all zero",
            weights.len()
        );
        return Err(Error::argument("Sampler::Weighted", message));
    }
    // The last item with a weight: a product that is rounded up to the total would fall behind it.
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    let draw = |_| {
        let point = random.uniform() * total;
        sums.partition_point(|&sum| sum <= point).min(last)
    };
    let mut drawn = reserved(count)?;
    drawn.extend((0..count).map(draw));
    Ok(drawn)
}

/// The numbers below `length`, shuffled and cut into parts in proportion to `fractions`: to hold out a part of a data
/// set, for example, with [`Sampler::Subset`].
///
/// ```
/// use flambeau::{Generator, data::random_split};
/// let parts = random_split(10, &[0.8, 0.2], &Generator::new(1))?;
/// assert_eq!((parts[0].len(), parts[1].len()), (8, 2));
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn random_split(
    length: usize,
    fractions: &[f64],
    generator: &crate::Generator,
) -> Result<Vec<Vec<usize>>> {
    let total: f64 = fractions.iter().sum();
    if !total.is_finite() || total <= 0.0 || fractions.iter().any(|&fraction| fraction < 0.0) {
        let message = format!("{fractions:?} are not parts of a whole");
        return Err(Error::argument("random_split", message));
    }
    let mut order = reserved(length)?;
    order.extend(0..length);
    HostRandom::new(generator).shuffle(&mut order);
    let mut part = 0.0;
    let mut start = 0;
    let parts = fractions.iter().map(|fraction| {
        part += fraction;
        let end = ((part / total * length as f64).round() as usize).clamp(start, length);
        let indices = order[start..end].to_vec();
        start = end;
        indices
    });
    Ok(parts.collect())
}
