//! Parts of tensors: slices, windows, pieces, diagonals, and what is put together from them.

use super::index_spec::Span;
use super::{Tensor, twins};
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::op::View;
use crate::shape::Dims;
use std::ops::RangeBounds;

/// How [`split`](Tensor::split) cuts: one size for all pieces (the last may be smaller), or a size for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitSizes {
    /// Pieces of this size.
    Each(usize),
    /// Pieces of these sizes, which must add up.
    Listed(Vec<usize>),
}

impl From<usize> for SplitSizes {
    fn from(size: usize) -> Self {
        SplitSizes::Each(size)
    }
}
impl<const N: usize> From<[usize; N]> for SplitSizes {
    fn from(sizes: [usize; N]) -> Self {
        SplitSizes::Listed(sizes.to_vec())
    }
}
impl From<&[usize]> for SplitSizes {
    fn from(sizes: &[usize]) -> Self {
        SplitSizes::Listed(sizes.to_vec())
    }
}
impl From<Vec<usize>> for SplitSizes {
    fn from(sizes: Vec<usize>) -> Self {
        SplitSizes::Listed(sizes)
    }
}

/// The most tensors that one call makes: more are a mistake, and would fill the memory of the host.
const MAX_PIECES: usize = 1 << 20;

fn few(op: &'static str, count: usize, x: &Tensor) -> Result<()> {
    if count <= MAX_PIECES {
        return Ok(());
    }
    Err(Error::argument(op, format!("{count} pieces of shape {} are more than {MAX_PIECES}", x.shape())))
}

/// The sum of sizes, if it fits.
pub(super) fn sum<'a>(sizes: impl IntoIterator<Item = &'a usize>) -> Option<usize> {
    sizes.into_iter().try_fold(0usize, |sum, &size| sum.checked_add(size))
}

impl Tensor {
    /// `length` elements along `dim`: start, start + step, …; the caller has checked the bounds.
    #[track_caller]
    pub(crate) fn slice_strided(&self, dim: usize, start: i64, step: isize, length: usize) -> Result<Tensor> {
        // A step to an element that is not there may be too large to multiply with a stride.
        let step = if length > 1 { step } else { 1 };
        self.viewed(View::Slice { dim, step }, self.shape().with(dim, length), &[Scalar::Int(start)])
    }

    /// Zeros of size `size` along `dim`, with this tensor at start, start + step, …
    #[track_caller]
    pub(crate) fn embed(&self, dim: usize, size: usize, start: i64, step: usize) -> Result<Tensor> {
        let step = if self.shape()[dim] > 1 { step } else { 1 };
        self.viewed(View::Embed { dim, step }, self.shape().with(dim, size), &[Scalar::Int(start)])
    }

    /// Pieces along `dim`, one after the other.
    #[track_caller]
    fn pieces(&self, dim: usize, sizes: impl Iterator<Item = usize>) -> Result<Vec<Tensor>> {
        let mut start = 0;
        let piece = |size| {
            start += size;
            self.try_narrow(dim as isize, start - size, size)
        };
        sizes.map(piece).collect()
    }

    twins! {
        /// `length` elements along a dimension, from `start` on. The start may change from call to call at no cost.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.narrow(0, 1, 2).to_string(), "tensor([2., 3.])");
        /// ```
        narrow / try_narrow(&self, dim: isize, start: usize, length: usize) -> Tensor {
            let dim = self.shape().dim("narrow", dim)?;
            if start.checked_add(length).is_none_or(|end| end > self.shape()[dim]) {
                let message =
                    format!("{length} elements from {start} on are outside dimension {dim} of {}", self.shape());
                return Err(Error::shape("narrow", message));
            }
            if length == self.shape()[dim] {
                return Ok(self.clone());
            }
            self.slice_strided(dim, start as i64, 1, length)
        }

        /// Every `step`-th element of a range along a dimension. As in Python, negative bounds count from the back
        /// and what lies outside is left out.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0, 10, 1, &Device::cpu());
        /// assert_eq!(x.slice(0, 1..-1, 3).to_string(), "tensor([1, 4, 7], dtype=i32)");
        /// assert_eq!(x.slice(0, -2.., 1).to_string(), "tensor([8, 9], dtype=i32)");
        /// ```
        slice / try_slice(&self, dim: isize, range: impl RangeBounds<isize>, step: usize) -> Tensor {
            let dim = self.shape().dim("slice", dim)?;
            let span = Span::new(&range, step);
            let (start, length) = span.resolve("slice", self.shape()[dim])?;
            self.spanned(dim, start, step, length)
        }

        /// One position along a dimension, which is taken out. Negative counts from the back.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.select(1, -1).to_string(), "tensor([2., 4.])");
        /// ```
        select / try_select(&self, dim: isize, index: isize) -> Tensor {
            let dim = self.shape().dim("select", dim)?;
            let size = self.shape()[dim] as isize;
            if index < -size || index >= size {
                let message = format!("index {index} is out of range for dimension {dim} of {}", self.shape());
                return Err(Error::shape("select", message));
            }
            let narrowed = self.slice_strided(dim, index.rem_euclid(size) as i64, 1, 1)?;
            narrowed.try_reshape(self.shape().removed(dim))
        }

        /// Dimensions in reverse order.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1.0, 2.0], &Device::cpu()).flip(0).to_string(), "tensor([2., 1.])");
        /// ```
        flip / try_flip(&self, dims: impl Into<Dims>) -> Tensor {
            let mut flipped = self.clone();
            for dim in dims.into().resolve("flip", self.shape())? {
                let size = self.shape()[dim];
                flipped = flipped.slice_strided(dim, size as i64 - 1, -1, size)?;
            }
            Ok(flipped)
        }

        /// Elements shifted along dimensions, those pushed out coming in at the other end. Without dimensions the
        /// tensor is rolled as one long row.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.roll(&[1], &[0]).to_string(), "tensor([3., 1., 2.])");
        /// ```
        roll / try_roll(&self, shifts: &[isize], dims: &[isize]) -> Tensor {
            if dims.is_empty() && shifts.len() == 1 {
                return self.try_flatten(0, -1)?.try_roll(shifts, &[0])?.try_reshape(self.shape());
            }
            if shifts.len() != dims.len() {
                let message = format!("{} shifts for {} dimensions", shifts.len(), dims.len());
                return Err(Error::argument("roll", message));
            }
            let mut rolled = self.clone();
            for (&shift, &dim) in shifts.iter().zip(dims) {
                let size = self.shape()[self.shape().dim("roll", dim)?];
                let shift = if size == 0 { 0 } else { shift.rem_euclid(size as isize) as usize };
                if shift != 0 {
                    let (head, tail) =
                        (rolled.try_narrow(dim, 0, size - shift)?, rolled.try_narrow(dim, size - shift, shift)?);
                    rolled = Tensor::try_cat(&[tail, head], dim)?;
                }
            }
            Ok(rolled)
        }

        /// Windows of `size` elements along a dimension, `step` apart; the window's elements become the last dimension.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0, 5, 1, &Device::cpu());
        /// assert_eq!(x.unfold(0, 3, 2).to_string(), "tensor([[0, 1, 2],\n        [2, 3, 4]], dtype=i32)");
        /// ```
        unfold / try_unfold(&self, dim: isize, size: usize, step: usize) -> Tensor {
            let dim = self.shape().dim("unfold", dim)?;
            let length = self.shape()[dim];
            if step == 0 || size > length {
                let message = format!(
                    "windows of {size} elements, {step} apart, do not fit dimension {dim} of {}", self.shape());
                return Err(Error::shape("unfold", message));
            }
            let count = (length - size) / step + 1;
            let step = if count > 1 { step } else { 1 };
            let shape = self.shape().with(dim, count).inserted(self.rank(), size);
            if size == 0 {
                return self.try_narrow(dim as isize, 0, 0)?.try_reshape(shape);
            }
            self.viewed(View::Window { dim, step }, shape, &[])
        }

        /// Pieces along a dimension: of one size (the last may be smaller), or of the sizes listed.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0, 5, 1, &Device::cpu());
        /// assert_eq!(x.split(2, 0)[2].to_string(), "tensor([4], dtype=i32)");
        /// assert_eq!(x.split([1, 4], 0)[1].to_string(), "tensor([1, 2, 3, 4], dtype=i32)");
        /// ```
        split / try_split(&self, sizes: impl Into<SplitSizes>, dim: isize) -> Vec<Tensor> {
            let dim = self.shape().dim("split", dim)?;
            let length = self.shape()[dim];
            match sizes.into() {
                SplitSizes::Each(0) if length > 0 => {
                    Err(Error::argument("split", format!("dimension {dim} of {} has no pieces of size 0", self.shape())))
                }
                SplitSizes::Each(size) => {
                    let count = length.div_ceil(size.max(1)).max(1);
                    few("split", count, self)?;
                    self.pieces(dim, (0..count).map(|piece| size.min(length - piece * size)))
                }
                SplitSizes::Listed(sizes) if sum(&sizes) == Some(length) => self.pieces(dim, sizes.into_iter()),
                SplitSizes::Listed(sizes) => {
                    let message = format!("sizes {sizes:?} do not add up to dimension {dim} of {}", self.shape());
                    Err(Error::shape("split", message))
                }
            }
        }

        /// At most `count` pieces of equal size along a dimension; the last may be smaller.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let pieces = Tensor::arange(0, 5, 1, &Device::cpu()).chunk(2, 0);
        /// assert_eq!(pieces[1].to_string(), "tensor([3, 4], dtype=i32)");
        /// ```
        chunk / try_chunk(&self, count: usize, dim: isize) -> Vec<Tensor> {
            if count == 0 {
                return Err(Error::argument("chunk", "the number of pieces must be above 0"));
            }
            match self.shape()[self.shape().dim("chunk", dim)?] {
                0 => {
                    few("chunk", count, self)?;
                    self.try_split(vec![0; count], dim)
                }
                length => self.try_split(length.div_ceil(count), dim),
            }
        }

        /// The slices along a dimension, which is taken out.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let rows = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu()).unbind(0);
        /// assert_eq!(rows[1].to_string(), "tensor([3., 4.])");
        /// ```
        unbind / try_unbind(&self, dim: isize) -> Vec<Tensor> {
            let length = self.shape()[self.shape().dim("unbind", dim)?];
            few("unbind", length, self)?;
            (0..length as isize).map(|index| self.try_select(dim, index)).collect()
        }

        /// The `offset`-th diagonal of the matrices in two dimensions, which are taken out; the diagonal comes last.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.diagonal(0, 0, 1).to_string(), "tensor([1., 4.])");
        /// assert_eq!(x.diagonal(-1, 0, 1).to_string(), "tensor([3.])");
        /// ```
        diagonal / try_diagonal(&self, offset: isize, rows: isize, columns: isize) -> Tensor {
            let (rows, columns) = (self.shape().dim("diagonal", rows)?, self.shape().dim("diagonal", columns)?);
            if rows == columns {
                let message = format!("dimension {rows} of {} cannot be both rows and columns", self.shape());
                return Err(Error::argument("diagonal", message));
            }
            let matrices = self.try_movedim([rows as isize, columns as isize], [-2, -1])?;
            let (height, width) = (self.shape()[rows], self.shape()[columns]);
            let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
            let length = height.saturating_sub(down).min(width.saturating_sub(right));
            let last = self.rank() - 2;
            let flat = matrices.try_flatten(-2, -1)?;
            let start = if length == 0 { 0 } else { down * width + right };
            flat.slice_strided(last, start as i64, width as isize + 1, length)
        }

        /// Square matrices with the last dimension on their `offset`-th diagonal and zeros elsewhere.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.diag_embed(0).to_string(), "tensor([[1., 0.],\n        [0., 2.]])");
        /// ```
        diag_embed / try_diag_embed(&self, offset: isize) -> Tensor {
            let last = self.shape().dim("diag_embed", -1)?;
            let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
            let size = self.shape()[last].saturating_add(offset.unsigned_abs());
            self.shape().with(last, size).inserted(last + 1, size).check("diag_embed")?;
            let flat = self.embed(last, size * size, (down * size + right) as i64, size + 1)?;
            flat.try_reshape(self.shape().with(last, size).inserted(last + 1, size))
        }

        /// The `offset`-th diagonal of a matrix, or the matrix that has a vector there.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0], &Device::cpu());
        /// assert_eq!(x.diag(1).diag(1).to_string(), "tensor([1., 2.])");
        /// ```
        diag / try_diag(&self, offset: isize) -> Tensor {
            match self.rank() {
                1 => self.try_diag_embed(offset),
                2 => self.try_diagonal(offset, 0, 1),
                _ => Err(Error::shape("diag", format!("shape {} is not a vector's or a matrix's", self.shape()))),
            }
        }
    }

    /// A resolved range along `dim`; the whole range is the tensor itself.
    #[track_caller]
    pub(super) fn spanned(&self, dim: usize, start: usize, step: usize, length: usize) -> Result<Tensor> {
        if start == 0 && step == 1 && length == self.shape()[dim] {
            return Ok(self.clone());
        }
        self.slice_strided(dim, start as i64, step as isize, length)
    }
}
