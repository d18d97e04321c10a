//! Memory that begins at a cache line: wide loads and stores that cross one take twice as long.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest registers.
const LINE: usize = 64;

/// A list of values, the first of which begins a cache line unless it was made from a vector.
#[derive(Debug)]
pub(crate) struct Aligned<T> {
    /// The values, and room before them.
    memory: Vec<T>,
    start: usize,
    len: usize,
    /// Values it has memory for.
    capacity: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// `len` times the default, which is 0.
    pub fn zeroed(len: usize) -> Aligned<T> {
        if len == 0 {
            return Vec::new().into();
        }
        let memory = vec![T::default(); len + LINE / size_of::<T>()];
        let start = (memory.as_ptr() as usize).wrapping_neg() % LINE / size_of::<T>();
        Aligned { memory, start, len, capacity: len }
    }

    /// Shortens or lengthens the list. What was in its memory before may show up again in new places.
    pub fn resize(&mut self, len: usize) {
        if len > self.capacity {
            let mut larger = Aligned::zeroed(len);
            larger[..self.len].copy_from_slice(self);
            *self = larger;
        }
        self.len = len;
    }
}

impl<T> Aligned<T> {
    /// Values it has memory for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let mut copy = Aligned::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> From<Vec<T>> for Aligned<T> {
    fn from(memory: Vec<T>) -> Self {
        let len = memory.len();
        Aligned { memory, start: 0, len, capacity: len }
    }
}

impl<T> FromIterator<T> for Aligned<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_at_a_line_and_keep_their_values() {
        fn check<T: Copy + Default + PartialEq + std::fmt::Debug>(one: T) {
            let mut list = Aligned::<T>::zeroed(3);
            list.fill(one);
            for len in [2, 3, 100, 5000, 7] {
                list.resize(len);
                assert_eq!((list.as_ptr() as usize % LINE, list.len()), (0, len));
                assert_eq!(list[..2], [one, one]);
                assert!(list.capacity() >= len);
            }
            let copy = list.clone();
            assert_eq!((copy.as_ptr() as usize % LINE, &*copy), (0, &*list));
        }
        check(true);
        check(1u8);
        check(half::f16::ONE);
        check(1.0f32);
        check(1i64);
        assert_eq!(*Aligned::from(vec![1, 2, 3]), [1, 2, 3]);
    }
}
