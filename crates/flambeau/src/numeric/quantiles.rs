//! Quantiles and percentiles, by all of NumPy's methods, also of what is left without NaN.

use super::{of_host, rows_over};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::settings::words;
use crate::shape::Dims;
use crate::tensor::{Tensor, TensorOptions, twins};

/// What a quantile between two elements is. With n sorted elements, numbered from 0, the quantile q lies at the place v:
///
/// | method | v | between two |
/// |---|---|---|
/// | `Linear` | q (n − 1) | linearly |
/// | `Lower`, `Higher`, `Nearest`, `Midpoint` | q (n − 1) | the lower, the higher, the nearest (the even one), their mean |
/// | `InvertedCdf` | q n − 1 | the higher |
/// | `AveragedInvertedCdf` | q n − 1 | the higher, at an element the mean with the next |
/// | `ClosestObservation` | q n − 3⁄2 | the higher; at an element that and the next, of which the odd one |
/// | `InterpolatedInvertedCdf` | q n − 1 | linearly |
/// | `Hazen` | q n − ½ | linearly |
/// | `Weibull` | q (n + 1) − 1 | linearly |
/// | `MedianUnbiased` | q (n + ⅓) − ⅔ | linearly |
/// | `NormalUnbiased` | q (n + ¼) − ⅝ | linearly |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the table above says what they are")]
pub enum QuantileMethod {
    #[default]
    Linear,
    Lower,
    Higher,
    Nearest,
    Midpoint,
    InvertedCdf,
    AveragedInvertedCdf,
    ClosestObservation,
    InterpolatedInvertedCdf,
    Hazen,
    Weibull,
    MedianUnbiased,
    NormalUnbiased,
}

words!(QuantileMethod {
    "linear" => Linear,
    "lower" => Lower,
    "higher" => Higher,
    "nearest" => Nearest,
    "midpoint" => Midpoint,
    "inverted_cdf" => InvertedCdf,
    "averaged_inverted_cdf" => AveragedInvertedCdf,
    "closest_observation" => ClosestObservation,
    "interpolated_inverted_cdf" => InterpolatedInvertedCdf,
    "hazen" => Hazen,
    "weibull" => Weibull,
    "median_unbiased" => MedianUnbiased,
    "normal_unbiased" => NormalUnbiased,
});

/// Between which elements a quantile lies, and how far from the first to the second.
#[derive(Debug, Clone, Copy)]
struct Between {
    first: usize,
    second: usize,
    way: f64,
}

impl QuantileMethod {
    /// The place of the quantile q among n > 0 sorted elements.
    fn place(self, q: f64, n: usize) -> Between {
        use QuantileMethod::*;
        let count = n as f64;
        let plotted = |alpha: f64, beta: f64| count * q + alpha + q * (1.0 - alpha - beta) - 1.0;
        let place = match self {
            Linear | Lower | Higher | Nearest | Midpoint => q * (count - 1.0),
            InvertedCdf | AveragedInvertedCdf | InterpolatedInvertedCdf => plotted(0.0, 1.0),
            ClosestObservation => count * q - 1.5,
            Hazen => plotted(0.5, 0.5),
            Weibull => plotted(0.0, 0.0),
            MedianUnbiased => plotted(1.0 / 3.0, 1.0 / 3.0),
            NormalUnbiased => plotted(3.0 / 8.0, 3.0 / 8.0),
        };
        let (low, rest) = (place.floor(), place - place.floor());
        let way = match self {
            Lower => 0.0,
            Higher => f64::from(u8::from(rest > 0.0)),
            Nearest => place.round_ties_even() - low,
            Midpoint => {
                if rest > 0.0 {
                    0.5
                } else {
                    0.0
                }
            }
            InvertedCdf => f64::from(u8::from(rest > 0.0)),
            AveragedInvertedCdf => {
                if rest > 0.0 {
                    1.0
                } else {
                    0.5
                }
            }
            ClosestObservation => f64::from(u8::from(rest > 0.0 || low.rem_euclid(2.0) == 1.0)),
            _ => rest,
        };
        // NumPy's discrete methods round the first place; what lies outside is the nearest element.
        let clipped = |at: f64| at.clamp(0.0, count - 1.0) as usize;
        Between { first: clipped(low), second: clipped(low + 1.0), way }
    }
}

/// Quantiles are from 0 to 1.
fn check(op: &'static str, quantiles: &[f64]) -> Result<()> {
    match quantiles.iter().find(|q| !(0.0..=1.0).contains(*q)) {
        Some(q) => Err(Error::argument(op, format!("{q} is not between 0 and 1"))),
        None => Ok(()),
    }
}

impl Tensor {
    /// The quantiles along the last dimension of sorted rows (…, n), each with its own number of elements that count: (q, …).
    #[track_caller]
    fn quantiles_of_counts(
        &self,
        quantiles: &[f64],
        counts: &Tensor,
        method: QuantileMethod,
    ) -> Result<Tensor> {
        let n = self.size(-1);
        let options = TensorOptions::from((self.dtype(), self.device()));
        let one = |&q: &f64| {
            // What a quantile is for every number of elements there may be.
            let places: Vec<Between> = (0..=n).map(|count| method.place(q, count.max(1))).collect();
            let table = |values: Vec<f64>, options: &TensorOptions| {
                of_host(&values, n + 1, options)?.try_take(counts, Default::default())
            };
            let whole = TensorOptions::from((DType::I32, self.device()));
            let first = table(places.iter().map(|at| at.first as f64).collect(), &whole)?;
            let second = table(places.iter().map(|at| at.second as f64).collect(), &whole)?;
            let way = table(places.iter().map(|at| at.way).collect(), &options)?;
            let at = |index: &Tensor| self.try_gather(-1, &index.try_unsqueeze(-1)?)?.try_squeeze(-1);
            let value = at(&first)?.try_lerp(&at(&second)?, &way)?;
            counts.try_eq(0)?.try_where_cond(f64::NAN, value)
        };
        Tensor::try_stack(&quantiles.iter().map(one).collect::<Result<Vec<_>>>()?, 0)
    }

    /// The quantiles along the last dimension of sorted rows (…, n): (q, …).
    #[track_caller]
    fn quantiles_of_rows(&self, quantiles: &[f64], method: QuantileMethod) -> Result<Tensor> {
        let n = self.size(-1);
        // NaN sorts last.
        let has_nan = self.try_select(-1, -1)?.try_isnan()?;
        let one = |&q: &f64| {
            let place = method.place(q, n);
            let first = self.try_select(-1, place.first as isize)?;
            let value = match place.way {
                0.0 => first,
                way => first.try_lerp(&self.try_select(-1, place.second as isize)?, way)?,
            };
            has_nan.try_where_cond(f64::NAN, value)
        };
        Tensor::try_stack(&quantiles.iter().map(one).collect::<Result<Vec<_>>>()?, 0)
    }

    twins! {
        /// The quantiles of the elements over `dims`, which are taken out; those of several come in a new first dimension: (q, …). Rows with a
        /// NaN have NaN. The derivative goes to the one or two elements a quantile lies between.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::QuantileMethod;
        /// let x = Tensor::new([[10.0, 7.0, 4.0], [3.0, 2.0, 1.0]], &Device::cpu());
        /// let quartiles = x.quantiles(&[0.25, 0.5], 1, QuantileMethod::Linear);
        /// assert_eq!(quartiles.to_string(), "tensor([[5.5000, 1.5000],\n        [7.0000, 2.0000]])");
        /// ```
        quantiles / try_quantiles(&self, quantiles: &[f64], dims: impl Into<Dims>, method: QuantileMethod) -> Tensor {
            check("quantiles", quantiles)?;
            let rows = rows_over("quantiles", self, &dims.into())?;
            if rows.size(-1) == 0 || quantiles.is_empty() {
                let message = format!("{} quantiles of rows of {} elements", quantiles.len(), rows.size(-1));
                return Err(Error::shape("quantiles", message));
            }
            rows.try_sort(-1, false)?.0.quantiles_of_rows(quantiles, method)
        }

        /// The quantile q, between 0 and 1, over `dims`, which are taken out. q = ½ is the median, of an even number the mean of the two in
        /// the middle (PyTorch's [`median`](Tensor::median) is the lower one).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::numeric::QuantileMethod;
        /// let x = Tensor::new([4.0, 1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.quantile(0.5, .., QuantileMethod::Linear).to_string(), "tensor(2.5000)");
        /// assert_eq!(x.quantile(0.5, .., QuantileMethod::Higher).to_string(), "tensor(3.)");
        /// ```
        quantile / try_quantile(&self, q: f64, dims: impl Into<Dims>, method: QuantileMethod) -> Tensor {
            self.try_quantiles(&[q], dims, method)?.try_squeeze(0)
        }

        /// [`quantile`](Tensor::quantile) of a percentage, between 0 and 100.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([4.0, 1.0, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.percentile(25.0, .., Default::default()).to_string(), "tensor(1.7500)");
        /// ```
        percentile / try_percentile(&self, percentage: f64, dims: impl Into<Dims>, method: QuantileMethod) -> Tensor {
            self.try_quantile(percentage / 100.0, dims, method)
        }

        /// [`quantiles`](Tensor::quantiles) of the elements that are not NaN; NaN where there are none.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([4.0, f64::NAN, 2.0, 3.0], &Device::cpu());
        /// assert_eq!(x.nanquantiles(&[0.5, 1.0], .., Default::default()).to_string(), "tensor([3., 4.])");
        /// ```
        nanquantiles / try_nanquantiles(&self, quantiles: &[f64], dims: impl Into<Dims>, method: QuantileMethod) -> Tensor {
            check("nanquantiles", quantiles)?;
            let rows = rows_over("nanquantiles", self, &dims.into())?;
            if rows.size(-1) == 0 || quantiles.is_empty() {
                let message = format!("{} quantiles of rows of {} elements", quantiles.len(), rows.size(-1));
                return Err(Error::shape("nanquantiles", message));
            }
            let counts = rows.try_isnan()?.try_logical_not()?.try_sum(-1)?;
            rows.try_sort(-1, false)?.0.quantiles_of_counts(quantiles, &counts, method)
        }

        /// [`quantile`](Tensor::quantile) of the elements that are not NaN; NaN where there are none.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[4.0, f64::NAN, 2.0], [1.0, 2.0, 3.0]], &Device::cpu());
        /// assert_eq!(x.nanquantile(0.5, 1, Default::default()).to_string(), "tensor([3., 2.])");
        /// ```
        nanquantile / try_nanquantile(&self, q: f64, dims: impl Into<Dims>, method: QuantileMethod) -> Tensor {
            self.try_nanquantiles(&[q], dims, method)?.try_squeeze(0)
        }
    }
}
