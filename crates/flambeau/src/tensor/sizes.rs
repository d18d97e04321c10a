//! The sizes a user gives for a new shape, where -1 has a meaning: "the rest" for reshape, "as it is" for expand.

use crate::error::{Error, Result};
use crate::shape::{Shape, product};
use smallvec::SmallVec;

/// Sizes for [`reshape`](crate::Tensor::reshape) and [`expand`](crate::Tensor::expand), where -1 may stand for a
/// size: an array, slice or vector of one integer type, or a tuple that mixes them.
///
/// ```
/// # use flambeau::prelude::*;
/// let x = Tensor::zeros([2, 6], &Device::cpu());
/// assert_eq!(x.reshape([-1, 3]).shape().dims(), [4, 3]);
/// assert_eq!(x.reshape((x.size(0), 3, -1)).shape().dims(), [2, 3, 2]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(SmallVec<[isize; 6]>);

/// An integer that can be a size.
pub trait Size: Copy {
    /// The number as isize: the nearest one where it does not fit.
    fn to_isize(self) -> isize;
}

impl Sizes {
    /// The shape with `numel` elements: a single -1 becomes what is missing.
    pub(crate) fn filled(&self, op: &'static str, numel: usize) -> Result<Shape> {
        let message = || format!("shape {:?} is invalid for {numel} elements", self.0.as_slice());
        let unknown = self.0.iter().filter(|&&size| size == -1).count();
        if unknown > 1 || self.0.iter().any(|&size| size < -1) {
            let message = format!("{:?} may hold one -1 and no other negative size", self.0.as_slice());
            return Err(Error::shape(op, message));
        }
        let known = product(self.0.iter().filter(|&&size| size != -1).map(|&size| size as usize));
        let fits = if unknown == 0 { known == numel } else { known != 0 && numel.is_multiple_of(known) };
        if !fits {
            return Err(Error::shape(op, message()));
        }
        Ok(self.0.iter().map(|&size| if size == -1 { numel / known } else { size as usize }).collect())
    }

    /// The shape to repeat `from` to: -1 keeps the size aligned with it.
    pub(crate) fn over(&self, op: &'static str, from: &Shape) -> Result<Shape> {
        let missing = self.0.len().checked_sub(from.rank());
        let sizes = self.0.iter().enumerate().map(|(d, &size)| match (size, missing) {
            (-1, Some(missing)) if d >= missing => Some(from[d - missing]),
            (size, _) => usize::try_from(size).ok(),
        });
        sizes
            .collect::<Option<SmallVec<[usize; 6]>>>()
            .map(Shape::from_iter)
            .ok_or_else(|| Error::shape(op, format!("sizes {:?} do not fit shape {from}", self.0.as_slice())))
    }
}

macro_rules! size {
    ($($t:ty),*) => { $(
        impl Size for $t {
            fn to_isize(self) -> isize {
                isize::try_from(self).unwrap_or(if self < 1 { isize::MIN } else { isize::MAX })
            }
        }
        impl From<$t> for Sizes {
            fn from(size: $t) -> Self {
                Sizes(SmallVec::from_slice(&[size.to_isize()]))
            }
        }
    )* };
}
size!(usize, isize, i32, i64, u32);

impl<S: Size> From<&[S]> for Sizes {
    fn from(sizes: &[S]) -> Self {
        Sizes(sizes.iter().map(|size| size.to_isize()).collect())
    }
}
impl<S: Size, const N: usize> From<[S; N]> for Sizes {
    fn from(sizes: [S; N]) -> Self {
        Sizes::from(sizes.as_slice())
    }
}
impl<S: Size, const N: usize> From<&[S; N]> for Sizes {
    fn from(sizes: &[S; N]) -> Self {
        Sizes::from(sizes.as_slice())
    }
}
impl<S: Size> From<Vec<S>> for Sizes {
    fn from(sizes: Vec<S>) -> Self {
        Sizes::from(sizes.as_slice())
    }
}
impl<S: Size> From<&Vec<S>> for Sizes {
    fn from(sizes: &Vec<S>) -> Self {
        Sizes::from(sizes.as_slice())
    }
}
impl From<&Shape> for Sizes {
    fn from(shape: &Shape) -> Self {
        Sizes::from(shape.dims())
    }
}
impl From<Shape> for Sizes {
    fn from(shape: Shape) -> Self {
        Sizes::from(shape.dims())
    }
}
impl From<()> for Sizes {
    fn from((): ()) -> Self {
        Sizes(SmallVec::new())
    }
}

macro_rules! tuple {
    ($($name:ident),*) => {
        impl<$($name: Size),*> From<($($name,)*)> for Sizes {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Sizes(SmallVec::from_slice(&[$($name.to_isize()),*]))
            }
        }
    };
}
tuple!(A);
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);
tuple!(A, B, C, D, E);
tuple!(A, B, C, D, E, F);
