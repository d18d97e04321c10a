//! Pooling made of other ops: power averages, windows at random places, and undoing maxima.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::product;
use crate::tensor::{AvgPoolOptions, Spatial, Tensor, twins};

/// The last N sizes of (…, C, spatial).
fn spatial<const N: usize>(op: &'static str, x: &Tensor) -> Result<[usize; N]> {
    if x.rank() != N + 1 && x.rank() != N + 2 {
        let message = format!("input {} must have {} or {} dimensions", x.shape(), N + 2, N + 1);
        return Err(Error::shape(op, message));
    }
    Ok(std::array::from_fn(|d| x.shape()[x.rank() - N + d]))
}

impl Tensor {
    /// (Σ xᵖ)^(1/p) over windows.
    #[track_caller]
    pub(crate) fn lp_pooled<const N: usize>(
        &self,
        op: &'static str,
        p: f64,
        kernel: Spatial<N>,
        options: &AvgPoolOptions<N>,
    ) -> Result<Tensor> {
        let options = options.with_divisor_override(1);
        let sums = self.try_pow(p)?.avg_pooled(op, kernel, &options)?;
        // A negative sum, of an odd power, keeps its sign; where the sum is 0, so is the derivative.
        let size = sums.try_abs()?;
        let zero = size.try_eq(0.0)?;
        let root = zero.try_where_cond(1.0, &size)?.try_pow(1.0 / p)?;
        zero.try_where_cond(0.0, &root)?.try_mul(&sums.detach().try_sign()?)
    }

    /// Puts maxima back where they were found.
    #[track_caller]
    pub(crate) fn max_unpooled<const N: usize>(
        &self,
        op: &'static str,
        indices: &Tensor,
        output: [usize; N],
    ) -> Result<Tensor> {
        let given = spatial::<N>(op, self)?;
        if indices.shape() != self.shape() || !indices.dtype().is_int() {
            let message =
                format!("indices {} ({}) for values {}", indices.shape(), indices.dtype(), self.shape());
            return Err(Error::shape(op, message));
        }
        let outer = &self.shape()[..self.rank() - N];
        let sizes = |inner: &[usize]| outer.iter().copied().chain(inner.iter().copied()).collect::<Vec<_>>();
        let flat = sizes(&[product(given)]);
        let empty = self.full_of(&sizes(&[product(output)])[..].into(), 0.0)?;
        let placed = empty.try_scatter(-1, &indices.try_reshape(&flat)?, &self.try_reshape(&flat)?)?;
        placed.try_reshape(sizes(&output))
    }

    /// The largest element, and its place in its channel, of windows of one size that lie at random.
    #[track_caller]
    pub(crate) fn fractionally_pooled<const N: usize>(
        &self,
        op: &'static str,
        kernel: [usize; N],
        output: [usize; N],
        samples: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let input = spatial::<N>(op, self)?;
        let outer: Vec<usize> = self.shape()[..self.rank() - N].to_vec();
        let channels = product(&outer);
        let fits = |d: usize| kernel[d] > 0 && output[d] > 0 && output[d] + kernel[d] - 1 <= input[d];
        if !(0..N).all(fits) || samples.numel() != channels * N || !self.dtype().is_float() {
            let message = format!(
                "{output:?} windows of {kernel:?} from {} with samples {}",
                self.shape(),
                samples.shape()
            );
            return Err(Error::shape(op, message));
        }
        let samples = samples.detach().try_reshape([channels, N])?;
        // The place of every element of every window, (channels, windows, elements), dimension after dimension.
        let mut places = Tensor::try_full([channels, 1, 1], 0, (DType::I32, self.device()))?;
        for d in 0..N {
            let starts = window_starts(&samples.try_select(1, d as isize)?, input[d], kernel[d], output[d])?;
            let steps = Tensor::try_arange(0, kernel[d] as i64, 1, (DType::I32, self.device()))?;
            let along = starts.try_unsqueeze(2)?.try_add(&steps)?;
            let (windows, elements) = (places.size(1), places.size(2));
            let before = places.try_mul(input[d])?.try_reshape([channels, windows, 1, elements, 1])?;
            let along = along.try_reshape([channels, 1, output[d], 1, kernel[d]])?;
            places =
                before.try_add(&along)?.try_reshape([channels, windows * output[d], elements * kernel[d]])?;
        }
        let (windows, elements) = (places.size(1), places.size(2));
        let flat = self.try_reshape([channels, product(input)])?;
        let read = flat.try_gather(1, &places.try_reshape([channels, windows * elements])?)?;
        let (largest, which) = read.try_reshape([channels, windows, elements])?.try_max_dim_keepdim(2)?;
        let found = places.try_gather(2, &which)?;
        let shape: Vec<usize> = outer.into_iter().chain(output).collect();
        Ok((largest.try_reshape(&shape)?, found.try_reshape(&shape)?))
    }

    twins! {
        /// (Σ xᵖ)^(1/p) over the windows of (N, C, L) or (C, L).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[3.0, 4.0, 6.0, 8.0]], &Device::cpu());
        /// assert_eq!(x.lp_pool1d(2.0, 2, &Default::default()).to_string(), "tensor([[ 5., 10.]])");
        /// ```
        lp_pool1d / try_lp_pool1d(&self, p: f64, kernel: impl Into<Spatial<1>>, options: &AvgPoolOptions<1>) -> Tensor {
            self.lp_pooled("lp_pool1d", p, kernel.into(), options)
        }

        /// (Σ xᵖ)^(1/p) over the windows of (N, C, H, W) or (C, H, W).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1, 4, 4], &Device::cpu());
        /// assert_eq!(x.lp_pool2d(2.0, 2, &Default::default()).amax(..).to_string(), "tensor(2.)");
        /// ```
        lp_pool2d / try_lp_pool2d(&self, p: f64, kernel: impl Into<Spatial<2>>, options: &AvgPoolOptions<2>) -> Tensor {
            self.lp_pooled("lp_pool2d", p, kernel.into(), options)
        }

        /// (Σ xᵖ)^(1/p) over the windows of (N, C, D, H, W) or (C, D, H, W).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1, 4, 4, 4], &Device::cpu());
        /// assert_eq!(x.lp_pool3d(1.0, 2, &Default::default()).amax(..).to_string(), "tensor(8.)");
        /// ```
        lp_pool3d / try_lp_pool3d(&self, p: f64, kernel: impl Into<Spatial<3>>, options: &AvgPoolOptions<3>) -> Tensor {
            self.lp_pooled("lp_pool3d", p, kernel.into(), options)
        }

        /// Puts the maxima of [`max_pool1d_with_indices`](Tensor::max_pool1d_with_indices) back where they were found, among
        /// zeros: (…, C, L') to (…, C, L).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0, 2.0, 5.0]], &Device::cpu());
        /// let (largest, indices) = x.max_pool1d_with_indices(2, &Default::default());
        /// assert_eq!(largest.max_unpool1d(&indices, 4).to_string(), "tensor([[0., 3., 0., 5.]])");
        /// ```
        max_unpool1d / try_max_unpool1d(&self, indices: &Tensor, output: impl Into<Spatial<1>>) -> Tensor {
            self.max_unpooled("max_unpool1d", indices, output.into().0)
        }

        /// Puts the maxima of [`max_pool2d_with_indices`](Tensor::max_pool2d_with_indices) back where they were found.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[[1.0, 3.0], [2.0, 5.0]]], &Device::cpu());
        /// let (largest, indices) = x.max_pool2d_with_indices(2, &Default::default());
        /// assert_eq!(largest.max_unpool2d(&indices, 2).to_string(), "tensor([[[0., 0.],\n         [0., 5.]]])");
        /// ```
        max_unpool2d / try_max_unpool2d(&self, indices: &Tensor, output: impl Into<Spatial<2>>) -> Tensor {
            self.max_unpooled("max_unpool2d", indices, output.into().0)
        }

        /// Puts the maxima of [`max_pool3d_with_indices`](Tensor::max_pool3d_with_indices) back where they were found.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let (value, index) = (Tensor::ones([1, 1, 1, 1], &Device::cpu()), Tensor::new([[[[7]]]], &Device::cpu()));
        /// assert_eq!(value.max_unpool3d(&index, 2).sum(..).to_string(), "tensor(1.)");
        /// ```
        max_unpool3d / try_max_unpool3d(&self, indices: &Tensor, output: impl Into<Spatial<3>>) -> Tensor {
            self.max_unpooled("max_unpool3d", indices, output.into().0)
        }

        /// The largest elements of windows that lie at random (Graham, 2014), and their positions in their channel:
        /// as many of (N, C, H, W) or (C, H, W) as asked for. `samples` (N, C, 2), between 0 and 1, say how they lie.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::arange(0.0, 25.0, 1.0, &device).reshape([1, 1, 5, 5]);
        /// let samples = Tensor::zeros([1, 1, 2], &device);
        /// let (y, _) = x.fractional_max_pool2d_with_indices(2, 3, &samples);
        /// assert_eq!(y.i((0, 0, 2)).to_string(), "tensor([21., 22., 24.])");
        /// ```
        fractional_max_pool2d_with_indices / try_fractional_max_pool2d_with_indices(
            &self, kernel: impl Into<Spatial<2>>, output: impl Into<Spatial<2>>, samples: &Tensor,
        ) -> (Tensor, Tensor) {
            self.fractionally_pooled("fractional_max_pool2d", kernel.into().0, output.into().0, samples)
        }

        /// [`fractional_max_pool2d_with_indices`](Tensor::fractional_max_pool2d_with_indices) of volumes (N, C, D, H, W) or
        /// (C, D, H, W), with samples (N, C, 3).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let (y, _) = Tensor::ones([2, 5, 5, 5], &device).fractional_max_pool3d_with_indices(2, 3, &Tensor::zeros([2, 3], &device));
        /// assert_eq!(y.shape().dims(), [2, 3, 3, 3]);
        /// ```
        fractional_max_pool3d_with_indices / try_fractional_max_pool3d_with_indices(
            &self, kernel: impl Into<Spatial<3>>, output: impl Into<Spatial<3>>, samples: &Tensor,
        ) -> (Tensor, Tensor) {
            self.fractionally_pooled("fractional_max_pool3d", kernel.into().0, output.into().0, samples)
        }

        /// The means of as many windows as asked for over (N, C, D, H, W) or (C, D, H, W).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1, 4, 5, 6], &Device::cpu());
        /// assert_eq!(x.adaptive_avg_pool3d([2, 3, 1]).shape().dims(), [1, 2, 3, 1]);
        /// ```
        adaptive_avg_pool3d / try_adaptive_avg_pool3d(&self, output: impl Into<Spatial<3>>) -> Tensor {
            self.adaptive_avg_pooled("adaptive_avg_pool3d", output.into())
        }

        /// The largest elements of as many windows as asked for over (N, C, D, H, W) or (C, D, H, W), and their positions in
        /// their channel (I32).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0.0, 8.0, 1.0, &Device::cpu()).reshape([1, 2, 2, 2]);
        /// assert_eq!(x.adaptive_max_pool3d_with_indices(1).1.to_string(), "tensor([[[[7]]]], dtype=i32)");
        /// ```
        adaptive_max_pool3d_with_indices / try_adaptive_max_pool3d_with_indices(&self, output: impl Into<Spatial<3>>) -> (Tensor, Tensor) {
            self.adaptive_max_pooled("adaptive_max_pool3d", output.into())
        }

        /// The largest elements of as many windows as asked for over (N, C, D, H, W) or (C, D, H, W).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::arange(0.0, 8.0, 1.0, &Device::cpu()).reshape([1, 2, 2, 2]);
        /// assert_eq!(x.adaptive_max_pool3d([2, 1, 1]).to_string(), "tensor([[[[3.]],\n\n         [[7.]]]])");
        /// ```
        adaptive_max_pool3d / try_adaptive_max_pool3d(&self, output: impl Into<Spatial<3>>) -> Tensor {
            Ok(self.adaptive_max_pooled("adaptive_max_pool3d", output.into())?.0)
        }
    }
}

/// Where windows begin: ⌊(i + u) α⌋ − ⌊u α⌋ with α = (input − kernel) / (output − 1), and the last at the end; (channels, output).
fn window_starts(u: &Tensor, input: usize, kernel: usize, output: usize) -> Result<Tensor> {
    let last = (input - kernel) as i64;
    let end = Tensor::try_full([u.numel(), 1], last, (DType::I32, u.device()))?;
    if output == 1 {
        return Ok(end);
    }
    let alpha = last as f64 / (output - 1) as f64;
    let numbers = Tensor::try_arange(0.0, (output - 1) as f64, 1.0, (u.dtype(), u.device()))?;
    let u = u.try_unsqueeze(1)?;
    let floor = |x: Tensor| x.try_mul(alpha)?.try_floor();
    let starts = floor(u.try_add(&numbers)?)?.try_sub(&floor(u)?)?;
    Tensor::try_cat(&[starts.try_to_dtype(DType::I32)?, end], 1)
}
