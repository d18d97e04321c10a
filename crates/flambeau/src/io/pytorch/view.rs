//! Tensors as PyTorch pickles them: strided views of storages.

use super::pickle::Storage;
use crate::io::convert::byte_count;
use crate::io::limits::Budget;
use std::borrow::Cow;
use std::rc::Rc;

/// A tensor: the element at coordinates `c` is number `offset + Σ c·stride` of its storage. Every one is inside.
#[derive(Debug)]
pub struct View {
    pub storage: Rc<Storage>,
    offset: usize,
    pub dims: Vec<usize>,
    strides: Vec<usize>,
    /// The bytes of all elements, each counted as often as it is seen.
    pub bytes: usize,
}

impl View {
    pub fn new(
        storage: Rc<Storage>,
        offset: usize,
        dims: Vec<usize>,
        strides: Vec<usize>,
    ) -> Result<View, String> {
        let impossible = || {
            format!(
                "a tensor of shape {dims:?} with strides {strides:?} and offset {offset} does not fit into a \
                 storage of {} elements",
                storage.numel
            )
        };
        if dims.len() != strides.len() {
            return Err(impossible());
        }
        let bytes = byte_count(storage.stored, &dims).ok_or_else(impossible)?;
        let end = dims.iter().zip(&strides).try_fold(offset, |end, (&size, &stride)| {
            end.checked_add(size.saturating_sub(1).checked_mul(stride)?)
        });
        let fits = bytes == 0 || end.is_some_and(|end| end < storage.numel);
        if !fits {
            return Err(impossible());
        }
        Ok(View { storage, offset, dims, strides, bytes })
    }

    fn is_contiguous(&self) -> bool {
        let mut step = 1;
        self.dims.iter().zip(&self.strides).rev().all(|(&size, &stride)| {
            let follows = size == 1 || stride == step;
            step *= size;
            follows
        })
    }

    /// The elements in row-major order, from the storage's bytes (whose number has been checked). If they had to be
    /// gathered, they are taken from the budget.
    pub fn gather<'a>(&self, storage: &'a [u8], budget: &Budget) -> Result<Cow<'a, [u8]>, String> {
        let size = self.storage.stored.size();
        if self.bytes == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        if self.is_contiguous() {
            return Ok(Cow::Borrowed(&storage[self.offset * size..][..self.bytes]));
        }
        let mut gathered = budget.buffer(self.bytes)?;
        let mut coordinates = vec![0; self.dims.len()];
        let mut element = self.offset;
        'elements: loop {
            gathered.extend_from_slice(&storage[element * size..][..size]);
            for d in (0..self.dims.len()).rev() {
                coordinates[d] += 1;
                element += self.strides[d];
                if coordinates[d] < self.dims[d] {
                    continue 'elements;
                }
                element -= self.strides[d] * self.dims[d];
                coordinates[d] = 0;
            }
            return Ok(Cow::Owned(gathered));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ReadLimits;
    use crate::io::convert::Stored;

    fn view(numel: usize, offset: usize, dims: &[usize], strides: &[usize]) -> Result<View, String> {
        let storage = Rc::new(Storage { stored: Stored::U8, key: "0".into(), numel });
        View::new(storage, offset, dims.to_vec(), strides.to_vec())
    }

    #[test]
    fn strides_and_offsets() {
        let storage: Vec<u8> = (0..12).collect();
        for (offset, dims, strides, expect) in [
            (0, &[2, 3][..], &[3, 1][..], &[0, 1, 2, 3, 4, 5][..]),
            (1, &[2, 3], &[1, 2], &[1, 3, 5, 2, 4, 6]),
            (11, &[], &[], &[11]),
            (4, &[3], &[0], &[4, 4, 4]),
            (2, &[1, 2], &[99, 1], &[2, 3]),
            (50, &[0, 5], &[5, 1], &[]),
            (0, &[2, 2, 2], &[1, 1, 1], &[0, 1, 1, 2, 1, 2, 2, 3]),
        ] {
            let view = view(12, offset, dims, strides).unwrap();
            let budget = Budget::new(ReadLimits::memory(8), 0);
            assert_eq!(&*view.gather(&storage, &budget).unwrap(), expect);
        }
    }

    #[test]
    fn views_outside_are_refused() {
        for (numel, offset, dims, strides) in [
            (12, 0, &[13][..], &[1][..]),
            (12, 12, &[], &[]),
            (12, 1, &[2, 3], &[6, 3]),
            (12, 0, &[2], &[usize::MAX]),
            (12, usize::MAX, &[2], &[1]),
            (12, 0, &[usize::MAX, usize::MAX], &[0, 0]),
            (12, 0, &[2], &[1, 1]),
        ] {
            let error = view(numel, offset, dims, strides).unwrap_err();
            assert!(error.contains("does not fit into a storage of 12 elements"), "{error}");
        }
    }
}
