//! Several tensors in one: what makes an optimizer's update one kernel, however many parameters it has.
//!
//! Each tensor is a window of a flat one. Windows start at multiples of [`ALIGNMENT`] elements, so that each could be
//! bound as a buffer of its own; what lies between them may be anything, and never shows.

use crate::error::Result;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// Elements between possible starts: 256 bytes of f16, WebGPU's alignment of bindings.
const ALIGNMENT: usize = 128;
/// Elements of one flat tensor at most, unless a single window is larger: well below every device's binding limit.
pub(crate) const MAX_ELEMENTS: usize = 1 << 24;

/// Where several tensors lie in a flat one.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Start and shape of each window.
    windows: Vec<(usize, Shape)>,
    /// The shape of the tensor that holds them all.
    shape: Shape,
}

impl Layout {
    /// One after the other, each at an aligned start; what lies between them may be anything.
    pub fn flat<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> Layout {
        Layout::aligned(ALIGNMENT, shapes)
    }

    /// One after the other with nothing between them, for sums over all of them.
    pub fn dense<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> Layout {
        Layout::aligned(1, shapes)
    }

    fn aligned<'a>(alignment: usize, shapes: impl IntoIterator<Item = &'a Shape>) -> Layout {
        let (mut windows, mut end) = (Vec::new(), 0_usize);
        for shape in shapes {
            let start = end.next_multiple_of(alignment);
            end = start + shape.numel();
            windows.push((start, shape.clone()));
        }
        // A kernel then takes all of them four at a time.
        let whole = if alignment > 1 && windows.len() > 1 { end.next_multiple_of(4) } else { end };
        Layout { windows, shape: Shape::from([whole]) }
    }

    /// One tensor in its own shape.
    pub fn single(shape: &Shape) -> Layout {
        Layout { windows: vec![(0, shape.clone())], shape: shape.clone() }
    }

    /// The shape of the tensor that holds them all.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Start and number of elements of each window.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.windows.iter().map(|(start, shape)| (*start, shape.numel()))
    }

    /// The windows of a tensor that holds them all. On the GPU they share its memory if it has been evaluated.
    pub fn windows(&self, whole: &Tensor) -> Vec<Tensor> {
        let window = |(start, shape): &(usize, Shape)| {
            let part = whole.evaluated_part(*start, shape).filter(|_| start.is_multiple_of(ALIGNMENT));
            part.unwrap_or_else(|| whole.narrow(0, *start, shape.numel()).reshape(shape))
        };
        match &self.windows[..] {
            [(_, shape)] if *shape == self.shape => vec![whole.clone()],
            windows => windows.iter().map(window).collect(),
        }
    }

    /// Puts tensors of the windows' shapes together. Where they are the windows of one tensor already, that one is
    /// it, and nothing is copied.
    pub fn gather(&self, parts: &[Tensor]) -> Result<Tensor> {
        if let ([(_, shape)], [only]) = (&self.windows[..], parts)
            && *shape == self.shape
        {
            return Ok(only.clone());
        }
        let starts: Vec<usize> = self.windows.iter().map(|(start, _)| *start).collect();
        let len = self.shape.numel();
        match Tensor::whole_of(parts, &starts, len) {
            Some(whole) => Ok(whole),
            None => Tensor::pack(parts, &starts, len),
        }
    }
}
