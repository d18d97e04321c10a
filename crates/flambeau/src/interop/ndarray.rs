//! Arrays of the crate `ndarray`.

use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::Tensor;
use ndarray::{ArrayBase, ArrayD, Axis, Data, Dimension, IxDyn};

impl Tensor {
    /// A tensor with an array's values. What lies in memory without holes, in whatever order of its axes, is taken as it lies; other views
    /// are put in order first.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let array = ndarray::array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let x = Tensor::from_ndarray(&array.t(), &Device::cpu())?;
    /// assert_eq!(x.to_string(), "tensor([[1., 4.],\n        [2., 5.],\n        [3., 6.]])");
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn from_ndarray<T, S, D>(array: &ArrayBase<S, D>, device: &Device) -> Result<Tensor>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        let shape = Shape::new(array.shape());
        let forwards = array.strides().iter().all(|stride| *stride >= 0);
        let Some(values) = array.as_slice_memory_order().filter(|_| forwards) else {
            let values: Vec<T> = array.iter().copied().collect();
            return Tensor::try_from_vec(values, shape, device);
        };
        // Axes as they lie, the widest first, and back.
        let mut axes: Vec<usize> = (0..array.ndim()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse((array.stride_of(Axis(axis)), array.len_of(Axis(axis)))));
        let lying: Shape = axes.iter().map(|&axis| shape[axis]).collect();
        let mut back = vec![0; axes.len()];
        for (place, &axis) in axes.iter().enumerate() {
            back[axis] = place as isize;
        }
        Tensor::try_from_slice(values, lying, device)?.try_permute(&back)
    }

    /// The values as an array. `T` must be the tensor's element type.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu());
    /// assert_eq!(x.t().to_ndarray::<f32>().await?, ndarray::array![[1.0, 3.0], [2.0, 4.0]].into_dyn());
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let values = self.to_vec().await?;
        ArrayD::from_shape_vec(IxDyn(self.shape()), values)
            .map_err(|error| Error::shape("to_ndarray", format!("shape {}: {error}", self.shape())))
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Tensor {
    /// [`to_ndarray`](Tensor::to_ndarray), blocking.
    pub fn to_ndarray_blocking<T: Element>(&self) -> Result<ArrayD<T>> {
        pollster::block_on(self.to_ndarray())
    }
}
