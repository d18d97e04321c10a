//! Sliding blocks as columns, and columns as sums of blocks: PyTorch's `unfold` and `fold`.

use crate::error::{Error, Result};
use crate::tensor::{Spatial, Tensor, twins};

/// How blocks lie over (H, W): their size, and how they slide.
///
/// ```
/// use flambeau::nn::functional::Patches;
/// assert_eq!(Patches::new([3, 2]).with_stride(2).with_padding([1, 0]).count([5, 4]), Some([3, 2]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patches {
    /// The block's size.
    pub kernel: [usize; 2],
    /// The distance between elements of a block.
    pub dilation: [usize; 2],
    /// Zeros on both sides of the input.
    pub padding: [usize; 2],
    /// The distance between blocks.
    pub stride: [usize; 2],
}

impl Patches {
    /// Blocks of neighbours, one at every place.
    pub fn new(kernel: impl Into<Spatial<2>>) -> Patches {
        Patches { kernel: kernel.into().0, dilation: [1; 2], padding: [0; 2], stride: [1; 2] }
    }

    /// With this distance between blocks.
    pub fn with_stride(self, stride: impl Into<Spatial<2>>) -> Patches {
        Patches { stride: stride.into().0, ..self }
    }

    /// With zeros on both sides.
    pub fn with_padding(self, padding: impl Into<Spatial<2>>) -> Patches {
        Patches { padding: padding.into().0, ..self }
    }

    /// With this distance between a block's elements.
    pub fn with_dilation(self, dilation: impl Into<Spatial<2>>) -> Patches {
        Patches { dilation: dilation.into().0, ..self }
    }

    /// How many blocks there are along each dimension of an image; none if not one fits, or a setting is zero.
    pub fn count(&self, image: [usize; 2]) -> Option<[usize; 2]> {
        let mut blocks = [0; 2];
        for d in 0..2 {
            let reach = self.dilation[d].checked_mul(self.kernel[d].checked_sub(1)?)?.checked_add(1)?;
            let padded = self.padding[d].checked_mul(2)?.checked_add(image[d])?;
            blocks[d] = padded.checked_sub(reach)?.checked_div(self.stride[d])?.checked_add(1)?;
        }
        (!self.dilation.contains(&0)).then_some(blocks)
    }

    fn checked_count(&self, op: &'static str, image: [usize; 2]) -> Result<[usize; 2]> {
        self.count(image)
            .ok_or_else(|| Error::shape(op, format!("{self:?} does not fit an image of {image:?}")))
    }

    fn padded(&self, image: [usize; 2]) -> [usize; 2] {
        [0, 1].map(|d| image[d] + 2 * self.padding[d])
    }

    /// Where each element of each block lies in the padded image: ordered by element, then by block.
    fn places(&self, image: [usize; 2], blocks: [usize; 2], like: &Tensor) -> Result<Tensor> {
        let width = self.padded(image)[1];
        let mut places = Vec::new();
        for (kh, kw) in (0..self.kernel[0]).flat_map(|kh| (0..self.kernel[1]).map(move |kw| (kh, kw))) {
            for (h, w) in (0..blocks[0]).flat_map(|h| (0..blocks[1]).map(move |w| (h, w))) {
                let row = h * self.stride[0] + kh * self.dilation[0];
                places.push((row * width + w * self.stride[1] + kw * self.dilation[1]) as i32);
            }
        }
        Tensor::try_from_slice(&places, places.len(), like.device())
    }
}

/// (N, …) of a tensor that may lack its batch dimension.
fn batched(op: &'static str, x: &Tensor, rank: usize) -> Result<(Tensor, bool)> {
    match x.rank() {
        r if r == rank => Ok((x.clone(), true)),
        r if r + 1 == rank => Ok((x.try_unsqueeze(0)?, false)),
        _ => {
            Err(Error::shape(op, format!("input {} must have {rank} or {} dimensions", x.shape(), rank - 1)))
        }
    }
}

fn unbatched(y: Tensor, batched: bool) -> Result<Tensor> {
    if batched { Ok(y) } else { y.try_squeeze(0) }
}

impl Tensor {
    twins! {
        /// Sliding blocks as columns, PyTorch's `F.unfold`: (N, C, H, W) to (N, C · kh · kw, L), L being the number of blocks.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::nn::functional::Patches;
        /// let x = Tensor::arange(0, 6, 1, &Device::cpu()).reshape([1, 2, 3]);
        /// assert_eq!(x.im2col(&Patches::new([1, 2])).to_string(), "tensor([[0, 1, 3, 4],\n        [1, 2, 4, 5]], dtype=i32)");
        /// ```
        im2col / try_im2col(&self, patches: &Patches) -> Tensor {
            const OP: &str = "im2col";
            let (x, is_batch) = batched(OP, self, 4)?;
            let [n, c, h, w] = [0, 1, 2, 3].map(|d| x.shape()[d]);
            let blocks = patches.checked_count(OP, [h, w])?;
            let [ph, pw] = patches.padding.map(|size| size as isize);
            let padded = if [ph, pw] == [0, 0] { x } else { x.try_pad(&[pw, pw, ph, ph], 0)? };
            let flat = padded.try_flatten(2, 3)?;
            let columns = flat.try_index_select(2, &patches.places([h, w], blocks, self)?)?;
            let elements = c * patches.kernel[0] * patches.kernel[1];
            unbatched(columns.try_reshape([n, elements, blocks[0] * blocks[1]])?, is_batch)
        }

        /// The sum of blocks given as columns, PyTorch's `F.fold`: (N, C · kh · kw, L) to (N, C, H, W). What overlaps is added up,
        /// so that it is the transpose of [`im2col`](Tensor::im2col), not its inverse.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::nn::functional::Patches;
        /// let columns = Tensor::ones([1, 2, 2], &Device::cpu());
        /// assert_eq!(columns.col2im([1, 3], &Patches::new([1, 2])).to_string(), "tensor([[[[1., 2., 1.]]]])");
        /// ```
        col2im / try_col2im(&self, output: impl Into<Spatial<2>>, patches: &Patches) -> Tensor {
            const OP: &str = "col2im";
            let (output, (x, is_batch)) = (output.into().0, batched(OP, self, 3)?);
            let blocks = patches.checked_count(OP, output)?;
            let (n, area) = (x.shape()[0], patches.kernel[0] * patches.kernel[1]);
            if !x.shape()[1].is_multiple_of(area) || x.shape()[2] != blocks[0] * blocks[1] {
                let message = format!("columns {} are not {blocks:?} blocks of {:?}", self.shape(), patches.kernel);
                return Err(Error::shape(OP, message));
            }
            let c = x.shape()[1] / area;
            let [h, w] = patches.padded(output);
            let flat = x.try_reshape([n, c, area * x.shape()[2]])?;
            let empty = flat.full_of(&[n, c, h * w].into(), 0)?;
            let summed = empty.try_index_add(2, &patches.places(output, blocks, self)?, &flat)?;
            let whole = summed.try_reshape([n, c, h, w])?;
            let [ph, pw] = patches.padding;
            unbatched(whole.try_narrow(2, ph, output[0])?.try_narrow(3, pw, output[1])?, is_batch)
        }
    }
}
