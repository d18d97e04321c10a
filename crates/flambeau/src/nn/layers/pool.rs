//! Pooling over one, two or three dimensions: maxima and means of windows.

use super::text::{flag, one_or_tuple, tuple};
use crate::error::{Result, expect};
use crate::nn::{Forward, Module};
use crate::tensor::{AvgPoolOptions, MaxPoolOptions, Spatial, Tensor};

/// The largest element of every window over N dimensions: [`MaxPool1d`], [`MaxPool2d`] or [`MaxPool3d`].
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
#[module(describe = MaxPool::describe, type_name = Self::NAME)]
pub struct MaxPool<const N: usize> {
    /// The sizes of the window.
    #[module(skip)]
    pub kernel: [usize; N],
    /// Stride, padding, dilation, rounding.
    #[module(skip)]
    pub options: MaxPoolOptions<N>,
}

/// The largest element of every window of (N, C, L) or (C, L); see [`Tensor::max_pool1d`].
///
/// ```
/// use flambeau::{nn::MaxPool1d, prelude::*};
/// let x = Tensor::new([[1.0, 3.0, 2.0, 5.0]], &Device::cpu());
/// assert_eq!(MaxPool1d::new(2).forward(&x).to_string(), "tensor([[3., 5.]])");
/// ```
pub type MaxPool1d = MaxPool<1>;

/// The largest element of every window of (N, C, H, W) or (C, H, W); see [`Tensor::max_pool2d`].
///
/// ```
/// use flambeau::{nn::MaxPool2d, prelude::*};
/// let x = Tensor::ones([1, 4, 8, 8], &Device::cpu());
/// assert_eq!(MaxPool2d::new(2).forward(&x).shape().dims(), [1, 4, 4, 4]);
/// let overlapping = MaxPool2d::with_options(3, MaxPool2dOptions::default().with_stride(2).with_padding(1));
/// assert_eq!(overlapping.forward(&x).shape().dims(), [1, 4, 4, 4]);
/// ```
pub type MaxPool2d = MaxPool<2>;

/// The largest element of every window of (N, C, D, H, W) or (C, D, H, W); see [`Tensor::max_pool3d`].
///
/// ```
/// use flambeau::{nn::MaxPool3d, prelude::*};
/// let x = Tensor::ones([1, 4, 4, 4], &Device::cpu());
/// assert_eq!(MaxPool3d::new([1, 2, 2]).forward(&x).shape().dims(), [1, 4, 2, 2]);
/// ```
pub type MaxPool3d = MaxPool<3>;

impl<const N: usize> MaxPool<N> {
    const NAME: &'static str = ["MaxPool1d", "MaxPool2d", "MaxPool3d"][N - 1];

    /// Windows side by side.
    pub fn new(kernel: impl Into<Spatial<N>>) -> Self {
        MaxPool::with_options(kernel, MaxPoolOptions::default())
    }

    /// With all settings.
    pub fn with_options(kernel: impl Into<Spatial<N>>, options: MaxPoolOptions<N>) -> Self {
        MaxPool { kernel: kernel.into().0, options }
    }

    /// The maxima, and their positions in their channel (I32).
    ///
    /// ```
    /// use flambeau::{nn::MaxPool1d, prelude::*};
    /// let x = Tensor::new([[1.0, 3.0, 2.0, 5.0]], &Device::cpu());
    /// let (_, indices) = MaxPool1d::new(2).forward_with_indices(&x);
    /// assert_eq!(indices.to_string(), "tensor([[1, 3]], dtype=i32)");
    /// ```
    #[track_caller]
    pub fn forward_with_indices(&self, input: &Tensor) -> (Tensor, Tensor) {
        expect(self.try_forward_with_indices(input))
    }

    /// [`forward_with_indices`](MaxPool::forward_with_indices), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_with_indices(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
        input.max_pooled(Self::NAME, Spatial(self.kernel), &self.options)
    }

    fn describe(&self) -> String {
        let MaxPoolOptions { stride, padding, dilation, ceil_mode } = &self.options;
        format!(
            "kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
            one_or_tuple(&self.kernel),
            one_or_tuple(&stride.unwrap_or(self.kernel)),
            one_or_tuple(padding),
            one_or_tuple(dilation),
            flag(*ceil_mode)
        )
    }
}

impl<const N: usize> Forward for MaxPool<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(self.try_forward_with_indices(input)?.0)
    }
}

/// The mean of every window over N dimensions: [`AvgPool1d`], [`AvgPool2d`] or [`AvgPool3d`].
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
#[module(describe = AvgPool::describe, type_name = Self::NAME)]
pub struct AvgPool<const N: usize> {
    /// The sizes of the window.
    #[module(skip)]
    pub kernel: [usize; N],
    /// Stride, padding, rounding, and what is divided by.
    #[module(skip)]
    pub options: AvgPoolOptions<N>,
}

/// The mean of every window of (N, C, L) or (C, L); see [`Tensor::avg_pool1d`].
///
/// ```
/// use flambeau::{nn::AvgPool1d, prelude::*};
/// let x = Tensor::new([[1.0, 3.0, 2.0, 6.0]], &Device::cpu());
/// assert_eq!(AvgPool1d::new(2).forward(&x).to_string(), "tensor([[2., 4.]])");
/// ```
pub type AvgPool1d = AvgPool<1>;

/// The mean of every window of (N, C, H, W) or (C, H, W); see [`Tensor::avg_pool2d`].
///
/// ```
/// use flambeau::{nn::AvgPool2d, prelude::*};
/// let x = Tensor::ones([1, 4, 8, 8], &Device::cpu());
/// assert_eq!(AvgPool2d::new(2).forward(&x).shape().dims(), [1, 4, 4, 4]);
/// ```
pub type AvgPool2d = AvgPool<2>;

/// The mean of every window of (N, C, D, H, W) or (C, D, H, W); see [`Tensor::avg_pool3d`].
///
/// ```
/// use flambeau::{nn::AvgPool3d, prelude::*};
/// let x = Tensor::ones([1, 4, 4, 4], &Device::cpu());
/// assert_eq!(AvgPool3d::new(2).forward(&x).shape().dims(), [1, 2, 2, 2]);
/// ```
pub type AvgPool3d = AvgPool<3>;

impl<const N: usize> AvgPool<N> {
    const NAME: &'static str = ["AvgPool1d", "AvgPool2d", "AvgPool3d"][N - 1];

    /// Windows side by side.
    pub fn new(kernel: impl Into<Spatial<N>>) -> Self {
        AvgPool::with_options(kernel, AvgPoolOptions::default())
    }

    /// With all settings.
    pub fn with_options(kernel: impl Into<Spatial<N>>, options: AvgPoolOptions<N>) -> Self {
        AvgPool { kernel: kernel.into().0, options }
    }

    fn describe(&self) -> String {
        let stride = self.options.stride.unwrap_or(self.kernel);
        let sizes = |sizes: &[usize; N]| if N == 1 { tuple(sizes) } else { one_or_tuple(sizes) };
        let [kernel, stride, padding] = [&self.kernel, &stride, &self.options.padding].map(sizes);
        format!("kernel_size={kernel}, stride={stride}, padding={padding}")
    }
}

impl<const N: usize> Forward for AvgPool<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        input.avg_pooled(Self::NAME, Spatial(self.kernel), &self.options)
    }
}

/// How many results adaptive pooling gives along each dimension; `None` for as many as there are elements.
///
/// ```
/// use flambeau::nn::OutputSizes;
/// assert_eq!(OutputSizes::<2>::from(3), OutputSizes([Some(3), Some(3)]));
/// assert_eq!(OutputSizes::from([3, 5]), OutputSizes([Some(3), Some(5)]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputSizes<const N: usize>(pub [Option<usize>; N]);

impl<const N: usize> From<usize> for OutputSizes<N> {
    fn from(size: usize) -> Self {
        OutputSizes([Some(size); N])
    }
}

impl<const N: usize> From<[usize; N]> for OutputSizes<N> {
    fn from(sizes: [usize; N]) -> Self {
        OutputSizes(sizes.map(Some))
    }
}

impl<const N: usize> From<[Option<usize>; N]> for OutputSizes<N> {
    fn from(sizes: [Option<usize>; N]) -> Self {
        OutputSizes(sizes)
    }
}

impl<const N: usize> OutputSizes<N> {
    /// The sizes for this input; what does not fit it is refused by the pooling.
    fn resolve(&self, input: &Tensor) -> Spatial<N> {
        let given = input.shape().dims();
        let own = |d: usize| (given.len() + d).checked_sub(N).and_then(|at| given.get(at)).copied();
        Spatial(std::array::from_fn(|d| self.0[d].or_else(|| own(d)).unwrap_or(0)))
    }

    fn describe(&self) -> String {
        let names = self.0.map(|size| size.map_or_else(|| "None".into(), |size| size.to_string()));
        format!("output_size={}", one_or_tuple(&names))
    }
}

/// Adaptive pooling: name, PyTorch's names, what it computes.
macro_rules! adaptive_pools {
    ($($(#[$doc:meta])* $name:ident $names:expr, |$op:ident, $input:ident, $sizes:ident| $forward:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
        #[module(describe = $name::describe, type_name = Self::NAME)]
        pub struct $name<const N: usize> {
            /// How many results there are along each dimension.
            #[module(skip)]
            pub output_size: OutputSizes<N>,
        }

        impl<const N: usize> $name<N> {
            const NAME: &'static str = $names[N - 1];

            /// As many results as given along each dimension.
            pub fn new(output_size: impl Into<OutputSizes<N>>) -> Self {
                $name { output_size: output_size.into() }
            }

            fn describe(&self) -> String {
                self.output_size.describe()
            }
        }

        impl<const N: usize> Forward for $name<N> {
            #[track_caller]
            fn try_forward(&self, $input: &Tensor) -> Result<Tensor> {
                let ($op, $sizes) = (Self::NAME, self.output_size.resolve($input));
                $forward
            }
        }
    )*};
}

adaptive_pools! {
    /// The means of as many windows as asked for over N dimensions: [`AdaptiveAvgPool1d`], [`AdaptiveAvgPool2d`] or
    /// [`AdaptiveAvgPool3d`].
    AdaptiveAvgPool ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"],
        |op, input, sizes| input.adaptive_avg_pooled(op, sizes);
    /// The largest elements of as many windows as asked for over N dimensions: [`AdaptiveMaxPool1d`],
    /// [`AdaptiveMaxPool2d`] or [`AdaptiveMaxPool3d`].
    AdaptiveMaxPool ["AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"],
        |op, input, sizes| Ok(input.adaptive_max_pooled(op, sizes)?.0);
}

impl<const N: usize> AdaptiveMaxPool<N> {
    /// The maxima, and their positions in their channel (I32).
    ///
    /// ```
    /// use flambeau::{nn::AdaptiveMaxPool1d, prelude::*};
    /// let x = Tensor::new([[1.0, 3.0, 2.0]], &Device::cpu());
    /// assert_eq!(AdaptiveMaxPool1d::new(1).forward_with_indices(&x).1.to_string(), "tensor([[1]], dtype=i32)");
    /// ```
    #[track_caller]
    pub fn forward_with_indices(&self, input: &Tensor) -> (Tensor, Tensor) {
        expect(self.try_forward_with_indices(input))
    }

    /// [`forward_with_indices`](Self::forward_with_indices), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_with_indices(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
        input.adaptive_max_pooled(Self::NAME, self.output_size.resolve(input))
    }
}

/// The means of as many windows as asked for over (N, C, L) or (C, L).
///
/// ```
/// use flambeau::{nn::AdaptiveAvgPool1d, prelude::*};
/// let x = Tensor::new([[1.0, 2.0, 3.0]], &Device::cpu());
/// assert_eq!(AdaptiveAvgPool1d::new(2).forward(&x).to_string(), "tensor([[1.5000, 2.5000]])");
/// ```
pub type AdaptiveAvgPool1d = AdaptiveAvgPool<1>;

/// The means of as many windows as asked for over (N, C, H, W) or (C, H, W).
///
/// ```
/// use flambeau::{nn::AdaptiveAvgPool2d, prelude::*};
/// let x = Tensor::ones([2, 8, 7, 5], &Device::cpu());
/// assert_eq!(AdaptiveAvgPool2d::new(1).forward(&x).shape().dims(), [2, 8, 1, 1]);
/// assert_eq!(AdaptiveAvgPool2d::new([Some(3), None]).forward(&x).shape().dims(), [2, 8, 3, 5]);
/// ```
pub type AdaptiveAvgPool2d = AdaptiveAvgPool<2>;

/// The means of as many windows as asked for over (N, C, D, H, W) or (C, D, H, W).
///
/// ```
/// use flambeau::{nn::AdaptiveAvgPool3d, prelude::*};
/// let x = Tensor::ones([8, 4, 7, 5], &Device::cpu());
/// assert_eq!(AdaptiveAvgPool3d::new(2).forward(&x).shape().dims(), [8, 2, 2, 2]);
/// ```
pub type AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

/// The largest elements of as many windows as asked for over (N, C, L) or (C, L).
///
/// ```
/// use flambeau::{nn::AdaptiveMaxPool1d, prelude::*};
/// let x = Tensor::new([[1.0, 2.0, 3.0]], &Device::cpu());
/// assert_eq!(AdaptiveMaxPool1d::new(2).forward(&x).to_string(), "tensor([[2., 3.]])");
/// ```
pub type AdaptiveMaxPool1d = AdaptiveMaxPool<1>;

/// The largest elements of as many windows as asked for over (N, C, H, W) or (C, H, W).
///
/// ```
/// use flambeau::{nn::AdaptiveMaxPool2d, prelude::*};
/// let x = Tensor::ones([2, 8, 7, 5], &Device::cpu());
/// assert_eq!(AdaptiveMaxPool2d::new([3, 2]).forward(&x).shape().dims(), [2, 8, 3, 2]);
/// ```
pub type AdaptiveMaxPool2d = AdaptiveMaxPool<2>;

/// The largest elements of as many windows as asked for over (N, C, D, H, W) or (C, D, H, W).
///
/// ```
/// use flambeau::{nn::AdaptiveMaxPool3d, prelude::*};
/// let x = Tensor::ones([8, 4, 7, 5], &Device::cpu());
/// assert_eq!(AdaptiveMaxPool3d::new(2).forward(&x).shape().dims(), [8, 2, 2, 2]);
/// ```
pub type AdaptiveMaxPool3d = AdaptiveMaxPool<3>;
