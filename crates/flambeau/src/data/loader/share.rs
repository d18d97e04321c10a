//! How an order of items is cut into batches, and a batch into the shares of those who train together, or into pieces that come
//! one after the other.

use std::ops::Range;

/// The cuts: batches of so many items, of each of which one member of several gets its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub batch_size: usize,
    pub rank: usize,
    pub size: usize,
}

impl Cut {
    /// The places of this member's items of a batch, of `total` items in all. Shares differ by one item at most. Where there are
    /// fewer items than members, those without one get the first to stand in, which has no weight.
    pub fn items(&self, batch: usize, total: usize) -> Range<usize> {
        let (start, own) = self.places(batch, total);
        match own.is_empty() {
            false => own,
            true => start..(start + 1).min(total),
        }
    }

    /// What the mean over this member's share of a batch counts in the mean over the members: its items over those of the
    /// batch, times the members; 0 for a share that only stands in.
    pub fn weight(&self, batch: usize, total: usize) -> f64 {
        let whole = self.batch_size.min(total.saturating_sub(batch * self.batch_size));
        match whole {
            0 => 1.0,
            whole => (self.places(batch, total).1.len() * self.size) as f64 / whole as f64,
        }
    }

    /// Where the batch begins, and this member's places in it.
    fn places(&self, batch: usize, total: usize) -> (usize, Range<usize>) {
        let start = (batch * self.batch_size).min(total);
        let length = self.batch_size.min(total - start);
        let place = |rank: usize| start + length / self.size * rank + (length % self.size).min(rank);
        (start, place(self.rank)..place(self.rank + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::Cut;

    #[test]
    fn shares_make_up_the_batch_and_weights_the_number_of_members() {
        for (batch_size, total, size) in [(8, 32, 4), (8, 30, 3), (5, 11, 4), (1, 3, 2), (7, 7, 7)] {
            for batch in 0..usize::div_ceil(total, batch_size) {
                let cuts = || (0..size).map(|rank| Cut { batch_size, rank, size });
                let weighed = |cut: &Cut| cut.weight(batch, total) > 0.0;
                let items: Vec<usize> =
                    cuts().filter(weighed).flat_map(|cut| cut.items(batch, total)).collect();
                let whole = batch * batch_size..((batch + 1) * batch_size).min(total);
                assert_eq!(items, whole.collect::<Vec<_>>(), "batch {batch} of {batch_size} for {size}");
                let weights: f64 = cuts().map(|cut| cut.weight(batch, total)).sum();
                assert!((weights - size as f64).abs() < 1e-12, "{weights}");
                assert!(cuts().all(|cut| !cut.items(batch, total).is_empty()), "a batch without an item");
            }
        }
    }
}
