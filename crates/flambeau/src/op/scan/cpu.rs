//! Scans on the CPU. Every row is gone through from one end to the other by one thread, so that results do not depend on how many there are.

use super::Rows;
use crate::host::{Disjoint, share};

/// Elements that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 14;
/// Rows that lie side by side and are gone through together.
const SIDE_BY_SIDE: usize = 128;
/// Rows that follow each other and are gone through together: while one addition waits for the one before it, those of other rows are made.
const TOGETHER: usize = 4;

/// How a value so far becomes the next, and what is kept of it.
pub(super) struct Step<A, C, S> {
    pub identity: A,
    pub combine: C,
    pub store: S,
}

impl<A: Copy + Sync, C, S> Step<A, C, S> {
    /// Fills `to` with the scans of all rows, which go from their last element to their first if they are reversed.
    pub fn run<T: Copy + Sync, R: Send>(&self, rows: &Rows, reverse: bool, from: &[T], to: &mut [R])
    where
        C: Fn(A, T) -> A + Sync,
        S: Fn(A) -> R + Sync,
    {
        let &Rows { rows, length, inner } = rows;
        if from.is_empty() {
            return;
        }
        let to = Disjoint::new(to);
        // Blocks of rows that lie side by side; or of rows that follow each other, which are as blocks of one column.
        let (per_block, blocks) = match inner {
            1 => ((WORTH_A_THREAD / length).max(1).next_multiple_of(TOGETHER), 1),
            _ => (SIDE_BY_SIDE, rows / inner),
        };
        let parts = if inner == 1 { rows.div_ceil(per_block) } else { inner.div_ceil(per_block) };
        let work = |number: usize| {
            let (block, first) = (number / parts, number % parts * per_block);
            if inner == 1 {
                let last = (first + per_block).min(rows);
                // Safety: parts have rows of their own.
                let to = unsafe { to.slice(first * length..last * length) };
                self.one_after_the_other(length, reverse, &from[first * length..last * length], to);
                return;
            }
            let width = per_block.min(inner - first);
            let mut so_far = [self.identity; SIDE_BY_SIDE];
            for k in 0..length {
                let start = (block * length + if reverse { length - 1 - k } else { k }) * inner + first;
                // Safety: parts have columns of their own.
                let to = unsafe { to.slice(start..start + width) };
                for ((so_far, &x), to) in so_far.iter_mut().zip(&from[start..start + width]).zip(to) {
                    *so_far = (self.combine)(*so_far, x);
                    *to = (self.store)(*so_far);
                }
            }
        };
        if from.len() < WORTH_A_THREAD {
            return (0..blocks * parts).for_each(work);
        }
        let done: Result<(), ()> = share(blocks * parts, |number| {
            work(number);
            Ok(())
        });
        done.expect("a scan does not fail");
    }

    fn one_after_the_other<T: Copy, R>(&self, length: usize, reverse: bool, from: &[T], to: &mut [R])
    where
        C: Fn(A, T) -> A,
        S: Fn(A) -> R,
    {
        let (mut several, mut single) =
            (from.chunks_exact(TOGETHER * length), to.chunks_exact_mut(TOGETHER * length));
        for (from, to) in several.by_ref().zip(single.by_ref()) {
            self.rows::<T, R, TOGETHER>(length, reverse, from, to);
        }
        for (from, to) in
            several.remainder().chunks_exact(length).zip(single.into_remainder().chunks_exact_mut(length))
        {
            self.rows::<T, R, 1>(length, reverse, from, to);
        }
    }

    /// N rows at once.
    fn rows<T: Copy, R, const N: usize>(&self, length: usize, reverse: bool, from: &[T], to: &mut [R])
    where
        C: Fn(A, T) -> A,
        S: Fn(A) -> R,
    {
        let (from, to) = (&from[..N * length], &mut to[..N * length]);
        let mut so_far = [self.identity; N];
        for k in 0..length {
            let position = if reverse { length - 1 - k } else { k };
            for (row, so_far) in so_far.iter_mut().enumerate() {
                *so_far = (self.combine)(*so_far, from[row * length + position]);
                to[row * length + position] = (self.store)(*so_far);
            }
        }
    }
}
