//! Sorting by a number. Every type that is sorted in its own way takes a page four kilobytes; here all share one way.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_stay_in_order() {
        let sorted = sorted_by(vec!["bb", "a", "cc", "d"], |text| text.len() as u64);
        assert_eq!(sorted, ["a", "d", "bb", "cc"]);
        let numbers = vec![0, i64::MIN, 7, -3, i64::MAX];
        assert_eq!(sorted_by(numbers, |&number| decreasing(number)), [i64::MAX, 7, 0, -3, i64::MIN]);
    }
}
