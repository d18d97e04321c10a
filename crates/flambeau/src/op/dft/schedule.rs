//! How the GPU computes transforms of a length: in how many passes over memory, and with which butterflies in each.
//!
//! A line that fits into workgroup memory is one pass. A longer one of N = f₁ f₂ … fₛ numbers is s passes, each over memory
//! once (the four-step algorithm, applied again to its rows): with n = n₁ N/f₁ + n₂ N/(f₁ f₂) + … + nₛ and
//! k = k₁ + f₁ k₂ + f₁ f₂ k₃ + …, pass t transforms along nₜ, which leaves kₜ in its place, and turns each number by
//! e^(−2πi kₜ rest / (fₜ … fₛ)), where rest = what is left of n after nₜ; the last one writes to k.
//!
//! Within a pass a line is transformed by Stockham's algorithm with radices up to 16, whose product its length is. Lengths with
//! a prime factor above 13 are computed by Bluestein's algorithm, as a convolution of a length that has none.

/// The largest butterfly: its numbers are in a thread's registers.
pub(super) const MAX_RADIX: usize = 16;
/// The largest prime factor that has a butterfly of its own.
const MAX_PRIME: usize = 13;
/// The most passes of a transform: with those of Bluestein's algorithm twice as many.
const MAX_PASSES: usize = 3;
/// Lines that lie side by side and are read together wherever they can be: 32 bytes of memory.
const SIDE_BY_SIDE: usize = 4;

/// Has the length a prime factor that is too large for a butterfly?
pub(super) fn is_rough(length: usize) -> bool {
    let mut rest = length;
    for prime in 2..=MAX_PRIME {
        while rest > 1 && rest.is_multiple_of(prime) {
            rest /= prime;
        }
    }
    rest > 1
}

/// The radices of a line, of which there are as few as can be, and then as even ones; `length` is not rough.
pub(super) fn radices(length: usize) -> Vec<usize> {
    if length == 1 {
        return vec![1];
    }
    fn best(length: usize, most: usize, left: usize) -> Option<(usize, Vec<usize>)> {
        if length == 1 {
            return Some((0, Vec::new()));
        }
        if left == 0 {
            return None;
        }
        let radices = (2..=most.min(length)).rev().filter(|&radix| length.is_multiple_of(radix));
        let found = radices.filter_map(|radix| {
            let (sum, mut others) = best(length / radix, radix, left - 1)?;
            others.insert(0, radix);
            Some((sum + radix, others))
        });
        found.min_by_key(|(sum, _)| *sum)
    }
    (0..).find_map(|count| best(length, MAX_RADIX, count)).map_or_else(Vec::new, |(_, radices)| radices)
}

/// The lengths of a transform's passes, none of which is longer than `most` numbers, for a length that is not rough. `None`: it
/// is too long.
pub(super) fn passes(length: usize, most: usize) -> Option<Vec<usize>> {
    if length <= most {
        return Some(vec![length]);
    }
    let cut = |longest: usize| (2..=MAX_PASSES).find_map(|count| factors(length, count, longest));
    cut(most / SIDE_BY_SIDE).or_else(|| cut(most))
}

/// The factors of a length, `count` of them, none above `longest`, and the largest as small as can be.
fn factors(length: usize, count: usize, longest: usize) -> Option<Vec<usize>> {
    if count == 1 {
        return (length <= longest).then(|| vec![length]);
    }
    let firsts = (2..=longest.min(length / 2)).filter(|&first| length.is_multiple_of(first));
    let found = firsts.filter_map(|first| {
        let mut others = factors(length / first, count - 1, longest)?;
        others.insert(0, first);
        Some(others)
    });
    found.min_by_key(|factors| factors.iter().copied().max())
}

/// The length of the convolution that gives a transform of `length` numbers by Bluestein's algorithm: at least 2 · length − 1,
/// without large factors, and cut into even passes.
pub(super) fn convolution(length: usize, most: usize) -> Option<usize> {
    let least = 2 * length - 1;
    let power = least.next_power_of_two();
    // Between powers of two lie 5/8, 3/4 and so on of the next one.
    let candidates = [9, 10, 12, 15, 16].map(|sixteenths| power / 16 * sixteenths);
    candidates.into_iter().find(|&length| length >= least && passes(length, most).is_some())
}

/// How the numbers of a pass are shared: lines that a workgroup transforms at once, and its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    pub lines: usize,
    pub threads: usize,
}

impl Shares {
    /// For `lines` of `length` numbers, with room for `most` in workgroup memory. `apart`: the numbers of a line lie apart, before
    /// or after the pass, and lines side by side.
    pub fn of(length: usize, lines: usize, most: usize, apart: bool) -> Shares {
        // More threads than a line of a few hundred numbers needs would wait for each other.
        let room = if apart { most } else { most.min(2048) };
        let wanted = (room / length).clamp(1, lines.next_power_of_two());
        let lines = if wanted.is_power_of_two() { wanted } else { wanted.next_power_of_two() / 2 };
        let threads = (lines * length).div_ceil(MAX_RADIX).next_multiple_of(32).min(256);
        Shares { lines, threads }
    }
}
