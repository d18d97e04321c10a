//! Where what the planner reckons meets memory: results that several threads write to, and matrix products. Every place
//! is checked against the memory it lies in; that no two threads have the same places is what callers vouch for.

use super::tiny::Factor;
use std::marker::PhantomData;
use std::ops::Range;

/// Memory that several threads write to, each in its own places.
pub(crate) struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    memory: PhantomData<&'a mut [T]>,
}

// Safety: it is a `&mut [T]` whose parts go to different threads; `T: Send` lets them.
unsafe impl<T: Send> Send for Disjoint<'_, T> {}
// Safety: shared among threads it gives access through unsafe methods only, whose callers keep to places of their own.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub fn new(memory: &'a mut [T]) -> Disjoint<'a, T> {
        Disjoint { start: memory.as_mut_ptr(), len: memory.len(), memory: PhantomData }
    }

    /// These places.
    ///
    /// # Safety
    /// Nobody else may touch them while the slice is used.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice(&self, places: Range<usize>) -> &mut [T] {
        assert!(places.start <= places.end && places.end <= self.len, "a part lies outside of its memory");
        // Safety: the places lie in the memory, and the caller vouches that they are its own.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(places.start), places.len()) }
    }

    /// The same memory as pairs; without its last element if that has no other.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn pairs(&self) -> Disjoint<'a, [T; 2]> {
        Disjoint { start: self.start.cast(), len: self.len / 2, memory: PhantomData }
    }

    /// Writes values to places `stride` apart from `start` on.
    ///
    /// # Safety
    /// No other thread may touch these places meanwhile.
    #[inline]
    pub unsafe fn put<S: Copy>(&self, start: i64, stride: i64, from: &[S], convert: impl Fn(S) -> T) {
        assert!(
            reaches(start, &[(from.len(), stride)], self.len),
            "a kernel stores outside of its result: {} values, {stride} apart, from {start} on, of {}",
            from.len(),
            self.len
        );
        for (k, &value) in from.iter().enumerate() {
            let at =
                if stride == 1 { start as isize + k as isize } else { (start + k as i64 * stride) as isize };
            // Safety: the first and the last place lie in the memory, so all do; the caller vouches for them.
            unsafe { self.start.offset(at).write(convert(value)) };
        }
    }
}

/// Do all places start + Σ k·stride, k < count, lie in memory of `len` elements?
fn reaches(start: i64, axes: &[(usize, i64)], len: usize) -> bool {
    if axes.iter().any(|&(count, _)| count == 0) {
        return true;
    }
    let (mut low, mut high) = (i128::from(start), i128::from(start));
    for &(count, stride) in axes {
        let last = (count as i128 - 1) * i128::from(stride);
        (low, high) = (low + last.min(0), high + last.max(0));
    }
    low >= 0 && high < len as i128
}

/// A matrix in memory: where it starts, and how far rows and columns lie apart.
pub(crate) struct Matrix<'a, T> {
    pub values: &'a [T],
    pub offset: i64,
    pub row: i64,
    pub column: i64,
}

impl<T> Clone for Matrix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Matrix<'_, T> {}

impl<'a, T> Matrix<'a, T> {
    /// Rows of this many columns, one after the other.
    pub fn dense(values: &'a [T], columns: usize) -> Matrix<'a, T> {
        Matrix { values, offset: 0, row: columns as i64, column: 1 }
    }

    pub fn transposed(self) -> Matrix<'a, T> {
        Matrix { row: self.column, column: self.row, ..self }
    }

    /// From this row on.
    #[inline]
    pub fn starting_at(self, row: usize) -> Matrix<'a, T> {
        Matrix { offset: self.offset + row as i64 * self.row, ..self }
    }

    fn holds(&self, rows: usize, columns: usize) -> bool {
        reaches(self.offset, &[(rows, self.row), (columns, self.column)], self.values.len())
    }
}

/// Where a product goes: its rows, `row` elements apart.
pub(crate) struct Target<'a, T> {
    pub memory: &'a Disjoint<'a, T>,
    pub offset: usize,
    pub row: usize,
}

impl<T> Clone for Target<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Target<'_, T> {}

impl<'a, T> Target<'a, T> {
    /// From this row on.
    pub fn starting_at(self, row: usize) -> Target<'a, T> {
        Target { offset: self.offset + row * self.row, ..self }
    }

    fn holds(&self, rows: usize, columns: usize) -> bool {
        reaches(self.offset as i64, &[(rows, self.row as i64), (columns, 1)], self.memory.len)
    }
}

/// What a product is of.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Is it added to what is there?
    pub adds: bool,
    /// On all cores?
    pub parallel: bool,
}

/// to (m × n) = factor · a (m × k) · b (k × n), or to += that.
///
/// # Safety
/// No other thread may touch the places of the result meanwhile.
pub(crate) unsafe fn multiply<T: Factor>(
    size: Product,
    to: Target<T>,
    a: Matrix<T>,
    b: Matrix<T>,
    factor: T,
) {
    let Product { m, n, k, .. } = size;
    assert!(a.holds(m, k) && b.holds(k, n), "a product reads outside of its operands");
    assert!(to.holds(m, n), "a product writes outside of its result");
    let Some(raised) = T::raised(a, b, (m, n, k)) else {
        // Safety: the places are checked, and the caller vouches for those of the result, here and below.
        return unsafe { multiply_plain(size, to, a, b, factor) };
    };
    let (a, b) = if raised.is_first { (raised.operand(), b) } else { (a, raised.operand()) };
    if size.adds {
        // Safety: as above; the raised operand is as large as the one whose place it takes, here and below.
        return unsafe { multiply_plain(size, to, a, b, factor * raised.factor) };
    }
    // Safety: as above.
    unsafe { multiply_plain(size, to, a, b, factor) };
    for row in (0..m).map(|row| to.offset + row * to.row) {
        // Safety: as above.
        let results = unsafe { to.memory.slice(row..row + n) };
        results.iter_mut().for_each(|x| *x = x.product(raised.factor));
    }
}

/// [`multiply`] as it is.
///
/// # Safety
/// Every place of the three matrices must lie in its memory, and no other thread may touch those of the result meanwhile.
pub(super) unsafe fn multiply_plain<T: Factor>(
    Product { m, n, k, adds, parallel }: Product,
    to: Target<T>,
    a: Matrix<T>,
    b: Matrix<T>,
    factor: T,
) {
    if m == 0 || n == 0 {
        return;
    }
    #[cfg(not(target_arch = "wasm32"))]
    let parallelism = if parallel { gemm::Parallelism::Rayon(0) } else { gemm::Parallelism::None };
    #[cfg(target_arch = "wasm32")]
    let (parallelism, _) = (gemm::Parallelism::None, parallel);
    // Without terms no element of an operand is looked at, and its offset may lie anywhere.
    let start = |matrix: &Matrix<T>| matrix.values.as_ptr().wrapping_offset(matrix.offset as isize);
    // Safety: the caller vouches that every element of the three matrices lies in its memory, and that the result is its
    // own.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to.memory.start.add(to.offset),
            1,
            to.row as isize,
            adds,
            start(&a),
            a.column as isize,
            a.row as isize,
            start(&b),
            b.column as isize,
            b.row as isize,
            T::one(),
            factor,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn panics(work: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(work)).is_err()
    }

    #[test]
    fn places_are_checked_at_both_ends() {
        assert!(reaches(0, &[(3, 2)], 5) && reaches(4, &[(3, -2)], 5) && reaches(7, &[(0, 1)], 5));
        assert!(!reaches(0, &[(3, 2)], 4) && !reaches(3, &[(3, -2)], 5) && !reaches(-1, &[(1, 1)], 5));
        assert!(!reaches(0, &[(usize::MAX, i64::MAX), (2, i64::MAX)], 5));
    }

    #[test]
    fn what_lies_outside_is_neither_written_nor_lent() {
        let mut memory = [0; 4];
        let shared = Disjoint::new(&mut memory);
        // Safety: there is one thread.
        unsafe {
            shared.put(3, -1, &[1, 2, 3, 4], |x| x);
            assert!(panics(|| shared.put(1, 1, &[9; 4], |x| x)));
            assert!(panics(|| shared.put(-1, 1, &[9], |x| x)));
            assert!(panics(|| shared.slice(2..5).fill(9)));
            assert_eq!(shared.slice(0..4), [4, 3, 2, 1]);
        }
    }

    #[test]
    fn products_stay_inside() {
        let values = [1.0, 2.0, 3.0, 4.0];
        let mut memory = [0.0; 4];
        let size = Product { m: 2, n: 2, k: 2, adds: false, parallel: false };
        let a = Matrix::dense(&values, 2);
        let shared = Disjoint::new(&mut memory);
        let to = Target { memory: &shared, offset: 0, row: 2 };
        // Safety: there is one thread.
        unsafe {
            multiply(size, to, a, a.transposed(), 1.0);
            assert_eq!(shared.slice(0..4), [5.0, 11.0, 11.0, 25.0]);
            assert!(panics(|| multiply(size, to, a.starting_at(1), a, 1.0)), "an operand ends early");
            assert!(panics(|| multiply(size, to.starting_at(1), a, a, 1.0)), "the result ends early");
            assert!(panics(|| multiply(size, to, Matrix { row: -2, ..a }, a, 1.0)), "before the start");
        }
    }
}
