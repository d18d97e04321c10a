//! Tensors put together, taken apart, turned and packed in NumPy's ways.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::elementwise::Operand;
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};
use std::borrow::Borrow;

impl Tensor {
    twins! {
        /// Turned by `k` quarters in the plane of two dimensions, from the first towards the second.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1, 2], [3, 4]], &Device::cpu());
        /// assert_eq!(x.rot90(1, [0, 1]).to_string(), "tensor([[2, 4],\n        [1, 3]], dtype=i32)");
        /// ```
        rot90 / try_rot90(&self, k: isize, dims: [isize; 2]) -> Tensor {
            let [first, second] = dims;
            if self.shape().dim("rot90", first)? == self.shape().dim("rot90", second)? {
                return Err(Error::argument("rot90", format!("dimensions {dims:?} are one, not a plane")));
            }
            match k.rem_euclid(4) {
                0 => Ok(self.clone()),
                1 => self.try_flip(second)?.try_transpose(first, second),
                2 => self.try_flip([first, second]),
                _ => self.try_transpose(first, second)?.try_flip(second),
            }
        }

        /// The columns of matrices in reverse order.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([[1, 2]], &Device::cpu()).fliplr().to_string(), "tensor([[2, 1]], dtype=i32)");
        /// ```
        fliplr / try_fliplr(&self) -> Tensor {
            self.try_flip(1)
        }

        /// The rows in reverse order.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1, 2], &Device::cpu()).flipud().to_string(), "tensor([2, 1], dtype=i32)");
        /// ```
        flipud / try_flipud(&self) -> Tensor {
            self.try_flip(0)
        }

        /// With dimensions of size 1 in front, as many as it takes to have at least `rank` (NumPy's `atleast_1d` and `atleast_2d`).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([1, 2], &Device::cpu()).at_least(3).shape().dims(), [1, 1, 2]);
        /// ```
        at_least / try_at_least(&self, rank: usize) -> Tensor {
            let missing = rank.saturating_sub(self.rank());
            self.try_reshape(std::iter::repeat_n(1, missing).chain(self.shape().iter().copied()).collect::<Shape>())
        }

        /// Tensors joined along their third dimension; vectors are columns of depth one.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, y) = (Tensor::new([1, 2], &Device::cpu()), Tensor::new([3, 4], &Device::cpu()));
        /// assert_eq!(Tensor::dstack(&[x, y]).to_string(), "tensor([[[1, 3],\n         [2, 4]]], dtype=i32)");
        /// ```
        dstack / try_dstack[T: Borrow<Tensor>](tensors: &[T]) -> Tensor {
            let deep = |tensor: &T| {
                let tensor = tensor.borrow();
                match tensor.rank() {
                    0 => tensor.try_reshape([1, 1, 1]),
                    1 => tensor.try_reshape([1, tensor.numel(), 1]),
                    2 => tensor.try_unsqueeze(2),
                    _ => Ok(tensor.clone()),
                }
            };
            Tensor::try_cat(&tensors.iter().map(deep).collect::<Result<Vec<_>>>()?, 2)
        }

        /// Vectors as the columns of a matrix, beside matrices.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, y) = (Tensor::new([1, 2], &Device::cpu()), Tensor::new([3, 4], &Device::cpu()));
        /// assert_eq!(Tensor::column_stack(&[x, y]).to_string(), "tensor([[1, 3],\n        [2, 4]], dtype=i32)");
        /// ```
        column_stack / try_column_stack[T: Borrow<Tensor>](tensors: &[T]) -> Tensor {
            let column = |tensor: &T| {
                let tensor = tensor.borrow();
                if tensor.rank() < 2 { tensor.try_reshape([tensor.numel(), 1]) } else { Ok(tensor.clone()) }
            };
            Tensor::try_cat(&tensors.iter().map(column).collect::<Result<Vec<_>>>()?, 1)
        }

        /// One matrix of blocks: those of a row beside each other, the rows below each other.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let one = Tensor::ones([1, 1], &Device::cpu());
        /// let blocks = [vec![one.clone(), &one * 2.0], vec![&one * 3.0, &one * 4.0]];
        /// assert_eq!(Tensor::block(&blocks).to_string(), "tensor([[1., 2.],\n        [3., 4.]])");
        /// ```
        block / try_block(rows: &[Vec<Tensor>]) -> Tensor {
            let row = |tensors: &Vec<Tensor>| {
                let matrices = tensors.iter().map(|tensor| tensor.try_at_least(2)).collect::<Result<Vec<_>>>()?;
                Tensor::try_cat(&matrices, -1)
            };
            Tensor::try_cat(&rows.iter().map(row).collect::<Result<Vec<_>>>()?, -2)
        }

        /// Exactly `count` pieces along a dimension, of which the first are longer by one where it does not come out even.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let pieces = Tensor::arange(0, 5, 1, &Device::cpu()).array_split(3, 0);
        /// assert_eq!(pieces.iter().map(Tensor::numel).collect::<Vec<_>>(), [2, 2, 1]);
        /// ```
        array_split / try_array_split(&self, count: usize, dim: isize) -> Vec<Tensor> {
            let length = self.shape()[self.shape().dim("array_split", dim)?];
            if count == 0 || count > length.max(1 << 16) {
                return Err(Error::argument("array_split", format!("{count} pieces of dimension {dim} of {}", self.shape())));
            }
            let sizes: Vec<usize> = (0..count).map(|k| length / count + usize::from(k < length % count)).collect();
            self.try_split(sizes, dim)
        }

        /// Pieces along a dimension that begin at 0 and at these places (NumPy's `split` with a list).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let pieces = Tensor::arange(0, 5, 1, &Device::cpu()).split_at(&[1, 4], 0);
        /// assert_eq!(pieces[1].to_string(), "tensor([1, 2, 3], dtype=i32)");
        /// ```
        split_at / try_split_at(&self, places: &[usize], dim: isize) -> Vec<Tensor> {
            let length = self.shape()[self.shape().dim("split_at", dim)?];
            let ends = places.iter().copied().chain([length]);
            let starts = std::iter::once(0).chain(places.iter().copied());
            let piece = |(start, end): (usize, usize)| {
                let start = start.min(length);
                self.try_narrow(dim, start, end.min(length).saturating_sub(start))
            };
            starts.zip(ends).map(piece).collect()
        }

        /// With slices put in before position `index` along a dimension; numbers and smaller tensors are broadcast.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1, 2, 3], &Device::cpu());
        /// assert_eq!(x.insert(1, &Tensor::new([8, 9], &Device::cpu()), 0).to_string(), "tensor([1, 8, 9, 2, 3], dtype=i32)");
        /// ```
        insert / try_insert(&self, index: usize, values: impl Into<Operand>, dim: isize) -> Tensor {
            let axis = self.shape().dim("insert", dim)?;
            let values = match values.into() {
                Operand::Scalar(value) => Tensor::try_full(self.shape().with(axis, 1), value, (self.dtype(), self.device()))?,
                Operand::Tensor(values) => {
                    let values = values.try_to_dtype(self.dtype())?.try_at_least(self.rank())?;
                    let size = values.size(axis as isize);
                    values.broadcast_as("insert", &self.shape().with(axis, size))?
                }
            };
            let size = self.shape()[axis];
            if index > size {
                return Err(Error::argument("insert", format!("place {index} of dimension {axis} of {}", self.shape())));
            }
            let parts = [self.try_narrow(dim, 0, index)?, values, self.try_narrow(dim, index, size - index)?];
            Tensor::try_cat(&parts, dim)
        }

        /// Without the slices at these positions along a dimension; negative ones count from the back.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1, 2, 3, 4], &Device::cpu());
        /// assert_eq!(x.delete(&[1, -1], 0).to_string(), "tensor([1, 3], dtype=i32)");
        /// ```
        delete / try_delete(&self, positions: &[isize], dim: isize) -> Tensor {
            let axis = self.shape().dim("delete", dim)?;
            let size = self.shape()[axis];
            let mut gone = vec![false; size];
            for &position in positions {
                let at = if position < 0 { position + size as isize } else { position };
                let found = usize::try_from(at).ok().and_then(|at| gone.get_mut(at));
                *found.ok_or_else(|| Error::argument("delete", format!("position {position} of dimension {axis} of {}", self.shape())))? = true;
            }
            let kept: Vec<i32> = (0..size).filter(|&at| !gone[at]).map(|at| at as i32).collect();
            self.try_index_select(dim, &Tensor::try_from_slice(&kept, kept.len(), self.device())?)
        }

        /// Every element along a dimension as often as its count says, next to itself.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1, 2, 3], &Device::cpu());
        /// assert_eq!(x.repeat_each(&[2, 0, 1], 0).to_string(), "tensor([1, 1, 3], dtype=i32)");
        /// ```
        repeat_each / try_repeat_each(&self, counts: &[usize], dim: isize) -> Tensor {
            let axis = self.shape().dim("repeat_each", dim)?;
            if counts.len() != self.shape()[axis] {
                let message = format!("{} counts for dimension {axis} of {}", counts.len(), self.shape());
                return Err(Error::shape("repeat_each", message));
            }
            let total = counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
            self.shape().with(axis, total).check("repeat_each")?;
            let places: Vec<i32> =
                counts.iter().enumerate().flat_map(|(at, &count)| std::iter::repeat_n(at as i32, count)).collect();
            self.try_index_select(dim, &Tensor::try_from_slice(&places, places.len(), self.device())?)
        }

        /// The elements as one long row, repeated or cut off to fill another shape.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[0, 1], [2, 3]], &Device::cpu());
        /// assert_eq!(x.resize([2, 3]).to_string(), "tensor([[0, 1, 2],\n        [3, 0, 1]], dtype=i32)");
        /// ```
        resize / try_resize(&self, shape: impl Into<Shape>) -> Tensor {
            let shape = shape.into();
            shape.check("resize")?;
            self.repeated_to("resize", shape.numel())?.try_reshape(shape)
        }

        /// Tensors repeated to the shape they all broadcast to.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (x, y) = (Tensor::zeros([2, 1], &Device::cpu()), Tensor::zeros([3], &Device::cpu()));
        /// assert_eq!(Tensor::broadcast_tensors(&[x, y])[1].shape().dims(), [2, 3]);
        /// ```
        broadcast_tensors / try_broadcast_tensors[T: Borrow<Tensor>](tensors: &[T]) -> Vec<Tensor> {
            let mut shape = Shape::default();
            for tensor in tensors.iter().map(Borrow::borrow) {
                let both = shape.broadcast(tensor.shape());
                shape = both.ok_or_else(|| Error::broadcast("broadcast_tensors", &shape, tensor.shape()))?;
            }
            tensors.iter().map(|tensor| tensor.borrow().broadcast_as("broadcast_tensors", &shape)).collect()
        }

        /// A matrix with the tensor, as one long row, on its `offset`-th diagonal.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::new([[1, 2]], &Device::cpu()).diagflat(0).to_string(), "tensor([[1, 0],\n        [0, 2]], dtype=i32)");
        /// ```
        diagflat / try_diagflat(&self, offset: isize) -> Tensor {
            self.try_reshape(self.numel())?.try_diag_embed(offset)
        }

        /// Matrices with a number, or values, on their diagonal.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([2, 2], &Device::cpu()).fill_diagonal(0.0);
        /// assert_eq!(x.to_string(), "tensor([[0., 1.],\n        [1., 0.]])");
        /// ```
        fill_diagonal / try_fill_diagonal(&self, values: impl Into<Operand>) -> Tensor {
            if self.rank() < 2 {
                return Err(Error::shape("fill_diagonal", format!("shape {} has fewer than two dimensions", self.shape())));
            }
            let (rows, columns) = (self.size(-2), self.size(-1));
            let on = Tensor::try_eye_rectangular(rows, columns, (DType::Bool, self.device()))?;
            let values = match values.into() {
                Operand::Scalar(value) => Tensor::try_full((), value, (self.dtype(), self.device()))?,
                Operand::Tensor(values) => {
                    let length = rows.min(columns);
                    let values = values.try_to_dtype(self.dtype())?.repeated_to("fill_diagonal", length)?;
                    // Row k has value k, wherever its column is.
                    values.try_reshape([length, 1])?.try_pad(&[0, 0, 0, (rows - length) as isize], 0)?
                }
            };
            on.try_where_cond(values, self)
        }

        /// The matrices of the last two dimensions, transposed.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::zeros([4, 2, 3], &Device::cpu()).matrix_transpose().shape().dims(), [4, 3, 2]);
        /// ```
        matrix_transpose / try_matrix_transpose(&self) -> Tensor {
            self.try_transpose(-2, -1)
        }

        /// Bits (anything but zero is 1) along a dimension, eight to a byte (U8), the first the highest; the last byte ends with zeros.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1, 0, 1], &Device::cpu());
        /// assert_eq!(x.packbits(0).to_string(), "tensor([160], dtype=u8)");
        /// ```
        packbits / try_packbits(&self, dim: isize) -> Tensor {
            let axis = self.shape().dim("packbits", dim)?;
            let size = self.shape()[axis];
            let bytes = size.div_ceil(8);
            let bits = self.try_to_dtype(DType::Bool)?.try_to_dtype(DType::I32)?.try_movedim(axis as isize, -1)?;
            let bits = bits.try_pad(&[0, (bytes * 8 - size) as isize], 0)?.try_unflatten(-1, [bytes as isize, 8])?;
            let weights = Tensor::try_from_slice(&[128, 64, 32, 16, 8, 4, 2, 1], 8, self.device())?;
            bits.try_mul(&weights)?.try_sum(-1)?.try_to_dtype(DType::U8)?.try_movedim(-1, axis as isize)
        }

        /// The bits of bytes (U8) along a dimension, the highest first, as U8.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([5u8], &Device::cpu());
        /// assert_eq!(x.unpackbits(0).to_string(), "tensor([0, 0, 0, 0, 0, 1, 0, 1], dtype=u8)");
        /// ```
        unpackbits / try_unpackbits(&self, dim: isize) -> Tensor {
            let axis = self.shape().dim("unpackbits", dim)?;
            if self.dtype() != DType::U8 {
                return Err(Error::dtype_not_accepted("unpackbits", self.dtype(), "u8"));
            }
            let bytes = self.try_to_dtype(DType::I32)?.try_movedim(axis as isize, -1)?.try_unsqueeze(-1)?;
            let shifts = Tensor::try_arange(7, -1, -1, self.device())?;
            let bits = bytes.try_shift_right(&shifts)?.try_bitand(1)?.try_flatten(-2, -1)?;
            bits.try_to_dtype(DType::U8)?.try_movedim(-1, axis as isize)
        }
    }
}
