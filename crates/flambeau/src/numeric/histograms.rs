//! Counting: how often numbers come, and how many lie in each bin.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::{Shape, product};
use crate::tensor::{Tensor, twins};

/// The bins of a histogram: so many of one width, or between these edges (an increasing vector).
#[derive(Debug, Clone)]
pub enum Bins {
    /// So many of one width.
    Count(usize),
    /// Between these edges.
    Edges(Tensor),
}

impl From<usize> for Bins {
    fn from(count: usize) -> Self {
        Bins::Count(count)
    }
}
impl From<&Tensor> for Bins {
    fn from(edges: &Tensor) -> Self {
        Bins::Edges(edges.clone())
    }
}

/// How a histogram counts.
#[derive(Debug, Clone, Default)]
pub struct HistogramOptions {
    /// The first and the last edge of bins that are counted; the smallest and the largest element where there is none.
    pub range: Option<(f64, f64)>,
    /// What each element counts; 1 where there are none.
    pub weights: Option<Tensor>,
    /// Densities, whose integral is 1, instead of counts.
    pub density: bool,
}

impl Tensor {
    /// The weights of a histogram's elements as one long row; without any, ones as I32.
    #[track_caller]
    fn counted(&self, op: &'static str, count: usize, weights: Option<&Tensor>) -> Result<Tensor> {
        match weights {
            None => Tensor::try_full([count], 1, self.device()),
            Some(weights) if weights.numel() == count => weights.try_reshape(count),
            Some(weights) => {
                Err(Error::shape(op, format!("weights of shape {} for {count} elements", weights.shape())))
            }
        }
    }

    /// The number of the bin each element lies in, the last edge belonging to the last bin; as many as there are bins for those
    /// outside. Bins of one width are found by a division, and then as the edges say.
    #[track_caller]
    fn bin_numbers(&self, edges: &Tensor, is_even: bool) -> Result<Tensor> {
        let bins = edges.numel() as i64 - 1;
        let (low, high) = (edges.try_select(0, 0)?, edges.try_select(0, -1)?);
        let number = if is_even {
            let width = high.try_sub(&low)?.try_div(bins)?;
            let near =
                self.try_sub(&low)?.try_div(&width)?.try_to_dtype(DType::I32)?.try_clamp(0, bins - 1)?;
            let edge = |number: &Tensor| edges.try_gather(0, number);
            let below = self.try_lt(&edge(&near)?)?.try_to_dtype(DType::I32)?;
            let above = self.try_ge(&edge(&near.try_add(1)?)?)?.try_to_dtype(DType::I32)?;
            near.try_add(&above)?.try_sub(&below)?.try_clamp(0, bins - 1)?
        } else {
            let number = edges.try_searchsorted(self, true)?.try_sub(1)?;
            number.try_clamp(0, bins - 1)?
        };
        // NaN is outside, too.
        let is_inside = self.try_ge(&low)?.try_bitand(&self.try_le(&high)?)?;
        is_inside.try_where_cond(number, bins)
    }

    twins! {
        /// How often each of the numbers 0 … length − 1 comes (I32), or the sum of their weights. Numbers outside are an error when the
        /// result is computed.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0, 1, 1, 3], &Device::cpu());
        /// assert_eq!(x.bincount_of(5, None).to_string(), "tensor([1, 2, 0, 1, 0], dtype=i32)");
        /// ```
        bincount_of / try_bincount_of(&self, length: usize, weights: Option<&Tensor>) -> Tensor {
            if !self.dtype().is_int() {
                return Err(Error::dtype_not_accepted("bincount_of", self.dtype(), "an integer dtype"));
            }
            let weights = self.counted("bincount_of", self.numel(), weights)?;
            let zeros = Tensor::try_full([length], 0, (weights.dtype(), self.device()))?;
            zeros.try_scatter_add(0, &self.try_reshape(self.numel())?, &weights)
        }

        /// The edges of the bins of a [histogram](Tensor::histogram): of n bins, n + 1.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([0.0, 1.0, 4.0], &Device::cpu());
        /// assert_eq!(x.histogram_bin_edges(4, None).to_string(), "tensor([0., 1., 2., 3., 4.])");
        /// ```
        histogram_bin_edges / try_histogram_bin_edges(&self, bins: impl Into<Bins>, range: Option<(f64, f64)>) -> Tensor {
            let dtype = self.dtype().to_float();
            let count = match bins.into() {
                Bins::Edges(edges) if edges.rank() == 1 && edges.numel() > 1 => return edges.detach().try_to_dtype(dtype),
                Bins::Edges(edges) => {
                    let message = format!("edges of shape {} are not a vector of two or more", edges.shape());
                    return Err(Error::shape("histogram", message));
                }
                Bins::Count(0) => return Err(Error::argument("histogram", "at least one bin is needed")),
                Bins::Count(count) => count,
            };
            let number = |value: f64| Tensor::try_full((), value, (dtype, self.device()));
            let (low, high) = match range {
                Some((low, high)) if low <= high => (number(low)?, number(high)?),
                Some(range) => return Err(Error::argument("histogram", format!("the range {range:?} ends before it begins"))),
                None if self.numel() == 0 => (number(0.0)?, number(1.0)?),
                None => {
                    let x = self.detach().try_to_dtype(dtype)?;
                    (x.try_amin(..)?, x.try_amax(..)?)
                }
            };
            // All elements equal: one wide around them.
            let wide = low.try_eq(&high)?.try_to_dtype(dtype)?.try_mul(0.5)?;
            let (low, high) = (low.try_sub(&wide)?, high.try_add(&wide)?);
            let way = Tensor::try_linspace(0.0, 1.0, count + 1, (dtype, self.device()))?;
            low.broadcast_as("histogram", way.shape())?.try_lerp(&high.broadcast_as("histogram", way.shape())?, &way)
        }

        /// How many elements lie in each bin, and the bins' edges. A bin has its first edge, the last one both. Counts are I32, sums of
        /// weights have their dtype. Nothing is read: the range is found on the device.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::HistogramOptions;
        /// let x = Tensor::new([1.0, 2.0, 1.0], &Device::cpu());
        /// let edges = Tensor::new([0.0, 1.0, 2.0, 3.0], &Device::cpu());
        /// let (counts, _) = x.histogram(&edges, &HistogramOptions::default());
        /// assert_eq!(counts.to_string(), "tensor([0, 2, 1], dtype=i32)");
        /// ```
        histogram / try_histogram(&self, bins: impl Into<Bins>, options: &HistogramOptions) -> (Tensor, Tensor) {
            let bins = bins.into();
            let is_even = matches!(bins, Bins::Count(_));
            let edges = self.try_histogram_bin_edges(bins, options.range)?;
            let (n, bins) = (self.numel(), edges.numel() - 1);
            let x = self.detach().try_to_dtype(edges.dtype())?.try_reshape(n)?;
            let weights = self.counted("histogram", n, options.weights.as_ref())?;
            let counts = x.bin_numbers(&edges, is_even)?.try_bincount_of(bins + 1, Some(&weights))?.try_narrow(0, 0, bins)?;
            if !options.density {
                return Ok((counts, edges));
            }
            let total = counts.try_to_dtype(edges.dtype())?;
            let density = total.try_div(total.try_sum(..)?)?.try_div(edges.try_diff(1, 0)?)?;
            Ok((density, edges))
        }

        /// A [histogram](Tensor::histogram) of points (N, D) in D dimensions, with bins for each: counts (n₁, …, n_D), and the edges along
        /// each dimension. The range of the options, if any, is that of all dimensions.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::HistogramOptions;
        /// let points = Tensor::new([[0.0, 0.0], [1.0, 4.0], [1.0, 2.0]], &Device::cpu());
        /// let (counts, edges) = points.histogramdd(&[2.into(), 4.into()], &HistogramOptions::default());
        /// assert_eq!(counts.to_string(), "tensor([[1, 0, 0, 0],\n        [0, 0, 1, 1]], dtype=i32)");
        /// assert_eq!(edges[1].to_string(), "tensor([0., 1., 2., 3., 4.])");
        /// ```
        histogramdd / try_histogramdd(&self, bins: &[Bins], options: &HistogramOptions) -> (Tensor, Vec<Tensor>) {
            if self.rank() != 2 || self.size(1) != bins.len() || bins.is_empty() {
                let message = format!("{} lists of bins for points of shape {}", bins.len(), self.shape());
                return Err(Error::shape("histogramdd", message));
            }
            let n = self.size(0);
            let columns = self.detach().try_unbind(1)?;
            let along = |(column, bins): (&Tensor, &Bins)| column.try_histogram_bin_edges(bins.clone(), options.range);
            let edges = columns.iter().zip(bins).map(along).collect::<Result<Vec<_>>>()?;
            // One more place along each dimension, for what lies outside.
            let places: Shape = edges.iter().map(Tensor::numel).collect();
            places.check("histogramdd")?;
            let is_even = |bins: &Bins| matches!(bins, Bins::Count(_));
            let numbers = |((column, edges), bins): ((&Tensor, &Tensor), &Bins)| {
                column.try_to_dtype(edges.dtype())?.bin_numbers(edges, is_even(bins))
            };
            let numbers = columns.iter().zip(&edges).zip(bins).map(numbers).collect::<Result<Vec<_>>>()?;
            let place = Tensor::try_ravel_multi_index(&numbers, &places)?;
            let weights = self.counted("histogramdd", n, options.weights.as_ref())?;
            let mut counts = place.try_bincount_of(product(places.iter()), Some(&weights))?.try_reshape(&places)?;
            for (dim, edges) in edges.iter().enumerate() {
                counts = counts.try_narrow(dim as isize, 0, edges.numel() - 1)?;
            }
            if !options.density {
                return Ok((counts, edges));
            }
            let total = counts.try_to_dtype(edges[0].dtype())?;
            let mut density = total.try_div(total.try_sum(..)?)?;
            for (dim, edges) in edges.iter().enumerate() {
                let widths = (0..places.rank()).map(|d| if d == dim { edges.numel() - 1 } else { 1 }).collect::<Shape>();
                density = density.try_div(edges.try_diff(1, 0)?.try_reshape(widths)?)?;
            }
            Ok((density, edges))
        }
    }

    /// How often each number comes (I32), or the sum of their weights: [`bincount_of`](Tensor::bincount_of) up to the largest number,
    /// which is read, or at least `min_length`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let x = Tensor::new([0, 1, 1, 3], &Device::cpu());
    /// assert_eq!(x.bincount(None, 0).await?.to_string(), "tensor([1, 2, 0, 1], dtype=i32)");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn bincount(&self, weights: Option<&Tensor>, min_length: usize) -> Result<Tensor> {
        let largest = if self.numel() == 0 { -1.0 } else { self.try_amax(..)?.item().await? };
        self.try_bincount_of(((largest + 1.0) as usize).max(min_length), weights)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Tensor {
    /// [`bincount`](Tensor::bincount), blocking.
    pub fn bincount_blocking(&self, weights: Option<&Tensor>, min_length: usize) -> Result<Tensor> {
        pollster::block_on(self.bincount(weights, min_length))
    }
}
