//! Pooling beyond maxima and means: power averages, windows at random places, and undoing maxima.

use super::text::{flag, one_or_tuple, tuple};
use crate::error::{Error, Result, expect};
use crate::nn::{Forward, Module};
use crate::rng::Generator;
use crate::tensor::{AvgPoolOptions, MaxPoolOptions, Spatial, Tensor};

/// (Σ xᵖ)^(1/p) over the windows of N dimensions: [`LpPool1d`], [`LpPool2d`] or [`LpPool3d`].
#[derive(Module, Debug, Clone, Copy, PartialEq)]
#[module(describe = LpPool::describe, type_name = Self::NAME)]
pub struct LpPool<const N: usize> {
    /// The power.
    pub norm_type: f64,
    /// The sizes of the window.
    #[module(skip)]
    pub kernel: [usize; N],
    /// The distance between windows; the window's size where absent.
    #[module(skip)]
    pub stride: Option<[usize; N]>,
    /// Are windows that reach over the end taken too?
    pub ceil_mode: bool,
}

/// (Σ xᵖ)^(1/p) over the windows of (N, C, L) or (C, L).
///
/// ```
/// use flambeau::{nn::LpPool1d, prelude::*};
/// let x = Tensor::new([[3.0, 4.0, 6.0, 8.0]], &Device::cpu());
/// assert_eq!(LpPool1d::new(2.0, 2).forward(&x).to_string(), "tensor([[ 5., 10.]])");
/// ```
pub type LpPool1d = LpPool<1>;

/// (Σ xᵖ)^(1/p) over the windows of (N, C, H, W) or (C, H, W).
///
/// ```
/// use flambeau::{nn::LpPool2d, prelude::*};
/// let x = Tensor::ones([1, 2, 2], &Device::cpu());
/// assert_eq!(LpPool2d::new(2.0, 2).forward(&x).to_string(), "tensor([[[2.]]])");
/// ```
pub type LpPool2d = LpPool<2>;

/// (Σ xᵖ)^(1/p) over the windows of (N, C, D, H, W) or (C, D, H, W).
///
/// ```
/// use flambeau::{nn::LpPool3d, prelude::*};
/// let x = Tensor::ones([1, 2, 2, 2], &Device::cpu());
/// assert_eq!(LpPool3d::new(1.0, 2).forward(&x).to_string(), "tensor([[[[8.]]]])");
/// ```
pub type LpPool3d = LpPool<3>;

impl<const N: usize> LpPool<N> {
    const NAME: &'static str = ["LPPool1d", "LPPool2d", "LPPool3d"][N - 1];

    /// Windows side by side.
    pub fn new(norm_type: f64, kernel: impl Into<Spatial<N>>) -> Self {
        LpPool { norm_type, kernel: kernel.into().0, stride: None, ceil_mode: false }
    }

    /// With this distance between windows.
    #[must_use]
    pub fn with_stride(self, stride: impl Into<Spatial<N>>) -> Self {
        LpPool { stride: Some(stride.into().0), ..self }
    }

    /// Windows that reach over the end are taken too.
    #[must_use]
    pub fn with_ceil_mode(self) -> Self {
        LpPool { ceil_mode: true, ..self }
    }

    fn describe(&self) -> String {
        let stride = self.stride.map_or_else(|| "None".into(), |stride| one_or_tuple(&stride));
        let (kernel, ceil) = (one_or_tuple(&self.kernel), flag(self.ceil_mode));
        format!("norm_type={}, kernel_size={kernel}, stride={stride}, ceil_mode={ceil}", self.norm_type)
    }
}

impl<const N: usize> Forward for LpPool<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        let options =
            AvgPoolOptions { stride: self.stride, ceil_mode: self.ceil_mode, ..AvgPoolOptions::default() };
        input.lp_pooled(Self::NAME, self.norm_type, Spatial(self.kernel), &options)
    }
}

/// Undoes max pooling: puts maxima back where they were found, among zeros. [`MaxUnpool1d`], [`MaxUnpool2d`] or [`MaxUnpool3d`].
#[derive(Module, Debug, Clone, Copy, PartialEq, Eq)]
#[module(describe = MaxUnpool::describe, type_name = Self::NAME)]
pub struct MaxUnpool<const N: usize> {
    /// The sizes of the pooling's window.
    #[module(skip)]
    pub kernel: [usize; N],
    /// The pooling's stride.
    #[module(skip)]
    pub stride: [usize; N],
    /// The pooling's padding.
    #[module(skip)]
    pub padding: [usize; N],
}

/// Undoes [`MaxPool1d`](super::MaxPool1d).
///
/// ```
/// use flambeau::{nn::{MaxPool1d, MaxUnpool1d}, prelude::*};
/// let x = Tensor::new([[1.0, 3.0, 2.0, 5.0]], &Device::cpu());
/// let (largest, indices) = MaxPool1d::new(2).forward_with_indices(&x);
/// assert_eq!(MaxUnpool1d::new(2).forward(&largest, &indices).to_string(), "tensor([[0., 3., 0., 5.]])");
/// ```
pub type MaxUnpool1d = MaxUnpool<1>;

/// Undoes [`MaxPool2d`](super::MaxPool2d).
///
/// ```
/// use flambeau::{nn::{MaxPool2d, MaxUnpool2d}, prelude::*};
/// let x = Tensor::ones([1, 4, 4], &Device::cpu());
/// let (largest, indices) = MaxPool2d::new(2).forward_with_indices(&x);
/// assert_eq!(MaxUnpool2d::new(2).forward(&largest, &indices).sum(..).to_string(), "tensor(4.)");
/// ```
pub type MaxUnpool2d = MaxUnpool<2>;

/// Undoes [`MaxPool3d`](super::MaxPool3d).
///
/// ```
/// use flambeau::{nn::{MaxPool3d, MaxUnpool3d}, prelude::*};
/// let x = Tensor::ones([1, 2, 2, 2], &Device::cpu());
/// let (largest, indices) = MaxPool3d::new(2).forward_with_indices(&x);
/// assert_eq!(MaxUnpool3d::new(2).forward(&largest, &indices).shape(), x.shape());
/// ```
pub type MaxUnpool3d = MaxUnpool<3>;

impl<const N: usize> MaxUnpool<N> {
    const NAME: &'static str = ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"][N - 1];

    /// For windows side by side.
    pub fn new(kernel: impl Into<Spatial<N>>) -> Self {
        let kernel = kernel.into().0;
        MaxUnpool { kernel, stride: kernel, padding: [0; N] }
    }

    /// For the pooling with these options; dilation has no part in it.
    pub fn with_options(kernel: impl Into<Spatial<N>>, options: &MaxPoolOptions<N>) -> Self {
        let kernel = kernel.into().0;
        MaxUnpool { kernel, stride: options.stride.unwrap_or(kernel), padding: options.padding }
    }

    /// The values at their places: as large as the smallest input that the pooling may have had.
    #[track_caller]
    pub fn forward(&self, input: &Tensor, indices: &Tensor) -> Tensor {
        expect(self.try_forward(input, indices))
    }

    /// [`forward`](Self::forward), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward(&self, input: &Tensor, indices: &Tensor) -> Result<Tensor> {
        let whole = self.smallest(input)?;
        input.max_unpooled(Self::NAME, indices, whole)
    }

    /// The values at their places in an output of this size, which is less than a stride from [`forward`](Self::forward)'s.
    #[track_caller]
    pub fn forward_to(&self, input: &Tensor, indices: &Tensor, output: impl Into<Spatial<N>>) -> Tensor {
        expect(self.try_forward_to(input, indices, output))
    }

    /// [`forward_to`](Self::forward_to), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_to(
        &self,
        input: &Tensor,
        indices: &Tensor,
        output: impl Into<Spatial<N>>,
    ) -> Result<Tensor> {
        let (whole, wanted) = (self.smallest(input)?, output.into().0);
        if (0..N).any(|d| wanted[d].abs_diff(whole[d]) >= self.stride[d]) {
            let message = format!("an output of {wanted:?} is a stride or more from {whole:?}");
            return Err(Error::shape(Self::NAME, message));
        }
        input.max_unpooled(Self::NAME, indices, wanted)
    }

    fn smallest(&self, input: &Tensor) -> Result<[usize; N]> {
        let sizes = input.shape().dims();
        let mut whole = [0; N];
        for (d, whole) in whole.iter_mut().enumerate() {
            let windows = sizes.len().checked_sub(N - d).and_then(|at| sizes[at].checked_sub(1));
            let size = windows.and_then(|steps| {
                steps
                    .checked_mul(self.stride[d])?
                    .checked_add(self.kernel[d])?
                    .checked_sub(2 * self.padding[d])
            });
            *whole = size.ok_or_else(|| {
                Error::shape(Self::NAME, format!("{} is not the result of {self:?}", input.shape()))
            })?;
        }
        Ok(whole)
    }

    fn describe(&self) -> String {
        let [kernel, stride, padding] = [&self.kernel, &self.stride, &self.padding].map(|sizes| tuple(sizes));
        format!("kernel_size={kernel}, stride={stride}, padding={padding}")
    }
}

/// How many windows fractional pooling takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FractionalOutput<const N: usize> {
    /// As many along each dimension.
    Sizes([usize; N]),
    /// This share of the input's sizes, each between 0 and 1.
    Ratios([f64; N]),
}

/// The largest elements of windows that lie at random, which makes an input smaller by any ratio: [`FractionalMaxPool2d`] or
/// [`FractionalMaxPool3d`].
#[derive(Module, Debug, Clone, Copy, PartialEq)]
#[module(type_name = Self::NAME)]
pub struct FractionalMaxPool<const N: usize> {
    /// The sizes of the window.
    #[module(skip)]
    pub kernel: [usize; N],
    /// How many there are.
    #[module(skip)]
    pub output: FractionalOutput<N>,
}

/// Fractional max pooling of images (N, C, H, W) or (C, H, W).
///
/// ```
/// use flambeau::{nn::{FractionalMaxPool2d, FractionalOutput}, prelude::*};
/// let x = Tensor::ones([1, 5, 5], &Device::cpu());
/// let half = FractionalMaxPool2d::new(2, FractionalOutput::Ratios([0.5, 0.5]));
/// assert_eq!(half.forward(&x).shape().dims(), [1, 2, 2]);
/// ```
pub type FractionalMaxPool2d = FractionalMaxPool<2>;

/// Fractional max pooling of volumes (N, C, D, H, W) or (C, D, H, W).
///
/// ```
/// use flambeau::{nn::{FractionalMaxPool3d, FractionalOutput}, prelude::*};
/// let x = Tensor::ones([1, 5, 5, 5], &Device::cpu());
/// let pool = FractionalMaxPool3d::new(2, FractionalOutput::Sizes([2, 3, 4]));
/// assert_eq!(pool.forward(&x).shape().dims(), [1, 2, 3, 4]);
/// ```
pub type FractionalMaxPool3d = FractionalMaxPool<3>;

impl<const N: usize> FractionalMaxPool<N> {
    const NAME: &'static str = ["", "FractionalMaxPool2d", "FractionalMaxPool3d"][N - 1];

    /// Windows of this size, this many.
    pub fn new(kernel: impl Into<Spatial<N>>, output: FractionalOutput<N>) -> Self {
        FractionalMaxPool { kernel: kernel.into().0, output }
    }

    /// The maxima, and their positions in their channel (I32).
    #[track_caller]
    pub fn forward_with_indices(&self, input: &Tensor) -> (Tensor, Tensor) {
        expect(self.try_forward_with_indices(input))
    }

    /// [`forward_with_indices`](Self::forward_with_indices), or the error instead of a panic.
    #[track_caller]
    pub fn try_forward_with_indices(&self, input: &Tensor) -> Result<(Tensor, Tensor)> {
        let channels = crate::shape::product(&input.shape()[..input.rank().saturating_sub(N)]);
        let generator = Generator::default_generator();
        let samples = Tensor::try_rand([channels, N], &generator, (input.dtype(), input.device()))?;
        self.try_forward_with_samples(input, &samples)
    }

    /// With windows as samples (N, C, dimensions) between 0 and 1 say.
    #[track_caller]
    pub fn try_forward_with_samples(&self, input: &Tensor, samples: &Tensor) -> Result<(Tensor, Tensor)> {
        let sizes = input.shape().dims();
        let size = |d: usize| (sizes.len() + d).checked_sub(N).map_or(0, |at| sizes[at]);
        let output = match self.output {
            FractionalOutput::Sizes(sizes) => sizes,
            FractionalOutput::Ratios(ratios) => {
                std::array::from_fn(|d| (size(d) as f64 * ratios[d]) as usize)
            }
        };
        input.fractionally_pooled(Self::NAME, self.kernel, output, samples)
    }
}

impl<const N: usize> Forward for FractionalMaxPool<N> {
    #[track_caller]
    fn try_forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(self.try_forward_with_indices(input)?.0)
    }
}
