//! Pooling over one, two or three dimensions, and its options.

use super::conv::{Spatial, extent, steps, to_three, window};
use super::{Tensor, twins};
use crate::error::{Error, Result};
use crate::op::pool::{Divisor, Pool, PoolKind, Window};
use crate::settings::Settings;
use crate::shape::{Dims, product};

/// How a maximum over windows goes over N dimensions: as PyTorch's `stride`, `padding`, `dilation`, `ceil_mode`.
///
/// ```
/// # use flambeau::prelude::*;
/// let options = MaxPool2dOptions { padding: [1, 1], ..Default::default() };
/// assert_eq!(options, MaxPool2dOptions::default().with_padding(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct MaxPoolOptions<const N: usize> {
    /// Steps between windows; the size of the window if none are given.
    pub stride: Option<[usize; N]>,
    /// Places around the input that belong to windows and have no element; at most half a window.
    pub padding: [usize; N],
    /// Steps between the elements of a window.
    pub dilation: [usize; N],
    /// Is a last window that reaches past the end kept?
    pub ceil_mode: bool,
}

/// How a mean over windows goes over N dimensions: as PyTorch's `stride`, `padding`, `ceil_mode`,
/// `count_include_pad`, `divisor_override`.
///
/// ```
/// # use flambeau::prelude::*;
/// let options = AvgPool2dOptions { padding: [1, 1], ..Default::default() };
/// assert_eq!(options, AvgPool2dOptions::default().with_padding(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub struct AvgPoolOptions<const N: usize> {
    /// Steps between windows; the size of the window if none are given.
    pub stride: Option<[usize; N]>,
    /// Zeros around the input; at most half a window.
    pub padding: [usize; N],
    /// Is a last window that reaches past the end kept?
    pub ceil_mode: bool,
    /// Do the zeros count as elements of the mean?
    pub count_include_pad: bool,
    /// What sums are divided by, instead of the number of elements.
    pub divisor_override: Option<usize>,
}

/// Options of [`Tensor::max_pool1d`].
pub type MaxPool1dOptions = MaxPoolOptions<1>;
/// Options of [`Tensor::max_pool2d`].
pub type MaxPool2dOptions = MaxPoolOptions<2>;
/// Options of [`Tensor::max_pool3d`].
pub type MaxPool3dOptions = MaxPoolOptions<3>;
/// Options of [`Tensor::avg_pool1d`].
pub type AvgPool1dOptions = AvgPoolOptions<1>;
/// Options of [`Tensor::avg_pool2d`].
pub type AvgPool2dOptions = AvgPoolOptions<2>;
/// Options of [`Tensor::avg_pool3d`].
pub type AvgPool3dOptions = AvgPoolOptions<3>;

impl<const N: usize> Default for MaxPoolOptions<N> {
    /// Windows side by side, no padding, dilation 1, no last partial window.
    fn default() -> Self {
        MaxPoolOptions { stride: None, padding: [0; N], dilation: [1; N], ceil_mode: false }
    }
}

impl<const N: usize> MaxPoolOptions<N> {
    /// With steps between windows.
    pub fn with_stride(self, stride: impl Into<Spatial<N>>) -> Self {
        MaxPoolOptions { stride: Some(stride.into().0), ..self }
    }

    /// With places around the input that have no element.
    pub fn with_padding(self, padding: impl Into<Spatial<N>>) -> Self {
        MaxPoolOptions { padding: padding.into().0, ..self }
    }

    /// With steps between the elements of a window.
    pub fn with_dilation(self, dilation: impl Into<Spatial<N>>) -> Self {
        MaxPoolOptions { dilation: dilation.into().0, ..self }
    }

    /// With or without a last window that reaches past the end.
    pub fn with_ceil_mode(self, ceil_mode: bool) -> Self {
        MaxPoolOptions { ceil_mode, ..self }
    }
}

impl<const N: usize> Default for AvgPoolOptions<N> {
    /// Windows side by side, no padding, no last partial window.
    fn default() -> Self {
        AvgPoolOptions {
            stride: None,
            padding: [0; N],
            ceil_mode: false,
            count_include_pad: true,
            divisor_override: None,
        }
    }
}

impl<const N: usize> AvgPoolOptions<N> {
    /// With steps between windows.
    pub fn with_stride(self, stride: impl Into<Spatial<N>>) -> Self {
        AvgPoolOptions { stride: Some(stride.into().0), ..self }
    }

    /// With zeros around the input.
    pub fn with_padding(self, padding: impl Into<Spatial<N>>) -> Self {
        AvgPoolOptions { padding: padding.into().0, ..self }
    }

    /// With or without a last window that reaches past the end.
    pub fn with_ceil_mode(self, ceil_mode: bool) -> Self {
        AvgPoolOptions { ceil_mode, ..self }
    }

    /// With or without the zeros as elements of the mean.
    pub fn with_count_include_pad(self, count_include_pad: bool) -> Self {
        AvgPoolOptions { count_include_pad, ..self }
    }

    /// With a number that sums are divided by.
    pub fn with_divisor_override(self, divisor: usize) -> Self {
        AvgPoolOptions { divisor_override: Some(divisor), ..self }
    }
}

/// Sliding windows over N dimensions.
struct Sliding<const N: usize> {
    kernel: [usize; N],
    stride: [usize; N],
    padding: [usize; N],
    dilation: [usize; N],
    ceil_mode: bool,
}

impl<const N: usize> Sliding<N> {
    /// How many windows there are along each dimension of the input.
    fn count(&self, op: &'static str, x: &Tensor) -> Result<[usize; N]> {
        let Sliding { kernel, stride, padding, dilation, ceil_mode } = self;
        if kernel.contains(&0) || stride.contains(&0) || dilation.contains(&0) {
            let message =
                format!("window {kernel:?}, stride {stride:?} and dilation {dilation:?} must be positive");
            return Err(Error::argument(op, message));
        }
        if (0..N).any(|d| padding[d] > kernel[d] / 2) {
            let message = format!("padding {padding:?} is more than half of window {kernel:?}");
            return Err(Error::argument(op, message));
        }
        let input = spatial::<N>(op, x)?;
        let mut windows = [0; N];
        for d in 0..N {
            let padded = extent(&[input[d], padding[d], padding[d]]).filter(|_| input[d] > 0);
            // In ceil mode a window may go beyond what there is, by less than a stride.
            let rounded = if *ceil_mode { stride[d] - 1 } else { 0 };
            let beyond = |(all, own): (usize, usize)| all.saturating_add(rounded).checked_sub(own);
            let Some(left) = padded.zip(window(kernel[d], dilation[d])).and_then(beyond) else {
                let message = format!(
                    "windows {kernel:?} with dilation {dilation:?} and padding {padding:?} do not fit input {}",
                    x.shape()
                );
                return Err(Error::shape(op, message));
            };
            windows[d] = left / stride[d] + 1;
            // The last window starts inside the input or the padding before it.
            if *ceil_mode && (windows[d] - 1) * stride[d] >= input[d] + padding[d] {
                windows[d] -= 1;
            }
        }
        Ok(windows)
    }

    /// The windows, `count` along each dimension.
    fn windows(&self, count: &[usize; N]) -> [Window; N] {
        let (stride, dilation) = (steps(self.stride, count), steps(self.dilation, &self.kernel));
        std::array::from_fn(|d| Window::Sliding {
            kernel: self.kernel[d],
            stride: stride[d],
            padding: self.padding[d],
            dilation: dilation[d],
        })
    }
}

/// The sizes of the last N dimensions of (N, C, …) or (C, …), in a float dtype.
fn spatial<const N: usize>(op: &'static str, x: &Tensor) -> Result<[usize; N]> {
    if !x.dtype().is_float() {
        return Err(Error::dtype_not_accepted(op, x.dtype(), "a float dtype"));
    }
    if x.rank() != N + 1 && x.rank() != N + 2 {
        let message = format!("input {} must have {} or {} dimensions", x.shape(), N + 2, N + 1);
        return Err(Error::shape(op, message));
    }
    Ok(std::array::from_fn(|d| x.shape()[x.rank() - N + d]))
}

fn pool<const N: usize>(kind: PoolKind, windows: [Window; N], input: [usize; N], output: [usize; N]) -> Pool {
    let formal = 3 - N;
    Pool {
        kind,
        windows: std::array::from_fn(|d| if d < formal { Window::FORMAL } else { windows[d - formal] }),
        input: to_three(input, 1),
        output: to_three(output, 1),
        rank: N,
    }
}

/// The windows that give `output` results for `input` elements along a dimension: sliding ones where all are alike.
fn adaptive(input: usize, output: usize) -> Window {
    if output == 0 || !input.is_multiple_of(output) {
        return Window::Adaptive;
    }
    Window::Sliding { kernel: input / output, stride: input / output, padding: 0, dilation: 1 }
}

/// Checks the input of adaptive pooling, and makes its windows.
fn adaptive_pool<const N: usize>(
    op: &'static str,
    x: &Tensor,
    kind: PoolKind,
    output: [usize; N],
) -> Result<Pool> {
    let input = spatial::<N>(op, x)?;
    if input.contains(&0) {
        return Err(Error::shape(op, format!("input {} has windows without elements", x.shape())));
    }
    Ok(pool(kind, std::array::from_fn(|d| adaptive(input[d], output[d])), input, output))
}

impl Tensor {
    #[track_caller]
    pub(crate) fn max_pooled<const N: usize>(
        &self,
        op: &'static str,
        kernel: Spatial<N>,
        options: &MaxPoolOptions<N>,
    ) -> Result<(Tensor, Tensor)> {
        let MaxPoolOptions { stride, padding, dilation, ceil_mode } = *options;
        let stride = stride.unwrap_or(kernel.0);
        let sliding = Sliding { kernel: kernel.0, stride, padding, dilation, ceil_mode };
        let windows = sliding.count(op, self)?;
        let pool = pool(PoolKind::Max, sliding.windows(&windows), spatial(op, self)?, windows);
        if dilation != [1; N] && pool.has_empty_window() {
            let message = format!("input {} has windows without elements: {options:?}", self.shape());
            return Err(Error::shape(op, message));
        }
        pool.max(self)
    }

    #[track_caller]
    pub(crate) fn avg_pooled<const N: usize>(
        &self,
        op: &'static str,
        kernel: Spatial<N>,
        options: &AvgPoolOptions<N>,
    ) -> Result<Tensor> {
        let AvgPoolOptions { stride, padding, ceil_mode, count_include_pad, divisor_override } = *options;
        let stride = stride.unwrap_or(kernel.0);
        let sliding = Sliding { kernel: kernel.0, stride, padding, dilation: [1; N], ceil_mode };
        let windows = sliding.count(op, self)?;
        let divisor = match divisor_override {
            Some(0) => return Err(Error::argument(op, "divisor_override must be positive")),
            Some(divisor) => Divisor::Given(divisor),
            None if count_include_pad => Divisor::WithPadding,
            None => Divisor::Present,
        };
        let kind = PoolKind::Mean(divisor);
        let pool = pool(kind, sliding.windows(&windows), spatial(op, self)?, windows);
        pool.apply(kind, std::slice::from_ref(self))
    }

    #[track_caller]
    pub(crate) fn adaptive_avg_pooled<const N: usize>(
        &self,
        op: &'static str,
        output: Spatial<N>,
    ) -> Result<Tensor> {
        let kind = PoolKind::Mean(Divisor::Present);
        let pool = adaptive_pool(op, self, kind, output.0)?;
        if output.0 == [1; N] {
            let dims: [isize; N] = std::array::from_fn(|d| -(N as isize) + d as isize);
            return self.try_mean_keepdim(Dims::from(dims));
        }
        pool.apply(kind, std::slice::from_ref(self))
    }

    #[track_caller]
    pub(crate) fn adaptive_max_pooled<const N: usize>(
        &self,
        op: &'static str,
        output: Spatial<N>,
    ) -> Result<(Tensor, Tensor)> {
        let pool = adaptive_pool(op, self, PoolKind::Max, output.0)?;
        if output.0 == [1; N] && self.numel() > 0 {
            let channels = &self.shape()[..self.rank() - N];
            let flat: Vec<usize> = channels.iter().copied().chain([product(pool.input)]).collect();
            let (values, places) = self.try_reshape(&flat)?.try_max_dim(-1)?;
            let ones: Vec<usize> = channels.iter().copied().chain([1; N]).collect();
            return Ok((values.try_reshape(&ones)?, places.try_reshape(&ones)?));
        }
        pool.max(self)
    }

    twins! {
        /// The largest element of every window of (N, C, L) or (C, L). The gradient goes to that element, the first of
        /// equal ones.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0, 2.0, 5.0, 4.0]], &Device::cpu());
        /// assert_eq!(x.max_pool1d(2, &Default::default()).to_string(), "tensor([[3., 5.]])");
        /// ```
        max_pool1d / try_max_pool1d(&self, kernel: impl Into<Spatial<1>>, options: &MaxPoolOptions<1>) -> Tensor {
            Ok(self.max_pooled("max_pool1d", kernel.into(), options)?.0)
        }

        /// [`max_pool1d`](Tensor::max_pool1d), and the position of every maximum in its row (I32).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0, 2.0, 5.0]], &Device::cpu());
        /// let (_, indices) = x.max_pool1d_with_indices(2, &Default::default());
        /// assert_eq!(indices.to_string(), "tensor([[1, 3]], dtype=i32)");
        /// ```
        max_pool1d_with_indices / try_max_pool1d_with_indices(&self, kernel: impl Into<Spatial<1>>, options: &MaxPoolOptions<1>) -> (Tensor, Tensor) {
            self.max_pooled("max_pool1d", kernel.into(), options)
        }

        /// The largest element of every window of (N, C, H, W) or (C, H, W):
        /// H′ = ⌊(H + 2 · padding − dilation · (kernel − 1) − 1) / stride⌋ + 1, or ⌈…⌉ + 1 in ceil mode.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[[1.0, 2.0], [3.0, 4.0]]], &Device::cpu());
        /// assert_eq!(x.max_pool2d(2, &Default::default()).to_string(), "tensor([[[4.]]])");
        /// ```
        max_pool2d / try_max_pool2d(&self, kernel: impl Into<Spatial<2>>, options: &MaxPoolOptions<2>) -> Tensor {
            Ok(self.max_pooled("max_pool2d", kernel.into(), options)?.0)
        }

        /// [`max_pool2d`](Tensor::max_pool2d), and the position of every maximum in its channel, row · W + column (I32).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[[1.0, 2.0], [3.0, 4.0]]], &Device::cpu());
        /// let (_, indices) = x.max_pool2d_with_indices(2, &Default::default());
        /// assert_eq!(indices.to_string(), "tensor([[[3]]], dtype=i32)");
        /// ```
        max_pool2d_with_indices / try_max_pool2d_with_indices(&self, kernel: impl Into<Spatial<2>>, options: &MaxPoolOptions<2>) -> (Tensor, Tensor) {
            self.max_pooled("max_pool2d", kernel.into(), options)
        }

        /// The largest element of every window of (N, C, D, H, W) or (C, D, H, W).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1, 4, 6, 6, 6], &Device::cpu());
        /// assert_eq!(x.max_pool3d(2, &Default::default()).shape().dims(), [1, 4, 3, 3, 3]);
        /// ```
        max_pool3d / try_max_pool3d(&self, kernel: impl Into<Spatial<3>>, options: &MaxPoolOptions<3>) -> Tensor {
            Ok(self.max_pooled("max_pool3d", kernel.into(), options)?.0)
        }

        /// [`max_pool3d`](Tensor::max_pool3d), and the position of every maximum in its channel (I32).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1, 2, 2, 2], &Device::cpu());
        /// let (_, indices) = x.max_pool3d_with_indices(2, &Default::default());
        /// assert_eq!(indices.shape().dims(), [1, 1, 1, 1]);
        /// ```
        max_pool3d_with_indices / try_max_pool3d_with_indices(&self, kernel: impl Into<Spatial<3>>, options: &MaxPoolOptions<3>) -> (Tensor, Tensor) {
            self.max_pooled("max_pool3d", kernel.into(), options)
        }

        /// The mean of every window of (N, C, L) or (C, L).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0, 2.0, 5.0]], &Device::cpu());
        /// assert_eq!(x.avg_pool1d(2, &Default::default()).to_string(), "tensor([[2.0000, 3.5000]])");
        /// ```
        avg_pool1d / try_avg_pool1d(&self, kernel: impl Into<Spatial<1>>, options: &AvgPoolOptions<1>) -> Tensor {
            self.avg_pooled("avg_pool1d", kernel.into(), options)
        }

        /// The mean of every window of (N, C, H, W) or (C, H, W); zeros around the input count as elements unless the
        /// options say otherwise.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[[1.0, 2.0], [3.0, 4.0]]], &Device::cpu());
        /// assert_eq!(x.avg_pool2d(2, &Default::default()).to_string(), "tensor([[[2.5000]]])");
        /// ```
        avg_pool2d / try_avg_pool2d(&self, kernel: impl Into<Spatial<2>>, options: &AvgPoolOptions<2>) -> Tensor {
            self.avg_pooled("avg_pool2d", kernel.into(), options)
        }

        /// The mean of every window of (N, C, D, H, W) or (C, D, H, W).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1, 4, 6, 6, 6], &Device::cpu());
        /// assert_eq!(x.avg_pool3d(3, &Default::default()).shape().dims(), [1, 4, 2, 2, 2]);
        /// ```
        avg_pool3d / try_avg_pool3d(&self, kernel: impl Into<Spatial<3>>, options: &AvgPoolOptions<3>) -> Tensor {
            self.avg_pooled("avg_pool3d", kernel.into(), options)
        }

        /// The means of as many windows as asked for, over (N, C, L) or (C, L): window i goes from ⌊i · L / output⌋ to
        /// before ⌈(i + 1) · L / output⌉.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0, 3.0]], &Device::cpu());
        /// assert_eq!(x.adaptive_avg_pool1d(2).to_string(), "tensor([[1.5000, 2.5000]])");
        /// ```
        adaptive_avg_pool1d / try_adaptive_avg_pool1d(&self, output: impl Into<Spatial<1>>) -> Tensor {
            self.adaptive_avg_pooled("adaptive_avg_pool1d", output.into())
        }

        /// The means of as many windows as asked for, over (N, C, H, W) or (C, H, W).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([2, 8, 7, 5], &Device::cpu());
        /// assert_eq!(x.adaptive_avg_pool2d([3, 2]).shape().dims(), [2, 8, 3, 2]);
        /// ```
        adaptive_avg_pool2d / try_adaptive_avg_pool2d(&self, output: impl Into<Spatial<2>>) -> Tensor {
            self.adaptive_avg_pooled("adaptive_avg_pool2d", output.into())
        }

        /// The largest elements of as many windows as asked for, over (N, C, L) or (C, L), and their positions (I32);
        /// windows as for [`adaptive_avg_pool1d`](Tensor::adaptive_avg_pool1d).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0, 2.0]], &Device::cpu());
        /// let (values, indices) = x.adaptive_max_pool1d_with_indices(2);
        /// assert_eq!(values.to_string(), "tensor([[3., 3.]])");
        /// assert_eq!(indices.to_string(), "tensor([[1, 1]], dtype=i32)");
        /// ```
        adaptive_max_pool1d_with_indices / try_adaptive_max_pool1d_with_indices(&self, output: impl Into<Spatial<1>>) -> (Tensor, Tensor) {
            self.adaptive_max_pooled("adaptive_max_pool1d", output.into())
        }

        /// The values of [`adaptive_max_pool1d_with_indices`](Tensor::adaptive_max_pool1d_with_indices).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 3.0, 2.0]], &Device::cpu());
        /// assert_eq!(x.adaptive_max_pool1d(1).to_string(), "tensor([[3.]])");
        /// ```
        adaptive_max_pool1d / try_adaptive_max_pool1d(&self, output: impl Into<Spatial<1>>) -> Tensor {
            Ok(self.adaptive_max_pooled("adaptive_max_pool1d", output.into())?.0)
        }

        /// The largest elements of as many windows as asked for, over (N, C, H, W) or (C, H, W), and their positions in
        /// the channel (I32).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([2, 8, 7, 5], &Device::cpu());
        /// assert_eq!(x.adaptive_max_pool2d_with_indices(2).1.shape().dims(), [2, 8, 2, 2]);
        /// ```
        adaptive_max_pool2d_with_indices / try_adaptive_max_pool2d_with_indices(&self, output: impl Into<Spatial<2>>) -> (Tensor, Tensor) {
            self.adaptive_max_pooled("adaptive_max_pool2d", output.into())
        }

        /// The values of [`adaptive_max_pool2d_with_indices`](Tensor::adaptive_max_pool2d_with_indices).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([2, 8, 7, 5], &Device::cpu());
        /// assert_eq!(x.adaptive_max_pool2d([3, 2]).shape().dims(), [2, 8, 3, 2]);
        /// ```
        adaptive_max_pool2d / try_adaptive_max_pool2d(&self, output: impl Into<Spatial<2>>) -> Tensor {
            Ok(self.adaptive_max_pooled("adaptive_max_pool2d", output.into())?.0)
        }
    }
}
