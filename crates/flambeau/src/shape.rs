//! Shapes, broadcasting, and the ways users name dimensions.

use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, RangeFull};

/// The most elements of a tensor: eight bytes for each can be counted in 64 bits, the elements themselves in an isize.
pub(crate) const MAX_ELEMENTS: usize =
    if usize::BITS < 64 { isize::MAX as usize } else { isize::MAX as usize / 8 };

/// The product of sizes, which stays at `usize::MAX`, more than any tensor has, where it would not fit. Every product of
/// sizes goes through here (`clippy.toml` sees to it): one that wraps would describe memory that is not there.
pub(crate) fn product<S: Borrow<usize>>(sizes: impl IntoIterator<Item = S>) -> usize {
    sizes.into_iter().fold(1, |product: usize, size| product.saturating_mul(*size.borrow()))
}

/// The sizes of a tensor's dimensions, outermost first. A scalar has none.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 6]>);

impl Shape {
    /// The shape with these sizes.
    pub fn new(dims: &[usize]) -> Self {
        Shape(SmallVec::from_slice(dims))
    }

    /// The number of elements; `usize::MAX` where it does not fit, which no tensor has.
    pub fn numel(&self) -> usize {
        product(&self.0)
    }

    /// Refuses a shape that no tensor may have. Sizes of 0 count as 1, so that products of any of the sizes of a tensor
    /// fit, those of an empty one too.
    pub(crate) fn check(&self, op: &'static str) -> Result<()> {
        if product(self.0.iter().map(|&size| size.max(1))) <= MAX_ELEMENTS {
            return Ok(());
        }
        Err(Error::shape(op, format!("a result of shape {self} has more than {MAX_ELEMENTS} elements")))
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The sizes.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Steps between neighbours along each dimension of a contiguous tensor.
    pub(crate) fn strides(&self) -> SmallVec<[i64; 6]> {
        let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(1, self.rank());
        for d in (1..self.rank()).rev() {
            strides[d - 1] = strides[d] * self.0[d] as i64;
        }
        strides
    }

    /// A dimension counted from the front, or from the back when negative.
    pub(crate) fn dim(&self, op: &'static str, dim: isize) -> Result<usize> {
        let rank = self.rank() as isize;
        if dim < -rank || dim >= rank {
            return Err(Error::shape(op, format!("dimension {dim} is out of range for shape {self}")));
        }
        Ok(dim.rem_euclid(rank) as usize)
    }

    /// The shape both broadcast to: aligned at the last dimension, sizes equal or 1.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let size = |shape: &Shape, d: usize| match (d + shape.rank()).checked_sub(rank) {
            Some(own) => shape.0[own],
            None => 1,
        };
        (0..rank)
            .map(|d| match (size(self, d), size(other, d)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect::<Option<SmallVec<_>>>()
            .map(Shape)
    }

    /// This shape with one size replaced.
    pub(crate) fn with(&self, dim: usize, size: usize) -> Shape {
        let mut shape = self.clone();
        shape.0[dim] = size;
        shape
    }

    /// This shape with a dimension put in.
    pub(crate) fn inserted(&self, dim: usize, size: usize) -> Shape {
        let mut shape = self.clone();
        shape.0.insert(dim, size);
        shape
    }

    /// This shape with a dimension taken out.
    pub(crate) fn removed(&self, dim: usize) -> Shape {
        let mut shape = self.clone();
        shape.0.remove(dim);
        shape
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.as_slice())
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Self {
        Shape(sizes.into_iter().collect())
    }
}

impl From<()> for Shape {
    fn from(_: ()) -> Self {
        Shape::default()
    }
}
impl From<usize> for Shape {
    fn from(size: usize) -> Self {
        Shape::new(&[size])
    }
}
impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Shape::new(&dims)
    }
}
impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Shape::new(dims)
    }
}
impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Shape::new(&dims)
    }
}
impl From<&Vec<usize>> for Shape {
    fn from(dims: &Vec<usize>) -> Self {
        Shape::new(dims)
    }
}
impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        shape.clone()
    }
}

/// The dimensions a reduction or flip runs over: `..` for all, one, or several; negative counts from the back.
#[derive(Debug, Clone)]
pub enum Dims {
    /// Every dimension.
    All,
    /// These dimensions.
    Some(Vec<isize>),
}

impl Dims {
    /// The dimensions in increasing order; a dimension named twice is an error.
    pub(crate) fn resolve(&self, op: &'static str, shape: &Shape) -> Result<Vec<usize>> {
        let mut dims = match self {
            Dims::All => return Ok((0..shape.rank()).collect()),
            Dims::Some(dims) => dims.iter().map(|&dim| shape.dim(op, dim)).collect::<Result<Vec<_>>>()?,
        };
        dims.sort_unstable();
        if dims.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::argument(op, format!("a dimension is named twice in {self:?}")));
        }
        Ok(dims)
    }
}

impl From<RangeFull> for Dims {
    fn from(_: RangeFull) -> Self {
        Dims::All
    }
}
impl From<isize> for Dims {
    fn from(dim: isize) -> Self {
        Dims::Some(vec![dim])
    }
}
impl From<i32> for Dims {
    fn from(dim: i32) -> Self {
        Dims::Some(vec![dim as isize])
    }
}
impl<const N: usize> From<[isize; N]> for Dims {
    fn from(dims: [isize; N]) -> Self {
        Dims::Some(dims.to_vec())
    }
}
impl<const N: usize> From<[i32; N]> for Dims {
    fn from(dims: [i32; N]) -> Self {
        Dims::Some(dims.iter().map(|&dim| dim as isize).collect())
    }
}
impl From<&[isize]> for Dims {
    fn from(dims: &[isize]) -> Self {
        Dims::Some(dims.to_vec())
    }
}
impl From<Vec<isize>> for Dims {
    fn from(dims: Vec<isize>) -> Self {
        Dims::Some(dims)
    }
}
impl From<&Dims> for Dims {
    fn from(dims: &Dims) -> Self {
        dims.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcast_rules() {
        let shape = |dims: &[usize]| Shape::new(dims);
        assert_eq!(shape(&[3, 1]).broadcast(&shape(&[3, 5])), Some(shape(&[3, 5])));
        assert_eq!(shape(&[]).broadcast(&shape(&[2])), Some(shape(&[2])));
        assert_eq!(shape(&[4, 1, 3]).broadcast(&shape(&[2, 1])), Some(shape(&[4, 2, 3])));
        assert_eq!(shape(&[0]).broadcast(&shape(&[1])), Some(shape(&[0])));
        assert_eq!(shape(&[2]).broadcast(&shape(&[3])), None);
    }

    #[test]
    fn numbers_of_elements_do_not_wrap() {
        let huge = usize::MAX / 4 + 2;
        assert_eq!(Shape::new(&[huge, 4]).numel(), usize::MAX);
        assert_eq!(Shape::new(&[huge, 4, 0]).numel(), 0);
        assert!(Shape::new(&[MAX_ELEMENTS]).check("test").is_ok());
        for refused in [&[MAX_ELEMENTS + 1][..], &[huge, 4], &[huge, 4, 0], &[0, usize::MAX]] {
            let error = Shape::new(refused).check("test").unwrap_err().to_string();
            assert!(error.starts_with("test: a result of shape ["), "{error}");
        }
    }

    #[test]
    fn dims_resolve_and_refuse() {
        let shape = Shape::new(&[2, 3, 4]);
        assert_eq!(Dims::from(-1).resolve("sum", &shape).unwrap(), [2]);
        assert_eq!(Dims::from([2, 0]).resolve("sum", &shape).unwrap(), [0, 2]);
        assert!(Dims::from([0, -3]).resolve("sum", &shape).is_err());
        assert!(Dims::from(3).resolve("sum", &shape).unwrap_err().to_string().contains("[2, 3, 4]"));
    }
}
