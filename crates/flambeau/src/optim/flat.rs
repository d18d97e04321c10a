//! Several tensors in one: what makes an optimizer's update one kernel, however many parameters it has.
//!
//! Each tensor is a window of a flat one. Windows start at multiples of [`ALIGNMENT`] elements, so that each could be
//! bound as a buffer of its own; what lies between them is zero, and what an update makes of it never shows.

use crate::error::Result;
use crate::shape::Shape;
use crate::tensor::Tensor;
use std::collections::BTreeMap;

/// Elements between possible starts: 256 bytes of 32-bit numbers, WebGPU's alignment of bindings.
const ALIGNMENT: usize = 64;
/// Elements of one flat tensor at most, unless a single window is larger: well below every device's binding limit.
pub(super) const MAX_ELEMENTS: usize = 1 << 24;

/// Where several tensors lie in a flat one.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Start and shape of each window.
    windows: Vec<(usize, Shape)>,
    /// The shape of the tensor that holds them all.
    shape: Shape,
}

impl Layout {
    /// One after the other.
    pub fn flat<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> Layout {
        let (mut windows, mut end) = (Vec::new(), 0_usize);
        for shape in shapes {
            let start = end.next_multiple_of(ALIGNMENT);
            end = start + shape.numel();
            windows.push((start, shape.clone()));
        }
        Layout { windows, shape: Shape::from([end]) }
    }

    /// One tensor in its own shape.
    pub fn single(shape: &Shape) -> Layout {
        Layout { windows: vec![(0, shape.clone())], shape: shape.clone() }
    }

    /// The shape of the tensor that holds them all.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The windows of a tensor that holds them all.
    pub fn windows(&self, whole: &Tensor) -> impl Iterator<Item = Tensor> {
        self.windows.iter().map(|(start, shape)| whole.window(*start, shape))
    }

    /// Puts tensors of the windows' shapes together. Where they are the windows of one tensor already, that one is
    /// it, and nothing is copied.
    pub fn gather(&self, parts: &[Tensor]) -> Result<Tensor> {
        let [first, ..] = parts else { return Tensor::try_cat(parts, 0) };
        let whole = first.looks_at().0;
        let in_place = |(part, (start, _)): (&Tensor, &(usize, Shape))| {
            let (seen, at) = part.looks_at();
            seen.is_same(&whole) && at == *start
        };
        if *whole.shape() == self.shape && parts.iter().zip(&self.windows).all(in_place) {
            return Ok(whole);
        }
        if let [(_, shape)] = &self.windows[..]
            && *shape == self.shape
        {
            return Ok(first.clone());
        }
        let (mut pieces, mut end) = (Vec::with_capacity(2 * parts.len()), 0);
        let mut zeros: BTreeMap<usize, Tensor> = BTreeMap::new();
        for (part, (start, shape)) in parts.iter().zip(&self.windows) {
            if end < *start {
                let gap = zeros.entry(start - end);
                let zeros = || Tensor::zeros([start - end], (part.dtype(), part.device()));
                pieces.push(gap.or_insert_with(zeros).clone());
            }
            pieces.push(part.try_reshape([shape.numel() as isize])?);
            end = start + shape.numel();
        }
        Tensor::try_cat(&pieces, 0)
    }
}
