//! Sorting by a number. Every type that is sorted in its own way takes a page four kilobytes; here all share one way.

use super::{Disjoint, share};
use half::f16;

/// The items in increasing order of a key; those with equal keys stay in their order.
pub(crate) fn sorted_by<T>(items: Vec<T>, key: impl Fn(&T) -> u64) -> Vec<T> {
    let mut order: Vec<(u64, usize)> = items.iter().map(key).zip(0..).collect();
    order.sort_unstable();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.into_iter().filter_map(|(_, at)| items[at].take()).collect()
}

/// A key for the decreasing order of signed numbers.
pub(crate) fn decreasing(number: i64) -> u64 {
    !((number as u64) ^ (1 << 63))
}

/// Elements that have an order, by an integer that is smaller, equal or larger as they are.
pub(crate) trait Sortable: Copy + Sync {
    /// Are 32 bits of the key enough?
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "sorts by digits are native"))]
    const IS_NARROW: bool = true;
    fn sort_key(self) -> u64;
}

macro_rules! sortable {
    ($($t:ty: $x:ident => $key:expr),*) => {
        $(impl Sortable for $t {
            fn sort_key(self) -> u64 {
                let $x = self;
                u64::from($key)
            }
        })*
    };
}
sortable!(
    bool: x => x,
    u8: x => x,
    u32: x => x,
    i32: x => x as u32 ^ (1 << 31),
    f32: x => float_key(x),
    f16: x => float_key(x.to_f32())
);

impl Sortable for i64 {
    const IS_NARROW: bool = false;
    fn sort_key(self) -> u64 {
        self as u64 ^ (1 << 63)
    }
}

impl Sortable for f64 {
    const IS_NARROW: bool = false;
    fn sort_key(self) -> u64 {
        let bits = (self + 0.0).to_bits();
        match self.is_nan() {
            true => u64::MAX,
            false => bits ^ (((bits as i64 >> 63) as u64) | 1 << 63),
        }
    }
}

/// NaN is the largest number, and zeros of either sign are equal: adding 0 makes −0 one of them. A negative number has all bits turned
/// round, a positive one its sign.
#[inline]
fn float_key(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    if x.is_nan() { u32::MAX } else { bits ^ (((bits as i32 >> 31) as u32) | 1 << 31) }
}

/// Elements that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 13;

/// The ranks of each row that are asked for: `count` of them from `first` on, of rows of this length.
#[derive(Clone, Copy)]
pub(crate) struct Ranks {
    pub length: usize,
    pub first: usize,
    pub count: usize,
    pub descending: bool,
}

impl Ranks {
    /// Are they all that there are?
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "choosing without sorting is native"))]
    fn is_everything(self) -> bool {
        self.count == self.length
    }
}

/// Fills `places` with the positions of the elements at these ranks of each row, in increasing or decreasing order. Equal elements keep
/// their order.
pub(crate) fn order_rows<T: Sortable>(values: &[T], ranks: Ranks, places: &mut [i32]) {
    if places.is_empty() {
        return;
    }
    let Ranks { length, count, .. } = ranks;
    let (rows, at_once) = (values.len() / length, (WORTH_A_THREAD / length).max(1));
    let places = Disjoint::new(places);
    let done: Result<(), ()> = share(rows.div_ceil(at_once), |piece| {
        let mut sorter = Sorter::default();
        for row in piece * at_once..((piece + 1) * at_once).min(rows) {
            // Safety: every row has places of its own, and is sorted once.
            let places = unsafe { places.slice(row * count..(row + 1) * count) };
            sorter.order(&values[row * length..(row + 1) * length], ranks, places);
        }
        Ok(())
    });
    done.expect("sorting does not fail");
}

/// Memory for sorting one row after the other.
#[derive(Default)]
struct Sorter {
    wide: Vec<(u64, usize)>,
    wide_spare: Vec<(u64, usize)>,
    #[cfg(not(target_arch = "wasm32"))]
    narrow: Vec<u64>,
    #[cfg(not(target_arch = "wasm32"))]
    spare: Vec<u64>,
}

impl Sorter {
    fn order<T: Sortable>(&mut self, row: &[T], ranks: Ranks, places: &mut [i32]) {
        let turned = if ranks.descending { u64::MAX } else { 0 };
        let wanted = ranks.first..ranks.first + ranks.count;
        // A key and a position in one number: no two are equal, so any way of sorting keeps the order of equal elements.
        #[cfg(not(target_arch = "wasm32"))]
        if T::IS_NARROW {
            let packed = |(position, x): (usize, &T)| (x.sort_key() ^ turned) << 32 | position as u64;
            self.narrow.clear();
            self.narrow.extend(row.iter().enumerate().map(packed));
            match ranks.is_everything() {
                // The low half, the position, is in order already.
                true => sort_by_digits(&mut self.narrow, &mut self.spare, 4..8, |number, byte| {
                    (number >> (8 * byte)) as usize & 255
                }),
                false => put_in_place(&mut self.narrow, wanted.clone()),
            }
            let found = &self.narrow[wanted];
            return places.iter_mut().zip(found).for_each(|(place, &packed)| *place = packed as i32);
        }
        self.wide.clear();
        self.wide.extend(row.iter().map(|x| x.sort_key() ^ turned).zip(0..));
        sort_by_digits(&mut self.wide, &mut self.wide_spare, 0..8, |pair, byte| {
            (pair.0 >> (8 * byte)) as usize & 255
        });
        places
            .iter_mut()
            .zip(&self.wide[wanted])
            .for_each(|(place, &(_, position))| *place = position as i32);
    }
}

/// Puts the numbers that belong at these places of the sorted list there, and none of the others in order.
#[cfg(not(target_arch = "wasm32"))]
fn put_in_place(numbers: &mut [u64], wanted: std::ops::Range<usize>) {
    if wanted.end < numbers.len() {
        numbers.select_nth_unstable(wanted.end);
    }
    let below = &mut numbers[..wanted.end];
    if wanted.start > 0 {
        below.select_nth_unstable(wanted.start);
    }
    below[wanted.start..].sort_unstable();
}

/// Numbers below which sorting by digits costs more than comparing.
const FEWEST_BY_DIGITS: usize = 256;

/// Sorts items by these bytes of theirs, from the lowest to the highest; those whose bytes are equal keep their order.
fn sort_by_digits<T: Copy + Ord>(
    items: &mut Vec<T>,
    spare: &mut Vec<T>,
    bytes: std::ops::Range<usize>,
    digit: impl Fn(T, usize) -> usize,
) {
    if items.len() < FEWEST_BY_DIGITS {
        return items.sort_unstable();
    }
    let mut counts = [[0usize; 256]; 8];
    for &item in &*items {
        bytes.clone().for_each(|byte| counts[byte][digit(item, byte)] += 1);
    }
    spare.clone_from(items);
    for byte in bytes {
        let counts = &mut counts[byte];
        // All the same: nothing moves.
        if counts.contains(&items.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &item in &*items {
            let place = &mut counts[digit(item, byte)];
            spare[*place] = item;
            *place += 1;
        }
        std::mem::swap(items, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// Rows of numbers with ties, zeros of both signs, infinities and NaN.
    fn uneven(count: usize) -> Vec<f32> {
        let special = [f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN, f32::MIN_POSITIVE];
        let number = |k: usize| ((k * 7919 % 1009) as f32 - 500.0) * 1.5;
        (0..count).map(|k| special.get(k * 31 % 97).copied().unwrap_or_else(|| number(k))).collect()
    }

    #[test]
    fn rows_of_all_lengths_are_in_their_one_stable_order() {
        for (rows, length) in [(0, 5), (3, 1), (40, 7), (9, 300), (5, 1030), (2, 70_000)] {
            let values = uneven(rows * length);
            let wide: Vec<f64> = values.iter().map(|&x| x.into()).collect();
            let integers: Vec<i32> = values.iter().map(|&x| x as i32).collect();
            for descending in [false, true] {
                let ranks = Ranks { length, first: 0, count: length, descending };
                let order = |by: &dyn Fn(&mut [i32])| {
                    let mut places = vec![-1; rows * length];
                    by(&mut places);
                    places
                };
                let of_floats = order(&|places| order_rows(&values, ranks, places));
                let of_wide = order(&|places| order_rows(&wide, ranks, places));
                let of_integers = order(&|places| order_rows(&integers, ranks, places));
                let directed = |order: Ordering| if descending { order.reverse() } else { order };
                for row in 0..rows {
                    let of_row = row * length..(row + 1) * length;
                    let (floats, integers) = (&values[of_row.clone()], &integers[of_row.clone()]);
                    let mut wanted: Vec<i32> = (0..length as i32).collect();
                    wanted.sort_by(|&a, &b| {
                        let (a, b) = (floats[a as usize], floats[b as usize]);
                        directed(a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())))
                    });
                    assert_eq!(of_floats[of_row.clone()], wanted, "{rows} × {length}");
                    assert_eq!(of_wide[of_row.clone()], wanted, "{rows} × {length}");
                    wanted.sort_by_key(|&place| place);
                    wanted.sort_by(|&a, &b| directed(integers[a as usize].cmp(&integers[b as usize])));
                    assert_eq!(of_integers[of_row], wanted, "{rows} × {length}");
                }
            }
        }
    }

    #[test]
    fn some_ranks_are_those_of_the_whole_order() {
        for (rows, length) in [(3, 1), (4, 7), (9, 300), (2, 7000)] {
            let values = uneven(rows * length);
            for (first, count) in
                [(0, 1), (0, length.min(5)), (length / 2, 1), (length / 3, length / 2), (length - 1, 1)]
            {
                for descending in [false, true] {
                    let order = |ranks: Ranks| {
                        let mut places = vec![-1; rows * ranks.count];
                        order_rows(&values, ranks, &mut places);
                        places
                    };
                    let whole = order(Ranks { length, first: 0, count: length, descending });
                    let wanted: Vec<i32> =
                        whole.chunks(length).flat_map(|row| row[first..first + count].to_vec()).collect();
                    assert_eq!(
                        order(Ranks { length, first, count, descending }),
                        wanted,
                        "{first} + {count} of {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn equal_keys_stay_in_order() {
        let sorted = sorted_by(vec!["bb", "a", "cc", "d"], |text| text.len() as u64);
        assert_eq!(sorted, ["a", "d", "bb", "cc"]);
        let numbers = vec![0, i64::MIN, 7, -3, i64::MAX];
        assert_eq!(sorted_by(numbers, |&number| decreasing(number)), [i64::MAX, 7, 0, -3, i64::MIN]);
    }
}
